//! Converts terminal output to HTML or plain text: colours become spans, every other escape sequence is dropped.
//!
//! Colours are CSS classes for the sixteen ANSI colours. 256-colour and true-colour codes map to the nearest of them, because the
//! page's content security policy allows no inline styles.

use crate::escape;

/// Appends terminal output as HTML.
pub(crate) fn push_html(out: &mut String, text: &str) {
    if !is_styled(text) {
        return escape::push_inside(out, text);
    }
    let mut style = AnsiStyle::default();
    let mut is_open = false;
    for_each_run(text, |run| match run {
        AnsiRun::Text(text) => escape::push_inside(out, text),
        AnsiRun::Style(numbers) => {
            let before = style;
            style.apply(numbers);
            if style == before {
                return;
            }
            if is_open {
                out.push_str("</span>");
            }
            is_open = style != AnsiStyle::default();
            if is_open {
                out.push_str("<span class=\"");
                out.push_str(style.classes().trim_end());
                out.push_str("\">");
            }
        }
    });
    if is_open {
        out.push_str("</span>");
    }
}

/// Whether a text contains terminal control codes. Most do not, so chunks of 64 bytes are tested in a way that the compiler can
/// vectorise.
fn is_styled(text: &str) -> bool {
    let may_begin = |found: bool, byte: &u8| found | matches!(byte, 0x1b | b'\r' | 0x08 | 0xc2);
    let mut chunks = text.as_bytes().chunks(64);
    chunks.any(|chunk| chunk.iter().fold(false, may_begin)) && text.contains(['\u{1b}', '\r', '\u{8}', '\u{9b}'])
}

/// Calls `take` for each run of equally styled text. Line breaks are part of the runs.
pub fn for_each_styled(text: &str, mut take: impl FnMut(&str, AnsiStyle)) {
    let mut style = AnsiStyle::default();
    for_each_run(text, |run| match run {
        AnsiRun::Text(text) => take(text, style),
        AnsiRun::Style(numbers) => style.apply(numbers),
    });
}

/// Returns terminal output without escape sequences.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for_each_run(text, |run| {
        if let AnsiRun::Text(text) = run {
            out.push_str(text);
        }
    });
    out
}

enum AnsiRun<'t> {
    Text(&'t str),
    /// The parameters of one SGR sequence, such as `0;1` or `38;5;6`.
    Style(&'t str),
}

/// Splits text into runs. If a carriage return overwrote a line, only its last state is kept.
fn for_each_run(text: &str, mut take: impl FnMut(AnsiRun<'_>)) {
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = body.trim_end_matches('\r');
        // Progress bars overwrite their line, and only the final state is worth showing.
        let body = body.rsplit('\r').next().unwrap_or(body);
        let mut rest = body;
        while let Some(at) = rest.find(['\u{1b}', '\u{8}', '\u{9b}']) {
            if at > 0 {
                take(AnsiRun::Text(&rest[..at]));
            }
            rest = &rest[at..];
            let (style, length) = parse_escape(rest);
            if let Some(numbers) = style {
                take(AnsiRun::Style(numbers));
            }
            rest = &rest[length..];
        }
        if !rest.is_empty() {
            take(AnsiRun::Text(rest));
        }
        if !end.is_empty() {
            take(AnsiRun::Text(end));
        }
    }
}

/// Returns the length of the escape sequence at the start of `text`, and its parameters if it is an SGR sequence.
fn parse_escape(text: &str) -> (Option<&str>, usize) {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else {
        return (None, 0);
    };
    if first == '\u{8}' {
        return (None, 1);
    }
    let inside = match first {
        '\u{9b}' => first.len_utf8(),
        _ => match chars.next() {
            Some((_, '[')) => 2,
            Some((_, ']' | 'P' | '_' | '^')) => return (None, string_length(text)),
            // A character set designation is followed by one more character.
            Some((_, '(' | ')' | '*' | '+')) => {
                return (None, 2 + text[2..].chars().next().map_or(0, char::len_utf8));
            }
            Some((at, c)) => return (None, at + c.len_utf8()),
            None => return (None, first.len_utf8()),
        },
    };
    let body = &text[inside..];
    let Some(end) = body.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c) || c < ' ') else {
        return (None, text.len());
    };
    let last = body[end..].chars().next().map_or(0, char::len_utf8);
    let numbers = (body[end..].starts_with('m')).then(|| &body[..end]);
    (numbers, inside + end + last)
}

/// Returns the length of a control string, such as a title or a link. It ends at BEL, at ST or at the end of the line.
fn string_length(text: &str) -> usize {
    if let Some(at) = text.find('\u{7}') {
        return at + 1;
    }
    text[1..].find("\u{1b}\\").map_or(text.len(), |at| at + 3)
}

/// The current style of a terminal. Colours are indexes of the sixteen ANSI colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnsiStyle {
    pub color: Option<u8>,
    pub background: Option<u8>,
    pub is_bold: bool,
    pub is_faint: bool,
    is_italic: bool,
    pub is_underlined: bool,
}

impl AnsiStyle {
    fn apply(&mut self, numbers: &str) {
        let mut numbers = numbers
            .split([';', ':'])
            .map(|number| number.parse::<u16>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            let low = |base: u16| u8::try_from(number - base).ok();
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_faint = true,
                3 => self.is_italic = true,
                4 => self.is_underlined = true,
                // One code resets both, because terminals treat bold and faint as two intensities.
                22 => (self.is_bold, self.is_faint) = (false, false),
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                30..=37 => self.color = low(30),
                38 => self.color = extended_color(&mut numbers),
                39 => self.color = None,
                40..=47 => self.background = low(40),
                48 => self.background = extended_color(&mut numbers),
                49 => self.background = None,
                90..=97 => self.color = low(82),
                100..=107 => self.background = low(92),
                _ => {}
            }
        }
    }

    fn classes(self) -> String {
        let mut classes = String::new();
        let mut add = |is: bool, class: &str| {
            if is {
                classes.push_str(class);
                classes.push(' ');
            }
        };
        add(self.is_bold, "ab");
        add(self.is_faint, "af");
        add(self.is_italic, "ai");
        add(self.is_underlined, "au");
        if let Some(color) = self.color {
            add(true, &format!("c{color}"));
        }
        if let Some(background) = self.background {
            add(true, &format!("g{background}"));
        }
        classes
    }
}

/// Maps a 256-colour or true-colour code to the nearest of the sixteen ANSI colours.
fn extended_color(numbers: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match numbers.next()? {
        5 => {
            let number = u8::try_from(numbers.next()?).ok()?;
            Some(match number {
                0..=15 => number,
                16..=231 => {
                    let cube = number - 16;
                    nearest_color([cube / 36, cube / 6 % 6, cube % 6].map(|part| part * 51))
                }
                232..=243 => 8,
                244..=255 => 7,
            })
        }
        2 => {
            let mut part = || numbers.next().map(|part| u8::try_from(part).unwrap_or(u8::MAX));
            Some(nearest_color([part()?, part()?, part()?]))
        }
        _ => None,
    }
}

fn nearest_color(parts: [u8; 3]) -> u8 {
    let max = parts.into_iter().max().unwrap_or_default();
    let min = parts.into_iter().min().unwrap_or_default();
    // Nearly grey: only the brightness matters.
    if max - min < 40 {
        return match max {
            0..=60 => 0,
            61..=150 => 8,
            151..=210 => 7,
            _ => 15,
        };
    }
    // A channel above the middle sets its bit of the ANSI colour.
    let half = min + (max - min) / 2;
    let bits = parts.iter().enumerate().map(|(at, part)| u8::from(*part > half) << at);
    let color: u8 = bits.sum();
    color + if max > 200 { 8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        push_html(&mut out, text);
        out
    }

    #[test]
    fn colours_become_spans_that_are_closed() {
        assert_eq!(
            html("\u{1b}[1;31mno\u{1b}[0m yes"),
            "<span class=\"ab c1\">no</span> yes"
        );
        assert_eq!(html("\u{1b}[32mok\nmore"), "<span class=\"c2\">ok\nmore</span>");
        assert_eq!(html("\u{1b}[38;5;196mx\u{1b}[39m"), "<span class=\"c9\">x</span>");
        assert_eq!(html("\u{1b}[48;2;0;0;90mx"), "<span class=\"g4\">x</span>");
    }

    #[test]
    fn cursor_movements_are_dropped_and_markup_is_escaped() {
        assert_eq!(html("a\u{1b}[2Kb\u{1b}]0;title\u{7}c\u{1b}(Bd"), "abcd");
        assert_eq!(html("10%\r50%\r100%\r\nend"), "100%\nend");
        assert_eq!(html("\u{1b}[\"><script>m"), "cript&gt;m");
        assert_eq!(html("\u{1b}[31"), "");
        assert_eq!(plain("\u{1b}[1mb\u{8}old\u{1b}[0m"), "bold");
    }
}
