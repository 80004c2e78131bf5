//! Tokens that are split over two records, because the agent wrote each record while the model was still generating,
//! and tokens that are cut off at the end of a log.
//!
//! Grok writes `…_chunk` records and Codex `…_delta` records, each with the next part of one text. The end of a text is
//! carried to the next record of the same kind. It is only held in memory, because on disk it would be the secret
//! itself.

use super::judge::{self, Classes};
use super::rules::{Back, RULES, Rule};
use super::text::{is_left_border, is_word};
use super::{Found, LEVELS, Masker, Tier, escape, scan};
use memchr::memmem::Finder;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::LazyLock;
use transcript::Agent;

/// Maximum length of the end of a text that is carried.
const CARRIED_BYTES_MAX: usize = 512;
/// Maximum length of the next text that is searched together with the carried end.
const AHEAD_BYTES_MAX: usize = 4096;
/// Minimum number of bytes after its prefix that make the beginning of a token recognisable.
const HEAD_BYTES_MIN: usize = 8;
/// Maximum number of texts that are open at once. An agent streams a reply, a thought and a plan; the rest is room for
/// new kinds.
const OPEN_TEXTS_MAX: usize = 8;

/// The state of masking between two lines of a log: the end of each streamed text.
#[derive(Default)]
pub struct LineState {
    /// The agent that wrote the log, if it is known: each agent streams in its own form, and Claude Code in none.
    agent: Option<Agent>,
    /// Texts that may continue. A thought between two pieces of a reply does not end the reply, so each kind has its
    /// own entry.
    open: VecDeque<OpenText>,
}

/// The end of a streamed text.
struct OpenText {
    /// The kind of record, such as a reply or a thought.
    kind: Vec<u8>,
    /// The text from which a token may continue. It may be part of a secret, so it is never shown or stored.
    end: Vec<u8>,
}

impl LineState {
    /// Returns the state before the first line of an agent's log.
    pub fn of_agent(agent: impl Into<Option<Agent>>) -> Self {
        Self {
            agent: agent.into(),
            open: VecDeque::new(),
        }
    }

    /// Removes and returns the end of the open text of a kind.
    fn take_end(&mut self, kind: &[u8]) -> Vec<u8> {
        let at = self.open.iter().position(|text| text.kind == kind);
        at.and_then(|at| self.open.remove(at))
            .map_or(Vec::new(), |text| text.end)
    }

    fn put_end(&mut self, kind: &[u8], end: Vec<u8>) {
        if end.is_empty() || end.len() > CARRIED_BYTES_MAX {
            return;
        }
        if self.open.len() == OPEN_TEXTS_MAX {
            self.open.pop_front();
        }
        self.open.push_back(OpenText {
            kind: kind.to_vec(),
            end,
        });
    }
}

impl std::fmt::Debug for LineState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineState(…)")
    }
}

/// Finds the parts of a record that belong to a token which began in an earlier record or continues in a later one.
pub(super) fn find(masker: &Masker, state: &mut LineState, line: &[u8]) -> Vec<Found> {
    let Some((kind, inside)) = streamed_text(state.agent, line) else {
        return Vec::new();
    };
    let raw = &line[inside.clone()];
    let text = escape::decode_string(raw);
    let open = state.take_end(kind);
    let mut found = goes_on(masker, &open, &text);
    let is_all_run = text.iter().all(|byte| is_run(*byte));
    let run = trailing_run(&text);
    let begun = if is_all_run {
        [open, text.clone()].concat()
    } else {
        text[run.clone()].to_vec()
    };
    // Another token may begin after the first, because the end of the first is unknown.
    let own = &text[run.clone()];
    let first = [begun.as_slice(), own]
        .into_iter()
        .find_map(|token| Some((begun_rule(token)?, token)));
    if let Some((rule, token)) = first {
        found.push(begun_token(masker, rule, token, run));
    }
    state.put_end(kind, begun);
    let mut found = masker.resolve(&text, found);
    escape::to_raw_string(raw, &mut found);
    found.iter_mut().for_each(|hit| hit.shift(inside.start));
    found
}

/// Finds the beginning of a token at the end of a line that was cut off because the agent died or is still writing.
pub(super) fn find_torn(masker: &Masker, line: &[u8]) -> Vec<Found> {
    let run = trailing_run(line);
    let token = &line[run.clone()];
    let rule = begun_rule(token);
    rule.map(|rule| begun_token(masker, rule, token, run))
        .into_iter()
        .collect()
}

fn begun_token(masker: &Masker, rule: &'static Rule, token: &[u8], run: Range<usize>) -> Found {
    let mut hit = Found::new(rule.name.into(), Tier::A, run, masker.key.fingerprint(token));
    hit.by_form = true;
    hit
}

/// Returns the kind of a streamed record and the range of its text between the quotes, or `None` for any other line.
fn streamed_text(agent: Option<Agent>, line: &[u8]) -> Option<(&[u8], Range<usize>)> {
    static CHUNK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_chunk\""));
    static DELTA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_delta\""));
    // Because every line is searched, a log with a known agent is searched for the form of that agent alone.
    let chunk = || CHUNK.find(line).and_then(|at| text_of(line, at, b"text"));
    let delta = || DELTA.find(line).and_then(|at| text_of(line, at, b"delta"));
    match agent {
        Some(Agent::Claude) => None,
        Some(Agent::Grok) => chunk(),
        Some(Agent::Codex) => delta(),
        None => chunk().or_else(delta),
    }
}

/// Returns the kind of a record and the range of its string field `name` between the quotes. `at` is a position inside
/// the kind's name.
fn text_of<'l>(line: &'l [u8], at: usize, name: &[u8]) -> Option<(&'l [u8], Range<usize>)> {
    let kind = memchr::memrchr(b'"', &line[..at])? + 1..at;
    // The user's prompts are written in one piece: the next prompt is not a continuation.
    if line[kind.clone()].starts_with(b"user") {
        return None;
    }
    let texts = [b"\":\"".as_slice(), b"\": \""].map(|between| [b"\"", name, between].concat());
    let start = texts
        .iter()
        .find_map(|text| Some(memchr::memmem::find(line, text)? + text.len()))?;
    let mut end = start;
    loop {
        end += memchr::memchr2(b'"', b'\\', line.get(end..)?)?;
        if line[end] == b'"' {
            return Some((&line[kind], start..end));
        }
        end += 2;
    }
}

/// Finds secrets that the carried text makes recognisable: the rest of a token, the value of a name.
fn goes_on(masker: &Masker, open: &[u8], text: &[u8]) -> Vec<Found> {
    if open.is_empty() {
        return Vec::new();
    }
    let joined = [open, &text[..text.len().min(AHEAD_BYTES_MAX)]].concat();
    let mut found = scan::find(masker, &joined, LEVELS);
    found.retain(|hit| hit.range.end > open.len());
    for hit in &mut found {
        hit.range = hit.range.start.saturating_sub(open.len())..hit.range.end - open.len();
    }
    found
}

/// Returns the rule of a token that begins at the start of a run and may continue after its end.
fn begun_rule(run: &[u8]) -> Option<&'static Rule> {
    let begins = |rule: &&Rule| {
        let back = match rule.back {
            Back::Gate => 0,
            Back::Bytes(count) => count,
            Back::Digits => run.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        };
        let from_gate = run.get(back..).unwrap_or_default();
        let gate = rule.gates.iter().find(|gate| from_gate.starts_with(gate.as_bytes()));
        gate.is_some_and(|gate| is_secret(rule, &from_gate[gate.len()..]))
    };
    RULES.iter().filter(|rule| !rule.names_its_place()).find(begins)
}

fn is_secret(rule: &Rule, rest: &[u8]) -> bool {
    let classes = Classes::of(rest);
    let is_long = rest.len() >= HEAD_BYTES_MIN * if rule.digit { 2 } else { 1 };
    is_long && classes.digit && classes.letter() && !judge::is_wordy(rest) && !judge::is_blank_form(rest)
}

/// Returns the range of token characters at the end of a text, from the first position where a token may begin.
fn trailing_run(text: &[u8]) -> Range<usize> {
    let length = text.iter().rev().take_while(|byte| is_run(**byte)).count();
    let mut start = text.len() - length;
    while start < text.len() && !is_left_border(text, start) {
        start += 1;
    }
    start..text.len()
}

fn is_run(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b':')
}
