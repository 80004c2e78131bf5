//! What an edit changed, line by line, and inside of lines.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::escape;

/// Longer texts are shown as taken out and put in: nobody reads their difference, and finding it would take long.
const LINES_MAX: usize = 2_000;
/// So many lines around a change are shown.
const AROUND: usize = 3;

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'t> {
    Same(&'t str),
    Out(&'t str),
    In(&'t str),
    /// So many lines that did not change.
    Gap(usize),
    /// Where in the file the next lines stand, as a patch says it.
    Place(&'t str),
}

/// The lines of the difference of two texts.
pub fn lines<'t>(old: &'t str, new: &'t str) -> Vec<Line<'t>> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let mut lines = Vec::new();
    if old.len() > LINES_MAX || new.len() > LINES_MAX {
        lines.extend(old.into_iter().map(Line::Out));
        lines.extend(new.into_iter().map(Line::In));
        return lines;
    }
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let last = ops.len().saturating_sub(1);
    for (at, op) in ops.into_iter().enumerate() {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let same = &old[old_index..old_index + len];
                let (head, tail) = (if at == 0 { 0 } else { AROUND }, if at == last { 0 } else { AROUND });
                if len > head + tail + 1 {
                    lines.extend(same[..head].iter().map(|line| Line::Same(line)));
                    lines.push(Line::Gap(len - head - tail));
                    lines.extend(same[len - tail..].iter().map(|line| Line::Same(line)));
                } else {
                    lines.extend(same.iter().map(|line| Line::Same(line)));
                }
            }
            op => {
                lines.extend(old[op.old_range()].iter().map(|line| Line::Out(line)));
                lines.extend(new[op.new_range()].iter().map(|line| Line::In(line)));
            }
        }
    }
    lines
}

/// How many lines came and went.
pub fn counts(lines: &[Line<'_>]) -> (usize, usize) {
    let added = lines.iter().filter(|line| matches!(line, Line::In(_))).count();
    let removed = lines.iter().filter(|line| matches!(line, Line::Out(_))).count();
    (added, removed)
}

/// Appends lines as HTML, what changed inside of them marked.
pub(crate) fn push_html(out: &mut String, lines: &[Line<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        match &lines[at] {
            Line::Same(text) => {
                out.push_str("<span>");
                escape::push_inside(out, text);
                out.push_str("</span>\n");
                at += 1;
            }
            Line::Gap(count) => {
                out.push_str(&format!("<span class=\"gap\">⋯ {count} unchanged</span>\n"));
                at += 1;
            }
            Line::Place(place) => {
                out.push_str("<span class=\"gap\">");
                let place = place.trim_matches(['@', ' ']);
                escape::push_inside(out, if place.is_empty() { "⋯" } else { place });
                out.push_str("</span>\n");
                at += 1;
            }
            Line::Out(_) | Line::In(_) => {
                let begin = at;
                while at < lines.len() && matches!(lines[at], Line::Out(_)) {
                    at += 1;
                }
                let middle = at;
                while at < lines.len() && matches!(lines[at], Line::In(_)) {
                    at += 1;
                }
                push_change(out, &lines[begin..middle], &lines[middle..at]);
            }
        }
    }
}

/// Lines that went and lines that came for them. Where there are as many, each is compared with its own.
fn push_change(out: &mut String, removed: &[Line<'_>], added: &[Line<'_>]) {
    fn text<'t>(line: &Line<'t>) -> &'t str {
        match line {
            Line::Out(text) | Line::In(text) => text,
            _ => "",
        }
    }
    let pairs = removed.len() == added.len();
    let marks: Vec<_> = removed
        .iter()
        .zip(added)
        .map(|(old, new)| if pairs { marked(text(old), text(new)) } else { None })
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

/// Where two lines begin to differ, and where each ends to. None where they have little in common.
fn marked(old: &str, new: &str) -> Option<(usize, usize, usize)> {
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
        push_html(&mut out, &lines(old, new));
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
    fn what_did_not_change_is_cut_short() {
        let old: Vec<String> = (0..40).map(|line| line.to_string()).collect();
        let new = old.join("\n").replace("\n20\n", "\nX\n");
        let old = old.join("\n");
        let all = lines(&old, &new);
        assert_eq!(counts(&all), (1, 1));
        assert_eq!(all.first(), Some(&Line::Gap(17)));
        assert_eq!(all.last(), Some(&Line::Gap(16)));
        assert_eq!(all.len(), 2 + 2 + 6);
    }

    #[test]
    fn very_long_texts_are_not_compared() {
        let long = "x\n".repeat(3_000);
        assert_eq!(counts(&lines(&long, &long)), (3_000, 3_000));
    }
}
