//! Search in the memory: what the store keeps, given to the engine of `search`, and what the engine finds, told in
//! the words of sessions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use transcript::{Agent, Kind, PartKind, SessionEvent};

use crate::kept;
use crate::packs;
use crate::search::{
    self, Answer, Effort, Fact, Form, FrameRange, Part, Query, Reach, Session, Snippet, TurnRange, Work,
};
use crate::store::{FrameRow, Listed, Store, StoreError, TAIL_NO};

/// Filters up to so many bytes are read at once; more are read one by one.
const FILTERS_AT_ONCE_MAX: u64 = 64 << 20;

/// What is asked, and of what.
pub struct Question<'q> {
    pub query: &'q Query,
    pub now: Timestamp,
    pub threads: usize,
    /// No older session is asked once so many turns were found.
    pub enough: usize,
    /// Which sessions are asked.
    pub takes: &'q dyn Fn(&Listed) -> bool,
    pub is_cancelled: &'q (dyn Fn() -> bool + Sync),
}

/// A turn that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub session: Listed,
    pub turn: Option<u32>,
    pub prompt: Option<String>,
    pub part: String,
    pub line: u64,
    pub ts: Option<Timestamp>,
    pub kind: Option<Kind>,
    pub tool: Option<String>,
    pub field: transcript::Field,
    pub snippet: Snippet,
    pub score: u32,
    /// How many sessions hold the same turn again, because they were forked or resumed from it.
    pub copies: u64,
    /// Which ones.
    pub copied_in: Vec<String>,
}

/// What was found, best first.
#[derive(Debug, Default)]
pub struct Findings {
    pub found: Vec<Found>,
    /// Older sessions were not asked: enough was found.
    pub is_partial: bool,
    /// Sessions that were asked, and those that the filters hid.
    pub sessions: usize,
    pub hidden: usize,
    pub work: Work,
    pub unreadable: Vec<String>,
}

/// Where the lines behind a number of the engine lie.
enum Place {
    Frame(FrameRow),
    Tail,
}

struct Desk {
    listed: Vec<Listed>,
    sessions: Vec<Session>,
    /// The names of each session's parts.
    parts: Vec<Vec<String>>,
    /// By the number of a frame: the session, the part, and where it lies.
    places: Vec<(usize, usize, Place)>,
    filters: HashMap<u64, Vec<u8>>,
    hidden: usize,
}

/// Asks the memory.
pub fn find(directory: &Path, question: &Question<'_>) -> Result<Findings, StoreError> {
    let Some(store) = Store::open_existing(directory)? else {
        return Ok(Findings::default());
    };
    let desk = lay_out(&store, question)?;
    let spare: Mutex<Vec<Store>> = Mutex::new(vec![]);
    let with_store = |ask: &mut dyn FnMut(&Store)| {
        let kept = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = kept.or_else(|| Store::open_existing(directory).ok().flatten());
        if let Some(store) = store {
            ask(&store);
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(store);
        }
    };
    let packs = store.packs();
    let name = |at: usize, part: usize| (desk.listed[at].session_uid.as_str(), desk.parts[at][part].as_str());
    let answer = search::search(
        question.query,
        &desk.sessions,
        &Reach {
            filter: &|key| match desk.filters.get(&key) {
                Some(filter) => Some(Cow::Borrowed(filter.as_slice())),
                None if desk.filters.is_empty() => {
                    let (at, part, place) = desk.places.get(usize::try_from(key).ok()?)?;
                    let (uid, part) = name(*at, *part);
                    let mut filter = None;
                    with_store(&mut |store| filter = store.reads().filter(uid, part, frame_no(place)).ok().flatten());
                    filter.map(Cow::Owned)
                }
                None => None,
            },
            lines: &|key| {
                let place = usize::try_from(key).ok().and_then(|key| desk.places.get(key));
                let (at, part, place) = place.ok_or_else(|| io::Error::other("no such frame"))?;
                match place {
                    Place::Frame(frame) => frame_lines(&packs, frame, || {
                        let mut is_gone = false;
                        let uid = name(*at, *part).0;
                        with_store(&mut |store| is_gone = !store.reads().has_raw_text(uid).unwrap_or(true));
                        is_gone
                    }),
                    Place::Tail => {
                        let (uid, part) = name(*at, *part);
                        let mut read = Err(io::Error::other("the memory cannot be read"));
                        with_store(&mut |store| {
                            let tail = store.reads().tail(uid, part).map_err(io::Error::other);
                            read = tail.map(|tail| tail.unwrap_or_default().bytes);
                        });
                        read
                    }
                }
            },
            facts: &|at, part| {
                let mut facts = Vec::new();
                if PartKind::of_name(&desk.parts[at][part]).is_some_and(PartKind::has_lines) {
                    let uid = desk.listed[at].session_uid.as_str();
                    with_store(&mut |store| facts = store.reads().events(uid).map(facts_of).unwrap_or_default());
                }
                facts
            },
            is_cancelled: question.is_cancelled,
        },
        &Effort {
            now_ms: question.now.as_millisecond(),
            enough: question.enough,
            threads: question.threads,
        },
    );
    tell(&store, desk, answer)
}

fn frame_no(place: &Place) -> i64 {
    match place {
        Place::Frame(frame) => frame.frame_no.cast_signed(),
        Place::Tail => TAIL_NO,
    }
}

/// Gathers what the engine has to know of the sessions that are asked, newest first.
fn lay_out(store: &Store, question: &Question<'_>) -> Result<Desk, StoreError> {
    let reads = store.reads();
    let all = reads.listed()?;
    let count = all.len();
    let listed: Vec<Listed> = all.into_iter().filter(|session| (question.takes)(session)).collect();
    let at: HashMap<&str, usize> = listed
        .iter()
        .enumerate()
        .map(|(at, one)| (one.session_uid.as_str(), at))
        .collect();
    let turns = turns_of(store, &at)?;
    let micros_to_ms = |micros: Option<i64>| micros.unwrap_or_default() / 1000;
    let mut desk = Desk {
        sessions: listed
            .iter()
            .map(|one| Session {
                at_ms: micros_to_ms(one.last_micros),
                parts: Vec::new(),
            })
            .collect(),
        parts: vec![Vec::new(); listed.len()],
        places: Vec::new(),
        filters: HashMap::new(),
        hidden: count - listed.len(),
        listed: Vec::new(),
    };
    let mut keys: HashMap<(usize, String, i64), u64> = HashMap::new();
    let frames = reads
        .all_frames()?
        .into_iter()
        .map(|(uid, part, frame)| (uid, part, frame.first_line, frame.lines, Place::Frame(frame)));
    let tails = reads
        .all_tails()?
        .into_iter()
        .map(|(uid, part, first, lines)| (uid, part, first, lines, Place::Tail));
    for (uid, part, first_line, lines, place) in frames.chain(tails) {
        let Some(at) = at.get(uid.as_str()).copied() else {
            continue;
        };
        let Some(number) = desk.part(at, &part, &listed[at], &turns[at]) else {
            continue;
        };
        let key = desk.places.len() as u64;
        keys.insert((at, part, frame_no(&place)), key);
        desk.sessions[at].parts[number]
            .frames
            .push(FrameRange { key, first_line, lines });
        desk.places.push((at, number, place));
    }
    if reads.filter_bytes()? <= FILTERS_AT_ONCE_MAX {
        for row in reads.filters()? {
            let at = at.get(row.session_uid.as_str()).copied();
            let key = at.and_then(|at| keys.get(&(at, row.part, row.frame_no)).copied());
            if let Some(key) = key {
                desk.filters.insert(key, row.bytes);
            }
        }
    }
    drop(at);
    desk.listed = listed;
    Ok(desk)
}

/// Which lines belong to which turn, by session.
fn turns_of(store: &Store, at: &HashMap<&str, usize>) -> Result<Vec<Vec<TurnRange>>, StoreError> {
    let mut turns: Vec<Vec<TurnRange>> = vec![Vec::new(); at.len()];
    for (uid, turn, start_line, end_line) in store.reads().turn_lines()? {
        if let Some(at) = at.get(uid.as_str()) {
            // Turns of a session do not overlap for the engine: where one went on behind the next, it ends before it.
            if let Some(before) = turns[*at]
                .last_mut()
                .filter(|before: &&mut TurnRange| before.end_line >= start_line)
            {
                before.end_line = start_line.saturating_sub(1).max(before.start_line);
            }
            turns[*at].push(TurnRange {
                turn,
                start_line,
                end_line,
            });
        }
    }
    Ok(turns)
}

impl Desk {
    /// The number of a part among its session's; none where the part is not searched.
    fn part(&mut self, at: usize, name: &str, listed: &Listed, turns: &[TurnRange]) -> Option<usize> {
        if let Some(number) = self.parts[at].iter().position(|known| known == name) {
            return Some(number);
        }
        let agent = kept::agent_of(&listed.session_uid).unwrap_or(Agent::Claude);
        let (form, turns) = match PartKind::of_name(name)? {
            PartKind::Log | PartKind::ChatHistory => (Form::Lines(agent), turns.to_vec()),
            PartKind::Spill => (Form::Plain, Vec::new()),
            _ => return None,
        };
        self.parts[at].push(name.to_owned());
        self.sessions[at].parts.push(Part {
            form,
            turns,
            frames: Vec::new(),
        });
        Some(self.parts[at].len() - 1)
    }
}

/// The lines of a frame; none where its session was let go since the question began, which is no damage.
fn frame_lines(packs: &Path, frame: &FrameRow, is_gone: impl FnOnce() -> bool) -> io::Result<Vec<u8>> {
    match packs::read(packs, frame) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_gone() => Ok(Vec::new()),
        read => read,
    }
}

/// What fields of a question ask of events.
fn facts_of(events: Vec<SessionEvent>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = events
        .into_iter()
        .map(|event| Fact {
            line: event.text_line.unwrap_or(event.line),
            block: event.block,
            tool: event.tool,
            kinds: event.kinds,
        })
        .collect();
    facts.sort_by_key(|fact| (fact.line, fact.block));
    facts
}

/// Tells hits in the words of sessions, each turn once however often it was copied.
fn tell(store: &Store, desk: Desk, answer: Answer) -> Result<Findings, StoreError> {
    let mut findings = Findings {
        is_partial: answer.is_partial,
        sessions: desk.sessions.len(),
        hidden: desk.hidden,
        work: answer.work,
        unreadable: answer.unreadable.into_iter().map(|(_, reason)| reason).collect(),
        ..Findings::default()
    };
    let mut seen: HashMap<(Option<Timestamp>, String), usize> = HashMap::new();
    for hit in answer.hits {
        let session = &desk.listed[hit.session];
        let uid = session.session_uid.as_str();
        let events = store
            .reads()
            .events_of_lines(uid, hit.line, hit.line)
            .unwrap_or_default();
        let is_it = |event: &&SessionEvent| event.text_line.unwrap_or(event.line) == hit.line;
        let event = events
            .iter()
            .filter(is_it)
            .min_by_key(|event| event.block.abs_diff(hit.block));
        let ts = event.and_then(|event| event.ts);
        // A copied turn has the words and the time of the first one.
        let key = (ts, hit.snippet.text.clone());
        if let Some(first) = seen.get(&key).filter(|_| ts.is_some()) {
            let first: &mut Found = &mut findings.found[*first];
            if first.session.session_uid != uid && !first.copied_in.iter().any(|known| known == uid) {
                first.copied_in.push(uid.to_owned());
                first.copies += 1;
            }
            continue;
        }
        seen.insert(key, findings.found.len());
        let tool = event.and_then(|event| event.tool.as_deref()).or(hit.tool.as_deref());
        findings.found.push(Found {
            session: session.clone(),
            turn: hit.turn,
            prompt: hit.turn.map_or(Ok(None), |turn| store.reads().turn_prompt(uid, turn))?,
            part: desk.parts[hit.session][hit.part].clone(),
            line: hit.line,
            ts,
            kind: event.map(SessionEvent::kind),
            tool: tool.map(str::to_owned),
            field: hit.field,
            snippet: hit.snippet,
            score: hit.score,
            copies: 0,
            copied_in: Vec::new(),
        });
    }
    Ok(findings)
}
