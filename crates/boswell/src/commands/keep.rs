//! `boswell keep`: protects the raw text of a session from eviction.

use std::cell::RefCell;

use memory::store::{LockWait, SessionStatus, Store};

use crate::answers::keep::KeepAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::ui::{Format, Ui};
use crate::waiting::say_waiting;

/// Protect a session's raw text from eviction
///
/// Neither its raw text nor that of its subagents is evicted, whatever its age and the budget. Kept text counts towards
/// the caps.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell keep last
  boswell keep 5e55 --undo")]
pub(crate) struct KeepArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Allow eviction again
    #[arg(long)]
    undo: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &KeepArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let named = resolve(&store, context, &args.session)?;
    let uid = named.session_uid.as_str();
    if named.status != SessionStatus::Kept && !args.undo {
        let message = format_args!("there is no raw text of this session to keep: `{uid}`");
        return Err(CommandError::not_found("text-gone", message).with_hint("`boswell show` says what is left"));
    }
    drop(store);
    let mut store = Store::open(&context.places.data_dir)?;
    let is_news = {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        let lock = store.lock(LockWait::Wait(&waiting))?;
        let is_kept = store.reads().keeps()?.contains(uid);
        let is_news = is_kept == args.undo;
        if is_news {
            store.write(&lock, context.now, "keep", |tx| match args.undo {
                true => Ok((tx.drop_keep(uid)?, format!("no longer keeps {uid} for good"))),
                false => Ok((tx.keep(uid, context.now)?, format!("keeps {uid} for good"))),
            })?;
        }
        is_news
    };
    match ui.format {
        Format::Json => ui.answer(&KeepAnswer {
            session_uid: uid,
            is_kept: !args.undo,
            is_news,
        })?,
        Format::Text if args.undo => ui.status(format_args!("Can be evicted again: {uid}")),
        Format::Text => ui.status(format_args!("Kept for good: {uid}")),
    }
    Ok(Outcome::Done)
}
