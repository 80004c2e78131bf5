//! Ctrl-C and a closed terminal: the process ends, the terminal is restored, and the memory is intact.

use std::fs::File;
use std::path::PathBuf;

use testkit::home::{FixtureHome, LogSource};
use testkit::logs::ClaudeLog;
use testkit::verbs::{Ending, Exit, ExpectedExit, Invocation, Output};

use super::LIMIT;
use super::screen::Screen;
use super::terminal::{TerminalRun, find, hang_up, hang_up_when, interrupt_unread, run, run_with};

/// Commands that run until interrupted or wait for an answer, and a text that they print by then.
const WAITING_FOR_SOMEBODY: &[(&str, &str)] = &[
    ("setup", "[Y/n] "),
    ("forget --agent grok", "[y/N] "),
    ("watch", "Watching"),
    ("show {small} --follow", "1"),
    ("render {small} --watch -o {out}/watched.html", "Ctrl-C"),
    ("", "Esc"),
];

/// Commands that write, and wait while another process does.
const WAITING_FOR_A_WRITER: &[&str] = &[
    "sweep",
    "rebuild",
    "evict --config session_memory.retention.raw_soft_cap_bytes=100kB",
    "keep {claude}",
    "tag {claude} later",
    "forget {grok} --yes",
    "decide later",
    "render {claude} -o {out}/page.html",
    "export --to csv -o {out}/csv",
    "bundle --date {day} -o {out}/day.zip",
];

const WAITING: &str = "Waiting for another";

fn invocation(line: &str, after: &'static str) -> Invocation {
    Invocation {
        line: line.to_owned(),
        output: if line.is_empty() { Output::Screen } else { Output::Text },
        ending: Ending::Interrupt { after },
        exit: ExpectedExit::Any,
        plain_exit: ExpectedExit::Any,
    }
}

fn home(place: &tempfile::TempDir) -> FixtureHome {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, runs) = FixtureHome::prepare(place.path(), &binary, LogSource::MadeUp).unwrap();
    assert!(runs.iter().all(|run| run.output.status.success()), "{runs:?}");
    home
}

fn hold_lock(home: &FixtureHome) -> File {
    let file = File::options()
        .read(true)
        .write(true)
        .open(home.path().join(".local/share/boswell/lock"));
    let file = file.unwrap();
    file.lock().unwrap();
    file
}

/// Returns the settings that an interrupted run left on the terminal.
fn check_terminal(run: &TerminalRun) -> Vec<String> {
    let mut problems = Vec::new();
    let last = |text: &str| {
        let mut at = None;
        while let Some(next) = find(&run.bytes[at.map_or(0, |at| at + 1)..], text) {
            at = Some(at.map_or(0, |at| at + 1) + next);
        }
        at
    };
    for (set, reset) in [
        ("?25l", "?25h"),
        ("?1049h", "?1049l"),
        ("?7l", "?7h"),
        ("?2004h", "?2004l"),
    ] {
        if last(set) > last(reset) {
            problems.push(format!("the terminal is left in mode {set}"));
        }
    }
    let lines = Screen::parse(&run.bytes).lines();
    let bars = lines.iter().filter(|line| line.contains(['█', '░']));
    problems.extend(bars.map(|line| format!("a progress bar is left: {line}")));
    problems
}

fn check_store(home: &FixtureHome) -> Vec<String> {
    let doctor = home.command().args(["doctor", "--deep", "--quiet"]).output().unwrap();
    match doctor.status.success() {
        true => Vec::new(),
        false => vec![format!("the memory is not clean: {doctor:?}")],
    }
}

/// Returns problems of the memory and the files after an interrupted run.
fn check_home(home: &FixtureHome) -> Vec<String> {
    let mut problems = check_store(home);
    let changes = home.changes().unwrap();
    let names = changes.iter().map(|change| change.path.to_string_lossy().into_owned());
    let is_temporary = |name: &String| {
        name.split('/')
            .any(|part| part.starts_with(".tmp") || part.starts_with(".boswell-"))
    };
    problems.extend(names.filter(is_temporary).map(|name| format!("left behind: {name}")));
    problems
}

fn assert_none(problems: &[String]) {
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn ctrl_c_ends_what_waits_and_leaves_terminal_and_memory_as_they_were() {
    let place = tempfile::tempdir().unwrap();
    let home = home(&place);
    let mut problems = Vec::new();
    let cases = WAITING_FOR_SOMEBODY.iter().copied();
    let cases = cases.chain(WAITING_FOR_A_WRITER.iter().map(|line| (*line, WAITING)));
    for (line, after) in cases {
        let held = (after == WAITING).then(|| hold_lock(&home));
        let run = run(&home, &invocation(line, after), 80, LIMIT);
        drop(held);
        // In a full screen, Ctrl-C is a key that quits.
        let is_right = match run.exit {
            Exit::Signal(2) | Exit::Code(130) => true,
            exit => line.is_empty() && exit == Exit::Code(0),
        };
        let mut found = check_terminal(&run);
        if !is_right {
            found.push(format!(
                "ends with {}: {:?}",
                run.exit,
                String::from_utf8_lossy(&run.bytes)
            ));
        }
        found.extend(check_home(&home));
        // The interrupted command can run now, except that complete tables and bundles are not overwritten.
        if after == WAITING && !line.starts_with("export") && !line.starts_with("bundle") {
            let again = home.run(&invocation(line, "never written"), LIMIT).unwrap();
            if again.exit != Exit::Code(0) {
                found.push(format!("the next run fails: {again:?}"));
            }
        }
        problems.extend(found.iter().map(|problem| format!("boswell {line}: {problem}")));
        home.reset().unwrap();
    }
    assert_none(&problems);
}

#[test]
fn a_closed_terminal_ends_what_waits() {
    let place = tempfile::tempdir().unwrap();
    let home = home(&place);
    let mut problems = Vec::new();
    let cases = WAITING_FOR_SOMEBODY.iter().copied();
    let cases = cases.chain(WAITING_FOR_A_WRITER.iter().map(|line| (*line, WAITING)));
    for (line, after) in cases {
        let held = (after == WAITING).then(|| hold_lock(&home));
        if !hang_up(&home, &invocation(line, after), after, LIMIT) {
            problems.push(format!(
                "boswell {line}: never prints {after:?}, or continues without a terminal"
            ));
        }
        drop(held);
        problems.extend(
            check_home(&home)
                .iter()
                .map(|problem| format!("boswell {line}: {problem}")),
        );
        home.reset().unwrap();
    }
    assert_none(&problems);
}

/// A text in the list that appears when there is a session to open with Enter.
const SESSION_IN_LIST: &str = "claude";
/// A text in the reader's last line that does not occur in the list.
const READER_KEYS: &str = "expand";

#[test]
fn ctrl_c_and_a_closed_terminal_end_the_reader_of_the_finder() {
    let place = tempfile::tempdir().unwrap();
    let home = home(&place);
    let typing = |keys| Invocation {
        ending: Ending::Keys {
            after: SESSION_IN_LIST,
            keys,
        },
        ..invocation("", SESSION_IN_LIST)
    };
    // A full screen writes only the cells that changed, so the text is searched on the screen.
    let is_in_reader = |bytes: &[u8]| {
        let lines = Screen::parse(bytes).lines();
        lines.iter().any(|line| line.contains(READER_KEYS))
    };
    let mut is_reader_seen = false;
    let run = run_with(&home, &typing("\r\x03"), 80, LIMIT, &[], &mut |bytes| {
        is_reader_seen |= is_in_reader(bytes);
    });
    let mut problems = check_terminal(&run);
    if !is_reader_seen {
        problems.push("Enter does not open the reader".to_owned());
    }
    if run.exit != Exit::Code(0) {
        problems.push(format!("Ctrl-C in the reader ends with {}", run.exit));
    }
    if !hang_up_when(&home, &typing("\r"), LIMIT, &is_in_reader) {
        problems.push("the reader continues without a terminal, or never opens".to_owned());
    }
    problems.extend(check_home(&home));
    assert_none(&problems);
}

/// Commands with long output, and a text near its beginning.
const PRINTING: &[(&str, &str)] = &[
    ("search kestrel --limit 0", "kestrel"),
    ("search kestrel --limit 0 --json", "kestrel"),
    ("secrets --all", "claude"),
    ("secrets --all --json", "claude"),
];

/// Returns a home with enough hits and secrets that the answer exceeds any terminal's buffer.
fn home_with_much_to_print(place: &tempfile::TempDir) -> FixtureHome {
    let home = home(place);
    let logs = home.path().join(".claude/projects/-home-ada-birds");
    std::fs::create_dir_all(&logs).unwrap();
    for session in 0..SESSIONS {
        let id = format!("5e{session:06}-0000-4000-8000-{session:012}");
        let mut log = ClaudeLog::new(&id).at("2026-04-01T08:00:00Z");
        for turn in 0..TURNS {
            // Assembled here so that no scanner finds a token in the repository.
            let token = format!("ghp_{}{:036}", "", session * TURNS + turn).replace('0', "aB3");
            let token: String = token.chars().take(40).collect();
            let prompt = format!(
                "kestrel {turn} of nest {session}: look at it with {token}, and count what is in nest {session}{turn}"
            );
            log = log.prompt(&prompt).reply("A kestrel has four eggs.");
        }
        std::fs::write(logs.join(format!("{id}.jsonl")), log.jsonl()).unwrap();
    }
    let swept = home.command().arg("sweep").output().unwrap();
    assert!(swept.status.success(), "{swept:?}");
    home
}

const SESSIONS: usize = 200;
const TURNS: usize = 5;

#[test]
fn ctrl_c_ends_a_search_and_a_list_of_secrets_that_still_print() {
    let place = tempfile::tempdir().unwrap();
    let home = home_with_much_to_print(&place);
    let mut problems = Vec::new();
    for (line, after) in PRINTING {
        let Some(run) = interrupt_unread(&home, &invocation(line, after), after, LIMIT) else {
            problems.push(format!("boswell {line}: never prints {after:?}"));
            continue;
        };
        let mut found = check_terminal(&run);
        if !matches!(run.exit, Exit::Signal(2) | Exit::Code(130)) {
            found.push(format!("ends with {} after {} bytes", run.exit, run.bytes.len()));
        }
        found.extend(check_store(&home));
        problems.extend(found.iter().map(|problem| format!("boswell {line}: {problem}")));
    }
    assert_none(&problems);
}

#[test]
fn a_closed_terminal_ends_a_search_and_a_list_of_secrets() {
    let place = tempfile::tempdir().unwrap();
    let home = home_with_much_to_print(&place);
    let mut problems = Vec::new();
    for (line, after) in PRINTING {
        if !hang_up(&home, &invocation(line, after), after, LIMIT) {
            problems.push(format!(
                "boswell {line}: never prints {after:?}, or continues without a terminal"
            ));
        }
        problems.extend(
            check_store(&home)
                .iter()
                .map(|problem| format!("boswell {line}: {problem}")),
        );
    }
    assert_none(&problems);
}
