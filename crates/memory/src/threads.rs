//! Runs work on several threads: each item once, with the results in the order of the items. It does not know what
//! the work is.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` for each number below `count`. Each thread has a buffer that it reuses for every item.
pub(crate) fn run_on_threads<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize, &mut Vec<u8>) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let run = || {
        let mut room = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let answer = work(number, &mut room);
            answers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(run);
        }
        run();
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
