//! Looks up recorded paths by the end of their name, and finds files whose text matches recorded edits although no path
//! or git history connects them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use transcript::{Kind, Side};

use super::edits::{self, FoundEdit};
use super::paths::{TargetFile, absolute_path, is_windows_path, path_parts};
use super::show;
use crate::store::{ListedSession, SessionStatus, Store, StoreError};

/// Maximum number of recorded paths whose edits are compared with a file.
const COMPARED_MAX: usize = 8;
/// Shorter lines, such as a closing brace, occur in many files.
const DISTINCTIVE_CHARS_MIN: usize = 8;
/// Minimum number of distinctive lines that a file and the recorded edits must share.
const SHARED_LINES_MIN: usize = 2;

/// A path that sessions edited.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RecordedPath {
    /// Absolute, in the spelling of the newest session.
    pub path: String,
    pub repo: Option<String>,
    pub edits: u64,
    pub sessions: u64,
    pub last_at: Option<Timestamp>,
}

/// Recorded edits of another path whose text matches the file.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LikelySource {
    /// The path that was edited.
    pub path: String,
    /// Number of lines that the edits wrote and that the file contains, without short ones.
    pub shared_lines: usize,
    /// Number of lines that the edits wrote, without short ones.
    pub written_lines: usize,
}

/// Returns the recorded paths that end with `name` (a file name with any number of parent directories), most recently
/// edited first. Windows paths match in any case and with either separator.
pub fn recorded_paths(
    store: &Store,
    name: &str,
    takes: &dyn Fn(&ListedSession) -> bool,
) -> Result<Vec<RecordedPath>, StoreError> {
    let wanted = path_parts(name);
    let Some(last) = wanted.last() else {
        return Ok(Vec::new());
    };
    let names: BTreeSet<String> = [last.clone()].into();
    let mut found: BTreeMap<PathBuf, RecordedPath> = BTreeMap::new();
    for session in store.reads().listed()?.iter().filter(|session| takes(session)) {
        let mut own: BTreeMap<PathBuf, (String, u64)> = BTreeMap::new();
        for (path, directory, edits) in edited_paths(store, session, &names)? {
            let Some(canonical) = absolute_path(&path, directory.as_deref()) else {
                continue;
            };
            if ends_with(&canonical, &path, &wanted) {
                let shown = if is_windows_path(&path) {
                    path
                } else {
                    canonical.to_string_lossy().into_owned()
                };
                own.entry(canonical).or_insert((shown, 0)).1 += edits;
            }
        }
        let at = session.last_micros.and_then(|at| Timestamp::from_microsecond(at).ok());
        for (canonical, (path, edits)) in own {
            let known = found.entry(canonical).or_insert(RecordedPath {
                path,
                repo: session.repo.as_deref().map(str::to_owned),
                edits: 0,
                sessions: 0,
                last_at: at,
            });
            known.edits += edits;
            known.sessions += 1;
            known.last_at = known.last_at.max(at);
        }
    }
    let mut found: Vec<RecordedPath> = found.into_values().collect();
    found.sort_by(|a, b| {
        (b.last_at, b.edits)
            .cmp(&(a.last_at, a.edits))
            .then_with(|| a.path.cmp(&b.path))
    });
    Ok(found)
}

/// Returns the paths that a session edited, each with the session's directory and a number of edits. Sessions that
/// cannot have edited a file with one of these names are skipped.
fn edited_paths(
    store: &Store,
    session: &ListedSession,
    names: &BTreeSet<String>,
) -> Result<Vec<(String, Option<String>, u64)>, StoreError> {
    let uid = session.session_uid.as_str();
    match session.status {
        SessionStatus::Kept if store.reads().may_name_file(uid, names)? => {
            let directory = session.cwd.as_deref().map(str::to_owned);
            let events = store.reads().events(uid)?;
            let edits = events
                .iter()
                .filter(|event| event.kinds.has(Kind::Edit) && event.success != Some(false));
            let files = edits.flat_map(|event| event.files.iter());
            Ok(files.map(|file| (file.to_string(), directory.clone(), 1)).collect())
        }
        SessionStatus::Evicted => {
            let Some(row) = store.reads().digest_of(uid)? else {
                return Ok(Vec::new());
            };
            let directory = row.digest.cwd;
            let files = row.digest.files.into_iter().filter(|file| file.edits > 0);
            Ok(files.map(|file| (file.path, directory.clone(), file.edits)).collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn ends_with(canonical: &Path, recorded: &str, wanted: &[String]) -> bool {
    let ignores_case = is_windows_path(recorded) || is_windows_path(&canonical.to_string_lossy());
    let own = path_parts(&canonical.to_string_lossy());
    let is_same = |(own, wanted): (&String, &String)| match ignores_case {
        true => own.to_lowercase() == wanted.to_lowercase(),
        false => own == wanted,
    };
    own.len() >= wanted.len() && own.iter().rev().zip(wanted.iter().rev()).all(is_same)
}

/// Edits of another path that wrote lines of the file.
pub(super) struct LikelyEdits {
    pub(super) source: LikelySource,
    pub(super) found: Vec<FoundEdit>,
}

/// Returns the recorded edits of a file of the same name that match `lines` best, if the file contains at least half of
/// the lines they wrote.
pub(super) fn likely_edits(
    store: &Store,
    sessions: &[ListedSession],
    path: &Path,
    lines: &[String],
) -> Result<Option<LikelyEdits>, StoreError> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(None);
    };
    let present: HashSet<&str> = lines.iter().map(|line| line.trim()).collect();
    let mut best: Option<LikelyEdits> = None;
    for recorded in recorded_paths(store, name, &|_| true)?.into_iter().take(COMPARED_MAX) {
        let mut target = TargetFile::new(Path::new(&recorded.path));
        let found = edits::find_edits(store, sessions, &mut target)?;
        let written = written_lines(&found);
        let shared = written.iter().filter(|line| present.contains(line.as_str())).count();
        let is_alike = shared >= SHARED_LINES_MIN && shared * 2 >= written.len();
        if is_alike && best.as_ref().is_none_or(|best| best.source.shared_lines < shared) {
            let source = LikelySource {
                path: recorded.path,
                shared_lines: shared,
                written_lines: written.len(),
            };
            best = Some(LikelyEdits { source, found });
        }
    }
    Ok(best)
}

/// Returns the distinct lines that the edits wrote, without short ones.
fn written_lines(found: &[FoundEdit]) -> HashSet<String> {
    let hunks = found.iter().flat_map(|edit| show::describe_edit(edit).diff);
    let rows = hunks.flat_map(|hunk| hunk.rows);
    let written = rows
        .filter(|row| row.side == Side::New)
        .map(|row| row.text.trim().to_owned());
    written
        .filter(|line| line.chars().count() >= DISTINCTIVE_CHARS_MIN)
        .collect()
}
