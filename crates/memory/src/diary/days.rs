//! Lists the days that have sessions, and which of them have a workspace or a report.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::WORK_DIRECTORY;
use super::roots::Project;
use crate::store::{Store, StoreError};

/// One local day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiaryDay {
    pub date: Date,
    pub sessions: usize,
    pub turns: usize,
    /// The labels of the projects.
    pub projects: Vec<String>,
    /// `partial` or `final`, if the day has a workspace.
    pub workspace: Option<String>,
    pub has_report: bool,
}

/// Returns all days that have a session or a workspace, newest first.
pub fn list_days(
    store: Option<&Store>,
    zone: &TimeZone,
    reports_root: &Path,
    home: &Path,
) -> Result<Vec<DiaryDay>, StoreError> {
    let mut days: BTreeMap<Date, DayTotals> = BTreeMap::new();
    if let Some(store) = store {
        let reads = store.reads();
        let listed = reads.listed()?;
        let cwd_by_uid: BTreeMap<&str, Option<&str>> = listed
            .iter()
            .map(|session| (session.session_uid.as_str(), session.cwd.as_deref()))
            .collect();
        for (uid, micros) in reads.turn_starts()? {
            let Some(at) = Timestamp::from_microsecond(micros).ok() else {
                continue;
            };
            let Some(cwd) = cwd_by_uid.get(uid.as_str()) else {
                continue;
            };
            let day = days.entry(zone.to_datetime(at).date()).or_default();
            day.turns += 1;
            if day.sessions.insert(uid) {
                day.roots.insert(cwd.unwrap_or_default().to_owned());
            }
        }
    }
    for date in prepared_dates(reports_root) {
        days.entry(date).or_default();
    }
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let days = days.into_iter().rev().map(|(date, day)| {
        let label = |root: &String| {
            let make_label = || Project::from_root(root, home).label;
            labels.entry(root.clone()).or_insert_with(make_label).clone()
        };
        let mut projects: Vec<String> = day.roots.iter().map(label).collect();
        projects.sort();
        projects.dedup();
        let workspace = reports_root.join(WORK_DIRECTORY).join(date.to_string());
        DiaryDay {
            date,
            sessions: day.sessions.len(),
            turns: day.turns,
            projects,
            has_report: ["report.md", "report.html", "daily-report.json"]
                .iter()
                .any(|name| workspace.join(name).exists()),
            workspace: workspace_status(&workspace),
        }
    });
    Ok(days.collect())
}

#[derive(Default)]
struct DayTotals {
    sessions: BTreeSet<String>,
    turns: usize,
    roots: BTreeSet<String>,
}

/// Returns the days that have a workspace.
fn prepared_dates(reports_root: &Path) -> Vec<Date> {
    let entries = fs::read_dir(reports_root.join(WORK_DIRECTORY))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn workspace_status(workspace: &Path) -> Option<String> {
    let bytes = fs::read(workspace.join("metadata.json")).ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    metadata["status"].as_str().map(str::to_owned)
}
