//! The only writer of a sweep. It receives pieces from the workers and commits them in batches. Each batch takes the
//! write lock and has its own sentence in the operation log.

#[cfg(test)]
mod concurrent_tests;
mod put;
mod room;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use self::put::put_piece;
use self::room::RawUsage;
use super::budget::{BATCH_WEIGHT, Budget};
use super::piece::{Output, Piece, PieceChange, Replaces};
use super::plan::{Job, Plan};
use super::{Sweep, SweepReport, count_noun, describe_reads};
use crate::digest;
use crate::packs::{self, UnsyncedPacks};
use crate::retention;
use crate::store::{Cursor, FileStat, FrameRow, LockWait, ReplaceScope, Store, StoreError, WriteLock};

/// A batch is committed when it has this many pieces or raw bytes, or when no piece arrived for a moment.
const BATCH_PIECES: usize = 64;
/// Towards the end, batches are smaller, because no worker is busy any more while the last batch is written.
const BATCH_PIECES_MIN: usize = 16;
const BATCH_BYTES: u64 = 32 << 20;
const PAUSE_MS: u64 = 20;

/// Where the next frame of a part goes: its pack, its number and its offset.
type PackEnd = (String, u64, u64);

pub(super) struct Writer<'w> {
    store: &'w mut Store,
    sweep: &'w Sweep<'w>,
    patience: LockWait<'w>,
    command: &'w str,
    indexes: &'w [(String, FileStat)],
    bytes_total: u64,
    bytes_done: u64,
    /// Sessions with unfinished work.
    busy: HashSet<String>,
    usage: RawUsage,
    /// Identifies the staging copies that this sweep created.
    mark: u64,
    /// Sessions whose further pieces are dropped because they are based on outdated cursors.
    dropped: HashSet<String>,
    /// All sessions with a piece so far.
    sessions: HashSet<String>,
    new: HashSet<String>,
    updated: HashSet<String>,
    report: SweepReport,
}

impl<'w> Writer<'w> {
    pub(super) fn new(
        store: &'w mut Store,
        sweep: &'w Sweep<'w>,
        patience: LockWait<'w>,
        command: &'w str,
        plan: &'w Plan,
    ) -> Self {
        Self {
            store,
            sweep,
            patience,
            command,
            indexes: &plan.indexes,
            bytes_total: plan.jobs.iter().map(Job::bytes_to_read).sum(),
            bytes_done: 0,
            busy: plan.uids().map(str::to_owned).collect(),
            usage: RawUsage::default(),
            mark: random_mark(),
            dropped: HashSet::new(),
            sessions: HashSet::new(),
            new: HashSet::new(),
            updated: HashSet::new(),
            report: SweepReport::default(),
        }
    }

    /// Commits everything that the workers send.
    pub(super) fn drain(&mut self, receiver: Receiver<Output>, budget: &Budget) -> Result<(), StoreError> {
        self.delete_leftovers()?;
        let mut batch: Vec<Piece> = Vec::new();
        let (mut bytes, mut weight) = (0, 0);
        loop {
            match receiver.recv_timeout(Duration::from_millis(PAUSE_MS)) {
                Ok(Output::Piece(piece)) => {
                    bytes += piece.bytes_read;
                    weight += piece.weight();
                    batch.push(piece);
                    let most = self.busy.len().clamp(BATCH_PIECES_MIN, BATCH_PIECES);
                    if batch.len() < most && bytes < BATCH_BYTES && weight < BATCH_WEIGHT {
                        continue;
                    }
                }
                Ok(Output::Failed(unread)) => {
                    self.report.unread.push(unread);
                    continue;
                }
                Ok(Output::Aborted(uid, unread)) => {
                    self.report.unread.push(unread);
                    self.report.unfinished.insert(uid);
                    continue;
                }
                Ok(Output::Left(uid)) => {
                    self.report.sessions_left += 1;
                    self.report.unfinished.insert(uid);
                    continue;
                }
                Ok(Output::Ended(uid)) => {
                    self.busy.remove(&uid);
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
            self.make_room()?;
            // Only after the commit, because until then the pieces are in memory.
            budget.release(std::mem::take(&mut weight));
        }
    }

    /// Deletes what a crash left behind: staging copies of unfinished rebuilds, and packs without frames.
    fn delete_leftovers(&mut self) -> Result<(), StoreError> {
        let lock = self.store.lock(self.patience)?;
        let left = self.store.reads().stand_ins()?;
        if !left.is_empty() {
            self.store.write(&lock, self.sweep.now, self.command, |tx| {
                for uid in &left {
                    tx.drop_session(uid)?;
                }
                Ok(((), format!("dropped {} unfinished sessions", left.len())))
            })?;
        }
        retention::delete_orphaned_packs(self.store, &lock)
    }

    fn commit(&mut self, batch: Vec<Piece>) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let lock = self.store.lock(self.patience)?;
        let mut fit = Vec::new();
        let mut ahead = HashSet::new();
        let mut known = HashSet::new();
        let look = self.store.look()?;
        for piece in batch {
            if self.store.reads().has_session(&piece.uid)? {
                known.insert(piece.uid.clone());
            }
            if self.is_current(&piece, &ahead)? {
                ahead.insert(piece.into.clone());
                fit.push(piece);
            } else {
                self.report.unfinished.insert(piece.uid.clone());
                self.dropped.insert(piece.into.clone());
                self.report.pieces_dropped += 1;
            }
        }
        drop(look);
        self.write_batch(&lock, &fit, &known)?;
        self.update_usage(&fit)?;
        for piece in &fit {
            self.count_piece(piece, known.contains(&piece.uid));
        }
        (self.sweep.progress)(self.bytes_done, self.bytes_total);
        Ok(())
    }

    /// Returns `true` if the store still has the cursors that a piece is based on.
    fn is_current(&self, piece: &Piece, ahead: &HashSet<String>) -> Result<bool, StoreError> {
        if self.dropped.contains(&piece.into) || self.store.reads().has_tombstone(&piece.uid)? {
            return Ok(false);
        }
        // If the session was evicted meanwhile, only its log, read from the beginning, can bring it back.
        let may_be_evicted = matches!(piece.change, PieceChange::Restart(_) | PieceChange::UpdateCursors(_));
        if !may_be_evicted && self.store.reads().is_evicted(&piece.uid)? {
            return Ok(false);
        }
        // Earlier pieces of the same session are in this batch.
        if ahead.contains(&piece.into) {
            return Ok(true);
        }
        match &piece.change {
            // A staging copy is ours unless another sweep deleted it as the rest of a crash, or created one itself.
            PieceChange::Restart(_) | PieceChange::Remask(_) | PieceChange::Reparse(_) => {
                Ok(piece.replaces() == Replaces::All || self.store.reads().is_marked_by(&piece.into, self.mark)?)
            }
            PieceChange::Extend(extension) => self.has_base(piece, &extension.base),
            PieceChange::UpdateCursors(update) => self.has_base(piece, &update.base),
        }
    }

    /// Returns `true` if the cursors of the session in the store are those in `base`.
    fn has_base(&self, piece: &Piece, base: &[Cursor]) -> Result<bool, StoreError> {
        let cursors = self.store.reads().cursors_of(&piece.into)?;
        let read: Vec<Cursor> = cursors.into_iter().filter(|cursor| !cursor.marks_copy()).collect();
        match piece.replaces() {
            // If there are cursors, another sweep has read a session that was new when this one started.
            Replaces::All => Ok(read.is_empty()),
            Replaces::Nothing | Replaces::Part => {
                let is_there = |known: &Cursor| read.iter().any(|cursor| cursor.has_same_position(known));
                Ok(read.len() == base.len() && base.iter().all(is_there))
            }
        }
    }

    /// Writes the packs first and commits the rows that point into them only after the packs are synced, because a
    /// crash must never leave a row without its frame.
    fn write_batch(&mut self, lock: &WriteLock, batch: &[Piece], known: &HashSet<String>) -> Result<(), StoreError> {
        let mut old = Vec::new();
        let mut rows: Vec<Vec<FrameRow>> = Vec::new();
        let mut ends = HashMap::new();
        let mut unsynced = UnsyncedPacks::default();
        let look = self.store.look()?;
        for piece in batch {
            let reads = self.store.reads();
            match piece.replaces() {
                Replaces::All => old.extend(reads.packs_of(&piece.into)?),
                Replaces::Part => old.extend(reads.packs_of_part(&piece.into, &piece.part)?),
                Replaces::Nothing => {}
            }
            if piece
                .promotion()
                .is_some_and(|promotion| promotion.extent == ReplaceScope::Whole)
            {
                old.extend(reads.packs_of(&piece.uid)?);
            }
            rows.push(self.write_frames(piece, &mut ends, &mut unsynced)?);
        }
        drop(look);
        let sweep = self.sweep;
        self.sessions.extend(batch.iter().map(|piece| piece.uid.clone()));
        let bytes = self.report.bytes_read + batch.iter().map(|piece| piece.bytes_read).sum::<u64>();
        let packs = self.store.packs();
        let (command, sessions, report) = (self.command, self.sessions.len() as u64, &self.report);
        let mark = self.mark;
        let store = &mut *self.store;
        let digested = thread::scope(|scope| {
            let syncing = (!unsynced.is_empty()).then(|| scope.spawn(|| unsynced.sync()));
            store.write(lock, sweep.now, command, |tx| {
                let mut digested = Vec::new();
                let mut begun = HashSet::new();
                for (piece, frames) in batch.iter().zip(&rows) {
                    let is_new = begun.insert(&piece.into) && piece.into == piece.uid && !known.contains(&piece.uid);
                    put_piece(tx, piece, frames, &packs, sweep, is_new)?;
                    if piece.begins_stand_in() {
                        tx.sign(&piece.into, mark)?;
                    }
                    if let Some(digest) = piece.digest()
                        && tx.put_fresh_digest(digest, digest::VERSION, sweep.now)?
                    {
                        digested.push(digest.session_uid().to_owned());
                    }
                }
                let synced = syncing.map_or(Ok(()), |syncing| {
                    syncing.join().unwrap_or_else(|panic| resume_unwind(panic))
                });
                synced.map_err(|source| StoreError::Io {
                    path: packs.path(""),
                    source,
                })?;
                let digests = (report.digested.len() + digested.len()) as u64;
                let sentence = describe_progress(command, bytes, sessions, digests, report);
                Ok((digested, sentence))
            })
        })?;
        self.report.digested.extend(digested);
        // After the commit, because the old rows pointed into these packs until then.
        for pack in old {
            packs.remove(&pack);
        }
        Ok(())
    }

    /// Writes the frames of a piece. Returns a row for each of them.
    fn write_frames(
        &self,
        piece: &Piece,
        ends: &mut HashMap<(String, String), PackEnd>,
        unsynced: &mut UnsyncedPacks,
    ) -> Result<Vec<FrameRow>, StoreError> {
        let frames = piece.frames();
        if frames.is_empty() {
            return Ok(Vec::new());
        }
        let directory = self.store.packs();
        let key = (piece.into.clone(), piece.part.clone());
        if !ends.contains_key(&key) || piece.replaces() != Replaces::Nothing {
            ends.insert(key.clone(), self.pack_end(piece)?);
        }
        let (pack, frame_no, end) = ends.get_mut(&key).expect("put there just now");
        let starts =
            packs::append_frames(&directory, pack, *end, frames, unsynced).map_err(|source| StoreError::Io {
                path: directory.path(pack),
                source,
            })?;
        let mut rows = Vec::new();
        for (frame, start) in frames.iter().zip(starts) {
            rows.push(FrameRow {
                frame_no: *frame_no,
                first_line: frame.first_line,
                lines: frame.lines,
                raw_bytes: frame.raw_bytes,
                pack: pack.clone(),
                start,
                length: frame.bytes.len() as u64,
                checksum: *blake3::hash(&frame.bytes).as_bytes(),
                mask_version: self.sweep.masker.version(),
            });
            *frame_no += 1;
            *end = start + frame.bytes.len() as u64;
        }
        Ok(rows)
    }

    /// Returns the end of the part's current pack, or the start of a new pack if the part is replaced.
    fn pack_end(&self, piece: &Piece) -> Result<PackEnd, StoreError> {
        let reads = self.store.reads();
        if piece.replaces() == Replaces::Nothing
            && let Some(end) = reads.pack_end(&piece.into, &piece.part)?
        {
            return Ok(end);
        }
        let mut packs = reads.packs_of_part(&piece.uid, &piece.part)?;
        packs.extend(reads.packs_of_part(&piece.into, &piece.part)?);
        let generation = packs
            .iter()
            .map(|pack| packs::parse_generation(pack))
            .max()
            .unwrap_or_default()
            + 1;
        Ok((packs::pack_name(&piece.uid, &piece.part, generation), 0, 0))
    }

    /// Adds a committed piece to the counts.
    fn count_piece(&mut self, piece: &Piece, was_known: bool) {
        self.bytes_done += piece.bytes_read;
        let report = &mut self.report;
        report.bytes_read += piece.bytes_read;
        report.bytes_checked += piece.bytes_checked;
        report.redactions += piece.redactions;
        if piece.promotion().is_some_and(|promotion| !promotion.is_growth) {
            report.sessions_refreshed += 1;
        }
        if piece.is_refresh() {
            return;
        }
        report.events += piece.events;
        report.faults += piece.delta.faults.len() as u64;
        let agent = report.agents.entry(piece.agent).or_default();
        agent.bytes_read += piece.bytes_read;
        agent.events += piece.events;
        let is_seen = self.new.contains(&piece.uid) || self.updated.contains(&piece.uid);
        if !is_seen && (piece.bytes_read > 0 || !was_known) {
            report.files_read += 1;
            agent.files_read += 1;
            let seen = if was_known { &mut self.updated } else { &mut self.new };
            seen.insert(piece.uid.clone());
        }
    }

    /// Adds the counts of what was done to the report of the plan.
    pub(super) fn finish(mut self, report: &mut SweepReport) -> Result<(), StoreError> {
        self.note_indexes()?;
        let done = self.report;
        report.files_read += done.files_read;
        report.bytes_read += done.bytes_read;
        report.bytes_checked += done.bytes_checked;
        report.events += done.events;
        report.faults += done.faults;
        report.redactions += done.redactions;
        report.pieces_dropped += done.pieces_dropped;
        report.sessions_refreshed += done.sessions_refreshed;
        report.sessions_left += done.sessions_left;
        report.unfinished.extend(done.unfinished);
        report.unread.extend(done.unread);
        report.evicted = done.evicted;
        (report.sessions_new, report.subagents_new) = self.store.reads().count_listed(&self.new)?;
        report.sessions_updated = self.updated.len() as u64;
        for (agent, done) in done.agents {
            let agent = report.agents.entry(agent).or_default();
            agent.files_read += done.files_read;
            agent.bytes_read += done.bytes_read;
            agent.events += done.events;
        }
        report.digested.extend(done.digested);
        Ok(())
    }

    /// Stores the metadata of shared files, because every session now has its lines. If any session was left out, does
    /// nothing, so that the next sweep reads the files again.
    fn note_indexes(&mut self) -> Result<(), StoreError> {
        if self.indexes.is_empty() || !self.dropped.is_empty() || self.report.sessions_left > 0 {
            return Ok(());
        }
        let lock = self.store.lock(self.patience)?;
        let (bytes, digests) = (self.report.bytes_read, self.report.digested.len() as u64);
        let sentence = describe_progress(self.command, bytes, self.sessions.len() as u64, digests, &self.report);
        self.store.write(&lock, self.sweep.now, self.command, |tx| {
            for (path, stat) in self.indexes {
                tx.put_shared_file(path, *stat)?;
            }
            Ok(((), sentence))
        })
    }
}

/// Returns a random number that no other sweep has, on this machine or another.
fn random_mark() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the sentence for the operation log about the work done so far.
fn describe_progress(command: &str, bytes: u64, sessions: u64, digests: u64, report: &SweepReport) -> String {
    match command {
        "rebuild" => format!("rebuilt the rows of {}", count_noun(sessions, "session")),
        _ => describe_reads(bytes, sessions, 0, digests, &report.evicted),
    }
}
