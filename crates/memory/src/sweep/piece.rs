//! What workers hand to the writer: pieces of sessions that can each be committed alone.

use transcript::{Agent, Delta, PartKind};

use crate::packs::Frame;
use crate::search::{Form, Marks};
use crate::sources::Unread;
use crate::store::{Cursor, Extent, FreshDigest, FreshPages, PackedState, PackedTail, Store};

/// Raw bytes after which a piece is handed over: a bound on memory, and on work lost by a crash.
pub(super) const PIECE_BYTES: u64 = 8 << 20;

/// What a worker hands over.
#[expect(
    clippy::large_enum_variant,
    reason = "failures are rare, and pieces move through a short queue"
)]
pub(super) enum Output {
    Piece(Piece),
    /// A file next to the log, or another copy of it, could not be read. The session itself is still read.
    Failed(Unread),
    /// The session could not be read to its end.
    Aborted(String, Unread),
    /// No time was left for this session, or for the rest of it.
    Left(String),
    /// Nothing more comes of this session.
    Ended(String),
}

/// What of the store goes before a piece is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaces {
    Nothing,
    /// What the store has of the part.
    Part,
    /// Everything it has under the uid.
    All,
}

/// New lines of one part, or a companion, ready to be committed.
pub(super) struct Piece {
    pub(super) agent: Agent,
    /// The session it belongs to.
    pub(super) uid: String,
    /// Under which uid it is kept: a stand-in's, while the session is made anew.
    pub(super) into: String,
    pub(super) replaces: Replaces,
    /// Set on the last piece of a session that was made anew: it takes its place.
    pub(super) promotes: Option<Promotion>,
    pub(super) part: String,
    pub(super) kind: PartKind,
    /// How far all parts of the session were read when this piece was made: the store must still say so, since what the
    /// reader remembers is of all of them.
    pub(super) base: Vec<Cursor>,
    /// How far it is read now; none while the session is made anew.
    pub(super) cursor: Option<Cursor>,
    /// Cursors that are put as they are: of copies, and of all parts where the session was made anew.
    pub(super) others: Vec<Cursor>,
    pub(super) frames: Vec<Frame>,
    /// None where the part's lines stay where they are.
    pub(super) tail: Option<PackedTail>,
    pub(super) tail_marks: Marks,
    /// What is kept beside frames that stay where they are.
    pub(super) marks: Vec<(i64, Marks)>,
    pub(super) delta: Delta,
    /// How many events it brings.
    pub(super) events: u64,
    /// Those events, where no others come before them; else they are in the delta.
    pub(super) pages: Option<FreshPages>,
    /// The digest, where the piece has all of the session and nothing more is expected of it.
    pub(super) digest: Option<FreshDigest>,
    /// What the reader remembers; none while the session is made anew and this is not its last piece.
    pub(super) state: Option<PackedState>,
    /// Whether it was made of what is kept, rather than of a log.
    pub(super) is_refresh: bool,
    /// Whether it only says what the files of a session look like whose raw text was let go.
    pub(super) is_touch: bool,
    pub(super) bytes_read: u64,
    /// Bytes read only to see that nothing changed.
    pub(super) bytes_checked: u64,
    pub(super) redactions: u64,
}

/// About what an event takes in memory.
const EVENT_BYTES: u64 = 900;

impl Piece {
    /// Whether others of a session that is made anew come behind it, and none before.
    pub(super) fn begins_stand_in(&self) -> bool {
        self.into != self.uid && self.replaces == Replaces::All && self.promotes.is_none()
    }

    /// About what it takes in memory.
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

/// How a part is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Searched {
    pub(crate) form: Form,
    /// Whether the store indexes words.
    pub(crate) with_words: bool,
}

/// How a part is searched; none where it is not.
pub(crate) fn searched(store: &Store, agent: Agent, kind: PartKind) -> Option<Searched> {
    let form = Form::of(agent, kind)?;
    let with_words = store.indexes_words();
    Some(Searched { form, with_words })
}

/// How a session that was made anew takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Promotion {
    pub(super) extent: Extent,
    /// Whether the log told something new, rather than we reading it better.
    pub(super) is_growth: bool,
}
