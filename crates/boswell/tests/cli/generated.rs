//! Files generated from the command line: completions and manual pages.

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, names_in};

#[test]
fn every_shell_gets_its_completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sandbox.run(&format!("completions {shell}"));
        assert!(script.contains("boswell") && script.contains("completions"), "{shell}");
        let told: serde_json::Value =
            serde_json::from_str(&sandbox.run(&format!("completions {shell} --json"))).unwrap();
        assert_eq!(told["script"], script, "{shell}");
        assert_eq!(told["shell"], shell);
    }
}

#[test]
fn the_manual_page_is_roff() {
    let page = Sandbox::new().run("man");
    let head: Vec<&str> = page.lines().take(6).collect();
    assert_snapshot!(head.join("\n"), @r#"
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .TH boswell 1  "boswell 0.1.0" Boswell
    .SH NAME
    boswell \- One memory for every coding agent you use
    .SH SYNOPSIS
    "#);
}

#[test]
fn every_command_gets_its_manual_page() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("man -o share/man1"), @"
    --- stderr ---
    Wrote 60 pages: share/man1
    ");
    assert_snapshot!(names_in(&sandbox.home.join("share/man1")).join("\n"), @"
    boswell-bundle.1
    boswell-cat.1
    boswell-completions.1
    boswell-config-init.1
    boswell-config-path.1
    boswell-config-show.1
    boswell-config.1
    boswell-days.1
    boswell-decide.1
    boswell-decisions.1
    boswell-demo.1
    boswell-diary.1
    boswell-digest.1
    boswell-doctor.1
    boswell-evict.1
    boswell-export.1
    boswell-forget.1
    boswell-hooks-install.1
    boswell-hooks-status.1
    boswell-hooks-uninstall.1
    boswell-hooks.1
    boswell-hub-init.1
    boswell-hub-move.1
    boswell-hub-push.1
    boswell-hub-status.1
    boswell-hub.1
    boswell-journal.1
    boswell-keep.1
    boswell-man.1
    boswell-mcp.1
    boswell-name.1
    boswell-note.1
    boswell-prepare.1
    boswell-read.1
    boswell-rebuild.1
    boswell-render.1
    boswell-report.1
    boswell-restore.1
    boswell-resume.1
    boswell-run.1
    boswell-schedule-install.1
    boswell-schedule-status.1
    boswell-schedule-uninstall.1
    boswell-schedule.1
    boswell-schema.1
    boswell-search.1
    boswell-secrets.1
    boswell-sessions.1
    boswell-setup.1
    boswell-show.1
    boswell-signals.1
    boswell-stats.1
    boswell-status.1
    boswell-statusline.1
    boswell-sweep.1
    boswell-tag.1
    boswell-usage.1
    boswell-watch.1
    boswell-why.1
    boswell.1
    ");
}

#[cfg(unix)]
#[test]
fn a_place_for_manual_pages_that_cannot_be_written_is_told() {
    assert_snapshot!(Sandbox::new().run("man -o /dev/null/man1"), @"
    --- stderr ---
    error: cannot write `/dev/null/man1`: Not a directory (os error 20)
    --- exit 2 ---
    ");
}
