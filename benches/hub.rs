//! Compares a memory in a directory with one on a server in the same run: sweep, search, and size on disk.
//!
//! `cargo bench -p boswell-benches --bench hub`. The home is the seeded corpus of `BOSWELL_BENCH_MB` megabytes, or the
//! real logs if `BOSWELL_CORPUS` names some. The server is a real PostgreSQL on this machine, reached over a socket,
//! with its own syncs turned off.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

#[allow(dead_code, reason = "each bench uses its part")]
mod homes;
#[allow(dead_code, reason = "each bench uses its part")]
mod process;
#[allow(dead_code, reason = "each bench uses its part")]
mod seeded;

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, thread};

use jiff::Timestamp;
use memory::find::{Question, find};
use memory::mask::{MaskKey, Masker, UserRules};
use memory::search::{HitTarget, Query};
use memory::sources::LogRoot;
use memory::store::{DatabaseServer, LockWait, Store, StoreLocation, WriterIdentity};
use memory::sweep::{Sweep, run};
use testkit::postgres::Postgres;
use transcript::Agent;

const ROUNDS: u64 = 5;
const PAGE_TURNS: usize = 20;

fn main() {
    let Some(server) = Postgres::start() else { return };
    let home = homes::real_home().unwrap_or_else(|| {
        let (home, written) = seeded::corpus();
        println!(
            "Corpus: {} files, {} bytes{}",
            written.files,
            written.bytes,
            written.speed()
        );
        home
    });
    let rounds = seeded::number("BOSWELL_BENCH_ROUNDS", ROUNDS).max(1);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!(
        "Machine: {cores} cores, {} {}; MB = 1,000,000 bytes",
        env::consts::OS,
        env::consts::ARCH
    );
    let directory = seeded::cache().join("hub-store");
    let (url, beside) = (server.database(), seeded::cache().join("hub-beside"));
    for used in [&directory, &beside] {
        _ = fs::remove_dir_all(used);
    }
    let writer = WriterIdentity {
        machine: "bench".to_owned(),
        user: "bench".to_owned(),
    };
    let here = StoreLocation::from(&directory).written_by(writer.clone());
    let there = StoreLocation::on_server(&beside, DatabaseServer::of_url(&url).expect("the server has a URL"))
        .written_by(writer);
    let swept = [&here, &there].map(|place| sweep(&home, place));
    println!(
        "Swept: {} sessions, {:.1} MB of logs\n",
        swept[0].1,
        swept[0].2 as f64 / 1e6
    );
    println!("| what | directory | server | |");
    println!("|---|---:|---:|---|");
    row("sweep of all logs", swept.map(|(seconds, ..)| seconds), "s");
    let again = [&here, &there].map(|place| sweep(&home, place).0 * 1e3);
    row("sweep with nothing new", again, "ms");
    let stores = [&here, &there].map(|place| Store::open(place).expect("the store was just made"));
    for (name, query) in questions() {
        let times = [0, 1].map(|at| median((0..rounds).map(|_| ask(&stores[at], &query).0).collect()));
        let found = [0, 1].map(|at| ask(&stores[at], &query).1);
        row(&format!("`{name}`, {} and {} turns", found[0], found[1]), times, "ms");
    }
    let name = url.rsplit('/').next().unwrap_or_default();
    let size = |sql: &str| server.run_in(name, sql).parse::<f64>().unwrap_or_default() / 1e6;
    let disk = [
        below(&directory) as f64 / 1e6,
        size("SELECT pg_database_size(current_database())"),
    ];
    row("on disk", disk, "MB");
    let kept = stores.each_ref().map(|store| {
        let bytes = store.reads().raw_cache_bytes();
        bytes.expect("the store can be asked") as f64 / 1e6
    });
    row("raw text in the store, packed, with its filters and events", kept, "MB");
    for table in ["frames", "filters", "words"] {
        let own = size(&format!("SELECT pg_total_relation_size('{table}')"));
        println!("| `{table}` | | {own:.1} | MB |");
    }
    for index in ["words_by_word", "words_by_piece"] {
        let own = size(&format!("SELECT pg_relation_size('{index}')"));
        println!("| of it `{index}` | | {own:.1} | MB |");
    }
}

fn row(name: &str, [here, there]: [f64; 2], unit: &str) {
    println!("| {name} | {here:.1} | {there:.1} | {unit} |");
}

fn questions() -> Vec<(&'static str, Query)> {
    let words = |text| (text, Query::words(text));
    let asked = [
        words("error"),
        words("migrat*"),
        words("zqxjkvw"),
        words("parse config"),
        ("--exact rustc --ex", Query::exact("rustc --ex")),
        ("--regex panic.*unwrap", Query::regex("panic.*unwrap")),
    ];
    asked
        .into_iter()
        .map(|(name, query)| (name, query.expect("these are questions")))
        .collect()
}

/// Returns the duration of a search in milliseconds, and the number of hits.
fn ask(store: &Store, query: &Query) -> (f64, usize) {
    let began = Instant::now();
    let question = Question {
        query,
        now: Timestamp::UNIX_EPOCH,
        threads: threads(),
        enough: HitTarget::of(PAGE_TURNS),
        takes: &|_| true,
        behind: None,
        is_cancelled: &|| false,
    };
    let findings = find(store, &question).expect("the store can be asked");
    (began.elapsed().as_secs_f64() * 1e3, findings.found.len())
}

/// Returns the duration of a sweep in seconds, the number of new sessions, and the number of bytes read.
fn sweep(home: &Path, place: &StoreLocation) -> (f64, u64, u64) {
    let roots = Agent::ALL.map(|agent| LogRoot {
        agent,
        path: home.join(format!(".{}", agent.as_str())),
        label: None,
    });
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("no rules of one's own");
    let now = "2100-01-01T00:00:00Z".parse().expect("a time");
    let began = Instant::now();
    let sweep = Sweep {
        threads: threads(),
        ..Sweep::new(place, &roots, &masker, now)
    };
    let report = run(&sweep, LockWait::Wait(&|| {})).expect("the logs can be swept");
    (began.elapsed().as_secs_f64(), report.sessions_new, report.bytes_read)
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn below(directory: &Path) -> u64 {
    let mut files: Vec<PathBuf> = Vec::new();
    seeded::files_below(directory, &mut files);
    files
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|metadata| metadata.len())
        .sum()
}
