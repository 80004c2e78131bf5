//! `boswell usage` and `boswell statusline`: figures with known values, and their output.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;
use testkit::truth::{self, Corpus, Tokens};

use crate::sandbox::Sandbox;

fn json(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

/// Returns logs of three agents with many edge cases, each with its directory in the home.
fn corpora() -> [(&'static str, Corpus); 3] {
    [
        (".claude", truth::claude(11, 12)),
        (".codex", truth::codex(11, 10)),
        (".grok", truth::grok(11, 8)),
    ]
}

fn write(sandbox: &Sandbox, home: &str, files: &[(String, Vec<u8>)]) {
    for (path, bytes) in files {
        let path = sandbox.home.join(home).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap()
}

/// Returns the calls and tokens of a row, in the order of [`known`].
fn counted(row: &Value) -> [u64; 5] {
    [
        "calls",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
    ]
    .map(|name| number(row, name))
}

fn known(tokens: &Tokens) -> [u64; 5] {
    [
        tokens.calls,
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write_5m + tokens.cache_write_1h,
    ]
}

/// Returns the sums of an agent's days.
fn days(sandbox: &Sandbox, agent: &str) -> BTreeMap<String, [u64; 5]> {
    let told = json(&sandbox.run(&format!(
        "usage --by day --agent {agent} --json --timezone UTC --no-sweep"
    )));
    let rows = told["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["date"].as_str().unwrap().to_owned(), counted(row)))
        .collect()
}

#[test]
fn totals_are_the_truth_of_all_three_agents_in_any_order_of_sweeps() {
    let corpora = corpora();
    let agents = ["claude", "codex", "grok"];
    for is_reversed in [false, true] {
        let sandbox = Sandbox::new();
        let mut files: Vec<_> = corpora
            .iter()
            .flat_map(|(home, corpus)| corpus.files.iter().map(move |file| (*home, file)))
            .collect();
        if is_reversed {
            files.reverse();
        }
        for (home, corpus) in &corpora {
            write(&sandbox, home, &corpus.companions);
        }
        // Several sweeps, so that copies are read both before and after their originals.
        for (at, (home, file)) in files.iter().enumerate() {
            write(&sandbox, home, std::slice::from_ref(file));
            if at % 9 == 8 {
                sandbox.run("sweep");
            }
        }
        sandbox.run("sweep");
        for (agent, (_, corpus)) in agents.iter().zip(&corpora) {
            let truth: BTreeMap<String, [u64; 5]> = corpus
                .truth
                .days
                .iter()
                .map(|(day, tokens)| (day.clone(), known(tokens)))
                .collect();
            assert_eq!(days(&sandbox, agent), truth, "{agent}, reversed: {is_reversed}");
        }
    }
}

/// Returns the uids of all kept sessions.
fn kept(sandbox: &Sandbox) -> Vec<String> {
    let told = json(&sandbox.run("sessions --all --limit 10000 --json --no-sweep"));
    let sessions = told["sessions"].as_array().unwrap().iter();
    let kept = sessions.filter(|session| session["status"] == "kept");
    kept.map(|session| session["session_uid"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn totals_stay_the_truth_when_half_of_the_sessions_are_let_go() {
    let corpora = corpora();
    for is_reversed in [false, true] {
        let mut sandbox = Sandbox::new();
        // Long after all sessions ended, so that retention spares none of them for being recent.
        sandbox.set("BOSWELL_NOW", "2027-06-01T09:00:00Z");
        let mut files: Vec<_> = corpora
            .iter()
            .flat_map(|(home, corpus)| corpus.files.iter().map(move |file| (*home, file)))
            .collect();
        if is_reversed {
            files.reverse();
        }
        for (home, corpus) in &corpora {
            write(&sandbox, home, &corpus.companions);
        }
        let half = files.len() / 2;
        for (at, (home, file)) in files.iter().enumerate() {
            write(&sandbox, home, std::slice::from_ref(file));
            // Evicts some sessions before others arrive that share calls with them.
            if at == half {
                sandbox.run("sweep");
                let all = kept(&sandbox);
                for uid in all.iter().skip(1).step_by(2) {
                    sandbox.run(&format!("keep {uid} --no-sweep"));
                }
                let told = sandbox.run(&format!("evict {CAPS}"));
                assert!(told.contains("Evicted"), "{told}");
                let left = kept(&sandbox).len();
                assert!(left < all.len() && left > 0, "{left} of {}", all.len());
            }
        }
        let told = sandbox.run("sweep");
        assert!(!told.contains("error"), "{told}");
        for (agent, (_, corpus)) in ["claude", "codex", "grok"].iter().zip(&corpora) {
            let truth: BTreeMap<String, [u64; 5]> = corpus
                .truth
                .days
                .iter()
                .map(|(day, tokens)| (day.clone(), known(tokens)))
                .collect();
            assert_eq!(days(&sandbox, agent), truth, "{agent}, reversed: {is_reversed}");
        }
        // Evicts half of the remaining sessions.
        let all = kept(&sandbox);
        for uid in all.iter().step_by(2) {
            sandbox.run(&format!("keep {uid} --no-sweep"));
        }
        let before: Vec<_> = ["claude", "codex", "grok"].map(|agent| days(&sandbox, agent)).into();
        let told = sandbox.run(&format!("evict {CAPS}"));
        assert!(told.contains("Evicted"), "{told}");
        assert!(kept(&sandbox).len() < all.len());
        let after: Vec<_> = ["claude", "codex", "grok"].map(|agent| days(&sandbox, agent)).into();
        assert_eq!(after, before, "reversed: {is_reversed}");
    }
}

const CAPS: &str = "--config session_memory.retention.raw_soft_cap_bytes=1";

#[test]
fn the_limits_of_the_account_are_told_as_the_newest_session_heard_them() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    for (number, used) in [(1, 12.5), (2, 40.0)] {
        let id = format!("019d4700-0000-7000-8000-00000000000{number}");
        let at = format!("2026-04-01T0{}:00:00Z", 5 + number);
        let usage = serde_json::json!({"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 10, "reasoning_output_tokens": 0, "total_tokens": 110});
        let count = |limits: Value| {
            serde_json::json!({"timestamp": at, "type": "event_msg", "payload": {"type": "token_count",
                "info": {"total_token_usage": usage, "last_token_usage": usage}, "rate_limits": limits}})
        };
        let limits = serde_json::json!({"primary": {"used_percent": used, "window_minutes": 300, "resets_at": 1_775_041_200},
            "secondary": {"used_percent": 3.0, "window_minutes": 10_080, "resets_at": null}, "plan_type": "pro"});
        let lines = [
            serde_json::json!({"timestamp": at, "type": "session_meta", "payload": {"id": id, "timestamp": at, "cwd": "/home/ada/app", "cli_version": "0.149.0"}}),
            serde_json::json!({"timestamp": at, "type": "turn_context", "payload": {"cwd": "/home/ada/app", "model": "gpt-5.5"}}),
            serde_json::json!({"timestamp": at, "type": "event_msg", "payload": {"type": "user_message", "message": "go on"}}),
            count(limits),
            // A record without limits does not clear the known ones.
            count(Value::Null),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        sandbox.write(
            &format!(".codex/sessions/2026/04/01/rollout-2026-04-01T00-00-00-{id}.jsonl"),
            &text,
        );
    }
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("usage blocks --no-sweep"), @"
    from                    for  tokens    cost  tokens/min  per hour
    2026-04-01 06:00:00  1h 00m     220  <$0.01           4    <$0.01
    codex reported at 2026-04-01 07:00:00: 40 % of 5h 00m used, resets 2026-04-01 11:00:00
    codex reported at 2026-04-01 07:00:00: 3 % of 7d 00h used
    --- stderr ---
    Current block: 2h 00m left, $0.01 at this rate
    ");
    let told = json(&sandbox.run("usage blocks --json --no-sweep"));
    assert_snapshot!(told["rate_limits"], @r#"{"agent":"codex","session_uid":"codex:019d4700-0000-7000-8000-000000000002","told_at":"2026-04-01T07:00:00Z","windows":[{"resets_at":"2026-04-01T11:00:00Z","used_percent":40.0,"window":"primary","window_minutes":300},{"resets_at":null,"used_percent":3.0,"window":"secondary","window_minutes":10080}]}"#);
    let told = json(&sandbox.run("usage blocks --json --no-sweep --agent claude"));
    assert_eq!(told["rate_limits"], Value::Null);
}

/// Returns a home with two days of one project, and a model without a price.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let usage = |input: u64, output: u64, read: u64, write: u64| {
        serde_json::json!({
            "input_tokens": input, "output_tokens": output,
            "cache_read_input_tokens": read, "cache_creation_input_tokens": write,
        })
    };
    let session = |id: &str, at: &str, model: &str, usage: Value| {
        let log = ClaudeLog::new(id).at(at).model(model).prompt("make it green");
        let log = log.reply("Done.").usage(usage);
        sandbox.write(&format!(".claude/projects/-home-ada-app/{id}.jsonl"), &log.jsonl());
    };
    session(
        "5e550000-0000-4000-8000-000000000001",
        "2026-03-31T09:00:00Z",
        "claude-opus-4-6",
        usage(1_000, 2_000, 3_000_000, 40_000),
    );
    session(
        "5e550000-0000-4000-8000-000000000002",
        "2026-04-01T08:00:00Z",
        "claude-haiku-4-5-20251001",
        usage(10, 20, 0, 0),
    );
    session(
        "5e550000-0000-4000-8000-000000000003",
        "2026-04-01T08:30:00Z",
        "model-of-tomorrow",
        usage(100, 200, 0, 0),
    );
    sandbox.run("sweep");
    sandbox
}

#[test]
fn calls_without_a_model_are_counted_and_no_price_is_asked_for() {
    let sandbox = Sandbox::new();
    let id = "019e0000-0000-7000-8000-000000000001";
    let tokens = r#"{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":0,"total_tokens":15}"#;
    let log = format!(
        r#"{{"timestamp":"2026-03-31T09:00:00Z","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-03-31T09:00:00Z","cwd":"/home/ada/app","cli_version":"0.40.0"}}}}
{{"timestamp":"2026-03-31T09:00:01Z","type":"event_msg","payload":{{"type":"user_message","message":"hello"}}}}
{{"timestamp":"2026-03-31T09:00:02Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{tokens},"last_token_usage":{tokens}}}}}}}
"#
    );
    let path = sandbox.home.join(format!(
        ".codex/sessions/2026/03/31/rollout-2026-03-31T09-00-00-{id}.jsonl"
    ));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, log).unwrap();
    sandbox.run("sweep");
    let shown = sandbox.run("usage --by agent --no-sweep").to_string();
    assert!(
        shown.contains("warning: no cost for 1 API call: the log names no model"),
        "{shown}"
    );
    assert!(!shown.contains("prices.toml"), "{shown}");
}

#[test]
fn usage_is_shown_by_day_session_project_and_block() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("usage --no-sweep"), @"
    day         agent   model                      input  output  cache read  cache write               cost
    2026-03-31  claude  claude-opus-4-6            1,000   2,000   3,000,000       40,000              $1.81
    2026-04-01  claude  claude-haiku-4-5-20251001     10      20                                      <$0.01
                claude  model-of-tomorrow            100     200                                    unpriced
                total                                110     220                           <$0.01 + unpriced
    total                                          1,110   2,220   3,000,000       40,000   $1.81 + unpriced
    --- stderr ---
    warning: no price is known for: model-of-tomorrow
    Hint: add it to `prices.toml` next to `config.toml`; `boswell usage --prices` shows the format
    ");
    assert_snapshot!(sandbox.run("usage session --limit 1 --no-sweep"), @"
    session                               agent   model            input  output  cache read  cache write              cost
    5e550000-0000-4000-8000-000000000001  claude  claude-opus-4-6  1,000   2,000   3,000,000       40,000             $1.81
    total                                                          1,110   2,220   3,000,000       40,000  $1.81 + unpriced
    --- stderr ---
    warning: no price is known for: model-of-tomorrow
    Hint: add it to `prices.toml` next to `config.toml`; `boswell usage --prices` shows the format
    Hint: 2 more rows; totals include them
    Hint: usage of subagents is counted with the session that started them
    ");
    assert_snapshot!(sandbox.run("usage --by project,month --no-sweep --csv"), @"
    project,date,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,reasoning_tokens,cost_microusd,reported_microusd,calls,unpriced_calls
    /home/ada/app,2026-03,1000,2000,3000000,40000,0,1805000,0,1,0
    /home/ada/app,2026-04,110,220,0,0,0,110,0,2,1
    --- stderr ---
    warning: no price is known for: model-of-tomorrow
    Hint: add it to `prices.toml` next to `config.toml`; `boswell usage --prices` shows the format
    ");
    assert_snapshot!(sandbox.run("usage blocks --no-sweep"), @"
    from                     for     tokens               cost  tokens/min  per hour
    2026-03-31 09:00:00     0 ms  3,043,000              $1.81
    2026-03-31 14:00:00  18h 00m    nothing
    2026-04-01 08:00:00  30m 00s        330  <$0.01 + unpriced          11    <$0.01
    --- stderr ---
    warning: no price is known for: model-of-tomorrow
    Hint: add it to `prices.toml` next to `config.toml`; `boswell usage --prices` shows the format
    Current block: 4h 00m left, <$0.01 at this rate
    ");
    assert_snapshot!(sandbox.run("usage --since today --until today --by model --no-sweep --json"), @r#"{"rows":[{"agent":null,"cache_read_tokens":0,"cache_write_tokens":0,"calls":1,"cost_microusd":110,"date":null,"input_tokens":10,"model":"claude-haiku-4-5-20251001","output_tokens":20,"reasoning_tokens":0,"reported_microusd":0,"unpriced_calls":0},{"agent":null,"cache_read_tokens":0,"cache_write_tokens":0,"calls":1,"cost_microusd":null,"date":null,"input_tokens":100,"model":"model-of-tomorrow","output_tokens":200,"reasoning_tokens":0,"reported_microusd":0,"unpriced_calls":1}],"schema":"boswell.usage/1","totals":{"cache_read_tokens":0,"cache_write_tokens":0,"calls":2,"cost_microusd":110,"input_tokens":110,"output_tokens":220,"reasoning_tokens":0,"reported_microusd":0,"unpriced_calls":1},"stale":true}"#);
    assert_snapshot!(sandbox.run("usage --agent codex --no-sweep"), @"
    --- stderr ---
    No usage found
    Hint: use fewer filters
    --- exit 1 ---
    ");
}

#[test]
fn prices_of_the_user_count_first() {
    let sandbox = sandbox();
    let own = "[[price]]\nmodels = [\"model-of-tomorrow\"]\ninput = 1_000\noutput = 10_000\n";
    sandbox.write(".config/boswell/prices.toml", own);
    let cost = || {
        let told = json(&sandbox.run("usage --by model --no-sweep --json"));
        let rows = told["rows"].as_array().unwrap().clone();
        let row = rows.iter().find(|row| row["model"] == "model-of-tomorrow").unwrap();
        row["cost_microusd"].as_u64()
    };
    assert_eq!(cost(), Some(2_100_000));
    sandbox.write(".config/boswell/prices.toml", "[[price]]\nmodels = 3\n");
    assert_snapshot!(sandbox.run("usage --no-sweep"), @"
    --- stderr ---
    error: [HOME]/.config/boswell/prices.toml: invalid type: integer `3`, expected a sequence
    Hint: see the rows that are built in: `boswell usage --prices`
    --- exit 2 ---
    ");
}

#[test]
fn a_status_line_listens_to_its_agent_and_needs_nobody() {
    let sandbox = sandbox();
    let line = |input: &str| {
        let mut child = sandbox
            .command("statusline --no-sweep")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        sandbox.told(&child.wait_with_output().unwrap())
    };
    let told = r#"{"session_id":"5e550000-0000-4000-8000-000000000001","model":{"id":"x","display_name":"Opus \u001b[31m"},
        "cost":{"total_cost_usd":1.5},"context_window":{"context_window_size":200000,"used_percentage":42.4}}"#;
    assert_snapshot!(line(told), @r"Opus \u{1b}[31m · session $1.50 · today <$0.01 · context 42 %");
    assert_snapshot!(line(r#"{"session_id":"5e550000-0000-4000-8000-000000000001"}"#), @"claude-opus-4-6 · session $1.81 · today <$0.01 · context 3041k");
    assert_snapshot!(line(""), @"today <$0.01");
    assert_snapshot!(line("{ not json"), @"today <$0.01");
    let empty = Sandbox::new();
    assert_snapshot!(empty.run("statusline"), @"");
}

#[test]
fn usage_by_block_is_the_report_of_blocks() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.run("usage --by block --no-sweep"),
        sandbox.run("usage blocks --no-sweep")
    );
    assert_eq!(
        sandbox.run("cost --by block --no-sweep --json"),
        sandbox.run("usage blocks --no-sweep --json")
    );
    assert_snapshot!(sandbox.run("usage --by block,agent --no-sweep"), @"
    --- stderr ---
    error: `--by block` cannot be combined with other words
    Hint: filter instead, such as `boswell usage blocks --agent claude`
    --- exit 2 ---
    ");
}
