//! A memory within its budget: what is evicted, in which order, and what stays.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use memory::digest::DigestSettings;
use memory::doctor::examine_store;
use memory::retention::{self, DATA_LOSS, EvictionReason, ForgetScope, Retention, RetentionPolicy};
use memory::sweep::{Sweep, SweepReport, run};
use regex::Regex;
use testkit::logs::ClaudeLog;

use super::home::{Home, WAIT, run_sql};

/// The day of most stories.
pub const TODAY: &str = "2026-06-30T12:00:00Z";

/// The journal entry of a separate eviction.
pub const EVICT: retention::EvictionCommand<'static> = retention::EvictionCommand {
    name: "evict",
    sentence: &retention::EvictionSummary::sentence,
};

/// A home whose clock the test sets.
pub struct Memory {
    pub home: Home,
    pub now: Timestamp,
    pub policy: RetentionPolicy,
    task_pattern: Regex,
}

pub fn uid(number: u32) -> String {
    format!("claude:{}", native(number))
}

pub fn native(number: u32) -> String {
    format!("5e550000-0000-4000-8000-{number:012}")
}

/// Returns words that do not compress.
pub fn noise(seed: u32, words: u32) -> String {
    let word = |n: u32| blake3::hash(&[seed.to_le_bytes(), n.to_le_bytes()].concat()).to_hex();
    (0..words).map(|n| format!("{} ", word(n))).collect()
}

impl Memory {
    pub fn new() -> Self {
        let now: Timestamp = TODAY.parse().unwrap();
        Self {
            home: Home::new(),
            now,
            policy: RetentionPolicy {
                raw_soft_cap_bytes: u64::MAX,
                raw_hard_cap_bytes: u64::MAX,
                raw_max_age_days: None,
                distilled_cap_bytes: u64::MAX,
                today_began: now - SignedDuration::from_hours(12),
            },
            task_pattern: Regex::new("T-[0-9]+").unwrap(),
        }
    }

    pub fn wait_days(&mut self, days: i64) {
        self.now += SignedDuration::from_hours(24 * days);
        self.policy.today_began = self.now - SignedDuration::from_hours(12);
    }

    /// Writes a session that ended `hours_ago` and has about `words` words of raw text.
    pub fn write(&self, number: u32, hours_ago: i64, words: u32) {
        let at = self.now - SignedDuration::from_hours(hours_ago);
        let log = ClaudeLog::new(&native(number))
            .at(&at.to_string())
            .prompt(&format!("first prompt of {number}"))
            .tool(
                "Bash",
                serde_json::json!({"command": "cat noise"}),
                &noise(number, words),
            )
            .prompt(&format!("second prompt of {number}"))
            .reply(&format!("a reply of {number}"))
            .prompt(&format!("last prompt of {number}"))
            .reply("done");
        self.put(number, &log.jsonl(), at);
    }

    /// Writes a log with a modification time that fits its content.
    pub fn put(&self, number: u32, log: &str, at: Timestamp) {
        let name = path(number);
        self.home.write(&name, log);
        let file = fs::File::options().write(true).open(self.home.path(&name)).unwrap();
        file.set_modified(at.into()).unwrap();
    }

    pub fn grow(&self, number: u32) {
        let before = fs::read_to_string(self.home.path(&path(number))).unwrap();
        let at = self.now - SignedDuration::from_hours(1);
        let more = ClaudeLog::new(&native(number))
            .at(&at.to_string())
            .prompt("and now something new");
        let more = more.with("uuid", format!("9e550000-0000-4000-8000-{:012}", before.len()));
        self.put(number, &(before + &more.jsonl()), at);
    }

    pub fn settings(&self) -> DigestSettings<'_> {
        DigestSettings {
            now: self.now,
            task_pattern: &self.task_pattern,
        }
    }

    pub fn retention(&self) -> Retention<'_> {
        Retention {
            policy: self.policy,
            digests: self.settings(),
        }
    }

    /// Evicts what the policy selects, without the last phase.
    pub fn enforce(&self) -> retention::EvictionSummary {
        let mut done = retention::EvictionSummary::default();
        let mut store = self.home.store();
        retention::enforce_policy(&mut store, WAIT, &self.retention(), &EVICT, &|_| false, &mut done).unwrap();
        done
    }

    /// Runs a sweep that evicts.
    pub fn sweep(&self) -> SweepReport {
        self.sweep_with(&|_, _| {})
    }

    pub fn sweep_with(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> SweepReport {
        let (roots, directory) = (self.home.roots(), self.home.place());
        let sweep = Sweep {
            threads: 2,
            progress,
            digests: Some(self.settings()),
            retention: Some(self.retention()),
            ..Sweep::new(&directory, &roots, &self.home.masker, self.now)
        };
        run(&sweep, WAIT).unwrap()
    }

    /// Runs the sweep of a query, which evicts nothing.
    pub fn catch_up(&self) -> SweepReport {
        self.home.sweep_at(self.now)
    }

    pub fn usage(&self) -> u64 {
        self.home.store().reads().raw_cache_bytes().unwrap()
    }

    pub fn bytes_of(&self, number: u32) -> u64 {
        self.home.store().reads().raw_bytes_of(&uid(number)).unwrap()
    }

    /// Returns the numbers of the sessions whose raw text is stored.
    pub fn here(&self) -> Vec<u32> {
        let (candidates, _) = self.home.store().reads().candidates().unwrap();
        candidates.iter().map(|one| number_of(&one.session_uid)).collect()
    }

    pub fn forget(&self, numbers: &[u32], reach: ForgetScope) {
        let mut store = self.home.store();
        let uids: Vec<String> = numbers.iter().map(|number| uid(*number)).collect();
        let remains = retention::list_remains(&store.reads(), &uids).unwrap();
        let told = retention::forget_sessions(&mut store, WAIT, &remains, reach, &self.settings(), "forget").unwrap();
        assert!(told.is_finished, "{told:?}");
    }

    pub fn keep(&self, number: u32) {
        let mut store = self.home.store();
        let lock = store.lock(WAIT).unwrap();
        store
            .write(&lock, self.now, "keep", |tx| {
                Ok((tx.keep(&uid(number), self.now)?, String::new()))
            })
            .unwrap();
    }

    pub fn journal(&self) -> Vec<String> {
        let operations = self.home.store().reads().operations(50).unwrap();
        let told = operations.iter().rev();
        told.map(|one| format!("{}: {}", one.command, one.sentence)).collect()
    }

    /// Damages the rows of a session, so that no digest can be made from them.
    pub fn damage(&self, number: u32) {
        let sql = format!(
            "UPDATE events SET bytes = x'00ff' WHERE session_uid = '{0}';
             DELETE FROM digests WHERE session_uid = '{0}';
             UPDATE sessions SET analyzed_at = NULL WHERE session_uid = '{0}'",
            uid(number)
        );
        run_sql(&self.home.path("store"), &sql);
    }
}

pub fn path(number: u32) -> String {
    format!(".claude/projects/-home-ada-app/{}.jsonl", native(number))
}

pub fn number_of(uid: &str) -> u32 {
    uid.rsplit('-').next().unwrap().parse().unwrap()
}

fn dropped(report: &SweepReport) -> Vec<(u32, &'static str)> {
    let drops = report.evicted.drops.iter();
    drops
        .map(|drop| (number_of(&drop.session_uid), drop.reason.as_str()))
        .collect()
}

#[test]
fn below_the_caps_nothing_is_evicted_and_every_session_has_a_digest() {
    let memory = Memory::new();
    (1..=3).for_each(|number| memory.write(number, 50, 40));
    let report = memory.sweep();
    assert_eq!((report.digested.len(), report.evicted.drops.len()), (3, 0));
    assert_eq!(memory.here(), [1, 2, 3]);
}

#[test]
fn old_raw_text_is_evicted_even_below_the_caps_but_not_by_the_first_sweep() {
    let mut memory = Memory::new();
    memory.policy.raw_max_age_days = Some(45);
    memory.write(1, 24 * 180, 40);
    assert_eq!(dropped(&memory.sweep()), []);
    memory.wait_days(30);
    memory.write(2, 48, 40);
    assert_eq!(dropped(&memory.sweep()), []);
    memory.wait_days(16);
    assert_eq!(dropped(&memory.sweep()), [(1, "age")]);
    assert_eq!(memory.here(), [2]);
    assert_eq!(dropped(&memory.sweep()), [], "once");
}

#[test]
fn over_the_soft_cap_sessions_with_the_oldest_digests_are_evicted_until_it_fits() {
    let mut memory = Memory::new();
    memory.write(2, 50, 60);
    memory.sweep();
    memory.wait_days(1);
    memory.write(3, 40, 60);
    memory.write(1, 60, 60);
    memory.sweep();
    let each = memory.bytes_of(1);
    memory.policy.raw_soft_cap_bytes = each * 3 / 2;
    memory.wait_days(1);
    // Session 2 has the oldest digest. Of the two others, 1 ended first.
    assert_eq!(dropped(&memory.sweep()), [(2, "budget"), (1, "budget")]);
    assert!(memory.usage() <= memory.policy.raw_soft_cap_bytes);
    assert_eq!(memory.here(), [3]);
}

#[test]
fn a_kept_session_is_never_evicted_until_it_is_released() {
    let mut memory = Memory::new();
    memory.write(1, 50, 60);
    memory.write(2, 40, 60);
    memory.sweep();
    memory.keep(1);
    (memory.policy.raw_soft_cap_bytes, memory.policy.raw_hard_cap_bytes) = (1, 1);
    assert_eq!(dropped(&memory.sweep()), [(2, "budget")]);
    assert_eq!(memory.here(), [1]);
    let mut store = memory.home.store();
    let lock = store.lock(WAIT).unwrap();
    let undone = store.write(&lock, memory.now, "keep", |tx| {
        Ok((tx.drop_keep(&uid(1))?, String::new()))
    });
    assert!(undone.unwrap());
    drop((lock, store));
    assert_eq!(dropped(&memory.sweep()), [(1, "budget")]);
}

#[test]
fn sessions_that_grew_today_are_evicted_only_down_to_the_hard_cap() {
    let mut memory = Memory::new();
    memory.write(1, 2, 60);
    memory.write(2, 1, 60);
    memory.sweep();
    let each = memory.bytes_of(1);
    memory.policy.raw_soft_cap_bytes = 1;
    memory.policy.raw_hard_cap_bytes = each * 5 / 2;
    assert_eq!(dropped(&memory.sweep()), []);
    memory.policy.raw_hard_cap_bytes = each * 3 / 2;
    assert_eq!(dropped(&memory.sweep()), [(1, "hard_cap")]);
    assert_eq!(memory.here(), [2]);
}

#[test]
fn over_the_hard_cap_a_session_without_a_digest_gets_one_and_is_evicted() {
    let mut memory = Memory::new();
    (1..=3).for_each(|number| memory.write(number, 60 - i64::from(number), 60));
    memory.catch_up();
    let store = memory.home.store();
    assert!((1..=3).all(|number| store.reads().digest_of(&uid(number)).unwrap().is_none()));
    drop(store);
    let each = memory.bytes_of(1);
    memory.policy.raw_soft_cap_bytes = each * 3 / 2;
    memory.policy.raw_hard_cap_bytes = each * 5 / 2;
    let mut done = memory.enforce();
    let mut store = memory.home.store();
    retention::finish_evictions(&mut store, WAIT, memory.now, &EVICT, &mut done).unwrap();
    assert_eq!((done.drops.len(), done.analyzed.len(), done.lost().count()), (2, 2, 0));
    assert_eq!(memory.here(), [3]);
    let row = store.reads().digest_of(&uid(1)).unwrap().unwrap();
    assert!(row.is_sealed);
}

#[test]
fn a_growing_session_with_damaged_rows_does_not_affect_other_sessions() {
    let memory = Memory::new();
    memory.write(1, 50, 60);
    memory.catch_up();
    memory.damage(1);
    memory.grow(1);
    memory.write(2, 49, 60);
    memory.sweep();
    assert_eq!(memory.here(), [1, 2]);
    let damages = examine_store(&memory.home.place(), &|_, _| {}).unwrap().damages;
    assert!(
        !damages.is_empty() && damages.iter().all(|one| one.session_uid == uid(1)),
        "{damages:?}"
    );
    memory.home.rebuild();
    assert!(examine_store(&memory.home.place(), &|_, _| {}).unwrap().is_sound());
    let events = memory.home.store().reads().events(&uid(1)).unwrap();
    assert!(
        events.iter().any(|event| event.summary.contains("something new")),
        "{events:?}"
    );
}

#[test]
fn sessions_that_cannot_have_a_digest_are_lost_last_and_reported() {
    let mut memory = Memory::new();
    (1..=3).for_each(|number| memory.write(number, 60 - i64::from(number), 60));
    memory.catch_up();
    (1..=2).for_each(|number| memory.damage(number));
    let total = memory.usage();
    memory.policy.raw_soft_cap_bytes = 1;
    memory.policy.raw_hard_cap_bytes = total / 2;
    let done = memory.enforce();
    let lost: Vec<u32> = done.lost().map(|drop| number_of(&drop.session_uid)).collect();
    assert_eq!((done.drops[0].reason, lost), (EvictionReason::Budget, vec![1]));
    assert_eq!(memory.here(), [2], "no more is lost than has to be");
    let journal = memory.journal();
    let told = journal.iter().find(|line| line.starts_with(DATA_LOSS)).unwrap();
    assert!(told.contains(&uid(1)) && !told.contains(&uid(2)), "{told}");
}

#[test]
fn an_evicted_session_stays_listed_and_counted_and_is_not_read_again() {
    let mut memory = Memory::new();
    memory.write(1, 50, 60);
    memory.write(2, 40, 60);
    memory.sweep();
    let numbers = |memory: &Memory| {
        let store = memory.home.store();
        let counted = store.reads().counted(&uid(1)).unwrap();
        let calls = store.reads().calls_of(&uid(1)).unwrap();
        let turns: Vec<_> = store.reads().turns(&uid(1)).unwrap();
        let marks: Vec<_> = turns
            .iter()
            .map(|turn| (turn.turn, turn.start_line, turn.end_line, turn.tool_calls))
            .collect();
        (counted.turns, counted.events, counted.bytes, calls, marks)
    };
    let before = numbers(&memory);
    assert!(before.1 > 5 && !before.3.is_empty());
    memory.policy.raw_soft_cap_bytes = memory.bytes_of(2) + 10;
    assert_eq!(dropped(&memory.sweep()), [(1, "budget")]);
    assert_eq!(numbers(&memory), before);
    let listed = memory.home.store().reads().listed().unwrap();
    let one = listed.iter().find(|session| session.session_uid == uid(1)).unwrap();
    assert_eq!(one.status, memory::store::SessionStatus::Evicted);
    assert_eq!(one.cwd.as_deref(), Some("/home/ada/app"));
    let again = memory.sweep();
    assert_eq!((again.files_read, again.bytes_read), (0, 0), "{again:?}");
    // Touched, moved, compressed: none of this is new text.
    let log = fs::read_to_string(memory.home.path(&path(1))).unwrap();
    memory.put(1, &log, memory.now - SignedDuration::from_hours(3));
    let touched = memory.sweep();
    assert_eq!((touched.bytes_read, touched.sessions_updated), (0, 0), "{touched:?}");
    let elsewhere = path(1).replace("-home-ada-app", "-home-ada-moved");
    fs::create_dir_all(memory.home.path(&elsewhere).parent().unwrap()).unwrap();
    fs::rename(memory.home.path(&path(1)), memory.home.path(&elsewhere)).unwrap();
    assert_eq!(memory.sweep().bytes_read, 0);
    assert_eq!(memory.sweep().files_read, 0);
    assert_eq!(memory.here(), [2]);
    // Neither a rebuild nor a check of everything reports it as damaged.
    memory.home.rebuild();
    assert_eq!(numbers(&memory), before);
    let health = examine_store(&memory.home.place(), &|_, _| {}).unwrap();
    assert!(health.is_sound(), "{health:?}");
}

#[test]
fn a_log_that_grew_after_its_eviction_is_read_again_as_a_new_generation() {
    let mut memory = Memory::new();
    memory.write(1, 50, 60);
    memory.sweep();
    (memory.policy.raw_soft_cap_bytes, memory.policy.raw_hard_cap_bytes) = (1, u64::MAX);
    assert_eq!(dropped(&memory.sweep()), [(1, "budget")]);
    memory.policy.raw_soft_cap_bytes = u64::MAX;
    memory.wait_days(2);
    memory.grow(1);
    let report = memory.sweep();
    let log = fs::read_to_string(memory.home.path(&path(1))).unwrap();
    assert_eq!(report.bytes_read, log.len() as u64);
    assert_eq!(memory.home.cat(&uid(1)), log);
    let store = memory.home.store();
    assert_eq!(store.reads().generation(&uid(1)).unwrap(), 1);
    let digest = store.reads().digest_of(&uid(1)).unwrap().unwrap();
    assert_eq!((digest.is_sealed, digest.digest.turns), (false, 4));
    // A second time.
    drop(store);
    memory.policy.raw_soft_cap_bytes = 1;
    memory.wait_days(2);
    assert_eq!(dropped(&memory.sweep()), [(1, "budget")]);
}

#[test]
fn a_query_that_catches_up_evicts_nothing() {
    let mut memory = Memory::new();
    memory.write(1, 50, 60);
    memory.sweep();
    (memory.policy.raw_soft_cap_bytes, memory.policy.raw_hard_cap_bytes) = (1, 1);
    memory.write(2, 40, 60);
    assert_eq!(memory.catch_up().evicted.drops, []);
    assert_eq!(memory.here(), [1, 2]);
}

#[test]
fn a_session_that_grew_since_the_plan_stays() {
    let mut memory = Memory::new();
    memory.write(1, 50, 60);
    memory.sweep();
    memory.policy.raw_soft_cap_bytes = 1;
    let plan = retention::plan_evictions(&memory.home.store().reads(), &memory.policy, memory.now).unwrap();
    assert_eq!(plan.drops.len(), 1);
    memory.wait_days(1);
    memory.grow(1);
    memory.catch_up();
    let mut store = memory.home.store();
    let mut done = retention::EvictionSummary::default();
    retention::apply_plan(&mut store, WAIT, &plan, &memory.retention(), &EVICT, &mut done).unwrap();
    assert_eq!(done.drops, []);
    assert!(memory.home.cat(&uid(1)).contains("something new"));
}

#[test]
fn no_sweep_and_no_history_brings_back_a_forgotten_session() {
    let mut memory = Memory::new();
    memory.write(1, 50, 60);
    memory.write(2, 50, 60);
    memory.write(3, 50, 60);
    let prompts = |name: &str| {
        let line = |number| {
            format!(
                "{{\"display\":\"said {name} {number}\",\"timestamp\":1780000000000,\"project\":\"/home/ada/app\",\"sessionId\":\"{}\"}}\n",
                native(number)
            )
        };
        (1..=4).map(line).collect::<String>()
    };
    memory.home.write(".claude/history.jsonl", prompts("before"));
    memory.sweep();
    memory.forget(&[1, 4], ForgetScope::Raw);
    memory.forget(&[2], ForgetScope::WithDigest);
    memory.home.write(".claude/history.jsonl", prompts("after"));
    memory.wait_days(1);
    (1..=3).for_each(|number| memory.grow(number));
    memory.sweep();
    assert_eq!(memory.here(), [3]);
    let store = memory.home.store();
    let listed: Vec<u32> = store
        .reads()
        .listed()
        .unwrap()
        .iter()
        .map(|one| number_of(&one.session_uid))
        .collect();
    assert_eq!(listed, [3, 1], "the digest of 1 is left, and nothing of 2 and 4");
    assert!(store.reads().digest_of(&uid(1)).unwrap().unwrap().is_sealed);
    for number in [1, 2, 4] {
        assert_eq!(store.reads().prompts_of(&uid(number)).unwrap(), [], "{number}");
    }
    assert!(!store.reads().prompts_of(&uid(3)).unwrap().is_empty());
}

#[test]
fn a_sweep_that_reads_far_more_than_the_cap_never_exceeds_it() {
    let mut memory = Memory::new();
    // More than one batch.
    (1..=200).for_each(|number| memory.write(number, 24 * 30 - i64::from(number), 60));
    let alone = Memory::new();
    alone.write(1, 24 * 30, 60);
    alone.sweep();
    let each = alone.usage();
    memory.policy.raw_soft_cap_bytes = each * 20;
    memory.policy.raw_hard_cap_bytes = each * 30;
    let most = std::sync::atomic::AtomicU64::new(0);
    let directory = memory.home.place();
    let report = memory.sweep_with(&|_, _| {
        let store = memory::store::Store::open_existing(&directory).unwrap().unwrap();
        let usage = store.reads().raw_cache_bytes().unwrap();
        most.fetch_max(usage, std::sync::atomic::Ordering::Relaxed);
    });
    let batch = each * 65;
    let most = most.into_inner();
    assert!(
        most <= memory.policy.raw_hard_cap_bytes + batch,
        "{most} of {}",
        memory.policy.raw_hard_cap_bytes
    );
    assert!(most < each * 150, "nothing went between the batches: {most}");
    assert!(memory.usage() <= memory.policy.raw_soft_cap_bytes);
    assert_eq!((report.sessions_new, report.evicted.lost().count()), (200, 0));
    // The newest sessions stay.
    let here = memory.here();
    assert!(here.len() >= 10 && here.iter().all(|number| *number > 120), "{here:?}");
    let store = memory.home.store();
    assert!((1..=200).all(|number| store.reads().digest_of(&uid(number)).unwrap().is_some()));
}
