//! Finds the session that made a commit.
//!
//! Git prints `[main abc1234] subject` when it makes a commit, and a command that asks git for the newest commit right
//! afterwards prints the same id. Every other occurrence of the id is only a mention.
//!
//! Sessions are searched newest first until the one that made the commit is found. The first pass reads only the frames
//! whose filters may contain the id. If it finds no maker, the second pass reads the other frames, because an agent may
//! record a commit outside of the texts that are indexed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Serialize;
use transcript::{Kind, PartKind, SessionEvent, bodies};

use crate::find::Asked;
use crate::kept;
use crate::packs;
use crate::search::Query;
use crate::store::{FrameRow, ListedSession, SessionStatus, Store, StoreError, TAIL_NO};

/// Minimum length of an id that git abbreviates.
pub const SHA_CHARS_MIN: usize = 7;
pub const SHA_CHARS_MAX: usize = 40;
/// Number of frames searched before their hits are classified.
const BATCH_FRAMES: usize = 64;
/// Maximum number of mentions that are returned.
const MENTIONS_MAX: usize = 20;

/// An occurrence of a commit id in a session.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CommitOccurrence {
    pub session_uid: String,
    /// `None` before the first prompt.
    pub turn: Option<u32>,
    pub seq: u64,
    pub line: u64,
    /// The id as written there.
    pub sha: String,
    /// One-line summary of the tool call that made the commit, or of the text that mentions it.
    pub summary: String,
}

/// The occurrences of a commit in the memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitSources {
    pub maker: Option<CommitOccurrence>,
    /// Newest session first. Incomplete if `made` is set, because the search stops there.
    pub mentions: Vec<CommitOccurrence>,
}

/// Returns `true` if a word can be the id of a commit.
pub fn is_sha(word: &str) -> bool {
    (SHA_CHARS_MIN..=SHA_CHARS_MAX).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Finds the session that made a commit among the sessions that `takes` accepts.
pub fn find_commit(
    store: &Store,
    sha: &str,
    threads: usize,
    takes: &dyn Fn(&ListedSession) -> bool,
) -> Result<CommitSources, StoreError> {
    let sha = sha.to_ascii_lowercase();
    let mut found = CommitSources::default();
    let listed = store.reads().listed()?;
    let kept = |session: &ListedSession| session.status == SessionStatus::Kept && takes(session);
    let listed: Vec<ListedSession> = listed.into_iter().filter(kept).collect();
    let Ok(query) = Query::exact(&sha[..SHA_CHARS_MIN]) else {
        return Ok(found);
    };
    let asked = Asked::of(store, &listed, 0..listed.len(), &query)?;
    for pass in [SearchPass::MayHold, SearchPass::Others] {
        let mut batch = Vec::new();
        let mut sessions = listed.iter().enumerate().peekable();
        while let Some((at, session)) = sessions.next() {
            for part in [PartKind::Log, PartKind::ChatHistory] {
                collect_runs(store, session, part, &mut batch, &|number| {
                    asked.may_hold(at, part.as_str(), number) == (pass == SearchPass::MayHold)
                })?;
            }
            if batch.len() >= BATCH_FRAMES || sessions.peek().is_none() {
                classify_hits(store, &sha, &search_batch(store, &sha, &batch, threads)?, &mut found)?;
                batch.clear();
            }
            if found.maker.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Which frames a pass over the sessions reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchPass {
    /// Those whose filters may contain the id.
    MayHold,
    Others,
}

/// Adds the frames and the tail of a part whose frame numbers pass `wants`.
fn collect_runs<'u>(
    store: &Store,
    session: &'u ListedSession,
    part: PartKind,
    batch: &mut Vec<LineRun<'u>>,
    wants: &dyn Fn(i64) -> bool,
) -> Result<(), StoreError> {
    let uid = session.session_uid.as_str();
    let frames = store.reads().frames(uid, part.as_str())?;
    let frames = frames.into_iter().filter(|frame| wants(frame.frame_no.cast_signed()));
    batch.extend(frames.map(|frame| LineRun::Frame(uid, part, frame)));
    if wants(TAIL_NO)
        && let Some(tail) = store.reads().tail(uid, part.as_str())?
    {
        batch.push(LineRun::Tail(uid, part, tail.first_line, tail.lines, tail.bytes));
    }
    Ok(())
}

/// A stored run of lines: a frame, or the tail of a part.
enum LineRun<'u> {
    Frame(&'u str, PartKind, FrameRow),
    Tail(&'u str, PartKind, u64, u64, Vec<u8>),
}

/// A line that contains the id: index of its run in the batch, session uid, part, line number and the line.
type CommitHit<'u> = (usize, &'u str, PartKind, u64, Vec<u8>);

/// Returns the lines of a batch that contain the id, in the order of the batch.
fn search_batch<'u>(
    store: &Store,
    sha: &str,
    batch: &[LineRun<'u>],
    threads: usize,
) -> Result<Vec<CommitHit<'u>>, StoreError> {
    let directory = store.packs();
    let finder = Finder::new(&sha.as_bytes()[..SHA_CHARS_MIN]);
    let next = AtomicUsize::new(0);
    let hits = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    let search_run = |at: usize| -> Result<(), StoreError> {
        let scan_bytes = |uid: &'u str, part: PartKind, first: u64, lines: u64, bytes: &[u8]| {
            if finder.find(bytes).is_none() {
                return;
            }
            kept::number_lines(bytes, first, lines, &(0..=u64::MAX), &mut |number, line| {
                // The id may be an escaped part of the JSON. Whether it really occurs in the text is decided when hits
                // are classified.
                if finder.find(line).is_some() {
                    let hit = (at, uid, part, number, line.to_vec());
                    hits.lock().unwrap_or_else(PoisonError::into_inner).push(hit);
                }
            });
        };
        match &batch[at] {
            LineRun::Tail(uid, part, first, lines, bytes) => scan_bytes(uid, *part, *first, *lines, bytes),
            LineRun::Frame(uid, part, frame) => {
                let bytes = packs::read_frame(&directory, frame).map_err(|error| StoreError::DamagedFrame {
                    session_uid: (*uid).to_owned(),
                    part: part.as_str().to_owned(),
                    frame_no: frame.frame_no,
                    reason: error.to_string(),
                })?;
                scan_bytes(uid, *part, frame.first_line, frame.lines, &bytes);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, batch.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= batch.len() {
                        return;
                    }
                    if let Err(error) = search_run(at) {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut hits = hits.into_inner().unwrap_or_else(PoisonError::into_inner);
    hits.sort_by_key(|(at, _, _, number, _)| (*at, *number));
    Ok(hits)
}

/// Decides for each hit whether it made the commit or only mentions it.
fn classify_hits(
    store: &Store,
    sha: &str,
    hits: &[CommitHit<'_>],
    found: &mut CommitSources,
) -> Result<(), StoreError> {
    let mut by_session: Vec<(&str, Vec<&CommitHit<'_>>)> = Vec::new();
    for hit in hits {
        match by_session.last_mut() {
            Some((uid, hits)) if *uid == hit.1 => hits.push(hit),
            _ => by_session.push((hit.1, vec![hit])),
        }
    }
    for (uid, hits) in by_session {
        let events = store.reads().events(uid)?;
        let by_seq: BTreeMap<u64, &SessionEvent> = events.iter().map(|event| (event.seq, event)).collect();
        for (_, _, part, number, line) in hits {
            let bodies = bodies(kept::agent_of(uid)?, line);
            for event in events
                .iter()
                .filter(|event| event.line == *number && event.part == *part)
            {
                let Some(body) = bodies.get(event.block as usize) else {
                    continue;
                };
                let raw = String::from_utf8_lossy(line);
                let Some(shown_sha) = shas_in(&body.text, sha).next().or_else(|| recorded_sha(&raw, sha)) else {
                    continue;
                };
                let place = |of: &SessionEvent| CommitOccurrence {
                    session_uid: uid.to_owned(),
                    turn: event.turn,
                    seq: of.seq,
                    line: of.line,
                    sha: shown_sha.to_owned(),
                    summary: of.summary.to_string(),
                };
                match find_commit_call(event, &body.text, &raw, sha, &by_seq, store, uid)? {
                    Some(call) => {
                        found.maker = Some(place(call));
                        return Ok(());
                    }
                    None if found.mentions.len() < MENTIONS_MAX => found.mentions.push(place(event)),
                    None => {}
                }
            }
        }
    }
    Ok(())
}

/// Returns the tool call that made the commit, if `event` is its result.
fn find_commit_call<'e>(
    event: &SessionEvent,
    text: &str,
    raw: &str,
    sha: &str,
    events: &BTreeMap<u64, &'e SessionEvent>,
    store: &Store,
    uid: &str,
) -> Result<Option<&'e SessionEvent>, StoreError> {
    // Copied history has no turn. It is the work of another session.
    if !event.kinds.has(Kind::ToolResult) || event.turn.is_none() {
        return Ok(None);
    }
    let is_call = |event: &&&SessionEvent| event.kinds.has(Kind::ToolCall);
    let own = event.parent_seq.and_then(|seq| events.get(&seq)).filter(is_call);
    let before = || events.range(..event.seq).rev().map(|(_, event)| event).find(is_call);
    let Some(call) = own.or_else(before).copied() else {
        return Ok(None);
    };
    let commits = |call: &SessionEvent| -> Result<bool, StoreError> {
        let texts = kept::read_texts(store, uid, std::slice::from_ref(call))?;
        Ok(texts.get(&call.seq).is_some_and(|text| makes_commits(text)) || makes_commits(&call.summary))
    };
    if recorded_sha(raw, sha).is_some() {
        return Ok(Some(call));
    }
    if !commits(call)? {
        // The call may only ask git for the id of the commit that the previous call made.
        let asks = call.summary.contains("git ");
        let earlier = events.range(..call.seq).rev().map(|(_, event)| *event);
        let earlier = earlier.filter(|event| event.turn == call.turn && event.kinds.has(Kind::ToolCall));
        let last = earlier.into_iter().next();
        return match last {
            Some(last) if asks && is_newest(text, sha) && commits(last)? => Ok(Some(last)),
            _ => Ok(None),
        };
    }
    Ok((is_announced(text, sha) || is_newest(text, sha)).then_some(call))
}

/// Returns `true` if the text of a tool call contains a git command that makes commits.
fn makes_commits(words: &str) -> bool {
    let mut rest = words;
    while let Some(at) = rest.find("git ") {
        rest = &rest[at + 4..];
        let end = rest.find([';', '|', '&', '\n']).unwrap_or(rest.len());
        let verbs = ["commit", "merge", "cherry-pick", "revert", "rebase", "am", "pull"];
        let is_verb = |word: &str| verbs.contains(&word.trim_matches(['"', '\'', '\\', '}', ']', ',']));
        if rest[..end].split_whitespace().any(is_verb) {
            return true;
        }
    }
    false
}

/// Returns `true` if git reports that it made the commit: `[main abc1234] subject`.
fn is_announced(text: &str, sha: &str) -> bool {
    let is = |line: &str| {
        let inside = line
            .trim_start()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'));
        let last = inside.and_then(|(inside, _)| inside.split_whitespace().next_back());
        last.is_some_and(|word| is_sha(word) && is_same_commit(&word.to_ascii_lowercase(), sha))
    };
    text.lines().any(is)
}

/// Returns `true` if the commit is the first one that a text names, as in the output of `git log` and `git rev-parse
/// HEAD`.
fn is_newest(text: &str, sha: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_id = |word: &&str| is_sha(word) && word.bytes().any(|byte| byte.is_ascii_digit());
    words
        .find(is_id)
        .is_some_and(|word| is_same_commit(&word.to_ascii_lowercase(), sha))
}

/// Returns the id that the agent itself recorded for a commit made by a tool.
fn recorded_sha<'t>(raw: &'t str, sha: &str) -> Option<&'t str> {
    let (_, recorded) = raw.split_once("\"gitOperation\":")?;
    let (_, recorded) = recorded.split_once("\"sha\":\"")?;
    let (recorded, _) = recorded.split_once('"')?;
    (is_sha(recorded) && is_same_commit(&recorded.to_ascii_lowercase(), sha)).then_some(recorded)
}

/// Returns the ids in a text that may abbreviate the same commit.
fn shas_in<'t>(text: &'t str, sha: &str) -> impl Iterator<Item = &'t str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(move |word| is_sha(word) && is_same_commit(&word.to_ascii_lowercase(), sha))
}

/// Returns `true` if one id is an abbreviation of the other.
fn is_same_commit(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_make_commits_are_distinguished_from_those_that_read() {
        for verbs in [
            "git commit -m 'x'",
            "cd /w && git -C app commit --amend",
            "{\"command\":\"git add -A && git commit -m x\"}",
            "git merge side",
        ] {
            assert!(makes_commits(verbs), "{verbs}");
        }
        for looks in [
            "git log --oneline",
            "git show abc1234",
            "echo commit",
            "git diff; echo commit",
        ] {
            assert!(!makes_commits(looks), "{looks}");
        }
    }

    #[test]
    fn git_announces_a_commit_at_the_start_of_a_line() {
        assert!(is_announced("[main abc1234] words", "abc1234def"));
        assert!(is_announced(
            "ok\n[main (root-commit) abc1234] words\n 1 file",
            "abc1234"
        ));
        assert!(!is_announced("see abc1234]", "abc1234"));
        assert!(!is_announced("[main abc1235] words", "abc1234"));
    }

    #[test]
    fn only_the_first_id_of_a_text_is_the_newest() {
        assert!(is_newest("abc1234 words\nbbb1234 older", "abc1234"));
        assert!(!is_newest("abc1234 words\nbbb1234 older", "bbb1234"));
    }
}
