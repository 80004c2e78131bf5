//! Days of 23, 24 and 25 hours, and whether they are over.

use jiff::civil::date;
use jiff::tz::TimeZone;
use memory::diary::{DayStatus, DayWindow, WindowError};

const NOON: &str = "2026-11-16T12:00:00Z";

fn window(zone: &str, day: jiff::civil::Date) -> DayWindow {
    DayWindow::new(day, &TimeZone::posix(zone).unwrap(), "Some/Zone", NOON.parse().unwrap()).unwrap()
}

#[test]
fn a_local_day_has_the_hours_that_its_clock_shows() {
    let hours = |zone, day| {
        let window = window(zone, day);
        window.end.duration_since(window.start).as_mins() as f64 / 60.0
    };
    let berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
    assert_eq!(hours(berlin, date(2026, 3, 28)), 24.0);
    assert_eq!(hours(berlin, date(2026, 3, 29)), 23.0);
    assert_eq!(hours(berlin, date(2026, 10, 25)), 25.0);
    let lord_howe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
    assert_eq!(hours(lord_howe, date(2026, 4, 5)), 24.5);
    // The clock skips midnight, so the day starts at one o'clock.
    assert_eq!(hours("EET-2EEST,M4.5.5/0,M10.5.4/24", date(2026, 4, 24)), 23.0);
}

#[test]
fn a_window_includes_its_first_instant_but_not_its_last() {
    let window = window("CST-8", date(2026, 5, 12));
    assert_eq!(window.start.to_string(), "2026-05-11T16:00:00Z");
    assert!(window.contains(window.start));
    assert!(!window.contains(window.end));
}

#[test]
fn today_is_partial_yesterday_final_and_tomorrow_an_error() {
    let zone = TimeZone::UTC;
    let now = NOON.parse().unwrap();
    let of = |day| DayWindow::new(day, &zone, "UTC", now);
    assert_eq!(of(date(2026, 11, 16)).unwrap().status, DayStatus::Partial);
    assert_eq!(of(date(2026, 11, 15)).unwrap().status, DayStatus::Final);
    assert!(matches!(of(date(2026, 11, 17)), Err(WindowError::Future { .. })));
    // The first and the last day of the calendar are days, or an error.
    assert!(of(date(1, 1, 1)).is_ok());
    let before_all = of(date(-9999, 1, 1));
    assert!(
        matches!(before_all, Ok(_) | Err(WindowError::OutOfRange(_))),
        "{before_all:?}"
    );
}
