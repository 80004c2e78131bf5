//! Tests of Claude Code's reader from outside: small logs for one behaviour each, and fixtures that look like the
//! logs of each version family.
//!
//! Only `check` uses the API. It prints a reading as text, one line per event: `line[#block] turn kinds actor[!] tool
//! "summary" → outcome`. A `!` marks a trigger, `.words` a human's words inside a result; the parent is printed as
//! `^line`, and only if it is not the previous event.

mod calls;
mod damage;
mod graph;
mod harness;
mod prompts;
mod queue;
mod results;
mod subagents;
mod tables;
mod versions;

use std::fmt::Write;

use transcript::{Agent, PartKind, Reading, SessionEvent, Tokens};

use crate::read;

/// The ID of the session in these logs.
const SESSION: &str = "5e551000-0000-4000-8000-000000000001";

/// Prints the reading of a log. The line break after the opening quote of a test's log is not part of it.
fn check(log: &str) -> String {
    check_bytes(
        &format!("{SESSION}.jsonl"),
        log.strip_prefix('\n').unwrap_or(log).as_bytes(),
    )
}

fn check_bytes(path: &str, log: &[u8]) -> String {
    print_reading(&read(Agent::Claude, path, log).0)
}

/// Prints only the events, for tests that do not depend on turns and lines.
fn events(log: &str) -> String {
    let log = log.strip_prefix('\n').unwrap_or(log);
    let (reading, _) = read(Agent::Claude, &format!("{SESSION}.jsonl"), log.as_bytes());
    let lines: Vec<String> = reading
        .events
        .iter()
        .map(|event| print_event(event, &reading))
        .collect();
    lines.join("\n")
}

/// Prints the session of a log, and its lineage.
fn session(path: &str, log: &str) -> String {
    let log = log.strip_prefix('\n').unwrap_or(log);
    print_session(&read(Agent::Claude, path, log.as_bytes()).0)
}

/// Like [`session`], with the metadata file beside a subagent's log.
fn session_with_meta(path: &str, log: &str, meta: &str) -> String {
    let (mut reading, mut state) = read(Agent::Claude, path, log.as_bytes());
    state.companion(PartKind::Meta, meta.as_bytes());
    let mut delta = transcript::Delta::default();
    state.close(&mut delta);
    reading.apply(delta);
    reading.settle();
    print_session(&reading)
}

fn print_reading(reading: &Reading) -> String {
    let mut out = String::new();
    for event in &reading.events {
        line(&mut out, print_event(event, reading));
    }
    for turn in &reading.turns {
        let counts = format!(
            "{} events, {} tool calls, {} errors",
            turn.events, turn.tool_calls, turn.errors
        );
        let rewound = if turn.rewound { ", rewound" } else { "" };
        let (n, from, to) = (turn.turn, turn.start_line, turn.end_line);
        line(
            &mut out,
            format!(
                "turn {n} lines {from}-{to} {:?}: {counts}{rewound}",
                short(&turn.prompt)
            ),
        );
    }
    for call in &reading.calls {
        let marks = [
            (call.is_sidechain, " sidechain"),
            (call.is_echo, " echo"),
            (call.turn.is_none(), " before any turn"),
        ];
        let marks: String = marks
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, mark)| *mark)
            .collect();
        let model = call.model.as_deref().unwrap_or("-");
        line(
            &mut out,
            format!("call of line {} {model} {}{marks}", call.line, tokens(&call.tokens)),
        );
    }
    for fault in &reading.faults {
        let mended = if fault.mended { " (mended)" } else { "" };
        line(&mut out, format!("fault {}: {}{mended}", fault.line, fault.reason));
    }
    for (unknown, count) in &reading.unknown {
        let version = unknown.version.as_deref().unwrap_or("no version");
        line(&mut out, format!("unknown {} in {version}: {count}", unknown.record));
    }
    let fates = reading.fates;
    let fates = [
        (fates.event, "event"),
        (fates.skipped, "skipped"),
        (fates.unknown, "unknown"),
        (fates.fault, "fault"),
        (fates.blank, "blank"),
    ];
    let fates: Vec<String> = fates
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, fate)| format!("{count} {fate}"))
        .collect();
    line(&mut out, format!("lines: {}", fates.join(", ")));
    out.trim_end().to_owned()
}

/// Prints one event in one line.
fn print_event(event: &SessionEvent, reading: &Reading) -> String {
    let mut out = print_position(event);
    match event.turn {
        Some(turn) => write!(out, " t{turn}"),
        None => write!(out, " -"),
    }
    .expect("text can be written");
    let trigger = if event.trigger { "!" } else { "" };
    write!(out, " {:?} {}{trigger}", event.kinds, event.actor.as_str()).expect("text can be written");
    if let Some(tool) = &event.tool {
        write!(out, " {tool}").expect("text can be written");
    }
    write!(out, " {:?}", short(&event.summary)).expect("text can be written");
    let outcome = outcome(event);
    if !outcome.is_empty() {
        write!(out, " → {outcome}").expect("text can be written");
    }
    let before = event.seq.checked_sub(1);
    if event.parent_seq != before {
        match event.parent_seq.and_then(|seq| reading.events.get(seq as usize)) {
            Some(parent) => write!(out, " ^{}", print_position(parent)),
            None => write!(out, " ^root"),
        }
        .expect("text can be written");
    }
    out
}

fn outcome(event: &SessionEvent) -> String {
    let mut facts = Vec::new();
    facts.extend(
        event
            .success
            .map(|success| if success { "ok".to_owned() } else { "failed".to_owned() }),
    );
    facts.extend(event.exit_code.map(|code| format!("exit {code}")));
    facts.extend(event.duration_ms.map(|ms| format!("{ms} ms")));
    facts.extend(event.tokens.map(|each| tokens(&each)));
    facts.extend((!event.files.is_empty()).then(|| format!("writes {}", event.files.join(" "))));
    facts.extend(event.spill.as_ref().map(|name| format!("spilled to {name}")));
    facts.extend(event.text_line.map(|line| format!("words of line {line}")));
    facts.extend(event.is_sidechain.then(|| "sidechain".to_owned()));
    facts.join(", ")
}

fn print_session(reading: &Reading) -> String {
    let session = reading.session.as_ref().expect("a closed reading has a session");
    let mut out = String::new();
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    line(
        &mut out,
        format!("{} subagent: {}", session.session_uid, session.is_subagent),
    );
    line(
        &mut out,
        format!(
            "{} in {} ({}) on {} version {} from {}",
            or_none(&session.model),
            or_none(&session.cwd),
            or_none(&session.repo),
            or_none(&session.git_branch),
            or_none(&session.agent_version),
            or_none(&session.entrypoint)
        ),
    );
    let time = |at: Option<_>| at.map_or("-".to_owned(), |at: jiff::Timestamp| at.to_string());
    line(
        &mut out,
        format!("{} to {}", time(session.started_at), time(session.ended_at)),
    );
    line(
        &mut out,
        format!("title {:?}", session.title.as_deref().unwrap_or_default()),
    );
    let cost = session.cost;
    line(
        &mut out,
        format!(
            "input {} output {} cache {} wall {} s turns {} retries {}",
            cost.input_tokens, cost.output_tokens, cost.cache_tokens, cost.wall_clock_s, cost.turns, cost.retries
        ),
    );
    for link in &session.lineage {
        let call = link
            .call_id
            .as_deref()
            .map(|id| format!(" by {id}"))
            .unwrap_or_default();
        let label = link
            .label
            .as_deref()
            .map(|label| format!(" {label:?}"))
            .unwrap_or_default();
        let print_event = link.line.map(|line| format!(" line {line}")).unwrap_or_default();
        line(
            &mut out,
            format!(
                "{} {} -> {}{call}{label}{print_event}",
                link.kind.as_str(),
                link.parent_uid,
                link.child_uid
            ),
        );
    }
    out.trim_end().to_owned()
}

/// Prints the position of an event.
fn print_position(event: &SessionEvent) -> String {
    let block = if event.block > 0 {
        format!("#{}", event.block)
    } else {
        String::new()
    };
    let words = if event.id.ends_with(".words") { ".words" } else { "" };
    format!("{}{block}{words}", event.line)
}

fn tokens(tokens: &Tokens) -> String {
    let cache = [tokens.cache_read, tokens.cache_write_5m, tokens.cache_write_1h];
    let cache = if cache == [0, 0, 0] {
        String::new()
    } else {
        format!("+{}+{}+{}", cache[0], cache[1], cache[2])
    };
    format!("{}{cache}/{} tokens", tokens.input, tokens.output)
}

fn short(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    if text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(CHARS_MAX).chain(['…']).collect()
}

fn line(out: &mut String, text: String) {
    writeln!(out, "{text}").expect("text can be written");
}
