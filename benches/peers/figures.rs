//! The measurements in `docs/dev/benchmarks.json`, the only source of the page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All measurements by job. A run of one job replaces only its own.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    pub jobs: BTreeMap<String, Job>,
}

/// The measurements of one job, and the machine.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    pub measured: Measured,
    pub contests: Vec<Contest>,
    pub facts: Vec<Fact>,
    pub curves: Vec<Curve>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    pub date: String,
    pub commit: String,
    pub machine: String,
    pub versions: BTreeMap<String, String>,
}

/// One task that several programs do alternately with the same input. The first one is ours.
#[derive(Serialize, Deserialize)]
pub struct Contest {
    /// A short name for plots and links.
    pub name: String,
    pub what: String,
    pub ways: Vec<Way>,
}

/// One program in a contest.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Way {
    pub name: String,
    pub rounds: Vec<Cost>,
    /// The size of the files it left on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its result, if that can be compared, or why there are no rounds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The cost of one run.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Cost {
    #[serde(serialize_with = "short")]
    pub seconds: f64,
    #[serde(serialize_with = "short")]
    pub cpu_seconds: f64,
    pub peak_bytes: u64,
}

/// A single figure without a comparison.
#[derive(Serialize, Deserialize)]
pub struct Fact {
    pub what: String,
    #[serde(serialize_with = "short")]
    pub value: f64,
    pub unit: String,
}

/// The growth of a cost with the size of the logs.
#[derive(Serialize, Deserialize)]
pub struct Curve {
    pub name: String,
    /// Megabytes of logs, and seconds.
    pub points: Vec<(f64, f64)>,
}

impl Way {
    /// Returns a program that could not be installed.
    pub fn absent(name: &str, reason: &str) -> Self {
        Self {
            name: name.to_owned(),
            note: reason.to_owned(),
            ..Self::default()
        }
    }

    pub fn median(&self, of: fn(&Cost) -> f64) -> Option<f64> {
        median(self.rounds.iter().map(of).collect())
    }

    pub fn peak_bytes(&self) -> u64 {
        self.rounds.iter().map(|cost| cost.peak_bytes).max().unwrap_or_default()
    }
}

impl Contest {
    /// Returns the median ratio of the other program's time to ours, round by round.
    pub fn times(&self, other: &Way) -> Option<f64> {
        let ours = &self.ways.first()?.rounds;
        let ratios = other.rounds.iter().zip(ours);
        median(ratios.map(|(theirs, ours)| theirs.seconds / ours.seconds).collect())
    }
}

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Rounds to microseconds, because smaller differences mean nothing.
fn short<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((value * 1e6).round() / 1e6)
}
