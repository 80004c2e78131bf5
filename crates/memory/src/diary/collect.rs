//! Selects the logs of a day by their modification time and the dates in them, and reads them on several threads.
//!
//! A log that cannot be read is noted as skipped. It never affects another log.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use transcript::{Agent, PartKind, SessionUid, grok_project};

use super::audit::SkippedSource;
use super::children::file_stem;
use super::copy::{Copied, Copies, copy, copy_scanned};
use super::recalled::{ForgottenSessions, StoredCompanion};
use super::roots::Project;
use super::scan::{DayMatcher, LogScan, scan};
use super::text::LogText;
use super::traces::native_id;
use super::write::pending_path;
use super::{PrepareRequest, source_name};
use crate::files;
use crate::sources::{self, LogFile};
use crate::threads::run_on_threads;

/// Tolerance for a clock that was set back between writing the last line and closing the file.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_hours(1);

/// Reason for leaving out a session that the user removed with `forget`.
pub(super) const FORGOTTEN: &str = "was forgotten";

/// A session of the day that is not a subagent.
#[derive(Debug)]
pub(super) struct PickedSession {
    pub(super) agent: Agent,
    /// The original path of its log, which may have been deleted.
    pub(super) place: PathBuf,
    pub(super) id: String,
    pub(super) project: Project,
    pub(super) scan: LogScan,
    pub(super) copied: Copied,
    /// The companion files of a Grok log, by name.
    pub(super) companions: Vec<(String, Copied)>,
    /// True if the log was deleted and its lines come from the store.
    pub(super) is_from_memory: bool,
}

/// The result of [`collect`].
#[derive(Debug, Default)]
pub(super) struct CollectedLogs {
    pub(super) picked: Vec<PickedSession>,
    pub(super) skipped: Vec<SkippedSource>,
    /// Subagents' logs with lines of the day. Each is either copied with its parent or noted as skipped.
    pub(super) children: Vec<PathBuf>,
}

impl CollectedLogs {
    /// Returns `true` if the session is part of the day.
    pub(super) fn has_session(&self, session_uid: &str) -> bool {
        let uid = |picked: &PickedSession| SessionUid::new(picked.agent, &picked.id);
        self.picked.iter().any(|picked| uid(picked).as_str() == session_uid)
    }
}

/// A log that may belong to the day.
pub(super) struct CandidateLog<'c> {
    pub(super) agent: Agent,
    /// The file to read.
    pub(super) path: &'c Path,
    /// The original path, which differs from `path` if the log was deleted.
    pub(super) place: &'c Path,
    pub(super) modified: Option<Timestamp>,
    pub(super) is_from_memory: bool,
    /// The stored companion files of a deleted Grok log.
    pub(super) companions: &'c [StoredCompanion],
}

/// Returns `true` if a log was modified on the day or later, or if its modification time is unknown.
pub(super) fn may_contain(log: &LogFile, start: Timestamp) -> bool {
    log.modified.is_none_or(|modified| {
        modified
            .saturating_add(CLOCK_SLACK)
            .is_ok_and(|modified| modified >= start)
    })
}

/// Examines all candidates. `copies` must be an empty directory.
pub(super) fn collect(
    request: &PrepareRequest<'_>,
    candidates: &[CandidateLog<'_>],
    forgotten: &ForgottenSessions,
    copies: &Path,
) -> CollectedLogs {
    let day = DayMatcher::new(request.window);
    let outcomes = run_on_threads(request.threads, candidates.len(), |number, buffer| {
        let to = pending_path(copies, "", number);
        examine_log(request, &day, forgotten, &candidates[number], buffer, &to)
    });
    let mut collected = CollectedLogs::default();
    for (candidate, outcome) in candidates.iter().zip(outcomes) {
        outcome.into_collected(candidate, &mut collected);
    }
    collected
}

/// The result of examining one candidate.
enum CandidateOutcome {
    OtherDay,
    Child,
    PickedSession(Box<PickedSession>),
    Skipped(Vec<String>),
}

impl CandidateOutcome {
    fn forgotten() -> Self {
        Self::Skipped(vec![FORGOTTEN.to_owned()])
    }

    fn into_collected(self, candidate: &CandidateLog<'_>, collected: &mut CollectedLogs) {
        match self {
            Self::OtherDay => {}
            Self::Child => collected.children.push(candidate.place.to_owned()),
            Self::PickedSession(picked) => {
                let untimed = untimed_reason(&picked.scan);
                collected
                    .skipped
                    .extend(untimed.map(|reason| SkippedSource::at(candidate.place, reason)));
                collected.picked.push(*picked);
            }
            Self::Skipped(reasons) => {
                let skipped = reasons
                    .into_iter()
                    .map(|reason| SkippedSource::at(candidate.place, reason));
                collected.skipped.extend(skipped);
            }
        }
    }
}

/// Reads one candidate and decides whether it belongs to the day.
fn examine_log(
    request: &PrepareRequest<'_>,
    day: &DayMatcher<'_>,
    forgotten: &ForgottenSessions,
    candidate: &CandidateLog<'_>,
    buffer: &mut Vec<u8>,
    to: &Path,
) -> CandidateOutcome {
    let unread = |error: std::io::Error| CandidateOutcome::Skipped(vec![format!("cannot be read: {error}")]);
    let text = match LogText::open(candidate.path, buffer) {
        Ok(text) => text,
        Err(error) => return unread(error),
    };
    match text.is_utf16() {
        Ok(true) => return CandidateOutcome::Skipped(vec!["is written as UTF-16, which no agent writes".to_owned()]),
        Ok(false) => {}
        Err(error) => return unread(error),
    }
    let scanned = day.may_contain_day(candidate.agent, &text).and_then(|may_be| {
        let scan = may_be.then(|| {
            scan(
                candidate.agent,
                candidate.place,
                candidate.companions,
                &text,
                request.copies.disclosure(),
                day,
            )
        });
        scan.transpose()
    });
    let scan = match scanned {
        Ok(Some(scan)) => scan,
        Ok(None) => return CandidateOutcome::OtherDay,
        Err(error) => return unread(error),
    };
    let is_forgotten = forgotten.has(
        candidate.agent,
        &native_id(candidate.agent, &candidate.place.to_string_lossy()),
    ) || forgotten.has(candidate.agent, &session_id(candidate.agent, candidate.place, &scan));
    if scan.is_child {
        return match scan.is_at_work {
            true if is_forgotten => CandidateOutcome::forgotten(),
            true => CandidateOutcome::Child,
            false => CandidateOutcome::OtherDay,
        };
    }
    if scan.turns.is_empty() {
        let was_modified = candidate
            .modified
            .is_some_and(|modified| request.window.contains(modified));
        return match missing_turn_reasons(&scan, was_modified) {
            reasons if reasons.is_empty() => CandidateOutcome::OtherDay,
            reasons => CandidateOutcome::Skipped(reasons),
        };
    }
    if is_forgotten {
        return CandidateOutcome::forgotten();
    }
    copy_session(request, candidate, scan, &text, to).unwrap_or_else(unread)
}

/// Copies a session into the day, unless it must be left out.
fn copy_session(
    request: &PrepareRequest<'_>,
    candidate: &CandidateLog<'_>,
    scan: LogScan,
    text: &LogText<'_>,
    to: &Path,
) -> std::io::Result<CandidateOutcome> {
    let (agent, place) = (candidate.agent, candidate.place);
    let id = session_id(agent, place, &scan);
    let project = session_project(request, candidate, &id, &scan);
    if project.is_inside(request.reports_root) {
        return Ok(CandidateOutcome::Skipped(vec![
            "works inside the reports directory".to_owned(),
        ]));
    }
    if (request.is_ignored)(candidate.path) {
        return Ok(CandidateOutcome::Skipped(vec![
            "is excluded by the settings".to_owned(),
        ]));
    }
    let copied = copy_scanned(text, request.copies, agent, &scan.clean, to)?;
    let companions = match agent {
        Agent::Grok if candidate.is_from_memory => copy_stored_companions(candidate.companions, request.copies, to),
        Agent::Grok => copy_companions(place, request.copies, to),
        Agent::Claude | Agent::Codex => Vec::new(),
    };
    Ok(CandidateOutcome::PickedSession(Box::new(PickedSession {
        agent,
        place: place.to_owned(),
        id,
        project,
        scan,
        copied,
        companions,
        is_from_memory: candidate.is_from_memory,
    })))
}

/// Returns why a log that may contain something of the day has no turn of it. Empty if nothing is missing.
fn missing_turn_reasons(scan: &LogScan, was_modified: bool) -> Vec<String> {
    // If no line has a time, the modification time of the file is the only evidence.
    let count = match scan.first_at {
        None if was_modified => scan.malformed,
        _ => scan.malformed_of_day,
    };
    let torn = (count > 0)
        .then(|| format!("no turn of the day could be parsed, but {count} malformed line(s) may contain one"));
    torn.into_iter().chain(untimed_reason(scan)).collect()
}

fn untimed_reason(scan: &LogScan) -> Option<String> {
    let lines: Vec<String> = scan.untimed.iter().map(ToString::to_string).collect();
    let numbers = lines.join(", ");
    (!lines.is_empty()).then(|| format!("prompts without a timestamp belong to no day, at line(s) {numbers}"))
}

/// Returns the agent's own id of a session, as used in the workspace.
fn session_id(agent: Agent, place: &Path, scan: &LogScan) -> String {
    match agent {
        Agent::Claude => file_stem(place),
        Agent::Codex => scan
            .head
            .as_ref()
            .and_then(|head| head.id.clone())
            .unwrap_or_else(|| file_stem(place)),
        Agent::Grok => {
            let directory = place.parent().and_then(Path::file_name);
            directory.map_or_else(|| file_stem(place), |name| name.to_string_lossy().into_owned())
        }
    }
}

fn session_project(request: &PrepareRequest<'_>, candidate: &CandidateLog<'_>, id: &str, scan: &LogScan) -> Project {
    let agent = candidate.agent;
    let known_root = match agent {
        Agent::Claude | Agent::Codex => scan.cwd.clone(),
        Agent::Grok => {
            let seen = || scan.session.as_ref().and_then(|session| session.cwd.clone());
            grok_working_directory(candidate).or_else(seen)
        }
    };
    let fallback = || {
        request
            .fallback_roots
            .get(&agent)
            .map(|root| root.to_string_lossy().into_owned())
    };
    // The name of a directory can contain a secret, and it becomes the name of the project.
    let masked = |root: String| match request.copies {
        Copies::Masked(masker) => masker.mask_str(&root, &mut Vec::new()).into_owned(),
        Copies::Verbatim => root,
    };
    match known_root.or_else(fallback).map(masked) {
        Some(root) => Project::from_root(&root, request.home),
        None => Project::unknown(source_name(agent), id),
    }
}

/// Returns the working directory of a Grok session: from its summary, from the `.cwd` file that Grok writes for long
/// paths, or from the name of its directory.
fn grok_working_directory(candidate: &CandidateLog<'_>) -> Option<String> {
    let directory = candidate.place.parent()?;
    let group = directory.parent()?;
    let non_empty = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let kept = candidate.companions.iter().find(|part| part.kind == PartKind::Summary);
    let summary = match kept {
        Some(part) => fs::read(&part.file).ok(),
        None => files::read_companion(directory, &directory.join("summary.json")).ok(),
    };
    let summary: serde_json::Value = serde_json::from_slice(&summary.unwrap_or_default()).unwrap_or_default();
    let known_root = summary["info"]["cwd"]
        .as_str()
        .or(summary["cwd"].as_str())
        .and_then(non_empty);
    let long = || {
        let bytes = files::read_companion(group, &group.join(".cwd")).ok()?;
        non_empty(&String::from_utf8_lossy(&bytes))
    };
    known_root
        .or_else(long)
        .or_else(|| grok_project(&group.file_name()?.to_string_lossy()))
}

/// Copies the stored companion files of a deleted Grok log.
fn copy_stored_companions(kept: &[StoredCompanion], copies: Copies<'_>, to: &Path) -> Vec<(String, Copied)> {
    let files = kept.iter().map(|part| (part.name, part.file.as_path()));
    files
        .filter_map(|(name, file)| copy_companion(name, file, copies, to))
        .collect()
}

/// Copies the companion files of a Grok log. A file that cannot be read is left out.
fn copy_companions(place: &Path, copies: Copies<'_>, to: &Path) -> Vec<(String, Copied)> {
    let mut companions = Vec::new();
    for (_, name) in sources::GROK_PARTS {
        let path = place.with_file_name(name);
        if path == place || path.symlink_metadata().is_err() {
            continue;
        }
        companions.extend(copy_companion(name, &path, copies, to));
    }
    companions
}

fn copy_companion(name: &str, path: &Path, copies: Copies<'_>, to: &Path) -> Option<(String, Copied)> {
    let own = to.with_extension(name.replace('.', "-"));
    let mut buffer = Vec::new();
    let copied = LogText::open(path, &mut buffer).and_then(|text| copy(&text, copies, &own));
    copied.ok().map(|copied| (name.to_owned(), copied))
}

/// Removes copies of a session that was found below several roots. The longest copy is kept, and the others are noted
/// as skipped.
pub(super) fn drop_copies(
    picked: Vec<PickedSession>,
    roots: &[PathBuf],
    skipped: &mut Vec<SkippedSource>,
) -> Vec<PickedSession> {
    let root_of = |place: &Path| roots.iter().position(|root| place.starts_with(root));
    let mut kept: Vec<PickedSession> = Vec::new();
    let mut known: HashMap<(Agent, String), Vec<usize>> = HashMap::new();
    for session in picked {
        let same = known.entry((session.agent, session.id.clone())).or_default();
        // Two logs below the same root are two sessions, even if they have the same id.
        let twin = same.iter().copied().find(|at| {
            let other: &PickedSession = &kept[*at];
            root_of(&other.place) != root_of(&session.place) && file_stem(&other.place) == file_stem(&session.place)
        });
        let Some(at) = twin else {
            same.push(kept.len());
            kept.push(session);
            continue;
        };
        let (longer, shorter) = match session.scan.lines > kept[at].scan.lines {
            true => (Some(session), std::mem::take(&mut kept[at].place)),
            false => (None, session.place),
        };
        skipped.push(SkippedSource::at(
            &shorter,
            "is a shorter copy of another log".to_owned(),
        ));
        if let Some(longer) = longer {
            kept[at] = longer;
        }
    }
    kept
}
