//! Writes a record: runs every invocation in every home, which is reset before each run.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::normalise::normalise;
use super::{COMMAND, EXIT, FILES, STDERR, STDOUT};
use crate::home::{ChangeKind, FileChange, FixtureHome, LogSource};
use crate::verbs::{Exit, Invocation, invocations};

/// A run that takes longer is recorded as timed out.
const LIMIT: Duration = Duration::from_secs(300);
/// Text files up to this size are recorded in full, larger ones as a hash.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// The directory of homes inside the directory for temporary files. It is fixed because pages contain paths in compressed blocks, where
/// they cannot be normalised.
const BASE: &str = "boswell-golden";

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    pub binary: PathBuf,
    /// Real logs. If `None`, synthetic logs are used.
    pub corpus: Option<PathBuf>,
    /// The output directory, which must be missing or empty.
    pub output: PathBuf,
}

/// The reason why a record could not be written.
#[derive(Debug)]
pub enum RecordError {
    /// The directory is inside the repository.
    InRepository(PathBuf),
    /// The directory is not empty.
    NotEmpty(PathBuf),
    /// Another process is recording.
    Locked(PathBuf),
    /// A step of the preparation failed.
    Preparation {
        home: &'static str,
        line: &'static str,
        stderr: String,
    },
    Io(io::Error),
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InRepository(path) => write!(
                f,
                "a record may hold text of real logs and stays out of the repository: `{}`",
                path.display()
            ),
            Self::NotEmpty(path) => write!(f, "the directory is not empty: `{}`", path.display()),
            Self::Locked(path) => write!(f, "another record is being made: `{}` is locked", path.display()),
            Self::Preparation { home, line, stderr } => {
                write!(f, "`boswell {line}` failed on the {home} home: {stderr}")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The summary of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    pub invocations: usize,
    /// Invocations that did not end within the time limit.
    pub timed_out: Vec<String>,
    /// Invocations whose exit status differs from the list.
    pub unexpected: Vec<String>,
}

/// Records every invocation over the demo's logs and over the corpus, or over synthetic logs if there is no corpus.
///
/// # Errors
/// Returns an error if the directory cannot be used, or the homes cannot be prepared.
///
/// # Panics
/// If a thread that records panics.
pub fn record(options: &RecordOptions) -> Result<RecordSummary, RecordError> {
    prepare_output(&options.output)?;
    let base = std::env::temp_dir().join(BASE);
    fs::create_dir_all(&base)?;
    let lock = File::create(base.join("lock"))?;
    lock.try_lock().map_err(|_| RecordError::Locked(base.join("lock")))?;
    let second = match &options.corpus {
        Some(directory) => ("corpus", LogSource::Corpus { directory, step: 1 }),
        None => ("made-up", LogSource::MadeUp),
    };
    let homes = [("demo", LogSource::Demo), second];
    // The two homes do not share any files, so they are recorded in parallel.
    let results = thread::scope(|scope| {
        let base = &base;
        let threads = homes.map(|(name, source)| scope.spawn(move || record_home(options, base, name, source)));
        threads.map(|one| one.join().expect("a thread that records does not panic"))
    });
    let mut summary = RecordSummary::default();
    for result in results {
        let one = result?;
        summary.invocations += one.invocations;
        summary.timed_out.extend(one.timed_out);
        summary.unexpected.extend(one.unexpected);
    }
    Ok(summary)
}

fn prepare_output(output: &Path) -> Result<(), RecordError> {
    fs::create_dir_all(output)?;
    let output = fs::canonicalize(output)?;
    let repository = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    if repository.is_ok_and(|repository| output.starts_with(repository)) {
        return Err(RecordError::InRepository(output));
    }
    match fs::read_dir(&output)?.next() {
        Some(_) => Err(RecordError::NotEmpty(output)),
        None => Ok(()),
    }
}

fn record_home(
    options: &RecordOptions,
    base: &Path,
    name: &'static str,
    source: LogSource<'_>,
) -> Result<RecordSummary, RecordError> {
    let base = base.join(name);
    if base.exists() {
        fs::remove_dir_all(&base)?;
    }
    fs::create_dir_all(&base)?;
    // Hooks and schedules contain the path of the binary, so it must not depend on where it was built.
    let binary = base.join("boswell");
    fs::copy(&options.binary, &binary)?;
    let (home, runs) = FixtureHome::prepare(&base, &binary, source)?;
    let writer = RecordWriter {
        directory: options.output.join(name),
        home: &home,
    };
    fs::create_dir_all(&writer.directory)?;
    fs::write(
        writer.directory.join("about.txt"),
        format!("now {}\n{:#?}\n", home.now(), home.placeholders()),
    )?;
    for (number, run) in runs.iter().enumerate() {
        if !run.output.status.success() {
            let stderr = String::from_utf8_lossy(&run.output.stderr).into_owned();
            return Err(RecordError::Preparation {
                home: name,
                line: run.line,
                stderr,
            });
        }
        let verb = run.line.split(' ').next().unwrap_or_default();
        let streams = (run.output.stdout.as_slice(), run.output.stderr.as_slice());
        writer.write(
            &format!("prepare-{number}-{verb}"),
            run.line,
            verb,
            streams,
            run.output.status.into(),
        )?;
    }
    let mut summary = RecordSummary::default();
    for invocation in invocations() {
        let exit = writer.run(&invocation)?;
        summary.invocations += 1;
        let shown = format!("{name}: boswell {}: exit {exit}", invocation.line);
        // A timeout or an unexpected status is reported but recorded too, because both records may have it.
        if exit == Exit::TimedOut {
            summary.timed_out.push(shown);
        } else if !invocation.plain_exit.allows(exit) {
            summary.unexpected.push(shown);
        }
    }
    fs::remove_dir_all(&base)?;
    Ok(summary)
}

/// Writes the files of invocations over one home.
struct RecordWriter<'r> {
    directory: PathBuf,
    home: &'r FixtureHome,
}

impl RecordWriter<'_> {
    fn run(&self, invocation: &Invocation) -> io::Result<Exit> {
        let verb = invocation
            .line
            .split(' ')
            .find(|word| !word.starts_with('-'))
            .unwrap_or_default();
        let name = invocation.name();
        let run = self.home.run(invocation, LIMIT)?;
        self.write(&name, &invocation.line, verb, (&run.stdout, &run.stderr), run.exit)?;
        let changes = self.home.changes()?;
        let mut files = String::new();
        for change in &changes {
            self.describe(change, verb, &mut files)?;
        }
        self.put(&name, FILES, &files)?;
        // Most invocations change nothing and need no reset.
        if !changes.is_empty() {
            self.home.reset()?;
        }
        Ok(run.exit)
    }

    fn write(&self, name: &str, line: &str, verb: &str, streams: (&[u8], &[u8]), exit: Exit) -> io::Result<()> {
        self.put(name, COMMAND, &format!("boswell {line}\n"))?;
        self.put(name, STDOUT, &self.text(streams.0, verb))?;
        self.put(name, STDERR, &self.text(streams.1, verb))?;
        self.put(name, EXIT, &format!("{exit}\n"))
    }

    /// An empty stream gets no file.
    fn put(&self, name: &str, ending: &str, text: &str) -> io::Result<()> {
        match text.is_empty() {
            true => Ok(()),
            false => fs::write(self.directory.join(format!("{name}.{ending}")), text),
        }
    }

    fn text(&self, bytes: &[u8], verb: &str) -> String {
        match std::str::from_utf8(bytes) {
            Ok(text) => normalise(text, verb, self.home.path()),
            Err(_) => format!("{} bytes of binary data, blake3 {}\n", bytes.len(), blake3::hash(bytes)),
        }
    }

    /// Describes a file that a run wrote, changed or removed: its text if it is small, else its size and hash.
    fn describe(&self, change: &FileChange, verb: &str, out: &mut String) -> io::Result<()> {
        let path = normalise(&change.path.to_string_lossy(), verb, self.home.path());
        let what = match change.change {
            ChangeKind::New => "new",
            ChangeKind::Changed => "changed",
            ChangeKind::Removed => {
                push(out, format_args!("removed {path}\n"));
                return Ok(());
            }
        };
        if is_database(&path) {
            push(out, format_args!("{what} {path} (database)\n"));
            return Ok(());
        }
        // The demo generates a random key.
        if path.ends_with("mask.key") {
            push(out, format_args!("{what} {path} (random key)\n"));
            return Ok(());
        }
        let bytes = fs::read(self.home.path().join(&change.path))?;
        let text = std::str::from_utf8(&bytes)
            .ok()
            .map(|text| normalise(text, verb, self.home.path()));
        match text {
            Some(text) if text.len() <= TEXT_BYTES_MAX => push(out, format_args!("{what} {path}\n{text}\n")),
            Some(text) => {
                push(
                    out,
                    format_args!(
                        "{what} {path}: {} bytes of text, blake3 {}\n",
                        text.len(),
                        blake3::hash(text.as_bytes())
                    ),
                );
            }
            None => push(
                out,
                format_args!(
                    "{what} {path}: {} bytes, blake3 {}\n",
                    bytes.len(),
                    blake3::hash(&bytes)
                ),
            ),
        }
        Ok(())
    }
}

/// Whether a file is a database. Databases are not compared, because the layout of their pages depends on the order and time of writes,
/// and verbs print their content.
fn is_database(path: &str) -> bool {
    [".db", ".db-wal", ".db-shm"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_out_of_the_repository_and_never_overwrites() {
        let inside = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(matches!(prepare_output(inside), Err(RecordError::InRepository(_))));
        let place = tempfile::tempdir().expect("a temporary directory");
        assert!(prepare_output(&place.path().join("new")).is_ok());
        assert!(matches!(prepare_output(place.path()), Err(RecordError::NotEmpty(_))));
    }
}
