//! Statistics over many sessions. They use only digests, turns and calls, so that a session counts the same before and
//! after its raw text is evicted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use transcript::Outcome;

use crate::digest::Digest;
use crate::store::ListedSession;
use crate::usage::{Bill, UsageSum, billed_at, start_of_week};

pub const HOURS: usize = 24;
pub const DAYS: usize = 7;

/// Statistics of the selected sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub sessions: u64,
    /// Sessions that another session started.
    pub subagents: u64,
    /// Sessions without a digest so far. They are included in the counts above but in none below.
    pub without_digest: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub retries: u64,
    pub wall_s: u64,
    pub active_s: u64,
    pub outcomes: OutcomeTally,
    pub interrupts: u64,
    pub denials: u64,
    pub steerings: u64,
    pub rewinds: u64,
    pub tests: TestStats,
    pub errors: u64,
    pub errors_resolved: u64,
    /// The most used first. The other lists are sorted in the same way.
    pub tools: Vec<ToolStats>,
    pub files: Vec<NameCount>,
    pub commands: Vec<NameCount>,
    pub error_kinds: Vec<NameCount>,
    pub projects: Vec<NameCount>,
    pub usage: UsageSum,
    /// Calls by day of the week, Monday first, and hour.
    pub heat: [[u64; HOURS]; DAYS],
    /// Every week from the first to the last, including empty ones.
    pub weeks: Vec<WeekStats>,
}

/// Number of sessions by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeTally {
    pub success: u64,
    pub fail: u64,
    pub abandoned: u64,
    pub unknown: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TestStats {
    pub passed: u64,
    pub failed: u64,
    pub unclear: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolStats {
    pub tool: String,
    pub calls: u64,
    pub errors: u64,
    pub duration_ms: u64,
}

/// The count of a name, and the number of sessions with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameCount {
    pub name: String,
    pub count: u64,
    pub sessions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeekStats {
    pub monday: Date,
    pub sessions: u64,
    pub turns: u64,
    pub active_s: u64,
    pub usage: UsageSum,
}

/// The inputs of the statistics.
pub struct StatsInput<'a> {
    pub sessions: &'a [ListedSession],
    /// True for each session that is selected.
    pub is_selected: &'a [bool],
    pub digests: &'a HashMap<String, Digest>,
    pub bills: &'a [Bill],
    pub zone: &'a TimeZone,
    pub now: Timestamp,
}

/// Returns the statistics of the selected sessions.
pub fn compute_stats(input: &StatsInput<'_>) -> Stats {
    let mut stats = Stats::default();
    let mut lists = NameLists::default();
    let mut weeks: BTreeMap<Date, WeekStats> = BTreeMap::new();
    for (session, _) in input
        .sessions
        .iter()
        .zip(input.is_selected)
        .filter(|(_, is_selected)| **is_selected)
    {
        let digest = input.digests.get(&session.session_uid);
        if session.is_subagent {
            stats.subagents += 1;
        } else {
            stats.sessions += 1;
        }
        let Some(digest) = digest else {
            stats.without_digest += 1;
            continue;
        };
        stats.add(digest, input.now);
        lists.add(digest);
        let began = session
            .started_micros
            .and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
        if let Some(began) = began.filter(|_| !session.is_subagent) {
            let week = week_mut(&mut weeks, start_of_week(began.to_zoned(input.zone.clone()).date()));
            week.sessions += 1;
            week.turns += u64::from(digest.turns);
            week.active_s += digest.time.active_s;
        }
    }
    for bill in input.bills {
        stats.usage.add(bill);
        let Some(at) = billed_at(bill, &input.sessions[bill.session]) else {
            continue;
        };
        let at = at.to_zoned(input.zone.clone());
        let day = usize::try_from(at.weekday().to_monday_zero_offset()).unwrap_or_default();
        let hour = usize::try_from(at.hour()).unwrap_or_default();
        stats.heat[day % DAYS][hour % HOURS] += 1;
        week_mut(&mut weeks, start_of_week(at.date())).usage.add(bill);
    }
    lists.finish(&mut stats);
    stats.weeks = fill_gaps(weeks);
    stats
}

fn week_mut(weeks: &mut BTreeMap<Date, WeekStats>, monday: Date) -> &mut WeekStats {
    weeks.entry(monday).or_insert_with(|| empty_week(monday))
}

fn empty_week(monday: Date) -> WeekStats {
    WeekStats {
        monday,
        sessions: 0,
        turns: 0,
        active_s: 0,
        usage: UsageSum::default(),
    }
}

/// Returns all weeks in order. Weeks without sessions are added, because a chart needs them.
fn fill_gaps(mut weeks: BTreeMap<Date, WeekStats>) -> Vec<WeekStats> {
    let (Some(first), Some(last)) = (weeks.keys().next().copied(), weeks.keys().next_back().copied()) else {
        return Vec::new();
    };
    let days = first.series(jiff::ToSpan::days(7)).take_while(|monday| *monday <= last);
    days.map(|monday| weeks.remove(&monday).unwrap_or_else(|| empty_week(monday)))
        .collect()
}

impl Stats {
    fn add(&mut self, digest: &Digest, now: Timestamp) {
        self.tool_calls += digest.tool_calls;
        self.retries += digest.retries;
        self.errors += digest.errors.count;
        self.errors_resolved += digest.errors.resolved;
        self.tests.passed += digest.tests.passed;
        self.tests.failed += digest.tests.failed;
        self.tests.unclear += digest.tests.unclear;
        // The turns, hours and outcome of a subagent are part of its parent's.
        if digest.is_subagent {
            return;
        }
        self.turns += u64::from(digest.turns);
        self.wall_s += digest.time.wall_s;
        self.active_s += digest.time.active_s;
        self.interrupts += u64::from(digest.interventions.interrupts);
        self.denials += u64::from(digest.interventions.denials);
        self.steerings += u64::from(digest.interventions.steerings);
        self.rewinds += u64::from(digest.interventions.rewinds);
        let outcome = match digest.outcome.as_of(digest.ended_at, now).outcome {
            Outcome::Success => &mut self.outcomes.success,
            Outcome::Fail => &mut self.outcomes.fail,
            Outcome::Abandoned => &mut self.outcomes.abandoned,
            Outcome::Unknown => &mut self.outcomes.unknown,
        };
        *outcome += 1;
    }
}

/// What is counted by name.
#[derive(Default)]
struct NameLists {
    tools: BTreeMap<String, ToolStats>,
    files: NameCounter,
    commands: NameCounter,
    errors: NameCounter,
    projects: NameCounter,
}

#[derive(Default)]
struct NameCounter(BTreeMap<String, (u64, u64)>);

impl NameCounter {
    /// Adds the names of one session. A name may occur several times.
    fn add<'n>(&mut self, counts: impl Iterator<Item = (&'n str, u64)>) {
        let mut seen = BTreeSet::new();
        for (name, count) in counts {
            let entry = self.0.entry(name.to_owned()).or_default();
            entry.0 += count;
            entry.1 += u64::from(seen.insert(name));
        }
    }

    fn into_sorted(self) -> Vec<NameCount> {
        let mut all: Vec<NameCount> = self
            .0
            .into_iter()
            .map(|(name, (count, sessions))| NameCount { name, count, sessions })
            .collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        all
    }
}

impl NameLists {
    fn add(&mut self, digest: &Digest) {
        for used in &digest.tools {
            let tool = self.tools.entry(used.tool.clone()).or_default();
            tool.calls += used.calls;
            tool.errors += used.errors;
            tool.duration_ms += used.duration_ms;
        }
        self.files
            .add(digest.files.iter().map(|file| (file.path.as_str(), file.edits)));
        let commands = digest.commands.iter();
        self.commands
            .add(commands.map(|command| (command.command.as_str(), command.runs)));
        let errors = digest.errors.kinds.iter();
        self.errors.add(errors.map(|error| (error.text.as_str(), error.count)));
        if !digest.is_subagent {
            let project = digest.repo.as_deref().or(digest.cwd.as_deref());
            self.projects
                .add(project.map(|name| (name, u64::from(digest.turns))).into_iter());
        }
    }

    fn finish(self, stats: &mut Stats) {
        let named = |(tool, used): (String, ToolStats)| ToolStats { tool, ..used };
        stats.tools = self.tools.into_iter().map(named).collect();
        stats
            .tools
            .sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.cmp(&b.tool)));
        stats.files = self.files.into_sorted();
        stats.commands = self.commands.into_sorted();
        stats.error_kinds = self.errors.into_sorted();
        stats.projects = self.projects.into_sorted();
    }
}
