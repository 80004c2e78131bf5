//! Stored sessions can be restored, read line by line, and followed while they grow, and the user's annotations stay.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::annotations::{self, AnnotationText, Tag, TagChange};
use memory::follow::Follow;
use memory::kept;
use memory::restore::{self, RestoreTarget};
use memory::store::AnnotationKind;
use testkit::corpus;
use transcript::SessionEvent;

use super::home::{Home, LOG, UID, WAIT, full_home, prompt};

/// Creates a home with sessions of all three agents, and sweeps it.
fn swept_home() -> Home {
    let home = Home::new();
    corpus::write(&home.path(""), &corpus::CorpusShape::with_bytes(5, 2_000_000)).unwrap();
    home.sweep();
    home
}

/// Returns the bytes of every file below a directory, by path.
fn read_tree(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => read_tree(&path, found),
            false => {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
}

fn uids(home: &Home) -> Vec<String> {
    let sessions = home.store().reads().sessions().unwrap();
    sessions.into_iter().map(|session| session.session_uid).collect()
}

#[test]
fn restored_bytes_equal_the_stored_ones_for_every_part_of_every_agent() {
    let home = swept_home();
    let store = home.store();
    let mut agents = BTreeSet::new();
    for (at, uid) in uids(&home).iter().enumerate() {
        let target = home.path(&format!("out/{at}"));
        let plan = restore::plan_restore(&home.texts(&store), uid, RestoreTarget::Directory(&target)).unwrap();
        let written = restore::apply_restore(&home.texts(&store), &plan).unwrap();
        assert_eq!(written as usize, plan.files.len(), "{uid}");
        assert!(!plan.files.is_empty(), "{uid}");
        for file in &plan.files {
            assert!(file.path.starts_with(&target), "{}", file.path.display());
            let kept = home.cat_part(&file.session_uid, &file.part);
            assert_eq!(fs::read(&file.path).unwrap(), kept.as_bytes(), "{uid} {}", file.part);
        }
        agents.insert(uid.split(':').next().unwrap().to_owned());
        // A second time, all files exist, and none is written.
        let again = restore::plan_restore(&home.texts(&store), uid, RestoreTarget::Directory(&target)).unwrap();
        assert!(again.files.iter().all(|file| file.is_there));
        assert_eq!(restore::apply_restore(&home.texts(&store), &again).unwrap(), 0);
    }
    assert_eq!(agents.len(), 3);
}

#[test]
fn restoring_in_place_recreates_every_file_and_a_sweep_makes_the_same_rows() {
    let home = swept_home();
    let roots = home.roots();
    let mut before = BTreeMap::new();
    roots.iter().for_each(|root| read_tree(&root.path, &mut before));
    let rows = home.rows();
    for root in &roots {
        fs::remove_dir_all(&root.path).unwrap();
    }
    let store = home.store();
    for uid in uids(&home) {
        let plan = restore::plan_restore(&home.texts(&store), &uid, RestoreTarget::InPlace(&roots)).unwrap();
        restore::apply_restore(&home.texts(&store), &plan).unwrap();
    }
    let mut after = BTreeMap::new();
    roots.iter().for_each(|root| read_tree(&root.path, &mut after));
    for (path, bytes) in &after {
        // A compressed log is restored uncompressed.
        let packed = PathBuf::from(format!("{}.zst", path.display()));
        let lay_there = before.contains_key(path) || before.contains_key(&packed);
        assert!(lay_there, "{}", path.display());
        let is_masked = String::from_utf8_lossy(bytes).contains("[REDACTED:");
        assert!(
            is_masked || before.get(path).is_none_or(|old| old == bytes),
            "{}",
            path.display()
        );
    }
    assert!(after.len() > 40, "{}", after.len());
    drop(store);
    home.sweep();
    assert_eq!(home.rows(), rows);
}

#[test]
fn texts_from_packs_equal_those_of_the_log() {
    let home = full_home();
    home.sweep();
    let store = home.store();
    let mut compared = 0;
    for uid in uids(&home) {
        let path = PathBuf::from(store.reads().log_path(&uid).unwrap());
        let agent = kept::agent_of(&uid).unwrap();
        let events = store.reads().events(&uid).unwrap();
        let texts = kept::read_texts(&store, &uid, &events).unwrap();
        let reading = memory::logs::read_log(&path, Some(agent), &home.masker).unwrap();
        let mut show = |event: &SessionEvent, text: Option<String>| -> Result<(), ()> {
            if let Some(text) = text.filter(|_| event.spill.is_none()) {
                assert_eq!(texts.get(&event.seq), Some(&text), "{uid} {}", event.seq);
                compared += 1;
            }
            Ok(())
        };
        memory::logs::each_text(&reading, &home.masker, |_| true, &mut show)
            .unwrap()
            .unwrap();
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_log_is_followed_from_its_cursor_and_a_torn_line_waits() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    home.sweep_at(Timestamp::now());
    let store = home.store();
    let mut follow = Follow::open(&store, UID).unwrap().unwrap();
    let mut poll = || {
        let appended = follow.poll(&home.masker).map_err(|_| "lost").unwrap();
        let events = appended.delta.events.iter();
        events
            .map(|event| format!("{} {} {}", event.seq, event.line, appended.texts[&event.seq]))
            .collect::<Vec<_>>()
    };
    assert_eq!(poll(), Vec::<String>::new());
    let (two, three) = (prompt("two"), prompt("three"));
    home.write(LOG, prompt("one") + &two + &three[..20]);
    assert_eq!(poll(), ["1 2 two"]);
    assert_eq!(poll(), Vec::<String>::new());
    home.write(LOG, prompt("one") + &two + &three);
    assert_eq!(poll(), ["2 3 three"]);
    home.write(LOG, "");
    assert!(follow.poll(&home.masker).is_err());
}

#[test]
fn annotations_outlive_their_session() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    home.sweep();
    let now = Timestamp::now();
    let mut store = home.store();
    let tag = Tag::new("#Mine", &home.masker).unwrap();
    annotations::change_tags(&mut store, WAIT, now, UID, &[tag], TagChange::Add).unwrap();
    let note = AnnotationText::new(AnnotationKind::Note, "a note", &home.masker).unwrap();
    let said = annotations::annotate(&mut store, WAIT, now, UID, AnnotationKind::Note, &note)
        .unwrap()
        .annotations;
    assert_eq!(
        (said.tags.as_slice(), said.note.as_deref()),
        (&["mine".to_owned()][..], Some("a note"))
    );
    home.rebuild();
    let lock = store.lock(WAIT).unwrap();
    store
        .write(&lock, now, "test", |tx| {
            tx.drop_session(UID).map(|()| ((), "dropped it".to_owned()))
        })
        .unwrap();
    drop(lock);
    assert_eq!(home.store().reads().annotations_of(UID).unwrap(), said);
    home.write(LOG, prompt("another"));
    home.sweep();
    assert_eq!(home.store().reads().annotations_of(UID).unwrap(), said);
}
