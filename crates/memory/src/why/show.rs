//! An edit as it is shown: what it changed, with a few lines around.

use transcript::{Change, How, Hunk, Side};

use super::Edit;
use super::edits::Found;
use super::lines::split;
use super::replay::{as_hunk, rows};

/// So many lines that did not change are shown before and behind those that did.
const AROUND: usize = 3;

pub(super) fn edit(found: &Found) -> Edit {
    let diff = found
        .change
        .as_ref()
        .map(|change| diff(change, found.before.as_deref()));
    Edit {
        at: found.at,
        tool: found.tool.clone(),
        seq: found.seq,
        line: found.line,
        summary: found.summary.clone(),
        diff: diff.unwrap_or_default(),
    }
}

fn diff(change: &Change, before: Option<&str>) -> Vec<Hunk> {
    match &change.how {
        How::Whole(text) => pieces(&Hunk {
            old_line: Some(1),
            rows: rows(&split(before.unwrap_or_default()), &split(text)),
            ..Hunk::default()
        }),
        How::Replaced(all) => all.iter().map(as_hunk).flat_map(|hunk| pieces(&hunk)).collect(),
        How::Patched(hunks) => hunks.clone(),
        How::Deleted => pieces(&Hunk {
            old_line: Some(1),
            rows: rows(&split(before.unwrap_or_default()), &[]),
            ..Hunk::default()
        }),
    }
}

/// A hunk without what lies far from all changes.
fn pieces(hunk: &Hunk) -> Vec<Hunk> {
    let rows = &hunk.rows;
    let changed: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].side != Side::Both).collect();
    let mut pieces: Vec<Hunk> = Vec::new();
    let mut shown_to = 0;
    let (mut line, mut counted_to) = (hunk.old_line, 0);
    for at in changed {
        let (from, to) = (
            at.saturating_sub(AROUND).max(shown_to),
            (at + AROUND + 1).min(rows.len()),
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
    fn what_did_not_change_is_left_out_but_for_a_few_lines_around() {
        let old: Vec<String> = (1..=40).map(|at| format!("line {at}")).collect();
        let mut new = old.clone();
        new[9] = "ten".to_owned();
        new[11] = "twelve".to_owned();
        new.insert(30, "more".to_owned());
        let whole = Hunk {
            old_line: Some(1),
            rows: rows(&old, &new),
            ..Hunk::default()
        };
        let pieces = pieces(&whole);
        let told: Vec<(Option<u64>, usize)> = pieces.iter().map(|piece| (piece.old_line, piece.rows.len())).collect();
        assert_eq!(told, [(Some(7), 11), (Some(28), 7)]);
        assert_eq!(pieces[1].rows[3].text, "more");
    }
}
