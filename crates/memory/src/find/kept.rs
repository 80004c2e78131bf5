//! Searches the memory with the engine. Filters are evaluated first, and the frames, turns and events are read only for
//! sessions that the filters do not exclude.
//!
//! The newest sessions are searched first, which is enough for a common word; then all others at once.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use transcript::{Agent, PartKind, SessionEvent};

use super::Question;
use super::asked::{Asked, NEWEST};
use crate::kept;
use crate::packs::{self, FrameBuffers, PackStorage};
use crate::search::{
    self, EventFacts, FrameRange, HitTarget, PartFormat, SearchAnswer, SearchCost, SearchHit, SearchLimits, SearchPart,
    SearchSession, SearchSource, TurnRange,
};
use crate::store::{FrameRow, ListedSession, SessionScope, Store, StoreError, TAIL_NO};

/// Maximum number of sessions whose rows are read one session at a time; with more, one query reads all.
const ONE_BY_ONE_MAX: usize = 256;

/// The hits in the stored sessions, best first.
#[derive(Default)]
pub(super) struct Answered {
    /// Each hit with the name of its part; its session number is the position in the list.
    pub(super) hits: Vec<(SearchHit, String)>,
    pub(super) is_partial: bool,
    /// The last session that was searched, if not all were.
    pub(super) last: Option<usize>,
    pub(super) work: SearchCost,
    pub(super) unreadable: Vec<String>,
}

/// Searches sessions, which must be listed newest first.
pub(super) fn ask(store: &Store, listed: &[ListedSession], question: &Question<'_>) -> Result<Answered, StoreError> {
    let mut answered = Answered::default();
    let mut start = 0;
    while start < listed.len() && !answered.is_partial && !(question.is_cancelled)() {
        let end = match start {
            0 => listed.len().min(NEWEST),
            _ => listed.len(),
        };
        let look = store.look()?;
        let asked = Asked::of(store, listed, start..end, question.query)?;
        let desk = Desk::lay_out(store, listed, &asked)?;
        drop(look);
        let enough = question.enough.without(answered.hits.len(), answered.work.read);
        let answer = desk.search(store, listed, question, enough);
        answered.add(answer, enough, &desk, &asked, end < listed.len());
        start = end;
    }
    answered.hits.sort_by_cached_key(|(hit, _)| search::hit_order(hit));
    Ok(answered)
}

impl Answered {
    fn add(&mut self, answer: SearchAnswer, enough: HitTarget, desk: &Desk, asked: &Asked, are_more: bool) {
        let is_enough = enough.is_found(answer.hits.len(), answer.work.read);
        self.is_partial = answer.is_cancelled || (is_enough && (are_more || answer.work.sessions < desk.chosen.len()));
        if self.is_partial {
            self.last = answer.work.sessions.checked_sub(1).map(|at| desk.chosen[at]);
        }
        self.work.sessions += answer.work.sessions;
        self.work.asked += asked.frames;
        self.work.read += answer.work.read;
        self.work.bytes_read += answer.work.bytes_read;
        self.unreadable
            .extend(answer.unreadable.into_iter().map(|(_, reason)| reason));
        for mut hit in answer.hits {
            let part = desk.parts[hit.session][hit.part].clone();
            hit.session = desk.chosen[hit.session];
            self.hits.push((hit, part));
        }
    }
}

/// Returns the format of the lines of a part, or `None` if the part is not searched.
pub(super) fn form_of(part: &str, agent: Agent) -> Option<PartFormat> {
    PartFormat::of(agent, PartKind::of_name(part)?)
}

/// The location of the lines for a frame number of the engine.
enum Place {
    Frame(FrameRow),
    Tail,
}

/// The engine's input for the sessions that may match.
#[derive(Default)]
struct Desk {
    /// The positions of the sessions in the list.
    chosen: Vec<usize>,
    sessions: Vec<SearchSession>,
    /// The names of the parts of each session.
    parts: Vec<Vec<String>>,
    /// For each frame number: the session, the part, and the location of its lines.
    places: Vec<(usize, usize, Place)>,
    /// For each frame number: the terms that the frame may contain, or `None` if unknown.
    terms: Vec<Option<u32>>,
}

impl Desk {
    fn lay_out(store: &Store, listed: &[ListedSession], asked: &Asked) -> Result<Self, StoreError> {
        let mut desk = Self {
            chosen: asked.chosen.clone(),
            ..Self::default()
        };
        for at in &desk.chosen {
            desk.sessions.push(SearchSession {
                at_ms: listed[*at].last_micros.unwrap_or_default() / 1000,
                parts: Vec::new(),
            });
            desk.parts.push(Vec::new());
        }
        let numbers: HashMap<&str, usize> = desk
            .chosen
            .iter()
            .enumerate()
            .map(|(number, at)| (listed[*at].session_uid.as_str(), number))
            .collect();
        let whose: Vec<SessionScope<'_>> = match desk.chosen.len() > ONE_BY_ONE_MAX {
            true => vec![SessionScope::All],
            false => desk
                .chosen
                .iter()
                .map(|at| SessionScope::One(&listed[*at].session_uid))
                .collect(),
        };
        for whose in whose {
            desk.add(store, whose, &numbers, listed, asked)?;
        }
        Ok(desk)
    }

    fn add(
        &mut self,
        store: &Store,
        whose: SessionScope<'_>,
        numbers: &HashMap<&str, usize>,
        listed: &[ListedSession],
        asked: &Asked,
    ) -> Result<(), StoreError> {
        let reads = store.reads();
        let mut turns: HashMap<usize, Vec<TurnRange>> = HashMap::new();
        for (uid, turn, start_line, end_line) in reads.turn_lines(whose)? {
            if let Some(session) = numbers.get(uid.as_str()) {
                let turn = TurnRange {
                    turn,
                    start_line,
                    end_line,
                };
                add_turn(turns.entry(*session).or_default(), turn);
            }
        }
        let frames = reads
            .frames_of(whose)?
            .into_iter()
            .map(|(uid, part, frame)| (uid, part, frame.first_line, frame.lines, Place::Frame(frame)));
        let tails = reads
            .tails_of(whose)?
            .into_iter()
            .map(|(uid, part, first, lines)| (uid, part, first, lines, Place::Tail));
        for (uid, part, first_line, lines, place) in frames.chain(tails) {
            let Some(session) = numbers.get(uid.as_str()).copied() else {
                continue;
            };
            let listed = &listed[self.chosen[session]];
            let Some(number) = self.part(session, &part, listed, &turns) else {
                continue;
            };
            let key = self.places.len() as u64;
            let known = asked.terms_of(self.chosen[session], &part, frame_no(&place));
            self.sessions[session].parts[number]
                .frames
                .push(FrameRange { key, first_line, lines });
            self.places.push((session, number, place));
            self.terms.push(known);
        }
        Ok(())
    }

    /// Returns the index of a part in its session, and adds the part if it is new. Returns `None` if the part is not
    /// searched.
    fn part(
        &mut self,
        session: usize,
        name: &str,
        listed: &ListedSession,
        turns: &HashMap<usize, Vec<TurnRange>>,
    ) -> Option<usize> {
        if let Some(number) = self.parts[session].iter().position(|known| known == name) {
            return Some(number);
        }
        let agent = kept::agent_of(&listed.session_uid).unwrap_or(Agent::Claude);
        let form = form_of(name, agent)?;
        let turns = match form {
            PartFormat::Records(_) => turns.get(&session).cloned().unwrap_or_default(),
            PartFormat::Plain => Vec::new(),
        };
        self.parts[session].push(name.to_owned());
        self.sessions[session].parts.push(SearchPart {
            form,
            turns,
            frames: Vec::new(),
        });
        Some(self.parts[session].len() - 1)
    }

    fn search(
        &self,
        store: &Store,
        listed: &[ListedSession],
        question: &Question<'_>,
        enough: HitTarget,
    ) -> SearchAnswer {
        let place = store.place();
        let spare: Mutex<Vec<Store>> = Mutex::new(vec![]);
        let with_store = |ask: &mut dyn FnMut(&Store)| {
            let kept = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let store = kept.or_else(|| Store::open_existing(place).ok().flatten());
            if let Some(store) = store {
                ask(&store);
                spare.lock().unwrap_or_else(PoisonError::into_inner).push(store);
            }
        };
        let packs = store.packs();
        let uid = |session: usize| listed[self.chosen[session]].session_uid.as_str();
        let all = question.query.wanted() | question.query.unwanted();
        let reach = SearchSource {
            terms: &|key| {
                let known = usize::try_from(key).ok().and_then(|key| self.terms.get(key));
                known.copied().flatten().unwrap_or(all)
            },
            lines: &|key, scratch| {
                let place = usize::try_from(key).ok().and_then(|key| self.places.get(key));
                let (session, part, place) = place.ok_or_else(|| io::Error::other("no such frame"))?;
                match place {
                    Place::Frame(frame) => frame_lines(&packs, frame, scratch, || {
                        let mut is_gone = false;
                        let uid = uid(*session);
                        with_store(&mut |store| is_gone = !store.reads().has_raw_text(uid).unwrap_or(true));
                        is_gone
                    }),
                    Place::Tail => {
                        let mut read = Err(io::Error::other("the memory cannot be read"));
                        with_store(&mut |store| {
                            let tail = store.reads().tail(uid(*session), &self.parts[*session][*part]);
                            read = tail
                                .map_err(io::Error::other)
                                .map(|tail| scratch.lines = tail.unwrap_or_default().bytes);
                        });
                        read
                    }
                }
            },
            facts: &|session, part| {
                let mut facts = Vec::new();
                if PartKind::of_name(&self.parts[session][part]).is_some_and(PartKind::has_lines) {
                    with_store(&mut |store| {
                        facts = store.reads().events(uid(session)).map(facts_of).unwrap_or_default();
                    });
                }
                facts
            },
            is_cancelled: question.is_cancelled,
        };
        let effort = SearchLimits {
            now_ms: question.now.as_millisecond(),
            enough,
            threads: question.threads,
        };
        search::search(question.query, &self.sessions, &reach, &effort)
    }
}

/// Reads the lines of a frame. A missing frame is not an error if its session was evicted after the search began.
fn frame_lines(
    packs: &PackStorage,
    frame: &FrameRow,
    scratch: &mut FrameBuffers,
    is_gone: impl FnOnce() -> bool,
) -> io::Result<()> {
    match packs::read_frame_into(packs, frame, scratch) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_gone() => Ok(()),
        read => read,
    }
}

fn frame_no(place: &Place) -> i64 {
    match place {
        Place::Frame(frame) => frame.frame_no.cast_signed(),
        Place::Tail => TAIL_NO,
    }
}

/// Adds a turn. The engine needs turns that do not overlap, so the previous turn is cut if it continues after the start
/// of this one.
pub(super) fn add_turn(turns: &mut Vec<TurnRange>, turn: TurnRange) {
    if let Some(before) = turns.last_mut().filter(|before| before.end_line >= turn.start_line) {
        before.end_line = turn.start_line.saturating_sub(1).max(before.start_line);
    }
    turns.push(turn);
}

/// Returns the facts about events that the fields of a query refer to.
pub(super) fn facts_of(events: Vec<SessionEvent>) -> Vec<EventFacts> {
    let mut facts: Vec<EventFacts> = events.into_iter().map(fact_of).collect();
    facts.sort_by_key(|fact| (fact.line, fact.block));
    facts
}

fn fact_of(event: SessionEvent) -> EventFacts {
    EventFacts {
        line: event.text_line.unwrap_or(event.line),
        block: event.block,
        tool: event.tool,
        kinds: event.kinds,
    }
}
