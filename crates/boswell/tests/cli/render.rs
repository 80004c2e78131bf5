//! `boswell render`: pages and texts of sessions, from the memory and from logs.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use flate2::read::DeflateDecoder;
use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::{Sandbox, names_in};

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const OTHER: &str = "5e550000-0000-4000-8000-000000000002";

fn log_path(session: &str) -> String {
    format!(".claude/projects/-home-ada-app/{session}.jsonl")
}

/// Returns a secret, assembled here so that no scanner finds it in the repository.
fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

fn session(id: &str) -> ClaudeLog {
    ClaudeLog::new(id)
        .at("2026-03-31T09:00:00Z")
        .title("Parser")
        .prompt("make the tests green")
        .think("where to begin")
        .tool(
            "Bash",
            json!({"command": "cargo test"}),
            &format!("ok, with {}", token()),
        )
        .failed_tool(
            "Bash",
            json!({"command": "cargo clippy"}),
            "Exit code 101\n```\nwarning",
        )
        .reply("Green, but clippy complains.")
        .prompt(&format!("use {} then", token()))
        .reply("Done.")
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&log_path(SESSION), &session(SESSION).jsonl());
    sandbox.run("sweep");
    sandbox
}

/// Returns all text that a page shows, unpacked from its blocks.
pub(crate) fn text_of(page: &Path) -> String {
    let page = fs::read_to_string(page).unwrap();
    let mut text = String::new();
    for block in page.split("<script type=\"text/plain\" id=\"").skip(1) {
        let (id, rest) = block.split_once("\">").unwrap();
        let packed = base64(rest.split_once('<').unwrap().0);
        if id != "ix" {
            DeflateDecoder::new(packed.as_slice())
                .read_to_string(&mut text)
                .unwrap();
        }
    }
    page.split("<script").next().unwrap().to_owned() + &text
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .chars()
        .filter_map(|c| ALPHABET.find(c))
        .map(|at| u32::try_from(at).unwrap())
        .collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let number = four.iter().fold(0, |number, digit| number << 6 | digit) << (6 * (4 - four.len()));
        bytes.extend(&number.to_be_bytes()[1..four.len()]);
    }
    bytes
}

#[test]
fn a_session_becomes_a_page_with_its_secrets_masked_and_counted() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("render last -o page.html").replace(char::is_numeric, "0"), @"
    [HOME]/page.html
    --- stderr ---
    Wrote 00.0 KiB
    Masked: 0 secrets
    ");
    let page = sandbox.home.join("page.html");
    let text = text_of(&page);
    assert!(
        text.contains("make the tests green") && text.contains("cargo clippy"),
        "{text}"
    );
    assert!(!text.contains(&token()));
    assert!(text.contains("[REDACTED:github-token#1]"), "{text}");
    // The same session gives the same page.
    let first = fs::read(&page).unwrap();
    sandbox.run("render last -o page.html");
    assert!(fs::read(&page).unwrap() == first);
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&page).unwrap().permissions()) & 0o777,
        0o600
    );
    // `forget` lists files that were made outside of the memory.
    let told = sandbox.run(&format!("forget {SESSION} --dry-run"));
    assert!(told.contains("page.html"), "{told}");
}

#[test]
fn a_bare_log_needs_no_memory_and_its_owner_may_reveal_it() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write("log.jsonl", &session(SESSION).jsonl());
    sandbox.run("render log.jsonl -o page.html");
    assert!(!text_of(&sandbox.home.join("page.html")).contains(&token()));
    let told = sandbox.run("render log.jsonl -o page.html --reveal");
    assert!(told.contains("nothing is masked in it"), "{told}");
    assert!(text_of(&sandbox.home.join("page.html")).contains(&token()));
    assert!(!sandbox.home.join(".local/share/boswell").exists());
    let told = sandbox.run("render nowhere --reveal");
    assert!(told.contains("cannot be revealed"), "{told}");
    let told = sandbox.run("render .");
    assert!(told.contains("this is a directory: `.`"), "{told}");
}

#[test]
fn what_came_of_a_session_is_told_of_a_bare_log_as_of_a_kept_one() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let begun = || {
        ClaudeLog::new(SESSION)
            .at("2026-03-31T09:00:00Z")
            .prompt("mend the parser")
    };
    let command = || json!({"command": "cargo test"});
    let (passed, failed) = (
        "test result: ok. 9 passed; 0 failed",
        "Exit code 101\ntest result: FAILED. 8 passed; 1 failed",
    );
    for (log, word) in [
        (begun().tool("Bash", command(), passed), "success"),
        (begun().failed_tool("Bash", command(), failed), "fail"),
    ] {
        let log = log.reply("That is how it stands.");
        sandbox.write("log.jsonl", &log.jsonl());
        sandbox.write(&log_path(SESSION), &log.jsonl());
        sandbox.run("sweep");
        sandbox.run("digest last");
        for session in ["log.jsonl", "last"] {
            sandbox.run(&format!("render {session} -o page.html"));
            let page = fs::read_to_string(sandbox.home.join("page.html")).unwrap();
            let (_, rest) = page.split_once("<span class=\"outcome").expect(session);
            assert!(
                rest.contains(&format!("\">{word}</span>")),
                "{session}: {}",
                &rest[..40]
            );
        }
    }
}

#[test]
fn a_text_goes_to_the_output_and_is_cut_to_what_is_asked_for() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("render last --to md --depth tools"), @"
    # Parser

    Claude Code · `claude-opus-5` · `/home/ada/app` · `main` · 2026-03-31 09:00 · 8.0 s · 150 tokens · <$0.01

    ## Turn 1 · 2026-03-31 09:00

    > make the tests green

    *Thinking:*

    > where to begin

    - **Bash** `cargo test` (1.0 s)

    ```
    ok, with [REDACTED:github-token#1]
    ```

    - **Bash** `cargo clippy` (1.0 s, exit 101)

    ````
    Exit code 101
    ```
    warning
    ````

    Green, but clippy complains.

    ## Turn 2 · 2026-03-31 09:00

    > use [REDACTED:github-token#1] then

    Done.
    --- stderr ---
    Masked: 2 secrets
    ");
    assert_snapshot!(sandbox.run("render last --to md --turns 2"), @"
    # Parser

    Claude Code · `claude-opus-5` · `/home/ada/app` · `main` · 2026-03-31 09:00 · 8.0 s · 150 tokens · <$0.01

    ## Turn 2 · 2026-03-31 09:00

    > use [REDACTED:github-token#1] then

    Done.
    --- stderr ---
    Masked: 1 secret
    ");
    let told: Value =
        serde_json::from_str(&sandbox.run("render last -o a.md --depth full --max-tokens 100 --json")).unwrap();
    assert_eq!(
        (&told["schema"], &told["to"]),
        (&json!("boswell.render/1"), &json!("md"))
    );
    assert_eq!(told["left_out"]["turns"], json!([1]));
    assert!(fs::read_to_string(sandbox.home.join("a.md")).unwrap().chars().count() <= 400);
    assert_snapshot!(sandbox.run("render last --depth full"), @"
    --- stderr ---
    error: a page holds everything: `--depth` and `--max-tokens` are for a text
    Hint: add `--to md`
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("render last --turns 9 --to md"), @"
    --- stderr ---
    Hint: this session has no such turns
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("render nothing"), @"
    --- stderr ---
    error: no session in the memory begins with: `nothing`
    Hint: `boswell sweep` reads what is new
    --- exit 1 ---
    ");
}

fn written(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn one_new_line_makes_one_page_again() {
    let sandbox = sandbox();
    sandbox.write(&log_path(OTHER), &session(OTHER).jsonl());
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("render --all -o site"), @"
    [HOME]/site/index.html
    --- stderr ---
    Made 2 pages, 0 unchanged
    Masked: 4 secrets
    ");
    let site = sandbox.home.join("site");
    assert_eq!(
        names_in(&site.join("sessions")),
        [format!("claude-{SESSION}.html"), format!("claude-{OTHER}.html")]
    );
    let pages = [SESSION, OTHER].map(|id| site.join(format!("sessions/claude-{id}.html")));
    let before = pages.each_ref().map(|page| written(page));
    assert_snapshot!(sandbox.run("render --all -o site"), @"
    [HOME]/site/index.html
    --- stderr ---
    Made 0 pages, 2 unchanged
    Masked: 4 secrets
    ");
    assert_eq!(pages.each_ref().map(|page| written(page)), before);
    let more = ClaudeLog::new(OTHER)
        .at("2026-03-31T10:00:00Z")
        .prompt("one more thing")
        .jsonl();
    let mut log = OpenOptions::new()
        .append(true)
        .open(sandbox.home.join(log_path(OTHER)))
        .unwrap();
    log.write_all(more.as_bytes()).unwrap();
    sandbox.run("sweep");
    let told: Value = serde_json::from_str(&sandbox.run("render --all -o site --json")).unwrap();
    assert_eq!((&told["made"], &told["unchanged"]), (&json!(1), &json!(1)), "{told}");
    let after = pages.each_ref().map(|page| written(page));
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    assert!(text_of(&pages[1]).contains("one more thing"));
    assert!(text_of(&site.join("index.html")).contains("make the tests green"));
    assert!(!text_of(&site.join("index.html")).contains(&token()));
    // Rendering again removes the page of a forgotten session.
    sandbox.run(&format!("forget {OTHER} --yes"));
    sandbox.run("render --all -o site");
    assert!(pages[0].exists() && !pages[1].exists());
}

#[test]
fn a_watched_page_follows_its_log() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write("log.jsonl", &session(SESSION).jsonl());
    let mut command = sandbox.command("render log.jsonl -o page.html --watch");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The command prints the path once the page exists.
    assert!(lines.next().unwrap().unwrap().ends_with("page.html"));
    let page = sandbox.home.join("page.html");
    assert!(fs::read_to_string(&page).unwrap().contains("<body data-reload=\"3\">"));
    let more = ClaudeLog::new(SESSION)
        .at("2026-03-31T10:00:00Z")
        .prompt("one more thing")
        .jsonl();
    let mut log = OpenOptions::new()
        .append(true)
        .open(sandbox.home.join("log.jsonl"))
        .unwrap();
    log.write_all(more.as_bytes()).unwrap();
    let (_sender, receiver) = channel::<()>();
    let follows = (0..300).any(|_| {
        _ = receiver.recv_timeout(Duration::from_millis(100));
        text_of(&page).contains("one more thing")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(follows);
}
