//! The seeded corpus is reproducible, has the requested size, and contains nothing unknown to our readers except planted faults.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memory::ingest::Disclosure;
use memory::logs::read_log;
use memory::mask::{LineState, MaskKey, Masker, UserRules};
use memory::sources::{LogRoot, find_logs};
use testkit::corpus::{self, CorpusShape};
use transcript::{Agent, SessionEvent};

const MEGABYTE: u64 = 1_000_000;

fn files(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the corpus can be listed") {
            let path = entry.expect("the corpus can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("the corpus can be read");
                files.insert(
                    path.strip_prefix(home)
                        .expect("the walk starts at this directory")
                        .to_owned(),
                    bytes,
                );
            }
        }
    }
    files
}

/// Returns a hash of all file names and contents.
fn hash(home: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in files(home) {
        hasher.update(path.to_string_lossy().replace('\\', "/").as_bytes());
        hasher.update(&bytes);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

#[test]
fn a_seed_gives_the_same_bytes_on_every_machine() {
    let write = |seed| {
        let home = tempfile::tempdir().unwrap();
        corpus::write(home.path(), &CorpusShape::with_bytes(seed, MEGABYTE)).unwrap();
        hash(home.path())
    };
    // Update this hash only if the corpus was changed deliberately.
    assert_eq!(write(1), "48ab3c44e1258129");
    assert_ne!(write(2), write(1));
}

#[test]
fn a_corpus_has_the_requested_files_and_bytes() {
    for (seed, bytes) in [(1, MEGABYTE), (2, 12 * MEGABYTE)] {
        let home = tempfile::tempdir().unwrap();
        let shape = CorpusShape::with_bytes(seed, bytes);
        let written = corpus::write(home.path(), &shape).unwrap();
        let files = files(home.path());
        let size: usize = files.values().map(Vec::len).sum();
        assert_eq!((written.files, written.bytes), (files.len(), size as u64));
        assert_eq!(files.len(), shape.files);
        let ratio = size as f64 / bytes as f64;
        assert!((0.98..1.02).contains(&ratio), "{bytes} bytes asked for, {size} written");
    }
}

#[test]
fn one_session_has_the_requested_size() {
    let home = tempfile::tempdir().unwrap();
    let path = corpus::one_session(home.path(), 1, 3 * MEGABYTE).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    assert!((2_940_000..3_060_000).contains(&size), "{size}");
    let log = read_log(&path, None, Disclosure::revealed_by_owner()).unwrap();
    assert_eq!(log.agent, Agent::Claude);
    assert!(log.reading.turns.len() > 5, "{}", log.reading.turns.len());
}

#[test]
fn every_log_is_read_and_only_torn_lines_are_faults() {
    let home = tempfile::tempdir().unwrap();
    let written = corpus::write(home.path(), &CorpusShape::with_bytes(3, 20 * MEGABYTE)).unwrap();
    let (mut faults, mut calls) = (0, BTreeMap::new());
    for agent in Agent::ALL {
        let root = LogRoot {
            agent,
            path: home.path().join(format!(".{}", agent.as_str())),
            label: None,
        };
        let found = find_logs(&root);
        assert_eq!(found.unread, []);
        for log in found.logs {
            let read = read_log(&log.path, Some(agent), Disclosure::revealed_by_owner()).unwrap();
            let (path, reading) = (log.path.display(), &read.reading);
            assert!(reading.unknown.is_empty(), "{path}: {:?}", reading.unknown);
            // A subagent has no prompt of the user.
            let is_subagent = reading.session.as_ref().is_some_and(|session| session.is_subagent);
            assert_eq!(
                reading.turns.is_empty(),
                is_subagent,
                "{path}: {} turns",
                reading.turns.len()
            );
            // A command that is still running when it is polled has no result yet.
            let waits = |event: &SessionEvent| event.success.is_none() && event.tool.as_deref() != Some("write_stdin");
            let unjoined = reading
                .events
                .iter()
                .filter(|event| event.tool.is_some() && waits(event));
            assert_eq!(unjoined.count(), 0, "{path}: tool calls without a result");
            faults += read.parts.iter().map(|part| part.fates.fault).sum::<u64>();
            *calls.entry(agent).or_insert(0) += reading.calls.len();
        }
    }
    assert_eq!(faults, written.torn_lines);
    assert!(faults > 0, "a few lines are torn");
    assert!(calls.len() == 3 && calls.values().all(|calls| *calls > 0), "{calls:?}");
}

#[test]
fn planted_secrets_are_found_by_the_mask() {
    let home = tempfile::tempdir().unwrap();
    let written = corpus::write(home.path(), &CorpusShape::with_bytes(4, 20 * MEGABYTE)).unwrap();
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
    let mut seen = 0;
    for bytes in files(home.path()).values() {
        let text = String::from_utf8_lossy(bytes);
        for secret in written.secrets.iter().filter(|secret| text.contains(*secret)) {
            for line in text.lines().filter(|line| line.contains(secret)) {
                let masked = masker
                    .mask_next_line(&mut LineState::default(), line.as_bytes(), &mut Vec::new())
                    .into_owned();
                assert!(!String::from_utf8_lossy(&masked).contains(secret), "{secret} is masked");
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "{} secrets in the corpus", written.secrets.len());
}
