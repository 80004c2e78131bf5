//! The sweep: everything new in the agents' logs is read, masked and kept. Run again, it costs nothing.
//!
//! Workers read and compress; one writer puts what they made into the store, batch by batch. A batch is on
//! disk wholly or not at all, and each piece says what it stands on, so that a crash, a second sweep or a log
//! that grows meanwhile can at worst make work be done again.

mod budget;
pub(crate) mod ends;
mod gather;
mod identify;
mod index;
pub(crate) mod marking;
pub(crate) mod piece;
pub(crate) mod plan;
mod prompts;
mod refresh;
mod work;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use jiff::Timestamp;
use transcript::Agent;

use crate::digest;
use crate::mask::Masker;
use crate::plural::several;
use crate::retention::{self, Command, Done, Retention};
use crate::sources::{Root, Unread};
use crate::spool::NoteInbox;
use crate::store::{Patience, Place, Store, StoreError};

use self::budget::Budget;
pub(crate) use self::identify::uid_of_log;
use self::piece::Output;
use self::plan::Plan;
pub(crate) use self::plan::stat;
use self::refresh::Stale;
pub(crate) use self::work::part_name;
use self::write::Writer;

/// How many pieces may wait for the writer; how heavy they may be together is bound by the budget.
const WAITING_MAX: usize = 256;

/// What a sweep is told.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// Where the store lies.
    pub directory: &'a Place,
    pub roots: &'a [Root],
    pub masker: &'a Masker,
    pub now: Timestamp,
    pub threads: usize,
    /// Which logs are not to be read.
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Told the bytes done and the bytes to do.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// A session with more to read is left for another time.
    pub session_bytes_max: u64,
    /// Asked between pieces of work: whether to leave the rest for another time.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
    /// How digests are made of what is quiet; none leaves them for another time.
    pub digests: Option<digest::Settings<'a>>,
    /// Only these logs and those of their subagents; `None` for all logs below `roots`.
    pub only: Option<&'a [PathBuf]>,
    /// Whether `roots` are only some of the configured ones, as with `--agent`.
    pub leaves_out_roots: bool,
    /// What is let go for the budget; none where nothing is to go, as when a question only catches up.
    pub retention: Option<Retention<'a>>,
}

impl<'a> Sweep<'a> {
    /// A sweep that reads everything on one thread.
    pub fn new(directory: &'a Place, roots: &'a [Root], masker: &'a Masker, now: Timestamp) -> Self {
        Self {
            directory,
            roots,
            masker,
            now,
            threads: 1,
            is_ignored: &|_| false,
            progress: &|_, _| {},
            session_bytes_max: u64::MAX,
            is_over: &|| false,
            digests: None,
            only: None,
            leaves_out_roots: false,
            retention: None,
        }
    }
}

/// What a sweep did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    pub files_seen: u64,
    pub files_read: u64,
    pub files_unchanged: u64,
    pub bytes_read: u64,
    /// Bytes read only to see what a file is, or that it did not change.
    pub bytes_checked: u64,
    /// New sessions as lists show them: without subagents and without copies of other sessions.
    pub sessions_new: u64,
    pub subagents_new: u64,
    pub sessions_updated: u64,
    /// Sessions made anew from what was kept.
    pub sessions_refreshed: u64,
    /// Sessions with unread lines for which no time was left.
    pub sessions_left: u64,
    /// Sessions whose logs were not read to their end: no time was left, a read failed, or another sweep was faster.
    pub unfinished: BTreeSet<String>,
    pub events: u64,
    pub faults: u64,
    pub redactions: u64,
    /// Prompts of the agents' histories that were not known before.
    pub prompts: u64,
    /// What hooks and wrapped commands told that was not known before.
    pub facts: u64,
    /// Sessions whose digests were written.
    pub digested: Vec<String>,
    pub tier1_bytes: u64,
    pub tier2_bytes: u64,
    /// Work that another sweep did first.
    pub pieces_dropped: u64,
    pub agents: BTreeMap<Agent, AgentReport>,
    pub unread: Vec<Unread>,
    /// What was evicted.
    pub let_go: Done,
}

impl Report {
    /// Returns how many sessions and subagents were read: each has a transcript of its own.
    pub(crate) fn sessions(&self) -> u64 {
        self.sessions_new + self.subagents_new + self.sessions_updated + self.sessions_refreshed
    }
}

/// What a sweep did, for the journal.
pub(crate) fn sentence(bytes: u64, sessions: u64, prompts: u64, digests: u64, let_go: &Done) -> String {
    let mut told = format!(
        "read {} of {}",
        several(bytes, "new byte"),
        several(sessions, "transcript")
    );
    if prompts > 0 {
        told += &format!(" and {} of histories", several(prompts, "prompt"));
    }
    if digests > 0 {
        told += &format!(", and wrote {}", several(digests, "digest"));
    }
    if !let_go.drops.is_empty() {
        told += &format!(", and {}", let_go.sentence());
    }
    told
}

/// The same with the digests that were written and what was let go.
pub(crate) fn told(report: &Report, digests: u64, let_go: &Done) -> String {
    let mut parts = Vec::new();
    if report.sessions() > 0 || report.prompts > 0 {
        let read = sentence(
            report.bytes_read,
            report.sessions(),
            report.prompts,
            0,
            &Done::default(),
        );
        parts.push(read);
    }
    if report.facts > 0 {
        parts.push(format!("heard {} from hooks", several(report.facts, "fact")));
    }
    if digests > 0 {
        parts.push(format!("wrote {}", several(digests, "digest")));
    }
    if !let_go.drops.is_empty() {
        parts.push(let_go.sentence());
    }
    if parts.is_empty() {
        parts.push("finished an earlier eviction".to_owned());
    }
    parts.join(", and ")
}

/// The same for one agent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AgentReport {
    pub files_seen: u64,
    pub files_read: u64,
    pub bytes_read: u64,
    pub events: u64,
}

/// Says what a sweep would read, and writes nothing at all.
pub fn dry_run(sweep: &Sweep<'_>) -> Result<Report, StoreError> {
    let store = Store::open_existing(sweep.directory)?;
    let plan = Plan::make(sweep, store.as_ref(), plan::walk(sweep), &HashSet::new())?;
    let mut report = plan.report;
    for job in plan.jobs.iter().filter(|job| job.has_unread) {
        report.files_read += 1;
        report.bytes_read += job.bytes_to_read();
    }
    prompts::dry_run(sweep, store.as_ref(), &mut report)?;
    Ok(report)
}

/// Runs a whole sweep.
pub fn run(sweep: &Sweep<'_>, patience: Patience<'_>) -> Result<Report, StoreError> {
    let inbox = NoteInbox::list(sweep.directory);
    // A new store is written to disk meanwhile.
    let (opened, walked) = thread::scope(|scope| {
        let walking = scope.spawn(|| plan::walk(sweep));
        let opened = Store::open(sweep.directory);
        (opened, walking.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let mut store = opened?;
    // Whether we may write is asked once before any work is done, and again for each batch.
    drop(store.lock(patience)?);
    let plan = Plan::make(sweep, Some(&store), walked, &inbox.logs(sweep))?;
    let mut report = work_off(sweep, patience, &mut store, "sweep", &plan)?;
    if sweep.only.is_none() {
        prompts::run(sweep, patience, &mut store, &mut report)?;
    }
    inbox.take_in(sweep, patience, &mut store, &plan.walked, &mut report)?;
    if let Some(settings) = &sweep.digests {
        let before = report.digested.len() as u64;
        let told = |count| told(&report, before + count, &report.let_go);
        let threads = sweep.threads.min(64);
        let written = digest::write_due(&mut store, patience, "sweep", settings, threads, &told)?;
        report.digested.extend(written);
        report.digested.sort_unstable();
        report.digested.dedup();
    }
    let raw_bytes = stay_inside(sweep, patience, &mut store, &mut report)?;
    if report.sessions_left == 0 && sweep.only.is_none() && !sweep.leaves_out_roots {
        store.note_walk(sweep.now)?;
    }
    report.tier1_bytes = raw_bytes.map_or_else(|| store.reads().raw_cache_bytes(), Ok)?;
    report.tier2_bytes = store.reads().distilled_bytes()?;
    Ok(report)
}

/// Lets go what the budget no longer keeps. Gives what the raw cache takes, where that is known.
fn stay_inside(
    sweep: &Sweep<'_>,
    patience: Patience<'_>,
    store: &mut Store,
    report: &mut Report,
) -> Result<Option<u64>, StoreError> {
    let Some(retention) = &sweep.retention else {
        return Ok(None);
    };
    let mut done = std::mem::take(&mut report.let_go);
    let digests = report.digested.len() as u64;
    let command = Command {
        name: "sweep",
        sentence: &|done| told(report, digests + done.analyzed.len() as u64, done),
    };
    let bytes = retention::enforce(store, patience, retention, &command, &|_| false, &mut done)?;
    retention::finish(store, patience, sweep.now, &command, &mut done)?;
    report.digested.extend(done.analyzed.iter().cloned());
    report.let_go = done;
    Ok(bytes)
}

/// Makes every derived row again from what is kept.
pub fn rebuild(sweep: &Sweep<'_>, patience: Patience<'_>) -> Result<Report, StoreError> {
    let mut store = Store::open(sweep.directory)?;
    let sessions = store.reads().sessions()?;
    let plan = Plan {
        jobs: Vec::new(),
        stale: sessions
            .into_iter()
            .filter(|row| row.evicted_at.is_none())
            .map(|row| Stale::reread(row.session_uid))
            .collect(),
        indexes: Vec::new(),
        walked: HashMap::new(),
        report: Report::default(),
    };
    work_off(sweep, patience, &mut store, "rebuild", &plan)
}

/// Lets workers do what is planned, and writes what they make.
fn work_off(
    sweep: &Sweep<'_>,
    patience: Patience<'_>,
    store: &mut Store,
    command: &str,
    plan: &Plan,
) -> Result<Report, StoreError> {
    let mut report = plan.report.clone();
    let todo = plan.jobs.len() + plan.stale.len();
    if todo > 0 {
        store.set_batches(true)?;
    }
    let budget = Budget::new();
    let mut writer = Writer::new(store, sweep, patience, command, plan);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel::<Output>(WAITING_MAX);
    thread::scope(|scope| -> Result<(), StoreError> {
        for _ in 0..sweep.threads.clamp(1, 64).min(todo.max(1)) {
            let sender = sender.clone();
            let budget = &budget;
            scope.spawn(|| {
                let sender = sender;
                let send = |output| {
                    if let Output::Piece(piece) = &output {
                        budget.take(piece.weight());
                    }
                    sender.send(output).is_ok()
                };
                let reads = Store::open_existing(sweep.directory);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // The writer is gone: it says why.
                    if at >= todo || !work_on(at, plan, sweep, &reads, &send) {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let drained = writer.drain(receiver, &budget);
        budget.open();
        drained
    })?;
    writer.finish(&mut report)?;
    if todo > 0 {
        store.set_batches(false)?;
    }
    Ok(report)
}

/// Does the work at `at` of a plan: what is new first, then what is made anew.
fn work_on(
    at: usize,
    plan: &Plan,
    sweep: &Sweep<'_>,
    store: &Result<Option<Store>, StoreError>,
    send: &dyn Fn(Output) -> bool,
) -> bool {
    let (job, stale) = (plan.jobs.get(at), plan.stale.get(at.wrapping_sub(plan.jobs.len())));
    let uid = job.map(|job| &job.uid).or(stale.map(|stale| &stale.uid));
    let uid = uid.cloned().unwrap_or_default();
    let is_long = job.is_some_and(|job| job.bytes_to_read() > sweep.session_bytes_max);
    if is_long || (sweep.is_over)() {
        // Work on lines that are already kept can wait, and leaves nothing unread.
        return match job {
            Some(job) if job.has_unread => send(Output::Left(uid)),
            _ => true,
        };
    }
    match (store, job, stale) {
        (Ok(Some(store)), Some(job), _) => work::run(job, sweep, store, send) && send(Output::Ended(uid)),
        (Ok(Some(store)), None, Some(stale)) => refresh::run(stale, sweep, store, send) && send(Output::Ended(uid)),
        (_, job, _) => {
            let path = job.map(plan::Job::log).unwrap_or_default();
            let reason = "the store cannot be opened a second time".to_owned();
            send(Output::Aborted(uid, Unread { path, reason }))
        }
    }
}

/// A path as the store keeps it.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
