//! `boswell render --to mp4|gif|cast`: films of sessions, from the memory and from logs.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

/// Returns a secret, assembled here so that no scanner finds it in the repository.
fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

fn log() -> String {
    ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .title("Parser")
        .prompt("make the tests green")
        .tool(
            "Bash",
            json!({"command": "cargo test"}),
            &format!("ok, with {}", token()),
        )
        .reply("Green.")
        .wait_s(7_200)
        .prompt("thank you")
        .reply("You are welcome.")
        .jsonl()
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"), &log());
    sandbox.run("sweep");
    sandbox
}

const SMALL: &str = "--size 320x180 --fps 5 --speed 4";

#[test]
fn a_session_becomes_a_film_with_its_secrets_masked_and_counted() {
    let sandbox = sandbox();
    let told = sandbox.run(&format!("render last --to mp4 {SMALL}"));
    assert_snapshot!(told.replace(|c: char| c.is_ascii_digit(), "0"), @"
    [HOME]/claude-0e000000-0000-0000-0000-000000000000.mp0
    --- stderr ---
    Wrote 00.0 KiB
    Film: 0.0 s, 0 chapters
    Waiting cut: 0h 00m
    Masked: 0 secret
    ");
    let film = fs::read(sandbox.home.join(format!("claude-{SESSION}.mp4"))).unwrap();
    assert_eq!(&film[4..8], b"ftyp");
    // The same session gives the same film, also on stdout.
    let output = sandbox
        .command(&format!("render last --to mp4 -o - {SMALL}"))
        .output()
        .unwrap();
    assert!(output.stdout == film);
    // `forget` lists files that were made outside of the memory.
    let told = sandbox.run(&format!("forget {SESSION} --dry-run"));
    assert!(told.contains(".mp4"), "{told}");
}

#[test]
fn the_ending_of_a_name_says_what_a_film_becomes() {
    let sandbox = sandbox();
    let told: Value = serde_json::from_str(&sandbox.run(&format!("render last -o film.gif --json {SMALL}"))).unwrap();
    assert_eq!(told["to"], "gif");
    assert_eq!(told["secrets_masked"], 1);
    assert_eq!(told["film"]["chapters"][1]["title"], "1 · make the tests green");
    assert_eq!(told["film"]["speed_thousandths"], 4_000);
    assert_eq!(told["film"]["left_out"]["steps"], 0);
    assert!(told["film"]["waits_cut_ms"].as_u64().unwrap() > 7_000_000, "{told}");
    assert!(fs::read(sandbox.home.join("film.gif")).unwrap().starts_with(b"GIF89a"));
    sandbox.run("render last -o film.cast");
    let cast = fs::read_to_string(sandbox.home.join("film.cast")).unwrap();
    assert!(cast.contains("[REDACTED:github-token#1]") && !cast.contains(&token()));
    assert!(cast.contains("tests passed") && cast.contains("cut"), "{cast}");
}

#[test]
fn some_turns_make_a_film_and_a_bare_log_may_be_revealed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write("log.jsonl", &log());
    let cast = |flags: &str| sandbox.run(&format!("render log.jsonl --to cast -o - {flags}"));
    let second = cast("--turns 2");
    assert!(
        second.contains("thank you") && !second.contains("cargo test"),
        "{second}"
    );
    let prompts = cast("--depth prompts");
    assert!(
        prompts.contains("make the tests green") && !prompts.contains("Green."),
        "{prompts}"
    );
    assert!(!cast("").contains(&token()));
    let revealed = cast("--reveal");
    assert!(revealed.contains(&token()) && revealed.contains("nothing is masked in it"));
}

#[test]
fn what_is_for_films_alone_is_refused_elsewhere() {
    let sandbox = sandbox();
    let lines = [
        "render last --speed 2",
        "render last --to mp4 --watch",
        "render --all --to mp4 -o site",
        "render last --to mp4 --max-tokens 200",
        "render last --to mp4 --size 3x3",
        "render last --to mp4 --max-duration soon",
    ];
    let told: Vec<String> = lines.iter().map(|line| sandbox.run(line)).collect();
    assert_snapshot!(told.join("\n"), @"
    --- stderr ---
    error: `--speed` is for films
    Hint: add `--to mp4`, `--to gif` or `--to cast`
    --- exit 2 ---

    --- stderr ---
    error: a film is made once: `--watch` is for pages and texts
    --- exit 2 ---

    --- stderr ---
    error: `--all` makes pages, no films
    --- exit 2 ---

    --- stderr ---
    error: `--max-tokens` is for a text
    --- exit 2 ---

    --- stderr ---
    error: invalid value '3x3' for '--size <SIZE>': not a size between 320x180 and 3840x2160

    For more information, try '--help'.
    --- exit 2 ---

    --- stderr ---
    error: invalid value 'soon' for '--max-duration <TIME>': not a time such as `90s`, `10m` or `1h`

    For more information, try '--help'.
    --- exit 2 ---
    ");
}

#[test]
fn what_does_not_fit_is_left_out_and_said() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let mut log = ClaudeLog::new(SESSION).at("2026-03-31T09:00:00Z");
    for turn in 0..40 {
        log = log
            .prompt(&format!("question {turn}"))
            .reply(&"a long answer ".repeat(60));
    }
    sandbox.write("log.jsonl", &log.jsonl());
    let told = sandbox.run("render log.jsonl -o film.cast --max-duration 20s");
    assert_snapshot!(told, @"
    [HOME]/film.cast
    --- stderr ---
    Wrote 25.4 KiB
    Film: 20.0 s, 9 chapters
    Left out: 32 turns, 64 steps
    Hint: `--max-duration` lets it be longer, `--turns` chooses what is shown
    ");
}
