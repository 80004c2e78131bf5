//! Restores sessions to files: into a directory that the user names, or to where the agent looks for them.
//!
//! Only new, private files are created, and only below the target. File names come from logs and from the agents'
//! trees, so each one is checked by [`SafeName`]. A plan can be shown first, and exactly that plan is applied.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use jiff::tz::TimeZone;
use thiserror::Error;
use transcript::{Agent, PartKind, SafeName, Session};

use crate::breaks;
use crate::kept;
use crate::packs;
use crate::session_text::{SessionText, SessionTexts, TextError};
use crate::sources::LogRoot;
use crate::store::{Store, StoreError};

/// Prefix of every masked secret.
const TAG: &[u8] = b"[REDACTED:";
/// Claude Code appends a hash to a project directory whose name is longer than this.
const CLAUDE_PROJECT_CHARS_MAX: usize = 200;
const NAME_BYTES_MAX: usize = 255;

/// Why a session cannot be restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("cannot write {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("unsafe file name in this session: `{0}`")]
    UnsafeName(String),
    #[error("a link points outside the target: {0}")]
    LeadsOut(PathBuf),
    #[error("cannot determine where the agent would look for this session")]
    NoPlace,
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Text(error.into())
    }
}

/// Where to restore a session.
#[derive(Debug, Clone, Copy)]
pub enum RestoreTarget<'a> {
    Directory(&'a Path),
    /// Into the agents' own roots.
    InPlace(&'a [LogRoot]),
}

/// The files that would be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestorePlan {
    pub files: Vec<PlannedFile>,
    /// Parts that are not a file of the session's own, such as an entry in a list of all sessions.
    pub left_out: Vec<String>,
    /// Subagents whose text is neither in the store nor in a log.
    pub gone: Vec<String>,
}

/// One file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub session_uid: String,
    pub part: String,
    /// Nothing is written outside this directory.
    pub below: PathBuf,
    pub path: PathBuf,
    pub bytes: u64,
    /// Number of masked secrets in the file.
    pub redactions: u64,
    /// Lines that were too long to store, which are replaced by a placeholder.
    pub lines_left_out: u64,
    /// `true` if the path already exists. It is not overwritten.
    pub is_there: bool,
}

/// Returns what restoring a session would write: all its parts, and those of its subagents.
pub fn plan_restore(
    texts: &SessionTexts<'_>,
    session_uid: &str,
    target: RestoreTarget<'_>,
) -> Result<RestorePlan, RestoreError> {
    let store = texts.store;
    let mut plan = RestorePlan::default();
    let mut todo = vec![(session_uid.to_owned(), None)];
    let mut done: Vec<String> = Vec::new();
    while let Some((uid, parent)) = todo.pop() {
        if done.contains(&uid) {
            continue;
        }
        let view = store.reads().view(&uid)?;
        let agent = kept::agent_of(&uid)?;
        // The log of a Claude subagent is in the directory of its session. Subagents of other agents are stored like
        // any other session.
        let base = match parent.filter(|_| agent == Agent::Claude) {
            Some(base) => base,
            None => find_base(store, &uid, agent, view.as_ref(), target)?,
        };
        match texts.open(&uid, texts.locate(&uid)?) {
            Some(text) => add_parts(store, &uid, &text, agent, &base, &mut plan)?,
            None => plan.gone.push(uid.clone()),
        }
        for child in store.reads().subagents_of(&uid)? {
            todo.push((child.session_uid.as_str().to_owned(), Some(base.clone())));
        }
        done.push(uid);
    }
    plan.files.sort_by(|a, b| a.path.cmp(&b.path));
    plan.files.dedup_by(|a, b| a.path == b.path);
    Ok(plan)
}

/// Writes the planned files, except those that exist. Returns the number of files written.
pub fn apply_restore(texts: &SessionTexts<'_>, plan: &RestorePlan) -> Result<u64, RestoreError> {
    let mut written = 0;
    let mut opened: HashMap<&str, SessionText<'_>> = HashMap::new();
    for file in plan.files.iter().filter(|file| !file.is_there) {
        let failed = |source| RestoreError::Io {
            path: file.path.clone(),
            source,
        };
        let directory = file.path.parent().unwrap_or(&file.below);
        create_directory(&file.below, directory).map_err(failed)?;
        // The directory exists now, so a link in its path that leads out of the target is noticed here.
        let is_inside = || io::Result::Ok(directory.canonicalize()?.starts_with(file.below.canonicalize()?));
        if !is_inside().map_err(failed)? {
            return Err(RestoreError::LeadsOut(directory.to_owned()));
        }
        let text = match opened.entry(&file.session_uid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let text = texts.open(&file.session_uid, texts.locate(&file.session_uid)?);
                new.insert(text.ok_or_else(|| TextError::Gone(file.session_uid.clone()))?)
            }
        };
        let mut out = match private_file_options().open(&file.path) {
            Ok(out) => out,
            // Another process created the file in the meantime. It is not overwritten.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(failed(error)),
        };
        let whole = text
            .cat(&file.part, &mut out)
            .map(|done| done.and_then(|()| out.flush()).and_then(|()| out.sync_all()));
        match whole {
            Ok(Ok(())) => written += 1,
            failure => {
                // Half a log is worse than none. We created this file, so we may delete it.
                _ = fs::remove_file(&file.path);
                return Err(failure.map_or_else(RestoreError::from, |done| {
                    done.map_or_else(failed, |()| failed(io::ErrorKind::Other.into()))
                }));
            }
        }
    }
    Ok(written)
}

/// The directory to which the file names of a session are relative: the old and the new one.
#[derive(Debug, Clone)]
struct PathBase {
    /// The directory of the log when it was read, or empty if unknown.
    old: PathBuf,
    new: PathBuf,
    /// Nothing is written outside this directory.
    below: PathBuf,
    /// Prefix of the names of the session's own files.
    stem: String,
}

fn find_base(
    store: &Store,
    uid: &str,
    agent: Agent,
    view: Option<&Session>,
    target: RestoreTarget<'_>,
) -> Result<PathBase, RestoreError> {
    let log = PathBuf::from(store.reads().log_path(uid)?);
    // A Grok session is a directory, the others are files in a directory.
    let old = match agent {
        Agent::Grok => log.parent().and_then(Path::parent),
        Agent::Claude | Agent::Codex => log.parent(),
    };
    let old = old.unwrap_or(Path::new("")).to_owned();
    let native = uid.split_once(':').map_or(uid, |(_, native)| native);
    let stem = match agent {
        Agent::Codex => codex_stem(&log, native, view),
        Agent::Claude => native.split('/').next().unwrap_or(native).to_owned(),
        Agent::Grok => native.to_owned(),
    };
    let (new, below) = match target {
        RestoreTarget::Directory(directory) => (directory.to_owned(), directory.to_owned()),
        RestoreTarget::InPlace(roots) => find_agent_directory(&old, agent, view, roots)?,
    };
    Ok(PathBase { old, new, below, stem })
}

/// Returns where an agent looks for a session: the directory it was read from, or the one in which the agent would
/// create it.
fn find_agent_directory(
    old: &Path,
    agent: Agent,
    view: Option<&Session>,
    roots: &[LogRoot],
) -> Result<(PathBuf, PathBuf), RestoreError> {
    // Roots with a label hold copies from other machines, and this machine's agent does not look there.
    let mut own = roots.iter().filter(|root| root.agent == agent && root.label.is_none());
    let known = own.clone().find_map(|root| {
        let inside = old.strip_prefix(&root.path).ok()?;
        check_path(inside)
            .ok()
            .map(|inside| (root.path.join(inside), root.path.clone()))
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let root = own.next().ok_or(RestoreError::NoPlace)?;
    let view = view.ok_or(RestoreError::NoPlace)?;
    let cwd = view.cwd.as_deref();
    let inside = match agent {
        Agent::Claude => {
            let name: String = cwd.ok_or(RestoreError::NoPlace)?.chars().map(replace_by_dash).collect();
            if name.len() > CLAUDE_PROJECT_CHARS_MAX {
                return Err(RestoreError::NoPlace);
            }
            Path::new("projects").join(name)
        }
        Agent::Codex => {
            let at = view.started_at.ok_or(RestoreError::NoPlace)?;
            let day = at.to_zoned(TimeZone::UTC).strftime("%Y/%m/%d").to_string();
            Path::new("sessions").join(day)
        }
        Agent::Grok => {
            let name = percent_encoded(cwd.ok_or(RestoreError::NoPlace)?);
            if name.len() > NAME_BYTES_MAX {
                return Err(RestoreError::NoPlace);
            }
            Path::new("sessions").join(name)
        }
    };
    Ok((root.path.join(check_path(&inside)?), root.path.clone()))
}

fn replace_by_dash(c: char) -> char {
    if c.is_ascii_alphanumeric() { c } else { '-' }
}

/// Encodes a path as Grok does for its directory names.
fn percent_encoded(path: &str) -> String {
    let mut name = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => name.push(char::from(byte)),
            other => name += &format!("%{other:02X}"),
        }
    }
    name
}

/// Returns the name of a Codex log without its extension.
fn codex_stem(log: &Path, native: &str, view: Option<&Session>) -> String {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let stem = [".jsonl.zst", ".jsonl", ".json"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    match (stem, view.and_then(|view| view.started_at)) {
        (Some(stem), _) if !stem.is_empty() => stem.to_owned(),
        (_, Some(at)) => {
            let at = at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H-%M-%S").to_string();
            format!("rollout-{at}-{native}")
        }
        _ => format!("rollout-{native}"),
    }
}

fn add_parts(
    store: &Store,
    uid: &str,
    text: &SessionText<'_>,
    agent: Agent,
    base: &PathBase,
    plan: &mut RestorePlan,
) -> Result<(), RestoreError> {
    let cursors = store.reads().cursors_of(uid)?;
    for (kind, part) in text.parts()? {
        if kind == PartKind::Index {
            plan.left_out.push(part);
            continue;
        }
        let known = cursors
            .iter()
            .find(|cursor| cursor.part == part && !cursor.marks_copy());
        let known = known.and_then(|cursor| Path::new(&cursor.path).strip_prefix(&base.old).ok());
        let known =
            known.filter(|path| !base.old.as_os_str().is_empty() && path.extension().is_none_or(|end| end != "zst"));
        let inside = match known.map(check_path) {
            Some(Ok(inside)) => inside,
            _ => check_path(&default_path(agent, uid, kind, &part, &base.stem))?,
        };
        let path = base.new.join(inside);
        let measured = measure_part(text, &part)?;
        plan.files.push(PlannedFile {
            session_uid: uid.to_owned(),
            below: base.below.clone(),
            // A path that exists but cannot be inspected counts as existing, too.
            is_there: path.symlink_metadata().is_ok(),
            path,
            part,
            bytes: measured.0,
            redactions: measured.1,
            lines_left_out: measured.2,
        });
    }
    Ok(())
}

/// Returns where a part is stored by the agent's conventions, relative to the directory of the session's log.
fn default_path(agent: Agent, uid: &str, kind: PartKind, part: &str, stem: &str) -> PathBuf {
    // The last two components of the part's path follow the colon.
    let name = part.split_once(':').map_or("", |(_, name)| name);
    let (parent, own) = name.rsplit_once('/').unwrap_or(("", name));
    let tree = Path::new(stem);
    match (agent, kind) {
        (Agent::Codex, _) => PathBuf::from(format!("{stem}.jsonl")),
        (Agent::Claude, PartKind::Spill) => tree.join("tool-results").join(own),
        (Agent::Claude, kind) => {
            let end = if kind == PartKind::Meta { "meta.json" } else { "jsonl" };
            match uid.split_once('/') {
                Some((_, agent)) => tree.join("subagents").join(format!("agent-{agent}.{end}")),
                None => PathBuf::from(format!("{stem}.{end}")),
            }
        }
        (Agent::Grok, PartKind::Meta) => tree.join("subagents").join(parent).join("meta.json"),
        (Agent::Grok, kind) => {
            let known = crate::sources::GROK_PARTS.iter().find(|(known, _)| *known == kind);
            tree.join(known.map_or("updates.jsonl", |(_, name)| name))
        }
    }
}

/// Checks every component of a path below a target, and returns an error if one is not a safe file name.
fn check_path(path: &Path) -> Result<PathBuf, RestoreError> {
    let mut safe = PathBuf::new();
    for component in path.components() {
        let name = match component {
            Component::Normal(name) => name.to_str().and_then(SafeName::new),
            _ => None,
        };
        let refused = || RestoreError::UnsafeName(component.as_os_str().to_string_lossy().into_owned());
        safe.push(name.ok_or_else(refused)?.as_str());
    }
    Ok(safe)
}

/// Returns the number of bytes, masked secrets and placeholder lines of a part.
fn measure_part(text: &SessionText<'_>, part: &str) -> Result<(u64, u64, u64), TextError> {
    let finder = memchr::memmem::Finder::new(TAG);
    let (mut bytes, mut redactions, mut left_out) = (0, 0, 0);
    let measured = text.each_bytes(part, |piece| {
        bytes += piece.len() as u64;
        redactions += finder.find_iter(piece).count() as u64;
        let lines = breaks::bare_lines(piece);
        left_out += lines.filter(|line| packs::is_placeholder(line)).count() as u64;
        Ok(())
    })?;
    debug_assert!(measured.is_ok(), "nothing is written while measuring");
    Ok((bytes, redactions, left_out))
}

/// Options for a new file that only its owner can read. Its modification time stays today's, because an agent that
/// deletes logs by age would otherwise delete it at once.
fn private_file_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates the missing directories from `below` down to `directory`, readable only by their owner.
fn create_directory(below: &Path, directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(below)?;
    let mut at = below.to_owned();
    let inside = directory.strip_prefix(below).unwrap_or(Path::new(""));
    for component in inside.components() {
        // A link in the path could lead anywhere, so nothing is created behind it.
        if !at.canonicalize()?.starts_with(below.canonicalize()?) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "a link points outside the target",
            ));
        }
        at.push(component);
        builder.create(&at)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_the_target_are_rejected() {
        for bad in ["../x", "a/../../x", "/etc/passwd", "a/.hidden", "a/con.txt"] {
            assert!(check_path(Path::new(bad)).is_err(), "{bad}");
        }
        assert_eq!(check_path(Path::new("a/b.jsonl")).unwrap(), Path::new("a/b.jsonl"));
    }

    #[test]
    fn grok_percent_encodes_a_path_as_a_directory_name() {
        assert_eq!(percent_encoded("/home/ada/my app"), "%2Fhome%2Fada%2Fmy%20app");
    }
}
