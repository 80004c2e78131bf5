//! Text as cells: what takes one column, what takes two, what cannot be seen and is made visible.
//!
//! Everything that a log says becomes cells here and nowhere else. A control character never does: a sign stands for it.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::scene::{Cell, Ground, Ink, Row, Style};
use render::ansi;
use render::escape::reveal;

/// A tab goes to the next multiple of this.
const TAB_COLUMNS: usize = 4;
/// Nobody sees more of one line than this.
const LINE_CHARS_MAX: usize = 6_000;

/// How a long line goes on in the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Between words, where there are some.
    Words,
    /// Wherever the row ends.
    Anywhere,
}

/// Appends a text that stands on one line.
pub(crate) fn push(cells: &mut Vec<Cell>, text: &str, style: Style) {
    let cut = text.char_indices().nth(LINE_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let mut columns: usize = cells.iter().map(|cell| usize::from(cell.columns)).sum();
    for cluster in reveal(&text[..cut]).graphemes(true) {
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
        cells.push(cell('…', 1, Style::DIM));
    }
}

/// The cells of a text on one line.
pub(crate) fn of(text: &str, style: Style) -> Vec<Cell> {
    let mut cells = Vec::new();
    push(&mut cells, text, style);
    cells
}

fn cell(sign: char, columns: u8, style: Style) -> Cell {
    Cell {
        sign,
        marks: ['\0'; 2],
        columns,
        style,
    }
}

/// One character as people see it. Of a sequence of emoji its first one stands for all.
fn push_cluster(cells: &mut Vec<Cell>, cluster: &str, style: Style) {
    let Some(first) = cluster.chars().next() else { return };
    if let Some(letter) = flag_letter(first) {
        // A flag is told by the two letters of its country.
        let letters = std::iter::once(letter).chain(cluster.chars().skip(1).filter_map(flag_letter));
        cells.extend(letters.take(2).map(|letter| {
            cell(
                letter,
                1,
                Style {
                    is_underlined: true,
                    ..style
                },
            )
        }));
        return;
    }
    let mut marks = ['\0'; 2];
    let is_single = first.len_utf8() == cluster.len();
    let mut chars = cluster.nfc().take(8);
    let (sign, rest) = if is_single {
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
    let width = if sign.width().unwrap_or(0) == 0 {
        0
    } else {
        cluster.width().clamp(1, 2)
    };
    match width {
        0 if is_combining_mark(sign) && !is_selector(sign) => cells.push(Cell {
            marks: [sign, marks[0]],
            ..cell('◌', 1, style)
        }),
        0 => {
            let told = format!("⟨U+{:04X}⟩", u32::from(sign));
            cells.extend(told.chars().map(|sign| cell(sign, 1, Style::of(Ink::Warn))));
        }
        width => cells.push(Cell {
            marks,
            ..cell(sign, if width == 2 { 2 } else { 1 }, style)
        }),
    }
}

/// Whether a character only says how the one before it is drawn.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn flag_letter(c: char) -> Option<char> {
    let at = u32::from(c).checked_sub(0x1f1e6).filter(|at| *at < 26)?;
    char::from_u32(u32::from('A') + at)
}

/// Cells as rows of at most so many columns. Rows after the first begin with so many blanks.
pub(crate) fn wrap(cells: &[Cell], columns: usize, how: Wrap, indent: usize) -> Vec<Vec<Cell>> {
    let columns = columns.max(4);
    let indent = indent.min(columns / 2);
    let mut rows = Vec::new();
    let mut rest = cells;
    loop {
        let lead = if rows.is_empty() { 0 } else { indent };
        let mut row: Vec<Cell> = (0..lead).map(|_| cell(' ', 1, Style::PLAIN)).collect();
        let fits = fitting(rest, columns - lead);
        let end = if fits == rest.len() || how == Wrap::Anywhere {
            fits
        } else {
            // Behind the last blank that fits, unless that leaves most of the row empty.
            let blank = rest[..=fits].iter().rposition(|cell| cell.sign == ' ');
            blank
                .map(|at| at + 1)
                .filter(|end| *end > fits / 3 && *end <= fits + 1)
                .unwrap_or(fits)
        };
        let end = end.clamp(usize::from(!rest.is_empty()), rest.len());
        row.extend_from_slice(&rest[..end]);
        while row
            .last()
            .is_some_and(|cell| cell.sign == ' ' && cell.style.ground.is_none())
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

/// How many cells fit into so many columns.
fn fitting(cells: &[Cell], columns: usize) -> usize {
    let mut taken = 0;
    let over = cells.iter().position(|cell| {
        taken += usize::from(cell.columns);
        taken > columns
    });
    over.unwrap_or(cells.len())
}

/// Cells cut to so many columns, with a sign that there are more.
pub(crate) fn cut(mut cells: Vec<Cell>, columns: usize) -> Vec<Cell> {
    let fits = fitting(&cells, columns);
    if fits < cells.len() {
        cells.truncate(fitting(&cells, columns.saturating_sub(1)));
        cells.push(cell('…', 1, Style::DIM));
    }
    cells
}

/// A row of cells at the left and others at the right, as wide as the screen.
pub(crate) fn between(left: Vec<Cell>, right: Vec<Cell>, columns: usize, ground: Ground) -> Row {
    let wide = |cells: &[Cell]| cells.iter().map(|cell| usize::from(cell.columns)).sum::<usize>();
    let right = cut(right, columns / 2);
    let mut cells = cut(left, columns.saturating_sub(wide(&right) + 2));
    let gap = columns.saturating_sub(wide(&cells) + wide(&right));
    cells.extend((0..gap).map(|_| cell(' ', 1, Style::PLAIN)));
    cells.extend(right);
    Row { cells, ground }
}

/// What a terminal was told, line by line, in its colours.
pub(crate) fn of_terminal(text: &str) -> Vec<Vec<Cell>> {
    let mut lines = vec![Vec::new()];
    ansi::each_styled(text, |run, pen| {
        let ink = match (pen.color, pen.is_faint) {
            // Black on a coloured ground: ours are darker than a terminal's, or lighter.
            (Some(0 | 8) | None, _) if pen.ground.is_some() => Ink::Plain,
            (Some(color), _) => Ink::Ansi(color),
            (None, true) => Ink::Faint,
            (None, false) => Ink::Dim,
        };
        let style = Style {
            ink,
            ground: pen.ground.map(Ground::Ansi),
            is_bold: pen.is_bold,
            is_underlined: pen.is_underlined,
        };
        for (at, piece) in run.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                push(line, piece, style);
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let word = |cell: &Cell| {
            let marks: String = cell.marks.iter().filter(|mark| **mark != '\0').collect();
            format!("{}{marks}{}", cell.sign, if cell.columns == 2 { "²" } else { "" })
        };
        of(text, Style::PLAIN).iter().map(word).collect()
    }

    #[test]
    fn wide_characters_take_two_columns_and_sequences_one_place() {
        assert_eq!(told("a漢é"), "a漢²é");
        assert_eq!(told("e\u{301}"), "é");
        assert_eq!(told("x\u{301}\u{302}\u{303}\u{304}"), "x\u{301}\u{302}");
        assert_eq!(told("👨‍👩‍👧‍👦!"), "👨²!");
        assert_eq!(told("🇩🇪"), "DE");
        assert_eq!(told("✅⚠\u{fe0f}"), "✅²⚠²");
        assert_eq!(told("한국"), "한²국²");
    }

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        assert_eq!(told("a\u{1b}[31m\u{0}\u{7}"), "a␛[31m␀␇");
        assert_eq!(told("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(told("a\u{200b}b"), "a⟨U+200B⟩b");
        assert_eq!(told("\u{301}"), "◌\u{301}");
        assert_eq!(told(&format!("a{}", "\u{301}".repeat(10_000))), "á\u{301}\u{301}…");
        assert_eq!(told("a\tb"), "a   b");
    }

    #[test]
    fn rows_end_between_words_and_never_inside_of_a_wide_character() {
        let rows = |text: &str, columns, how| -> Vec<String> {
            let rows = wrap(&of(text, Style::PLAIN), columns, how, 0);
            rows.iter()
                .map(|row| row.iter().map(|cell| cell.sign).collect())
                .collect()
        };
        assert_eq!(rows("one two three", 8, Wrap::Words), ["one two", "three"]);
        assert_eq!(rows("one two three", 7, Wrap::Words), ["one two", "three"]);
        assert_eq!(rows("abcdefghij", 4, Wrap::Words), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("漢字漢字a", 5, Wrap::Anywhere), ["漢字", "漢字a"]);
        assert_eq!(rows("", 5, Wrap::Words), [""]);
    }

    #[test]
    fn colours_of_a_terminal_stay() {
        let lines = of_terminal("\u{1b}[31mno\nyes\u{1b}[0m ok");
        let inks: Vec<Ink> = lines.iter().flatten().map(|cell| cell.style.ink).collect();
        assert_eq!(inks, [vec![Ink::Ansi(1); 5], vec![Ink::Dim; 3]].concat());
        assert_eq!(lines.len(), 2);
    }
}
