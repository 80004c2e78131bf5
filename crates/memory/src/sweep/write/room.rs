//! Keeps the raw text below the hard cap during a sweep, by evicting sessions between two batches.

use std::collections::{HashMap, HashSet};

use super::Writer;
use crate::retention::{self, EvictionCommand};
use crate::store::StoreError;
use crate::sweep::describe_reads;
use crate::sweep::piece::Piece;

/// The size of the raw text, as precisely as the cap requires.
#[derive(Default)]
pub(super) enum RawUsage {
    /// Nothing was written yet.
    #[default]
    Unknown,
    /// An upper bound. It is good enough unless it exceeds the cap, and exact sizes cost a query over all sessions.
    UpperBound(u64),
    /// The exact size of each session.
    Known(HashMap<String, u64>),
}

impl RawUsage {
    fn bytes(&self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::UpperBound(bytes) => *bytes,
            Self::Known(sessions) => sessions.values().sum(),
        }
    }
}

impl Writer<'_> {
    /// Evicts sessions if the raw text exceeds the hard cap, which holds during a sweep, too.
    pub(super) fn make_room(&mut self) -> Result<(), StoreError> {
        let Some(retention) = &self.sweep.retention else {
            return Ok(());
        };
        let most = retention.policy.raw_hard_cap_bytes;
        if matches!(self.usage, RawUsage::UpperBound(bytes) if bytes > most) {
            self.usage = RawUsage::Known(self.store.reads().raw_bytes()?);
        }
        if self.usage.bytes() <= most {
            return Ok(());
        }
        let (bytes, sessions) = (self.report.bytes_read, self.sessions.len() as u64);
        let digests = self.report.digested.len() as u64;
        let command = EvictionCommand {
            name: self.command,
            sentence: &|done| describe_reads(bytes, sessions, 0, digests, done),
        };
        let busy = |uid: &str| self.busy.contains(uid);
        let done = &mut self.report.evicted;
        retention::enforce_policy(self.store, self.patience, retention, &command, &busy, done)?;
        self.usage = RawUsage::Known(self.store.reads().raw_bytes()?);
        Ok(())
    }

    /// Updates the sizes of the sessions of a batch.
    pub(super) fn update_usage(&mut self, batch: &[Piece]) -> Result<(), StoreError> {
        if self.sweep.retention.is_none() {
            return Ok(());
        }
        let reads = self.store.reads();
        match &mut self.usage {
            RawUsage::Unknown => self.usage = RawUsage::UpperBound(reads.raw_cache_bytes()?),
            RawUsage::UpperBound(bytes) => *bytes += batch.iter().map(Piece::weight).sum::<u64>(),
            RawUsage::Known(sessions) => {
                let _look = self.store.look()?;
                let touched: HashSet<&String> = batch.iter().flat_map(|piece| [&piece.uid, &piece.into]).collect();
                for uid in touched {
                    sessions.insert(uid.clone(), reads.raw_bytes_of(uid)?);
                }
            }
        }
        Ok(())
    }
}
