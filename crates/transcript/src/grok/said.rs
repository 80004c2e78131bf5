//! Classifies rows of role `user`: what they are, and who wrote them.
//!
//! Grok writes its own reminders, wake-ups and schedules into rows of the user. Most of them are marked; the others
//! are recognized by their text.

/// Who writes the prompts of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Speaker {
    #[default]
    Human,
    /// A script started the session.
    Program,
    /// The agent that started this one.
    Agent,
}

/// A classified text of role `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'a> {
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
pub(super) struct Marks<'a> {
    /// True if Grok generated the prompt: a wake-up, a reminder, a schedule.
    pub(super) is_made_up: bool,
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
const MADE_UP: &[&str] = &[
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
pub(super) fn is_made_up(prompt_id: &str) -> bool {
    MADE_UP.iter().any(|prefix| prompt_id.starts_with(prefix))
}

/// Classifies a text.
pub(super) fn judge<'a>(text: &'a str, marks: &Marks<'a>, speaker: Speaker) -> Said<'a> {
    let said = text.trim();
    if marks.is_made_up || said.starts_with("<monitor-event") {
        return Said::Harness(said);
    }
    if marks.is_from_agent {
        return Said::OtherAgent(said);
    }
    let (is_framed, words) = words(said);
    if words.is_empty() {
        return if said.is_empty() {
            Said::Nothing
        } else {
            Said::Harness(said)
        };
    }
    match speaker {
        Speaker::Agent => return Said::Delegated(words),
        Speaker::Program => return Said::Program(words),
        Speaker::Human => {}
    }
    if let Some(command) = marks.shell {
        return Said::Shell(command);
    }
    if marks.is_host_turn {
        // An echo belongs to the human only if it is a command the human typed.
        return if words.starts_with('/') {
            Said::Local(words)
        } else {
            Said::Harness(words)
        };
    }
    if is_framed || marks.is_interjection {
        return Said::Steering(words);
    }
    Said::Prompt(words)
}

/// Returns whether a text arrived while the model worked, and the human's own words in it.
pub(super) fn words(text: &str) -> (bool, &str) {
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
        let by = |text| judge(text, &Marks::default(), Speaker::Human);
        assert_eq!(by(" fix it "), Said::Prompt("fix it"));
        assert_eq!(
            by("<user_info>\nOS</user_info>\n<git_status>x</git_status>fix it"),
            Said::Prompt("fix it")
        );
        assert_eq!(
            by("<user_info>\nOS</user_info>"),
            Said::Harness("<user_info>\nOS</user_info>")
        );
        assert_eq!(
            by("note\n<user_query>\nfix it\n</user_query>\ntail"),
            Said::Prompt("fix it")
        );
        let steering = "The user sent a message while you were working:\n<user_query>\nstop that\n</user_query>";
        assert_eq!(by(steering), Said::Steering("stop that"));
        assert_eq!(by("  "), Said::Nothing);
        assert_eq!(
            by("<system-reminder>never closed"),
            Said::Harness("<system-reminder>never closed")
        );
    }

    #[test]
    fn marks_and_speakers_decide_what_the_text_leaves_open() {
        let made_up = Marks {
            is_made_up: true,
            ..Marks::default()
        };
        assert_eq!(judge("wake up", &made_up, Speaker::Human), Said::Harness("wake up"));
        let echo = Marks {
            is_host_turn: true,
            ..Marks::default()
        };
        assert_eq!(judge("/context", &echo, Speaker::Human), Said::Local("/context"));
        assert_eq!(
            judge("Context: 3 %", &echo, Speaker::Human),
            Said::Harness("Context: 3 %")
        );
        let shell = Marks {
            shell: Some("ls"),
            ..Marks::default()
        };
        assert_eq!(judge("!ls", &shell, Speaker::Human), Said::Shell("ls"));
        assert_eq!(
            judge("count", &Marks::default(), Speaker::Agent),
            Said::Delegated("count")
        );
        assert_eq!(
            judge("count", &Marks::default(), Speaker::Program),
            Said::Program("count")
        );
        assert!(is_made_up("subagent-completed-7") && !is_made_up("019f-7"));
    }
}
