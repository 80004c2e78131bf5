//! Two concurrent sweeps, simulated step by step: a piece based on outdated cursors never replaces what the other sweep
//! has written since.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use testkit::corpus::{self, CorpusShape};
use transcript::Agent;

use super::Writer;
use crate::kept;
use crate::mask::{MaskKey, Masker, UserRules};
use crate::sources::LogRoot;
use crate::store::{LockWait, Store, StoreLocation};
use crate::sweep::piece::{Output, Piece};
use crate::sweep::plan::{self, Plan};
use crate::sweep::{Sweep, run, work};

const WAIT: LockWait<'static> = LockWait::Wait(&|| {});
const HALF: (usize, usize) = (1, 2);
const WHOLE: (usize, usize) = (1, 1);
/// The file that is written after the others.
const LATE: &str = "events.jsonl";

/// A session of Grok, because its reader's state depends on several files.
struct SweepSetup {
    home: TempDir,
    roots: [LogRoot; 1],
    masker: Masker,
    place: StoreLocation,
    now: Timestamp,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl SweepSetup {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = LogRoot {
            agent: Agent::Grok,
            path: home.path().join(".grok"),
            label: None,
        };
        Self {
            roots: [root],
            masker: Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap(),
            place: home.path().join("store").as_path().into(),
            now: Timestamp::now() + SignedDuration::from_hours(1),
            files: generate_session(),
            home,
        }
    }

    /// Writes the selected files: a share of the lines of `.jsonl` files, all of the others.
    fn write(&self, is_selected: impl Fn(&Path) -> bool, (share, of): (usize, usize)) {
        for (name, bytes) in self.files.iter().filter(|(name, _)| is_selected(name)) {
            let path = self.home.path().join(".grok").join(name);
            let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            let is_lines = name.extension().is_some_and(|end| end == "jsonl");
            let end = if is_lines {
                lines.len() * share / of
            } else {
                lines.len()
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, lines[..end].concat()).unwrap();
        }
    }

    fn sweep(&self) -> Sweep<'_> {
        Sweep::new(&self.place, &self.roots, &self.masker, self.now)
    }

    fn store(&self) -> Store {
        Store::open(&self.place).unwrap()
    }

    fn plan(&self) -> Plan {
        let sweep = self.sweep();
        Plan::make(&sweep, Some(&self.store()), plan::walk(&sweep), &HashSet::new()).unwrap()
    }

    /// Returns the pieces that the workers of a sweep send.
    fn pieces(&self, plan: &Plan) -> Vec<Piece> {
        let (store, pieces) = (self.store(), Mutex::new(Vec::new()));
        for job in &plan.jobs {
            work::run(job, &self.sweep(), &store, &|output| {
                if let Output::Piece(piece) = output {
                    pieces.lock().unwrap().push(piece);
                }
                true
            });
        }
        pieces.into_inner().unwrap()
    }
}

/// Returns the files of a generated session of Grok with all kinds of files, each with its path below the root.
fn generate_session() -> Vec<(PathBuf, Vec<u8>)> {
    let staged = tempfile::tempdir().unwrap();
    let shape = CorpusShape {
        seed: 17,
        bytes: 1_000_000,
        files: 40,
    };
    corpus::write(staged.path(), &shape).unwrap();
    let root = staged.path().join(".grok");
    let late = walkdir::WalkDir::new(&root)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .find(|path| path.ends_with(LATE) && path.with_file_name("updates.jsonl").exists());
    let folder = late.unwrap().parent().unwrap().to_owned();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    files
        .map(|path| (path.strip_prefix(&root).unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}

/// Returns everything in a store: the derived rows and the bytes of every part.
fn dump_store(place: &StoreLocation) -> Vec<String> {
    let store = Store::open(place).unwrap();
    let mut all = store.reads().derived_rows().unwrap();
    for uid in store.reads().sessions().unwrap().into_iter().map(|row| row.session_uid) {
        for (_, part) in kept::list_parts(&store, &uid).unwrap() {
            let mut bytes = Vec::new();
            kept::write_part(&store, &uid, &part, &mut bytes).unwrap().unwrap();
            all.push(format!("{part}: {}", String::from_utf8(bytes).unwrap()));
        }
    }
    all
}

/// Returns everything in a store that has read all logs in a single sweep.
fn dump_single_sweep(setup: &SweepSetup) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().into();
    let sweep = Sweep::new(&place, &setup.roots, &setup.masker, setup.now);
    run(&sweep, WAIT).unwrap();
    dump_store(&place)
}

#[test]
fn a_piece_based_on_an_outdated_reader_state_is_dropped() {
    let setup = SweepSetup::new();
    let is_late = |name: &Path| name.ends_with(LATE);
    setup.write(|name| !is_late(name), HALF);
    run(&setup.sweep(), WAIT).unwrap();
    setup.write(is_late, HALF);
    let plan = setup.plan();
    let pieces = setup.pieces(&plan);
    assert!(
        pieces.len() > 1,
        "expected a piece for an unchanged file and one for the late file"
    );
    run(&setup.sweep(), WAIT).unwrap();
    let (mut store, sweep) = (setup.store(), setup.sweep());
    Writer::new(&mut store, &sweep, WAIT, "sweep", &plan)
        .commit(pieces)
        .unwrap();
    // A wrong reader state shows when reading continues.
    setup.write(|_| true, WHOLE);
    run(&setup.sweep(), WAIT).unwrap();
    assert_eq!(dump_store(&setup.place), dump_single_sweep(&setup));
}

#[test]
fn two_sweeps_that_rebuild_a_session_do_not_mix_their_pieces() {
    let setup = SweepSetup::new();
    setup.write(|_| true, WHOLE);
    run(&setup.sweep(), WAIT).unwrap();
    // Different logs at the same paths are read from the beginning, beside what is stored.
    setup.write(|name| name.extension().is_some_and(|end| end == "jsonl"), HALF);
    let plan = setup.plan();
    let (mut first, mut other) = (setup.pieces(&plan), setup.pieces(&plan));
    assert!(
        first.len() > 2 && first[0].into != first[0].uid,
        "expected a rebuild in several pieces"
    );
    let (first_rest, other_rest) = (first.split_off(first.len() - 1), other.split_off(1));
    let sweep = setup.sweep();
    let (mut first_store, mut other_store) = (setup.store(), setup.store());
    let mut first_writer = Writer::new(&mut first_store, &sweep, WAIT, "sweep", &plan);
    let mut other_writer = Writer::new(&mut other_store, &sweep, WAIT, "sweep", &plan);
    first_writer.commit(first).unwrap();
    other_writer.commit(other).unwrap();
    first_writer.commit(first_rest).unwrap();
    other_writer.commit(other_rest).unwrap();
    assert_eq!(dump_store(&setup.place), dump_single_sweep(&setup));
}
