//! Reads stored sessions: their lines, part by part.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::RangeInclusive;

use transcript::{Line, LineBody, MaskedLine, PartKind, SafeName, SessionEvent};

use crate::breaks;
use crate::ingest;
use crate::packs;
pub use crate::store::agent_of;
use crate::store::{FrameRow, Store, StoreError};
use crate::whole::{self, Whole};

/// Calls `take` with each stored line of a part, in order. Returns an error that names the frame if a frame is
/// damaged.
pub fn each_line(
    store: &Store,
    session_uid: &str,
    part: &str,
    mut take: impl FnMut(&MaskedLine<'_>),
) -> Result<(), StoreError> {
    let (mut number, mut is_open) = (0, false);
    each_bytes(store, session_uid, part, |bytes| {
        let (_, bytes) = rest_of_line(bytes, &mut is_open);
        for line in breaks::lines(bytes) {
            number += 1;
            let (body, terminated) = line.strip_suffix(b"\n").map_or((line, false), |body| (body, true));
            take(&ingest::kept_line(Line {
                number,
                offset: 0,
                body: packs::parse_body(body),
                terminated,
            }));
        }
        Ok(())
    })
}

/// Splits off the line break that belongs to the last line of the frame before. A line that was incomplete when its
/// frame was written gets its break at the start of the next frame. `is_open` is `true` while the last line has no
/// break yet.
pub(crate) fn rest_of_line<'b>(bytes: &'b [u8], is_open: &mut bool) -> (&'b [u8], &'b [u8]) {
    let split = usize::from(*is_open && bytes.first() == Some(&b'\n'));
    *is_open = bytes.last().is_some_and(|byte| *byte != b'\n');
    bytes.split_at(split)
}

/// Calls `take` with the stored bytes of a part, frame by frame: the lines as the agent wrote them, except for masked
/// secrets.
pub fn each_bytes(
    store: &Store,
    session_uid: &str,
    part: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for frame in store.reads().frames(session_uid, part)? {
        take(&read_frame(store, session_uid, part, &frame)?)?;
    }
    match store.reads().tail(session_uid, part)? {
        Some(tail) => take(&tail.bytes),
        None => Ok(()),
    }
}

/// Returns the lines of one frame.
pub(crate) fn read_frame(
    store: &Store,
    session_uid: &str,
    part: &str,
    frame: &FrameRow,
) -> Result<Vec<u8>, StoreError> {
    packs::read_frame(&store.packs(), frame).map_err(|error| StoreError::DamagedFrame {
        session_uid: session_uid.to_owned(),
        part: part.to_owned(),
        frame_no: frame.frame_no,
        reason: error.to_string(),
    })
}

/// Calls `take` with each stored line of a part whose number is in `wanted`, in order. Skips frames that contain none
/// of them.
pub fn each_line_of(
    store: &Store,
    session_uid: &str,
    part: &str,
    wanted: &RangeInclusive<u64>,
    mut take: impl FnMut(u64, &[u8]),
) -> Result<(), StoreError> {
    for frame in store.reads().frames(session_uid, part)? {
        let frame_lines = frame.first_line..frame.first_line + frame.lines;
        if frame_lines.start <= *wanted.end() && frame_lines.end > *wanted.start() {
            let bytes = read_frame(store, session_uid, part, &frame)?;
            number_lines(&bytes, frame.first_line, frame.lines, wanted, &mut take);
        }
    }
    if let Some(tail) = store.reads().tail(session_uid, part)? {
        number_lines(&tail.bytes, tail.first_line, tail.lines, wanted, &mut take);
    }
    Ok(())
}

/// Calls `take` with the lines of a frame and their numbers. If the frame has one more line break than lines and
/// starts with it, that break belongs to the last line of the frame before.
pub(crate) fn number_lines(
    bytes: &[u8],
    first_line: u64,
    lines: u64,
    wanted: &RangeInclusive<u64>,
    take: &mut impl FnMut(u64, &[u8]),
) {
    let is_rest = bytes.first() == Some(&b'\n') && breaks::count(bytes) > lines;
    let bytes = &bytes[usize::from(is_rest)..];
    for (number, line) in (first_line..=*wanted.end()).zip(breaks::bare_lines(bytes)) {
        if wanted.contains(&number) {
            take(number, line);
        }
    }
}

/// Returns the full texts of the given events, by `seq`, from the packs. Reads only the frames that contain one of
/// them.
pub fn read_texts(
    store: &Store,
    session_uid: &str,
    events: &[SessionEvent],
) -> Result<HashMap<u64, String>, StoreError> {
    let wholes = read_full_texts(store, session_uid, events)?;
    let texts = wholes.into_iter().filter_map(|(seq, whole)| Some((seq, whole.text?)));
    Ok(texts.collect())
}

/// Returns the full texts like [`read_texts`], together with the images that belong to them.
pub fn read_full_texts(
    store: &Store,
    session_uid: &str,
    events: &[SessionEvent],
) -> Result<HashMap<u64, Whole>, StoreError> {
    let agent = agent_of(session_uid)?;
    let mut at_line: BTreeMap<(PartKind, u64), Vec<&SessionEvent>> = BTreeMap::new();
    for event in events {
        // A prompt may have been typed on an earlier line than the one on which it was delivered.
        let line = event.text_line.unwrap_or(event.line);
        at_line.entry((event.part, line)).or_default().push(event);
    }
    let mut wholes: HashMap<u64, Whole> = HashMap::new();
    for part in [PartKind::Log, PartKind::ChatHistory, PartKind::Events] {
        let lines: Vec<u64> = at_line
            .range((part, 0)..=(part, u64::MAX))
            .map(|((_, line), _)| *line)
            .collect();
        for wanted in merge_line_ranges(&lines) {
            each_line_of(store, session_uid, part.as_str(), &wanted, |number, line| {
                let (Some(events), LineBody::Bytes(line)) = (at_line.get(&(part, number)), packs::parse_body(line))
                else {
                    return;
                };
                wholes.extend(whole::of_line(agent, line, events));
            })?;
        }
    }
    for event in events {
        if let Some(text) = read_spilled_result(store, session_uid, event)? {
            wholes.entry(event.seq).or_default().text = Some(text);
        }
    }
    Ok(wholes)
}

/// Merges nearby lines into ranges, so that a frame is read only once for them.
pub(crate) fn merge_line_ranges(lines: &[u64]) -> Vec<RangeInclusive<u64>> {
    const NEAR_LINES: u64 = 2_000;
    let mut runs: Vec<RangeInclusive<u64>> = Vec::new();
    for line in lines {
        match runs.last_mut() {
            Some(run) if line - run.end() <= NEAR_LINES => *run = *run.start()..=*line,
            _ => runs.push(*line..=*line),
        }
    }
    runs
}

/// Returns the full result of a tool that was too large for the log, if it was stored.
fn read_spilled_result(store: &Store, session_uid: &str, event: &SessionEvent) -> Result<Option<String>, StoreError> {
    let Some(name) = event.spill.as_deref().and_then(SafeName::new) else {
        return Ok(None);
    };
    let part = format!("{}:tool-results/{}", PartKind::Spill.as_str(), name.as_str());
    let mut bytes = Vec::new();
    // The results of a subagent are stored with its parent.
    let parent = session_uid.split_once('/').map_or(session_uid, |(parent, _)| parent);
    for owner in [session_uid, parent] {
        if bytes.is_empty() {
            each_bytes(store, owner, &part, |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
        }
    }
    Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Returns the parts of a session in the order in which a reader needs them: companions first, then lines.
pub fn list_parts(store: &Store, session_uid: &str) -> Result<Vec<(PartKind, String)>, StoreError> {
    let mut parts: Vec<(PartKind, String)> = Vec::new();
    for name in store.reads().parts(session_uid)? {
        let kind = PartKind::of_name(&name).ok_or_else(|| StoreError::Unknown {
            what: "part",
            word: name.clone(),
        })?;
        parts.push((kind, name));
    }
    parts.sort_by_key(|(kind, name)| (kind.has_lines(), *kind, name.clone()));
    Ok(parts)
}

/// Writes a part of a session as the agent wrote it, except for masked secrets.
pub fn write_part(
    store: &Store,
    session_uid: &str,
    part: &str,
    out: &mut dyn io::Write,
) -> Result<io::Result<()>, StoreError> {
    let mut written = Ok(());
    each_bytes(store, session_uid, part, |bytes| {
        if written.is_ok() {
            written = out.write_all(bytes);
        }
        Ok(())
    })?;
    Ok(written)
}
