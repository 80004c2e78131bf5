//! Breaks styled text into lines at words. It does not depend on the terminal.
//!
//! Texts must be escaped by the caller.

use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation;

use super::measure;

/// Number of columns of a tab.
const TAB: &str = "    ";

/// A piece of text in one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StyledText {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// One line on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StyledLine {
    pub(crate) parts: Vec<StyledText>,
}

impl StyledLine {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        let mut line = Self::default();
        line.push(text.into(), style);
        line
    }

    /// Appends text, to the last part if that has the same style.
    pub(crate) fn push(&mut self, text: String, style: Style) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text += &text,
            _ => self.parts.push(StyledText { text, style }),
        }
    }

    /// Returns the line with `lead` in front of it.
    pub(crate) fn after(mut self, lead: &str, style: Style) -> Self {
        let mut line = Self::new(lead, style);
        for part in self.parts.drain(..) {
            line.push(part.text, part.style);
        }
        line
    }

    /// Returns the text without its styles.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }

    /// Returns the width of the line in columns.
    pub(crate) fn width(&self) -> usize {
        self.parts.iter().map(|part| measure::width(&part.text)).sum()
    }

    /// Returns the line with ANSI sequences.
    pub(crate) fn to_ansi(&self) -> String {
        let painted = |part: &StyledText| format!("{}{}{:#}", part.style, part.text, part.style);
        self.parts.iter().map(painted).collect()
    }
}

/// Breaks a paragraph into lines of at most `columns` columns, at white space. A word that is longer than a line is
/// broken between characters, and so is text in scripts without spaces.
pub(crate) fn wrap(parts: &[StyledText], columns: usize) -> Vec<StyledLine> {
    let columns = columns.max(1);
    let mut wrapping = Wrapping {
        columns,
        ..Wrapping::default()
    };
    for part in parts {
        for grapheme in part.text.graphemes(true) {
            let width = measure::width(grapheme);
            if grapheme.chars().all(char::is_whitespace) {
                wrapping.end_word();
                wrapping.space = Some(part.style);
            } else {
                if width > 1 {
                    wrapping.end_word();
                }
                wrapping.word.push(grapheme.to_owned(), part.style);
                wrapping.word_width += width;
                if width > 1 {
                    wrapping.end_word();
                }
            }
        }
    }
    wrapping.end_word();
    wrapping.lines.push(wrapping.line);
    wrapping.lines
}

/// The state of wrapping: the finished lines, the current line, and the current word.
#[derive(Default)]
struct Wrapping {
    columns: usize,
    lines: Vec<StyledLine>,
    line: StyledLine,
    line_width: usize,
    word: StyledLine,
    word_width: usize,
    /// The style of the white space before the word.
    space: Option<Style>,
}

impl Wrapping {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let width = std::mem::take(&mut self.word_width);
        if width == 0 && word.parts.is_empty() {
            return;
        }
        let space = self.space.take().filter(|_| self.line_width > 0);
        if self.line_width > 0 && self.line_width + usize::from(space.is_some()) + width > self.columns {
            self.end_line();
        } else if let Some(style) = space {
            self.line.push(" ".to_owned(), style);
            self.line_width += 1;
        }
        if width <= self.columns {
            self.line_width += width;
            word.parts
                .into_iter()
                .for_each(|part| self.line.push(part.text, part.style));
            return;
        }
        for part in word.parts {
            for grapheme in part.text.graphemes(true) {
                let width = measure::width(grapheme);
                if self.line_width > 0 && self.line_width + width > self.columns {
                    self.end_line();
                }
                self.line.push(grapheme.to_owned(), part.style);
                self.line_width += width;
            }
        }
    }

    fn end_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
        self.line_width = 0;
    }
}

/// Breaks plain text at words, each of its lines by itself. Leading white space is kept on every line made of a line.
pub(crate) fn wrap_text(text: &str, columns: usize, style: Style) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.replace('\t', TAB);
        let indent = line.len() - line.trim_start().len();
        let lead = &line[..indent];
        let lead = if measure::width(lead) * 2 > columns { "" } else { lead };
        let part = StyledText {
            text: line[indent..].to_owned(),
            style,
        };
        let wrapped = wrap(&[part], columns.saturating_sub(measure::width(lead)));
        lines.extend(wrapped.into_iter().map(|line| line.after(lead, style)));
    }
    lines
}

/// Breaks a line in which every column counts, such as code or the output of a program: after white space in the second
/// half of a line if there is some, otherwise between characters.
pub(crate) fn wrap_code(line: &str, columns: usize, style: Style) -> Vec<StyledLine> {
    let line = line.replace('\t', TAB);
    let columns = columns.max(1);
    if line.len() <= columns || measure::width(&line) <= columns {
        return vec![StyledLine::new(line, style)];
    }
    let (mut lines, mut text, mut taken) = (Vec::new(), String::new(), 0);
    for grapheme in line.graphemes(true) {
        let width = measure::width(grapheme);
        if taken > 0 && taken + width > columns {
            let space = text.rfind(' ').filter(|at| measure::width(&text[..*at]) * 2 >= columns);
            let rest = match space {
                Some(at) if grapheme != " " => text.split_off(at + 1),
                _ => String::new(),
            };
            lines.push(StyledLine::new(text.trim_end_matches(' ').to_owned(), style));
            (taken, text) = (measure::width(&rest), rest);
        }
        text += grapheme;
        taken += width;
    }
    lines.push(StyledLine::new(text, style));
    lines
}

/// Breaks a line that has our colours in it at words. Its first `indent` columns stay as they are, and further lines are
/// indented by `indent` columns.
pub(crate) fn wrap_painted(line: &str, columns: usize, indent: usize) -> Vec<String> {
    if line.len() <= columns {
        return vec![line.to_owned()];
    }
    let parts = parse_ansi(line);
    if parts.width() <= columns {
        return vec![line.to_owned()];
    }
    let indent = match indent * 2 > columns {
        true => line.len() - line.trim_start_matches(' ').len(),
        false => indent,
    };
    let (lead, rest) = split_at_column(&parts, indent);
    let wrapped = wrap(&rest.parts, columns.saturating_sub(indent));
    let mut lines = Vec::new();
    for (at, line) in wrapped.into_iter().enumerate() {
        let lead = if at == 0 { lead.to_ansi() } else { " ".repeat(indent) };
        lines.push(lead + &line.to_ansi());
    }
    lines
}

/// Breaks a line that has our colours in it and whose spaces count, such as a row of a table: at white space if
/// possible, otherwise between characters. Further lines are indented to the second column of the first line. A line of
/// one word without indent, such as a path to be copied, stays whole.
pub(crate) fn wrap_row(line: &str, columns: usize) -> Vec<String> {
    if line.len() <= columns {
        return vec![line.to_owned()];
    }
    let parts = parse_ansi(line);
    let text = parts.text();
    if parts.width() <= columns || !text.trim_end().contains(char::is_whitespace) {
        return vec![line.to_owned()];
    }
    let indent = hanging_indent(&text, columns);
    let graphemes: Vec<(&str, Style)> = parts
        .parts
        .iter()
        .flat_map(|part| part.text.graphemes(true).map(|grapheme| (grapheme, part.style)))
        .collect();
    let is_space = |at: usize| graphemes[at].0.chars().all(char::is_whitespace);
    let mut lines = Vec::new();
    let mut start = 0;
    while start < graphemes.len() {
        let lead = if start == 0 { 0 } else { indent };
        let end = row_end(&graphemes, start, columns.saturating_sub(lead).max(1), indent);
        let mut row = StyledLine::default();
        row.push(" ".repeat(lead), Style::new());
        let kept = (start..end).rev().find(|at| !is_space(*at)).map_or(start, |at| at + 1);
        for (grapheme, style) in &graphemes[start..kept] {
            row.push((*grapheme).to_owned(), *style);
        }
        lines.push(row.to_ansi());
        start = (end..graphemes.len())
            .find(|at| !is_space(*at))
            .unwrap_or(graphemes.len());
    }
    lines
}

/// Returns where a row that begins at `start` and takes `room` columns ends: after the last white space that fits, or within a word that is
/// longer than the row. White space in the first `indent` columns separates a label from its text and is no place to break.
fn row_end(graphemes: &[(&str, Style)], start: usize, room: usize, indent: usize) -> usize {
    let (mut taken, mut at, mut space) = (0, start, None);
    while at < graphemes.len() {
        let grapheme = graphemes[at].0;
        let width = measure::width(grapheme);
        let is_space = grapheme.chars().all(char::is_whitespace);
        if taken + width > room {
            if is_space {
                return at;
            }
            return space.unwrap_or(at).max(start + 1);
        }
        if is_space && (start > 0 || taken >= indent) {
            space = Some(at);
        }
        taken += width;
        at += 1;
    }
    at
}

/// Returns the column at which the second column of a row begins, or two columns after its indent if there is none in the first half of the
/// screen.
fn hanging_indent(text: &str, columns: usize) -> usize {
    let lead = text.chars().take_while(|c| *c == ' ').count();
    let mut column = lead;
    let mut spaces = 0;
    for grapheme in text.graphemes(true).skip(lead) {
        if grapheme == " " {
            spaces += 1;
        } else if spaces > 1 {
            break;
        } else {
            spaces = 0;
        }
        column += measure::width(grapheme);
    }
    match spaces > 1 && column * 2 <= columns {
        true => column,
        false if (lead + 2) * 2 <= columns => lead + 2,
        false => 0,
    }
}

/// Splits a line after `columns` columns, and drops the white space there.
fn split_at_column(line: &StyledLine, columns: usize) -> (StyledLine, StyledLine) {
    let (mut before, mut after) = (StyledLine::default(), StyledLine::default());
    let mut taken = 0;
    for part in &line.parts {
        for grapheme in part.text.graphemes(true) {
            let side = if taken < columns { &mut before } else { &mut after };
            side.push(grapheme.to_owned(), part.style);
            taken += measure::width(grapheme);
        }
    }
    (before, after)
}

/// Reads a line with the colours that this program writes; other sequences are dropped.
pub(crate) fn parse_ansi(line: &str) -> StyledLine {
    let mut parsed = StyledLine::default();
    let mut style = Style::new();
    let mut pieces = line.split("\u{1b}[");
    parsed.push(pieces.next().unwrap_or_default().to_owned(), style);
    for piece in pieces {
        let Some(end) = piece.find(|c: char| c.is_ascii_alphabetic()) else {
            continue;
        };
        if piece[end..].starts_with('m') {
            piece[..end].split(';').for_each(|code| apply_sgr(&mut style, code));
        }
        parsed.push(piece[end + 1..].to_owned(), style);
    }
    parsed
}

fn apply_sgr(style: &mut Style, code: &str) {
    use anstyle::AnsiColor::{Blue, Cyan, Green, Magenta, Red, Yellow};
    let color = |color: anstyle::AnsiColor| Some(anstyle::Color::Ansi(color));
    *style = match code {
        "1" => style.bold(),
        "2" => style.dimmed(),
        "3" => style.italic(),
        "4" => style.underline(),
        "31" => style.fg_color(color(Red)),
        "32" => style.fg_color(color(Green)),
        "33" => style.fg_color(color(Yellow)),
        "34" => style.fg_color(color(Blue)),
        "35" => style.fg_color(color(Magenta)),
        "36" => style.fg_color(color(Cyan)),
        "" | "0" => Style::new(),
        _ => *style,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        let part = StyledText {
            text: text.to_owned(),
            style: Style::new(),
        };
        wrap(&[part], columns).iter().map(StyledLine::text).collect()
    }

    #[test]
    fn lines_break_at_words_and_are_never_too_wide() {
        assert_eq!(wrapped("one two  three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one two", 7), ["one two"]);
        assert_eq!(wrapped("", 8), [""]);
        assert_eq!(wrapped("a verylongword b", 5), ["a", "veryl", "ongwo", "rd b"]);
        assert_eq!(wrapped("日本語の文章です", 5), ["日本", "語の", "文章", "です"]);
        assert_eq!(wrapped("e\u{301}e\u{301} x", 2), ["e\u{301}e\u{301}", "x"]);
        assert_eq!(wrapped("anything", 0).concat(), "anything");
    }

    #[test]
    fn a_word_of_two_styles_stays_one_word() {
        let part = |text: &str, style| StyledText {
            text: text.to_owned(),
            style,
        };
        let bold = Style::new().bold();
        let lines = wrap(
            &[part("ab ", Style::new()), part("cd", bold), part("ef gh", Style::new())],
            6,
        );
        let texts: Vec<String> = lines.iter().map(StyledLine::text).collect();
        assert_eq!(texts, ["ab", "cdef", "gh"]);
        assert_eq!(lines[1].parts[0], part("cd", bold));
        assert_eq!(lines[1].to_ansi(), format!("{bold}cd{bold:#}ef"));
    }

    #[test]
    fn code_keeps_every_column_and_plain_text_keeps_its_indent() {
        let texts = |lines: Vec<StyledLine>| lines.iter().map(StyledLine::text).collect::<Vec<_>>();
        assert_eq!(texts(wrap_code("  ab  cd", 4, Style::new())), ["  ab", "  cd"]);
        assert_eq!(texts(wrap_code("\tx", 8, Style::new())), ["    x"]);
        assert_eq!(
            texts(wrap_code("+ build(adv, commands, verbose)", 20, Style::new())),
            ["+ build(adv,", "commands, verbose)"]
        );
        assert_eq!(texts(wrap_code("a bcdefghij", 6, Style::new())), ["a bcde", "fghij"]);
        assert_eq!(texts(wrap_code("a bcde fghij", 6, Style::new())), ["a bcde", " fghij"]);
        assert_eq!(
            texts(wrap_text("  - one two\n\nthree", 8, Style::new())),
            ["  - one", "  two", "", "three"]
        );
    }

    #[test]
    fn a_painted_line_wraps_under_its_label() {
        let bold = Style::new().bold();
        let line = format!("  label  {bold}one two{bold:#} three");
        let lines = wrap_painted(&line, 20, 9);
        assert_eq!(
            lines,
            [format!("  label  {bold}one two{bold:#}"), "         three".to_owned()]
        );
        assert_eq!(wrap_painted("short", 9, 2), ["short"]);
    }

    #[test]
    fn a_row_wraps_under_its_second_column_and_keeps_its_spaces() {
        assert_eq!(
            wrap_row("name  some words  that   wrap here", 20),
            ["name  some words", "      that   wrap", "      here"]
        );
        assert_eq!(
            wrap_row("  one two three four five", 12),
            ["  one two", "    three", "    four", "    five"]
        );
        assert_eq!(
            wrap_row("/a/path/that/is/often/copied", 12),
            ["/a/path/that/is/often/copied"]
        );
        assert_eq!(
            wrap_row("see /a/path/that/is/long", 12),
            ["see", "  /a/path/th", "  at/is/long"]
        );
        let bold = Style::new().bold();
        assert_eq!(
            wrap_row(&format!("id  {bold}one two{bold:#} three"), 11),
            [format!("id  {bold}one two{bold:#}"), "    three".to_owned()]
        );
        for columns in 1..50 {
            for line in wrap_row("label  text 日本語の文章です and averyveryverylongword", columns) {
                assert!(
                    measure::width(&parse_ansi(&line).text()) <= columns.max(2),
                    "{columns}: {line}"
                );
            }
        }
    }

    #[test]
    fn what_this_program_paints_is_read_back() {
        let style = Style::new().bold().fg_color(Some(anstyle::AnsiColor::Cyan.into()));
        let line = StyledLine {
            parts: vec![
                StyledText {
                    text: "a".to_owned(),
                    style,
                },
                StyledText {
                    text: "b".to_owned(),
                    style: Style::new(),
                },
            ],
        };
        assert_eq!(parse_ansi(&line.to_ansi()), line);
        assert_eq!(parse_ansi("\u{1b}[2Jx\u{1b}[").text(), "x");
    }
}
