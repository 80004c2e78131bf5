//! Signals during writes: no partial file is left, and the next run does the work.

use std::path::PathBuf;

use std::os::unix::process::ExitStatusExt;

use testkit::faults::Fault;

use crate::home::{Home, each, none};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Verbs that write for long, and the files that they leave when they are done.
const VERBS: &[(&str, &[&str])] = &[
    ("sweep", &[]),
    ("rebuild", &[]),
    ("doctor --deep", &[]),
    ("prepare --date 2026-04-01", &[]),
    ("report --date 2026-04-01 --to html -o day.html", &["day.html"]),
    ("bundle --date 2026-04-01 -o day.zip", &["day.zip"]),
    ("stats --to html -o stats.html", &["stats.html"]),
    ("render 5e55a0ad -o page.html", &["page.html"]),
    (
        "render 5e55a0ad --turns 1 -o film.gif --size 320x180 --fps 2 --max-duration 5s",
        &["film.gif"],
    ),
    (
        "render 5e55a0ad --turns 1 -o film.mp4 --size 320x180 --fps 2 --max-duration 5s",
        &["film.mp4"],
    ),
    ("render --all -o pages", &["pages/index.html"]),
    ("export --to csv -o csv", &["csv/sessions.csv", "csv/calls.csv"]),
    ("export --to parquet -o parquet", &["parquet/sessions.parquet"]),
    ("restore 5e55a0ad -o given", &[]),
];

/// Number of moments to try for each verb.
const MOMENTS: u64 = 6;

/// Returns temporary files that were left behind.
fn temporary_files(home: &Home) -> Vec<PathBuf> {
    let is_temporary = |path: &PathBuf| {
        let path = path.strip_prefix(&home.path).unwrap().to_string_lossy();
        // SQLite keeps its own files next to the database.
        path.split('/')
            .any(|name| name.starts_with(".boswell-") || name.starts_with(".report") || name.starts_with(".tmp"))
    };
    home.files(".").into_iter().filter(is_temporary).collect()
}

/// Interrupts a verb before one of its writes, and returns what is wrong afterwards.
fn interrupt(clean: &Home, verb: &str, whole: &[&str], signal: i32, at: u64) -> Vec<String> {
    let home = clean.copy();
    let (ended, _) = home.run_with(verb, &Fault::SignalAt { signal, at });
    let mut wrongs = Vec::new();
    let is_interrupted = ended.status.signal() == Some(signal);
    // If the signal comes after the last write, the verb succeeds.
    if ended.is_late || !(is_interrupted || ended.status.success()) {
        wrongs.push(format!("ended otherwise: {ended:?}"));
    }
    let left = temporary_files(&home);
    if !left.is_empty() {
        wrongs.push(format!("left behind: {left:?}"));
    }
    wrongs.extend(whole.iter().filter_map(|name| {
        let bytes = std::fs::read(home.path.join(name)).ok()?;
        let is_whole = match name.rsplit('.').next() {
            Some("html") => bytes.ends_with(b"</html>\n"),
            Some("gif") => bytes.ends_with(&[0x3b]),
            Some("parquet") => bytes.ends_with(b"PAR1"),
            _ => !bytes.is_empty(),
        };
        (!is_whole).then(|| format!("{name} is half written"))
    }));
    let ended = home.run("doctor --deep");
    if !ended.status.success() {
        wrongs.push(format!("the store is not clean: {ended:?}"));
    }
    // A verb that refuses to overwrite its own complete result had finished before the signal.
    let again = home.run(verb);
    let is_refused = again.stderr.contains("there already") || again.stderr.contains("File exists");
    let is_done = is_refused && whole.iter().all(|name| home.path.join(name).exists());
    if !again.status.success() && !is_done {
        wrongs.push(format!("the next run fails: {again:?}"));
    }
    wrongs
        .iter()
        .map(|wrong| format!("{verb}, signal {signal} before write {at}: {wrong}"))
        .collect()
}

#[test]
fn an_interrupted_verb_leaves_nothing_half_written_and_the_next_run_completes_it() {
    let unswept = Home::with_logs();
    let swept = unswept.copy();
    swept.sweep();
    let prepared = swept.copy();
    assert!(prepared.run("prepare --date 2026-04-01").status.success());
    let wrongs = each(VERBS, |(verb, whole)| {
        let clean = match verb.split(' ').next() {
            Some("sweep") => &unswept,
            Some("bundle" | "report") => &prepared,
            _ => &swept,
        };
        let (ended, calls) = clean.copy().run_with(verb, &Fault::None);
        if !ended.status.success() {
            return vec![format!("{verb}: {ended:?}")];
        }
        let writes = calls.iter().filter_map(|call| call.number).max().unwrap_or(0);
        let signals = [SIGINT, SIGHUP, SIGTERM];
        let moments = (0..MOMENTS.min(writes)).map(|moment| 1 + moment * writes / MOMENTS.min(writes));
        moments
            .enumerate()
            .flat_map(|(at, moment)| interrupt(clean, verb, whole, signals[at % signals.len()], moment))
            .collect()
    });
    none(&wrongs);
}
