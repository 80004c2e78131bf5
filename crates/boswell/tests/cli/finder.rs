//! The finder on a terminal: the real binary inside tmux.

use std::fs;
use std::process::{Command, Output};
use std::thread::park_timeout;
use std::time::Duration;

use serde_json::json;
use testkit::logs::ClaudeLog;

use crate::picture::check_picture;
use crate::sandbox::Sandbox;

/// The number of times a test reads the screen before it fails, and the pause between two reads.
const LOOKS_MAX: usize = 400;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A terminal with a shell. Its tmux server belongs to this test and ends with it.
pub struct Terminal {
    sandbox: Sandbox,
}

impl Terminal {
    /// Returns `None` if tmux is not installed; the test is then skipped and prints that.
    pub fn open(sandbox: Sandbox) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            writeln_skipped();
            return None;
        }
        let terminal = Self { sandbox };
        let opened = terminal.tmux(&["new-session", "-d", "-x", "100", "-y", "24", "env PS1='$ ' sh"]);
        assert!(opened.status.success(), "{opened:?}");
        terminal.wait("a prompt", |text| text.starts_with('$'));
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let boswell = self.sandbox.command("");
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(self.sandbox.home.join("tmux"))
            .args(["-f", "/dev/null"]);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("LC_ALL", "C.UTF-8")
            .env("BOSWELL", env!("CARGO_BIN_EXE_boswell"));
        command.envs(boswell.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
            .current_dir(&self.sandbox.home)
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Presses keys by their names, such as `Down`.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Starts the finder in a shell that prints its exit code.
    fn start(&self) {
        self.write("clear; sh -c 'echo $$ > pid; exec \"$BOSWELL\"'; echo ended $?");
        self.press(&["Enter"]);
    }

    fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// Waits until the screen meets a condition, and returns the screen.
    pub fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        for _ in 0..LOOKS_MAX {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            park_timeout(BETWEEN_LOOKS);
        }
        panic!("never seen: {what}\n{}", self.screen());
    }

    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Checks that the terminal echoes input and reads it by lines.
    pub fn assert_is_itself(&self) {
        self.write("clear; stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(echo|icanon|isig|opost)' | xargs; echo told");
        self.press(&["Enter"]);
        let screen = self.wait("the state of the terminal", |screen| screen.contains("\ntold"));
        let told: Vec<&str> = screen
            .lines()
            .find(|line| line.contains("icanon"))
            .unwrap()
            .split(' ')
            .collect();
        assert!(
            told.len() == 4 && told.iter().all(|word| !word.starts_with('-')),
            "{screen}"
        );
        let modes = self
            .tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"])
            .stdout;
        assert_eq!(String::from_utf8(modes).unwrap().trim(), "0 1");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[allow(
    clippy::print_stderr,
    reason = "whoever runs the tests has to know what was not tested"
)]
fn writeln_skipped() {
    eprintln!("skipped: tmux is not installed, nothing was tried on a terminal");
}

/// Returns a home whose memory contains the sessions of the demo.
fn with_demo(mut sandbox: Sandbox) -> Sandbox {
    let told = sandbox.run("demo -o made-up");
    assert!(told.contains("Kept: the page"), "{told}");
    let memory = sandbox.path("made-up/.local/share/boswell");
    sandbox.set("BOSWELL_HOME", &memory);
    sandbox
}

/// Returns every file of the memory with its bytes, except those that SQLite keeps beside an open database.
fn memory(sandbox: &Sandbox) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut directories = vec![sandbox.home.join("made-up/.local/share/boswell")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                directories.push(path);
            } else if !name.ends_with("-shm") && !name.ends_with("-wal") {
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn somebody_types_moves_filters_resizes_and_leaves_without_a_trace() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    let before = memory(&terminal.sandbox);
    terminal.start();
    let screen = terminal.wait_for("3 sessions");
    assert!(screen.contains("type to search"), "{screen}");

    terminal.write("cookie");
    let screen = terminal.wait("hits of two agents", |screen| {
        screen.contains("turns in") && screen.contains("claude  shop") && screen.contains("codex  shop")
    });
    let selected = |screen: &str| {
        let line = screen.lines().find(|line| line.starts_with('▌'));
        line.and_then(|line| line.split('│').next())
            .unwrap_or_default()
            .to_owned()
    };
    let first = selected(&screen);
    terminal.press(&["Down"]);
    terminal.wait("another row", |screen| {
        !selected(screen).is_empty() && selected(screen) != first
    });

    terminal.press(&["Tab", "Tab"]);
    terminal.wait("codex alone", |screen| {
        screen.contains("codex · everywhere") && screen.contains("codex  shop") && !screen.contains("claude  shop")
    });
    terminal.press(&["C-e"]);
    terminal.wait("nothing of this directory", |screen| {
        screen.contains("here") && screen.contains("Nothing found")
    });
    terminal.press(&["C-e", "BTab", "BTab", "C-u"]);
    terminal.wait_for("3 sessions");

    terminal.tmux(&["resize-window", "-x", "44", "-y", "12"]);
    terminal.wait("a list alone", |screen| {
        screen.contains("3 sessions") && !screen.contains('│')
    });
    terminal.tmux(&["resize-window", "-x", "100", "-y", "24"]);
    terminal.wait("a preview", |screen| screen.contains('│'));

    terminal.press(&["Escape"]);
    let screen = terminal.wait_for("ended 0");
    assert_eq!(screen.trim_end().lines().next(), Some("ended 0"), "{screen}");
    terminal.assert_is_itself();
    assert!(memory(&terminal.sandbox) == before, "the memory was written");
}

#[test]
fn enter_reads_the_session_at_the_hit_and_q_returns_to_the_same_row() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    terminal.start();
    terminal.wait_for("3 sessions");
    terminal.write("other cookies agent");
    terminal.press(&["C-w"]);
    let list = terminal.wait("a preview of the hit", |screen| {
        screen.starts_with("> other cookies\n") && screen.contains(" in 1 session") && screen.contains('▸')
    });
    terminal.press(&["Enter"]);
    let screen = terminal.wait("the session", |screen| screen.contains("q back"));
    assert!(
        screen.contains("turn 3 of 4") && screen.contains("other cookies"),
        "{screen}"
    );
    terminal.press(&["G"]);
    terminal.wait_for("100%");
    // The search wraps from the last line to the top, where the result of a call in the first turn matches.
    terminal.write("/push yet");
    terminal.press(&["Enter"]);
    terminal.wait("the result that has the words", |screen| {
        screen.contains("turn 1 of 4") && screen.contains("do not push yet")
    });
    terminal.press(&["?"]);
    terminal.wait_for("next and previous turn");
    terminal.press(&["Escape"]);
    terminal.tmux(&["resize-window", "-x", "60", "-y", "20"]);
    terminal.wait("the session in a narrow window", |screen| {
        screen.contains("q back") && screen.lines().count() <= 20
    });
    terminal.tmux(&["resize-window", "-x", "100", "-y", "24"]);
    terminal.press(&["q"]);
    let back = terminal.wait("the list", |screen| {
        screen.contains("Enter read") && screen.contains('▸')
    });
    assert_eq!(back, list);
    terminal.press(&["Escape"]);
    terminal.wait_for("ended 0");
    terminal.assert_is_itself();
}

#[test]
fn the_reader_answers_why_for_the_file_of_a_call() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    terminal.start();
    terminal.wait_for("3 sessions");
    terminal.write("tool:Edit cookie");
    terminal.wait("an edit", |screen| screen.contains(" turn") && screen.contains('▸'));
    terminal.press(&["Enter"]);
    terminal.wait_for("q back");
    terminal.press(&["w"]);
    terminal.wait_for("  why ");
    terminal.press(&["q"]);
    terminal.wait_for("j/k turn");
    terminal.press(&["C-c"]);
    terminal.wait_for("ended 0");
    terminal.assert_is_itself();
}

#[test]
fn a_word_is_found_while_it_is_typed_and_a_typo_is_answered_with_a_suggestion() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    terminal.start();
    terminal.wait_for("3 sessions");
    let mut typed = String::new();
    for c in "cookie".chars() {
        typed.push(c);
        terminal.write(&c.to_string());
        terminal.wait(&format!("hits of `{typed}`"), |screen| {
            screen.starts_with(&format!("> {typed}\n")) && screen.contains(" in ") && !screen.contains("Nothing found")
        });
    }
    terminal.press(&["C-u"]);
    terminal.write("cokie ");
    terminal.wait_for("Did you mean cookie");
    terminal.press(&["Enter"]);
    terminal.wait("hits of the suggestion", |screen| {
        screen.starts_with("> cookie") && screen.contains(" in ")
    });
    terminal.press(&["C-u"]);
    terminal.write("agent:codex");
    terminal.wait_for("Tab filters by agent");
    terminal.press(&["C-u", "Tab"]);
    terminal.wait("what the filter hides", |screen| {
        screen.contains("claude · everywhere") && screen.contains("filters hide 2 sessions")
    });
    terminal.press(&["Escape"]);
    terminal.wait_for("ended 0");
}

#[test]
fn a_session_that_cannot_be_resumed_stays_open_with_the_reason() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    terminal.start();
    terminal.wait_for("3 sessions");
    terminal.press(&["Enter"]);
    terminal.wait_for("j/k turn");
    // The directory of the demo's session does not exist.
    terminal.press(&["r"]);
    terminal.wait_for("the directory of this session is no longer there");
    terminal.press(&["q"]);
    terminal.wait_for("3 sessions");
    terminal.press(&["Escape"]);
    terminal.wait_for("ended 0");
}

#[test]
fn what_is_copied_goes_to_the_clipboard_and_is_printed_on_leaving() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    terminal.tmux(&["set-option", "-s", "set-clipboard", "on"]);
    terminal.start();
    terminal.wait_for("3 sessions");
    terminal.write("codex");
    terminal.press(&["C-u", "Tab", "Tab"]);
    terminal.wait("codex alone", |screen| {
        screen.contains("1 session") && screen.contains("019d4700")
    });
    terminal.press(&["C-y"]);
    terminal.wait_for("Copied: 019d4700-0000-7000-8000-00000000c0de");
    let copied = terminal.tmux(&["show-buffer"]).stdout;
    assert_eq!(
        String::from_utf8(copied).unwrap().trim(),
        "019d4700-0000-7000-8000-00000000c0de"
    );
    terminal.press(&["C-r"]);
    terminal.wait_for("resume 019d4700-0000-7000-8000-00000000c0de");
    terminal.press(&["C-c"]);
    let screen = terminal.wait_for("ended 0");
    assert!(
        screen.contains("resume 019d4700-0000-7000-8000-00000000c0de\nended 0"),
        "{screen}"
    );
    terminal.assert_is_itself();
}

#[test]
fn a_signal_gives_the_terminal_back_and_ends_as_signals_end() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    for (signal, code, is_reading) in [
        ("TERM", 143, false),
        ("HUP", 129, false),
        ("TERM", 143, true),
        ("HUP", 129, true),
    ] {
        terminal.start();
        terminal.wait_for("3 sessions");
        if is_reading {
            terminal.press(&["Enter"]);
            terminal.wait_for("q back");
        }
        let pid = fs::read_to_string(terminal.sandbox.home.join("pid")).unwrap();
        let killed = Command::new("kill").args(["-s", signal, pid.trim()]).status().unwrap();
        assert!(killed.success());
        terminal.wait_for(&format!("ended {code}"));
        terminal.assert_is_itself();
    }
}

#[test]
fn a_terminal_that_is_closed_ends_the_finder() {
    close_terminal(&[]);
}

#[test]
fn a_terminal_that_is_closed_ends_the_reader() {
    close_terminal(&["Enter"]);
}

#[test]
fn ctrl_c_leaves_the_reader_and_gives_the_terminal_back() {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    let before = memory(&terminal.sandbox);
    terminal.start();
    terminal.wait_for("3 sessions");
    terminal.press(&["Enter"]);
    terminal.wait_for("q back");
    terminal.press(&["C-c"]);
    terminal.wait_for("ended 0");
    terminal.assert_is_itself();
    assert!(memory(&terminal.sandbox) == before, "the memory was written");
}

/// Presses keys, closes the terminal, and checks that the finder ends.
fn close_terminal(keys: &[&str]) {
    let Some(terminal) = Terminal::open(with_demo(Sandbox::new())) else {
        return;
    };
    terminal.start();
    terminal.wait_for("3 sessions");
    if !keys.is_empty() {
        terminal.press(keys);
        terminal.wait_for("q back");
    }
    let pid = fs::read_to_string(terminal.sandbox.home.join("pid")).unwrap();
    let is_there = || {
        let asked = Command::new("kill").args(["-0", pid.trim()]).output().unwrap();
        asked.status.success()
    };
    assert!(is_there());
    terminal.tmux(&["kill-server"]);
    for _ in 0..LOOKS_MAX {
        if !is_there() {
            return;
        }
        park_timeout(BETWEEN_LOOKS);
    }
    panic!("the finder goes on without a terminal, after {keys:?}");
}

#[test]
fn an_empty_memory_offers_a_sweep_and_then_finds_what_was_swept() {
    let sandbox = Sandbox::new();
    sandbox.run("demo --json -o made-up");
    fs::rename(sandbox.home.join("made-up/.codex"), sandbox.home.join(".codex")).unwrap();
    let Some(terminal) = Terminal::open(sandbox) else {
        return;
    };
    terminal.start();
    terminal.wait_for("boswell demo");
    terminal.press(&["s"]);
    terminal.wait_for("1 session");
    terminal.write("?");
    terminal.wait_for("copy the command that resumes");
    terminal.press(&["Escape"]);
    terminal.wait("no help", |screen| !screen.contains("copy the command that resumes"));
    terminal.press(&["Escape"]);
    terminal.wait_for("ended 0");
    terminal.assert_is_itself();
}

#[test]
fn an_empty_memory_offers_the_guided_setup_and_then_finds_what_was_read() {
    let mut sandbox = Sandbox::new();
    sandbox.run("demo --json -o made-up");
    fs::rename(sandbox.home.join("made-up/.codex"), sandbox.home.join(".codex")).unwrap();
    crate::setup::add_scheduler(&mut sandbox);
    let Some(terminal) = Terminal::open(sandbox) else {
        return;
    };
    terminal.start();
    terminal.wait_for("boswell setup");
    terminal.press(&["Enter"]);
    for (question, answer) in [
        ("GiB? [Y/n]", "y"),
        ("logs now? [Y/n]", "y"),
        ("schedule (daily)? [Y/n]", "n"),
    ] {
        terminal.wait_for(question);
        terminal.write(answer);
        terminal.press(&["Enter"]);
    }
    terminal.wait_for("Enter read");
    terminal.press(&["Escape"]);
    terminal.wait_for("ended 0");
}

#[test]
fn a_hostile_log_cannot_move_the_cursor_and_a_bad_question_ends_nothing() {
    let sandbox = Sandbox::new();
    let hostile = "needle \u{1b}[2J\u{1b}]0;taken\u{7} \u{202e}gpj.exe";
    let log = ClaudeLog::new("5e550001-0000-4000-8000-000000000001").cwd("/home/ada/\u{1b}[31mapp");
    let log =
        log.at("2026-03-31T09:00:00Z")
            .prompt(hostile)
            .tool("Ba\u{1b}[7msh", json!({ "command": hostile }), hostile);
    let path = ".claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000001.jsonl";
    sandbox.write(path, &log.reply(hostile).jsonl());
    sandbox.run("sweep");
    let Some(terminal) = Terminal::open(sandbox) else {
        return;
    };
    terminal.start();
    terminal.wait_for("1 session");
    let escaped = r"needle \u{1b}[2J\u{1b}]0;taken\u{7} \u{202e}";
    for query in ["", "needle"] {
        terminal.write(query);
        let is_there = |screen: &str| screen.contains(escaped) && (query.is_empty() || screen.contains('▸'));
        let screen = terminal.wait("the hostile text, escaped", is_there);
        assert!(screen.contains(r"\u{1b}[31mapp"), "{screen}");
    }
    let title = String::from_utf8(terminal.tmux(&["display-message", "-p", "#{pane_title}"]).stdout).unwrap();
    assert_ne!(title.trim(), "taken");

    terminal.write(" kind:nonsense");
    terminal.wait_for("unknown value for");
    terminal.press(&["C-w"]);
    terminal.wait("hits again", |screen| {
        screen.contains("Enter read") && screen.contains(" in 1 session")
    });
    terminal.press(&["Escape"]);
    terminal.wait_for("ended 0");
}

#[test]
fn the_picture_in_the_readme_is_what_the_finder_shows() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_NOW", "2026-04-02T09:00:00Z");
    let Some(terminal) = Terminal::open(with_demo(sandbox)) else {
        return;
    };
    terminal.start();
    terminal.wait_for("3 sessions");
    terminal.write("cookie");
    terminal.wait("the hits", |screen| screen.contains(" turns in "));
    terminal.press(&["Down", "Down", "Down"]);
    terminal.wait("the preview of a hit", |screen| {
        let is_fourth = screen.lines().nth(8).is_some_and(|line| line.starts_with('▌'));
        is_fourth && screen.contains('▸')
    });
    let colored = terminal.tmux(&["capture-pane", "-e", "-p"]).stdout;
    check_picture(&String::from_utf8(colored).unwrap());
}

#[test]
fn without_a_terminal_there_is_help_and_no_finder() {
    let told = Sandbox::new().run("");
    assert!(told.contains("Usage: boswell"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told}");
}
