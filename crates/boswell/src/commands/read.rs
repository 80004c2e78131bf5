//! `boswell read`: prints logs as transcripts, directly from the files of the agents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use memory::logs::{self, LeftOut, LogError, LogReading, SessionReading};
use memory::mask::Masker;
use memory::sources;
use transcript::{Agent, Kind, SessionEvent};

use crate::agent_arg::AgentName;
use crate::answers::read::{Record, SummaryRecord};
use crate::context::Context;
use crate::error::{CommandError, Outcome, log_error};
use crate::render::depth::Depth;
use crate::render::text;
use crate::turn_arg::TurnRange;
use crate::ui::{Format, Ui};
use crate::zone_arg::zone_of;

/// Maximum number of unknown record types listed on a terminal; the rest is only counted.
const UNKNOWN_SHOWN: usize = 5;
/// Maximum number of faults listed on a terminal; the rest is only counted.
const FAULTS_SHOWN: usize = 20;

/// Print a log as a transcript
///
/// Reads the log itself, without the memory, and changes nothing. The agent is detected from the contents of the log.
/// Subagents whose logs are next to it are shown after it. With `--json` the output is JSON Lines: session, turn, event
/// and fault records, and one summary at the end.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell read ~/.claude/projects/-home-you-app/0b5c….jsonl
  boswell read LOG --turns 3-7             only some turns
  boswell read LOG --kind error,test_run   only some events
  boswell read LOG --depth tools           also results and thinking
  boswell read LOG --depth full            whole texts
  boswell read LOG --json | jq -c 'select(.trigger)'")]
pub(crate) struct ReadArgs {
    /// Logs, or directories with logs
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read it as this agent's log instead of detecting the agent
    #[arg(long)]
    agent: Option<AgentName>,
    /// Only these turns: `3`, `3-7` or `3-`
    #[arg(long, alias = "turn", value_name = "TURNS")]
    turns: Option<TurnRange>,
    /// Only events of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<KindName>,
    /// How much of each turn to show; `turns` by default, all events with `--kind` or `--json`
    #[arg(long, value_name = "DEPTH")]
    depth: Option<Depth>,
    /// The same as `--depth full`
    #[arg(long, conflicts_with = "depth")]
    full: bool,
    /// Show times in this zone, such as `Europe/Berlin`
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ReadArgs) -> Result<Outcome, CommandError> {
    let zone = zone_of(context, args.timezone.as_deref())?;
    // Output is always masked, but printing alone is no reason to create the masking key.
    let masker = context.masker(false)?;
    let mut failed = None;
    let mut sessions = Vec::new();
    let mut is_anything_shown = false;
    for path in logs_of(&args.paths, args.agent.map(|name| name.0), &mut failed) {
        match logs::read_session(&path, args.agent.map(|name| name.0), &masker) {
            Ok(session) => {
                let wanted = wanted(args, ui.format);
                is_anything_shown |= session.logs().any(|log| log.reading.events.iter().any(&wanted));
                match ui.format {
                    Format::Json => show_json(ui, &session, &masker, args)?,
                    Format::Text => text::session(
                        ui,
                        &session,
                        &zone,
                        &wanted,
                        args.depth().unwrap_or(Depth::Turns),
                        &masker,
                    )?,
                }
                if let Some(agent) = args.agent {
                    hint_wrong_agent(ui, agent.0, &session.main);
                }
                tell_left_out(ui, &session);
                sessions.push(Shown::new(session));
            }
            Err(error) => fail(&mut failed, error),
        }
    }
    conclude(ui, &sessions)?;
    let chooses = args.turns.is_some() || !args.kind.is_empty();
    if chooses && failed.is_none() && !is_anything_shown {
        ui.hint("no event is of these turns and kinds");
        return Ok(Outcome::NothingFound);
    }
    match failed {
        Some(error) if sessions.is_empty() || ui.format == Format::Text => Err(error),
        Some(error) => {
            ui.warning(&error.message);
            Ok(Outcome::Done)
        }
        None => Ok(Outcome::Done),
    }
}

/// Returns the logs that the paths name: for a directory, all logs in it.
fn logs_of(paths: &[PathBuf], agent: Option<Agent>, failed: &mut Option<CommandError>) -> Vec<PathBuf> {
    let mut logs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let error = CommandError::usage("a log cannot be read from standard input").with_hint(
                "write it to a file and name that file: files next to a log belong to it, and `--full` reads the log twice",
            );
            failed.get_or_insert(error);
            continue;
        }
        if !path.is_dir() {
            logs.push(path.clone());
            continue;
        }
        let agents = agent.map_or(Agent::ALL.to_vec(), |agent| vec![agent]);
        let found = agents
            .into_iter()
            .flat_map(|agent| sources::find_logs_in(agent, path).logs);
        let mut inside: Vec<PathBuf> = found.filter(|log| !log.is_subagent).map(|log| log.path).collect();
        inside.sort();
        inside.dedup();
        if inside.is_empty() {
            let message = format_args!("no logs in {}", path.display()).to_string();
            failed.get_or_insert(CommandError::not_found("no-logs", message));
        }
        logs.extend(inside);
    }
    logs
}

/// A session that was printed. Its events and turns are dropped, because only their counts are needed from here on.
struct Shown {
    session: SessionReading,
    printed: LeftOut,
    left_out: LeftOut,
}

impl Shown {
    fn new(mut session: SessionReading) -> Self {
        let (mut printed, mut left_out) = (LeftOut::default(), LeftOut::default());
        for log in std::iter::once(&mut session.main).chain(&mut session.subagents) {
            printed.events += log.reading.events.len() as u64;
            printed.turns += log.reading.turns.len() as u64;
            left_out.events += log.left_out.events;
            left_out.turns += log.left_out.turns;
            (log.reading.events, log.reading.turns) = (Vec::new(), Vec::new());
        }
        Self {
            session,
            printed,
            left_out,
        }
    }

    fn logs(&self) -> impl Iterator<Item = &LogReading> {
        self.session.logs()
    }
}

/// Prints a hint if a log was read as another agent's: no line of it was recognised.
fn hint_wrong_agent(ui: &mut Ui, agent: Agent, log: &LogReading) {
    let fates = log.fates();
    let is_anything = fates.unknown + fates.fault > 0;
    if fates.event + fates.skipped > 0 || !is_anything {
        return;
    }
    let looks = logs::agent_of_head(&log.path).ok().filter(|looks| *looks != agent);
    let looks = looks.map_or_else(
        || "it looks like no agent's we know".to_owned(),
        |looks| format!("it looks like {}'s: leave `--agent` out", looks.title()),
    );
    ui.hint(format_args!(
        "nothing in {} was recognised as {}'s; {looks}",
        log.path.display(),
        agent.title()
    ));
}

/// Prints a warning for each log that has more events than can be held in memory.
fn tell_left_out(ui: &mut Ui, session: &SessionReading) {
    for log in session.logs() {
        let LeftOut { events, .. } = log.left_out;
        if events > 0 {
            let shown = text::plural(log.reading.events.len() as u64, "event");
            ui.warning(format_args!(
                "{}: the first {shown} are shown, {} more are only counted",
                log.path.display(),
                crate::ui::measure::count(events)
            ));
        }
    }
}

impl ReadArgs {
    /// Returns the requested depth.
    fn depth(&self) -> Option<Depth> {
        if self.full { Some(Depth::Full) } else { self.depth }
    }
}

/// Returns a predicate for the requested events.
fn wanted(args: &ReadArgs, format: Format) -> impl Fn(&SessionEvent) -> bool {
    let is_open = format == Format::Json || !args.kind.is_empty();
    let depth = args.depth().or((!is_open).then_some(Depth::Turns));
    move |event| {
        let in_turns = args
            .turns
            .is_none_or(|turns| event.turn.is_some_and(|turn| turns.has(turn)));
        let of_kind = args.kind.is_empty() || args.kind.iter().any(|kind| event.kinds.has(kind.0));
        in_turns && of_kind && depth.is_none_or(|depth| depth.takes(event))
    }
}

fn show_json(ui: &mut Ui, session: &SessionReading, masker: &Masker, args: &ReadArgs) -> Result<(), CommandError> {
    let wanted = wanted(args, Format::Json);
    for log in session.logs() {
        let Some(told) = &log.reading.session else { continue };
        let uid = told.session_uid.as_str();
        ui.json(&Record::session(told))?;
        for turn in log
            .reading
            .turns
            .iter()
            .filter(|turn| args.turns.is_none_or(|turns| turns.has(turn.turn)))
        {
            ui.json(&Record::turn(uid, turn))?;
        }
        if let Some(depth) = args.depth() {
            let show = |event: &SessionEvent, body: Option<String>| {
                let text = || logs::spilled(&log.path, event, masker).or(body);
                let text = depth
                    .is_whole(event)
                    .then(|| text().unwrap_or_else(|| event.summary.to_string()));
                ui.json(&Record::event(uid, event, text))
            };
            logs::each_text(log, masker, &wanted, show).map_err(log_error)??;
        } else {
            for event in log.reading.events.iter().filter(|event| wanted(event)) {
                ui.json(&Record::event(uid, event, None))?;
            }
        }
        for fault in &log.reading.faults {
            ui.json(&Record::fault(&log.path, fault))?;
        }
    }
    Ok(())
}

/// Prints the unknown record types, the faults, and the counts of all lines.
fn conclude(ui: &mut Ui, sessions: &[Shown]) -> Result<(), CommandError> {
    if ui.format == Format::Text {
        tell_unknown(ui, sessions);
        let faults = sessions.iter().flat_map(Shown::logs);
        let faults: Vec<_> = faults
            .flat_map(|log| log.reading.faults.iter().map(|fault| (&log.path, fault)))
            .collect();
        for (path, fault) in faults.iter().take(FAULTS_SHOWN) {
            ui.warning(format_args!("{}:{}: {}", path.display(), fault.line, fault.reason));
        }
        let left_out: u64 = sessions
            .iter()
            .flat_map(Shown::logs)
            .map(|log| log.left_out.faults)
            .sum();
        let more = faults.len().saturating_sub(FAULTS_SHOWN) as u64 + left_out;
        if more > 0 {
            ui.warning(format_args!("{more} more faults"));
        }
        for unread in sessions.iter().flat_map(|shown| &shown.session.unread) {
            ui.warning(format_args!("{}: {}", unread.path.display(), unread.reason));
        }
        return Ok(());
    }
    if sessions.is_empty() {
        return Ok(());
    }
    let mut summary = SummaryRecord::new();
    for Shown {
        session,
        printed,
        left_out,
    } in sessions
    {
        summary.add_counts(*printed, *left_out);
        summary.add_log(&session.main, true);
        session.subagents.iter().for_each(|log| summary.add_log(log, false));
        session
            .unread
            .iter()
            .for_each(|unread| summary.add_unread(&unread.path, &unread.reason));
    }
    let calls: Vec<_> = sessions
        .iter()
        .flat_map(Shown::logs)
        .flat_map(|log| &log.reading.calls)
        .collect();
    let counts = transcript::counted(&calls);
    summary.add_calls(
        calls
            .into_iter()
            .zip(counts)
            .filter(|(_, counts)| *counts)
            .map(|(call, _)| call),
    );
    ui.json(&Record::Summary(summary))
}

/// Prints the record types that Boswell does not know: an early sign that a log format changed.
fn tell_unknown(ui: &mut Ui, sessions: &[Shown]) {
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for log in sessions.iter().flat_map(Shown::logs) {
        for (unknown, count) in &log.reading.unknown {
            *types.entry(&unknown.record).or_default() += count;
        }
    }
    if types.is_empty() {
        return;
    }
    let records = text::plural(types.values().sum(), "record");
    let more = types.len().saturating_sub(UNKNOWN_SHOWN);
    let named = types.iter().take(UNKNOWN_SHOWN);
    let mut named: Vec<String> = named.map(|(record, count)| format!("{record} ×{count}")).collect();
    named.extend((more > 0).then(|| format!("and {more} more types")));
    ui.warning(format_args!("{records} of unknown type: {}", named.join(", ")));
}

fn fail(failed: &mut Option<CommandError>, error: LogError) {
    failed.get_or_insert(log_error(error));
}

/// A kind as the command line names it.
#[derive(Debug, Clone, Copy)]
struct KindName(Kind);

impl clap::ValueEnum for KindName {
    fn value_variants<'a>() -> &'a [Self] {
        const KINDS: [KindName; Kind::ALL.len()] = {
            let mut kinds = [KindName(Kind::Lifecycle); Kind::ALL.len()];
            let mut at = 0;
            while at < kinds.len() {
                kinds[at] = KindName(Kind::ALL[at]);
                at += 1;
            }
            kinds
        };
        &KINDS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.as_str()))
    }
}
