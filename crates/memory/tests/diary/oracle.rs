//! The same bytes as the public tool: its output for generated days is a fixture, which is compared with ours.
//!
//! `tests/oracle/compare.py --record` creates the fixture. Days without traps are equal byte by byte; each class of
//! differences has its own test.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use serde_json::Value;
use sha2::{Digest, Sha256};
use testkit::days::{Traps, day};

use crate::home::Home;

/// The time zones of the generated days, with their rules of 2026, because this crate contains no time zone database.
const ZONES: [(&str, &str); 9] = [
    ("UTC", "UTC0"),
    ("Asia/Shanghai", "CST-8"),
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("Asia/Kathmandu", "<+0545>-5:45"),
    ("Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"),
    ("Africa/Cairo", "EET-2EEST,M4.5.5/0,M10.5.4/24"),
    ("Pacific/Kiritimati", "<+14>-14"),
    ("Pacific/Apia", "<+13>-13"),
];

#[test]
fn generated_days_give_the_same_bytes_as_the_public_tool() {
    let expected = include_str!("../../../../fixtures/diary/expected.txt");
    let mut days = 0;
    for fixture in expected.split("=== ").skip(1) {
        let seed: u64 = fixture.split(' ').next().unwrap().parse().unwrap();
        let ours = prepared(seed);
        assert!(ours == fixture, "day {seed}\n--- theirs\n{fixture}\n--- ours\n{ours}");
        days += 1;
    }
    assert!(days >= 40, "{days}");
}

/// Returns the workspace of a generated day in the format of the fixture.
fn prepared(seed: u64) -> String {
    let made = day(seed, Traps::None);
    let mut home = Home::new();
    for (path, bytes) in &made.files {
        home.write(path, bytes);
    }
    let (name, rules) = ZONES.iter().find(|(name, _)| *name == made.timezone).unwrap();
    home.zone = (TimeZone::posix(rules).unwrap(), (*name).to_owned());
    home.try_prepare(made.date, None).unwrap();
    let mut files = Vec::new();
    list(&home.reports(), "", &mut files);
    let mut text = format!("{seed} {} {}\n", made.date, made.timezone);
    for name in files.iter().filter(|name| !name.ends_with("prepare.lock")) {
        let bytes = fs::read(home.reports().join(name)).unwrap();
        if name.contains("/sessions/") {
            let sum = Sha256::digest(&bytes).iter().fold(String::new(), |mut sum, byte| {
                write!(sum, "{byte:02x}").unwrap();
                sum
            });
            writeln!(text, "{name} sha256 {sum}").unwrap();
        } else {
            let fixture = String::from_utf8(bytes)
                .unwrap()
                .replace(home.path.to_str().unwrap(), "[HOME]");
            writeln!(text, "{name}\n{}", remove_our_own_keys(&fixture)).unwrap();
            text.pop();
        }
    }
    text
}

/// Removes the time of preparation, and the keys that only our audit has.
fn remove_our_own_keys(fixture: &str) -> String {
    let mut text = String::new();
    for line in fixture.split_inclusive('\n') {
        match line.starts_with("  \"prepared_at\": ") {
            true => text += "  \"prepared_at\": \"-\",\n",
            false => text += line,
        }
    }
    if let Some(at) = text.find(",\n  \"copies\": ") {
        let notes: Value = serde_json::from_str(fixture).unwrap();
        assert!(notes["skipped"].is_array() && notes["evicted"].is_array());
        text.truncate(at);
        text += "\n}\n";
    }
    text
}

fn list(directory: &Path, inside: &str, files: &mut Vec<String>) {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let path = directory.join(&name);
        let place = if inside.is_empty() {
            name
        } else {
            format!("{inside}/{name}")
        };
        if path.is_dir() {
            list(&path, &place, files);
        } else {
            files.push(place);
        }
    }
    files.sort();
}
