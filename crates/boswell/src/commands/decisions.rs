//! `boswell decisions`: lists decisions, newest first.

use jiff::Timestamp;
use memory::store::Decision;

use crate::answers::ask::DecisionsAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::When;
use crate::render::text::date_time;
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::ui::{FAINT, Format, STRONG, Ui, escape_lines};

/// List decisions, newest first
///
/// Lists what `boswell decide` recorded, for all sessions or for one.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell decisions
  boswell decisions --session last
  boswell decisions --since 30d --json")]
pub(crate) struct DecisionsArgs {
    #[arg(long, value_name = "SESSION", help = SESSION_HELP)]
    session: Option<String>,
    /// Only decisions after this: a date, a time, `today`, `yesterday`, `7d`, `12h`
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Only decisions before this, including that day
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
    /// Maximum number of decisions; `0` for no limit
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DecisionsArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let mut decisions = match &args.session {
        Some(word) => store
            .reads()
            .decisions_of(&resolve(&store, context, word)?.session_uid)?,
        None => store.reads().decisions()?,
    };
    let since = args.since.map(|when| when.begin(context)).transpose()?;
    let until = args.until.map(|when| when.end(context)).transpose()?;
    decisions.retain(|decision| {
        let is_later = since.is_none_or(|since| decision.at_micros >= since.as_microsecond());
        is_later && until.is_none_or(|until| decision.at_micros < until.as_microsecond())
    });
    let total = decisions.len();
    decisions.reverse();
    if args.limit > 0 {
        decisions.truncate(args.limit);
    }
    match ui.format {
        Format::Json => {
            let decisions = decisions.iter().map(Into::into).collect();
            ui.answer(&DecisionsAnswer { decisions, total })?;
        }
        Format::Text => decisions.iter().try_for_each(|decision| show(ui, context, decision))?,
    }
    if decisions.is_empty() {
        ui.status("Nothing decided yet: `boswell decide` writes a decision down");
        return Ok(Outcome::NothingFound);
    }
    Ok(Outcome::Done)
}

fn show(ui: &mut Ui, context: &Context, decision: &Decision) -> Result<(), CommandError> {
    let at = when(decision)
        .map(|at| date_time(at, &context.zone))
        .unwrap_or_default();
    let of = decision.session_uid.as_deref().unwrap_or_default();
    ui.row(format_args!("{}  {}", ui.paint(STRONG, at), ui.paint(FAINT, of)))?;
    for line in escape_lines(&decision.text).lines() {
        ui.row(format_args!("  {line}"))?;
    }
    Ok(())
}

fn when(decision: &Decision) -> Option<Timestamp> {
    Timestamp::from_microsecond(decision.at_micros).ok()
}
