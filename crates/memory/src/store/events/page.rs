//! The format of a page of events: by column, and compressed. Knows no table.

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use transcript::{Actor, Kinds, PartKind, Role, SessionEvent};

use crate::squeeze;
use crate::store::{StoreError, kept_time, micros};

/// The version of the format. Pages of another version are derived again from the packs.
pub(in crate::store) const PAGE_VERSION: u8 = 1;
/// Measured: level 6 saves 3 %, but takes longer than everything else about a page.
const ZSTD_LEVEL: i32 = 1;
/// Maximum size of a page. A page of 512 events with the longest texts is far smaller.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// Maximum length of a stored summary. It is shorter than in a transcript, because the full text is in a frame.
const SUMMARY_CHARS_MAX: usize = 120;

/// The columns of a page. Increasing numbers are stored as differences, most of which are 0 or 1.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Page {
    seqs: Vec<u64>,
    parents: Vec<Option<u64>>,
    times: Vec<Option<i64>>,
    kinds: Vec<u16>,
    /// Role, actor, trigger, sidechain and success, as bits of one number.
    marks: Vec<u16>,
    turns: Vec<Option<u32>>,
    /// Indexes into `names`.
    pub(super) tools: Vec<Option<u32>>,
    parts: Vec<u8>,
    lines: Vec<i64>,
    text_lines: Vec<Option<u64>>,
    blocks: Vec<u32>,
    durations: Vec<Option<u64>>,
    exits: Vec<Option<i32>>,
    spills: Vec<Option<u32>>,
    files: Vec<Vec<u32>>,
    pub(super) names: Vec<String>,
    pub(super) summaries: Vec<String>,
}

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];
const ACTORS: [Actor; 5] = [
    Actor::Human,
    Actor::Agent,
    Actor::Harness,
    Actor::OtherAgent,
    Actor::Tool,
];
const PARTS: [PartKind; 3] = [PartKind::Log, PartKind::ChatHistory, PartKind::Events];

/// Serializes and compresses events.
pub(super) fn pack(events: &[SessionEvent]) -> Vec<u8> {
    let mut page = Page::default();
    let mut names: FxHashMap<&str, u32> = FxHashMap::default();
    let (mut seq, mut time, mut line) = (0, 0, 0);
    for event in events {
        let mut name = |text| {
            let next = names.len() as u32;
            *names.entry(text).or_insert_with(|| {
                page.names.push(str::to_owned(text));
                next
            })
        };
        page.tools.push(event.tool.as_deref().map(&mut name));
        page.spills.push(event.spill.as_deref().map(&mut name));
        page.files.push(event.files.iter().map(|file| name(file)).collect());
        page.seqs.push(event.seq - seq);
        page.parents.push(
            event
                .parent_seq
                .map(|parent| event.seq.abs_diff(parent) << 1 | u64::from(parent > event.seq)),
        );
        let at = event.ts.map(micros);
        page.times.push(at.map(|at| at.wrapping_sub(time)));
        page.kinds.push(event.kinds.bits());
        page.marks.push(mark_bits(event));
        page.turns.push(event.turn);
        page.parts
            .push(PARTS.iter().position(|part| *part == event.part).unwrap_or_default() as u8);
        page.lines.push(event.line.cast_signed().wrapping_sub(line));
        page.text_lines.push(event.text_line);
        page.blocks.push(event.block);
        page.durations.push(event.duration_ms);
        page.exits.push(event.exit_code);
        page.summaries.push(truncate_summary(&event.summary).to_owned());
        (seq, time, line) = (event.seq, at.unwrap_or(time), event.line.cast_signed());
    }
    let plain = postcard::to_stdvec(&page).expect("every type in a page can be serialized");
    let mut bytes = vec![PAGE_VERSION];
    bytes.extend(squeeze::compress(&plain, ZSTD_LEVEL).expect("compressing a small page cannot fail"));
    bytes
}

/// Returns the events of a page.
pub(super) fn unpack(session_uid: &str, bytes: &[u8]) -> Result<Vec<SessionEvent>, StoreError> {
    let events = unpack_page(session_uid, bytes)?.events(|_, _| true);
    events.ok_or_else(|| damaged(session_uid))
}

/// Decompresses a page without building its events.
pub(super) fn unpack_page(session_uid: &str, bytes: &[u8]) -> Result<Page, StoreError> {
    let damaged = || damaged(session_uid);
    let (version, packed) = bytes.split_first().ok_or_else(damaged)?;
    if *version != PAGE_VERSION {
        return Err(damaged());
    }
    let plain = squeeze::decompress(packed, PAGE_BYTES_MAX).map_err(|_| damaged())?;
    postcard::from_bytes(&plain).map_err(|_| damaged())
}

pub(super) fn damaged(session_uid: &str) -> StoreError {
    StoreError::DamagedRow {
        session_uid: session_uid.to_owned(),
        table: "events",
    }
}

impl Page {
    /// Builds the events for which `takes` returns `true`, given their line and the line of their text. Returns
    /// `None` if the columns are inconsistent.
    pub(super) fn events(&self, takes: impl Fn(u64, Option<u64>) -> bool) -> Option<Vec<SessionEvent>> {
        let name = |at: Option<u32>| match at {
            Some(at) => self.names.get(at as usize).map(|name| Some(name.as_str().into())),
            None => Some(None),
        };
        let mut events = Vec::new();
        let (mut seq, mut time, mut line) = (0_u64, 0_i64, 0_i64);
        for at in 0..self.seqs.len() {
            seq = seq.checked_add(self.seqs[at])?;
            let ts = (*self.times.get(at)?).map(|step| time.wrapping_add(step));
            time = ts.unwrap_or(time);
            line = line.wrapping_add(*self.lines.get(at)?);
            if !takes(line.cast_unsigned(), *self.text_lines.get(at)?) {
                continue;
            }
            let block = *self.blocks.get(at)?;
            let marks = usize::from(*self.marks.get(at)?);
            let files = self.files.get(at)?.iter().map(|file| name(Some(*file))?);
            events.push(SessionEvent {
                seq,
                parent_seq: match *self.parents.get(at)? {
                    Some(step) if step & 1 == 0 => Some(seq.checked_sub(step >> 1)?),
                    Some(step) => Some(seq.checked_add(step >> 1)?),
                    None => None,
                },
                id: format!("L{line}#{block}").into(),
                ts: ts.and_then(|at| Timestamp::from_microsecond(at).ok()),
                kinds: Kinds::from_bits(*self.kinds.get(at)?),
                role: *ROLES.get(marks & 3)?,
                actor: *ACTORS.get(marks >> 2 & 7)?,
                trigger: marks & 32 != 0,
                turn: *self.turns.get(at)?,
                tool: name(*self.tools.get(at)?)?,
                summary: self.summaries.get(at)?.as_str().into(),
                part: *PARTS.get(usize::from(*self.parts.get(at)?))?,
                line: line.cast_unsigned(),
                text_line: *self.text_lines.get(at)?,
                block,
                call_id: None,
                duration_ms: *self.durations.get(at)?,
                success: (marks & 128 != 0).then_some(marks & 256 != 0),
                exit_code: *self.exits.get(at)?,
                files: files.collect::<Option<_>>()?,
                tokens: None,
                is_sidechain: marks & 64 != 0,
                spill: name(*self.spills.get(at)?)?,
            });
        }
        Some(events)
    }
}

fn mark_bits(event: &SessionEvent) -> u16 {
    let role = ROLES.iter().position(|role| *role == event.role).unwrap_or_default() as u16;
    let actor = ACTORS
        .iter()
        .position(|actor| *actor == event.actor)
        .unwrap_or_default() as u16;
    let bit = |set: bool, at: u16| u16::from(set) << at;
    role | actor << 2
        | bit(event.trigger, 5)
        | bit(event.is_sidechain, 6)
        | bit(event.success.is_some(), 7)
        | bit(event.success == Some(true), 8)
}

/// Removes from an event what a page does not store, except for the agent's own ids.
pub(crate) fn reduce_to_stored(event: &mut SessionEvent) {
    let kept = truncate_summary(&event.summary);
    if kept.len() < event.summary.len() {
        event.summary = kept.into();
    }
    event.ts = kept_time(event.ts);
    event.tokens = None;
}

/// Returns the beginning of a summary.
fn truncate_summary(summary: &str) -> &str {
    let end = summary.char_indices().nth(SUMMARY_CHARS_MAX);
    end.map_or(summary, |(at, _)| &summary[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> SessionEvent {
        SessionEvent {
            seq,
            parent_seq: seq.checked_sub(1),
            id: format!("L{}#2", seq * 3 + 1).into(),
            ts: Timestamp::from_microsecond(1_790_000_000_000_000 + seq as i64 * 1_234_567)
                .ok()
                .filter(|_| !seq.is_multiple_of(5)),
            kinds: Kinds::from_bits(1 << (seq % 13)),
            role: ROLES[seq as usize % 4],
            actor: ACTORS[seq as usize % 5],
            trigger: seq.is_multiple_of(7),
            turn: (seq > 2).then_some(seq as u32 / 10),
            tool: seq.is_multiple_of(2).then(|| "Bash".into()),
            summary: format!("cargo test {seq} \u{0}äöü").into(),
            part: PARTS[seq as usize % 3],
            line: seq * 3 + 1,
            text_line: seq.is_multiple_of(11).then_some(seq),
            block: 2,
            call_id: None,
            duration_ms: seq.is_multiple_of(3).then_some(seq * 1000),
            success: [None, Some(true), Some(false)][seq as usize % 3],
            exit_code: seq.is_multiple_of(4).then_some(-1),
            files: vec!["src/main.rs".into(); seq as usize % 3],
            tokens: None,
            is_sidechain: seq.is_multiple_of(6),
            spill: seq.is_multiple_of(9).then(|| "tool-results/a.txt".into()),
        }
    }

    #[test]
    fn a_page_round_trips_its_events() {
        let events: Vec<SessionEvent> = (500..900).map(event).collect();
        assert_eq!(unpack("claude:s", &pack(&events)).unwrap(), events);
        let mut late = event(4);
        late.parent_seq = Some(9);
        assert_eq!(unpack("claude:s", &pack(std::slice::from_ref(&late))).unwrap(), [late]);
    }

    #[test]
    fn a_damaged_page_is_an_error_and_does_not_panic() {
        let page = pack(&(0..40).map(event).collect::<Vec<_>>());
        for at in 0..page.len() {
            let mut damaged = page.clone();
            damaged[at] ^= 0x55;
            _ = unpack("claude:s", &damaged);
            _ = unpack("claude:s", &page[..at]);
        }
        assert!(unpack("claude:s", &page[..page.len() - 3]).is_err());
        assert!(unpack("claude:s", &[9, 9]).is_err());
    }
}
