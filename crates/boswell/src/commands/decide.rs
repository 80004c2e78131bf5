//! `boswell decide`: records a decision.

use std::cell::RefCell;

use memory::decisions::{self, DecisionText};
use memory::store::{LockWait, Store};

use crate::answers::keep::DecideAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::surface;
use crate::ui::{Format, Ui, escape_lines};
use crate::waiting::say_waiting;

/// Record a decision
///
/// Records a choice and its reason, for one session or for none. It stays when the session is evicted, is shown with
/// the session and in its digest, and secrets in it are masked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell decide \"SQLite, because one file is easy to back up\"
  boswell decide \"no retries in the client\" --session last
  boswell decisions")]
pub(crate) struct DecideArgs {
    /// What was decided, and why
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[arg(long, value_name = "SESSION", help = SESSION_HELP)]
    session: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DecideArgs) -> Result<Outcome, CommandError> {
    let named = |word: &String| -> Result<String, CommandError> {
        Ok(resolve(&open_memory(context)?, context, word)?.session_uid)
    };
    let uid = args.session.as_ref().map(named).transpose()?;
    let text = DecisionText::new(&args.text, &context.masker(true)?)
        .map_err(|error| CommandError::user("decision-refused", error))?;
    let mut store = Store::open(&context.places.data_dir)?;
    let decision = {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        decisions::record_decision(&mut store, LockWait::Wait(&waiting), context.now, uid.as_deref(), &text)?
    };
    if text.redactions > 0 {
        ui.warning(format_args!("{} masked", plural(text.redactions, "secret")));
    }
    surface::decision(ui, context, &decision);
    // The digest of a session as a file includes its decisions, so it is written again.
    let uids: Vec<String> = uid.into_iter().collect();
    surface::digests(ui, context, &context.places.data_dir, &uids)?;
    match ui.format {
        Format::Json => ui.answer(&DecideAnswer((&decision).into()))?,
        Format::Text => ui.row(escape_lines(&decision.text))?,
    }
    Ok(Outcome::Done)
}
