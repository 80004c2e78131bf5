//! Laws of retention, for any order of steps and any crash: nothing is lost silently, kept sessions stay, forgotten
//! ones never return, and the caps hold even during a sweep.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use memory::doctor::examine_store;
use memory::retention::{self, DATA_LOSS, EvictionCommand, EvictionSummary, ForgetScope};
use memory::store::Store;
use proptest::prelude::*;

use super::home::{WAIT, assert_packs};
use super::retention::{EVICT, Memory, number_of, path, uid};

/// The approximate number of words in a session.
const WORDS: u32 = 30;
/// The sessions that single steps change.
const FEW: std::ops::Range<u32> = 1..6;
/// More sessions than one batch of a sweep, so that there is a moment between two batches.
const MANY: std::ops::Range<u32> = 100..240;
/// Maximum number of sessions in a batch.
const BATCH_SESSIONS: u64 = 64;

#[derive(Debug, Clone)]
enum Step {
    /// A new session, or more lines of an existing one.
    Write(u32),
    /// Far more new sessions than any cap allows.
    Flood,
    Sweep(Caps),
    Evict(Caps),
    CatchUp,
    Keep(u32),
    Unkeep(u32),
    Forget(u32),
    ForgetAll(u32),
    Damage(u32),
    Wait(i64),
    /// A retention run that crashes before its last phase, while its packs still exist.
    Crash,
    /// A retention run that crashes within a transaction.
    CrashUncommitted(Caps),
    /// A sweep that crashes after this number of batches.
    CrashInSweep(Caps, u64),
    Rebuild,
}

/// How many sessions fit under the caps.
#[derive(Debug, Clone, Copy)]
struct Caps {
    soft: u64,
    hard: u64,
}

fn caps() -> impl Strategy<Value = Caps> {
    (0..6_u64, 0..4_u64).prop_map(|(soft, more)| Caps {
        soft,
        hard: soft + more,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let number = FEW;
    prop_oneof![
        5 => number.clone().prop_map(Step::Write),
        1 => Just(Step::Flood),
        4 => caps().prop_map(Step::Sweep),
        2 => caps().prop_map(Step::Evict),
        1 => Just(Step::CatchUp),
        1 => number.clone().prop_map(Step::Keep),
        1 => number.clone().prop_map(Step::Unkeep),
        1 => number.clone().prop_map(Step::Forget),
        1 => number.clone().prop_map(Step::ForgetAll),
        1 => number.prop_map(Step::Damage),
        2 => (0..40_i64).prop_map(Step::Wait),
        1 => Just(Step::Crash),
        1 => caps().prop_map(Step::CrashUncommitted),
        1 => (caps(), 1..4_u64).prop_map(|(caps, batches)| Step::CrashInSweep(caps, batches)),
        1 => Just(Step::Rebuild),
    ]
}

/// The expected state, as someone who writes everything down would know it.
#[derive(Default)]
struct ExpectedState {
    kept: BTreeSet<u32>,
    forgotten: BTreeSet<u32>,
    forgotten_wholly: BTreeSet<u32>,
    damaged: BTreeSet<u32>,
    /// The logs as they were last read.
    read: BTreeMap<u32, String>,
}

struct Simulation {
    memory: Memory,
    notes: ExpectedState,
    each: u64,
}

impl Simulation {
    fn new() -> Self {
        let mut memory = Memory::new();
        memory.policy.raw_max_age_days = Some(45);
        let alone = Memory::new();
        alone.write(1, 50, WORDS);
        alone.sweep();
        Self {
            each: alone.usage(),
            memory,
            notes: ExpectedState::default(),
        }
    }

    fn take(&mut self, step: &Step) {
        let memory = &mut self.memory;
        match *step {
            // A damaged session must be repaired before it can grow.
            Step::Write(number) if self.notes.damaged.contains(&number) => {}
            Step::Write(number) if memory.home.path(&path(number)).exists() => memory.grow(number),
            Step::Write(number) => memory.write(number, 50, WORDS),
            Step::Wait(days) => memory.wait_days(days),
            Step::Flood => {
                for number in MANY.filter(|number| !memory.home.path(&path(*number)).exists()) {
                    memory.write(number, 50, WORDS);
                }
            }
            Step::Sweep(caps) => {
                self.set(caps);
                self.sweep(u64::MAX);
                self.update_notes();
                self.check_caps();
            }
            Step::Evict(caps) => {
                self.set(caps);
                let mut done = self.memory.enforce();
                let mut store = self.memory.home.store();
                retention::finish_evictions(&mut store, WAIT, self.memory.now, &EVICT, &mut done).unwrap();
                assert!(done.is_finished, "{done:?}");
                self.check_caps();
            }
            Step::CatchUp => {
                let before = self.here();
                self.memory.catch_up();
                self.update_notes();
                assert!(before.is_subset(&self.here()), "a query evicted something");
            }
            Step::Keep(number) => {
                if self.here().contains(&number) {
                    self.memory.keep(number);
                    self.notes.kept.insert(number);
                }
            }
            Step::Unkeep(number) => {
                self.notes.kept.remove(&number);
                let mut store = memory.home.store();
                let lock = store.lock(WAIT).unwrap();
                let done = store.write(&lock, memory.now, "keep", |tx| {
                    Ok((tx.drop_keep(&uid(number))?, String::new()))
                });
                done.unwrap();
            }
            Step::Forget(number) => {
                memory.forget(&[number], ForgetScope::Raw);
                self.notes.forgotten.insert(number);
            }
            Step::ForgetAll(number) => {
                memory.forget(&[number], ForgetScope::WithDigest);
                self.notes.forgotten.insert(number);
                self.notes.forgotten_wholly.insert(number);
                self.notes.kept.remove(&number);
            }
            Step::Damage(number) => {
                if self.here().contains(&number) {
                    self.memory.damage(number);
                    self.notes.damaged.insert(number);
                }
            }
            Step::Crash => self.crash(),
            Step::CrashUncommitted(caps) => self.crash_uncommitted(caps),
            Step::CrashInSweep(caps, batches) => {
                self.set(caps);
                self.sweep(batches);
                self.update_notes_after_crash();
            }
            Step::Rebuild => {
                memory.home.rebuild();
                self.notes.damaged.clear();
            }
        }
    }

    /// Simulates a crash after the rows were deleted: no pack is deleted and no page is overwritten yet.
    fn crash(&mut self) {
        let memory = &mut self.memory;
        (memory.policy.raw_soft_cap_bytes, memory.policy.raw_hard_cap_bytes) = (0, u64::MAX);
        let packs = memory.home.path("store/packs");
        let files: Vec<_> = memory::packs::list_packs(&memory.home.store().packs())
            .into_iter()
            .map(|pack| (packs.join(&pack), fs::read(packs.join(&pack)).unwrap()))
            .collect();
        let done = memory.enforce();
        assert_eq!(done.lost().count(), 0);
        for (path, bytes) in files {
            fs::write(path, bytes).unwrap();
        }
    }

    /// Simulates a crash before the first commit: nothing has changed.
    fn crash_uncommitted(&mut self, caps: Caps) {
        self.set(caps);
        let before = self.here();
        let (memory, mut store) = (&self.memory, self.memory.home.store());
        let dies = EvictionCommand {
            name: "evict",
            sentence: &|_| resume_unwind(Box::new("the light went out")),
        };
        let run = || {
            let mut done = EvictionSummary::default();
            retention::enforce_policy(&mut store, WAIT, &memory.retention(), &dies, &|_| false, &mut done)
        };
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            assert_eq!(self.here(), before);
        }
    }

    fn set(&mut self, caps: Caps) {
        self.memory.policy.raw_soft_cap_bytes = self.each * caps.soft;
        self.memory.policy.raw_hard_cap_bytes = self.each * caps.hard;
    }

    /// Sweeps, and crashes after `batches_max` batches. After each batch, raw text exceeds the hard cap by at most that
    /// batch, not counting kept sessions and those being read.
    fn sweep(&self, batches_max: u64) {
        let memory = &self.memory;
        let directory = memory.home.place();
        let (before, batches) = (memory.usage(), AtomicU64::new(0));
        let look = |_: u64, _: u64| {
            let store = Store::open_existing(&directory).unwrap().unwrap();
            let (candidates, unowned) = store.reads().candidates().unwrap();
            let bytes = || candidates.iter().map(|one| one.bytes);
            let stays = |uid: &str| FEW.contains(&number_of(uid));
            let staying: u64 = candidates
                .iter()
                .filter(|one| one.is_kept || stays(&one.session_uid))
                .map(|one| one.bytes)
                .sum();
            let number = batches.fetch_add(1, Ordering::Relaxed) + 1;
            // Text that queries have read is evicted between the first and the second batch.
            let cap = match number {
                1 => memory.policy.raw_hard_cap_bytes.max(before),
                _ => memory.policy.raw_hard_cap_bytes.max(staying),
            };
            let batch = bytes().max().unwrap_or_default() * (BATCH_SESSIONS + 2);
            let usage = unowned + bytes().sum::<u64>();
            assert!(
                usage <= cap + batch,
                "{usage} after batch {number}: more than {cap} and a batch"
            );
            if number >= batches_max {
                resume_unwind(Box::new("the light went out"));
            }
        };
        let sweep = || memory.sweep_with(&look);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(sweep))
            && !panic.is::<&'static str>()
        {
            resume_unwind(panic);
        }
    }

    fn here(&self) -> BTreeSet<u32> {
        self.memory.here().into_iter().collect()
    }

    fn update_notes(&mut self) {
        for number in FEW.chain(MANY) {
            if self.notes.forgotten.contains(&number) {
                continue;
            }
            if let Ok(log) = fs::read_to_string(self.memory.home.path(&path(number))) {
                self.notes.read.insert(number, log);
            }
        }
    }

    /// A crashed sweep has read some of the logs, each of them completely or not at all.
    fn update_notes_after_crash(&mut self) {
        for number in self.here() {
            let kept = self.memory.home.cat(&uid(number));
            let log = fs::read_to_string(self.memory.home.path(&path(number))).unwrap();
            let before = self.notes.read.insert(number, kept.clone());
            assert!(kept == log || Some(kept) == before, "{number} is half read");
        }
    }

    /// Checks the caps after a sweep.
    fn check_caps(&self) {
        let store = self.memory.home.store();
        let (candidates, unowned) = store.reads().candidates().unwrap();
        let policy = &self.memory.policy;
        let usage = self.memory.usage();
        let today = policy.today_began.as_microsecond();
        let could_go = candidates.iter().filter(|one| one.bytes > 0 && !one.is_kept);
        let is_old = |at: i64| at < today;
        let old = could_go
            .clone()
            .filter(|one| one.analyzed_at.is_some() && is_old(one.ended_at.unwrap_or(one.ingested_at)));
        assert!(
            usage <= policy.raw_soft_cap_bytes || old.count() == 0,
            "analyzed sessions would have sufficed"
        );
        assert!(
            usage <= policy.raw_hard_cap_bytes || could_go.count() == 0,
            "the hard cap is none"
        );
        assert_eq!(unowned, 0);
        assert_eq!(store.reads().unfinished_evictions().unwrap(), 0);
        assert_packs(&store);
    }

    fn check_laws(&self) {
        let store = self.memory.home.store();
        let here = self.here();
        let told = self.memory.journal().join("\n");
        let lost = told
            .lines()
            .filter(|line| line.starts_with(DATA_LOSS))
            .collect::<String>();
        let listed: BTreeSet<u32> = store
            .reads()
            .listed()
            .unwrap()
            .iter()
            .map(|one| number_of(&one.session_uid))
            .collect();
        for number in &self.notes.forgotten {
            assert!(!here.contains(number), "{number} came back");
        }
        for number in &self.notes.forgotten_wholly {
            assert!(!listed.contains(number), "{number} is still listed");
        }
        for number in self.notes.kept.difference(&self.notes.forgotten) {
            assert!(here.contains(number), "{number} was kept by hand");
        }
        for (number, log) in &self.notes.read {
            let uid = uid(*number);
            if self.notes.forgotten_wholly.contains(number) {
                continue;
            }
            if here.contains(number) {
                assert_eq!(&self.memory.home.cat(&uid), log, "{number} is not whole");
                continue;
            }
            let is_told = lost.contains(&uid) || self.notes.forgotten.contains(number);
            let digest = store.reads().digest_of(&uid).unwrap();
            assert!(
                digest.is_some_and(|row| row.is_sealed) || is_told,
                "{number} was lost in silence"
            );
            assert!(listed.contains(number), "{number} is no longer listed");
            assert!(
                !store.reads().calls_of(&uid).unwrap().is_empty(),
                "the numbers of {number} are gone"
            );
            assert_eq!(store.reads().raw_bytes_of(&uid).unwrap(), 0);
        }
        let health = examine_store(&self.memory.home.place(), &|_, _| {}).unwrap();
        let damaged: BTreeSet<u32> = health.damages.iter().map(|one| number_of(&one.session_uid)).collect();
        assert!(
            health.database.is_empty() && damaged.is_subset(&self.notes.damaged),
            "{health:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_retention_hold_after_any_steps(steps in prop::collection::vec(step(), 4..18)) {
        let mut simulation = Simulation::new();
        // The store has to exist before the first step.
        simulation.memory.catch_up();
        for step in &steps {
            simulation.take(step);
            simulation.check_laws();
        }
        simulation.take(&Step::Sweep(Caps { soft: 2, hard: 3 }));
        simulation.check_laws();
    }
}
