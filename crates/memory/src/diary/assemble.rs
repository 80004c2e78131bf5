//! Puts a day's sessions into projects: names, references, and the children of each turn. Nothing is in its place yet;
//! what has to be written is told as a tree.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use transcript::Agent;

use super::audit::{FromMemory, Manifest, Masked, Notes, Renamed, SessionEntry, Skipped};
use super::children::{Child, Children};
use super::collect::{Collected, FORGOTTEN, Picked};
use super::copy::{Copied, Copies, copy};
use super::index::{ASSOCIATION, IndexRow, Metadata, ProjectFile, SubagentRow, TurnRow, file, lines};
use super::links::Link;
use super::names::{Names, safe};
use super::recalled::{Forgotten, Gone, recall_child};
use super::text::Text;
use super::window::stamp;
use super::write::waiting_place;
use super::{Ask, source_name, specs};
use crate::store::Store;
use crate::threads::on_threads;

/// Where the children of sessions are looked for.
pub(super) struct Family<'f> {
    pub(super) children: Children<'f>,
    pub(super) store: Option<&'f Store>,
    pub(super) gone: &'f [Gone],
    pub(super) forgotten: &'f Forgotten,
    /// Where copies wait for their place.
    pub(super) copies: &'f Path,
}

/// A workspace that is yet to be written.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Files by their place in the workspace.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Copies that wait, by their place in the workspace.
    pub(super) moves: BTreeMap<PathBuf, PathBuf>,
    pub(super) audit: Vec<u8>,
    pub(super) projects: usize,
    pub(super) sessions: usize,
    pub(super) turns: usize,
    pub(super) subagents: usize,
    pub(super) notes: Notes,
}

/// A session with its place.
struct Placed {
    picked: Picked,
    session_path: String,
    subagent_path: String,
    /// Its children that are copied, with their names.
    children: Vec<(Link, String)>,
}

pub(super) fn assemble(ask: &Ask<'_>, collected: Collected, family: &Family<'_>, notes: Notes) -> Tree {
    let mut tree = Tree {
        notes,
        ..Tree::default()
    };
    let mut assembler = Assembler {
        family,
        tree: &mut tree,
        names: HashMap::new(),
        attached: HashSet::new(),
        copied: Cell::new(0),
    };
    let mut picked = collected.picked;
    let order = |one: &Picked| {
        (
            one.project.key.clone(),
            source_name(one.agent),
            one.id.clone(),
            one.place.clone(),
        )
    };
    picked.sort_by_cached_key(order);
    let named = copy_children(ask, family, &picked);
    let mut placed: Vec<Placed> = picked
        .into_iter()
        .zip(named)
        .map(|(picked, named)| assembler.place(picked, named))
        .collect();
    let attached = std::mem::take(&mut assembler.attached);
    for orphan in collected.children.iter().filter(|path| !attached.contains(*path)) {
        let reason = "works for a session, and no turn of the day names it".to_owned();
        tree.notes.skipped.push(Skipped::at(orphan, reason));
    }
    placed.sort_by(|a, b| order_of(a).cmp(&order_of(b)));
    write_projects(&placed, &mut tree);
    tree.notes.skipped.sort();
    tree.notes.skipped.dedup();
    write_heads(ask, &placed, &mut tree);
    tree
}

/// A child that the turns of a session name, with the copy of its log where that is there.
struct Named {
    link: Link,
    found: Option<(Child, io::Result<Copied>)>,
}

/// Finds and copies the children that the turns of each session name.
fn copy_children(ask: &Ask<'_>, family: &Family<'_>, picked: &[Picked]) -> Vec<Vec<Named>> {
    let named = |one: &Picked, link: &Link| {
        let turns = &one.scan.turns;
        turns.iter().any(|turn| link.touches(turn.start_line, turn.end_line))
    };
    let wanted: Vec<(usize, &Link)> = (0..)
        .zip(picked)
        .flat_map(|(at, one)| one.scan.links.iter().map(move |link| (at, link)))
        .filter(|(at, link)| named(&picked[*at], link))
        .collect();
    let (children, forgotten, copies) = (&family.children, family.forgotten, family.copies);
    let copied = on_threads(ask.threads, wanted.len(), |number, room| {
        let (at, link) = wanted[number];
        if forgotten.has(link.agent, &link.native_id(&picked[at].id)) {
            return None;
        }
        let child = children.find(link.agent, &link.id, &picked[at].id)?;
        let to = waiting_place(copies, "child-", number);
        let copied = Text::open(&child.path, room).and_then(|text| copy(&text, ask.copies, &to));
        Some((child, copied))
    });
    let mut all: Vec<Vec<Named>> = picked.iter().map(|_| Vec::new()).collect();
    for ((at, link), found) in wanted.into_iter().zip(copied) {
        let link = link.clone();
        all[at].push(Named { link, found });
    }
    all
}

fn order_of(placed: &Placed) -> (&str, &str, &str, &str) {
    let picked = &placed.picked;
    (
        &picked.project.key,
        source_name(picked.agent),
        &picked.id,
        &placed.session_path,
    )
}

/// Gives files their names.
struct Assembler<'a, 'f> {
    family: &'a Family<'f>,
    tree: &'a mut Tree,
    /// The names of each directory of the workspace.
    names: HashMap<String, Names>,
    /// Logs of children that were copied.
    attached: HashSet<PathBuf>,
    copied: Cell<usize>,
}

impl Assembler<'_, '_> {
    /// Finds the place of a session and of its children.
    fn place(&mut self, picked: Picked, named: Vec<Named>) -> Placed {
        let source = source_name(picked.agent);
        let base = format!("projects/{}", picked.project.key);
        let own = picked
            .place
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let session_path = match picked.agent {
            Agent::Grok => {
                let directory = self.name(&format!("{base}/sessions/{source}"), &picked.id, &picked.place);
                format!("sessions/{source}/{directory}/{own}")
            }
            Agent::Claude | Agent::Codex => {
                // A compressed log is unpacked, and is named so.
                let wanted = own.strip_suffix(".zst").unwrap_or(&own);
                let name = self.name(&format!("{base}/sessions/{source}"), wanted, &picked.place);
                format!("sessions/{source}/{name}")
            }
        };
        self.put(&format!("{base}/{session_path}"), &picked.copied);
        for (name, copied) in &picked.beside {
            let beside = Path::new(&session_path).with_file_name(name);
            self.put(&format!("{base}/{}", beside.to_string_lossy()), copied);
        }
        if picked.is_from_memory {
            let gone = self.family.gone.iter().find(|gone| gone.place == picked.place);
            let session_uid = gone.map_or_else(String::new, |gone| gone.session_uid.clone());
            self.tree.notes.from_memory.push(FromMemory {
                session_uid,
                workspace_path: format!("{base}/{session_path}"),
            });
        }
        let parent = format!("sessions/{source}/subagents/{}", safe(&picked.id).as_str());
        let children = self.children(&picked, named, &format!("{base}/{parent}"));
        Placed {
            subagent_path: if children.is_empty() { String::new() } else { parent },
            picked,
            session_path,
            children,
        }
    }

    /// Gives their places to the children that the turns of a session name.
    fn children(&mut self, picked: &Picked, named: Vec<Named>, directory: &str) -> Vec<(Link, String)> {
        let mut children = Vec::new();
        for Named { mut link, found } in named {
            if self.family.forgotten.has(link.agent, &link.native_id(&picked.id)) {
                self.tree.notes.skipped.push(Skipped {
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

    /// Gives the copy of a child's log its place, and gives its name.
    fn put_child(&mut self, child: &Child, copied: io::Result<Copied>, directory: &str) -> Option<String> {
        let copied = match copied {
            Ok(copied) => copied,
            Err(error) => {
                let reason = format!("cannot be read: {error}");
                self.tree.notes.skipped.push(Skipped::at(&child.path, reason));
                return None;
            }
        };
        self.attached.insert(child.path.clone());
        let name = self.child_name(&child.path, &child.id, directory);
        self.put(&format!("{directory}/{name}"), &copied);
        Some(name)
    }

    /// The name of a child's log; that of Grok's is its directory's.
    fn child_name(&mut self, log: &Path, id: &str, directory: &str) -> String {
        let own = log.file_name().unwrap_or_default().to_string_lossy();
        match is_grok(log) {
            true => format!("{}/{own}", self.name(directory, id, log)),
            false => self.name(directory, own.strip_suffix(".zst").unwrap_or(&own), log),
        }
    }

    /// A child whose log is gone, from memory; or a word that nobody has it.
    fn recall_child(&mut self, parent: &Picked, link: &Link, directory: &str) -> Option<String> {
        let recalled = self
            .family
            .store
            .and_then(|store| recall_child(store, parent, link, &self.next_copy()));
        let Some(child) = recalled else {
            self.tree.notes.skipped.push(Skipped {
                what: format!("{} {}", source_name(link.agent), link.id),
                reason: format!("works for {}, and its log is not there", parent.id),
            });
            return None;
        };
        let mut room = Vec::new();
        let text = Text::open(&child.file, &mut room);
        let text = text.and_then(|text| copy(&text, Copies::Verbatim, &self.next_copy()));
        let name = self.child_name(&child.place, &link.id, directory);
        let path = format!("{directory}/{name}");
        match text {
            Ok(copied) => self.put(&path, &copied),
            Err(_) => return None,
        }
        self.tree.notes.from_memory.push(FromMemory {
            session_uid: child.session_uid,
            workspace_path: path,
        });
        Some(name)
    }

    fn next_copy(&self) -> PathBuf {
        self.copied.set(self.copied.get() + 1);
        self.family.copies.join(format!("recalled-{}", self.copied.get()))
    }

    /// A name in a directory of the workspace. One that differs from the file's own is told.
    fn name(&mut self, directory: &str, wanted: &str, place: &Path) -> String {
        let names = self.names.entry(directory.to_owned()).or_default();
        let name = names.give(wanted, &place.to_string_lossy()).as_str().to_owned();
        if name != wanted {
            self.tree.notes.renamed.push(Renamed {
                source_path: place.to_string_lossy().into_owned(),
                workspace_path: format!("{directory}/{name}"),
            });
        }
        name
    }

    fn put(&mut self, path: &str, copied: &Copied) {
        self.tree.moves.insert(path.into(), copied.path.clone());
        if copied.secrets > 0 || copied.lines_left_out > 0 {
            self.tree.notes.masked.push(Masked {
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

/// The files of each project.
fn write_projects(placed: &[Placed], tree: &mut Tree) {
    for sessions in placed.chunk_by(|a, b| a.picked.project.key == b.picked.project.key) {
        let project = &sessions[0].picked.project;
        let base = PathBuf::from(format!("projects/{}", project.key));
        let rows: Vec<IndexRow> = (1..)
            .zip(sessions)
            .map(|(number, session)| row(number, session))
            .collect();
        tree.projects += 1;
        tree.sessions += rows.len();
        tree.turns += rows.iter().map(|row| row.turns.len()).sum::<usize>();
        tree.subagents += sessions.iter().map(|session| session.children.len()).sum::<usize>();
        tree.files
            .insert(base.join("project.json"), file(&ProjectFile::new(project)));
        tree.files.insert(base.join("sessions.index.jsonl"), lines(&rows));
    }
}

fn row(number: usize, session: &Placed) -> IndexRow {
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

/// The files that are about the day as a whole.
fn write_heads(ask: &Ask<'_>, placed: &[Placed], tree: &mut Tree) {
    let prepared_at = stamp(ask.now, ask.zone.to_offset(ask.now));
    tree.files
        .insert("metadata.json".into(), file(&Metadata::new(ask.window, &prepared_at)));
    let mut entries: Vec<SessionEntry<'_>> = placed
        .iter()
        .map(|session| SessionEntry::new(&session.picked, &session.session_path))
        .collect();
    entries.sort_by(|a, b| a.order().cmp(&b.order()));
    let copies = match ask.copies {
        Copies::Masked(_) => "masked",
        Copies::Verbatim => "verbatim",
    };
    let specs = specs(ask);
    let manifest = Manifest::new(ask.window, &prepared_at, &specs, entries, copies, &tree.notes);
    tree.audit = file(&manifest);
}
