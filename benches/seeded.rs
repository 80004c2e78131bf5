//! The seeded corpus on disk, written once per size and kept in the build directory.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use testkit::corpus::{self, CorpusShape};

use crate::process;

/// Another seed gives another corpus of the same shape.
pub const SEED: u64 = 1;
pub const MEGABYTE: u64 = 1_000_000;

/// The files and bytes of a corpus, written now or earlier.
pub struct Written {
    pub files: usize,
    pub bytes: u64,
    /// The CPU seconds of writing it, or `None` if it existed already.
    seconds: Option<f64>,
}

impl Written {
    /// Returns the speed of writing it as text, which is empty if it existed already.
    pub fn speed(&self) -> String {
        self.seconds.map_or(String::new(), |seconds| {
            format!(", written at {:.0} MB/s by one core", self.bytes as f64 / 1e6 / seconds)
        })
    }
}

/// Returns the corpus of `BOSWELL_BENCH_MB` megabytes, 300 by default.
pub fn corpus() -> (PathBuf, Written) {
    let megabytes = number("BOSWELL_BENCH_MB", 300);
    let mut seconds = None;
    let home = kept(&format!("corpus-{SEED}-{megabytes}"), |home| {
        let (start, cpu) = (Instant::now(), process::cpu_seconds());
        corpus::write(home, &CorpusShape::with_bytes(SEED, megabytes * MEGABYTE))
            .expect("the build directory can be written");
        let took = process::cpu_seconds().zip(cpu).map(|(after, before)| after - before);
        seconds = Some(took.unwrap_or_else(|| start.elapsed().as_secs_f64()));
    });
    let mut files = Vec::new();
    files_below(&home, &mut files);
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let written = Written {
        files: files.len(),
        bytes: files.iter().map(size).sum(),
        seconds,
    };
    (home, written)
}

/// Returns the home with this name. Calls `write` if it does not exist, or if an older version of the generator wrote
/// it.
pub fn kept(name: &str, write: impl FnOnce(&Path)) -> PathBuf {
    let home = cache().join(format!("{name}-{:016x}", fingerprint()));
    if !home.exists() {
        for old in fs::read_dir(cache()).into_iter().flatten().flatten() {
            if old.file_name().to_string_lossy().starts_with(&format!("{name}-")) {
                _ = fs::remove_dir_all(old.path());
            }
        }
        let begun = cache().join(format!("{name}-begun"));
        write(&begun);
        fs::rename(&begun, &home).expect("the build directory can be written");
    }
    home
}

/// Returns the directory for files kept between runs.
pub fn cache() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Returns a hash of a small corpus, which changes with the generator.
fn fingerprint() -> u64 {
    let home = cache().join("corpus-fingerprint");
    _ = fs::remove_dir_all(&home);
    corpus::write(&home, &CorpusShape::with_bytes(SEED, MEGABYTE)).expect("the build directory can be written");
    let mut files = Vec::new();
    files_below(&home, &mut files);
    let bytes = files.iter().flat_map(|path| fs::read(path).unwrap_or_default());
    // FNV-1a.
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the directory of the real logs, if there are any.
#[allow(dead_code)] // Not every bench asks for them.
pub fn real() -> Option<PathBuf> {
    env::var_os("BOSWELL_CORPUS").map(PathBuf::from)
}

/// Returns a number from the environment, or `otherwise`.
pub fn number(name: &str, otherwise: u64) -> u64 {
    env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(otherwise)
}

/// Collects all files below a folder, sorted.
pub fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Returns the path of the shipped binary: `BOSWELL_BENCH_BINARY`, or a new build.
#[allow(dead_code)] // Not every bench runs the product as a command.
pub fn binary() -> PathBuf {
    if let Some(told) = env::var_os("BOSWELL_BENCH_BINARY") {
        return told.into();
    }
    let built = std::process::Command::new(env!("CARGO"))
        .args(["build", "--profile", "dist", "-p", "boswell"])
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the product can be built");
    cache().with_file_name("dist").join("boswell")
}
