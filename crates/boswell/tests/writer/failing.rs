//! Agents that do not do their task: nothing false is kept, no run waits forever, and valid pieces stay.

use std::fs;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use insta::assert_snapshot;

use crate::day::{DAY, asked, home, notes, report};

#[test]
fn a_lazy_agent_is_asked_again_and_then_given_up() {
    let sandbox = home("lazy");
    assert_snapshot!(report(&sandbox, &[]), @"
    --- stderr ---
    warning: `[AGENT]` writes this day: it is given the text of the day's sessions, with the secrets out, and sends it to whoever runs its model
    Hint: this is said once for each writer; without `--writer` nothing leaves this machine
    [AGENT] writes evidence of app S0001
    [AGENT] goes on with evidence of app S0001: 2 missing
    [AGENT] goes on with evidence of app S0001: 2 missing
    error: `[AGENT]` wrote nothing of evidence of app S0001 in 3 runs; missing: T0001, T0002; it ended without an error, and said last: nothing to do, says the model
    Hint: what is written stays, and no page was made; the same command goes on from there
    --- exit 2 ---
    ");
    assert_eq!(asked(&sandbox), ["evidence S0001"; 3]);
    assert!(!sandbox.home.join(DAY).join("report.md").exists());
    let told = report(&sandbox, &["--json", "--config", "report.retries=1"]);
    let told: serde_json::Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!(told["error"]["code"], "writer-no-progress");
    assert_eq!(told["error"]["retryable"], true);
    assert_eq!(asked(&sandbox).len(), 4);
}

#[test]
fn what_is_not_so_is_refused_with_its_place_and_can_be_mended() {
    let sandbox = home("lies");
    let page = report(&sandbox, &["-q"]);
    assert!(page.contains("written by"), "{page}");
    let notes = notes(&sandbox);
    let refused = notes.iter().filter(|line| line.starts_with("refused")).take(7).cloned();
    assert_snapshot!(refused.collect::<Vec<_>>().join("\n"), @r#"
    refused turns[0].asked.lines[0]: is not a range of lines; write it like "21-55" or "21"
    refused turns[0].reactions[0].lines[0]: is outside of T0001; T0001 has the lines 1-6
    refused turns[0].outcomes[0].kind: is not an allowed value; use one of code, document, decision, validation, process, research, blocker, other
    refused turns[0].outcomes[0].lines[0]: is outside of T0001; T0001 has the lines 1-6
    refused turns[0].end.text: has 5000 characters; the maximum is 600; write one short sentence
    refused turns[0].end.lines[0]: is outside of T0001; T0001 has the lines 1-6
    refused turns[0].turn_ref
    "#);
    assert_eq!(
        asked(&sandbox),
        ["evidence S0001", "evidence S0002", "project", "daily"]
    );
}

#[test]
fn who_only_lies_writes_nothing() {
    let sandbox = home("only lies");
    let told = report(&sandbox, &[]);
    assert!(
        told.contains("wrote nothing of evidence of app S0001 in 3 runs"),
        "{told}"
    );
    assert!(told.ends_with("--- exit 2 ---\n"), "{told}");
    for name in ["report.md", "report.html", "report.json", "writing"] {
        assert!(!sandbox.home.join(DAY).join(name).exists(), "{name}");
    }
}

#[test]
fn an_agent_that_crashes_goes_on_where_it_was() {
    let sandbox = home("crashes");
    let told = report(&sandbox, &[]);
    // Each run delivers one piece and crashes; the next run does not ask for that piece again.
    assert!(told.contains("written by"), "{told}");
    assert!(told.contains("goes on with evidence of app S0001: 1 missing"), "{told}");
    assert_eq!(
        asked(&sandbox),
        ["evidence S0001", "evidence S0001", "evidence S0002", "project", "daily"]
    );
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_that_takes_too_long_is_stopped_with_all_it_started() {
    let mut sandbox = home("waits");
    sandbox.set("STAND_IN_CHILD", &sandbox.path("child"));
    let told = report(
        &sandbox,
        &["--config", "report.timeout_s=2", "--config", "report.retries=1"],
    );
    assert!(told.contains("it was stopped after 2 s"), "{told}");
    let child = fs::read_to_string(sandbox.home.join("child")).unwrap();
    assert!(ends(&child), "{child} is alive");
}

#[test]
#[cfg(target_os = "linux")]
fn who_stops_a_report_stops_the_agent_and_all_it_started() {
    let mut sandbox = home("waits");
    sandbox.set("STAND_IN_CHILD", &sandbox.path("child"));
    let mut command = sandbox.command("report --writer");
    let mut boswell = command
        .arg(crate::stand_in::writer())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let child = loop {
        std::thread::yield_now();
        assert!(boswell.try_wait().unwrap().is_none(), "it ended by itself");
        match fs::read_to_string(sandbox.home.join("child")) {
            Ok(child) if !child.is_empty() => break child,
            _ => {}
        }
    };
    let pid = rustix::process::Pid::from_child(&boswell);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let told = sandbox.told(&boswell.wait_with_output().unwrap());
    assert!(told.contains("stopped while a writer was at work"), "{told}");
    assert!(ends(&child), "{child} is alive");
}

/// Returns whether a process has ended, or ends soon: the signal may not have arrived yet.
#[cfg(target_os = "linux")]
fn ends(pid: &str) -> bool {
    let is_alive = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie has ended, and only waits for its parent.
        let state = stat.rsplit(')').next().map(str::trim).unwrap_or_default();
        !state.is_empty() && !state.starts_with('Z')
    };
    (0..100_000).any(|_| {
        std::thread::yield_now();
        !is_alive()
    })
}

#[test]
fn a_writer_that_is_not_there_is_told() {
    let sandbox = home("works");
    assert_snapshot!(sandbox.run("report --writer codex"), @"
    --- stderr ---
    error: the writer's program is not on this machine: `codex`
    Hint: install it, or put its directory into `PATH`
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("report --writer ./nowhere --phase evidence"), @"
    --- stderr ---
    error: the writer's program is not on this machine: `./nowhere`
    Hint: install it, or put its directory into `PATH`
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("report --phase evidence"), @"
    --- stderr ---
    error: the following required arguments were not provided:
      --writer <WRITER>

    Usage: boswell report --writer <WRITER> --phase <PHASE>

    For more information, try '--help'.
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("report --writer default --phase evidence"), @"
    --- stderr ---
    error: `--phase` is for a `--writer` other than the default one
    --- exit 2 ---
    ");
}
