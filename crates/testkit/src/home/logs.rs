//! Copies logs to where the agents keep theirs, and sets the time of each file to that of its last record.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::logs::ClaudeLog;

/// The time of logs without timestamps.
const UNDATED: &str = "2025-12-01T12:00:00Z";
/// JSON keys of timestamps.
const TIME_KEYS: [&str; 4] = ["\"timestamp\":", "\"updated_at\":", "\"last_active_at\":", "\"ts\":"];
/// Number of bytes at the end of a file that are searched for a timestamp.
const TAIL_BYTES: usize = 256 * 1024;
/// Number of lines of a log that are searched for its session id.
const HEAD_LINES: usize = 200;

/// Text that must never reach a terminal unescaped: it would blink, ring the bell, rename the window, clear the screen and reverse the line.
pub(super) const HOSTILE: &str =
    "\u{1b}[5mblink\u{1b}[2J \u{7}bell \u{1b}]0;title\u{7} \u{9b}31m c1 \u{202e}reversed \u{8}\u{8}back";

/// Writes a session in which every text is hostile.
pub(super) fn write_hostile(home: &Path) -> io::Result<()> {
    let id = "5e55bad0-0000-4000-8000-00000000bad0";
    let log = ClaudeLog::new(id)
        .at("2026-01-20T09:00:00Z")
        .prompt(&format!("look at this error: {HOSTILE}"))
        .reply(&format!("an error, {HOSTILE}"))
        .jsonl();
    put(
        home,
        &format!(".claude/projects/-home-ada-app/{id}.jsonl"),
        log.as_bytes(),
    )
}

/// Copies real logs into the roots of their agents, with file names derived from the ids in their records.
pub(super) fn lay_out(corpus: &Path, step: usize, home: &Path) -> io::Result<()> {
    let claude = below(&corpus.join("claude"), "jsonl")?;
    let (subagents, mains): (Vec<_>, Vec<_>) = claude.into_iter().partition(|path| name(path).starts_with("agent-"));
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    for (number, path) in mains.iter().enumerate().step_by(step) {
        if name(path) == "history.jsonl" {
            put(home, ".claude/history.jsonl", &fs::read(path)?)?;
            continue;
        }
        let id = id_in(path, &["sessionId"])?.unwrap_or_else(|| format!("log-{number}"));
        let folder = format!(".claude/projects/-home-ada-project-{number}");
        put(home, &format!("{folder}/{id}.jsonl"), &fs::read(path)?)?;
        folders.entry(id).or_insert(folder);
    }
    for (number, path) in subagents.iter().enumerate().step_by(step) {
        let id = id_in(path, &["sessionId"])?.unwrap_or_else(|| format!("lone-{number}"));
        let lone = format!(".claude/projects/-home-ada-subagents-{number}");
        let folder = folders.get(&id).unwrap_or(&lone);
        put(
            home,
            &format!("{folder}/{id}/subagents/{}", name(path)),
            &fs::read(path)?,
        )?;
    }
    for (number, path) in below(&corpus.join("codex"), "jsonl")?.iter().enumerate().step_by(step) {
        let place = match (name(path).as_str(), id_in(path, &["payload", "id"])?) {
            ("history.jsonl", _) => ".codex/history.jsonl".to_owned(),
            (own, _) if own.starts_with("rollout-") => format!(".codex/sessions/2025/{number:03}/{own}"),
            (_, id) => {
                let id = id.unwrap_or_else(|| format!("log-{number}"));
                format!(".codex/sessions/2025/{number:03}/rollout-2025-01-01T00-00-00-{id}.jsonl")
            }
        };
        put(home, &place, &fs::read(path)?)?;
    }
    lay_out_grok(&corpus.join("grok"), home)
}

/// Copies all sessions of Grok, which are directories. There are few of them.
fn lay_out_grok(corpus: &Path, home: &Path) -> io::Result<()> {
    let mut numbers: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for path in below(corpus, "")? {
        let own = path.parent().unwrap_or(corpus).to_owned();
        let next = numbers.len();
        let number = *numbers.entry(own.clone()).or_insert(next);
        let directory = match own.file_name().map(|name| name.to_string_lossy()) {
            Some(id) if id.len() == 36 => id.into_owned(),
            _ => format!("019d4710-0000-7000-8000-{number:012}"),
        };
        let place = format!(
            ".grok/sessions/%2Fhome%2Fada%2Fproject-{number}/{directory}/{}",
            name(&path)
        );
        put(home, &place, &fs::read(&path)?)?;
    }
    Ok(())
}

/// Sets the time of every file below the agents' roots to that of its last record. Returns the newest time.
pub(super) fn set_times(home: &Path) -> io::Result<Timestamp> {
    let undated: Timestamp = UNDATED.parse().expect("it is a time");
    let mut newest = undated;
    for agent in [".claude", ".codex", ".grok"] {
        for path in below(&home.join(agent), "")? {
            let time = last_time(&fs::read(&path)?).unwrap_or(undated);
            newest = newest.max(time);
            File::open(&path)?.set_times(FileTimes::new().set_modified(time.into()))?;
        }
    }
    Ok(newest)
}

/// Returns the newest time in the last records of a log.
fn last_time(bytes: &[u8]) -> Option<Timestamp> {
    let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
    let behind = |key: &str| {
        let times = tail.match_indices(key).map(|(at, _)| &tail[at + key.len()..]);
        times.filter_map(time_at).max()
    };
    TIME_KEYS.iter().filter_map(|key| behind(key)).max()
}

/// Parses the time at the start of a text: RFC 3339, seconds or milliseconds.
fn time_at(text: &str) -> Option<Timestamp> {
    let text = text.trim_start();
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split('"').next()?.parse().ok();
    }
    let digits = &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())];
    match digits.len() {
        10 => Timestamp::from_second(digits.parse().ok()?).ok(),
        13 => Timestamp::from_millisecond(digits.parse().ok()?).ok(),
        _ => None,
    }
}

/// Returns the first string at a path of keys in the records of a log.
fn id_in(path: &Path, keys: &[&str]) -> io::Result<Option<String>> {
    let bytes = fs::read(path)?;
    let records = bytes.split(|byte| *byte == b'\n').take(HEAD_LINES);
    let found = records.filter_map(|line| {
        let record: Value = serde_json::from_slice(line).ok()?;
        let value = keys.iter().try_fold(&record, |value, key| value.get(key))?;
        let id = value.as_str().filter(|id| !id.is_empty())?;
        let is_name = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        is_name.then(|| id.to_owned())
    });
    Ok({ found }.next())
}

/// Returns the files below a directory, sorted by path. If `ending` is not empty, only those with this extension.
pub(super) fn below(directory: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop().filter(|directory| directory.is_dir()) {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            match path.is_dir() {
                true => waiting.push(path),
                false if ending.is_empty() || path.extension().is_some_and(|end| end == ending) => paths.push(path),
                false => {}
            }
        }
    }
    paths.sort();
    Ok(paths)
}

pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn put(home: &Path, place: &str, bytes: &[u8]) -> io::Result<()> {
    let path = home.join(place);
    fs::create_dir_all(path.parent().unwrap_or(home))?;
    fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_log_is_that_of_its_newest_record_in_any_notation() {
        let time = |text: &str| last_time(text.as_bytes()).map(|time| time.to_string());
        let log = "{\"timestamp\":\"2026-04-01T09:00:00Z\"}\n{\"timestamp\":\"2026-04-01T08:00:00Z\"}\n";
        assert_eq!(time(log).as_deref(), Some("2026-04-01T09:00:00Z"));
        assert_eq!(
            time("{\"timestamp\": 1775041200}").as_deref(),
            Some("2026-04-01T11:00:00Z")
        );
        assert_eq!(time("{\"ts\":1775041200000}").as_deref(), Some("2026-04-01T11:00:00Z"));
        assert_eq!(time("{\"text\":\"2099-01-01T00:00:00Z\"}"), None);
    }
}
