//! Computes the line diff of two texts and marks changes within lines.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::escape;

/// Longer texts are shown as removed and added completely, because computing their diff would take too long.
const LINES_MAX: usize = 2_000;
/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
    /// A number of unchanged lines that are not shown.
    Unchanged(usize),
    /// The header of a hunk, which says where in the file the next lines are.
    HunkHeader(&'t str),
}

/// Returns the lines of the diff of two texts.
pub fn diff_lines<'t>(old: &'t str, new: &'t str) -> Vec<DiffLine<'t>> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let mut lines = Vec::new();
    if old.len() > LINES_MAX || new.len() > LINES_MAX {
        lines.extend(old.into_iter().map(DiffLine::Removed));
        lines.extend(new.into_iter().map(DiffLine::Added));
        return lines;
    }
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let last = ops.len().saturating_sub(1);
    for (at, op) in ops.into_iter().enumerate() {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let same = &old[old_index..old_index + len];
                // There is no change before the first lines or after the last ones, so these need no context.
                let (head, tail) = (
                    if at == 0 { 0 } else { CONTEXT_LINES },
                    if at == last { 0 } else { CONTEXT_LINES },
                );
                // Replacing a single line by a gap would save nothing.
                if len > head + tail + 1 {
                    lines.extend(same[..head].iter().map(|line| DiffLine::Same(line)));
                    lines.push(DiffLine::Unchanged(len - head - tail));
                    lines.extend(same[len - tail..].iter().map(|line| DiffLine::Same(line)));
                } else {
                    lines.extend(same.iter().map(|line| DiffLine::Same(line)));
                }
            }
            op => {
                lines.extend(old[op.old_range()].iter().map(|line| DiffLine::Removed(line)));
                lines.extend(new[op.new_range()].iter().map(|line| DiffLine::Added(line)));
            }
        }
    }
    lines
}

/// Returns the numbers of added and removed lines.
pub fn count_changes(lines: &[DiffLine<'_>]) -> (usize, usize) {
    let added = lines.iter().filter(|line| matches!(line, DiffLine::Added(_))).count();
    let removed = lines.iter().filter(|line| matches!(line, DiffLine::Removed(_))).count();
    (added, removed)
}

/// Appends a diff as HTML, with changes within a line marked.
pub(crate) fn push_html(out: &mut String, lines: &[DiffLine<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        match &lines[at] {
            DiffLine::Same(text) => {
                out.push_str("<span>");
                escape::push_inside(out, text);
                out.push_str("</span>\n");
                at += 1;
            }
            DiffLine::Unchanged(count) => {
                out.push_str(&format!("<span class=\"gap\">⋯ {count} unchanged</span>\n"));
                at += 1;
            }
            DiffLine::HunkHeader(header) => {
                out.push_str("<span class=\"gap\">");
                let header = header.trim_matches(['@', ' ']);
                escape::push_inside(out, if header.is_empty() { "⋯" } else { header });
                out.push_str("</span>\n");
                at += 1;
            }
            DiffLine::Removed(_) | DiffLine::Added(_) => {
                let begin = at;
                while at < lines.len() && matches!(lines[at], DiffLine::Removed(_)) {
                    at += 1;
                }
                let middle = at;
                while at < lines.len() && matches!(lines[at], DiffLine::Added(_)) {
                    at += 1;
                }
                push_change(out, &lines[begin..middle], &lines[middle..at]);
            }
        }
    }
}

/// Appends removed lines and the added lines that replace them. If their numbers are equal, they are compared pairwise.
fn push_change(out: &mut String, removed: &[DiffLine<'_>], added: &[DiffLine<'_>]) {
    fn text<'t>(line: &DiffLine<'t>) -> &'t str {
        match line {
            DiffLine::Removed(text) | DiffLine::Added(text) => text,
            _ => "",
        }
    }
    // With different numbers of lines it is unclear which of them correspond.
    let pairs = removed.len() == added.len();
    let marks: Vec<_> = removed
        .iter()
        .zip(added)
        .map(|(old, new)| {
            if pairs {
                changed_range(text(old), text(new))
            } else {
                None
            }
        })
        .collect();
    for (at, line) in removed.iter().enumerate() {
        let mark = marks.get(at).cloned().flatten().map(|(start, old, _)| (start, old));
        push_line(out, ["<del>", "</del>\n"], text(line), mark);
    }
    for (at, line) in added.iter().enumerate() {
        let mark = marks.get(at).cloned().flatten().map(|(start, _, new)| (start, new));
        push_line(out, ["<ins>", "</ins>\n"], text(line), mark);
    }
}

fn push_line(out: &mut String, [open, close]: [&str; 2], text: &str, mark: Option<(usize, usize)>) {
    out.push_str(open);
    match mark.filter(|(start, end)| start < end) {
        Some((start, end)) => {
            escape::push_inside(out, &text[..start]);
            out.push_str("<b>");
            escape::push_inside(out, &text[start..end]);
            out.push_str("</b>");
            escape::push_inside(out, &text[end..]);
        }
        None => escape::push_inside(out, text),
    }
    out.push_str(close);
}

/// Returns where two lines start to differ and where the difference ends in each. `None` if they have little in common.
fn changed_range(old: &str, new: &str) -> Option<(usize, usize, usize)> {
    let same = old.char_indices().zip(new.chars()).find(|((_, a), b)| a != b);
    let start = same.map_or(old.len().min(new.len()), |((at, _), _)| at);
    let (mut old_end, mut new_end) = (old.len(), new.len());
    for (a, b) in old[start..].chars().rev().zip(new[start..].chars().rev()) {
        if a != b {
            break;
        }
        old_end -= a.len_utf8();
        new_end -= b.len_utf8();
    }
    // Unless a third of the line is unchanged, not counting indentation, marks would only be noise.
    let kept = start + (old.len() - old_end);
    let indent = old.len() - old.trim_start().len();
    let longest = old.len().max(new.len());
    (kept > indent && (kept - indent) * 3 >= longest - indent.min(longest)).then_some((start, old_end, new_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(old: &str, new: &str) -> String {
        let mut out = String::new();
        push_html(&mut out, &diff_lines(old, new));
        out
    }

    #[test]
    fn a_changed_word_is_marked_inside_its_line() {
        assert_eq!(
            html("a\nlet x = 1;\nb", "a\nlet x = 12;\nb"),
            "<span>a</span>\n<del>let x = 1;</del>\n<ins>let x = 1<b>2</b>;</ins>\n<span>b</span>\n"
        );
        assert_eq!(html("größe = <1>", "größe = <2>").matches("<b>").count(), 2);
        assert!(!html("one thing", "another matter").contains("<b>"));
    }

    #[test]
    fn long_unchanged_parts_are_collapsed() {
        let old: Vec<String> = (0..40).map(|line| line.to_string()).collect();
        let new = old.join("\n").replace("\n20\n", "\nX\n");
        let old = old.join("\n");
        let all = diff_lines(&old, &new);
        assert_eq!(count_changes(&all), (1, 1));
        assert_eq!(all.first(), Some(&DiffLine::Unchanged(17)));
        assert_eq!(all.last(), Some(&DiffLine::Unchanged(16)));
        assert_eq!(all.len(), 2 + 2 + 6);
    }

    #[test]
    fn very_long_texts_are_not_compared() {
        let long = "x\n".repeat(3_000);
        assert_eq!(count_changes(&diff_lines(&long, &long)), (3_000, 3_000));
    }
}
