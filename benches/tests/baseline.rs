//! When instruction counts fail a check, and when they are only printed.

#[path = "../baseline.rs"]
mod baseline;

use baseline::{Baseline, Verdict, judge};

fn counted(instructions: &[(&str, u64)]) -> Baseline {
    Baseline {
        rustc: "rustc 1".to_owned(),
        valgrind: "valgrind 3".to_owned(),
        processor: "x".to_owned(),
        instructions: instructions
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
    }
}

#[test]
fn five_percent_more_are_a_loss_and_less_is_noise_or_a_gain() {
    let before = counted(&[("mask", 1_000), ("read", 1_000)]);
    for (count, verdict) in [
        (1_000, Verdict::Holds),
        (1_050, Verdict::Holds),
        (1_051, Verdict::Losses(1)),
        (500, Verdict::Holds),
    ] {
        let (table, told) = judge(&counted(&[("mask", 1_000), ("read", count)]), &before);
        assert_eq!(told, verdict, "{table}");
        assert_eq!(table.contains("bless"), count == 500, "{table}");
    }
}

#[test]
fn a_path_without_a_baseline_fails_until_it_is_blessed() {
    let now = counted(&[("read", 1_000), ("new", 5)]);
    assert_eq!(judge(&now, &counted(&[("read", 1_000)])).1, Verdict::Losses(1));
}

#[test]
fn other_tools_are_told_and_not_judged() {
    let before = counted(&[("read", 1_000)]);
    let other = |change: fn(&mut Baseline)| {
        let mut now = counted(&[("read", 2_000)]);
        change(&mut now);
        judge(&now, &before).1
    };
    assert_eq!(other(|_| {}), Verdict::Losses(1));
    assert_eq!(other(|now| now.rustc = "rustc 2".to_owned()), Verdict::NotJudged);
    assert_eq!(other(|now| now.valgrind = "valgrind 4".to_owned()), Verdict::NotJudged);
    assert_eq!(other(|now| now.processor = "y".to_owned()), Verdict::NotJudged);
}

#[test]
fn the_baseline_in_the_repository_can_be_read_and_knows_every_hot_path() {
    let kept: Baseline = serde_json::from_str(include_str!("../baseline.json")).expect("a baseline");
    assert!(kept.instructions.len() >= 12, "{:?}", kept.instructions.keys());
    assert!(kept.instructions.values().all(|count| *count > 10_000));
}
