//! Many sessions of all agents grow while sweeps, questions, evictions and reports run at once. Memory use stays flat,
//! retention stays within its caps, and the answers equal those of a memory that read everything at once.
//!
//! This run is small; `./soak` makes it large with `SOAK_SESSIONS`, `SOAK_MB` and `SOAK_ROUNDS`.

use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use testkit::corpus::{self, CorpusShape};
use testkit::faults::{Ended, Running};
use testkit::logs::ClaudeLog;

use crate::home::Home;

/// A large run takes long.
const LIMIT: Duration = Duration::from_secs(3_600);
/// The interval between two measurements of a process's memory.
const TICK: Duration = Duration::from_millis(5);
const START: &str = "2026-09-02T08:00:00Z";
/// The noise allowed in the memory use of a process.
const NOISE_BYTES: u64 = 24 << 20;

fn told(name: &str, unless: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|told| told.parse().ok())
        .unwrap_or(unless)
}

/// A log that is written in pieces.
struct Growing {
    from: PathBuf,
    to: PathBuf,
    at: u64,
}

impl Growing {
    /// Appends the next lines, up to `round / rounds` of the log.
    fn grow(&mut self, round: u64, rounds: u64) {
        let mut file = fs::File::open(&self.from).unwrap();
        let length = file.metadata().unwrap().len();
        fs::create_dir_all(self.to.parent().unwrap()).unwrap();
        let is_lines = self.from.extension().is_some_and(|ending| ending == "jsonl");
        if !is_lines {
            // A file without lines is copied as a whole in the first round.
            if round == 1 {
                fs::copy(&self.from, &self.to).unwrap();
            }
            return;
        }
        let end = length * round / rounds;
        if end <= self.at {
            return;
        }
        file.seek(SeekFrom::Start(end)).unwrap();
        let mut rest = Vec::new();
        if end < length {
            BufReader::new(&file).read_until(b'\n', &mut rest).unwrap();
        }
        let end = end + rest.len() as u64;
        file.seek(SeekFrom::Start(self.at)).unwrap();
        let mut out = fs::File::options().create(true).append(true).open(&self.to).unwrap();
        std::io::copy(&mut std::io::Read::take(&file, end - self.at), &mut out).unwrap();
        self.at = end;
    }
}

fn growing(staged: &Path, home: &Path) -> Vec<Growing> {
    let mut folders = vec![staged.to_owned()];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let from = entry.unwrap().path();
            if from.is_dir() {
                folders.push(from);
            } else {
                let to = home.join(from.strip_prefix(staged).unwrap());
                all.push(Growing { from, to, at: 0 });
            }
        }
    }
    all.sort_by(|a, b| a.from.cmp(&b.from));
    all
}

/// Runs a command to its end. Returns its peak memory as well.
fn run(home: &Home, line: &str) -> (Ended, u64) {
    let mut running = Running::start(&mut home.command(line));
    let mut peak = 0;
    while !running.ends_within(TICK) {
        peak = peak.max(running.peak_bytes().unwrap_or_default());
    }
    (running.end(LIMIT), peak)
}

fn tree_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => tree_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

fn json(ended: &Ended) -> serde_json::Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Returns figures that no eviction changes: the number of sessions, and their usage.
fn numbers(home: &Home) -> String {
    let sessions = json(&run(home, "sessions --json --no-sweep --limit 1000000").0);
    let usage = json(&run(home, "usage --json --no-sweep").0);
    let count = sessions["sessions"].as_array().map_or(0, Vec::len);
    assert!(usage["totals"]["calls"].as_u64() > Some(0), "{usage}");
    format!("{count} sessions, {}", usage["totals"])
}

#[test]
fn a_memory_that_grows_while_all_is_asked_of_it_stays_flat_right_and_inside_its_budget() {
    let (sessions, megabytes, rounds) = (told("SOAK_SESSIONS", 60), told("SOAK_MB", 6), told("SOAK_ROUNDS", 4));
    let mut home = Home::on_disk();
    let staged = home.beside("staged");
    let shape = CorpusShape {
        seed: 17,
        bytes: megabytes * 1_000_000,
        files: usize::try_from(sessions * 3 / 2).unwrap(),
    };
    let written = corpus::write(&staged, &shape).unwrap();
    let mut logs = growing(&staged, &home.path);
    // About a third of the size that packs would reach, so that sweeps have to evict.
    let cap = (written.bytes / 16).max(1 << 19);
    let hard = cap * 3 / 2;
    let settings =
        format!("[session_memory.retention]\nraw_soft_cap_bytes = \"{cap}B\"\nraw_hard_cap_bytes = \"{hard}B\"\n");
    home.write(".config/boswell/config.toml", settings);
    let start: jiff::Timestamp = START.parse().unwrap();
    let mut peaks: Vec<Vec<u64>> = Vec::new();
    for round in 1..=rounds {
        let began = Instant::now();
        home.now = (start + jiff::SignedDuration::from_mins(60 * round as i64 / rounds as i64)).to_string();
        logs.iter_mut().for_each(|log| log.grow(round, rounds));
        let id = format!("50a00000-0000-4000-8000-{round:012}");
        let planted = ClaudeLog::new(&id)
            .at(&home.now)
            .prompt(&format!("plant soakword{round}x"))
            .reply("Done.");
        home.write(&format!(".claude/projects/-home-ada-app/{id}.jsonl"), planted.jsonl());
        let lines = [
            "sweep",
            "sweep",
            "search soakword --json",
            "sessions --json --limit 50",
            "usage --json",
            "evict",
            "report --date 2026-08-20",
        ];
        let ended: Vec<(Ended, u64)> = std::thread::scope(|scope| {
            let home = &home;
            let runs = lines.map(|line| scope.spawn(move || run(home, line)));
            runs.map(|run| run.join().unwrap()).into()
        });
        for (line, (ended, _)) in lines.iter().zip(&ended) {
            let is_well = matches!(ended.status.code(), Some(0 | 1)) && !ended.is_late;
            assert!(is_well, "round {round}, {line}: {ended:?}");
        }
        peaks.push(ended.iter().map(|(_, peak)| *peak).collect());
        // After one more sweep, everything written so far is found and the packs fit the cap.
        let (swept, _) = run(&home, "sweep");
        assert_eq!(swept.status.code(), Some(0), "{swept:?}");
        let found = run(&home, &format!("search soakword{round}x --json --no-sweep")).0;
        assert!(found.stdout.contains(&id), "round {round}: {found:?}");
        let packs = tree_bytes(&home.store().join("packs"));
        assert!(
            packs <= hard,
            "round {round}: {packs} bytes of packs, and {hard} are allowed"
        );
        eprintln!(
            "round {round}: {} s, packs {packs} of {hard} bytes, peaks in MiB {:?}",
            began.elapsed().as_secs(),
            ended.iter().map(|(_, peak)| peak >> 20).collect::<Vec<_>>()
        );
    }
    let (deep, _) = run(&home, "doctor --deep");
    assert!(deep.status.success(), "{deep:?}");
    assert!(
        run(&home, "journal --json").0.stdout.contains("evicted"),
        "nothing was evicted"
    );
    stay_flat(&peaks);
    let grown = numbers(&home);
    fs::remove_dir_all(home.store()).unwrap();
    home.write(".config/boswell/config.toml", "");
    assert_eq!(run(&home, "sweep").0.status.code(), Some(0));
    assert_eq!(grown, numbers(&home), "grown bit by bit and read in one go");
    eprintln!("{} files, {} bytes: {grown}", written.files, written.bytes);
}

/// Checks that processes of later rounds need no more memory than those of earlier rounds.
fn stay_flat(peaks: &[Vec<u64>]) {
    let half = peaks.len() / 2;
    let most = |rounds: &[Vec<u64>]| rounds.iter().flatten().copied().max().unwrap_or_default();
    let (first, last) = (most(&peaks[..half]), most(&peaks[half..]));
    assert!(first > 0, "no memory was seen");
    assert!(
        last <= first * 3 / 2 + NOISE_BYTES,
        "memory grew from {first} to {last} bytes: {peaks:?}"
    );
}
