//! Renders the messages of an agent as rows, with the Markdown that matters: headings, lists, code and emphasis.

use super::cells::{self, Wrap, text_cells, wrap};
use super::scene::{Background, Cell, CellStyle, TextColor};

/// Returns the first rows of a text with their backgrounds. The first two columns are left empty for a mark.
pub(crate) fn markdown_rows(text: &str, columns: usize, rows_max: usize) -> Vec<(Vec<Cell>, Background)> {
    let mut rows = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.trim().lines() {
        if rows.len() >= rows_max {
            rows.truncate(rows_max);
            rows.push((text_cells("  …", CellStyle::DIM), Background::Page));
            break;
        }
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {
                let cells = text_cells(&format!("   {line}"), CellStyle::new(TextColor::Code));
                let wrapped = wrap(&cells, columns, Wrap::Anywhere, 3);
                rows.extend(wrapped.into_iter().map(|row| (row, Background::Code)));
            }
            (None, None) => push_prose(&mut rows, line, columns),
        }
    }
    rows
}

fn push_prose(rows: &mut Vec<(Vec<Cell>, Background)>, line: &str, columns: usize) {
    let bare = line.trim_start();
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=6).contains(&level) && bare[level..].starts_with(' ');
    let mut cells = text_cells("  ", CellStyle::PLAIN);
    let mut indent = 2;
    if is_heading {
        push_inline(&mut cells, bare[level..].trim(), CellStyle::PLAIN.bold());
    } else {
        let spaces = (line.len() - bare.len()).min(12);
        cells::push_text(&mut cells, &" ".repeat(spaces), CellStyle::PLAIN);
        let item = ["- ", "* ", "+ "].into_iter().find_map(|mark| bare.strip_prefix(mark));
        match item {
            Some(rest) => {
                cells::push_text(&mut cells, "• ", CellStyle::new(TextColor::Agent));
                push_inline(&mut cells, rest, CellStyle::PLAIN);
                indent += spaces + 2;
            }
            None => {
                push_inline(&mut cells, bare, CellStyle::PLAIN);
                indent += spaces;
            }
        }
    }
    let wrapped = wrap(&cells, columns, Wrap::Words, indent);
    rows.extend(wrapped.into_iter().map(|row| (row, Background::Page)));
}

/// Appends text with inline code and bold. A mark without a counterpart is literal text.
fn push_inline(out: &mut Vec<Cell>, text: &str, style: CellStyle) {
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, from) = rest.split_at(at);
        cells::push_text(out, before, style);
        let mark = if from.starts_with("**") { "**" } else { &from[..1] };
        let inside = from[mark.len()..]
            .split_once(mark)
            .filter(|(inside, _)| !inside.trim().is_empty() && mark != "*");
        match inside {
            Some((inside, after)) if mark == "`" => {
                cells::push_text(
                    out,
                    inside,
                    CellStyle {
                        color: TextColor::Code,
                        ..style
                    },
                );
                rest = after;
            }
            Some((inside, after)) => {
                push_inline(out, inside, style.bold());
                rest = after;
            }
            None => {
                cells::push_text(out, mark, style);
                rest = &from[mark.len()..];
            }
        }
    }
    cells::push_text(out, rest, style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_lists_code_and_bold_are_styled() {
        let text = "# Done\nUse `a*b` and **bold** * not.\n- one\n```rust\nlet a = 1;\n```";
        let shown: Vec<String> = markdown_rows(text, 40, 10)
            .iter()
            .map(|(cells, background)| {
                let text: String = cells.iter().map(|cell| cell.character).collect();
                let bold: String = cells
                    .iter()
                    .filter(|cell| cell.style.is_bold)
                    .map(|cell| cell.character)
                    .collect();
                format!("{text}|{bold}|{background:?}")
            })
            .collect();
        assert_eq!(
            shown,
            [
                "  Done|Done|Page",
                "  Use a*b and bold * not.|bold|Page",
                "  • one||Page",
                "   let a = 1;||Code"
            ]
        );
        assert_eq!(markdown_rows("a\nb\nc\nd", 40, 2).len(), 3);
    }
}
