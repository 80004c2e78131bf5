//! An edit with its diff, trimmed to a few lines of context.

use transcript::{Change, How, Hunk, Side};

use super::FileEdit;
use super::edits::FoundEdit;
use super::lines::split_lines;
use super::replay::{diff_rows, replacement_hunk};

/// Number of unchanged lines shown before and after a change.
const CONTEXT_LINES: usize = 3;

/// Returns the edit as it is shown to the user.
pub(super) fn describe_edit(found: &FoundEdit) -> FileEdit {
    let diff = found
        .change
        .as_ref()
        .map(|change| diff_change(change, found.before.as_deref()));
    FileEdit {
        at: found.at,
        tool: found.tool.clone(),
        seq: found.seq,
        line: found.line,
        summary: found.summary.clone(),
        diff: diff.unwrap_or_default(),
    }
}

fn diff_change(change: &Change, before: Option<&str>) -> Vec<Hunk> {
    match &change.how {
        How::Whole(text) => trim_context(&Hunk {
            old_line: Some(1),
            rows: diff_rows(&split_lines(before.unwrap_or_default()), &split_lines(text)),
            ..Hunk::default()
        }),
        How::Replaced(all) => all
            .iter()
            .map(replacement_hunk)
            .flat_map(|hunk| trim_context(&hunk))
            .collect(),
        How::Patched(hunks) => hunks.clone(),
        How::Deleted => trim_context(&Hunk {
            old_line: Some(1),
            rows: diff_rows(&split_lines(before.unwrap_or_default()), &[]),
            ..Hunk::default()
        }),
    }
}

/// Splits a hunk into pieces that contain only the changes and their context.
fn trim_context(hunk: &Hunk) -> Vec<Hunk> {
    let rows = &hunk.rows;
    let changed: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].side != Side::Both).collect();
    let mut pieces: Vec<Hunk> = Vec::new();
    let mut shown_to = 0;
    let (mut line, mut counted_to) = (hunk.old_line, 0);
    for at in changed {
        let (from, to) = (
            at.saturating_sub(CONTEXT_LINES).max(shown_to),
            (at + CONTEXT_LINES + 1).min(rows.len()),
        );
        if pieces.is_empty() || from > shown_to {
            let olds = rows[counted_to..from]
                .iter()
                .filter(|row| row.side != Side::New)
                .count();
            line = line.map(|line| line + olds as u64);
            counted_to = from;
            pieces.push(Hunk {
                old_line: line,
                below: hunk.below.clone(),
                rows: Vec::new(),
            });
        }
        if let Some(piece) = pieces.last_mut() {
            piece.rows.extend(rows[from..to.max(from)].iter().cloned());
        }
        shown_to = to.max(shown_to);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_lines_are_dropped_except_for_the_context() {
        let old: Vec<String> = (1..=40).map(|at| format!("line {at}")).collect();
        let mut new = old.clone();
        new[9] = "ten".to_owned();
        new[11] = "twelve".to_owned();
        new.insert(30, "more".to_owned());
        let whole = Hunk {
            old_line: Some(1),
            rows: diff_rows(&old, &new),
            ..Hunk::default()
        };
        let pieces = trim_context(&whole);
        let shapes: Vec<(Option<u64>, usize)> = pieces.iter().map(|piece| (piece.old_line, piece.rows.len())).collect();
        assert_eq!(shapes, [(Some(7), 11), (Some(28), 7)]);
        assert_eq!(pieces[1].rows[3].text, "more");
    }
}
