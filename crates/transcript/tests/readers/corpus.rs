//! Real logs: read if `BOSWELL_CORPUS` names a directory of them, skipped if it does not.
//!
//! Their content is never copied; the tables beside this file identify logs by the hash of their path only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use transcript::{Actor, Agent, Call, PartKind, Tokens, counted};

use crate::pieces::{check, places};
use crate::{count_lines, read};

/// Returns the Claude logs of the corpus, by their path inside it.
fn claude_logs() -> Vec<(String, Vec<u8>)> {
    let Some(root) = std::env::var_os("BOSWELL_CORPUS").map(PathBuf::from) else {
        return Vec::new();
    };
    let mut logs = Vec::new();
    for part in ["claude", "other"] {
        walk(&root.join(part), &mut logs);
    }
    let mut logs: Vec<(String, Vec<u8>)> = logs
        .into_iter()
        .map(|path| {
            let name = path
                .strip_prefix(&root)
                .expect("found below the root")
                .to_string_lossy()
                .replace('\\', "/");
            (name, std::fs::read(&path).expect("a file of the corpus can be read"))
        })
        .filter(|(name, bytes)| name.starts_with("claude/") || transcript::detect(bytes) == Some(Agent::Claude))
        .collect();
    logs.sort();
    logs
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn key(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the rows of a table, by log.
fn table(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.split_once('\t'))
        .map(|(log, rest)| (log, rest.split('\t').collect()))
        .collect()
}

fn numbers(cell: &str) -> Vec<u64> {
    cell.split(',')
        .filter(|cell| !cell.is_empty())
        .map(|cell| cell.parse().expect("a number"))
        .collect()
}

#[test]
fn every_real_log_reads_and_its_fates_add_up() {
    for (name, bytes) in claude_logs() {
        let (reading, state) = read(Agent::Claude, &name, &bytes);
        assert_eq!(reading.fates.lines(), count_lines(&bytes), "{name}");
        assert_eq!(state.lines(PartKind::Log), count_lines(&bytes), "{name}");
        let numbered = reading
            .events
            .iter()
            .enumerate()
            .all(|(at, event)| event.seq == at as u64);
        assert!(numbered, "{name}");
        for turn in &reading.turns {
            let inside = |event: &&transcript::SessionEvent| event.turn == Some(turn.turn);
            let out = reading
                .events
                .iter()
                .filter(inside)
                .find(|event| !(turn.start_line..=turn.end_line).contains(&event.line));
            assert_eq!(out, None, "{name}: an event lies outside of its turn");
        }
    }
}

#[test]
fn every_real_log_reads_the_same_in_pieces() {
    for (n, (name, bytes)) in claude_logs().into_iter().enumerate() {
        check(
            Agent::Claude,
            &name,
            &bytes,
            &places(n as u64 * 7919 + 1, 20, bytes.len()),
        );
    }
}

#[test]
fn triggers_equal_the_prompts_found_by_hand() {
    let truth = table(include_str!("corpus/triggers.tsv"));
    for (name, bytes) in claude_logs() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            continue;
        };
        let (reading, _) = read(Agent::Claude, &name, &bytes);
        let lines = |trigger: bool| {
            let human = reading
                .events
                .iter()
                .filter(|event| event.actor == Actor::Human && event.trigger == trigger);
            let mut lines: Vec<u64> = human.map(|event| event.line).collect();
            lines.dedup();
            lines
        };
        let triggers = lines(true);
        assert_eq!(triggers, numbers(row[0]), "triggers of {name}");
        let others: Vec<u64> = lines(false)
            .into_iter()
            .filter(|line| !triggers.contains(line))
            .collect();
        assert_eq!(others, numbers(row[1]), "human events of {name}");
    }
}

#[test]
fn tokens_equal_an_independent_count() {
    let truth = table(include_str!("corpus/tokens.tsv"));
    for (name, bytes) in claude_logs() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            continue;
        };
        let (reading, _) = read(Agent::Claude, &name, &bytes);
        let calls: Vec<&Call> = reading.calls.iter().collect();
        let counts = counted(&calls);
        let sum = |of: fn(&Tokens) -> u64| -> u64 {
            calls
                .iter()
                .zip(&counts)
                .filter(|(_, counts)| **counts)
                .map(|(call, _)| of(&call.tokens))
                .sum()
        };
        let calls_counted = counts.iter().filter(|counts| **counts).count() as u64;
        let got = [
            calls_counted,
            sum(|tokens| tokens.input),
            sum(|tokens| tokens.output),
            sum(|tokens| tokens.cache_read),
            sum(|tokens| tokens.cache_write_5m),
            sum(|tokens| tokens.cache_write_1h),
        ];
        let want: Vec<u64> = row.iter().map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!(got.to_vec(), want, "{name}");
    }
}
