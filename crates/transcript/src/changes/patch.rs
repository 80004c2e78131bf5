//! Parsers for Codex patches, unified diffs and Claude's structured hunks. A line that is not part of a hunk ends it.

use serde_json::Value;

use super::{Change, How, Hunk, Row, Side};

/// The line that starts a Codex patch.
pub(super) const BEGIN: &str = "*** Begin Patch";

/// Returns the changes of all patches inside a text.
pub(super) fn parse_embedded(text: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (patch, after) = match rest[at..].split_once("*** End Patch") {
            Some((patch, after)) => (patch, after),
            None => (&rest[at..], ""),
        };
        // In a program, the patch is a string literal with `\n` written as two characters.
        match patch[BEGIN.len()..].starts_with("\\n") {
            true => parse_patch(&unescape(patch), &mut changes),
            false => parse_patch(patch, &mut changes),
        }
        rest = after;
    }
    changes
}

fn parse_patch(patch: &str, changes: &mut Vec<Change>) {
    for line in patch.lines().skip(1) {
        let header = |words: &str| line.strip_prefix(words).map(|path| path.trim().to_owned());
        let header_kind = [
            ("*** Add File: ", How::Whole(String::new())),
            ("*** Update File: ", How::Patched(Vec::new())),
            ("*** Delete File: ", How::Deleted),
        ];
        let header_kind = header_kind
            .into_iter()
            .find_map(|(words, how)| Some((header(words)?, how)));
        if let Some((path, how)) = header_kind {
            changes.push(Change {
                path,
                moved_to: None,
                how,
            });
            continue;
        }
        let Some(change) = changes.last_mut() else { continue };
        if let Some(path) = header("*** Move to: ") {
            change.moved_to = Some(path);
        } else if !line.starts_with("*** ") {
            push_line(&mut change.how, line);
        }
    }
}

fn push_line(how: &mut How, line: &str) {
    match how {
        How::Whole(text) => {
            if let Some(line) = line.strip_prefix('+') {
                *text += line;
                text.push('\n');
            }
        }
        How::Patched(hunks) => {
            if let Some(below) = line.strip_prefix("@@") {
                let below = below.trim();
                hunks.push(Hunk {
                    below: (!below.is_empty()).then(|| below.to_owned()),
                    ..Hunk::default()
                });
            } else if let Some(hunk_row) = hunk_row(line) {
                if hunks.is_empty() {
                    hunks.push(Hunk::default());
                }
                if let Some(hunk) = hunks.last_mut() {
                    hunk.rows.push(hunk_row);
                }
            }
        }
        How::Deleted | How::Replaced(_) => {}
    }
}

/// Parses a line of a patch by its sign. An empty line is an unchanged one.
fn hunk_row(line: &str) -> Option<Row> {
    let side = match line.as_bytes().first() {
        Some(b'+') => Side::New,
        Some(b'-') => Side::Old,
        Some(b' ') | None => Side::Both,
        Some(_) => return None,
    };
    let text = line.get(1..).unwrap_or_default().to_owned();
    Some(Row { side, text })
}

/// Parses the hunks of a unified diff.
pub(super) fn parse_unified(diff: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in diff.lines() {
        if let Some(header) = line.strip_prefix("@@ -") {
            let number: String = header.chars().take_while(char::is_ascii_digit).collect();
            hunks.push(Hunk {
                old_line: number.parse().ok(),
                ..Hunk::default()
            });
        } else if let (Some(hunk), Some(hunk_row)) = (hunks.last_mut(), hunk_row(line)) {
            hunk.rows.push(hunk_row);
        }
    }
    hunks
}

/// Parses one of Claude's structured hunks.
pub(super) fn parse_structured(hunk: &Value) -> Option<Hunk> {
    let lines = hunk.get("lines")?.as_array()?.iter().filter_map(Value::as_str);
    Some(Hunk {
        old_line: hunk.get("oldStart").and_then(Value::as_u64),
        below: None,
        rows: lines.filter_map(hunk_row).collect(),
    })
}

/// Returns a notebook cell's source as the notebook's file stores it: one JSON string per line.
pub(super) fn cell_hunk(source: &str) -> Hunk {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let last = lines.len().saturating_sub(1);
    let rows = lines.iter().enumerate().map(|(at, line)| Row {
        side: Side::New,
        text: format!("{}{}", Value::from(*line), if at < last { "," } else { "" }),
    });
    Hunk {
        rows: rows.collect(),
        ..Hunk::default()
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            (c, false) => out.push(c),
        }
    }
    out
}
