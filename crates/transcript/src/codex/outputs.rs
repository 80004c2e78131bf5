//! Parses the outcome of a tool call from the text of its output, because Codex has no field for it.
//!
//! The header of the output changed with nearly every shell tool, so every format is handled here, newest first.

use crate::wire::{RawJson, WireObject, WireText, wire};

/// What an output says about its call.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct OutputOutcome {
    pub(super) success: Option<bool>,
    pub(super) exit_code: Option<i32>,
    pub(super) duration_ms: Option<u64>,
    /// The number of the command that continues in the background.
    pub(super) running: Option<u64>,
    /// A human refused the call: it never ran.
    pub(super) denied: bool,
    /// A human stopped the call.
    pub(super) aborted: bool,
}

/// Prefixes of outputs that report a failure without an exit code.
const FAILURES: [&str; 17] = [
    "failed in sandbox",
    "execution error:",
    "exec_command failed",
    "write_stdin failed",
    "apply_patch verification failed",
    "error:",
    "Error:",
    "collab spawn failed",
    "command timed out after",
    "failed to parse function arguments",
    "unsupported call:",
    "unsupported custom tool call:",
    "tool call error",
    "tool execution error",
    "failed to ",
    "sandbox denied",
    "err: ",
];

/// Parses the outcome from the text of an output.
pub(super) fn parse_outcome(text: &str) -> OutputOutcome {
    let trimmed = text.trim_start();
    if trimmed.starts_with('{')
        && let Ok(parsed) = serde_json::from_str::<ShellOutput<'_>>(trimmed)
        && let Some(metadata) = parsed.metadata.0
    {
        return outcome_from_metadata(&metadata, parsed.output.or_empty());
    }
    let head = header(trimmed);
    if let Some(outcome) = outcome_from_header(head, trimmed) {
        return outcome;
    }
    if trimmed.starts_with("aborted by user") || head.lines().any(|line| line == "aborted by user") {
        return OutputOutcome {
            success: Some(false),
            aborted: true,
            duration_ms: seconds(trimmed.strip_prefix("aborted by user after ").unwrap_or_default()),
            ..OutputOutcome::default()
        };
    }
    if is_denial(trimmed) {
        return OutputOutcome {
            success: Some(false),
            denied: true,
            ..OutputOutcome::default()
        };
    }
    let failed = FAILURES.iter().any(|failure| trimmed.starts_with(failure));
    OutputOutcome {
        success: failed.then_some(false),
        ..OutputOutcome::default()
    }
}

/// Returns `true` if a human refused the call.
pub(super) fn is_denial(text: &str) -> bool {
    text.starts_with("exec command rejected by user")
        || text.starts_with("patch rejected by user")
        || text.contains("rejected by user") && text.len() < 200
        || text.starts_with("rejected: the user")
        || text.starts_with("user cancelled MCP tool call")
}

/// Returns the header that a tool wrote before the output, or else the first line.
fn header(text: &str) -> &str {
    tool_header(text).unwrap_or_else(|| text.lines().next().unwrap_or_default())
}

/// Returns the header, if a tool wrote one before the output.
fn tool_header(text: &str) -> Option<&str> {
    const HEADER_BYTES_MAX: usize = 16 << 10;
    const OPENINGS: [&str; 6] = [
        "Chunk ID: ",
        "Wall time",
        "Exit code: ",
        "Command: ",
        "Script ",
        "Process ",
    ];
    let text = &text[..text.floor_char_boundary(HEADER_BYTES_MAX)];
    OPENINGS.iter().find(|opening| text.starts_with(**opening))?;
    Some(text.find("\nOutput:").map_or(text, |at| &text[..at]))
}

fn outcome_from_header(head: &str, text: &str) -> Option<OutputOutcome> {
    let mut outcome = OutputOutcome::default();
    for line in head.lines() {
        if let Some(code) = line
            .strip_prefix("Process exited with code ")
            .or(line.strip_prefix("Exit code: "))
        {
            outcome.exit_code = code.trim().parse().ok();
        } else if let Some(time) = line.strip_prefix("Wall time: ").or(line.strip_prefix("Wall time ")) {
            outcome.duration_ms = seconds(time);
        } else if let Some(number) = line.strip_prefix("Process running with session ID ") {
            outcome.running = number.trim().parse().ok();
        } else if let Some(number) = line.strip_prefix("Script running with cell ID ") {
            outcome.running = number.trim().parse().ok();
        } else if line.starts_with("Script completed") {
            outcome.success = Some(true);
        } else if line.starts_with("Script failed") || line.starts_with("Script terminated") {
            outcome.success = Some(false);
        } else if line == "aborted by user" {
            (outcome.success, outcome.aborted) = (Some(false), true);
        }
    }
    if let Some(code) = outcome.exit_code {
        outcome.success = Some(code == 0);
    }
    let output = text[head.len()..].trim_start_matches("\nOutput:").trim_start();
    if output.starts_with("command timed out after") {
        outcome.success = Some(false);
    }
    let is_known = outcome.success.is_some() || outcome.running.is_some();
    is_known.then_some(outcome)
}

fn outcome_from_metadata(metadata: &ShellMetadata<'_>, output: &str) -> OutputOutcome {
    let exit_code: Option<i32> = serde_json::from_str(metadata.exit_code.json()).ok();
    let seconds: Option<f64> = serde_json::from_str(metadata.duration_seconds.json()).ok();
    let denied = exit_code.is_none_or(|code| code != 0) && is_denial(output);
    OutputOutcome {
        success: exit_code.map(|code| code == 0).or(denied.then_some(false)),
        exit_code,
        duration_ms: seconds.and_then(ms),
        denied,
        ..OutputOutcome::default()
    }
}

/// Parses leading seconds as milliseconds.
fn seconds(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text[..end].parse().ok().and_then(ms)
}

fn ms(seconds: f64) -> Option<u64> {
    let ms = (seconds * 1000.0).round();
    (0.0..1e15).contains(&ms).then_some(ms as u64)
}

wire! {
    /// The output of the first shell tool: JSON inside a string.
    struct ShellOutput<'a> {
        output: WireText<'a> = "output",
        metadata: WireObject<ShellMetadata<'a>> = "metadata",
    }
}

wire! {
    struct ShellMetadata<'a> {
        exit_code: RawJson<'a> = "exit_code",
        duration_seconds: RawJson<'a> = "duration_seconds",
    }
}

/// Returns what the command itself printed, without the header of the tool, unless it printed nothing.
pub(super) fn printed_output(text: &str) -> &str {
    let head = tool_header(text).unwrap_or(text);
    let output = text[head.len()..].strip_prefix("\nOutput:").unwrap_or_default();
    match output.trim().is_empty() {
        true => text,
        false => output.trim_start_matches(['\n', '\r']),
    }
}

/// Returns the text of an output without the JSON that some tools wrap around it.
pub(super) fn plain_output(text: &str) -> std::borrow::Cow<'_, str> {
    let trimmed = text.trim_start();
    if trimmed.starts_with('{')
        && let Ok(parsed) = serde_json::from_str::<ShellOutput<'_>>(trimmed)
        && parsed.metadata.0.is_some()
    {
        return parsed.output.or_empty().to_owned().into();
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let parsed = parse_outcome(text);
        let mut words = vec![format!("{:?}", parsed.success)];
        words.extend(parsed.exit_code.map(|code| format!("exit {code}")));
        words.extend(parsed.duration_ms.map(|ms| format!("{ms} ms")));
        words.extend(parsed.running.map(|number| format!("runs as {number}")));
        words.extend(parsed.denied.then(|| "denied".to_owned()));
        words.extend(parsed.aborted.then(|| "aborted".to_owned()));
        words.join(", ")
    }

    #[test]
    fn the_header_of_an_output_is_not_what_the_command_printed() {
        assert_eq!(
            printed_output("Exit code: 0\nWall time: 1 seconds\nOutput:\nhello\n"),
            "hello\n"
        );
        assert_eq!(
            printed_output("Exit code: 1\nWall time: 1 seconds\nOutput:\n"),
            "Exit code: 1\nWall time: 1 seconds\nOutput:\n"
        );
        assert_eq!(printed_output("hello\nOutput:\nworld"), "hello\nOutput:\nworld");
        assert_eq!(printed_output(""), "");
    }

    #[test]
    fn every_form_of_an_output_has_an_outcome() {
        let cases = [
            (
                "Chunk ID: a1b2c3\nWall time: 0.1000 seconds\nProcess exited with code 1\nOutput:\nExit code: 0",
                "Some(false), exit 1, 100 ms",
            ),
            (
                "Command: /bin/zsh -lc 'go test'\nChunk ID: a\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\n",
                "Some(true), exit 0, 1000 ms",
            ),
            (
                "Chunk ID: a\nWall time: 5.0 seconds\nProcess running with session ID 3\nOutput:\n",
                "None, 5000 ms, runs as 3",
            ),
            (
                "Exit code: 101\nWall time: 2.5 seconds\nOutput:\nx",
                "Some(false), exit 101, 2500 ms",
            ),
            (
                "Script completed\nWall time 0.2 seconds\nOutput:\n",
                "Some(true), 200 ms",
            ),
            ("Script failed\nWall time 0.2 seconds\nOutput:\n", "Some(false), 200 ms"),
            (
                "Script running with cell ID 4\nWall time 10.0 seconds\n",
                "None, 10000 ms, runs as 4",
            ),
            (
                r#"{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.25}}"#,
                "Some(false), exit 2, 250 ms",
            ),
            (
                "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds",
                "Some(false), exit 124, 10000 ms",
            ),
            ("command timed out after 10 milliseconds", "Some(false)"),
            ("aborted by user after 3.1s", "Some(false), 3100 ms, aborted"),
            (
                "Wall time: 3.1 seconds\naborted by user",
                "Some(false), 3100 ms, aborted",
            ),
            ("exec command rejected by user", "Some(false), denied"),
            ("failed in sandbox MacosSeatbelt with execution error: x", "Some(false)"),
            ("Plan updated", "None"),
            (r#"{"agent_id":"x"}"#, "None"),
            ("", "None"),
        ];
        for (text, parsed) in cases {
            assert_eq!(check(text), parsed, "{text}");
        }
    }
}
