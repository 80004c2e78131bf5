//! `boswell hooks status`: shows where our hooks are, whether they would still run, and when they last ran.

use std::path::Path;

use jiff::Timestamp;
use memory::spool;
use memory::store::Store;
use transcript::Agent;

use super::settings::{Place, Scope, all_places};
use super::wish::{events, ours};
use crate::answers::machine::{HooksPlace, HooksStatusAnswer};
use crate::context::{Context, own_program};
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};

/// The state of our hooks in one settings file.
struct Standing {
    place: Place,
    installed: Vec<String>,
    missing: Vec<&'static str>,
    runs: Option<Runs>,
    statusline: bool,
}

/// What a hook would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// This binary, with this memory.
    This,
    /// Another binary.
    OtherProgram,
    /// This binary, with another memory.
    OtherMemory,
    /// Nothing, because the program no longer exists.
    Nothing,
}

impl Runs {
    fn as_str(self) -> &'static str {
        match self {
            Self::This => "this",
            Self::OtherProgram => "other_program",
            Self::OtherMemory => "other_memory",
            Self::Nothing => "nothing",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::This => "runs this program",
            Self::OtherProgram => "runs another program",
            Self::OtherMemory => "tells another memory",
            Self::Nothing => "its program is gone",
        }
    }
}

/// Returns `true` if any of our hooks is left for this user or project.
pub(super) fn is_any_left(context: &Context) -> bool {
    let all = Agent::ALL.into_iter().flat_map(|agent| standings(context, agent));
    all.into_iter().any(|standing| !standing.installed.is_empty())
}

pub(super) fn run(ui: &mut Ui, context: &Context, agents: &[Agent]) -> Result<Outcome, CommandError> {
    let home = &context.places.data_dir;
    let store = Store::open_existing(home)?;
    let waiting = spool::list_notes(home);
    let lost = spool::lost_notes(home);
    let mut answers = Vec::new();
    for agent in agents {
        let kept = match &store {
            Some(store) => store.reads().last_hook_event(agent.as_str())?,
            None => None,
        };
        let noted = waiting.iter().filter_map(|one| one.note.as_ref().ok());
        let noted = noted.filter(|note| note.agent == *agent && note.event != spool::EXIT);
        let noted = noted.map(|note| (note.at, note.event.clone()));
        answers.push((*agent, standings(context, *agent), kept.into_iter().chain(noted).max()));
    }
    match ui.format {
        Format::Json => {
            let hooks = answers
                .iter()
                .flat_map(|(_, standings, last)| standings.iter().map(|one| place_record(one, last.as_ref())));
            ui.answer(&HooksStatusAnswer {
                command: "status",
                hooks: hooks.collect(),
                waiting: waiting.len(),
                lost: lost.map_or(0, |lost| lost.count),
                last_lost_at: lost.map(|lost| lost.last),
            })?;
        }
        Format::Text => {
            for (agent, standings, last) in &answers {
                show(ui, context, *agent, standings, last.as_ref())?;
            }
            if !waiting.is_empty() {
                let notes = plural(waiting.len() as u64, "note");
                ui.row(format_args!("{notes} waiting for the next sweep"))?;
            }
            if let Some(lost) = lost {
                let calls = plural(lost.count, "call");
                let ago = measure::age(context.now, lost.last);
                ui.warning(format_args!(
                    "{calls} of hooks could not be noted, the last one {ago}: no room"
                ));
                ui.hint("a sweep finds the sessions themselves; how they ended is not known");
            }
        }
    }
    let is_none = answers
        .iter()
        .all(|(_, standings, _)| standings.iter().all(|one| one.installed.is_empty()));
    Ok(if is_none { Outcome::NothingFound } else { Outcome::Done })
}

fn standings(context: &Context, agent: Agent) -> Vec<Standing> {
    let all = [Scope::User, Scope::Project]
        .into_iter()
        .flat_map(|scope| all_places(context, agent, scope));
    let mut standings: Vec<Standing> = Vec::new();
    for place in all {
        // In the home directory, both scopes have the same file.
        if standings.iter().any(|known| known.place.path == place.path) {
            continue;
        }
        let text = place.read().ok().flatten().unwrap_or_default();
        let found = place.find(&text);
        let installed: Vec<String> = found.iter().map(|(event, _)| event.clone()).collect();
        let is_there = |event: &&str| installed.iter().any(|name| name == *event);
        standings.push(Standing {
            missing: events(agent).iter().copied().filter(|event| !is_there(event)).collect(),
            runs: found.first().and_then(|(_, command)| runs(context, command, agent)),
            statusline: place.our_statusline(&text).is_some(),
            installed,
            place,
        });
    }
    standings
}

fn runs(context: &Context, command: &str, agent: Agent) -> Option<Runs> {
    let told = ours(command, agent)?;
    let real = |path: &Path| path.canonicalize().ok();
    let program = real(&told.program);
    Some(match program {
        None => Runs::Nothing,
        Some(_) if program != own_program().and_then(|path| real(&path)) => Runs::OtherProgram,
        Some(_) if told.home != *context.places.data_dir => Runs::OtherMemory,
        Some(_) => Runs::This,
    })
}

fn show(
    ui: &mut Ui,
    context: &Context,
    agent: Agent,
    standings: &[Standing],
    last: Option<&(Timestamp, String)>,
) -> Result<(), CommandError> {
    let fired = match last {
        Some((at, event)) => format!(
            "last heard of {}: {}",
            measure::age(context.now, *at),
            event.replace('_', " ")
        ),
        None => "never heard of".to_owned(),
    };
    ui.row(format_args!(
        "{}  {}",
        ui.paint(STRONG, agent.title()),
        ui.paint(FAINT, fired)
    ))?;
    for one in standings {
        let path = one.place.path.display().to_string();
        let told = match (one.installed.is_empty(), one.runs) {
            (true, _) if one.place.scope == Scope::Project => continue,
            (true, _) => "not installed".to_owned(),
            (false, runs) => {
                let mut told = vec!["installed", runs.map_or("", Runs::words)];
                told.extend(one.statusline.then_some("with status line"));
                told.retain(|words| !words.is_empty());
                told.join(", ")
            }
        };
        ui.row(format_args!(
            "  {}  {}  {told}",
            one.place.scope.as_str(),
            ui.path(&escape(&path))
        ))?;
        if !one.installed.is_empty() && !one.missing.is_empty() {
            ui.hint(format_args!(
                "`boswell hooks install {}` adds what is missing: {}",
                agent.as_str(),
                one.missing.join(", ")
            ));
        }
    }
    Ok(())
}

fn place_record<'a>(one: &'a Standing, last: Option<&'a (Timestamp, String)>) -> HooksPlace<'a> {
    HooksPlace {
        agent: one.place.agent.as_str(),
        scope: one.place.scope.as_str(),
        path: &one.place.path,
        is_installed: !one.installed.is_empty(),
        events: &one.installed,
        missing_events: &one.missing,
        runs: one.runs.map(Runs::as_str),
        statusline: one.statusline,
        last_told_at: last.map(|(at, _)| *at),
        last_event: last.map(|(_, event)| event.as_str()),
    }
}
