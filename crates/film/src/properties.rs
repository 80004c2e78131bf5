//! Property tests: no text causes a panic, and no control character of a log reaches the player's terminal.

use jiff::tz::TimeZone;
use proptest::prelude::*;
use render::Transcript;
use transcript::Agent;

use crate::{FilmOptions, cast};

/// Generates text from pieces that mean something to a terminal or to a patch parser.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "\u{1b}[31m",
        "\u{1b}[",
        "\u{1b}]",
        "\u{7}",
        "\r",
        "\n",
        "\n\n",
        "\u{202e}",
        "é",
        "日本",
        "`",
        "```",
        "~~~",
        " ",
        "<",
        "&",
        "#",
        "*",
        "|",
        "-",
        "x",
        "1",
        ";",
        "m",
        ":",
        "*** Begin Patch\n",
        "*** Update File: ",
        "+",
        "@@",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_log_becomes_a_film(texts in prop::collection::vec(hostile(), 1..6), tool in hostile()) {
        let mut log = String::new();
        for text in &texts {
            let call = serde_json::json!({ "type": "tool_use", "id": text, "name": tool, "input": { "command": text, "file_path": text, "old_string": tool, "new_string": text } });
            let answer = serde_json::json!({ "type": "assistant", "sessionId": "s", "message": { "id": text, "content": [{ "type": "text", "text": text }, call] } });
            let prompt = serde_json::json!({ "type": "user", "sessionId": "s", "message": { "content": text } });
            log += &format!("{prompt}\n{answer}\n{text}\n");
        }
        if let Some(transcript) = Transcript::from_log(Agent::Claude, "s.jsonl", log.as_bytes(), TimeZone::UTC).unwrap() {
            let mut film = Vec::new();
            let options = FilmOptions { max_duration_ms: 5_000, ..FilmOptions::default() };
            cast(&transcript, &options, &mut film).unwrap();
            let film = String::from_utf8(film).unwrap();
            // JSON escapes our own control sequences; those of the log must not appear even escaped.
            let is_odd = film.contains(['\u{1b}', '\u{202e}', '\u{7}']) || film.contains("\\u0007");
            prop_assert!(!is_odd, "{}", film);
        }
    }
}
