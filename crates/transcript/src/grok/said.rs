//! Classifies rows of role `user`: what they are, and who wrote them.
//!
//! Grok writes its own reminders, wake-ups and schedules into rows of the user. Most of them are marked; the others
//! are recognized by their text.

/// Who writes the prompts of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PromptSource {
    #[default]
    Human,
    /// A script started the session.
    Program,
    /// The agent that started this one.
    Agent,
}

/// A classified text of role `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrokUserText<'a> {
    /// A human asks or directs.
    Prompt(&'a str),
    /// A human sends a message into the running turn.
    Steering(&'a str),
    /// A human ran a shell command with `!`.
    Shell(&'a str),
    /// A human's command that Grok runs by itself.
    Local(&'a str),
    /// Another agent sent a message.
    OtherAgent(&'a str),
    /// An agent gave a subagent its task.
    Delegated(&'a str),
    /// A program sent a prompt.
    Program(&'a str),
    /// Written by Grok itself.
    Harness(&'a str),
    /// An empty text.
    Nothing,
}

/// The marks of a row of role `user`.
#[derive(Debug, Default)]
pub(super) struct RowMarks<'a> {
    /// True if Grok generated the prompt: a wake-up, a reminder, a schedule.
    pub(super) is_generated: bool,
    /// True for an echo of something Grok did without the model.
    pub(super) is_host_turn: bool,
    /// True if it was inserted into a running turn.
    pub(super) is_interjection: bool,
    /// The command of a prompt that starts with `!`.
    pub(super) shell: Option<&'a str>,
    /// True for a message of another agent.
    pub(super) is_from_agent: bool,
}

/// Grok's prefix of a message that arrived while it worked.
const INTERJECTION: &str = "The user sent a message while you were working:";

/// Prefixes of the ids of prompts that Grok generated.
const GENERATED_PREFIXES: &[&str] = &[
    "task-completed-",
    "subagent-completed-",
    "workflow-completed-",
    "notification",
    "goal-summary-",
    "goal-classifier-",
    "scheduler-fired-",
    "plan-resume-",
];

/// Blocks of context that Grok puts around the human's own words.
const CONTEXT: &[(&str, &str)] = &[
    ("<user_info>", "</user_info>"),
    ("<git_status>", "</git_status>"),
    ("<system-reminder>", "</system-reminder>"),
    ("<agent_skills>", "</agent_skills>"),
    ("<mcp_servers>", "</mcp_servers>"),
    ("<project_layout>", "</project_layout>"),
    ("<background_context>", "</background_context>"),
    ("<skill_information>", "</skill_information>"),
    ("<environment_context>", "</environment_context>"),
];

/// Returns `true` if Grok generated the prompt with this id.
pub(super) fn is_generated(prompt_id: &str) -> bool {
    GENERATED_PREFIXES.iter().any(|prefix| prompt_id.starts_with(prefix))
}

/// Classifies a text.
pub(super) fn classify<'a>(text: &'a str, marks: &RowMarks<'a>, prompt_source: PromptSource) -> GrokUserText<'a> {
    let said = text.trim();
    if marks.is_generated || said.starts_with("<monitor-event") {
        return GrokUserText::Harness(said);
    }
    if marks.is_from_agent {
        return GrokUserText::OtherAgent(said);
    }
    let (is_framed, words) = own_words(said);
    if words.is_empty() {
        return if said.is_empty() {
            GrokUserText::Nothing
        } else {
            GrokUserText::Harness(said)
        };
    }
    match prompt_source {
        PromptSource::Agent => return GrokUserText::Delegated(words),
        PromptSource::Program => return GrokUserText::Program(words),
        PromptSource::Human => {}
    }
    if let Some(command) = marks.shell {
        return GrokUserText::Shell(command);
    }
    if marks.is_host_turn {
        // An echo belongs to the human only if it is a command the human typed.
        return if words.starts_with('/') {
            GrokUserText::Local(words)
        } else {
            GrokUserText::Harness(words)
        };
    }
    if is_framed || marks.is_interjection {
        return GrokUserText::Steering(words);
    }
    GrokUserText::Prompt(words)
}

/// Returns whether a text arrived while the model worked, and the human's own words in it.
pub(super) fn own_words(text: &str) -> (bool, &str) {
    let text = text.trim();
    let (is_framed, text) = match text.strip_prefix(INTERJECTION) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some((_, query)) = text.split_once("<user_query>") {
        let query = query.split_once("</user_query>").map_or(query, |(query, _)| query);
        return (is_framed, query.trim());
    }
    (is_framed, strip_context(text))
}

/// Removes the blocks of context before a text.
fn strip_context(text: &str) -> &str {
    let mut text = text.trim();
    while let Some((_, close)) = CONTEXT.iter().find(|(open, _)| text.starts_with(open)) {
        text = match text.split_once(close) {
            Some((_, rest)) => rest.trim_start(),
            None => "",
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_humans_own_words_are_a_prompt() {
        let by = |text| classify(text, &RowMarks::default(), PromptSource::Human);
        assert_eq!(by(" fix it "), GrokUserText::Prompt("fix it"));
        assert_eq!(
            by("<user_info>\nOS</user_info>\n<git_status>x</git_status>fix it"),
            GrokUserText::Prompt("fix it")
        );
        assert_eq!(
            by("<user_info>\nOS</user_info>"),
            GrokUserText::Harness("<user_info>\nOS</user_info>")
        );
        assert_eq!(
            by("note\n<user_query>\nfix it\n</user_query>\ntail"),
            GrokUserText::Prompt("fix it")
        );
        let steering = "The user sent a message while you were working:\n<user_query>\nstop that\n</user_query>";
        assert_eq!(by(steering), GrokUserText::Steering("stop that"));
        assert_eq!(by("  "), GrokUserText::Nothing);
        assert_eq!(
            by("<system-reminder>never closed"),
            GrokUserText::Harness("<system-reminder>never closed")
        );
    }

    #[test]
    fn marks_and_authors_decide_if_the_text_does_not() {
        let generated = RowMarks {
            is_generated: true,
            ..RowMarks::default()
        };
        assert_eq!(
            classify("wake up", &generated, PromptSource::Human),
            GrokUserText::Harness("wake up")
        );
        let echo = RowMarks {
            is_host_turn: true,
            ..RowMarks::default()
        };
        assert_eq!(
            classify("/context", &echo, PromptSource::Human),
            GrokUserText::Local("/context")
        );
        assert_eq!(
            classify("Context: 3 %", &echo, PromptSource::Human),
            GrokUserText::Harness("Context: 3 %")
        );
        let shell = RowMarks {
            shell: Some("ls"),
            ..RowMarks::default()
        };
        assert_eq!(classify("!ls", &shell, PromptSource::Human), GrokUserText::Shell("ls"));
        assert_eq!(
            classify("count", &RowMarks::default(), PromptSource::Agent),
            GrokUserText::Delegated("count")
        );
        assert_eq!(
            classify("count", &RowMarks::default(), PromptSource::Program),
            GrokUserText::Program("count")
        );
        assert!(is_generated("subagent-completed-7") && !is_generated("019f-7"));
    }
}
