//! Converts text to cells: characters of one or two columns, with invisible ones made visible.
//!
//! All text of a log becomes cells here. A control character never becomes a cell; a visible symbol replaces it.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::scene::{Background, Cell, CellStyle, ScreenRow, TextColor};
use render::ansi;
use render::escape::show_invisible;

/// A tab advances to the next multiple of this.
const TAB_COLUMNS: usize = 4;
/// Longer lines are cut, because a film never shows more of one line.
const LINE_CHARS_MAX: usize = 6_000;

/// How a long line is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Between words, if possible.
    Words,
    /// At the end of the row.
    Anywhere,
}

/// Appends a single-line text.
pub(crate) fn push_text(cells: &mut Vec<Cell>, text: &str, style: CellStyle) {
    let cut = text.char_indices().nth(LINE_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let mut columns: usize = cells.iter().map(|cell| usize::from(cell.columns)).sum();
    for cluster in show_invisible(&text[..cut]).graphemes(true) {
        let before = cells.len();
        match cluster {
            "\n" | "\r\n" => {}
            "\t" => {
                let width = TAB_COLUMNS - columns % TAB_COLUMNS;
                cells.extend((0..width).map(|_| cell(' ', 1, style)));
            }
            cluster => push_cluster(cells, cluster, style),
        }
        columns += cells[before..]
            .iter()
            .map(|cell| usize::from(cell.columns))
            .sum::<usize>();
    }
    if cut < text.len() {
        cells.push(cell('…', 1, CellStyle::DIM));
    }
}

/// Returns the cells of a single-line text.
pub(crate) fn text_cells(text: &str, style: CellStyle) -> Vec<Cell> {
    let mut cells = Vec::new();
    push_text(&mut cells, text, style);
    cells
}

fn cell(character: char, columns: u8, style: CellStyle) -> Cell {
    Cell {
        character,
        marks: ['\0'; 2],
        columns,
        style,
    }
}

/// Appends one grapheme cluster. A sequence of emoji is represented by its first one.
fn push_cluster(cells: &mut Vec<Cell>, cluster: &str, style: CellStyle) {
    let Some(first) = cluster.chars().next() else { return };
    if let Some(letter) = flag_letter(first) {
        // A flag is shown as the two letters of its country code, because no font here has flags.
        let letters = std::iter::once(letter).chain(cluster.chars().skip(1).filter_map(flag_letter));
        cells.extend(letters.take(2).map(|letter| {
            cell(
                letter,
                1,
                CellStyle {
                    is_underlined: true,
                    ..style
                },
            )
        }));
        return;
    }
    let mut marks = ['\0'; 2];
    let is_single = first.len_utf8() == cluster.len();
    // Composition joins a letter with its accents. The limit bounds clusters with thousands of marks.
    let mut chars = cluster.nfc().take(8);
    let (character, rest) = if is_single {
        (first, None)
    } else {
        (chars.next().unwrap_or(first), Some(chars))
    };
    let extra = rest
        .into_iter()
        .flatten()
        .filter(|c| is_combining_mark(*c) && !is_selector(*c));
    for (place, mark) in marks.iter_mut().zip(extra) {
        *place = mark;
    }
    let width = if character.width().unwrap_or(0) == 0 {
        0
    } else {
        cluster.width().clamp(1, 2)
    };
    match width {
        0 if is_combining_mark(character) && !is_selector(character) => cells.push(Cell {
            marks: [character, marks[0]],
            ..cell('◌', 1, style)
        }),
        0 => {
            let code_point = format!("⟨U+{:04X}⟩", u32::from(character));
            cells.extend(
                code_point
                    .chars()
                    .map(|character| cell(character, 1, CellStyle::new(TextColor::Warn))),
            );
        }
        width => cells.push(Cell {
            marks,
            ..cell(character, if width == 2 { 2 } else { 1 }, style)
        }),
    }
}

/// Whether a character is a variation selector.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn flag_letter(c: char) -> Option<char> {
    let at = u32::from(c).checked_sub(0x1f1e6).filter(|at| *at < 26)?;
    char::from_u32(u32::from('A') + at)
}

/// Wraps cells into rows of at most `columns`. Rows after the first are indented.
pub(crate) fn wrap(cells: &[Cell], columns: usize, how: Wrap, indent: usize) -> Vec<Vec<Cell>> {
    let columns = columns.max(4);
    let indent = indent.min(columns / 2);
    let mut rows = Vec::new();
    let mut rest = cells;
    loop {
        let lead = if rows.is_empty() { 0 } else { indent };
        let mut row: Vec<Cell> = (0..lead).map(|_| cell(' ', 1, CellStyle::PLAIN)).collect();
        let fits = fitting_cells(rest, columns - lead);
        let end = if fits == rest.len() || how == Wrap::Anywhere {
            fits
        } else {
            // Break after the last space that fits, unless that leaves most of the row empty.
            let blank = rest[..=fits].iter().rposition(|cell| cell.character == ' ');
            blank
                .map(|at| at + 1)
                .filter(|end| *end > fits / 3 && *end <= fits + 1)
                .unwrap_or(fits)
        };
        let end = end.clamp(usize::from(!rest.is_empty()), rest.len());
        row.extend_from_slice(&rest[..end]);
        while row
            .last()
            .is_some_and(|cell| cell.character == ' ' && cell.style.background.is_none())
        {
            row.pop();
        }
        rows.push(row);
        rest = &rest[end..];
        if rest.is_empty() {
            return rows;
        }
    }
}

/// Returns how many cells fit into `columns`.
fn fitting_cells(cells: &[Cell], columns: usize) -> usize {
    let mut taken = 0;
    let over = cells.iter().position(|cell| {
        taken += usize::from(cell.columns);
        taken > columns
    });
    over.unwrap_or(cells.len())
}

/// Cuts cells to `columns`, ending with an ellipsis if some are missing.
pub(crate) fn truncate(mut cells: Vec<Cell>, columns: usize) -> Vec<Cell> {
    let fits = fitting_cells(&cells, columns);
    if fits < cells.len() {
        cells.truncate(fitting_cells(&cells, columns.saturating_sub(1)));
        cells.push(cell('…', 1, CellStyle::DIM));
    }
    cells
}

/// Returns a row with one text at the left edge and one at the right edge.
pub(crate) fn justify(left: Vec<Cell>, right: Vec<Cell>, columns: usize, background: Background) -> ScreenRow {
    let wide = |cells: &[Cell]| cells.iter().map(|cell| usize::from(cell.columns)).sum::<usize>();
    let right = truncate(right, columns / 2);
    let mut cells = truncate(left, columns.saturating_sub(wide(&right) + 2));
    let gap = columns.saturating_sub(wide(&cells) + wide(&right));
    cells.extend((0..gap).map(|_| cell(' ', 1, CellStyle::PLAIN)));
    cells.extend(right);
    ScreenRow { cells, background }
}

/// Converts terminal output to lines of coloured cells.
pub(crate) fn terminal_cells(text: &str) -> Vec<Vec<Cell>> {
    let mut lines = vec![Vec::new()];
    ansi::for_each_styled(text, |run, style| {
        let color = match (style.color, style.is_faint) {
            // Black or grey text on a coloured background would be unreadable, because our backgrounds are darker or lighter than a terminal's.
            (Some(0 | 8) | None, _) if style.background.is_some() => TextColor::Plain,
            (Some(color), _) => TextColor::Ansi(color),
            (None, true) => TextColor::Faint,
            (None, false) => TextColor::Dim,
        };
        let style = CellStyle {
            color,
            background: style.background.map(Background::Ansi),
            is_bold: style.is_bold,
            is_underlined: style.is_underlined,
        };
        for (at, piece) in run.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                push_text(line, piece, style);
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let word = |cell: &Cell| {
            let marks: String = cell.marks.iter().filter(|mark| **mark != '\0').collect();
            format!("{}{marks}{}", cell.character, if cell.columns == 2 { "²" } else { "" })
        };
        text_cells(text, CellStyle::PLAIN).iter().map(word).collect()
    }

    #[test]
    fn wide_characters_take_two_columns_and_sequences_one_cell() {
        assert_eq!(shown("a漢é"), "a漢²é");
        assert_eq!(shown("e\u{301}"), "é");
        assert_eq!(shown("x\u{301}\u{302}\u{303}\u{304}"), "x\u{301}\u{302}");
        assert_eq!(shown("👨‍👩‍👧‍👦!"), "👨²!");
        assert_eq!(shown("🇩🇪"), "DE");
        assert_eq!(shown("✅⚠\u{fe0f}"), "✅²⚠²");
        assert_eq!(shown("한국"), "한²국²");
    }

    #[test]
    fn invisible_characters_are_made_visible() {
        assert_eq!(shown("a\u{1b}[31m\u{0}\u{7}"), "a␛[31m␀␇");
        assert_eq!(shown("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(shown("a\u{200b}b"), "a⟨U+200B⟩b");
        assert_eq!(shown("\u{301}"), "◌\u{301}");
        assert_eq!(shown(&format!("a{}", "\u{301}".repeat(10_000))), "á\u{301}\u{301}…");
        assert_eq!(shown("a\tb"), "a   b");
    }

    #[test]
    fn rows_wrap_between_words_and_never_inside_a_wide_character() {
        let rows = |text: &str, columns, how| -> Vec<String> {
            let rows = wrap(&text_cells(text, CellStyle::PLAIN), columns, how, 0);
            rows.iter()
                .map(|row| row.iter().map(|cell| cell.character).collect())
                .collect()
        };
        assert_eq!(rows("one two three", 8, Wrap::Words), ["one two", "three"]);
        assert_eq!(rows("one two three", 7, Wrap::Words), ["one two", "three"]);
        assert_eq!(rows("abcdefghij", 4, Wrap::Words), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("漢字漢字a", 5, Wrap::Anywhere), ["漢字", "漢字a"]);
        assert_eq!(rows("", 5, Wrap::Words), [""]);
    }

    #[test]
    fn terminal_colours_are_kept() {
        let lines = terminal_cells("\u{1b}[31mno\nyes\u{1b}[0m ok");
        let inks: Vec<TextColor> = lines.iter().flatten().map(|cell| cell.style.color).collect();
        assert_eq!(inks, [vec![TextColor::Ansi(1); 5], vec![TextColor::Dim; 3]].concat());
        assert_eq!(lines.len(), 2);
    }
}
