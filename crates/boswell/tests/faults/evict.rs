//! An eviction may be aborted at any system call: the next writer finishes it, and no evicted text comes back.

use testkit::faults::{Call, Fault};

use crate::home::{Home, each, none, worth_a_crash, wrongs};

/// Evicts all raw text, because the caps leave no room.
const EVICT: &str = "evict --config session_memory.retention.raw_soft_cap_bytes=0 \
                     --config session_memory.retention.raw_hard_cap_bytes=0";
/// Number of consecutive page writes without a crash between two that have one.
const PAGES_BETWEEN: u64 = 12;

/// Returns the files that contain text of the sessions that no digest prints.
fn words_left(home: &Home) -> Vec<String> {
    let word = b"push number 1 with";
    let holds = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(word.len()).any(|window| window == word)
    };
    let files = home.files(".local").into_iter().filter(holds);
    files
        .map(|path| format!("{} holds what was let go", path.display()))
        .collect()
}

#[test]
fn evicting_may_die_at_any_call() {
    let home = Home::with_logs();
    home.sweep();
    let clean = home.copy();
    let (ended, calls) = clean.run_with(EVICT, &Fault::None);
    assert!(ended.status.success(), "{ended:?}");
    let expected = clean.answers().unwrap();
    assert!(
        !expected.iter().any(|answer| answer.starts_with("kept ")),
        "something stayed"
    );
    none(&wrongs(&clean, &expected));
    let counted: Vec<&Call> = calls.iter().filter(|call| call.number.is_some()).collect();
    let crashes: Vec<(Fault, &Call)> = worth_a_crash(&counted, PAGES_BETWEEN)
        .map(|(n, call)| (Fault::AbortAt(n), call))
        .collect();
    assert!(crashes.len() > 20, "few calls were seen: {calls:?}");
    eprintln!("`evict`: {} crashes of {} calls", crashes.len(), counted.len());
    let told = each(&crashes, |(fault, call)| {
        let place = call.path.rsplit('/').next().unwrap_or_default();
        let home = home.copy();
        home.run_with(EVICT, fault);
        let again = home.run(EVICT);
        let mut told = wrongs(&home, &expected);
        told.extend(words_left(&home));
        if !again.status.success() {
            told.push(format!("{again:?}"));
        }
        let told = told.into_iter();
        told.map(|wrong| format!("{fault:?} ({} {place}): {wrong}", call.name))
            .collect()
    });
    none(&told);
}
