//! Statistics: what sessions were like, taken together. Made of digests, turns and calls alone, so that a session counts
//! the same before and after its raw text is gone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use transcript::Outcome;

use crate::digest::Digest;
use crate::store::Listed;
use crate::usage::{Bill, Sum, monday, when};

pub const HOURS: usize = 24;
pub const DAYS: usize = 7;

/// What sessions were like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub sessions: u64,
    /// Sessions that a session called.
    pub subagents: u64,
    /// Sessions that have no digest yet: they are counted above and in nothing below.
    pub without_digest: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub retries: u64,
    pub wall_s: u64,
    pub active_s: u64,
    pub outcomes: Outcomes,
    pub interrupts: u64,
    pub denials: u64,
    pub steerings: u64,
    pub rewinds: u64,
    pub tests: Tests,
    pub errors: u64,
    pub errors_resolved: u64,
    /// Those used most first, and so on below.
    pub tools: Vec<Tool>,
    pub files: Vec<Counted>,
    pub commands: Vec<Counted>,
    pub error_kinds: Vec<Counted>,
    pub projects: Vec<Counted>,
    pub usage: Sum,
    /// Calls by day of the week, Monday first, and hour.
    pub heat: [[u64; HOURS]; DAYS],
    /// Every week from the first to the last.
    pub weeks: Vec<Week>,
}

/// How sessions came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    pub success: u64,
    pub fail: u64,
    pub abandoned: u64,
    pub unknown: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tests {
    pub passed: u64,
    pub failed: u64,
    pub unclear: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tool {
    pub tool: String,
    pub calls: u64,
    pub errors: u64,
    pub duration_ms: u64,
}

/// How often something came, and in how many sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    pub name: String,
    pub count: u64,
    pub sessions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Week {
    pub monday: Date,
    pub sessions: u64,
    pub turns: u64,
    pub active_s: u64,
    pub usage: Sum,
}

/// What is taken into account.
pub struct Known<'a> {
    pub sessions: &'a [Listed],
    /// Which of them were asked for.
    pub takes: &'a [bool],
    pub digests: &'a HashMap<String, Digest>,
    pub bills: &'a [Bill],
    pub zone: &'a TimeZone,
    pub now: Timestamp,
}

/// Brings all of it together.
pub fn of(known: &Known<'_>) -> Stats {
    let mut stats = Stats::default();
    let mut lists = Lists::default();
    let mut weeks: BTreeMap<Date, Week> = BTreeMap::new();
    for (session, _) in known.sessions.iter().zip(known.takes).filter(|(_, takes)| **takes) {
        let digest = known.digests.get(&session.session_uid);
        if session.is_subagent {
            stats.subagents += 1;
        } else {
            stats.sessions += 1;
        }
        let Some(digest) = digest else {
            stats.without_digest += 1;
            continue;
        };
        stats.add(digest, known.now);
        lists.add(digest);
        let began = session
            .started_micros
            .and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
        if let Some(began) = began.filter(|_| !session.is_subagent) {
            let week = week_of(&mut weeks, monday(began.to_zoned(known.zone.clone()).date()));
            week.sessions += 1;
            week.turns += u64::from(digest.turns);
            week.active_s += digest.time.active_s;
        }
    }
    for bill in known.bills {
        stats.usage.add(bill);
        let Some(at) = when(bill, &known.sessions[bill.session]) else {
            continue;
        };
        let at = at.to_zoned(known.zone.clone());
        let day = usize::try_from(at.weekday().to_monday_zero_offset()).unwrap_or_default();
        let hour = usize::try_from(at.hour()).unwrap_or_default();
        stats.heat[day % DAYS][hour % HOURS] += 1;
        week_of(&mut weeks, monday(at.date())).usage.add(bill);
    }
    lists.end(&mut stats);
    stats.weeks = without_gaps(weeks);
    stats
}

fn week_of(weeks: &mut BTreeMap<Date, Week>, monday: Date) -> &mut Week {
    weeks.entry(monday).or_insert_with(|| empty(monday))
}

fn empty(monday: Date) -> Week {
    Week {
        monday,
        sessions: 0,
        turns: 0,
        active_s: 0,
        usage: Sum::default(),
    }
}

/// A week in which nothing happened is a week, too.
fn without_gaps(mut weeks: BTreeMap<Date, Week>) -> Vec<Week> {
    let (Some(first), Some(last)) = (weeks.keys().next().copied(), weeks.keys().next_back().copied()) else {
        return Vec::new();
    };
    let days = first.series(jiff::ToSpan::days(7)).take_while(|monday| *monday <= last);
    days.map(|monday| weeks.remove(&monday).unwrap_or_else(|| empty(monday)))
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
        // A subagent's turns, hours and outcome are parts of its caller's.
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
        let outcome = match digest.outcome.at(digest.ended_at, now).outcome {
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
struct Lists {
    tools: BTreeMap<String, Tool>,
    files: Names,
    commands: Names,
    errors: Names,
    projects: Names,
}

#[derive(Default)]
struct Names(BTreeMap<String, (u64, u64)>);

impl Names {
    /// Adds what one session has of each name.
    fn add<'n>(&mut self, counts: impl Iterator<Item = (&'n str, u64)>) {
        let mut seen = BTreeSet::new();
        for (name, count) in counts {
            let entry = self.0.entry(name.to_owned()).or_default();
            entry.0 += count;
            entry.1 += u64::from(seen.insert(name));
        }
    }

    fn most_first(self) -> Vec<Counted> {
        let mut all: Vec<Counted> = self
            .0
            .into_iter()
            .map(|(name, (count, sessions))| Counted { name, count, sessions })
            .collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        all
    }
}

impl Lists {
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

    fn end(self, stats: &mut Stats) {
        let named = |(tool, used): (String, Tool)| Tool { tool, ..used };
        stats.tools = self.tools.into_iter().map(named).collect();
        stats
            .tools
            .sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.cmp(&b.tool)));
        stats.files = self.files.most_first();
        stats.commands = self.commands.most_first();
        stats.error_kinds = self.errors.most_first();
        stats.projects = self.projects.most_first();
    }
}
