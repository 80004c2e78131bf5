//! Two sweeps at once, told step by step: what one of them made of an earlier state never takes the place of what the other wrote since.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use testkit::corpus::{self, Shape};
use transcript::Agent;

use super::Writer;
use crate::kept;
use crate::mask::{MaskKey, Masker, UserRules};
use crate::sources::Root;
use crate::store::{Patience, Place, Store};
use crate::sweep::piece::{Output, Piece};
use crate::sweep::plan::{self, Plan};
use crate::sweep::{Sweep, run, work};

const WAIT: Patience<'static> = Patience::Wait(&|| {});
const HALF: (usize, usize) = (1, 2);
const WHOLE: (usize, usize) = (1, 1);
/// The file that comes after the others.
const LATE: &str = "events.jsonl";

/// One session of Grok, whose reader remembers what several files told.
struct World {
    home: TempDir,
    roots: [Root; 1],
    masker: Masker,
    place: Place,
    now: Timestamp,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = Root {
            agent: Agent::Grok,
            path: home.path().join(".grok"),
            label: None,
        };
        Self {
            roots: [root],
            masker: Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap(),
            place: home.path().join("store").as_path().into(),
            now: Timestamp::now() + SignedDuration::from_hours(1),
            files: a_session_of_many_files(),
            home,
        }
    }

    /// Writes the files that are asked for: of those with lines a share, of others all.
    fn write(&self, is_asked: impl Fn(&Path) -> bool, (share, of): (usize, usize)) {
        for (name, bytes) in self.files.iter().filter(|(name, _)| is_asked(name)) {
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

    /// What the workers of a sweep hand over.
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

/// The files of a made-up session of Grok that has all kinds of them, each with its path below the root.
fn a_session_of_many_files() -> Vec<(PathBuf, Vec<u8>)> {
    let staged = tempfile::tempdir().unwrap();
    let shape = Shape {
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

/// All that a memory has: rows, and the bytes of every part.
fn all_of(place: &Place) -> Vec<String> {
    let store = Store::open(place).unwrap();
    let mut all = store.reads().derived_rows().unwrap();
    for uid in store.reads().sessions().unwrap().into_iter().map(|row| row.session_uid) {
        for (_, part) in kept::parts(&store, &uid).unwrap() {
            let mut bytes = Vec::new();
            kept::cat(&store, &uid, &part, &mut bytes).unwrap().unwrap();
            all.push(format!("{part}: {}", String::from_utf8(bytes).unwrap()));
        }
    }
    all
}

/// What a memory has that reads everything in one go.
fn all_at_once(world: &World) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().into();
    let sweep = Sweep::new(&place, &world.roots, &world.masker, world.now);
    run(&sweep, WAIT).unwrap();
    all_of(&place)
}

#[test]
fn what_a_reader_remembered_before_another_sweep_read_on_is_not_put() {
    let world = World::new();
    let is_late = |name: &Path| name.ends_with(LATE);
    world.write(|name| !is_late(name), HALF);
    run(&world.sweep(), WAIT).unwrap();
    world.write(is_late, HALF);
    let plan = world.plan();
    let pieces = world.pieces(&plan);
    assert!(
        pieces.len() > 1,
        "a piece for a file that tells nothing new, and one for the late one"
    );
    run(&world.sweep(), WAIT).unwrap();
    let (mut store, sweep) = (world.store(), world.sweep());
    Writer::new(&mut store, &sweep, WAIT, "sweep", &plan)
        .commit(pieces)
        .unwrap();
    // What it remembers shows when it reads on.
    world.write(|_| true, WHOLE);
    run(&world.sweep(), WAIT).unwrap();
    assert_eq!(all_of(&world.place), all_at_once(&world));
}

#[test]
fn sweeps_that_make_a_session_anew_do_not_mix_their_pieces() {
    let world = World::new();
    world.write(|_| true, WHOLE);
    run(&world.sweep(), WAIT).unwrap();
    // Other logs at the same place: they are read from their beginning, beside what is kept.
    world.write(|name| name.extension().is_some_and(|end| end == "jsonl"), HALF);
    let plan = world.plan();
    let (mut first, mut other) = (world.pieces(&plan), world.pieces(&plan));
    assert!(
        first.len() > 2 && first[0].into != first[0].uid,
        "made anew, in some pieces"
    );
    let (first_rest, other_rest) = (first.split_off(first.len() - 1), other.split_off(1));
    let sweep = world.sweep();
    let (mut first_store, mut other_store) = (world.store(), world.store());
    let mut first_writer = Writer::new(&mut first_store, &sweep, WAIT, "sweep", &plan);
    let mut other_writer = Writer::new(&mut other_store, &sweep, WAIT, "sweep", &plan);
    first_writer.commit(first).unwrap();
    other_writer.commit(other).unwrap();
    first_writer.commit(first_rest).unwrap();
    other_writer.commit(other_rest).unwrap();
    assert_eq!(all_of(&world.place), all_at_once(&world));
}
