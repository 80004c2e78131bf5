//! Days of two agents, made up from a seed: sessions with subagents, companions, torn lines, and midnights crossed in
//! zones whose days have 23, 24 and 25 hours.
//!
//! Same seed, same bytes. No clock, no disk. [`Traps::None`] plants only what every reader of the seeds' rules reads alike;
//! [`Traps::All`] plants what readers err on as well: records in the user's name that are not the user's, echoes, forks.

mod claude;
mod codex;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::truth::Dice;

/// How much is planted on which readers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traps {
    /// Nothing.
    None,
    /// All of it.
    All,
}

/// A day that was made up.
#[derive(Clone, Debug)]
pub struct MadeDay {
    /// The local date.
    pub date: &'static str,
    /// The zone's IANA name.
    pub timezone: &'static str,
    /// When the day begins and ends.
    pub bounds: (Timestamp, Timestamp),
    /// Path under the home that holds `claude/` and `codex/`, and bytes.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Zones, dates, and when they begin and end: days of 23, 24 and 25 hours and of half-hours.
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

/// Makes up the day of a seed.
pub fn day(seed: u64, traps: Traps) -> MadeDay {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
    let (timezone, date, start, end) = dice.pick(&DAYS);
    let time = |text: &str| text.parse::<Timestamp>().expect("a time of the table");
    let mut world = World {
        dice,
        traps,
        bounds: (time(start), time(end)),
        files: Vec::new(),
        count: 0,
        companions: Vec::new(),
    };
    for _ in 0..world.dice.between(0, 4) {
        claude::session(&mut world);
    }
    for _ in 0..world.dice.between(0, 4) {
        codex::session(&mut world);
    }
    for thread in std::mem::take(&mut world.companions) {
        codex::companion(&mut world, &thread);
    }
    MadeDay {
        date,
        timezone,
        bounds: world.bounds,
        files: world.files,
    }
}

/// What sessions share.
struct World {
    dice: Dice,
    traps: Traps,
    bounds: (Timestamp, Timestamp),
    files: Vec<(String, Vec<u8>)>,
    count: u64,
    /// Codex threads that a Claude session started and that are yet to be written.
    companions: Vec<String>,
}

impl World {
    /// True once in so many times.
    fn one_in(&mut self, times: u64) -> bool {
        self.dice.between(1, times) == 1
    }

    /// The same for what readers err on.
    fn trap(&mut self, times: u64) -> bool {
        self.traps == Traps::All && self.one_in(times)
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.dice.roll(), self.dice.roll());
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

    /// An id as agents give it to their subagents.
    fn agent_id(&mut self) -> String {
        format!("a{:016x}", self.dice.roll())
    }

    fn words(&mut self) -> String {
        let count = self.dice.between(2, 9);
        let mut words: Vec<&str> = (0..count).map(|_| self.dice.pick(&WORDS)).collect();
        // No two prompts are the same: equal words would be an echo.
        self.count += 1;
        let number = self.count.to_string();
        words.push(&number);
        words.join(" ")
    }

    /// When a session begins: mostly near the day, often near one of its midnights.
    fn start(&mut self) -> Timestamp {
        let (start, end) = self.bounds;
        let edge = if self.dice.coin() { start } else { end };
        let shift = match self.dice.below(4) {
            0 => SignedDuration::from_secs(-1),
            1 => SignedDuration::from_secs(self.dice.between(0, 1800) as i64 - 900),
            2 => SignedDuration::ZERO,
            _ => SignedDuration::from_secs(self.dice.between(0, 172_800) as i64 - 86_400),
        };
        edge + shift
    }
}

/// A log being written.
struct LogText {
    at: Timestamp,
    lines: Vec<String>,
}

impl LogText {
    fn new(at: Timestamp) -> Self {
        Self { at, lines: Vec::new() }
    }

    /// The next time: seconds later, sometimes hours.
    fn tick(&mut self, world: &mut World) -> String {
        let seconds = match world.dice.below(12) {
            0 => world.dice.between(600, 20_000),
            1 => 0,
            _ => world.dice.between(0, 90),
        };
        let millis = world.dice.between(0, 999);
        self.at += SignedDuration::from_millis((seconds * 1000 + millis) as i64);
        self.told(world)
    }

    /// The time as agents write it.
    fn told(&self, world: &mut World) -> String {
        match world.dice.below(20) {
            0 => format!("{:.0}", self.at),
            1 => format!("{:.6}", self.at).replace('Z', "+00:00"),
            _ => format!("{:.3}", self.at),
        }
    }

    fn put(&mut self, record: &Value) {
        self.lines.push(record.to_string());
    }

    /// Half a record, as a crash leaves it.
    fn torn(&mut self) {
        self.lines.push(r#"{"type":"assistant","timest"#.to_owned());
    }

    fn bytes(&self, world: &mut World) -> Vec<u8> {
        let mut text = self.lines.join("\n");
        if !world.one_in(6) {
            text.push('\n');
        }
        text.into_bytes()
    }
}
