//! Disks that are full, broken or read-only: the sweep reports an error, and kept text stays.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::faults::{Ended, Errno, Fault, Running};

use crate::home::{Home, LIMIT, SESSION, claude_log, each, none, session, takes_all, wrongs};

/// Returns whether the command failed with an error that names the problem of the disk.
fn is_clear(ended: &Ended, words: &[&str]) -> bool {
    ended.status.code() == Some(2)
        && ended.stderr.starts_with("error: ")
        && words.iter().any(|word| ended.stderr.contains(word))
}

/// Lets the disk fail from each call on, and sweeps again once it works.
fn fail_everywhere(home: &Home, with: Errno, words: &[&str]) {
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    let (_, calls) = home.copy().run_with("sweep", &Fault::None);
    let count = calls.iter().filter_map(|call| call.number).max().unwrap();
    let stride = if takes_all() { 1 } else { 7 };
    eprintln!("{with:?} from every {stride}. of {count} calls on");
    let failed = AtomicUsize::new(0);
    let points: Vec<u64> = (1..=count).step_by(stride).collect();
    none(&each(&points, |from| {
        let home = home.copy();
        let fault = Fault::Fails {
            with,
            from: *from,
            to: u64::MAX,
        };
        let (ended, _) = home.run_with("sweep", &fault);
        let mut wrong = Vec::new();
        // A failure after the last commit does not matter if everything was written.
        let is_done = ended.status.success() && home.answers().is_ok_and(|found| found == expected);
        failed.fetch_add(usize::from(!ended.status.success()), Ordering::Relaxed);
        if !is_done && !is_clear(&ended, words) {
            wrong.push(format!("from {from}: {:?} {}", ended.status, ended.stderr));
        }
        let again = home.run("sweep");
        if !again.status.success() {
            wrong.push(format!("from {from}, then mended: {}", again.stderr));
        }
        let later = wrongs(&home, &expected).into_iter();
        wrong.extend(later.map(|told| format!("from {from}, then mended: {told}")));
        wrong
    }));
    let failed = failed.into_inner();
    assert!(failed > 5, "the disk failed only {failed} times");
}

/// SQLite does not always report why it cannot open a file; then our hint names possible causes.
const HINT: &str = "room on its disk";
const FULL: &[&str] = &["No space left", "disk is full", "no room on the disk", HINT];
const BROKEN: &[&str] = &["Input/output error", "disk I/O error", "an I/O error", HINT];

#[test]
fn a_full_disk_is_told_and_the_next_sweep_is_right() {
    fail_everywhere(&Home::with_logs(), Errno::NoSpace, FULL);
}

#[test]
fn a_broken_disk_is_told_and_the_next_sweep_is_right() {
    fail_everywhere(&Home::with_logs(), Errno::Io, BROKEN);
}

#[test]
fn a_disk_that_fills_up_later_takes_nothing_that_was_kept() {
    let home = Home::with_logs();
    home.sweep();
    home.write(&claude_log(SESSION), session(60));
    let before = kept_lines(&home);
    let (_, calls) = home.copy().run_with("sweep", &Fault::None);
    let count = calls.iter().filter_map(|call| call.number).max().unwrap();
    let stride = if takes_all() { 1 } else { 3 };
    none(&each(&Vec::from_iter((1..=count).step_by(stride)), |from| {
        let home = home.copy();
        let fault = Fault::Fails {
            with: Errno::NoSpace,
            from: *from,
            to: u64::MAX,
        };
        home.run_with("sweep", &fault);
        let now = kept_lines(&home);
        let gone = before.iter().filter(|line| !now.contains(line));
        gone.map(|line| format!("from {from}: gone: {line}")).collect()
    }));
}

/// Returns every kept line.
fn kept_lines(home: &Home) -> Vec<String> {
    let answers = home.answers().unwrap();
    let kept = answers.iter().filter_map(|answer| answer.strip_prefix("kept "));
    let kept = kept.filter_map(|answer| answer.split_once('\n'));
    kept.flat_map(|(_, text)| text.lines().map(str::to_owned)).collect()
}

/// A small file system, unmounted on drop.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path, size: &str) -> Result<Self, String> {
        fs::create_dir_all(path).unwrap();
        let options = format!("size={size},mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "boswell-test"]).arg(path);
        run(&mut mount).map(|()| Self(path.to_owned()))
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        run(Command::new("mount").args(["-o", &options]).arg(&self.0)).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        _ = run(Command::new("umount").arg(&self.0));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let ended = command.output().map_err(|error| error.to_string())?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ended.stderr)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()),
    }
}

#[test]
fn a_disk_that_is_really_full_is_told_and_with_room_the_next_sweep_is_right() {
    let home = Home::with_logs();
    home.write(&claude_log(SESSION), session(800));
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    let mut full = 0;
    for size in ["64k", "160k", "256k", "400k", "600k"] {
        let home = home.copy();
        let disk = match SmallDisk::mount(&home.store(), size) {
            Ok(disk) => disk,
            Err(reason) => {
                eprintln!("Skipped: no small disk can be mounted here: {reason}");
                return;
            }
        };
        let ended = home.run("sweep");
        full += usize::from(!ended.status.success());
        assert!(ended.status.success() || is_clear(&ended, FULL), "{size}: {ended:?}");
        disk.grow("64m");
        home.sweep();
        let told = wrongs(&home, &expected);
        assert!(told.is_empty(), "{size}: {}", told.join("\n"));
    }
    assert!(full > 1, "the disk was full only {full} times");
}

/// A user other than root, because root ignores permissions.
pub(crate) struct Somebody {
    program: PathBuf,
    is_other: bool,
}

impl Somebody {
    pub(crate) const ID: u32 = 65534;

    /// Returns the user who runs the test, or user 65534 if that is root. Prints why if it cannot switch users.
    fn of(home: &Home) -> Option<Self> {
        let boswell = Path::new(env!("CARGO_BIN_EXE_boswell"));
        let is_other = fs::metadata(&home.path).unwrap().uid() == 0;
        let program = if is_other {
            home.beside("boswell")
        } else {
            boswell.to_owned()
        };
        if is_other && Command::new("setpriv").arg("--version").output().is_err() {
            eprintln!("Skipped: there is no setpriv here to become somebody else");
            return None;
        }
        if is_other {
            fs::copy(boswell, &program).unwrap();
            set_mode(home.path.parent().unwrap(), 0o755);
        }
        let somebody = Self { program, is_other };
        somebody.take(home);
        let ended = Running::start(&mut somebody.command(home, "--version")).end(LIMIT);
        if ended.status.success() {
            return Some(somebody);
        }
        eprintln!("Skipped: nobody else can run the binary here: {}", ended.stderr.trim());
        None
    }

    /// Copies the binary to where another user, who owns nothing in the home, can run it. Returns `None` unless the
    /// test runs as root.
    pub(crate) fn other(home: &Home) -> Option<PathBuf> {
        if fs::metadata(&home.path).unwrap().uid() != 0 {
            eprintln!("Skipped: only root can become somebody else");
            return None;
        }
        let program = home.beside("boswell");
        fs::copy(env!("CARGO_BIN_EXE_boswell"), &program).unwrap();
        set_mode(home.path.parent().unwrap(), 0o755);
        let user = format!(
            "--reuid={0} --regid={0} --clear-groups {1} --version",
            Self::ID,
            program.display()
        );
        match home.command_of(Path::new("setpriv"), &user).output() {
            Ok(output) if output.status.success() => Some(program),
            _ => {
                eprintln!("Skipped: nobody else can run the binary here");
                None
            }
        }
    }

    /// Makes the user the owner of a home.
    fn take(&self, home: &Home) {
        let mut all = vec![home.path.clone()];
        while let Some(path) = all.pop() {
            if self.is_other {
                chown(&path, Some(Self::ID), Some(Self::ID)).unwrap();
            }
            if path.is_dir() {
                all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
    }

    fn command(&self, home: &Home, line: &str) -> Command {
        if !self.is_other {
            return home.command_of(&self.program, line);
        }
        let user = format!(
            "--reuid={0} --regid={0} --clear-groups {1} {line}",
            Self::ID,
            self.program.display()
        );
        home.command_of(Path::new("setpriv"), &user)
    }

    fn run(&self, home: &Home, line: &str) -> Ended {
        Running::start(&mut self.command(home, line)).end(LIMIT)
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_memory_that_cannot_be_written_is_told_and_can_still_be_read() {
    let home = Home::on_disk().fill();
    home.sweep();
    let Some(somebody) = Somebody::of(&home) else { return };
    home.write(&claude_log(SESSION), session(9));
    somebody.take(&home);
    // Runs in a copy, because reading leaves files beside the database that would help the next reader without write
    // permission.
    let kept = home.copy().run(&format!("cat {SESSION}")).stdout;
    assert!(!kept.is_empty());
    let mut folders = vec![home.store()];
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        set_mode(&path, if path.is_dir() { 0o500 } else { 0o400 });
    }
    let mut wrongs = Vec::new();
    let ended = somebody.run(&home, "sweep");
    let is_told = is_clear(&ended, &["ermission denied", "read-only", "readonly"]);
    if !is_told || !ended.stderr.contains("Hint: ") {
        wrongs.push(format!("sweep: {ended:?}"));
    }
    let ended = somebody.run(&home, &format!("cat {SESSION}"));
    if (ended.status.code(), &ended.stdout) != (Some(0), &kept) {
        wrongs.push(format!("cat: {ended:?}"));
    }
    none(&wrongs);
}

#[test]
fn a_log_that_cannot_be_read_is_told_and_the_rest_goes_on() {
    let home = Home::on_disk().fill();
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    let Some(somebody) = Somebody::of(&home) else { return };
    let log = home.path.join(claude_log(SESSION));
    set_mode(&log, 0o000);
    let ended = somebody.run(&home, "sweep");
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        ended.stderr.contains(SESSION) && ended.stderr.contains("ermission denied"),
        "{ended:?}"
    );
    let others = home.answers().unwrap();
    assert!(
        others.len() > 50 && others.len() < expected.len(),
        "{} of {}",
        others.len(),
        expected.len()
    );
    set_mode(&log, 0o644);
    let ended = somebody.run(&home, "sweep");
    assert!(ended.status.success(), "{ended:?}");
    let told = wrongs(&home, &expected);
    assert!(told.is_empty(), "{}", told.join("\n"));
}
