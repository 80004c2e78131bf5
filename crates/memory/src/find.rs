//! Search in the memory, or in logs without one: what there is, given to the engine of `search`, and what the engine
//! finds, told in the words of sessions.

mod asked;
mod bare;
mod beside;
mod kept;
mod sources;
mod suggest;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use jiff::Timestamp;
use transcript::{Field, Kind, SessionEvent};

pub(crate) use self::asked::Asked;
pub use self::bare::{Bare, find_bare};
pub use self::sources::{add_sources, count_sources};
pub use self::suggest::suggest;
use crate::search::{HitTarget, Query, SearchCost, SearchHit, Snippet};
use crate::session_text::TextOrigin;
use crate::store::{ListedSession, SessionStatus, Store, StoreError};

/// What is asked, and of what.
pub struct Question<'q> {
    pub query: &'q Query,
    pub now: Timestamp,
    pub threads: usize,
    /// No older session is asked once this is found.
    pub enough: HitTarget,
    /// Which sessions are asked.
    pub takes: &'q (dyn Fn(&ListedSession) -> bool + Sync),
    /// Only sessions behind this one are asked, in the order of the list.
    pub behind: Option<Behind>,
    pub is_cancelled: &'q (dyn Fn() -> bool + Sync),
}

/// A place in the list of sessions, which stays where it is when new ones come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    pub last_micros: Option<i64>,
    pub session_uid: String,
}

impl Behind {
    pub fn new(session: &ListedSession) -> Self {
        Self {
            last_micros: session.last_micros,
            session_uid: session.session_uid.clone(),
        }
    }

    /// Whether a session of the list stands behind it: newest first, then by uid.
    pub fn has(&self, session: &ListedSession) -> bool {
        let order = self.last_micros.cmp(&session.last_micros);
        order.then_with(|| session.session_uid.cmp(&self.session_uid)).is_gt()
    }
}

/// What was found to hold the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A text of the log, with the kind of its event, or a prompt of the agent's history.
    Text(Option<Kind>),
    /// What the agent calls the session.
    Title,
    /// The user's own words on it.
    Name,
    Note,
    Tag,
    /// What was kept of a session whose raw text was let go.
    Digest,
}

impl What {
    /// The word used in JSON; none for a text that is no event's.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Text(kind) => kind.map(Kind::as_str),
            Self::Title => Some("title"),
            Self::Name => Some("name"),
            Self::Note => Some("note"),
            Self::Tag => Some("tag"),
            Self::Digest => Some("digest"),
        }
    }
}

/// A turn that was found, or words on a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub session: ListedSession,
    /// The log, if it was searched at its source.
    pub path: Option<PathBuf>,
    pub what: What,
    pub turn: Option<u32>,
    pub prompt: Option<String>,
    /// Where it stands; none for words that stand in no log.
    pub part: Option<String>,
    pub line: Option<u64>,
    pub ts: Option<Timestamp>,
    pub tool: Option<String>,
    pub field: Field,
    pub snippet: Snippet,
    pub score: u32,
    /// How many sessions hold the same turn again, because they were forked or resumed from it.
    pub copies: u64,
    /// Which ones.
    pub copied_in: Vec<String>,
}

impl Found {
    /// Returns where the matching text came from.
    pub fn text_from(&self) -> TextOrigin {
        match (self.what, &self.path) {
            (What::Digest, _) => TextOrigin::Digest,
            (_, Some(_)) => TextOrigin::Source,
            (What::Text(_), None) if self.session.status == SessionStatus::PromptsOnly => TextOrigin::Prompts,
            _ => TextOrigin::Memory,
        }
    }

    /// Where the words stand, in a word: the tool, else what it is, else the field.
    pub fn place(&self) -> &str {
        match (&self.tool, self.what) {
            (Some(tool), _) => tool,
            (None, What::Text(_)) => self.field.as_str(),
            (None, what) => what.as_str().unwrap_or_default(),
        }
    }
}

/// What was found, best first.
#[derive(Debug, Default)]
pub struct Findings {
    pub found: Vec<Found>,
    /// Older sessions were not asked: enough was found.
    pub is_partial: bool,
    /// The last session that was asked, where older ones were not.
    pub last: Option<Behind>,
    /// Sessions that were asked, and those that the filters hid.
    pub sessions: usize,
    pub hidden: usize,
    pub work: SearchCost,
    pub unreadable: Vec<String>,
    /// The evicted sessions that the filters allow, newest first. Of these only the distilled memory was searched.
    pub evicted: Vec<ListedSession>,
    /// How many logs of evicted sessions were searched at their sources.
    pub sources: usize,
}

/// Asks the memory.
pub fn find(store: &Store, question: &Question<'_>) -> Result<Findings, StoreError> {
    let _passage = store.begin_sequential_read()?;
    let look = store.look()?;
    let all = store.reads().listed()?;
    let count = all.len();
    let mut listed: Vec<ListedSession> = all.into_iter().filter(|session| (question.takes)(session)).collect();
    let hidden = count - listed.len();
    let beside = match question.behind {
        // They are few, and were told on the first page.
        Some(_) => Vec::new(),
        None => beside::find(store, &listed, question)?,
    };
    drop(look);
    if let Some(behind) = &question.behind {
        listed.retain(|session| behind.has(session));
    }
    let answer = kept::ask(store, &listed, question)?;
    let mut findings = Findings {
        is_partial: answer.is_partial,
        last: answer
            .last
            .filter(|_| answer.is_partial)
            .and_then(|at| listed.get(at))
            .map(Behind::new),
        sessions: answer.last.map_or(listed.len(), |at| at + 1),
        hidden,
        work: answer.work,
        unreadable: answer.unreadable,
        ..Findings::default()
    };
    let mut once = Once::default();
    let _look = store.look()?;
    let events = events_of(store, &listed, &answer.hits);
    for (hit, part) in answer.hits {
        let session = &listed[hit.session];
        let uid = session.session_uid.as_str();
        let of_line = events.get(&(hit.session, hit.line)).map_or(&[][..], Vec::as_slice);
        let event = nearest(of_line, hit.block);
        let copied = once.take(&mut findings.found, uid, event.and_then(|event| event.ts), &hit.snippet);
        if !copied {
            let prompt = hit.turn.map_or(Ok(None), |turn| store.reads().turn_prompt(uid, turn))?;
            findings.found.push(told(session, hit, part, event, prompt));
        }
    }
    add_beside(&mut findings.found, beside);
    // Their logs belong to the first page, like their digests.
    if question.behind.is_none() {
        listed.retain(|session| session.status == SessionStatus::Evicted);
        findings.evicted = listed;
    }
    Ok(findings)
}

/// The events on the lines of hits, by session and line.
fn events_of(
    store: &Store,
    listed: &[ListedSession],
    hits: &[(SearchHit, String)],
) -> HashMap<(usize, u64), Vec<SessionEvent>> {
    let mut lines: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (hit, _) in hits {
        lines.entry(hit.session).or_default().insert(hit.line);
    }
    let mut found: HashMap<(usize, u64), Vec<SessionEvent>> = HashMap::new();
    for (session, lines) in lines {
        // What is damaged is told elsewhere; the hit is one without it.
        let events = store.reads().events_at(&listed[session].session_uid, &lines);
        for event in events.unwrap_or_default() {
            let line = event.text_line.unwrap_or(event.line);
            found.entry((session, line)).or_default().push(event);
        }
    }
    found
}

/// The event that a hit stands in, of those on its line.
fn nearest(events: &[SessionEvent], block: u32) -> Option<&SessionEvent> {
    events.iter().min_by_key(|event| event.block.abs_diff(block))
}

/// Tells a hit in the words of its session.
fn told(
    session: &ListedSession,
    hit: SearchHit,
    part: String,
    event: Option<&SessionEvent>,
    prompt: Option<String>,
) -> Found {
    let tool = event.and_then(|event| event.tool.as_deref()).or(hit.tool.as_deref());
    Found {
        session: session.clone(),
        path: None,
        what: What::Text(event.map(SessionEvent::kind)),
        turn: hit.turn,
        prompt,
        part: Some(part),
        line: Some(hit.line),
        ts: event.and_then(|event| event.ts),
        tool: tool.map(str::to_owned),
        field: hit.field,
        snippet: hit.snippet,
        score: hit.score,
        copies: 0,
        copied_in: Vec::new(),
    }
}

/// Sees to it that a turn is told once, however often it was copied.
#[derive(Default)]
struct Once {
    seen: HashMap<(Option<Timestamp>, String), usize>,
}

impl Once {
    /// Whether this was told before, by another session or this one. A copied turn has the words and the time of the
    /// first one.
    fn take(&mut self, found: &mut [Found], uid: &str, ts: Option<Timestamp>, snippet: &Snippet) -> bool {
        let next = found.len();
        let first = *self.seen.entry((ts, snippet.text.clone())).or_insert(next);
        let Some(first) = found.get_mut(first).filter(|_| ts.is_some()) else {
            return false;
        };
        if first.session.session_uid != uid && !first.copied_in.iter().any(|known| known == uid) {
            first.copied_in.push(uid.to_owned());
            first.copies += 1;
        }
        true
    }
}

/// Puts words on sessions among the turns, best first. A title says nothing new where a turn of its session was found.
fn add_beside(found: &mut Vec<Found>, beside: Vec<Found>) {
    let is_found = |one: &Found, found: &[Found]| {
        found
            .iter()
            .any(|turn| turn.session.session_uid == one.session.session_uid)
    };
    let new: Vec<Found> = beside
        .into_iter()
        .filter(|one| one.what != What::Title || !is_found(one, found))
        .collect();
    found.extend(new);
    found.sort_by_key(|one| std::cmp::Reverse(one.score));
}
