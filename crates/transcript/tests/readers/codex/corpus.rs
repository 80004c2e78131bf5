//! Real logs of Codex CLI: read if `BOSWELL_CORPUS` names a directory of them, skipped if it does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use transcript::{Actor, Agent, Call, Lines, Origin, PartKind, Reading, SessionEvent, State, Tokens, counted};

use crate::pieces::{check, places};
use crate::{count_lines, read};

/// Returns the Codex logs of the corpus, by their path inside it.
fn logs() -> Vec<(String, Vec<u8>)> {
    let Some(root) = std::env::var_os("BOSWELL_CORPUS").map(PathBuf::from) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for part in ["codex", "other"] {
        walk(&root.join(part), &mut paths);
    }
    let mut logs: Vec<(String, Vec<u8>)> = paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("found below the root");
            let name = name.to_string_lossy().replace('\\', "/");
            (name, std::fs::read(&path).expect("a file of the corpus can be read"))
        })
        .filter(|(name, bytes)| name.starts_with("codex/") || transcript::detect(bytes) == Some(Agent::Codex))
        .collect();
    logs.sort();
    logs
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
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

#[test]
fn every_real_log_reads_and_its_fates_add_up() {
    for (name, bytes) in logs() {
        let (reading, state) = read(Agent::Codex, &name, &bytes);
        assert_eq!(reading.fates.lines(), count_lines(&bytes), "{name}");
        assert_eq!(state.lines(PartKind::Log), count_lines(&bytes), "{name}");
        let numbered = reading
            .events
            .iter()
            .enumerate()
            .all(|(at, event)| event.seq == at as u64);
        assert!(numbered, "{name}");
        let mut ended = 0;
        for turn in &reading.turns {
            // The preparation of a turn is between the end of the previous one and its own trigger.
            let inside = |line: u64| line > ended && line <= turn.end_line;
            let counts = |event: &&transcript::SessionEvent| event.kind() != transcript::Kind::Lifecycle;
            let of_turn = reading
                .events
                .iter()
                .filter(|event| event.turn == Some(turn.turn))
                .filter(counts);
            let out = of_turn.clone().find(|event| !inside(event.line));
            assert_eq!(out, None, "{name}: an event lies outside of its turn");
            assert_eq!(
                of_turn.count() as u32,
                turn.events,
                "{name}: events of turn {}",
                turn.turn
            );
            assert!(turn.start_line > ended, "{name}: turns overlap");
            ended = turn.end_line;
        }
        let copied = reading.session.as_ref().and_then(|session| session.inherited);
        for event in reading
            .events
            .iter()
            .filter(|event| copied.is_some_and(|copied| copied.covers(event.line)))
        {
            let bare = !event.trigger && event.turn.is_none() && event.tokens.is_none();
            assert!(bare, "{name}:{}: copied history is no work", event.line);
        }
    }
}

#[test]
fn every_real_log_reads_the_same_in_pieces() {
    for (n, (name, bytes)) in logs().into_iter().enumerate() {
        check(
            Agent::Codex,
            &name,
            &bytes,
            &places(n as u64 * 7919 + 1, 20, bytes.len()),
        );
    }
}

#[test]
fn a_log_that_grew_reads_as_if_it_had_always_been_whole() {
    let mut logs = logs();
    logs.retain(|(name, _)| name.starts_with("codex/_growth/"));
    let mut grown = 0;
    for pair in logs.windows(2) {
        let [(before_name, before), (name, after)] = pair else {
            continue;
        };
        let same =
            before_name.rsplit_once('/').map(|(series, _)| series) == name.rsplit_once('/').map(|(series, _)| series);
        let whole_lines = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if !same || !after.starts_with(&before[..whole_lines]) {
            continue;
        }
        grown += 1;
        let (whole, state) = read(Agent::Codex, name, after);
        let mut resumed = State::new(Agent::Codex, Origin::of(name));
        let mut reading = Reading::default();
        for (from, to) in [(0, whole_lines), (whole_lines, after.len())] {
            resumed = State::from_bytes(&resumed.to_bytes()).expect("a state reads back what it wrote");
            let mut lines = Lines::resume(&after[from..to], resumed.lines(PartKind::Log), from as u64);
            reading.apply(
                resumed
                    .read_unmasked(PartKind::Log, &mut lines)
                    .expect("bytes in memory can be read"),
            );
        }
        reading.settle();
        assert_eq!(reading, whole, "{name}");
        assert_eq!(resumed.to_bytes(), state.to_bytes(), "{name}");
    }
    assert!(
        logs.is_empty() || grown > 0,
        "no log of the growth series goes on from another"
    );
}

#[test]
fn triggers_equal_the_prompts_found_by_hand() {
    let truth = table(include_str!("../corpus/codex_triggers.tsv"));
    let numbers = |cell: &str| -> Vec<u64> { cell.split(',').filter_map(|cell| cell.parse().ok()).collect() };
    for (name, bytes) in logs() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            continue;
        };
        let (reading, _) = read(Agent::Codex, &name, &bytes);
        let human = reading.events.iter().filter(|event| event.actor == Actor::Human);
        let lines = |trigger: bool| -> Vec<u64> {
            let mut lines: Vec<u64> = human
                .clone()
                .filter(|event| event.trigger == trigger)
                .map(|event| event.line)
                .collect();
            lines.dedup();
            lines
        };
        assert_eq!(lines(true), numbers(row[0]), "triggers of {name}");
        let copied = reading.session.as_ref().and_then(|session| session.inherited);
        let mut others = lines(false);
        others.retain(|line| copied.is_none_or(|copied| !copied.covers(*line)));
        assert_eq!(others, numbers(row[1]), "human events of {name}");
    }
}

/// Returns the rows of a log in a table that has several for each.
fn rows_of<'t>(table: &'t str, log: &str) -> Vec<&'t str> {
    let rows = table.lines().filter_map(|row| row.split_once('\t'));
    rows.filter(|(of, _)| *of == log).map(|(_, row)| row).collect()
}

fn row_of(event: &SessionEvent) -> String {
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let kinds: Vec<&str> = event.kinds.iter().map(transcript::Kind::as_str).collect();
    let trigger = if event.trigger { "!" } else { "" };
    [
        event.line.to_string(),
        event.block.to_string(),
        kinds.join("+"),
        format!("{}{trigger}", event.actor.as_str()),
        cell(event.turn.map(|turn| turn.to_string())),
        cell(event.tool.as_deref().map(str::to_owned)),
        cell(
            event
                .success
                .map(|success| if success { "ok" } else { "failed" }.to_owned()),
        ),
        cell(event.exit_code.map(|code| code.to_string())),
        cell(event.duration_ms.map(|ms| ms.to_string())),
    ]
    .join("\t")
}

#[test]
fn every_record_matches_its_class_found_by_hand() {
    let truth = include_str!("../corpus/codex_events.tsv");
    let mut read_logs = 0;
    let logs = logs();
    for (name, bytes) in &logs {
        let rows = rows_of(truth, &key(name));
        if rows.is_empty() {
            continue;
        }
        read_logs += 1;
        let (reading, _) = read(Agent::Codex, name, bytes);
        let print_reading: Vec<String> = reading.events.iter().map(row_of).collect();
        let other = print_reading
            .iter()
            .zip(&rows)
            .find(|(print_reading, row)| print_reading != *row);
        assert_eq!(other, None, "{name}: read, and by eye");
        assert_eq!(print_reading.len(), rows.len(), "{name}");
    }
    assert!(
        logs.is_empty() || read_logs >= 6,
        "only {read_logs} of the logs are there"
    );
}

#[test]
fn sessions_match_the_facts_found_by_hand() {
    let truth = table(include_str!("../corpus/codex_sessions.tsv"));
    for (name, bytes) in logs() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            continue;
        };
        let (reading, _) = read(Agent::Codex, &name, &bytes);
        let session = reading.session.as_ref().expect("a reading has its session");
        let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let hashed = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), key);
        let fates = reading.fates;
        let calls: Vec<&Call> = reading.calls.iter().collect();
        let print_reading = [
            cell(&session.agent_version),
            cell(&session.entrypoint),
            cell(&session.model),
            hashed(&session.cwd),
            hashed(&session.git_branch),
            if session.is_subagent { "subagent" } else { "own" }.to_owned(),
            reading.turns.len().to_string(),
            counted(&calls).iter().filter(|counts| **counts).count().to_string(),
            fates.event.to_string(),
            fates.skipped.to_string(),
        ];
        assert_eq!(print_reading.each_ref().map(String::as_str), row[..], "{name}");
        assert_eq!((fates.unknown, fates.fault, fates.blank), (0, 0, 0), "{name}");
    }
}

#[test]
fn tokens_equal_an_independent_count() {
    let truth = table(include_str!("../corpus/codex_tokens.tsv"));
    for (name, bytes) in logs() {
        let Some(row) = truth.get(key(&name).as_str()) else {
            continue;
        };
        let (reading, _) = read(Agent::Codex, &name, &bytes);
        let calls: Vec<&Call> = reading.calls.iter().collect();
        let counts = counted(&calls);
        let sum = |of: fn(&Tokens) -> u64| -> u64 {
            let counted = calls.iter().zip(&counts).filter(|(_, counts)| **counts);
            counted.map(|(call, _)| of(&call.tokens)).sum()
        };
        let got = [
            counts.iter().filter(|counts| **counts).count() as u64,
            sum(|tokens| tokens.input),
            sum(|tokens| tokens.output),
            sum(|tokens| tokens.cache_read),
            sum(|tokens| tokens.cache_write_5m),
            sum(|tokens| tokens.reasoning),
        ];
        let want: Vec<u64> = row.iter().map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!(got.to_vec(), want, "{name}");
    }
}
