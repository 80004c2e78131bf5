//! A home with logs of all three agents, the binary run in it, and everything that its memory answers as one text.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use memory::kept;
use memory::packs;
use memory::store::Store;
use tempfile::TempDir;
use testkit::faults::{Call, Ended, Fault, Faults, Running, calls};
use testkit::logs::ClaudeLog;

/// Far longer than any run takes: a run that reaches it hangs.
pub const LIMIT: Duration = Duration::from_secs(120);
/// The fixed clock: long after all logs were written except one.
pub const NOW: &str = "2026-04-02T09:00:00Z";
/// Assembled here so that no scanner reports it as a leak.
pub fn secret() -> String {
    format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>())
}

pub const SESSION: &str = "5e550000-0000-4000-8000-00000000000a";

pub fn claude_log(session: &str) -> String {
    format!(".claude/projects/-home-ada-app/{session}.jsonl")
}

/// Returns whether every fault is tried, not only a sample.
pub fn takes_all() -> bool {
    std::env::var("BOSWELL_FAULTS").is_ok_and(|told| told == "all")
}

pub fn faults() -> &'static Faults {
    static BUILT: OnceLock<Faults> = OnceLock::new();
    BUILT.get_or_init(|| Faults::build(Path::new(env!("CARGO_TARGET_TMPDIR"))))
}

/// A home directory that lives as long as the test.
pub struct Home {
    _directory: TempDir,
    pub path: PathBuf,
    pub now: String,
}

impl Home {
    /// Returns a home that contains only the key of masked secrets, so that two homes mask alike.
    pub fn empty() -> Self {
        // A file system in memory is fast, and no test here depends on how a real disk behaves.
        let memory = Path::new("/dev/shm");
        match tempfile::tempdir_in(memory) {
            Ok(_) => Self::inside(memory),
            Err(_) => Self::on_disk(),
        }
    }

    /// Returns an empty home on a real disk, for large tests and for those that need one.
    pub fn on_disk() -> Self {
        Self::inside(&std::env::temp_dir())
    }

    fn inside(folder: &Path) -> Self {
        let home = Self::at(folder, NOW);
        home.write(".config/boswell/mask.key", [7; 32]);
        home
    }

    /// Returns a home with logs of all three agents, a subagent and companions. One log is still being written.
    pub fn with_logs() -> Self {
        Self::empty().fill()
    }

    /// Writes logs of all three agents into the home.
    pub fn fill(self) -> Self {
        let home = self;
        let path = home.path.to_str().unwrap().to_owned();
        assert!(home.run(&format!("demo --json -o {path}")).status.success());
        for file in home.files(".") {
            home.touch(&file, "2026-04-01T12:00:00Z");
        }
        home.write(&claude_log(SESSION), session(3));
        home.touch(&home.path.join(claude_log(SESSION)), "2026-04-02T08:59:00Z");
        home.write(
            ".codex/session_index.jsonl",
            "{\"id\":\"0000\",\"thread_name\":\"somebody else's\"}\n",
        );
        home
    }

    /// Copies all files, with their times, to another directory.
    pub fn copy(&self) -> Self {
        let folder = self.path.ancestors().nth(2).unwrap();
        let copy = Self::at(folder, &self.now);
        copy_tree(&self.path, &copy.path);
        copy
    }

    fn at(folder: &Path, now: &str) -> Self {
        let directory = tempfile::tempdir_in(folder).unwrap();
        let path = fs::canonicalize(directory.path()).unwrap().join("home");
        Self {
            _directory: directory,
            path,
            now: now.to_owned(),
        }
    }

    /// Returns a path next to the home, for files that no run may see.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path.join(".local/share/boswell")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn append(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        let mut all = fs::read(&path).unwrap();
        all.extend_from_slice(bytes.as_ref());
        fs::write(path, all).unwrap();
    }

    pub fn touch(&self, path: &Path, time: &str) {
        let time: jiff::Timestamp = time.parse().unwrap();
        File::open(path).unwrap().set_modified(SystemTime::from(time)).unwrap();
    }

    /// Returns all files below a folder of the home, sorted.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.path.join(folder), &mut found);
        found.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()));
        found.sort();
        found
    }

    /// Returns a command that runs the binary in this home without any other variables. `line` is split at spaces.
    pub fn command(&self, line: &str) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_boswell")), line)
    }

    pub fn command_of(&self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        fs::create_dir_all(&self.path).unwrap();
        command
            .args(line.split_whitespace())
            .current_dir(&self.path)
            .env_clear()
            .env("HOME", &self.path)
            .env("TZ", "UTC")
            .env("BOSWELL_SYSTEM_CONFIG", self.path.join("etc/config.toml"))
            .env("BOSWELL_NOW", &self.now);
        command
    }

    pub fn run(&self, line: &str) -> Ended {
        Running::start(&mut self.command(line)).end(LIMIT)
    }

    /// Runs the binary with a fault in any file of the home, and returns all calls that it made.
    pub fn run_with(&self, line: &str, fault: &Fault) -> (Ended, Vec<Call>) {
        let log = self.beside("calls");
        _ = fs::remove_file(&log);
        let mut command = self.command(line);
        faults().arm(&mut command, &self.path, fault, Some(&log));
        let ended = Running::start(&mut command).end(LIMIT);
        (ended, calls(&log))
    }

    /// Sweeps and panics unless that succeeds.
    pub fn sweep(&self) -> serde_json::Value {
        let ended = self.run("sweep --json");
        assert!(ended.status.success() && !ended.is_late, "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Returns everything that the memory answers: every session, every kept byte, every derived row.
    pub fn answers(&self) -> Result<Vec<String>, String> {
        let told = |error: memory::store::StoreError| error.to_string();
        let store = Store::open_existing(self.store()).map_err(told)?;
        let store = store.ok_or("there is no store")?;
        let mut answers = Vec::new();
        for session in store.reads().sessions().map_err(told)? {
            answers.push(format!("{session:?}"));
            for part in store.reads().parts(&session.session_uid).map_err(told)? {
                let mut bytes = Vec::new();
                let kept = kept::write_part(&store, &session.session_uid, &part, &mut bytes);
                kept.map_err(told)?.map_err(|error| error.to_string())?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                answers.push(format!("kept {} {part}\n{text}", session.session_uid));
            }
        }
        answers.extend(store.reads().derived_rows().map_err(told)?);
        Ok(answers)
    }

    /// Returns problems of the store itself. Call it after a sweep, which removes leftovers of a crash.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        match Store::open_existing(self.store()) {
            Ok(Some(store)) => {
                doubts.extend(store.reads().check().unwrap_or_else(|error| vec![error.to_string()]));
                let used = store.reads().packs_in_use().unwrap_or_default();
                let lengths = used.iter().map(|(pack, length)| (pack.as_str(), *length));
                for (pack, length) in lengths {
                    let there = fs::metadata(store.packs().path(pack)).map_or(0, |metadata| metadata.len());
                    if there < length {
                        doubts.push(format!("pack {pack} has {there} bytes of {length}"));
                    }
                }
                let used: BTreeSet<String> = used.into_iter().map(|(pack, _)| pack).collect();
                for pack in packs::list_packs(&store.packs()) {
                    if !used.contains(&pack) {
                        doubts.push(format!("pack {pack} is nobody's"));
                    }
                }
            }
            Ok(None) => doubts.push("there is no store".to_owned()),
            Err(error) => doubts.push(error.to_string()),
        }
        doubts.extend(self.open_to_others());
        if has_deep_doctor() {
            let ended = self.run("doctor --deep");
            if !ended.status.success() {
                doubts.push(format!("{ended:?}"));
            }
        }
        doubts
    }

    /// Returns files of the store that other users could access.
    fn open_to_others(&self) -> Vec<String> {
        let mut found = vec![self.store()];
        walk(&self.store(), &mut found);
        let mode = |path: &PathBuf| {
            path.symlink_metadata()
                .map_or(0, |metadata| metadata.permissions().mode())
        };
        found.retain(|path| mode(path) & 0o077 != 0);
        let name = |path: &PathBuf| path.strip_prefix(&self.path).unwrap().display().to_string();
        found
            .iter()
            .map(|path| format!("{} has mode {:o}", name(path), mode(path) & 0o777))
            .collect()
    }

    /// Returns our files that contain the planted secret.
    pub fn leaks(&self) -> Vec<String> {
        let secret = secret();
        let holds = |path: &PathBuf| {
            let bytes = fs::read(path).unwrap_or_default();
            bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
        };
        let ours = [".local", ".config"].iter().flat_map(|folder| self.files(folder));
        ours.filter(holds)
            .map(|path| format!("{} holds a secret", path.display()))
            .collect()
    }

    /// Returns all files of the agents with their names, links, bytes and times.
    pub fn sources(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in [".claude", ".codex", ".grok", ".ssh", "app"] {
            found.push(self.path.join(folder));
            walk(&self.path.join(folder), &mut found);
        }
        found.sort();
        let line = |path: PathBuf| {
            let metadata = path.symlink_metadata().ok()?;
            let bytes = match metadata.is_file() {
                true => fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                false => Ok(String::new()),
            };
            let time = (metadata.mtime(), metadata.mtime_nsec(), metadata.ino(), metadata.mode());
            Some(format!("{} {time:?} {}", path.display(), bytes.unwrap_or_default()))
        };
        found.into_iter().filter_map(line).collect()
    }
}

/// Returns the log of a session with `prompts` prompts. Each prompt contains the secret.
pub fn session(prompts: usize) -> String {
    story(SESSION, prompts).jsonl()
}

pub fn story(session: &str, prompts: usize) -> ClaudeLog {
    let mut log = ClaudeLog::new(session).at("2026-04-02T08:00:00Z");
    for n in 0..prompts {
        log = log
            .prompt(&format!("push number {n} with {}", secret()))
            .tool("Bash", serde_json::json!({"command": "cargo test"}), "1 passed")
            .reply("Done.");
    }
    log
}

/// Calls `work` with each item on all processors, and collects the returned problems.
pub fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let told = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let more = work(item);
                    told.lock().unwrap().extend(more);
                }
            });
        }
    });
    told.into_inner().unwrap()
}

/// Panics with all problems, if there are any.
pub fn none(wrongs: &[String]) {
    assert!(wrongs.is_empty(), "{} wrongs:\n{}", wrongs.len(), wrongs.join("\n"));
}

/// Returns a short description of the first difference between two lists of answers.
pub fn difference(expected: &[String], found: &[String]) -> Option<String> {
    let cut = |text: Option<&String>| text.map_or("nothing".to_owned(), |text| text.chars().take(160).collect());
    let at = (0..expected.len().max(found.len())).find(|at| expected.get(*at) != found.get(*at))?;
    Some(format!(
        "answer {at} of {} ({} found): expected `{}`, found `{}`",
        expected.len(),
        found.len(),
        cut(expected.get(at)),
        cut(found.get(at))
    ))
}

/// Returns the problems of a home that should give the expected answers.
pub fn wrongs(home: &Home, expected: &[String]) -> Vec<String> {
    let mut wrongs = home.doubts();
    match home.answers() {
        Ok(found) => wrongs.extend(difference(expected, &found)),
        Err(error) => wrongs.push(error),
    }
    wrongs.extend(home.leaks());
    wrongs
}

fn has_deep_doctor() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boswell"));
        command.args(["doctor", "--help"]);
        Running::start(&mut command).end(LIMIT).stdout.contains("--deep")
    })
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), found);
        }
        found.push(entry.path());
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let metadata = entry.path().symlink_metadata().unwrap();
        if metadata.is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let file = File::open(&target).unwrap();
            file.set_modified(metadata.modified().unwrap()).unwrap();
        }
    }
}

/// Returns the calls to abort at, each with its number: every call except some pages of consecutive writes.
pub fn worth_a_crash<'c>(calls: &[&'c Call], pages_between: u64) -> impl Iterator<Item = (u64, &'c Call)> {
    let is_page =
        |call: Option<&&Call>| call.is_some_and(|call| call.name == "pwrite" && call.path.contains("store.db"));
    calls.iter().enumerate().filter_map(move |(at, call)| {
        let n = at as u64 + 1;
        let is_inside = is_page(Some(call)) && is_page(calls.get(at + 1)) && at > 0 && is_page(calls.get(at - 1));
        let is_left_out = is_inside && !n.is_multiple_of(pages_between + 1) && !takes_all();
        (!is_left_out).then_some((n, *call))
    })
}
