//! Limits the pieces that wait for the writer by their size in memory. A limit on their number is not enough, because
//! one piece can be as large as a thousand others.

use std::sync::{Condvar, Mutex, PoisonError};

/// Maximum number of bytes that wait for the writer.
const WAITING_BYTES_MAX: u64 = 16 << 20;

pub(super) struct Budget {
    /// `None` once the writer has stopped and workers no longer wait.
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

    /// Blocks until there is room for `weight` bytes. A piece larger than the limit gets in when nothing else waits,
    /// because it would otherwise block forever.
    pub(super) fn acquire(&self, weight: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while used.is_some_and(|used| used > 0 && used + weight > WAITING_BYTES_MAX) {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used = used.map(|used| used + weight);
    }

    /// Frees room after the writer has committed.
    pub(super) fn release(&self, weight: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.map(|used| used.saturating_sub(weight));
        self.freed.notify_all();
    }

    /// Removes the limit for good, because the writer has stopped and would never free room again.
    pub(super) fn remove_limit(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.freed.notify_all();
    }
}

/// A batch of this size is committed. It is half of the limit, so that workers can go on during the commit.
pub(super) const BATCH_WEIGHT: u64 = WAITING_BYTES_MAX / 2;
