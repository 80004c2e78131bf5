//! The small files beside a log, which are stored whole and replaced when they change.

use std::io::{self, Read};

use transcript::{Delta, Part, PartKind};

use super::{Worker, part_name};
use crate::breaks;
use crate::files;
use crate::ingest::{self, LineForm};
use crate::packs;
use crate::sources::UnreadPath;
use crate::store::{Cursor, Tail};
use crate::sweep::ends::Ends;
use crate::sweep::marking::marks_of;
use crate::sweep::piece::{Output, PieceLines, searched};
use crate::sweep::plan::stat;
use crate::sweep::{index, path_text};

/// A larger companion is stored as a frame instead of a row.
pub(in crate::sweep) const ROW_BYTES_MAX: usize = 64 << 10;

impl Worker<'_> {
    /// Sends the small files beside the log that changed. Returns `false` once the receiver has hung up.
    pub(super) fn companions(&mut self) -> io::Result<bool> {
        for part in self.job.source.parts.iter().filter(|part| !part.kind.has_lines()) {
            let name = part_name(part);
            let known = self.job.cursors.get(&name).filter(|_| !self.is_fresh);
            if let Some(known) = known.filter(|known| is_moved(known, part)) {
                if !self.remember_place(part, known) {
                    return Ok(false);
                }
                continue;
            }
            let Some((raw, cursor)) = self.companion(part, known)? else {
                continue;
            };
            let mut found = Vec::new();
            let masked = ingest::mask_bytes(self.sweep.masker, companion_form(part.kind), &raw, &mut found);
            self.state.companion(part.kind, &masked);
            let lines = breaks::count(&masked);
            let mut delta = Delta::default();
            self.state.close(&mut delta);
            crate::digest::name_repo(&mut delta);
            let searched = searched(self.store, self.job.agent, part.kind);
            let mut frames = Vec::new();
            let mut tail = Tail::default();
            if masked.len() > ROW_BYTES_MAX {
                let mut frame = packs::compress_frame(1, lines, &masked)?;
                frame.marks = marks_of(searched, &masked);
                frames.push(frame);
            } else {
                (tail.first_line, tail.lines, tail.bytes) = (1, lines, masked);
            }
            let lines = PieceLines {
                frames,
                tail_marks: marks_of(searched, &tail.bytes),
                tail: tail.pack()?,
            };
            let mut piece = self.piece(part, cursor, lines, delta, false);
            piece.replace_part();
            piece.bytes_read = raw.len() as u64;
            piece.redactions = found.len() as u64;
            if !(self.send)(Output::Piece(piece)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records the new path of a companion that was moved but not changed.
    fn remember_place(&mut self, part: &Part, known: &Cursor) -> bool {
        let cursor = Cursor {
            path: path_text(&part.path),
            ..known.clone()
        };
        let mut delta = Delta::default();
        self.state.close(&mut delta);
        crate::digest::name_repo(&mut delta);
        let piece = self.extend(part, cursor, None, delta);
        (self.send)(Output::Piece(piece))
    }

    /// Returns the bytes of a companion that changed, and the cursor after them.
    fn companion(&self, part: &Part, known: Option<&Cursor>) -> io::Result<Option<(Vec<u8>, Cursor)>> {
        if part.kind == PartKind::Index {
            let lines = self.job.index.clone();
            return Ok(lines.map(|lines| {
                let cursor = index::cursor(&self.target(), &part.path, &self.job.root, &lines);
                (lines, cursor)
            }));
        }
        let (file, metadata) = match files::open_regular(&part.path) {
            Ok(opened) => opened,
            Err(error) => {
                self.failed(part, &error.to_string());
                return Ok(None);
            }
        };
        let stat = stat(&metadata);
        if known.is_some_and(|cursor| cursor.stat == stat) {
            return Ok(None);
        }
        if stat.size > files::COMPANION_BYTES_MAX {
            self.failed(part, "larger than such a file can be");
            return Ok(None);
        }
        let mut raw = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default() + 1);
        file.take(files::COMPANION_BYTES_MAX).read_to_end(&mut raw)?;
        let lines = breaks::count(&raw);
        let cursor = self.cursor(part, stat, &Ends::of(&raw), (raw.len() as u64, lines, false));
        Ok(Some((raw, cursor)))
    }

    fn failed(&self, part: &Part, reason: &str) {
        (self.send)(Output::Failed(UnreadPath {
            path: part.path.clone(),
            reason: reason.to_owned(),
        }));
    }
}

/// Returns the format of a companion: Codex's index is JSON Lines, the others are text.
pub(in crate::sweep) fn companion_form(kind: PartKind) -> LineForm {
    match kind {
        PartKind::Index => LineForm::Json(None),
        _ => LineForm::Text,
    }
}

/// Returns `true` if a companion is the known file at a new path.
fn is_moved(known: &Cursor, part: &Part) -> bool {
    let now = std::fs::metadata(&part.path).map(|metadata| stat(&metadata));
    known.path != path_text(&part.path) && now.is_ok_and(|now| now == known.stat)
}
