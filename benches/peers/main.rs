//! Measures every claim: runs each job alternately with the programs that people use for it today, as whole commands on
//! the same logs. `./bench` installs those programs and starts this one, which does not know how they are installed.
//!
//! Writes the figures to `docs/dev/benchmarks.json`, and `docs/dev/benchmarks.md` from them. With `--quick` the logs
//! are small and the results go into the build directory instead.

#![allow(clippy::print_stderr, reason = "a bench says how far it is")]

mod bench;
mod browse;
mod figures;
mod film;
mod grow;
#[path = "../homes.rs"]
#[allow(dead_code, reason = "each bench uses its part")]
mod homes;
mod hook;
mod list;
mod page;
mod plot;
mod prepare;
#[path = "../process.rs"]
#[allow(dead_code, reason = "each bench uses its part")]
mod process;
mod read;
#[path = "../roofline.rs"]
#[allow(dead_code, reason = "each bench uses its part")]
mod roofline;
mod search;
#[path = "../seeded.rs"]
#[allow(dead_code, reason = "each bench uses its part")]
mod seeded;
mod sweep;
mod usage;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use bench::Bench;
use figures::{Figures, Job};

type Measure = fn(&mut Bench) -> Job;

/// Every job by its name, in the order of the page.
const JOBS: [(&str, Measure); 10] = [
    ("sweep", sweep::job),
    ("search", search::job),
    ("usage", usage::job),
    ("list", list::job),
    ("prepare", prepare::job),
    ("render", browse::job),
    ("film", film::job),
    ("hook", hook::job),
    ("read", read::job),
    ("grow", grow::job),
];

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let quick = words.iter().any(|word| word == "--quick");
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = wanted.iter().find(|word| JOBS.iter().all(|(name, _)| name != **word)) {
        let known: Vec<&str> = JOBS.iter().map(|(name, _)| *name).collect();
        eprintln!("error: no such job: `{unknown}`\nHint: {}", known.join(", "));
        std::process::exit(2);
    }
    let place = match quick {
        true => seeded::cache().join("quick"),
        false => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/dev"),
    };
    fs::create_dir_all(place.join("pictures")).expect("the page's directory can be written");
    let kept = place.join("benchmarks.json");
    let mut figures: Figures = fs::read(&kept)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    if words.iter().any(|word| word == "--page") {
        return write(&place, &figures, quick);
    }
    bench::clear_aside();
    let mut bench = Bench::start(quick);
    let measured = bench.measured();
    for (number, (name, job)) in JOBS.iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == name) {
            continue;
        }
        eprintln!("== {name} ({} of {})", number + 1, JOBS.len());
        let mut done = job(&mut bench);
        done.measured = measured.clone();
        figures.jobs.insert((*name).to_owned(), done);
        // Writes after each job, so that an interrupted run keeps its results.
        write(&place, &figures, quick);
    }
    bench::clear_aside();
    eprintln!("Written: {}", place.join("benchmarks.md").display());
}

fn write(place: &Path, figures: &Figures, quick: bool) {
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut kept = serde_json::to_string_pretty(figures).expect("figures are plain data");
    // Parses the figures again, because a number may change in its last bit and the page must match the file.
    let figures = &serde_json::from_str::<Figures>(&kept).expect("what was written can be read");
    kept.push('\n');
    files.insert("benchmarks.json".into(), kept);
    files.insert("benchmarks.md".into(), page::markdown(figures));
    for (name, picture) in plot::all(figures) {
        files.insert(Path::new("pictures").join(name), picture);
    }
    for (name, text) in files {
        fs::write(place.join(name), text).expect("the page's directory can be written");
    }
    if !quick {
        write_readme(&place.join("../../README.md"), figures);
    }
}

/// Replaces the lines about speed between the two marks in the README.
fn write_readme(path: &Path, figures: &Figures) {
    let text = fs::read_to_string(path).expect("the README is there");
    let (before, rest) = text.split_once(page::MARKS.0).expect("the README has the first mark");
    let (_, after) = rest.split_once(page::MARKS.1).expect("the README has the second mark");
    let lines = page::readme(figures);
    let text = format!("{before}{}\n{lines}{}{after}", page::MARKS.0, page::MARKS.1);
    fs::write(path, text).expect("the README can be written");
}
