//! One log, looked at for one day: its turns by the reader, and what the audit has to say of its lines.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;
use transcript::{Agent, Delta, Line, LineBody, Origin, PartKind, Session, State, Turn};

use super::links::{Link, Links};
use super::probe::{Head, probe, probe_sound};
use super::recalled::KeptPart;
use super::text::Text;
use super::window::Window;
use crate::files;
use crate::sources;

/// So many lines are read before what they gave is put together.
const PIECE_LINES: u64 = 4096;
/// No time that an agent writes is longer.
const TIME_BYTES_MAX: usize = 40;
/// How many triggers without a time are named.
const UNTIMED_MAX: usize = 20;

/// What a log tells.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) session: Option<Session>,
    /// The turns of the day, in order.
    pub(super) turns: Vec<Span>,
    pub(super) links: Vec<Link>,
    pub(super) cwd: Option<String>,
    pub(super) head: Option<Head>,
    /// It works for another session: its turns are nobody's.
    pub(super) is_child: bool,
    /// One of its lines is of the day.
    pub(super) is_at_work: bool,
    pub(super) lines: u64,
    pub(super) malformed: u64,
    /// Malformed lines that hold a date of the day.
    pub(super) malformed_of_day: u64,
    pub(super) untimestamped: u64,
    pub(super) non_monotonic: u64,
    pub(super) first_at: Option<Timestamp>,
    pub(super) last_at: Option<Timestamp>,
    /// Some of the lines at which a human asks and no time stands.
    pub(super) untimed: Vec<u64>,
}

/// The lines of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start_line: u64,
    pub(super) end_line: u64,
}

/// What a log of the day is looked for by.
pub(super) struct Day<'w> {
    pub(super) window: &'w Window,
    dates: Vec<(String, bool)>,
    /// What all dates begin with: one search finds them all.
    common: memmem::Finder<'static>,
    numbers: memmem::Finder<'static>,
}

impl<'w> Day<'w> {
    pub(super) fn new(window: &'w Window) -> Self {
        let dates = window.dates();
        let (first, last) = (dates.first(), dates.last());
        let ends = first.zip(last).map_or(("", ""), |(first, last)| (&first.0, &last.0));
        let length = ends.0.bytes().zip(ends.1.bytes()).take_while(|(a, b)| a == b).count();
        let finder = |word: &str| memmem::Finder::new(word.as_bytes()).into_owned();
        Self {
            window,
            common: finder(&ends.0[..length]),
            dates,
            numbers: finder("\"timestamp\":"),
        }
    }

    /// Whether a log can hold a time of the day: a date of it stands somewhere, times are bare numbers, or none is told.
    pub(super) fn may_be_in(&self, agent: Agent, text: &Text<'_>) -> io::Result<bool> {
        if agent == Agent::Grok {
            return Ok(true);
        }
        text.holds(|bytes| self.is_in(bytes) || self.has_numbers(bytes) || self.numbers.find(bytes).is_none())
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let is_date = |at: usize| {
            let told = &bytes[at..bytes.len().min(at + TIME_BYTES_MAX)];
            let date = self.dates.iter().find(|(date, _)| told.starts_with(date.as_bytes()));
            date.is_some_and(|(_, is_utc)| *is_utc || !ends_in_utc(told))
        };
        self.common.find_iter(bytes).any(is_date)
    }

    fn has_numbers(&self, bytes: &[u8]) -> bool {
        let is_number = |at: usize| {
            let value = bytes[at + self.numbers.needle().len()..].trim_ascii_start();
            value.first().is_some_and(u8::is_ascii_digit)
        };
        self.numbers.find_iter(bytes).any(is_number)
    }
}

/// Whether a time is told in UTC, as nearly all are.
fn ends_in_utc(told: &[u8]) -> bool {
    let end = told.iter().position(|byte| *byte == b'"').unwrap_or(told.len());
    let told = &told[..end];
    told.ends_with(b"Z") || told.ends_with(b"z") || told.ends_with(b"+00:00")
}

/// Looks at the lines of a log that was found at `place`, with what was kept of the files beside it where it is gone.
pub(super) fn scan(
    agent: Agent,
    place: &Path,
    beside: &[KeptPart],
    text: &Text<'_>,
    day: &Day<'_>,
) -> io::Result<Scan> {
    let mut gathered = Gathered::new(agent, place);
    match agent {
        Agent::Grok if beside.is_empty() => gathered.take_companions(place),
        Agent::Grok => gathered.take_kept(beside),
        Agent::Claude | Agent::Codex => {}
    }
    text.each_line(|line| {
        gathered.take(line, day);
        // Of a child nothing else is asked.
        !(gathered.scan.is_child && gathered.scan.is_at_work)
    })?;
    Ok(gathered.finish(day.window))
}

/// What the lines gave so far.
struct Gathered {
    agent: Agent,
    state: State,
    delta: Delta,
    turns: BTreeMap<u32, Turn>,
    session: Option<Session>,
    links: Links,
    /// Times that the reader does not take, by line.
    numbers: BTreeMap<u64, Timestamp>,
    before: Option<Timestamp>,
    has_head_cwd: bool,
    scan: Scan,
}

impl Gathered {
    fn new(agent: Agent, place: &Path) -> Self {
        let origin = Origin::of(&place.to_string_lossy());
        Self {
            agent,
            state: State::new(agent, origin.clone()),
            delta: Delta::default(),
            turns: BTreeMap::new(),
            session: None,
            links: Links::new(agent),
            numbers: BTreeMap::new(),
            before: None,
            has_head_cwd: false,
            scan: Scan {
                session: None,
                turns: Vec::new(),
                links: Vec::new(),
                cwd: None,
                head: None,
                is_child: agent == Agent::Claude && origin.is_subagent,
                is_at_work: false,
                lines: 0,
                malformed: 0,
                malformed_of_day: 0,
                untimestamped: 0,
                non_monotonic: 0,
                first_at: None,
                last_at: None,
                untimed: Vec::new(),
            },
        }
    }

    /// Small files beside the log tell who speaks in it.
    fn take_companions(&mut self, place: &Path) {
        let source = sources::source_of(self.agent, place);
        for part in source.parts.iter().filter(|part| !part.kind.has_lines()) {
            let directory = part.path.parent().unwrap_or(Path::new(""));
            if let Ok(bytes) = files::read_companion(directory, &part.path) {
                self.state.companion(part.kind, &bytes);
            }
        }
    }

    /// The same files as they were kept.
    fn take_kept(&mut self, beside: &[KeptPart]) {
        for part in beside.iter().filter(|part| !part.kind.has_lines()) {
            if let Ok(bytes) = fs::read(&part.file) {
                self.state.companion(part.kind, &bytes);
            }
        }
    }

    fn take(&mut self, line: &Line<'_>, day: &Day<'_>) {
        self.scan.lines = line.number;
        let faults = self.delta.faults.len();
        // Of a child only the time is asked.
        let is_read = !self.scan.is_child;
        if is_read {
            self.state.take(PartKind::Log, line, &mut self.delta);
        }
        let is_sound = is_read && self.delta.faults.len() == faults;
        match line.body {
            LineBody::Bytes(bytes) => self.look(line.number, bytes, is_sound, day),
            LineBody::Oversized { .. } => self.malformed(true),
        }
        if line.number.is_multiple_of(PIECE_LINES) {
            self.hand_over();
        }
    }

    fn look(&mut self, number: u64, bytes: &[u8], is_sound: bool, day: &Day<'_>) {
        // Nothing stands on a blank line, so nothing on it is wrong.
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let told = match is_sound {
            true => probe_sound(self.agent, bytes),
            false => probe(self.agent, bytes),
        };
        let Some(told) = told else {
            // A torn line may have lost its time; it was written after the line before.
            let is_of_day = day.is_in(bytes) || self.before.is_some_and(|before| day.window.contains(before));
            return self.malformed(is_of_day);
        };
        match told.at {
            Some(at) => {
                let scan = &mut self.scan;
                scan.non_monotonic += u64::from(self.before.is_some_and(|before| at < before));
                scan.first_at = Some(scan.first_at.map_or(at, |first| first.min(at)));
                scan.last_at = Some(scan.last_at.map_or(at, |last| last.max(at)));
                scan.is_at_work |= day.window.contains(at);
                self.before = Some(at);
                if told.is_number && self.agent != Agent::Grok {
                    self.numbers.insert(number, at);
                }
            }
            None => self.scan.untimestamped += 1,
        }
        if !self.scan.is_child {
            self.links.take(number, bytes);
        }
        // The first head names a Codex thread; later ones are copies, or those of the thread it was forked from.
        let is_first_head = told.head.is_some() && self.scan.head.is_none();
        if is_first_head {
            self.has_head_cwd = told.cwd.is_some();
            self.scan.is_child |= told.head.as_ref().is_some_and(|head| head.is_child);
            self.scan.head = told.head;
        }
        let is_better = is_first_head || (self.scan.cwd.is_none() && !self.has_head_cwd);
        if told.cwd.is_some() && is_better {
            self.scan.cwd = told.cwd;
        }
    }

    fn malformed(&mut self, is_of_day: bool) {
        self.scan.malformed += 1;
        self.scan.malformed_of_day += u64::from(is_of_day);
    }

    /// Puts together what the last lines gave.
    fn hand_over(&mut self) {
        let mut delta = std::mem::take(&mut self.delta);
        self.state.close(&mut delta);
        self.session = delta.session;
        for turn in delta.turns {
            self.turns.insert(turn.turn, turn);
        }
    }

    fn finish(mut self, window: &Window) -> Scan {
        self.hand_over();
        let mut scan = self.scan;
        for turn in self.turns.values() {
            let at = turn.started_at.or_else(|| self.numbers.get(&turn.start_line).copied());
            match at {
                Some(at) if window.contains(at) => scan.turns.push(Span {
                    start_line: turn.start_line,
                    end_line: turn.end_line,
                }),
                Some(_) => {}
                None if scan.untimed.len() < UNTIMED_MAX => scan.untimed.push(turn.start_line),
                None => {}
            }
        }
        scan.links = self.links.finish();
        scan.is_child |= self.session.as_ref().is_some_and(|session| session.is_subagent);
        scan.session = self.session;
        scan
    }
}
