//! Codex CLI: real logs if `BOSWELL_CORPUS` names a directory of them, fixtures, and logs with known counts.

mod corpus;
mod generations;
mod laws;
mod records;
mod threads;
mod tokens;

use std::fmt::Write as _;

use transcript::{Agent, Reading};

use crate::read;

/// The fixtures, by their name below `fixtures/codex`.
const FIXTURES: [(&str, &[u8]); 17] = [
    ("g0.json", include_bytes!("../../../../fixtures/codex/g0.json")),
    ("g1.jsonl", include_bytes!("../../../../fixtures/codex/g1.jsonl")),
    ("g2.jsonl", include_bytes!("../../../../fixtures/codex/g2.jsonl")),
    ("g3.jsonl", include_bytes!("../../../../fixtures/codex/g3.jsonl")),
    ("g4.jsonl", include_bytes!("../../../../fixtures/codex/g4.jsonl")),
    ("g5.jsonl", include_bytes!("../../../../fixtures/codex/g5.jsonl")),
    ("g6.jsonl", include_bytes!("../../../../fixtures/codex/g6.jsonl")),
    ("g7.jsonl", include_bytes!("../../../../fixtures/codex/g7.jsonl")),
    ("items.jsonl", include_bytes!("../../../../fixtures/codex/items.jsonl")),
    (
        "events.jsonl",
        include_bytes!("../../../../fixtures/codex/events.jsonl"),
    ),
    ("fork.jsonl", include_bytes!("../../../../fixtures/codex/fork.jsonl")),
    (
        "subagent.jsonl",
        include_bytes!("../../../../fixtures/codex/subagent.jsonl"),
    ),
    (
        "import.jsonl",
        include_bytes!("../../../../fixtures/codex/import.jsonl"),
    ),
    (
        "damaged.jsonl",
        include_bytes!("../../../../fixtures/codex/damaged.jsonl"),
    ),
    (
        "aliases.jsonl",
        include_bytes!("../../../../fixtures/codex/aliases.jsonl"),
    ),
    ("polls.jsonl", include_bytes!("../../../../fixtures/codex/polls.jsonl")),
    (
        "settings.jsonl",
        include_bytes!("../../../../fixtures/codex/settings.jsonl"),
    ),
];

fn fixture(name: &str) -> Reading {
    let (_, bytes) = FIXTURES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("the fixture is listed");
    read(Agent::Codex, name, bytes).0
}

/// Prints a reading: the session, its events one per line, its turns, and its faults.
fn print_reading(reading: &Reading) -> String {
    let mut out = String::new();
    let session = reading.session.as_ref().expect("a reading has its session");
    let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (cwd, version) = (words(&session.cwd), words(&session.agent_version));
    let (from, title) = (words(&session.entrypoint), words(&session.title));
    writeln!(
        out,
        "{} {from} {version} {} {cwd} {title}",
        session.session_uid,
        words(&session.model)
    )
    .expect("a string takes all words");
    if let Some(copied) = session.inherited {
        let (first, last) = (copied.first_line, copied.last_line);
        writeln!(out, "copied {first}..{last} by {}", copied.rule.as_str()).expect("a string takes all words");
    }
    for link in &session.lineage {
        let label = link.label.as_deref().unwrap_or("-");
        writeln!(
            out,
            "{} {} -> {} {label}",
            link.kind.as_str(),
            link.parent_uid,
            link.child_uid
        )
        .expect("a string takes all words");
    }
    for event in &reading.events {
        let trigger = if event.trigger { "!" } else { "" };
        let turn = event.turn.map_or("-".to_owned(), |turn| turn.to_string());
        let tool = event.tool.as_deref().unwrap_or("-");
        let mut end = String::new();
        if let Some(success) = event.success {
            end += if success { " ok" } else { " failed" };
        }
        end += &event.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
        end += &event.duration_ms.map(|ms| format!(" {ms} ms")).unwrap_or_default();
        end += &event
            .tokens
            .map(|tokens| format!(" {} tokens", tokens.total()))
            .unwrap_or_default();
        let files: String = event.files.iter().map(|file| format!(" [{file}]")).collect();
        let (line, kinds, actor) = (event.line, event.kinds, event.actor.as_str());
        let summary = event.summary.replace('\n', "⏎");
        writeln!(
            out,
            "{line} {turn} {kinds:?} {actor}{trigger} {tool}{end}{files} | {summary}"
        )
        .expect("a string takes all words");
    }
    for turn in &reading.turns {
        let rewound = if turn.rewound { " rewound" } else { "" };
        let (start, end, events) = (turn.start_line, turn.end_line, turn.events);
        writeln!(
            out,
            "turn {} {start}..{end} events {events} calls {} errors {}{rewound}",
            turn.turn, turn.tool_calls, turn.errors
        )
        .expect("a string takes all words");
    }
    for fault in &reading.faults {
        writeln!(
            out,
            "fault {} {}",
            fault.line,
            if fault.mended { "mended" } else { "lost" }
        )
        .expect("a string takes all words");
    }
    for (unknown, count) in &reading.unknown {
        writeln!(
            out,
            "unknown {} {} {count}",
            unknown.version.as_deref().unwrap_or("-"),
            unknown.record
        )
        .expect("a string takes all words");
    }
    out
}
