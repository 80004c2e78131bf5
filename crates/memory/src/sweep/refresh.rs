//! Rebuilds a session from its stored lines, because they were masked by older rules or parsed by an older reader. The
//! old rows stay until the new ones are complete.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use transcript::{Agent, Line, LineBody, Origin, PartKind, State};

use super::Sweep;
use super::ends::Ends;
use super::gather::Gathered;
use super::marking::marks_of;
use super::piece::{
    LastStaged, Output, PIECE_BYTES, Piece, PieceChange, PieceLines, Replaces, StagedLines, StagedRows, searched,
};
use super::work::companion_form;
use crate::breaks;
use crate::ingest::{self, LineForm, LineMasker};
use crate::kept;
use crate::packs;
use crate::search::FrameMarks;
use crate::sources::UnreadPath;
use crate::store::{Cursor, FreshEvents, PackedState, ReplaceScope, Store, StoreError, TAIL_NO, Tail, stand_in};

/// A session that has to be rebuilt from its stored lines.
pub(super) struct StaleSession {
    pub(super) uid: String,
    extent: ReplaceScope,
}

impl StaleSession {
    /// Masks the lines again and rebuilds everything derived from them.
    pub(super) fn remasked(uid: String) -> Self {
        Self {
            uid,
            extent: ReplaceScope::Whole,
        }
    }

    /// Keeps the lines and rebuilds everything derived from them.
    pub(super) fn reread(uid: String) -> Self {
        Self {
            uid,
            extent: ReplaceScope::Derived,
        }
    }
}

/// Rebuilds one session. Returns `false` once the writer has hung up.
pub(super) fn run(stale: &StaleSession, sweep: &Sweep<'_>, store: &Store, send: &dyn Fn(Output) -> bool) -> bool {
    let done = Rebuild::new(stale, sweep, store, send).and_then(|mut worker| worker.run());
    match done {
        Ok(is_connected) => is_connected,
        Err(error) => {
            let unread = UnreadPath {
                path: PathBuf::from(&stale.uid),
                reason: error.to_string(),
            };
            send(Output::Aborted(stale.uid.clone(), unread))
        }
    }
}

struct Rebuild<'w> {
    stale: &'w StaleSession,
    sweep: &'w Sweep<'w>,
    store: &'w Store,
    send: &'w dyn Fn(Output) -> bool,
    agent: Agent,
    state: State,
    /// The parts whose search data was rebuilt.
    marked_parts: HashSet<String>,
    is_first: bool,
}

impl<'w> Rebuild<'w> {
    fn new(
        stale: &'w StaleSession,
        sweep: &'w Sweep<'w>,
        store: &'w Store,
        send: &'w dyn Fn(Output) -> bool,
    ) -> Result<Self, StoreError> {
        let agent = kept::agent_of(&stale.uid)?;
        let origin = Origin::of(&store.reads().log_path(&stale.uid)?);
        Ok(Self {
            stale,
            sweep,
            store,
            send,
            agent,
            state: State::new(agent, origin),
            marked_parts: HashSet::new(),
            is_first: true,
        })
    }

    fn run(&mut self) -> Result<bool, StoreError> {
        let parts = kept::list_parts(self.store, &self.stale.uid)?;
        let last = parts.len().saturating_sub(1);
        for (at, (kind, name)) in parts.iter().enumerate() {
            let is_connected = if kind.has_lines() {
                self.rebuild_lines(*kind, name, at == last)?
            } else {
                self.rebuild_companion(*kind, name, at == last)?
            };
            if !is_connected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rebuilds one of the small files beside the log.
    fn rebuild_companion(&mut self, kind: PartKind, name: &str, is_last: bool) -> Result<bool, StoreError> {
        let mut bytes = Vec::new();
        kept::each_bytes(self.store, &self.stale.uid, name, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        let mut gathered = Gathered::new(
            searched(self.store, self.agent, kind),
            Tail::default(),
            Ends::default(),
            0,
            0,
        );
        if self.stale.extent == ReplaceScope::Whole {
            bytes = ingest::mask_bytes(self.sweep.masker, companion_form(kind), &bytes, &mut gathered.found);
        }
        self.state.companion(kind, &bytes);
        gathered.tail.lines = breaks::count(&bytes);
        gathered.tail.bytes = bytes;
        if gathered.tail.bytes.len() > super::work::ROW_BYTES_MAX {
            gathered.cut_frame().map_err(io_error)?;
        }
        self.send_piece(kind, name, gathered, is_last)
    }

    /// Rebuilds a part with lines, piece by piece.
    fn rebuild_lines(&mut self, kind: PartKind, name: &str, is_last: bool) -> Result<bool, StoreError> {
        let mut masker = LineMasker::new(self.sweep.masker, LineForm::Json(Some(self.agent)));
        let mut gathered = Gathered::new(
            searched(self.store, self.agent, kind),
            Tail::default(),
            Ends::default(),
            0,
            0,
        );
        let has_tail = self.store.reads().tail(&self.stale.uid, name)?.is_some();
        let mut is_connected = true;
        let (mut number, mut is_open) = (0, false);
        kept::each_bytes(self.store, &self.stale.uid, name, |bytes| {
            // The end of a line that the previous frame cut belongs to that line.
            let (rest, bytes) = kept::rest_of_line(bytes, &mut is_open);
            gathered.tail.bytes.extend_from_slice(rest);
            for line in breaks::lines(bytes) {
                number += 1;
                self.read_line(kind, number, line, &mut masker, &mut gathered)
                    .map_err(io_error)?;
            }
            if is_connected && gathered.bytes_read >= PIECE_BYTES {
                let next = Gathered::new(
                    searched(self.store, self.agent, kind),
                    gathered.tail.clone(),
                    Ends::default(),
                    gathered.lines,
                    0,
                );
                let full = std::mem::replace(&mut gathered, next);
                is_connected = self.send_piece(kind, name, full, false)?;
            }
            Ok(())
        })?;
        if !is_connected {
            return Ok(false);
        }
        // A part without a tail was quiet, and stays complete in frames.
        if !has_tail {
            gathered.cut_frame().map_err(io_error)?;
        }
        self.send_piece(kind, name, gathered, is_last)
    }

    /// Masks and parses one line. Keeps it only if it was masked again, because the stored frames stay otherwise.
    fn read_line(
        &mut self,
        kind: PartKind,
        number: u64,
        line: &[u8],
        masker: &mut LineMasker<'_>,
        gathered: &mut Gathered,
    ) -> io::Result<()> {
        let (bytes, terminated) = line.strip_suffix(b"\n").map_or((line, false), |bytes| (bytes, true));
        let kept = Line {
            number,
            offset: 0,
            body: packs::parse_body(bytes),
            terminated,
        };
        if self.stale.extent != ReplaceScope::Whole {
            self.state.take(kind, &ingest::kept_line(kept), &mut gathered.delta);
            gathered.bytes_read += bytes.len() as u64;
            return Ok(());
        }
        let masked = masker.mask_line(kept, &mut gathered.found);
        self.state.take(kind, &masked, &mut gathered.delta);
        // The placeholder of a line that was too long is kept unchanged.
        let kept = match masked.body() {
            LineBody::Bytes(masked) => masked,
            LineBody::Oversized { .. } => bytes,
        };
        gathered.keep(number, kept, bytes.len() as u64, terminated)
    }

    /// Rebuilds the search data of frames that stay. Only the first piece of a part has it; for later ones this returns
    /// nothing.
    fn rebuild_marks(&mut self, kind: PartKind, name: &str) -> Result<Vec<(i64, FrameMarks)>, StoreError> {
        let searched = searched(self.store, self.agent, kind);
        if searched.is_none() || !self.marked_parts.insert(name.to_owned()) {
            return Ok(Vec::new());
        }
        let mut marks = Vec::new();
        for frame in self.store.reads().frames(&self.stale.uid, name)? {
            let bytes = kept::read_frame(self.store, &self.stale.uid, name, &frame)?;
            marks.push((frame.frame_no.cast_signed(), marks_of(searched, &bytes)));
        }
        if let Some(tail) = self.store.reads().tail(&self.stale.uid, name)? {
            marks.push((TAIL_NO, marks_of(searched, &tail.bytes)));
        }
        Ok(marks)
    }

    /// Returns the cursors of the session for its staging copy `into`.
    fn staged_cursors(&self, into: &str) -> Result<Vec<Cursor>, StoreError> {
        let cursors = self.store.reads().cursors_of(&self.stale.uid)?.into_iter();
        let stage = |cursor| Cursor {
            session_uid: into.to_owned(),
            ..cursor
        };
        Ok(cursors.map(stage).collect())
    }

    /// Sends a piece to the writer. Returns `false` once the writer has hung up.
    fn send_piece(
        &mut self,
        kind: PartKind,
        name: &str,
        mut gathered: Gathered,
        is_last: bool,
    ) -> Result<bool, StoreError> {
        let mut delta = std::mem::take(&mut gathered.delta);
        self.state.close(&mut delta);
        crate::digest::name_repo(&mut delta);
        let into = stand_in(&self.stale.uid);
        let is_first = std::mem::take(&mut self.is_first);
        let replaces = if is_first { Replaces::All } else { Replaces::Nothing };
        let state = is_last.then(|| PackedState::of(&self.state));
        let change = match self.stale.extent {
            ReplaceScope::Whole => PieceChange::Remask(StagedLines {
                replaces,
                lines: PieceLines {
                    frames: std::mem::take(&mut gathered.frames),
                    tail: gathered.tail.pack().map_err(io_error)?,
                    tail_marks: gathered.tail_marks(),
                },
                last: match state {
                    Some(state) => Some(LastStaged {
                        cursors: self.staged_cursors(&into)?,
                        state,
                    }),
                    None => None,
                },
            }),
            ReplaceScope::Derived => PieceChange::Reparse(StagedRows {
                replaces,
                marks: self.rebuild_marks(kind, name)?,
                last_state: state,
            }),
        };
        Ok((self.send)(Output::Piece(Piece {
            agent: self.agent,
            uid: self.stale.uid.clone(),
            into,
            part: name.to_owned(),
            kind,
            events: delta.events.len() as u64,
            pages: is_first.then(|| FreshEvents::take(&mut delta).pack()),
            delta,
            change,
            bytes_read: 0,
            bytes_checked: 0,
            redactions: gathered.found.len() as u64,
        })))
    }
}

fn io_error(source: io::Error) -> StoreError {
    StoreError::Io {
        path: PathBuf::new(),
        source,
    }
}
