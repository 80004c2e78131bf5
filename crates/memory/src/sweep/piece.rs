//! Pieces of sessions that workers send to the writer. Each can be committed on its own.

use transcript::{Agent, Delta, PartKind};

use crate::packs::CompressedFrame;
use crate::search::{FrameMarks, PartFormat};
use crate::sources::UnreadPath;
use crate::store::{Cursor, FreshDigest, FreshPages, PackedState, PackedTail, ReplaceScope, Store};

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
    Failed(UnreadPath),
    /// The session could not be read to its end because of an error.
    Aborted(String, UnreadPath),
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

/// New rows of one part of a session, ready to be committed.
pub(super) struct Piece {
    pub(super) agent: Agent,
    /// The session that the piece belongs to.
    pub(super) uid: String,
    /// The uid under which it is stored. While a session is rebuilt, this is the uid of its staging copy.
    pub(super) into: String,
    pub(super) part: String,
    pub(super) kind: PartKind,
    pub(super) delta: Delta,
    /// Number of events in the piece.
    pub(super) events: u64,
    /// These events as pages if they are the first of the session. Otherwise they are in the delta.
    pub(super) pages: Option<FreshPages>,
    pub(super) change: PieceChange,
    pub(super) bytes_read: u64,
    /// Bytes read only to check that nothing changed.
    pub(super) bytes_checked: u64,
    pub(super) redactions: u64,
}

/// What a piece changes in the store, apart from the rows of its delta.
#[expect(
    clippy::large_enum_variant,
    reason = "most pieces extend a session, and pieces move through a short queue"
)]
pub(super) enum PieceChange {
    /// Adds lines of a log, or a changed companion, to the session itself.
    Extend(Extension),
    /// Adds lines of a log that is read from its beginning to the staging copy.
    Restart(StagedLines),
    /// Adds stored lines, masked by newer rules, to the staging copy.
    Remask(StagedLines),
    /// Adds rows derived by a newer reader to the staging copy. The stored lines stay.
    Reparse(StagedRows),
    /// Updates nothing but cursors, because the raw text was evicted or the log is only a copy.
    UpdateCursors(CursorUpdate),
}

/// Lines added to a session under its own uid.
pub(super) struct Extension {
    pub(super) replaces: Replaces,
    /// The cursors of all parts when this piece was made. The writer drops the piece if the store has others by now,
    /// because the reader's state covers all parts.
    pub(super) base: Vec<Cursor>,
    /// How far the part is read with this piece.
    pub(super) cursor: Cursor,
    /// The cursors of copies of the log.
    pub(super) copies: Vec<Cursor>,
    /// `None` if a companion has only moved, so that its stored lines stay.
    pub(super) lines: Option<PieceLines>,
    pub(super) state: PackedState,
    /// The digest if the piece contains the whole session.
    pub(super) digest: Option<FreshDigest>,
}

/// Lines added to the staging copy of a session.
pub(super) struct StagedLines {
    pub(super) replaces: Replaces,
    pub(super) lines: PieceLines,
    /// Set on the last piece of the session.
    pub(super) last: Option<LastStaged>,
}

/// What is stored when the staging copy is complete, because it is only valid for the whole session.
pub(super) struct LastStaged {
    /// The cursors of all parts and copies.
    pub(super) cursors: Vec<Cursor>,
    pub(super) state: PackedState,
}

/// Rows added to the staging copy of a session whose lines stay.
pub(super) struct StagedRows {
    pub(super) replaces: Replaces,
    /// Search data for the stored frames, by frame number.
    pub(super) marks: Vec<(i64, FrameMarks)>,
    /// Set on the last piece of the session.
    pub(super) last_state: Option<PackedState>,
}

/// Cursors of a session that gets no new lines.
pub(super) struct CursorUpdate {
    /// The cursors of all parts when this piece was made.
    pub(super) base: Vec<Cursor>,
    /// The new cursor of the log; `None` if the log here is a copy.
    pub(super) log: Option<Cursor>,
    /// The cursors of the other parts and of copies.
    pub(super) others: Vec<Cursor>,
}

/// Masked lines of a part.
pub(super) struct PieceLines {
    pub(super) frames: Vec<CompressedFrame>,
    /// The lines that do not fill a frame.
    pub(super) tail: PackedTail,
    pub(super) tail_marks: FrameMarks,
}

impl PieceLines {
    /// Returns the approximate size of the lines in memory.
    fn weight(&self) -> usize {
        let frames = self.frames.iter();
        let frames: usize = frames.map(|frame| frame.bytes.len() + frame.marks.size()).sum();
        frames + self.tail.size() + self.tail_marks.size()
    }
}

/// Approximate size of an event in memory.
const EVENT_BYTES: u64 = 900;

impl Piece {
    /// Returns what the writer deletes before it adds the piece.
    pub(super) fn replaces(&self) -> Replaces {
        match &self.change {
            PieceChange::Extend(extension) => extension.replaces,
            PieceChange::Restart(staged) | PieceChange::Remask(staged) => staged.replaces,
            PieceChange::Reparse(staged) => staged.replaces,
            PieceChange::UpdateCursors(_) => Replaces::Nothing,
        }
    }

    /// Replaces the stored rows of the part, unless the piece replaces everything anyway.
    pub(super) fn replace_part(&mut self) {
        let replaces = match &mut self.change {
            PieceChange::Extend(extension) => &mut extension.replaces,
            PieceChange::Restart(staged) | PieceChange::Remask(staged) => &mut staged.replaces,
            PieceChange::Reparse(_) | PieceChange::UpdateCursors(_) => return,
        };
        if *replaces == Replaces::Nothing {
            *replaces = Replaces::Part;
        }
    }

    pub(super) fn lines(&self) -> Option<&PieceLines> {
        match &self.change {
            PieceChange::Extend(extension) => extension.lines.as_ref(),
            PieceChange::Restart(staged) | PieceChange::Remask(staged) => Some(&staged.lines),
            PieceChange::Reparse(_) | PieceChange::UpdateCursors(_) => None,
        }
    }

    pub(super) fn frames(&self) -> &[CompressedFrame] {
        self.lines().map_or(&[], |lines| &lines.frames)
    }

    /// Returns search data for stored frames that stay.
    pub(super) fn kept_marks(&self) -> &[(i64, FrameMarks)] {
        match &self.change {
            PieceChange::Reparse(staged) => &staged.marks,
            _ => &[],
        }
    }

    /// Returns the new cursor of the part, or `None` if it keeps its cursor or gets it with the last piece.
    pub(super) fn cursor(&self) -> Option<&Cursor> {
        match &self.change {
            PieceChange::Extend(extension) => Some(&extension.cursor),
            PieceChange::UpdateCursors(update) => update.log.as_ref(),
            PieceChange::Restart(_) | PieceChange::Remask(_) | PieceChange::Reparse(_) => None,
        }
    }

    /// Returns the cursors that are stored unchanged.
    pub(super) fn other_cursors(&self) -> &[Cursor] {
        match &self.change {
            PieceChange::Extend(extension) => &extension.copies,
            PieceChange::Restart(staged) | PieceChange::Remask(staged) => {
                staged.last.as_ref().map_or(&[], |last| &last.cursors)
            }
            PieceChange::Reparse(_) => &[],
            PieceChange::UpdateCursors(update) => &update.others,
        }
    }

    /// Returns the reader's state, or `None` before the last piece of a staging copy.
    pub(super) fn state(&self) -> Option<&PackedState> {
        match &self.change {
            PieceChange::Extend(extension) => Some(&extension.state),
            PieceChange::Restart(staged) | PieceChange::Remask(staged) => staged.last.as_ref().map(|last| &last.state),
            PieceChange::Reparse(staged) => staged.last_state.as_ref(),
            PieceChange::UpdateCursors(_) => None,
        }
    }

    pub(super) fn digest(&self) -> Option<&FreshDigest> {
        match &self.change {
            PieceChange::Extend(extension) => extension.digest.as_ref(),
            _ => None,
        }
    }

    /// Returns how the staging copy replaces the session, if this is its last piece.
    pub(super) fn promotion(&self) -> Option<Promotion> {
        let (extent, is_growth) = match &self.change {
            PieceChange::Restart(staged) if staged.last.is_some() => (ReplaceScope::Whole, true),
            PieceChange::Remask(staged) if staged.last.is_some() => (ReplaceScope::Whole, false),
            PieceChange::Reparse(staged) if staged.last_state.is_some() => (ReplaceScope::Derived, false),
            _ => return None,
        };
        Some(Promotion { extent, is_growth })
    }

    /// Returns `true` if the piece belongs to a staging copy instead of the session itself.
    pub(super) fn is_staged(&self) -> bool {
        matches!(
            self.change,
            PieceChange::Restart(_) | PieceChange::Remask(_) | PieceChange::Reparse(_)
        )
    }

    /// Returns `true` if the piece was made from stored lines instead of a log.
    pub(super) fn is_refresh(&self) -> bool {
        matches!(self.change, PieceChange::Remask(_) | PieceChange::Reparse(_))
    }

    /// Returns `true` if this is the first of several pieces of a staging copy.
    pub(super) fn begins_stand_in(&self) -> bool {
        self.is_staged() && self.replaces() == Replaces::All && self.promotion().is_none()
    }

    /// Returns the approximate size of the piece in memory.
    pub(super) fn weight(&self) -> u64 {
        let marks = self.kept_marks().iter();
        let bytes = self.lines().map_or(0, PieceLines::weight)
            + self.pages.as_ref().map_or(0, FreshPages::size)
            + self.digest().map_or(0, FreshDigest::size)
            + self.state().map_or(0, PackedState::size)
            + marks.map(|(_, marks)| marks.size()).sum::<usize>();
        bytes as u64 + self.delta.events.len() as u64 * EVENT_BYTES
    }
}

/// How the lines of a part are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Searched {
    pub(crate) form: PartFormat,
    /// True if the store indexes words.
    pub(crate) with_words: bool,
}

/// Returns how the lines of a part are searched, or `None` if they are not.
pub(crate) fn searched(store: &Store, agent: Agent, kind: PartKind) -> Option<Searched> {
    let form = PartFormat::of(agent, kind)?;
    let with_words = store.indexes_words();
    Some(Searched { form, with_words })
}

/// How a rebuilt session replaces the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Promotion {
    pub(super) extent: ReplaceScope,
    /// True if the log has new lines. False if the session was only read by a newer reader or masked by newer rules.
    pub(super) is_growth: bool,
}
