//! Runs one query over all sessions: tests filters, reads frames, collects turns, and stops when enough is found.
//!
//! Sessions are searched in waves of growing size, newest first. Within a wave, threads take frames one by one, and a
//! session is complete when its last frame is. The answer ends with the session at which enough was found, counted
//! from the newest. What other threads read beyond it is discarded, because the result must not depend on the number
//! of threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::glance::LinePrefilter;
use super::query::Query;
use super::scan::{Scanner, TurnMatches, TurnOrGap};
use super::score::score;
use crate::packs::FrameBuffers;

use super::{
    EventFacts, FrameRange, HitTarget, SearchAnswer, SearchCost, SearchHit, SearchLimits, SearchPart, SearchSession,
    SearchSource,
};

/// Number of sessions in the first wave. Each later wave has twice as many.
const WAVE_SESSIONS: usize = 16;

/// Runs a query.
pub fn search(
    query: &Query,
    sessions: &[SearchSession],
    reach: &SearchSource<'_>,
    effort: &SearchLimits,
) -> SearchAnswer {
    let mut answer = SearchAnswer::default();
    let glance = OnceLock::new();
    let mut start = 0;
    let mut size = WAVE_SESSIONS;
    while start < sessions.len() && !answer.is_partial && !answer.is_cancelled {
        let end = sessions.len().min(start + size);
        let wave = Wave {
            query,
            sessions,
            reach,
            effort,
            glance: &glance,
            start,
            enough: effort.enough.without(answer.hits.len(), answer.work.read),
        };
        wave.run(end, &mut answer);
        (start, size) = (end, size * 2);
    }
    answer.hits.sort_by_cached_key(hit_order);
    answer
}

/// Returns the sort key of a hit: the best first, then the newest.
pub fn hit_order(hit: &SearchHit) -> impl Ord + use<> {
    let (score, turn) = (std::cmp::Reverse(hit.score), std::cmp::Reverse(hit.turn));
    (score, hit.session, turn, hit.part, hit.line)
}

struct Wave<'w, 'r> {
    query: &'w Query,
    sessions: &'w [SearchSession],
    reach: &'w SearchSource<'r>,
    effort: &'w SearchLimits,
    /// Created when the first frame is read.
    glance: &'w OnceLock<LinePrefilter>,
    /// Index of the first session.
    start: usize,
    /// After how many hits the wave may stop.
    enough: HitTarget,
}

/// A frame to read.
#[derive(Clone, Copy)]
struct FrameJob {
    /// Index relative to the first session of the wave.
    session: usize,
    part: usize,
    frame: FrameRange,
}

/// The intermediate result of one session.
#[derive(Default)]
struct SessionOutcome {
    waiting: usize,
    turns: BTreeMap<TurnOrGap, TurnMatches>,
    facts: BTreeMap<usize, std::sync::Arc<[EventFacts]>>,
    hits: Vec<SearchHit>,
    work: SearchCost,
    unreadable: Vec<(u64, String)>,
}

impl Wave<'_, '_> {
    fn run(&self, end: usize, answer: &mut SearchAnswer) {
        let count = end - self.start;
        let outcomes: Vec<Mutex<SessionOutcome>> = (0..count).map(|_| Mutex::default()).collect();
        let mut jobs: Vec<FrameJob> = Vec::new();
        for (session, outcome) in outcomes.iter().enumerate() {
            if (self.reach.is_cancelled)() {
                break;
            }
            jobs.extend(self.select_frames(session, &mut lock(outcome)));
        }
        let progress = Mutex::new(Progress::default());
        for (session, outcome) in outcomes.iter().enumerate() {
            let outcome = lock(outcome);
            if outcome.work.sessions == 1 && outcome.waiting == 0 {
                lock(&progress).mark_done(session, 0, 0);
            }
        }
        self.run_in_parallel(jobs.len(), &|| {
            let glance = self.glance.get_or_init(|| LinePrefilter::new(self.query));
            let mut scanner = Scanner::new(self.query, glance.clone());
            let mut scratch = FrameBuffers::default();
            let (jobs, outcomes, progress) = (&jobs, &outcomes, &progress);
            move |job: usize| {
                let job = jobs[job];
                self.read_frame(job, &mut scanner, &mut scratch, &outcomes[job.session]);
                let mut outcome = lock(&outcomes[job.session]);
                outcome.waiting -= 1;
                if outcome.waiting == 0 {
                    self.collect_hits(job.session, &mut outcome);
                    lock(progress).mark_done(job.session, outcome.hits.len(), outcome.work.read);
                }
                let progress = lock(progress);
                !self.enough.is_found(progress.hits, progress.frames)
            }
        });
        let done = lock(&progress).sessions;
        for (at, outcome) in outcomes.into_iter().enumerate().take(done) {
            let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
            answer.work.add(&outcome.work);
            answer.unreadable.extend(outcome.unreadable);
            answer.hits.extend(outcome.hits);
            if self.effort.enough.is_found(answer.hits.len(), answer.work.read)
                && self.start + at + 1 < self.sessions.len()
            {
                answer.is_partial = true;
                return;
            }
        }
        answer.is_cancelled = done < count;
    }

    /// Selects the frames of a session to read by their filters.
    fn select_frames(&self, session: usize, outcome: &mut SessionOutcome) -> Vec<FrameJob> {
        outcome.work.sessions = 1;
        let parts = &self.sessions[self.start + session].parts;
        let mut masks: Vec<(usize, FrameRange, u32)> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            for frame in &part.frames {
                outcome.work.asked += 1;
                masks.push((number, *frame, (self.reach.terms)(frame.key)));
            }
        }
        let wanted = self.query.wanted();
        // A turn can extend over several frames and parts.
        let mut places: BTreeMap<TurnOrGap, u32> = BTreeMap::new();
        for (number, frame, mask) in &masks {
            each_place(&parts[*number], *number, frame, &mut |place| {
                *places.entry(place).or_default() |= mask
            });
        }
        let mut jobs = Vec::new();
        for (part, frame, mask) in masks {
            let mut is_useful = false;
            each_place(&parts[part], part, &frame, &mut |place| {
                is_useful |= places[&place] & wanted == wanted
            });
            if is_useful && (mask != 0 || wanted == 0) {
                jobs.push(FrameJob { session, part, frame });
            }
        }
        outcome.waiting = jobs.len();
        jobs
    }

    fn read_frame(
        &self,
        job: FrameJob,
        scanner: &mut Scanner<'_>,
        scratch: &mut FrameBuffers,
        outcome: &Mutex<SessionOutcome>,
    ) {
        let session = self.start + job.session;
        let facts = match self.query.only.need_events() {
            true => self.load_facts(session, job.part, outcome),
            false => std::sync::Arc::default(),
        };
        if let Err(error) = (self.reach.lines)(job.frame.key, scratch) {
            return lock(outcome).unreadable.push((job.frame.key, error.to_string()));
        }
        let lines = &scratch.lines;
        let part = &self.sessions[session].parts[job.part];
        let found = scanner.scan((job.part, part), job.frame.first_line, lines, &facts);
        let mut outcome = lock(outcome);
        outcome.work.read += 1;
        outcome.work.bytes_read += lines.len() as u64;
        for (place, new) in found {
            match outcome.turns.get_mut(&place) {
                None => _ = outcome.turns.insert(place, new),
                Some(before) => before.add(new),
            }
        }
    }

    /// Returns the facts of a part, which are loaded only once.
    fn load_facts(&self, session: usize, part: usize, outcome: &Mutex<SessionOutcome>) -> std::sync::Arc<[EventFacts]> {
        if let Some(facts) = lock(outcome).facts.get(&part) {
            return facts.clone();
        }
        let facts: std::sync::Arc<[EventFacts]> = (self.reach.facts)(session, part).into();
        lock(outcome).facts.entry(part).or_insert(facts).clone()
    }

    /// Converts the turns that contain all wanted terms and no unwanted one to hits.
    fn collect_hits(&self, session: usize, outcome: &mut SessionOutcome) {
        let (wanted, unwanted) = (self.query.wanted(), self.query.unwanted());
        let age_ms = self
            .effort
            .now_ms
            .saturating_sub(self.sessions[self.start + session].at_ms);
        for (place, turn) in std::mem::take(&mut outcome.turns) {
            if turn.terms & wanted != wanted || turn.terms & unwanted != 0 {
                continue;
            }
            let Some(best) = turn.best else { continue };
            let fields = match turn.fields.is_empty() {
                true => vec![best.field],
                false => turn.fields.into_values().collect(),
            };
            outcome.hits.push(SearchHit {
                session: self.start + session,
                turn: match place {
                    TurnOrGap::Turn(turn) => Some(turn),
                    TurnOrGap::Outside(..) => None,
                },
                score: score(fields.into_iter(), best.closeness, age_ms),
                texts: turn.texts,
                part: best.part,
                line: best.line,
                block: best.block,
                field: best.field,
                role: best.role,
                tool: best.tool,
                snippet: best.snippet,
            });
        }
        outcome.unreadable.sort();
    }

    /// Runs jobs in order on all threads, until a worker returns `false` or the search is cancelled.
    fn run_in_parallel<F: FnMut(usize) -> bool>(&self, jobs: usize, worker: &(dyn Fn() -> F + Sync)) {
        if jobs == 0 {
            return;
        }
        let next = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let work = || {
            let mut worker = worker();
            loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= jobs || is_over.load(Ordering::Relaxed) || (self.reach.is_cancelled)() {
                    return;
                }
                if !worker(job) {
                    is_over.store(true, Ordering::Relaxed);
                }
            }
        };
        let others = self.effort.threads.min(jobs).saturating_sub(1);
        std::thread::scope(|scope| {
            for _ in 0..others {
                scope.spawn(work);
            }
            work();
        });
    }
}

/// Number of sessions that are complete, counted from the newest without a gap.
#[derive(Default)]
struct Progress {
    sessions: usize,
    hits: usize,
    frames: usize,
    /// Completed sessions after a gap, with their number of hits and of frames read.
    ahead: BTreeMap<usize, (usize, usize)>,
}

impl Progress {
    fn mark_done(&mut self, session: usize, hits: usize, frames: usize) {
        self.ahead.insert(session, (hits, frames));
        while let Some((hits, frames)) = self.ahead.remove(&self.sessions) {
            self.sessions += 1;
            self.hits += hits;
            self.frames += frames;
        }
    }
}

impl SearchCost {
    pub(crate) fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.asked += other.asked;
        self.read += other.read;
        self.bytes_read += other.bytes_read;
    }
}

/// Calls `take` with every turn that overlaps a frame, and every gap outside turns.
fn each_place(part: &SearchPart, number: usize, frame: &FrameRange, take: &mut dyn FnMut(TurnOrGap)) {
    let end = frame.first_line + frame.lines;
    let mut line = frame.first_line;
    while line < end {
        let before = part.turns.partition_point(|turn| turn.start_line <= line);
        take(part.place_of_line(number, line));
        let within = before
            .checked_sub(1)
            .map(|at| part.turns[at])
            .filter(|turn| line <= turn.end_line);
        let next = part.turns.get(before).map_or(end, |turn| turn.start_line);
        line = within
            .map_or(next, |turn| next.min(turn.end_line.saturating_add(1)))
            .max(line + 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
