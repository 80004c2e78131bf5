//! The texts of a line of any agent: those that are shown, and those that are searched.

use crate::agent::Agent;
use crate::texts::{Body, Text, searchable};
use crate::{claude, codex, grok};

/// Returns the searchable texts of a line, decoded, in the order of their blocks. Empty ones are left out.
pub fn texts(agent: Agent, line: &[u8]) -> Vec<Text> {
    searchable(match agent {
        Agent::Claude => claude::blocks(line),
        Agent::Grok => grok::blocks(line),
        Agent::Codex => codex::blocks(line),
    })
}

/// Returns the full texts of a line's blocks, in the order of [`crate::SessionEvent::block`].
pub fn bodies(agent: Agent, line: &[u8]) -> Vec<Body> {
    match agent {
        Agent::Claude => claude::bodies(line),
        Agent::Grok => grok::bodies(line),
        Agent::Codex => codex::bodies(line),
    }
}

/// Like [`bodies`], but does not indent JSON, for callers that examine the texts and do not show them.
pub fn bare_bodies(agent: Agent, line: &[u8]) -> Vec<String> {
    match agent {
        Agent::Claude => claude::bare_bodies(line),
        Agent::Codex | Agent::Grok => bodies(agent, line).into_iter().map(|body| body.text).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print_texts(agent: Agent, line: &str) -> String {
        let texts = texts(agent, line.as_bytes()).into_iter().map(|text| {
            let tool = text.tool.map(|tool| format!(" {tool}")).unwrap_or_default();
            format!(
                "{} {:?}/{}{tool}: {}",
                text.block,
                text.field,
                text.role.as_str(),
                text.text
            )
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn claude_blocks_have_a_field_and_a_tool() {
        let claude = |line: &str| print_texts(Agent::Claude, line);
        assert_eq!(
            claude(r#"{"type":"user","message":{"content":"fix it"}}"#),
            "0 Prompt/user: fix it"
        );
        assert_eq!(
            claude(r#"{"type":"user","isMeta":true,"message":{"content":"a caveat"}}"#),
            "0 Other/user: a caveat"
        );
        let blocks = r#"{"type":"thinking","thinking":"hm"},{"type":"image"},{"type":"text","text":"done"},{"type":"tool_use","name":"Bash","input":{"command":"ls\n-l"}}"#;
        assert_eq!(
            claude(&format!(r#"{{"type":"assistant","message":{{"content":[{blocks}]}}}}"#)),
            "0 Thinking/assistant: hm; 2 Answer/assistant: done; 3 ToolInput/assistant Bash: ls\n-l"
        );
        let result = r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        assert_eq!(
            claude(&format!(
                r#"{{"type":"user","message":{{"content":[{result}]}},"toolUseResult":{{"stdout":"x"}}}}"#
            )),
            "0 ToolOutput/tool: a\nb"
        );
        assert_eq!(
            claude(r#"{"type":"queue-operation","operation":"enqueue","content":"and then"}"#),
            "0 Prompt/user: and then"
        );
    }

    #[test]
    fn codex_payloads_have_a_field_and_a_tool() {
        let codex = |payload: &str| {
            let line = format!(r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{payload}}}"#);
            print_texts(Agent::Codex, &line)
        };
        assert_eq!(
            codex(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}"#),
            "0 Prompt/user: fix it"
        );
        assert_eq!(
            codex(
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}"#
            ),
            "0 Other/user: <environment_context>x</environment_context>"
        );
        // What an editor inserted before the human's words is searched with them, but not shown.
        let from_editor = r#"{"type":"user_message","message":"Active file: a.md\n## My request for Codex:\nfix it"}"#;
        assert_eq!(
            codex(from_editor),
            "0 Prompt/user: Active file: a.md\n## My request for Codex:\nfix it"
        );
        assert_eq!(
            crate::bodies(Agent::Codex, format!(r#"{{"payload":{from_editor}}}"#).as_bytes())[0].text,
            "fix it"
        );
        assert_eq!(
            codex(r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#),
            "0 Answer/assistant: done"
        );
        assert_eq!(
            codex(r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\",\"a\\nb\"]}"}"#),
            "0 ToolInput/assistant shell: ls\na\nb"
        );
        assert_eq!(
            codex(r#"{"type":"function_call_output","call_id":"c","output":"two\nlines"}"#),
            "0 ToolOutput/tool: two\nlines"
        );
        assert_eq!(
            codex(r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}"#),
            "0 Thinking/assistant: hm"
        );
        assert_eq!(codex(r#"{"type":"token_count"}"#), "");
    }

    #[test]
    fn grok_updates_have_a_field_and_a_tool() {
        let grok = |update: &str| {
            let line = format!(r#"{{"timestamp":1,"method":"session/update","params":{{"update":{update}}}}}"#);
            print_texts(Agent::Grok, &line)
        };
        assert_eq!(
            grok(r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"fix it"}}"#),
            "0 Prompt/user: fix it"
        );
        assert_eq!(
            grok(r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}"#),
            "0 Thinking/assistant: hm"
        );
        assert_eq!(
            grok(
                r#"{"sessionUpdate":"tool_call","_meta":{"x.ai/tool":{"name":"run"}},"rawInput":{"command":"ls"},"status":"completed","rawOutput":{"output":[104,105]}}"#
            ),
            "0 ToolInput/assistant run: ls; 1 ToolOutput/tool: hi"
        );
    }
}
