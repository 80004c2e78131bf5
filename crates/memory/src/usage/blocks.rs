//! Blocks of five hours, as subscriptions count them: a block starts with the hour of its first call and ends five
//! hours later. If nothing happens after that, a gap follows.

use jiff::{SignedDuration, Timestamp};

use super::{Bill, UsageSum};

const HOURS: i64 = 5;
const HOUR_SECONDS: i64 = 3_600;

/// Five hours with calls, or a gap without any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingBlock {
    pub start: Timestamp,
    /// The end of the block, not the time of its last call.
    pub end: Timestamp,
    /// `None` for a gap.
    pub work: Option<BlockWork>,
}

/// The calls of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockWork {
    pub first: Timestamp,
    pub last: Timestamp,
    pub sum: UsageSum,
    /// True if the block is not over yet.
    pub is_active: bool,
}

impl BlockWork {
    /// Returns the minutes from the first call to the last, or `None` if there is only one moment.
    fn minutes(&self) -> Option<f64> {
        let minutes = self.last.duration_since(self.first).as_secs_f64() / 60.0;
        (minutes > 0.0).then_some(minutes)
    }

    /// Returns the tokens used per minute.
    pub fn tokens_per_minute(&self) -> Option<f64> {
        self.minutes().map(|minutes| self.sum.tokens.total() as f64 / minutes)
    }

    /// Returns the money spent per hour, in micro-dollars.
    pub fn micros_per_hour(&self) -> Option<f64> {
        let micros = self.sum.micros()? as f64;
        self.minutes().map(|minutes| micros / minutes * 60.0)
    }

    /// Returns the cost of the block at its end if work continues at this rate.
    pub fn projected_micros(&self, end: Timestamp) -> Option<u64> {
        let rest = end.duration_since(self.last).as_secs_f64().max(0.0) / 3_600.0;
        let micros = self.sum.micros()? as f64 + self.micros_per_hour()? * rest;
        Some(micros.round() as u64)
    }
}

/// Returns the blocks of some bills, oldest first, with the gaps between them. Bills without a time are skipped.
pub fn make_blocks(bills: &[Bill], now: Timestamp) -> Vec<BillingBlock> {
    let mut timed: Vec<(Timestamp, &Bill)> = bills
        .iter()
        .filter_map(|bill| bill.call.ts.map(|at| (at, bill)))
        .collect();
    timed.sort_by_key(|(at, _)| *at);
    let mut blocks: Vec<BillingBlock> = Vec::new();
    for (at, bill) in timed {
        match blocks.last_mut() {
            Some(BillingBlock {
                end, work: Some(work), ..
            }) if at < *end => {
                work.last = at;
                work.sum.add(bill);
            }
            before => {
                let gap = before.filter(|block| at > block.end).map(|block| block.end);
                let block = start_block(at, bill);
                let gap = gap.filter(|end| *end < block.start).map(|start| BillingBlock {
                    start,
                    end: block.start,
                    work: None,
                });
                blocks.extend(gap);
                blocks.push(block);
            }
        }
    }
    if let Some(BillingBlock {
        end, work: Some(work), ..
    }) = blocks.last_mut()
    {
        work.is_active = now < *end;
    }
    blocks
}

fn start_block(at: Timestamp, bill: &Bill) -> BillingBlock {
    let second = at.as_second();
    let start = Timestamp::from_second(second - second.rem_euclid(HOUR_SECONDS)).unwrap_or(at);
    let mut sum = UsageSum::default();
    sum.add(bill);
    let work = BlockWork {
        first: at,
        last: at,
        sum,
        is_active: false,
    };
    BillingBlock {
        start,
        end: start.saturating_add(SignedDuration::from_hours(HOURS)).unwrap_or(at),
        work: Some(work),
    }
}
