//! Room for what comes: between two batches raw text goes that the hard cap has no place for.

use std::collections::{HashMap, HashSet};

use super::Writer;
use crate::retention::{self, Command};
use crate::store::StoreError;
use crate::sweep::piece::Piece;
use crate::sweep::sentence;

impl Writer<'_> {
    /// The hard cap is a ceiling while the sweep goes on, too.
    pub(super) fn make_room(&mut self) -> Result<(), StoreError> {
        let Some(retention) = &self.sweep.retention else {
            return Ok(());
        };
        let bytes: u64 = self.usage.iter().flat_map(HashMap::values).sum();
        if bytes <= retention.policy.raw_hard_cap_bytes {
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
        self.usage = Some(self.store.reads().raw_bytes()?);
        Ok(())
    }

    /// Notes what the sessions of a batch take now.
    pub(super) fn weigh(&mut self, batch: &[Piece]) -> Result<(), StoreError> {
        if self.sweep.retention.is_none() {
            return Ok(());
        }
        let Some(usage) = &mut self.usage else {
            self.usage = Some(self.store.reads().raw_bytes()?);
            return Ok(());
        };
        let touched: HashSet<&String> = batch.iter().flat_map(|piece| [&piece.uid, &piece.into]).collect();
        for uid in touched {
            let bytes = self.store.reads().raw_bytes_of(uid)?;
            usage.insert(uid.clone(), bytes);
        }
        Ok(())
    }
}
