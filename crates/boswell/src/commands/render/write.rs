//! Writes rendered files: atomically, and readable only by their owner.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use render::Transcript;
use tempfile::NamedTempFile;
use transcript::SafeName;

use super::{RenderArgs, To};
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt::UnfinishedFile;
use crate::ui::Ui;

/// An output that can seek. Films need it, because they write their header at the end.
pub(super) trait Sink: Write + Seek {}

impl<T: Write + Seek> Sink for T {}

/// Standard output, which cannot seek.
struct Stream<'o>(&'o mut dyn Write);

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Stream<'_> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::NotSeekable.into())
    }
}

/// Returns the output path. Without `--output`, a page is written to the current directory and a text to standard
/// output.
pub(super) fn place(context: &Context, args: &RenderArgs, to: To, transcript: &Transcript) -> PathBuf {
    match &args.output {
        Some(path) if path.as_os_str() == "-" => path.clone(),
        Some(path) => context.places.current_dir.join(path),
        None if to == To::Md => PathBuf::from("-"),
        None => {
            let name = format!("{}.{}", name_of(transcript), to.name());
            context.places.current_dir.join(name)
        }
    }
}

/// Returns a file name for a session, made from its uid.
pub(super) fn name_of(transcript: &Transcript) -> String {
    file_name(transcript.head.session.session_uid.as_str())
}

/// Returns a file name for a uid. Ids come from logs, so every character that is not safe in a file name is replaced.
pub(super) fn file_name(session_uid: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = session_uid.chars().map(plain).take(120).collect();
    let name = name.trim_matches('.').to_owned();
    SafeName::new(&name).map_or_else(|| "session".to_owned(), |name| name.as_str().to_owned())
}

/// Writes to a path or to standard output. Returns the number of bytes of a file.
pub(super) fn write(
    ui: &mut Ui,
    path: &Path,
    to: To,
    fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> Result<u64, CommandError> {
    if path.as_os_str() == "-" && to != To::Mp4 {
        ui.write(|out| fill(&mut Stream(out)))?;
        return Ok(0);
    }
    if path.as_os_str() == "-" {
        // The index at the start of a film is only known at the end, so the film is first written to a temporary file.
        let failed = |error| CommandError::user("output", format_args!("cannot write a temporary file: {error}"));
        let mut file = tempfile::tempfile().map_err(failed)?;
        let mut out = BufWriter::with_capacity(256 << 10, &mut file);
        fill(&mut out).and_then(|()| out.flush()).map_err(failed)?;
        drop(out);
        file.rewind().map_err(failed)?;
        ui.write(|out| io::copy(&mut file, out).map(|_| ()))?;
        return Ok(0);
    }
    write_file(path, fill)
}

/// Writes a whole file atomically. Returns its size in bytes.
pub(super) fn write_file(path: &Path, fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> Result<u64, CommandError> {
    let failed =
        |error: io::Error| CommandError::user("output", format_args!("cannot write `{}`: {error}", path.display()));
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let create = || tempfile::Builder::new().prefix(".boswell-").tempfile_in(directory);
    let (file, _unfinished) = UnfinishedFile::create(create, NamedTempFile::path).map_err(failed)?;
    let mut out = BufWriter::with_capacity(256 << 10, file);
    fill(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    let bytes = file.as_file().metadata().map_err(failed)?.len();
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(bytes)
}
