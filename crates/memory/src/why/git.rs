//! What git knows about a file: its commits, its text at each of them, and which commit added a line.
//!
//! Repositories are untrusted because their settings can name programs. Git therefore runs without hooks, monitors,
//! pagers, helpers, filters and text converters, without the user's and the system's settings, and only with commands
//! that neither write nor fetch. If git fails, is not installed or exceeds the timeout, every method returns nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// How long to wait for one git command.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Output beyond this size is not read.
const OUTPUT_BYTES_MAX: u64 = 32 << 20;
/// Maximum number of commits of a file.
const COMMITS_MAX: &str = "--max-count=500";

/// A commit that changed a file.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FileCommit {
    pub sha: String,
    /// The committer time, which a rebase changes.
    pub at: Timestamp,
    /// The name of the file in this commit, relative to the root of the repository.
    #[serde(skip)]
    pub name: String,
    pub subject: String,
}

/// A repository to run git in.
#[derive(Debug, Clone)]
pub(super) struct Git {
    root: PathBuf,
}

impl Git {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the commits that changed a file, followed through renames, newest first.
    pub(super) fn list_commits(&self, name: &str) -> Vec<FileCommit> {
        let format = "--format=%x01%H%x02%ct%x02%s";
        let args = [
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
        let output = self.run(&args).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let mut commits: Vec<FileCommit> = Vec::new();
        for entry in output.split('\u{1}').skip(1) {
            let mut pieces = entry.split(['\0', '\n']).filter(|piece| !piece.is_empty());
            let header: Vec<&str> = pieces.next().unwrap_or_default().splitn(3, '\u{2}').collect();
            let [sha, at, subject] = header[..] else { continue };
            let (Some(at), Some(name)) = (parse_timestamp(at), pieces.next()) else {
                continue;
            };
            commits.push(FileCommit {
                sha: sha.to_owned(),
                at,
                name: name.to_owned(),
                subject: subject.to_owned(),
            });
        }
        commits
    }

    /// Returns the text of a file at a commit.
    pub(super) fn text_at(&self, sha: &str, name: &str) -> Option<String> {
        let blob = format!("{sha}:{name}");
        let bytes = self.run(&["cat-file", "blob", &blob])?;
        String::from_utf8(bytes).ok()
    }

    /// Returns the commit that added a line of the file at `HEAD`.
    pub(super) fn blame_line(&self, name: &str, line: u64) -> Option<FileCommit> {
        let range = format!("-L{line},{line}");
        let output = self.run(&[
            "blame",
            "--porcelain",
            "-w",
            "--no-textconv",
            &range,
            "HEAD",
            "--",
            name,
        ])?;
        let output = String::from_utf8_lossy(&output);
        let sha = output.split_whitespace().next()?.to_owned();
        let field = |key: &str| {
            output
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
        };
        Some(FileCommit {
            sha,
            at: parse_timestamp(field("committer-time")?)?,
            name: field("filename").unwrap_or(name).to_owned(),
            subject: field("summary").unwrap_or_default().to_owned(),
        })
    }

    /// Runs git and returns its output, or `None` if it fails.
    fn run(&self, args: &[&str]) -> Option<Vec<u8>> {
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
            .args(args)
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
            // The receiver is gone if the timeout expired.
            _ = sender.send(read.map(|_| bytes));
        });
        let received = receiver.recv_timeout(TIMEOUT);
        if received.is_err() {
            _ = child.kill();
        }
        let ended = child.wait().ok()?;
        received.ok()?.ok().filter(|_| ended.success())
    }
}

fn parse_timestamp(seconds: &str) -> Option<Timestamp> {
    Timestamp::from_second(seconds.trim().parse().ok()?).ok()
}
