//! The reader on made-up sessions: what the screen shows after some keys, and how many texts were read for it.

use std::cell::Cell;
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;
use testkit::logs::ClaudeLog;
use transcript::Agent;

use super::super::draw::Look;
use super::*;

fn session() -> ClaudeLog {
    ClaudeLog::new("5e550000-0000-4000-8000-000000000001")
        .at("2026-03-31T09:00:00Z")
        .prompt("Make the **tests** green.\n\n1. run them\n2. fix what is red")
        .think("where to begin")
        .tool("Bash", json!({"command": "cargo test\n"}), "running 2 tests\nok")
        .failed_tool(
            "Bash",
            json!({"command": "cargo clippy"}),
            "Exit code 101\nwarning: unused",
        )
        .tool(
            "Edit",
            json!({"file_path": "/home/ada/app/src/lib.rs", "old_string": "a", "new_string": "b\nc"}),
            "done",
        )
        .reply("## Done\n\nThe tests are green, and `clippy` is silent:\n\n```rust\nfn main() {}\n```\n\n- one\n- two")
        .prompt("then commit")
        .tool("Bash", json!({"command": "git commit -m x"}), "[main 1a2b3c4] x")
        .reply("Committed.")
}

/// Returns a reader of a log and how many texts it has read.
fn reader_of(log: &ClaudeLog) -> (Reader, Rc<Cell<usize>>) {
    let text = log.jsonl();
    let read = render::Transcript::from_log(Agent::Claude, "log.jsonl", text.as_bytes(), TimeZone::UTC);
    let read = read.unwrap().unwrap();
    let mut texts = HashMap::new();
    let mut events = Vec::new();
    for told in read.events {
        texts.extend(told.text.map(|text| (told.event.seq, text)));
        events.push(told.event);
    }
    let mut document = Document {
        session_uid: "claude:5e55".to_owned(),
        title: "Make the tests green".to_owned(),
        about: "Claude Code · app · main".to_owned(),
        directory: Some("/home/ada/app".to_owned()),
        ..Document::default()
    };
    document.set_events(events, &read.turns, &TimeZone::UTC);
    let count = Rc::new(Cell::new(0));
    let counted = Rc::clone(&count);
    let read_texts: ReadTexts = Box::new(move |events| {
        counted.set(counted.get() + events.len());
        let text = |event: &SessionEvent| Some((event.seq, texts.get(&event.seq)?.clone()));
        Ok(events.iter().filter_map(text).collect())
    });
    (Reader::new(document, read_texts, Ink::Color), count)
}

fn press(reader: &mut Reader, keys: &str) -> Vec<ReaderAction> {
    let mut actions = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (code, taken) = match c {
            '<' => {
                let end = rest.find('>').unwrap();
                let code = match &rest[1..end] {
                    "enter" => KeyCode::Enter,
                    "down" => KeyCode::Down,
                    "up" => KeyCode::Up,
                    "esc" => KeyCode::Esc,
                    name => panic!("no such key: {name}"),
                };
                (code, end + 1)
            }
            c => (KeyCode::Char(c), c.len_utf8()),
        };
        actions.push(update(reader, KeyEvent::from(code)));
        while reader.go_on() {}
        rest = &rest[taken..];
    }
    actions
}

fn screen(reader: &mut Reader, columns: u16, rows: u16) -> String {
    let look = Look::new(true, "2026-04-02T09:00:00Z".parse().unwrap());
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw::draw(frame, reader, &look)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        (0..columns)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
            .trim_end()
            .to_owned()
    };
    (0..rows).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn prompts_and_answers_are_whole_and_calls_are_lines() {
    let (mut reader, _) = reader_of(&session());
    insta::assert_snapshot!(screen(&mut reader, 60, 36), @"
      Make the tests green  Claude Code · ap…  turn 1 of 2 · 11%
    ▌ Turn 1  2026-03-31 09:00:00 · 8.0 s · 3 tool calls · 1 e…

    ▌ ┃ Make the tests green.
    ▌ ┃
    ▌ ┃ 1. run them
    ▌ ┃ 2. fix what is red

      ▸ thinking  where to begin
      ▸ Bash    cargo test  test, 1.0 s
      ▸ Bash    cargo clippy  ✗ exit 101, 1.0 s
      ▸ Edit    src/lib.rs (edit)  1.0 s

      Done

      The tests are green, and clippy is silent:

        fn main() {}

      • one
      • two

      Turn 2  2026-03-31 09:00:09 · 3.0 s · 1 tool call ───────

      ┃ then commit

      ▸ Bash    git commit -m x  1.0 s

      Committed.

      end of the session




      q back  ? keys  j/k turn  ↑↓ move  Enter expand  / find
    ");
}

#[test]
fn a_call_expands_to_what_it_was_given_and_what_came_back() {
    let (mut reader, _) = reader_of(&session());
    screen(&mut reader, 60, 20);
    press(&mut reader, "<down><down><down><enter><down><enter>");
    insta::assert_snapshot!(screen(&mut reader, 60, 26), @"
      Make the tests green  Claude Code · ap…  turn 1 of 2 · 55%
      Turn 1  2026-03-31 09:00:00 · 8.0 s · 3 tool calls · 1 e…

      ┃ Make the tests green.
      ┃
      ┃ 1. run them
      ┃ 2. fix what is red

      ▸ thinking  where to begin
      ▸ Bash    cargo test  test, 1.0 s
      ▾ Bash    cargo clippy  ✗ exit 101, 1.0 s
          cargo clippy
          ─ error
          Exit code 101
          warning: unused
    ▌ ▾ Edit    src/lib.rs (edit)  1.0 s
    ▌     file_path: /home/ada/app/src/lib.rs
    ▌     - a
    ▌     + b
    ▌     + c
    ▌     ─ result
    ▌     done

      Done

      q back  ? keys  j/k turn  ↑↓ move  Enter expand  / find
    ");
    press(&mut reader, "<enter>");
    assert!(!screen(&mut reader, 60, 26).contains("+ b"));
}

#[test]
fn keys_move_by_turn_and_to_the_ends() {
    let (mut reader, _) = reader_of(&session());
    screen(&mut reader, 60, 10);
    press(&mut reader, "j");
    assert!(screen(&mut reader, 60, 10).contains("turn 2 of 2"));
    press(&mut reader, "j");
    assert_eq!(reader.message.as_deref(), Some("This is the last turn"));
    press(&mut reader, "<down><down>k");
    assert_eq!(reader.cursor, reader.document.turn_start(reader.last()));
    press(&mut reader, "k");
    assert_eq!((reader.cursor, reader.top), (0, LinePlace::default()));
    press(&mut reader, "G");
    let shown = screen(&mut reader, 60, 10);
    assert!(shown.contains("Committed.") && shown.contains("100%"), "{shown}");
    press(&mut reader, "g");
    assert_eq!(reader.cursor, 0);
}

#[test]
fn every_line_can_be_reached_by_single_steps_in_both_directions() {
    let (mut reader, _) = reader_of(&session());
    for rows in [4, 7, 50] {
        screen(&mut reader, 40, rows);
        press(&mut reader, "g");
        let mut seen: Vec<String> = Vec::new();
        for key in ["<down>", "<up>"] {
            for _ in 0..80 {
                for line in screen(&mut reader, 40, rows)
                    .lines()
                    .skip(1)
                    .take(usize::from(rows) - 2)
                {
                    let line = line.trim_start_matches(['▌', ' ']).to_owned();
                    if !seen.contains(&line) {
                        seen.push(line);
                    }
                }
                press(&mut reader, key);
            }
            assert!(seen.iter().any(|line| line.contains("Committed.")), "{seen:?}");
            assert!(seen.iter().any(|line| line.contains("• two")), "{rows}: {seen:?}");
        }
        assert_eq!((reader.cursor, reader.top), (0, LinePlace::default()));
    }
}

#[test]
fn a_text_is_found_in_details_that_are_folded() {
    let (mut reader, _) = reader_of(&session());
    screen(&mut reader, 60, 12);
    press(&mut reader, "/UNUSED<enter>");
    let shown = screen(&mut reader, 60, 12);
    assert!(shown.contains("warning: unused"), "{shown}");
    press(&mut reader, "/nowhere<enter>");
    assert_eq!(reader.message.as_deref(), Some("Not found: nowhere"));
    press(&mut reader, "/commit<enter>");
    assert_eq!(reader.turn(), Some(2));
    press(&mut reader, "N");
    assert_eq!(reader.turn(), Some(2));
}

#[test]
fn a_hit_of_the_list_is_where_the_reader_opens() {
    let (mut reader, _) = reader_of(&session());
    screen(&mut reader, 60, 12);
    let line = reader.document.items.last().map(|item| item.event.line);
    reader.go_to(Some(2), line, Some("Committed".to_owned()));
    assert_eq!(reader.cursor, reader.last());
    reader.go_to(Some(2), None, None);
    assert!(screen(&mut reader, 60, 12).contains("then commit"));
}

#[test]
fn items_are_copied_whole_and_name_their_file() {
    let (mut reader, _) = reader_of(&session());
    screen(&mut reader, 60, 12);
    let copied = press(&mut reader, "y");
    assert_eq!(
        copied,
        [ReaderAction::Copy(
            "Make the **tests** green.\n\n1. run them\n2. fix what is red".to_owned()
        )]
    );
    assert_eq!(press(&mut reader, "w"), [ReaderAction::Nothing]);
    assert!(
        reader
            .message
            .as_deref()
            .is_some_and(|message| message.starts_with("No file here"))
    );
    press(&mut reader, "<down><down><down><down>");
    assert_eq!(
        press(&mut reader, "w"),
        [ReaderAction::Why("/home/ada/app/src/lib.rs".to_owned())]
    );
    assert_eq!(
        press(&mut reader, "roq"),
        [ReaderAction::Resume, ReaderAction::OpenPage, ReaderAction::Back]
    );
}

#[test]
fn only_what_is_on_the_screen_is_read_and_laid_out() {
    let mut log = ClaudeLog::new("5e550000-0000-4000-8000-000000000002").at("2026-03-31T09:00:00Z");
    for turn in 0..1000 {
        log = log.prompt(&format!("prompt {turn}"));
        for _ in 0..4 {
            log = log.tool("Bash", json!({"command": "true"}), "ok");
        }
        log = log.reply(&format!("answer {turn}"));
    }
    let (mut reader, read) = reader_of(&log);
    assert!(reader.document.items.len() > 5000);
    screen(&mut reader, 80, 24);
    press(&mut reader, "jjjG");
    let shown = screen(&mut reader, 80, 24);
    assert!(shown.contains("answer 999"), "{shown}");
    assert!(read.get() < 300, "{} texts were read", read.get());
    assert!(
        reader.laid_out.len() < 200,
        "{} items were laid out",
        reader.laid_out.len()
    );
}

#[test]
fn nothing_in_a_log_moves_the_cursor_of_the_terminal() {
    let hostile = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}b";
    let log = ClaudeLog::new("5e550000-0000-4000-8000-000000000003")
        .at("2026-03-31T09:00:00Z")
        .prompt(hostile)
        .tool("Ba\u{1b}[7msh", json!({"command": hostile, "path": hostile}), hostile)
        .reply(hostile);
    let (mut reader, _) = reader_of(&log);
    screen(&mut reader, 60, 30);
    press(&mut reader, "<down><enter>");
    let shown = screen(&mut reader, 60, 30);
    assert!(
        !shown.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')),
        "{shown:?}"
    );
}
