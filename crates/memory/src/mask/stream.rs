//! Tokens that are broken over two records, because the agent wrote each record while the model was still speaking, and tokens that
//! the end of a log breaks off.
//!
//! Grok writes `…_chunk` records and Codex `…_delta` records, each with the next words of one text. The end of a text is carried to
//! the next record of the same kind. It is carried in memory alone, because on disk it would be the secret itself.

use super::judge::{self, Classes};
use super::rules::{Back, RULES, Rule};
use super::text::{is_left_border, is_word};
use super::{Found, LEVELS, Masker, Tier, escape, scan};
use memchr::memmem::Finder;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::LazyLock;
use transcript::Agent;

/// How much of a text's end is carried.
const CARRIED_BYTES_MAX: usize = 512;
/// How much of the next text is looked at together with what was carried.
const AHEAD_BYTES_MAX: usize = 4096;
/// How many bytes behind its prefix make the beginning of a token one.
const HEAD_BYTES_MIN: usize = 8;
/// How many texts may be open at once. An agent streams a reply, a thought and a plan; the rest is room for new kinds.
const OPEN_TEXTS_MAX: usize = 8;

/// What the masking of a log's lines remembers from one line to the next: how each streamed text ended.
#[derive(Default)]
pub struct LineState {
    /// Whose log it is, if that is known: each agent streams in its own form, and Claude Code in none.
    agent: Option<Agent>,
    /// Texts that may go on. A thought between two pieces of a reply does not end the reply, so each kind has its own.
    open: VecDeque<OpenText>,
}

/// The end of a streamed text.
struct OpenText {
    /// The kind of words: a reply or a thought.
    kind: Vec<u8>,
    /// What a token may go on from. It may be part of a secret, so it is never shown or kept.
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

/// Finds what belongs to a token that began in an earlier record, or that goes on in a later one.
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
    // Behind another token one may begin as well: nobody knows where the first ended.
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

/// Finds the beginning of a token at the end of a line that was broken off: the agent died, or it is still writing.
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

/// Returns the kind of a streamed record and where its text is between its quotes, or `None` if the line is no such record.
fn streamed_text(agent: Option<Agent>, line: &[u8]) -> Option<(&[u8], Range<usize>)> {
    static CHUNK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_chunk\""));
    static DELTA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_delta\""));
    // Every line is searched, so a log whose agent is known is searched for its own form alone.
    let chunk = || CHUNK.find(line).and_then(|at| text_of(line, at, b"text"));
    let delta = || DELTA.find(line).and_then(|at| text_of(line, at, b"delta"));
    match agent {
        Some(Agent::Claude) => None,
        Some(Agent::Grok) => chunk(),
        Some(Agent::Codex) => delta(),
        None => chunk().or_else(delta),
    }
}

/// Returns the kind of a record and where the string of its field `name` is between its quotes. `at` is inside of the kind's name.
fn text_of<'l>(line: &'l [u8], at: usize, name: &[u8]) -> Option<(&'l [u8], Range<usize>)> {
    let kind = memchr::memrchr(b'"', &line[..at])? + 1..at;
    // What the human said was written whole: the next prompt is no part of it.
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

/// Finds what becomes a secret by what was carried: the rest of a token, the value of a name.
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

/// The rule whose token begins a run and does not end with it.
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

/// The characters at the end of a text that tokens are made of, from where one may begin.
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
