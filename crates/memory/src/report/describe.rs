//! Describes a piece of work: what was asked, what was done and what resulted. Each sentence cites its lines.

use std::collections::BTreeMap;

use transcript::{GitCommit, runs_commands};

use super::commands::describe_commands;
use super::facts::Facts;
use super::fields::{Citation, Statement};
use super::group::{continues_work, is_note, prompt_key};
use super::judge::{Delivery, WorkPiece};
use super::paths::{shorten_command, shorten_path};
use super::words::{Sentence, answer_start, count_noun, is_pasted, make_title, say, shorten_quote, times};
use crate::outcome::{Confidence, OutcomeReason};
use crate::steps::{CallStatus, CallStep};

const PROMPT_CHARS_MAX: usize = 420;
const FOLLOW_UP_CHARS_MAX: usize = 200;
const REPLY_CHARS_MAX: usize = 360;
const FILES_MAX: usize = 5;
const COMMITS_MAX: usize = 3;
const PROMPTS_MAX: usize = 3;

/// Returns the first prompt of a piece that says what it is about.
pub(super) fn work_title(facts: &Facts, piece: &WorkPiece) -> Statement {
    let chars = |turn: &&usize| facts.turns[**turn].prompt.text.chars().count();
    let about = |turn: &&usize| !continues_work(&facts.turns[**turn].prompt.text) && chars(turn) >= 15;
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
    // If the first prompt was pasted, the session's title says more. The title of a session may not fit its later
    // turns.
    let named = session.title.as_deref().map(make_title).filter(|name| !name.is_empty());
    let named = named.filter(|_| own.turn_ref == "T0001" && is_pasted(&prompt.text));
    let words = named.unwrap_or_else(|| make_title(&prompt.text));
    let citation = facts.cite_line(turn, prompt.line);
    match words.is_empty() {
        // The prompt is an image, or empty.
        true => say("Prompt without text").cite([citation]),
        false => Sentence::default().quote(words).cite([citation]),
    }
}

/// Quotes the user's prompts.
pub(super) fn describe_prompts(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut seen: Vec<(String, usize)> = Vec::new();
    let mut repeats: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut rest: Vec<usize> = Vec::new();
    for turn in piece.turns.iter().copied() {
        let prompt = &facts.turns[turn].prompt;
        if prompt.text.is_empty() {
            continue;
        }
        let key = prompt_key(&prompt.text).unwrap_or_else(|| prompt.text.clone());
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == key) {
            repeats.entry(*first).or_default().push(turn);
            continue;
        }
        seen.push((key, turn));
        let is_notable = statements.is_empty() || prompt.text.chars().count() > 12;
        if statements.len() >= PROMPTS_MAX || !is_notable {
            rest.push(turn);
            continue;
        }
        let most = if statements.is_empty() {
            PROMPT_CHARS_MAX
        } else {
            FOLLOW_UP_CHARS_MAX
        };
        let rewound = if facts.turns[turn].is_rewound {
            "Later rewound: "
        } else {
            ""
        };
        let words = Sentence::default()
            .say(rewound)
            .quote(shorten_quote(&prompt.text, most));
        statements.push(words.cite([facts.cite_line(turn, prompt.line)]));
    }
    let lines = |turns: &[usize]| -> Vec<Citation> {
        let line = |turn: &usize| facts.cite_line(*turn, facts.turns[*turn].prompt.line);
        turns.iter().map(line).collect()
    };
    let is_repetition =
        |(first, turns): &(&usize, &Vec<usize>)| turns.len() > 1 || !continues_work(&facts.turns[**first].prompt.text);
    for (first, turns) in repeats.iter().filter(is_repetition).take(2) {
        let words = Sentence::default().quote(shorten_quote(&facts.turns[*first].prompt.text, 60));
        statements.push(words.say(format!(" again, {}", times(turns.len()))).cite(lines(turns)));
    }
    if !rest.is_empty() {
        let longest = rest
            .iter()
            .max_by_key(|turn| (facts.turns[**turn].prompt.text.chars().count(), usize::MAX - **turn));
        let words = say(format!("and {}", count_noun(rest.len(), "more prompt")));
        let is_long = |turn: &&usize| rest.len() == 1 || facts.turns[**turn].prompt.text.chars().count() > 24;
        let words = match longest.filter(is_long) {
            Some(turn) if rest.len() > 1 => words
                .say(", the longest: ")
                .quote(shorten_quote(&facts.turns[*turn].prompt.text, 120)),
            Some(turn) => words
                .say(": ")
                .quote(shorten_quote(&facts.turns[*turn].prompt.text, 120)),
            None => words,
        };
        statements.push(words.cite(lines(&rest)));
    }
    statements
}

/// Describes what was done: edits, tests, commits, commands and subagents.
pub(super) fn describe_actions(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut statements = Vec::new();
    statements.extend(describe_edits(facts, piece));
    statements.extend(describe_tests(facts, piece));
    statements.extend(describe_commits(facts, piece));
    statements.extend(describe_commands(facts, piece));
    statements.extend(describe_delegation(facts, piece));
    if piece.files.is_empty() {
        statements.extend(describe_tool_calls(facts, piece));
    }
    statements
}

fn describe_edits(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    if piece.files.is_empty() {
        return None;
    }
    let mut files: Vec<(&String, &u64)> = piece.files.iter().collect();
    files.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let name = |(file, edits): &(&String, &u64)| (shorten_quote(&shorten_path(file, 80), 90), **edits);
    let mut sentence = say("Edited ");
    for (at, (file, edits)) in files.iter().take(FILES_MAX).map(name).enumerate() {
        sentence = sentence.say(if at > 0 { ", " } else { "" }).code(file);
        if edits > 1 {
            sentence = sentence.say(format!(" ({})", times(edits as usize)));
        }
    }
    if files.len() > FILES_MAX {
        sentence = sentence.say(format!(" and {}", count_noun(files.len() - FILES_MAX, "more file")));
    }
    let lines = piece.turns.iter().filter_map(|turn| cite_edits(facts, *turn));
    let mut lines: Vec<(usize, Citation)> = lines.collect();
    lines.sort_by_key(|(edits, _)| std::cmp::Reverse(*edits));
    Some(sentence.cite(lines.into_iter().map(|(_, citation)| citation)))
}

/// Returns the number of edits of a turn, with a citation from the first to the last.
fn cite_edits(facts: &Facts, turn: usize) -> Option<(usize, Citation)> {
    let own = &facts.turns[turn];
    let is_edit = |ran: &&CallStep| {
        ran.files.iter().any(|file| !is_note(file)) && !ran.has_failed() && ran.end == CallStatus::Answered
    };
    let edits = own.tool_calls().chain(&own.sidechain_calls).filter(is_edit);
    let mut lines: Vec<u64> = edits.map(|ran| ran.line).collect();
    let children = own.subagents.iter().filter(|child| !child.files.is_empty());
    lines.extend(children.flat_map(|child| [child.first_line, child.last_line]));
    let (first, last) = (*lines.iter().min()?, *lines.iter().max()?);
    Some((lines.len(), facts.cite(turn, first, last)))
}

fn describe_tests(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut runs: BTreeMap<&str, Vec<&super::judge::TestRun>> = BTreeMap::new();
    for test in &piece.tests {
        runs.entry(&test.name).or_default().push(test);
    }
    let mut runs: Vec<_> = runs.into_iter().collect();
    runs.sort_by_key(|(name, runs)| (std::cmp::Reverse(runs.len()), *name));
    let describe = |(name, runs): &(&str, Vec<&super::judge::TestRun>)| {
        let of = |passed: Option<bool>| runs.iter().filter(|run| run.passed == passed).count();
        let parts = [
            (of(Some(true)), "passed"),
            (of(Some(false)), "failed"),
            (of(None), "unclear"),
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
        let mut sentence = say("Ran tests with ").code(shorten_quote(name, 60));
        sentence = match runs.len() {
            1 => sentence.say(format!(": {}", parts.join(", "))),
            all => sentence.say(format!(" {}: {}", times(all), parts.join(", "))),
        };
        if parts.len() > 1 {
            sentence = sentence.say(match last.passed {
                Some(true) => "; the last one passed",
                Some(false) => "; the last one failed",
                None => "; the last one was unclear",
            });
        }
        let failed = runs.iter().find(|run| run.passed == Some(false));
        let lines = failed.into_iter().chain([last]);
        Some(sentence.cite(lines.map(|run| facts.cite_line(run.turn, run.line))))
    };
    runs.iter().take(3).filter_map(describe).collect()
}

fn describe_commits(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let step = |delivery: &'_ Delivery| {
        facts.turns[delivery.turn]
            .tool_calls()
            .find(|ran| ran.seq == delivery.seq)
    };
    let all: Vec<(&Delivery, &CallStep)> = piece
        .commits
        .iter()
        .filter_map(|delivery| Some((delivery, step(delivery)?)))
        .collect();
    let mut statements: Vec<Statement> = all
        .iter()
        // A single remaining commit is listed as well, because a summary line would be no shorter.
        .take(if all.len() == COMMITS_MAX + 1 {
            all.len()
        } else {
            COMMITS_MAX
        })
        .map(|(delivery, ran)| describe_delivery(facts, delivery, ran).cite([facts.cite_line(delivery.turn, ran.line)]))
        .collect();
    let more = &all[all.len().min(statements.len())..];
    if !more.is_empty() {
        let lines = more
            .iter()
            .map(|(delivery, ran)| facts.cite_line(delivery.turn, ran.line));
        let what = match more.iter().any(|(delivery, _)| delivery.commit.is_none()) {
            true => "Committed or opened a pull request",
            false => "Committed",
        };
        statements.push(say(format!("{what} {} more", times(more.len()))).cite(lines));
    }
    statements
}

/// Describes the commit or pull request that a step made.
fn describe_delivery(facts: &Facts, delivery: &Delivery, ran: &CallStep) -> Sentence {
    let url = ran.result.split_whitespace().find(|word| word.contains("/pull/"));
    let cwd = facts.session_of(delivery.turn).cwd.as_deref();
    let command = || shorten_quote(&shorten_command(&ran.wording, cwd), 120);
    let Some(GitCommit { hash, subject }) = &delivery.commit else {
        return match url {
            Some(url) => say("Opened or merged a pull request: ").code(shorten_quote(url, 120)),
            None => say("Opened or merged a pull request with ").code(command()),
        };
    };
    match (hash, subject) {
        (Some(hash), Some(subject)) => say("Committed ").code(shorten_quote(&format!("{hash} {subject}"), 120)),
        (None, Some(subject)) => say("Committed ").quote(shorten_quote(subject, 110)),
        (Some(hash), None) => say("Committed ").code(hash.clone()),
        (None, None) => say("Committed with ").code(command()),
    }
}

fn describe_delegation(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
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
    let mut sentence = say(format!("Delegated work to {}", count_noun(all, "subagent")));
    roles.remove("");
    if !roles.is_empty() {
        sentence = sentence
            .say(" (")
            .codes(roles.keys().take(4).map(|role| shorten_quote(role, 40)))
            .say(")");
    }
    if calls > 0 {
        sentence = sentence.say(format!(", which made {}", count_noun(calls as usize, "tool call")));
    }
    Some(sentence.cite(lines))
}

/// Describes the tool calls of work without edits.
fn describe_tool_calls(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for turn in piece.turns.iter().copied() {
        let own: Vec<&CallStep> = facts.turns[turn].tool_calls().collect();
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
    let mut sentence = say(format!("Changed no file; {}: ", count_noun(all, "tool call")));
    for (at, (tool, calls)) in tools.iter().take(4).enumerate() {
        sentence = sentence
            .say(if at > 0 { ", " } else { "" })
            .code(shorten_quote(tool, 40))
            .say(format!(" {calls}"));
    }
    Some(sentence.cite(lines))
}

/// Describes the result: the judgement with its evidence, and the agent's last message.
pub(super) fn describe_result(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut statements = Vec::new();
    let judgement = &piece.judgement;
    let evidence = facts.cite_evidence(&judgement.evidence);
    let shown = judgement
        .evidence
        .first()
        .and_then(|evidence| evidence_command(facts, evidence));
    let code = |sentence: Sentence| match &shown {
        Some(text) => sentence.say(": ").code(text.clone()),
        None => sentence,
    };
    let sentence = match judgement.reason {
        OutcomeReason::TestsPassed if piece.files.is_empty() => Some(code(say("Tests passed; no file was changed"))),
        OutcomeReason::TestsPassed => Some(code(say("The last test run passed, after the last edit"))),
        OutcomeReason::Committed if judgement.confidence == Confidence::Low => {
            Some(say("Committed, and files were changed after that"))
        }
        OutcomeReason::Committed => Some(say(
            "The work was committed or submitted as a pull request, after the last edit",
        )),
        OutcomeReason::GoalReached => Some(say("The agent's own goal was marked as reached")),
        _ => None,
    };
    statements.extend(
        sentence
            .map(|sentence| sentence.cite(evidence))
            .filter(|statement| !statement.citations.is_empty()),
    );
    statements.extend(last_message(facts, piece));
    statements
}

/// Returns the shell command that a piece of evidence cites, if it is one.
pub(super) fn evidence_command(facts: &Facts, evidence: &crate::outcome::Evidence) -> Option<String> {
    let turn = evidence.turn? as usize;
    let own = facts.turns.get(turn)?;
    let ran = own
        .tool_calls()
        .find(|ran| ran.line == evidence.line && runs_commands(&ran.tool))?;
    Some(shorten_quote(
        &shorten_command(&ran.wording, facts.session_of(turn).cwd.as_deref()),
        90,
    ))
}

/// Quotes the agent's last message.
fn last_message(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    let turn = piece
        .turns
        .iter()
        .rev()
        .find(|turn| facts.turns[**turn].reply.is_some())?;
    let reply = facts.turns[*turn].reply.as_ref()?;
    let words = answer_start(&reply.text, REPLY_CHARS_MAX);
    let agent = facts.session_of(*turn).agent.title();
    (!words.is_empty()).then(|| {
        say(format!("{agent}'s last message: "))
            .quote(words)
            .cite([facts.cite_line(*turn, reply.line)])
    })
}
