//! The spool: what hooks report about sessions, one small file per call, until a sweep stores it.
//!
//! A hook has little time, no settings and perhaps no database. A note therefore contains only values of a fixed form:
//! an id, a path below a root, an event, a reason, a time. It never contains a prompt, a reply or the input of a tool.
//! A note is written completely or not at all. If there is no room for a note, it is counted as lost, which needs no
//! room.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use transcript::{Agent, HookCall, SafeName, SessionUid};

use crate::store::{make_private, open_private};

/// The directory of the notes within the store.
pub const FOLDER: &str = "spool";
/// The extension of complete notes.
const EXTENSION: &str = "json";
/// The suffix of a note that is not completely written.
pub(crate) const UNFINISHED_SUFFIX: &str = ".aside";
/// The file whose modification time encodes the number of lost notes.
const LOST: &str = "lost";
/// Notes are small. A longer file is not one of ours, and is only read up to this length.
const NOTE_BYTES_MAX: u64 = 64 << 10;
const WORD_BYTES_MAX: usize = 40;
const ID_BYTES_MAX: usize = 128;

/// The event of a wrapped command that has exited.
pub const EXIT: &str = "exit";

/// A report about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookNote {
    pub agent: Agent,
    pub session_id: String,
    /// In lower case, with underscores.
    pub event: String,
    pub log: Option<PathBuf>,
    /// The log of the subagent that the note is about.
    pub subagent_log: Option<PathBuf>,
    pub reason: Option<String>,
    pub error: Option<String>,
    /// The exit code of a wrapped command.
    pub exit_code: Option<i32>,
    pub at: Timestamp,
}

impl HookNote {
    /// Returns the note of a hook call. Returns `None` if the call is about a log outside of all roots, or if its
    /// session id is not a valid name. If `roots` is `None`, the note contains no paths.
    pub fn from_call(call: &HookCall, roots: Option<&[(Agent, PathBuf)]>, at: Timestamp) -> Option<Self> {
        let find_root = |path: &Option<String>| -> Option<Option<(Agent, PathBuf)>> {
            let (Some(path), Some(roots)) = (path.as_deref().map(Path::new), roots) else {
                return Some(None);
            };
            // A path with `..` can lead out of the root.
            let has_parent_dir = path.components().any(|part| matches!(part, Component::ParentDir));
            let root = roots.iter().find(|(_, root)| path.starts_with(root))?;
            (!has_parent_dir).then(|| Some((root.0, path.to_owned())))
        };
        let log = find_root(&call.transcript_path)?;
        let subagent_log = find_root(&call.agent_transcript_path)?;
        let id = SafeName::new(&call.session_id).filter(|id| id.as_str().len() <= ID_BYTES_MAX)?;
        Some(Self {
            // The root that contains the log decides, because one agent may run the hooks of another.
            agent: log.as_ref().map_or(call.agent, |(agent, _)| *agent),
            session_id: id.as_str().to_owned(),
            event: keyword(&call.event)?,
            log: log.map(|(_, path)| path),
            subagent_log: subagent_log.map(|(_, path)| path),
            reason: call.reason.as_deref().and_then(keyword),
            error: call.error.as_deref().and_then(keyword),
            exit_code: None,
            at,
        })
    }

    /// Returns the logs that the note names.
    pub fn logs(&self) -> impl Iterator<Item = &PathBuf> {
        self.log.iter().chain(&self.subagent_log)
    }

    pub(crate) fn session_uid(&self) -> String {
        SessionUid::new(self.agent, &self.session_id).as_str().to_owned()
    }
}

/// Returns a keyword of the agent, such as `rate_limit`. Any other text could be a secret, so it is dropped.
fn keyword(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    let fits = !text.is_empty() && text.len() <= WORD_BYTES_MAX;
    (fits && text.bytes().all(is_plain)).then(|| text.to_owned())
}

/// Writes a note under a name that must be unique. If that fails, the note is counted as lost.
pub fn write_note(directory: &Path, name: &str, note: &HookNote) -> io::Result<()> {
    let written = try_write(directory, name, note);
    if written.is_err() {
        // If the note cannot be counted either, there is nothing left to do.
        _ = count_lost(directory, note.at);
    }
    written
}

fn try_write(directory: &Path, name: &str, note: &HookNote) -> io::Result<()> {
    create_spool(directory)?;
    let folder = directory.join(FOLDER);
    let aside = folder.join(format!("{name}{UNFINISHED_SUFFIX}"));
    let bytes = serde_json::to_vec(note)?;
    let written = (|| {
        let mut file = open_private(&aside).map_err(io::Error::other)?;
        io::Write::write_all(&mut file, &bytes)?;
        fs::rename(&aside, folder.join(format!("{name}.{EXTENSION}")))
    })();
    if written.is_err() {
        _ = fs::remove_file(&aside);
    }
    written
}

/// Creates the directory of the notes, and the file that counts lost notes while there is still room for it.
pub fn create_spool(directory: &Path) -> io::Result<()> {
    let folder = directory.join(FOLDER);
    let lost = folder.join(LOST);
    if lost.exists() {
        return Ok(());
    }
    make_private(directory).map_err(io::Error::other)?;
    make_private(&folder).map_err(io::Error::other)?;
    let aside = folder.join(format!("{LOST}.{}", std::process::id()));
    let file = open_private(&aside).map_err(io::Error::other)?;
    file.set_modified(Timestamp::UNIX_EPOCH.into())?;
    // Another process may have created the file meanwhile, and its count must not be reset.
    let made = fs::hard_link(&aside, &lost);
    _ = fs::remove_file(&aside);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// The number of lost notes, and the time of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostNotes {
    pub count: u64,
    pub last: Timestamp,
}

/// Counts a note that could not be written. Changing the time of a file works even if the disk is full: the seconds are
/// the time of the loss, and the nanoseconds are the number of lost notes.
pub(crate) fn count_lost(directory: &Path, at: Timestamp) -> io::Result<()> {
    let file = fs::File::options()
        .write(true)
        .open(directory.join(FOLDER).join(LOST))?;
    file.lock()?;
    let before = parse_lost(&file.metadata()?).map_or(0, |lost| lost.count);
    let count = i32::try_from(before + 1).unwrap_or(i32::MAX).min(999_999_999);
    let time = Timestamp::new(at.as_second().max(1), count).map_err(io::Error::other)?;
    file.set_modified(time.into())
}

/// Returns how many notes were ever lost, or `None` if none was.
pub fn lost_notes(directory: &Path) -> Option<LostNotes> {
    let metadata = fs::metadata(directory.join(FOLDER).join(LOST)).ok()?;
    parse_lost(&metadata)
}

fn parse_lost(metadata: &fs::Metadata) -> Option<LostNotes> {
    let time = crate::files::modified_at(metadata)?;
    let count = u64::try_from(time.subsec_nanosecond())
        .ok()
        .filter(|count| *count > 0)?;
    let last = Timestamp::new(time.as_second(), 0).ok()?;
    Some(LostNotes { count, last })
}

/// A waiting note, and the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingNote {
    pub name: String,
    pub note: Result<HookNote, NoteFault>,
}

/// Why a file in the spool yields no note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteFault {
    /// It is not a note: a power cut left half of one.
    Damaged,
    /// It cannot be read now; a later sweep may succeed.
    Unreadable,
}

/// Returns `true` if notes are waiting.
pub fn has_notes(directory: &Path) -> bool {
    note_names(directory).next().is_some()
}

/// Returns all waiting notes, sorted by name. A note that another sweep removes meanwhile is skipped.
pub fn list_notes(directory: &Path) -> Vec<WaitingNote> {
    let folder = directory.join(FOLDER);
    let mut names: Vec<String> = note_names(directory).collect();
    names.sort();
    names
        .into_iter()
        .filter_map(|name| {
            let note = match read_note(&folder.join(&name)) {
                Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| NoteFault::Damaged),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(_) => Err(NoteFault::Unreadable),
            };
            Some(WaitingNote { name, note })
        })
        .collect()
}

fn read_note(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let (file, _) = crate::files::open_regular(path)?;
    file.take(NOTE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn note_names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory.join(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == EXTENSION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::hook_call;

    const AT: Timestamp = Timestamp::constant(1_775_034_000, 0);

    fn note(payload: &str, roots: &[(Agent, &str)]) -> Option<HookNote> {
        let roots: Vec<_> = roots
            .iter()
            .map(|(agent, path)| (*agent, PathBuf::from(path)))
            .collect();
        HookNote::from_call(&hook_call(payload.as_bytes(), Agent::Claude)?, Some(&roots), AT)
    }

    #[test]
    fn only_sessions_below_a_root_are_noted_and_the_root_decides_the_agent() {
        let roots = [(Agent::Claude, "/home/ada/.claude"), (Agent::Grok, "/home/ada/.grok")];
        let call =
            |path: &str| format!(r#"{{"session_id":"5e55","hook_event_name":"Stop","transcript_path":"{path}"}}"#);
        assert_eq!(
            note(&call("/home/ada/.claude/projects/a/5e55.jsonl"), &roots)
                .unwrap()
                .agent,
            Agent::Claude
        );
        assert_eq!(
            note(&call("/home/ada/.grok/sessions/a/5e55/updates.jsonl"), &roots)
                .unwrap()
                .agent,
            Agent::Grok
        );
        for outside in [
            "/home/ada/.claudette/5e55.jsonl",
            "/home/ada/.claude/../.ssh/id",
            "5e55.jsonl",
            "/etc/passwd",
        ] {
            assert_eq!(note(&call(outside), &roots), None, "{outside}");
        }
    }

    #[test]
    fn a_reason_is_a_keyword_or_absent() {
        let call =
            |reason: &str| format!(r#"{{"session_id":"5e55","hook_event_name":"SessionEnd","reason":"{reason}"}}"#);
        assert_eq!(
            note(&call("prompt_input_exit"), &[]).unwrap().reason.as_deref(),
            Some("prompt_input_exit")
        );
        for text in ["the password is hunter2", "ghp_a1B2c3D4", "", &"a".repeat(41)] {
            assert_eq!(note(&call(text), &[]).unwrap().reason, None, "{text}");
        }
        let climbing = r#"{"session_id":"../../etc","hook_event_name":"Stop"}"#;
        assert_eq!(note(climbing, &[]), None);
    }

    #[test]
    fn lost_notes_are_counted_in_the_time_of_a_file() {
        let home = tempfile::tempdir().unwrap();
        create_spool(home.path()).unwrap();
        assert_eq!(lost_notes(home.path()), None);
        for _ in 0..3 {
            count_lost(home.path(), AT).unwrap();
        }
        create_spool(home.path()).unwrap();
        assert_eq!(lost_notes(home.path()), Some(LostNotes { count: 3, last: AT }));
    }
}
