//! Which turns are one piece of work: a pure function of the day's facts.
//!
//! Turns of one session belong together until something says otherwise; sessions of one project belong together when one
//! goes on from the other, when they work on the same files at about the same time, or when the same thing was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

use super::facts::{Facts, TurnFacts};
use super::paths::{below, relative};
use crate::digest::End;
use crate::signals::corrects;

/// After so long a rest, words that do not go on begin something new.
const REST_S: i64 = 60 * 60;
/// Sessions that share files are one piece of work when they are no further apart.
const SHARED_S: i64 = 4 * 60 * 60;
/// `continue` in a new session means the one before it, if that is no older.
const GOES_ON_S: i64 = 60 * 60;
/// A prompt of fewer characters may be an answer or a follow-up.
const SHORT_CHARS: usize = 60;
/// What was asked is compared by so many of its characters.
const SAME_CHARS: usize = 120;

/// Words by which a human lets the agent go on.
static GOES_ON: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)^\W*(?:please\s+)?(?:(?:continue|go on|go ahead|proceed|keep going|carry on|resume|yes|yep|yeah|ok|okay|sure|do it|do that|next|again|try again|retry|and|also|now|then|weiter|ja|mach|oui|sí|sigue)\b|继续|好|是|可以|行|続け|はい|[1-9a-d][.)]?\s*$)";
    Regex::new(words).expect("the expression is a good one")
});

/// Files that everything touches say nothing.
const COMMON: [&str; 9] = [
    "changelog.md",
    "readme.md",
    "cargo.lock",
    "package-lock.json",
    "package.json",
    "cargo.toml",
    "claude.md",
    "agents.md",
    "go.sum",
];

/// The files that a turn edited, by itself and through others.
pub(super) fn files(facts: &Facts, turn: usize) -> BTreeMap<String, u64> {
    let own = &facts.turns[turn];
    let cwd = facts.session_of(turn).cwd.as_deref();
    let label = facts.projects[facts.project_of(turn)].label.as_str();
    let named = |file: &str| match cwd {
        None => below(file, label).unwrap_or_else(|| relative(file, None)),
        cwd => relative(file, cwd),
    };
    let mut files = BTreeMap::new();
    let worked = |ran: &&crate::digest::Ran| !ran.failed() && ran.end == End::Answered;
    for ran in own.ran().chain(&own.aside).filter(worked) {
        for file in &ran.files {
            *files.entry(named(file)).or_default() += 1;
        }
    }
    for child in &own.subagents {
        let cwd = child.cwd.as_deref().or(cwd);
        for file in &child.files {
            *files.entry(relative(file, cwd)).or_default() += 1;
        }
    }
    files.retain(|file, _| !is_note(file));
    files
}

/// The agent's own notes are no part of the work.
pub(super) fn is_note(file: &str) -> bool {
    [".claude/plans/", ".claude/projects/", ".claude/todos/", ".codex/"]
        .iter()
        .any(|notes| file.contains(notes))
}

/// Some turns of one session.
struct Run {
    turns: Vec<usize>,
    files: BTreeSet<String>,
    has_commit: bool,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    is_first: bool,
    is_last: bool,
}

/// The pieces of work of a project, each with its turns in order of time.
pub(super) fn group(facts: &Facts, project: usize) -> Vec<Vec<usize>> {
    let mut runs = runs(facts, project);
    runs.sort_by_key(|run| (run.started_at, run.turns[0]));
    let mut root: Vec<usize> = (0..runs.len()).collect();
    for later in 0..runs.len() {
        for earlier in 0..later {
            if is_related(facts, &runs, earlier, later) {
                let (a, b) = (find(&root, earlier), find(&root, later));
                root[a.max(b)] = a.min(b);
            }
        }
    }
    let mut pieces: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        pieces.entry(find(&root, at)).or_default().extend(&run.turns);
    }
    let mut pieces: Vec<Vec<usize>> = pieces.into_values().collect();
    for turns in &mut pieces {
        turns.sort_by_key(|turn| (facts.turns[*turn].started_at, *turn));
    }
    pieces
}

fn find(root: &[usize], mut at: usize) -> usize {
    while root[at] != at {
        at = root[at];
    }
    at
}

/// Cuts each session of a project where something new begins.
fn runs(facts: &Facts, project: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let of_project = (0..facts.turns.len()).filter(|turn| facts.project_of(*turn) == project);
    for turn in of_project {
        let own = &facts.turns[turn];
        let files: BTreeSet<String> = files(facts, turn).into_keys().filter(|file| !is_common(file)).collect();
        let before = runs
            .last_mut()
            .filter(|run| facts.turns[run.turns[0]].session == own.session);
        let is_new_session = before.is_none();
        match before {
            Some(run) if !begins(facts, run, own, &files) => {
                run.turns.push(turn);
                run.files.extend(files);
                run.has_commit = commits(facts, own);
                run.ended_at = own.ended_at.or(run.ended_at);
            }
            before => {
                if let Some(run) = before {
                    run.is_last = false;
                }
                runs.push(Run {
                    turns: vec![turn],
                    files,
                    has_commit: commits(facts, own),
                    started_at: own.started_at,
                    ended_at: own.ended_at,
                    is_first: is_new_session,
                    is_last: true,
                });
            }
        }
    }
    runs
}

fn is_common(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_lowercase();
    COMMON.contains(&name.as_str())
}

fn commits(facts: &Facts, turn: &TurnFacts) -> bool {
    turn.ran().any(|ran| crate::outcome::hands_in(ran, &facts.findings))
}

/// Whether words go on with what was before them.
pub(super) fn goes_on(words: &str) -> bool {
    let chars = words.chars().count();
    chars <= 200 && GOES_ON.is_match(words) || corrects(words)
}

/// Whether a turn begins something new, after others of its session.
fn begins(facts: &Facts, run: &Run, turn: &TurnFacts, files: &BTreeSet<String>) -> bool {
    let words = &turn.prompt.text;
    if goes_on(words) || !run.files.is_disjoint(files) {
        return false;
    }
    let rest = seconds_between(run.ended_at, turn.started_at);
    if rest.is_some_and(|rest| rest >= REST_S) {
        return true;
    }
    if words.chars().count() < SHORT_CHARS {
        return false;
    }
    let works_elsewhere = !run.files.is_empty() && !files.is_empty();
    let is_other = || {
        let last = run.turns.iter().map(|turn| &facts.turns[*turn].prompt.text);
        last.map(|other| likeness(other, words)).max().unwrap_or_default() < 15
    };
    works_elsewhere && (run.has_commit || is_other())
}

/// How many of the rarer words two texts share, in percent of the shorter one.
fn likeness(a: &str, b: &str) -> usize {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.chars().count() > 3)
            .map(str::to_lowercase)
            .take(400)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    let shorter = a.len().min(b.len());
    match shorter {
        0 => 0,
        _ => a.intersection(&b).count() * 100 / shorter,
    }
}

/// Whether two runs of different sessions are one piece of work.
fn is_related(facts: &Facts, runs: &[Run], earlier: usize, later: usize) -> bool {
    let (a, b) = (&runs[earlier], &runs[later]);
    let session = |run: &Run| facts.session_of(run.turns[0]);
    if facts.turns[a.turns[0]].session == facts.turns[b.turns[0]].session {
        return false;
    }
    let is_resumed = b.is_first && a.is_last && session(b).parents.contains(&session(a).uid);
    if is_resumed || asks_the_same(facts, a, b) {
        return true;
    }
    let rest = seconds_between(a.ended_at, b.started_at).unwrap_or(i64::MAX);
    let first = &facts.turns[b.turns[0]].prompt.text;
    let is_next = later == earlier + 1;
    if is_next && b.is_first && rest <= GOES_ON_S && first.chars().count() < SHORT_CHARS && GOES_ON.is_match(first) {
        return true;
    }
    let shared = a.files.intersection(&b.files).count();
    let fewer = a.files.len().min(b.files.len());
    shared > 0 && shared * 2 >= fewer && rest <= SHARED_S
}

/// Whether both begin with the same words, numbers aside: asked again, or by a script.
fn asks_the_same(facts: &Facts, a: &Run, b: &Run) -> bool {
    let key = |run: &Run| same_key(&facts.turns[run.turns[0]].prompt.text);
    let (a, b) = (key(a), key(b));
    a.is_some() && a == b
}

/// What a prompt is compared by: its beginning without numbers. Short ones are alike by chance.
pub(super) fn same_key(words: &str) -> Option<String> {
    let mut key = String::new();
    for c in words.chars().filter(|c| !c.is_whitespace()) {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if !(c == '#' && key.ends_with('#')) {
            key.extend(c.to_lowercase());
        }
        if key.chars().count() >= SAME_CHARS {
            break;
        }
    }
    (key.chars().count() >= 30).then_some(key)
}

fn seconds_between(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<i64> {
    Some(to?.as_second() - from?.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_words_go_on() {
        for words in [
            "continue",
            "yes, do it",
            "OK",
            "2",
            "no, the other one",
            "继续",
            "and then push",
        ] {
            assert!(goes_on(words), "{words}");
        }
        for words in ["fix the login", "Nothing works", "okra prices"] {
            assert!(!goes_on(words), "{words}");
        }
    }

    #[test]
    fn prompts_are_alike_but_for_their_numbers() {
        let a = same_key("please translate the document number 12 into French");
        assert_eq!(a, same_key("Please translate the document number 7 into French"));
        assert!(a.is_some());
        assert_eq!(same_key("go on"), None);
    }
}
