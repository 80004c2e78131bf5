//! Formats Markdown as lines for a terminal: wrapped at words, with styles instead of markup. Pure: takes text and
//! columns, returns lines.
//!
//! Every text is escaped on its way to a line, because a log may contain sequences that move the cursor.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::prose::{StyledLine, StyledText, wrap, wrap_code, wrap_text};
use super::{BAD, FAINT, GOOD, HEADING, STRONG, escape, escape_lines, measure};

/// Longer texts are wrapped without parsing, because they are rarely Markdown and parsing them is slow.
const MARKDOWN_BYTES_MAX: usize = 256 << 10;
const CODE: Style = AnsiColor::Yellow.on_default();
const LINK: Style = AnsiColor::Blue.on_default().underline();
/// Minimum width of a column of a table.
const CELL_COLUMNS_MIN: usize = 8;
/// Between two columns of a table.
const CELL_GAP: &str = " │ ";
/// Indentation of code.
const CODE_INDENT: &str = "  ";

/// Whether lines are shown in colour. Without it, code keeps its backticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Color,
    Plain,
}

/// Returns the lines of a Markdown text. A single line break is preserved, because users and agents type them on
/// purpose. Prose takes at most `prose` columns, code and tables up to `columns`.
pub(crate) fn markdown_lines(text: &str, prose: usize, columns: usize, ink: Ink) -> Vec<StyledLine> {
    let text = text.replace("\r\n", "\n");
    if text.len() > MARKDOWN_BYTES_MAX {
        return wrap_text(&escape_lines(&text), columns, Style::new());
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = MarkdownWriter {
        prose: prose.min(columns),
        columns,
        ink,
        ..MarkdownWriter::new()
    };
    for event in Parser::new_ext(&text, options) {
        writer.take(event);
    }
    writer.end_paragraph();
    writer.lines
}

/// The prefix of the lines of a list item or a quote.
struct LinePrefix {
    first: String,
    rest: String,
    is_used: bool,
}

#[derive(Default)]
struct OpenTable {
    rows: Vec<Vec<Vec<StyledText>>>,
    heads: usize,
}

struct MarkdownWriter {
    prose: usize,
    columns: usize,
    ink: Ink,
    lines: Vec<StyledLine>,
    /// The current paragraph.
    parts: Vec<StyledText>,
    styles: Vec<Style>,
    leads: Vec<LinePrefix>,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The language of the open code block, and its text.
    code: Option<(String, String)>,
    table: Option<OpenTable>,
    /// An empty line goes before the next block.
    needs_gap: bool,
    /// Inside `<small>`, up to the end of the paragraph at most.
    is_small: bool,
}

impl MarkdownWriter {
    fn new() -> Self {
        Self {
            prose: 0,
            columns: 0,
            ink: Ink::Plain,
            lines: Vec::new(),
            parts: Vec::new(),
            styles: Vec::new(),
            leads: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            needs_gap: false,
            is_small: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => *code += &text,
                None => self.say(&text, self.style()),
            },
            Event::Code(text) => {
                let text = match self.ink {
                    Ink::Color => text.into_string(),
                    Ink::Plain => format!("`{text}`"),
                };
                self.say(&text, patch(self.style(), CODE));
            }
            Event::InlineHtml(text) if &*text == "<small>" => self.is_small = true,
            Event::InlineHtml(text) if &*text == "</small>" => self.is_small = false,
            Event::Html(text) | Event::InlineHtml(text) => {
                for (at, line) in text.split('\n').enumerate() {
                    if at > 0 {
                        self.end_line();
                    }
                    self.say(line, self.style());
                }
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.say(&text, self.style()),
            Event::FootnoteReference(text) => self.say(&format!("[^{text}]"), self.style()),
            Event::SoftBreak | Event::HardBreak if self.table.is_some() => self.say(" ", self.style()),
            Event::SoftBreak | Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.end_paragraph();
                self.gap();
                let width = self.prose.min(40);
                self.put(StyledLine::new("─".repeat(width), FAINT));
                self.needs_gap = true;
            }
            Event::TaskListMarker(is_done) => self.say(if is_done { "[x] " } else { "[ ] " }, self.style()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.end_paragraph(),
            Tag::Heading { level, .. } => {
                self.end_paragraph();
                let style = match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => HEADING,
                    _ => STRONG,
                };
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.end_paragraph();
                self.lead("│ ", "│ ");
            }
            Tag::CodeBlock(kind) => {
                self.end_paragraph();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.end_paragraph();
                // No empty line before a list inside an item.
                self.needs_gap &= self.lists.is_empty();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_paragraph();
                self.start_item();
            }
            Tag::Table(_) => {
                self.end_paragraph();
                self.table = Some(OpenTable::default());
            }
            Tag::TableRow => self.add_row(),
            Tag::TableHead => {
                self.add_row();
                self.styles.push(STRONG);
            }
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(self.style().strikethrough()),
            Tag::Link { .. } => self.styles.push(patch(self.style(), LINK)),
            Tag::Image { .. } => {
                self.styles.push(patch(self.style(), LINK));
                self.say("🖼 ", self.style());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_paragraph();
                self.needs_gap = true;
            }
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.styles.pop();
                self.needs_gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.leads.pop();
                self.needs_gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_paragraph();
                self.lists.pop();
                self.needs_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_paragraph();
                self.leads.pop();
                self.needs_gap = false;
            }
            TagEnd::TableHead => {
                self.end_cell();
                self.styles.pop();
                if let Some(table) = &mut self.table {
                    table.heads = table.rows.len();
                }
            }
            TagEnd::TableCell | TagEnd::TableRow => self.end_cell(),
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        let style = self.styles.last().copied().unwrap_or_default();
        if self.is_small { patch(style, FAINT) } else { style }
    }

    fn say(&mut self, text: &str, style: Style) {
        let text = escape(text).into_owned();
        self.parts.push(StyledText { text, style });
    }

    fn lead(&mut self, first: &str, rest: &str) {
        self.gap();
        self.leads.push(LinePrefix {
            first: first.to_owned(),
            rest: rest.to_owned(),
            is_used: false,
        });
    }

    fn start_item(&mut self) {
        let first = match self.lists.last_mut() {
            Some(Some(number)) => {
                let first = format!("{number}. ");
                *number += 1;
                first
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(measure::width(&first));
        self.lead(&first, &rest);
    }

    /// Returns the columns that the open quotes and items take.
    fn lead_width(&self) -> usize {
        self.leads.iter().map(|lead| measure::width(&lead.rest)).sum()
    }

    /// Appends a line, after the prefixes of the open quotes and items.
    fn put(&mut self, line: StyledLine) {
        let mut lead = String::new();
        for one in &mut self.leads {
            lead += if one.is_used { &one.rest } else { &one.first };
            one.is_used = true;
        }
        self.lines.push(line.after(&lead, FAINT));
    }

    /// Inserts the empty line between two blocks.
    fn gap(&mut self) {
        if std::mem::take(&mut self.needs_gap) && !self.lines.is_empty() {
            // The bar of a quote continues on the empty line; an item has no prefix there.
            let leads: String = self.leads.iter().map(|lead| lead.rest.as_str()).collect();
            self.lines.push(StyledLine::new(leads.trim_end(), FAINT));
        }
    }

    /// Ends a line inside a paragraph.
    fn end_line(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        if parts.iter().all(|part| part.text.trim().is_empty()) {
            return;
        }
        self.gap();
        let room = self.prose.saturating_sub(self.lead_width()).max(1);
        for line in wrap(&parts, room) {
            self.put(line);
        }
    }

    fn end_paragraph(&mut self) {
        self.end_line();
        self.is_small = false;
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        self.gap();
        let room = self
            .columns
            .saturating_sub(self.lead_width() + CODE_INDENT.len())
            .max(1);
        for line in code.lines() {
            for line in wrap_code(&escape_lines(line), room, code_style(&language, line)) {
                self.put(line.after(CODE_INDENT, Style::new()));
            }
        }
        self.needs_gap = true;
    }

    fn add_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn end_cell(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut())
            && !parts.is_empty()
        {
            row.push(parts);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        self.gap();
        let room = self.columns.saturating_sub(self.lead_width());
        for line in table_lines(&table, room) {
            self.put(line);
        }
        self.needs_gap = true;
    }
}

/// Adds the colour and the effects of a style to another one.
fn patch(style: Style, by: Style) -> Style {
    let style = style.effects(style.get_effects() | by.get_effects());
    match by.get_fg_color() {
        Some(color) => style.fg_color(Some(color)),
        None => style,
    }
}

fn code_style(language: &str, line: &str) -> Style {
    match (language, line.as_bytes().first()) {
        ("diff" | "patch", Some(b'+')) => GOOD,
        ("diff" | "patch", Some(b'-')) => BAD,
        ("diff" | "patch", Some(b'@')) => FAINT,
        _ => CODE,
    }
}

/// Returns the lines of a table; cells wrap if the table is too wide.
fn table_lines(table: &OpenTable, room: usize) -> Vec<StyledLine> {
    let count = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |cell: &[StyledText]| cell.iter().map(|part| measure::width(&part.text)).sum::<usize>();
    let mut widths: Vec<usize> = (0..count)
        .map(|at| {
            table
                .rows
                .iter()
                .filter_map(|row| row.get(at))
                .map(|cell| width(cell))
                .max()
        })
        .map(|widest| widest.unwrap_or(0).max(1))
        .collect();
    let gaps = measure::width(CELL_GAP) * count.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        // The widest column shrinks.
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > CELL_COLUMNS_MIN) else {
            break;
        };
        *widest -= 1;
    }
    let mut lines = Vec::new();
    for (at, row) in table.rows.iter().enumerate() {
        let cells: Vec<Vec<StyledLine>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| row.get(at).map(|cell| wrap(cell, *width)).unwrap_or_default())
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for y in 0..height {
            let mut line = StyledLine::default();
            for (at, cell) in cells.iter().enumerate() {
                if at > 0 {
                    line.push(CELL_GAP.to_owned(), FAINT);
                }
                let part = cell.get(y).cloned().unwrap_or_default();
                let fill = widths[at].saturating_sub(part.width());
                part.parts.into_iter().for_each(|part| line.push(part.text, part.style));
                if at + 1 < cells.len() {
                    line.push(" ".repeat(fill), Style::new());
                }
            }
            lines.push(line);
        }
        if at + 1 == table.heads {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.push(StyledLine::new(bars.join("─┼─"), FAINT));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, columns: usize) -> String {
        let lines = markdown_lines(text, columns, columns, Ink::Color);
        lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks_are_separated_and_prose_wraps() {
        let text = "# Title\nSome *words* that are `long` enough to wrap.\nA line of its own.\n\n\
                    - one item that wraps\n  - inner\n- two\n\n3. third\n4. fourth\n\n> quoted words that wrap\n\n\
                    ```rust\nfn main() {\n    run();\n}\n```\nEnd.";
        insta::assert_snapshot!(shown(text, 20), @"
        Title

        Some words that are
        long enough to wrap.
        A line of its own.

        • one item that
          wraps
          • inner
        • two

        3. third
        4. fourth

        │ quoted words that
        │ wrap

          fn main() {
              run();
          }

        End.
        ");
    }

    #[test]
    fn a_table_is_aligned_and_its_cells_wrap() {
        let text =
            "| name | what it does |\n|---|---|\n| `a` | short |\n| b | something that is longer than the room |\n";
        insta::assert_snapshot!(shown(text, 60), @"
        name │ what it does
        ─────┼───────────────────────────────────────
        a    │ short
        b    │ something that is longer than the room
        ");
        insta::assert_snapshot!(shown(text, 24), @"
        name │ what it does
        ─────┼──────────────────
        a    │ short
        b    │ something that is
             │ longer than the
             │ room
        ");
    }

    #[test]
    fn styles_replace_marks() {
        let lines = markdown_lines("a **b** `c` [d](https://e.f)", 80, 80, Ink::Color);
        assert_eq!(lines[0].text(), "a b c d");
        let style = |text: &str| {
            lines[0]
                .parts
                .iter()
                .find(|part| part.text == text)
                .map(|part| part.style)
        };
        assert_eq!(style("b"), Some(Style::new().bold()));
        assert_eq!(style("c"), Some(CODE));
        assert_eq!(style("d"), Some(LINK));
        let plain = markdown_lines("a `c`", 80, 80, Ink::Plain);
        assert_eq!(plain[0].text(), "a `c`");
    }

    #[test]
    fn small_text_is_faint_up_to_the_end_of_its_paragraph() {
        let lines = markdown_lines("- a <small>(b, `c`)</small> d\n- e <small>f\n\ng", 80, 80, Ink::Color);
        let texts: Vec<String> = lines.iter().map(StyledLine::text).collect();
        assert_eq!(texts, ["• a (b, c) d", "• e f", "", "g"]);
        let style = |line: usize, text: &str| {
            let part = lines[line].parts.iter().find(|part| part.text.contains(text));
            part.map(|part| part.style)
        };
        assert_eq!(style(0, "(b"), Some(FAINT));
        assert_eq!(style(0, " d"), Some(Style::new()));
        assert_eq!(style(1, "f"), Some(FAINT));
        assert_eq!(style(3, "g"), Some(Style::new()));
    }

    #[test]
    fn a_diff_has_its_colours() {
        let lines = markdown_lines("```diff\n@@ 1\n-a\n+b\n c\n```", 80, 80, Ink::Color);
        let styles: Vec<Style> = lines.iter().map(|line| line.parts[1].style).collect();
        assert_eq!(styles, [FAINT, BAD, GOOD, CODE]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        let text = "a\u{1b}[2J &#27;[2J `\u{1b}` <b\u{7}>\n\n```\n\u{1b}]0;x\u{7}\n```\n\n| \u{1b} |\n|---|\n| \u{9b} |\n\n![\u{1b}](x)\r\n";
        for text in [text.to_owned(), text.repeat(5000)] {
            let lines = markdown_lines(&text, 40, 40, Ink::Color);
            let is_bad = |line: &StyledLine| line.text().chars().any(char::is_control);
            assert!(!lines.iter().any(is_bad));
        }
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let text = "words `and code` そして日本語の長い文章 \n- item\n  > quote in it\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n    code that is long";
        for columns in 12..60 {
            let lines = markdown_lines(text, columns, columns, Ink::Plain);
            let widest = lines.iter().map(StyledLine::width).max().unwrap_or(0);
            assert!(widest <= columns, "{widest} > {columns}");
        }
    }
}
