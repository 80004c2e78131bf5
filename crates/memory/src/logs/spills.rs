//! Results that were too large for a log and are in files of their own. Whatever path a log names, only files inside
//! the session's own tree are opened.

use std::io::Read;
use std::path::{Path, PathBuf};

use transcript::{SafeName, SessionEvent};

use crate::files;
use crate::ingest::{self, Disclosure, LineForm};
use crate::sources;

/// Maximum number of bytes of a spilled result that are shown.
const SPILL_BYTES_MAX: u64 = 16 << 20;

/// Returns the full result of a tool that was too large for the log. It is only read from the session's own tree.
pub fn spilled<'m>(log: &Path, event: &SessionEvent, disclosure: impl Into<Disclosure<'m>>) -> Option<String> {
    let name = SafeName::new(event.spill.as_deref()?)?;
    let tree = session_tree(&sources::place_of(log))?;
    let path = files::resolve_inside(&tree, &tree.join("tool-results").join(name.as_str())).ok()?;
    let (file, _) = files::open_regular(&path).ok()?;
    let mut bytes = Vec::new();
    file.take(SPILL_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let masked = ingest::mask_bytes(disclosure, LineForm::Text, &bytes, &mut Vec::new());
    Some(String::from_utf8_lossy(&masked).into_owned())
}

/// Returns the spilled results in the tree of a log's session, sorted by name. Symlinks are excluded.
pub(crate) fn spills_of(log: &Path) -> Vec<PathBuf> {
    let Some(tree) = session_tree(&sources::place_of(log)) else {
        return Vec::new();
    };
    let Ok(directory) = files::resolve_inside(&tree, &tree.join("tool-results")) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let regular = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut paths: Vec<PathBuf> = regular.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the directory that belongs to the session of a log; for a subagent's log, its parent's.
pub(crate) fn session_tree(log: &Path) -> Option<PathBuf> {
    let mut ancestors = log.ancestors();
    let above = ancestors.find(|path| path.file_name().is_some_and(|name| name == "subagents"));
    match above {
        Some(subagents) => subagents.parent().map(Path::to_owned),
        None => Some(log.parent()?.join(log.file_stem()?)),
    }
}
