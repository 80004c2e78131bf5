//! Subagents and other sessions that a session comes from or leads to.

use insta::assert_snapshot;

use super::{SESSION, check, check_bytes, session, session_with_meta};

#[test]
fn a_sidechain_inside_the_log_is_the_agents_work_in_the_humans_turn() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"isSidechain":false,"message":{"content":"how many files?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","isSidechain":false,"message":{"id":"m1","model":"claude-opus-5","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"description":"Count files","prompt":"Count the files","subagent_type":"general-purpose"}}]}}
{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"message":{"content":"Count the files"}}
{"type":"assistant","uuid":"s2","parentUuid":"s1","isSidechain":true,"message":{"id":"m2","model":"claude-haiku-4-5","content":[{"type":"tool_use","id":"t2","name":"Glob","input":{"pattern":"**/*"}}],"usage":{"input_tokens":4,"output_tokens":6}}}
{"type":"user","uuid":"s3","parentUuid":"s2","isSidechain":true,"message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"a\nb"}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","isSidechain":false,"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"2 files"}]}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "how many files?"
    2 t1 tool_call agent Task "[general-purpose] Count files" → ok
    3 t1 user_msg agent "Count the files" → sidechain ^root
    4 t1 tool_call agent Glob "**/*" → ok, 4/6 tokens, sidechain
    5 t1 tool_result tool Glob "a\nb" → ok, sidechain
    6 t1 tool_result tool Task "2 files" → ok ^2
    turn 1 lines 1-6 "how many files?": 6 events, 2 tool calls, 0 errors
    call of line 4 claude-haiku-4-5 4/6 tokens sidechain
    lines: 6 event
    "#);
    assert!(
        session("x.jsonl", log).contains("claude-opus-5 in"),
        "a subagent's model is not the session's"
    );
}

#[test]
fn a_subagents_log_has_events_and_no_turn_and_its_uid_names_its_parent() {
    let log = r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"agentId":"a1b2c3","sessionId":"5e551000-0000-4000-8000-000000000001","message":{"content":"Count the files"}}
{"type":"assistant","uuid":"s2","parentUuid":"s1","isSidechain":true,"agentId":"a1b2c3","sessionId":"5e551000-0000-4000-8000-000000000001","message":{"id":"m2","model":"claude-haiku-4-5","stop_reason":"end_turn","content":[{"type":"text","text":"2 files"}],"usage":{"input_tokens":4,"output_tokens":6}}}
"#;
    let path = format!("p/-home-ada-app/{SESSION}/subagents/agent-a1b2c3.jsonl");
    assert_snapshot!(check_bytes(&path, log.as_bytes()), @r#"
    1 - user_msg agent "Count the files" → sidechain
    2 - assistant_msg+completion agent "2 files" → 4/6 tokens, sidechain
    call of line 2 claude-haiku-4-5 4/6 tokens sidechain before any turn
    lines: 2 event
    "#);
    let meta = r#"{"agentType":"Explore","description":"Count files","toolUseId":"toolu_1","spawnDepth":1}"#;
    assert_snapshot!(session_with_meta(&path, log, meta), @r#"
    claude:5e551000-0000-4000-8000-000000000001/a1b2c3 subagent: true
    claude-haiku-4-5 in - (-) on - version - from -
    - to -
    title ""
    input 4 output 6 cache 0 wall 0 s turns 0 retries 0
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a1b2c3 by toolu_1 "Count files"
    "#);
}

#[test]
fn a_subagents_log_beside_its_parents_is_known_by_its_name_or_by_its_records() {
    let log = r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"agentId":"a1b2c3","sessionId":"5e551000-0000-4000-8000-000000000001","message":{"content":"Warmup"}}
"#;
    assert_snapshot!(session("p/agent-a1b2c3.jsonl", log), @r#"
    claude:5e551000-0000-4000-8000-000000000001/a1b2c3 subagent: true
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 0 retries 0
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a1b2c3
    "#);
    assert_snapshot!(session("renamed.jsonl", log), @r#"
    claude:5e551000-0000-4000-8000-000000000001/a1b2c3 subagent: true
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 0 retries 0
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a1b2c3
    "#);
}

#[test]
fn a_workflows_agent_belongs_to_the_session_around_the_workflow() {
    let log = r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"agentId":"a9","sessionId":"5e551000-0000-4000-8000-000000000001","message":{"content":"Do step 1"}}
"#;
    let path = format!("p/{SESSION}/subagents/workflows/wf_1/agent-a9.jsonl");
    assert_snapshot!(session(&path, log), @r#"
    claude:5e551000-0000-4000-8000-000000000001/a9 subagent: true
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 0 retries 0
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a9
    "#);
}

#[test]
fn the_parents_log_names_its_subagents_in_every_version() {
    let log = r#"
{"type":"user","uuid":"u1","sessionId":"5e551000-0000-4000-8000-000000000001","parentUuid":null,"message":{"content":"how many files?"}}
{"type":"progress","uuid":"p1","parentUuid":"u1","parentToolUseID":"toolu_1","toolUseID":"agent_msg_1","data":{"type":"agent_progress","agentId":"a1","prompt":"Count"}}
{"type":"user","uuid":"r1","parentUuid":"u1","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"2 files"}]},"toolUseResult":{"status":"completed","agentId":"a2","agentType":"Explore","totalTokens":12,"totalToolUseCount":1,"totalDurationMs":900}}
{"type":"user","uuid":"r2","parentUuid":"u1","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"started"}]},"toolUseResult":{"isAsync":true,"status":"async_launched","agentId":"a1","agentType":"Plan"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"{\"task_id\":\"a3\",\"tool_use_id\":\"toolu_3\",\"description\":\"Run tests\",\"task_type\":\"local_agent\"}"}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"{\"task_id\":\"b7\",\"description\":\"sleep 5\",\"task_type\":\"local_bash\"}"}
"#;
    assert_snapshot!(session(&format!("p/{SESSION}.jsonl"), log), @r#"
    claude:5e551000-0000-4000-8000-000000000001 subagent: false
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 1 retries 0
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a1 by toolu_1 "Plan" line 2
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a2 by toolu_2 "Explore" line 3
    subagent claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000001/a3 by toolu_3 "Run tests" line 5
    "#);
}

#[test]
fn a_codex_thread_that_a_tool_started_is_a_companion() {
    let log = r#"
{"type":"assistant","uuid":"a1","sessionId":"5e551000-0000-4000-8000-000000000001","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"codex-companion ask"}}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"[codex] Starting\n[codex] Thread ready (019e0000-0000-7000-8000-000000000001)\n[codex] done"}]}}
"#;
    assert_snapshot!(session(&format!("p/{SESSION}.jsonl"), log), @r#"
    claude:5e551000-0000-4000-8000-000000000001 subagent: false
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 0 retries 0
    companion claude:5e551000-0000-4000-8000-000000000001 -> codex:019e0000-0000-7000-8000-000000000001 by toolu_1 "codex" line 2
    "#);
}

#[test]
fn a_session_resumed_into_a_new_file_continues_its_predecessor() {
    let log = r#"
{"type":"user","uuid":"u1","sessionId":"5e551000-0000-4000-8000-000000000009","parentUuid":null,"message":{"content":"old"}}
{"type":"user","uuid":"u2","sessionId":"5e551000-0000-4000-8000-000000000001","parentUuid":"u1","message":{"content":"new"}}
"#;
    assert_snapshot!(session(&format!("p/{SESSION}.jsonl"), log), @r#"
    claude:5e551000-0000-4000-8000-000000000001 subagent: false
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 2 retries 0
    resume claude:5e551000-0000-4000-8000-000000000009 -> claude:5e551000-0000-4000-8000-000000000001
    "#);
}

#[test]
fn a_session_continued_elsewhere_and_a_forked_context_are_lineage() {
    let log = r#"
{"type":"fork-context-ref","agentId":"a1","parentSessionId":"5e551000-0000-4000-8000-000000000007","parentLastUuid":"u9","contextLength":12}
{"type":"user","uuid":"u1","sessionId":"5e551000-0000-4000-8000-000000000001","parentUuid":null,"message":{"content":"go on"}}
{"type":"continued-in","continuedInSessionId":"5e551000-0000-4000-8000-000000000008","sessionId":"5e551000-0000-4000-8000-000000000001"}
"#;
    assert_snapshot!(session(&format!("p/{SESSION}.jsonl"), log), @r#"
    claude:5e551000-0000-4000-8000-000000000001 subagent: false
    - in - (-) on - version - from -
    - to -
    title ""
    input 0 output 0 cache 0 wall 0 s turns 1 retries 0
    fork claude:5e551000-0000-4000-8000-000000000007 -> claude:5e551000-0000-4000-8000-000000000001 line 1
    resume claude:5e551000-0000-4000-8000-000000000001 -> claude:5e551000-0000-4000-8000-000000000008 line 3
    "#);
}

#[test]
fn the_journal_of_a_workflow_is_no_conversation() {
    let log = r#"{"type":"started","key":"v2:1","agentId":"a9"}
{"type":"launched","agentId":"a9"}
{"type":"result","key":"v2:1","agentId":"a9","result":"done"}
{"type":"failed","agentId":"a8","error":"no"}
"#;
    assert_snapshot!(check_bytes(&format!("p/{SESSION}/subagents/workflows/wf_1/journal.jsonl"), log.as_bytes()), @"lines: 4 skipped");
}
