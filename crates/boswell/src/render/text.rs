//! A transcript as text: a header, then turns with one line per event.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::logs::{self, LogReading, SessionReading};
use memory::mask::Masker;
use transcript::{Actor, Call, Kind, Role, Session, SessionEvent, Tokens, Turn};

use crate::error::{CommandError, log_error};
use crate::render::depth::{Depth, is_message};
use crate::ui::markdown::{Ink, markdown_lines};
use crate::ui::prose::StyledLine;
use crate::ui::{BAD, FAINT, GOOD, HEADING, STRONG, Ui, escape, escape_lines, measure};
use memory::store::Operation;

/// The width of an event's label.
const LABEL_COLUMNS: usize = 14;
/// The indentation of an event's text.
const BODY_COLUMNS: usize = 8;
/// Maximum width of prose; longer lines are tiring to read.
pub(crate) const PROSE_COLUMNS_MAX: usize = 96;
/// Columns before the summary of an event: line, time and label with the gaps between them.
const LEAD_COLUMNS: usize = 6 + 2 + 8 + 2 + LABEL_COLUMNS + 1;

/// Prints a session and its subagents.
pub(crate) fn session(
    ui: &mut Ui,
    session: &SessionReading,
    zone: &TimeZone,
    wanted: &dyn Fn(&SessionEvent) -> bool,
    depth: Depth,
    masker: &Masker,
) -> Result<(), CommandError> {
    for log in session.logs() {
        let Some(told) = &log.reading.session else { continue };
        // The header of a subagent is left out if none of its events is requested.
        let is_asked = log.reading.events.is_empty() || log.reading.events.iter().any(wanted);
        if !std::ptr::eq(log, &session.main) && !is_asked {
            continue;
        }
        let head = Head {
            told,
            events: log.reading.events.len() as u64 + log.left_out.events,
            lines: log.fates().lines(),
            tokens: tokens(ui, session, log),
        };
        rows(ui, header(ui, &head, zone))?;
        let mut shown = None;
        let mut show = |event: &SessionEvent, text: Option<String>| -> Result<(), CommandError> {
            if shown != Some(event.turn) {
                shown = Some(event.turn);
                ui.row("")?;
                ui.row(heading(ui, &log.reading.turns, event.turn, zone))?;
            }
            rows(ui, event_lines(ui, event, text.as_deref(), told.is_subagent, zone))
        };
        let with_spill = |event: &SessionEvent, text: Option<String>| {
            let text = depth
                .is_whole(event)
                .then(|| logs::spilled(&log.path, event, masker).or(text));
            show(event, text.flatten())
        };
        logs::each_text(log, masker, wanted, with_spill).map_err(log_error)??;
        ui.row("")?;
    }
    Ok(())
}

/// Prints finished lines.
pub(crate) fn rows(ui: &mut Ui, lines: Vec<String>) -> Result<(), CommandError> {
    lines.iter().try_for_each(|line| Ok(ui.row(line)?))
}

/// The content of the header above a transcript.
pub(crate) struct Head<'a> {
    pub(crate) told: &'a Session,
    pub(crate) events: u64,
    pub(crate) lines: u64,
    /// The lines of tokens.
    pub(crate) tokens: Vec<String>,
}

pub(crate) fn header(ui: &Ui, head: &Head<'_>, zone: &TimeZone) -> Vec<String> {
    let told = head.told;
    let title = told
        .title
        .as_deref()
        .map(|title| format!("  {}", escape(title)))
        .unwrap_or_default();
    let mut lines = vec![format!(
        "{}{}",
        ui.paint(STRONG, escape(told.session_uid.as_str())),
        title
    )];

    let version = told
        .agent_version
        .as_deref()
        .map(|version| format!(" {}", escape(version)))
        .unwrap_or_default();
    let mut who = vec![format!("{}{version}", told.flavor.title())];
    who.extend(told.model.as_deref().map(|model| escape(model).into_owned()));
    who.extend(told.repo.as_deref().map(|repo| match &told.git_branch {
        Some(branch) => format!("{} on {}", escape(repo), escape(branch)),
        None => escape(repo).into_owned(),
    }));
    who.extend(told.cwd.as_deref().map(|cwd| ui.path(&escape(cwd))));
    lines.push(format!("  {}", who.join(" · ")));

    let span = told.started_at.zip(told.ended_at).map(|(from, to)| {
        let wall = measure::duration(to.duration_since(from));
        format!("{} – {} ({wall})", date_time(from, zone), date_time(to, zone))
    });
    let mut when: Vec<String> = span.into_iter().collect();
    when.push(plural(u64::from(told.cost.turns), "turn"));
    when.push(plural(head.events, "event"));
    when.push(plural(head.lines, "line"));
    lines.push(format!("  {}", when.join(" · ")));
    lines.extend(head.tokens.iter().map(|line| format!("  {line}")));
    for lineage in told
        .lineage
        .iter()
        .filter(|lineage| lineage.child_uid == told.session_uid)
    {
        let label = lineage
            .label
            .as_deref()
            .map(|label| format!(": {}", escape(label)))
            .unwrap_or_default();
        lines.push(format!(
            "  {} of {}{label}",
            lineage.kind.as_str(),
            escape(lineage.parent_uid.as_str())
        ));
    }
    lines
}

/// Returns the lines about tokens: those of this log and, if there are subagents, those of the whole session.
fn tokens(ui: &Ui, all: &SessionReading, log: &LogReading) -> Vec<String> {
    let counted = all.counted_calls();
    let at = all
        .logs()
        .position(|known| std::ptr::eq(known, log))
        .unwrap_or_default();
    let mut lines = vec![format!("tokens: {}", told_tokens(&counted[at]))];
    if !all.subagents.is_empty() && at == 0 {
        let agents = plural(all.subagents.len() as u64, "subagent");
        let told = told_tokens(&counted.concat());
        lines.push(ui.paint(FAINT, format_args!("with {agents}: {told}")).to_string());
    }
    lines
}

pub(crate) fn told_tokens(calls: &[&Call]) -> String {
    let mut tokens = Tokens::default();
    calls.iter().for_each(|call| tokens.add(&call.tokens));
    let writes = tokens.cache_write_5m.saturating_add(tokens.cache_write_1h);
    format!(
        "{} in, {} out, {} cache read, {} cache write · {}",
        measure::count(tokens.input),
        measure::count(tokens.output),
        measure::count(tokens.cache_read),
        measure::count(writes),
        plural(calls.len() as u64, "call")
    )
}

/// Returns the heading of a turn, or that of the events before the first turn.
pub(crate) fn heading(ui: &Ui, turns: &[Turn], turn: Option<u32>, zone: &TimeZone) -> String {
    let at = turn.and_then(|turn| turns.binary_search_by_key(&turn, |known| known.turn).ok());
    let Some(turn) = at.map(|at| &turns[at]) else {
        let none = if turns.is_empty() {
            "No prompt of a human"
        } else {
            "Before the first prompt"
        };
        return ui.paint(HEADING, none).to_string();
    };
    let rewound = if turn.rewound { "  rewound" } else { "" };
    let title = format!("Turn {}", turn.turn);
    format!(
        "{}  {}{rewound}",
        ui.paint(HEADING, title),
        ui.paint(FAINT, about_turn(turn, zone))
    )
}

fn about_turn(turn: &Turn, zone: &TimeZone) -> String {
    let lines = match turn.end_line == turn.start_line {
        true => format!("line {}", turn.start_line),
        false => format!("lines {}–{}", turn.start_line, turn.end_line),
    };
    let facts = std::iter::once(lines).chain(turn_facts(turn, zone));
    facts.collect::<Vec<_>>().join(", ")
}

/// Returns when a turn began, how long it took, and how much was done.
pub(crate) fn turn_facts(turn: &Turn, zone: &TimeZone) -> Vec<String> {
    let mut about: Vec<String> = turn.started_at.map(|at| date_time(at, zone)).into_iter().collect();
    let took = turn
        .started_at
        .zip(turn.ended_at)
        .map(|(from, to)| to.duration_since(from));
    about.extend(took.filter(|took| !took.is_zero()).map(measure::duration));
    if turn.tool_calls > 0 {
        about.push(plural(u64::from(turn.tool_calls), "tool call"));
    }
    if turn.errors > 0 {
        about.push(plural(u64::from(turn.errors), "error"));
    }
    about
}

/// Returns an event as one line.
pub(crate) fn row(ui: &Ui, event: &SessionEvent, all_side: bool, zone: &TimeZone) -> String {
    let time = event
        .ts
        .map(|ts| ts.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string())
        .unwrap_or_default();
    let (word, style) = event_label(event);
    // A bar marks a subagent's events inside its parent's log.
    let side = if event.is_sidechain && !all_side { "│ " } else { "" };
    let label = format!("{side}{}", escape(word));
    let label = measure::fit(&label, LABEL_COLUMNS);
    let room = " ".repeat(LABEL_COLUMNS.saturating_sub(measure::width(&label)));
    let tail = event_outcome(event);
    let words: Vec<&str> = event.summary.split_whitespace().collect();
    let summary = escape(&words.join(" ")).into_owned();
    let summary = match ui.columns() {
        Some(columns) => {
            let taken = LEAD_COLUMNS + measure::width(&tail) + usize::from(!tail.is_empty()) * 2;
            measure::fit(&summary, columns.saturating_sub(taken).max(20)).into_owned()
        }
        None => summary,
    };
    let summary = match event.kinds.first() {
        Kind::Thinking | Kind::Lifecycle | Kind::Completion => ui.paint(FAINT, summary),
        Kind::UserMsg if event.trigger => ui.paint(STRONG, summary),
        _ => ui.paint(anstyle::Style::new(), summary),
    };
    let tail_style = if event.success == Some(false) { BAD } else { FAINT };
    let tail = if tail.is_empty() {
        String::new()
    } else {
        format!("  {}", ui.paint(tail_style, tail))
    };
    format!(
        "{}  {}  {}{room} {summary}{tail}",
        ui.paint(FAINT, format_args!("{:>6}", event.line)),
        ui.paint(FAINT, format_args!("{time:8}")),
        ui.paint(style, label),
    )
}

/// Returns the label of an event and its style.
pub(crate) fn event_label(event: &SessionEvent) -> (&str, anstyle::Style) {
    match (event.role, event.actor) {
        _ if event.kinds.has(Kind::ToolCall) => (event.tool.as_deref().unwrap_or("tool"), GOOD),
        _ if event.kinds.has(Kind::ToolResult) && event.kinds.has(Kind::Error) => ("  error", BAD),
        _ if event.kinds.has(Kind::ToolResult) && event.actor == Actor::Human => ("  denied", BAD),
        _ if event.kinds.has(Kind::ToolResult) => ("  result", FAINT),
        (Role::User, Actor::Human) | (Role::System, Actor::Human) => ("you", HEADING),
        (Role::User, Actor::Agent) => ("task", HEADING),
        (Role::User, Actor::OtherAgent) => ("peer", HEADING),
        (Role::User, Actor::Harness) if event.kinds.has(Kind::UserMsg) => ("program", HEADING),
        _ if event.kinds.has(Kind::Error) => ("error", BAD),
        _ if event.kinds.has(Kind::Thinking) => ("thinking", FAINT),
        _ if event.kinds.has(Kind::AssistantMsg) => ("agent", STRONG),
        _ => ("·", FAINT),
    }
}

/// Returns the outcome of an event: whether it failed, and how long it took.
pub(crate) fn event_outcome(event: &SessionEvent) -> String {
    let mut tail = Vec::new();
    for (kind, word) in [
        (Kind::TestRun, "test"),
        (Kind::Retry, "retry"),
        (Kind::HumanIntervention, "intervention"),
    ] {
        if event.kinds.has(kind) {
            tail.push(word.to_owned());
        }
    }
    if event.kinds.has(Kind::ToolCall) {
        match (event.success, event.exit_code) {
            (Some(false), Some(code)) => tail.push(format!("✗ exit {code}")),
            (Some(false), None) => tail.push("✗".to_owned()),
            _ => {}
        }
    }
    let worth_telling = event.duration_ms.filter(|ms| *ms >= 1000);
    tail.extend(worth_telling.map(|ms| measure::duration(SignedDuration::from_millis(ms.min(i64::MAX as u64) as i64))));
    tail.join(", ")
}

/// Returns the text of a message. A slash command is logged as a markup record, so its summary is used, which is what
/// the user typed.
pub(crate) fn message_words<'t>(event: &'t SessionEvent, text: Option<&'t str>) -> &'t str {
    match text {
        Some(text) if !text.trim_start().starts_with("<command-") => text,
        _ => &event.summary,
    }
}

/// Returns an event in one line and, if its whole text is shown and longer than that line, the text below it.
pub(crate) fn event_lines(
    ui: &Ui,
    event: &SessionEvent,
    text: Option<&str>,
    all_side: bool,
    zone: &TimeZone,
) -> Vec<String> {
    let with_summary = |summary: &str| {
        let event = SessionEvent {
            summary: summary.into(),
            ..event.clone()
        };
        row(ui, &event, all_side, zone)
    };
    let Some(text) = text else {
        return vec![with_summary(&event.summary)];
    };
    if !is_message(event) {
        let mut lines = vec![with_summary(&event.summary)];
        let is_said = !text.trim().contains('\n') && text.trim() == &*event.summary;
        lines.extend((!is_said).then(|| body(text)).into_iter().flatten());
        return lines;
    }
    let words = message_words(event, Some(text)).trim();
    let room = ui.columns().map(|columns| columns.saturating_sub(LEAD_COLUMNS));
    // An image has no text.
    if words.is_empty() {
        return vec![with_summary(&event.summary)];
    }
    if !words.contains('\n') && room.is_none_or(|room| measure::width(&escape(words)) <= room) {
        return vec![with_summary(words)];
    }
    let mut lines = vec![with_summary("").trim_end().to_owned()];
    match ui.columns() {
        Some(columns) => {
            let columns = columns.saturating_sub(BODY_COLUMNS + 1).max(20);
            let ink = if ui.has_color() { Ink::Color } else { Ink::Plain };
            let said = markdown_lines(words, columns.min(PROSE_COLUMNS_MAX), columns, ink);
            let lead = " ".repeat(BODY_COLUMNS);
            let line = |line: StyledLine| match ui.has_color() {
                true => line.to_ansi(),
                false => line.text(),
            };
            lines.extend(
                said.into_iter()
                    .map(|said| format!("{lead}{}", line(said)).trim_end().to_owned()),
            );
        }
        None => lines.extend(body(words)),
    }
    lines
}

/// Returns the whole text of an event, indented.
pub(crate) fn body(text: &str) -> Vec<String> {
    let line = |line: &str| format!("        {}", escape_lines(line));
    text.lines().map(line).collect()
}

/// Returns the time of an operation, or `None` if it is out of range.
pub(crate) fn when(operation: &Operation) -> Option<Timestamp> {
    Timestamp::from_microsecond(operation.at_micros).ok()
}

pub(crate) fn date_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

pub(crate) fn plural(count: u64, word: &str) -> String {
    format!("{} {word}{}", measure::count(count), if count == 1 { "" } else { "s" })
}

/// Returns how many sessions and how many subagents there are: `227 new sessions and 57 subagents`. `word` is `session`, or an adjective and
/// that. Every count of sessions that does not leave subagents out is worded here.
pub(crate) fn sessions_and_subagents(sessions: u64, word: &str, subagents: u64) -> String {
    match subagents {
        0 => plural(sessions, word),
        subagents => format!("{} and {}", plural(sessions, word), plural(subagents, "subagent")),
    }
}
