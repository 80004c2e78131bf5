//! A memory that many machines share: a whole memory moved there or back, and delivered to from one that stays where it is.
//!
//! Sessions are carried one by one, each wholly or not at all. Whoever is cut off goes on at the next try: what is there already and is
//! the same is not carried again, and nothing is there twice.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use transcript::Session;

use crate::digest::Digest;
use crate::packs::{self, Frame, Packs, Unsynced};
use crate::store::{FrameRow, Patience, SessionLoad, SessionRow, Store, StoreError};
use crate::sweep::several;

/// What was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Sessions that were carried, and those that were there already.
    pub sessions: u64,
    pub unchanged: u64,
    /// Rows of all sessions, and frames with their packed bytes.
    pub rows: u64,
    pub frames: u64,
    pub bytes: u64,
}

/// What of a session leaves the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Numbers and what its digest tells of tools and outcomes: prompts and raw text stay.
    Digests,
    Full,
}

impl Share {
    /// The word used in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Digests => "digests",
            Self::Full => "full",
        }
    }
}

/// What was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    pub sessions: u64,
    /// Those that are there as they are here.
    pub unchanged: u64,
    /// Those of which the other memory has more, or wants nothing.
    pub left: u64,
}

/// Why a session has no raw text in the memory it was delivered to.
pub const STAYED: &str = "stayed on its machine";

/// Carries a whole memory into another one, which must have no sessions of its own, and compares both in the end.
pub fn move_all(
    from: &Store,
    to: &mut Store,
    now: Timestamp,
    patience: Patience<'_>,
    progress: &dyn Fn(u64, u64),
) -> Result<Moved, StoreError> {
    // Nobody adds to what is being carried.
    let _still = from.lock(patience)?;
    let sessions = from.reads().sessions()?;
    let own: std::collections::HashSet<&str> = sessions.iter().map(|row| row.session_uid.as_str()).collect();
    let others = to.reads().sessions()?;
    let strangers = others.iter().filter(|row| !own.contains(row.session_uid.as_str()));
    match strangers.count() as u64 {
        0 => {}
        sessions => return Err(StoreError::HasOthers { sessions }),
    }
    let mut moved = Moved::default();
    for (at, row) in sessions.iter().enumerate() {
        let load = from.reads().session_load(&row.session_uid)?;
        moved.rows += load.rows();
        moved.frames += load.frames.len() as u64;
        moved.bytes += load.frames.iter().map(|(_, frame)| frame.length).sum::<u64>();
        if is_there(to, &load)? {
            moved.unchanged += 1;
        } else {
            carry(from, to, &load, now, patience)?;
            moved.sessions += 1;
        }
        progress(at as u64 + 1, sessions.len() as u64);
    }
    carry_others(from, to, now, patience, moved.sessions)?;
    compare(from, to, &sessions)?;
    Ok(moved)
}

/// Whether a session is there, every frame of it as it was written.
fn is_there(store: &Store, load: &SessionLoad) -> Result<bool, StoreError> {
    let reads = store.reads();
    if !reads.has_session(&load.session_uid)? {
        return Ok(false);
    }
    let there = reads.session_load(&load.session_uid)?;
    let packs = store.packs();
    let is_whole = || there.frames.iter().all(|(_, frame)| packs::read(&packs, frame).is_ok());
    Ok(there.fingerprint() == load.fingerprint() && is_whole())
}

/// Carries one session: frames in files first, synced, then its rows.
fn carry(
    from: &Store,
    to: &mut Store,
    load: &SessionLoad,
    now: Timestamp,
    patience: Patience<'_>,
) -> Result<(), StoreError> {
    let uid = load.session_uid.as_str();
    let (source, target) = (from.packs(), to.packs());
    let lock = to.lock(patience)?;
    let old = to.reads().packs_of(uid)?;
    let mut put: Vec<(&str, FrameRow, Frame)> = Vec::new();
    for (part, row) in &load.frames {
        let bytes = packs::read_packed(&source, row).map_err(|error| StoreError::DamagedFrame {
            session_uid: uid.to_owned(),
            part: part.clone(),
            frame_no: row.frame_no,
            reason: error.to_string(),
        })?;
        let frame = Frame {
            first_line: row.first_line,
            lines: row.lines,
            raw_bytes: row.raw_bytes,
            bytes,
            filter: Vec::new(),
        };
        put.push((part, row.clone(), frame));
    }
    append(&target, &mut put)?;
    to.write_apart(&lock, now, "hub", |tx| {
        tx.put_load(load)?;
        for (part, row, frame) in &put {
            tx.add_frame(uid, part, row, target.row_bytes(frame))?;
        }
        Ok(((), format!("took in {uid} from another memory")))
    })?;
    let stays = |pack: &String| put.iter().any(|(_, row, _)| row.pack == *pack);
    old.iter()
        .filter(|pack| !stays(pack))
        .for_each(|pack| target.remove(pack));
    Ok(())
}

/// Writes frames, those of a pack one behind the other, and says in their rows where they lie.
fn append(packs: &Packs, put: &mut [(&str, FrameRow, Frame)]) -> Result<(), StoreError> {
    let mut ends: HashMap<String, u64> = HashMap::new();
    let mut unsynced = Unsynced::default();
    for (_, row, frame) in put {
        let end = ends.entry(row.pack.clone()).or_default();
        let failed = |source| StoreError::Io {
            path: packs.path(&row.pack),
            source,
        };
        let frames = std::slice::from_ref(frame);
        let starts = packs::append(packs, &row.pack, *end, frames, &mut unsynced).map_err(failed)?;
        row.start = starts.first().copied().unwrap_or_default();
        *end = row.start + row.length;
    }
    unsynced.sync().map_err(|source| StoreError::Io {
        path: packs.path(""),
        source,
    })
}

/// Carries what belongs to no session. The journal goes last: what was written meanwhile is of no interest.
fn carry_others(
    from: &Store,
    to: &mut Store,
    now: Timestamp,
    patience: Patience<'_>,
    sessions: u64,
) -> Result<(), StoreError> {
    let loads = from.reads().other_loads()?;
    let lock = to.lock(patience)?;
    to.write_apart(&lock, now, "hub", |tx| {
        loads.iter().try_for_each(|load| tx.replace_with(load))?;
        Ok(((), format!("moved {} here", several(sessions, "session"))))
    })
}

/// Both memories must hold the same, row by row and frame by frame.
fn compare(from: &Store, to: &Store, sessions: &[SessionRow]) -> Result<(), StoreError> {
    for row in sessions {
        let load = from.reads().session_load(&row.session_uid)?;
        if !is_there(to, &load)? {
            return Err(StoreError::Differs {
                what: row.session_uid.clone(),
            });
        }
    }
    for (here, there) in from.reads().other_loads()?.iter().zip(to.reads().other_loads()?) {
        // The journal of the other memory has one sentence more.
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

/// Delivers what is new here to a memory that many share. Of two logs of one session the longer one counts, whichever machine it is from.
pub fn push(
    from: &Store,
    to: &mut Store,
    share: &dyn Fn(&str) -> Result<Share, StoreError>,
    now: Timestamp,
    patience: Patience<'_>,
) -> Result<Pushed, StoreError> {
    let mut pushed = Pushed::default();
    let there: BTreeMap<String, SessionRow> = to
        .reads()
        .sessions()?
        .into_iter()
        .map(|row| (row.session_uid.clone(), row))
        .collect();
    let buried = to.reads().tombstones()?;
    for row in from.reads().sessions()? {
        let uid = row.session_uid.as_str();
        let parent = uid.split_once('/').map_or(uid, |(parent, _)| parent);
        let share = share(uid)?;
        if buried.contains(uid) || buried.contains(parent) {
            pushed.left += 1;
            continue;
        }
        match there.get(uid) {
            Some(known) if is_same(&row, known, share) => pushed.unchanged += 1,
            Some(known) if !is_longer(from, to, &row, known)? => pushed.left += 1,
            _ => {
                let load = from.reads().session_load(uid)?;
                let load = match share {
                    Share::Full => load,
                    Share::Digests => stripped(from, load)?,
                };
                carry(from, to, &load, now, patience)?;
                pushed.sessions += 1;
            }
        }
    }
    Ok(pushed)
}

/// Whether a session was delivered as it is, and no more of it is to be.
fn is_same(here: &SessionRow, there: &SessionRow, share: Share) -> bool {
    let is_more = share == Share::Full && here.evicted_at.is_none() && there.evicted_at.is_some();
    (here.ingested_at, here.analyzed_at) == (there.ingested_at, there.analyzed_at) && !is_more
}

/// Whether there is more of a session here: by its lines, and where these are as many, by when it was read.
fn is_longer(from: &Store, to: &Store, here: &SessionRow, there: &SessionRow) -> Result<bool, StoreError> {
    let uid = here.session_uid.as_str();
    let lines = |store: &Store| store.reads().lines_read(uid);
    let (ours, theirs) = (lines(from)?, lines(to)?);
    let is_newer = here.evicted_at.is_none() && here.ingested_at >= there.ingested_at;
    Ok(ours > theirs || (ours == theirs && is_newer))
}

/// A session without what somebody said or wrote in it.
fn stripped(store: &Store, load: SessionLoad) -> Result<SessionLoad, StoreError> {
    let reads = store.reads();
    let view = reads
        .view(&load.session_uid)?
        .map(|session| Session { title: None, ..session });
    let digest = reads.digest_of(&load.session_uid)?.map(|row| without_words(row.digest));
    let unreadable = |_| StoreError::DamagedRow {
        session_uid: load.session_uid.clone(),
        table: "digests",
    };
    let view = view
        .map(|view| serde_json::to_string(&view))
        .transpose()
        .map_err(unreadable)?;
    let digest = digest
        .map(|digest| serde_json::to_string(&digest))
        .transpose()
        .map_err(unreadable)?;
    Ok(load.without_text(view.as_deref(), digest.as_deref(), STAYED))
}

/// A digest without the words of prompts, answers, commits and errors: what remains counts and names.
fn without_words(mut digest: Digest) -> Digest {
    digest.title = None;
    digest.first_prompt = None;
    digest.snippets.clear();
    digest.commits.iter_mut().for_each(|commit| commit.text.clear());
    digest.errors.kinds.iter_mut().for_each(|error| error.text.clear());
    let signals = digest.signals.iter_mut().flat_map(|signal| {
        signal.text.clear();
        &mut signal.evidence
    });
    let evidence = digest.outcome.evidence.iter_mut().chain(signals);
    evidence.for_each(|evidence| evidence.text.clear());
    digest
}
