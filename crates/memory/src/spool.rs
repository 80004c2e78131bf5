//! The spool: what hooks tell of sessions, one small file per call, until a sweep takes it into the memory.
//!
//! Whoever writes here has no time, no settings and perhaps no database, so a note holds words of a closed shape only:
//! an id, a path below a root, an event, a reason, a time. Never a prompt, an answer or what a tool was given. A note is
//! whole or absent. What could not be noted for want of room is counted without needing any.

mod inbox;

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use transcript::{Agent, HookCall, SafeName, SessionUid};

pub(crate) use self::inbox::NoteInbox;
use crate::store::{make_private, open_private};

/// Where notes lie in the store's directory.
pub const FOLDER: &str = "spool";
/// What whole notes end with.
const ENDING: &str = "json";
/// The suffix of a note that is not completely written.
const ASIDE: &str = ".aside";
/// The file whose time says how many notes were lost.
const LOST: &str = "lost";
/// A note is small; more is none of ours.
const NOTE_BYTES_MAX: u64 = 64 << 10;
const WORD_BYTES_MAX: usize = 40;
const ID_BYTES_MAX: usize = 128;

/// The event that a wrapped command ended.
pub const EXIT: &str = "exit";

/// What was told of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub agent: Agent,
    pub session_id: String,
    /// In small letters with underscores.
    pub event: String,
    pub log: Option<PathBuf>,
    /// The log of the subagent that it is about.
    pub subagent_log: Option<PathBuf>,
    pub reason: Option<String>,
    pub error: Option<String>,
    /// What a wrapped command ended with.
    pub exit_code: Option<i32>,
    pub at: Timestamp,
}

impl Note {
    /// What may be noted of a call. None comes of a session or log that is no business of ours: one that lies below no
    /// root, or whose id could not be a name. `roots` may be unknown; then no path is noted.
    pub fn of(call: &HookCall, roots: Option<&[(Agent, PathBuf)]>, at: Timestamp) -> Option<Self> {
        let place = |path: &Option<String>| -> Option<Option<(Agent, PathBuf)>> {
            let (Some(path), Some(roots)) = (path.as_deref().map(Path::new), roots) else {
                return Some(None);
            };
            // A path that climbs may lead anywhere.
            let climbs = path.components().any(|part| matches!(part, Component::ParentDir));
            let root = roots.iter().find(|(_, root)| path.starts_with(root))?;
            (!climbs).then(|| Some((root.0, path.to_owned())))
        };
        let log = place(&call.transcript_path)?;
        let subagent_log = place(&call.agent_transcript_path)?;
        let id = SafeName::new(&call.session_id).filter(|id| id.as_str().len() <= ID_BYTES_MAX)?;
        Some(Self {
            // The log's own place knows better whose it is.
            agent: log.as_ref().map_or(call.agent, |(agent, _)| *agent),
            session_id: id.as_str().to_owned(),
            event: word(&call.event)?,
            log: log.map(|(_, path)| path),
            subagent_log: subagent_log.map(|(_, path)| path),
            reason: call.reason.as_deref().and_then(word),
            error: call.error.as_deref().and_then(word),
            exit_code: None,
            at,
        })
    }

    /// Returns the logs that the note names.
    pub fn logs(&self) -> impl Iterator<Item = &PathBuf> {
        self.log.iter().chain(&self.subagent_log)
    }

    fn session_uid(&self) -> String {
        SessionUid::new(self.agent, &self.session_id).as_str().to_owned()
    }
}

/// A word of an agent's own vocabulary, such as `rate_limit`. Anything else could be text, and text could be a secret.
fn word(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    let fits = !text.is_empty() && text.len() <= WORD_BYTES_MAX;
    (fits && text.bytes().all(is_plain)).then(|| text.to_owned())
}

/// Puts a note under a name that nobody else uses. Where there is no room for it, it is counted as lost.
pub fn put(directory: &Path, name: &str, note: &Note) -> io::Result<()> {
    let put = write(directory, name, note);
    if put.is_err() {
        // Where not even that can be done, nothing can.
        _ = count_lost(directory, note.at);
    }
    put
}

fn write(directory: &Path, name: &str, note: &Note) -> io::Result<()> {
    prepare(directory)?;
    let folder = directory.join(FOLDER);
    let aside = folder.join(format!("{name}{ASIDE}"));
    let bytes = serde_json::to_vec(note)?;
    let written = (|| {
        let mut file = open_private(&aside).map_err(io::Error::other)?;
        io::Write::write_all(&mut file, &bytes)?;
        fs::rename(&aside, folder.join(format!("{name}.{ENDING}")))
    })();
    if written.is_err() {
        _ = fs::remove_file(&aside);
    }
    written
}

/// Makes the place for notes, and the file that counts what is lost while there is room for it.
pub fn prepare(directory: &Path) -> io::Result<()> {
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
    // Somebody else may have been faster, and may have counted already.
    let made = fs::hard_link(&aside, &lost);
    _ = fs::remove_file(&aside);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// What was lost: how many notes, and when the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    pub count: u64,
    pub last: Timestamp,
}

/// Counts a note that could not be written. A full disk takes no byte, but a file that is there takes a new time: its
/// seconds say when, and its fraction of a second how often.
fn count_lost(directory: &Path, at: Timestamp) -> io::Result<()> {
    let file = fs::File::options()
        .write(true)
        .open(directory.join(FOLDER).join(LOST))?;
    file.lock()?;
    let before = lost_of(&file.metadata()?).map_or(0, |lost| lost.count);
    let count = i32::try_from(before + 1).unwrap_or(i32::MAX).min(999_999_999);
    let time = Timestamp::new(at.as_second().max(1), count).map_err(io::Error::other)?;
    file.set_modified(time.into())
}

/// How many notes were ever lost; none where none was.
pub fn lost(directory: &Path) -> Option<Lost> {
    let metadata = fs::metadata(directory.join(FOLDER).join(LOST)).ok()?;
    lost_of(&metadata)
}

fn lost_of(metadata: &fs::Metadata) -> Option<Lost> {
    let time = crate::files::modified(metadata)?;
    let count = u64::try_from(time.subsec_nanosecond())
        .ok()
        .filter(|count| *count > 0)?;
    let last = Timestamp::new(time.as_second(), 0).ok()?;
    Some(Lost { count, last })
}

/// A note that waits, with the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub name: String,
    pub note: Result<Note, NoteFault>,
}

/// Why a file in the spool yields no note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteFault {
    /// It is not a note: a power cut left half of one.
    Damaged,
    /// It cannot be read now; a later sweep may succeed.
    Unreadable,
}

/// Whether notes wait.
pub fn is_waiting(directory: &Path) -> bool {
    names(directory).next().is_some()
}

/// All notes that wait, oldest name first. A note that another sweep removes meanwhile is left out.
pub fn waiting(directory: &Path) -> Vec<Waiting> {
    let folder = directory.join(FOLDER);
    let mut names: Vec<String> = names(directory).collect();
    names.sort();
    names
        .into_iter()
        .filter_map(|name| {
            let note = match read(&folder.join(&name)) {
                Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| NoteFault::Damaged),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(_) => Err(NoteFault::Unreadable),
            };
            Some(Waiting { name, note })
        })
        .collect()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let (file, _) = crate::files::open(path)?;
    file.take(NOTE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory.join(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == ENDING))
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::hook_call;

    const AT: Timestamp = Timestamp::constant(1_775_034_000, 0);

    fn note(payload: &str, roots: &[(Agent, &str)]) -> Option<Note> {
        let roots: Vec<_> = roots
            .iter()
            .map(|(agent, path)| (*agent, PathBuf::from(path)))
            .collect();
        Note::of(&hook_call(payload.as_bytes(), Agent::Claude)?, Some(&roots), AT)
    }

    #[test]
    fn only_sessions_below_a_root_are_noted_and_the_root_says_whose_they_are() {
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
    fn a_reason_is_a_word_or_nothing() {
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
    fn what_is_lost_is_counted_by_the_time_of_a_file() {
        let home = tempfile::tempdir().unwrap();
        prepare(home.path()).unwrap();
        assert_eq!(lost(home.path()), None);
        for _ in 0..3 {
            count_lost(home.path(), AT).unwrap();
        }
        prepare(home.path()).unwrap();
        assert_eq!(lost(home.path()), Some(Lost { count: 3, last: AT }));
    }
}
