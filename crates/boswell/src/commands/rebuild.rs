//! `boswell rebuild`: computes the derived rows again from the stored text.

use std::cell::RefCell;

use indicatif::{ProgressBar, ProgressStyle};
use memory::store::LockWait;
use memory::sweep::{Sweep, rebuild};

use crate::answers::keep::RebuildAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui};
use crate::waiting::say_waiting;

/// Derive events, turns and numbers again from the stored lines
///
/// Useful after an update of Boswell that reads logs better. The stored lines stay as they are.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell rebuild
  boswell rebuild --json")]
pub(crate) struct RebuildArgs {}

pub(crate) fn run(ui: &mut Ui, context: &Context, _: &RebuildArgs) -> Result<Outcome, CommandError> {
    drop(open_memory(context)?);
    let masker = context.masker(false)?;
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    bar.set_style(
        ProgressStyle::with_template("Rebuilding {spinner}").unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let sweep = Sweep {
        threads: context.threads,
        progress: &|_, _| bar.tick(),
        ..Sweep::new(&context.places.data_dir, &[], &masker, context.now)
    };
    let shared_ui = RefCell::new(&mut *ui);
    let waiting = || say_waiting(&mut shared_ui.borrow_mut());
    let sessions = rebuild(&sweep, LockWait::Wait(&waiting))?.sessions_refreshed;
    bar.finish_and_clear();
    match ui.format {
        Format::Json => ui.answer(&RebuildAnswer { sessions })?,
        Format::Text => ui.status(format_args!("Rebuilt: {}", plural(sessions, "session"))),
    }
    Ok(Outcome::Done)
}
