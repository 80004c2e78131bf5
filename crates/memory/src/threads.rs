//! Work on several threads: each piece is done once, and the answers stand in the order of the pieces. What is done is not
//! known here.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `work` for each number below `count`. Each thread has room of its own, which it uses again for every piece.
pub(crate) fn on_threads<T: Send>(
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
