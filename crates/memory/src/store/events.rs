//! The `events` table: what happened in each session, in pages of a few hundred events. No other file
//! writes it.
//!
//! A row per event would cost more than the packed log itself (docs/design/0001-events-in-pages.md). A page
//! holds its events column by column and compressed; events are asked for by session and by line, never
//! across sessions, so nothing is lost by it. Two fields stay in the log: the agent's own id of an event and
//! of a call. Tokens stand in `calls`, once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use transcript::{Actor, Amendment, BESIDE_SEQ, Kinds, PartKind, Role, SessionEvent, Tokens};

use super::engine::{Engine, Value};
use super::{Reads, StoreError, micros};
use crate::squeeze;

/// How the pages of this version are laid out. Others are made again from the packs.
pub(super) const PAGE_VERSION: u8 = 1;
/// Events of one page. More compress better; each growth of a session writes its last page anew.
const PAGE_EVENTS: u64 = 512;
/// Small and written rarely: worth a little more work than a frame.
const ZSTD_LEVEL: i32 = 6;
/// A page of 512 events with the longest texts is far below this.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// A row needs less of a text than a transcript shows: the whole of it is one frame away.
const SUMMARY_CHARS_MAX: usize = 120;

/// The columns of a page. Numbers that grow are kept as steps: most of them are 0 or 1.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Page {
    seqs: Vec<u64>,
    parents: Vec<Option<u64>>,
    times: Vec<Option<i64>>,
    kinds: Vec<u16>,
    /// Role, actor, trigger, sidechain and success as digits of one number.
    marks: Vec<u16>,
    turns: Vec<Option<u32>>,
    /// Indexes into `names`.
    tools: Vec<Option<u32>>,
    parts: Vec<u8>,
    lines: Vec<i64>,
    text_lines: Vec<Option<u64>>,
    blocks: Vec<u32>,
    durations: Vec<Option<u64>>,
    exits: Vec<Option<i32>>,
    spills: Vec<Option<u32>>,
    files: Vec<Vec<u32>>,
    names: Vec<String>,
    summaries: Vec<String>,
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

/// Adds the events of a piece and changes earlier ones.
pub(super) fn put(
    engine: &Engine,
    session_uid: &str,
    events: &[SessionEvent],
    amendments: &[Amendment],
) -> Result<(), StoreError> {
    let mut pages: BTreeMap<u64, Vec<SessionEvent>> = BTreeMap::new();
    let touched = events.iter().map(|event| event.seq);
    for seq in touched.chain(amendments.iter().filter_map(Amendment::seq)) {
        let page = seq / PAGE_EVENTS;
        if pages.contains_key(&page) {
            continue;
        }
        match read_page(engine, session_uid, page) {
            Ok(known) => _ = pages.insert(page, known.unwrap_or_default()),
            // It stays as it is and is told as damaged, and the packs have all of it: other sessions do not wait for that.
            Err(StoreError::DamagedRow { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    for event in events {
        if let Some(page) = pages.get_mut(&(event.seq / PAGE_EVENTS)) {
            page.push(event.clone());
        }
    }
    for amendment in amendments {
        let Some(seq) = amendment.seq() else { continue };
        let event = pages
            .get_mut(&(seq / PAGE_EVENTS))
            .and_then(|page| page.iter_mut().find(|event| event.seq == seq));
        if let Some(event) = event {
            amendment.apply(event);
        }
    }
    for (number, events) in &pages {
        write_page(engine, session_uid, *number, events)?;
    }
    Ok(())
}

/// Empties the pages of a session whose text goes. How many events there were is still known.
pub(super) fn let_go(engine: &Engine, session_uid: &str) -> Result<(), StoreError> {
    engine.execute(
        "UPDATE events SET bytes = $2 WHERE session_uid = $1",
        &[Value::Text(session_uid), Value::Blob(&[])],
    )?;
    Ok(())
}

fn write_page(engine: &Engine, session_uid: &str, number: u64, events: &[SessionEvent]) -> Result<(), StoreError> {
    let lines = || events.iter().map(|event| event.line);
    engine.execute(
        "INSERT INTO events (session_uid, page, events, first_line, last_line, bytes)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (session_uid, page) DO UPDATE SET events = $3, first_line = $4, last_line = $5, bytes = $6",
        &[
            Value::Text(session_uid),
            Value::count(number),
            Value::count(events.len() as u64),
            Value::count(lines().min().unwrap_or_default()),
            Value::count(lines().max().unwrap_or_default()),
            Value::Blob(&pack(events)),
        ],
    )?;
    Ok(())
}

fn read_page(engine: &Engine, session_uid: &str, number: u64) -> Result<Option<Vec<SessionEvent>>, StoreError> {
    let bytes = engine.query_opt(
        "SELECT bytes FROM events WHERE session_uid = $1 AND page = $2 AND length(bytes) > 0",
        &[Value::Text(session_uid), Value::count(number)],
        |row| row.blob(0),
    )?;
    bytes.map(|bytes| unpack(session_uid, &bytes)).transpose()
}

impl Reads<'_> {
    /// The events of a session, in order. Their ids are by line: the agent's own are in the log.
    pub fn events(&self, session_uid: &str) -> Result<Vec<SessionEvent>, StoreError> {
        self.events_of_lines(session_uid, 0, i64::MAX.unsigned_abs())
    }

    /// Gives each event of a session, in order, page by page: no more than one page is held. Tokens stand in the calls.
    pub fn each_event(&self, session_uid: &str, mut take: impl FnMut(&SessionEvent)) -> Result<(), StoreError> {
        let pages = self.engine.query(
            "SELECT page FROM events WHERE session_uid = $1 ORDER BY page",
            &[Value::Text(session_uid)],
            |row| row.count(0),
        )?;
        for page in pages {
            for event in read_page(self.engine, session_uid, page)?.unwrap_or_default() {
                take(&event);
            }
        }
        Ok(())
    }

    /// The last events of a session's log: as many as the last page has.
    pub fn last_events(&self, session_uid: &str) -> Result<Vec<SessionEvent>, StoreError> {
        let page = self.engine.query_opt(
            "SELECT page FROM events WHERE session_uid = $1 AND page < $2 ORDER BY page DESC LIMIT 1",
            &[Value::Text(session_uid), Value::count(BESIDE_SEQ / PAGE_EVENTS)],
            |row| row.count(0),
        )?;
        let events = page.map(|page| read_page(self.engine, session_uid, page)).transpose()?;
        Ok(events.flatten().unwrap_or_default())
    }

    /// The events of a session whose pages hold lines from `first` to `last`: these, and some around them.
    pub fn events_of_lines(&self, session_uid: &str, first: u64, last: u64) -> Result<Vec<SessionEvent>, StoreError> {
        let pages = self.engine.query(
            "SELECT bytes FROM events
             WHERE session_uid = $1 AND last_line >= $2 AND first_line <= $3 AND length(bytes) > 0 ORDER BY page",
            &[Value::Text(session_uid), Value::count(first), Value::count(last)],
            |row| row.blob(0),
        )?;
        let mut events = Vec::new();
        for page in pages {
            events.extend(unpack(session_uid, &page)?);
        }
        let billed = self.tokens_by_event(session_uid)?;
        for event in &mut events {
            event.tokens = billed.get(&event.seq).copied();
        }
        Ok(events)
    }

    /// The events whose texts stand on some lines, without their tokens. Each page is unpacked once.
    pub fn events_at(&self, session_uid: &str, lines: &BTreeSet<u64>) -> Result<Vec<SessionEvent>, StoreError> {
        let mut events = Vec::new();
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            return Ok(events);
        };
        self.engine.each(
            "SELECT first_line, last_line, bytes FROM events
             WHERE session_uid = $1 AND last_line >= $2 AND first_line <= $3 ORDER BY page",
            &[Value::Text(session_uid), Value::count(*first), Value::count(*last)],
            |row| {
                if lines.range(row.count(0)?..=row.count(1)?).next().is_none() {
                    return Ok(());
                }
                let page = unpack_page(session_uid, row.blob_ref(2)?)?;
                let found = page.events(|own, text| lines.contains(&text.unwrap_or(own)));
                events.extend(found.ok_or_else(|| damaged(session_uid))?);
                Ok(())
            },
        )?;
        Ok(events)
    }

    /// The tools that a session used, each once.
    pub fn tools_of(&self, session_uid: &str) -> Result<Vec<String>, StoreError> {
        let mut tools: BTreeSet<String> = BTreeSet::new();
        self.engine.each(
            "SELECT bytes FROM events WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| {
                let page = unpack_page(session_uid, row.blob_ref(0)?)?;
                let named = page.tools.iter().flatten();
                tools.extend(named.filter_map(|at| page.names.get(*at as usize)).cloned());
                Ok(())
            },
        )?;
        Ok(tools.into_iter().collect())
    }

    /// Whether any event of a session may be about a file with one of these last names: it edits one, or its words hold
    /// the name.
    pub fn may_name_file(&self, session_uid: &str, names: &BTreeSet<String>) -> Result<bool, StoreError> {
        let mut found = false;
        self.engine.each(
            "SELECT bytes FROM events WHERE session_uid = $1 AND length(bytes) > 0",
            &[Value::Text(session_uid)],
            |row| {
                if !found {
                    let page = unpack_page(session_uid, row.blob_ref(0)?)?;
                    let mut texts = page.names.iter().chain(&page.summaries);
                    found = texts.any(|text| names.iter().any(|name| text.contains(name.as_str())));
                }
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// The tokens of each call, by the event it began with.
    fn tokens_by_event(&self, session_uid: &str) -> Result<HashMap<u64, Tokens>, StoreError> {
        let rows = self.engine.query(
            "SELECT seq, input, output, cache_read, cache_write_5m, cache_write_1h, reasoning FROM calls
             WHERE session_uid = $1 AND seq IS NOT NULL ORDER BY line, call_key",
            &[Value::Text(session_uid)],
            |row| {
                let tokens = Tokens {
                    input: row.count(1)?,
                    output: row.count(2)?,
                    cache_read: row.count(3)?,
                    cache_write_5m: row.count(4)?,
                    cache_write_1h: row.count(5)?,
                    reasoning: row.count(6)?,
                };
                Ok((row.count(0)?, tokens))
            },
        )?;
        Ok(rows.into_iter().collect())
    }

    /// How many events the store holds.
    pub fn event_count(&self) -> Result<u64, StoreError> {
        let count = self
            .engine
            .query_opt("SELECT coalesce(sum(events), 0) FROM events", &[], |row| row.count(0))?;
        Ok(count.unwrap_or_default())
    }
}

fn pack(events: &[SessionEvent]) -> Vec<u8> {
    let mut page = Page::default();
    let mut names: HashMap<String, u32> = HashMap::new();
    let (mut seq, mut time, mut line) = (0, 0, 0);
    for event in events {
        let mut name = |text: &str| {
            let next = names.len() as u32;
            *names.entry(text.to_owned()).or_insert_with(|| {
                page.names.push(text.to_owned());
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
        page.marks.push(marks(event));
        page.turns.push(event.turn);
        page.parts
            .push(PARTS.iter().position(|part| *part == event.part).unwrap_or_default() as u8);
        page.lines.push(event.line.cast_signed().wrapping_sub(line));
        page.text_lines.push(event.text_line);
        page.blocks.push(event.block);
        page.durations.push(event.duration_ms);
        page.exits.push(event.exit_code);
        page.summaries.push(cut(&event.summary).to_owned());
        (seq, time, line) = (event.seq, at.unwrap_or(time), event.line.cast_signed());
    }
    let plain = postcard::to_stdvec(&page).expect("a page has no type that cannot be written");
    let mut bytes = vec![PAGE_VERSION];
    bytes.extend(squeeze::compress(&plain, ZSTD_LEVEL).expect("a page is small and memory is there"));
    bytes
}

fn unpack(session_uid: &str, bytes: &[u8]) -> Result<Vec<SessionEvent>, StoreError> {
    let events = unpack_page(session_uid, bytes)?.events(|_, _| true);
    events.ok_or_else(|| damaged(session_uid))
}

fn unpack_page(session_uid: &str, bytes: &[u8]) -> Result<Page, StoreError> {
    let damaged = || damaged(session_uid);
    let (version, packed) = bytes.split_first().ok_or_else(damaged)?;
    if *version != PAGE_VERSION {
        return Err(damaged());
    }
    let plain = squeeze::decompress(packed, PAGE_BYTES_MAX).map_err(|_| damaged())?;
    postcard::from_bytes(&plain).map_err(|_| damaged())
}

fn damaged(session_uid: &str) -> StoreError {
    StoreError::DamagedRow {
        session_uid: session_uid.to_owned(),
        table: "events",
    }
}

impl Page {
    /// The events again that are taken by their line and the line of their text; none where columns do not fit together.
    fn events(&self, takes: impl Fn(u64, Option<u64>) -> bool) -> Option<Vec<SessionEvent>> {
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

fn marks(event: &SessionEvent) -> u16 {
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

/// The beginning of a summary.
fn cut(summary: &str) -> &str {
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
    fn a_page_gives_back_its_events() {
        let events: Vec<SessionEvent> = (500..900).map(event).collect();
        assert_eq!(unpack("claude:s", &pack(&events)).unwrap(), events);
        let mut late = event(4);
        late.parent_seq = Some(9);
        assert_eq!(unpack("claude:s", &pack(std::slice::from_ref(&late))).unwrap(), [late]);
    }

    #[test]
    fn a_damaged_page_is_an_error_and_no_panic() {
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
