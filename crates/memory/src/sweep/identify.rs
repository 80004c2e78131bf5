//! Identifies the session that a log belongs to by its first lines. Reads a bounded head of the log and never the
//! store.

use std::io::Read;
use std::path::Path;

use transcript::{Agent, Origin, Source, State};

use super::plan::{log_kind, log_of};
use crate::files;
use crate::ingest::{self, IdentifyBy};
use crate::sources;

/// Bytes read to identify a session: at first, and at most.
const FIRST_BYTES: u64 = 8 << 10;
const HEAD_BYTES: u64 = 64 << 10;

/// Returns the uid of the session that the first lines of a log name.
pub(crate) fn uid_of_log(agent: Agent, log: &Path) -> String {
    uid_of(agent, &sources::find_source(agent, log)).0
}

/// Returns the uid that the head of a log names, and how many bytes were read. Most logs name it in their first lines.
pub(super) fn uid_of(agent: Agent, source: &Source) -> (String, u64) {
    let path = log_of(source);
    let mut rest = files::open_regular(&path).and_then(|(file, _)| ingest::unpacked(&path, file));
    // Reserves memory up front, because `read_to_end` reads into an empty vector in small steps.
    let mut head = Vec::with_capacity(FIRST_BYTES as usize);
    let mut read = |head: &mut Vec<u8>, most: u64| {
        if let Ok(rest) = &mut rest {
            _ = rest.take(most - head.len() as u64).read_to_end(head);
        }
    };
    read(&mut head, FIRST_BYTES);
    // At least one complete line is needed, because a truncated line could name another session.
    if head.contains(&b'\n')
        && let (uid, true) = uid_in(agent, source, &path, &head)
    {
        return (uid, head.len() as u64);
    }
    read(&mut head, HEAD_BYTES);
    (uid_in(agent, source, &path, &head).0, head.len() as u64)
}

/// Returns the uid that the head of a log names, and `true` if later lines cannot change it.
fn uid_in(agent: Agent, source: &Source, path: &Path, head: &[u8]) -> (String, bool) {
    let mut state = State::new(agent, Origin::of(&path.to_string_lossy()));
    let whole = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len());
    let identity = ingest::identify(&mut state, log_kind(source), &head[..whole], IdentifyBy::Session);
    // The fallback is the id in the file name.
    let by_place = || format!("{}:{}", agent.as_str(), source.native_id);
    let uid = identity.session_uid.unwrap_or_else(by_place);
    (uid, state.is_named())
}
