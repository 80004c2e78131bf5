//! `boswell prepare`: gathers the sessions of a day for a report.

use std::path::{Path, PathBuf};

use memory::diary::{Copies, DayWindow, EmptyDay, Prepared, PreparedWorkspace};
use memory::session_text::{Eviction, SessionTexts};
use memory::store::Store;

use crate::answers::page::{PrepareAnswer, PreparedWindow};
use crate::context::Context;
use crate::day_workspace::{DayArgs, DayTarget, PlaceArgs, gather, no_window};
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::text_source::{describe_eviction, text_gone};
use crate::ui::{Format, Ui, escape};

/// Maximum number of skipped items that are printed one by one; the audit has all.
const TOLD_MAX: usize = 20;

/// Gather a day's sessions into a workspace for a report
///
/// Collects all sessions in which you prompted an agent on that day: their logs with secrets masked, their subagents,
/// and an index of the turns by line. The default is yesterday. What is left out is reported with the reason; the
/// complete list is in the audit, outside of the workspace. An existing workspace is kept, unless it was prepared
/// before its day was over and the day has ended or logs have grown since.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell prepare                                  yesterday
  boswell prepare --today
  boswell prepare --date monday
  boswell prepare --date 2026-05-12 --timezone Asia/Shanghai
  boswell prepare --date 2026-05-12 --force        prepare it again; reports are kept")]
pub(crate) struct PrepareArgs {
    #[command(flatten)]
    day: DayArgs,
    #[command(flatten)]
    place: PlaceArgs,
    /// Prepare an existing workspace again; reports in it are kept
    #[arg(long)]
    force: bool,
    /// Copy logs byte for byte, including secrets
    #[arg(long)]
    verbatim: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &PrepareArgs) -> Result<Outcome, CommandError> {
    let (zone, zone_name) = args.place.zone(context)?;
    let date = args.day.date(context, &zone)?;
    let window = DayWindow::new(date, &zone, &zone_name, context.now).map_err(no_window)?;
    let reports_root = args.place.root(ui, context);
    let masker = match args.verbatim {
        true => None,
        false => Some(context.masker(true)?),
    };
    if args.verbatim {
        ui.warning("copies are verbatim: secrets in the logs are secrets in the workspace");
    }
    // A memory that cannot be opened is only a warning, because the logs on disk still make a workspace.
    let store = Store::open_existing(&context.places.data_dir).unwrap_or_else(|error| {
        ui.warning(format_args!("logs that are gone are not taken from memory: {error}"));
        None
    });
    let copies = masker.as_ref().map_or(Copies::Verbatim, Copies::Masked);
    let site = DayTarget {
        window: &window,
        zone: &zone,
        reports_root: &reports_root,
        empty_day: EmptyDay::Prepare,
    };
    let prepared = gather(context, &site, copies, store.as_ref(), args.force)?;
    match (ui.format, &prepared) {
        (Format::Json, _) => ui.answer(&answer(&window, &window.date.to_string(), &reports_root, &prepared))?,
        (Format::Text, Prepared::Existing(workspace)) => {
            ui.row(ui.path(&escape(&workspace.display().to_string())))?;
            ui.status("The workspace is there already");
            ui.hint("`--force` prepares it again");
        }
        (Format::Text, Prepared::Created(made)) => {
            show(ui, &window, made)?;
            if let Some(store) = &store {
                show_evicted(ui, context, store, made)?;
            }
        }
        (Format::Text, Prepared::Empty) => {}
    }
    Ok(Outcome::Done)
}

fn show(ui: &mut Ui, window: &DayWindow, made: &PreparedWorkspace) -> Result<(), CommandError> {
    ui.row(ui.path(&escape(&made.workspace.display().to_string())))?;
    let count = |count: usize, word: &str| plural(count as u64, word);
    if made.was_partial {
        ui.status("Prepared again, because the day was not over the last time");
    }
    ui.status(format_args!(
        "Prepared {} ({}): {}, {}, {}, {}",
        window.date,
        window.status.as_str(),
        count(made.projects, "project"),
        count(made.sessions, "session"),
        count(made.turns, "turn"),
        count(made.subagents, "subagent"),
    ));
    let notes = &made.notes;
    let secrets: u64 = notes.masked.iter().map(|masked| masked.secrets).sum();
    if secrets > 0 {
        ui.status(format_args!("Masked {} in the copies", plural(secrets, "secret")));
    }
    for one in &notes.from_memory {
        ui.status(format_args!("From memory, its log is gone: {}", one.session_uid));
    }
    for one in &notes.renamed {
        ui.status(format_args!(
            "Named otherwise: {} is {}",
            one.source_path, one.workspace_path
        ));
    }
    for one in notes.skipped.iter().take(TOLD_MAX) {
        ui.warning(format_args!("skipped {}: {}", one.what, one.reason));
    }
    let more = notes.skipped.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        ui.warning(format_args!("skipped {} more; the audit names them", more));
    }
    Ok(())
}

/// Reports which sessions of the day were evicted, when and why, and which of them were read from their logs.
fn show_evicted(ui: &mut Ui, context: &Context, store: &Store, made: &PreparedWorkspace) -> Result<(), CommandError> {
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    for uid in &made.notes.from_source {
        if let Some(eviction) = Eviction::read(&store.reads(), uid)? {
            let evicted = describe_eviction(&eviction, &context.zone);
            ui.status(format_args!("Read from its log: {uid}; raw text was {evicted}"));
        }
    }
    for uid in &made.notes.evicted {
        let location = texts.locate(uid)?;
        ui.warning(format_args!(
            "left out: {}",
            text_gone(&context.zone, texts.masker, uid, &location).message
        ));
    }
    if !made.notes.evicted.is_empty() {
        ui.hint("`boswell report` describes them from their digests");
    }
    Ok(())
}

fn answer<'a>(window: &'a DayWindow, date: &'a str, reports_root: &Path, prepared: &'a Prepared) -> PrepareAnswer<'a> {
    let (workspace, made) = match prepared {
        Prepared::Existing(workspace) => (Some(workspace), None),
        Prepared::Created(made) => (Some(&made.workspace), Some(made)),
        Prepared::Empty => (None, None),
    };
    PrepareAnswer {
        date,
        timezone: &window.zone_name,
        status: window.status.as_str(),
        window: PreparedWindow {
            start: window.start,
            end: window.end,
        },
        workspace: workspace.map(PathBuf::as_path),
        audit: reports_root.join("private").join(date).join("audit.manifest.json"),
        is_new: made.is_some(),
        projects: made.map(|made| made.projects),
        sessions: made.map(|made| made.sessions),
        turns: made.map(|made| made.turns),
        subagents: made.map(|made| made.subagents),
        notes: made.map(|made| &made.notes),
    }
}
