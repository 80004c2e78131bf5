//! Small logs, one for each feature that the reader of Claude's logs must support.

use serde_json::json;
use testkit::logs::{ClaudeLog, Usage};

const SESSION: &str = "5e551000-0000-4000-8000-000000000001";

fn log() -> ClaudeLog {
    ClaudeLog::new(SESSION)
}

/// Returns every log by name.
pub fn stories() -> Vec<(&'static str, Vec<u8>)> {
    let mut stories: Vec<(&'static str, ClaudeLog)> = Vec::new();
    stories.extend(talk());
    stories.extend(tools());
    stories.extend(states());
    let mut stories: Vec<(&'static str, Vec<u8>)> = stories
        .into_iter()
        .map(|(name, log)| (name, log.jsonl().into_bytes()))
        .collect();
    stories.extend(damage());
    stories
}

fn talk() -> Vec<(&'static str, ClaudeLog)> {
    let usage = Usage {
        input: 12,
        output: 340,
        cache_read: 9_000,
        cache_write_5m: 7,
        cache_write_1h: 5,
    };
    let asked = log().prompt("fix the login");
    let first = asked.last_uuid().unwrap_or_default().to_owned();
    vec![
        ("prompt", asked.clone().think("hm").reply("done").usage(usage)),
        (
            "rewind",
            asked
                .reply("done")
                .prompt("and now the logout")
                .reply("no")
                .rewind_to(&first)
                .prompt("rather this"),
        ),
        (
            "queued",
            log().prompt("a").queued("b").reply("c").queued("d").interrupt(),
        ),
        (
            "commands",
            log()
                .meta("<local-command-caveat>Caveat: The messages below were made by the user")
                .command("review", "src")
                .command("clear", "")
                .bang("ls", "a b"),
        ),
        (
            "compact",
            log().prompt("a").compact("So far: a.").prompt("go on").reply("b"),
        ),
        (
            "subagent",
            ClaudeLog::subagent(SESSION, "a1b2c3").prompt("look").reply("found"),
        ),
        (
            "prefixes",
            log()
                .user("<system-reminder>a</system-reminder><ide_selection>b</ide_selection>fix it")
                .user(json!([{"type": "image", "source": {"data": "aGk="}}, {"type": "text", "text": "see"}, "bare"]))
                .user("<teammate-message id=\"x\">hello</teammate-message>")
                .user("<task-notification>done</task-notification>"),
        ),
        ("crlf", log().crlf().prompt("a").reply("b").no_final_newline()),
    ]
}

fn tools() -> Vec<(&'static str, ClaudeLog)> {
    vec![
        (
            "tests",
            log()
                .prompt("test")
                .failed_tool("Bash", json!({"command": "cargo test"}), "Exit code 101\nerror")
                .tool("Bash", json!({"command": "cargo test", "description": "again"}), "ok"),
        ),
        (
            "edits",
            log()
                .tool(
                    "Edit",
                    json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
                    "edited",
                )
                .tool("Write", json!({"file_path": "/b", "content": "é\n"}), "written")
                .tool("Odd", json!({"z": [1, {"y": null}], "a": "\u{1f600}"}), "odd"),
        ),
        (
            "denied",
            log()
                .prompt("go")
                .denied_tool("Bash", json!({"command": "rm -r x"}), "use git rm")
                .reply("sorry"),
        ),
        (
            "answers",
            log()
                .tool("AskUserQuestion", json!({"questions": []}), "answered")
                .with("toolUseResult", json!({"answers": {"which?": "this", "why?": 1}}))
                .tool("ExitPlanMode", json!({"plan": "p"}), "User has approved your plan")
                .tool("Task", json!({"description": "d", "subagent_type": "code"}), "said")
                .with(
                    "toolUseResult",
                    json!({"agentId": "a1", "agentType": "code", "totalDurationMs": 5}),
                )
                .tool(
                    "Bash",
                    json!({"command": "x"}),
                    "<persisted-output>Full output saved to: /s/tool-results/t.txt\n",
                ),
        ),
        (
            "early",
            log()
                .user(json!([{"type": "tool_result", "tool_use_id": "t1", "content": "before its call"}]))
                .call([json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}})]),
        ),
    ]
}

fn states() -> Vec<(&'static str, ClaudeLog)> {
    vec![
        (
            "system",
            log()
                .system(
                    "api_error",
                    json!({"error": {"status": 529}, "retryAttempt": 1, "maxRetries": 10}),
                )
                .system("turn_duration", json!({"durationMs": 1200}))
                .system("agents_killed", json!({}))
                .system(
                    "local_command",
                    json!({"content": "<command-name>/model</command-name>"}),
                )
                .system("new_thing", json!({"content": 1})),
        ),
        (
            "attachments",
            log()
                .attachment(
                    json!({"type": "hook_blocking_error", "hookName": "h", "blockingError": {"blockingError": "no"}}),
                )
                .attachment(json!({"type": "edited_text_file", "filename": "/a"}))
                .attachment(json!({"type": "plan_mode_exit"}))
                .attachment(json!({"type": "queued_command", "prompt": [{"type": "text", "text": "q"}]})),
        ),
        (
            "records",
            log()
                .title("A title")
                .record(json!({"type": "summary", "summary": "s", "leafUuid": "u"}))
                .record(json!({"type": "permission-mode", "permissionMode": "plan", "sessionId": SESSION}))
                .record(json!({"type": "mode", "mode": "normal"}))
                .record(json!({"type": "pr-link", "prUrl": "https://x.test/1"}))
                .record(json!({"type": "continued-in", "continuedInSessionId": "n"}))
                .record(json!({"type": "fork-context-ref", "parentSessionId": "p"}))
                .record(json!({"type": "file-history-snapshot", "snapshot": {}}))
                .record(json!({"display": "history", "project": "/a"})),
        ),
        (
            "progress",
            log().record(json!({
                "type": "progress", "parentToolUseID": "t1", "data": {"type": "agent_progress", "agentId": "a1",
                "message": {"type": "assistant", "timestamp": "2026-04-01T09:00:00Z", "requestId": "r",
                "message": {"id": "m", "model": "claude-opus-5", "usage": {"output_tokens": 5}}}},
            })),
        ),
        (
            "usage",
            log().reply("x").usage(json!({
                "input_tokens": 1.2e3, "output_tokens": "7", "cache_creation_input_tokens": -1, "speed": "fast",
                "cache_creation": {"ephemeral_5m_input_tokens": null}, "server_tool_use": {"web_search_requests": 2},
                "iterations": [{"type": "message"}, {"type": "advisor_message", "model": null, "output_tokens": 3}],
            })),
        ),
    ]
}

/// Returns lines that no program should have written.
fn damage() -> Vec<(&'static str, Vec<u8>)> {
    let record = r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"hi"}}"#;
    let deep = format!(
        "{{\"message\":{{\"content\":{}{}}}}}\n",
        "[".repeat(140),
        "]".repeat(140)
    );
    let nested = format!(
        "{{\"type\":\"user\",\"message\":{}\"x\"{}}}\n",
        "{\"content\":[".repeat(60),
        "]}".repeat(60)
    );
    vec![
        ("glued", format!("{record}{}\n", record.replace("u1", "u2")).into_bytes()),
        ("torn", format!("{}{record}\n{}", &record[..30], &record[..40]).into_bytes()),
        ("copied", format!("{record}\n{record}\n").into_bytes()),
        ("bytes", b"\xef\xbb\xbf{\"type\":\"user\",\"message\":{\"content\":\"\xff\x07\\ud83d\"}}\r\n\0\0\n\n".to_vec()),
        ("deep", deep.into_bytes()),
        ("nested", nested.into_bytes()),
        ("numbers", b"{\"durationMs\":1e999,\"type\":7,\"uuid\":null,\"type\":\"system\",\"subtype\":[]}\n18446744073709551616\n".to_vec()),
    ]
}
