//! Every log is stored once and completely, and nothing is read twice.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::home::{Home, LOG, UID, assert_packs, full_home, prompt};

#[test]
fn a_second_sweep_reads_no_file_and_no_byte() {
    let home = full_home();
    let first = home.sweep();
    assert!(
        first.files_read > 0 && first.bytes_read > 0 && first.sessions_new > 0,
        "{first:?}"
    );
    assert_eq!(first.unread, []);
    let rows = home.rows();
    let second = home.sweep();
    assert_eq!(
        (second.files_read, second.bytes_read, second.sessions_new),
        (0, 0, 0),
        "{second:?}"
    );
    assert_eq!(second.files_unchanged, second.files_seen);
    assert_eq!(home.rows(), rows);
}

#[test]
fn stored_lines_equal_the_log() {
    let home = Home::new();
    let log =
        prompt("one") + "\r\n{\"torn\n\n" + &prompt("two") + "{\"type\":\"user\",\"message\":{\"content\":\"no end\"}}";
    home.write(LOG, &log);
    home.sweep();
    assert_eq!(home.cat(UID), log);
}

#[test]
fn rebuild_makes_the_same_rows() {
    let home = full_home();
    home.sweep();
    let rows = home.rows();
    assert!(rows.len() > 100);
    let filters = home.filters();
    assert!(filters.len() > 5);
    assert!(home.rebuild().sessions_refreshed > 0);
    assert_eq!(home.filters(), filters);
    let again = home.rows();
    for (a, b) in rows.iter().zip(&again) {
        assert_eq!(a, b);
    }
    assert_eq!(rows.len(), again.len());
}

#[test]
fn a_growing_log_is_read_from_its_cursor_with_the_same_result() {
    let (growing, whole) = (Home::new(), Home::new());
    let mut log = String::new();
    for n in 0..5 {
        let more = prompt(&format!("prompt {n}"));
        log += &more;
        growing.write(LOG, &log);
        let report = growing.sweep();
        assert_eq!(report.bytes_read, more.len() as u64, "only the new bytes");
    }
    whole.write(LOG, &log);
    whole.sweep();
    assert_eq!(growing.rows(), whole.rows());
    assert_eq!(growing.cat(UID), log);
}

#[test]
fn a_torn_last_line_waits_until_it_is_complete() {
    let home = Home::new();
    let (whole, torn) = (prompt("whole"), prompt("torn"));
    home.write(LOG, whole.clone() + &torn[..20]);
    home.sweep_at(Timestamp::now());
    assert_eq!(home.cat(UID), whole);
    home.write(LOG, whole.clone() + &torn);
    home.sweep_at(Timestamp::now());
    assert_eq!(home.cat(UID), whole + &torn);
}

#[test]
fn a_last_line_without_a_line_break_is_read_when_quiet_and_may_continue_later() {
    let home = Home::new();
    let first = prompt("first");
    home.write(LOG, first.trim_end());
    home.sweep();
    assert_eq!(home.cat(UID), first.trim_end());
    let log = first + &prompt("second");
    home.write(LOG, &log);
    home.sweep();
    assert_eq!(home.cat(UID), log);
}

#[test]
fn a_waiting_last_line_is_read_once_the_log_is_quiet() {
    let home = Home::new();
    let log = prompt("whole") + prompt("without its end").trim_end();
    home.write(LOG, &log);
    home.sweep_at(Timestamp::now());
    assert_eq!(home.cat(UID), prompt("whole"));
    home.sweep();
    assert_eq!(home.cat(UID), log);
    assert_eq!(home.sweep().bytes_read, 0);
}

#[test]
fn an_emptied_log_leaves_the_stored_lines() {
    let home = Home::new();
    home.write(LOG, prompt("precious"));
    home.sweep();
    home.write(LOG, "");
    home.sweep();
    assert_eq!(home.cat(UID), prompt("precious"));
}

#[test]
fn a_rewritten_log_replaces_the_stored_lines() {
    let home = Home::new();
    home.write(LOG, prompt("before") + &prompt("more before"));
    home.sweep();
    for after in [
        prompt("after"),
        prompt("after all"),
        prompt("much longer than before ".repeat(50).as_str()),
    ] {
        home.write(LOG, &after);
        home.sweep();
        assert_eq!(home.cat(UID), after);
        assert_eq!(home.store().reads().event_count().unwrap(), 1);
    }
    home.sweep();
    assert_eq!(home.store().reads().packs_in_use().unwrap().len(), 1);
    assert_packs(&home.store());
}

#[test]
fn a_log_that_moved_is_not_read_again() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    home.sweep();
    let elsewhere = LOG.replace("-home-ada-app", "-home-ada-elsewhere");
    fs::create_dir_all(home.path(&elsewhere).parent().unwrap()).unwrap();
    fs::rename(home.path(LOG), home.path(&elsewhere)).unwrap();
    let rows = home.rows();
    let report = home.sweep();
    assert_eq!((report.bytes_read, report.sessions_new), (0, 0), "{report:?}");
    assert_eq!(home.rows(), rows);
    home.write(&elsewhere, prompt("one") + &prompt("two"));
    home.sweep();
    assert_eq!(home.cat(UID), prompt("one") + &prompt("two"));
}

#[test]
fn the_longer_of_two_copies_is_stored() {
    let home = Home::new();
    let copy = LOG.replace("-home-ada-app", "-home-ada-copy");
    home.write(LOG, prompt("one"));
    home.write(&copy, prompt("one") + &prompt("two"));
    home.sweep();
    assert_eq!(home.cat(UID), prompt("one") + &prompt("two"));
    let again = home.sweep();
    assert_eq!((again.files_read, again.bytes_read), (0, 0), "{again:?}");
}

#[test]
fn a_compressed_log_is_recognised() {
    let home = Home::new();
    let id = "019d4700-0000-7000-8000-00000000c0de";
    let name = format!(".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-{id}.jsonl");
    let log = format!(
        "{{\"timestamp\":\"2026-04-01T10:00:00Z\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"cwd\":\"/home/ada/app\"}}}}\n"
    ) + &"{\"timestamp\":\"2026-04-01T10:00:01Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"hi\"}}\n".repeat(3);
    home.write(&name, &log);
    home.sweep();
    let rows = home.rows();
    fs::remove_file(home.path(&name)).unwrap();
    home.write(&format!("{name}.zst"), zstd::encode_all(log.as_bytes(), 3).unwrap());
    let report = home.sweep();
    assert_eq!((report.sessions_new, report.sessions_updated), (0, 0), "{report:?}");
    assert_eq!(home.rows(), rows);
    assert_eq!(home.sweep().files_read, 0);
}

#[test]
fn a_deleted_log_stays_stored() {
    let home = Home::new();
    home.write(LOG, prompt("precious"));
    home.sweep();
    fs::remove_file(home.path(LOG)).unwrap();
    home.sweep();
    assert_eq!(home.cat(UID), prompt("precious"));
}

#[test]
fn a_large_log_is_stored_in_several_frames() {
    let home = Home::new();
    let log: String = (0..40_000)
        .map(|n| prompt(&format!("prompt number {n} with some more words")))
        .collect();
    home.write(LOG, &log);
    home.sweep();
    assert_eq!(home.cat(UID), log);
    let frames = home.store().reads().frames(UID, "log").unwrap();
    assert!(frames.len() >= 3, "{}", frames.len());
}

#[cfg(unix)]
#[test]
fn the_store_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.write(LOG, prompt("private"));
    home.sweep();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    let mut open = vec![home.path("store")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o077,
                0,
                "{}",
                path.display()
            );
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode(&path), 0, "{}", path.display());
        }
    }
}

/// Returns every file below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(directories.iter().flat_map(|directory| files_below(directory)));
    files
}

#[test]
fn a_log_that_lags_behind_its_second_file_ends_with_the_same_rows() {
    let fixtures = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/grok"));
    let (grown, whole) = (Home::new(), Home::new());
    for share in [0, 2, 4, 5] {
        for file in files_below(&fixtures) {
            let name = file.strip_prefix(&fixtures).unwrap().to_string_lossy().into_owned();
            let name = format!(".grok/sessions/{name}");
            let bytes = fs::read(&file).unwrap();
            let is_log = name.ends_with("/updates.jsonl");
            let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            match share {
                5 => whole.write(&name, &bytes),
                0 if is_log => continue,
                _ if is_log => grown.write(&name, lines[..lines.len() * share / 4].concat()),
                _ => grown.write(&name, &bytes),
            }
        }
        grown.sweep();
    }
    whole.sweep();
    assert_eq!(grown.rows(), whole.rows());
    let before = grown.rows();
    grown.rebuild();
    assert_eq!(before, grown.rows());
}
