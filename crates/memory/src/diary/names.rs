//! Names inside a workspace. They come from strangers' trees and records: each passes through [`SafeName`], and two files
//! never share one.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use transcript::SafeName;

use super::roots::hex;

const HASH_DIGITS: usize = 8;
/// Room for a hash in a name that is cut.
const STEM_BYTES_MAX: usize = 200;

/// The names that one directory holds so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// In small letters: some file systems do not tell them apart.
    taken: HashSet<String>,
}

impl Names {
    /// A name for a file that is called `wanted` and comes from `place`. Where another one has it, or nothing may be
    /// called so, a hash of the place makes it its own.
    pub(super) fn give(&mut self, wanted: &str, place: &str) -> SafeName {
        if let Some(name) = SafeName::new(wanted)
            && self.taken.insert(wanted.to_lowercase())
        {
            return name;
        }
        let name = with_hash(wanted, place);
        self.taken.insert(name.as_str().to_lowercase());
        name
    }
}

/// A name that can be a directory's: itself, or a safe one made of it.
pub(super) fn safe(wanted: &str) -> SafeName {
    SafeName::new(wanted).unwrap_or_else(|| with_hash(wanted, wanted))
}

fn with_hash(wanted: &str, place: &str) -> SafeName {
    let hash = hex(&Sha256::digest(place.as_bytes()));
    let (stem, end) = match wanted.rsplit_once('.') {
        Some((stem, end)) if end.bytes().all(|byte| byte.is_ascii_alphanumeric()) && end.len() <= 8 => (stem, end),
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
    let name = if end.is_empty() { name } else { format!("{name}.{end}") };
    SafeName::new(&name).expect("letters, digits, dots and dashes around a hash make a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_a_name_carries_a_hash() {
        let mut names = Names::default();
        assert_eq!(names.give("s.jsonl", "/a/s.jsonl").as_str(), "s.jsonl");
        let second = names.give("s.jsonl", "/b/s.jsonl");
        assert!(second.as_str().starts_with("s-") && second.as_str().ends_with(".jsonl"));
        assert_eq!(second.as_str().len(), "s-01234567.jsonl".len());
        assert_ne!(names.give("S.jsonl", "/c/S.jsonl").as_str(), "S.jsonl");
    }

    #[test]
    fn no_name_leads_out() {
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
            let name = safe(wanted);
            assert!(!name.as_str().contains(['/', '\\', '\0', '\n', ':']), "{wanted:?}");
            assert!(!name.as_str().starts_with('.'), "{wanted:?}");
        }
        assert!(safe(&"x".repeat(4_000)).as_str().len() < 255);
    }
}
