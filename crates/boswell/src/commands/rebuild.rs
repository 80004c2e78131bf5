//! `boswell rebuild`: the derived rows, made again from what is kept.

use indicatif::{ProgressBar, ProgressStyle};
use memory::kept;
use memory::store::Store;
use serde_json::json;

use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui};

/// Make every derived row of the memory again
///
/// Events, turns and numbers are made of the kept lines; this makes them anew, for instance after an
/// update of Boswell reads them better. What is kept stays as it is.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell rebuild
  boswell rebuild --json")]
pub(crate) struct RebuildArgs {}

pub(crate) fn run(ui: &mut Ui, context: &Context, _: &RebuildArgs) -> Result<Outcome, CommandError> {
    drop(open_memory(context)?);
    let mut store = Store::open(&context.places.data_dir)?;
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    bar.set_style(
        ProgressStyle::with_template("Rebuilding {wide_bar} {pos}/{len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let sessions = kept::rebuild(&mut store, context.now, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    match ui.format {
        Format::Json => ui.json(&json!({ "schema": "boswell.rebuild/1", "sessions": sessions }))?,
        Format::Text => ui.status(format_args!("Rebuilt: {}", plural(sessions as u64, "session"))),
    }
    Ok(Outcome::Done)
}
