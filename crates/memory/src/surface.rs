//! Digests and decisions as files, one JSON file each, for whoever indexes them. Only masked text is written, into files
//! that are there wholly or not at all and that only their owner can read.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// What a file is about, which is the directory it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Digest,
    Decision,
}

impl Subject {
    fn directory(self) -> &'static str {
        match self {
            Self::Digest => "digests",
            Self::Decision => "decisions",
        }
    }
}

/// Where a file lies. `name` may be a stranger's word: it is the file's name only as far as that is harmless.
pub fn path(directory: &Path, subject: Subject, name: &str) -> PathBuf {
    directory
        .join(subject.directory())
        .join(format!("{}.json", harmless(name)))
}

/// Writes one file in the place of the one before.
pub fn write(directory: &Path, subject: Subject, name: &str, content: &impl Serialize) -> io::Result<PathBuf> {
    let path = path(directory, subject, name);
    let directory = directory.join(subject.directory());
    fs::create_dir_all(&directory)?;
    let beside = directory.join(format!(".{}.{}.new", harmless(name), std::process::id()));
    let mut text = serde_json::to_vec_pretty(content).map_err(io::Error::other)?;
    text.push(b'\n');
    let written = open(&beside).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&beside, &path)) {
        _ = fs::remove_file(&beside);
        return Err(error);
    }
    Ok(path)
}

fn open(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A name of letters, digits, `-` and `_`, and a hash where others stood in it: two names stay two.
fn harmless(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain: String = name.chars().take(100).map(|c| if keep(c) { c } else { '-' }).collect();
    // A uid has one colon, which is the one change that loses nothing.
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
    fn a_file_takes_the_place_of_the_one_before_and_stays_in_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, number: u32| write(place.path(), Subject::Digest, name, &number).unwrap();
        let path = write("claude:one", 1);
        assert_eq!(path, place.path().join("digests/claude-one.json"));
        write("claude:one", 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), "2\n");
        let strange = write("claude:../../x", 3);
        assert!(strange.parent().unwrap().ends_with("digests"), "{strange:?}");
        assert_ne!(write("claude:a/b", 4), write("claude:a-b", 5));
        assert_eq!(fs::read_dir(place.path().join("digests")).unwrap().count(), 4);
    }
}
