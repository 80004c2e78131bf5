//! Room for what comes: between two batches raw text goes that the hard cap has no place for.

use std::collections::{HashMap, HashSet};

use super::Writer;
use crate::retention::{self, Command};
use crate::store::StoreError;
use crate::sweep::piece::Piece;
use crate::sweep::sentence;

/// What the raw cache takes, as far as a cap on it asks for that.
#[derive(Default)]
pub(super) enum Usage {
    /// Nothing was written yet.
    #[default]
    Unknown,
    /// No more than so much: far from the cap nobody asks for more.
    AtMost(u64),
    /// Each session.
    Known(HashMap<String, u64>),
}

impl Usage {
    fn bytes(&self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::AtMost(bytes) => *bytes,
            Self::Known(sessions) => sessions.values().sum(),
        }
    }
}

impl Writer<'_> {
    /// The hard cap is a ceiling while the sweep goes on, too.
    pub(super) fn make_room(&mut self) -> Result<(), StoreError> {
        let Some(retention) = &self.sweep.retention else {
            return Ok(());
        };
        let most = retention.policy.raw_hard_cap_bytes;
        if matches!(self.usage, Usage::AtMost(bytes) if bytes > most) {
            self.usage = Usage::Known(self.store.reads().raw_bytes()?);
        }
        if self.usage.bytes() <= most {
            return Ok(());
        }
        let (bytes, sessions) = (self.report.bytes_read, self.sessions.len() as u64);
        let digests = self.report.digested.len() as u64;
        let command = Command {
            name: self.command,
            sentence: &|done| sentence(bytes, sessions, 0, digests, done),
        };
        let busy = |uid: &str| self.busy.contains(uid);
        let done = &mut self.report.let_go;
        retention::enforce(self.store, self.patience, retention, &command, &busy, done)?;
        self.usage = Usage::Known(self.store.reads().raw_bytes()?);
        Ok(())
    }

    /// Notes what the sessions of a batch take now.
    pub(super) fn weigh(&mut self, batch: &[Piece]) -> Result<(), StoreError> {
        if self.sweep.retention.is_none() {
            return Ok(());
        }
        let reads = self.store.reads();
        match &mut self.usage {
            Usage::Unknown => self.usage = Usage::AtMost(reads.raw_cache_bytes()?),
            Usage::AtMost(bytes) => *bytes += batch.iter().map(Piece::weight).sum::<u64>(),
            Usage::Known(sessions) => {
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
