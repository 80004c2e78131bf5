//! The visible text after a terminal's output, on a screen without edges. Collects control characters and sequences
//! that our programs do not write, because those come from a log.

use unicode_width::UnicodeWidthStr;

/// The visible lines, and the control characters that should not have been written.
#[derive(Default)]
pub struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// Control characters and sequences that are not ours, each once.
    pub foreign: Vec<String>,
}

/// Tabs stop at multiples of this.
const TAB_COLUMNS: usize = 8;

impl Screen {
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut screen = Self::default();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\n' => screen.row += 1,
                '\r' => screen.column = 0,
                '\t' => screen.column = (screen.column / TAB_COLUMNS + 1) * TAB_COLUMNS,
                '\u{1b}' if rest.as_str().starts_with('[') => {
                    let behind = &rest.as_str()[1..];
                    let end = behind.find(|c: char| !('0'..='?').contains(&c)).unwrap_or(behind.len());
                    let last = behind[end..].chars().next();
                    screen.sequence(&behind[..end], last.unwrap_or_default());
                    rest = behind[end + last.map_or(0, char::len_utf8)..].chars();
                }
                c if is_control(c) => screen.note(c.escape_default().to_string()),
                c => screen.put(c),
            }
        }
        screen
    }

    /// Returns the visible lines.
    pub fn lines(&self) -> Vec<String> {
        let text = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
        self.rows.iter().map(text).collect()
    }

    fn put(&mut self, c: char) {
        if self.rows.len() <= self.row {
            self.rows.resize(self.row + 1, Vec::new());
        }
        let row = &mut self.rows[self.row];
        if row.len() <= self.column {
            row.resize(self.column + 1, ' ');
        }
        row[self.column] = c;
        self.column += 1;
    }

    fn note(&mut self, what: String) {
        if !self.foreign.contains(&what) {
            self.foreign.push(what);
        }
    }

    /// Applies a control sequence, or records it as foreign.
    fn sequence(&mut self, parameters: &str, last: char) {
        let count = parameters.parse().unwrap_or(1);
        match last {
            // We never let text blink.
            'm' if parameters.split(';').all(|one| one != "5") => {}
            'A' => self.row = self.row.saturating_sub(count),
            'B' => self.row += count,
            'C' => self.column += count,
            'D' => self.column = self.column.saturating_sub(count),
            'G' => self.column = count.saturating_sub(1),
            'K' => self.erase_in_row(parameters),
            'J' if matches!(parameters, "" | "0") => {
                self.rows.truncate(self.row + 1);
                self.erase_in_row("");
            }
            'h' | 'l' if parameters.starts_with('?') => {}
            _ => self.note(format!("\\e[{parameters}{last}")),
        }
    }

    fn erase_in_row(&mut self, parameters: &str) {
        let Some(row) = self.rows.get_mut(self.row) else { return };
        match parameters {
            "2" => row.clear(),
            "1" => row.iter_mut().take(self.column).for_each(|c| *c = ' '),
            _ => row.truncate(self.column),
        }
    }
}

/// Returns the number of columns that a line takes.
pub fn columns(line: &str) -> usize {
    line.width()
}

/// Returns whether a character moves the cursor, rings, or changes the direction of the text around it.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_over_is_gone_and_what_is_ours_is_not_foreign() {
        let screen = Screen::parse(b"one\r\n\x1b[32m##--\x1b[0m\r\x1b[2Kdone\r\n\x1b[?25hlast\r\n");
        assert_eq!(screen.lines(), ["one", "done", "last"]);
        assert_eq!(screen.foreign, Vec::<String>::new());
        let screen = Screen::parse(b"a\r\nb\r\n\x1b[2A\x1b[Jc\r\n");
        assert_eq!(screen.lines(), ["c"]);
    }

    #[test]
    fn what_a_log_could_do_to_a_terminal_is_foreign() {
        let screen = Screen::parse("\x1b[5mx\x1b[2J\x07\x1b]0;t\x07\u{9b}31m\u{202e}\x08".as_bytes());
        let expected = [
            "\\e[5m",
            "\\e[2J",
            "\\u{7}",
            "\\u{1b}",
            "\\u{9b}",
            "\\u{202e}",
            "\\u{8}",
        ];
        assert_eq!(screen.foreign, expected);
    }

    #[test]
    fn wide_signs_take_two_columns() {
        assert_eq!(columns("名a"), 3);
    }
}
