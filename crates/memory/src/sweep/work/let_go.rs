//! Sessions with evicted raw text: a log is only read again, from its beginning, if it has new content. If it was
//! merely touched, moved or compressed, only its new path and metadata are recorded.

use std::io::{self, Read};

use transcript::{Delta, Part, PartKind};

use super::{Worker, part_name};
use crate::files;
use crate::ingest;
use crate::store::Cursor;
use crate::sweep::piece::{CursorUpdate, Output, Piece, PieceChange};
use crate::sweep::plan::stat;
use crate::sweep::{index, path_text};

impl Worker<'_> {
    /// Returns `true` if every part with lines still ends where it was last read to.
    pub(super) fn tells_nothing_new(&mut self) -> io::Result<bool> {
        let cursors = &self.job.cursors;
        if self.line_parts().any(|part| !cursors.contains_key(part.kind.as_str())) || !self.all_parts_go_on()? {
            return Ok(false);
        }
        for part in self.line_parts() {
            let read_to = self
                .job
                .cursors
                .get(part.kind.as_str())
                .map_or(0, |cursor| cursor.read_to);
            let (file, _) = files::open_regular(&part.path)?;
            let mut source = ingest::unpacked(&part.path, file)?;
            source.seek_to(read_to)?;
            if source.read(&mut [0])? > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records that this machine has a copy of a log that another machine read.
    pub(super) fn remember(&mut self) -> io::Result<bool> {
        let is_known = |part: &&Part| self.job.cursors.contains_key(part.kind.as_str());
        let Some(log) = self.line_parts().next().filter(is_known) else {
            return Ok(true);
        };
        let mut others = self.copies_of(&self.job.uid);
        for part in &self.job.source.parts {
            if let Ok(metadata) = std::fs::metadata(&part.path) {
                others.push(Cursor {
                    session_uid: self.job.uid.clone(),
                    part: part_name(part),
                    path: path_text(&part.path),
                    root: self.job.root.clone(),
                    stat: stat(&metadata),
                    read_to: 0,
                    lines: 0,
                    ends_mid_line: false,
                    head_hash: [0; 32],
                    tail_hash: [0; 32],
                });
            }
        }
        Ok((self.send)(Output::Piece(self.noted(
            log.kind,
            part_name(log),
            None,
            others,
        ))))
    }

    /// Records the current metadata of the files of a session. Returns `false` once the receiver has hung up.
    pub(super) fn touch(&mut self) -> io::Result<bool> {
        let mut log = None;
        let mut others = self.copies_of(&self.job.uid);
        for part in &self.job.source.parts {
            let name = part_name(part);
            if part.kind == PartKind::Index {
                let lines = self.job.index.as_ref();
                others.extend(lines.map(|lines| index::cursor(&self.job.uid, &part.path, &self.job.root, lines)));
                continue;
            }
            let Ok(metadata) = std::fs::metadata(&part.path) else {
                continue;
            };
            let known = self.job.cursors.get(&name);
            let cursor = Cursor {
                session_uid: self.job.uid.clone(),
                part: name,
                path: path_text(&part.path),
                root: self.job.root.clone(),
                stat: stat(&metadata),
                read_to: known.map_or(0, |known| known.read_to),
                lines: known.map_or(0, |known| known.lines),
                ends_mid_line: known.is_some_and(|known| known.ends_mid_line),
                head_hash: known.map_or([0; 32], |known| known.head_hash),
                tail_hash: known.map_or([0; 32], |known| known.tail_hash),
            };
            match log {
                None if part.kind.has_lines() => log = Some((part.kind, cursor)),
                _ => others.push(cursor),
            }
        }
        let Some((kind, cursor)) = log else {
            return Ok(true);
        };
        let part = cursor.part.clone();
        Ok((self.send)(Output::Piece(self.noted(kind, part, Some(cursor), others))))
    }

    /// Returns a piece that only updates cursors.
    fn noted(&self, kind: PartKind, part: String, log: Option<Cursor>, others: Vec<Cursor>) -> Piece {
        let base = self.job.base.clone();
        Piece {
            agent: self.job.agent,
            uid: self.job.uid.clone(),
            into: self.job.uid.clone(),
            part,
            kind,
            delta: Delta::default(),
            events: 0,
            pages: None,
            change: PieceChange::UpdateCursors(CursorUpdate { base, log, others }),
            bytes_read: 0,
            bytes_checked: self.bytes_checked,
            redactions: 0,
        }
    }
}
