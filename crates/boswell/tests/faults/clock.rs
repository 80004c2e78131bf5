//! A clock that goes back, or files with times in the future, must cost neither data nor repeated work.

use crate::home::{Home, SESSION, claude_log, session, story};

const YEARS_BEFORE: &str = "2019-01-01T00:00:00Z";

#[test]
fn a_clock_that_was_set_back_loses_nothing_and_reads_nothing_again() {
    let mut home = Home::with_logs();
    home.sweep();
    let kept = |home: &Home| home.answers().unwrap();
    let before = kept(&home);
    home.now = YEARS_BEFORE.to_owned();
    for _ in 0..2 {
        let told = home.sweep();
        assert_eq!(
            (&told["files_read"], &told["bytes_read"]),
            (&0.into(), &0.into()),
            "{told}"
        );
    }
    assert_eq!(kept(&home), before);

    home.write(&claude_log(SESSION), session(4));
    let told = home.sweep();
    let grown = session(4).len() - session(3).len();
    assert_eq!(told["bytes_read"], grown, "{told}");
    assert_eq!(
        home.run(&format!("cat {SESSION}")).stdout.lines().count(),
        session(4).lines().count()
    );
}

#[test]
fn logs_from_the_future_are_read_once_and_go_on_when_they_grow() {
    let home = Home::with_logs();
    for path in home.files(".").iter().filter(|path| !path.ends_with("mask.key")) {
        home.touch(path, "2107-01-01T00:00:00Z");
    }
    let told = home.sweep();
    assert!(told["files_read"].as_u64() >= Some(4), "{told}");
    let again = home.sweep();
    assert_eq!(
        (&again["files_read"], &again["bytes_read"]),
        (&0.into(), &0.into()),
        "{again}"
    );

    home.write(&claude_log(SESSION), story(SESSION, 4).jsonl());
    home.touch(&home.path.join(claude_log(SESSION)), "2108-01-01T00:00:00Z");
    let told = home.sweep();
    assert_eq!(told["bytes_read"], session(4).len() - session(3).len(), "{told}");

    let usual = home.copy();
    std::fs::remove_dir_all(usual.store()).unwrap();
    for path in usual
        .files(".")
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
    {
        usual.touch(path, "2026-04-01T00:00:00Z");
    }
    usual.sweep();
    assert_eq!(home.answers().unwrap(), usual.answers().unwrap());
}

#[test]
fn a_clock_that_leaps_years_ahead_makes_nothing_old_until_it_has_gone_on_for_a_day() {
    let mut home = Home::with_logs();
    home.sweep();
    let evicted = |home: &Home| home.sweep()["sessions_evicted"].as_u64().unwrap();
    // The first sweep after the leap, and one an hour later. The log grows each time, so that both have something to
    // write.
    for (number, now) in [(4, "2033-01-01T00:00:00Z"), (5, "2033-01-01T01:00:00Z")] {
        home.now = now.to_owned();
        home.write(&claude_log(SESSION), session(number));
        assert_eq!(evicted(&home), 0, "{now}");
    }
    home.now = "2033-01-03T00:00:00Z".to_owned();
    assert!(evicted(&home) > 0);
}
