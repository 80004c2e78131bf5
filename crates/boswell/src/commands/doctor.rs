//! `boswell doctor`: checks the agents' logs on this machine and, if requested, the memory.

mod repair;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use memory::doctor::{
    AgentCleanup, AgentHealth, DuplicateSession, LogExamination, RootHealth, StoreHealth, examine_logs, examine_store,
};
use memory::mask::Masker;
use memory::sources::{LogRoot, UnreadPath};
use memory::store::Store;

use self::repair::repair;
use crate::alerts;
use crate::answers::health::{
    Alert, CleanupRecord, DoctorAnswer, DueLog, ExaminedAgent, ExaminedRoot, ExaminedStore, FaultCount, SessionCopies,
    UnknownRecords,
};
use crate::answers::shared::UnreadFile;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::ui::{BAD, FAINT, Format, GOOD, STRONG, Ui, escape, measure};

/// Maximum number of rows of one kind in text output.
const ROWS_SHOWN: usize = 5;

/// Check which agents are installed, what they wrote, and what cannot be read
///
/// Reads all logs under the agents' roots and changes nothing. Reports record types that Boswell does not know yet,
/// faults by reason, sessions that are in several logs, and what Claude Code's clean-up is about to delete. With
/// `--deep` it also checks the memory itself: its database and every stored line.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell doctor
  boswell doctor --deep      also check the memory
  boswell doctor --repair    also repair what is damaged
  boswell doctor --json
  CLAUDE_CONFIG_DIR=/backup/.claude boswell doctor")]
pub(crate) struct DoctorArgs {
    /// Also check the memory: its database and every stored line
    #[arg(long)]
    deep: bool,
    /// Like `--deep`, and repair what is damaged from stored lines or from the agent's log
    #[arg(long)]
    repair: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DoctorArgs) -> Result<Outcome, CommandError> {
    let mut store = if args.deep || args.repair {
        Some(store_health(ui, context)?)
    } else {
        None
    };
    if let Some(damaged) = store.as_ref().filter(|store| args.repair && !store.is_sound()) {
        repair(ui, context, damaged)?;
        store = Some(store_health(ui, context)?);
    }
    examine_and_show(ui, context, &context.memory_roots(), store.as_ref())?;
    for alert in alerts_of(context) {
        ui.warning(&alert.message);
    }
    alerts::take_unseen(ui, &context.places.data_dir);
    let Some(damaged) = store.filter(|store| !store.is_sound()) else {
        return Ok(Outcome::Done);
    };
    ui.warning("the memory is damaged; the agents' own logs are not touched by this");
    match damaged.database.is_empty() {
        true if args.repair => ui.hint("what is still damaged has no log any more; everything else is whole"),
        true => ui.hint("all other frames are whole; `boswell doctor --repair` reads again what the agent still has"),
        false => {
            ui.hint("`boswell doctor --repair` makes a new database of what can be read, of the packs and of the logs")
        }
    }
    Ok(Outcome::Damaged)
}

/// Examines `roots` and prints the result.
pub(crate) fn examine_and_show(
    ui: &mut Ui,
    context: &Context,
    roots: &[LogRoot],
    store: Option<&StoreHealth>,
) -> Result<(), CommandError> {
    let bar = bar(ui, "Reading logs {wide_bar} {pos}/{len} {eta}");
    let progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    // Examining logs writes nothing, so a missing masking key is not stored.
    let masker = &context.masker(false)?;
    let healths = examine_logs(&LogExamination {
        roots,
        now: context.now,
        threads: context.threads,
        masker,
        is_ignored: &|path| context.is_ignored(path),
        progress: &progress,
    });
    bar.finish_and_clear();
    // Names from logs are masked, because they can contain secrets, too.
    let health = MaskedHealth { masker, context };
    match ui.format {
        Format::Json => ui.answer(&health.answer(&healths, store))?,
        Format::Text => {
            health.show(ui, &healths)?;
            store.map_or(Ok(()), |store| health.show_store(ui, store))?;
        }
    }
    Ok(())
}

/// Returns the current alerts of the memory. A store that cannot be opened is reported as damaged elsewhere.
fn alerts_of(context: &Context) -> Vec<Alert> {
    let store = Store::open_existing(&context.places.data_dir).ok().flatten();
    alerts::current(context, store.as_ref()).unwrap_or_default()
}

fn store_health(ui: &Ui, context: &Context) -> Result<StoreHealth, CommandError> {
    let bar = bar(ui, "Checking the memory {wide_bar} {pos}/{len} {eta}");
    let health = examine_store(&context.places.data_dir, &|done, all| {
        bar.set_length(all);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    Ok(health)
}

fn bar(ui: &Ui, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(None, ui.progress_target()).with_style(style)
}

/// Prints and serializes the results, with text from logs and paths masked.
struct MaskedHealth<'a> {
    masker: &'a Masker,
    context: &'a Context,
}

impl MaskedHealth<'_> {
    fn show(&self, ui: &mut Ui, healths: &[AgentHealth]) -> Result<(), CommandError> {
        for health in healths {
            let is_here = health.roots.iter().any(|root| root.is_there);
            let word = if is_here {
                ui.paint(GOOD, "here")
            } else {
                ui.paint(FAINT, "not here")
            };
            ui.row(format_args!("{}  {word}", ui.paint(STRONG, health.agent.title())))?;
            for root in &health.roots {
                let there = if root.is_there { "" } else { "  (no such directory)" };
                let label = root
                    .root
                    .label
                    .as_deref()
                    .map(|label| format!("  {}", escape(label)))
                    .unwrap_or_default();
                ui.row(format_args!(
                    "  root      {}{label}{there}",
                    ui.path(&self.shown(&root.root.path))
                ))?;
            }
            if !is_here {
                continue;
            }
            let sessions = plural(health.sessions, "session");
            let subagents = plural(health.subagents, "subagent");
            ui.row(format_args!(
                "  keeps     {sessions}, {subagents}, {}",
                measure::bytes(health.bytes)
            ))?;
            if !health.versions.is_empty() {
                ui.row(format_args!("  versions  {}", self.versions(health)))?;
            }
            self.unknown_and_faults(ui, health)?;
            self.copies(ui, health)?;
            if let Some(cleanup) = &health.cleanup {
                self.show_cleanup(ui, cleanup)?;
            }
        }
        Ok(())
    }

    /// Returns the lowest version, the highest version, and their number.
    fn versions(&self, health: &AgentHealth) -> String {
        let number =
            |version: &&String| -> Vec<u64> { version.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
        let mut versions: Vec<&String> = health.versions.iter().collect();
        versions.sort_by_key(number);
        match versions.as_slice() {
            [only] => self.word(only),
            [first, .., last] => format!(
                "{} to {} ({} versions)",
                self.word(first),
                self.word(last),
                versions.len()
            ),
            [] => String::new(),
        }
    }

    fn unknown_and_faults(&self, ui: &mut Ui, health: &AgentHealth) -> Result<(), CommandError> {
        for (unknown, count) in health.unknown.iter().take(ROWS_SHOWN) {
            let version = unknown.version.as_deref().unwrap_or("no version");
            ui.row(format_args!(
                "  unknown   {} ×{count} ({})",
                self.word(&unknown.record),
                self.word(version)
            ))?;
        }
        more(ui, health.unknown.len())?;
        let mut faults: Vec<_> = health.faults.iter().collect();
        faults.sort_by_key(|(_, fault)| std::cmp::Reverse(fault.count));
        for (reason, fault) in faults.iter().take(ROWS_SHOWN) {
            let place = format!("{}:{}", self.shown(&fault.path), fault.line);
            ui.row(format_args!(
                "  {}    {} ×{}  {}",
                ui.paint(BAD, "faults"),
                self.word(reason),
                fault.count,
                ui.paint(FAINT, place)
            ))?;
        }
        more(ui, faults.len())?;
        for unread in health.unread.iter().take(ROWS_SHOWN) {
            ui.row(format_args!(
                "  {}    {}: {}",
                ui.paint(BAD, "unread"),
                ui.path(&self.shown(&unread.path)),
                self.word(&unread.reason)
            ))?;
        }
        more(ui, health.unread.len())
    }

    /// Prints the sessions that are in several logs.
    fn copies(&self, ui: &mut Ui, health: &AgentHealth) -> Result<(), CommandError> {
        for copies in health.copies.iter().take(ROWS_SHOWN) {
            ui.row(format_args!(
                "  copies    {} is in {} logs, the longest is kept",
                self.word(&copies.session_uid),
                copies.paths.len()
            ))?;
            for path in copies.paths.iter().take(ROWS_SHOWN) {
                ui.row(format_args!(
                    "            {}",
                    ui.paint(FAINT, ui.path(&self.shown(path)))
                ))?;
            }
        }
        more(ui, health.copies.len())
    }

    fn show_cleanup(&self, ui: &mut Ui, cleanup: &AgentCleanup) -> Result<(), CommandError> {
        let whose = if cleanup.is_default {
            "its default"
        } else {
            "its settings"
        };
        let period = plural(cleanup.period_days.into(), "day");
        let due = match cleanup.due.first() {
            None => "nothing goes within a week".to_owned(),
            Some(_) => format!("{} within a week:", plural(cleanup.due.len() as u64, "session")),
        };
        ui.row(format_args!(
            "  clean-up  Claude Code deletes logs after {period} ({whose}); {due}"
        ))?;
        for due in cleanup.due.iter().take(ROWS_SHOWN) {
            let when = if due.deleted_at <= self.context.now {
                "at its next start".to_owned()
            } else {
                measure::age(self.context.now, due.deleted_at)
            };
            ui.row(format_args!(
                "            {}  {}",
                ui.paint(BAD, when),
                ui.path(&self.shown(&due.path))
            ))?;
        }
        more(ui, cleanup.due.len())
    }

    /// Prints the state of the memory.
    fn show_store(&self, ui: &mut Ui, store: &StoreHealth) -> Result<(), CommandError> {
        let word = match (store.is_there, store.is_sound()) {
            (_, false) => ui.paint(BAD, "damaged"),
            (true, true) => ui.paint(GOOD, "whole"),
            (false, true) => ui.paint(FAINT, "not here"),
        };
        ui.row(format_args!("{}  {word}", ui.paint(STRONG, "Memory")))?;
        ui.row(format_args!("  store     {}", ui.path(&self.shown(&store.directory))))?;
        if store.is_there {
            let sessions = plural(store.sessions, "session");
            ui.row(format_args!(
                "  checked   {sessions}, {} of lines",
                measure::bytes(store.bytes_checked)
            ))?;
        }
        let damages: Vec<String> = store.damages.iter().map(|damage| damage.what.clone()).collect();
        for (label, lines) in [("database", &store.database), ("damage  ", &damages)] {
            for line in lines.iter().take(ROWS_SHOWN) {
                ui.row(format_args!("  {}  {}", ui.paint(BAD, label), self.word(line)))?;
            }
            more(ui, lines.len())?;
        }
        Ok(())
    }

    /// Returns a path, masked and escaped for the terminal.
    fn shown(&self, path: &Path) -> String {
        self.word(&path.display().to_string())
    }

    /// Returns text from a log, masked and escaped for the terminal.
    fn word(&self, word: &str) -> String {
        escape(&self.masker.mask_str(word, &mut Vec::new())).into_owned()
    }

    /// Returns masked text for JSON, which is escaped when it is serialized.
    fn masked(&self, word: &str) -> String {
        self.masker.mask_str(word, &mut Vec::new()).into_owned()
    }

    fn masked_path(&self, path: &Path) -> String {
        self.masked(&path.display().to_string())
    }

    fn answer<'s>(&self, healths: &[AgentHealth], store: Option<&'s StoreHealth>) -> DoctorAnswer<'s> {
        DoctorAnswer {
            agents: healths.iter().map(|health| self.agent_record(health)).collect(),
            store: store.map(|store| self.store_record(store)),
            alerts: alerts_of(self.context),
        }
    }

    fn store_record<'s>(&self, store: &'s StoreHealth) -> ExaminedStore<'s> {
        ExaminedStore {
            path: &store.directory,
            exists: store.is_there,
            sessions: store.sessions,
            bytes_checked: store.bytes_checked,
            database: &store.database,
            damages: store.damages.iter().map(|damage| self.masked(&damage.what)).collect(),
        }
    }

    fn agent_record(&self, health: &AgentHealth) -> ExaminedAgent {
        let root = |root: &RootHealth| ExaminedRoot {
            path: self.masked_path(&root.root.path),
            label: root.root.label.clone(),
            exists: root.is_there,
        };
        let unread = |unread: &UnreadPath| UnreadFile {
            path: self.masked_path(&unread.path),
            reason: self.masked(&unread.reason),
        };
        let copies = |copies: &DuplicateSession| SessionCopies {
            session_uid: self.masked(&copies.session_uid),
            paths: copies.paths.iter().map(|path| self.masked_path(path)).collect(),
        };
        let faults = health.faults.iter().map(|(reason, fault)| FaultCount {
            reason: self.masked(reason),
            count: fault.count,
            path: self.masked_path(&fault.path),
            line: fault.line,
        });
        let unknown = health.unknown.iter().map(|(unknown, count)| UnknownRecords {
            version: unknown.version.as_deref().map(|version| self.masked(version)),
            record: self.masked(&unknown.record),
            count: *count,
        });
        ExaminedAgent {
            agent: health.agent.as_str(),
            roots: health.roots.iter().map(root).collect(),
            sessions: health.sessions,
            subagents: health.subagents,
            bytes: health.bytes,
            versions: health.versions.iter().map(|version| self.masked(version)).collect(),
            unknown: unknown.collect(),
            faults: faults.collect(),
            unread: health.unread.iter().map(unread).collect(),
            copies: health.copies.iter().map(copies).collect(),
            cleanup: health.cleanup.as_ref().map(|cleanup| self.cleanup_record(cleanup)),
        }
    }

    fn cleanup_record(&self, cleanup: &AgentCleanup) -> CleanupRecord {
        let due = cleanup.due.iter().map(|due| DueLog {
            path: self.masked_path(&due.path),
            deleted_at: due.deleted_at,
        });
        CleanupRecord {
            period_days: cleanup.period_days,
            is_default: cleanup.is_default,
            due: due.collect(),
        }
    }
}

fn more(ui: &mut Ui, rows: usize) -> Result<(), CommandError> {
    match rows.checked_sub(ROWS_SHOWN).filter(|more| *more > 0) {
        Some(more) => Ok(ui.row(ui.paint(FAINT, format_args!("            and {more} more; see `--json`")))?),
        None => Ok(()),
    }
}
