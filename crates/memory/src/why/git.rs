//! What git knows of a file: its commits, its texts at them, and which of them brought a line.
//!
//! A repository is a stranger's: its settings can name programs. So git is run without hooks, monitors, pagers, helpers,
//! filters and text converters, without the user's and the machine's settings, and never so that it writes or fetches. Where
//! it fails, is missing or takes too long, it knows nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;

/// So long git is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than this of what git says is not read.
const OUTPUT_BYTES_MAX: u64 = 32 << 20;
/// So many commits of a file are asked for.
const COMMITS_MAX: &str = "--max-count=500";

/// A commit that changed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub sha: String,
    /// When it was made, or made anew by a rebase.
    pub at: Timestamp,
    /// What the file was called in it, from the root of the repository.
    pub name: String,
    pub subject: String,
}

/// A repository that git is asked about.
#[derive(Debug, Clone)]
pub(super) struct Git {
    root: PathBuf,
}

impl Git {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The commits that changed a file, through its renames, newest first.
    pub(super) fn commits(&self, name: &str) -> Vec<Commit> {
        let format = "--format=%x01%H%x02%ct%x02%s";
        let words = [
            "log",
            COMMITS_MAX,
            "--follow",
            "-M",
            "--name-only",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
            format,
            "HEAD",
            "--",
            name,
        ];
        let told = self.ask(&words).unwrap_or_default();
        let told = String::from_utf8_lossy(&told);
        let mut commits: Vec<Commit> = Vec::new();
        for told in told.split('\u{1}').skip(1) {
            let mut pieces = told.split(['\0', '\n']).filter(|piece| !piece.is_empty());
            let header: Vec<&str> = pieces.next().unwrap_or_default().splitn(3, '\u{2}').collect();
            let [sha, at, subject] = header[..] else { continue };
            let (Some(at), Some(name)) = (moment(at), pieces.next()) else {
                continue;
            };
            commits.push(Commit {
                sha: sha.to_owned(),
                at,
                name: name.to_owned(),
                subject: subject.to_owned(),
            });
        }
        commits
    }

    /// The text of a file at a commit.
    pub(super) fn text_at(&self, sha: &str, name: &str) -> Option<String> {
        let blob = format!("{sha}:{name}");
        let bytes = self.ask(&["cat-file", "blob", &blob])?;
        String::from_utf8(bytes).ok()
    }

    /// The id of the commit that brought a line of the newest commit's file.
    pub(super) fn blamed(&self, name: &str, line: u64) -> Option<Commit> {
        let range = format!("-L{line},{line}");
        let told = self.ask(&[
            "blame",
            "--porcelain",
            "-w",
            "--no-textconv",
            &range,
            "HEAD",
            "--",
            name,
        ])?;
        let told = String::from_utf8_lossy(&told);
        let sha = told.split_whitespace().next()?.to_owned();
        let field = |key: &str| told.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        Some(Commit {
            sha,
            at: moment(field("committer-time")?)?,
            name: field("filename").unwrap_or(name).to_owned(),
            subject: field("summary").unwrap_or_default().to_owned(),
        })
    }

    /// Runs git and gives what it says; none where it fails.
    fn ask(&self, words: &[&str]) -> Option<Vec<u8>> {
        let mut command = Command::new("git");
        command.args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"]);
        for setting in [
            "core.fsmonitor=",
            "core.hooksPath=/dev/null",
            "core.quotePath=false",
            "core.pager=cat",
            "log.showSignature=false",
            "blame.ignoreRevsFile=",
            "diff.external=",
            "credential.helper=",
            "protocol.allow=never",
        ] {
            command.args(["-c", setting]);
        }
        for variable in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "GIT_TRACE",
        ] {
            command.env_remove(variable);
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .args(words)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let output = child.stdout.take()?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
            // Nobody waits any more where it took too long.
            _ = sender.send(read.map(|_| bytes));
        });
        let told = receiver.recv_timeout(PATIENCE);
        if told.is_err() {
            _ = child.kill();
        }
        let ended = child.wait().ok()?;
        told.ok()?.ok().filter(|_| ended.success())
    }
}

fn moment(seconds: &str) -> Option<Timestamp> {
    Timestamp::from_second(seconds.trim().parse().ok()?).ok()
}
