//! `boswell show COMMIT`: the turn that made a commit, or where it is mentioned.

use jiff::tz::TimeZone;
use memory::commits::{self, CommitOccurrence, CommitSources};
use memory::store::Store;

use super::ShowArgs;
use crate::answers::session::{SHOW_SCHEMA, ShowAnswer, ShownCommit};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::ToolMeans;
use crate::render::text::plural;
use crate::session_arg::resolve;
use crate::ui::{FAINT, Format, GOOD, STRONG, Ui, escape, in_one_line, measure};

pub(super) fn show(
    ui: &mut Ui,
    context: &Context,
    store: &Store,
    args: &ShowArgs,
    zone: &TimeZone,
) -> Result<Outcome, CommandError> {
    let sha = args.session.as_str();
    let filters = args.filters.resolve(context, store, ToolMeans::Sessions)?;
    let found = commits::find_commit(store, sha, context.threads, &|session| filters.take(session))?;
    if let Some(place) = &found.maker {
        let named = resolve(store, context, &place.session_uid)?;
        return super::show(ui, context, store, &named, args, zone, Some(place));
    }
    if found.mentions.is_empty() {
        let message = format_args!("no session begins with this, and none made or mentions such a commit: `{sha}`");
        let hint = match filters.are_given() {
            true => "fewer filters ask more sessions",
            false => "`boswell sweep` reads what is new",
        };
        return Err(CommandError::not_found("commit-unknown", message).with_hint(hint));
    }
    match ui.format {
        Format::Json => ui.json(&ShowAnswer::Commit(ShownCommit {
            schema: SHOW_SCHEMA,
            session: (),
            sha,
            commit: (),
            mentioned: &found.mentions,
        }))?,
        Format::Text => show_mentions(ui, sha, &found)?,
    }
    Ok(Outcome::Done)
}

/// Returns the line under the session's header that names the place where the commit was made.
pub(super) fn told(ui: &Ui, place: &CommitOccurrence) -> String {
    let turn = place.turn.map_or(String::new(), |turn| format!(" in turn {turn}"));
    let sha = ui.paint(GOOD, escape(&place.sha));
    let call = in_one_line(&place.summary);
    let told = format!("  commit {sha} was made{turn}, line {}: ", place.line);
    let room = ui
        .columns()
        .map_or(usize::MAX, |all| all.saturating_sub(measure::width(&told)).max(20));
    format!("{told}{}", measure::fit(&call, room))
}

fn show_mentions(ui: &mut Ui, sha: &str, found: &CommitSources) -> Result<(), CommandError> {
    let places = plural(found.mentions.len() as u64, "place");
    ui.row(format_args!(
        "No session in the memory made commit {}; it is mentioned in {places}:",
        ui.paint(STRONG, escape(sha))
    ))?;
    for place in &found.mentions {
        let turns = place.turn.map_or(String::new(), |turn| format!(" --turns {turn}"));
        let lead = format!("  boswell show {}{turns}", escape(&place.session_uid));
        let room = ui
            .columns()
            .map_or(usize::MAX, |all| all.saturating_sub(measure::width(&lead) + 2).max(20));
        let words = in_one_line(&place.summary);
        let words = ui.paint(FAINT, measure::fit(&words, room));
        ui.row(format_args!("{lead}  {words}"))?;
    }
    Ok(())
}
