//! What an agent says, as rows: enough of Markdown that headings, lists, code and emphasis look like what they are.

use super::cells::{self, Wrap, of, wrap};
use super::scene::{Cell, Ground, Ink, Style};

/// The first rows of a text, each with what it stands on. The first two columns of all are blank.
pub(crate) fn rows(text: &str, columns: usize, rows_max: usize) -> Vec<(Vec<Cell>, Ground)> {
    let mut rows = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.trim().lines() {
        if rows.len() >= rows_max {
            rows.truncate(rows_max);
            rows.push((of("  …", Style::DIM), Ground::Page));
            break;
        }
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {
                let cells = of(&format!("   {line}"), Style::of(Ink::Code));
                let wrapped = wrap(&cells, columns, Wrap::Anywhere, 3);
                rows.extend(wrapped.into_iter().map(|row| (row, Ground::Code)));
            }
            (None, None) => prose(&mut rows, line, columns),
        }
    }
    rows
}

fn prose(rows: &mut Vec<(Vec<Cell>, Ground)>, line: &str, columns: usize) {
    let bare = line.trim_start();
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=6).contains(&level) && bare[level..].starts_with(' ');
    let mut cells = of("  ", Style::PLAIN);
    let mut indent = 2;
    if is_heading {
        inline(&mut cells, bare[level..].trim(), Style::PLAIN.bold());
    } else {
        let spaces = (line.len() - bare.len()).min(12);
        cells::push(&mut cells, &" ".repeat(spaces), Style::PLAIN);
        let item = ["- ", "* ", "+ "].into_iter().find_map(|mark| bare.strip_prefix(mark));
        match item {
            Some(rest) => {
                cells::push(&mut cells, "• ", Style::of(Ink::Agent));
                inline(&mut cells, rest, Style::PLAIN);
                indent += spaces + 2;
            }
            None => {
                inline(&mut cells, bare, Style::PLAIN);
                indent += spaces;
            }
        }
    }
    let wrapped = wrap(&cells, columns, Wrap::Words, indent);
    rows.extend(wrapped.into_iter().map(|row| (row, Ground::Page)));
}

/// Code between backticks and what is bold; marks without an end are signs like others.
fn inline(out: &mut Vec<Cell>, text: &str, style: Style) {
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, from) = rest.split_at(at);
        cells::push(out, before, style);
        let mark = if from.starts_with("**") { "**" } else { &from[..1] };
        let inside = from[mark.len()..]
            .split_once(mark)
            .filter(|(inside, _)| !inside.trim().is_empty() && mark != "*");
        match inside {
            Some((inside, after)) if mark == "`" => {
                cells::push(
                    out,
                    inside,
                    Style {
                        ink: Ink::Code,
                        ..style
                    },
                );
                rest = after;
            }
            Some((inside, after)) => {
                inline(out, inside, style.bold());
                rest = after;
            }
            None => {
                cells::push(out, mark, style);
                rest = &from[mark.len()..];
            }
        }
    }
    cells::push(out, rest, style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_looks_like_what_it_means() {
        let text = "# Done\nUse `a*b` and **bold** * not.\n- one\n```rust\nlet a = 1;\n```";
        let told: Vec<String> = rows(text, 40, 10)
            .iter()
            .map(|(cells, ground)| {
                let text: String = cells.iter().map(|cell| cell.sign).collect();
                let bold: String = cells
                    .iter()
                    .filter(|cell| cell.style.is_bold)
                    .map(|cell| cell.sign)
                    .collect();
                format!("{text}|{bold}|{ground:?}")
            })
            .collect();
        assert_eq!(
            told,
            [
                "  Done|Done|Page",
                "  Use a*b and bold * not.|bold|Page",
                "  • one||Page",
                "   let a = 1;||Code"
            ]
        );
        assert_eq!(rows("a\nb\nc\nd", 40, 2).len(), 3);
    }
}
