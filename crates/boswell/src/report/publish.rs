//! Passes finished files on: to a command of the user, without a shell, or to the browser.

use std::io::Write;
use std::process::{Command, Stdio};

use memory::report::DayReport;

use super::files::Kept;
use crate::answers;
use crate::answers::page::PublishedReport;
use crate::error::CommandError;
use crate::ui::Ui;

/// Splits a command line like a shell: quotes preserve spaces, and a backslash preserves the next character.
pub(super) fn words(flag: &str, line: &str) -> Result<Vec<String>, CommandError> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = chars.next().ok_or_else(|| unfinished(line))?;
                let word = word.get_or_insert_default();
                // Inside double quotes a backslash only escapes these characters; before others it is literal, as in a
                // shell.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(unfinished(line));
    }
    words.extend(word);
    match words.first().is_none_or(String::is_empty) {
        true => Err(CommandError::usage(format_args!("`{flag}` names no command"))),
        false => Ok(words),
    }
}

fn unfinished(line: &str) -> CommandError {
    CommandError::usage(format_args!("a quotation or an escape has no end: {line}"))
}

/// Runs the user's command with the files. They stay even if the command fails.
pub(super) fn run(ui: &mut Ui, words: &[String], days: &[DayReport], kept: &Kept) -> Result<(), CommandError> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(CommandError::usage("`--publish` names no command"));
    };
    let failed = |reason: String| {
        CommandError::user(
            "publish-failed",
            format_args!("cannot publish by `{program}`: {reason}"),
        )
        .with_hint(format_args!("the report stays: {}", kept.html.display()))
    };
    let report = PublishedReport {
        since: days.first().map(|day| day.date.as_str()),
        until: days.last().map(|day| day.date.as_str()),
        timezone: days.first().map(|day| day.timezone.as_str()),
        markdown: &kept.markdown,
        html: &kept.html,
        json: &kept.json,
    };
    let report = answers::to_value(&report)
        .map_err(|error| CommandError::internal(format_args!("cannot write JSON: {error}")))?;
    ui.flush()?;
    let mut child = Command::new(program)
        .args(arguments)
        .args(kept.paths())
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // A command may ignore its input, because the paths are also its arguments.
        _ = writeln!(input, "{report}");
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    match status.success() {
        true => {
            ui.status(format_args!("Published by {program}"));
            Ok(())
        }
        false => Err(failed(status.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_a_shell_splits_it() {
        let words = |line: &str| words("--publish", line);
        let check = |line: &str| words(line).unwrap();
        assert_eq!(check("mail -s 'the day' a\\ b"), ["mail", "-s", "the day", "a b"]);
        assert_eq!(check(r#"x "a \"b\" \n" '' "#), ["x", r#"a "b" \n"#, ""]);
        assert_eq!(check("x; rm $(y)"), ["x;", "rm", "$(y)"]);
        for wrong in ["", "  ", "x 'y", "x \\", "''"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
