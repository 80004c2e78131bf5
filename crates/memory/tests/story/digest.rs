//! Digests: their content for sessions with a known outcome, when they are written, and that they stay when the raw
//! text is evicted.

use jiff::{SignedDuration, Timestamp};
use memory::digest::{self, BYTES_MAX, Digest, DigestSettings};
use memory::outcome::{Confidence, OutcomeReason};
use memory::signals::SignalKind;
use memory::sweep::{Sweep, SweepReport, run};
use regex::Regex;
use serde_json::json;
use testkit::logs::ClaudeLog;
use transcript::Outcome;

use super::home::{Home, LOG, UID, WAIT};

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

fn log() -> ClaudeLog {
    ClaudeLog::new(SESSION)
        .at("2026-04-01T09:00:00Z")
        .prompt("mend the parser")
}

fn edit(log: ClaudeLog, old: &str, new: &str) -> ClaudeLog {
    let input = json!({"file_path": "/home/ada/app/src/parser.rs", "old_string": old, "new_string": new});
    log.tool("Edit", input, "The file has been updated.")
}

fn bash(command: &str) -> serde_json::Value {
    json!({"command": command})
}

fn pattern() -> Regex {
    Regex::new(r"[A-Z][A-Z0-9]+-(?:WP-)?\d+(?:-T\d+)?").unwrap()
}

fn sweep_at(home: &Home, now: Timestamp) -> SweepReport {
    let (roots, directory, pattern) = (home.roots(), home.place(), pattern());
    let digests = Some(DigestSettings {
        now,
        task_pattern: &pattern,
    });
    let sweep = Sweep {
        digests,
        ..Sweep::new(&directory, &roots, &home.masker, now)
    };
    run(&sweep, WAIT).unwrap()
}

fn stored_digest(home: &Home) -> Option<Digest> {
    home.store().reads().digest_of(UID).unwrap().map(|row| row.digest)
}

fn make_digest(log: &ClaudeLog) -> Digest {
    let home = Home::new();
    home.write(LOG, log.jsonl());
    sweep_at(&home, log.now() + SignedDuration::from_hours(1));
    assert_made_of_frames(&home);
    stored_digest(&home).unwrap()
}

/// Checks that the digest a sweep made from lines in memory is equal to one made from the stored frames.
fn assert_made_of_frames(home: &Home) -> usize {
    let (store, pattern) = (home.store(), pattern());
    let settings = DigestSettings {
        now: Timestamp::now(),
        task_pattern: &pattern,
    };
    let mut digests = 0;
    for session in store.reads().sessions().unwrap() {
        let uid = &session.session_uid;
        if let Some(stored_digest) = store.reads().digest_of(uid).unwrap() {
            let (made, _) = digest::compute_digest(&store, uid, &settings).unwrap().unwrap();
            assert_eq!(stored_digest.digest, made, "{uid}");
            digests += 1;
        }
    }
    digests
}

#[test]
fn a_digest_made_during_a_sweep_equals_one_made_from_frames() {
    let home = Home::new();
    let shape = testkit::corpus::CorpusShape {
        seed: 5,
        bytes: 12_000_000,
        files: 60,
    };
    testkit::corpus::write(&home.path(""), &shape).unwrap();
    sweep_at(&home, Timestamp::now() + SignedDuration::from_hours(1));
    assert!(assert_made_of_frames(&home) > 40);
}

#[test]
fn a_log_that_names_its_session_late_does_not_stop_a_sweep() {
    let home = Home::new();
    let head = "{\"type\":\"mode\",\"mode\":\"x\"}\n".repeat(4000);
    home.write(
        ".claude/projects/-home-ada-app/notes.jsonl",
        format!("{head}{}", log().jsonl()),
    );
    home.write(LOG, edit(log(), "one", "two").jsonl());
    let report = sweep_at(&home, log().now() + SignedDuration::from_hours(1));
    assert_eq!(report.sessions_new, 2, "{report:?}");
    assert!(stored_digest(&home).is_some());
}

fn has(digest: &Digest, kind: SignalKind) -> bool {
    digest.signals.iter().any(|signal| signal.signal == kind)
}

const PASSED_TESTS: &str = "running 3 tests\ntest result: ok. 3 passed; 0 failed";
const FAILED_TESTS: &str = "Exit code 101\ntest result: FAILED. 2 passed; 1 failed";

fn check(name: &str, log: &ClaudeLog, outcome: Outcome, reason: OutcomeReason) {
    let judged = make_digest(log).outcome;
    assert_eq!((judged.outcome, judged.reason), (outcome, reason), "{name}: {judged:?}");
    let lines = 1..=log.jsonl().lines().count() as u64;
    let is_cited = judged.evidence.iter().all(|evidence| lines.contains(&evidence.line));
    assert!(is_cited && !judged.evidence.is_empty(), "{name}: {judged:?}");
}

fn edited() -> ClaudeLog {
    edit(log(), "one", "two")
}

#[test]
fn failures_and_interruptions_decide_before_finished_work() {
    let fails = |log: ClaudeLog| log.failed_tool("Bash", bash("make all"), "Exit code 2\nno rule");
    let api_error = json!({"retryAttempt": 10, "maxRetries": 10, "error": {"status": 529}});
    let broken = edited().system("api_error", api_error);
    check("api", &broken, Outcome::Fail, OutcomeReason::ApiError);
    let failing = fails(fails(fails(edited()))).reply("I stop.");
    check("loop", &failing, Outcome::Fail, OutcomeReason::FailedToolCalls);
    let unanswered = edited().reply("Done.").prompt("and now?");
    check(
        "unanswered",
        &unanswered,
        Outcome::Abandoned,
        OutcomeReason::UnansweredPrompt,
    );
    check(
        "stopped",
        &edited().interrupt(),
        Outcome::Abandoned,
        OutcomeReason::Interrupted,
    );
    let cut = edited().tool_call("Bash", bash("make"));
    check("cut", &cut, Outcome::Unknown, OutcomeReason::CutOff);
    // A call without a result is over when the next prompt starts.
    let gone_on = cut.prompt("never mind").reply("Yes.");
    check("gone on", &gone_on, Outcome::Unknown, OutcomeReason::Completed);
}

#[test]
fn success_needs_evidence_that_is_newer_than_the_last_edit() {
    let test = |log: ClaudeLog, output| log.tool("Bash", bash("cargo test"), output);
    let commit = |output| edited().tool("Bash", bash("git commit -qam x"), output).reply("Done.");
    let red = edited()
        .failed_tool("Bash", bash("cargo test"), FAILED_TESTS)
        .reply("Done.");
    check("red", &red, Outcome::Fail, OutcomeReason::FailingTests);
    // The exit code is that of the pipe.
    let piped = edited()
        .tool("Bash", bash("cargo test | tail"), FAILED_TESTS)
        .reply("Done.");
    check("pipe", &piped, Outcome::Fail, OutcomeReason::FailingTests);
    let green = test(edited(), PASSED_TESTS).reply("Done.");
    check("green", &green, Outcome::Success, OutcomeReason::TestsPassed);
    let stale = edit(test(log(), PASSED_TESTS), "a", "b").reply("Done.");
    check("stale", &stale, Outcome::Unknown, OutcomeReason::Completed);
    let before = test(log(), PASSED_TESTS)
        .reply("They pass.")
        .prompt("why?")
        .reply("Because.");
    check(
        "of an earlier turn",
        &before,
        Outcome::Unknown,
        OutcomeReason::Completed,
    );
    check("commit", &commit(""), Outcome::Success, OutcomeReason::Committed);
    let left = edit(commit(""), "two", "three").reply("Changed.");
    check("changed after", &left, Outcome::Success, OutcomeReason::Committed);
    assert_eq!(make_digest(&left).outcome.confidence, Confidence::Low);
    check(
        "nothing",
        &commit("nothing to commit"),
        Outcome::Unknown,
        OutcomeReason::Completed,
    );
    check(
        "talk",
        &log().reply("It is a parser."),
        Outcome::Unknown,
        OutcomeReason::Completed,
    );
    let gave_up = log().reply("I was unable to find the parser.");
    assert_eq!(make_digest(&gave_up).outcome.confidence, Confidence::Low);
}

#[test]
fn each_signal_is_found_only_in_sessions_that_have_it() {
    let fails = |log: ClaudeLog| log.failed_tool("Bash", bash("make all"), "Exit code 2\nno rule to make `all`");
    let looped = || fails(fails(fails(fails(log()))));
    let cases: [(ClaudeLog, &[SignalKind]); 11] = [
        (log().reply("It is a parser."), &[]),
        (
            edit(looped(), "a", "b")
                .tool("Bash", bash("make all"), "ok")
                .reply("Done."),
            &[SignalKind::RetryStorm, SignalKind::RepeatedError, SignalKind::ErrorLoop],
        ),
        (
            edit(edit(edit(edit(log(), "a", "b"), "b", "a"), "a", "b"), "b", "a").reply("Back."),
            &[SignalKind::EditRevertChurn],
        ),
        (
            log().failed_tool("Bash", bash("cargo test"), FAILED_TESTS).reply("Hm."),
            &[SignalKind::FailingTestsLeft],
        ),
        (
            log()
                .failed_tool("Bash", bash("cargo test"), FAILED_TESTS)
                .tool("Bash", bash("cargo test"), PASSED_TESTS)
                .reply("Done."),
            &[SignalKind::Recovery],
        ),
        (
            edit(log(), "a", "b")
                .tool("Bash", bash("cargo test"), PASSED_TESTS)
                .reply("Done."),
            &[SignalKind::CleanPass],
        ),
        (
            log().reply("Done.").prompt("no, that is the lexer").reply("Sorry."),
            &[SignalKind::HumanCorrection],
        ),
        (
            log().tool_call("Bash", bash("make")).interrupt(),
            &[SignalKind::Interruption, SignalKind::Abandoned],
        ),
        (
            log().denied_tool("Bash", bash("rm -r src"), "use git").reply("Yes."),
            &[SignalKind::Denial],
        ),
        (log().compact("so far").reply("Done."), &[SignalKind::ContextCompaction]),
        (
            log().reply("Yes.").wait_s(3600).prompt("go on").reply("Done."),
            &[SignalKind::LongIdle],
        ),
    ];
    for (log, expected) in cases {
        let digest = make_digest(&log);
        let found: Vec<SignalKind> = digest.signals.iter().map(|signal| signal.signal).collect();
        assert_eq!(found, expected, "{:#?}", digest.signals);
    }
    let digest = make_digest(
        &edit(looped(), "a", "b")
            .tool("Bash", bash("make all"), "ok")
            .reply("Done."),
    );
    let told = digest
        .signals
        .iter()
        .find(|signal| signal.signal == SignalKind::ErrorLoop)
        .unwrap();
    assert_eq!(told.text, "`make all` failed 4 times and worked after an edit");
}

#[test]
fn a_secret_is_reported_without_its_text() {
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>());
    let log = ClaudeLog::new(SESSION)
        .prompt(&format!("use {secret}"))
        .tool(
            "Bash",
            bash(&format!("curl -H 'token {secret}'")),
            &format!("{secret} is wrong"),
        )
        .reply("Done.");
    let digest = make_digest(&log);
    assert!(has(&digest, SignalKind::SecretSeen), "{:?}", digest.signals);
    let text = serde_json::to_string(&digest).unwrap();
    assert!(text.contains("[REDACTED:") && !text.contains(&secret), "{text}");
}

#[test]
fn a_digest_is_written_when_a_session_is_quiet_and_again_after_it_grew() {
    let home = Home::new();
    let first = log().reply("Done.");
    home.write(LOG, first.jsonl());
    let soon = sweep_at(&home, first.now() + SignedDuration::from_mins(9));
    assert_eq!((soon.digested.len(), stored_digest(&home)), (0, None));
    let later = first.now() + SignedDuration::from_mins(11);
    assert_eq!(sweep_at(&home, later).digested, [UID]);
    assert!(home.store().reads().is_analyzed(UID).unwrap());
    assert_eq!(sweep_at(&home, later).digested, [""; 0], "nothing is new");
    let told = home.store().reads().operations(5).unwrap();
    assert_eq!(told[0].sentence, "wrote 1 digest");

    let grown = first.wait_s(3600).prompt("and for APP-7").reply("Done, too.");
    home.write(LOG, grown.jsonl());
    sweep_at(&home, grown.now() + SignedDuration::from_mins(1));
    assert!(
        !home.store().reads().is_analyzed(UID).unwrap(),
        "growth has to be analyzed"
    );
    assert_eq!(stored_digest(&home).unwrap().turns, 1, "the old one stays until then");
    sweep_at(&home, grown.now() + SignedDuration::from_mins(11));
    let digest = stored_digest(&home).unwrap();
    assert_eq!((digest.turns, digest.task_ref.as_deref()), (2, Some("APP-7")));
}

#[test]
fn a_rebuild_makes_the_same_digest_and_keeps_a_sealed_one() {
    let home = Home::new();
    let log = edit(log(), "a", "b")
        .tool("Bash", bash("cargo test"), PASSED_TESTS)
        .reply("Done.");
    home.write(LOG, log.jsonl());
    let now = log.now() + SignedDuration::from_hours(1);
    sweep_at(&home, now);
    let before = stored_digest(&home).unwrap();
    home.rebuild();
    let pattern = pattern();
    let settings = DigestSettings {
        now,
        task_pattern: &pattern,
    };
    let mut store = home.store();
    let (again, growth) = digest::compute_digest(&store, UID, &settings).unwrap().unwrap();
    assert_eq!(again, before);

    let lock = store.lock(WAIT).unwrap();
    store
        .write(&lock, now, "test", |tx| {
            assert!(tx.seal_digest(UID)?);
            let other = Digest {
                title: Some("other".to_owned()),
                ..before.clone()
            };
            assert!(!tx.put_digest(&other, digest::VERSION, now, &growth)?);
            Ok(((), "sealed".to_owned()))
        })
        .unwrap();
    drop(lock);
    assert_eq!(stored_digest(&home).unwrap(), before);
    let given = digest::write_digest(&mut store, WAIT, "digest", UID, &settings).unwrap();
    assert_eq!(given, Some(before), "what is sealed is given back as it is");
}

#[test]
fn the_digest_of_a_huge_session_is_small_and_counts_what_was_cut() {
    let mut log = log();
    for number in 0..400 {
        let path = format!("/home/ada/app/{}/{number}.rs", "deep".repeat(40));
        log = log
            .tool(
                "Edit",
                json!({"file_path": path, "old_string": "a", "new_string": "b"}),
                "ok",
            )
            .failed_tool(
                &format!("mcp__tool_{number}"),
                json!({"n": number}),
                &format!("{} {number}x", "bad ".repeat(30)),
            )
            .wait_s(3600);
    }
    let digest = make_digest(&log.reply("Done."));
    let bytes = serde_json::to_string(&digest).unwrap().len();
    assert!(bytes <= BYTES_MAX, "{bytes}");
    assert_eq!((digest.tool_calls, digest.errors.count), (800, 400));
    assert!(digest.left_out > 300, "{}", digest.left_out);
}

#[test]
fn the_owner_of_a_copied_call_does_not_depend_on_the_order_of_sweeps() {
    let first = log().reply("Done.");
    let fork = first
        .fork("5e550000-0000-4000-8000-000000000002")
        .prompt("another way")
        .reply("Yes.");
    let other = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000002.jsonl";
    let owners = |order: [(&str, &ClaudeLog); 2]| {
        let home = Home::new();
        for (path, log) in order {
            home.write(path, log.jsonl());
            home.sweep();
        }
        let calls = home.store().reads().calls().unwrap();
        let all: Vec<_> = calls.iter().map(|(_, call)| call).collect();
        let counts = transcript::counted(&all);
        calls
            .iter()
            .zip(counts)
            .map(|((uid, call), counts)| (uid.clone(), call.key, counts))
            .collect::<Vec<_>>()
    };
    let one = owners([(LOG, &first), (other, &fork)]);
    assert_eq!(one, owners([(other, &fork), (LOG, &first)]));
    assert_eq!(one.iter().filter(|(.., counts)| *counts).count(), 2, "{one:?}");
}

/// Returns all calls of the rows, by session and key.
fn rows(home: &Home) -> Vec<(String, transcript::Call)> {
    let mut rows = home.store().reads().calls().unwrap();
    rows.sort_by_key(|(uid, call)| (uid.clone(), call.key.cast_signed()));
    rows
}

fn packed(home: &Home) -> (u64, Vec<(String, transcript::Call)>) {
    let store = home.store();
    let mut all = Vec::new();
    let take = |uid: String, call| all.push((uid, call));
    store.reads().each_session_calls(str::to_owned, take).unwrap();
    (store.reads().packed_sessions().unwrap(), all)
}

#[test]
fn the_calls_of_a_quiet_session_are_packed_and_equal_its_rows() {
    let home = Home::new();
    let first = log().reply("Looking.").tool("Bash", bash("ls"), "a").reply("Done.");
    home.write(LOG, first.jsonl());
    let later = first.now() + SignedDuration::from_hours(1);
    sweep_at(&home, later);
    let (sessions, calls) = packed(&home);
    assert_eq!(sessions, 1);
    assert!(
        calls.len() > 1 && calls.iter().any(|(_, call)| call.model.is_some()),
        "{calls:?}"
    );
    assert_eq!(calls, rows(&home));

    let second = first.prompt("and now the lexer").reply("Done, too.");
    home.write(LOG, second.jsonl());
    sweep_at(&home, second.now());
    let (sessions, grown) = packed(&home);
    assert_eq!(sessions, 0, "it is at work again");
    assert!(grown.len() > calls.len());
    assert_eq!(grown, rows(&home));
    sweep_at(&home, second.now() + SignedDuration::from_hours(1));
    assert_eq!(packed(&home), (1, rows(&home)));
    home.rebuild();
    assert_eq!(packed(&home).1, rows(&home));
}

#[test]
fn a_command_is_named_by_its_program_without_the_syntax_around_it() {
    let commands = [
        "(git diff; git log)",
        "command -v rg >/dev/null",
        "for f in a b; do cargo check -p $f; done",
        "if ! rg needle; then echo none; fi",
        "{ ls -la; }",
        "cd app && RUST_LOG=debug cargo test",
        "*** Begin Patch",
    ];
    let log = commands
        .iter()
        .fold(log(), |log, command| log.tool("Bash", bash(command), "done"));
    let digest = make_digest(&log.reply("Done."));
    let mut names: Vec<_> = digest.commands.iter().map(|runs| runs.command.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["cargo check", "cargo test", "command", "git diff", "ls", "rg needle"]
    );
}
