//! Strips a session to what may leave the machine if only digests are pushed: numbers, and the names of its project,
//! agent, models and tools. No prompt, answer, command or file path is left.
//!
//! Every field of a digest is named here, so that the compiler forces a decision about each new field.

use std::collections::BTreeMap;

use transcript::{Lineage, Session};

use crate::digest::{Digest, FileEdits};
use crate::outcome::Evidence;
use crate::store::{SessionRows, Store, StoreError};

/// Returns a session without its texts.
pub(super) fn strip_session(store: &Store, load: SessionRows, evicted_for: &str) -> Result<SessionRows, StoreError> {
    let reads = store.reads();
    let view = reads.view(&load.session_uid)?.map(strip_view);
    let digest = reads.digest_of(&load.session_uid)?.map(|row| strip_digest(row.digest));
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

/// The label of a link is removed because it comes from a prompt.
fn strip_view(session: Session) -> Session {
    let lineage = session.lineage.into_iter().map(|link| Lineage { label: None, ..link });
    Session {
        title: None,
        task_ref: None,
        source_path: None,
        lineage: lineage.collect(),
        ..session
    }
}

fn strip_digest(mut digest: Digest) -> Digest {
    let Digest {
        title,
        first_prompt,
        task_ref,
        outcome,
        told,
        files,
        commands,
        tests,
        commits,
        errors,
        signals,
        snippets,
        // Numbers and names, which are pushed.
        session_uid: _,
        flavor: _,
        repo: _,
        remote: _,
        cwd: _,
        git_branch: _,
        model: _,
        agent_version: _,
        is_subagent: _,
        started_at: _,
        ended_at: _,
        time: _,
        turns: _,
        rewound_turns: _,
        events: _,
        tool_calls: _,
        retries: _,
        interventions: _,
        tokens: _,
        tools: _,
        commits_total: _,
        left_out: _,
    } = &mut digest;
    (*title, *first_prompt, *task_ref) = (None, None, None);
    outcome.evidence.iter_mut().for_each(clear_text);
    told.iter_mut()
        .for_each(|told| (told.reason, told.error) = (None, None));
    *files = count_by_extension(files);
    commands.clear();
    tests.last.iter_mut().for_each(|last| last.command.clear());
    commits.iter_mut().for_each(|commit| commit.subject = None);
    errors.kinds.clear();
    for signal in signals {
        signal.text.clear();
        signal.evidence.iter_mut().for_each(clear_text);
    }
    snippets.clear();
    digest
}

/// Keeps the position of the evidence but removes its text.
fn clear_text(evidence: &mut Evidence) {
    evidence.text.clear();
}

/// Returns the number of edits per file extension, the most edited first.
fn count_by_extension(files: &[FileEdits]) -> Vec<FileEdits> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for file in files {
        *kinds.entry(extension_pattern(&file.path)).or_default() += file.edits;
    }
    let mut kinds: Vec<FileEdits> = kinds
        .into_iter()
        .map(|(path, edits)| FileEdits { path, edits })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.edits));
    kinds
}

/// Returns the pattern that replaces a file name, such as `*.rs`.
fn extension_pattern(path: &str) -> String {
    const EXTENSION_BYTES_MAX: usize = 5;
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_plain = |extension: &&str| {
        extension.len() <= EXTENSION_BYTES_MAX && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    extension
        .filter(is_plain)
        .map_or_else(|| "*".to_owned(), |extension| format!("*.{extension}"))
}
