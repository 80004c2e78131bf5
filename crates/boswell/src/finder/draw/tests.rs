//! The screen as it is drawn, at three sizes, with texts that are too long, too wide, or hostile.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use transcript::Agent;

use super::super::state::{Around, Narrow};
use super::*;

fn look() -> Look {
    Look::new(true, "2026-04-02T09:00:00Z".parse().unwrap())
}

fn drawn(state: &State, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, state, &look())).unwrap();
    terminal
}

/// Returns the screen as text, without trailing blanks.
fn screen(state: &State, columns: u16, rows: u16) -> String {
    let terminal = drawn(state, columns, rows);
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let mut text = String::new();
        let mut x = 0;
        // A character of two columns also occupies the next cell.
        while x < columns {
            text += buffer[(x, y)].symbol();
            x += measure::width(buffer[(x, y)].symbol()).clamp(1, 2) as u16;
        }
        text.trim_end().to_owned()
    };
    (0..rows).map(line).collect::<Vec<_>>().join("\n")
}

fn hit(turn: u32, before: &str, marked: &str, after: &str) -> Row {
    let piece = |text: &str, mark| (text.to_owned(), mark);
    Row {
        session_uid: "claude:5e55a0ad-0001".to_owned(),
        id: "5e55a0ad-0001-4000-8000-0000000000aa".to_owned(),
        agent: "claude".to_owned(),
        project: "shop".to_owned(),
        branch: "main".to_owned(),
        at: Some("2026-04-01T09:00:00Z".parse().unwrap()),
        title: "Make the discount code work again".to_owned(),
        turn: Some(turn),
        prompt: "the discount code is refused at checkout, please find out why and add a test".to_owned(),
        line: Some(12),
        place: "Bash".to_owned(),
        pieces: vec![
            piece(before, Mark::Plain),
            piece(marked, Mark::Hit),
            piece(after, Mark::Plain),
        ],
    }
}

fn found() -> State {
    let event = |label: &str, text: &str, mark| Around {
        label: label.to_owned(),
        text: text.to_owned(),
        mark,
    };
    let mut state = State {
        query: "discount".to_owned(),
        narrow: Narrow {
            agent: Some(Agent::Claude),
            ..Narrow::default()
        },
        ..State::default()
    };
    let rows = vec![
        hit(1, "FAILED tests/test_", "discount", ".py::test_code - assert 90 == 100"),
        hit(
            2,
            "…a very long beginning of a line that no list has room for, then ",
            "discount",
            " and more",
        ),
        hit(
            3,
            "日本語の長い文章がここにあります、そして",
            "割引",
            "コードは動きません 👩‍👩‍👧",
        ),
    ];
    state.take_rows(rows, "3 turns in 1 session".to_owned());
    state.preview = Some(Preview {
        session_uid: "claude:5e55a0ad-0001".to_owned(),
        line: Some(12),
        events: vec![
            event("user", "the discount code is refused at checkout", Mark::Plain),
            event("Bash", "pytest -q tests/test_discount.py", Mark::Hit),
            event("mcp__very_long_tool_name", "done", Mark::Plain),
            event(
                "assistant",
                "割引コードのテストを直しました。もう一度実行して確認してください。",
                Mark::Plain,
            ),
        ],
    });
    state
}

#[test]
fn hits_stand_left_and_the_preview_beside_them() {
    insta::assert_snapshot!(screen(&found(), 80, 24), @"
    > discount
      claude · everywhere · any time                            3 turns in 1 session
    ▌ 5e55a0ad  turn 1  claude  shop  1d  │ Make the discount code work again
    ▌ …tests/test_discount.py::test_code… │ claude · shop · main · 1 day ago
      5e55a0ad  turn 2  claude  shop  1d  │ 5e55a0ad-0001-4000-8000-0000000000aa
      … for, then discount and more       │
      5e55a0ad  turn 3  claude  shop  1d  │ turn 1: the discount code is refused at
      …す、そして割引コードは動きません … │ checkout, please find out why and add a
                                          │ test
                                          │
                                          │ Bash: FAILED
                                          │ tests/test_discount.py::test_code -
                                          │ assert 90 == 100
                                          │
                                          │   user       the discount code is refu…
                                          │ ▸ Bash       pytest -q tests/test_disc…
                                          │   mcp__very… done
                                          │   assistant  割引コードのテストを直し…
                                          │
                                          │
                                          │
                                          │
                                          │
      Enter read  Esc leave  F1 help  Tab agent  ^E here  ^S since  ^Y copy id
    ");
}

#[test]
fn a_large_screen_shows_more() {
    insta::assert_snapshot!(screen(&found(), 120, 40), @"
    > discount
      claude · everywhere · any time                                                                    3 turns in 1 session
    ▌ 5e55a0ad  turn 1  claude  shop  1 day ago               │ Make the discount code work again
    ▌ FAILED tests/test_discount.py::test_code - assert 90 =… │ claude · shop · main · 1 day ago
      5e55a0ad  turn 2  claude  shop  1 day ago               │ 5e55a0ad-0001-4000-8000-0000000000aa
      …as room for, then discount and more                    │
      5e55a0ad  turn 3  claude  shop  1 day ago               │ turn 1: the discount code is refused at checkout, please
      …にあります、そして割引コードは動きません 👩‍👩‍👧            │ find out why and add a test
                                                              │
                                                              │ Bash: FAILED tests/test_discount.py::test_code - assert 90
                                                              │ == 100
                                                              │
                                                              │   user       the discount code is refused at checkout
                                                              │ ▸ Bash       pytest -q tests/test_discount.py
                                                              │   mcp__very… done
                                                              │   assistant  割引コードのテストを直しました。もう一度実行…
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
                                                              │
      Enter read  Esc leave  F1 help  Tab agent  ^E here  ^S since  ^Y copy id  ^R copy resume
    ");
}

#[test]
fn a_small_screen_shows_the_list_alone() {
    insta::assert_snapshot!(screen(&found(), 40, 10), @"
    > discount
      claude            3 turns in 1 session
    ▌ 5e55a0ad  turn 1  claude  shop  1d
    ▌ … tests/test_discount.py::test_code …
      5e55a0ad  turn 2  claude  shop  1d
      …m for, then discount and more
      5e55a0ad  turn 3  claude  shop  1d
      …ます、そして割引コードは動きません …

      Enter read  Esc leave  F1 help
    ");
}

#[test]
fn a_narrow_and_high_screen_has_the_preview_below() {
    insta::assert_snapshot!(screen(&found(), 50, 24), @"
    > discount
      claude                      3 turns in 1 session
    ▌ 5e55a0ad  turn 1  claude  shop  1 day ago
    ▌ …LED tests/test_discount.py::test_code - asser…
      5e55a0ad  turn 2  claude  shop  1 day ago
      …room for, then discount and more
      5e55a0ad  turn 3  claude  shop  1 day ago
      …ります、そして割引コードは動きません 👩‍👩‍👧




    ──────────────────────────────────────────────────
     Make the discount code work again
     claude · shop · main · 1 day ago
     5e55a0ad-0001-4000-8000-0000000000aa

     turn 1: the discount code is refused at
     checkout, please find out why and add a test

     Bash: FAILED tests/test_discount.py::test_code -
     assert 90 == 100

      Enter read  Esc leave  F1 help  Tab agent
    ");
}

#[test]
fn help_lies_over_everything() {
    let mut state = found();
    state.is_help = true;
    insta::assert_snapshot!(screen(&state, 80, 24), @r#"
    > discount
      claude · everywhere · any time                            3 turns in 1 session
    ▌ 5e55a0ad  turn 1  claude  shop  1d  │ Make the discount code work again
    ▌ …tests/test_discount.py::test_code… │ claude · shop · main · 1 day ago
      5e55a0ad  turn 2  claude  shop  1d  │ 5e55a0ad-0001-4000-8000-0000000000aa
      … for, t┌ Keys ────────────────────────────────────────────────────┐
      5e55a0ad│ Enter                read the session, at this turn      │efused at
      …す、そ │ Up Down PgUp PgDn    move in the list                    │and add a
              │ Shift-Up Shift-Down  move in the preview                 │
              │ Tab Shift-Tab        which agent                         │
              │ Ctrl-E               this repository, or everywhere      │
              │ Ctrl-S               7 days, 30 days, any time           │ode -
              │ Ctrl-Y               copy the id                         │
              │ Ctrl-R               copy the command that resumes       │
              │ Ctrl-W Ctrl-U        take back a word, or all            │ is refu…
              │ Esc Ctrl-C           leave                               │est_disc…
              │ "a b" be* -no        phrase, beginning, without          │
              │ tool:Bash file:a.rs  fields, as `boswell search` has     │ を直し…
              └──────────────────────────────────────────────────────────┘
                                          │
                                          │
                                          │
                                          │
      Enter read  Esc leave  F1 help  Tab agent  ^E here  ^S since  ^Y copy id
    "#);
}

#[test]
fn an_empty_memory_says_what_to_do() {
    let state = State {
        stage: Stage::Empty,
        ..State::default()
    };
    insta::assert_snapshot!(screen(&state, 80, 10), @"
    There is no session in the memory yet

    Enter  boswell setup  guided setup: a few questions, then search
    s      boswell sweep  read the logs of your agents, no questions
    d      boswell demo   see it on made-up logs
    q                     leave
    ");
}

#[test]
fn sessions_are_listed_where_nothing_is_asked_and_nothing_found_is_said() {
    let mut state = State::default();
    let session = Row {
        line: None,
        turn: None,
        pieces: Vec::new(),
        ..hit(1, "", "", "")
    };
    state.take_rows(vec![session], "1 session".to_owned());
    state.message = Some("Copied: 5e55a0ad".to_owned());
    insta::assert_snapshot!(screen(&state, 80, 12), @"
    > type to search every session
      all agents · everywhere · any time                                   1 session
    ▌ 5e55a0ad  claude  shop  1 day ago   │ Make the discount code work again
    ▌ Make the discount code work again   │ claude · shop · main · 1 day ago
                                          │ 5e55a0ad-0001-4000-8000-0000000000aa
                                          │
                                          │ the discount code is refused at
                                          │ checkout, please find out why and add a
                                          │ test
                                          │
                                          │
      Copied: 5e55a0ad
    ");
    state.take_rows(Vec::new(), "0 turns in 0 sessions".to_owned());
    state.query = "a question that is longer than the screen is wide, of which the end is seen".to_owned();
    insta::assert_snapshot!(screen(&state, 40, 6), @"
    > een is wide, of which the end is seen
                       0 turns in 0 sessions
      Nothing found


      Copied: 5e55a0ad
    ");
}

#[test]
fn what_was_asked_for_is_marked_with_and_without_colour() {
    let state = found();
    let terminal = drawn(&state, 80, 24);
    let buffer = terminal.backend().buffer();
    let marked: String = (0..36)
        .map(|x| &buffer[(x, 3)])
        .filter(|cell| cell.modifier.contains(Modifier::UNDERLINED))
        .map(|cell| cell.symbol())
        .collect();
    assert_eq!(marked, "discount");
    let mut plain = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let look = Look::new(false, look().now);
    plain.draw(|frame| draw(frame, &state, &look)).unwrap();
    let cells = &plain.backend().buffer().content;
    assert!(
        cells
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    );
    assert!(cells.iter().any(|cell| cell.modifier.contains(Modifier::UNDERLINED)));
}

#[test]
fn no_size_is_too_small() {
    for (columns, rows) in [(1, 1), (2, 3), (5, 4), (12, 200), (300, 2), (70, 5)] {
        for is_help in [false, true] {
            let mut state = found();
            state.is_help = is_help;
            state.selected = 2;
            drawn(&state, columns, rows);
            state.stage = Stage::Empty;
            drawn(&state, columns, rows);
        }
    }
}

#[test]
fn the_selected_row_is_always_on_the_screen() {
    let mut state = found();
    state.rows = (1..50).map(|turn| hit(turn, "", "x", "")).collect();
    for selected in 0..49 {
        state.selected = selected;
        let text = screen(&state, 40, 10);
        let at = text.lines().find(|line| line.starts_with('▌')).unwrap();
        assert!(at.contains(&format!("turn {} ", selected + 1)), "{at}");
    }
}

#[test]
fn what_the_filters_hide_is_shortened_before_it_is_cut() {
    let texts = [60, 47, 40, 30].map(|columns| {
        let hidden = Some("1,203+ turns in 49+ sessions");
        count_text("141 turns in 33 sessions", hidden, columns)
    });
    assert_eq!(
        texts,
        [
            "141 turns in 33 sessions · 1,203+ turns hidden",
            "141 turns in 33 sessions · 1,203+ turns hidden",
            "141 turns in 33 sessions · 1,203+ hidden",
            "141 turns in 33 sessions",
        ]
    );
}

#[test]
fn a_suggestion_has_the_whole_width_and_wraps_behind_its_indentation() {
    let mut state = State {
        query: "tool:Bsah".to_owned(),
        ..State::default()
    };
    state.take_rows(Vec::new(), "0 turns in 0 sessions".to_owned());
    state.suggestion = Some("tool:Bash".to_owned());
    let wide = screen(&state, 80, 10);
    assert!(
        wide.contains("  Did you mean tool:Bash? Enter searches for it"),
        "{wide}"
    );
    let narrow = screen(&state, 30, 10);
    assert!(narrow.contains("\n  Enter searches for it"), "{narrow}");
}
