//! Pieces of sessions that workers send to the writer. Each can be committed on its own.

use transcript::{Agent, Delta, PartKind};

use crate::packs::Frame;
use crate::search::{Form, Marks};
use crate::sources::Unread;
use crate::store::{Cursor, Extent, FreshDigest, FreshPages, PackedState, PackedTail, Store};

/// Raw bytes after which a piece is sent. This limits memory and the work lost in a crash.
pub(super) const PIECE_BYTES: u64 = 8 << 20;

/// A message from a worker to the writer.
#[expect(
    clippy::large_enum_variant,
    reason = "failures are rare, and pieces move through a short queue"
)]
pub(super) enum Output {
    Piece(Piece),
    /// A file next to the log, or another copy of the log, could not be read. The session itself is still read.
    Failed(Unread),
    /// The session could not be read to its end because of an error.
    Aborted(String, Unread),
    /// The session, or the rest of it, is left to a later sweep because the time is over.
    Left(String),
    /// The worker is done with this session.
    Ended(String),
}

/// What the writer deletes from the store before it adds a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaces {
    Nothing,
    /// The stored rows and frames of the part.
    Part,
    /// Everything stored under the uid.
    All,
}

/// New lines of one part, or a companion, ready to be committed.
pub(super) struct Piece {
    pub(super) agent: Agent,
    /// The session that the piece belongs to.
    pub(super) uid: String,
    /// The uid under which it is stored. While a session is rebuilt, this is the uid of its staging copy.
    pub(super) into: String,
    pub(super) replaces: Replaces,
    /// Set on the last piece of a rebuilt session: the staging copy replaces the session.
    pub(super) promotes: Option<Promotion>,
    pub(super) part: String,
    pub(super) kind: PartKind,
    /// The cursors of all parts when this piece was made. The writer drops the piece if the store has others by now,
    /// because the reader's state covers all parts.
    pub(super) base: Vec<Cursor>,
    /// How far the part is read with this piece; `None` while the session is rebuilt.
    pub(super) cursor: Option<Cursor>,
    /// Cursors that are stored unchanged: those of copies, and those of all parts if the session was rebuilt.
    pub(super) others: Vec<Cursor>,
    pub(super) frames: Vec<Frame>,
    /// The lines that do not fill a frame; `None` if the stored lines of the part stay.
    pub(super) tail: Option<PackedTail>,
    pub(super) tail_marks: Marks,
    /// Search data for stored frames that stay, by frame number.
    pub(super) marks: Vec<(i64, Marks)>,
    pub(super) delta: Delta,
    /// Number of events in the piece.
    pub(super) events: u64,
    /// These events as pages if they are the first of the session. Otherwise they are in the delta.
    pub(super) pages: Option<FreshPages>,
    /// The digest if the piece contains the whole session.
    pub(super) digest: Option<FreshDigest>,
    /// The reader's state; `None` while the session is rebuilt, except in the last piece.
    pub(super) state: Option<PackedState>,
    /// True if the piece was made from stored lines instead of a log.
    pub(super) is_refresh: bool,
    /// True if the raw text of the session was evicted and the piece only updates its cursors.
    pub(super) is_touch: bool,
    pub(super) bytes_read: u64,
    /// Bytes read only to check that nothing changed.
    pub(super) bytes_checked: u64,
    pub(super) redactions: u64,
}

/// Approximate size of an event in memory.
const EVENT_BYTES: u64 = 900;

impl Piece {
    /// Returns `true` if this is the first of several pieces of a rebuilt session.
    pub(super) fn begins_stand_in(&self) -> bool {
        self.into != self.uid && self.replaces == Replaces::All && self.promotes.is_none()
    }

    /// Returns the approximate size of the piece in memory.
    pub(super) fn weight(&self) -> u64 {
        let frames: usize = self
            .frames
            .iter()
            .map(|frame| frame.bytes.len() + frame.marks.size())
            .sum();
        let rest = self.tail.as_ref().map_or(0, PackedTail::size) + self.tail_marks.size();
        let rest = rest + self.pages.as_ref().map_or(0, FreshPages::size);
        let rest = rest + self.digest.as_ref().map_or(0, FreshDigest::size);
        let rest = rest + self.state.as_ref().map_or(0, PackedState::size);
        let rest = rest + self.marks.iter().map(|(_, marks)| marks.size()).sum::<usize>();
        (frames + rest) as u64 + self.delta.events.len() as u64 * EVENT_BYTES
    }
}

/// How the lines of a part are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Searched {
    pub(crate) form: Form,
    /// True if the store indexes words.
    pub(crate) with_words: bool,
}

/// Returns how the lines of a part are searched, or `None` if they are not.
pub(crate) fn searched(store: &Store, agent: Agent, kind: PartKind) -> Option<Searched> {
    let form = Form::of(agent, kind)?;
    let with_words = store.indexes_words();
    Some(Searched { form, with_words })
}

/// How a rebuilt session replaces the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Promotion {
    pub(super) extent: Extent,
    /// True if the log has new lines. False if the session was only read by a newer reader or masked by newer rules.
    pub(super) is_growth: bool,
}
