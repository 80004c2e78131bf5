//! The input of a hook: which session is meant and what happened to it, never its content.
//!
//! The agents spell the same facts in two ways, and one agent runs the hooks that were installed for another. So the
//! caller is identified by the spelling and by the path of the log, not by the agent that the hook was installed for.

use crate::agent::Agent;
use crate::wire::{WireText, wire};

/// One call of a hook, reduced to the facts about the session as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    pub agent: Agent,
    pub session_id: String,
    /// The event in snake case, whatever the agent's spelling: `session_end`.
    pub event: String,
    pub transcript_path: Option<String>,
    /// The log of the subagent that the call is about.
    pub agent_transcript_path: Option<String>,
    pub cwd: Option<String>,
    /// Why a session or a turn ended.
    pub reason: Option<String>,
    pub error: Option<String>,
}

wire! {
    /// The fields that are read. All others are ignored.
    struct HookPayload<'p> {
        session_id: WireText<'p> = "session_id",
        session_id_camel: WireText<'p> = "sessionId",
        event: WireText<'p> = "hook_event_name",
        event_camel: WireText<'p> = "hookEventName",
        transcript_path: WireText<'p> = "transcript_path",
        transcript_path_camel: WireText<'p> = "transcriptPath",
        agent_transcript_path: WireText<'p> = "agent_transcript_path",
        cwd: WireText<'p> = "cwd",
        reason: WireText<'p> = "reason",
        error: WireText<'p> = "error",
    }
}

/// Parses the standard input of a hook. `made_for` is the agent that the hook was installed for. Returns `None` if
/// there is no session or no event.
pub fn hook_call(bytes: &[u8], made_for: Agent) -> Option<HookCall> {
    let payload: HookPayload<'_> = serde_json::from_slice(bytes).ok()?;
    let owned = |text: &WireText<'_>| text.get().map(str::to_owned);
    // Only Grok uses camel case, and it runs the hooks of others.
    let is_grok = payload.event_camel.get().or(payload.session_id_camel.get()).is_some();
    Some(HookCall {
        agent: if is_grok { Agent::Grok } else { made_for },
        session_id: owned(&payload.session_id_camel).or(owned(&payload.session_id))?,
        event: to_snake_case(payload.event_camel.get().or(payload.event.get())?),
        transcript_path: owned(&payload.transcript_path_camel).or(owned(&payload.transcript_path)),
        agent_transcript_path: owned(&payload.agent_transcript_path),
        cwd: owned(&payload.cwd),
        reason: owned(&payload.reason),
        error: owned(&payload.error),
    })
}

/// Converts `SessionEnd` to `session_end`, so that both are one event.
fn to_snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_recognizes_another_agent_that_runs_it() {
        let own = br#"{"session_id":"5e55","transcript_path":"/home/ada/.claude/projects/a/5e55.jsonl",
            "cwd":"/home/ada/a","hook_event_name":"SessionEnd","reason":"clear"}"#;
        let others =
            br#"{"hookEventName":"session_end","sessionId":"019f","cwd":"/home/ada/a","workspaceRoot":"/home/ada/a",
            "transcriptPath":"/home/ada/.grok/sessions/a/019f/updates.jsonl","reason":"shutdown","turnCount":3}"#;
        let own = hook_call(own, Agent::Claude).unwrap();
        let others = hook_call(others, Agent::Claude).unwrap();
        assert_eq!((own.agent, own.event.as_str()), (Agent::Claude, "session_end"));
        assert_eq!((others.agent, others.event.as_str()), (Agent::Grok, "session_end"));
        assert_eq!(others.session_id, "019f");
        assert!(others.transcript_path.unwrap().ends_with("updates.jsonl"));
        assert_eq!(others.reason.as_deref(), Some("shutdown"));
    }

    #[test]
    fn content_is_never_kept_and_a_bad_value_loses_only_itself() {
        let call = br#"{"session_id":"t1","hook_event_name":"Stop","transcript_path":null,"cwd":7,
            "last_assistant_message":"the password is hunter2","prompt":"secret"}"#;
        let call = hook_call(call, Agent::Codex).unwrap();
        assert_eq!(call.agent, Agent::Codex);
        assert_eq!((call.transcript_path.clone(), call.cwd.clone()), (None, None));
        let printed = format!("{call:?}");
        assert!(!printed.contains("hunter2") && !printed.contains("secret"));
        for nothing in [
            &b""[..],
            b"{}",
            b"[]",
            b"{\"session_id\":\"x\"}",
            b"{\"hook_event_name\":\"Stop\"}",
            b"\xff{",
        ] {
            assert_eq!(hook_call(nothing, Agent::Claude), None);
        }
    }

    #[test]
    fn every_event_has_one_name() {
        for (spelled, name) in [
            ("SessionStart", "session_start"),
            ("StopFailure", "stop_failure"),
            ("SubagentStop", "subagent_stop"),
            ("stop", "stop"),
            ("session_end", "session_end"),
        ] {
            assert_eq!(to_snake_case(spelled), name);
        }
    }
}
