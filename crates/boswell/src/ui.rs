//! The two streams of a command: data on stdout, everything else on stderr, never mixed.
//!
//! Nothing else in this program prints. This file does not decide about colours, terminals or flags: `context.rs` does.

mod escape;
pub(crate) mod markdown;
pub(crate) mod measure;
mod pager;
pub(crate) mod prose;
pub(crate) mod table;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use indicatif::ProgressDrawTarget;
use serde::Serialize;

use crate::answers::{self, Answer};
use crate::error::{CommandError, OutputError};
use crate::interrupt;

pub(crate) use escape::{escape, escape_json, escape_lines, in_one_line};
pub(crate) use pager::Pager;

use pager::Paged;

/// Style of the most important parts: ids, names, numbers.
pub(crate) const STRONG: Style = Style::new().bold();
/// Style of details that may be skipped: origins, ages, line numbers.
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Style of the headings of an answer.
pub(crate) const HEADING: Style = AnsiColor::Cyan.on_default().bold();

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// Data is buffered up to this size before it is written.
const BUFFER_BYTES: usize = 64 * 1024;

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Which messages are printed besides the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Volume {
    /// Status, hints, warnings and errors.
    Normal,
    /// Warnings and errors.
    Quiet,
}

/// The answer that Enter alone gives to a yes/no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultAnswer {
    Yes,
    No,
}

/// One output stream and its capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) is_terminal: bool,
    pub(crate) has_color: bool,
}

/// The output of a command: data and messages.
pub(crate) struct Ui {
    pub(crate) format: Format,
    volume: Volume,
    stdout: Stream,
    stderr: Stream,
    columns: Option<usize>,
    /// The pager for text that is longer than the screen.
    pager: Option<Pager>,
    is_stale: bool,
    can_ask: bool,
    is_captured: bool,
    /// The user's home directory.
    home: Option<String>,
    out: BufWriter<Box<dyn Write>>,
    err: Box<dyn Write>,
}

impl Ui {
    /// Returns a `Ui` that writes to the streams of the process.
    pub(crate) fn new(format: Format, volume: Volume, stdout: Stream, stderr: Stream) -> Self {
        // Neither stream is locked for longer than one write: worker threads draw progress bars on stderr, and a
        // lock held by this thread while it waits for them would never be released.
        let out = BufWriter::with_capacity(BUFFER_BYTES, Box::new(io::stdout()) as Box<dyn Write>);
        let err = Box::new(io::stderr());
        Self {
            format,
            volume,
            stdout,
            stderr,
            columns: None,
            pager: None,
            is_stale: false,
            can_ask: false,
            is_captured: false,
            home: None,
            out,
            err,
        }
    }

    /// Returns a `Ui` that writes to a buffer, for a caller that draws the output itself. It is `columns` wide, has
    /// colours if this one has, and never prompts.
    pub(crate) fn captured(&self, columns: usize) -> (Self, CapturedOutput) {
        let captured = CapturedOutput::default();
        let stream = Stream {
            is_terminal: true,
            has_color: self.stdout.has_color,
        };
        let ui = Self {
            columns: Some(columns),
            is_captured: true,
            home: self.home.clone(),
            out: BufWriter::new(Box::new(captured.clone())),
            err: Box::new(captured.clone()),
            ..Self::new(Format::Text, Volume::Normal, stream, stream)
        };
        (ui, captured)
    }

    /// Sets the width of the terminal.
    pub(crate) fn with_columns(mut self, columns: Option<usize>) -> Self {
        self.columns = columns;
        self
    }

    /// Sets whether a user can answer questions. With `--json` no question is asked.
    pub(crate) fn with_answers(mut self, can_answer: bool) -> Self {
        self.can_ask = can_answer && self.format == Format::Text;
        self
    }

    /// Sets the pager. Without a screen there is none.
    pub(crate) fn with_pager(mut self, pager: Option<Pager>) -> Self {
        self.pager = pager.filter(|_| self.stdout.is_terminal && self.format == Format::Text);
        self
    }

    /// Sends data through the pager from here on, if it is longer than the screen. Paging ends when the returned value
    /// is dropped.
    pub(crate) fn page(&mut self) -> Result<(), OutputError> {
        let Some(pager) = self.pager.take() else { return Ok(()) };
        self.out.flush()?;
        let screen = std::mem::replace(&mut self.out, BufWriter::new(Box::new(io::sink())));
        self.out = BufWriter::new(Box::new(Paged::new(pager, screen)));
        Ok(())
    }

    /// Sends the last page and waits until the user has left the pager.
    pub(crate) fn end_pages(&mut self) -> Result<(), OutputError> {
        let flushed = self.out.flush();
        if self.is_captured {
            return Ok(flushed?);
        }
        // The pager ends when its input is closed; from here on it is the only writer to stdout.
        self.out = BufWriter::with_capacity(BUFFER_BYTES, Box::new(io::stdout()) as Box<dyn Write>);
        Ok(flushed?)
    }

    /// Flushes the buffer, so that another process or library can write to stdout next.
    pub(crate) fn leave_stdout(&mut self) -> Result<(), OutputError> {
        self.end_pages()
    }

    /// Sets the user's home directory, so that paths in it are shown with `~`.
    pub(crate) fn set_home(&mut self, home: &Path) {
        self.home = home.to_str().filter(|home| home.len() > 1).map(str::to_owned);
    }

    /// Returns a path for printing: with `~` for the home directory if stdout is a terminal, unchanged otherwise.
    pub(crate) fn path(&self, path: &str) -> String {
        match &self.home {
            Some(home) if self.stdout.is_terminal => shorten_home(path, home).into_owned(),
            _ => path.to_owned(),
        }
    }

    /// Prints one line of data, broken at words if it is wider than the terminal. Further lines are indented by `indent`
    /// columns.
    pub(crate) fn row_wrapped(&mut self, line: impl fmt::Display, indent: usize) -> Result<(), OutputError> {
        let line = line.to_string();
        match self.columns() {
            Some(columns) => prose::wrap_painted(&line, columns, indent)
                .iter()
                .try_for_each(|line| self.row_whole(line)),
            None => self.row_whole(line),
        }
    }

    /// Returns the maximum width of a line of data, or `None` if stdout is not a terminal.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.columns.filter(|_| self.stdout.is_terminal)
    }

    /// Returns whether stdout shows colours.
    pub(crate) fn has_color(&self) -> bool {
        self.stdout.has_color
    }

    /// Returns whether only data, warnings and errors are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.volume == Volume::Quiet
    }

    /// Returns where a long operation shows its progress, or `None` if stderr is not a terminal.
    pub(crate) fn progress_target(&self) -> ProgressDrawTarget {
        if self.stderr.is_terminal && !self.is_captured && self.volume == Volume::Normal && self.format == Format::Text
        {
            interrupt::watch_progress();
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        }
    }

    /// Returns whether messages are shown to a user: text on a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        self.stderr.is_terminal && !self.is_captured && self.format == Format::Text
    }

    /// Returns whether stdout is a screen that can be redrawn.
    pub(crate) fn draws(&self) -> bool {
        self.stdout.is_terminal && self.format == Format::Text
    }

    /// Replaces the lines that were drawn last. Each line is cut to the width of the screen.
    pub(crate) fn draw_over(&mut self, drawn: usize, lines: &[String]) -> Result<(), OutputError> {
        if drawn > 0 {
            // Moves the cursor to the first of them and clears the rest of the screen.
            write!(self.out, "\x1b[{drawn}A\x1b[J")?;
        }
        for line in lines {
            // A line that wraps would take two rows.
            writeln!(self.out, "\x1b[?7l{line}\x1b[?7h")?;
        }
        self.flush()
    }

    /// Prints one line of text, broken if it is wider than the terminal. Further lines are indented to its second column.
    pub(crate) fn row(&mut self, line: impl fmt::Display) -> Result<(), OutputError> {
        let Some(columns) = self.columns() else {
            return self.row_whole(line);
        };
        let lines = prose::wrap_row(&line.to_string(), columns);
        lines.iter().try_for_each(|line| self.row_whole(line))
    }

    /// Prints one line for programs, or one to be copied. It is never broken, however narrow the terminal is.
    pub(crate) fn row_whole(&mut self, line: impl fmt::Display) -> Result<(), OutputError> {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Lets `render` write data of any form.
    pub(crate) fn write(&mut self, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
        Ok(render(&mut self.out)?)
    }

    /// Marks further answers as stale: something new in the logs may be missing in them.
    pub(crate) fn set_stale(&mut self) {
        self.is_stale = true;
    }

    /// Prints an answer as one JSON object on a line of its own.
    pub(crate) fn answer<A: Answer>(&mut self, answer: &A) -> Result<(), CommandError> {
        let value = answers::to_value(answer)
            .map_err(|error| CommandError::internal(format_args!("cannot write JSON: {error}")))?;
        self.json(&value)
    }

    /// Prints one JSON object on a line of its own.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let failed = |error| CommandError::internal(format_args!("cannot write JSON: {error}"));
        let mut text = serde_json::to_string(value).map_err(failed)?;
        if self.is_stale && text.len() > 2 && text.ends_with('}') {
            text.truncate(text.len() - 1);
            text += ",\"stale\":true}";
        }
        let text = if self.stdout.is_terminal {
            escape_json(&text)
        } else {
            text.into()
        };
        Ok(self.row_whole(text)?)
    }

    /// Flushes all data. `main` calls it at the end, so a command does not have to.
    pub(crate) fn flush(&mut self) -> Result<(), OutputError> {
        Ok(self.out.flush()?)
    }

    /// Prints a status message: what is being done or has been done. It begins with a capital.
    pub(crate) fn status(&mut self, message: impl fmt::Display) {
        if self.volume == Volume::Normal {
            self.tell(format_args!("{}", escape_lines(&message.to_string())));
        }
    }

    /// Prints a hint: what to do next. A lower-case phrase.
    pub(crate) fn hint(&mut self, message: impl fmt::Display) {
        if self.volume == Volume::Normal {
            self.tell_labelled(HINT, "Hint:", &message.to_string());
        }
    }

    /// Prints a warning: what is wrong but does not stop the command. A lower-case phrase.
    pub(crate) fn warning(&mut self, message: impl fmt::Display) {
        self.tell_labelled(WARNING, "warning:", &message.to_string());
    }

    /// Prints the error that stopped the command: as text on stderr, or as JSON on stdout.
    pub(crate) fn error(&mut self, error: &CommandError) -> Result<(), CommandError> {
        if self.format == Format::Json {
            return self.json(&error.answer());
        }
        self.tell_labelled(ERROR, "error:", &error.message);
        if let Some(hint) = &error.hint {
            self.tell_labelled(HINT, "Hint:", hint);
        }
        Ok(())
    }

    /// Asks a yes/no question whose default is no. Returns `None` if there is no terminal to ask on.
    pub(crate) fn ask(&mut self, question: impl fmt::Display) -> Option<bool> {
        self.confirm(question, DefaultAnswer::No)
    }

    /// Asks a yes/no question. Enter alone gives the default answer; the end of input is always a no. Returns `None` if
    /// there is no terminal to ask on.
    pub(crate) fn confirm(&mut self, question: impl fmt::Display, default: DefaultAnswer) -> Option<bool> {
        let choices = match default {
            DefaultAnswer::Yes => "[Y/n]",
            DefaultAnswer::No => "[y/N]",
        };
        if !self.can_ask {
            return None;
        }
        let Some(answer) = self.read_answer(&format!("{question} {choices} ")) else {
            return Some(false);
        };
        Some(match answer.to_lowercase().as_str() {
            "" => default == DefaultAnswer::Yes,
            answer => matches!(answer, "y" | "yes"),
        })
    }

    /// Asks for a text. Enter alone gives `default`. Returns `None` if there is no terminal to ask on, or at the end of
    /// input.
    pub(crate) fn ask_text(&mut self, question: impl fmt::Display, default: &str) -> Option<String> {
        if !self.can_ask {
            return None;
        }
        let answer = self.read_answer(&format!("{question} [{default}] "))?;
        Some(if answer.is_empty() { default.to_owned() } else { answer })
    }

    /// Prints a prompt and reads one line. Returns `None` at the end of input.
    fn read_answer(&mut self, prompt: &str) -> Option<String> {
        _ = self.out.flush();
        let columns = self.columns.filter(|_| self.stderr.is_terminal).unwrap_or(usize::MAX);
        let lines: Vec<String> = escape_lines(prompt.trim_end())
            .lines()
            .flat_map(|line| prose::wrap_row(line, columns.saturating_sub(1)))
            .collect();
        _ = write!(self.err, "{} ", lines.join("\n"));
        _ = self.err.flush();
        let mut answer = String::new();
        let bytes = io::stdin().read_line(&mut answer).ok()?;
        (bytes > 0).then(|| answer.trim().to_owned())
    }

    /// Returns data in colour, if stdout shows colours.
    pub(crate) fn paint<T: fmt::Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted {
            style: if self.stdout.has_color { style } else { Style::new() },
            text,
        }
    }

    /// Prints text that contains colours already, such as clap's help.
    pub(crate) fn styled(&mut self, text: &clap::builder::StyledStr) -> Result<(), OutputError> {
        let text = match self.stdout.has_color {
            true => text.ansi().to_string(),
            false => text.to_string(),
        };
        text.lines().try_for_each(|line| self.row(line))
    }

    /// Returns text in colour, if stderr shows colours.
    pub(crate) fn tell_styled(&mut self, text: &clap::builder::StyledStr) {
        let text = if self.stderr.has_color {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        self.tell(text.trim_end());
    }

    fn tell_labelled(&mut self, style: Style, label: &str, message: &str) {
        let style = if self.stderr.has_color { style } else { Style::new() };
        self.tell(format_args!("{style}{label}{style:#} {}", escape_lines(message)));
    }

    /// A message that cannot be written is dropped, because the data may still be wanted.
    fn tell(&mut self, message: impl fmt::Display) {
        // If both streams are one terminal, earlier data must appear first.
        _ = self.out.flush();
        let message = message.to_string();
        let message = match &self.home {
            Some(home) if self.stderr.is_terminal => shorten_home(&message, home),
            _ => message.as_str().into(),
        };
        let columns = self.columns.filter(|_| self.stderr.is_terminal).unwrap_or(usize::MAX);
        for line in message.lines() {
            for line in prose::wrap_row(line, columns) {
                _ = writeln!(self.err, "{line}");
            }
        }
    }
}

/// Quotes a word for a shell if it needs quotes.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | ':');
    let word = escape(word);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Replaces a home directory at the beginning of paths with `~`. Inside quotes a shell would not expand it, so it stays.
pub(crate) fn shorten_home<'t>(text: &'t str, home: &str) -> Cow<'t, str> {
    if home.len() <= 1 {
        return text.into();
    }
    let mut short = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices(home) {
        let begins = text[..at]
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '`' | '('));
        let ends = text[at + home.len()..].chars().next();
        let ends = ends.is_none_or(|c| c.is_whitespace() || matches!(c, '/' | '\\' | '`' | ')' | ',' | ':' | ';'));
        if begins && ends && at >= copied {
            short.push_str(&text[copied..at]);
            short.push('~');
            copied = at + home.len();
        }
    }
    if copied == 0 {
        return text.into();
    }
    short.push_str(&text[copied..]);
    short.into()
}

/// The output of a captured `Ui`.
#[derive(Clone, Default)]
pub(crate) struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl CapturedOutput {
    pub(crate) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Text with a colour around it, or plain text if colours are off.
pub(crate) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:#}", self.style, self.text, self.style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_directory_is_a_tilde_where_a_shell_would_expand_it() {
        let short = |text: &str| shorten_home(text, "/home/ada").into_owned();
        assert_eq!(short("/home/ada/x"), "~/x");
        assert_eq!(short("cannot read /home/ada: gone"), "cannot read ~: gone");
        assert_eq!(short("`boswell read /home/ada/x.jsonl`"), "`boswell read ~/x.jsonl`");
        assert_eq!(short("/home/ada;x /srv/home/ada/x /home/ada"), "~;x /srv/home/ada/x ~");
        assert_eq!(short("'/home/ada/a b' X=/home/ada/x"), "'/home/ada/a b' X=/home/ada/x");
    }

    #[test]
    fn only_a_terminal_gets_a_tilde_and_wrapped_lines() {
        let ui = |is_terminal| {
            let stream = Stream {
                is_terminal,
                has_color: false,
            };
            let mut ui = Ui::new(Format::Text, Volume::Normal, stream, stream).with_columns(Some(10));
            ui.set_home(Path::new("/home/ada"));
            ui
        };
        assert_eq!(ui(true).path("/home/ada/x"), "~/x");
        assert_eq!(ui(false).path("/home/ada/x"), "/home/ada/x");
        let (mut captured, text) = ui(true).captured(12);
        captured.row_wrapped("label one two three", 6).unwrap();
        captured.warning("cannot read /home/ada/x");
        captured.flush().unwrap();
        assert_eq!(
            text.text(),
            "label one\n      two\n      three\nwarning:\n  cannot\n  read ~/x\n"
        );
    }
}
