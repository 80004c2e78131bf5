//! The oldest format: one JSON object for the whole session, pretty-printed over many lines.
//!
//! It is read line by line like the others. Nested objects are recognized by their indentation, which never varied,
//! so that only one of them is in memory at a time. The line of an object is the one that contains its text, so that
//! the text can be found again without the surrounding lines.

use serde::{Deserialize, Serialize};

/// Maximum size of one object.
const OBJECT_BYTES_MAX: usize = 1 << 20;

/// The position of the reader inside the object.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SingleObjectLog {
    partial: Option<PartialObject>,
}

/// An object that is being collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PartialObject {
    object: String,
    /// The line that contains its text, or else its first line.
    line: u64,
    has_words: bool,
    /// Its indentation.
    depth: usize,
}

/// The role of one line in the object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ObjectLine {
    /// Part of an object, or of the frame around the objects.
    Frame,
    /// The last line of the session's header: the object and its line.
    Header(String, u64),
    /// The last line of an item: the object and its line.
    Item(String, u64),
    /// An object larger than the limit.
    TooLarge,
    /// Not part of such an object at all.
    Foreign,
}

impl SingleObjectLog {
    /// Returns `true` if a log that starts with this line is one object over many lines.
    pub(super) fn is_start(line: &[u8]) -> bool {
        line == b"{"
    }

    /// Reads the next line, untrimmed.
    pub(super) fn read_line(&mut self, number: u64, line: &[u8]) -> ObjectLine {
        let Ok(line) = std::str::from_utf8(line) else {
            return ObjectLine::Foreign;
        };
        let text = line.trim_start_matches(' ').trim_end();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let Some(partial) = &mut self.partial else {
            let opens = (indent == 2 && text == "\"session\": {") || (indent == 4 && text == "{");
            if opens {
                self.partial = Some(PartialObject {
                    object: "{".to_owned(),
                    line: number,
                    has_words: false,
                    depth: indent,
                });
            }
            return match text.starts_with("{\"") {
                true => ObjectLine::Foreign,
                false => ObjectLine::Frame,
            };
        };
        if indent != partial.depth || !text.starts_with('}') {
            if !partial.has_words && text_in_line(text).is_some_and(|(_, words)| !words.is_empty()) {
                (partial.line, partial.has_words) = (number, true);
            }
            partial.object.push_str(text);
            if partial.object.len() > OBJECT_BYTES_MAX {
                self.partial = None;
                return ObjectLine::TooLarge;
            }
            return ObjectLine::Frame;
        }
        partial.object.push('}');
        let (object, line, depth) = (std::mem::take(&mut partial.object), partial.line, partial.depth);
        self.partial = None;
        match depth {
            2 => ObjectLine::Header(object, line),
            _ => ObjectLine::Item(object, line),
        }
    }
}

/// Returns the key and the text of a line of an object, if it contains text.
pub(super) fn text_in_line(line: &str) -> Option<(&str, String)> {
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
    fn objects_are_recognized_by_their_indentation() {
        let text = "  \"session\": {\n    \"id\": \"s\"\n  },\n  \"items\": [\n    {\n      \"a\": {\n        \"b\": 1\n      }\n    },\n    {\n    }\n  ]\n}";
        let mut whole = SingleObjectLog::default();
        let pieces: Vec<ObjectLine> = text
            .lines()
            .enumerate()
            .map(|(at, line)| whole.read_line(at as u64 + 2, line.as_bytes()))
            .filter(|piece| *piece != ObjectLine::Frame)
            .collect();
        assert_eq!(
            pieces,
            [
                ObjectLine::Header(r#"{"id": "s"}"#.into(), 2),
                ObjectLine::Item(r#"{"a": {"b": 1}}"#.into(), 6),
                ObjectLine::Item("{}".into(), 11),
            ]
        );
    }

    #[test]
    fn the_line_of_an_object_is_that_of_its_text() {
        let text = "    {\n      \"type\": \"message\",\n      \"content\": [\n        {\n          \"text\": \"\"\n        },\n        {\n          \"text\": \"hello\"\n        },\n        {\n          \"text\": \"again\"\n        }\n      ]\n    }";
        let mut whole = SingleObjectLog::default();
        let mut pieces = text.lines().enumerate();
        let line = pieces.find_map(|(at, line)| match whole.read_line(at as u64 + 1, line.as_bytes()) {
            ObjectLine::Item(_, line) => Some(line),
            _ => None,
        });
        assert_eq!(line, Some(8));
    }

    #[test]
    fn the_text_in_a_line_of_an_object_is_found() {
        let words = |line: &str| text_in_line(line).map(|(name, words)| format!("{name}={words}"));
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
