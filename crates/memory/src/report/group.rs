//! Groups turns into pieces of work. A pure function of the day's facts.
//!
//! Turns of one session belong together unless something separates them. Sessions of one project belong together if one
//! continues the other, if they edit the same files at about the same time, or if they were given the same prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

use super::facts::{Facts, TurnFacts};
use super::paths::{path_below_project, relative_path};
use crate::signals::is_correction;
use crate::steps::CallStatus;

/// After a pause of this length, a prompt that does not continue the previous one starts new work.
const PAUSE_S: i64 = 60 * 60;
/// Maximum pause between two sessions that edit the same files for them to count as one piece of work.
const SHARED_FILES_S: i64 = 4 * 60 * 60;
/// Maximum pause after which `continue` in a new session refers to the previous session.
const CONTINUE_S: i64 = 60 * 60;
/// A shorter prompt may be an answer or a follow-up.
const SHORT_CHARS: usize = 60;
/// Number of characters by which prompts are compared.
const KEY_CHARS: usize = 120;

/// Phrases with which a user lets the agent continue.
static CONTINUATION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)^\W*(?:please\s+)?(?:(?:continue|go on|go ahead|proceed|keep going|carry on|resume|yes|yep|yeah|ok|okay|sure|do it|do that|next|again|try again|retry|and|also|now|then|weiter|ja|mach|oui|sí|sigue)\b|继续|好|是|可以|行|続け|はい|[1-9a-d][.)]?\s*$)";
    Regex::new(pattern).expect("the expression is valid")
});

/// Files that almost all work touches, so editing the same one means nothing.
const COMMON_FILES: [&str; 9] = [
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

/// Returns the files that a turn edited, by itself or through subagents, with the number of edits.
pub(super) fn edited_files(facts: &Facts, turn: usize) -> BTreeMap<String, u64> {
    let own = &facts.turns[turn];
    let cwd = facts.session_of(turn).cwd.as_deref();
    let label = facts.projects[facts.project_of(turn)].label.as_str();
    let project_path = |file: &str| match cwd {
        None => path_below_project(file, label).unwrap_or_else(|| relative_path(file, None)),
        cwd => relative_path(file, cwd),
    };
    let mut files = BTreeMap::new();
    let succeeded = |ran: &&crate::steps::CallStep| !ran.has_failed() && ran.end == CallStatus::Answered;
    for ran in own.tool_calls().chain(&own.sidechain_calls).filter(succeeded) {
        for file in &ran.files {
            *files.entry(project_path(file)).or_default() += 1;
        }
    }
    for child in &own.subagents {
        let cwd = child.cwd.as_deref().or(cwd);
        for file in &child.files {
            *files.entry(relative_path(file, cwd)).or_default() += 1;
        }
    }
    files.retain(|file, _| !is_note(file));
    files
}

/// Returns `true` if a file contains the agent's own notes, which are not part of the work.
pub(super) fn is_note(file: &str) -> bool {
    [".claude/plans/", ".claude/projects/", ".claude/todos/", ".codex/"]
        .iter()
        .any(|notes| file.contains(notes))
}

/// Consecutive turns of one session.
struct TurnRun {
    turns: Vec<usize>,
    files: BTreeSet<String>,
    has_commit: bool,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    is_first: bool,
    is_last: bool,
}

/// Returns the pieces of work of a project, each with its turns ordered by time.
pub(super) fn group_turns(facts: &Facts, project: usize) -> Vec<Vec<usize>> {
    let mut runs = split_runs(facts, project);
    runs.sort_by_key(|run| (run.started_at, run.turns[0]));
    let mut root: Vec<usize> = (0..runs.len()).collect();
    for later in 0..runs.len() {
        for earlier in 0..later {
            if is_related(facts, &runs, earlier, later) {
                let (a, b) = (find_root(&root, earlier), find_root(&root, later));
                root[a.max(b)] = a.min(b);
            }
        }
    }
    let mut pieces: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        pieces.entry(find_root(&root, at)).or_default().extend(&run.turns);
    }
    let mut pieces: Vec<Vec<usize>> = pieces.into_values().collect();
    for turns in &mut pieces {
        turns.sort_by_key(|turn| (facts.turns[*turn].started_at, *turn));
    }
    pieces
}

/// Returns the representative of a set in the union-find forest `root`.
fn find_root(root: &[usize], mut at: usize) -> usize {
    while root[at] != at {
        at = root[at];
    }
    at
}

/// Splits each session of a project where new work starts.
fn split_runs(facts: &Facts, project: usize) -> Vec<TurnRun> {
    let mut runs: Vec<TurnRun> = Vec::new();
    let project_turns = (0..facts.turns.len()).filter(|turn| facts.project_of(*turn) == project);
    for turn in project_turns {
        let own = &facts.turns[turn];
        let files: BTreeSet<String> = edited_files(facts, turn)
            .into_keys()
            .filter(|file| !is_common(file))
            .collect();
        let before = runs
            .last_mut()
            .filter(|run| facts.turns[run.turns[0]].session == own.session);
        let is_new_session = before.is_none();
        match before {
            Some(run) if !starts_new_work(facts, run, own, &files) => {
                run.turns.push(turn);
                run.files.extend(files);
                run.has_commit = makes_commit(facts, own);
                run.ended_at = own.ended_at.or(run.ended_at);
            }
            before => {
                if let Some(run) = before {
                    run.is_last = false;
                }
                runs.push(TurnRun {
                    turns: vec![turn],
                    files,
                    has_commit: makes_commit(facts, own),
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
    COMMON_FILES.contains(&name.as_str())
}

fn makes_commit(facts: &Facts, turn: &TurnFacts) -> bool {
    turn.tool_calls()
        .any(|ran| crate::outcome::delivers_work(ran, &facts.findings))
}

/// Returns `true` if a prompt continues what was before it.
pub(super) fn continues_work(prompt: &str) -> bool {
    let chars = prompt.chars().count();
    chars <= 200 && CONTINUATION.is_match(prompt) || is_correction(prompt)
}

/// Returns `true` if a turn starts new work after other turns of its session.
fn starts_new_work(facts: &Facts, run: &TurnRun, turn: &TurnFacts, files: &BTreeSet<String>) -> bool {
    let prompt = &turn.prompt.text;
    if continues_work(prompt) || !run.files.is_disjoint(files) {
        return false;
    }
    let pause = seconds_between(run.ended_at, turn.started_at);
    if pause.is_some_and(|pause| pause >= PAUSE_S) {
        return true;
    }
    if prompt.chars().count() < SHORT_CHARS {
        return false;
    }
    let works_elsewhere = !run.files.is_empty() && !files.is_empty();
    let is_unrelated = || {
        let last = run.turns.iter().map(|turn| &facts.turns[*turn].prompt.text);
        last.map(|other| word_overlap(other, prompt)).max().unwrap_or_default() < 15
    };
    works_elsewhere && (run.has_commit || is_unrelated())
}

/// Returns the percentage of longer words that two texts share, relative to the shorter text.
fn word_overlap(a: &str, b: &str) -> usize {
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

/// Returns `true` if two runs of different sessions are one piece of work.
fn is_related(facts: &Facts, runs: &[TurnRun], earlier: usize, later: usize) -> bool {
    let (a, b) = (&runs[earlier], &runs[later]);
    let session = |run: &TurnRun| facts.session_of(run.turns[0]);
    if facts.turns[a.turns[0]].session == facts.turns[b.turns[0]].session {
        return false;
    }
    let is_resumed = b.is_first && a.is_last && session(b).parents.contains(&session(a).uid);
    if is_resumed || have_same_prompt(facts, a, b) {
        return true;
    }
    let pause = seconds_between(a.ended_at, b.started_at).unwrap_or(i64::MAX);
    let first = &facts.turns[b.turns[0]].prompt.text;
    let is_next = later == earlier + 1;
    if is_next
        && b.is_first
        && pause <= CONTINUE_S
        && first.chars().count() < SHORT_CHARS
        && CONTINUATION.is_match(first)
    {
        return true;
    }
    let shared = a.files.intersection(&b.files).count();
    let fewer = a.files.len().min(b.files.len());
    shared > 0 && shared * 2 >= fewer && pause <= SHARED_FILES_S
}

/// Returns `true` if both runs start with the same prompt apart from numbers, for example because a script sent it.
fn have_same_prompt(facts: &Facts, a: &TurnRun, b: &TurnRun) -> bool {
    let key = |run: &TurnRun| prompt_key(&facts.turns[run.turns[0]].prompt.text);
    let (a, b) = (key(a), key(b));
    a.is_some() && a == b
}

/// Returns the key by which prompts are compared: their beginning without numbers. Returns `None` for short prompts,
/// which are equal by chance.
pub(super) fn prompt_key(prompt: &str) -> Option<String> {
    let mut key = String::new();
    for c in prompt.chars().filter(|c| !c.is_whitespace()) {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if !(c == '#' && key.ends_with('#')) {
            key.extend(c.to_lowercase());
        }
        if key.chars().count() >= KEY_CHARS {
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
    fn some_prompts_continue_the_work() {
        for prompt in [
            "continue",
            "yes, do it",
            "OK",
            "2",
            "no, the other one",
            "继续",
            "and then push",
        ] {
            assert!(continues_work(prompt), "{prompt}");
        }
        for prompt in ["fix the login", "Nothing works", "okra prices"] {
            assert!(!continues_work(prompt), "{prompt}");
        }
    }

    #[test]
    fn prompts_with_different_numbers_have_the_same_key() {
        let a = prompt_key("please translate the document number 12 into French");
        assert_eq!(a, prompt_key("Please translate the document number 7 into French"));
        assert!(a.is_some());
        assert_eq!(prompt_key("go on"), None);
    }
}
