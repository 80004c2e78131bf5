//! Searches the logs of evicted sessions at their sources, and merges the hits with those of the memory.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::bare::find_in_logs;
use super::{Findings, Found, Question, What};
use crate::files;
use crate::session_text::{SessionTexts, TextLocation};
use crate::sources::LogFile;
use crate::store::{ListedSession, StoreError};

/// Searches the logs of the sessions in `findings.evicted` and adds the hits to the findings.
pub fn add_sources(
    findings: &mut Findings,
    texts: &SessionTexts<'_>,
    question: &Question<'_>,
) -> Result<(), StoreError> {
    let mut sessions: HashMap<PathBuf, ListedSession> = HashMap::new();
    let mut logs = Vec::new();
    for session in std::mem::take(&mut findings.evicted) {
        if let TextLocation::Source(source) = texts.locate(&session.session_uid)?
            && let Ok((_, metadata)) = files::open_regular(&source.path)
        {
            logs.push(LogFile {
                agent: source.agent,
                bytes: metadata.len(),
                modified: files::modified_at(&metadata),
                is_subagent: session.is_subagent,
                path: source.path.clone(),
            });
            sessions.insert(source.path, session);
        }
    }
    // The filters were already applied to the metadata in the memory, which is more than the logs contain.
    let question = Question {
        takes: &|_| true,
        behind: None,
        ..*question
    };
    let mut from_logs = find_in_logs(&logs, texts.masker, &question);
    for found in &mut from_logs.found {
        let own = found.path.as_ref().and_then(|path| sessions.get(path));
        if let Some(session) = own {
            found.session = session.clone();
        }
    }
    findings.is_partial |= from_logs.is_partial;
    findings.work.add(&from_logs.work);
    findings.unreadable.append(&mut from_logs.unreadable);
    findings.sources = logs.len();
    merge(&mut findings.found, from_logs.found);
    Ok(())
}

/// Returns how many of the newest evicted sessions still have their logs. At most `sessions_max` are checked.
pub fn count_sources(findings: &Findings, texts: &SessionTexts<'_>, sessions_max: usize) -> Result<usize, StoreError> {
    let mut count = 0;
    for session in findings.evicted.iter().take(sessions_max) {
        let location = texts.locate(&session.session_uid)?;
        count += usize::from(matches!(location, TextLocation::Source(_)));
    }
    Ok(count)
}

/// Adds hits from logs to those of the memory, best first. A turn that the memory found in a copy of the session counts
/// as a copy, and a digest is not shown together with turns of its own session.
fn merge(found: &mut Vec<Found>, from_logs: Vec<Found>) {
    let with_turns: HashSet<String> = from_logs.iter().map(|one| one.session.session_uid.clone()).collect();
    let is_replaced =
        |one: &Found| matches!(one.what, What::Digest | What::Title) && with_turns.contains(&one.session.session_uid);
    found.retain(|one| !is_replaced(one));
    for one in from_logs {
        let is_same = |known: &&mut Found| {
            one.ts.is_some()
                && known.ts == one.ts
                && known.session.session_uid != one.session.session_uid
                && known.snippet.text == one.snippet.text
        };
        match found.iter_mut().find(is_same) {
            Some(known) => {
                if !known.copied_in.contains(&one.session.session_uid) {
                    known.copied_in.push(one.session.session_uid);
                    known.copies += 1;
                }
            }
            None => found.push(one),
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.score));
}
