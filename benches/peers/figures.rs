//! What was measured, as it is kept in `docs/dev/benchmarks.json`. The page is written from it, and from nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All that is known, by the job that measured it. A run of one job replaces its own figures alone.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    pub jobs: BTreeMap<String, Job>,
}

/// What one job measured, and where.
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

/// One thing that several programs do with the same input, by turns. The first one is ours.
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
    /// What it left on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What came out, where that can be compared; or why there are no rounds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What one run cost.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Cost {
    #[serde(serialize_with = "short")]
    pub seconds: f64,
    #[serde(serialize_with = "short")]
    pub cpu_seconds: f64,
    pub peak_bytes: u64,
}

/// A figure that stands alone.
#[derive(Serialize, Deserialize)]
pub struct Fact {
    pub what: String,
    #[serde(serialize_with = "short")]
    pub value: f64,
    pub unit: String,
}

/// How a cost grows with the logs.
#[derive(Serialize, Deserialize)]
pub struct Curve {
    pub name: String,
    /// Megabytes of logs, and seconds.
    pub points: Vec<(f64, f64)>,
}

impl Way {
    /// One that could not be installed.
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
    /// How many times as long another took as we did, round by round: the middle one.
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

/// Six digits behind the point: a microsecond is the least that means anything.
fn short<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((value * 1e6).round() / 1e6)
}
