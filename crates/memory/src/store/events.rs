//! The `events` table: what happened in each session, in pages of a few hundred events. No other file writes it.
//!
//! A row per event would take more space than the compressed log itself (docs/design/0001-events-in-pages.md). A page
//! stores its events by column and compressed. Events are queried by session and by line, never across sessions, so
//! pages are sufficient. Two fields are only in the log: the agent's own ids of events and of calls. Tokens are only
//! in `calls`.

mod page;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use transcript::{Amendment, BESIDE_SEQ, Delta, SessionEvent, Tokens};

pub(super) use self::page::PAGE_VERSION;
use self::page::{damaged, pack, reduce_to_stored, unpack, unpack_page};
use super::engine::{Engine, Value};
use super::{Reads, StoreError, Tx};

/// Number of events in a page. Larger pages compress better, but each growth of a session rewrites its last page.
const PAGE_EVENTS: u64 = 512;

/// The first events of a session, by page.
#[derive(Debug)]
pub struct FreshEvents(BTreeMap<u64, Vec<SessionEvent>>);

/// Returns events in order, as they will be read from their rows.
pub fn stored_events(events: &[SessionEvent]) -> Vec<SessionEvent> {
    let mut events = events.to_vec();
    events.sort_by_key(|event| event.seq);
    events.iter_mut().for_each(reduce_to_stored);
    events
}

/// The first events of a session in compressed pages. They are compressed by a worker thread, because the single
/// writer thread has no time for it.
#[derive(Debug)]
pub struct FreshPages(Vec<PackedPage>);

#[derive(Debug)]
struct PackedPage {
    number: u64,
    events: u64,
    first_line: u64,
    last_line: u64,
    bytes: Vec<u8>,
}

impl FreshEvents {
    /// Takes the first events of a session out of a delta, and applies the delta's amendments to them.
    pub fn take(delta: &mut Delta) -> Self {
        let events = std::mem::take(&mut delta.events);
        let mut pages = collect_pages(events, &delta.amendments, |_| Ok(Some(Vec::new()))).expect("nothing is read");
        delta.amendments.retain(|amendment| amendment.seq().is_none());
        pages.values_mut().flatten().for_each(reduce_to_stored);
        Self(pages)
    }

    /// Returns the events in order.
    pub fn iter(&self) -> impl Iterator<Item = &SessionEvent> {
        self.0.values().flatten()
    }

    /// Compresses the events.
    pub fn pack(&self) -> FreshPages {
        let pages = self.0.iter();
        FreshPages(pages.map(|(number, events)| PackedPage::of(*number, events)).collect())
    }
}

impl FreshPages {
    /// Returns the compressed size.
    pub fn size(&self) -> usize {
        self.0.iter().map(|page| page.bytes.len()).sum()
    }
}

impl PackedPage {
    fn of(number: u64, events: &[SessionEvent]) -> Self {
        let lines = || events.iter().map(|event| event.line);
        Self {
            number,
            events: events.len() as u64,
            first_line: lines().min().unwrap_or_default(),
            last_line: lines().max().unwrap_or_default(),
            bytes: pack(events),
        }
    }
}

impl Tx<'_> {
    /// Stores the first events of a session.
    pub fn put_pages(&self, session_uid: &str, pages: &FreshPages) -> Result<(), StoreError> {
        pages
            .0
            .iter()
            .try_for_each(|page| write_page(self.engine, session_uid, page))
    }
}

/// Adds the events of a piece and amends earlier ones.
pub(super) fn put_events(
    engine: &Engine,
    session_uid: &str,
    events: &[SessionEvent],
    amendments: &[Amendment],
) -> Result<(), StoreError> {
    let pages = collect_pages(events.iter().cloned(), amendments, |page| {
        match read_page(engine, session_uid, page) {
            Ok(known) => Ok(Some(known.unwrap_or_default())),
            // A damaged page stays as it is and is reported by `doctor`. The packs contain the whole text, and other
            // sessions must not be blocked.
            Err(StoreError::DamagedRow { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    })?;
    for (number, events) in &pages {
        write_page(engine, session_uid, &PackedPage::of(*number, events))?;
    }
    Ok(())
}

/// Collects the pages that events and amendments change. `known` returns the stored events of a page, or `None` to
/// leave the page unchanged.
fn collect_pages(
    events: impl IntoIterator<Item = SessionEvent>,
    amendments: &[Amendment],
    mut known: impl FnMut(u64) -> Result<Option<Vec<SessionEvent>>, StoreError>,
) -> Result<BTreeMap<u64, Vec<SessionEvent>>, StoreError> {
    let mut pages = BTreeMap::new();
    for event in events {
        let number = event.seq / PAGE_EVENTS;
        if let Some(page) = load_page(&mut pages, number, &mut known)? {
            page.push(event);
        }
    }
    for amendment in amendments {
        let Some(seq) = amendment.seq() else { continue };
        let page = load_page(&mut pages, seq / PAGE_EVENTS, &mut known)?;
        if let Some(event) = page.and_then(|page| page.iter_mut().find(|event| event.seq == seq)) {
            amendment.apply(event);
        }
    }
    let whole = pages.into_iter().filter_map(|(number, page)| Some((number, page?)));
    Ok(whole.collect())
}

fn load_page<'p>(
    pages: &'p mut BTreeMap<u64, Option<Vec<SessionEvent>>>,
    number: u64,
    known: &mut impl FnMut(u64) -> Result<Option<Vec<SessionEvent>>, StoreError>,
) -> Result<Option<&'p mut Vec<SessionEvent>>, StoreError> {
    let page = match pages.entry(number) {
        Entry::Occupied(page) => page.into_mut(),
        Entry::Vacant(place) => place.insert(known(number)?),
    };
    Ok(page.as_mut())
}

/// Empties the pages of a session that is evicted. The number of events stays.
pub(super) fn empty_pages(engine: &Engine, session_uid: &str) -> Result<(), StoreError> {
    engine.execute(
        "UPDATE events SET bytes = $2 WHERE session_uid = $1",
        &[Value::Text(session_uid), Value::Blob(&[])],
    )?;
    Ok(())
}

fn write_page(engine: &Engine, session_uid: &str, page: &PackedPage) -> Result<(), StoreError> {
    engine.execute(
        "INSERT INTO events (session_uid, page, events, first_line, last_line, bytes)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (session_uid, page) DO UPDATE SET events = $3, first_line = $4, last_line = $5, bytes = $6",
        &[
            Value::Text(session_uid),
            Value::count(page.number),
            Value::count(page.events),
            Value::count(page.first_line),
            Value::count(page.last_line),
            Value::Blob(&page.bytes),
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
    /// Returns the events of a session, in order. Their ids are derived from their lines, because the agent's own ids
    /// are only in the log.
    pub fn events(&self, session_uid: &str) -> Result<Vec<SessionEvent>, StoreError> {
        self.events_of_lines(session_uid, 0, i64::MAX.unsigned_abs())
    }

    /// Passes each event of a session to `take`, in order. Holds only one page at a time. Tokens are not set, because
    /// they are in the calls.
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

    /// Returns the events on the last page of a session's log.
    pub fn last_events(&self, session_uid: &str) -> Result<Vec<SessionEvent>, StoreError> {
        let page = self.engine.query_opt(
            "SELECT page FROM events WHERE session_uid = $1 AND page < $2 ORDER BY page DESC LIMIT 1",
            &[Value::Text(session_uid), Value::count(BESIDE_SEQ / PAGE_EVENTS)],
            |row| row.count(0),
        )?;
        let events = page.map(|page| read_page(self.engine, session_uid, page)).transpose()?;
        Ok(events.flatten().unwrap_or_default())
    }

    /// Returns the events of all pages that contain lines from `first` to `last`: these, and some around them.
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

    /// Returns the events whose texts are on the given lines, without their tokens. Each page is decompressed once.
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

    /// Returns the tools that a session used, each once.
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

    /// Returns `true` if any event of a session may concern a file with one of these names: if it edits one, or if
    /// its text contains the name. In Windows paths the case is ignored.
    pub fn may_name_file(&self, session_uid: &str, names: &BTreeSet<String>) -> Result<bool, StoreError> {
        let mut found = false;
        self.engine.each(
            "SELECT bytes FROM events WHERE session_uid = $1 AND length(bytes) > 0",
            &[Value::Text(session_uid)],
            |row| {
                if !found {
                    let page = unpack_page(session_uid, row.blob_ref(0)?)?;
                    let mut texts = page.names.iter().chain(&page.summaries);
                    found = texts.any(|text| names.iter().any(|name| may_hold_name(text, name)));
                }
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// Returns the tokens of each call, by its first event.
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

    /// Returns the number of events in the store.
    pub fn event_count(&self) -> Result<u64, StoreError> {
        let count = self
            .engine
            .query_opt("SELECT coalesce(sum(events), 0) FROM events", &[], |row| row.count(0))?;
        Ok(count.unwrap_or_default())
    }
}

/// Returns `true` if a text contains a name, ignoring case if it may contain Windows paths.
fn may_hold_name(text: &str, name: &str) -> bool {
    let ignores_case = || text.contains(['\\', ':']) && text.to_lowercase().contains(&name.to_lowercase());
    text.contains(name) || ignores_case()
}
