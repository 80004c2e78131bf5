//! Pushes what is new in a memory to a shared one. Pushing it again changes nothing.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;

use super::anchors::{self, LogComparison};
use super::{strip, transfer_session};
use crate::plural::count_noun;
use crate::retention;
use crate::store::{Decision, LockWait, SessionRow, Store, StoreError};

/// How much of a session leaves the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushScope {
    /// Numbers, and what the digest says about tools and outcomes. Prompts and raw text stay.
    Digests,
    Full,
}

impl PushScope {
    /// Returns the name used in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Digests => "digests",
            Self::Full => "full",
        }
    }
}

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushSummary {
    pub sessions: u64,
    /// Sessions that are identical on the server.
    pub unchanged: u64,
    /// Sessions of which the server has more, or which were forgotten.
    pub left: u64,
    /// Annotations, decisions and facts.
    pub beside: u64,
    /// Annotations that were removed here, and now on the server.
    pub taken_back: u64,
    /// Sessions that were forgotten here, and now on the server.
    pub forgotten: u64,
    /// Sessions whose log on the server starts differently. They stay as they are there.
    pub apart: Vec<String>,
}

/// The eviction reason of a session that was pushed without its raw text.
pub const STAYED: &str = "stayed on its machine";

/// Pushes what is new here to a shared memory, and deletes there what was pushed and has since been deleted here. If
/// two machines have a log of the same session, the longer one wins.
pub fn push_sessions(
    from: &Store,
    to: &mut Store,
    share: &dyn Fn(&str) -> Result<PushScope, StoreError>,
    now: Timestamp,
    patience: LockWait<'_>,
) -> Result<PushSummary, StoreError> {
    let mut pushed = PushSummary {
        forgotten: forget_on_server(from, to, now, patience)?,
        taken_back: remove_annotations_on_server(from, to, now, patience)?,
        ..PushSummary::default()
    };
    let there: BTreeMap<String, SessionRow> = to
        .reads()
        .sessions()?
        .into_iter()
        .map(|row| (row.session_uid.clone(), row))
        .collect();
    let mut tombstones = to.reads().tombstones()?;
    tombstones.extend(from.reads().tombstones()?);
    for row in from.reads().sessions()? {
        let uid = row.session_uid.as_str();
        if is_forgotten(&tombstones, uid) {
            pushed.left += 1;
            continue;
        }
        let share = share(uid)?;
        let known = there.get(uid);
        if known.is_some_and(|known| is_up_to_date(&row, known, share)) {
            pushed.unchanged += 1;
            continue;
        }
        match compare_sessions(from, to, &row, known)? {
            LogComparison::Longer => {}
            LogComparison::Equal | LogComparison::Shorter => {
                pushed.left += 1;
                continue;
            }
            LogComparison::Diverged => {
                pushed.apart.push(uid.to_owned());
                continue;
            }
        }
        let load = from.reads().export_session(uid)?;
        let load = match share {
            PushScope::Full => load,
            PushScope::Digests => strip::strip_session(from, load, STAYED)?,
        };
        // Another machine may have pushed more of the session in the meantime, or forgotten it.
        let is_wanted = |to: &Store| {
            let reads = to.reads();
            let is_wanted = !reads.has_tombstone(uid)?
                && compare_sessions(from, to, &row, reads.session(uid)?.as_ref())? == LogComparison::Longer;
            Ok(is_wanted)
        };
        match transfer_session(from, to, &load, now, patience, &is_wanted)? {
            true => pushed.sessions += 1,
            false => pushed.left += 1,
        }
    }
    pushed.beside = push_annotations(from, to, share, &tombstones, now, patience)?;
    Ok(pushed)
}

/// Compares a session here with the one on the server. If both were read equally far, the one that was read last
/// wins.
fn compare_sessions(
    from: &Store,
    to: &Store,
    row: &SessionRow,
    known: Option<&SessionRow>,
) -> Result<LogComparison, StoreError> {
    let Some(known) = known else {
        return Ok(LogComparison::Longer);
    };
    Ok(match anchors::compare_logs(from, to, &row.session_uid)? {
        LogComparison::Equal if row.evicted_at.is_none() && row.ingested_at >= known.ingested_at => {
            LogComparison::Longer
        }
        other => other,
    })
}

/// Forgets sessions on the server that were forgotten here, if this machine pushed them. What another machine pushed
/// stays.
fn forget_on_server(from: &Store, to: &mut Store, now: Timestamp, patience: LockWait<'_>) -> Result<u64, StoreError> {
    let tombstones = from.reads().tombstones()?;
    if tombstones.is_empty() {
        return Ok(0);
    }
    let mut uids = to.reads().sessions_written_here()?;
    uids.retain(|uid| is_forgotten(&tombstones, uid));
    if !uids.is_empty() {
        retention::forget_on_server(to, patience, &uids, now)?;
    }
    Ok(uids.len() as u64)
}

/// Deletes annotations on the server that were pushed from here and have since been removed here.
fn remove_annotations_on_server(
    from: &Store,
    to: &mut Store,
    now: Timestamp,
    patience: LockWait<'_>,
) -> Result<u64, StoreError> {
    let gone = from.reads().find_removed_annotations(&to.reads())?;
    if gone.is_empty() {
        return Ok(0);
    }
    let lock = to.lock(patience)?;
    to.write_apart(&lock, now, "hub", |tx| {
        let mut count = 0;
        for said in &gone {
            count += u64::from(tx.remove_annotation(said)?);
        }
        let several = count_noun(count, "annotation");
        Ok((count, format!("removed {several} that another memory had removed")))
    })
}

fn is_forgotten(tombstones: &HashSet<String>, uid: &str) -> bool {
    let parent = uid.split_once('/').map_or(uid, |(parent, _)| parent);
    tombstones.contains(uid) || tombstones.contains(parent)
}

/// Returns `true` if a session was already pushed as it is and no raw text is missing.
fn is_up_to_date(here: &SessionRow, there: &SessionRow, share: PushScope) -> bool {
    let is_more = share == PushScope::Full && here.evicted_at.is_none() && there.evicted_at.is_some();
    (here.ingested_at, here.analyzed_at) == (there.ingested_at, there.analyzed_at) && !is_more
}

/// Pushes what is attached to session uids alone. Names and notes are free text, so they are pushed only with full
/// sessions. Tags and decisions are always pushed because users write them to find sessions by.
fn push_annotations(
    from: &Store,
    to: &mut Store,
    share: &dyn Fn(&str) -> Result<PushScope, StoreError>,
    tombstones: &HashSet<String>,
    now: Timestamp,
    patience: LockWait<'_>,
) -> Result<u64, StoreError> {
    let mut news = Vec::new();
    for (here, there) in from
        .reads()
        .export_annotation_tables()?
        .into_iter()
        .zip(to.reads().export_annotation_tables()?)
    {
        let mut load = here;
        load.retain(|uid| Ok(!is_forgotten(tombstones, uid)))?;
        match load.told().0 {
            "annotations" => load.retain(|uid| Ok(share(uid)? == PushScope::Full))?,
            "facts" => load.blank(&["reason", "error"], |uid| Ok(share(uid)? == PushScope::Digests))?,
            _ => {}
        }
        load.retain_newer(&there);
        news.push(load);
    }
    let known = to.reads().decisions()?;
    let is_known = |one: &Decision| {
        let identity = |decision: &Decision| (decision.session_uid.clone(), decision.at_micros, decision.text.clone());
        known.iter().any(|known| identity(known) == identity(one))
    };
    let mut decisions = from.reads().decisions()?;
    decisions.retain(|one| {
        !is_known(one)
            && !one
                .session_uid
                .as_deref()
                .is_some_and(|uid| is_forgotten(tombstones, uid))
    });
    let count = news.iter().map(|load| load.told().1).sum::<u64>() + decisions.len() as u64;
    if count == 0 {
        return Ok(0);
    }
    let lock = to.lock(patience)?;
    to.write_apart(&lock, now, "hub", |tx| {
        news.iter().try_for_each(|load| tx.merge_rows(load))?;
        for one in &decisions {
            let at = Timestamp::from_microsecond(one.at_micros).unwrap_or(now);
            tx.add_decision(one.session_uid.as_deref(), &one.text, at, one.mask_version)?;
        }
        let several = count_noun(count, "annotation");
        Ok(((), format!("received {several} from another memory")))
    })?;
    Ok(count)
}
