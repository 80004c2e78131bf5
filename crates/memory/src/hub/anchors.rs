//! Compares how far two memories read the log of a session. The longer log wins, but only if it starts with the
//! shorter one.

use std::path::Path;

use crate::store::{Cursor, Store, StoreError};
use crate::sweep::ends;

/// How the local copy of a session compares with the one on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// The local copy has more lines.
    Longer,
    /// Both copies have the same number of lines.
    Equal,
    Shorter,
    /// The logs start differently.
    Apart,
}

/// Compares how far a session was read, part by part.
pub(super) fn compare(from: &Store, to: &Store, uid: &str) -> Result<Stands, StoreError> {
    let read = |store: &Store| -> Result<Vec<Cursor>, StoreError> {
        let mut cursors = store.reads().cursors_of(uid)?;
        cursors.retain(|cursor| !cursor.is_of_copy());
        Ok(cursors)
    };
    let (here, there) = (read(from)?, read(to)?);
    for own in &here {
        let other = there.iter().find(|other| other.part == own.part);
        if other.is_some_and(|other| differ(own, other)) {
            return Ok(Stands::Apart);
        }
    }
    let lines = |cursors: &[Cursor]| cursors.iter().map(|cursor| cursor.lines).sum::<u64>();
    Ok(match lines(&here).cmp(&lines(&there)) {
        std::cmp::Ordering::Greater => Stands::Longer,
        std::cmp::Ordering::Equal => Stands::Equal,
        std::cmp::Ordering::Less => Stands::Shorter,
    })
}

/// Returns `true` if two files of one part are known to start differently. They are treated as the same file if this
/// cannot be determined.
fn differ(own: &Cursor, other: &Cursor) -> bool {
    // Other parts, such as a summary, are rewritten as a whole.
    let is_log = matches!(own.part.as_str(), "log" | "chat_history");
    if !is_log || own.is_to_be_read() || other.is_to_be_read() {
        return false;
    }
    if own.read_to == other.read_to {
        return (own.head_hash, own.tail_hash) != (other.head_hash, other.tail_hash);
    }
    // The file on disk still shows its contents up to the length of the shorter copy.
    let shorter = own.read_to.min(other.read_to);
    let then = (own.read_to > shorter).then(|| ends::hashes(Path::new(&own.path), shorter));
    match then {
        Some(Ok(hashes)) => hashes != (other.head_hash, other.tail_hash),
        _ => ends::is_whole_head(shorter) && own.head_hash != other.head_hash,
    }
}
