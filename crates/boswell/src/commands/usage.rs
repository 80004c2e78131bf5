//! `boswell usage`: tokens and cost, grouped by any dimension.

mod blocks;
mod rows;

use std::collections::HashMap;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory::store::ListedSession;
use memory::usage::{self, Bill, UsageDimension};

use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::prices;
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui};
use crate::zone_arg::zone_of;

/// Count tokens and money, each API call once
///
/// A call that appears in several logs (a fork, a resumed session, a side question) is counted once. Input excludes what came
/// from the cache, for every agent. Costs are computed from dated prices; if a log states what a call cost, that cost is used
/// and marked with `*`. A model without a price is shown as unpriced, never as free. The numbers stay when raw logs are evicted.
/// Rows of a day with several models are followed by the day's total. A narrow terminal gets short numbers and fewer columns;
/// `--csv` and `--json` always have all of them.
#[derive(clap::Args, Debug)]
#[command(visible_alias = "cost")]
#[command(after_help = "Examples:
  boswell usage                                 by day, agent and model
  boswell usage monthly --agent claude
  boswell usage session --since 7d
  boswell usage blocks --since 3d               five-hour blocks, burn rate and projection
  boswell usage --by block                      the same
  boswell usage --by project,month --csv
  boswell usage --prices                        the built-in price rows

Your own prices: a `prices.toml` next to `config.toml`, in the form that `--prices` prints.")]
pub(crate) struct UsageArgs {
    /// What to group by
    #[arg(value_name = "REPORT", default_value = "daily")]
    report: Report,
    /// Group by these instead, in this order; `block` is the same as the report `blocks`
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', conflicts_with = "report", value_parser = group_by())]
    by: Vec<GroupBy>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Maximum number of rows, the newest or most expensive; `0` for no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: usize,
    /// Comma-separated values
    #[arg(long)]
    csv: bool,
    /// Print the built-in price rows and exit
    #[arg(long)]
    prices: bool,
    /// Days begin at midnight in this zone, such as `Europe/Berlin`
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Report {
    Daily,
    Weekly,
    Monthly,
    Session,
    Model,
    Project,
    Blocks,
}

/// The values of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupBy {
    Dimension(UsageDimension),
    /// Five-hour blocks, as the report `blocks`.
    Block,
}

/// The form in which usage is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageView {
    Rows,
    Blocks,
}

const BLOCK: &str = "block";

/// Parses one word of `--by`; an error lists all of them.
fn group_by() -> impl TypedValueParser<Value = GroupBy> {
    let words = UsageDimension::ALL
        .map(UsageDimension::as_str)
        .into_iter()
        .chain([BLOCK]);
    PossibleValuesParser::new(words).try_map(|word| match word.as_str() {
        BLOCK => Ok(GroupBy::Block),
        word => UsageDimension::parse(word)
            .map(GroupBy::Dimension)
            .ok_or("usage cannot be grouped by this"),
    })
}

impl UsageArgs {
    fn view(&self) -> Result<UsageView, CommandError> {
        match (self.by.as_slice(), self.by.contains(&GroupBy::Block)) {
            ([], _) if self.report == Report::Blocks => Ok(UsageView::Blocks),
            ([_], true) => Ok(UsageView::Blocks),
            (_, false) => Ok(UsageView::Rows),
            (_, true) => Err(CommandError::usage("`--by block` cannot be combined with other words")
                .with_hint("filter instead, such as `boswell usage blocks --agent claude`")),
        }
    }

    fn dimensions(&self) -> Vec<UsageDimension> {
        if !self.by.is_empty() {
            let dimension = |by: &GroupBy| match by {
                GroupBy::Dimension(dimension) => Some(*dimension),
                GroupBy::Block => None,
            };
            return self.by.iter().filter_map(dimension).collect();
        }
        match self.report {
            Report::Daily => vec![UsageDimension::Day, UsageDimension::Agent, UsageDimension::Model],
            Report::Weekly => vec![UsageDimension::Week, UsageDimension::Agent, UsageDimension::Model],
            Report::Monthly => vec![UsageDimension::Month, UsageDimension::Agent, UsageDimension::Model],
            Report::Session => vec![UsageDimension::Session, UsageDimension::Agent, UsageDimension::Model],
            Report::Model => vec![UsageDimension::Agent, UsageDimension::Model],
            Report::Project => vec![UsageDimension::Project, UsageDimension::Agent],
            Report::Blocks => Vec::new(),
        }
    }
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &UsageArgs) -> Result<Outcome, CommandError> {
    if args.prices {
        ui.write(|out| out.write_all(prices::EMBEDDED.as_bytes()))?;
        return Ok(Outcome::Done);
    }
    let view = args.view()?;
    let zone = zone_of(context, args.timezone.as_deref())?;
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let store = open_memory(context)?;
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    let sessions: Vec<ListedSession> = store.reads().listed()?;
    let takes: Vec<bool> = sessions.iter().map(|session| filters.take(session)).collect();
    let bills = usage::load_bills(&store, &sessions, &prices, &|session, call| {
        let began = || jiff::Timestamp::from_microsecond(sessions[session].started_micros?).ok();
        takes[session] && filters.takes_moment(call.ts.or_else(began)) && filters.takes_model(call.model.as_deref())
    })?;
    if bills.is_empty() {
        return report_nothing(ui, &sessions, view);
    }
    tell_unpriced(ui, &bills);
    if view == UsageView::Blocks {
        let taken = sessions.iter().zip(&takes).filter(|(_, takes)| **takes);
        let limits = blocks::Limits::newest(&store, taken.map(|(session, _)| session))?;
        return blocks::show(ui, context, &zone, args, &bills, limits.as_ref());
    }
    let parents = match args.dimensions().contains(&UsageDimension::Session) {
        true => usage::load_parents(&store)?,
        false => HashMap::new(),
    };
    rows::show(ui, args, &zone, &sessions, &parents, &bills)?;
    Ok(Outcome::Done)
}

fn report_nothing(ui: &mut Ui, sessions: &[ListedSession], view: UsageView) -> Result<Outcome, CommandError> {
    match ui.format {
        Format::Json if view == UsageView::Blocks => ui.answer(&blocks::to_answer(&[], &[], None))?,
        Format::Json => ui.answer(&rows::to_answer(&[], &usage::UsageSum::default(), &[]))?,
        Format::Text => {
            ui.status("No usage found");
            ui.hint(if sessions.is_empty() {
                "`boswell sweep` reads the agents' logs"
            } else {
                "use fewer filters"
            });
        }
    }
    Ok(Outcome::NothingFound)
}

/// Prints one warning about calls without a price, with a hint on how to add one.
fn tell_unpriced(ui: &mut Ui, bills: &[Bill]) {
    if ui.format != Format::Text {
        return;
    }
    let unpriced = || bills.iter().filter(|bill| bill.cost == usage::CallCost::Unpriced);
    // A price is found by the name of its model, so no entry in `prices.toml` can help here.
    let unnamed = unpriced().filter(|bill| bill.call.model.is_none()).count() as u64;
    if unnamed > 0 {
        ui.warning(format_args!(
            "no cost for {}: the log names no model",
            plural(unnamed, "API call")
        ));
    }
    let mut models: Vec<&str> = unpriced().filter_map(|bill| bill.call.model.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    if !models.is_empty() {
        let models = crate::ui::escape(&models.join(", ")).into_owned();
        ui.warning(format_args!("no price is known for: {models}"));
        ui.hint("add it to `prices.toml` next to `config.toml`; `boswell usage --prices` shows the format");
    }
}
