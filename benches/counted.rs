//! Counts the instructions of commands on a small home, and of library paths in their own processes. Knows no baseline.
//!
//! A separate program (`counting`) runs gungraun on a list of commands, and prints the counts of callgrind as lines of
//! JSON.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use memory::mask::{LineState, MaskKey, Masker, UserRules};
use memory::packs::{self, FRAME_BYTES};
use memory::spool;
use serde::Serialize;
use serde_json::Value;
use testkit::corpus::{self, CorpusShape};
use testkit::logs::ClaudeLog;
use transcript::{Agent, Lines, Origin, PartKind, State};

use crate::seeded;

/// A word that occurs in one prompt of the home only.
const RARE: &str = "quokkaberry";
/// A time long after the last log.
const NOW: &str = "2027-01-01T00:00:00Z";

/// Counts everything, by name.
pub fn count() -> BTreeMap<String, u64> {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let home = Home {
        place: place.path().to_owned(),
    };
    home.write().expect("a temporary place can be written");
    let counted = home.counted();
    let list = place.path().join("counted.json");
    let told = serde_json::to_vec(&counted).expect("plain data");
    fs::write(&list, told).expect("a temporary place can be written");
    // Holds the ingest lock, as during most hooks of a busy hour, so that no hook starts an ingest that outlives the
    // bench.
    let lock = home.memory().join(spool::FOLDER).join("ingest.lock");
    let lock = fs::File::create(lock).expect("a temporary place can be written");
    lock.lock().expect("nobody else has it");

    let ended = Command::new("taskset")
        .args(["-c", &first_core()])
        .arg(counting())
        .args(["--bench", "--output-format=json", "--home"])
        .arg(place.path().join("gungraun"))
        .env("BOSWELL_COUNTED", list)
        .stderr(Stdio::inherit())
        .output()
        .expect("taskset is there");
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "gungraun says: {told}");
    let counts: BTreeMap<String, u64> = told.lines().map(id_and_count).collect();
    let count = |one: Counted| {
        let count = counts.get(&one.id).expect("all of them were counted");
        (one.name.to_owned(), *count)
    };
    counted.into_iter().map(count).collect()
}

/// Builds the program that runs gungraun in its own target directory, and returns its path.
fn counting() -> PathBuf {
    let place = seeded::cache().with_file_name("counting");
    let built = Command::new("cargo")
        .args(["build", "--locked", "--quiet", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/counting/Cargo.toml"))
        .arg("--target-dir")
        .arg(&place)
        .status();
    assert!(built.is_ok_and(|built| built.success()), "it can be built");
    place.join("debug/counting")
}

/// Parses the JSON line of one benchmark.
fn id_and_count(line: &str) -> (String, u64) {
    let told: Value = serde_json::from_str(line).expect("gungraun tells lines of JSON");
    let id = told["function_name"].as_str().expect("a benchmark has a name");
    let count = told.pointer("/profiles/0/data/total/metrics/Ir/values/new");
    let count = count.and_then(Value::as_u64).expect("callgrind counts instructions");
    (id.to_owned(), count)
}

/// One command to count: a program, its arguments, and the function to count if not all of it counts.
#[derive(Serialize)]
struct Counted {
    name: &'static str,
    /// The name in a form that is a valid identifier.
    id: String,
    program: PathBuf,
    words: Vec<String>,
    env: Vec<(&'static str, PathBuf)>,
    input: Option<PathBuf>,
    only: Option<&'static str>,
}

/// A small home, and the commands to count in it.
struct Home {
    place: PathBuf,
}

impl Home {
    fn memory(&self) -> PathBuf {
        self.place.join("memory")
    }

    fn write(&self) -> io::Result<()> {
        let home = self.place.join("home");
        corpus::write(&home, &CorpusShape::with_bytes(seeded::SEED, 2 * seeded::MEGABYTE))?;
        let rare = ClaudeLog::new("5e550000-0000-4000-8000-000000000001")
            .prompt(RARE)
            .reply("There is none.");
        let folder = home.join(".claude/projects/-home-ada-app");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("5e550000-0000-4000-8000-000000000001.jsonl"), rare.jsonl())?;
        let settings = home.join(".config/boswell");
        fs::create_dir_all(&settings)?;
        fs::write(settings.join("mask.key"), [7; 32])?;
        fs::create_dir_all(self.memory().join(spool::FOLDER))?;
        let ended = serde_json::json!({
            "session_id": "1",
            "transcript_path": home.join(".claude/projects/a/1.jsonl"),
            "cwd": "/home/ada/app",
            "hook_event_name": "SessionEnd",
            "reason": "clear",
        });
        fs::write(self.place.join("ended.json"), ended.to_string())?;
        fs::write(self.place.join("status.json"), "{}")
    }

    /// Returns the commands in the order in which they run: later ones depend on files of earlier ones.
    fn counted(&self) -> Vec<Counted> {
        // The same environment for every command: this home, a fixed clock, and nothing else.
        let env = vec![
            ("PATH", PathBuf::from("/usr/bin:/bin")),
            ("HOME", self.place.join("home")),
            ("BOSWELL_HOME", self.memory()),
            ("BOSWELL_NOW", PathBuf::from(NOW)),
            ("TZ", PathBuf::from("UTC")),
        ];
        let command = |name: &'static str, words: &[&str]| Counted {
            name,
            id: name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_"),
            program: seeded::cache().with_file_name("debug").join("boswell"),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            env: env.clone(),
            input: None,
            only: None,
        };
        let path = |name: &'static str, log: &Path| Counted {
            program: env::current_exe().expect("the bench knows its own file"),
            only: Some("*counted_work*"),
            ..command(name, &["path", name, &log.to_string_lossy()])
        };
        let told = |file: &str, one: Counted| Counted {
            input: Some(self.place.join(file)),
            ..one
        };
        let claude = self.largest(".claude/projects", ".jsonl");
        let memory = self.memory().to_string_lossy().into_owned();
        vec![
            path("read a log of Claude Code", &claude),
            path("read a log of Codex CLI", &self.largest(".codex/sessions", ".jsonl")),
            path("read a log of Grok", &self.largest(".grok", "updates.jsonl")),
            path("mask a log", &claude),
            path("seal frames", &claude),
            command("sweep of a small home", &["sweep"]),
            command("sweep again", &["sweep"]),
            command("search, rare word", &["search", "--no-sweep", RARE]),
            command(
                "search, common word",
                &["search", "--no-sweep", "--limit", "20", "self"],
            ),
            command("usage by day", &["usage", "daily", "--no-sweep"]),
            told("status.json", command("status line", &["statusline", "--no-sweep"])),
            told("ended.json", command("hook", &["hook", "claude", "--home", &memory])),
        ]
    }

    fn largest(&self, root: &str, ending: &str) -> PathBuf {
        let mut files = Vec::new();
        seeded::files_below(&self.place.join("home").join(root), &mut files);
        files.retain(|path| path.to_string_lossy().ends_with(ending));
        let size = |path: &PathBuf| fs::metadata(path).map_or(0, |known| known.len());
        files
            .into_iter()
            .max_by_key(size)
            .expect("a corpus has logs of every agent")
    }
}

/// Runs one path of the libraries in its own process. Only the instructions of `counted_work` count.
pub fn path(name: &str, log: &Path) {
    let bytes = fs::read(log).expect("the log was just written");
    let origin = log.to_string_lossy().into_owned();
    let mut work: Box<dyn FnMut() -> usize> = match name {
        "mask a log" => {
            let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules compile");
            Box::new(move || {
                let mut found = Vec::new();
                let mut state = LineState::of_agent(Agent::Claude);
                let lines = bytes.split(|byte| *byte == b'\n');
                lines
                    .map(|line| masker.mask_next_line(&mut state, line, &mut found).len())
                    .sum::<usize>()
                    + found.len()
            })
        }
        "seal frames" => Box::new(move || {
            let frames = bytes.chunks(FRAME_BYTES);
            let packed = |frame| packs::compress_frame(1, 1, frame).expect("bytes in memory can be compressed");
            frames.map(|frame| packed(frame).bytes.len()).sum()
        }),
        _ => {
            let agent = match name {
                "read a log of Codex CLI" => Agent::Codex,
                "read a log of Grok" => Agent::Grok,
                _ => Agent::Claude,
            };
            Box::new(move || {
                let mut state = State::new(agent, Origin::of(&origin));
                let delta = state.read_unmasked(PartKind::Log, &mut Lines::new(&bytes[..]));
                delta.expect("bytes in memory can be read").events.len()
            })
        }
    };
    assert!(counted_work(&mut *work) > 0, "{name} does something");
}

/// Callgrind finds the function by this name, so it must not be inlined.
#[inline(never)]
fn counted_work(work: &mut dyn FnMut() -> usize) -> usize {
    black_box(work())
}

/// Returns the first core that this process may use.
fn first_core() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or("0");
    list.trim().split([',', '-']).next().unwrap_or("0").to_owned()
}
