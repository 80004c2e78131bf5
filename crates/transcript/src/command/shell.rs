//! Splits a shell command line into simple commands and their words.
//!
//! Supports the grammar of POSIX shells and bash, and as much of PowerShell and cmd as paths with backslashes need.
//! It must not know what any program does, and it runs nothing: `$NAME` and globs stay as they are written.
//!
//! The text is untrusted and often cut off inside a quote. So nothing here can fail: whatever is open is closed at
//! the end of the text. Every byte is scanned a bounded number of times, whatever the text.

use std::borrow::Cow;

pub(super) type ShellWord<'a> = Cow<'a, str>;

/// A program with its arguments, between two operators.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand<'a> {
    /// Without quotes and redirections, but with leading assignments and keywords.
    pub(super) words: Vec<ShellWord<'a>>,
    /// The contents of `$(…)`, `` `…` `` and `<(…)`: scripts that run before the command itself.
    pub(super) substitutions: Vec<&'a str>,
    /// The text of a here-document or a here-string.
    pub(super) stdin: Option<ShellWord<'a>>,
}

/// Splits `text` at every operator. Groups and keywords are not nested because callers only ask whether a command
/// occurs anywhere, which needs no tree.
pub(super) fn simple_commands(text: &str) -> Vec<SimpleCommand<'_>> {
    let mut lexer = ShellLexer {
        text,
        at: 0,
        word: None,
        next_word: NextWord::Argument,
        command: SimpleCommand::default(),
        pending: Vec::new(),
        commands: Vec::new(),
    };
    lexer.run();
    lexer.commands
}

struct ShellLexer<'a> {
    text: &'a str,
    at: usize,
    word: Option<OpenWord<'a>>,
    next_word: NextWord,
    command: SimpleCommand<'a>,
    /// Here-documents whose bodies start after the next newline, each with the index of its command.
    pending: Vec<(usize, &'a str)>,
    commands: Vec<SimpleCommand<'a>>,
}

/// A word under construction: borrowed as long as its parts are adjacent in the text.
struct OpenWord<'a> {
    text: ShellWord<'a>,
    start: usize,
    end: usize,
}

/// The role of the word after an operator.
#[derive(Clone, Copy)]
enum NextWord {
    Argument,
    RedirectionTarget,
    HereString,
}

impl<'a> ShellLexer<'a> {
    fn run(&mut self) {
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t' | b'\r' => {
                    self.at += 1;
                    self.end_word();
                }
                b'\n' => {
                    self.at += 1;
                    self.end_command();
                    self.read_heredocs();
                }
                b'&' if self.byte(1) == Some(b'>') => self.redirection(),
                b';' | b'|' | b'&' | b')' => {
                    self.at += 1;
                    self.end_command();
                }
                b'(' => self.parenthesis(),
                b'<' | b'>' => self.redirection(),
                b'#' if self.word.is_none() => self.at = line_end(self.text, self.at),
                b'\'' => self.single_quotes(),
                b'"' => self.double_quotes(),
                b'\\' => self.backslash(),
                b'`' => self.backticks(),
                b'$' => self.dollar(),
                _ => self.plain(is_special),
            }
        }
        self.end_command();
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Appends the text from here to `end` to the open word, and moves there.
    fn push_to(&mut self, end: usize) {
        let (start, text) = (self.at, self.text);
        self.at = end;
        match &mut self.word {
            Some(word) if word.end == start && matches!(word.text, Cow::Borrowed(_)) => {
                word.text = Cow::Borrowed(text.get(word.start..end).unwrap_or_default());
                word.end = end;
            }
            Some(word) if word.text.is_empty() => {
                *word = OpenWord {
                    text: Cow::Borrowed(text.get(start..end).unwrap_or_default()),
                    start,
                    end,
                };
            }
            Some(word) => {
                word.text.to_mut().push_str(text.get(start..end).unwrap_or_default());
                word.end = end;
            }
            None => {
                self.word = Some(OpenWord {
                    text: Cow::Borrowed(text.get(start..end).unwrap_or_default()),
                    start,
                    end,
                });
            }
        }
    }

    /// Opens a word if there is none, because `''` is a word too.
    fn open_word(&mut self) {
        if self.word.is_none() {
            self.word = Some(OpenWord {
                text: Cow::Borrowed(""),
                start: self.at,
                end: self.at,
            });
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next_word, NextWord::Argument) {
            NextWord::Argument => self.command.words.push(word.text),
            NextWord::RedirectionTarget => {}
            NextWord::HereString => self.command.stdin = Some(word.text),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.next_word = NextWord::Argument;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.substitutions.is_empty() || command.stdin.is_some() {
            self.commands.push(command);
        }
    }

    fn plain(&mut self, is_end: fn(u8) -> bool) {
        let length = self.rest().bytes().position(is_end).unwrap_or(self.rest().len());
        // If the first byte already ends the text, it is taken anyway because the lexer must make progress.
        self.push_to(self.at + length.max(1));
    }

    fn parenthesis(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.text.ends_with('=')) {
            self.push_to(find_close(self.text, self.at + 1).1); // an array: `tests=(unit pytest)`
        } else if self.byte(1) == Some(b')') {
            // The name of a function that is only defined here does not run.
            self.word = None;
            self.command = SimpleCommand::default();
            self.at += 2;
        } else {
            self.at += 1;
            self.end_command();
        }
    }

    fn redirection(&mut self) {
        const OPERATORS: [&str; 12] = ["<<<", "<<", "<&", "<>", "&>>", "&>", ">>", ">&", ">|", "<(", ">(", "<"];
        let descriptor = |word: &OpenWord| word.text == "*" || word.text.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(descriptor) {
            self.word = None; // the 2 of `2>&1`
        }
        self.end_word();
        let operator = OPERATORS
            .into_iter()
            .find(|operator| self.rest().starts_with(operator))
            .unwrap_or(">");
        match operator {
            "<(" | ">(" => return self.substitution(),
            "<<<" => self.next_word = NextWord::HereString,
            "<<" => return self.heredoc(),
            _ => self.next_word = NextWord::RedirectionTarget,
        }
        self.at += operator.len();
    }

    fn heredoc(&mut self) {
        let Some((delimiter, end)) = heredoc_delimiter(self.text, self.at) else {
            self.at += 2;
            return;
        };
        self.at = end;
        // The command must be in the list when its body is read, so it gets its standard input here.
        self.command.stdin = Some(Cow::Borrowed(""));
        self.pending.push((self.commands.len(), delimiter));
    }

    fn read_heredocs(&mut self) {
        for (command, delimiter) in std::mem::take(&mut self.pending) {
            let (body, end) = heredoc_body(self.text, self.at, delimiter);
            self.at = end;
            if let Some(command) = self.commands.get_mut(command) {
                command.stdin = Some(Cow::Borrowed(body));
            }
        }
    }

    fn single_quotes(&mut self) {
        self.open_word();
        self.at += 1;
        let length = self.rest().find('\'').unwrap_or(self.rest().len());
        self.push_to(self.at + length);
        self.at += 1;
    }

    fn double_quotes(&mut self) {
        self.open_word();
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'"' => break,
                b'\\' => match self.byte(1) {
                    Some(b'\n') => self.at += 2,
                    Some(b'"' | b'\\' | b'$' | b'`') => {
                        self.at += 1;
                        self.push_to(self.at + 1);
                    }
                    _ => self.push_to(self.at + 1),
                },
                b'$' if self.byte(1) == Some(b'(') => self.substitution(),
                b'`' => self.backticks(),
                b'$' => self.push_to(self.at + 1),
                _ => self.plain(|byte| matches!(byte, b'"' | b'\\' | b'$' | b'`')),
            }
        }
        self.at += 1;
    }

    fn backslash(&mut self) {
        match self.byte(1) {
            Some(b'\n') => self.at += 2,
            Some(b'\r') if self.byte(2) == Some(b'\n') => self.at += 3,
            // `.\gradlew.bat`, `C:\Python\python.exe`: a backslash before a letter inside a word is a Windows path,
            // not an escape.
            Some(byte) if self.word.is_some() && (byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')) => {
                self.push_to(self.at + 1);
            }
            Some(byte) if byte.is_ascii() => {
                self.at += 1;
                self.push_to(self.at + 1);
            }
            _ => self.at += 1,
        }
    }

    fn backticks(&mut self) {
        let inner = self.at + 1;
        let mut end = inner;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'`' => {
                    self.command
                        .substitutions
                        .push(self.text.get(inner..end).unwrap_or_default());
                    return self.push_to(end + 1);
                }
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.at = inner; // alone it is PowerShell's escape, most often before a newline
        if self.byte(0) == Some(b'\n') {
            self.at += 1;
        }
    }

    fn dollar(&mut self) {
        match self.byte(1) {
            Some(b'(') => self.substitution(),
            Some(b'\'') => self.ansi_quotes(),
            Some(b'"') => self.at += 1,
            Some(b'{') => {
                let length = self.rest().find('}').map_or(self.rest().len(), |close| close + 1);
                self.push_to(self.at + length);
            }
            _ => self.push_to(self.at + 1),
        }
    }

    /// `$(…)`, `<(…)`, `>(…)`: two bytes, a script, and a parenthesis.
    fn substitution(&mut self) {
        let inner = self.at + 2;
        let (close, end) = find_close(self.text, inner);
        self.command
            .substitutions
            .push(self.text.get(inner..close).unwrap_or_default());
        self.push_to(end);
    }

    fn ansi_quotes(&mut self) {
        self.open_word();
        self.at += 2;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\'' => break,
                b'\\' => {
                    self.at += 1;
                    match self.byte(0) {
                        Some(b'n') => self.push_control("\n"),
                        Some(b't') => self.push_control("\t"),
                        Some(byte) if byte.is_ascii() => self.push_to(self.at + 1),
                        _ => {}
                    }
                }
                _ => self.plain(|byte| matches!(byte, b'\'' | b'\\')),
            }
        }
        self.at += 1;
    }

    fn push_control(&mut self, control: &str) {
        self.at += 1;
        if let Some(word) = &mut self.word {
            word.text.to_mut().push_str(control);
        }
    }
}

/// Bytes at which a bare word ends or changes.
fn is_special(byte: u8) -> bool {
    b" \t\r\n;|&()<>'\"\\`$".contains(&byte)
}

fn line_end(text: &str, from: usize) -> usize {
    text.get(from..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |length| from + length)
}

/// Finds the parenthesis that closes the one before `from`. Returns its position and the position after it.
///
/// Quotes and here-documents are skipped because commit messages are full of apostrophes and brackets. The open
/// brackets are kept in a list because recursion on untrusted nesting could overflow the stack.
fn find_close(text: &str, from: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut open = vec![b'('];
    let mut pending = Vec::new();
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let quoted = open.last() == Some(&b'"');
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'"' if quoted => drop(open.pop()),
            b'$' if quoted && next == Some(b'(') => {
                at += 1;
                open.push(b'(');
            }
            _ if quoted => {}
            b'"' | b'(' => open.push(byte),
            b')' => {
                open.pop();
                if open.is_empty() {
                    return (at - 1, at);
                }
            }
            b'\'' => {
                at = text
                    .get(at..)
                    .and_then(|rest| rest.find('\''))
                    .map_or(text.len(), |length| at + length + 1)
            }
            b'#' if bytes.get(at.wrapping_sub(2)).is_some_and(u8::is_ascii_whitespace) => at = line_end(text, at),
            b'<' if next == Some(b'<') => match heredoc_delimiter(text, at - 1) {
                Some((delimiter, end)) => {
                    pending.push(delimiter);
                    at = end;
                }
                None => at += 1,
            },
            b'\n' => {
                for delimiter in pending.drain(..) {
                    at = heredoc_body(text, at, delimiter).1;
                }
            }
            _ => {}
        }
    }
    (text.len(), text.len())
}

/// Parses the `<<'EOF'` at `at`. Returns the delimiter and the position after it, or `None` for a shift such as `1 <<
/// 2`.
fn heredoc_delimiter(text: &str, at: usize) -> Option<(&str, usize)> {
    let after = text.get(at + 2..)?;
    let rest = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
    let start = text.len() - rest.len();
    match rest.bytes().next()? {
        quote @ (b'\'' | b'"') => {
            let length = rest.get(1..)?.find(quote as char)?;
            Some((rest.get(1..1 + length)?, start + length + 2))
        }
        first if first.is_ascii_alphabetic() || matches!(first, b'_' | b'\\') => {
            let length = rest
                .bytes()
                .skip(1)
                .position(is_special)
                .map_or(rest.len(), |length| length + 1);
            Some((rest.get(..length)?.trim_start_matches('\\'), start + length))
        }
        _ => None,
    }
}

/// Parses the here-document whose body starts at `from`. Returns the body and the position after it.
fn heredoc_body<'a>(text: &'a str, from: usize, delimiter: &str) -> (&'a str, usize) {
    let mut at = from;
    while at < text.len() {
        let end = line_end(text, at);
        let line = text.get(at..end).unwrap_or_default();
        // Indentation is accepted even without `<<-`, and so is `EOF)`, which bash accepts with a warning.
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let after = line.get(indent..).and_then(|line| line.strip_prefix(delimiter));
        if after.is_some_and(|after| after.is_empty() || after == "\r" || after.starts_with(')')) {
            return (text.get(from..at).unwrap_or_default(), at + indent + delimiter.len());
        }
        at = end + 1;
    }
    (text.get(from..).unwrap_or_default(), text.len())
}
