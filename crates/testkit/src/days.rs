//! Generates days of two agents from a seed: sessions with subagents, companions and torn lines that cross midnight, in time zones
//! whose days have 23, 24 and 25 hours.
//!
//! The same seed gives the same bytes; no clock or disk is used. With [`Traps::None`], all correct readers agree on the day. With
//! [`Traps::All`], it also contains what readers often get wrong: records in the user's name that the user did not write, echoes, forks.

mod claude;
mod codex;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::truth::SeededRandom;

/// Whether a day contains what readers often get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traps {
    /// Nothing.
    None,
    /// All of it.
    All,
}

/// A generated day.
#[derive(Clone, Debug)]
pub struct GeneratedDay {
    /// The local date.
    pub date: &'static str,
    /// The zone's IANA name.
    pub timezone: &'static str,
    /// The start and the end of the day.
    pub bounds: (Timestamp, Timestamp),
    /// The files below `claude/` and `codex/`: relative path and content.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Zone, date, start and end. The days have 23, 24 or 25 hours, or start at half past.
const DAYS: [(&str, &str, &str, &str); 10] = [
    ("UTC", "2026-05-12", "2026-05-12T00:00:00Z", "2026-05-13T00:00:00Z"),
    (
        "Asia/Shanghai",
        "2026-05-12",
        "2026-05-11T16:00:00Z",
        "2026-05-12T16:00:00Z",
    ),
    (
        "Europe/Berlin",
        "2026-03-29",
        "2026-03-28T23:00:00Z",
        "2026-03-29T22:00:00Z",
    ),
    (
        "Europe/Berlin",
        "2026-10-25",
        "2026-10-24T22:00:00Z",
        "2026-10-25T23:00:00Z",
    ),
    (
        "America/New_York",
        "2026-03-08",
        "2026-03-08T05:00:00Z",
        "2026-03-09T04:00:00Z",
    ),
    (
        "America/New_York",
        "2026-11-01",
        "2026-11-01T04:00:00Z",
        "2026-11-02T05:00:00Z",
    ),
    (
        "Asia/Kathmandu",
        "2026-02-28",
        "2026-02-27T18:15:00Z",
        "2026-02-28T18:15:00Z",
    ),
    (
        "Australia/Lord_Howe",
        "2026-04-05",
        "2026-04-04T13:00:00Z",
        "2026-04-05T13:30:00Z",
    ),
    (
        "Africa/Cairo",
        "2026-04-24",
        "2026-04-23T22:00:00Z",
        "2026-04-24T21:00:00Z",
    ),
    (
        "Pacific/Kiritimati",
        "2025-12-31",
        "2025-12-30T10:00:00Z",
        "2025-12-31T10:00:00Z",
    ),
];

const PROJECTS: [Option<&str>; 8] = [
    Some("/home/ada/atlas"),
    Some("/home/ada/My Project (old)"),
    Some("/home/ada/日本語"),
    Some(r"C:\Users\ada\tool"),
    Some("/home/ada/a--b__c.d/"),
    Some("/home/ada/a-project-whose-name-is-longer-than-forty-eight-characters"),
    Some("work/relative"),
    None,
];

const WORDS: [&str; 24] = [
    "login", "test", "build", "parser", "cache", "retry", "window", "index", "schema", "queue", "colour", "naïve",
    "日付", "release", "branch", "merge", "error", "timeout", "socket", "table", "render", "widget", "café", "🦀",
];

/// Generates the day of a seed.
pub fn day(seed: u64, traps: Traps) -> GeneratedDay {
    let mut random = SeededRandom(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
    let (timezone, date, start, end) = random.pick(&DAYS);
    let time = |text: &str| text.parse::<Timestamp>().expect("a time of the table");
    let mut state = DayState {
        random,
        traps,
        bounds: (time(start), time(end)),
        files: Vec::new(),
        count: 0,
        companions: Vec::new(),
    };
    for _ in 0..state.random.between(0, 4) {
        claude::session(&mut state);
    }
    for _ in 0..state.random.between(0, 4) {
        codex::session(&mut state);
    }
    for thread in std::mem::take(&mut state.companions) {
        codex::companion(&mut state, &thread);
    }
    GeneratedDay {
        date,
        timezone,
        bounds: state.bounds,
        files: state.files,
    }
}

/// The state that sessions share.
struct DayState {
    random: SeededRandom,
    traps: Traps,
    bounds: (Timestamp, Timestamp),
    files: Vec<(String, Vec<u8>)>,
    count: u64,
    /// Codex threads that a Claude session started and that are not written yet.
    companions: Vec<String>,
}

impl DayState {
    /// Returns true once in `times`.
    fn one_in(&mut self, times: u64) -> bool {
        self.random.between(1, times) == 1
    }

    /// Returns true once in `times` if traps are enabled.
    fn trap(&mut self, times: u64) -> bool {
        self.traps == Traps::All && self.one_in(times)
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.random.next_u64(), self.random.next_u64());
        self.count += 1;
        format!(
            "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
            (a >> 32) as u32,
            a as u16,
            (a >> 16) as u16 & 0xfff,
            b as u16 & 0xfff,
            (b >> 16) & 0xffff_ffff_ffff
        )
    }

    /// Returns a subagent id.
    fn agent_id(&mut self) -> String {
        format!("a{:016x}", self.random.next_u64())
    }

    fn words(&mut self) -> String {
        let count = self.random.between(2, 9);
        let mut words: Vec<&str> = (0..count).map(|_| self.random.pick(&WORDS)).collect();
        // Every prompt is unique, because readers treat an equal text as an echo.
        self.count += 1;
        let number = self.count.to_string();
        words.push(&number);
        words.join(" ")
    }

    /// Picks the start of a session: usually near the day, often near one of its midnights.
    fn start(&mut self) -> Timestamp {
        let (start, end) = self.bounds;
        let edge = if self.random.flip() { start } else { end };
        let shift = match self.random.below(4) {
            0 => SignedDuration::from_secs(-1),
            1 => SignedDuration::from_secs(self.random.between(0, 1800) as i64 - 900),
            2 => SignedDuration::ZERO,
            _ => SignedDuration::from_secs(self.random.between(0, 172_800) as i64 - 86_400),
        };
        edge + shift
    }
}

/// A log under construction.
struct LogText {
    at: Timestamp,
    lines: Vec<String>,
}

impl LogText {
    fn new(at: Timestamp) -> Self {
        Self { at, lines: Vec::new() }
    }

    /// Advances the time by seconds, sometimes by hours, and returns it.
    fn tick(&mut self, state: &mut DayState) -> String {
        let seconds = match state.random.below(12) {
            0 => state.random.between(600, 20_000),
            1 => 0,
            _ => state.random.between(0, 90),
        };
        let millis = state.random.between(0, 999);
        self.at += SignedDuration::from_millis((seconds * 1000 + millis) as i64);
        self.current_time(state)
    }

    /// Returns the time in the format of the logs.
    fn current_time(&self, state: &mut DayState) -> String {
        match state.random.below(20) {
            0 => format!("{:.0}", self.at),
            1 => format!("{:.6}", self.at).replace('Z', "+00:00"),
            _ => format!("{:.3}", self.at),
        }
    }

    fn put(&mut self, record: &Value) {
        self.lines.push(record.to_string());
    }

    /// Appends half a record, as a crash leaves it.
    fn torn(&mut self) {
        self.lines.push(r#"{"type":"assistant","timest"#.to_owned());
    }

    fn bytes(&self, state: &mut DayState) -> Vec<u8> {
        let mut text = self.lines.join("\n");
        if !state.one_in(6) {
            text.push('\n');
        }
        text.into_bytes()
    }
}
