//! Counts with strace the bytes that a command reads, because reports count only what a command means to read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::faults::Running;

use crate::home::{Home, LIMIT, SESSION, claude_log, session, story};

/// Returns the bytes that a command read, by file, or `None` if nothing can be traced.
fn read_by(home: &Home, line: &str) -> Option<BTreeMap<String, u64>> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("Skipped: there is no strace here");
        return None;
    }
    let trace = home.beside("trace");
    let words = format!(
        "-f -qq -y -s 0 -e trace=read,pread64,readv,preadv,mmap -o {} {} {line}",
        trace.display(),
        env!("CARGO_BIN_EXE_boswell")
    );
    let ended = Running::start(&mut home.command_of(Path::new("strace"), &words)).end(LIMIT);
    let seen = fs::read_to_string(&trace).unwrap_or_default();
    if !seen.contains("read") {
        eprintln!("Skipped: strace may not trace here: {}", ended.stderr.trim());
        return None;
    }
    assert!(!ended.is_late && ended.status.success(), "{line}: {ended:?}");
    Some(bytes_by_file(&seen))
}

/// Adds up a trace. A call that another thread interrupted is on two lines: the file on the first, the bytes on the
/// second.
fn bytes_by_file(trace: &str) -> BTreeMap<String, u64> {
    let mut read: BTreeMap<String, u64> = BTreeMap::new();
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    for line in trace.lines() {
        let thread = line.split_whitespace().next().unwrap_or_default();
        let path = match line.contains(" resumed>") {
            true => begun.remove(thread),
            false => line
                .split_once('<')
                .and_then(|(_, rest)| rest.split_once('>'))
                .map(|(path, _)| path),
        };
        let Some(path) = path else { continue };
        if line.ends_with("<unfinished ...>") {
            begun.insert(thread, path);
            continue;
        }
        let told = line.rsplit_once("= ").and_then(|(_, told)| told.trim().parse().ok());
        // A mapped file can be read anywhere, so its whole size counts.
        let bytes = match line.contains("mmap") {
            true => fs::metadata(path).map_or(0, |known| known.len()),
            false => told.unwrap_or_default(),
        };
        *read.entry(path.to_owned()).or_default() += bytes;
    }
    read
}

#[test]
fn a_call_that_was_broken_into_is_counted_for_its_file() {
    let trace = "7 read(3</a>, \"\"..., 9) = 9\n8 pread64(4</b>,  <unfinished ...>\n7 read(3</a>, \"\"..., 9) = 0\n8 <... pread64 resumed>\"\"..., 5, 0) = 5\n";
    let read = bytes_by_file(trace);
    assert_eq!(of(&read, "/"), [("/a", 9), ("/b", 5)]);
}

/// Returns the bytes read from files whose path contains a word.
fn of<'r>(read: &'r BTreeMap<String, u64>, word: &str) -> Vec<(&'r str, u64)> {
    let named = read.iter().filter(|(path, bytes)| path.contains(word) && **bytes > 0);
    named.map(|(path, bytes)| (path.as_str(), *bytes)).collect()
}

#[test]
fn a_second_sweep_reads_no_byte_of_a_log_and_one_more_line_costs_the_tail() {
    let home = Home::with_logs();
    let long = session(400);
    home.write(&claude_log(SESSION), &long);
    let Some(first) = read_by(&home, "sweep") else { return };
    assert!(
        of(&first, SESSION)[0].1 >= long.len() as u64,
        "the trace sees reads: {first:?}"
    );
    let second = read_by(&home, "sweep").unwrap();
    assert_eq!(of(&second, ".jsonl"), [], "nothing is new");

    let more = session(401);
    assert!(more.starts_with(&long));
    home.write(&claude_log(SESSION), &more);
    let third = read_by(&home, "sweep").unwrap();
    let read = of(&third, ".jsonl");
    let [(path, bytes)] = read[..] else {
        panic!("one log grew: {read:?}");
    };
    let grown = (more.len() - long.len()) as u64;
    assert!(path.contains(SESSION) && bytes >= grown, "{read:?}");
    // The sweep also reads a little before the new lines, to check that the log is still the same one.
    assert!(
        bytes < grown + 20_000 && bytes < long.len() as u64 / 4,
        "{bytes} of {}",
        more.len()
    );
}

#[test]
fn a_search_opens_the_one_pack_that_holds_the_word_and_no_log() {
    let home = Home::with_logs();
    let long = "hay ".repeat(400_000);
    for number in 0..5 {
        let id = format!("5e550000-0000-4000-8000-00000000010{number}");
        let asked = if number == 3 {
            "where is the quokkaberry?"
        } else {
            "where is the hay?"
        };
        let log = story(&id, 1).prompt(asked);
        let log = log
            .tool("Bash", serde_json::json!({"command": "cat field"}), &long)
            .reply("There.");
        home.write(&claude_log(&id), log.jsonl());
    }
    home.sweep();
    let packs = home.files(".local/share/boswell/packs").len();
    assert!(packs >= 5, "what is longer than a frame lies in packs: {packs}");
    let Some(found) = read_by(&home, "search --no-sweep quokkaberry") else {
        return;
    };
    let opened = of(&found, "/packs/");
    assert_eq!(opened.len(), 1, "{opened:?}");
    assert_eq!(of(&found, ".jsonl"), [], "no log is opened");
    let all = read_by(&home, "search --no-sweep --limit 0 hay").unwrap();
    assert!(of(&all, "/packs/").len() >= 5, "the trace sees packs: {all:?}");
}
