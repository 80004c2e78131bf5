//! The oldest generation: one JSON object for the whole session, printed over many lines.
//!
//! It is read line by line like the others. The objects inside are told by their indentation, which the
//! program that wrote them never varied, so that only one of them is held at a time. An object stands at the line that
//! holds its words, so that they are found again without the lines around it.

use serde::{Deserialize, Serialize};

/// How large one object may be.
const OBJECT_BYTES_MAX: usize = 1 << 20;

/// Where the reader is inside the object.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Whole {
    held: Option<Held>,
}

/// An object that is being gathered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    object: String,
    /// The line that holds its words, or the one it began on.
    line: u64,
    has_words: bool,
    /// How far it is indented.
    depth: usize,
}

/// What a line is to the whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part of an object, or of the frame around the objects.
    Frame,
    /// The last line of the session's head, and where it stands.
    Head(String, u64),
    /// The last line of an item, and where it stands.
    Item(String, u64),
    /// An object larger than can be held.
    TooLarge,
    /// No part of such an object at all.
    Foreign,
}

impl Whole {
    /// Whether a log that begins with this line is one object over many lines.
    pub(super) fn begins(line: &[u8]) -> bool {
        line == b"{"
    }

    /// Takes the next line, as it stands in the file.
    pub(super) fn take(&mut self, number: u64, line: &[u8]) -> Piece {
        let Ok(line) = std::str::from_utf8(line) else {
            return Piece::Foreign;
        };
        let text = line.trim_start_matches(' ').trim_end();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let Some(held) = &mut self.held else {
            let opens = (indent == 2 && text == "\"session\": {") || (indent == 4 && text == "{");
            if opens {
                self.held = Some(Held {
                    object: "{".to_owned(),
                    line: number,
                    has_words: false,
                    depth: indent,
                });
            }
            return match text.starts_with("{\"") {
                true => Piece::Foreign,
                false => Piece::Frame,
            };
        };
        if indent != held.depth || !text.starts_with('}') {
            if !held.has_words && words_in(text).is_some_and(|(_, words)| !words.is_empty()) {
                (held.line, held.has_words) = (number, true);
            }
            held.object.push_str(text);
            if held.object.len() > OBJECT_BYTES_MAX {
                self.held = None;
                return Piece::TooLarge;
            }
            return Piece::Frame;
        }
        held.object.push('}');
        let (object, line, depth) = (std::mem::take(&mut held.object), held.line, held.depth);
        self.held = None;
        match depth {
            2 => Piece::Head(object, line),
            _ => Piece::Item(object, line),
        }
    }
}

/// The words that one line of an object holds, and under which name.
pub(super) fn words_in(line: &str) -> Option<(&str, String)> {
    let (name, value) = line.trim().strip_prefix('"')?.split_once("\": ")?;
    let is_words = matches!(name, "text" | "arguments" | "output" | "input");
    let value = value.strip_suffix(',').unwrap_or(value);
    let words = is_words.then(|| serde_json::from_str(value).ok()).flatten()?;
    Some((name, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_by_their_indentation() {
        let text = "  \"session\": {\n    \"id\": \"s\"\n  },\n  \"items\": [\n    {\n      \"a\": {\n        \"b\": 1\n      }\n    },\n    {\n    }\n  ]\n}";
        let mut whole = Whole::default();
        let pieces: Vec<Piece> = text
            .lines()
            .enumerate()
            .map(|(at, line)| whole.take(at as u64 + 2, line.as_bytes()))
            .filter(|piece| *piece != Piece::Frame)
            .collect();
        assert_eq!(
            pieces,
            [
                Piece::Head(r#"{"id": "s"}"#.into(), 2),
                Piece::Item(r#"{"a": {"b": 1}}"#.into(), 6),
                Piece::Item("{}".into(), 11),
            ]
        );
    }

    #[test]
    fn an_object_stands_at_its_words() {
        let text = "    {\n      \"type\": \"message\",\n      \"content\": [\n        {\n          \"text\": \"\"\n        },\n        {\n          \"text\": \"hello\"\n        },\n        {\n          \"text\": \"again\"\n        }\n      ]\n    }";
        let mut whole = Whole::default();
        let mut pieces = text.lines().enumerate();
        let line = pieces.find_map(|(at, line)| match whole.take(at as u64 + 1, line.as_bytes()) {
            Piece::Item(_, line) => Some(line),
            _ => None,
        });
        assert_eq!(line, Some(8));
    }

    #[test]
    fn a_line_of_an_object_tells_its_words() {
        let words = |line: &str| words_in(line).map(|(name, words)| format!("{name}={words}"));
        assert_eq!(
            words("   \"text\": \"a \\\"b\\\"\\n\",").as_deref(),
            Some("text=a \"b\"\n")
        );
        assert_eq!(words("\"output\": \"\"").as_deref(), Some("output="));
        assert_eq!(words("\"id\": \"x\""), None);
        assert_eq!(words("\"text\": [\"x\"]"), None);
        assert_eq!(words("{\"text\": \"x\"}"), None);
    }
}
