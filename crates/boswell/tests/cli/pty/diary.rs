//! The diary on a terminal is laid out for reading; in a pipe it is Markdown.

use testkit::home::{FixtureHome, LogSource};
use testkit::verbs::{Ending, ExpectedExit, Invocation, Output};

use super::screen::Screen;
use super::{LIMIT, terminal};

fn invocation(line: &str) -> Invocation {
    Invocation {
        line: line.to_owned(),
        output: Output::Text,
        ending: Ending::Itself,
        exit: ExpectedExit::Code(0),
        plain_exit: ExpectedExit::Code(0),
    }
}

#[test]
fn a_day_is_laid_out_on_a_terminal_and_cites_sessions_by_their_ids() {
    let place = tempfile::tempdir().unwrap();
    let binary = std::path::PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::MadeUp).unwrap();
    let line = invocation("diary {day}");
    let run = terminal::run(&home, &line, 80, LIMIT);
    let text = Screen::parse(&run.bytes).lines().join("\n");
    let workspace = regex::Regex::new(r"S\d{4}, T\d{4}").unwrap();
    assert!(
        !workspace.is_match(&text) && !text.contains("\n#") && !text.contains("**"),
        "{text}"
    );
    let citation = regex::Regex::new(r"(claude:[0-9a-f-]{8,}/T(\d+))\s+lines?\s+\d+").unwrap();
    let cited = citation
        .captures(&text)
        .unwrap_or_else(|| panic!("no citation: {text}"));
    let shown = home.run(&invocation(&format!("show {}", &cited[1])), LIMIT).unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains(&format!("Turn {} ", &cited[2])), "{shown}");
    // Headings and citations have styles of their own.
    let bytes = String::from_utf8_lossy(&run.bytes);
    assert!(bytes.contains("\u{1b}[1m") && bytes.contains("\u{1b}[2m"), "{bytes}");
    let piped = home.run(&line, LIMIT).unwrap();
    let piped = String::from_utf8_lossy(&piped.stdout);
    assert!(piped.starts_with("# ") && workspace.is_match(&piped), "{piped}");
}
