//! Real session directories: read if `BOSWELL_CORPUS` names a directory of them, skipped if it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use transcript::{Actor, BESIDE_SEQ, Call, Kind, PartKind, counted};

use super::Directory;
use super::laws::{check, check_side_by_side};
use crate::pieces::places;

/// Returns the sessions of the corpus, by the path of the directory, or of the log if it has a name of its own.
fn sessions() -> Vec<(String, Directory)> {
    let Some(root) = std::env::var_os("BOSWELL_CORPUS").map(PathBuf::from) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    walk(&root.join("grok"), &mut files);
    let name = |path: &Path| {
        let below = path.strip_prefix(&root).expect("found below the root");
        below.to_string_lossy().replace('\\', "/")
    };
    let mut sessions = Vec::new();
    let known = ["updates.jsonl", "chat_history.jsonl", "summary.json"];
    let directories: BTreeSet<&Path> = files
        .iter()
        .filter(|file| {
            file.file_name()
                .is_some_and(|name| known.iter().any(|known| name == *known))
        })
        .filter_map(|file| file.parent())
        .collect();
    for directory in directories {
        sessions.push((name(directory), Directory::open(directory)));
    }
    for file in &files {
        let stem = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let part = match stem.as_str() {
            "grok_updates.jsonl" => PartKind::Log,
            "source-v1.jsonl" => PartKind::ChatHistory,
            _ => continue,
        };
        let lines = vec![(part, std::fs::read(file).expect("a file of the corpus can be read"))];
        let path = name(file);
        sessions.push((
            path.clone(),
            Directory {
                path,
                companions: Vec::new(),
                lines,
            },
        ));
    }
    sessions
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

/// Returns the rows of a table, by the hash of a session's path.
fn table(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.split_once('\t'))
        .map(|(log, rest)| (log, rest.split('\t').collect()))
        .collect()
}

fn key(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..16].to_owned()
}

fn numbers(cell: &str) -> Vec<u64> {
    let cells = cell.split(',').filter(|cell| !cell.is_empty());
    cells.map(|cell| cell.parse().expect("a number")).collect()
}

#[test]
fn every_real_session_reads_and_its_fates_add_up() {
    for (name, directory) in sessions() {
        let (reading, state) = directory.read();
        assert_eq!(reading.fates.lines(), directory.count_lines(), "{name}");
        assert_eq!(reading.fates.fault, 0, "{name}: {:?}", reading.faults);
        assert!(!state.is_stale(), "{name}");
        let (beside, log): (Vec<_>, Vec<_>) = (reading.events.iter()).partition(|event| event.part == PartKind::Events);
        let numbered = [(log, 0), (beside, BESIDE_SEQ)].into_iter().all(|(events, first)| {
            let mut events = events.iter().zip(first..);
            events.all(|(event, number)| event.seq == number)
        });
        assert!(numbered, "{name}");
        let ids: BTreeSet<&str> = reading.events.iter().map(|event| &*event.id).collect();
        assert_eq!(ids.len(), reading.events.len(), "{name}: an id stands for two events");
    }
}

#[test]
fn every_real_session_reads_the_same_in_pieces() {
    for (n, (_, directory)) in sessions().into_iter().enumerate() {
        check(&directory, &|bytes| places(n as u64 * 7919 + 1, 20, bytes.len()));
        check_side_by_side(&directory, 1..5);
    }
}

#[test]
fn triggers_equal_the_prompts_found_by_hand() {
    let truth = table(include_str!("../corpus/grok_triggers.tsv"));
    let mut found = 0;
    for (name, directory) in sessions() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            panic!("{name} was not gone through by eye: {}", key(&name));
        };
        found += 1;
        let (reading, _) = directory.read();
        let lines = |trigger: bool| -> Vec<u64> {
            let human = reading
                .events
                .iter()
                .filter(|event| event.actor == Actor::Human && event.trigger == trigger);
            human.map(|event| event.line).collect()
        };
        assert_eq!(lines(true), numbers(row[0]), "triggers of {name}");
        assert_eq!(lines(false), numbers(row[1]), "other human events of {name}");
        let count = |tool: &str| {
            let kind = if tool == "call" {
                Kind::ToolCall
            } else {
                Kind::ToolResult
            };
            reading.events.iter().filter(|event| event.kinds.has(kind)).count() as u64
        };
        assert_eq!(
            vec![count("call"), count("result")],
            numbers(row[2]),
            "calls and results of {name}"
        );
    }
    assert!(found == 0 || found == truth.len());
}

#[test]
fn tokens_equal_an_independent_count() {
    let truth = table(include_str!("../corpus/grok_tokens.tsv"));
    for (name, directory) in sessions() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            continue;
        };
        let (reading, _) = directory.read();
        let calls: Vec<&Call> = reading.calls.iter().collect();
        let counts = counted(&calls);
        let sum = |of: fn(&Call) -> u64| -> u64 {
            let counting = calls.iter().zip(&counts).filter(|(_, counts)| **counts);
            counting.map(|(call, _)| of(call)).sum()
        };
        let mut got = vec![counts.iter().filter(|counts| **counts).count() as u64];
        got.push(sum(|call| call.tokens.input));
        got.push(sum(|call| call.tokens.output));
        got.push(sum(|call| call.tokens.cache_read));
        got.push(sum(|call| call.tokens.reasoning));
        got.push(sum(|call| call.cost_usd_ticks.unwrap_or_default()));
        let want: Vec<u64> = row.iter().map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!(got, want, "{name}");
    }
}
