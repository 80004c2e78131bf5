//! Damage to every page of the database, to every pack, and to whole files. The doctor never reports a memory as whole
//! that gives wrong answers, a repair restores everything that packs or logs still have, and messages name the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use testkit::faults::{Ended, Fault};

use crate::home::{Home, SESSION, each, none, takes_all};

/// The size of a page of the database.
const PAGE_BYTES: usize = 16 << 10;

/// Commands that print the user's annotations, which no log contains.
const OWN_WORDS: [&str; 3] = ["show SESSION --json --no-sweep", "decisions --json", "journal --json"];

/// A kind of damage to a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Zeros { page: usize },
    Noise { page: usize },
    Cut { bytes: usize },
    Flip { at: usize },
    Empty,
    Gone,
}

impl Damage {
    fn happens_to(self, path: &PathBuf) {
        let mut bytes = fs::read(path).unwrap();
        let page = |page: usize, bytes: &[u8]| page * PAGE_BYTES..((page + 1) * PAGE_BYTES).min(bytes.len());
        match self {
            Self::Zeros { page: at } => {
                let range = page(at, &bytes);
                bytes[range].fill(0);
            }
            Self::Noise { page: at } => {
                let mut seed = at as u64 + 1;
                let range = page(at, &bytes);
                for byte in &mut bytes[range] {
                    seed ^= seed << 13;
                    seed ^= seed >> 7;
                    seed ^= seed << 17;
                    *byte = seed as u8;
                }
            }
            Self::Cut { bytes: length } => bytes.truncate(length),
            Self::Flip { at } => bytes[at] ^= 0x10,
            Self::Empty => bytes.clear(),
            Self::Gone => return fs::remove_file(path).unwrap(),
        }
        fs::write(path, bytes).unwrap();
    }
}

/// Returns a memory of quiet sessions and a growing one, with annotations of the user. All of it is in the database
/// file.
fn remembered() -> Home {
    let home = Home::with_logs();
    home.sweep();
    for line in [
        format!("tag {SESSION} harvest"),
        format!("note {SESSION} barley"),
        "decide rye".to_owned(),
        format!("keep {SESSION}"),
    ] {
        let ended = home.run(&line);
        assert!(ended.status.success(), "{line}: {ended:?}");
    }
    home.sweep();
    assert!(!home.store().join("store.db-wal").exists());
    let deep = home.run("doctor --deep");
    assert!(deep.status.success(), "{deep:?}");
    home
}

/// Returns a copy of the home in which the logs of all agents are deleted.
fn without_logs(home: &Home) -> Home {
    let copy = home.copy();
    for root in [".claude", ".codex", ".grok"] {
        fs::remove_dir_all(copy.path.join(root)).unwrap();
    }
    copy
}

/// Returns kept lines by session and part, and each session's rows that are derived from lines.
fn kept(home: &Home) -> Result<BTreeMap<String, String>, String> {
    let answers = home.answers()?;
    let mut kept = BTreeMap::new();
    for answer in answers {
        if let Some((name, text)) = answer.strip_prefix("kept ").and_then(|kept| kept.split_once('\n')) {
            kept.insert(name.to_owned(), text.to_owned());
        } else if let Some((uid, row)) = answer.split_once(' ').filter(|(uid, _)| uid.contains(':')) {
            let rows: &mut String = kept.entry(format!("{uid} rows")).or_default();
            rows.push_str(row);
            rows.push('\n');
        }
    }
    Ok(kept)
}

fn own_words(home: &Home) -> Vec<String> {
    let ask = |line: &&str| home.run(&line.replace("SESSION", SESSION)).stdout;
    // New entries are added to the journal, so only the first ones can be compared.
    let words = ["harvest", "barley", "rye", "read "];
    let told: String = OWN_WORDS.iter().map(ask).collect();
    words
        .iter()
        .filter(|word| told.contains(*word))
        .map(|word| (*word).to_owned())
        .collect()
}

/// Returns the problems in how a damaged memory is reported and repaired.
fn trouble(home: &Home, before: &BTreeMap<String, String>, own: &[String]) -> Vec<String> {
    let mut told = Vec::new();
    let deep = home.run("doctor --deep");
    let is_right = kept(home).is_ok_and(|now| now == *before) && own_words(home) == own;
    if deep.status.success() && !is_right {
        told.push("the doctor calls it whole, and its answers are wrong".to_owned());
    }
    if !deep.status.success() && (deep.status.code() != Some(2) || !deep.stdout.contains("damaged")) {
        told.push(format!("the doctor says no clear word: {deep:?}"));
    }
    let repair = home.run("doctor --repair");
    if repair.is_late || !matches!(repair.status.code(), Some(0 | 2)) || repair.stderr.contains("error:") {
        told.push(format!("no repair: {repair:?}"));
        return told;
    }
    match kept(home) {
        Ok(now) => told.extend(unnamed(before, &now, &repair)),
        // A session may be unreadable if the repair named it.
        Err(error) if is_named(&error, &repair) => {}
        Err(error) => told.push(format!("after the repair: {error}")),
    }
    if own_words(home) != own && !repair.stderr.contains("not all could be read of") {
        told.push(format!("own words are lost without a word: {repair:?}"));
    }
    let again = home.run("doctor --deep");
    if again.status.code() != repair.status.code() {
        told.push(format!("a repair that ended with {:?} left {again:?}", repair.status));
    }
    told.extend(home.leaks());
    told
}

/// Returns whether a repair named the session that an error names.
fn is_named(error: &str, repair: &Ended) -> bool {
    let mut words = error.split_whitespace();
    words.any(|word| word.contains(':') && (repair.stderr.contains(word) || repair.stdout.contains(word)))
}

/// Returns problems for everything that is missing or changed without a message that names it.
fn unnamed(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>, repair: &Ended) -> Vec<String> {
    let is_named = |name: &str| {
        let uid = name.split_once(' ').map_or(name, |(uid, _)| uid);
        // A session's rows include the path of its log, which a repair cannot always restore.
        let is_place = name.ends_with(" rows") && repair.stderr.contains("where logs were read");
        repair.stderr.contains(uid) || is_place || repair.stderr.contains("the list of sessions")
    };
    let missing = before.iter().filter(|(name, text)| now.get(*name) != Some(text));
    let told = missing.filter(|(name, _)| !is_named(name));
    let mut told: Vec<String> = told
        .map(|(name, _)| format!("{name} is not what it was: {repair:?}"))
        .collect();
    told.truncate(2);
    told
}

fn places(home: &Home) -> Vec<Damage> {
    let length = fs::metadata(home.store().join("store.db")).unwrap().len() as usize;
    let pages = length / PAGE_BYTES;
    assert!(pages > 15, "{pages} pages");
    let step = if takes_all() { 1 } else { 3 };
    let mut damages = vec![Damage::Empty, Damage::Gone, Damage::Zeros { page: 0 }];
    damages.extend((1..pages).step_by(step).map(|page| Damage::Zeros { page }));
    damages.extend((0..pages).skip(1).step_by(step).map(|page| Damage::Noise { page }));
    damages.extend([1, 3, 10].map(|parts| Damage::Cut {
        bytes: length - length / (parts + 1) - 77,
    }));
    damages
}

#[test]
fn a_damaged_database_is_told_and_made_again_of_rows_packs_and_logs() {
    let home = remembered();
    let (before, own) = (kept(&home).unwrap(), own_words(&home));
    assert_eq!(own.len(), 4, "{own:?}");
    none(&each(&places(&home), |damage| {
        let home = home.copy();
        damage.happens_to(&home.store().join("store.db"));
        let told = trouble(&home, &before, &own).into_iter();
        let lacking = kept(&home).map_or(0, |now| {
            before
                .iter()
                .filter(|(name, text)| now.get(*name) != Some(text))
                .count()
        });
        let lacking = (lacking > 0).then(|| format!("{lacking} answers are not what logs can give back"));
        told.chain(lacking)
            .map(|wrong| format!("{damage:?}: {wrong}"))
            .collect()
    }));
}

#[test]
fn without_logs_a_database_is_made_again_of_rows_and_packs_and_what_is_lost_is_named() {
    let home = without_logs(&remembered());
    let (before, own) = (kept(&home).unwrap(), own_words(&home));
    none(&each(&places(&home), |damage| {
        let home = home.copy();
        damage.happens_to(&home.store().join("store.db"));
        let mut told = trouble(&home, &before, &own);
        if matches!(damage, Damage::Gone | Damage::Empty) {
            let now = kept(&home).unwrap_or_default();
            let logs = before
                .iter()
                .filter(|(name, _)| name.ends_with(" log") && !name.contains(SESSION));
            let found = logs.filter(|(name, text)| now.get(*name) == Some(text)).count();
            if found < 3 {
                told.push(format!("packs give back the lines of {found} logs only"));
            }
        }
        told.iter().map(|wrong| format!("{damage:?}: {wrong}")).collect()
    }));
}

#[test]
fn a_sweep_never_takes_packs_for_nobodys_because_the_database_is_gone() {
    for damage in [Damage::Gone, Damage::Empty] {
        let home = without_logs(&remembered());
        damage.happens_to(&home.store().join("store.db"));
        let packs = home.files(".local/share/boswell/packs");
        assert!(packs.len() > 3, "{packs:?}");
        for line in ["sweep", "sessions", "rebuild", "evict", "search push", "status"] {
            let ended = home.run(line);
            let is_told = ended.stderr.contains("the database is missing") && ended.stderr.contains("doctor --repair");
            assert!(ended.status.code() == Some(2) && is_told, "{line}: {ended:?}");
            assert_eq!(home.files(".local/share/boswell/packs"), packs, "{line}");
        }
        // A hook succeeds all the same.
        assert!(home.run("hook").status.success());
    }
}

#[test]
fn a_damaged_pack_is_told_and_read_again_from_its_log_or_named() {
    let home = remembered();
    let packs = home.files(".local/share/boswell/packs");
    let mut damages = Vec::new();
    for (at, pack) in packs.iter().enumerate() {
        let length = fs::metadata(pack).unwrap().len() as usize;
        let name = pack.strip_prefix(&home.path).unwrap().to_owned();
        let flips = [0, length / 3, length - 1].map(|at| Damage::Flip { at });
        let others = [Damage::Cut { bytes: length / 2 }, Damage::Empty, Damage::Gone];
        let all: Vec<Damage> = flips.into_iter().chain(others).collect();
        let some = if takes_all() {
            all
        } else {
            vec![all[at % all.len()], all[(at + 3) % all.len()]]
        };
        damages.extend(some.into_iter().map(|damage| (name.clone(), damage)));
    }
    assert!(damages.len() >= 8, "{damages:?}");
    let with_logs = (kept(&home).unwrap(), own_words(&home));
    none(&each(&damages, |(pack, damage)| {
        let mut told = Vec::new();
        for (home, is_lost) in [(home.copy(), false), (without_logs(&home), true)] {
            damage.happens_to(&home.path.join(pack));
            told.extend(trouble(&home, &with_logs.0, &with_logs.1));
            let is_whole = home.run("doctor --deep").status.success();
            if is_whole == is_lost {
                told.push(format!(
                    "logs are gone: {is_lost}, and the doctor calls it whole: {is_whole}"
                ));
            }
        }
        told.iter()
            .map(|wrong| format!("{} {damage:?}: {wrong}", pack.display()))
            .collect()
    }));
}

/// A crash of the machine loses everything that was not synced: the end of the write-ahead log, or any part of it.
#[test]
fn a_cut_write_ahead_log_is_an_earlier_memory_which_a_sweep_brings_up_to_date() {
    let home = Home::with_logs();
    let (ended, _) = home.run_with("sweep", &Fault::None);
    assert!(ended.status.success());
    let before = kept(&home).unwrap();
    // A late abort, so that a write-ahead log is left.
    let fresh = home.copy();
    fs::remove_dir_all(fresh.store()).unwrap();
    let (_, calls) = fresh.copy().run_with("sweep", &Fault::None);
    let writes = calls
        .iter()
        .filter(|call| call.path.ends_with("-wal") && call.name == "pwrite")
        .filter_map(|call| call.number);
    // Threads interleave differently in each run, so the call numbers differ: if an abort comes too late and leaves no
    // log, an earlier one is tried.
    let (fresh, length) = writes
        .rev()
        .find_map(|at| {
            let home = fresh.copy();
            home.run_with("sweep", &Fault::AbortAt(at));
            let log = fs::metadata(home.store().join("store.db-wal"));
            let length = log.map_or(0, |log| log.len() as usize);
            (length > PAGE_BYTES).then_some((home, length))
        })
        .expect("one of the aborts leaves a log");
    let cuts: Vec<Damage> = (0..12)
        .map(|part| match part % 2 {
            0 => Damage::Cut {
                bytes: length * part / 12,
            },
            _ => Damage::Flip { at: length * part / 12 },
        })
        .collect();
    none(&each(&cuts, |damage| {
        let home = fresh.copy();
        damage.happens_to(&home.store().join("store.db-wal"));
        let deep = home.run("doctor --deep");
        let ended = match deep.status.success() {
            true => home.run("sweep"),
            false => home.run("doctor --repair"),
        };
        let now = kept(&home);
        let is_right = ended.status.success() && now.as_ref().is_ok_and(|now| *now == before);
        let told = (!is_right).then(|| format!("{damage:?}: {deep:?} {ended:?} {:?}", now.err()));
        told.into_iter().chain(home.leaks()).collect()
    }));
}

#[test]
fn a_repair_may_die_at_any_call() {
    let home = remembered();
    let before = kept(&home).unwrap();
    Damage::Noise { page: 5 }.happens_to(&home.store().join("store.db"));
    let (ended, calls) = home.copy().run_with("doctor --repair", &Fault::None);
    assert!(ended.status.success(), "{ended:?}");
    let last = calls.iter().filter_map(|call| call.number).max().unwrap();
    let step = if takes_all() { 1 } else { last.div_ceil(24) as usize };
    let crashes: Vec<u64> = (1..=last).step_by(step).collect();
    none(&each(&crashes, |at| {
        let home = home.copy();
        home.run_with("doctor --repair", &Fault::AbortAt(*at));
        let ended = home.run("doctor --repair");
        let now = kept(&home);
        let is_right = ended.status.success() && now.as_ref().is_ok_and(|now| *now == before);
        let told = (!is_right).then(|| format!("crash at {at} of {last}: {ended:?} {:?}", now.err()));
        told.into_iter().chain(home.leaks()).collect()
    }));
}
