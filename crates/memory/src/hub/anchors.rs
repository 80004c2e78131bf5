//! Compares how far two memories read the log of a session. The longer log wins, but only if it starts with the
//! shorter one.

use std::path::Path;

use crate::store::{Cursor, Store, StoreError};
use crate::sweep::ends;

/// How the local copy of a session compares with the one on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogComparison {
    /// The local copy has more lines.
    Longer,
    /// Both copies have the same number of lines.
    Equal,
    Shorter,
    /// The logs start differently.
    Diverged,
}

/// Compares how far a session was read, part by part.
pub(super) fn compare_logs(from: &Store, to: &Store, uid: &str) -> Result<LogComparison, StoreError> {
    let read = |store: &Store| -> Result<Vec<Cursor>, StoreError> {
        let mut cursors = store.reads().cursors_of(uid)?;
        cursors.retain(|cursor| !cursor.marks_copy());
        Ok(cursors)
    };
    let (here, there) = (read(from)?, read(to)?);
    for own in &here {
        let other = there.iter().find(|other| other.part == own.part);
        if other.is_some_and(|other| start_differently(own, other)) {
            return Ok(LogComparison::Diverged);
        }
    }
    let lines = |cursors: &[Cursor]| cursors.iter().map(|cursor| cursor.lines).sum::<u64>();
    Ok(match lines(&here).cmp(&lines(&there)) {
        std::cmp::Ordering::Greater => LogComparison::Longer,
        std::cmp::Ordering::Equal => LogComparison::Equal,
        std::cmp::Ordering::Less => LogComparison::Shorter,
    })
}

/// Returns `true` if two files of one part are known to start differently. They are treated as the same file if this
/// cannot be determined.
fn start_differently(own: &Cursor, other: &Cursor) -> bool {
    // Other parts, such as a summary, are rewritten as a whole.
    let is_log = matches!(own.part.as_str(), "log" | "chat_history");
    if !is_log || own.must_be_read() || other.must_be_read() {
        return false;
    }
    if own.read_to == other.read_to {
        return (own.head_hash, own.tail_hash) != (other.head_hash, other.tail_hash);
    }
    // The file on disk still shows its contents up to the length of the shorter copy.
    let shorter = own.read_to.min(other.read_to);
    let earlier = (own.read_to > shorter).then(|| ends::hashes(Path::new(&own.path), shorter));
    match earlier {
        Some(Ok(hashes)) => hashes != (other.head_hash, other.tail_hash),
        _ => ends::is_whole_head(shorter) && own.head_hash != other.head_hash,
    }
}
