//! The last week in five lines: time, agent, prompt, outcome and cost.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use memory::digest;
use memory::outcome::outcome_name;
use memory::store::{ListedSession, Store};
use memory::usage::{self, DimensionValue, UsageDimension, UsageSum};
use transcript::Outcome;

use crate::context::Context;
use crate::error::CommandError;
use crate::money::cost;
use crate::prices;
use crate::render::text::plural;
use crate::session_summary::words;
use crate::ui::{BAD, FAINT, GOOD, STRONG, Ui, escape, in_one_line, measure};

const LINES: usize = 5;
const WEEK_DAYS: i64 = 7;
/// The prompt gets at least this many columns, however narrow the terminal is.
const PROMPT_COLUMNS_MIN: usize = 12;
/// The prompt gets this many columns if there is no terminal.
const PROMPT_COLUMNS: usize = 60;

/// Prints the newest sessions of the last seven days, or the newest of all if there are none. Prints nothing if the
/// memory is empty. Returns the day of the newest session if it was not in the last week.
pub(super) fn show(ui: &mut Ui, context: &Context) -> Result<Option<Date>, CommandError> {
    let Some(store) = Store::open_existing(&context.places.data_dir)? else {
        return Ok(None);
    };
    let sessions = store.reads().listed()?;
    let costs = costs_by_session(context, &store, &sessions)?;
    let own: Vec<&ListedSession> = sessions
        .iter()
        .filter(|session| !session.is_subagent && !session.is_hidden)
        .collect();
    let since = (context.now - SignedDuration::from_hours(24 * WEEK_DAYS)).as_microsecond();
    let recent: Vec<&ListedSession> = own
        .iter()
        .copied()
        .filter(|session| session.last_micros.is_some_and(|last| last >= since))
        .collect();
    let newest = own.iter().find_map(|session| day_of(context, session));
    let newest = newest.filter(|_| recent.is_empty());
    let (heading, shown) = if recent.is_empty() {
        ("No sessions in the last week; the newest are".to_owned(), own)
    } else {
        let mut total = UsageSum::default();
        let sums = recent.iter().filter_map(|session| costs.get(&*session.session_uid));
        sums.for_each(|sum| total.merge(sum));
        let count = plural(recent.len() as u64, "session");
        (format!("The last week: {count}, {}", cost(&total)), recent)
    };
    if shown.is_empty() {
        return Ok(None);
    }
    ui.row(ui.paint(STRONG, heading))?;
    for session in shown.iter().take(LINES) {
        let line = row(ui, context, &store, session, costs.get(&*session.session_uid))?;
        ui.row(line)?;
    }
    if shown.len() > LINES {
        let more = format!("  and {} more: `boswell sessions`", shown.len() - LINES);
        ui.row(ui.paint(FAINT, more))?;
    }
    Ok(newest)
}

fn day_of(context: &Context, session: &ListedSession) -> Option<Date> {
    let last = Timestamp::from_microsecond(session.last_micros?).ok()?;
    Some(last.to_zoned(context.zone.clone()).date())
}

/// Sums the cost of each session with its subagents.
fn costs_by_session(
    context: &Context,
    store: &Store,
    sessions: &[ListedSession],
) -> Result<HashMap<String, UsageSum>, CommandError> {
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let bills = usage::load_bills(store, sessions, &prices, &|_, _| true)?;
    let parents = usage::load_parents(store)?;
    let rows = usage::group_bills(&bills, sessions, &parents, &[UsageDimension::Session], &context.zone);
    let by_uid = rows.into_iter().filter_map(|row| match row.keys.first() {
        Some(DimensionValue::Text(uid)) => Some((uid.to_string(), row.sum)),
        _ => None,
    });
    Ok(by_uid.collect())
}

fn row(
    ui: &Ui,
    context: &Context,
    store: &Store,
    session: &ListedSession,
    sum: Option<&UsageSum>,
) -> Result<String, CommandError> {
    let day = day_of(context, session).map_or("-".to_owned(), |day| day.strftime("%a %d %b").to_string());
    let counted = store.reads().counted(&session.session_uid)?;
    let digest = digest::current_digest(store, &session.session_uid)?;
    let outcome = digest.map_or(Outcome::Unknown, |digest| {
        digest.outcome.as_of(digest.ended_at, context.now).outcome
    });
    let lead = format!("  {day:<10}  {:<6}  ", escape(session.flavor()));
    let money = sum.map(cost).unwrap_or_default();
    let word = outcome_name(outcome);
    let tail = format!("  {word:<9}  {money:>8}");
    let taken = measure::width(&lead) + measure::width(&tail);
    let room = ui.columns().map_or(PROMPT_COLUMNS, |columns| {
        columns.saturating_sub(taken).clamp(PROMPT_COLUMNS_MIN, PROMPT_COLUMNS)
    });
    let asked = in_one_line(words(session, &counted).unwrap_or("-"));
    let asked = measure::fit(&asked, room).into_owned();
    let gap = " ".repeat(room.saturating_sub(measure::width(&asked)));
    let word = format!("{word:<9}");
    let word = match outcome {
        Outcome::Success => ui.paint(GOOD, word).to_string(),
        Outcome::Fail => ui.paint(BAD, word).to_string(),
        Outcome::Abandoned | Outcome::Unknown => ui.paint(FAINT, word).to_string(),
    };
    Ok(format!("{lead}{asked}{gap}  {word}  {money:>8}"))
}
