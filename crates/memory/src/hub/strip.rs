//! What of a session leaves the machine where only digests do: numbers, and the names of its project, agent, models and tools. Not
//! a word that somebody said or wrote in it, no command, no path of a file.
//!
//! Every field of a digest is named here, so that a new one cannot leave by being overlooked.

use std::collections::BTreeMap;

use transcript::{Lineage, Session};

use crate::digest::{Digest, Errors, FileEdits, LastTest, Snippet, TestRuns, Told};
use crate::outcome::{Evidence, Judgement};
use crate::signals::Signal;
use crate::store::{SessionLoad, Store, StoreError};

/// A session without what somebody said or wrote in it.
pub(super) fn stripped(store: &Store, load: SessionLoad, evicted_for: &str) -> Result<SessionLoad, StoreError> {
    let reads = store.reads();
    let view = reads.view(&load.session_uid)?.map(view);
    let digest = reads.digest_of(&load.session_uid)?.map(|row| digest(row.digest));
    let unreadable = |_| StoreError::DamagedRow {
        session_uid: load.session_uid.clone(),
        table: "digests",
    };
    let view = view.map(|view| serde_json::to_string(&view)).transpose();
    let view = view.map_err(unreadable)?;
    let digest = digest.map(|digest| serde_json::to_string(&digest)).transpose();
    let digest = digest.map_err(unreadable)?;
    Ok(load.without_text(view.as_deref(), digest.as_deref(), evicted_for))
}

/// What a child is made for is told by a prompt.
fn view(session: Session) -> Session {
    let lineage = session.lineage.into_iter().map(|link| Lineage { label: None, ..link });
    Session {
        title: None,
        task_ref: None,
        source_path: None,
        lineage: lineage.collect(),
        ..session
    }
}

fn digest(digest: Digest) -> Digest {
    let Digest {
        session_uid,
        flavor,
        title: _,
        first_prompt: _,
        repo,
        remote,
        cwd,
        git_branch,
        model,
        agent_version,
        task_ref: _,
        is_subagent,
        started_at,
        ended_at,
        time,
        outcome,
        told,
        turns,
        rewound_turns,
        events,
        tool_calls,
        retries,
        interventions,
        tokens,
        tools,
        files,
        commands: _,
        tests,
        commits,
        errors,
        signals,
        snippets: _,
        left_out,
    } = digest;
    Digest {
        title: None,
        first_prompt: None,
        task_ref: None,
        outcome: Judgement {
            evidence: outcome.evidence.into_iter().map(evidence).collect(),
            ..outcome
        },
        told: told.into_iter().map(how).collect(),
        files: by_ending(&files),
        commands: Vec::new(),
        tests: TestRuns {
            last: tests.last.map(|last| LastTest {
                command: String::new(),
                ..last
            }),
            ..tests
        },
        commits: commits.into_iter().map(snippet).collect(),
        errors: Errors {
            kinds: Vec::new(),
            ..errors
        },
        signals: signals.into_iter().map(signal).collect(),
        snippets: Vec::new(),
        session_uid,
        flavor,
        repo,
        remote,
        cwd,
        git_branch,
        model,
        agent_version,
        is_subagent,
        started_at,
        ended_at,
        time,
        turns,
        rewound_turns,
        events,
        tool_calls,
        retries,
        interventions,
        tokens,
        tools,
        left_out,
    }
}

/// Where it stands, without what stands there.
fn evidence(evidence: Evidence) -> Evidence {
    Evidence {
        text: String::new(),
        ..evidence
    }
}

fn snippet(snippet: Snippet) -> Snippet {
    Snippet {
        text: String::new(),
        ..snippet
    }
}

fn signal(signal: Signal) -> Signal {
    Signal {
        text: String::new(),
        evidence: signal.evidence.into_iter().map(evidence).collect(),
        ..signal
    }
}

/// That it ended, and with which number.
fn how(told: Told) -> Told {
    Told {
        reason: None,
        error: None,
        ..told
    }
}

/// How often files of a kind were edited, those edited most first.
fn by_ending(files: &[FileEdits]) -> Vec<FileEdits> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for file in files {
        *kinds.entry(kind(&file.path)).or_default() += file.edits;
    }
    let mut kinds: Vec<FileEdits> = kinds
        .into_iter()
        .map(|(path, edits)| FileEdits { path, edits })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.edits));
    kinds
}

/// What kind of file it is, by its ending.
fn kind(path: &str) -> String {
    const ENDING_BYTES_MAX: usize = 5;
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_plain =
        |ending: &&str| ending.len() <= ENDING_BYTES_MAX && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    ending
        .filter(is_plain)
        .map_or_else(|| "*".to_owned(), |ending| format!("*.{ending}"))
}
