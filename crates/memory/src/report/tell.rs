//! What is told of a piece of work: what was asked, what was done and what came of it. Each sentence stands on lines.

use std::collections::BTreeMap;

use transcript::{GitCommit, runs_commands};

use super::commands::ran;
use super::facts::Facts;
use super::fields::{Citation, Statement};
use super::group::{goes_on, is_note, same_key};
use super::judge::{Delivery, Piece};
use super::paths::{fitting, in_command};
use super::words::{Sentence, answered, count, is_pasted, quoted, say, times, title};
use crate::digest::{End, Ran};
use crate::outcome::{Confidence, Reason};

const PROMPT_CHARS: usize = 420;
const FOLLOW_UP_CHARS: usize = 200;
const REPLY_CHARS: usize = 360;
const FILES_TOLD: usize = 5;
const COMMITS_TOLD: usize = 3;
const PROMPTS_TOLD: usize = 3;

/// The human's first words of a piece that say what it is about.
pub(super) fn title_of(facts: &Facts, piece: &Piece) -> Statement {
    let chars = |turn: &&usize| facts.turns[**turn].prompt.text.chars().count();
    let about = |turn: &&usize| !goes_on(&facts.turns[**turn].prompt.text) && chars(turn) >= 15;
    let longest = || {
        piece
            .turns
            .iter()
            .max_by_key(|turn| (chars(turn), std::cmp::Reverse(**turn)))
    };
    let turn = *piece
        .turns
        .iter()
        .find(about)
        .or_else(longest)
        .unwrap_or(&piece.turns[0]);
    let (own, session) = (&facts.turns[turn], facts.session_of(turn));
    let prompt = &own.prompt;
    // What was pasted says less than what the session is called; of a later turn the session's name may say nothing.
    let named = session.title.as_deref().map(title).filter(|name| !name.is_empty());
    let named = named.filter(|_| own.turn_ref == "T0001" && is_pasted(&prompt.text));
    let words = named.unwrap_or_else(|| title(&prompt.text));
    let citation = facts.cite_line(turn, prompt.line);
    match words.is_empty() {
        // An image, or nothing at all.
        true => say("Asked without words").cite([citation]),
        false => Sentence::default().quote(words).cite([citation]),
    }
}

/// What was asked, in the human's words.
pub(super) fn asked(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut told = Vec::new();
    let mut seen: Vec<(String, usize)> = Vec::new();
    let mut again: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut rest: Vec<usize> = Vec::new();
    for turn in piece.turns.iter().copied() {
        let prompt = &facts.turns[turn].prompt;
        if prompt.text.is_empty() {
            continue;
        }
        let key = same_key(&prompt.text).unwrap_or_else(|| prompt.text.clone());
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == key) {
            again.entry(*first).or_default().push(turn);
            continue;
        }
        seen.push((key, turn));
        let is_telling = told.is_empty() || prompt.text.chars().count() > 12;
        if told.len() >= PROMPTS_TOLD || !is_telling {
            rest.push(turn);
            continue;
        }
        let most = if told.is_empty() { PROMPT_CHARS } else { FOLLOW_UP_CHARS };
        let taken_back = if facts.turns[turn].is_rewound {
            "Taken back later: "
        } else {
            ""
        };
        let words = Sentence::default().say(taken_back).quote(quoted(&prompt.text, most));
        told.push(words.cite([facts.cite_line(turn, prompt.line)]));
    }
    let lines = |turns: &[usize]| -> Vec<Citation> {
        let line = |turn: &usize| facts.cite_line(*turn, facts.turns[*turn].prompt.line);
        turns.iter().map(line).collect()
    };
    let is_told =
        |(first, turns): &(&usize, &Vec<usize>)| turns.len() > 1 || !goes_on(&facts.turns[**first].prompt.text);
    for (first, turns) in again.iter().filter(is_told).take(2) {
        let words = Sentence::default().quote(quoted(&facts.turns[*first].prompt.text, 60));
        told.push(words.say(format!(" again, {}", times(turns.len()))).cite(lines(turns)));
    }
    if !rest.is_empty() {
        let longest = rest
            .iter()
            .max_by_key(|turn| (facts.turns[**turn].prompt.text.chars().count(), usize::MAX - **turn));
        let words = say(format!("and {}", count(rest.len(), "more prompt")));
        let is_long = |turn: &&usize| rest.len() == 1 || facts.turns[**turn].prompt.text.chars().count() > 24;
        let words = match longest.filter(is_long) {
            Some(turn) if rest.len() > 1 => words
                .say(", the longest of them ")
                .quote(quoted(&facts.turns[*turn].prompt.text, 120)),
            Some(turn) => words.say(": ").quote(quoted(&facts.turns[*turn].prompt.text, 120)),
            None => words,
        };
        told.push(words.cite(lines(&rest)));
    }
    told
}

/// What was done: files, tests, commits, commands, and through whom.
pub(super) fn done(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut told = Vec::new();
    told.extend(edited(facts, piece));
    told.extend(tested(facts, piece));
    told.extend(committed(facts, piece));
    told.extend(ran(facts, piece));
    told.extend(handed_over(facts, piece));
    if piece.files.is_empty() {
        told.extend(looked(facts, piece));
    }
    told
}

fn edited(facts: &Facts, piece: &Piece) -> Option<Statement> {
    if piece.files.is_empty() {
        return None;
    }
    let mut files: Vec<(&String, &u64)> = piece.files.iter().collect();
    files.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let name = |(file, edits): &(&String, &u64)| (quoted(&fitting(file, 80), 90), **edits);
    let mut sentence = say("Edited ");
    for (at, (file, edits)) in files.iter().take(FILES_TOLD).map(name).enumerate() {
        sentence = sentence.say(if at > 0 { ", " } else { "" }).code(file);
        if edits > 1 {
            sentence = sentence.say(format!(" ({})", times(edits as usize)));
        }
    }
    if files.len() > FILES_TOLD {
        sentence = sentence.say(format!(" and {}", count(files.len() - FILES_TOLD, "more file")));
    }
    let lines = piece.turns.iter().filter_map(|turn| edits_of(facts, *turn));
    let mut lines: Vec<(usize, Citation)> = lines.collect();
    lines.sort_by_key(|(edits, _)| std::cmp::Reverse(*edits));
    Some(sentence.cite(lines.into_iter().map(|(_, citation)| citation)))
}

/// The edits of a turn: how many, and from which line to which.
fn edits_of(facts: &Facts, turn: usize) -> Option<(usize, Citation)> {
    let own = &facts.turns[turn];
    let is_edit = |ran: &&Ran| ran.files.iter().any(|file| !is_note(file)) && !ran.failed() && ran.end == End::Answered;
    let edits = own.ran().chain(&own.aside).filter(is_edit);
    let mut lines: Vec<u64> = edits.map(|ran| ran.line).collect();
    let children = own.subagents.iter().filter(|child| !child.files.is_empty());
    lines.extend(children.flat_map(|child| [child.first_line, child.last_line]));
    let (first, last) = (*lines.iter().min()?, *lines.iter().max()?);
    Some((lines.len(), facts.cite(turn, first, last)))
}

fn tested(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut runs: BTreeMap<&str, Vec<&super::judge::Test>> = BTreeMap::new();
    for test in &piece.tests {
        runs.entry(&test.name).or_default().push(test);
    }
    let mut runs: Vec<_> = runs.into_iter().collect();
    runs.sort_by_key(|(name, runs)| (std::cmp::Reverse(runs.len()), *name));
    let tell = |(name, runs): &(&str, Vec<&super::judge::Test>)| {
        let of = |passed: Option<bool>| runs.iter().filter(|run| run.passed == passed).count();
        let parts = [
            (of(Some(true)), "passed"),
            (of(Some(false)), "failed"),
            (of(None), "left no clear result"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| match runs.len() {
                1 => (*word).to_owned(),
                _ => format!("{count} {word}"),
            })
            .collect();
        let last = runs.iter().max_by_key(|run| run.seq)?;
        let mut sentence = say("Ran tests with ").code(quoted(name, 60));
        sentence = match runs.len() {
            1 => sentence.say(format!(": {}", parts.join(", "))),
            all => sentence.say(format!(" {}: {}", times(all), parts.join(", "))),
        };
        if parts.len() > 1 {
            sentence = sentence.say(match last.passed {
                Some(true) => "; the last one passed",
                Some(false) => "; the last one failed",
                None => "; of the last one it is not clear",
            });
        }
        let failed = runs.iter().find(|run| run.passed == Some(false));
        let lines = failed.into_iter().chain([last]);
        Some(sentence.cite(lines.map(|run| facts.cite_line(run.turn, run.line))))
    };
    runs.iter().take(3).filter_map(tell).collect()
}

fn committed(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let step = |one: &'_ Delivery| facts.turns[one.turn].ran().find(|ran| ran.seq == one.seq);
    let all: Vec<(&Delivery, &Ran)> = piece.commits.iter().filter_map(|one| Some((one, step(one)?))).collect();
    let mut told: Vec<Statement> = all
        .iter()
        // One more has room for itself.
        .take(if all.len() == COMMITS_TOLD + 1 {
            all.len()
        } else {
            COMMITS_TOLD
        })
        .map(|(one, ran)| describe_delivery(facts, one, ran).cite([facts.cite_line(one.turn, ran.line)]))
        .collect();
    let more = &all[all.len().min(told.len())..];
    if !more.is_empty() {
        let lines = more.iter().map(|(one, ran)| facts.cite_line(one.turn, ran.line));
        let what = match more.iter().any(|(one, _)| one.commit.is_none()) {
            true => "Committed or offered",
            false => "Committed",
        };
        told.push(say(format!("{what} {} more", times(more.len()))).cite(lines));
    }
    told
}

/// Describes the commit or pull request that a step made.
fn describe_delivery(facts: &Facts, one: &Delivery, ran: &Ran) -> Sentence {
    let url = ran.result.split_whitespace().find(|word| word.contains("/pull/"));
    let cwd = facts.session_of(one.turn).cwd.as_deref();
    let command = || quoted(&in_command(&ran.wording, cwd), 120);
    let Some(GitCommit { hash, subject }) = &one.commit else {
        return match url {
            Some(url) => say("Opened or merged a pull request: ").code(quoted(url, 120)),
            None => say("Opened or merged a pull request with ").code(command()),
        };
    };
    match (hash, subject) {
        (Some(hash), Some(subject)) => say("Committed ").code(quoted(&format!("{hash} {subject}"), 120)),
        (None, Some(subject)) => say("Committed ").quote(quoted(subject, 110)),
        (Some(hash), None) => say("Committed ").code(hash.clone()),
        (None, None) => say("Committed with ").code(command()),
    }
}

fn handed_over(facts: &Facts, piece: &Piece) -> Option<Statement> {
    let mut roles: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut all, mut calls, mut lines) = (0, 0, Vec::new());
    for turn in piece.turns.iter().copied() {
        for child in &facts.turns[turn].subagents {
            all += 1;
            calls += child.tool_calls;
            *roles.entry(child.role.as_deref().unwrap_or_default()).or_default() += 1;
            lines.push(facts.cite(turn, child.first_line, child.last_line));
        }
    }
    if all == 0 {
        return None;
    }
    let mut sentence = say(format!("Handed work to {}", count(all, "subagent")));
    roles.remove("");
    if !roles.is_empty() {
        sentence = sentence
            .say(" (")
            .codes(roles.keys().take(4).map(|role| quoted(role, 40)))
            .say(")");
    }
    if calls > 0 {
        sentence = sentence.say(format!(", which made {}", count(calls as usize, "tool call")));
    }
    Some(sentence.cite(lines))
}

/// How work without edits went.
fn looked(facts: &Facts, piece: &Piece) -> Option<Statement> {
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for turn in piece.turns.iter().copied() {
        let own: Vec<&Ran> = facts.turns[turn].ran().collect();
        for ran in &own {
            *tools.entry(&ran.tool).or_default() += 1;
        }
        if let (Some(first), Some(last)) = (own.first(), own.last()) {
            lines.push(facts.cite(turn, first.line, last.line));
        }
    }
    let all: usize = tools.values().sum();
    if all == 0 {
        return None;
    }
    let mut tools: Vec<_> = tools.into_iter().collect();
    tools.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let mut sentence = say(format!("Changed no file; {}: ", count(all, "tool call")));
    for (at, (tool, calls)) in tools.iter().take(4).enumerate() {
        sentence = sentence
            .say(if at > 0 { ", " } else { "" })
            .code(quoted(tool, 40))
            .say(format!(" {calls}"));
    }
    Some(sentence.cite(lines))
}

/// What came of it: the judgement with its evidence, and the agent's last words.
pub(super) fn came(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut told = Vec::new();
    let judgement = &piece.judgement;
    let evidence = facts.cite_evidence(&judgement.evidence);
    let shown = judgement
        .evidence
        .first()
        .and_then(|evidence| shell_of(facts, evidence));
    let code = |sentence: Sentence| match &shown {
        Some(text) => sentence.say(": ").code(text.clone()),
        None => sentence,
    };
    let sentence = match judgement.reason {
        Reason::TestsPassed if piece.files.is_empty() => Some(code(say("Tests passed; no file was changed"))),
        Reason::TestsPassed => Some(code(say("The last test run passed, after the last edit"))),
        Reason::Committed if judgement.confidence == Confidence::Low => {
            Some(say("Committed, and files were changed after that"))
        }
        Reason::Committed => Some(say(
            "The work was committed or offered as a pull request, after the last edit",
        )),
        Reason::GoalReached => Some(say("The agent's own goal was marked as reached")),
        _ => None,
    };
    told.extend(
        sentence
            .map(|sentence| sentence.cite(evidence))
            .filter(|told| !told.citations.is_empty()),
    );
    told.extend(last_words(facts, piece));
    told
}

/// The command that evidence is, where it is one.
pub(super) fn shell_of(facts: &Facts, evidence: &crate::outcome::Evidence) -> Option<String> {
    let turn = evidence.turn? as usize;
    let own = facts.turns.get(turn)?;
    let ran = own
        .ran()
        .find(|ran| ran.line == evidence.line && runs_commands(&ran.tool))?;
    Some(quoted(
        &in_command(&ran.wording, facts.session_of(turn).cwd.as_deref()),
        90,
    ))
}

/// What the agent said last.
fn last_words(facts: &Facts, piece: &Piece) -> Option<Statement> {
    let turn = piece
        .turns
        .iter()
        .rev()
        .find(|turn| facts.turns[**turn].reply.is_some())?;
    let reply = facts.turns[*turn].reply.as_ref()?;
    let words = answered(&reply.text, REPLY_CHARS);
    let agent = facts.session_of(*turn).agent.title();
    (!words.is_empty()).then(|| {
        say(format!("{agent} said last: "))
            .quote(words)
            .cite([facts.cite_line(*turn, reply.line)])
    })
}
