//! The edits of a file, gathered from all sessions that are kept, and the commands that name it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use transcript::{Agent, Change, Edited, Kind, LineBody, PartKind, SessionEvent, changes, edited, runs_commands};

use super::paths::Target;
use crate::store::{Listed, Status, Store, StoreError};
use crate::{kept, packs};

/// So many edits of one file are followed, the newest ones.
const EDITS_MAX: usize = 20_000;

/// An edit of the file, or a command that names it.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Which of the sessions.
    pub(super) session: usize,
    pub(super) turn: Option<u32>,
    pub(super) seq: u64,
    /// Of the log.
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
    pub(super) tool: String,
    pub(super) summary: String,
    /// None of a command that only names the file, and of an edit whose text is not told.
    pub(super) change: Option<Change>,
    pub(super) before: Option<String>,
    pub(super) is_command: bool,
}

/// All of them, oldest first.
pub(super) fn gather(store: &Store, sessions: &[Listed], target: &mut Target) -> Result<Vec<Found>, StoreError> {
    let mut found = Vec::new();
    let names = target.last_names();
    for (at, session) in sessions.iter().enumerate() {
        if session.status != Status::Kept {
            continue;
        }
        if store.reads().may_name_file(&session.session_uid, &names)? {
            of_session(store, at, session, target, &mut found)?;
        }
    }
    found.sort_by_key(|one| (one.at, one.session, one.seq));
    drop_copies(&mut found);
    let first = found.len().saturating_sub(EDITS_MAX);
    found.drain(..first);
    Ok(found)
}

/// Whether the file came from another place by one of the edits; then it had that name, too.
pub(super) fn note_moves(found: &[Found], sessions: &[Listed], target: &mut Target) -> bool {
    let before = target.last_names().len() + target.names.len();
    for edit in found {
        let directory = sessions[edit.session].cwd.as_deref();
        if let Some(change) = &edit.change
            && let Some(to) = &change.moved_to
            && target.is_at(to, directory)
        {
            target.was_at(&change.path, directory);
        }
    }
    target.last_names().len() + target.names.len() > before
}

fn of_session(
    store: &Store,
    at: usize,
    session: &Listed,
    target: &mut Target,
    found: &mut Vec<Found>,
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
        if event.files.iter().any(|file| target.is_at(file, directory)) {
            edits.push(event);
        } else if event.files.is_empty() && runs_commands(event.tool.as_deref().unwrap_or_default()) {
            let writes = written_by(&event.summary);
            if writes.iter().any(|word| target.is_at(word, directory)) {
                found.push(base(at, event));
            }
        }
    }
    let results = results_of(&events, &edits);
    let lines = lines_of(store, uid, edits.iter().copied().chain(results.values().copied()))?;
    let agent = kept::agent_of(uid)?;
    for event in edits {
        let result = results
            .get(&event.seq)
            .and_then(|result| lines.get(&(result.part, result.line)));
        let told = result.and_then(|line| edited(agent, line));
        let call = lines.get(&(event.part, event.line));
        take_edit(agent, at, event, call, told, (target, directory), found);
    }
    Ok(())
}

fn base(session: usize, event: &SessionEvent) -> Found {
    Found {
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

/// What an edit changed in the file. What the tool says afterwards is better than what it was asked for.
fn take_edit(
    agent: Agent,
    at: usize,
    event: &SessionEvent,
    call: Option<&Vec<u8>>,
    told: Option<Edited>,
    (target, directory): (&mut Target, Option<&str>),
    found: &mut Vec<Found>,
) {
    let mut is_here = |change: &Change| {
        let is_moved = change.moved_to.as_ref().is_some_and(|to| target.is_at(to, directory));
        is_moved || target.is_at(&change.path, directory)
    };
    // Grok tells an edit of all places as one of one place.
    let told = told.filter(|told| is_here(&told.change));
    let asked = call.map(|line| changes(agent, line, event.block)).unwrap_or_default();
    let asked: Vec<Change> = asked.into_iter().filter(|change| is_here(change)).collect();
    match told {
        Some(told) if agent == Agent::Claude || asked.is_empty() => found.push(Found {
            change: Some(told.change),
            before: told.before,
            ..base(at, event)
        }),
        _ if asked.is_empty() => found.push(base(at, event)),
        _ => found.extend(asked.into_iter().map(|change| Found {
            change: Some(change),
            ..base(at, event)
        })),
    }
}

/// The result of each edit.
fn results_of<'e>(events: &'e [SessionEvent], edits: &[&SessionEvent]) -> HashMap<u64, &'e SessionEvent> {
    let wanted: BTreeSet<u64> = edits.iter().map(|edit| edit.seq).collect();
    let results = events.iter().filter(|event| event.kinds.has(Kind::ToolResult));
    let of_edits = results.filter_map(|result| Some((result.parent_seq?, result)));
    of_edits.filter(|(call, _)| wanted.contains(call)).collect()
}

/// The lines of some events, as they were kept.
fn lines_of<'e>(
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
        for run in kept::runs(&sorted) {
            kept::each_line_of(store, uid, part.as_str(), &run, |number, line| {
                if let (true, LineBody::Bytes(line)) = (numbers.contains(&number), packs::body(line)) {
                    lines.insert((part, number), line.to_vec());
                }
            })?;
        }
    }
    Ok(lines)
}

/// The same edit in several logs is one: a resumed session begins with a copy. Those that belong to a turn count.
fn drop_copies(found: &mut Vec<Found>) {
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for one in found.drain(..) {
        let is_same = |known: &&mut Found| {
            known.session != one.session
                && known.at.is_some()
                && known.at == one.at
                && known.change == one.change
                && known.summary == one.summary
        };
        match kept.iter_mut().rev().take(64).find(is_same) {
            Some(known) if known.turn.is_none() && one.turn.is_some() => *known = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    *found = kept;
}

/// The paths that a command of a shell writes, as far as its beginning tells.
fn written_by(command: &str) -> Vec<&str> {
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
        // What stands behind `>` is written, whatever the program.
        for behind in piece.split('>').skip(1) {
            written.extend(behind.split(is_end).find(|word| !word.is_empty()));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_write_a_file_are_told_from_those_that_read_it() {
        for (command, path) in [
            ("sed -i 's/a/b/' src/a.rs", "src/a.rs"),
            ("cd app && cat > src/a.rs <<'EOF'", "src/a.rs"),
            ("echo x >>src/a.rs", "src/a.rs"),
            ("git mv b.rs src/a.rs", "src/a.rs"),
            ("cargo run | tee src/a.rs", "src/a.rs"),
        ] {
            assert!(written_by(command).contains(&path), "{command}");
        }
        for command in [
            "cat src/a.rs",
            "sed -n 1,9p src/a.rs",
            "git diff src/a.rs",
            "grep -n x src/a.rs | head",
        ] {
            assert!(!written_by(command).contains(&"src/a.rs"), "{command}");
        }
    }
}
