//! Finds the owners of packs whose rows were lost with the database. The name of a pack is a hash of its session and
//! part, so an owner guessed from the pack's lines can be verified, and a wrong guess is rejected.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use transcript::{Agent, PartKind};

use crate::breaks;
use crate::kept;
use crate::mask::MaskVersion;
use crate::packs::{self, PackStorage};
use crate::store::{Cursor, FileStat, FrameRow, Store, StoreError, WriteLock};

/// Number of lines at the beginning of a pack that are searched for ids.
const LINES_SEARCHED: usize = 200;
/// Maximum length of a session id, with a margin.
const ID_BYTES_MAX: usize = 80;
/// A frame is read in steps of this size until it is complete.
const STEP_BYTES: usize = 1 << 20;
const FRAME_BYTES_MAX: usize = 256 << 20;

const PARTS: [PartKind; 9] = [
    PartKind::Log,
    PartKind::ChatHistory,
    PartKind::Events,
    PartKind::Meta,
    PartKind::Summary,
    PartKind::Signals,
    PartKind::PromptContext,
    PartKind::PlanMode,
    PartKind::Index,
];

/// What was recovered from packs.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    pub(super) sessions: BTreeSet<String>,
    /// Packs whose owner cannot be determined.
    pub(super) ownerless: Vec<String>,
}

/// Assigns every pack that no row names to its session again.
pub(super) fn adopt(store: &mut Store, lock: &WriteLock, at: Timestamp) -> Result<Adopted, StoreError> {
    let mut adopted = Adopted::default();
    let PackStorage::Files(directory) = store.packs() else {
        return Ok(adopted);
    };
    let known = KnownOwners::load(store)?;
    let mut found: BTreeMap<(String, String), Vec<FrameRow>> = BTreeMap::new();
    for pack in packs::list_packs(&store.packs()) {
        let Ok(pack_frames) = parse_frames(&directory, &pack) else {
            continue;
        };
        let Some(owner) = known
            .find_owner(&pack)
            .or_else(|| guess_owner(&directory, &pack, &pack_frames))
        else {
            adopted.ownerless.push(pack);
            continue;
        };
        // A pack that a crash left behind is shorter than the one that it was meant to replace.
        let frames_best = found.entry(owner).or_default();
        let lines = |frames: &[FrameRow]| frames.last().map_or(0, |frame| frame.first_line + frame.lines);
        if lines(&pack_frames) > lines(frames_best) {
            *frames_best = pack_frames;
        }
    }
    for ((uid, part), frames) in found {
        if known.evicted.contains(&uid) || !lacks_frames(store, &uid, &part, &frames)? {
            continue;
        }
        restore_frames(store, lock, at, (&uid, &part), &frames)?;
        adopted.sessions.insert(uid);
    }
    add_missing_cursors(store, lock, at)?;
    Ok(adopted)
}

/// What the remaining rows say about sessions.
struct KnownOwners {
    /// Session and part of a pack, by the stem of its name.
    owners: HashMap<String, (String, String)>,
    /// Sessions whose raw text was evicted.
    evicted: BTreeSet<String>,
}

impl KnownOwners {
    fn load(store: &Store) -> Result<Self, StoreError> {
        let mut owners = HashMap::new();
        let mut evicted = BTreeSet::new();
        let reads = store.reads();
        for session in reads.sessions()? {
            let uid = session.session_uid;
            let read = reads.cursors_of(&uid)?.into_iter().map(|cursor| cursor.part);
            let parts = PARTS.iter().map(|kind| kind.as_str().to_owned());
            for part in parts.chain(read).chain(reads.parts(&uid)?) {
                let name = packs::pack_name(&uid, &part, 0);
                owners.insert(pack_stem(&name).to_owned(), (uid.clone(), part));
            }
            if session.evicted_at.is_some() {
                evicted.insert(uid);
            }
        }
        evicted.extend(reads.tombstones()?);
        Ok(Self { owners, evicted })
    }

    fn find_owner(&self, pack: &str) -> Option<(String, String)> {
        self.owners.get(pack_stem(pack)).cloned()
    }
}

/// Returns the name of a pack without its generation.
fn pack_stem(pack: &str) -> &str {
    pack.rsplit_once('.').map_or(pack, |(stem, _)| stem)
}

/// Returns the consecutive frames of a pack, up to the first byte that does not belong to a frame.
fn parse_frames(directory: &Path, pack: &str) -> io::Result<Vec<FrameRow>> {
    let mut frames: Vec<FrameRow> = Vec::new();
    let mut is_open = false;
    let mut file = File::open(directory.join(pack))?;
    let mut bytes: Vec<u8> = Vec::new();
    let mut start = 0;
    while let Some(length) = next_frame(&mut file, &mut bytes)? {
        let packed = &bytes[..length];
        let Ok(lines) = zstd::stream::decode_all(packed) else {
            break;
        };
        let (_, counted) = kept::rest_of_line(&lines, &mut is_open);
        let first_line = frames.last().map_or(1, |last| last.first_line + last.lines);
        frames.push(FrameRow {
            frame_no: frames.len() as u64,
            first_line,
            lines: breaks::count(counted),
            raw_bytes: lines.len() as u64,
            pack: pack.to_owned(),
            start,
            length: length as u64,
            checksum: *blake3::hash(packed).as_bytes(),
            // The mask version was lost, so the next sweep masks the text again.
            mask_version: MaskVersion::default(),
        });
        start += length as u64;
        bytes.drain(..length);
    }
    Ok(frames)
}

/// Reads until `bytes` starts with a complete frame. Returns the length of the frame, or `None` at the end of the
/// frames.
fn next_frame(file: &mut File, bytes: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(bytes)
            && length > 0
        {
            return Ok(Some(length));
        }
        let before = bytes.len();
        let read = file.by_ref().take(STEP_BYTES as u64).read_to_end(bytes)?;
        if read == 0 || before > FRAME_BYTES_MAX {
            return Ok(None);
        }
    }
}

/// Guesses the owner of a pack from the ids in its first lines. Returns only an owner that the pack's name confirms.
fn guess_owner(directory: &Path, pack: &str, frames: &[FrameRow]) -> Option<(String, String)> {
    let first = packs::read_frame(&PackStorage::Files(directory.to_owned()), frames.first()?).ok()?;
    let mut ids = BTreeSet::new();
    for line in first.split(|byte| *byte == b'\n').take(LINES_SEARCHED) {
        if let Ok(record) = serde_json::from_slice::<Value>(line) {
            gather_ids(&record, &mut ids);
        }
    }
    let uid = |agent: Agent, id: &str| format!("{}:{id}", agent.as_str());
    let whole = Agent::ALL
        .into_iter()
        .flat_map(|agent| ids.iter().map(move |id| uid(agent, id)));
    // The log of a subagent names its session and itself.
    let pairs = ids.iter().flat_map(|session| {
        let own = ids.iter().filter(move |own| *own != session && own.len() <= 40);
        own.map(move |own| uid(Agent::Claude, &format!("{session}/{own}")))
    });
    let parts = |uid: String| PARTS.map(|part| (uid.clone(), part.as_str().to_owned()));
    let mut owners = whole.chain(pairs).flat_map(parts);
    owners.find(|(uid, part)| pack_stem(&packs::pack_name(uid, part, 0)) == pack_stem(pack))
}

/// Collects every string in a record that could be an id.
fn gather_ids(record: &Value, ids: &mut BTreeSet<String>) {
    let is_id = |word: &str| {
        let is_part_of_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        (4..=ID_BYTES_MAX).contains(&word.len()) && word.bytes().all(is_part_of_id)
    };
    match record {
        Value::String(word) if is_id(word) && ids.len() < 500 => _ = ids.insert(word.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather_ids(item, ids)),
        Value::Object(fields) => fields.values().for_each(|value| gather_ids(value, ids)),
        _ => {}
    }
}

/// Returns `true` if the rows of a part describe less than its pack contains up to the start of the tail.
fn lacks_frames(store: &Store, uid: &str, part: &str, frames: &[FrameRow]) -> Result<bool, StoreError> {
    let rows = store.reads().frames(uid, part)?;
    let tail = store.reads().tail(uid, part).ok().flatten();
    let end = |frames: &[FrameRow]| frames.last().map_or(1, |frame| frame.first_line + frame.lines);
    let mut next = (0, 1);
    let is_whole = rows.iter().all(|row| {
        let follows = (row.frame_no, row.first_line) == next;
        next = (row.frame_no + 1, row.first_line + row.lines);
        follows
    });
    let is_ended = tail.is_some_and(|tail| tail.first_line == end(&rows));
    Ok(!is_whole || (!is_ended && end(frames) > end(&rows)))
}

fn restore_frames(
    store: &mut Store,
    lock: &WriteLock,
    at: Timestamp,
    (uid, part): (&str, &str),
    frames: &[FrameRow],
) -> Result<(), StoreError> {
    let tail = store.reads().tail(uid, part).ok().flatten();
    let ends_at = tail.as_ref().map_or(u64::MAX, |tail| tail.first_line);
    let tail = tail.unwrap_or_default().pack().map_err(|source| StoreError::Io {
        path: store.packs().path(""),
        source,
    })?;
    store.write(lock, at, "doctor", |tx| {
        tx.restore_session(uid, at)?;
        tx.drop_part(uid, part)?;
        for frame in frames.iter().filter(|frame| frame.first_line < ends_at) {
            tx.add_frame(uid, part, frame, None)?;
        }
        tx.put_tail(uid, part, &tail, MaskVersion::default())?;
        Ok(((), format!("recovered the frames of {uid} from its pack")))
    })
}

/// Gives every part that has lines but no cursor a cursor that matches no log, so that the next sweep reads the log
/// from the start if it still exists.
fn add_missing_cursors(store: &mut Store, lock: &WriteLock, at: Timestamp) -> Result<(), StoreError> {
    let mut lacking = Vec::new();
    for session in store.reads().sessions()? {
        let uid = session.session_uid;
        let cursors = store.reads().cursors_of(&uid)?;
        for part in store.reads().parts(&uid)? {
            let has_lines = PartKind::of_name(&part).is_some_and(PartKind::has_lines);
            if has_lines && !cursors.iter().any(|cursor| cursor.part == part) {
                let lines = store
                    .reads()
                    .frames(&uid, &part)?
                    .iter()
                    .map(|frame| frame.lines)
                    .sum::<u64>();
                let tail = store.reads().tail(&uid, &part).ok().flatten();
                lacking.push(unread_cursor(&uid, &part, lines + tail.map_or(0, |tail| tail.lines)));
            }
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    store.write(lock, at, "doctor", |tx| {
        lacking.iter().try_for_each(|cursor| tx.put_cursor(cursor))?;
        Ok(((), format!("marked {} parts to be read again", lacking.len())))
    })
}

/// Returns a cursor with the path that the log would have had, because the reader recognizes a subagent by the path.
fn unread_cursor(uid: &str, part: &str, lines: u64) -> Cursor {
    let (agent, id) = uid.split_once(':').unwrap_or(("", uid));
    let path = match (agent, id.split_once('/')) {
        ("grok", _) if part == PartKind::Log.as_str() => format!("/{id}/updates.jsonl"),
        ("grok", _) => format!("/{id}/{part}.jsonl"),
        (_, Some((session, own))) => format!("/{session}/subagents/agent-{own}.jsonl"),
        (_, None) => format!("/{id}.jsonl"),
    };
    Cursor {
        session_uid: uid.to_owned(),
        part: part.to_owned(),
        path,
        root: String::new(),
        stat: FileStat::default(),
        read_to: 1,
        lines,
        ends_mid_line: false,
        head_hash: [1; 32],
        tail_hash: [1; 32],
    }
}
