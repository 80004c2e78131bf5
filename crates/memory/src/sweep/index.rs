//! Codex's list of thread names: one file that names the threads of every session of a root. A sweep reads it once, and
//! only if it changed or if a session that is read has no lines of it yet. Each session stores the lines about itself.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use transcript::PartKind;

use super::path_text;
use super::plan::{Job, stat};
use crate::breaks;
use crate::files;
use crate::store::{Cursor, FileStat, Store, StoreError};

/// The parsed content of one index file.
#[derive(Default)]
pub(super) struct ThreadNames {
    /// The lines about each session, by its native id.
    lines: HashMap<String, Vec<u8>>,
    pub(super) bytes: u64,
}

#[derive(Deserialize)]
struct ThreadNameLine {
    id: String,
}

/// The index files that were read, and the metadata of those that changed.
#[derive(Default)]
pub(super) struct ThreadNameFiles {
    read: BTreeMap<PathBuf, ThreadNames>,
    pub(super) stats: Vec<(String, FileStat)>,
}

impl ThreadNameFiles {
    /// Adds to each Codex job the lines about its session if they are new to it, and then marks the job as changed.
    pub(super) fn add_lines_to_jobs(
        &mut self,
        jobs: &mut [(Job, bool)],
        store: Option<&Store>,
    ) -> Result<(), StoreError> {
        let mut changed: HashMap<PathBuf, bool> = HashMap::new();
        for (job, is_changed) in jobs {
            let part = job.source.parts.iter().find(|part| part.kind == PartKind::Index);
            let Some(path) = part.map(|part| part.path.clone()) else {
                continue;
            };
            let file_changed = match changed.get(&path) {
                Some(known) => *known,
                None => *changed.entry(path.clone()).or_insert(self.check_changed(&path, store)?),
            };
            let known = job.cursors.get(PartKind::Index.as_str());
            // An unchanged index is only needed by a session that is read anyway and has no lines of it yet.
            if !file_changed && (known.is_some() || !*is_changed) {
                continue;
            }
            let lines = self
                .load(&path)
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

    /// Returns `true` if the file changed since it was last read, and then remembers its metadata.
    fn check_changed(&mut self, path: &Path, store: Option<&Store>) -> Result<bool, StoreError> {
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

    /// Returns the parsed index. Reads the file on the first call only.
    fn load(&mut self, path: &Path) -> &ThreadNames {
        self.read.entry(path.to_owned()).or_insert_with(|| {
            let tree = path.parent().unwrap_or(path);
            let bytes = files::read_companion(tree, path).unwrap_or_default();
            let mut index = ThreadNames {
                bytes: bytes.len() as u64,
                ..ThreadNames::default()
            };
            for line in breaks::lines(&bytes) {
                if let Ok(named) = serde_json::from_slice::<ThreadNameLine>(line) {
                    index.lines.entry(named.id).or_default().extend_from_slice(line);
                }
            }
            index
        })
    }

    /// Returns the number of bytes read from all indexes.
    pub(super) fn bytes(&self) -> u64 {
        self.read.values().map(|index| index.bytes).sum()
    }
}

/// Returns the cursor of a session in its index. It hashes the lines about the session instead of the file, because the
/// file changes with every other session.
pub(super) fn cursor(session_uid: &str, path: &Path, root: &str, lines: &[u8]) -> Cursor {
    let hash = *blake3::hash(lines).as_bytes();
    Cursor {
        session_uid: session_uid.to_owned(),
        part: PartKind::Index.as_str().to_owned(),
        path: path_text(path),
        root: root.to_owned(),
        stat: FileStat::default(),
        read_to: lines.len() as u64,
        lines: lines.iter().filter(|byte| **byte == b'\n').count() as u64,
        ends_mid_line: false,
        head_hash: hash,
        tail_hash: hash,
    }
}
