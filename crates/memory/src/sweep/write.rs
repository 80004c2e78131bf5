//! The one writer of a sweep: takes pieces from the workers and commits them in batches, each under the
//! write lock, each with its sentence in the journal.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::work::{Output, Piece};
use super::{Report, Sweep};
use crate::packs;
use crate::store::{FrameRow, Store, StoreError, WriteLock};

/// A batch is committed when it has so many pieces, or so many raw bytes, or nothing more comes for a moment.
const BATCH_PIECES: usize = 64;
const BATCH_BYTES: u64 = 32 << 20;
const PAUSE_MS: u64 = 20;

pub(super) struct Writer<'w> {
    store: &'w mut Store,
    sweep: &'w Sweep<'w>,
    bytes_total: u64,
    bytes_done: u64,
    /// Sessions whose further pieces stand on something that is no longer so.
    dropped: HashSet<String>,
    new: HashSet<String>,
    updated: HashSet<String>,
    report: Report,
}

impl<'w> Writer<'w> {
    pub(super) fn new(store: &'w mut Store, sweep: &'w Sweep<'w>, bytes_total: u64) -> Self {
        Self {
            store,
            sweep,
            bytes_total,
            bytes_done: 0,
            dropped: HashSet::new(),
            new: HashSet::new(),
            updated: HashSet::new(),
            report: Report::default(),
        }
    }

    /// Commits everything the workers send.
    pub(super) fn drain(&mut self, receiver: Receiver<Output>) -> Result<(), StoreError> {
        self.clean()?;
        let mut batch: Vec<Piece> = Vec::new();
        let mut bytes = 0;
        loop {
            match receiver.recv_timeout(Duration::from_millis(PAUSE_MS)) {
                Ok(Output::Piece(piece)) => {
                    bytes += piece.bytes_read;
                    batch.push(piece);
                    if batch.len() < BATCH_PIECES && bytes < BATCH_BYTES {
                        continue;
                    }
                }
                Ok(Output::Failed(unread)) => {
                    self.report.unread.push(unread);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if batch.is_empty() => continue,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return self.commit(std::mem::take(&mut batch));
                }
            }
            bytes = 0;
            self.commit(std::mem::take(&mut batch))?;
        }
    }

    /// Takes away packs that no frame lies in: a crash left them, or their session was read anew.
    fn clean(&mut self) -> Result<(), StoreError> {
        let lock = self.store.lock(self.sweep.patience)?;
        let used: HashSet<String> = self
            .store
            .reads()
            .packs_in_use()?
            .into_iter()
            .map(|(pack, _)| pack)
            .collect();
        for pack in packs::list(&self.store.packs()) {
            if !used.contains(&pack) {
                _ = std::fs::remove_file(self.store.packs().join(&pack));
            }
        }
        drop(lock);
        Ok(())
    }

    fn commit(&mut self, batch: Vec<Piece>) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let lock = self.store.lock(self.sweep.patience)?;
        let known: HashSet<String> = self
            .store
            .reads()
            .sessions()?
            .into_iter()
            .map(|row| row.session_uid)
            .collect();
        let mut fit = Vec::new();
        let mut ahead = HashSet::new();
        for piece in batch {
            if self.stands(&piece, &known, &ahead)? {
                ahead.insert((piece.uid.clone(), piece.part.clone()));
                fit.push(piece);
            } else {
                self.dropped.insert(piece.uid.clone());
                self.report.pieces_dropped += 1;
            }
        }
        self.write(&lock, &fit, &known)?;
        for piece in &fit {
            self.count(piece, known.contains(&piece.uid));
        }
        (self.sweep.progress)(self.bytes_done, self.bytes_total);
        Ok(())
    }

    /// Whether the store still says what a piece stands on.
    fn stands(
        &self,
        piece: &Piece,
        known: &HashSet<String>,
        ahead: &HashSet<(String, String)>,
    ) -> Result<bool, StoreError> {
        if self.dropped.contains(&piece.uid) {
            return Ok(false);
        }
        // Earlier pieces of the same part are in this batch, or in one of ours before.
        if ahead.contains(&(piece.uid.clone(), piece.part.clone())) || !piece.is_first && !known.contains(&piece.uid) {
            return Ok(true);
        }
        let cursors = self.store.reads().cursors_of(&piece.uid)?;
        let now = cursors
            .into_iter()
            .filter(|cursor| cursor.part == piece.part && cursor.read_to > 0);
        let now = now.map(|cursor| (cursor.read_to, cursor.path)).next();
        Ok(piece.replaces || now == piece.base)
    }

    /// Packs first, synced; then the rows that make them exist.
    fn write(&mut self, lock: &WriteLock, batch: &[Piece], known: &HashSet<String>) -> Result<(), StoreError> {
        let directory = self.store.packs();
        let mut old = Vec::new();
        let mut rows: Vec<Vec<FrameRow>> = Vec::new();
        let mut ends = std::collections::HashMap::new();
        for piece in batch {
            if piece.replaces && known.contains(&piece.uid) {
                old.extend(self.store.reads().packs_of(&piece.uid)?);
            }
            rows.push(self.write_frames(&directory, piece, &mut ends)?);
        }
        let now = self.sweep.now;
        let sessions: HashSet<&str> = batch.iter().map(|piece| piece.uid.as_str()).collect();
        let sentence = format!(
            "swept {} new bytes of {} sessions",
            batch.iter().map(|piece| piece.bytes_read).sum::<u64>(),
            sessions.len()
        );
        self.store.write(lock, now, "sweep", |tx| {
            for (piece, frames) in batch.iter().zip(&rows) {
                if piece.replaces {
                    tx.drop_frames(&piece.uid)?;
                    tx.clear_derived(&piece.uid)?;
                    tx.drop_cursors(&piece.uid)?;
                }
                if let Some(session) = &piece.delta.session {
                    tx.put_session(&piece.uid, session, now)?;
                }
                for frame in frames {
                    tx.add_frame(&piece.uid, &piece.part, frame)?;
                }
                tx.put_tail(&piece.uid, &piece.part, &piece.tail, piece.mask_version)?;
                tx.apply_delta(&piece.uid, piece.kind, &piece.delta)?;
                tx.put_reader_state(&piece.uid, &piece.state)?;
                tx.drop_other_cursors(&piece.cursor)?;
                tx.put_cursor(&piece.cursor)?;
                for copy in &piece.copies {
                    tx.put_cursor(copy)?;
                }
            }
            Ok(((), sentence))
        })?;
        for pack in old {
            _ = std::fs::remove_file(directory.join(pack));
        }
        Ok(())
    }

    /// Writes the frames of a piece, and says where they lie.
    fn write_frames(
        &self,
        directory: &std::path::Path,
        piece: &Piece,
        ends: &mut std::collections::HashMap<(String, String), (String, u64, u64)>,
    ) -> Result<Vec<FrameRow>, StoreError> {
        let key = (piece.uid.clone(), piece.part.clone());
        if !ends.contains_key(&key) || piece.replaces {
            let end = self.store.reads().pack_end(&piece.uid, &piece.part)?;
            let end = match end {
                Some(end) if !piece.replaces => end,
                Some((pack, ..)) => (packs::name(&piece.uid, &piece.part, packs::generation(&pack) + 1), 0, 0),
                None => (packs::name(&piece.uid, &piece.part, 1), 0, 0),
            };
            ends.insert(key.clone(), end);
        }
        if piece.frames.is_empty() {
            return Ok(Vec::new());
        }
        let (pack, frame_no, end) = ends.get_mut(&key).expect("put there just now");
        let starts = packs::append(directory, pack, *end, &piece.frames).map_err(|source| StoreError::Io {
            path: directory.join(&*pack),
            source,
        })?;
        let mut rows = Vec::new();
        for (frame, start) in piece.frames.iter().zip(starts) {
            rows.push(FrameRow {
                frame_no: *frame_no,
                first_line: frame.first_line,
                lines: frame.lines,
                raw_bytes: frame.raw_bytes,
                pack: pack.clone(),
                start,
                length: frame.bytes.len() as u64,
                checksum: *blake3::hash(&frame.bytes).as_bytes(),
                mask_version: piece.mask_version,
            });
            *frame_no += 1;
            *end = start + frame.bytes.len() as u64;
        }
        Ok(rows)
    }

    fn count(&mut self, piece: &Piece, was_known: bool) {
        self.bytes_done += piece.bytes_read;
        let report = &mut self.report;
        report.bytes_read += piece.bytes_read;
        report.events += piece.delta.events.len() as u64;
        report.faults += piece.delta.faults.len() as u64;
        report.redactions += piece.redactions;
        let agent = report.agents.entry(piece.agent).or_default();
        agent.bytes_read += piece.bytes_read;
        agent.events += piece.delta.events.len() as u64;
        if piece.is_first {
            report.files_read += 1;
            agent.files_read += 1;
        }
        match was_known {
            false => self.new.insert(piece.uid.clone()),
            true if piece.bytes_read > 0 && !self.new.contains(&piece.uid) => self.updated.insert(piece.uid.clone()),
            true => false,
        };
    }

    /// Adds what was done to what was found.
    pub(super) fn finish(self, report: &mut Report) -> Result<(), StoreError> {
        let done = self.report;
        report.files_read += done.files_read;
        report.bytes_read += done.bytes_read;
        report.events += done.events;
        report.faults += done.faults;
        report.redactions += done.redactions;
        report.pieces_dropped += done.pieces_dropped;
        report.unread.extend(done.unread);
        report.sessions_new = self.new.len() as u64;
        report.sessions_updated = self.updated.len() as u64;
        for (agent, done) in done.agents {
            let agent = report.agents.entry(agent).or_default();
            agent.files_read += done.files_read;
            agent.bytes_read += done.bytes_read;
            agent.events += done.events;
        }
        Ok(())
    }
}
