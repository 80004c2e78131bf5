//! The oldest generation: one JSON object for the whole session, printed over many lines.
//!
//! It is read line by line like the others. The objects inside are told by their indentation, which the
//! program that wrote them never varied, so that only one of them is held at a time.

use serde::{Deserialize, Serialize};

/// How large one object may be.
const OBJECT_BYTES_MAX: usize = 1 << 20;

/// Where the reader is inside the object.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Whole {
    /// The object that is being gathered, the line it began on, and how far it is indented.
    held: Option<(String, u64, usize)>,
}

/// What a line is to the whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part of an object, or of the frame around the objects.
    Frame,
    /// The last line of the session's head, which began on this line.
    Head(String, u64),
    /// The last line of an item, which began on this line.
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
        let Some((held, first, depth)) = &mut self.held else {
            let opens = (indent == 2 && text == "\"session\": {") || (indent == 4 && text == "{");
            if opens {
                self.held = Some(("{".to_owned(), number, indent));
            }
            return match text.starts_with("{\"") {
                true => Piece::Foreign,
                false => Piece::Frame,
            };
        };
        if indent != *depth || !text.starts_with('}') {
            held.push_str(text);
            if held.len() > OBJECT_BYTES_MAX {
                self.held = None;
                return Piece::TooLarge;
            }
            return Piece::Frame;
        }
        held.push('}');
        let (object, first, depth) = (std::mem::take(held), *first, *depth);
        self.held = None;
        match depth {
            2 => Piece::Head(object, first),
            _ => Piece::Item(object, first),
        }
    }
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
}
