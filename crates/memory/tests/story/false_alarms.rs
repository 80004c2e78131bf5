//! False positives of masking, counted in real logs if `BOSWELL_CORPUS` names a directory with them.
//!
//! This file contains only counts, never text. Every hit in the table was checked by hand; `docs/masking.md` describes
//! them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use memory::mask::{LineState, MaskKey, Masker, TextState, UserRules};

/// The hash of the catalogue of the counted logs.
const CATALOGUE: &str = "eca5c916fb3cf3e5";

const COUNTS: &[(&str, usize)] = &[
    ("anthropic-key", 1),
    ("aws-access-key", 1),
    ("aws-secret-key", 1),
    ("curl-password", 2),
    ("flag-secret", 3),
    ("github-token", 2),
    ("google-client-secret", 1),
    ("jwt", 81),
    ("named-secret", 15),
    ("npm-token", 1),
    ("openai-key", 1),
    ("password", 1),
    ("private-key", 1),
    ("sendgrid-key", 1),
    ("stripe-key", 3),
    ("url-password", 2),
];

/// Returns all logs and companion files below `root`.
fn files_below(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "jsonl" || end == "json") {
            files.push(path);
        }
    }
    files
}

fn count(masker: &Masker, path: &Path, counts: &mut BTreeMap<String, usize>) {
    let bytes = fs::read(path).unwrap();
    let is_log = path.extension() == Some(OsStr::new("jsonl"));
    let (mut lines, mut text, mut hits) = (LineState::default(), TextState::default(), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        if is_log {
            masker.mask_next_line(&mut lines, line, &mut hits);
        } else {
            masker.mask_text_line(&mut text, line, &mut hits);
        }
    }
    for hit in hits {
        *counts.entry(hit.rule.into_owned()).or_default() += 1;
    }
}

#[test]
fn real_logs_contain_as_many_hits_as_were_checked_by_hand() {
    let Some(root) = std::env::var_os("BOSWELL_CORPUS").map(PathBuf::from) else {
        return;
    };
    let catalogue = fs::read(root.join("CATALOG.tsv")).unwrap_or_default();
    if blake3::hash(&catalogue).to_hex()[..16] != *CATALOGUE {
        // These are not the logs that were checked.
        return;
    }
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
    let mut counts = BTreeMap::new();
    for path in files_below(&root) {
        count(&masker, &path, &mut counts);
    }
    let expected: BTreeMap<_, _> = COUNTS
        .iter()
        .map(|(rule, count)| ((*rule).to_owned(), *count))
        .collect();
    assert_eq!(counts, expected);
}
