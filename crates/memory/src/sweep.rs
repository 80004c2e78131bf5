//! A sweep: reads, masks and stores everything new in the agents' logs. If nothing changed, it does no work.
//!
//! Workers read and compress; one writer commits their pieces to the store in batches. A batch is committed completely
//! or not at all, and each piece names the cursors it is based on. If the process crashes, a second sweep runs or a log
//! grows meanwhile, the worst case is therefore that work is repeated.

mod budget;
pub(crate) mod ends;
mod gather;
mod identify;
mod inbox;
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

use self::inbox::NoteInbox;
use crate::digest;
use crate::mask::Masker;
use crate::plural::count_noun;
use crate::retention::{self, EvictionCommand, EvictionSummary, Retention};
use crate::sources::{LogRoot, UnreadPath};
use crate::store::{LockWait, Store, StoreError, StoreLocation};

use self::budget::Budget;
pub(crate) use self::identify::uid_of_log;
use self::piece::Output;
use self::plan::Plan;
pub(crate) use self::plan::stat;
use self::refresh::StaleSession;
pub(crate) use self::work::part_name;
use self::write::Writer;

/// Maximum number of pieces that wait for the writer. The budget limits their size in memory.
const WAITING_MAX: usize = 256;

/// The inputs of a sweep.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// The location of the store.
    pub directory: &'a StoreLocation,
    pub roots: &'a [LogRoot],
    pub masker: &'a Masker,
    pub now: Timestamp,
    pub threads: usize,
    /// Returns `true` for logs that must not be read.
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Called with the bytes done and the bytes to do.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// A session with more unread bytes than this is left to a later sweep.
    pub session_bytes_max: u64,
    /// Checked between pieces of work. If it returns `true`, the rest is left to a later sweep.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
    /// How to make the digests of quiet sessions; `None` to leave them to a later sweep.
    pub digests: Option<digest::DigestSettings<'a>>,
    /// Read only these logs and those of their subagents; `None` for all logs below `roots`.
    pub only: Option<&'a [PathBuf]>,
    /// True if `roots` are only some of the configured ones, for example because of `--agent`.
    pub has_only_some_roots: bool,
    /// What to evict to stay within the budget; `None` to evict nothing, for example if a query only updates the store.
    pub retention: Option<Retention<'a>>,
}

impl<'a> Sweep<'a> {
    /// Creates a sweep with default settings: it reads everything on one thread, and makes no digests and no evictions.
    pub fn new(directory: &'a StoreLocation, roots: &'a [LogRoot], masker: &'a Masker, now: Timestamp) -> Self {
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
            has_only_some_roots: false,
            retention: None,
        }
    }
}

/// The result of a sweep.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SweepReport {
    pub files_seen: u64,
    pub files_read: u64,
    pub files_unchanged: u64,
    pub bytes_read: u64,
    /// Bytes read only to identify a file or to check that it is unchanged.
    pub bytes_checked: u64,
    /// New sessions as `list` counts them: without subagents and without copies of other sessions.
    pub sessions_new: u64,
    pub subagents_new: u64,
    pub sessions_updated: u64,
    /// Sessions rebuilt from their stored lines.
    pub sessions_refreshed: u64,
    /// Sessions with unread lines that were left because the time was over.
    pub sessions_left: u64,
    /// Sessions whose logs were not read to the end because the time was over, a read failed, or another sweep was
    /// faster.
    pub unfinished: BTreeSet<String>,
    pub events: u64,
    pub faults: u64,
    pub redactions: u64,
    /// New prompts from the agents' histories.
    pub prompts: u64,
    /// New facts reported by hooks and wrapped commands.
    pub facts: u64,
    /// The uids of the sessions whose digests were written.
    pub digested: Vec<String>,
    pub tier1_bytes: u64,
    pub tier2_bytes: u64,
    /// Pieces that were dropped because another sweep had already stored those lines.
    pub pieces_dropped: u64,
    pub agents: BTreeMap<Agent, AgentSweepReport>,
    pub unread: Vec<UnreadPath>,
    /// What was evicted.
    pub evicted: EvictionSummary,
}

impl SweepReport {
    /// Returns how many sessions and subagents were read: each has a transcript of its own.
    pub(crate) fn sessions(&self) -> u64 {
        self.sessions_new + self.subagents_new + self.sessions_updated + self.sessions_refreshed
    }
}

/// Returns the sentence for the operation log about what a sweep has read, written and evicted.
pub(crate) fn describe_reads(
    bytes: u64,
    sessions: u64,
    prompts: u64,
    digests: u64,
    evicted: &EvictionSummary,
) -> String {
    let mut sentence = format!(
        "read {} of {}",
        count_noun(bytes, "new byte"),
        count_noun(sessions, "transcript")
    );
    if prompts > 0 {
        sentence += &format!(" and {} of histories", count_noun(prompts, "prompt"));
    }
    if digests > 0 {
        sentence += &format!(", and wrote {}", count_noun(digests, "digest"));
    }
    if !evicted.drops.is_empty() {
        sentence += &format!(", and {}", evicted.sentence());
    }
    sentence
}

/// Returns the sentence for a whole sweep, with its facts, digests and evictions.
pub(crate) fn describe_sweep(report: &SweepReport, digests: u64, evicted: &EvictionSummary) -> String {
    // A commit that only finishes an eviction has none of these parts, but every commit needs a sentence.
    let mut parts = Vec::new();
    if report.sessions() > 0 || report.prompts > 0 {
        let read = describe_reads(
            report.bytes_read,
            report.sessions(),
            report.prompts,
            0,
            &EvictionSummary::default(),
        );
        parts.push(read);
    }
    if report.facts > 0 {
        parts.push(format!("read {} from hooks", count_noun(report.facts, "fact")));
    }
    if digests > 0 {
        parts.push(format!("wrote {}", count_noun(digests, "digest")));
    }
    if !evicted.drops.is_empty() {
        parts.push(evicted.sentence());
    }
    if parts.is_empty() {
        parts.push("finished an earlier eviction".to_owned());
    }
    parts.join(", and ")
}

/// The result of a sweep for one agent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AgentSweepReport {
    pub files_seen: u64,
    pub files_read: u64,
    pub bytes_read: u64,
    pub events: u64,
}

/// Returns what a sweep would read. Writes nothing.
pub fn dry_run(sweep: &Sweep<'_>) -> Result<SweepReport, StoreError> {
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

/// Runs a whole sweep and returns its result.
pub fn run(sweep: &Sweep<'_>, patience: LockWait<'_>) -> Result<SweepReport, StoreError> {
    let inbox = NoteInbox::list(sweep.directory);
    // Creating a new store waits for the disk, so the directories are walked at the same time.
    let (opened, walked) = thread::scope(|scope| {
        let walking = scope.spawn(|| plan::walk(sweep));
        let opened = Store::open(sweep.directory);
        (opened, walking.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let mut store = opened?;
    // Takes the lock once before any work is done, because an error should come early. Each batch locks again.
    drop(store.lock(patience)?);
    let plan = Plan::make(sweep, Some(&store), walked, &inbox.logs(sweep))?;
    let mut report = execute_plan(sweep, patience, &mut store, "sweep", &plan)?;
    if sweep.only.is_none() {
        prompts::run(sweep, patience, &mut store, &mut report)?;
    }
    inbox.store_notes(sweep, patience, &mut store, &plan.walked, &mut report)?;
    if let Some(settings) = &sweep.digests {
        let before = report.digested.len() as u64;
        let sentence = |count| describe_sweep(&report, before + count, &report.evicted);
        let threads = sweep.threads.min(64);
        let written = digest::write_due_digests(&mut store, patience, "sweep", settings, threads, &sentence)?;
        report.digested.extend(written);
        report.digested.sort_unstable();
        report.digested.dedup();
    }
    let raw_bytes = enforce_budget(sweep, patience, &mut store, &mut report)?;
    if report.sessions_left == 0 && sweep.only.is_none() && !sweep.has_only_some_roots {
        // Queries skip their own sweep if a complete one is recent, so a partial sweep must not be noted.
        store.note_walk(sweep.now)?;
    }
    report.tier1_bytes = raw_bytes.map_or_else(|| store.reads().raw_cache_bytes(), Ok)?;
    report.tier2_bytes = store.reads().distilled_bytes()?;
    Ok(report)
}

/// Evicts what exceeds the budget. Returns the size of the raw text if retention had to compute it.
fn enforce_budget(
    sweep: &Sweep<'_>,
    patience: LockWait<'_>,
    store: &mut Store,
    report: &mut SweepReport,
) -> Result<Option<u64>, StoreError> {
    let Some(retention) = &sweep.retention else {
        return Ok(None);
    };
    let mut done = std::mem::take(&mut report.evicted);
    let digests = report.digested.len() as u64;
    let command = EvictionCommand {
        name: "sweep",
        sentence: &|done| describe_sweep(report, digests + done.analyzed.len() as u64, done),
    };
    let bytes = retention::enforce_policy(store, patience, retention, &command, &|_| false, &mut done)?;
    retention::finish_evictions(store, patience, sweep.now, &command, &mut done)?;
    report.digested.extend(done.analyzed.iter().cloned());
    report.evicted = done;
    Ok(bytes)
}

/// Rebuilds every derived row from the stored lines.
pub fn rebuild(sweep: &Sweep<'_>, patience: LockWait<'_>) -> Result<SweepReport, StoreError> {
    let mut store = Store::open(sweep.directory)?;
    let sessions = store.reads().sessions()?;
    let plan = Plan {
        jobs: Vec::new(),
        stale: sessions
            .into_iter()
            .filter(|row| row.evicted_at.is_none())
            .map(|row| StaleSession::reread(row.session_uid))
            .collect(),
        indexes: Vec::new(),
        walked: HashMap::new(),
        report: SweepReport::default(),
    };
    execute_plan(sweep, patience, &mut store, "rebuild", &plan)
}

/// Runs the planned work on worker threads and writes their pieces on this one.
fn execute_plan(
    sweep: &Sweep<'_>,
    patience: LockWait<'_>,
    store: &mut Store,
    command: &str,
    plan: &Plan,
) -> Result<SweepReport, StoreError> {
    let mut report = plan.report.clone();
    let todo = plan.jobs.len() + plan.stale.len();
    if todo > 0 {
        // Batches need a larger cache of database pages, which is only worth its memory if there is work.
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
                        budget.acquire(piece.weight());
                    }
                    sender.send(output).is_ok()
                };
                let reads = Store::open_existing(sweep.directory);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // If the send fails, the writer has stopped, and the writer returns the error.
                    if at >= todo || !run_item(at, plan, sweep, &reads, &send) {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let drained = writer.drain(receiver, &budget);
        // If the writer failed, workers may still wait for room and would never end.
        budget.remove_limit();
        drained
    })?;
    writer.finish(&mut report)?;
    if todo > 0 {
        store.set_batches(false)?;
    }
    Ok(report)
}

/// Does item `at` of the plan: first the sessions with new lines, then the stale ones. Returns `false` once the writer
/// has hung up.
fn run_item(
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
        // A stale session can wait, and nothing of it is unread.
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
            send(Output::Aborted(uid, UnreadPath { path, reason }))
        }
    }
}

/// Returns a path in the form that is stored.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
