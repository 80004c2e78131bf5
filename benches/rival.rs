//! agentsview from PyPI on the same logs of Claude Code: its first sync beside our first sweep, in one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::seeded::{cache, files_below};

/// Prints how both fare, or why there is nothing to print.
pub fn beside(home: &Path, binary: &Path) {
    let rival = match installed() {
        Ok(rival) => rival,
        Err(reason) => return println!("agentsview cannot be had: {reason}"),
    };
    let claude = home.join(".claude");
    let source = size_below(&claude.join("projects"));
    println!(
        "| first sweep of {:.0} MB of Claude Code's logs | s | bytes on disk, of the source |",
        source as f64 / 1e6
    );
    println!("|---|---:|---:|");
    let mut ratios = Vec::new();
    for _ in 0..2 {
        let data = fresh("agentsview-data");
        let mut sync = Command::new(&rival);
        sync.arg("sync")
            .env("HOME", fresh("agentsview-home"))
            .env("CLAUDE_PROJECTS_DIR", claude.join("projects"));
        sync.env("AGENTSVIEW_NO_DAEMON", "1")
            .env("AGENTSVIEW_TELEMETRY_ENABLED", "0")
            .env("AGENTSVIEW_DATA_DIR", &data);
        let Some(theirs) = seconds(&mut sync) else {
            return println!("`agentsview sync` failed");
        };
        println!(
            "| `agentsview sync` | {theirs:.1} | {:.2} |",
            size_below(&data) as f64 / source as f64
        );
        let data = fresh("beside-data");
        let mut sweep = Command::new(binary);
        sweep
            .arg("sweep")
            .env("HOME", fresh("beside-home"))
            .env("BOSWELL_HOME", &data)
            .env("CLAUDE_CONFIG_DIR", &claude);
        let Some(ours) = seconds(&mut sweep) else {
            return println!("`boswell sweep` failed");
        };
        println!(
            "| `boswell sweep` | {ours:.1} | {:.2} |",
            size_below(&data) as f64 / source as f64
        );
        ratios.push(format!("{:.1}", theirs / ours));
    }
    println!();
    println!("times as fast, wanted 10: {}", ratios.join(", "));
}

/// The program in an environment of its own, which is kept between runs.
fn installed() -> Result<PathBuf, String> {
    let place = cache().join("agentsview");
    let program = place.join("bin/agentsview");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        run(Command::new(place.join("bin/pip")).args(["install", "--quiet", "agentsview"]))?;
    }
    Ok(program)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(told.lines().last().unwrap_or_default().to_owned()),
    }
}

fn seconds(command: &mut Command) -> Option<f64> {
    let start = Instant::now();
    let output = command.output().ok()?;
    output.status.success().then(|| start.elapsed().as_secs_f64())
}

fn fresh(name: &str) -> PathBuf {
    let place = cache().join(name);
    _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("the build directory can be written");
    place
}

fn size_below(folder: &Path) -> u64 {
    let mut files = Vec::new();
    files_below(folder, &mut files);
    files
        .iter()
        .map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()))
        .sum()
}
