//! What a terminal was told: colours become spans, everything else that moves a cursor or rings a bell goes.
//!
//! The colours are the sixteen of a terminal, as classes; finer ones become the nearest of them, since a page of ours
//! allows no styles inside its text.

use crate::escape;

/// A terminal's text as HTML.
pub(crate) fn push_html(out: &mut String, text: &str) {
    if !is_styled(text) {
        return escape::push_inside(out, text);
    }
    let mut pen = Pen::default();
    let mut is_open = false;
    each_run(text, |run| match run {
        Run::Text(text) => escape::push_inside(out, text),
        Run::Style(numbers) => {
            let before = pen;
            pen.take(numbers);
            if pen == before {
                return;
            }
            if is_open {
                out.push_str("</span>");
            }
            is_open = pen != Pen::default();
            if is_open {
                out.push_str("<span class=\"");
                out.push_str(pen.classes().trim_end());
                out.push_str("\">");
            }
        }
    });
    if is_open {
        out.push_str("</span>");
    }
}

/// Whether a text has anything that only a terminal understands. Most have not, and are looked through by words.
fn is_styled(text: &str) -> bool {
    let may_begin = |found: bool, byte: &u8| found | matches!(byte, 0x1b | b'\r' | 0x08 | 0xc2);
    let mut chunks = text.as_bytes().chunks(64);
    chunks.any(|chunk| chunk.iter().fold(false, may_begin)) && text.contains(['\u{1b}', '\r', '\u{8}', '\u{9b}'])
}

/// A terminal's text run by run, each with the pen it was written with. Line breaks stand in the runs.
pub fn each_styled(text: &str, mut take: impl FnMut(&str, Pen)) {
    let mut pen = Pen::default();
    each_run(text, |run| match run {
        Run::Text(text) => take(text, pen),
        Run::Style(numbers) => pen.take(numbers),
    });
}

/// A terminal's text as plain text.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    each_run(text, |run| {
        if let Run::Text(text) = run {
            out.push_str(text);
        }
    });
    out
}

enum Run<'t> {
    Text(&'t str),
    /// The numbers of one sequence: `0;1`, or `38;5;6`.
    Style(&'t str),
}

/// Takes a text apart. Of a line that was written over, the last state stands.
fn each_run(text: &str, mut take: impl FnMut(Run<'_>)) {
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = body.trim_end_matches('\r');
        let body = body.rsplit('\r').next().unwrap_or(body);
        let mut rest = body;
        while let Some(at) = rest.find(['\u{1b}', '\u{8}', '\u{9b}']) {
            if at > 0 {
                take(Run::Text(&rest[..at]));
            }
            rest = &rest[at..];
            let (style, length) = sequence(rest);
            if let Some(numbers) = style {
                take(Run::Style(numbers));
            }
            rest = &rest[length..];
        }
        if !rest.is_empty() {
            take(Run::Text(rest));
        }
        if !end.is_empty() {
            take(Run::Text(end));
        }
    }
}

/// How long the sequence at the beginning of a text is, and its numbers where it sets a style.
fn sequence(text: &str) -> (Option<&str>, usize) {
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
            // A set of characters is chosen by one letter more.
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

/// A title or a link: up to the bell or the end mark, or no further than the line.
fn string_length(text: &str) -> usize {
    if let Some(at) = text.find('\u{7}') {
        return at + 1;
    }
    text[1..].find("\u{1b}\\").map_or(text.len(), |at| at + 3)
}

/// How a terminal writes: colours are the sixteen it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pen {
    pub color: Option<u8>,
    pub ground: Option<u8>,
    pub is_bold: bool,
    pub is_faint: bool,
    is_italic: bool,
    pub is_underlined: bool,
}

impl Pen {
    fn take(&mut self, numbers: &str) {
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
                22 => (self.is_bold, self.is_faint) = (false, false),
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                30..=37 => self.color = low(30),
                38 => self.color = finer(&mut numbers),
                39 => self.color = None,
                40..=47 => self.ground = low(40),
                48 => self.ground = finer(&mut numbers),
                49 => self.ground = None,
                90..=97 => self.color = low(82),
                100..=107 => self.ground = low(92),
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
        if let Some(ground) = self.ground {
            add(true, &format!("g{ground}"));
        }
        classes
    }
}

/// The nearest of the sixteen colours to one of 256, or to one of three parts.
fn finer(numbers: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match numbers.next()? {
        5 => {
            let number = u8::try_from(numbers.next()?).ok()?;
            Some(match number {
                0..=15 => number,
                16..=231 => {
                    let cube = number - 16;
                    nearest([cube / 36, cube / 6 % 6, cube % 6].map(|part| part * 51))
                }
                232..=243 => 8,
                244..=255 => 7,
            })
        }
        2 => {
            let mut part = || numbers.next().map(|part| u8::try_from(part).unwrap_or(u8::MAX));
            Some(nearest([part()?, part()?, part()?]))
        }
        _ => None,
    }
}

fn nearest(parts: [u8; 3]) -> u8 {
    let max = parts.into_iter().max().unwrap_or_default();
    let min = parts.into_iter().min().unwrap_or_default();
    if max - min < 40 {
        return match max {
            0..=60 => 0,
            61..=150 => 8,
            151..=210 => 7,
            _ => 15,
        };
    }
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
    fn colours_become_classes_and_end() {
        assert_eq!(
            html("\u{1b}[1;31mno\u{1b}[0m yes"),
            "<span class=\"ab c1\">no</span> yes"
        );
        assert_eq!(html("\u{1b}[32mok\nmore"), "<span class=\"c2\">ok\nmore</span>");
        assert_eq!(html("\u{1b}[38;5;196mx\u{1b}[39m"), "<span class=\"c9\">x</span>");
        assert_eq!(html("\u{1b}[48;2;0;0;90mx"), "<span class=\"g4\">x</span>");
    }

    #[test]
    fn what_moves_the_cursor_goes_and_nothing_breaks_out() {
        assert_eq!(html("a\u{1b}[2Kb\u{1b}]0;title\u{7}c\u{1b}(Bd"), "abcd");
        assert_eq!(html("10%\r50%\r100%\r\nend"), "100%\nend");
        assert_eq!(html("\u{1b}[\"><script>m"), "cript&gt;m");
        assert_eq!(html("\u{1b}[31"), "");
        assert_eq!(plain("\u{1b}[1mb\u{8}old\u{1b}[0m"), "bold");
    }
}
