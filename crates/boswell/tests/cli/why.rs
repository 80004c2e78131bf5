//! `boswell why`: finds who wrote a line in a real repository with logs of all three agents, and lines that no agent
//! wrote.

mod world;

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use self::world::{Agent, Change, World, Writer};
use crate::sandbox::Sandbox;

const AGENTS: [Agent; 3] = [Agent::Claude, Agent::Codex, Agent::Grok];

/// Returns a function with `lines` lines, unique by its number.
fn function(number: usize, lines: usize) -> Vec<String> {
    let mut text = vec![format!("fn step_{number}() {{")];
    text.extend((0..lines).map(|line| format!("    let value_{number}_{line} = {};", number * 7 + line)));
    text.extend(["}".to_owned(), String::new()]);
    text
}

/// Returns a random change of a file: a function or a line added, a line changed, or a function removed.
fn change<'f>(world: &mut World, file: &'f str, number: usize) -> Change<'f> {
    let lines: Vec<String> = world
        .files
        .get(file)
        .into_iter()
        .flatten()
        .map(|(line, _)| line.clone())
        .collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("fn ")).collect();
    let length = 1 + world.random(4);
    let what = if heads.len() < 3 { 0 } else { world.random(8) };
    let head = heads.get(world.random(heads.len().max(1))).copied().unwrap_or_default();
    let end = heads.iter().copied().find(|at| *at > head).unwrap_or(lines.len());
    let mut whole = function(number, length);
    let (from, to, new) = match what {
        0..=2 => (head, head, whole),
        3 | 4 => (head + 1, head + 1, vec![format!("    call_{number}();")]),
        5 | 6 => (head + 1, head + 2, vec![format!("    changed_{number}();")]),
        _ => {
            // Keeps the closing brace, because nothing distinguishes it from other braces.
            whole.truncate(whole.len() - 2);
            (head, end.saturating_sub(2).max(head + 1), whole)
        }
    };
    Change { file, from, to, new }
}

/// Builds a project of three files in many turns, with commits by all agents and edits by the human in between.
fn project(seed: u64) -> World {
    let mut world = World::new(seed);
    let files = ["src/pool.rs", "src/lib.rs", "notes.txt"];
    for number in 0..70 {
        let file = files[world.random(files.len())];
        let made = change(&mut world, file, number);
        let words = format!("please take care of number {number}");
        if world.random(4) == 0 {
            world.by_human(&made);
            // Commits the human's edit at once, so that no agent's commit contains it.
            world.commit(&format!("by hand {number}"));
            continue;
        }
        let agent = AGENTS[world.random(AGENTS.len())];
        if world.random(9) == 0 {
            world.new_session(agent);
        }
        world.by_agent(agent, &words, &made);
        match world.random(4) {
            0 if agent == Agent::Claude => world.commit_by_claude(&words),
            1 => world.commit(&words),
            _ => {}
        }
    }
    world.commit("all of it");
    // Uncommitted changes, by an agent and by the human.
    let made = change(&mut world, files[0], 900);
    world.by_agent(Agent::Grok, "and the last one", &made);
    let made = change(&mut world, files[0], 901);
    world.by_human(&made);
    world.sweep();
    world
}

/// Returns whether an answer names the writer.
fn is_right(answer: &Value, code: Option<i32>, writer: &Writer) -> bool {
    match writer {
        None => answer["line"]["verdict"] == "not_from_a_session" && code == Some(1),
        Some((uid, turn)) => {
            let touch = &answer["touches"][0];
            code == Some(0) && touch["session_uid"] == **uid && touch["turn"] == *turn && touch["how"] == "edit"
        }
    }
}

#[test]
fn the_right_turn_is_told_for_fifty_lines_of_a_project_and_none_for_the_humans() {
    let mut world = project(20_260_401);
    let mut asked = [0_u32; 2];
    let mut wrong = Vec::new();
    for _ in 0..50 {
        let names: Vec<String> = world.files.keys().cloned().collect();
        let name = names[world.random(names.len())].clone();
        // A line with a single brace is ambiguous where functions come and go.
        let telling: Vec<usize> = (0..world.files[&name].len())
            .filter(|at| world.files[&name][*at].0.len() > 1)
            .collect();
        let number = telling[world.random(telling.len())];
        let (line, writer) = world.files[&name][number].clone();
        let place = format!("{name}:{}", number + 1);
        let (answer, code) = world.why(&place);
        assert_eq!(answer["line"]["text"], line, "{place}");
        asked[usize::from(writer.is_some())] += 1;
        if !is_right(&answer, code, &writer) {
            wrong.push(format!(
                "{place} {line:?}: {writer:?}, told {}",
                answer["line"]["verdict"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of 50 wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        asked.iter().all(|count| *count >= 5),
        "both kinds of lines are asked for: {asked:?}"
    );
}

/// Splits a text into lines.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Builds a file that Claude writes, the human changes, and then Codex changes.
fn small() -> World {
    let mut world = World::new(7);
    world.sandbox.set("BOSWELL_NOW", "2026-03-21T09:00:00Z");
    let whole = |file, text: &str| Change {
        file,
        from: 0,
        to: 0,
        new: lines(text),
    };
    world.by_agent(
        Agent::Claude,
        "make a pool\nthat waits",
        &whole("pool.rs", "fn pool() {\n    wait();\n}"),
    );
    world.commit_by_claude("a pool");
    world.by_human(&Change {
        file: "pool.rs",
        from: 1,
        to: 2,
        new: lines("    wait_long();"),
    });
    world.commit("by hand");
    world.by_agent(
        Agent::Codex,
        "and count the waits",
        &Change {
            file: "pool.rs",
            from: 2,
            to: 2,
            new: lines("    count();"),
        },
    );
    world
}

fn why(world: &World, arguments: &str) -> String {
    let arguments: Vec<&str> = ["why", "--no-sweep"].into_iter().chain(arguments.split(' ')).collect();
    let (told, code) = world.told(&arguments);
    // Commit IDs depend on the path of this home.
    let sha = regex::Regex::new(r"\b[0-9a-f]{10}\b").unwrap();
    format!("{}--- exit {} ---", sha.replace_all(&told, "[COMMIT]"), code.unwrap())
}

#[test]
fn a_file_and_its_lines_are_shown_with_prompt_diff_and_evidence() {
    let mut world = small();
    world.sweep();
    assert_snapshot!(why(&world, "pool.rs"), @"
    pool.rs  2 turns in 2 sessions

    2026-03-20 09:01:06  codex, turn 1
      boswell show 019d4700 --turns 1
      > and count the waits
        apply_patch  log line 5
          @@ line 2
               wait_long();
          +    count();
           }

    2026-03-20 09:00:13  claude, turn 1
      boswell show 5e551000 --turns 1
      > make a pool that waits
        Write  log line 2
          @@ line 1
          +fn pool() {
          +    wait();
          +}
    --- exit 0 ---
    ");
    assert_snapshot!(why(&world, "pool.rs:1"), @"
    pool.rs:1  fn pool() {
      this edit wrote exactly this line; commit [COMMIT] brought it
      [COMMIT]  2026-03-20 09:00:18  a pool

    2026-03-20 09:00:13  claude, turn 1
      boswell show 5e551000 --turns 1
      > make a pool that waits
        Write  log line 2
          +fn pool() {
          +    wait();
          +}
    --- exit 0 ---
    ");
    assert_snapshot!(why(&world, "pool.rs:2"), @"
    pool.rs:2  wait_long();
      not from a session: no recorded edit wrote this line; commit [COMMIT] brought it
      [COMMIT]  2026-03-20 09:00:48  by hand
    --- exit 1 ---
    ");
    assert_snapshot!(why(&world, "pool.rs:3"), @"
    pool.rs:3  count();
      this edit wrote exactly this line; no commit has it yet

    2026-03-20 09:01:06  codex, turn 1
      boswell show 019d4700 --turns 1
      > and count the waits
        apply_patch  log line 5
               wait_long();
          +    count();
           }
    --- exit 0 ---
    ");
    assert_snapshot!(why(&world, "pool.rs --agent codex --limit 1"), @"
    pool.rs  1 turn in 1 session

    2026-03-20 09:01:06  codex, turn 1
      boswell show 019d4700 --turns 1
      > and count the waits
        apply_patch  log line 5
          @@ line 2
               wait_long();
          +    count();
           }
    --- exit 0 ---
    ");
}

#[test]
fn what_cannot_be_asked_is_told() {
    let mut world = small();
    world.sweep();
    fs::write(world.repo.join("picture.png"), b"\x89PNG\0\0").unwrap();
    fs::write(world.repo.join("odd:7"), "a name that ends like a line\n").unwrap();
    let made = Command::new("mkfifo").arg(world.repo.join("pipe")).status().unwrap();
    assert!(made.success());
    for (place, want) in [
        ("pool.rs:99", "1 no-line"),
        ("pool.rs:0", "2 usage"),
        ("nowhere.rs:3", "1 no-file"),
        ("picture.png:1", "2 no-text"),
        ("pipe:1", "2 no-text"),
        (".:1", "2 no-text"),
    ] {
        let (answer, code) = world.why(place);
        let told = format!("{} {}", code.unwrap(), answer["error"]["code"].as_str().unwrap());
        assert_eq!(told, want, "{place}: {answer}");
    }
    // No session edited these, and some are not valid paths.
    for place in [
        "nowhere.rs",
        "odd:7",
        "../../../../etc/hosts",
        "a\nb\u{1b}[31m.rs",
        "/",
        "~",
        ":(glob)*",
    ] {
        let (answer, code) = world.why(place);
        let is_nothing = answer["touches"].as_array().is_some_and(Vec::is_empty);
        assert!(is_nothing && code == Some(1), "{place:?}: {answer}");
        let (told, _) = world.told(&["why", "--no-sweep", "--", place]);
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }
}

#[test]
fn a_file_that_was_moved_or_is_gone_keeps_its_history() {
    let mut world = small();
    world.git(&["mv", "pool.rs", "waiting.rs"]);
    let text = world.files.remove("pool.rs").unwrap();
    world.files.insert("waiting.rs".to_owned(), text);
    world.commit("another name");
    world.sweep();
    let (answer, _) = world.why("waiting.rs:3");
    assert_eq!(answer["touches"][0]["prompt"], "and count the waits", "{answer}");
    assert_eq!(answer["names"], json!(["waiting.rs", "pool.rs"]));
    let (answer, _) = world.why("waiting.rs:2");
    assert_eq!(answer["line"]["verdict"], "not_from_a_session", "{answer}");
    fs::remove_file(world.repo.join("waiting.rs")).unwrap();
    let (answer, code) = world.why("waiting.rs");
    assert_eq!(
        (answer["touches"].as_array().unwrap().len(), code),
        (2, Some(0)),
        "{answer}"
    );
    let (answer, _) = world.why("pool.rs");
    assert_eq!(answer["touches"].as_array().unwrap().len(), 2, "{answer}");
}

#[test]
fn a_clone_and_a_worktree_have_the_history_of_the_repository() {
    let mut world = small();
    world.git(&["remote", "add", "origin", "git@example.test:acme/app.git"]);
    world.commit("counted");
    world.git(&["worktree", "add", "-q", "../side"]);
    world.git(&["clone", "-q", ".", "../clone"]);
    let clone = world.sandbox.home.join("clone");
    let here = std::mem::replace(&mut world.repo, clone);
    world.git(&["remote", "set-url", "origin", "https://example.test/acme/app"]);
    world.repo = here;
    world.sweep();
    for place in ["../side/pool.rs:3", "../clone/pool.rs:3"] {
        let (answer, code) = world.why(place);
        assert_eq!(
            answer["touches"][0]["prompt"], "and count the waits",
            "{place}: {answer}"
        );
        assert_eq!(code, Some(0));
    }
}

#[test]
fn without_git_and_with_other_line_ends_and_spacing_lines_are_still_known() {
    let mut world = small();
    fs::remove_dir_all(world.repo.join(".git")).unwrap();
    let text = "fn pool()  {\r\n\twait_long();\r\n\t\tcount();\r\n}\r\n";
    fs::write(world.repo.join("pool.rs"), text).unwrap();
    world.sweep();
    let verdicts: Vec<Value> = (1..=4)
        .map(|line| world.why(&format!("pool.rs:{line}")).0["line"]["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["respaced", "not_from_a_session", "stands_here", "wrote"]);
}

#[test]
fn a_command_that_writes_the_file_is_told_as_such_behind_the_edits() {
    let mut world = small();
    world.ask(Agent::Claude, "rename the counter");
    world.claude(|log| log.tool("Bash", json!({"command": "sed -i 's/count/tally/' pool.rs"}), ""));
    world.by_human(&Change {
        file: "pool.rs",
        from: 2,
        to: 3,
        new: lines("    tally();"),
    });
    world.commit_by_claude("tally");
    world.sweep();
    let (answer, _) = world.why("pool.rs");
    let told: Vec<&str> = answer["touches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|touch| touch["how"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["edit", "edit", "command"], "{answer}");
    assert_snapshot!(why(&world, "pool.rs:3"), @"
    pool.rs:3  tally();
      no recorded edit wrote this line; commit [COMMIT] brought it, and this turn made that commit: one of its commands wrote the line, or someone else did at that time
      [COMMIT]  2026-03-20 09:01:41  tally

    2026-03-20 09:01:41  claude, turn 2
      boswell show 5e551000 --turns 2
      > rename the counter
    --- exit 0 ---
    ");
}

#[test]
fn of_an_evicted_session_the_digest_tells_that_it_edited_the_file() {
    let mut world = small();
    world.sweep();
    let told = world
        .sandbox
        .run("evict --config session_memory.retention.raw_soft_cap_bytes=1");
    assert!(told.contains("Evicted"), "{told}");
    assert_snapshot!(why(&world, "pool.rs"), @"
    pool.rs  no kept session edited it

    Of these only digests are left, which tell that they edited it:
      2026-03-20 09:01:06  boswell digest codex:019d4700-0000-7000-8000-000000000001  1 edit  and count the waits
      2026-03-20 09:00:19  boswell digest claude:5e551000-0000-4000-8000-000000000001  1 edit  make a pool that waits
    --- exit 0 ---
    ");
    assert_snapshot!(why(&world, "pool.rs:1"), @"
    pool.rs:1  fn pool() {
      no edit that is still kept wrote this line, but the text of other sessions is gone; commit [COMMIT] brought it
      [COMMIT]  2026-03-20 09:00:18  a pool

    Sessions whose text is gone edited this file, too; their digests do not tell which lines:
      2026-03-20 09:01:06  boswell digest codex:019d4700-0000-7000-8000-000000000001  1 edit  and count the waits
      2026-03-20 09:00:19  boswell digest claude:5e551000-0000-4000-8000-000000000001  1 edit  make a pool that waits
    --- exit 1 ---
    ");
}

#[test]
fn a_secret_is_masked_in_the_line_and_found_all_the_same() {
    let mut world = World::new(3);
    // Assembled here so that no scanner finds it in the repository.
    let secret = format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("fn login() {{\n    token(\"{secret}\");\n}}");
    world.by_agent(
        Agent::Claude,
        "log in",
        &Change {
            file: "login.rs",
            from: 0,
            to: 0,
            new: lines(&text),
        },
    );
    world.sweep();
    let (answer, code) = world.why("login.rs:2");
    assert_eq!(
        (answer["line"]["verdict"].as_str(), code),
        (Some("wrote"), Some(0)),
        "{answer}"
    );
    assert!(!answer.to_string().contains(&secret), "{answer}");
}

#[test]
fn a_repositorys_settings_run_nothing() {
    let mut world = small();
    let trap = world.sandbox.path("trap.sh");
    world.sandbox.write(
        "trap.sh",
        &format!("#!/bin/sh\ntouch {}\n", world.sandbox.path("sprung")),
    );
    Command::new("chmod").args(["+x", &trap]).status().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.odd.textconv",
        "filter.odd.clean",
        "filter.odd.smudge",
        "gpg.program",
        "core.sshCommand",
    ] {
        world.git(&["config", key, &trap]);
    }
    world.git(&["config", "log.showSignature", "true"]);
    fs::write(world.repo.join(".git/info/attributes"), "*.rs diff=odd filter=odd\n").unwrap();
    world.sweep();
    let before = tree(&world.repo);
    world.why("pool.rs:1");
    world.why("pool.rs");
    assert!(!Path::new(&world.sandbox.path("sprung")).exists());
    assert_eq!(tree(&world.repo), before, "nothing was written");
}

/// Returns every file below a directory, with its bytes.
fn tree(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(tree(&path)),
            false => files.push((path.to_str().unwrap().to_owned(), fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn without_a_memory_there_is_no_answer() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/projects/p/empty.jsonl",
        &ClaudeLog::new("5e550000-0000-4000-8000-000000000001").jsonl(),
    );
    let told = sandbox.run("why a.rs:1 --no-sweep");
    assert!(
        told.contains("there is no memory yet") && told.ends_with("--- exit 1 ---\n"),
        "{told}"
    );
}

/// Returns a log of Claude Code in which the agent writes a file.
fn writes(id: &str, cwd: &str, path: &str, text: &str) -> ClaudeLog {
    ClaudeLog::new(id)
        .cwd(cwd)
        .at("2026-03-31T09:00:00Z")
        .prompt(&format!(
            "write {}",
            path.rsplit(['/', '\\']).next().unwrap_or_default()
        ))
        .tool("Write", json!({"file_path": path, "content": text}), "File created")
}

/// Returns a home with sessions that wrote files with the same name in several places.
fn places() -> Sandbox {
    let sandbox = Sandbox::new();
    let text = "fn pool() {\n    wait_for_a_connection();\n    count_the_waits();\n}\n";
    let logs = [
        (
            "5e550001-0000-4000-8000-000000000001",
            "/home/ada/app",
            "/home/ada/app/src/pool.rs",
            text,
        ),
        (
            "5e550002-0000-4000-8000-000000000001",
            "/home/ada/site",
            "/home/ada/site/src/pool.rs",
            "fn other_pool() {}\n",
        ),
        (
            "5e550003-0000-4000-8000-000000000001",
            "/home/ada/app",
            "/home/ada/app/src/only_here.rs",
            "fn only_here() {}\n",
        ),
        (
            "5e550004-0000-4000-8000-000000000001",
            "C:\\Code\\app",
            "C:\\Code\\app\\src\\Window.rs",
            "fn window() {}\n",
        ),
    ];
    for (id, cwd, path, text) in logs {
        let log = writes(id, cwd, path, text);
        sandbox.write(&format!(".claude/projects/x/{id}.jsonl"), &log.jsonl());
    }
    sandbox.run("sweep");
    sandbox
}

#[test]
fn a_name_finds_recorded_paths_by_their_end() {
    let sandbox = places();
    let told = sandbox.run("why only_here.rs");
    assert!(
        told.starts_with("/home/ada/app/src/only_here.rs  1 turn in 1 session\n"),
        "{told}"
    );
    assert_snapshot!(sandbox.run("why src/pool.rs"), @"
    /home/ada/app/src/pool.rs  1 edit  23 hours ago
    /home/ada/site/src/pool.rs  1 edit  23 hours ago
    --- stderr ---
    2 recorded paths end with `src/pool.rs`
    Hint: name more of the path, such as `boswell why /home/ada/app/src/pool.rs`
    ");
    let several: Value = serde_json::from_str(sandbox.run("why pool.rs --json").lines().next().unwrap()).unwrap();
    let paths: Vec<&Value> = several["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["path"])
        .collect();
    assert_eq!(paths, ["/home/ada/app/src/pool.rs", "/home/ada/site/src/pool.rs"]);
    let told = sandbox.run("why --repo site src/pool.rs");
    assert!(told.starts_with("/home/ada/site/src/pool.rs  1 turn"), "{told}");
    assert!(
        sandbox.run("why ool.rs").contains("no kept session edited it"),
        "parts of paths match whole"
    );
}

#[test]
fn a_path_of_windows_is_found_in_any_case_and_with_either_separator() {
    let sandbox = places();
    for name in [
        "C:\\Code\\app\\src\\Window.rs",
        "c:/code/app/src/window.rs",
        "window.rs",
        "SRC\\window.rs",
    ] {
        let told = sandbox.run_args(&["why", "--no-sweep", name]);
        assert!(
            told.contains("1 turn in 1 session") && told.contains("5e550004"),
            "{name}: {told}"
        );
    }
    let told = sandbox.run_args(&["why", "--no-sweep", "D:\\Code\\app\\src\\Window.rs"]);
    assert!(told.contains("no kept session edited it"), "{told}");
}

#[test]
fn a_file_with_the_text_of_recorded_edits_and_no_shared_history_is_likely_theirs() {
    let sandbox = places();
    sandbox.write(
        "copy/pool.rs",
        "// copied\nfn pool() {\n    wait_for_a_connection();\n    count_the_waits();\n}\n",
    );
    let told = sandbox.run("why copy/pool.rs");
    assert!(
        told.starts_with("Likely: 3 of 3 lines that sessions wrote to /home/ada/app/src/pool.rs are in this file\n"),
        "{told}"
    );
    assert!(told.contains("boswell show 5e550001"), "{told}");
    let line: Value = serde_json::from_str(sandbox.run("why copy/pool.rs:3 --json").lines().next().unwrap()).unwrap();
    assert_eq!(line["line"]["verdict"], "likely", "{line}");
    assert_eq!(line["likely"]["shared_lines"], 3);
    assert_eq!(line["touches"][0]["turn"], 1);
    // No session wrote a line that no edit wrote, or a file with different text.
    let own = sandbox.run("why copy/pool.rs:1");
    assert!(own.contains("not from a session"), "{own}");
    sandbox.write("other/pool.rs", "something else entirely\nand nothing of the above\n");
    assert!(sandbox.run("why other/pool.rs").contains("no kept session edited it"));
}
