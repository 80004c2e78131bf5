//! The sweep: everything new in the agents' logs is read, masked and kept. Run again, it costs nothing.
//!
//! Workers read and compress; one writer puts what they made into the store, batch by batch. A batch is on
//! disk wholly or not at all, and each piece says what it stands on, so that a crash, a second sweep or a log
//! that grows meanwhile can at worst make work be done again.

pub(crate) mod anchors;
mod gather;
pub(crate) mod plan;
mod work;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use jiff::Timestamp;
use transcript::Agent;

use crate::mask::Masker;
use crate::prompts;
use crate::sources::{Root, Unread};
use crate::store::{Patience, Store, StoreError};

use self::plan::Plan;
use self::work::Output;
use self::write::Writer;

/// How many pieces may wait for the writer: a bound on memory.
const WAITING_MAX: usize = 4;

/// What a sweep is told.
pub struct Sweep<'a> {
    /// Where the store lies.
    pub directory: &'a Path,
    pub roots: &'a [Root],
    pub masker: &'a Masker,
    pub now: Timestamp,
    pub threads: usize,
    pub patience: Patience,
    /// Which logs are not to be read.
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Told the bytes done and the bytes to do.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// What a sweep did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    pub files_seen: u64,
    pub files_read: u64,
    pub files_unchanged: u64,
    pub bytes_read: u64,
    pub sessions_new: u64,
    pub sessions_updated: u64,
    pub events: u64,
    pub faults: u64,
    pub redactions: u64,
    /// Prompts of the agents' histories that were not known before.
    pub prompts: u64,
    pub tier1_bytes: u64,
    /// Work that another sweep did first.
    pub pieces_dropped: u64,
    pub agents: BTreeMap<Agent, AgentReport>,
    pub unread: Vec<Unread>,
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
    let plan = Plan::make(sweep, store.as_ref())?;
    let mut report = plan.report;
    for job in &plan.jobs {
        report.files_read += 1;
        report.bytes_read += job.bytes_to_read();
    }
    prompts::dry_run(sweep, store.as_ref(), &mut report)?;
    Ok(report)
}

/// Runs a whole sweep.
pub fn run(sweep: &Sweep<'_>) -> Result<Report, StoreError> {
    let mut store = Store::open(sweep.directory)?;
    // Whether we may write is asked once before any work is done, and again for each batch.
    drop(store.lock(sweep.patience)?);
    let plan = Plan::make(sweep, Some(&store))?;
    let mut report = plan.report.clone();
    let total: u64 = plan.jobs.iter().map(plan::Job::bytes_to_read).sum();
    let mut writer = Writer::new(&mut store, sweep, total);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel::<Output>(WAITING_MAX);
    thread::scope(|scope| -> Result<(), StoreError> {
        for _ in 0..sweep.threads.clamp(1, 64).min(plan.jobs.len().max(1)) {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                let reads = Store::open_existing(sweep.directory);
                while let Some(job) = plan.jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let sent = match &reads {
                        Ok(Some(store)) => work::run(job, sweep, store, &|output| sender.send(output).is_ok()),
                        _ => sender
                            .send(Output::Failed(job.unread("the store cannot be opened twice")))
                            .is_ok(),
                    };
                    // The writer is gone: it says why.
                    if !sent {
                        return;
                    }
                }
            });
        }
        drop(sender);
        writer.drain(receiver)
    })?;
    writer.finish(&mut report)?;
    prompts::run(sweep, &mut store, &mut report)?;
    report.tier1_bytes = store.reads().raw_cache_bytes()?;
    Ok(report)
}

/// A path as the store keeps it.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
