//! `boswell restore`: writes the log files of a session.

use std::path::PathBuf;

use memory::restore::{self, PlannedFile, RestorePlan};
use memory::session_text::SessionTexts;
use memory::store::CopyRow;

use crate::answers::share::{RestoreAnswer, RestoredFile};
use crate::context::Context;
use crate::copies;
use crate::error::{CommandError, Outcome};
use crate::restoring::{plan, tell_masked, told};
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::text_source::announce;
use crate::ui::{FAINT, Format, Ui, escape, measure};

/// Restore a session's files
///
/// Writes the log, those of its subagents and the files next to them. Existing files are not changed. An evicted session
/// is copied from its log if that still exists. Secrets are masked, so masked text differs from what the agent wrote.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell restore 5e55 -o /tmp/session
  boswell restore 5e55 --in-place --dry-run     what would be written, and where
  boswell restore 5e55 --in-place               back to where its agent looks")]
#[command(group = clap::ArgGroup::new("target").required(true))]
pub(crate) struct RestoreArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Write into this directory
    #[arg(short, long, value_name = "DIR", group = "target")]
    output: Option<PathBuf>,
    /// Write to where the agent looks for its sessions
    #[arg(long, group = "target")]
    in_place: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &RestoreArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let named = resolve(&store, context, &args.session)?;
    let directory = args.output.as_deref().map(|path| context.places.current_dir.join(path));
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store: &store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    let location = texts.locate(&named.session_uid)?;
    announce(ui, &context.zone, texts.masker, &location);
    let plan = plan(context, &texts, &named, &location, directory.as_deref())?;
    let written = if args.dry_run {
        0
    } else {
        restore::apply_restore(&texts, &plan).map_err(told)?
    };
    if directory.is_some() && written > 0 {
        note_copies(ui, context, &plan);
    }
    match ui.format {
        Format::Json => ui.answer(&RestoreAnswer {
            session_uid: &named.session_uid,
            dry_run: args.dry_run,
            written,
            files: plan.files.iter().map(restored_file).collect(),
            left_out: &plan.left_out,
            gone: &plan.gone,
            text_from: location.origin().as_str(),
        })?,
        Format::Text => show(ui, &plan, args.dry_run)?,
    }
    tell_masked(ui, &plan);
    Ok(Outcome::Done)
}

/// Records which files were written outside of the memory, so that `boswell forget` can list them.
fn note_copies(ui: &mut Ui, context: &Context, plan: &RestorePlan) {
    let new = plan.files.iter().filter(|file| !file.is_there);
    let copies: Vec<CopyRow> = new
        .map(|file| CopyRow {
            session_uid: file.session_uid.clone(),
            path: file.path.display().to_string(),
            kind: "restored".to_owned(),
        })
        .collect();
    copies::note(ui, context, "restore", &copies);
}

fn show(ui: &mut Ui, plan: &RestorePlan, is_dry: bool) -> Result<(), CommandError> {
    // New files come first, so that a long list of files that already exist does not hide them.
    let (there, new): (Vec<&PlannedFile>, Vec<&PlannedFile>) = plan.files.iter().partition(|file| file.is_there);
    for file in new.iter().chain(&there) {
        let size = measure::bytes(file.bytes);
        let path = ui.path(&escape(&file.path.display().to_string()));
        let state = match (file.is_there, is_dry) {
            (true, _) => "already there",
            (false, true) => "would restore",
            (false, false) => "restored",
        };
        // The state comes before the path, because paths are often wider than a terminal.
        let state = ui.paint(FAINT, format!("{state:<13}"));
        ui.row_wrapped(format!("{size:>10}  {state}  {path}"), 12)?;
    }
    Ok(())
}

fn restored_file(file: &PlannedFile) -> RestoredFile<'_> {
    RestoredFile {
        session_uid: &file.session_uid,
        part: &file.part,
        path: &file.path,
        bytes: file.bytes,
        redactions: file.redactions,
        lines_left_out: file.lines_left_out,
        is_there: file.is_there,
    }
}
