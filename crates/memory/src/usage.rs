//! Usage: tokens and costs, each call counted once, grouped by any dimension. It reads only rows that are never
//! evicted, so the result does not depend on evictions or on the order in which logs were read.

pub mod blocks;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rustc_hash::FxHashMap;
use transcript::{Call, LineageKind, Session, Tokens};

use crate::prices::{ModelPrice, Money, PriceTable};
use crate::store::{ListedSession, Store, StoreError};

/// One counted call and its cost.
#[derive(Debug, Clone)]
pub struct Bill {
    /// The index of its session in the list.
    pub session: usize,
    pub call: Call,
    pub cost: CallCost,
}

/// The cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallCost {
    /// Reported by the log.
    Reported(Money),
    /// Computed from tokens and prices.
    Computed(Money),
    /// No price is known. This does not mean that the call was free.
    Unpriced,
}

/// What usage can be grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UsageDimension {
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

impl UsageDimension {
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

    /// Returns the name used in arguments and JSON.
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

    /// Parses a name. Returns `None` if it is unknown.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.as_str() == word)
    }
}

/// The value of a bill in one dimension. Unknown text is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DimensionValue {
    /// The day, or the first day of the week or month; `None` if the log has no time.
    Date(Option<Date>),
    Text(Arc<str>),
}

/// The sum of some bills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageSum {
    pub tokens: Tokens,
    pub calls: u64,
    /// The cost of the calls that have a price.
    pub money: Money,
    /// The part of `money` that logs report.
    pub reported: Money,
    pub unpriced_calls: u64,
    pub web_searches: u64,
}

impl UsageSum {
    /// Adds one bill.
    pub fn add(&mut self, bill: &Bill) {
        self.add_call(&bill.call, bill.cost);
    }

    fn add_call(&mut self, call: &Call, cost: CallCost) {
        self.tokens.add(&call.tokens);
        self.calls += 1;
        self.web_searches += call.web_searches;
        match cost {
            CallCost::Reported(money) => {
                self.money.add(money);
                self.reported.add(money);
            }
            CallCost::Computed(money) => self.money.add(money),
            CallCost::Unpriced => self.unpriced_calls += 1,
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

    /// Returns the cost in micro-dollars, or `None` if there are no calls or none of them has a price.
    pub fn billed_micros(&self) -> Option<u64> {
        self.micros().filter(|_| self.calls > 0)
    }

    /// Returns the cost in micro-dollars, or `None` if there are calls but none of them has a price.
    pub fn micros(&self) -> Option<u64> {
        (self.calls == 0 || self.unpriced_calls < self.calls).then(|| self.money.micros())
    }
}

/// One row of a usage table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageGroup {
    /// In the order of the requested dimensions.
    pub keys: Vec<DimensionValue>,
    pub sum: UsageSum,
}

/// Returns the bills of all calls that count, for the sessions and calls that `takes` selects.
///
/// The copy of a call that counts is determined over all sessions first, because a filter must not turn a copy into a
/// call.
pub fn load_bills(
    store: &Store,
    sessions: &[ListedSession],
    prices: &PriceTable,
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
        // If the session is not listed, its call may still be the copy that counts.
        |uid| places.get(uid).copied().unwrap_or(usize::MAX),
        |session, call| {
            let cost = CallCost::Unpriced;
            bills.push(Bill { session, call, cost });
        },
    )?;
    let mut counts = {
        let all: Vec<&Call> = bills.iter().map(|bill| &bill.call).collect();
        transcript::counted(&all).into_iter()
    };
    let mut price_cache = PriceCache::new(prices);
    bills.retain_mut(|bill| {
        let (call, is_counted) = (&bill.call, counts.next().unwrap_or_default());
        let is_bill = is_counted
            && bill.session != usize::MAX
            && (call.tokens.total() != 0 || call.cost_usd_ticks.is_some())
            && takes(bill.session, call);
        if is_bill {
            bill.cost = price_cache.cost(&bill.call);
        }
        is_bill
    });
    Ok(bills)
}

/// Returns the sum of some calls, counting each call once.
pub fn sum_calls<'c>(calls: impl Iterator<Item = &'c Call>, prices: &PriceTable) -> UsageSum {
    let calls: Vec<&Call> = calls.collect();
    let counts = transcript::counted(&calls);
    let mut price_cache = PriceCache::new(prices);
    let mut sum = UsageSum::default();
    for (call, _) in calls.into_iter().zip(counts).filter(|(_, counts)| *counts) {
        sum.add_call(call, price_cache.cost(call));
    }
    sum
}

/// The address of a model's name, which its calls share, and a day.
type ModelDay = (*const u8, Option<i64>);

/// The price rows of calls by model and day, because there are few of them and many calls.
struct PriceCache<'p> {
    prices: &'p PriceTable,
    known: FxHashMap<ModelDay, Option<&'p ModelPrice>>,
    /// The last lookup, because consecutive calls mostly have the same model and day.
    last: Option<(ModelDay, Option<&'p ModelPrice>)>,
}

impl<'p> PriceCache<'p> {
    fn new(prices: &'p PriceTable) -> Self {
        Self {
            prices,
            known: FxHashMap::default(),
            last: None,
        }
    }

    fn find_price(&mut self, model: &Arc<str>, at: Option<Timestamp>) -> Option<&'p ModelPrice> {
        const DAY_SECONDS: i64 = 86_400;
        let day = at.map(|at| at.as_second().div_euclid(DAY_SECONDS));
        let key = (model.as_ptr(), day);
        if let Some((_, price)) = self.last.filter(|(last, _)| *last == key) {
            return price;
        }
        let price = *self.known.entry(key).or_insert_with(|| self.prices.find(model, at));
        self.last = Some((key, price));
        price
    }

    fn cost(&mut self, call: &Call) -> CallCost {
        if let Some(ticks) = call.cost_usd_ticks {
            return CallCost::Reported(Money::from_ticks(ticks));
        }
        let price = call.model.as_ref().and_then(|model| self.find_price(model, call.ts));
        price.map_or(CallCost::Unpriced, |price| CallCost::Computed(price.cost(call)))
    }
}

/// Sums bills by dimensions. The rows are sorted by their keys.
pub fn group_bills(
    bills: &[Bill],
    sessions: &[ListedSession],
    parents: &HashMap<String, String>,
    by: &[UsageDimension],
    zone: &TimeZone,
) -> Vec<UsageGroup> {
    let roots = TopSessions::new(sessions, parents);
    // Keys are expensive to make. Bills of one session, model and quarter of an hour have the same keys, because no
    // time zone has its midnight within a quarter. A model is identified by the address of its name, which its calls
    // share.
    let mut same: FxHashMap<(Option<*const u8>, Option<i64>), usize> = FxHashMap::default();
    let mut last_session = usize::MAX;
    let mut rows: Vec<UsageGroup> = Vec::new();
    let mut places: FxHashMap<Vec<DimensionValue>, usize> = FxHashMap::default();
    for bill in bills {
        const QUARTER_SECONDS: i64 = 900;
        let quarter = billed_at(bill, &sessions[bill.session]).map(|at| at.as_second().div_euclid(QUARTER_SECONDS));
        if bill.session != last_session {
            same.clear();
            last_session = bill.session;
        }
        let place = *same
            .entry((bill.call.model.as_ref().map(|model| model.as_ptr()), quarter))
            .or_insert_with(|| {
                let keys: Vec<DimensionValue> = by
                    .iter()
                    .map(|dimension| dimension_key(*dimension, bill, sessions, &roots, zone))
                    .collect();
                *places.entry(keys.clone()).or_insert_with(|| {
                    let sum = UsageSum::default();
                    rows.push(UsageGroup { keys, sum });
                    rows.len() - 1
                })
            });
        rows[place].sum.add(bill);
    }
    rows.sort_by(|a, b| a.keys.cmp(&b.keys));
    rows
}

/// Returns the sum of all bills.
pub fn sum_bills(bills: &[Bill]) -> UsageSum {
    let mut sum = UsageSum::default();
    bills.iter().for_each(|bill| sum.add(bill));
    sum
}

fn dimension_key(
    dimension: UsageDimension,
    bill: &Bill,
    sessions: &[ListedSession],
    roots: &TopSessions,
    zone: &TimeZone,
) -> DimensionValue {
    let session = &sessions[bill.session];
    let text = |text: Option<&Arc<str>>| DimensionValue::Text(text.cloned().unwrap_or_default());
    let date = |first: fn(Date) -> Date| {
        DimensionValue::Date(billed_at(bill, session).map(|at| first(at.to_zoned(zone.clone()).date())))
    };
    match dimension {
        UsageDimension::Day => date(|day| day),
        UsageDimension::Week => date(start_of_week),
        UsageDimension::Month => date(Date::first_of_month),
        UsageDimension::Agent => DimensionValue::Text(session.flavor().into()),
        UsageDimension::Model => text(bill.call.model.as_ref()),
        UsageDimension::Project => text(session.cwd.as_ref().or(session.repo.as_ref())),
        UsageDimension::Branch => text(session.branch.as_ref()),
        UsageDimension::Machine => text(session.machine.as_ref()),
        UsageDimension::User => text(session.user.as_ref()),
        UsageDimension::Session => {
            DimensionValue::Text(sessions[roots.top_of(bill.session)].session_uid.as_str().into())
        }
    }
}

/// Returns when a call was billed: its own time or, if it has none, the start of its session.
pub fn billed_at(bill: &Bill, session: &ListedSession) -> Option<Timestamp> {
    let began = || Timestamp::from_microsecond(session.started_micros?).ok();
    bill.call.ts.or_else(began)
}

/// Returns the Monday of a day's week.
pub fn start_of_week(day: Date) -> Date {
    let since = day.weekday().since(Weekday::Monday);
    day.checked_sub(i64::from(since).days()).unwrap_or(day)
}

/// Returns the session that started each subagent, by uid, as named by the subagent's log or by its uid.
pub fn load_parents(store: &Store) -> Result<HashMap<String, String>, StoreError> {
    let nearest = |child: &Session| {
        let own = child.session_uid.as_str();
        let link = child
            .lineage
            .iter()
            .find(|link| link.kind == LineageKind::Subagent && link.child_uid.as_str() == own);
        let parent = link
            .map(|link| link.parent_uid.as_str())
            .or(own.rsplit_once('/').map(|(parent, _)| parent))?;
        Some((own.to_owned(), parent.to_owned()))
    };
    Ok(store.reads().subagents()?.iter().filter_map(nearest).collect())
}

/// A longer chain of subagents is a cycle.
const CHAIN_MAX: usize = 64;

/// Maps each session to the session at the top of its chain, or to itself if it has no known parent.
struct TopSessions(Vec<usize>);

impl TopSessions {
    fn new(sessions: &[ListedSession], parents: &HashMap<String, String>) -> Self {
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

    fn top_of(&self, session: usize) -> usize {
        self.0[session]
    }
}
