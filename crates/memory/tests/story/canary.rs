//! Evicted text is really deleted: its words are not found anywhere below the store's directory, compressed or not,
//! even if there are readers, and the disk space is free again.

use std::fs;
use std::io::Read;
use std::path::Path;

use jiff::SignedDuration;
use memory::retention::{self, ForgetScope};
use memory::store::Store;
use serde_json::json;
use testkit::logs::ClaudeLog;

use super::home::is_on_server;
use super::retention::{Memory, native, noise, uid};

/// Unique words in every kind of place of a session that its digest does not print.
const CANARIES: [&str; 5] = [
    "canarysecondprompt",
    "canarytooloutput",
    "canarythinking",
    "canaryimagename",
    "canaryfault",
];
/// The database allocates whole pages, so this much difference is allowed.
const PAGES_BYTES: u64 = 16 << 10;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

fn write_canary(memory: &Memory, number: u32, hours_ago: i64) {
    let at = memory.now - SignedDuration::from_hours(hours_ago);
    let [prompt, output, thinking, image, fault] = CANARIES;
    let picture = json!([
        {"type": "text", "text": format!("[Image: source: /home/ada/{image}.png]")},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    ]);
    let log = ClaudeLog::new(&native(number))
        .at(&at.to_string())
        .prompt("look at the login")
        .think(&format!("I {thinking} about it"))
        .tool(
            "Bash",
            json!({"command": "cat big.txt"}),
            &format!("{output} {}", noise(number, 10_000)),
        )
        .reply("I looked.")
        .prompt(&format!("now {prompt} please"))
        .reply("Yes.")
        .user(picture)
        .reply("A picture.")
        .raw(&format!("{{\"torn {fault}"))
        .prompt("and the last one")
        .reply("All done.");
    memory.put(number, &log.jsonl(), at);
}

/// Writes sessions around the one under test, some of them small, so that SQLite moves rows between pages.
fn write_neighbours(memory: &Memory, numbers: std::ops::Range<u32>) {
    for number in numbers {
        memory.write(number, 30, number % 7 * 20);
    }
}

/// Returns the places below a directory where a word occurs, compressed or not.
fn find_word(directory: &Path, word: &str) -> Vec<String> {
    let mut places = Vec::new();
    for entry in walkdir::WalkDir::new(directory).into_iter().flatten() {
        if !entry.file_type().is_file() {
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        if contains_word(&bytes, word) {
            places.push(entry.path().display().to_string());
        }
        for at in memchr::memmem::find_iter(&bytes, &ZSTD_MAGIC) {
            let mut text = Vec::new();
            let decoder = zstd::Decoder::new(&bytes[at..]).unwrap().single_frame();
            // A frame on scattered pages ends early, but its beginning can still be decompressed.
            _ = decoder.take(64 << 20).read_to_end(&mut text);
            if contains_word(&text, word) {
                places.push(format!("{}, packed at {at}", entry.path().display()));
            }
        }
    }
    places
}

fn contains_word(bytes: &[u8], word: &str) -> bool {
    memchr::memmem::find(bytes, word.as_bytes()).is_some()
}

fn disk_bytes(directory: &Path) -> u64 {
    let files = walkdir::WalkDir::new(directory).into_iter().flatten();
    files
        .map(|entry| {
            entry
                .metadata()
                .map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 })
        })
        .sum()
}

fn write_history(memory: &Memory, numbers: &[u32]) {
    let line = |number: &u32| {
        format!(
            "{{\"display\":\"now {} please\",\"timestamp\":1780000000000,\"project\":\"/home/ada/app\",\"sessionId\":\"{}\"}}\n",
            CANARIES[0],
            native(*number)
        )
    };
    memory
        .home
        .write(".claude/history.jsonl", numbers.iter().map(line).collect::<String>());
}

#[test]
fn after_an_eviction_no_word_is_left_and_the_disk_space_is_free_again() {
    if is_on_server() {
        return; // The files of a server are not ours to look into.
    }
    let mut memory = Memory::new();
    let directory = memory.home.path("store");
    write_neighbours(&memory, 100..150);
    memory.sweep();
    // Read in two steps, with growth in between, so that rows are written more than once.
    write_canary(&memory, 1, 60);
    write_canary(&memory, 2, 59);
    write_history(&memory, &[1, 2]);
    memory.sweep();
    write_neighbours(&memory, 150..200);
    memory.sweep();
    for word in CANARIES {
        assert_ne!(
            find_word(&directory, word),
            [""; 0],
            "the test looks in the wrong place for {word}"
        );
    }
    // A reader that was opened before the eviction.
    let reader = Store::open_existing(memory.home.place()).unwrap().unwrap();
    assert_eq!(reader.reads().turns(&uid(1)).unwrap().len(), 4);
    let rest: u64 = (100..200).map(|number| memory.bytes_of(number)).sum();
    memory.policy.raw_soft_cap_bytes = rest;
    memory.wait_days(1);
    for number in 100..200 {
        memory.keep(number);
    }
    {
        let store = memory.home.store();
        let lock = store.lock(super::home::WAIT).unwrap();
        assert!(store.empty_log(&lock).unwrap());
    }
    let before = disk_bytes(&directory);
    let plan = retention::plan_evictions(&memory.home.store().reads(), &memory.policy, memory.now).unwrap();
    assert_eq!(plan.drops.len(), 2);
    let report = memory.sweep();
    assert_eq!((report.evicted.drops.len(), report.evicted.is_finished), (2, true));

    let found: Vec<String> = CANARIES.iter().flat_map(|word| find_word(&directory, word)).collect();
    assert_eq!(found, [""; 0]);
    let fell = before - disk_bytes(&directory);
    assert!(
        fell + PAGES_BYTES >= plan.bytes_freed(),
        "{fell} of {}",
        plan.bytes_freed()
    );
    assert!(plan.bytes_freed() > 500_000, "{}", plan.bytes_freed());
    // The reader still works and sees the turns, but no longer their prompts.
    let turns = reader.reads().turns(&uid(1)).unwrap();
    assert_eq!(turns.iter().map(|turn| turn.prompt.len()).skip(1).sum::<usize>(), 0);
    // The history is read from its beginning again and has no new prompts.
    write_history(&memory, &[2, 1]);
    memory.sweep();
    let found: Vec<String> = CANARIES.iter().flat_map(|word| find_word(&directory, word)).collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn after_forgetting_no_word_is_left_not_even_in_a_digest() {
    if is_on_server() {
        return; // The files of a server are not ours to look into.
    }
    let memory = Memory::new();
    let directory = memory.home.path("store");
    write_neighbours(&memory, 100..130);
    write_canary(&memory, 1, 60);
    write_history(&memory, &[1]);
    memory.sweep();
    write_neighbours(&memory, 130..140);
    memory.sweep();
    assert_ne!(find_word(&directory, "look at the login"), [""; 0]);
    memory.forget(&[1], ForgetScope::WithDigest);
    let words = CANARIES.iter().chain(["look at the login", "and the last one"].iter());
    let found: Vec<String> = words.flat_map(|word| find_word(&directory, word)).collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_reader_within_a_query_delays_the_last_phase_until_the_next_sweep() {
    if is_on_server() {
        return; // The files of a server are not ours to look into.
    }
    let mut memory = Memory::new();
    let directory = memory.home.path("store");
    write_neighbours(&memory, 100..110);
    write_canary(&memory, 1, 60);
    memory.sweep();
    let reader = rusqlite::Connection::open(directory.join("store.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |reader: &rusqlite::Connection| {
        let frames = reader.query_row("SELECT count(*) FROM frames", [], |row| row.get::<_, i64>(0));
        frames.unwrap()
    };
    let seen = count(&reader);
    memory.policy.raw_soft_cap_bytes = 1;
    memory.wait_days(1);
    let report = memory.sweep();
    assert!(!report.evicted.drops.is_empty() && !report.evicted.is_finished);
    assert_eq!(count(&reader), seen, "a reader sees what it saw");
    assert!(memory.home.store().reads().unfinished_evictions().unwrap() > 0);
    reader.execute_batch("COMMIT").unwrap();
    assert!(memory.sweep().evicted.is_finished);
    assert_eq!(memory.home.store().reads().unfinished_evictions().unwrap(), 0);
    let found: Vec<String> = CANARIES.iter().flat_map(|word| find_word(&directory, word)).collect();
    assert_eq!(found, [""; 0]);
}
