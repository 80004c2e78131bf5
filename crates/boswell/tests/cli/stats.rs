//! `boswell stats` and `boswell export`: the same numbers on a terminal, in JSON, on a page and in tables.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::{Sandbox, names_in};

fn json(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

/// Returns a home with two sessions in two weeks: one with a test that failed first, one with hostile names.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let usage = json!({ "input_tokens": 1000, "output_tokens": 2000 });
    let edit = json!({ "file_path": "/home/ada/app/src/lib.rs", "old_string": "1", "new_string": "2" });
    let log = ClaudeLog::new("5e550000-0000-4000-8000-000000000001")
        .at("2026-03-23T09:00:00Z")
        .model("claude-opus-4-6")
        .prompt("make the tests green")
        .failed_tool(
            "Bash",
            json!({ "command": "cargo test" }),
            "Exit code 101\ntest result: FAILED. 1 passed; 1 failed",
        )
        .tool("Edit", edit, "done")
        .tool(
            "Bash",
            json!({ "command": "cargo test" }),
            "test result: ok. 2 passed; 0 failed",
        )
        .reply("They are green.")
        .usage(usage.clone());
    sandbox.write(
        ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl",
        &log.jsonl(),
    );
    let edit = json!({ "file_path": "/home/ada/</script><script>alert(1)</script>\u{1b}[31m.rs", "content": "x" });
    let log = ClaudeLog::new("5e550000-0000-4000-8000-000000000002")
        .at("2026-03-31T22:00:00Z")
        .cwd("/home/ada/site")
        .model("claude-opus-4-6")
        .prompt("draw a house")
        .tool("Write", edit, "done")
        .reply("A house.")
        .usage(usage);
    sandbox.write(
        ".claude/projects/-home-ada-site/5e550000-0000-4000-8000-000000000002.jsonl",
        &log.jsonl(),
    );
    sandbox.run("sweep");
    sandbox
}

#[test]
fn statistics_are_told_on_a_terminal_and_in_json() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("stats --no-sweep"), @r"
    sessions       2 and 0 subagents
    turns          2
    time           10.0 s active of 10.0 s
    outcomes       1 success, 0 fail, 0 abandoned, 1 unknown
    tools          4 calls, 1 retry
    errors         1, 1 resolved
    tests          1 passed, 1 failed, 0 unclear
    interventions  0 interruptions, 0 denials, 0 changes of course, 0 rewinds
    usage          6,120 tokens, $0.11

    Tools
    tool   calls    errors  in all  on average
    Bash       2  1 (50 %)   2.0 s       1.0 s
    Edit       1             1.0 s       1.0 s
    Write      1             1.0 s       1.0 s

    Files edited most
    edits  sessions
        1         1  /home/ada/</script><script>alert(1)</script>\u{1b}[31m.rs
        1         1  /home/ada/app/src/lib.rs

    Commands run most
    runs  sessions
       2         1  cargo test

    Errors seen most
    times  sessions
        1         1  Exit code 101 test result: FAILED. 1 passed; 1 failed

    Projects
    turns  sessions
        1         1  app
        1         1  site

    Calls by hour of the week
         0     3     6     9     12    15    18    21
    Mon  · · · · · · · · · █ · · · · · · · · · · · · · ·
    Tue  · · · · · · · · · · · · · · · · · · · · · · ▒ ·
    Wed  · · · · · · · · · · · · · · · · · · · · · · · ·
    Thu  · · · · · · · · · · · · · · · · · · · · · · · ·
    Fri  · · · · · · · · · · · · · · · · · · · · · · · ·
    Sat  · · · · · · · · · · · · · · · · · · · · · · · ·
    Sun  · · · · · · · · · · · · · · · · · · · · · · · ·

    Weeks, 2026-03-23 to 2026-03-30
    sessions       ██
    turns          ██
    active time    █▄
    cost           ██
    ");
    assert_snapshot!(sandbox.run("stats --since 2026-03-30 --no-sweep --json"), @r#"{"active_s":3,"commands":[],"error_kinds":[],"errors":0,"errors_resolved":0,"files":[{"count":1,"name":"/home/ada/</script><script>alert(1)</script>\u001b[31m.rs","sessions":1}],"heat":[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2,0],[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]],"interventions":{"denials":0,"interrupts":0,"rewinds":0,"steerings":0},"outcomes":{"abandoned":0,"fail":0,"success":0,"unknown":1},"projects":[{"count":1,"name":"site","sessions":1}],"retries":0,"schema":"boswell.stats/1","sessions":1,"subagents":0,"tests":{"failed":0,"passed":0,"unclear":0},"tool_calls":1,"tools":[{"calls":1,"duration_ms":1000,"errors":0,"tool":"Write"}],"turns":1,"usage":{"cache_read_tokens":0,"cache_write_tokens":0,"calls":2,"cost_microusd":55550,"input_tokens":1010,"output_tokens":2020,"reasoning_tokens":0,"reported_microusd":0,"unpriced_calls":0},"wall_s":3,"weeks":[{"active_s":3,"cost_microusd":55550,"monday":"2026-03-30","sessions":1,"tokens":3030,"turns":1}],"without_digest":0,"stale":true}"#);
    assert_snapshot!(sandbox.run("stats --agent grok --no-sweep"), @"
    --- stderr ---
    No session matches
    --- exit 1 ---
    ");
}

#[test]
fn the_page_has_the_numbers_of_the_json_and_runs_nothing() {
    let sandbox = sandbox();
    sandbox.run("stats --no-sweep --to html -o stats.html");
    let page = fs::read_to_string(sandbox.home.join("stats.html")).unwrap();
    let told = json(&sandbox.run("stats --no-sweep --json"));
    let cards: Vec<&str> = page
        .split("<b>")
        .skip(1)
        .filter_map(|rest| rest.split("</b>").next())
        .collect();
    for (card, name) in [(0, "sessions"), (1, "turns"), (5, "errors")] {
        assert_eq!(cards[card], told[name].to_string(), "{name}");
    }
    assert_eq!(cards[4], told["tests"]["passed"].to_string());
    for tool in told["tools"].as_array().unwrap() {
        let row = format!(
            "<td>{}<td class=\"n\">{}<td",
            tool["tool"].as_str().unwrap(),
            tool["calls"]
        );
        assert!(page.contains(&row), "{row}");
    }
    for (outcome, count) in told["outcomes"].as_object().unwrap() {
        assert!(page.contains(&format!("{count} {outcome}</span>")), "{outcome}");
    }
    assert!(!page.contains("<script") && !page.contains('\u{1b}'));
    assert!(page.contains("default-src 'none'"));
    for outside in ["http://", "https://", "url(", "src=", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn every_format_has_the_same_rows_and_nothing_is_overwritten() {
    let sandbox = sandbox();
    for format in ["jsonl", "csv", "parquet"] {
        sandbox.run(&format!("export --to {format} -o {format} --no-sweep"));
        let expected = ["calls", "digests", "events", "sessions", "turns"].map(|table| format!("{table}.{format}"));
        assert_eq!(names_in(&sandbox.home.join(format)), expected);
    }
    let lines = |name: &str| fs::read_to_string(sandbox.home.join(name)).unwrap().lines().count();
    for table in ["sessions", "turns", "calls", "digests"] {
        // A cell of CSV may have several lines, but none of these tables has such a cell.
        assert_eq!(
            lines(&format!("jsonl/{table}.jsonl")) + 1,
            lines(&format!("csv/{table}.csv")),
            "{table}"
        );
    }
    let first = fs::read_to_string(sandbox.home.join("jsonl/calls.jsonl")).unwrap();
    assert_snapshot!(first.lines().next().unwrap(), @r#"{"cache_read_tokens":0,"cache_write_1h_tokens":0,"cache_write_5m_tokens":0,"cost_microusd":550,"input_tokens":10,"is_cost_reported":false,"line":2,"model":"claude-opus-4-6","output_tokens":20,"reasoning_tokens":0,"session_uid":"claude:5e550000-0000-4000-8000-000000000002","speed":null,"ts":"2026-03-31T22:00:01Z","turn":1,"web_searches":0}"#);
    assert_snapshot!(sandbox.run("export --to csv -o csv --no-sweep"), @"
    --- stderr ---
    error: [HOME]/csv/sessions.csv is there already
    Hint: name another directory
    --- exit 2 ---
    ");
}

/// DuckDB can open the tables. `./test` installs it; without it the test prints that it is skipped.
#[test]
#[allow(
    clippy::print_stderr,
    reason = "whoever runs the tests has to know what was not tested"
)]
fn duckdb_opens_the_tables() {
    let Some(python) = std::env::var_os("BOSWELL_TEST_DUCKDB") else {
        eprintln!("skipped: no DuckDB (`./test` installs it)");
        return;
    };
    let sandbox = sandbox();
    sandbox.run("export --to parquet -o tables --no-sweep");
    sandbox.run("export --to csv -o csv --no-sweep");
    let script = "import duckdb\n\
        duckdb.sql(\"set timezone = 'UTC'\")\n\
        ask = lambda sql: print(duckdb.sql(sql).fetchall())\n\
        for table in ['sessions', 'turns', 'events', 'calls', 'digests']:\n\
        \x20   ask(f\"select (select count(*) from 'tables/{table}.parquet') - (select count(*) from read_csv('csv/{table}.csv'))\")\n\
        ask(\"select sum(output_tokens), sum(cost_microusd), min(ts)::varchar from 'tables/calls.parquet'\")\n\
        ask(\"select s.session_uid, d.outcome from 'tables/sessions.parquet' s join 'tables/digests.parquet' d using (session_uid) order by 1\")\n\
        ask(\"select json_extract(files, '$[0]') from 'tables/events.parquet' where tool = 'Edit' and kind = 'edit'\")\n";
    let told = Command::new(python)
        .args(["-c", script])
        .current_dir(&sandbox.home)
        .output()
        .unwrap();
    assert_snapshot!(sandbox.told(&told), @r#"
    [(0,)]
    [(0,)]
    [(0,)]
    [(0,)]
    [(0,)]
    [(4080, 112200, '2026-03-23 09:00:01+00')]
    [('claude:5e550000-0000-4000-8000-000000000001', 'success'), ('claude:5e550000-0000-4000-8000-000000000002', 'unknown')]
    [('"/home/ada/app/src/lib.rs"',)]
    "#);
}

#[test]
fn filters_that_only_the_store_can_answer_hold_for_every_verb() {
    let sandbox = sandbox();
    let uids = |line: &str| {
        let told = json(&sandbox.run(&format!("{line} --json --no-sweep")));
        let sessions = told["sessions"].as_array().unwrap().clone();
        let ends = sessions.iter().map(|session| {
            let uid = session["session_uid"].as_str().unwrap();
            uid[uid.len() - 1..].to_owned()
        });
        ends.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(uids("sessions --outcome success"), "1");
    assert_eq!(uids("sessions --outcome unknown"), "2");
    assert_eq!(uids("sessions --outcome unknown --outcome success"), "2 1");
    let count = |line: &str, name: &str| json(&sandbox.run(&format!("{line} --json --no-sweep")))[name].clone();
    assert_eq!(count("stats --outcome success", "sessions"), 1);
    assert_eq!(count("usage --model opus", "totals")["calls"], 6);
    assert_eq!(count("usage --model haiku", "rows"), json!([]));
    // A filter that matches nothing must not select everything.
    assert_snapshot!(sandbox.run("forget --model haiku --no-sweep"), @"
    --- stderr ---
    No session matches
    --- exit 1 ---
    ");
    assert_eq!(uids("sessions"), "2 1");
}
