//! Grok's session directories: invented ones in snapshots, properties of reading, tokens, and real ones.

mod laws;
mod real;
mod sessions;
mod tokens;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use transcript::{Agent, Delta, Lines, Origin, PartKind, Reading, SessionEvent, State};

/// A session directory in memory: the files that are read, companions before lines.
pub(crate) struct Directory {
    /// The path of its log, which names the session and its working directory.
    path: String,
    companions: Vec<(PartKind, Vec<u8>)>,
    lines: Vec<(PartKind, Vec<u8>)>,
}

impl Directory {
    /// Returns a session that only has a log.
    fn of_log(path: &str, log: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            companions: Vec::new(),
            lines: vec![(PartKind::Log, log.to_vec())],
        }
    }

    /// Splits a directory like the memory does: the log, or its replacement, then the events.
    fn open(directory: &Path) -> Self {
        let file = |name: &str| std::fs::read(directory.join(name)).ok();
        let companions = [
            (PartKind::Summary, "summary.json"),
            (PartKind::PromptContext, "prompt_context.json"),
            (PartKind::Signals, "signals.json"),
            (PartKind::PlanMode, "plan_mode.json"),
        ];
        let mut companions: Vec<_> = companions
            .into_iter()
            .filter_map(|(part, name)| Some((part, file(name)?)))
            .collect();
        for child in std::fs::read_dir(directory.join("subagents"))
            .into_iter()
            .flatten()
            .flatten()
        {
            companions.extend(std::fs::read(child.path().join("meta.json")).map(|bytes| (PartKind::Meta, bytes)));
        }
        let log = file("updates.jsonl").map(|bytes| (PartKind::Log, bytes));
        let log = log.or_else(|| Some((PartKind::ChatHistory, file("chat_history.jsonl")?)));
        let events = file("events.jsonl").map(|bytes| (PartKind::Events, bytes));
        Self {
            path: directory.join("updates.jsonl").to_string_lossy().into_owned(),
            companions,
            lines: log.into_iter().chain(events).collect(),
        }
    }

    fn state(&self) -> State {
        let mut state = State::new(Agent::Grok, Origin::of(&self.path));
        for (part, bytes) in &self.companions {
            state.companion(*part, bytes);
        }
        state
    }

    /// Reads every part whole.
    pub(crate) fn read(&self) -> (Reading, State) {
        let mut state = self.state();
        let mut reading = Reading::default();
        for (part, bytes) in &self.lines {
            reading.apply(
                state
                    .read_unmasked(*part, &mut Lines::new(&bytes[..]))
                    .expect("bytes can be read"),
            );
        }
        // A directory that only has companions is a session as well.
        let mut delta = Delta::default();
        state.close(&mut delta);
        reading.apply(delta);
        reading.settle();
        (reading, state)
    }

    fn count_lines(&self) -> u64 {
        self.lines.iter().map(|(_, bytes)| crate::count_lines(bytes)).sum()
    }
}

/// Returns an invented session.
fn fixture(number: u32) -> Directory {
    let group = "%2Fhome%2Fada%2Fapp";
    let session = format!("0199a000-0000-7000-8000-{number:012}");
    Directory::open(
        &PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/grok"))
            .join(group)
            .join(session),
    )
}

/// Prints a reading: one event per line, then turns, calls, faults and unknown types.
fn print_reading(reading: &Reading) -> String {
    let mut out = String::new();
    for event in &reading.events {
        writeln!(out, "{}", print_event(event)).expect("a string takes all");
    }
    for turn in &reading.turns {
        let rewound = if turn.rewound { ", rewound" } else { "" };
        let range = format!("lines {}-{}", turn.start_line, turn.end_line);
        let counts = format!(
            "{} events, {} calls, {} errors",
            turn.events, turn.tool_calls, turn.errors
        );
        writeln!(out, "turn {}: {range}, {counts}{rewound}", turn.turn).expect("a string takes all");
    }
    for call in &reading.calls {
        let tokens = &call.tokens;
        let model = call.model.as_deref().unwrap_or("-");
        let counts = format!(
            "in {} out {} read {} write {}",
            tokens.input, tokens.output, tokens.cache_read, tokens.cache_write_5m
        );
        let cost = call
            .cost_usd_ticks
            .map(|ticks| format!(", {ticks} ticks"))
            .unwrap_or_default();
        writeln!(out, "call {model}: {counts} thought {}{cost}", tokens.reasoning).expect("a string takes all");
    }
    for fault in &reading.faults {
        let mended = if fault.mended { " (mended)" } else { "" };
        writeln!(out, "fault {}: {}{mended}", fault.line, fault.reason).expect("a string takes all");
    }
    for (unknown, count) in &reading.unknown {
        let version = unknown.version.as_deref().unwrap_or("-");
        writeln!(out, "unknown {version} {}: {count}", unknown.record).expect("a string takes all");
    }
    let fates = reading.fates;
    let skipped = format!("{} skipped, {} unknown", fates.skipped, fates.unknown);
    write!(
        out,
        "fates: {} events, {skipped}, {} faults, {} blank",
        fates.event, fates.fault, fates.blank
    )
    .expect("a string takes all");
    out
}

/// Prints the session as a whole, one fact per line.
fn print_session(reading: &Reading) -> String {
    let session = reading.session.as_ref().expect("a reading has a session");
    let facts = [
        ("cwd", session.cwd.clone()),
        ("branch", session.git_branch.clone()),
        ("model", session.model.clone()),
        ("title", session.title.clone()),
        ("version", session.agent_version.clone()),
        ("entrypoint", session.entrypoint.clone()),
        ("started", session.started_at.map(|ts| ts.to_string())),
        ("ended", session.ended_at.map(|ts| ts.to_string())),
        (
            "inherited",
            session.inherited.map(|inherited| {
                format!(
                    "lines {}-{} by {}",
                    inherited.first_line,
                    inherited.last_line,
                    inherited.rule.as_str()
                )
            }),
        ),
        ("hidden", session.is_hidden.then(|| "yes".to_owned())),
    ];
    let mut out = session.session_uid.to_string();
    for (name, fact) in facts {
        if let Some(fact) = fact {
            write!(out, "\n{name}: {fact}").expect("a string takes all");
        }
    }
    for link in &session.lineage {
        let label = link
            .label
            .as_deref()
            .map(|label| format!(" ({label})"))
            .unwrap_or_default();
        let line = link.line.map(|line| format!(" at line {line}")).unwrap_or_default();
        let kind = link.kind.as_str();
        write!(out, "\n{kind}: {} -> {}{label}{line}", link.parent_uid, link.child_uid).expect("a string takes all");
    }
    out
}

fn print_event(event: &SessionEvent) -> String {
    let part = match event.part {
        PartKind::Log => "",
        part => part.as_str(),
    };
    let mut out = format!("{part}{} {:?} {}", event.line, event.kinds, event.actor.as_str());
    if event.trigger {
        out += " TRIGGER";
    }
    if let Some(turn) = event.turn {
        write!(out, " t{turn}").expect("a string takes all");
    }
    if let Some(tool) = &event.tool {
        write!(out, " {tool}").expect("a string takes all");
    }
    if let Some(success) = event.success {
        out += if success { " ok" } else { " failed" };
    }
    for (name, value) in [
        ("exit", event.exit_code.map(i64::from)),
        ("ms", event.duration_ms.and_then(|ms| i64::try_from(ms).ok())),
        ("out", event.tokens.and_then(|tokens| i64::try_from(tokens.output).ok())),
    ] {
        if let Some(value) = value {
            write!(out, " {name}={value}").expect("a string takes all");
        }
    }
    if !event.files.is_empty() {
        write!(out, " [{}]", event.files.join(", ")).expect("a string takes all");
    }
    write!(out, ": {}", event.summary.replace('\n', "⏎")).expect("a string takes all");
    out
}
