//! Exports digests and decisions as one JSON file each, for other programs to index. Only masked text is written. A
//! file is written completely or not at all, and only its owner can read it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The kind of an exported file, which selects its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportKind {
    Digest,
    Decision,
}

impl ExportKind {
    fn directory(self) -> &'static str {
        match self {
            Self::Digest => "digests",
            Self::Decision => "decisions",
        }
    }
}

/// Returns the path of an exported file. `name` is untrusted, so it is reduced to a safe file name.
pub fn export_path(directory: &Path, kind: ExportKind, name: &str) -> PathBuf {
    directory
        .join(kind.directory())
        .join(format!("{}.json", safe_file_stem(name)))
}

/// Writes one file, replacing an earlier one of the same name.
pub fn write_export(directory: &Path, kind: ExportKind, name: &str, content: &impl Serialize) -> io::Result<PathBuf> {
    let path = export_path(directory, kind, name);
    let directory = directory.join(kind.directory());
    fs::create_dir_all(&directory)?;
    let temporary = directory.join(format!(".{}.{}.new", safe_file_stem(name), std::process::id()));
    let mut text = serde_json::to_vec_pretty(content).map_err(io::Error::other)?;
    text.push(b'\n');
    let written = open_private(&temporary).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, &path)) {
        _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(path)
}

fn open_private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns a file name of letters, digits, `-` and `_`. If other characters were replaced, a hash is appended so that
/// different names stay different.
fn safe_file_stem(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain: String = name.chars().take(100).map(|c| if keep(c) { c } else { '-' }).collect();
    // Replacing the single colon of a uid keeps names unique, so it needs no hash.
    let same = name.replacen(':', "-", 1);
    if plain == same && name.len() <= 100 {
        return plain;
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    format!("{plain}-{}", &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_replaces_the_previous_one_and_stays_in_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, number: u32| write_export(place.path(), ExportKind::Digest, name, &number).unwrap();
        let path = write("claude:one", 1);
        assert_eq!(path, place.path().join("digests/claude-one.json"));
        write("claude:one", 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), "2\n");
        let hostile = write("claude:../../x", 3);
        assert!(hostile.parent().unwrap().ends_with("digests"), "{hostile:?}");
        assert_ne!(write("claude:a/b", 4), write("claude:a-b", 5));
        assert_eq!(fs::read_dir(place.path().join("digests")).unwrap().count(), 4);
    }
}
