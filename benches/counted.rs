//! What is counted: commands on a small home, and paths of the libraries in a process of their own. Knows no baseline.
//!
//! Gungraun asks this program what to count, and tells what callgrind counted as lines of JSON.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use gungraun::{Bench, BinaryBenchmark, BinaryBenchmarkConfig, Callgrind, EntryPoint, Stdin};
use memory::mask::{MaskKey, Masker, UserRules};
use memory::packs::{self, FRAME_BYTES};
use memory::spool;
use serde_json::Value;
use testkit::corpus::{self, Shape};
use testkit::logs::ClaudeLog;
use transcript::{Agent, Lines, Origin, PartKind, State};

use crate::seeded;

/// Where the home lies. Whoever tells it to this program is about to let gungraun ask.
const PLACE: &str = "BOSWELL_COUNTED";
/// Stands in one prompt of the home, and nowhere else.
const RARE: &str = "quokkaberry";
/// Long after the last log.
const NOW: &str = "2027-01-01T00:00:00Z";

/// Counts everything, by name.
pub fn count() -> BTreeMap<String, u64> {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let home = Home::at(place.path());
    home.write().expect("a temporary place can be written");
    // A hook while an ingest runs, as most are in a busy hour: none is started that would outlive us.
    let lock = home.memory().join(spool::FOLDER).join("ingest.lock");
    let lock = fs::File::create(lock).expect("a temporary place can be written");
    lock.lock().expect("nobody else has it");

    let ended = Command::new("taskset")
        .args(["-c", &first_core()])
        .arg(us())
        .args(["--bench", "--output-format=json", "--home"])
        .arg(place.path().join("gungraun"))
        .env(PLACE, place.path())
        .stderr(Stdio::inherit())
        .output()
        .expect("taskset is there");
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "gungraun says: {told}");
    let names = home.counted().into_iter().map(|one| one.name);
    let counts: BTreeMap<String, u64> = told.lines().map(id_and_count).collect();
    names
        .map(|name| {
            (
                name.to_owned(),
                *counts.get(&id_of(name)).expect("all of them were counted"),
            )
        })
        .collect()
}

/// Whether we were started to tell what to count.
pub fn is_asked() -> bool {
    env::var_os(PLACE).is_some()
}

pub use gungraun_asks::tell;

mod gungraun_asks {
    use gungraun::{binary_benchmark_group, main};

    binary_benchmark_group!(
        name = hot_paths,
        benchmarks = |group: &mut BinaryBenchmarkGroup| {
            group.binary_benchmarks(crate::counted::benchmarks());
        }
    );
    main!(binary_benchmark_groups = hot_paths);

    /// Tells what to count to gungraun, which counts it.
    pub fn tell() {
        main();
    }
}

/// Everything that is counted, as gungraun wants to have it told.
fn benchmarks() -> Vec<BinaryBenchmark> {
    let home = Home::at(Path::new(&env::var_os(PLACE).expect("whoever asks tells it")));
    let told = |one: Counted| {
        let mut command = gungraun::Command::new(one.program);
        let input = one.input.map_or(Stdin::Null, Stdin::File);
        command.args(one.words).stdin(input).stdout(gungraun::Stdio::Null);
        let mut callgrind = Callgrind::with_args(["--cache-sim=no", "--trace-children=no"]);
        callgrind.entry_point(
            one.only
                .map_or(EntryPoint::None, |name| EntryPoint::Custom(name.to_owned())),
        );
        let mut bench = Bench::new("counted");
        bench.config(home.config().tool(callgrind)).command(command);
        let mut benchmark = BinaryBenchmark::new(id_of(one.name));
        benchmark.bench(bench).clone()
    };
    home.counted().into_iter().map(told).collect()
}

/// As gungraun tells one benchmark.
fn id_and_count(line: &str) -> (String, u64) {
    let told: Value = serde_json::from_str(line).expect("gungraun tells lines of JSON");
    let id = told["function_name"].as_str().expect("a benchmark has a name");
    let count = told.pointer("/profiles/0/data/total/metrics/Ir/values/new");
    let count = count.and_then(Value::as_u64).expect("callgrind counts instructions");
    (id.to_owned(), count)
}

/// Gungraun knows things by identifiers.
fn id_of(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// One thing that is counted: a program, what it is told, and the one function of it that counts.
struct Counted {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
    input: Option<PathBuf>,
    only: Option<&'static str>,
}

/// A small home, and what is counted there.
struct Home {
    place: PathBuf,
}

impl Home {
    fn at(place: &Path) -> Self {
        let place = place.to_owned();
        Self { place }
    }

    fn memory(&self) -> PathBuf {
        self.place.join("memory")
    }

    fn write(&self) -> io::Result<()> {
        let home = self.place.join("home");
        corpus::write(&home, &Shape::of_bytes(seeded::SEED, 2 * seeded::MEGABYTE))?;
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

    /// The same environment everywhere: this home, a clock that stands still, and nothing else.
    fn config(&self) -> BinaryBenchmarkConfig {
        let mut config = BinaryBenchmarkConfig::default();
        config
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.place.join("home"))
            .env("BOSWELL_HOME", self.memory())
            .env("BOSWELL_NOW", NOW)
            .env("TZ", "UTC");
        config
    }

    /// In its order: later commands stand on what earlier ones left.
    fn counted(&self) -> Vec<Counted> {
        let path = |name: &'static str, log: &Path| Counted {
            name,
            program: us(),
            words: vec!["path".to_owned(), name.to_owned(), log.to_string_lossy().into_owned()],
            input: None,
            only: Some("*counted_work*"),
        };
        let command = |name: &'static str, words: &[&str]| Counted {
            name,
            program: seeded::cache().with_file_name("debug").join("boswell"),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            input: None,
            only: None,
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

/// One path of the libraries, in a process of its own. Only what `counted_work` does is counted.
pub fn path(name: &str, log: &Path) {
    let bytes = fs::read(log).expect("the log was just written");
    let origin = log.to_string_lossy().into_owned();
    let mut work: Box<dyn FnMut() -> usize> = match name {
        "mask a log" => {
            let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules compile");
            Box::new(move || {
                let mut found = Vec::new();
                let lines = bytes.split(|byte| *byte == b'\n');
                lines
                    .map(|line| masker.mask_json_line(line, &mut found).len())
                    .sum::<usize>()
                    + found.len()
            })
        }
        "seal frames" => Box::new(move || {
            let frames = bytes.chunks(FRAME_BYTES);
            let packed = |frame| packs::compress(1, 1, frame).expect("bytes in memory can be compressed");
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
                let delta = state.resume(PartKind::Log, &mut Lines::new(&bytes[..]));
                delta.expect("bytes in memory can be read").events.len()
            })
        }
    };
    assert!(counted_work(&mut *work) > 0, "{name} does something");
}

/// Callgrind knows it by this name.
#[inline(never)]
fn counted_work(work: &mut dyn FnMut() -> usize) -> usize {
    black_box(work())
}

fn us() -> PathBuf {
    env::current_exe().expect("the bench knows its own file")
}

/// The first core that we may use at all.
fn first_core() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or("0");
    list.trim().split([',', '-']).next().unwrap_or("0").to_owned()
}
