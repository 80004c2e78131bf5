//! Arranges a day's sessions into projects: names, references and the children of each turn. The result is a tree of
//! files to write; nothing is written yet.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use transcript::Agent;

use super::audit::{AuditNotes, Manifest, MaskedCopy, RenamedFile, RestoredSession, SessionEntry, SkippedSource};
use super::children::{ChildLog, ChildLogs};
use super::collect::{CollectedLogs, FORGOTTEN, PickedSession};
use super::copy::{Copied, Copies, copy};
use super::index::{ASSOCIATION, IndexRow, Metadata, ProjectFile, SubagentRow, TurnRow, to_json_file, to_json_lines};
use super::links::ChildLink;
use super::names::{DirectoryNames, safe_name};
use super::recalled::{ForgottenSessions, RecalledLog, recall_child};
use super::text::LogText;
use super::window::format_time;
use super::write::pending_path;
use super::{PrepareRequest, searched_directories, source_name};
use crate::store::Store;
use crate::threads::run_on_threads;

/// The sources in which the children of sessions are looked up.
pub(super) struct ChildLookup<'f> {
    pub(super) children: ChildLogs<'f>,
    pub(super) store: Option<&'f Store>,
    pub(super) recalled: &'f [RecalledLog],
    pub(super) forgotten: &'f ForgottenSessions,
    /// Directory of the copies that are not in the workspace yet.
    pub(super) copies: &'f Path,
}

/// The contents of a workspace, before it is written.
#[derive(Debug, Default)]
pub(super) struct WorkspaceTree {
    /// New files by their path in the workspace.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Existing copies to move, by their path in the workspace.
    pub(super) moves: BTreeMap<PathBuf, PathBuf>,
    pub(super) audit: Vec<u8>,
    pub(super) projects: usize,
    pub(super) sessions: usize,
    pub(super) turns: usize,
    pub(super) subagents: usize,
    pub(super) notes: AuditNotes,
}

/// A session with its paths in the workspace.
struct PlacedSession {
    picked: PickedSession,
    session_path: String,
    subagent_path: String,
    /// The children that were copied, with their file names.
    children: Vec<(ChildLink, String)>,
}

/// Arranges the collected sessions into the tree of a workspace.
pub(super) fn assemble(
    request: &PrepareRequest<'_>,
    collected: CollectedLogs,
    lookup: &ChildLookup<'_>,
    notes: AuditNotes,
) -> WorkspaceTree {
    let mut tree = WorkspaceTree {
        notes,
        ..WorkspaceTree::default()
    };
    let mut assembler = Assembler {
        lookup,
        tree: &mut tree,
        names: HashMap::new(),
        attached: HashSet::new(),
        copied: Cell::new(0),
    };
    let mut picked = collected.picked;
    let order = |session: &PickedSession| {
        (
            session.project.key.clone(),
            source_name(session.agent),
            session.id.clone(),
            session.place.clone(),
        )
    };
    picked.sort_by_cached_key(order);
    let named = copy_children(request, lookup, &picked);
    let mut placed: Vec<PlacedSession> = picked
        .into_iter()
        .zip(named)
        .map(|(picked, named)| assembler.place_session(picked, named))
        .collect();
    let attached = std::mem::take(&mut assembler.attached);
    for orphan in collected.children.iter().filter(|path| !attached.contains(*path)) {
        let reason = "is a subagent's log, and no turn of the day names it".to_owned();
        tree.notes.skipped.push(SkippedSource::at(orphan, reason));
    }
    placed.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    write_projects(&placed, &mut tree);
    tree.notes.skipped.sort();
    tree.notes.skipped.dedup();
    write_day_files(request, &placed, &mut tree);
    tree
}

/// A child that the turns of a session name, with the copy of its log if it was found.
struct NamedChild {
    link: ChildLink,
    found: Option<(ChildLog, io::Result<Copied>)>,
}

/// Finds and copies the children that the turns of each session name.
fn copy_children(
    request: &PrepareRequest<'_>,
    lookup: &ChildLookup<'_>,
    picked: &[PickedSession],
) -> Vec<Vec<NamedChild>> {
    let named = |session: &PickedSession, link: &ChildLink| {
        let turns = &session.scan.turns;
        turns.iter().any(|turn| link.touches(turn.start_line, turn.end_line))
    };
    let wanted: Vec<(usize, &ChildLink)> = (0..)
        .zip(picked)
        .flat_map(|(at, session)| session.scan.links.iter().map(move |link| (at, link)))
        .filter(|(at, link)| named(&picked[*at], link))
        .collect();
    let (children, forgotten, copies) = (&lookup.children, lookup.forgotten, lookup.copies);
    let copied = run_on_threads(request.threads, wanted.len(), |number, buffer| {
        let (at, link) = wanted[number];
        if forgotten.has(link.agent, &link.native_id(&picked[at].id)) {
            return None;
        }
        let child = children.find(link.agent, &link.id, &picked[at].id)?;
        let to = pending_path(copies, "child-", number);
        let copied = LogText::open(&child.path, buffer).and_then(|text| copy(&text, request.copies, &to));
        Some((child, copied))
    });
    let mut all: Vec<Vec<NamedChild>> = picked.iter().map(|_| Vec::new()).collect();
    for ((at, link), found) in wanted.into_iter().zip(copied) {
        let link = link.clone();
        all[at].push(NamedChild { link, found });
    }
    all
}

/// Returns the key by which sessions are sorted before they get their references.
fn sort_key(placed: &PlacedSession) -> (&str, &str, &str, &str) {
    let picked = &placed.picked;
    (
        &picked.project.key,
        source_name(picked.agent),
        &picked.id,
        &placed.session_path,
    )
}

/// Assigns paths in the workspace to sessions and their children.
struct Assembler<'a, 'f> {
    lookup: &'a ChildLookup<'f>,
    tree: &'a mut WorkspaceTree,
    /// Names in use, by directory of the workspace.
    names: HashMap<String, DirectoryNames>,
    /// Logs of children that were copied.
    attached: HashSet<PathBuf>,
    copied: Cell<usize>,
}

impl Assembler<'_, '_> {
    /// Assigns paths to a session and its children.
    fn place_session(&mut self, picked: PickedSession, named: Vec<NamedChild>) -> PlacedSession {
        let source = source_name(picked.agent);
        let base = format!("projects/{}", picked.project.key);
        let file_name = picked
            .place
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let session_path = match picked.agent {
            Agent::Grok => {
                let directory = self.assign_name(&format!("{base}/sessions/{source}"), &picked.id, &picked.place);
                format!("sessions/{source}/{directory}/{file_name}")
            }
            Agent::Claude | Agent::Codex => {
                // The copy of a compressed log is decompressed, so it loses the extension.
                let wanted = file_name.strip_suffix(".zst").unwrap_or(&file_name);
                let name = self.assign_name(&format!("{base}/sessions/{source}"), wanted, &picked.place);
                format!("sessions/{source}/{name}")
            }
        };
        self.add_move(&format!("{base}/{session_path}"), &picked.copied);
        for (name, copied) in &picked.companions {
            let companions = Path::new(&session_path).with_file_name(name);
            self.add_move(&format!("{base}/{}", companions.to_string_lossy()), copied);
        }
        if picked.is_from_memory {
            let recalled = self.lookup.recalled.iter().find(|log| log.place == picked.place);
            let session_uid = recalled.map_or_else(String::new, |log| log.session_uid.clone());
            self.tree.notes.from_memory.push(RestoredSession {
                session_uid,
                workspace_path: format!("{base}/{session_path}"),
            });
        }
        let parent = format!("sessions/{source}/subagents/{}", safe_name(&picked.id).as_str());
        let children = self.place_children(&picked, named, &format!("{base}/{parent}"));
        PlacedSession {
            subagent_path: if children.is_empty() { String::new() } else { parent },
            picked,
            session_path,
            children,
        }
    }

    /// Assigns paths to the children that the turns of a session name.
    fn place_children(
        &mut self,
        picked: &PickedSession,
        named: Vec<NamedChild>,
        directory: &str,
    ) -> Vec<(ChildLink, String)> {
        let mut children = Vec::new();
        for NamedChild { mut link, found } in named {
            if self.lookup.forgotten.has(link.agent, &link.native_id(&picked.id)) {
                self.tree.notes.skipped.push(SkippedSource {
                    what: format!("{} {}", source_name(link.agent), link.id),
                    reason: FORGOTTEN.to_owned(),
                });
                continue;
            }
            let (name, role) = match found {
                Some((child, copied)) => (self.put_child(&child, copied, directory), child.role),
                None => (self.recall_child(picked, &link, directory), None),
            };
            if let Some(name) = name {
                link.role = link.role.or(role);
                children.push((link, name));
            }
        }
        children
    }

    /// Assigns a path to the copy of a child's log. Returns the file name, or `None` if the log could not be copied.
    fn put_child(&mut self, child: &ChildLog, copied: io::Result<Copied>, directory: &str) -> Option<String> {
        let copied = match copied {
            Ok(copied) => copied,
            Err(error) => {
                let reason = format!("cannot be read: {error}");
                self.tree.notes.skipped.push(SkippedSource::at(&child.path, reason));
                return None;
            }
        };
        self.attached.insert(child.path.clone());
        let name = self.child_name(&child.path, &child.id, directory);
        self.add_move(&format!("{directory}/{name}"), &copied);
        Some(name)
    }

    /// Returns the file name of a child's log. A Grok session is named by its directory because its log always has the
    /// same file name.
    fn child_name(&mut self, log: &Path, id: &str, directory: &str) -> String {
        let file_name = log.file_name().unwrap_or_default().to_string_lossy();
        match is_grok(log) {
            true => format!("{}/{file_name}", self.assign_name(directory, id, log)),
            false => self.assign_name(directory, file_name.strip_suffix(".zst").unwrap_or(&file_name), log),
        }
    }

    /// Restores the log of a child from the store, or notes that it is missing.
    fn recall_child(&mut self, parent: &PickedSession, link: &ChildLink, directory: &str) -> Option<String> {
        let recalled = self
            .lookup
            .store
            .and_then(|store| recall_child(store, parent, link, &self.next_copy()));
        let Some(child) = recalled else {
            self.tree.notes.skipped.push(SkippedSource {
                what: format!("{} {}", source_name(link.agent), link.id),
                reason: format!("is a subagent of {}, and its log is missing", parent.id),
            });
            return None;
        };
        let mut buffer = Vec::new();
        let text = LogText::open(&child.file, &mut buffer);
        let text = text.and_then(|text| copy(&text, Copies::Verbatim, &self.next_copy()));
        let name = self.child_name(&child.place, &link.id, directory);
        let path = format!("{directory}/{name}");
        match text {
            Ok(copied) => self.add_move(&path, &copied),
            Err(_) => return None,
        }
        self.tree.notes.from_memory.push(RestoredSession {
            session_uid: child.session_uid,
            workspace_path: path,
        });
        Some(name)
    }

    fn next_copy(&self) -> PathBuf {
        self.copied.set(self.copied.get() + 1);
        self.lookup.copies.join(format!("recalled-{}", self.copied.get()))
    }

    /// Assigns an unused name in a directory of the workspace. If it differs from the file's own name, the audit
    /// records both.
    fn assign_name(&mut self, directory: &str, wanted: &str, place: &Path) -> String {
        let names = self.names.entry(directory.to_owned()).or_default();
        let name = names.assign(wanted, &place.to_string_lossy()).as_str().to_owned();
        if name != wanted {
            self.tree.notes.renamed.push(RenamedFile {
                source_path: place.to_string_lossy().into_owned(),
                workspace_path: format!("{directory}/{name}"),
            });
        }
        name
    }

    fn add_move(&mut self, path: &str, copied: &Copied) {
        self.tree.moves.insert(path.into(), copied.path.clone());
        if copied.secrets > 0 || copied.lines_left_out > 0 {
            self.tree.notes.masked.push(MaskedCopy {
                workspace_path: path.to_owned(),
                secrets: copied.secrets,
                lines_left_out: copied.lines_left_out,
            });
        }
    }
}

fn is_grok(log: &Path) -> bool {
    log.file_name()
        .is_some_and(|name| name == "updates.jsonl" || name == "chat_history.jsonl")
}

/// Adds the files of each project to the tree.
fn write_projects(placed: &[PlacedSession], tree: &mut WorkspaceTree) {
    for sessions in placed.chunk_by(|a, b| a.picked.project.key == b.picked.project.key) {
        let project = &sessions[0].picked.project;
        let base = PathBuf::from(format!("projects/{}", project.key));
        let rows: Vec<IndexRow> = (1..)
            .zip(sessions)
            .map(|(number, session)| index_row(number, session))
            .collect();
        tree.projects += 1;
        tree.sessions += rows.len();
        tree.turns += rows.iter().map(|row| row.turns.len()).sum::<usize>();
        tree.subagents += sessions.iter().map(|session| session.children.len()).sum::<usize>();
        tree.files
            .insert(base.join("project.json"), to_json_file(&ProjectFile::new(project)));
        tree.files
            .insert(base.join("sessions.index.jsonl"), to_json_lines(&rows));
    }
}

fn index_row(number: usize, session: &PlacedSession) -> IndexRow {
    let picked = &session.picked;
    let turns = &picked.scan.turns;
    IndexRow {
        session_path: session.session_path.clone(),
        session_ref: format!("S{number:04}"),
        source: source_name(picked.agent),
        source_session_id: picked.id.clone(),
        subagent_path: session.subagent_path.clone(),
        target_end_line: turns.last().map_or(0, |turn| turn.end_line),
        target_start_line: turns.first().map_or(0, |turn| turn.start_line),
        turns: (1..)
            .zip(turns)
            .map(|(number, turn)| TurnRow {
                target_subagents: session
                    .children
                    .iter()
                    .filter(|(link, _)| link.touches(turn.start_line, turn.end_line))
                    .map(|(link, name)| SubagentRow {
                        agent_role: link.role.clone(),
                        association: ASSOCIATION,
                        parent_result_line: link.result_line,
                        parent_spawn_line: link.spawn_line,
                        session_file: name.clone(),
                        source_session_id: link.id.clone(),
                    })
                    .collect(),
                turn_end_line: turn.end_line,
                turn_ref: format!("T{number:04}", number = number as usize),
                turn_start_line: turn.start_line,
            })
            .collect(),
    }
}

/// Adds the files that describe the whole day.
fn write_day_files(request: &PrepareRequest<'_>, placed: &[PlacedSession], tree: &mut WorkspaceTree) {
    let prepared_at = format_time(request.now, request.zone.to_offset(request.now));
    tree.files.insert(
        "metadata.json".into(),
        to_json_file(&Metadata::new(request.window, &prepared_at)),
    );
    let mut entries: Vec<SessionEntry<'_>> = placed
        .iter()
        .map(|session| SessionEntry::new(&session.picked, &session.session_path))
        .collect();
    entries.sort_by(|a, b| a.order().cmp(&b.order()));
    let copies = match request.copies {
        Copies::Masked(_) => "masked",
        Copies::Verbatim => "verbatim",
    };
    let specs = searched_directories(request);
    let manifest = Manifest::new(request.window, &prepared_at, &specs, entries, copies, &tree.notes);
    tree.audit = to_json_file(&manifest);
}
