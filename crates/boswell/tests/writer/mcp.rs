//! The MCP server by itself.

use insta::assert_snapshot;
use serde_json::json;

use crate::day::{DAY, home};
use crate::sandbox::Sandbox;
use crate::stand_in::Client;

#[test]
fn without_a_workspace_it_says_what_is_missing() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("mcp"), @"
    --- stderr ---
    error: `boswell mcp` serves a day's workspace: `--workspace` is missing
    Hint: `boswell prepare` makes one and prints its place; asking the whole memory by MCP is to come
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("mcp --workspace nowhere"), @"
    --- stderr ---
    error: cannot read [HOME]/nowhere: No such file or directory (os error 2)
    Hint: `boswell prepare --force` prepares it again; reports in it stay
    --- exit 2 ---
    ");
}

#[test]
fn a_client_finds_the_tools_and_reads_a_turn_page_by_page() {
    let sandbox = home("works");
    sandbox.run("prepare");
    let mut client = Client::spawn(sandbox.command(&format!("mcp --workspace {}", sandbox.path(DAY))));
    let tools = client.ask("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let told: Vec<String> = tools
        .iter()
        .map(|tool| {
            format!(
                "{} {}",
                tool["name"].as_str().unwrap(),
                tool["annotations"]["readOnlyHint"]
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "list_projects true",
            "list_sessions true",
            "read_turn true",
            "write_evidence false",
            "read_evidence true",
            "write_works false",
            "read_works true",
            "write_day false"
        ]
    );
    let (_, projects) = client.call("list_projects", &json!({}));
    assert_eq!(projects["projects"][0]["turns"], 3);
    let key = &projects["projects"][0]["project_key"];
    let (_, sessions) = client.call("list_sessions", &json!({"project_key": key}));
    assert_eq!(sessions["sessions"][0]["missing"], json!(["T0001", "T0002"]));
    let turn = json!({"project_key": key, "session_ref": "S0001", "turn_ref": "T0001"});
    let (_, page) = client.call("read_turn", &turn);
    let kinds: Vec<&str> = page["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["human", "tool_call", "tool_result", "tool_call", "tool_result", "agent"]
    );
    let unknown = client.ask("tools/call", &json!({"name": "rm", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let (refused, early) = client.call("write_day", &json!({}));
    assert!(
        refused && early["errors"][0]["message"].as_str().unwrap().contains("not complete"),
        "{early}"
    );
    let (refused, early) = client.call("write_works", &json!({"project_key": key, "works": []}));
    assert!(refused && early["errors"][0]["path"] == "project_key", "{early}");
    assert!(client.end().success());
}

#[test]
fn a_secret_that_is_handed_in_is_masked_before_it_is_kept() {
    let sandbox = home("works");
    sandbox.run("prepare");
    let mut client = Client::spawn(sandbox.command(&format!("mcp --workspace {}", sandbox.path(DAY))));
    let (_, projects) = client.call("list_projects", &json!({}));
    let key = projects["projects"][0]["project_key"].as_str().unwrap().to_owned();
    // Assembled here so that no scanner finds it in this file.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    let said = |text: String| json!({"text": text, "lines": ["1"]});
    let turn = json!({
        "turn_ref": "T0001",
        "asked": said(format!("Asked with {secret}")),
        "end": {"kind": "no_material", "text": "Nothing came of it", "lines": ["1"]},
        "materiality": "none",
    });
    let told = json!({"project_key": key, "session_ref": "S0002", "turns": [turn]});
    let (refused, told) = client.call("write_evidence", &told);
    assert!(!refused && told["missing"] == json!([]), "{told}");
    let kept = sandbox
        .home
        .join(DAY)
        .join("projects")
        .join(&key)
        .join("writing/S0002.json");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(
        kept.contains("Asked with [REDACTED:") && !kept.contains(&secret),
        "{kept}"
    );
}
