//! Codex's list of thread names: one file that tells of every session of a root. It is read once per sweep
//! and only when it changed or a session has not seen it; each session keeps the lines about itself.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use transcript::PartKind;

use super::path_text;
use super::plan::{Job, stat};
use crate::breaks;
use crate::files;
use crate::store::{Cursor, Stat, Store, StoreError};

/// One index as it is now.
#[derive(Default)]
pub(super) struct Index {
    /// The lines about each session, by its native id.
    lines: HashMap<String, Vec<u8>>,
    pub(super) bytes: u64,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// Indexes that were read, with what they looked like.
#[derive(Default)]
pub(super) struct Indexes {
    read: BTreeMap<PathBuf, Index>,
    pub(super) stats: Vec<(String, Stat)>,
}

impl Indexes {
    /// Gives each Codex session the lines about it. Says of each whether they are new to it.
    pub(super) fn tell(&mut self, jobs: &mut [(Job, bool)], store: Option<&Store>) -> Result<(), StoreError> {
        let mut changed: HashMap<PathBuf, bool> = HashMap::new();
        for (job, is_changed) in jobs {
            let part = job.source.parts.iter().find(|part| part.kind == PartKind::Index);
            let Some(path) = part.map(|part| part.path.clone()) else {
                continue;
            };
            let file_changed = match changed.get(&path) {
                Some(known) => *known,
                None => *changed.entry(path.clone()).or_insert(self.note(&path, store)?),
            };
            let known = job.cursors.get(PartKind::Index.as_str());
            // Only a session that is read anyway asks an index that did not change.
            if !file_changed && (known.is_some() || !*is_changed) {
                continue;
            }
            let lines = self
                .of(&path)
                .lines
                .get(&job.source.native_id)
                .cloned()
                .unwrap_or_default();
            let is_news = known.is_none_or(|cursor| cursor.head_hash != *blake3::hash(&lines).as_bytes());
            if is_news && (*is_changed || !lines.is_empty() || known.is_some()) {
                job.index = Some(lines);
                *is_changed = true;
            }
        }
        Ok(())
    }

    /// Whether a file changed since it was last read; if so, what it is like now is noted.
    fn note(&mut self, path: &Path, store: Option<&Store>) -> Result<bool, StoreError> {
        let Ok(now) = std::fs::metadata(path).map(|metadata| stat(&metadata)) else {
            return Ok(false);
        };
        let name = path_text(path);
        let before = store.map_or(Ok(None), |store| store.reads().shared_file(&name))?;
        let is_changed = before != Some(now);
        if is_changed {
            self.stats.push((name, now));
        }
        Ok(is_changed)
    }

    /// Reads an index, once.
    fn of(&mut self, path: &Path) -> &Index {
        self.read.entry(path.to_owned()).or_insert_with(|| {
            let tree = path.parent().unwrap_or(path);
            let bytes = files::read_companion(tree, path).unwrap_or_default();
            let mut index = Index {
                bytes: bytes.len() as u64,
                ..Index::default()
            };
            for line in breaks::lines(&bytes) {
                if let Ok(named) = serde_json::from_slice::<Named>(line) {
                    index.lines.entry(named.id).or_default().extend_from_slice(line);
                }
            }
            index
        })
    }

    /// Bytes that were read of all indexes.
    pub(super) fn bytes(&self) -> u64 {
        self.read.values().map(|index| index.bytes).sum()
    }
}

/// How far a session knows its index: by the lines about it, not by the file, which belongs to all.
pub(super) fn cursor(session_uid: &str, path: &Path, root: &str, lines: &[u8]) -> Cursor {
    let hash = *blake3::hash(lines).as_bytes();
    Cursor {
        session_uid: session_uid.to_owned(),
        part: PartKind::Index.as_str().to_owned(),
        path: path_text(path),
        root: root.to_owned(),
        stat: Stat::default(),
        read_to: lines.len() as u64,
        lines: lines.iter().filter(|byte| **byte == b'\n').count() as u64,
        ends_mid_line: false,
        head_hash: hash,
        tail_hash: hash,
    }
}
