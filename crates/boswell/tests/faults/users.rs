//! Another user on the machine: the binary and common tools run as a user who owns nothing in the home.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testkit::faults::Running;

use crate::disk::Somebody;
use crate::home::{Home, LIMIT, SESSION};

/// Returns root's home with every kind of file that this program writes, made under a permissive umask.
fn lived_in() -> Home {
    let home = Home::on_disk().fill();
    fs::remove_dir_all(home.path.join(".config")).unwrap();
    for line in [
        "sweep",
        "config init --force",
        "prepare --date 2026-04-02",
        "report --date 2026-04-02",
        "evict --dry-run",
        "doctor --repair",
    ] {
        let script = format!("umask 000; exec {} {line}", env!("CARGO_BIN_EXE_boswell"));
        let mut command = home.command_of(Path::new("sh"), "-c");
        let ended = Running::start(command.arg(&script)).end(LIMIT);
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{line}: {ended:?}");
    }
    home
}

/// Returns the files below a folder that another user can read, or `None` if the test cannot switch users.
fn seen_by_others(home: &Home, folder: &Path) -> Option<Vec<String>> {
    let find = format!("--reuid={0} --regid={0} --clear-groups find", Somebody::ID);
    let mut command = home.command_of(Path::new("setpriv"), &find);
    command.current_dir("/").arg(folder).args(["-readable", "-print"]);
    command.env("PATH", "/usr/bin:/bin");
    let output = command.output().ok()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !told.contains("ermission denied") && !output.status.success() {
        return None;
    }
    Some(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn what_we_make_is_closed_to_everybody_else_whatever_the_umask() {
    let home = lived_in();
    let ours = [".local/share/boswell", ".config/boswell"].map(|folder| home.path.join(folder));
    let files: usize = [".local/share/boswell", ".config/boswell"]
        .map(|folder| home.files(folder).len())
        .iter()
        .sum();
    assert!(files > 8, "{files} files");
    for folder in &ours {
        let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}", folder.display());
    }
    for file in [".local/share/boswell", ".config/boswell"]
        .iter()
        .flat_map(|folder| home.files(folder))
    {
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", file.display());
    }
    let Some(_) = Somebody::other(&home) else { return };
    // Makes the parent folders accessible, as those of a real home may be; our own folders are not.
    for folder in home.path.join(".local/share/boswell").ancestors().skip(1).take(4) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(home.path.join(".config"), fs::Permissions::from_mode(0o755)).unwrap();
    let logs = seen_by_others(&home, &home.path.join(".claude"));
    let Some(logs) = logs else {
        eprintln!("Skipped: root cannot become somebody else here");
        return;
    };
    assert!(!logs.is_empty(), "they see nothing at all, so that this shows nothing");
    for folder in &ours {
        assert_eq!(seen_by_others(&home, folder), Some(Vec::new()), "{}", folder.display());
    }
}

#[test]
fn another_users_memory_is_refused_with_a_clear_word_and_not_touched() {
    let home = lived_in();
    let Some(program) = Somebody::other(&home) else { return };
    for folder in home.path.join(".local/share/boswell").ancestors().skip(1).take(4) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let theirs = home.beside("theirs");
    fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(Somebody::ID), Some(Somebody::ID)).unwrap();
    let before = home.answers().unwrap();
    for line in [
        "sessions",
        "sweep",
        "doctor --deep",
        "doctor --repair",
        "rebuild",
        &format!("cat {SESSION}"),
        "status",
    ] {
        let user = format!(
            "--reuid={0} --regid={0} --clear-groups {1} {line}",
            Somebody::ID,
            program.display()
        );
        let mut command: Command = home.command_of(Path::new("setpriv"), &user);
        command
            .current_dir("/")
            .env("HOME", &theirs)
            .env("BOSWELL_HOME", home.store())
            .env("PATH", "/usr/bin:/bin");
        let ended = Running::start(&mut command).end(LIMIT);
        let is_told = ended.stderr.contains("error: ") && ended.stderr.contains("Hint: ");
        assert!(ended.status.code() == Some(2) && is_told, "{line}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{line}: {ended:?}");
    }
    assert_eq!(home.answers().unwrap(), before);
}
