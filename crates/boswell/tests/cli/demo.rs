//! `boswell demo`: the tour over synthetic logs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{Sandbox, names_in};

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    fs::create_dir(sandbox.home.join("tmp")).unwrap();
    sandbox.set("TMPDIR", &sandbox.path("tmp"));
    sandbox
}

#[test]
fn the_demo_shows_each_step_on_one_screen_and_a_half_and_leaves_nothing_behind() {
    let sandbox = sandbox();
    let printed = sandbox.run("demo");
    for text in [
        "$ boswell sweep\n4 files of 4 read",
        "3 sessions and 1 subagent new",
        "`*`: the cost is in the log",
        "$ boswell search cookie reload\n5e55a0ad  claude  shop",
        "$ boswell why /home/ada/shop/src/session.ts\n",
        "+setCookie(res, \"sid\", id, { maxAge: 86400 })",
        "$ boswell usage --by agent\n",
        "$ boswell render 5e55 -o page.html\npage.html\nWrote ",
        "-o film.gif --max-duration 15s\nfilm.gif\nWrote ",
        // The tour deletes the log and restores it.
        "$ rm .claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa.jsonl\n$ boswell restore 5e55 --in-place\n",
        "22.3 KiB  restored       .claude/projects/-home-ada-shop/5e55a0ad",
        "`boswell demo -o DIR` keeps all this",
        "`boswell setup` starts with your own logs",
    ] {
        assert!(printed.contains(text), "{text} in\n{printed}");
    }
    assert!(printed.lines().count() <= 60, "{printed}");
    let widest = printed.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{printed}");
    // The run leaves no temporary home, memory or key.
    assert_eq!(names_in(&sandbox.home.join("tmp")), Vec::<String>::new());
    assert_eq!(names_in(&sandbox.home), ["tmp"]);
}

#[test]
fn what_the_demo_keeps_is_a_home_to_work_in_with_a_page_and_a_film() {
    let mut sandbox = sandbox();
    let printed = sandbox.run("demo -o kept");
    assert!(
        printed.contains("`HOME=[HOME]/kept boswell` searches them"),
        "{printed}"
    );
    for (name, start) in [("page.html", &b"<!doctype html>"[..]), ("film.gif", b"GIF89a")] {
        let path = sandbox.home.join("kept").join(name);
        assert!(fs::read(&path).unwrap().starts_with(start), "{name}");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
    let log = "kept/.claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa.jsonl";
    assert!(sandbox.home.join(log).is_file(), "the deleted log was restored");
    sandbox.set("HOME", &sandbox.path("kept"));
    let printed = sandbox.run("sessions --no-sweep");
    assert!(
        printed.contains("5e55a0ad") && printed.contains("019d4700"),
        "{printed}"
    );
    // The demo writes nothing outside of its own home.
    assert!(!sandbox.home.join(".local").exists());
}

#[test]
fn the_settings_of_the_user_do_not_change_the_demo() {
    let mut sandbox = sandbox();
    sandbox.write_user_config("[session_memory.sources]\nclaude = [\"/nowhere\"]\n");
    sandbox.set("BOSWELL_HOME", &sandbox.path("mine"));
    sandbox.set("CLAUDE_CONFIG_DIR", "/nowhere");
    let printed = sandbox.run("demo");
    assert!(printed.contains("4 files of 4 read"), "{printed}");
    assert!(!sandbox.home.join("mine").exists());
}
