//! Chooses the values of placeholders in invocations. They come from the logs and not from the binary's output, so that two binaries
//! run the same commands.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::logs::{below, name};

/// Sessions of this size have enough content and are still fast to process.
const GOOD_BYTES: std::ops::Range<u64> = 20_000..400_000;
/// Films use a short session, because rendering is slow.
const SMALL_BYTES_MIN: u64 = 2_000;

/// Used if no session made a commit or edited a file.
const UNKNOWN_COMMIT: &str = "0000000";
const UNKNOWN_FILE: &str = "/home/ada/nothing.txt";

/// Values of the placeholders. Empty if the logs contain nothing of the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placeholders {
    pub claude: String,
    pub codex: String,
    pub grok: String,
    /// A session of Claude Code with subagents.
    pub parent: String,
    /// A short session of Claude Code.
    pub small: String,
    /// A commit that a session made.
    pub commit: String,
    /// A file that a session edited.
    pub file: String,
    pub log: String,
    pub codex_log: String,
    pub grok_log: String,
    /// A day with a session.
    pub day: String,
}

struct LogFile {
    path: PathBuf,
    uid: String,
    bytes: u64,
}

impl Placeholders {
    /// Chooses sessions, commits and files from the logs of a home.
    pub(super) fn find(home: &Path) -> io::Result<Self> {
        let claude = claude_logs(home)?;
        let codex = codex_logs(home)?;
        let grok = grok_logs(home)?;
        let log = |found: Option<&LogFile>| found.map_or(String::new(), |log| log.path.to_string_lossy().into_owned());
        let uid = |found: Option<&LogFile>| found.map_or(String::new(), |log| log.uid.clone());
        let of_good_size = |logs: &[LogFile]| {
            let good = logs.iter().position(|log| GOOD_BYTES.contains(&log.bytes));
            good.or_else(|| (0..logs.len()).max_by_key(|at| logs[*at].bytes))
        };
        let chosen = of_good_size(&claude).map(|at| &claude[at]);
        let codex = of_good_size(&codex).map(|at| &codex[at]);
        let grok = of_good_size(&grok).map(|at| &grok[at]);
        let with_subagents = claude.iter().find(|log| log.path.with_extension("").is_dir());
        let small = claude.iter().filter(|log| log.bytes >= SMALL_BYTES_MIN);
        let texts = texts(&claude, chosen)?;
        let first = |find: fn(&str) -> Option<String>, otherwise: &str| {
            let found = texts.iter().find_map(|text| find(text));
            found.unwrap_or_else(|| otherwise.to_owned())
        };
        Ok(Self {
            claude: uid(chosen),
            codex: uid(codex),
            grok: uid(grok),
            parent: uid(with_subagents.or(chosen)),
            small: uid(small.min_by_key(|log| log.bytes)),
            commit: first(commit_in, UNKNOWN_COMMIT),
            file: first(
                |text| value_after(text, "\"file_path\":\"").filter(|path| path.starts_with('/')),
                UNKNOWN_FILE,
            ),
            log: log(chosen),
            codex_log: log(codex),
            grok_log: log(grok),
            day: first(
                |text| value_after(text, "\"timestamp\":\"").map(|time| time.chars().take(10).collect()),
                "",
            ),
        })
    }

    /// Returns the value of a placeholder.
    ///
    /// # Panics
    /// If there is no placeholder of this name.
    pub(super) fn value(&self, name: &str) -> String {
        let value = match name {
            "claude" => &self.claude,
            "codex" => &self.codex,
            "grok" => &self.grok,
            "parent" => &self.parent,
            "small" => &self.small,
            "commit" => &self.commit,
            "file" => &self.file,
            "log" => &self.log,
            "codex-log" => &self.codex_log,
            "grok-log" => &self.grok_log,
            "day" => &self.day,
            other => panic!("no such placeholder: {{{other}}}"),
        };
        value.clone()
    }
}

fn claude_logs(home: &Path) -> io::Result<Vec<LogFile>> {
    let logs = below(&home.join(".claude/projects"), "jsonl")?;
    let mains = logs.into_iter().filter(|path| !name(path).starts_with("agent-"));
    let with_id = mains.filter(|path| path.file_stem().is_some_and(|stem| stem.len() == 36));
    with_id
        .map(|path| log(&path, "claude", &path.with_extension("")))
        .collect()
}

fn codex_logs(home: &Path) -> io::Result<Vec<LogFile>> {
    let logs = below(&home.join(".codex/sessions"), "jsonl")?;
    let uid = |path: &Path| {
        let stem = name(&path.with_extension(""));
        let id: String = stem.chars().skip(stem.len().saturating_sub(36)).collect();
        id
    };
    logs.iter()
        .map(|path| log(path, "codex", Path::new(&uid(path))))
        .collect()
}

fn grok_logs(home: &Path) -> io::Result<Vec<LogFile>> {
    let logs = below(&home.join(".grok/sessions"), "jsonl")?;
    let logs = logs.into_iter().filter(|path| name(path) == "updates.jsonl");
    logs.map(|path| log(&path, "grok", path.parent().unwrap_or(&path)))
        .collect()
}

/// Returns a log whose session id is the last component of `id`.
fn log(path: &Path, agent: &str, id: &Path) -> io::Result<LogFile> {
    Ok(LogFile {
        path: path.to_owned(),
        uid: format!("{agent}:{}", name(id)),
        bytes: fs::metadata(path)?.len(),
    })
}

/// Returns the text of the chosen log, followed by those of the others.
fn texts(logs: &[LogFile], chosen: Option<&LogFile>) -> io::Result<Vec<String>> {
    let others = logs.iter().filter(|log| log.bytes < GOOD_BYTES.end);
    let mut texts = Vec::new();
    for log in chosen.into_iter().chain(others) {
        texts.push(String::from_utf8_lossy(&fs::read(&log.path)?).into_owned());
    }
    Ok(texts)
}

/// Returns the first text after a key, up to its closing quote.
fn value_after(text: &str, key: &str) -> Option<String> {
    let (_, rest) = text.split_once(key)?;
    rest.split(['"', '\\']).next().map(str::to_owned)
}

/// Returns the commit that git names as `[branch 1c0ffee] Summary`.
fn commit_in(text: &str) -> Option<String> {
    text.split("] ").find_map(|before| {
        let (_, inside) = before.rsplit_once('[')?;
        let (branch, commit) = inside.split_once(' ')?;
        let is_commit = (7..=12).contains(&commit.len()) && commit.chars().all(|c| c.is_ascii_hexdigit());
        let is_branch = branch.chars().all(|c| c.is_ascii_alphanumeric() || "-_/.".contains(c));
        (is_commit && is_branch && !branch.is_empty()).then(|| commit.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_found_where_git_announced_it() {
        let text = "[1] x [main abc] y [login-fix 1c0ffee] Keep sessions";
        assert_eq!(commit_in(text).as_deref(), Some("1c0ffee"));
        assert_eq!(commit_in("nothing [here] at all"), None);
    }
}
