//! A bound on what workers have made and the writer has not yet taken: by its weight, not by its number, since one
//! piece may weigh as much as a thousand others.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that may wait for the writer.
const WAITING_BYTES_MAX: u64 = 32 << 20;

pub(super) struct Budget {
    /// None once nobody takes pieces any more.
    used: Mutex<Option<u64>>,
    freed: Condvar,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            used: Mutex::new(Some(0)),
            freed: Condvar::new(),
        }
    }

    /// Waits until there is room for `weight`. A piece heavier than all room has it when nothing else waits.
    pub(super) fn take(&self, weight: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while used.is_some_and(|used| used > 0 && used + weight > WAITING_BYTES_MAX) {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used = used.map(|used| used + weight);
    }

    /// Gives room back.
    pub(super) fn give_back(&self, weight: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.map(|used| used.saturating_sub(weight));
        self.freed.notify_all();
    }

    /// Gives all room, for good: nobody takes pieces any more.
    pub(super) fn open(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.freed.notify_all();
    }
}

/// A batch of this weight is worth a commit: the rest of the room lets workers go on meanwhile.
pub(super) const BATCH_WEIGHT: u64 = WAITING_BYTES_MAX / 2;
