//! Finds the edits of a file in all stored sessions, and the commands that name it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use transcript::{Agent, Change, Edited, Kind, LineBody, PartKind, SessionEvent, changes, edited, runs_commands};

use super::paths::TargetFile;
use crate::store::{ListedSession, SessionStatus, Store, StoreError};
use crate::{kept, packs};

/// Maximum number of edits of one file that are replayed. The newest ones are kept.
const EDITS_MAX: usize = 20_000;

/// An edit of the file, or a command that names it.
#[derive(Debug, Clone)]
pub(super) struct FoundEdit {
    /// Index into the listed sessions.
    pub(super) session: usize,
    pub(super) turn: Option<u32>,
    pub(super) seq: u64,
    /// The line of the log.
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
    pub(super) tool: String,
    pub(super) summary: String,
    /// `None` for a command that only names the file, and for an edit whose text the log does not contain.
    pub(super) change: Option<Change>,
    pub(super) before: Option<String>,
    pub(super) is_command: bool,
}

/// Returns all edits of the file, oldest first.
pub(super) fn find_edits(
    store: &Store,
    sessions: &[ListedSession],
    target: &mut TargetFile,
) -> Result<Vec<FoundEdit>, StoreError> {
    let mut found = Vec::new();
    let names = target.file_names();
    for (at, session) in sessions.iter().enumerate() {
        if session.status != SessionStatus::Kept {
            continue;
        }
        if store.reads().may_name_file(&session.session_uid, &names)? {
            find_session_edits(store, at, session, target, &mut found)?;
        }
    }
    found.sort_by_key(|edit| (edit.at, edit.session, edit.seq));
    drop_copies(&mut found);
    let first = found.len().saturating_sub(EDITS_MAX);
    found.drain(..first);
    Ok(found)
}

/// Adds the former paths of the file if one of the edits moved it here. Returns `true` if a new path was added.
pub(super) fn note_moves(found: &[FoundEdit], sessions: &[ListedSession], target: &mut TargetFile) -> bool {
    let before = target.file_names().len() + target.names.len();
    for edit in found {
        let directory = sessions[edit.session].cwd.as_deref();
        if let Some(change) = &edit.change
            && let Some(to) = &change.moved_to
            && target.matches_path(to, directory)
        {
            target.add_path(&change.path, directory);
        }
    }
    target.file_names().len() + target.names.len() > before
}

fn find_session_edits(
    store: &Store,
    at: usize,
    session: &ListedSession,
    target: &mut TargetFile,
    found: &mut Vec<FoundEdit>,
) -> Result<(), StoreError> {
    let uid = session.session_uid.as_str();
    let directory = session.cwd.as_deref();
    let inherited = store.reads().view(uid)?.and_then(|view| view.inherited);
    let events = store.reads().events(uid)?;
    let is_own = |event: &&SessionEvent| {
        let is_copied = event.part == PartKind::Log && inherited.is_some_and(|copied| copied.covers(event.line));
        event.kinds.has(Kind::ToolCall) && event.success != Some(false) && !is_copied
    };
    let mut edits = Vec::new();
    for event in events.iter().filter(is_own) {
        if event.files.iter().any(|file| target.matches_path(file, directory)) {
            edits.push(event);
        } else if event.files.is_empty() && runs_commands(event.tool.as_deref().unwrap_or_default()) {
            let writes = written_paths(&event.summary);
            if writes.iter().any(|word| target.matches_path(word, directory)) {
                found.push(base_edit(at, event));
            }
        }
    }
    let results = edit_results(&events, &edits);
    let lines = read_event_lines(store, uid, edits.iter().copied().chain(results.values().copied()))?;
    let agent = kept::agent_of(uid)?;
    for event in edits {
        let result = results
            .get(&event.seq)
            .and_then(|result| lines.get(&(result.part, result.line)));
        let reported = result.and_then(|line| edited(agent, line));
        let call = lines.get(&(event.part, event.line));
        push_edit(agent, at, event, call, reported, (target, directory), found);
    }
    Ok(())
}

fn base_edit(session: usize, event: &SessionEvent) -> FoundEdit {
    FoundEdit {
        session,
        turn: event.turn,
        seq: event.seq,
        line: event.line,
        at: event.ts,
        tool: event.tool.as_deref().unwrap_or_default().to_owned(),
        summary: event.summary.to_string(),
        change: None,
        before: None,
        is_command: !event.kinds.has(Kind::Edit),
    }
}

/// Adds what an edit changed in the file. For Claude, the tool's result is preferred to its input because it is what
/// was really applied.
fn push_edit(
    agent: Agent,
    at: usize,
    event: &SessionEvent,
    call: Option<&Vec<u8>>,
    reported: Option<Edited>,
    (target, directory): (&mut TargetFile, Option<&str>),
    found: &mut Vec<FoundEdit>,
) {
    let mut is_this_file = |change: &Change| {
        let is_moved = change
            .moved_to
            .as_ref()
            .is_some_and(|to| target.matches_path(to, directory));
        is_moved || target.matches_path(&change.path, directory)
    };
    // Grok reports an edit of several places as an edit of one, so the report only counts if its path matches.
    let reported = reported.filter(|reported| is_this_file(&reported.change));
    let requested = call.map(|line| changes(agent, line, event.block)).unwrap_or_default();
    let requested: Vec<Change> = requested.into_iter().filter(|change| is_this_file(change)).collect();
    match reported {
        Some(reported) if agent == Agent::Claude || requested.is_empty() => found.push(FoundEdit {
            change: Some(reported.change),
            before: reported.before,
            ..base_edit(at, event)
        }),
        _ if requested.is_empty() => found.push(base_edit(at, event)),
        _ => found.extend(requested.into_iter().map(|change| FoundEdit {
            change: Some(change),
            ..base_edit(at, event)
        })),
    }
}

/// Returns the result of each edit, by the sequence number of the edit.
fn edit_results<'e>(events: &'e [SessionEvent], edits: &[&SessionEvent]) -> HashMap<u64, &'e SessionEvent> {
    let wanted: BTreeSet<u64> = edits.iter().map(|edit| edit.seq).collect();
    let results = events.iter().filter(|event| event.kinds.has(Kind::ToolResult));
    let by_call = results.filter_map(|result| Some((result.parent_seq?, result)));
    by_call.filter(|(call, _)| wanted.contains(call)).collect()
}

/// Reads the stored lines of some events.
fn read_event_lines<'e>(
    store: &Store,
    uid: &str,
    events: impl Iterator<Item = &'e SessionEvent>,
) -> Result<HashMap<(PartKind, u64), Vec<u8>>, StoreError> {
    let mut wanted: BTreeMap<PartKind, BTreeSet<u64>> = BTreeMap::new();
    for event in events {
        wanted.entry(event.part).or_default().insert(event.line);
    }
    let mut lines = HashMap::new();
    for (part, numbers) in wanted {
        let sorted: Vec<u64> = numbers.iter().copied().collect();
        for run in kept::merge_line_ranges(&sorted) {
            kept::each_line_of(store, uid, part.as_str(), &run, |number, line| {
                if let (true, LineBody::Bytes(line)) = (numbers.contains(&number), packs::parse_body(line)) {
                    lines.insert((part, number), line.to_vec());
                }
            })?;
        }
    }
    Ok(lines)
}

/// Drops copies of an edit, because a resumed session begins with a copy of its predecessor's log. A copy that belongs
/// to a turn replaces one that does not.
fn drop_copies(found: &mut Vec<FoundEdit>) {
    let mut kept: Vec<FoundEdit> = Vec::with_capacity(found.len());
    for edit in found.drain(..) {
        let is_same = |known: &&mut FoundEdit| {
            known.session != edit.session
                && known.at.is_some()
                && known.at == edit.at
                && known.change == edit.change
                && known.summary == edit.summary
        };
        match kept.iter_mut().rev().take(64).find(is_same) {
            Some(known) if known.turn.is_none() && edit.turn.is_some() => *known = edit,
            Some(_) => {}
            None => kept.push(edit),
        }
    }
    *found = kept;
}

/// Returns the paths that a shell command may write, judged by its program and redirections.
fn written_paths(command: &str) -> Vec<&str> {
    let is_end = |c: char| c.is_whitespace() || "'\"`()<>|;&=,".contains(c);
    let mut written = Vec::new();
    for piece in command.split(['\n', ';', '|', '&']) {
        let mut words = piece.split(is_end).filter(|word| !word.is_empty());
        let program = words.next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let in_place = || {
            piece
                .split_whitespace()
                .any(|word| word.starts_with("-i") || word.starts_with("-pi"))
        };
        let writes = match program {
            "sed" | "perl" | "ruby" | "gawk" => in_place(),
            "tee" | "mv" | "cp" | "rm" | "touch" | "truncate" | "patch" | "dd" | "install" | "ln" | "prettier"
            | "rustfmt" | "gofmt" | "black" | "ruff" | "eslint" | "clang-format" => true,
            "git" => ["checkout", "restore", "mv", "rm", "apply", "stash"]
                .iter()
                .any(|verb| piece.split_whitespace().any(|word| word == *verb)),
            "python" | "python3" | "node" | "ruby3" => true,
            _ => false,
        };
        if writes {
            written.extend(words);
        }
        // The word after `>` is written by any program.
        for after_redirect in piece.split('>').skip(1) {
            written.extend(after_redirect.split(is_end).find(|word| !word.is_empty()));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_write_a_file_are_distinguished_from_those_that_read_it() {
        for (command, path) in [
            ("sed -i 's/a/b/' src/a.rs", "src/a.rs"),
            ("cd app && cat > src/a.rs <<'EOF'", "src/a.rs"),
            ("echo x >>src/a.rs", "src/a.rs"),
            ("git mv b.rs src/a.rs", "src/a.rs"),
            ("cargo run | tee src/a.rs", "src/a.rs"),
        ] {
            assert!(written_paths(command).contains(&path), "{command}");
        }
        for command in [
            "cat src/a.rs",
            "sed -n 1,9p src/a.rs",
            "git diff src/a.rs",
            "grep -n x src/a.rs | head",
        ] {
            assert!(!written_paths(command).contains(&"src/a.rs"), "{command}");
        }
    }
}
