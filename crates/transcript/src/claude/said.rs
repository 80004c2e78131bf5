//! Classifies the texts of role `user`: what they are, and who wrote them.
//!
//! Most such records are not written by a human. Claude Code does not mark the author reliably, so the shape of the
//! text decides first; the fields `origin`, `promptSource` and `isMeta` decide if the text does not.

use super::record::{ClaudeRecord, TaskRegistration};

/// A classified text of role `user`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClaudeUserText<'a> {
    /// A human asks or directs.
    Prompt(&'a str),
    /// A human's slash command; `local` ones never reach the model.
    Command { name: &'a str, args: &'a str, local: bool },
    /// A human ran a shell command with `!`.
    Shell(&'a str),
    /// A human stopped the agent.
    Interrupt,
    /// A human wrote a note for the memory file with `#`.
    Note(&'a str),
    /// Another agent sent a message.
    OtherAgent(&'a str),
    /// An agent gave a subagent its task.
    Delegated(&'a str),
    /// A program sent a prompt through the SDK.
    Program(&'a str),
    /// Written by Claude Code itself.
    Harness(&'a str),
    /// An empty text.
    Nothing,
}

/// Slash commands that Claude Code runs by itself. Any other one is a skill or a prompt. Sorted for binary search.
const LOCAL_COMMANDS: &[&str] = &[
    "/add-dir",
    "/agents",
    "/allowed-tools",
    "/app",
    "/branch",
    "/bug",
    "/chrome",
    "/clear",
    "/color",
    "/compact",
    "/config",
    "/context",
    "/copy",
    "/cost",
    "/desktop",
    "/diff",
    "/doctor",
    "/effort",
    "/exit",
    "/export",
    "/extra-usage",
    "/fast",
    "/feedback",
    "/fork",
    "/help",
    "/hooks",
    "/ide",
    "/install-github-app",
    "/install-slack-app",
    "/keybindings",
    "/login",
    "/logout",
    "/mcp",
    "/memory",
    "/migrate-installer",
    "/mobile",
    "/model",
    "/new",
    "/output-style",
    "/passes",
    "/permissions",
    "/plan",
    "/plugin",
    "/privacy-settings",
    "/quit",
    "/rate-limit-options",
    "/release-notes",
    "/reload-plugins",
    "/remote-control",
    "/remote-env",
    "/rename",
    "/reset",
    "/resume",
    "/rewind",
    "/sandbox",
    "/settings",
    "/skills",
    "/stats",
    "/status",
    "/stickers",
    "/tag",
    "/tasks",
    "/terminal-setup",
    "/theme",
    "/think-back",
    "/thinkback-play",
    "/todos",
    "/upgrade",
    "/usage",
    "/vim",
    "/voice",
];

/// Prefixes of texts that Claude Code writes in the user's name.
const HARNESS_OPENINGS: &[&str] = &[
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "Caveat: The messages below",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<bash-notification>",
    "<agent-notification>",
    "<fork-boilerplate>",
    "Stop hook feedback:",
    "Operation stopped by hook:",
    "This session is being continued from a previous conversation",
];

/// Blocks that an editor or Claude Code inserts before the human's own words.
const PREFIXES: &[(&str, &str)] = &[
    ("<system-reminder>", "</system-reminder>"),
    ("<ide_opened_file>", "</ide_opened_file>"),
    ("<ide_selection>", "</ide_selection>"),
    ("<ide_diagnostics>", "</ide_diagnostics>"),
];

/// Classifies one text of a user record. `delegated` is true if the record is a subagent's, `after_caveat` if its
/// parent is the caveat that precedes local commands.
pub(super) fn classify<'a>(
    record: &ClaudeRecord<'_>,
    text: &'a str,
    delegated: bool,
    after_caveat: bool,
) -> ClaudeUserText<'a> {
    let said = text.trim();
    if is_interrupt(said) {
        return ClaudeUserText::Interrupt;
    }
    if record.is_compact_summary.0 || HARNESS_OPENINGS.iter().any(|opening| said.starts_with(opening)) {
        return ClaudeUserText::Harness(said);
    }
    if delegated {
        return if said == "Warmup" || record.is_meta.0 {
            ClaudeUserText::Harness(said)
        } else {
            ClaudeUserText::Delegated(said)
        };
    }
    let by_other = record.is_meta.0 || record.origin.kind.get().is_some_and(|kind| kind != "human");
    if !by_other && (said.starts_with("<command-name>") || said.starts_with("<command-message>")) {
        return command(said, after_caveat);
    }
    if let Some(shell) = inside(said, "<bash-input>", "</bash-input>") {
        return ClaudeUserText::Shell(shell);
    }
    if let Some(note) = inside(said, "<user-memory-input>", "</user-memory-input>") {
        return ClaudeUserText::Note(note);
    }
    let words = strip_prefixes(said);
    if words.is_empty() {
        return if said.is_empty() {
            ClaudeUserText::Nothing
        } else {
            ClaudeUserText::Harness(said)
        };
    }
    classify_by_fields(record, words)
}

/// Classifies by the fields of the record, if the text alone does not decide.
fn classify_by_fields<'a>(record: &ClaudeRecord<'_>, words: &'a str) -> ClaudeUserText<'a> {
    let origin = record.origin.kind.get();
    let entrypoint = record.entrypoint.or_empty();
    // The desktop app and the editors name themselves `claude-…`, but so does the GitHub Action.
    let by_person = entrypoint.starts_with("claude-") && !entrypoint.starts_with("claude-code-");
    let by_hand = origin == Some("human") || by_person;
    let teammate =
        words.starts_with("<teammate-message") || words.starts_with("Another Claude session sent a message:");
    if teammate || matches!(origin, Some("peer" | "coordinator")) {
        ClaudeUserText::OtherAgent(words)
    } else if record.is_meta.0 || origin.is_some_and(|kind| kind != "human") {
        ClaudeUserText::Harness(words)
    } else {
        match record.prompt_source.get() {
            Some("system") if origin != Some("human") => ClaudeUserText::Harness(words),
            Some("sdk") if !by_hand => ClaudeUserText::Program(words),
            _ => ClaudeUserText::Prompt(words),
        }
    }
}

/// Classifies a queued text, which has no record of its own.
pub(super) fn classify_queued(text: &str) -> ClaudeUserText<'_> {
    let said = text.trim();
    let word = said.split_whitespace().next().unwrap_or_default();
    if said.is_empty() {
        ClaudeUserText::Nothing
    } else if HARNESS_OPENINGS.iter().any(|opening| said.starts_with(opening))
        || TaskRegistration::parse(said).is_some()
    {
        ClaudeUserText::Harness(said)
    } else if said.starts_with("<teammate-message") {
        ClaudeUserText::OtherAgent(said)
    } else if is_local(word) {
        ClaudeUserText::Command {
            name: word,
            args: said[word.len()..].trim(),
            local: true,
        }
    } else {
        ClaudeUserText::Prompt(strip_prefixes(said))
    }
}

/// Returns `true` if a text is exactly the marker of an interrupt by the human.
pub(super) fn is_interrupt(text: &str) -> bool {
    matches!(
        text.trim(),
        "[Request interrupted by user]" | "[Request interrupted by user for tool use]"
    )
}

fn command(said: &str, after_caveat: bool) -> ClaudeUserText<'_> {
    let name = inside(said, "<command-name>", "</command-name>").unwrap_or_default();
    let args = inside(said, "<command-args>", "</command-args>").unwrap_or_default();
    // Commands for the model start with their message; local ones start with their name and follow a caveat.
    let named_first = said.starts_with("<command-name>");
    ClaudeUserText::Command {
        name,
        args,
        local: is_local(name) || (named_first && after_caveat),
    }
}

fn is_local(name: &str) -> bool {
    LOCAL_COMMANDS.binary_search(&name).is_ok()
}

/// Returns the trimmed text between two tags. An unclosed tag extends to the end.
fn inside<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close).map_or(rest, |(inner, _)| inner).trim())
}

/// Removes leading blocks that are not the human's words.
fn strip_prefixes(text: &str) -> &str {
    let mut rest = text;
    'strip: loop {
        for (open, close) in PREFIXES {
            if rest.starts_with(open) {
                rest = rest.split_once(close).map_or("", |(_, after)| after).trim_start();
                continue 'strip;
            }
        }
        return rest;
    }
}

/// Returns the human's words in a denied tool call, and whether they direct the agent.
pub(super) fn denial_words(text: &str) -> Option<(&str, bool)> {
    let (_, words) = text.split_once("the user said:")?;
    let words = words
        .split("\n\nNote: The user's next message may contain")
        .next()
        .unwrap_or(words)
        .trim();
    let boilerplate = words.starts_with("The user wants to clarify these questions");
    (!words.is_empty()).then_some((words, !boilerplate))
}

/// Returns `true` if a failed result is a human's refusal.
pub(super) fn is_denial(record: &ClaudeRecord<'_>, text: &str) -> bool {
    text.starts_with("The user doesn't want to proceed with this tool use")
        || text.starts_with("The user doesn't want to take this action right now")
        || text.starts_with("The agent proposed a plan that was rejected by the user")
        || record.denial.get() == Some("user-rejected")
        || record.tool_result.text.or_empty() == "User rejected tool use"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(record: &str) -> String {
        let record: ClaudeRecord<'_> = serde_json::from_str(record).unwrap();
        let text = record
            .message
            .0
            .as_ref()
            .map(|message| message.content.text())
            .unwrap_or_default();
        format!("{:?}", classify(&record, &text, record.is_sidechain.0, false))
    }

    #[test]
    fn the_local_commands_are_sorted() {
        assert!(LOCAL_COMMANDS.is_sorted());
    }

    #[test]
    fn a_command_is_local_by_its_name_or_its_caveat() {
        let name_first = "<command-name>/model</command-name>\n  <command-message>model</command-message>";
        assert_eq!(
            command(name_first, false),
            ClaudeUserText::Command {
                name: "/model",
                args: "",
                local: true
            }
        );
        let unknown = "<command-name>/frob</command-name>\n  <command-args>it</command-args>";
        assert_eq!(
            command(unknown, true),
            ClaudeUserText::Command {
                name: "/frob",
                args: "it",
                local: true
            }
        );
        assert_eq!(
            command(unknown, false),
            ClaudeUserText::Command {
                name: "/frob",
                args: "it",
                local: false
            }
        );
        let message_first = "<command-message>ship</command-message>\n<command-name>/ship</command-name>";
        assert_eq!(
            command(message_first, true),
            ClaudeUserText::Command {
                name: "/ship",
                args: "",
                local: false
            }
        );
    }

    #[test]
    fn text_after_an_editors_prefix_is_the_prompt() {
        assert_eq!(strip_prefixes("<ide_selection>x</ide_selection>\nfix it"), "fix it");
        assert_eq!(
            strip_prefixes("<system-reminder>a</system-reminder><system-reminder>b"),
            ""
        );
    }

    #[test]
    fn an_sdk_prompt_is_a_programs_unless_a_person_typed_it() {
        let by = |extra: &str| {
            classified(&format!(
                r#"{{"type":"user","promptSource":"sdk","message":{{"content":"go on"}}{extra}}}"#
            ))
        };
        assert_eq!(by(""), r#"Program("go on")"#);
        assert_eq!(by(r#","origin":{"kind":"human"}"#), r#"Prompt("go on")"#);
        assert_eq!(by(r#","entrypoint":"claude-desktop""#), r#"Prompt("go on")"#);
    }

    #[test]
    fn only_the_humans_words_of_a_denial_are_returned() {
        let text = "… the user said:\nuse tabs\n\nNote: The user's next message may contain a correction";
        assert_eq!(denial_words(text), Some(("use tabs", true)));
        assert_eq!(denial_words("STOP what you are doing"), None);
        let clarify = "the user said:\nThe user wants to clarify these questions.\n  This means…";
        assert!(matches!(denial_words(clarify), Some((_, false))));
    }
}
