//! Classifies texts of role `user`: written by a human, or by the harness in the human's name.
//!
//! Codex wraps what it injects in known markers. A message with one marked part is injected as a whole, which is how
//! Codex itself distinguishes them.

use std::borrow::Cow;

use super::record::CodexContent;

/// A classified message of role `user`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodexUserText<'a> {
    /// A prompt for the agent.
    Prompt(Cow<'a, str>),
    /// The context of a turn, which belongs to the prompt that follows.
    Setup,
    /// A command that the human ran in the agent's terminal.
    Shell(&'a str),
    /// The human stopped the turn.
    Interrupt,
    /// Another agent reports that it is done.
    OtherAgent,
    /// A message of the harness while a turn runs.
    Harness,
}

/// Classifies a message by its parts.
pub(super) fn classify<'a>(content: &'a CodexContent<'_>) -> CodexUserText<'a> {
    let marked = match content {
        CodexContent::Nothing => None,
        CodexContent::Text(text) => classify_marked(text),
        CodexContent::Parts(parts) => parts.iter().find_map(|part| classify_marked(part.text.or_empty())),
    };
    marked.unwrap_or_else(|| CodexUserText::Prompt(prompt(words(content))))
}

/// Returns the text of a message. Images and the tags around them only count if there is nothing else.
pub(super) fn words<'a>(content: &'a CodexContent<'_>) -> Cow<'a, str> {
    let CodexContent::Parts(parts) = content else {
        return content.text();
    };
    let texts = parts.iter().filter_map(|part| part.text.get());
    let is_tag = |text: &str| text.starts_with("<image") || text.starts_with("</image");
    let texts_without_tags: Vec<&str> = texts.filter(|text| !is_tag(text.trim())).collect();
    match texts_without_tags[..] {
        [] => content.text(),
        [only] => only.into(),
        _ => texts_without_tags.join("\n").into(),
    }
}

/// Classifies a text by the marker around it, if there is one.
fn classify_marked(text: &str) -> Option<CodexUserText<'_>> {
    const SETUP: [&str; 12] = [
        "# AGENTS.md instructions",
        "<environment_context>",
        "<user_instructions>",
        "<INSTRUCTIONS>",
        "<skill>",
        "<codex_internal_context",
        "<goal_context>",
        "<recommended_plugins>",
        "<permissions instructions>",
        "<collaboration_mode>",
        "<skills_instructions>",
        "<apps_instructions>",
    ];
    const HARNESS: [&str; 5] = [
        "<hook_prompt",
        "Warning: The maximum number of unified exec processes",
        "Warning: apply_patch was requested via",
        "Warning: Your account was flagged",
        "<EXTERNAL SESSION IMPORTED>",
    ];
    let text = text.trim();
    let starts = |marker: &&str| text.starts_with(*marker);
    if let Some(inside) = text.strip_prefix("<user_shell_command>") {
        return Some(CodexUserText::Shell(command(inside)));
    }
    if text.starts_with("<turn_aborted>") {
        return Some(CodexUserText::Interrupt);
    }
    if text.starts_with("<subagent_notification>") {
        return Some(CodexUserText::OtherAgent);
    }
    if HARNESS.iter().any(starts) {
        return Some(CodexUserText::Harness);
    }
    (SETUP.iter().any(starts) || is_external(text)).then_some(CodexUserText::Setup)
}

/// Returns `true` for context from a client: `<external_KEY> … </external_KEY>`.
fn is_external(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("<external_") else {
        return false;
    };
    let key = rest.split('>').next().unwrap_or_default();
    !key.is_empty() && text.ends_with(&format!("</external_{key}>"))
}

/// Returns the command in the record of a command that the human ran.
fn command(text: &str) -> &str {
    let inside = text.split_once("<command>").map_or(text, |(_, rest)| rest);
    inside.split("</").next().unwrap_or(inside).trim()
}

/// Returns the working directory from the context of a turn, which is its only place in the oldest versions.
pub(super) fn cwd_in(text: &str) -> Option<&str> {
    let inside = text.split_once("<environment_context>")?.1;
    let directory = match inside.split_once("<cwd>") {
        Some((_, rest)) => rest.split("</cwd>").next(),
        None => inside.split_once("Current working directory: ")?.1.lines().next(),
    };
    directory.map(str::trim).filter(|cwd| !cwd.is_empty())
}

/// Returns the human's own words of a prompt, without the open files and selections that editors insert before them.
pub(super) fn prompt(text: Cow<'_, str>) -> Cow<'_, str> {
    const REQUEST: &str = "## My request for Codex:";
    let Some(at) = text.find(REQUEST) else { return text };
    let words = text[at + REQUEST.len()..].trim();
    match words.is_empty() {
        true => text,
        false => Cow::Owned(words.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> String {
        let content: CodexContent<'_> = serde_json::from_str(json).unwrap();
        format!("{:?}", classify(&content))
    }

    #[test]
    fn each_marker_identifies_the_author() {
        let cases = [
            (r#""fix the login""#, r#"Prompt("fix the login")"#),
            (
                r#"[{"type":"input_text","text":"fix"},{"type":"input_image"}]"#,
                r#"Prompt("fix")"#,
            ),
            (
                r#"[{"text":"look"},{"text":"<image name=[Image #1]>"},{"type":"input_image"},{"text":"</image>"}]"#,
                r#"Prompt("look")"#,
            ),
            (r#"[{"type":"input_image"}]"#, r#"Prompt("[image]")"#),
            (r##""# AGENTS.md instructions for /w""##, "Setup"),
            (r##"[{"text":"hello"},{"text":" <environment_context>…"}]"##, "Setup"),
            (r#""<external_notes>x</external_notes>""#, "Setup"),
            (
                r#""<external_notes> is a tag""#,
                r#"Prompt("<external_notes> is a tag")"#,
            ),
            (r#""<turn_aborted>\n…""#, "Interrupt"),
            (r#""<subagent_notification>{}""#, "OtherAgent"),
            (r#""<hook_prompt hook_run_id=\"1\">no</hook_prompt>""#, "Harness"),
            (r#""Warning: apply_patch was requested via shell""#, "Harness"),
            (
                r#""<user_shell_command>\n<command>\nls -l\n</command>\n<result>x</result>""#,
                r#"Shell("ls -l")"#,
            ),
        ];
        for (json, texts_without_tags) in cases {
            assert_eq!(check(json), texts_without_tags, "{json}");
        }
    }

    #[test]
    fn the_context_of_a_turn_contains_the_directory() {
        let cases = [
            (
                "<environment_context>\n  <cwd>/home/ada/app</cwd>\n</environment_context>",
                Some("/home/ada/app"),
            ),
            (
                "<environment_context>\nCurrent working directory: /home/ada/my app\nApproval policy: never\n",
                Some("/home/ada/my app"),
            ),
            ("<environment_context>\n  <shell>zsh</shell>\n", None),
            ("<environment_context><cwd></cwd>", None),
            ("<cwd>/home/ada</cwd>", None),
        ];
        for (text, cwd) in cases {
            assert_eq!(cwd_in(text), cwd, "{text}");
        }
    }

    #[test]
    fn what_an_editor_inserts_before_a_prompt_is_removed() {
        let text = r##""# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nfix it\n""##;
        assert_eq!(check(text), r#"Prompt("fix it")"#);
        assert_eq!(
            check(r###""## My request for Codex:\n""###),
            "Prompt(\"## My request for Codex:\\n\")"
        );
    }
}
