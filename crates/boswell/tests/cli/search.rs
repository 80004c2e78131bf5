//! Searches of the memory, with the binary.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::{Sandbox, names_in};

fn path(id: u32) -> String {
    format!(".claude/projects/-home-ada-app/5e55000{id}-0000-4000-8000-000000000001.jsonl")
}

fn log(id: u32) -> ClaudeLog {
    ClaudeLog::new(&format!("5e55000{id}-0000-4000-8000-000000000001")).cwd("/home/ada/app")
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let first = log(1)
        .at("2026-03-31T09:00:00Z")
        .prompt("why does the login time out?")
        .tool(
            "Bash",
            json!({"command": "cargo test parse_config"}),
            "error[E0502]: cannot borrow\n文件不存在",
        )
        .reply("The retry loop never sleeps.")
        .prompt("mend it, please");
    let second = log(2)
        .at("2026-03-30T09:00:00Z")
        .prompt("write a migration for the sessions table")
        .reply("Done: see migrations/0007.sql");
    sandbox.write(&path(1), &first.jsonl());
    sandbox.write(&path(2), &second.jsonl());
    sandbox.run("sweep");
    sandbox
}

#[test]
fn words_of_one_turn_are_found_wherever_they_stand() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("search login borrow"), @"
    5e550001  claude  app  23 hours ago
      turn 1  why does the login time out?
        prompt: why does the login time out?
      boswell show 5e550001 --turns 1
    ");
    assert_snapshot!(sandbox.run("search login mend"), @"
    --- stderr ---
    Nothing found
    --- exit 1 ---
    ");
    for question in [
        "config",
        "parse_config",
        "E0502",
        "不存在",
        "migrat*",
        "\"never sleeps\"",
        "tool:Bash borrow",
    ] {
        assert!(
            sandbox.run_args(&["search", question]).contains("boswell show"),
            "{question}"
        );
    }
    assert!(sandbox.run("search sessions -migration").contains("Nothing found"));
}

#[test]
fn any_characters_and_expressions_are_found_and_wrong_ones_are_told() {
    let sandbox = sandbox();
    assert!(sandbox.run_args(&["search", "--exact", "r[E05"]).contains("turn 1"));
    assert!(
        sandbox
            .run_args(&["search", "--regex", "E0[0-9]{3}"])
            .contains("turn 1")
    );
    assert_snapshot!(sandbox.run_args(&["search", "--regex", "E0[0-9"]), @"
    --- stderr ---
    error: not a regular expression, at character 3: unclosed character class
    Hint: use `--exact` to search for the characters literally
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("search kind:nonsense x"), @"
    --- stderr ---
    error: unknown value for `kind:`: nonsense
    Hint: one of: human_intervention, error, retry, edit, test_run, decision, user_msg, assistant_msg, thinking, tool_call, tool_result, completion, lifecycle
    --- exit 2 ---
    ");
}

#[test]
fn programs_get_every_hit_with_its_place() {
    let sandbox = sandbox();
    let told: Value = serde_json::from_str(sandbox.run("search borrow --json").lines().next().unwrap()).unwrap();
    let hit = &told["hits"][0];
    assert_eq!(hit["session_uid"], "claude:5e550001-0000-4000-8000-000000000001");
    assert_eq!(
        (&hit["turn"], &hit["tool"], &hit["field"]),
        (&json!(1), &json!("Bash"), &json!("output"))
    );
    let (text, mark) = (hit["snippet"].as_str().unwrap(), &hit["marks"][0]);
    let range = mark[0].as_u64().unwrap() as usize..mark[1].as_u64().unwrap() as usize;
    assert_eq!(&text[range], "borrow");
    assert!(sandbox.run("search nowhere --json").contains("\"hits\":[]"));
}

#[test]
fn filters_hide_and_say_so_and_a_copied_turn_is_one_hit() {
    let sandbox = sandbox();
    let told = sandbox.run("search borrow --until 2026-03-30");
    assert!(
        told.contains("Nothing found") && told.contains("1 session not searched because of the filters"),
        "{told}"
    );
    let fork = log(1)
        .at("2026-03-31T09:00:00Z")
        .prompt("why does the login time out?")
        .tool(
            "Bash",
            json!({"command": "cargo test parse_config"}),
            "error[E0502]: cannot borrow\n文件不存在",
        )
        .fork("5e550009-0000-4000-8000-000000000001")
        .prompt("another way");
    sandbox.write(&path(9), &fork.jsonl());
    sandbox.run("sweep");
    let told: Value = serde_json::from_str(sandbox.run("search borrow --json").lines().next().unwrap()).unwrap();
    assert_eq!(
        (&told["total"], &told["hits"][0]["copies"]),
        (&json!(1), &json!(1)),
        "{told}"
    );
}

/// Returns the uids of all hits of an answer, in order.
fn uids(answer: &Value) -> Vec<String> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["session_uid"].as_str().unwrap().to_owned())
        .collect()
}

fn asked(sandbox: &Sandbox, line: &str) -> Value {
    serde_json::from_str(sandbox.run(line).lines().next().unwrap()).unwrap()
}

#[test]
fn names_notes_tags_titles_and_prompts_of_lost_logs_are_found() {
    let sandbox = sandbox();
    let lost = json!({
        "display": "draw a purple elephant", "pastedContents": {}, "timestamp": 1_770_000_000_000_u64,
        "project": "/home/ada/site", "sessionId": "90ne0000-0000-4000-8000-000000000001",
    });
    sandbox.write(".claude/history.jsonl", &format!("{lost}\n"));
    sandbox.run("sweep");
    sandbox.run("tag 5e550002 walrus");
    sandbox.run_args(&["note", "5e550002", "the schema that nobody dared to touch"]);
    sandbox.run_args(&["name", "5e550001", "Login saga"]);
    assert_snapshot!(sandbox.run("search dared schema walrus"), @"
    5e550002  claude  app  1 day ago
        note: the schema that nobody dared to touch
      boswell show 5e550002
    ");
    for (words, kind, uid) in [
        ("walrus", "tag", "5e550002"),
        ("dared", "note", "5e550002"),
        ("saga", "name", "5e550001"),
        ("elephant", "user_msg", "90ne0000"),
    ] {
        let told = asked(&sandbox, &format!("search {words} --json"));
        assert_eq!(told["total"], 1, "{told}");
        assert_eq!(told["hits"][0]["kind"], kind, "{told}");
        assert!(uids(&told)[0].contains(uid), "{told}");
    }
    // An annotation is neither a turn of its session nor a field of a log.
    assert_eq!(asked(&sandbox, "search walrus migration --json")["total"], 0);
    assert_eq!(asked(&sandbox, "search dared in:answer --json")["total"], 0);
    assert_eq!(asked(&sandbox, "search dared -schema --json")["total"], 0);
    assert_eq!(asked(&sandbox, "search walrus --agent codex --json")["total"], 0);
    sandbox.run("tag 5e550002 walrus --remove");
    assert_eq!(asked(&sandbox, "search walrus --json")["total"], 0);
}

#[test]
fn logs_that_no_memory_holds_are_searched_where_they_lie_and_masked() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    let first = log(1)
        .at("2026-03-31T09:00:00Z")
        .prompt("why does the login time out?")
        .tool(
            "Bash",
            json!({"command": format!("deploy --key {key} walrus")}),
            "boom\nwalrus",
        )
        .prompt("mend it, please")
        .reply("The walrus never sleeps.");
    sandbox.write("backup/one.jsonl", &first.jsonl());
    sandbox.write("backup/notes.jsonl", "{\"walrus\": 1}\n");
    sandbox.write(
        "backup/torn.jsonl",
        "{\"type\":\"user\",\"message\":{\"content\":\"a walr",
    );
    // The fingerprint depends on the key of the machine.
    let told = sandbox.run("search walrus --in backup");
    let (before, after) = told.split_once("aws-access-key:").unwrap();
    assert_snapshot!(format!("{before}aws-access-key:…{}", &after[8..]), @"
    5e550001  claude  app  23 hours ago
      turn 2  mend it, please
        answer: The walrus never sleeps.
      turn 1  why does the login time out?
        Bash: …[REDACTED:aws-access-key:…] walrus
      boswell read [HOME]/backup/one.jsonl --turns 2
    ");
    let told = sandbox.run("search deploy walrus --in backup --json");
    assert!(!told.contains("IOSFODNN7") && told.contains("[REDACTED:"), "{told}");
    let told = asked(&sandbox, "search walrus tool:Bash --in backup --json");
    assert_eq!(
        (&told["total"], &told["hits"][0]["turn"]),
        (&json!(1), &json!(1)),
        "{told}"
    );
    assert_eq!(told["hits"][0]["path"], "[HOME]/backup/one.jsonl");
    assert_eq!(
        asked(&sandbox, "search walrus --in backup --until 2026-03-30 --json")["hidden"],
        1
    );
    assert!(sandbox.run("search walrus --in nowhere").contains("no such directory"));
    assert!(
        sandbox
            .run("search walrus --in backup --tag x")
            .contains("asks the memory")
    );
    assert_eq!(names_in(&sandbox.home), ["backup"], "a search writes nothing");
}

#[test]
fn logs_of_all_agents_are_searched_and_give_what_the_memory_gives() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.run("demo --json -o made-up");
    for agent in ["claude", "codex", "grok"] {
        let name = format!(".{agent}");
        std::fs::rename(sandbox.home.join("made-up").join(&name), sandbox.home.join(&name)).unwrap();
    }
    sandbox.run("sweep");
    let places = |line: &str| {
        let told = asked(&sandbox, line);
        let hits = told["hits"].as_array().unwrap().iter();
        let mut places: Vec<String> = hits
            .map(|hit| {
                format!(
                    "{} {} {} {}",
                    hit["session_uid"], hit["turn"], hit["line"], hit["snippet"]
                )
            })
            .collect();
        places.sort();
        places
    };
    let mut agents = std::collections::BTreeSet::new();
    for question in [
        "test",
        "the",
        "cargo",
        "error -the",
        "--regex [a-z]+_[a-z]+",
        "kind:error",
        "tool:Bash test",
    ] {
        let kept = places(&format!("search {question} --limit 0 --json"));
        let bare = places(&format!(
            "search {question} --limit 0 --json --in {}",
            sandbox.home.display()
        ));
        assert_eq!(bare, kept, "{question}");
        agents.extend(
            kept.iter()
                .filter_map(|place| place.split(':').next().map(str::to_owned)),
        );
    }
    assert_eq!(agents.len(), 3, "{agents:?}");
}

/// Returns a home with many short sessions, each with its text in one prompt.
fn crowd() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    for number in 10..40 {
        let id = format!("5e5500{number}-0000-4000-8000-000000000001");
        let branch = if number < 20 { "feat/login" } else { "main" };
        let log = ClaudeLog::new(&id)
            .cwd(if number < 30 { "/home/ada/app" } else { "/home/ada/site" })
            .branch(branch)
            .at(&format!("2026-03-{:02}T09:00:00Z", number - 9))
            .prompt(&format!("a walrus for ABC-{number}"))
            .tool(
                if number % 2 == 0 { "Bash" } else { "Read" },
                json!({"command": "look"}),
                "walrus here",
            );
        sandbox.write(&format!(".claude/projects/-home-ada-app/{id}.jsonl"), &log.jsonl());
    }
    sandbox.run("sweep");
    sandbox
}

#[test]
fn pages_of_an_answer_show_every_session_once() {
    let sandbox = crowd();
    for verb in ["search walrus", "sessions"] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let told = asked(&sandbox, &format!("{verb} --limit 4 --json {cursor}"));
            let rows = told["hits"].as_array().or(told["sessions"].as_array()).unwrap();
            seen.extend(rows.iter().map(|row| row["session_uid"].as_str().unwrap().to_owned()));
            match told["next_cursor"].as_str() {
                Some(next) => cursor = format!("--cursor {next}"),
                None => break,
            }
        }
        seen.sort();
        let all = seen.len();
        seen.dedup();
        assert_eq!((seen.len(), all), (30, 30), "{verb}");
    }
    assert!(sandbox.run("search walrus --cursor x").contains("next_cursor"));
}

#[test]
fn filters_by_branch_tool_task_model_and_repository_narrow_lists_and_searches() {
    let sandbox = crowd();
    for (flags, count) in [
        ("--branch feat/login", 10),
        ("--branch feat/*", 10),
        ("--branch feat", 0),
        ("--repo Site", 10),
        ("--task abc-17", 1),
        ("--task ABC-1", 0),
        ("--tool bash", 15),
        ("--tool bash --branch main", 10),
        ("--model CLAUDE", 30),
        ("--model gpt", 0),
        ("--machine elsewhere", 0),
        ("--domain work", 0),
    ] {
        let listed = asked(&sandbox, &format!("sessions --limit 0 --json {flags}"));
        assert_eq!(listed["sessions"].as_array().unwrap().len(), count, "{flags}");
        let found = asked(&sandbox, &format!("search walrus --limit 0 --json {flags}"));
        assert_eq!(found["sessions"], count, "{flags}: {found}");
    }
    sandbox.write_user_config("[session_memory.domains]\nsite = \"work\"\n");
    assert_eq!(
        asked(&sandbox, "search walrus --limit 0 --json --domain Work")["sessions"],
        10
    );
    // With `--tool`, only that tool's calls are searched: its result is found, the prompt is not.
    let told = asked(&sandbox, "search walrus --tool Read --limit 1 --json");
    assert_eq!(told["hits"][0]["field"], "output", "{told}");
}

#[test]
fn an_answer_fits_its_budget_and_says_what_was_left_out() {
    let sandbox = crowd();
    let told = sandbox.run("search walrus --limit 0 --max-tokens 200");
    assert!(
        told.chars().count() <= 800 && told.contains("sessions left out"),
        "{told}"
    );
    let whole = sandbox.run("search walrus --limit 0 --json --max-tokens 1000");
    let json = asked(&sandbox, "search walrus --limit 0 --json --max-tokens 1000");
    let (shown, left_out) = (
        json["hits"].as_array().unwrap().len(),
        json["left_out"].as_u64().unwrap() as usize,
    );
    assert!(whole.chars().count() <= 4000 && shown > 2, "{whole}");
    assert_eq!(shown + left_out, 30);
}

#[test]
fn an_id_that_is_told_names_its_session_alone() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    for number in [1, 2] {
        let id = format!("019d4700-0000-7000-8000-00000000000{number}");
        let at = format!("2026-03-3{}T09:00:00Z", number - 1);
        let log = ClaudeLog::new(&id).at(&at).prompt(&format!("a walrus, the {number}th"));
        sandbox.write(&format!(".claude/projects/-home-ada-app/{id}.jsonl"), &log.jsonl());
    }
    sandbox.run("sweep");
    let told = sandbox.run("search walrus");
    let opens: Vec<&str> = told
        .lines()
        .filter_map(|line| line.trim().strip_prefix("boswell "))
        .collect();
    assert_eq!(opens.len(), 2, "{told}");
    for open in opens {
        assert!(sandbox.run(open).contains("a walrus"), "{open}");
    }
}

#[test]
fn the_printed_command_names_one_session_even_if_ids_of_several_agents_begin_alike() {
    let sandbox = sandbox();
    let id = "5e550001-0000-4000-9000-00000000c0de";
    let line = |kind: &str, payload: &Value| {
        json!({"timestamp": "2026-03-31T10:00:00Z", "type": kind, "payload": payload}).to_string()
    };
    let rollout = [
        line(
            "session_meta",
            &json!({"id": id, "timestamp": "2026-03-31T10:00:00Z", "cwd": "/home/ada/app"}),
        ),
        line(
            "event_msg",
            &json!({"type": "user_message", "message": "sharpen the login form"}),
        ),
    ];
    sandbox.write(
        &format!(".codex/sessions/2026/03/31/rollout-2026-03-31T10-00-00-{id}.jsonl"),
        &format!("{}\n", rollout.join("\n")),
    );
    // Only a prompt of this session is left, in the history.
    sandbox.write(
        ".claude/history.jsonl",
        "{\"display\":\"an old question\",\"timestamp\":1774900000000,\"project\":\"/home/ada/app\",\"sessionId\":\"5e550001-0000-4000-8000-0000000000ff\"}\n",
    );
    sandbox.run("sweep");
    let told = sandbox.run("search login");
    let commands: Vec<&str> = told
        .lines()
        .filter_map(|line| line.trim().strip_prefix("boswell "))
        .collect();
    assert_eq!(
        commands,
        [
            "show 5e550001-0000-4000-9 --turns 1",
            "show 5e550001-0000-4000-8000-00000000000 --turns 1"
        ]
        .map(|command| command.to_owned())
    );
    for command in commands {
        let shown = sandbox.run(command);
        assert!(
            shown.contains("login") && !shown.contains("--- exit"),
            "{command}: {shown}"
        );
    }
    // The list prints the same short IDs.
    let listed = sandbox.run("sessions");
    assert!(listed.contains("5e550001-0000-4000-9 "), "{listed}");
    assert!(sandbox.run("show 5e550001").contains("several sessions begin with"));
}

#[test]
fn dashes_are_negations_or_text_and_the_answer_says_which() {
    let sandbox = sandbox();
    let commands = log(3)
        .at("2026-03-31T11:00:00Z")
        .prompt("run xattr -cr on it and git rebase --autosquash, no draft");
    sandbox.write(&path(3), &commands.jsonl());
    sandbox.run("sweep");
    let check = |arguments: &[&str], found: bool, note: &str| {
        let told = sandbox.run_args(&[&["search", "--no-sweep"], arguments].concat());
        assert_eq!(told.contains("5e550003"), found, "{arguments:?}: {told}");
        assert!(told.contains(note), "{arguments:?}: {told}");
    };
    check(&["xattr", "-cr"], true, "Note: `-cr` searched as text");
    check(&["xattr -cr"], true, "Note: `-cr` searched as text");
    check(&["xattr", "-rc"], false, "Note: `-rc` searched as text");
    check(
        &["rebase", "--autosquash", "--limit", "3"],
        true,
        "Note: `--autosquash` searched as text",
    );
    check(
        &["--limit", "3", "git rebase --autosquash"],
        true,
        "Note: `--autosquash` searched as text",
    );
    check(&["xattr", "-draft"], false, "Note: without: draft");
    check(&["xattr -draft"], false, "Note: `-draft` searched as text");
    check(&["xattr", "--", "-draft"], false, "Note: `-draft` searched as text");
    check(&["xattr", "-word"], true, "Note: without: word");
    check(
        &["xattr", "--agnet", "claude"],
        false,
        "a similar argument exists: '--agent'",
    );
    check(&["--", "xattr", "--json"], false, "Note: `--json` searched as text");
    let told: Value =
        serde_json::from_str(sandbox.run("grep xattr -cr -draft --json").lines().next().unwrap()).unwrap();
    assert_eq!(told["notes"], json!(["without: draft", "`-cr` searched as text"]));
}
