//! Usage: what was billed, once, by whatever a person wants to see it by. It asks only the small durable rows, so the
//! answer is the same before and after a session's raw text is gone, and in whichever order logs were read.

pub mod blocks;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rustc_hash::FxHashMap;
use transcript::{Call, LineageKind, Session, Tokens};

use crate::prices::{Money, Price, Prices};
use crate::store::{Listed, Store, StoreError};

/// One counted call, and what it cost.
#[derive(Debug, Clone)]
pub struct Bill {
    /// Where the call's session stands in the list.
    pub session: usize,
    pub call: Call,
    pub cost: Cost,
}

/// What is known of the price of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// The log itself says it.
    Reported(Money),
    /// Tokens times prices.
    Computed(Money),
    /// No price is known, which is not nothing.
    Unpriced,
}

/// What usage can be told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dimension {
    Day,
    Week,
    Month,
    Agent,
    Model,
    Project,
    Branch,
    Session,
    Machine,
    User,
}

impl Dimension {
    pub const ALL: [Self; 10] = [
        Self::Day,
        Self::Week,
        Self::Month,
        Self::Agent,
        Self::Model,
        Self::Project,
        Self::Branch,
        Self::Session,
        Self::Machine,
        Self::User,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Project => "project",
            Self::Branch => "branch",
            Self::Session => "session",
            Self::Machine => "machine",
            Self::User => "user",
        }
    }

    /// What a word means.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.as_str() == word)
    }
}

/// Where a bill belongs in one dimension. Text that is not known is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// The day, or the first day of the week or month; none where the log tells no time.
    Date(Option<Date>),
    Text(Arc<str>),
}

/// The sum of some bills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub tokens: Tokens,
    pub calls: u64,
    /// Of the calls that have a price.
    pub money: Money,
    /// The part of it that logs report.
    pub reported: Money,
    pub unpriced_calls: u64,
    pub web_searches: u64,
}

impl Sum {
    /// Adds one bill.
    pub fn add(&mut self, bill: &Bill) {
        self.add_call(&bill.call, bill.cost);
    }

    fn add_call(&mut self, call: &Call, cost: Cost) {
        self.tokens.add(&call.tokens);
        self.calls += 1;
        self.web_searches += call.web_searches;
        match cost {
            Cost::Reported(money) => {
                self.money.add(money);
                self.reported.add(money);
            }
            Cost::Computed(money) => self.money.add(money),
            Cost::Unpriced => self.unpriced_calls += 1,
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.tokens.add(&other.tokens);
        self.calls += other.calls;
        self.web_searches += other.web_searches;
        self.money.add(other.money);
        self.reported.add(other.reported);
        self.unpriced_calls += other.unpriced_calls;
    }

    /// In micro-dollars; `None` if there is no call at all, or none that has a price.
    pub fn billed_micros(&self) -> Option<u64> {
        self.micros().filter(|_| self.calls > 0)
    }

    /// In micro-dollars; none where nothing of it has a price.
    pub fn micros(&self) -> Option<u64> {
        (self.calls == 0 || self.unpriced_calls < self.calls).then(|| self.money.micros())
    }
}

/// One line of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// In the order of the dimensions asked for.
    pub keys: Vec<Key>,
    pub sum: Sum,
}

/// Every call of the store that counts, of the sessions that `takes` wants.
///
/// Which copy counts is decided over all sessions first: a filter must not turn a copy into a call.
pub fn bills(
    store: &Store,
    sessions: &[Listed],
    prices: &Prices,
    takes: &dyn Fn(usize, &Call) -> bool,
) -> Result<Vec<Bill>, StoreError> {
    let _look = store.look()?;
    let places: FxHashMap<&str, usize> = sessions
        .iter()
        .enumerate()
        .map(|(at, session)| (session.session_uid.as_str(), at))
        .collect();
    let mut bills: Vec<Bill> = Vec::new();
    store.reads().each_session_calls(
        // A call of a session that is not listed may still be the one which counts.
        |uid| places.get(uid).copied().unwrap_or(usize::MAX),
        |session, call| {
            let cost = Cost::Unpriced;
            bills.push(Bill { session, call, cost });
        },
    )?;
    let mut counts = {
        let all: Vec<&Call> = bills.iter().map(|bill| &bill.call).collect();
        transcript::counted(&all).into_iter()
    };
    let mut known = KnownPrices::new(prices);
    bills.retain_mut(|bill| {
        let (call, is_counted) = (&bill.call, counts.next().unwrap_or_default());
        let is_bill = is_counted
            && bill.session != usize::MAX
            && (call.tokens.total() != 0 || call.cost_usd_ticks.is_some())
            && takes(bill.session, call);
        if is_bill {
            bill.cost = known.cost(&bill.call);
        }
        is_bill
    });
    Ok(bills)
}

/// The sum of calls of which each copy counts once.
pub fn sum<'c>(calls: impl Iterator<Item = &'c Call>, prices: &Prices) -> Sum {
    let calls: Vec<&Call> = calls.collect();
    let counts = transcript::counted(&calls);
    let mut known = KnownPrices::new(prices);
    let mut sum = Sum::default();
    for (call, _) in calls.into_iter().zip(counts).filter(|(_, counts)| *counts) {
        sum.add_call(call, known.cost(call));
    }
    sum
}

/// Where the name of a model lies, which calls share, and a day.
type ModelDay = (*const u8, Option<i64>);

/// The rows that calls fell under, by model and day: there are few, and many calls of each.
struct KnownPrices<'p> {
    prices: &'p Prices,
    known: FxHashMap<ModelDay, Option<&'p Price>>,
    /// What was asked for last: calls of one session mostly are of one model and day.
    last: Option<(ModelDay, Option<&'p Price>)>,
}

impl<'p> KnownPrices<'p> {
    fn new(prices: &'p Prices) -> Self {
        Self {
            prices,
            known: FxHashMap::default(),
            last: None,
        }
    }

    fn of(&mut self, model: &Arc<str>, at: Option<Timestamp>) -> Option<&'p Price> {
        const DAY_SECONDS: i64 = 86_400;
        let day = at.map(|at| at.as_second().div_euclid(DAY_SECONDS));
        let asked = (model.as_ptr(), day);
        if let Some((_, price)) = self.last.filter(|(last, _)| *last == asked) {
            return price;
        }
        let price = *self.known.entry(asked).or_insert_with(|| self.prices.of(model, at));
        self.last = Some((asked, price));
        price
    }

    fn cost(&mut self, call: &Call) -> Cost {
        if let Some(ticks) = call.cost_usd_ticks {
            return Cost::Reported(Money::from_ticks(ticks));
        }
        let price = call.model.as_ref().and_then(|model| self.of(model, call.ts));
        price.map_or(Cost::Unpriced, |price| Cost::Computed(price.cost(call)))
    }
}

/// Sums bills by dimensions, in the order of their keys.
pub fn group(
    bills: &[Bill],
    sessions: &[Listed],
    parents: &HashMap<String, String>,
    by: &[Dimension],
    zone: &TimeZone,
) -> Vec<Row> {
    let roots = Roots::of(sessions, parents);
    // Bills of one session, model and quarter of an hour, in which no zone has its midnight, have the same keys, which are dear to make.
    // A model is known by where its name lies, which calls share; bills of one session mostly follow each other.
    let mut same: FxHashMap<(Option<*const u8>, Option<i64>), usize> = FxHashMap::default();
    let mut last_session = usize::MAX;
    let mut rows: Vec<Row> = Vec::new();
    let mut places: FxHashMap<Vec<Key>, usize> = FxHashMap::default();
    for bill in bills {
        const QUARTER_SECONDS: i64 = 900;
        let quarter = when(bill, &sessions[bill.session]).map(|at| at.as_second().div_euclid(QUARTER_SECONDS));
        if bill.session != last_session {
            same.clear();
            last_session = bill.session;
        }
        let place = *same
            .entry((bill.call.model.as_ref().map(|model| model.as_ptr()), quarter))
            .or_insert_with(|| {
                let keys: Vec<Key> = by
                    .iter()
                    .map(|dimension| key(*dimension, bill, sessions, &roots, zone))
                    .collect();
                *places.entry(keys.clone()).or_insert_with(|| {
                    let sum = Sum::default();
                    rows.push(Row { keys, sum });
                    rows.len() - 1
                })
            });
        rows[place].sum.add(bill);
    }
    rows.sort_by(|a, b| a.keys.cmp(&b.keys));
    rows
}

/// Everything in one sum.
pub fn total(bills: &[Bill]) -> Sum {
    let mut sum = Sum::default();
    bills.iter().for_each(|bill| sum.add(bill));
    sum
}

fn key(dimension: Dimension, bill: &Bill, sessions: &[Listed], roots: &Roots, zone: &TimeZone) -> Key {
    let session = &sessions[bill.session];
    let text = |text: Option<&Arc<str>>| Key::Text(text.cloned().unwrap_or_default());
    let date =
        |first: fn(Date) -> Date| Key::Date(when(bill, session).map(|at| first(at.to_zoned(zone.clone()).date())));
    match dimension {
        Dimension::Day => date(|day| day),
        Dimension::Week => date(monday),
        Dimension::Month => date(Date::first_of_month),
        Dimension::Agent => Key::Text(session.flavor().into()),
        Dimension::Model => text(bill.call.model.as_ref()),
        Dimension::Project => text(session.cwd.as_ref().or(session.repo.as_ref())),
        Dimension::Branch => text(session.branch.as_ref()),
        Dimension::Machine => text(session.machine.as_ref()),
        Dimension::User => text(session.user.as_ref()),
        Dimension::Session => Key::Text(sessions[roots.of_session(bill.session)].session_uid.as_str().into()),
    }
}

/// When a call was billed: as its row says, else when its session began.
pub fn when(bill: &Bill, session: &Listed) -> Option<Timestamp> {
    let began = || Timestamp::from_microsecond(session.started_micros?).ok();
    bill.call.ts.or_else(began)
}

/// The first day of a day's week.
pub fn monday(day: Date) -> Date {
    let since = day.weekday().since(Weekday::Monday);
    day.checked_sub(i64::from(since).days()).unwrap_or(day)
}

/// Returns the session that each subagent works for, by uid: from its log, else from its own uid.
pub fn parents(store: &Store) -> Result<HashMap<String, String>, StoreError> {
    let nearest = |child: &Session| {
        let own = child.session_uid.as_str();
        let told = child
            .lineage
            .iter()
            .find(|link| link.kind == LineageKind::Subagent && link.child_uid.as_str() == own);
        let parent = told
            .map(|link| link.parent_uid.as_str())
            .or(own.rsplit_once('/').map(|(parent, _)| parent))?;
        Some((own.to_owned(), parent.to_owned()))
    };
    Ok(store.reads().subagents()?.iter().filter_map(nearest).collect())
}

/// A chain of subagents that is longer than this is a cycle.
const CHAIN_MAX: usize = 64;

/// Maps each session to the session at the top of its chain, or to itself if it has no known parent.
struct Roots(Vec<usize>);

impl Roots {
    fn of(sessions: &[Listed], parents: &HashMap<String, String>) -> Self {
        let places: HashMap<&str, usize> = sessions
            .iter()
            .enumerate()
            .map(|(at, session)| (session.session_uid.as_str(), at))
            .collect();
        let parent = |at: usize| {
            let uid = sessions[at].session_uid.as_str();
            let by_uid = || uid.rsplit_once('/').map(|(parent, _)| parent);
            let parent = parents.get(uid).map(String::as_str).or_else(by_uid)?;
            places.get(parent).copied().filter(|parent| *parent != at)
        };
        let root = |at: usize| {
            let chain = std::iter::successors(Some(at), |at| parent(*at));
            chain.take(CHAIN_MAX).last().unwrap_or(at)
        };
        Self((0..sessions.len()).map(root).collect())
    }

    fn of_session(&self, session: usize) -> usize {
        self.0[session]
    }
}
