//! A memory on a server that several machines share: moves a complete memory there or back, and pushes sessions from
//! a memory that stays on its machine.
//!
//! Each session is transferred completely or not at all. After an interruption, the next attempt continues: a session
//! that is already there and identical is not transferred again, and nothing is stored twice.

mod anchors;
mod push;
mod strip;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use transcript::PartKind;

pub use self::push::{PushScope, PushSummary, STAYED, push_sessions};
use crate::kept;
use crate::packs::{self, CompressedFrame, PackStorage, UnsyncedPacks};
use crate::plural::count_noun;
use crate::search::{self, FrameMarks, PartFormat, Vocabulary};
use crate::store::{FrameRow, LockWait, SessionRow, SessionRows, Store, StoreError, TAIL_NO};

/// What was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct MoveSummary {
    /// Sessions that were transferred, and those that were already there.
    pub sessions: u64,
    pub unchanged: u64,
    /// Rows of all sessions, and frames with their compressed bytes.
    pub rows: u64,
    pub frames: u64,
    pub bytes: u64,
}

/// Moves a complete memory into another one, which must have no sessions of its own, and finally compares the two.
pub fn move_store(
    from: &Store,
    to: &mut Store,
    now: Timestamp,
    patience: LockWait<'_>,
    progress: &dyn Fn(u64, u64),
) -> Result<MoveSummary, StoreError> {
    // The lock keeps other writers from adding sessions during the move.
    let _lock = from.lock(patience)?;
    let sessions = from.reads().sessions()?;
    let source_uids: std::collections::HashSet<&str> = sessions.iter().map(|row| row.session_uid.as_str()).collect();
    let others = to.reads().sessions()?;
    let unrelated = others
        .iter()
        .filter(|row| !source_uids.contains(row.session_uid.as_str()));
    match unrelated.count() as u64 {
        0 => {}
        sessions => return Err(StoreError::HasOthers { sessions }),
    }
    let mut moved = MoveSummary::default();
    for (at, row) in sessions.iter().enumerate() {
        let load = from.reads().export_session(&row.session_uid)?;
        moved.rows += load.rows();
        moved.frames += load.frames.len() as u64;
        moved.bytes += load.frames.iter().map(|(_, frame)| frame.length).sum::<u64>();
        if is_stored(to, &load)? {
            moved.unchanged += 1;
        } else {
            transfer_session(from, to, &load, now, patience, &|_| Ok(true))?;
            moved.sessions += 1;
        }
        progress(at as u64 + 1, sessions.len() as u64);
    }
    transfer_other_tables(from, to, now, patience, moved.sessions)?;
    compare_stores(from, to, &sessions)?;
    Ok(moved)
}

/// Returns `true` if a session exists with the same rows and every frame of it can be read.
fn is_stored(store: &Store, load: &SessionRows) -> Result<bool, StoreError> {
    let reads = store.reads();
    if !reads.has_session(&load.session_uid)? {
        return Ok(false);
    }
    let there = reads.export_session(&load.session_uid)?;
    let packs = store.packs();
    let is_whole = || {
        there
            .frames
            .iter()
            .all(|(_, frame)| packs::read_frame(&packs, frame).is_ok())
    };
    Ok(there.fingerprint() == load.fingerprint() && is_whole())
}

/// Transfers one session: frames in files first, synced, then its rows. Returns `false` if `is_wanted` refused the
/// session once the lock was held.
fn transfer_session(
    from: &Store,
    to: &mut Store,
    load: &SessionRows,
    now: Timestamp,
    patience: LockWait<'_>,
    is_wanted: &dyn Fn(&Store) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    let uid = load.session_uid.as_str();
    let (source, target) = (from.packs(), to.packs());
    let lock = to.lock(patience)?;
    if !is_wanted(to)? {
        return Ok(false);
    }
    let old = to.reads().packs_of(uid)?;
    let mut new_frames: Vec<(&str, FrameRow, CompressedFrame)> = Vec::new();
    for (part, row) in &load.frames {
        let bytes = packs::read_compressed(&source, row).map_err(|error| StoreError::DamagedFrame {
            session_uid: uid.to_owned(),
            part: part.clone(),
            frame_no: row.frame_no,
            reason: error.to_string(),
        })?;
        let frame = CompressedFrame {
            first_line: row.first_line,
            lines: row.lines,
            raw_bytes: row.raw_bytes,
            bytes,
            marks: FrameMarks::default(),
        };
        let pack = choose_target_pack(&target, uid, part, &row.pack, &old);
        new_frames.push((part, FrameRow { pack, ..row.clone() }, frame));
    }
    let words = session_words(from, to, load)?;
    append_frames(&target, &mut new_frames)?;
    to.write_apart(&lock, now, "hub", |tx| {
        tx.import_session(load)?;
        for (part, row, frame) in &new_frames {
            tx.add_frame(uid, part, row, target.row_bytes(frame))?;
        }
        for (part, words) in &words {
            let words: Vec<(i64, &str)> = words.iter().map(|(number, words)| (*number, words.as_str())).collect();
            tx.put_words(uid, part, &words)?;
        }
        Ok(((), format!("received {uid} from another memory")))
    })?;
    let is_still_used = |pack: &String| new_frames.iter().any(|(_, row, _)| row.pack == *pack);
    old.iter()
        .filter(|pack| !is_still_used(pack))
        .for_each(|pack| target.remove(pack));
    Ok(true)
}

/// Returns the pack to which a frame is transferred. If packs are files, the name that another memory chose cannot be
/// trusted. A pack that is in use stays unchanged until the rows that name it are deleted.
fn choose_target_pack(target: &PackStorage, uid: &str, part: &str, source_pack: &str, used: &[String]) -> String {
    if matches!(target, PackStorage::Rows(_)) {
        return source_pack.to_owned();
    }
    let generations = used.iter().map(|pack| packs::parse_generation(pack));
    let first_free = generations.max().map_or(0, |newest| newest.saturating_add(1));
    // Counting up from there keeps different packs different.
    packs::pack_name(
        uid,
        part,
        packs::parse_generation(source_pack).saturating_add(first_free),
    )
}

/// Returns the words of a session by part and frame, if the target indexes words and receives the text.
fn session_words(
    from: &Store,
    to: &Store,
    load: &SessionRows,
) -> Result<BTreeMap<String, Vec<(i64, String)>>, StoreError> {
    let mut words: BTreeMap<String, Vec<(i64, String)>> = BTreeMap::new();
    if !to.indexes_words() || !load.has_text() {
        return Ok(words);
    }
    let (uid, agent) = (load.session_uid.as_str(), kept::agent_of(&load.session_uid)?);
    let mut vocabulary = Vocabulary::default();
    for part in from.reads().parts(uid)? {
        let Some(form) = PartKind::of_name(&part).and_then(|kind| PartFormat::of(agent, kind)) else {
            continue;
        };
        let mut own = Vec::new();
        for (_, frame) in load.frames.iter().filter(|(name, _)| *name == part) {
            let lines = kept::read_frame(from, uid, &part, frame)?;
            let number = frame.frame_no.cast_signed();
            own.push((number, search::collect_words(form, &lines, &mut vocabulary)));
        }
        if let Some(tail) = from.reads().tail(uid, &part)? {
            own.push((TAIL_NO, search::collect_words(form, &tail.bytes, &mut vocabulary)));
        }
        words.insert(part, own);
    }
    Ok(words)
}

/// Appends the frames to their packs and records their offsets in the rows.
fn append_frames(packs: &PackStorage, new_frames: &mut [(&str, FrameRow, CompressedFrame)]) -> Result<(), StoreError> {
    let mut ends: HashMap<String, u64> = HashMap::new();
    let mut unsynced = UnsyncedPacks::default();
    for (_, row, frame) in new_frames {
        let end = ends.entry(row.pack.clone()).or_default();
        let failed = |source| StoreError::Io {
            path: packs.path(&row.pack),
            source,
        };
        let frames = std::slice::from_ref(frame);
        let starts = packs::append_frames(packs, &row.pack, *end, frames, &mut unsynced).map_err(failed)?;
        row.start = starts.first().copied().unwrap_or_default();
        *end = row.start + row.length;
    }
    unsynced.sync().map_err(|source| StoreError::Io {
        path: packs.path(""),
        source,
    })
}

/// Transfers what belongs to no session. The journal is last because operations that happen during the move do not
/// matter.
fn transfer_other_tables(
    from: &Store,
    to: &mut Store,
    now: Timestamp,
    patience: LockWait<'_>,
    sessions: u64,
) -> Result<(), StoreError> {
    let loads = from.reads().export_other_tables()?;
    let lock = to.lock(patience)?;
    to.write_apart(&lock, now, "hub", |tx| {
        loads.iter().try_for_each(|load| tx.replace_table(load))?;
        Ok(((), format!("moved {} here", count_noun(sessions, "session"))))
    })
}

/// Compares both memories row by row and frame by frame.
fn compare_stores(from: &Store, to: &Store, sessions: &[SessionRow]) -> Result<(), StoreError> {
    for row in sessions {
        let load = from.reads().export_session(&row.session_uid)?;
        if !is_stored(to, &load)? {
            return Err(StoreError::Differs {
                what: row.session_uid.clone(),
            });
        }
    }
    for (here, there) in from
        .reads()
        .export_other_tables()?
        .iter()
        .zip(to.reads().export_other_tables()?)
    {
        // The journal of the target has one additional operation: the move itself.
        let (name, rows) = here.told();
        let is_same = match name {
            "operations" => there.told().1 == rows + 1,
            _ => here.fingerprint() == there.fingerprint(),
        };
        if !is_same {
            return Err(StoreError::Differs { what: name.to_owned() });
        }
    }
    Ok(())
}
