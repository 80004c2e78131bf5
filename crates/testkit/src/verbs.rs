//! A list of command lines that covers every verb. The pseudo-terminal tests and the golden record share it.
//!
//! A line contains placeholders such as `{claude}` or `{day}`, which [`crate::home::FixtureHome`] fills from its logs, so that the same
//! line works for synthetic logs, the demo and real logs. The list does not depend on what a verb prints.

mod table;

use std::collections::BTreeSet;

pub use self::table::PREPARATION;

/// What an invocation prints on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Text for people, which must fit the terminal.
    Text,
    /// JSON: one value, or one per line.
    Json,
    /// Text for programs and files (scripts, CSV, pages), which may be wider than the terminal.
    Data,
    /// A full-screen interface.
    Screen,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ends by itself.
    Itself,
    /// It asks questions on a terminal; each gets this answer.
    Answer(&'static str),
    /// It reads this on standard input, up to its end.
    Input(&'static str),
    /// It runs until it is interrupted, which happens once it has printed this text.
    Interrupt { after: &'static str },
    /// It uses the full screen. These keys are pressed once this text is visible. Without a terminal it ends by itself.
    Keys { after: &'static str, keys: &'static str },
}

/// One command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The arguments, with placeholders; single quotes keep spaces together.
    pub line: String,
    pub output: Output,
    pub ending: Ending,
    /// The expected exit status on a terminal.
    pub exit: ExpectedExit,
    /// The expected exit status without a terminal.
    pub plain_exit: ExpectedExit,
}

/// Which exit status is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedExit {
    Code(u8),
    /// 0 or 1, because the logs may contain nothing to find.
    Found,
    /// Any status, because the run is interrupted.
    Any,
}

impl ExpectedExit {
    pub fn allows(self, exit: Exit) -> bool {
        match (self, exit) {
            (Self::Code(expected), Exit::Code(code)) => i32::from(expected) == code,
            (Self::Found, Exit::Code(code)) => code == 0 || code == 1,
            (Self::Any, Exit::Code(_) | Exit::Signal(_)) => true,
            (_, Exit::Signal(_) | Exit::TimedOut) => false,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It was killed because it did not end within its time limit.
    TimedOut,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
        }
    }
}

impl From<std::process::ExitStatus> for Exit {
    fn from(status: std::process::ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        Self::Code(status.code().unwrap_or(-1))
    }
}

impl Invocation {
    /// Returns the line as a file name that is unique in the list.
    pub fn name(&self) -> String {
        if self.line.is_empty() {
            return "finder".to_owned();
        }
        // Programs would parse a file name that starts with `-` as an option.
        let mut name = if self.line.starts_with('-') { "boswell+" } else { "" }.to_owned();
        for c in self.line.chars() {
            match c {
                '{' | '}' | '\'' | '"' => {}
                c if c.is_ascii_alphanumeric() || "-_.=,:".contains(c) => name.push(c),
                ' ' => name.push('+'),
                // Other characters are replaced by their code points, so that two lines never share a name.
                c => name.push_str(&format!("%{:x}", u32::from(c))),
            }
        }
        name
    }

    /// Returns the verb, and its subcommand if it has one: `hooks status`.
    pub fn verb(&self, subcommands: &BTreeSet<String>) -> String {
        let words: Vec<&str> = self.line.split(' ').filter(|word| !word.starts_with('-')).collect();
        let two = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        match subcommands.contains(&two) {
            true => two,
            false => words.first().copied().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the arguments, each placeholder filled by `fill`.
    pub fn arguments(&self, fill: impl Fn(&str) -> String) -> Vec<String> {
        split(&self.line).iter().map(|word| filled(word, &fill)).collect()
    }
}

/// Returns every invocation, text and JSON.
pub fn invocations() -> Vec<Invocation> {
    table::ROWS.iter().flat_map(|row| row.expand()).collect()
}

/// Splits a line at spaces outside single quotes.
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Replaces each `{name}` by its value.
pub fn filled(word: &str, fill: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}') {
            Some((name, behind)) => {
                out.push_str(&fill(name));
                rest = behind;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invocation_has_a_unique_name() {
        let all = invocations();
        let names: BTreeSet<String> = all.iter().map(Invocation::name).collect();
        let mut seen = BTreeSet::new();
        let twice: Vec<&str> = all
            .iter()
            .filter(|one| !seen.insert(one.name()))
            .map(|one| one.line.as_str())
            .collect();
        assert_eq!(names.len(), all.len(), "{twice:?}");
        // File systems allow 255 bytes, and an ending is added.
        let long: Vec<&String> = names
            .iter()
            .filter(|name| name.contains('/') || name.len() > 200)
            .collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn quotes_keep_spaces_and_empty_words() {
        assert_eq!(
            split("note {claude} 'two words' ''"),
            ["note", "{claude}", "two words", ""]
        );
        let fill = |name: &str| format!("<{name}>");
        assert_eq!(filled("{out}/{day}.zip", fill), "<out>/<day>.zip");
        assert_eq!(filled("a{b", fill), "a{b");
    }

    #[test]
    fn a_subcommand_is_distinguished_from_an_argument() {
        let known: BTreeSet<String> = ["hooks status".to_owned()].into();
        let verb = |line: &str| {
            let mut all = invocations();
            all[0].line = line.to_owned();
            all[0].verb(&known)
        };
        assert_eq!(verb("hooks status --json"), "hooks status");
        assert_eq!(verb("show {claude} --json"), "show");
        assert_eq!(verb("--quiet usage weekly"), "usage");
    }
}
