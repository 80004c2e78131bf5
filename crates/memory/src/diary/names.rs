//! File names in a workspace. They come from untrusted directories and records, so each one must pass [`SafeName`], and
//! no two files get the same name.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use transcript::SafeName;

use super::roots::hex;

const HASH_DIGITS: usize = 8;
/// Leaves space for the hash and the extension within 255 bytes.
const STEM_BYTES_MAX: usize = 200;

/// The names already used in one directory.
#[derive(Debug, Default)]
pub(super) struct DirectoryNames {
    /// In lower case, because some file systems ignore case.
    used: HashSet<String>,
}

impl DirectoryNames {
    /// Returns a name for the file `wanted` from the path `place`. If the name is used or unsafe, a hash of the path is
    /// added to it.
    pub(super) fn assign(&mut self, wanted: &str, place: &str) -> SafeName {
        if let Some(name) = SafeName::new(wanted)
            && self.used.insert(wanted.to_lowercase())
        {
            return name;
        }
        let name = hashed_name(wanted, place);
        self.used.insert(name.as_str().to_lowercase());
        name
    }
}

/// Returns `wanted` if it is a safe name, or else a safe name derived from it.
pub(super) fn safe_name(wanted: &str) -> SafeName {
    SafeName::new(wanted).unwrap_or_else(|| hashed_name(wanted, wanted))
}

fn hashed_name(wanted: &str, place: &str) -> SafeName {
    let hash = hex(&Sha256::digest(place.as_bytes()));
    let (stem, extension) = match wanted.rsplit_once('.') {
        Some((stem, extension))
            if extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) && extension.len() <= 8 =>
        {
            (stem, extension)
        }
        _ => (wanted, ""),
    };
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        }
    };
    let mut stem: String = stem.chars().map(plain).take(STEM_BYTES_MAX).collect();
    if stem.is_empty() || SafeName::new(&stem).is_none() {
        stem = format!("log-{}", stem.trim_matches(['.', '-']));
    }
    let name = format!("{stem}-{}", &hash[..HASH_DIGITS]);
    let name = if extension.is_empty() {
        name
    } else {
        format!("{name}.{extension}")
    };
    SafeName::new(&name).expect("letters, digits, dots and dashes around a hash make a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_file_of_a_name_gets_a_hash() {
        let mut names = DirectoryNames::default();
        assert_eq!(names.assign("s.jsonl", "/a/s.jsonl").as_str(), "s.jsonl");
        let second = names.assign("s.jsonl", "/b/s.jsonl");
        assert!(second.as_str().starts_with("s-") && second.as_str().ends_with(".jsonl"));
        assert_eq!(second.as_str().len(), "s-01234567.jsonl".len());
        assert_ne!(names.assign("S.jsonl", "/c/S.jsonl").as_str(), "S.jsonl");
    }

    #[test]
    fn no_name_escapes_the_directory() {
        for wanted in [
            "../../x",
            "..",
            ".",
            "",
            "a/b",
            "con",
            "nul.jsonl",
            ".hidden.jsonl",
            "x\n.jsonl",
            "日\0",
            "a:b.c:d",
        ] {
            let name = safe_name(wanted);
            assert!(!name.as_str().contains(['/', '\\', '\0', '\n', ':']), "{wanted:?}");
            assert!(!name.as_str().starts_with('.'), "{wanted:?}");
        }
        assert!(safe_name(&"x".repeat(4_000)).as_str().len() < 255);
    }
}
