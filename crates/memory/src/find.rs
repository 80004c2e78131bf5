//! Search in the memory, or in logs without a memory: passes sessions to the engine of `search` and converts its hits
//! to sessions and turns.

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

/// A query and the sessions to search.
pub struct Question<'q> {
    pub query: &'q Query,
    pub now: Timestamp,
    pub threads: usize,
    /// The search stops before older sessions once this target is reached.
    pub enough: HitTarget,
    /// Returns `true` for the sessions to search.
    pub takes: &'q (dyn Fn(&ListedSession) -> bool + Sync),
    /// If set, only the sessions after this position of the list are searched.
    pub behind: Option<Behind>,
    pub is_cancelled: &'q (dyn Fn() -> bool + Sync),
}

/// A position in the list of sessions that stays valid when new sessions are added.
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

    /// Returns `true` if a session comes after this position in the list, which is sorted newest first, then by uid.
    pub fn has(&self, session: &ListedSession) -> bool {
        let order = self.last_micros.cmp(&session.last_micros);
        order.then_with(|| session.session_uid.cmp(&self.session_uid)).is_gt()
    }
}

/// The kind of text in which the search terms were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A text of the log, with the kind of its event, or a prompt of the agent's history.
    Text(Option<Kind>),
    /// The title that the agent gave the session.
    Title,
    /// The user's own name for the session.
    Name,
    Note,
    Tag,
    /// The digest of a session whose raw text was evicted.
    Digest,
}

impl What {
    /// Returns the name used in JSON, or `None` for a text that belongs to no event.
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

/// A turn that was found, or an annotation or other text about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub session: ListedSession,
    /// The log, if it was searched at its source.
    pub path: Option<PathBuf>,
    pub what: What,
    pub turn: Option<u32>,
    pub prompt: Option<String>,
    /// The part that contains the text, or `None` if no log contains it.
    pub part: Option<String>,
    pub line: Option<u64>,
    pub ts: Option<Timestamp>,
    pub tool: Option<String>,
    pub field: Field,
    pub snippet: Snippet,
    pub score: u32,
    /// The number of sessions that contain the same turn, because they were forked or resumed from this one.
    pub copies: u64,
    /// The uids of those sessions.
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

    /// Returns a one-word description of the place of the text: the tool if there is one, else its kind, else its
    /// field.
    pub fn place(&self) -> &str {
        match (&self.tool, self.what) {
            (Some(tool), _) => tool,
            (None, What::Text(_)) => self.field.as_str(),
            (None, what) => what.as_str().unwrap_or_default(),
        }
    }
}

/// The results, best first.
#[derive(Debug, Default)]
pub struct Findings {
    pub found: Vec<Found>,
    /// `true` if enough was found, so that older sessions were not searched.
    pub is_partial: bool,
    /// The last session that was searched, if older ones were not.
    pub last: Option<Behind>,
    /// The number of sessions that were searched, and of those that the filters excluded.
    pub sessions: usize,
    pub hidden: usize,
    pub work: SearchCost,
    pub unreadable: Vec<String>,
    /// The evicted sessions that the filters allow, newest first. The search covered only their distilled memory.
    pub evicted: Vec<ListedSession>,
    /// The number of logs of evicted sessions that were searched at their sources.
    pub sources: usize,
}

/// Searches the memory.
pub fn find(store: &Store, question: &Question<'_>) -> Result<Findings, StoreError> {
    let _passage = store.begin_sequential_read()?;
    let look = store.look()?;
    let all = store.reads().listed()?;
    let count = all.len();
    let mut listed: Vec<ListedSession> = all.into_iter().filter(|session| (question.takes)(session)).collect();
    let hidden = count - listed.len();
    let beside = match question.behind {
        // There are few of them, and the first page already contained them.
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
    // The logs of evicted sessions belong to the first page, like their digests.
    if question.behind.is_none() {
        listed.retain(|session| session.status == SessionStatus::Evicted);
        findings.evicted = listed;
    }
    Ok(findings)
}

/// Returns the events on the lines of hits, by session and line.
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
        // Other commands report damaged events; here the hit is shown without its event.
        let events = store.reads().events_at(&listed[session].session_uid, &lines);
        for event in events.unwrap_or_default() {
            let line = event.text_line.unwrap_or(event.line);
            found.entry((session, line)).or_default().push(event);
        }
    }
    found
}

/// Returns the event that contains a hit, out of the events on its line.
fn nearest(events: &[SessionEvent], block: u32) -> Option<&SessionEvent> {
    events.iter().min_by_key(|event| event.block.abs_diff(block))
}

/// Combines a hit with the data of its session and event.
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

/// Removes duplicates, so that a turn is reported once however often it was copied.
#[derive(Default)]
struct Once {
    seen: HashMap<(Option<Timestamp>, String), usize>,
}

impl Once {
    /// Returns `true` if the same text was already found, in another session or this one, and then counts the copy. A
    /// copied turn has the text and the time of the original.
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

/// Adds the texts about sessions to the turns, best first. A title is dropped if a turn of its session was found.
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
