//! Selects the commands that are worth reporting. Commands that only read are not.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::fields::Statement;
use super::judge::WorkPiece;
use super::words::{count_noun, say, shorten_quote, times};
use crate::steps::{CallStatus, CallStep};

const COMMANDS_MAX: usize = 5;

/// Programs that only read, or whose name alone says nothing about the work.
const READING_PROGRAMS: [&str; 44] = [
    "ls", "cat", "head", "tail", "grep", "rg", "find", "sed", "awk", "wc", "echo", "pwd", "cd", "which", "stat",
    "file", "tree", "du", "df", "ps", "env", "date", "sort", "uniq", "diff", "cmp", "test", "true", "sleep", "printf",
    "nl", "jq", "less", "mkdir", "rm", "cp", "mv", "touch", "chmod", "for", "if", "while", "xargs", "tee",
];

/// Git commands that change nothing for other people.
const LOCAL_GIT_COMMANDS: [&str; 10] = [
    "git status",
    "git diff",
    "git log",
    "git show",
    "git add",
    "git branch",
    "git commit",
    "git rev-parse",
    "git ls-files",
    "git",
];

/// How often a command was run, and where first.
#[derive(Default)]
struct RunCount {
    all: usize,
    failed: usize,
    first: Option<(usize, u64)>,
}

/// Returns a statement about the commands other than tests and commits.
pub(super) fn describe_commands(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    let mut runs: BTreeMap<String, RunCount> = BTreeMap::new();
    for turn in piece.turns.iter().copied() {
        for ran in facts.turns[turn]
            .tool_calls()
            .filter(|ran| !ran.is_test && ran.end != CallStatus::Denied)
        {
            if facts.findings.commits.contains_key(&ran.seq) || facts.findings.offers.contains(&ran.seq) {
                continue;
            }
            let Some(command) = command_label(ran).filter(|command| is_notable(command)) else {
                continue;
            };
            let known = runs.entry(command).or_default();
            known.all += 1;
            known.failed += usize::from(ran.has_failed());
            known.first.get_or_insert((turn, ran.line));
        }
    }
    let mut runs: Vec<_> = runs.into_iter().collect();
    runs.sort_by(|a, b| b.1.all.cmp(&a.1.all).then_with(|| a.0.cmp(&b.0)));
    if runs.is_empty() {
        return None;
    }
    let mut sentence = say("Ran ");
    for (at, (command, own)) in runs.iter().take(COMMANDS_MAX).enumerate() {
        sentence = sentence
            .say(if at > 0 { ", " } else { "" })
            .code(shorten_quote(command, 60));
        sentence = match (own.all, own.failed) {
            (1, 0) => sentence,
            (1, _) => sentence.say(" (failed)"),
            (all, 0) => sentence.say(format!(" ({})", times(all))),
            (all, failed) if all == failed => sentence.say(format!(" ({}, all failed)", times(all))),
            (all, failed) => sentence.say(format!(" ({}, {failed} failed)", times(all))),
        };
    }
    if runs.len() > COMMANDS_MAX {
        sentence = sentence.say(format!(
            " and {}",
            count_noun(runs.len() - COMMANDS_MAX, "more command")
        ));
    }
    let first = runs.iter().take(COMMANDS_MAX).filter_map(|(_, own)| own.first);
    Some(sentence.cite(first.map(|(turn, line)| facts.cite_line(turn, line))))
}

/// Returns `true` if a command says something about the work.
pub(super) fn is_notable(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    let is_name = program.starts_with(|c: char| c.is_ascii_alphanumeric())
        && program
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'));
    is_name && !program.is_empty() && !READING_PROGRAMS.contains(&program) && !LOCAL_GIT_COMMANDS.contains(&command)
}

/// Returns the command, with the name of the script if an interpreter runs one.
fn command_label(ran: &CallStep) -> Option<String> {
    const INTERPRETERS: [&str; 9] = ["bash", "sh", "zsh", "python", "python3", "node", "ruby", "perl", "deno"];
    let command = ran.command()?;
    if !INTERPRETERS.contains(&command.as_str()) {
        return Some(command);
    }
    let mut words = ran
        .wording
        .split_whitespace()
        .skip_while(|word| word.rsplit('/').next() != Some(command.as_str()));
    let script = words
        .nth(1)
        .filter(|word| !word.starts_with('-') && word.contains(['/', '.']) && !word.contains(['<', '$', '"', '\'']));
    // Code passed on the command line has no name.
    script.map(|script| format!("{command} {}", script.rsplit('/').next().unwrap_or(script)))
}
