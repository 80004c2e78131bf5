//! What was found in the lines of sessions while a sweep had them at hand, so that their frames are not unpacked again for
//! their digests. It is bounded; whose findings are not here, or are not of what is kept, is looked through.

use std::collections::HashMap;

use transcript::{Agent, SessionEvent};

use super::lines::{Findings, Wanted, look_through};
use crate::store::{Cursor, Store, StoreError};

/// The findings of all sessions together take no more than about this.
const BYTES_MAX: usize = 16 << 20;
/// What an answer takes in a map, roughly.
const ANSWER_BYTES: usize = 32;

/// Findings by session.
#[derive(Default)]
pub(crate) struct Found {
    all: HashMap<String, (Seen, Findings)>,
    bytes: usize,
}

/// What tells a log that was read so far from every other: its lines, and the hashes of its ends.
#[derive(Debug, PartialEq, Eq)]
struct Seen(u64, [u8; 32], [u8; 32]);

/// Looks for what the events of a log leave open in its lines, which are all at hand: from which on, how many, and their bytes.
pub(crate) fn find<'l>(
    agent: Agent,
    events: &[SessionEvent],
    stretches: impl Iterator<Item = (u64, u64, &'l [u8])>,
) -> Findings {
    look_through(agent, Wanted::of(events), stretches)
}

impl Found {
    /// Remembers what was found in a log that is kept as far as the cursor says.
    pub(crate) fn put(&mut self, cursor: &Cursor, findings: &Findings) {
        let answers = findings.tests.len() + findings.commits.len() + findings.edits.len() + findings.secrets.len();
        let reply = findings.last_reply.as_ref().map_or(0, String::len);
        let bytes = size_of::<Findings>() + cursor.session_uid.len() + reply + answers * ANSWER_BYTES;
        if self.bytes + bytes <= BYTES_MAX {
            self.bytes += bytes;
            self.all
                .insert(cursor.session_uid.clone(), (Seen::of(cursor), findings.clone()));
        }
    }

    /// The findings of a session, if they are of all that is kept of it.
    pub(super) fn of(&self, store: &Store, session_uid: &str) -> Result<Option<&Findings>, StoreError> {
        let Some((seen, findings)) = self.all.get(session_uid) else {
            return Ok(None);
        };
        let cursors = store.reads().cursors_of(session_uid)?;
        let is_all = cursors.iter().any(|cursor| Seen::of(cursor) == *seen);
        Ok(is_all.then_some(findings))
    }
}

impl Seen {
    fn of(cursor: &Cursor) -> Self {
        Self(cursor.lines, cursor.head_hash, cursor.tail_hash)
    }
}
