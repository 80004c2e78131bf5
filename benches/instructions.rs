//! How many instructions the hot paths take, counted by callgrind: the same on a busy machine, and nearly the same on another.
//!
//! `./bench instructions` compares them with `benches/baseline.json` and fails where one takes 5 % more; `--bless` writes that
//! file. Another compiler or valgrind counts otherwise: then the counts are told and nothing fails.
//!
//! What is counted is the build that the tests use: our libraries and all others are optimized a little there, and it costs the
//! checks no second build. What an optimizer would mend is counted as well; how long things take is told by `./bench`.
//!
//! What could make two machines differ is held still. Valgrind shows every program the same processor, one with AVX2 and nothing
//! newer, wherever the real one has AVX2; where it has not, nothing is compared. One core is allowed, so that one thread works.
//! The logs are made from a seed, the clock stands still, and the environment is empty.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints its table")]

mod baseline;
#[allow(dead_code, reason = "each bench uses its part")]
mod process;
#[allow(dead_code, reason = "each bench uses its part")]
mod seeded;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use baseline::{Baseline, Verdict};
use memory::mask::{MaskKey, Masker, UserRules};
use memory::packs::{self, FRAME_BYTES};
use memory::spool;
use testkit::corpus::{self, Shape};
use testkit::logs::ClaudeLog;
use transcript::{Agent, Lines, Origin, PartKind, State};

/// Stands in one prompt of the home, and nowhere else.
const RARE: &str = "quokkaberry";
/// Long after the last log.
const NOW: &str = "2027-01-01T00:00:00Z";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["path", name, log] => {
            path(name, Path::new(log));
            ExitCode::SUCCESS
        }
        [] => compare(&count()),
        ["--bless"] => bless(&count()),
        _ => {
            eprintln!("error: unknown words: {words:?}\nHint: `./bench instructions [--bless]`");
            ExitCode::from(2)
        }
    }
}

/// Everything, counted now.
fn count() -> Baseline {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let bench = Counting::prepare(place.path());
    let mut instructions = BTreeMap::new();
    for (name, log) in &bench.logs {
        let mut command = Command::new(env::current_exe().expect("the bench knows its own file"));
        command.args(["path", name]).arg(log);
        instructions.insert(
            (*name).to_owned(),
            bench.counted(&command, &["--toggle-collect=*counted_work*"], ""),
        );
    }
    let first = bench.command(&["sweep"]);
    instructions.insert("sweep of a small home".to_owned(), bench.counted(&first, &[], ""));
    let commands: [(&str, &[&str], &str); 5] = [
        ("sweep again", &["sweep"], ""),
        ("search, rare word", &["search", "--no-sweep", RARE], ""),
        (
            "search, common word",
            &["search", "--no-sweep", "--limit", "20", "self"],
            "",
        ),
        ("usage by day", &["usage", "daily", "--no-sweep"], ""),
        ("status line", &["statusline", "--no-sweep"], "{}"),
    ];
    for (name, words, input) in commands {
        instructions.insert(name.to_owned(), bench.counted(&bench.command(words), &[], input));
    }
    instructions.insert("hook".to_owned(), bench.hook());
    Baseline {
        rustc: first_line(Command::new("rustc").arg("--version")),
        valgrind: first_line(Command::new("valgrind").arg("--version")),
        processor: processor().to_owned(),
        instructions,
    }
}

/// A small home, and single logs of it.
struct Counting {
    place: PathBuf,
    binary: PathBuf,
    logs: Vec<(&'static str, PathBuf)>,
}

impl Counting {
    fn prepare(place: &Path) -> Self {
        let home = place.join("home");
        corpus::write(&home, &Shape::of_bytes(seeded::SEED, 2 * seeded::MEGABYTE))
            .expect("a temporary place can be written");
        let rare = ClaudeLog::new("5e550000-0000-4000-8000-000000000001")
            .prompt(RARE)
            .reply("There is none.");
        let folder = home.join(".claude/projects/-home-ada-app");
        fs::create_dir_all(&folder).expect("a temporary place can be written");
        fs::write(folder.join("5e550000-0000-4000-8000-000000000001.jsonl"), rare.jsonl())
            .expect("a temporary place can be written");
        let settings = place.join("home/.config/boswell");
        fs::create_dir_all(&settings).expect("a temporary place can be written");
        fs::write(settings.join("mask.key"), [7; 32]).expect("a temporary place can be written");
        let largest = |root: &str, name: &str| {
            let mut files = Vec::new();
            seeded::files_below(&home.join(root), &mut files);
            files.retain(|path| path.to_string_lossy().ends_with(name));
            let size = |path: &PathBuf| fs::metadata(path).map_or(0, |known| known.len());
            files
                .into_iter()
                .max_by_key(size)
                .expect("a corpus has logs of every agent")
        };
        let claude = largest(".claude/projects", ".jsonl");
        let logs = vec![
            ("read a log of Claude Code", claude.clone()),
            ("read a log of Codex CLI", largest(".codex/sessions", ".jsonl")),
            ("read a log of Grok", largest(".grok", "updates.jsonl")),
            ("mask a log", claude.clone()),
            ("seal frames", claude),
        ];
        Self {
            place: place.to_owned(),
            binary: seeded::cache().with_file_name("debug").join("boswell"),
            logs,
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words);
        command
    }

    /// A call of a hook while an ingest runs, as most are in a busy hour: none is started that would outlive us.
    fn hook(&self) -> u64 {
        let installed = self
            .surround(&mut self.command(&["hooks", "install", "claude"]))
            .output();
        assert!(
            installed.is_ok_and(|ended| ended.status.success()),
            "hooks can be installed"
        );
        let memory = self.place.join("memory");
        let lock = memory.join(spool::FOLDER).join("ingest.lock");
        fs::create_dir_all(memory.join(spool::FOLDER)).expect("a temporary place can be written");
        let lock = fs::File::create(lock).expect("a temporary place can be written");
        lock.lock().expect("nobody else has it");
        let mut command = self.command(&["hook", "claude", "--home"]);
        command.arg(&memory);
        let log = self.place.join("home/.claude/projects/a/1.jsonl");
        let told = serde_json::json!({
            "session_id": "1",
            "transcript_path": log,
            "cwd": "/home/ada/app",
            "hook_event_name": "SessionEnd",
            "reason": "clear",
        });
        self.counted(&command, &[], &told.to_string())
    }

    /// The same environment everywhere: this home, a clock that stands still, and nothing else.
    fn surround<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.place.join("home"))
            .env("BOSWELL_HOME", self.place.join("memory"))
            .env("BOSWELL_NOW", NOW)
            .env("TZ", "UTC")
    }

    /// Runs a command under callgrind, in an empty environment and on one core.
    fn counted(&self, command: &Command, options: &[&str], input: &str) -> u64 {
        let out = self.place.join("counted");
        let given = self.place.join("input");
        fs::write(&given, input).expect("a temporary place can be written");
        let mut valgrind = Command::new("taskset");
        valgrind
            .args(["-c", &first_core(), "valgrind", "--tool=callgrind", "--quiet"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .args(options)
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(fs::File::open(&given).expect("it was just written"))
            .stdout(Stdio::null());
        let ended = self
            .surround(&mut valgrind)
            .output()
            .expect("valgrind and taskset are there");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{valgrind:?}: {said}");
        let told = fs::read_to_string(out).expect("callgrind writes what it counted");
        let total = told.lines().find_map(|line| line.strip_prefix("totals: "));
        total
            .and_then(|total| total.trim().parse().ok())
            .expect("callgrind tells a total")
    }
}

/// One path of the libraries, in a process of its own. Only what `counted_work` does is counted.
fn path(name: &str, log: &Path) {
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

fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("baseline.json")
}

fn bless(now: &Baseline) -> ExitCode {
    let text = serde_json::to_string_pretty(now).expect("plain data");
    fs::write(kept(), text + "\n").expect("the repository can be written");
    println!("Written: {}", kept().display());
    ExitCode::SUCCESS
}

fn compare(now: &Baseline) -> ExitCode {
    let before: Baseline = fs::read(kept())
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let (table, verdict) = baseline::judge(now, &before);
    println!("{table}");
    match verdict {
        Verdict::Holds => ExitCode::SUCCESS,
        Verdict::NotJudged => {
            println!(
                "Not judged: counted with {}; the baseline with {}",
                now.tools(),
                before.tools()
            );
            ExitCode::SUCCESS
        }
        Verdict::Losses(losses) => {
            eprintln!(
                "error: {losses} of {} paths lose against the baseline",
                now.instructions.len()
            );
            eprintln!("Hint: find out why; if it has to be, `./bench instructions --bless`");
            ExitCode::FAILURE
        }
    }
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// What decides which code is taken where there are several for one thing.
fn processor() -> &'static str {
    let known = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_avx2 = known
        .lines()
        .any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "avx2"));
    if has_avx2 {
        "x86-64 with AVX2"
    } else {
        "another processor"
    }
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
