//! What a row of role `user` is, and who said it.
//!
//! Grok writes its own reminders, wake-ups and schedules into the user's rows. Marks tell most of them; the
//! text's own shape tells the rest.

/// Who sits on the other side of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Speaker {
    #[default]
    Human,
    /// Nobody: a script started it.
    Program,
    /// The agent that made this one.
    Agent,
}

/// A text of role `user`, judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// A human asks or directs.
    Prompt(&'a str),
    /// A human speaks into the running turn.
    Steering(&'a str),
    /// A human ran a shell command by `!`.
    Shell(&'a str),
    /// A human's command that Grok carries out by itself.
    Local(&'a str),
    /// Another agent sent a message.
    OtherAgent(&'a str),
    /// An agent gave a subagent its task.
    Delegated(&'a str),
    /// A program asked.
    Program(&'a str),
    /// Grok itself wrote it.
    Harness(&'a str),
    /// Nothing was said.
    Nothing,
}

/// The marks of a row of role `user`.
#[derive(Debug, Default)]
pub(super) struct Marks<'a> {
    /// Grok made the prompt up: a wake-up, a reminder, a schedule.
    pub(super) is_made_up: bool,
    /// An echo of something Grok did without the model.
    pub(super) is_host_turn: bool,
    /// It was put into a running turn.
    pub(super) is_interjection: bool,
    /// The command of a prompt that begins with `!`.
    pub(super) shell: Option<&'a str>,
    /// The message of another agent.
    pub(super) is_from_agent: bool,
}

/// What Grok puts before a message that came while it worked.
const INTERJECTION: &str = "The user sent a message while you were working:";

/// Beginnings of prompt ids that Grok gives to prompts it made up.
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

/// Whether Grok made up the prompt of this id.
pub(super) fn is_made_up(prompt_id: &str) -> bool {
    MADE_UP.iter().any(|prefix| prompt_id.starts_with(prefix))
}

/// Judges a text.
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
        // An echo is the human's only where it is a command the human typed.
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

/// The human's own words inside what the model was told, and whether they came while it worked.
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

/// Takes off the blocks of context before a text.
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
