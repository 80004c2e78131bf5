//! Reads one log for one day: its turns as the reader parses them, and the line counts for the audit.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;
use transcript::{Agent, Delta, LineBody, Origin, PartKind, Session, State, Turn};

use super::links::{ChildLink, ChildLinks};
use super::probe::{ThreadHead, probe, probe_parsed};
use super::recalled::StoredCompanion;
use super::text::LogText;
use super::window::DayWindow;
use crate::files;
use crate::ingest::{self, CleanLines, Disclosure, LineForm, PendingLine};
use crate::sources;

/// Number of lines parsed before the reader's delta is merged.
const PIECE_LINES: u64 = 4096;
/// Longer than any timestamp that an agent writes.
const TIME_BYTES_MAX: usize = 40;
/// Maximum number of triggers without a time whose lines are listed.
const UNTIMED_MAX: usize = 20;

/// The result of reading a log.
#[derive(Debug)]
pub(super) struct LogScan {
    pub(super) session: Option<Session>,
    /// The turns of the day, in order.
    pub(super) turns: Vec<TurnSpan>,
    pub(super) links: Vec<ChildLink>,
    pub(super) cwd: Option<String>,
    pub(super) head: Option<ThreadHead>,
    /// True if the log belongs to a subagent. Its turns are not listed because they are part of the parent's turns.
    pub(super) is_child: bool,
    /// True if one of its lines is of the day.
    pub(super) is_at_work: bool,
    pub(super) lines: u64,
    pub(super) malformed: u64,
    /// Malformed lines that contain a date of the day.
    pub(super) malformed_of_day: u64,
    pub(super) untimestamped: u64,
    pub(super) non_monotonic: u64,
    pub(super) first_at: Option<Timestamp>,
    pub(super) last_at: Option<Timestamp>,
    /// Lines of prompts without a timestamp, up to a limit.
    pub(super) untimed: Vec<u64>,
    /// Lines without a secret, which a copy need not search again.
    pub(super) clean: CleanLines,
}

/// The lines of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnSpan {
    pub(super) start_line: u64,
    pub(super) end_line: u64,
}

/// Searchers by which a log of the day is recognized without parsing it.
pub(super) struct DayMatcher<'w> {
    pub(super) window: &'w DayWindow,
    dates: Vec<(String, bool)>,
    /// The common prefix of all dates, so that one search finds them all.
    common: memmem::Finder<'static>,
    numbers: memmem::Finder<'static>,
}

impl<'w> DayMatcher<'w> {
    pub(super) fn new(window: &'w DayWindow) -> Self {
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

    /// Returns `true` if a log may contain a time of the day: if it contains one of the day's dates, if its times are
    /// bare numbers, or if it has no times.
    pub(super) fn may_contain_day(&self, agent: Agent, text: &LogText<'_>) -> io::Result<bool> {
        if agent == Agent::Grok {
            return Ok(true);
        }
        text.any_chunk(|bytes| self.has_date(bytes) || self.has_numbers(bytes) || self.numbers.find(bytes).is_none())
    }

    fn has_date(&self, bytes: &[u8]) -> bool {
        let is_date = |at: usize| {
            let facts = &bytes[at..bytes.len().min(at + TIME_BYTES_MAX)];
            let date = self.dates.iter().find(|(date, _)| facts.starts_with(date.as_bytes()));
            date.is_some_and(|(_, is_utc)| *is_utc || !ends_in_utc(facts))
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

/// Returns `true` if a time is in UTC, as almost all are.
fn ends_in_utc(facts: &[u8]) -> bool {
    let end = facts.iter().position(|byte| *byte == b'"').unwrap_or(facts.len());
    let facts = &facts[..end];
    facts.ends_with(b"Z") || facts.ends_with(b"z") || facts.ends_with(b"+00:00")
}

/// Scans the log that was at `place`. `companions` contains the stored companion files if the log was deleted.
pub(super) fn scan(
    agent: Agent,
    place: &Path,
    companions: &[StoredCompanion],
    text: &LogText<'_>,
    disclosure: Disclosure<'_>,
    day: &DayMatcher<'_>,
) -> io::Result<LogScan> {
    let mut scanner = LogScanner::new(agent, place);
    match agent {
        Agent::Grok if companions.is_empty() => scanner.read_companions(place, disclosure),
        Agent::Grok => scanner.read_stored_companions(companions, disclosure),
        Agent::Claude | Agent::Codex => {}
    }
    text.each_line(agent, disclosure, |line| {
        scanner.read_line(line, day);
        // Nothing else is needed of a child.
        !(scanner.scan.is_child && scanner.scan.is_at_work)
    })?;
    Ok(scanner.finish(day.window))
}

/// The state of a scan.
struct LogScanner {
    agent: Agent,
    state: State,
    delta: Delta,
    turns: BTreeMap<u32, Turn>,
    session: Option<Session>,
    links: ChildLinks,
    /// Times that the reader does not accept, by line.
    numbers: BTreeMap<u64, Timestamp>,
    previous_at: Option<Timestamp>,
    has_head_cwd: bool,
    scan: LogScan,
}

impl LogScanner {
    fn new(agent: Agent, place: &Path) -> Self {
        let origin = Origin::of(&place.to_string_lossy());
        Self {
            agent,
            state: State::new(agent, origin.clone()),
            delta: Delta::default(),
            turns: BTreeMap::new(),
            session: None,
            links: ChildLinks::new(agent),
            numbers: BTreeMap::new(),
            previous_at: None,
            has_head_cwd: false,
            scan: LogScan {
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
                clean: CleanLines::default(),
            },
        }
    }

    /// Passes the small files next to the log to the reader, because they name the speakers.
    fn read_companions(&mut self, place: &Path, disclosure: Disclosure<'_>) {
        let source = sources::find_source(self.agent, place);
        for part in source.parts.iter().filter(|part| !part.kind.has_lines()) {
            let directory = part.path.parent().unwrap_or(Path::new(""));
            if let Ok(bytes) = files::read_companion(directory, &part.path) {
                self.companion(part.kind, &bytes, disclosure);
            }
        }
    }

    /// Passes the stored copies of these files to the reader.
    fn read_stored_companions(&mut self, companions: &[StoredCompanion], disclosure: Disclosure<'_>) {
        for part in companions.iter().filter(|part| !part.kind.has_lines()) {
            if let Ok(bytes) = fs::read(&part.file) {
                self.companion(part.kind, &bytes, disclosure);
            }
        }
    }

    fn companion(&mut self, kind: PartKind, bytes: &[u8], disclosure: Disclosure<'_>) {
        let masked = ingest::mask_bytes(disclosure, LineForm::Text, bytes, &mut Vec::new());
        self.state.companion(kind, &masked);
    }

    fn read_line(&mut self, line: PendingLine<'_, '_>, day: &DayMatcher<'_>) {
        let number = line.number();
        self.scan.lines = number;
        if self.scan.is_child {
            // Of a child, only the times are needed, and a time is no secret.
            match line.raw() {
                LineBody::Bytes(bytes) => self.inspect_line(number, bytes, false, day),
                LineBody::Oversized { .. } => self.count_malformed(true),
            }
        } else {
            let faults = self.delta.faults.len();
            let line = line.mask_and_remember(&mut self.scan.clean);
            self.state.take(PartKind::Log, &line, &mut self.delta);
            let is_valid = self.delta.faults.len() == faults;
            match line.bytes() {
                Some(bytes) => self.inspect_line(number, bytes, is_valid, day),
                None => self.count_malformed(true),
            }
        }
        if number.is_multiple_of(PIECE_LINES) {
            self.merge_delta();
        }
    }

    fn inspect_line(&mut self, number: u64, bytes: &[u8], is_valid: bool, day: &DayMatcher<'_>) {
        // A blank line is not malformed.
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let facts = match is_valid {
            true => probe_parsed(self.agent, bytes),
            false => probe(self.agent, bytes),
        };
        let Some(facts) = facts else {
            // A torn line may have lost its time, but it was written after the previous line.
            let is_of_day = day.has_date(bytes)
                || self
                    .previous_at
                    .is_some_and(|previous_at| day.window.contains(previous_at));
            return self.count_malformed(is_of_day);
        };
        match facts.at {
            Some(at) => {
                let scan = &mut self.scan;
                scan.non_monotonic += u64::from(self.previous_at.is_some_and(|previous_at| at < previous_at));
                scan.first_at = Some(scan.first_at.map_or(at, |first| first.min(at)));
                scan.last_at = Some(scan.last_at.map_or(at, |last| last.max(at)));
                scan.is_at_work |= day.window.contains(at);
                self.previous_at = Some(at);
                if facts.is_number && self.agent != Agent::Grok {
                    self.numbers.insert(number, at);
                }
            }
            None => self.scan.untimestamped += 1,
        }
        if !self.scan.is_child {
            self.links.read_line(number, bytes);
        }
        // The first head belongs to the thread itself. Later heads are copies, or those of the thread from which it was
        // forked.
        let is_first_head = facts.head.is_some() && self.scan.head.is_none();
        if is_first_head {
            self.has_head_cwd = facts.cwd.is_some();
            self.scan.is_child |= facts.head.as_ref().is_some_and(|head| head.is_child);
            self.scan.head = facts.head;
        }
        let is_better = is_first_head || (self.scan.cwd.is_none() && !self.has_head_cwd);
        if facts.cwd.is_some() && is_better {
            self.scan.cwd = facts.cwd;
        }
    }

    fn count_malformed(&mut self, is_of_day: bool) {
        self.scan.malformed += 1;
        self.scan.malformed_of_day += u64::from(is_of_day);
    }

    /// Merges the delta of the last lines.
    fn merge_delta(&mut self) {
        let mut delta = std::mem::take(&mut self.delta);
        self.state.close(&mut delta);
        self.session = delta.session;
        for turn in delta.turns {
            self.turns.insert(turn.turn, turn);
        }
    }

    fn finish(mut self, window: &DayWindow) -> LogScan {
        self.merge_delta();
        let mut scan = self.scan;
        for turn in self.turns.values() {
            let at = turn.started_at.or_else(|| self.numbers.get(&turn.start_line).copied());
            match at {
                Some(at) if window.contains(at) => scan.turns.push(TurnSpan {
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
