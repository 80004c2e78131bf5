//! `boswell hooks`: lets agents report their sessions as they end.

mod json;
mod settings;
mod status;
mod toml;
mod wish;

use std::path::{Path, PathBuf};

use memory::spool;
use similar::TextDiff;
use transcript::Agent;

use self::settings::{Before, Place, Scope, all_places, places};
use self::wish::Wish;
use crate::agent_arg::AgentName;
use crate::answers::machine::{HooksChange, HooksChangeAnswer};
use crate::context::{Context, Surroundings, own_program};
use crate::error::{CommandError, Outcome};
use crate::hook::baked::Baked;
use crate::ui::{FAINT, Format, Ui, escape};

/// Let agents report their sessions as they end
///
/// A hook is a command in an agent's own settings that the agent runs when a session starts, a turn ends or a session
/// ends. Ours records which session it was and why it ended, never what was said in it, and returns within
/// milliseconds; the session is in the memory seconds later. Nothing is installed unless you run `install`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hooks install --dry-run      what would change
  boswell hooks install claude
  boswell hooks status
  boswell hooks uninstall")]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    command: HooksCommand,
}

#[derive(clap::Subcommand, Debug)]
enum HooksCommand {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Status(StatusArgs),
}

/// Add our hooks to the agents' settings
///
/// They are added next to your own hooks; comments and formatting stay. A backup of the settings is kept beside them
/// until `boswell hooks uninstall` restores it. Without a name, all agents on this machine are meant.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hooks install
  boswell hooks install codex --dry-run
  boswell hooks install claude --statusline
  boswell hooks install claude --scope project")]
struct InstallArgs {
    /// `claude`, `codex` or `grok`
    agents: Vec<AgentName>,
    /// Which settings to change
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: Scope,
    /// Also set our status line in Claude Code, if none is set
    #[arg(long)]
    statusline: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Remove our hooks from the agents' settings
///
/// If nothing else was changed since, the settings are restored byte for byte; otherwise only our entries are removed.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hooks uninstall
  boswell hooks uninstall grok --dry-run")]
struct UninstallArgs {
    /// `claude`, `codex` or `grok`
    agents: Vec<AgentName>,
    /// Which settings to change
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: Scope,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Show where our hooks are, whether they would still run, and when they last ran
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hooks status
  boswell hooks status --json")]
struct StatusArgs {
    /// `claude`, `codex` or `grok`
    agents: Vec<AgentName>,
}

/// Our status line: whether the user asked for it, and its command.
struct Line {
    is_wanted: bool,
    command: String,
}

/// A planned change of one settings file.
struct Change {
    place: Place,
    from: Option<String>,
    to: Option<String>,
    before: Before,
}

pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    context: &Context,
    args: &HooksArgs,
) -> Result<Outcome, CommandError> {
    match &args.command {
        HooksCommand::Install(args) => install(ui, surroundings, context, args),
        HooksCommand::Uninstall(args) => uninstall(ui, context, args),
        HooksCommand::Status(args) => status::run(ui, context, &wanted(&args.agents)),
    }
}

fn wanted(named: &[AgentName]) -> Vec<Agent> {
    let is_wanted = |agent: &Agent| named.is_empty() || named.iter().any(|name| name.0 == *agent);
    Agent::ALL.into_iter().filter(is_wanted).collect()
}

fn install(
    ui: &mut Ui,
    surroundings: &Surroundings,
    context: &Context,
    args: &InstallArgs,
) -> Result<Outcome, CommandError> {
    let program = program(context)?;
    // An agent may run the status line without this variable, so a custom data directory becomes part of the command.
    let moved = surroundings.environment.get(crate::env::BOSWELL_HOME);
    let line = Line {
        is_wanted: args.statusline,
        command: wish::statusline(&program, moved.map(|_| &*context.places.data_dir)),
    };
    let line = &line;
    let mut changes = Vec::new();
    for agent in wanted(&args.agents) {
        for place in places(context, agent, args.scope) {
            // Without names, only agents whose directory exists are selected.
            let is_here = context
                .roots
                .iter()
                .any(|root| root.agent == agent && root.path.is_dir());
            if args.agents.is_empty() && !is_here {
                continue;
            }
            changes.push(wish_for(ui, context, place, &program, line)?);
        }
    }
    if changes.is_empty() {
        let error = CommandError::not_found("agent-unknown", "no agent was found on this machine");
        return Err(error.with_hint("name one: `boswell hooks install claude`"));
    }
    if !args.dry_run {
        let home = &context.places.data_dir;
        let prepared = spool::create_spool(home).and_then(|()| Baked::here(surroundings, context).write(home));
        prepared.map_err(|error| {
            CommandError::user(
                "store-failed",
                format_args!("cannot write into `{}`: {error}", home.display()),
            )
        })?;
        for change in changes.iter().filter(|change| change.from != change.to) {
            change
                .place
                .write(&change.before, change.to.as_deref().unwrap_or_default())?;
        }
    }
    show(ui, &changes, "install", args.dry_run)?;
    if args.scope == Scope::Project {
        ui.hint("the settings now name places of this machine: keep them out of what you commit");
    }
    let is_codex = |change: &Change| change.place.agent == Agent::Codex && change.from != change.to;
    if changes.iter().any(is_codex) {
        ui.hint("Codex runs a hook only once you trust it: start `codex`, open `/hooks` and trust ours");
    }
    Ok(Outcome::Done)
}

/// Returns the change that adds our hooks to a settings file.
fn wish_for(ui: &mut Ui, context: &Context, place: Place, program: &Path, line: &Line) -> Result<Change, CommandError> {
    let from = place.read()?;
    let before = from.as_deref().map_or(Ok(Before::Absent), |now| place.before(now))?;
    let mut wish = Wish::new(place.agent, program, &context.places.data_dir);
    let text = from.as_deref().unwrap_or_default();
    let has_ours = place.our_statusline(text).is_some();
    let others = place.statusline(text).filter(|_| !has_ours);
    if place.agent == Agent::Claude && (line.is_wanted || has_ours) {
        match others {
            None => wish.statusline = Some(line.command.clone()),
            Some(command) => {
                ui.warning(format_args!(
                    "another status line is set, and stays: `{}`",
                    escape(&command)
                ));
            }
        }
    }
    let to = Some(place.add(&before, &wish)?);
    Ok(Change {
        place,
        from,
        to,
        before,
    })
}

fn uninstall(ui: &mut Ui, context: &Context, args: &UninstallArgs) -> Result<Outcome, CommandError> {
    let mut changes = Vec::new();
    for agent in wanted(&args.agents) {
        for place in all_places(context, agent, args.scope) {
            let Some(now) = place.read()? else { continue };
            let is_ours = !place.find(&now).is_empty() || place.our_statusline(&now).is_some();
            let before = if is_ours {
                place.before(&now)?
            } else {
                Before::Text(now.clone())
            };
            let to = match &before {
                Before::Absent => None,
                Before::Text(text) => Some(text.clone()),
            };
            changes.push(Change {
                place,
                from: Some(now),
                to,
                before,
            });
        }
    }
    changes.retain(|change| change.from != change.to);
    if !args.dry_run {
        for change in &changes {
            change.place.give_back(&change.before)?;
        }
        if !status::is_any_left(context) {
            // Only hooks read this file, and none is left.
            _ = Baked::remove(&context.places.data_dir);
        }
    }
    show(ui, &changes, "uninstall", args.dry_run)?;
    if changes.is_empty() {
        ui.status("No hooks of ours are installed");
    }
    Ok(Outcome::Done)
}

/// Returns the path of the binary that hooks run. A path in `PATH` that leads to this binary is preferred, because it
/// stays valid when the binary behind it is updated.
fn program(context: &Context) -> Result<PathBuf, CommandError> {
    let running = own_program().ok_or_else(|| CommandError::internal("the path of this program is unknown"))?;
    let real = running.canonicalize().unwrap_or_else(|_| running.clone());
    let name = format!("boswell{}", std::env::consts::EXE_SUFFIX);
    let mut named = context.search_path.iter().map(|folder| folder.join(&name));
    let same = named.find(|path| path.is_absolute() && path.canonicalize().is_ok_and(|found| found == real));
    Ok(same.unwrap_or(running))
}

fn show(ui: &mut Ui, changes: &[Change], verb: &'static str, is_dry: bool) -> Result<(), CommandError> {
    if ui.format == Format::Json {
        return ui.answer(&HooksChangeAnswer {
            command: verb,
            dry_run: is_dry,
            changes: changes.iter().map(Change::record).collect(),
        });
    }
    for change in changes {
        let path = change.place.path.display().to_string();
        let (agent, path) = (change.place.agent.title(), ui.path(&escape(&path)));
        if change.from == change.to {
            ui.row(format_args!("{agent}: our hooks are there already: {path}"))?;
        } else if is_dry {
            for line in change.diff().lines() {
                ui.row(ui.path(&escape(line)))?;
            }
        } else {
            ui.row(format_args!(
                "{agent}: {}: {path}",
                if verb == "install" {
                    "hooks installed"
                } else {
                    "hooks taken out"
                }
            ))?;
            if verb == "install" && change.before != Before::Absent {
                let beside = change.place.beside().display().to_string();
                let line = format!("  as it was: {}", ui.path(&escape(&beside)));
                ui.row(ui.paint(FAINT, line))?;
            }
        }
    }
    Ok(())
}

impl Change {
    fn diff(&self) -> String {
        let (from, to) = (
            self.from.as_deref().unwrap_or_default(),
            self.to.as_deref().unwrap_or_default(),
        );
        let path = self.place.path.display().to_string();
        let name = |text: &Option<String>| text.as_ref().map_or("/dev/null", |_| path.as_str()).to_owned();
        let diff = TextDiff::from_lines(from, to);
        let (old, new) = (name(&self.from), name(&self.to));
        diff.unified_diff().header(&old, &new).to_string()
    }

    fn record(&self) -> HooksChange<'_> {
        HooksChange {
            agent: self.place.agent.as_str(),
            scope: self.place.scope.as_str(),
            path: &self.place.path,
            is_changed: self.from != self.to,
            diff: self.diff(),
        }
    }
}
