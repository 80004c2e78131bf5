//! Hooks and wrapped commands: the payloads of the agents, the edits of their settings, and that nothing delays or
//! fails an agent.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::finder::Terminal;
use crate::sandbox::{Sandbox, names_in};

const CLAUDE: &str = "5e550000-0000-4000-8000-00000000000a";
const CODEX: &str = "019d4700-0000-7000-8000-00000000c0de";
const GROK: &str = "019d4700-0000-7000-8000-000000000605";

fn store(sandbox: &Sandbox) -> PathBuf {
    sandbox.home.join(".local/share/boswell")
}

/// Calls a hook like an agent does.
fn hook(sandbox: &Sandbox, agent: &str, payload: &[u8]) -> Output {
    let home = store(sandbox);
    let mut command = sandbox.command("hook");
    command.arg(agent).arg("--home").arg(home);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The hook may exit before it has read all of it.
    _ = child.stdin.take().unwrap().write_all(payload);
    child.wait_with_output().unwrap()
}

fn check_quiet(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// Waits until the ingest that a hook started is done: it holds a lock while it works.
fn settle(sandbox: &Sandbox) {
    let spool = store(sandbox).join("spool");
    let (_sender, receiver) = channel::<()>();
    for _ in 0..600 {
        let lock = File::options().write(true).open(spool.join("ingest.lock")).unwrap();
        lock.lock().unwrap();
        drop(lock);
        if !names_in(&spool).iter().any(|name| name.ends_with(".json")) {
            return;
        }
        _ = receiver.recv_timeout(Duration::from_millis(100));
    }
    panic!("notes are still waiting: {:?}", names_in(&spool));
}

fn json(sandbox: &Sandbox, line: &str) -> Value {
    let output = sandbox.command(line).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Returns a home with logs of all three agents.
fn with_logs() -> Sandbox {
    let sandbox = Sandbox::new();
    let log = ClaudeLog::new(CLAUDE)
        .at("2026-04-01T08:55:00Z")
        .prompt("do it")
        .reply("Done.");
    sandbox.write(&claude_log(), &log.jsonl());
    sandbox.write(&codex_log(), &codex_text("/home/ada/app"));
    let update = r#"{"timestamp":1775033700,"method":"session/update","params":{"sessionId":"G","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"do it"}}}}"#;
    sandbox.write(&grok_log(), &(update.replace('G', GROK) + "\n"));
    sandbox
}

fn claude_log() -> String {
    format!(".claude/projects/-home-ada-app/{CLAUDE}.jsonl")
}

fn codex_log() -> String {
    format!(".codex/sessions/2026/04/01/rollout-2026-04-01T08-55-00-{CODEX}.jsonl")
}

fn grok_log() -> String {
    format!(".grok/sessions/%2Fhome%2Fada%2Fapp/{GROK}/updates.jsonl")
}

fn codex_text(cwd: &str) -> String {
    let at = "2026-04-01T08:55:00Z";
    let lines = [
        format!(r#"{{"timestamp":"{at}","type":"session_meta","payload":{{"id":"{CODEX}","cwd":"{cwd}"}}}}"#),
        format!(r#"{{"timestamp":"{at}","type":"event_msg","payload":{{"type":"user_message","message":"do it"}}}}"#),
    ];
    lines.map(|line| line + "\n").concat()
}

/// Returns the payload of each agent for each event, as its documentation describes it.
fn payloads(sandbox: &Sandbox) -> Vec<(&'static str, String)> {
    let own = |name: &str, more: &str, id: &str, log: &str| {
        let path = sandbox.path(log);
        format!(
            r#"{{"session_id":"{id}","transcript_path":"{path}","cwd":"/home/ada/app","permission_mode":"default","hook_event_name":"{name}"{more}}}"#
        )
    };
    let claude = |name: &str, more: &str| ("claude", own(name, more, CLAUDE, &claude_log()));
    let codex = |name: &str, more: &str| ("codex", own(name, more, CODEX, &codex_log()));
    let grok = |agent: &'static str, name: &str, more: &str| {
        let path = sandbox.path(&grok_log());
        let text = format!(
            r#"{{"hookEventName":"{name}","sessionId":"{GROK}","cwd":"/home/ada/app","workspaceRoot":"/home/ada/app","timestamp":"2026-04-01T08:55:00Z","transcriptPath":"{path}"{more}}}"#
        );
        (agent, text)
    };
    let child = sandbox.path(&format!(
        ".claude/projects/-home-ada-app/{CLAUDE}/subagents/agent-a1.jsonl"
    ));
    vec![
        claude("SessionStart", r#","source":"startup","model":"opus""#),
        claude(
            "Stop",
            r#","stop_hook_active":false,"last_assistant_message":"the password is hunter2""#,
        ),
        claude("StopFailure", r#","error":"rate_limit","error_details":"hunter2""#),
        claude(
            "SubagentStop",
            &format!(r#","agent_id":"a1","agent_transcript_path":"{child}""#),
        ),
        claude("SessionEnd", r#","reason":"prompt_input_exit""#),
        codex("SessionStart", r#","source":"startup""#),
        codex("Stop", r#","turn_id":"1","last_assistant_message":"hunter2""#),
        codex("SubagentStop", r#","agent_id":"a1","agent_transcript_path":null"#),
        codex("SessionEnd", r#","reason":"other""#),
        grok("grok", "session_start", ""),
        grok(
            "grok",
            "stop",
            r#","reason":"end_turn","lastAssistantMessage":"hunter2""#,
        ),
        grok("grok", "stop_failure", r#","error":"overloaded""#),
        grok("grok", "stop_cancelled", r#","reason":"user_interrupt""#),
        grok("grok", "subagent_stop", ""),
        grok("grok", "session_end", r#","reason":"shutdown","turnCount":1"#),
        // Grok runs Claude's hooks, too: two reports of one event count once.
        grok("claude", "session_end", r#","reason":"shutdown","turnCount":1"#),
    ]
}

fn facts(sandbox: &Sandbox, uid: &str) -> String {
    let told = json(sandbox, &format!("show {uid} --json"));
    let fact = |fact: &Value| {
        let word = |name: &str| {
            fact[name]
                .as_str()
                .map(|word| format!(" {name}={word}"))
                .unwrap_or_default()
        };
        format!("{}{}{}", fact["event"].as_str().unwrap(), word("reason"), word("error"))
    };
    let mut facts: Vec<String> = told["session"]["facts"].as_array().unwrap().iter().map(fact).collect();
    facts.sort();
    facts.join("\n")
}

#[test]
fn every_event_of_every_agent_is_heard_and_its_session_is_in_memory_soon_after() {
    let sandbox = with_logs();
    sandbox.run("hooks install claude codex grok");
    for (agent, payload) in payloads(&sandbox) {
        check_quiet(&hook(&sandbox, agent, payload.as_bytes()));
    }
    settle(&sandbox);
    assert_snapshot!(facts(&sandbox, &format!("claude:{CLAUDE}")), @"
    session_end reason=prompt_input_exit
    session_start
    stop
    stop_failure error=rate_limit
    subagent_stop
    ");
    assert_snapshot!(facts(&sandbox, &format!("codex:{CODEX}")), @"
    session_end reason=other
    session_start
    stop
    subagent_stop
    ");
    assert_snapshot!(facts(&sandbox, &format!("grok:{GROK}")), @"
    session_end reason=shutdown
    session_start
    stop reason=end_turn
    stop_cancelled reason=user_interrupt
    stop_failure error=overloaded
    subagent_stop
    ");
    assert_eq!(
        json(&sandbox, "sessions --json --no-sweep")["sessions"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    for file in files_below(&store(&sandbox)) {
        let bytes = fs::read(&file).unwrap();
        assert!(
            !bytes.windows(7).any(|window| window == b"hunter2"),
            "{}",
            file.display()
        );
    }
}

fn files_below(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn a_failure_that_only_a_hook_tells_of_decides_how_the_session_came_out() {
    let sandbox = with_logs();
    sandbox.run("hooks install claude");
    let payloads = payloads(&sandbox);
    let of = |name: &str| payloads.iter().find(|(_, text)| text.contains(name)).unwrap().1.clone();
    check_quiet(&hook(&sandbox, "claude", of("StopFailure").as_bytes()));
    check_quiet(&hook(&sandbox, "claude", of("SessionEnd").as_bytes()));
    settle(&sandbox);
    // The hook reported the end, so the digest need not wait until the log is quiet.
    let digest = json(&sandbox, &format!("digest {CLAUDE} --json"));
    assert_eq!(
        (&digest["outcome"], &digest["reason"]),
        (&"fail".into(), &"api_error".into()),
        "{digest}"
    );
    assert_eq!(
        digest["evidence"][1]["text"], "reported by a hook: rate_limit",
        "{digest}"
    );
    let shown = sandbox.run(&format!("show {CLAUDE}"));
    assert!(
        shown.contains("  failed: rate limit (") && shown.contains("  ended: prompt input exit ("),
        "{shown}"
    );
}

#[test]
fn a_log_that_lags_behind_its_hook_is_waited_for() {
    let sandbox = with_logs();
    sandbox.run("hooks install claude");
    let payload = payloads(&sandbox).swap_remove(4).1;
    check_quiet(&hook(&sandbox, "claude", payload.as_bytes()));
    // The rest of the log arrives after the ingest has processed the note.
    let spool = store(&sandbox).join("spool");
    let (_sender, receiver) = channel::<()>();
    while names_in(&spool).iter().any(|name| name.ends_with(".json")) {
        _ = receiver.recv_timeout(Duration::from_millis(20));
    }
    let log = ClaudeLog::new(CLAUDE)
        .at("2026-04-01T08:55:00Z")
        .prompt("do it")
        .reply("Done.");
    sandbox.write(
        &claude_log(),
        &log.prompt("one more thing").reply("Done again.").jsonl(),
    );
    settle(&sandbox);
    let shown = sandbox.run(&format!("show {CLAUDE} --no-sweep"));
    assert!(shown.contains("one more thing"), "{shown}");
}

#[test]
fn a_hook_never_fails_and_never_says_a_word() {
    let sandbox = with_logs();
    let payload = payloads(&sandbox).swap_remove(4).1;
    // Without a memory and without installed hooks.
    check_quiet(&hook(&sandbox, "claude", payload.as_bytes()));
    settle(&sandbox);
    sandbox.run("hooks install claude");
    for odd in [
        &b""[..],
        b"{}",
        b"\xff\x00",
        b"[[[[",
        br#"{"session_id":"../../x","hook_event_name":"Stop"}"#,
        br#"{"session_id":"x","hook_event_name":"Stop","transcript_path":"/etc/passwd"}"#,
    ] {
        check_quiet(&hook(&sandbox, "claude", odd));
    }
    check_quiet(&hook(&sandbox, "nobody", payload.as_bytes()));
    let deep = format!("{{\"x\":{}", "[".repeat(200_000));
    check_quiet(&hook(&sandbox, "claude", deep.as_bytes()));
    let long = payload.replace(
        "SessionEnd\"",
        &format!("SessionEnd\",\"last_assistant_message\":\"{}\"", "x".repeat(20 << 20)),
    );
    check_quiet(&hook(&sandbox, "claude", long.as_bytes()));
    for line in [
        "hook",
        "hook claude",
        "hook claude --home",
        "hook claude --home relative",
        "hook ingest",
    ] {
        check_quiet(&sandbox.command(line).output().unwrap());
    }
    // With an invalid configuration, and while another process writes.
    sandbox.write_user_config("this is no toml [");
    check_quiet(&hook(&sandbox, "claude", payload.as_bytes()));
    let lock = File::options().write(true).open(store(&sandbox).join("lock")).unwrap();
    lock.lock().unwrap();
    check_quiet(&hook(&sandbox, "claude", payload.as_bytes()));
    drop(lock);
    // The next sweep with a valid configuration reads the notes written meanwhile.
    sandbox.write_user_config("");
    sandbox.run("sweep");
    let facts = facts(&sandbox, &format!("claude:{CLAUDE}"));
    assert_eq!(facts, "session_end reason=prompt_input_exit");
}

const BY_HAND: &str = "{\n\t// mine\n\t\"model\" : \"opus\",\n\n\t\"hooks\": { \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"beep\" } ] } ],\n\t\t/* odd */ \"PreToolUse\": [ ] },\n\t\"env\": {\"A\":\"b\",}\n}\r\n";
const TOML: &str =
    "# mine\nmodel = 'o'   # odd\n\n[[hooks.Stop]]\nhooks = [ {type=\"command\", command=\"beep\"} ]\n\n[tui]\na=1";

#[test]
fn settings_written_by_hand_are_the_same_again_byte_for_byte() {
    let sandbox = Sandbox::new();
    for text in [
        BY_HAND,
        "{}",
        "{ }\n\n",
        "\u{feff}{\"a\":1}",
        "{\"hooks\":{}}",
        "// nothing yet\n{\n}",
    ] {
        sandbox.write(".claude/settings.json", text);
        sandbox.write(".codex/hooks.json", text);
        let installed = sandbox.run("hooks install claude codex grok");
        assert!(!installed.contains("error"), "{installed}");
        let now = fs::read_to_string(sandbox.home.join(".claude/settings.json")).unwrap();
        assert_eq!(now.matches("hook claude --home").count(), 5, "{now}");
        // A second installation changes nothing.
        assert!(sandbox.run("hooks install claude").contains("are there already"));
        assert_eq!(
            fs::read_to_string(sandbox.home.join(".claude/settings.json")).unwrap(),
            now
        );
        sandbox.run("hooks uninstall");
        for name in [".claude/settings.json", ".codex/hooks.json"] {
            assert_eq!(fs::read_to_string(sandbox.home.join(name)).unwrap(), text, "{name}");
        }
        assert_eq!(names_in(&sandbox.home.join(".claude")), ["settings.json"]);
        assert!(names_in(&sandbox.home.join(".grok/hooks")).is_empty());
    }
    fs::remove_file(sandbox.home.join(".codex/hooks.json")).unwrap();
    sandbox.write(".codex/config.toml", TOML);
    sandbox.run("hooks install codex");
    assert_eq!(
        names_in(&sandbox.home.join(".codex")),
        ["config.toml", "config.toml.before-boswell"]
    );
    sandbox.run("hooks uninstall codex");
    assert_eq!(
        fs::read_to_string(sandbox.home.join(".codex/config.toml")).unwrap(),
        TOML
    );
    assert_eq!(names_in(&sandbox.home.join(".codex")), ["config.toml"]);
}

#[test]
fn what_a_user_changed_since_stays_when_ours_goes() {
    let sandbox = Sandbox::new();
    let path = sandbox.home.join(".claude/settings.json");
    sandbox.write(".claude/settings.json", BY_HAND);
    sandbox.run("hooks install claude --statusline");
    let with = fs::read_to_string(&path).unwrap();
    assert!(with.contains("boswell statusline"), "{with}");
    fs::write(&path, with.replace("\"opus\"", "\"haiku\"")).unwrap();
    sandbox.run("hooks uninstall claude");
    let after = fs::read_to_string(&path).unwrap();
    for kept in ["// mine", "\"model\" : \"haiku\"", "\"command\": \"beep\"", "/* odd */"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(!after.contains("boswell"), "{after}");
}

#[cfg(unix)]
#[test]
fn settings_behind_a_link_are_written_where_they_lie() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    sandbox.write("dotfiles/claude.json", BY_HAND);
    let target = sandbox.home.join("dotfiles/claude.json");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(sandbox.home.join(".claude")).unwrap();
    let link = sandbox.home.join(".claude/settings.json");
    symlink("../dotfiles/claude.json", &link).unwrap();
    let is_link = || fs::symlink_metadata(&link).unwrap().is_symlink();
    let mode = || fs::metadata(&target).unwrap().permissions().mode() & 0o777;
    sandbox.run("hooks install claude");
    assert!(is_link() && fs::read_to_string(&target).unwrap().contains("hook claude --home"));
    assert_eq!(mode(), 0o640);
    sandbox.run("hooks uninstall claude");
    assert!(is_link());
    assert_eq!(
        (fs::read_to_string(&target).unwrap().as_str(), mode()),
        (BY_HAND, 0o640)
    );
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let sandbox = Sandbox::new();
    sandbox.write(".codex/hooks.json", "{\n  \"hooks\": {}\n}\n");
    let told = sandbox
        .run("hooks install codex --dry-run")
        .replace(env!("CARGO_BIN_EXE_boswell"), "boswell");
    assert_snapshot!(told, @r#"
    --- [HOME]/.codex/hooks.json
    +++ [HOME]/.codex/hooks.json
    @@ -1,3 +1,48 @@
     {
    -  "hooks": {}
    +  "hooks": {
    +    "SessionStart": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "boswell hook codex --home [HOME]/.local/share/boswell",
    +            "timeout": 3
    +          }
    +        ]
    +      }
    +    ],
    +    "Stop": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "boswell hook codex --home [HOME]/.local/share/boswell",
    +            "timeout": 3
    +          }
    +        ]
    +      }
    +    ],
    +    "SubagentStop": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "boswell hook codex --home [HOME]/.local/share/boswell",
    +            "timeout": 3
    +          }
    +        ]
    +      }
    +    ],
    +    "SessionEnd": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "boswell hook codex --home [HOME]/.local/share/boswell",
    +            "timeout": 3
    +          }
    +        ]
    +      }
    +    ]
    +  }
     }
    --- stderr ---
    Hint: Codex runs a hook only once you trust it: start `codex`, open `/hooks` and trust ours
    "#);
    assert_eq!(names_in(&sandbox.home.join(".codex")), ["hooks.json"]);
    assert!(!store(&sandbox).exists());
    sandbox.write(".codex/hooks.json", "[]");
    assert_snapshot!(sandbox.run("hooks install codex"), @"
    --- stderr ---
    error: cannot add hooks to `[HOME]/.codex/hooks.json`: the settings are no object
    Hint: nothing was changed; mend the file and run this again
    --- exit 2 ---
    ");
}

#[test]
fn status_says_where_hooks_are_and_when_they_were_last_heard_of() {
    let sandbox = with_logs();
    let check = |line: &str| sandbox.run(line).replace(env!("CARGO_BIN_EXE_boswell"), "boswell");
    assert_snapshot!(check("hooks status"), @"
    Claude Code  never heard of
      user  [HOME]/.claude/settings.json  not installed
    Codex CLI  never heard of
      user  [HOME]/.codex/hooks.json  not installed
    Grok  never heard of
      user  [HOME]/.grok/hooks/boswell.json  not installed
    --- exit 1 ---
    ");
    assert_snapshot!(check("hooks install claude codex --statusline"), @"
    Claude Code: hooks installed: [HOME]/.claude/settings.json
    Codex CLI: hooks installed: [HOME]/.codex/hooks.json
    --- stderr ---
    Hint: Codex runs a hook only once you trust it: start `codex`, open `/hooks` and trust ours
    ");
    check_quiet(&hook(&sandbox, "claude", payloads(&sandbox)[4].1.as_bytes()));
    settle(&sandbox);
    assert_snapshot!(check("hooks status"), @"
    Claude Code  last heard of just now: session end
      user  [HOME]/.claude/settings.json  installed, runs this program, with status line
    Codex CLI  never heard of
      user  [HOME]/.codex/hooks.json  installed, runs this program
    Grok  never heard of
      user  [HOME]/.grok/hooks/boswell.json  not installed
    ");
    // The program in the settings no longer exists.
    let path = sandbox.home.join(".claude/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(env!("CARGO_BIN_EXE_boswell"), "/gone/boswell")).unwrap();
    let told = json(&sandbox, "hooks status claude --json");
    assert_eq!(told["hooks"][0]["runs"], "nothing", "{told}");
    assert_eq!(told["hooks"][0]["last_event"], "session_end", "{told}");
}

/// Installs a shell script with the name of an agent.
#[cfg(unix)]
fn agent(sandbox: &mut Sandbox, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    sandbox.write("bin/codex", &format!("#!/bin/sh\n{script}\n"));
    let path = sandbox.home.join("bin/codex");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = sandbox.path("bin");
    sandbox.set("PATH", &format!("{folder}:/usr/bin:/bin"));
}

#[cfg(unix)]
#[test]
fn a_wrapped_command_has_its_streams_and_its_end_to_itself_and_its_session_is_kept() {
    let mut sandbox = Sandbox::new();
    let home = sandbox.path("").trim_end_matches('/').to_owned();
    sandbox.write("made.jsonl", &codex_text(&home));
    let log = codex_log();
    let script = format!(
        "read line; echo \"out $line $1\"; echo err >&2; mkdir -p $(dirname {log}); cp made.jsonl {log}; exit 3"
    );
    agent(&mut sandbox, &script);
    let run = |line: &str| {
        let mut command = sandbox.command(line);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"in\n").unwrap();
        sandbox.told(&child.wait_with_output().unwrap())
    };
    assert_snapshot!(run("run -- codex exec"), @"
    out in exec
    --- stderr ---
    err
    In memory: codex:019d4700-0000-7000-8000-00000000c0de
    --- exit 3 ---
    ");
    let digest = json(&sandbox, &format!("digest {CODEX} --json --no-sweep"));
    assert_eq!(
        (&digest["outcome"], &digest["reason"], &digest["told"][0]["exit_code"]),
        (&"fail".into(), &"exit_status".into(), &3.into()),
        "{digest}"
    );
    assert_snapshot!(run("run --quiet -- codex exec"), @"
    out in exec
    --- stderr ---
    err
    --- exit 3 ---
    ");
    assert_snapshot!(sandbox.run("run -- nothing-like-this"), @"
    --- stderr ---
    warning: cannot run `nothing-like-this`: No such file or directory (os error 2)
    --- exit 127 ---
    ");
    // The command runs even if our configuration is invalid.
    sandbox.write_user_config("no toml [");
    let told = run("run -- codex exec");
    assert!(
        told.starts_with("out in exec\n") && told.ends_with("--- exit 3 ---\n"),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn signals_reach_a_wrapped_command_and_its_death_is_told_as_shells_do() {
    use std::io::Read;
    use std::process::Command;
    let mut sandbox = Sandbox::new();
    agent(&mut sandbox, ":");
    for (signal, words, code) in [("TERM", "heard", 7), ("INT", "int", 8)] {
        // A shell runs its trap only between two programs, so the loop waits for short ones.
        sandbox.write(
            "bin/codex",
            &format!(
                "#!/bin/sh\ntrap 'echo {words}; exit {code}' {signal}\necho ready\nwhile :; do /bin/sleep 0.05; done\n"
            ),
        );
        let mut command = sandbox.command("run --quiet -- codex");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut ready = [0; 6];
        out.read_exact(&mut ready).unwrap();
        let sent = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.trim(), child.wait().unwrap().code()), (words, Some(code)));
    }
    agent(&mut sandbox, "kill -9 $$");
    let ended = sandbox.command("run --quiet -- codex").output().unwrap();
    assert_eq!(ended.status.code(), Some(137));
}

#[cfg(unix)]
#[test]
fn a_wrapped_command_has_the_terminal_to_itself_and_hears_each_key_once() {
    let mut sandbox = Sandbox::new();
    agent(
        &mut sandbox,
        "n=0; trap 'n=$((n+1)); echo heard $n' INT\n\
         test -t 0 && test -t 1 && test -t 2 && echo \"terminal of $(stty size)\"\n\
         while ! read line; do :; done\n\
         echo \"read $line, heard $n\"; exit 4",
    );
    let Some(terminal) = Terminal::open(sandbox) else {
        return;
    };
    terminal.write("clear; \"$BOSWELL\" run --quiet -- codex; echo ended $?");
    terminal.press(&["Enter"]);
    terminal.wait_for("terminal of 24 100");
    terminal.press(&["C-c"]);
    terminal.wait_for("heard 1");
    terminal.write("a line");
    terminal.press(&["Enter"]);
    terminal.wait_for("read a line, heard 1");
    terminal.wait_for("ended 4");
    terminal.assert_is_itself();
}
