//! Tokens that an agent broke over two records, since it wrote them while the model spoke.
//!
//! Grok writes `…_chunk` records, each with the next words of one text. What a text ends with is carried to
//! the next record of its kind, in memory alone: a state that were kept on disk would keep the secret.

use super::judge::{self, Classes};
use super::rules::{Back, RULES, Rule};
use super::text::{is_left_border, is_word};
use super::{Found, LEVELS, Masker, Tier, escape, scan};
use std::ops::Range;

/// How much of a text's end is carried.
const CARRIED_BYTES_MAX: usize = 512;
/// How much of the next text is looked at together with what was carried.
const AHEAD_BYTES_MAX: usize = 4096;
/// How many bytes behind its prefix make the beginning of a token one.
const HEAD_BYTES_MIN: usize = 8;

/// What the masking of a log's lines remembers from one line to the next: how the last words ended that were streamed.
#[derive(Default)]
pub struct LineState {
    /// Which kind of words: a reply or a thought.
    kind: Vec<u8>,
    /// The end of them, if a token may go on. It may hold a secret, so it is never shown or kept.
    open: Vec<u8>,
}

impl std::fmt::Debug for LineState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineState(…)")
    }
}

/// Finds what belongs to a token that began in an earlier record, or that goes on in a later one.
pub(super) fn find(masker: &Masker, state: &mut LineState, line: &[u8]) -> Vec<Found> {
    let Some((kind, inside)) = masker.chunks.find(line).and_then(|at| chunk(line, at)) else {
        return Vec::new();
    };
    let raw = &line[inside.clone()];
    let text = escape::decode_string(raw);
    let open = if state.kind == kind {
        std::mem::take(&mut state.open)
    } else {
        Vec::new()
    };
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
        let (rule, tier) = (rule.name.into(), Tier::A);
        let mut hit = Found::new(rule, tier, run, masker.key.fingerprint(token));
        hit.by_form = true;
        found.push(hit);
    }
    state.kind = kind.to_vec();
    state.open = begun;
    if state.open.len() > CARRIED_BYTES_MAX {
        state.open.clear();
    }
    let mut found = masker.resolve(&text, found);
    escape::to_raw_string(raw, &mut found);
    found.iter_mut().for_each(|hit| hit.shift(inside.start));
    found
}

/// The kind of a chunk, and where its text stands between its quotes. `at` is inside of the kind's name.
fn chunk(line: &[u8], at: usize) -> Option<(&[u8], Range<usize>)> {
    let kind = memchr::memrchr(b'"', &line[..at])? + 1..at;
    // What the human said was written whole: the next prompt is no part of it.
    if line[kind.clone()].starts_with(b"user") {
        return None;
    }
    let texts: [&[u8]; 2] = [b"\"text\":\"", b"\"text\": \""];
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
