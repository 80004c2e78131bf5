//! Bad input of every kind, each beside a good session. The workspace must be complete and contain the good session,
//! and the audit must give a reason for everything that was left out.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::home::{Home, at, codex, event, head, item, lines, prompt, reply, with};

/// The expected result for the bad input.
enum Expected {
    /// It is included, with this number of turns.
    Turns(usize),
    /// It is reported with these words.
    Reported(&'static str),
    /// It contains nothing of the day, so nothing is missing.
    Nothing,
}
use Expected::{Nothing, Reported, Turns};

type Case = (&'static str, fn(&Home), Expected);

fn check(cases: &[Case]) {
    for (name, plant, want) in cases {
        let home = Home::new();
        home.write("claude/projects/good/good.jsonl", lines(&[prompt(1, "good"), reply(2)]));
        plant(&home);
        let made = home.prepare();
        assert!(home.workspace().join("metadata.json").is_file(), "{name}");
        let rows = home.rows();
        assert!(
            rows.iter().any(|row| row["source_session_id"] == "good"),
            "{name}: the good session is lost"
        );
        let others = rows.iter().filter(|row| row["source_session_id"] != "good");
        let turns: usize = others.map(|row| row["turns"].as_array().unwrap().len()).sum();
        let told = || {
            made.notes
                .skipped
                .iter()
                .map(|skipped| format!("{}: {}", skipped.what, skipped.reason))
        };
        let wanted = match want {
            Turns(turns) => *turns,
            Reported(words) => {
                assert!(
                    told().any(|told| told.contains(words)),
                    "{name}: {:?}",
                    told().collect::<Vec<_>>()
                );
                0
            }
            Nothing => {
                assert_eq!(told().count(), 0, "{name}: {:?}", told().collect::<Vec<_>>());
                0
            }
        };
        assert_eq!(turns, wanted, "{name}: {:?}", told().collect::<Vec<_>>());
        assert_all_inside(&home.workspace(), name);
    }
}

/// Checks that every copy named by the index exists, and that nothing is outside of the reports root.
fn assert_all_inside(workspace: &Path, name: &str) {
    for entry in walk(workspace) {
        assert!(entry.starts_with(workspace), "{name}");
        if entry.ends_with("sessions.index.jsonl") {
            for line in fs::read_to_string(&entry).unwrap().lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                let copy = entry.parent().unwrap().join(row["session_path"].as_str().unwrap());
                assert!(copy.is_file(), "{name}: {}", copy.display());
            }
        }
    }
}

fn walk(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
        .collect()
}

fn bad(home: &Home, bytes: impl AsRef<[u8]>) {
    home.write("claude/projects/bad/bad.jsonl", bytes);
}

fn bad_record(home: &Home, fields: Value) {
    bad(home, lines(&[with(prompt(3, "bad"), fields), reply(4)]));
}

fn bad_line(home: &Home, line: &str) {
    bad(
        home,
        format!("{}{line}\n{}", lines(&[prompt(3, "bad")]), lines(&[reply(4)])),
    );
}

#[test]
fn input_that_broke_the_public_tool_only_loses_itself() {
    let mut cases: Vec<Case> = vec![
        (
            "invalid UTF-8",
            |home| {
                bad(
                    home,
                    [lines(&[prompt(3, "bad")]).as_bytes(), b"{\"type\":\"\xff\xfe\"}\n"].concat(),
                )
            },
            Turns(1),
        ),
        (
            "2,000 levels",
            |home| bad_line(home, &format!("{{\"x\":{}{}}}", "[".repeat(2_000), "]".repeat(2_000))),
            Turns(1),
        ),
        (
            "5,000 digits",
            |home| bad_line(home, &format!("{{\"x\":{}}}", "7".repeat(5_000))),
            Turns(1),
        ),
        (
            "a directory named like a log",
            |home| fs::create_dir_all(home.path.join("claude/projects/bad/x.jsonl")).unwrap(),
            Reported("not a regular file"),
        ),
        (
            "a NUL in the directory",
            |home| bad_record(home, json!({"cwd": "/a\0b"})),
            Turns(1),
        ),
        (
            "somebody's home",
            |home| bad_record(home, json!({"cwd": "~nosuchuser/x"})),
            Turns(1),
        ),
        (
            "a directory of 5,000 letters",
            |home| bad_record(home, json!({"cwd": format!("/{}", "x".repeat(5_000))})),
            Turns(1),
        ),
        (
            "half a letter in the directory",
            |home| bad(home, lines(&[prompt(3, "bad")]).replace("/home/ada/app", "/a\\ud800")),
            Turns(1),
        ),
        (
            "UTF-16",
            |home| {
                bad(
                    home,
                    lines(&[prompt(3, "bad")])
                        .encode_utf16()
                        .fold(vec![0xff, 0xfe], |mut all, unit| {
                            all.extend(unit.to_le_bytes());
                            all
                        }),
                )
            },
            Reported("UTF-16"),
        ),
        (
            "one id, two contents",
            |home| {
                home.codex("a", &[head("same"), event(3, "user_message", "one")]);
                home.codex("b", &[head("same"), event(4, "user_message", "two")]);
            },
            Turns(2),
        ),
        (
            "another id in the name",
            |home| {
                home.codex(
                    "2026-05-12T00-00-00-019e1bb6-620a-7462-9fb0-d28c3acef59d",
                    &[head("other"), event(3, "user_message", "one")],
                );
            },
            Turns(1),
        ),
        (
            "a missing base",
            |home| {
                let payload =
                    json!({"id": "t", "cwd": "/w", "history_base": {"thread_id": "gone", "end_ordinal_exclusive": 4}});
                home.codex(
                    "t",
                    &[codex(1, "session_meta", payload), event(30, "user_message", "one")],
                );
            },
            Turns(1),
        ),
        (
            "one name twice",
            |home| {
                home.write("claude/projects/a/bad.jsonl", lines(&[prompt(3, "one")]));
                home.write("claude/projects/b/bad.jsonl", lines(&[prompt(4, "two")]));
            },
            Turns(2),
        ),
        (
            "a torn trigger",
            |home| {
                let path = home.write("claude/projects/bad/bad.jsonl", &lines(&[prompt(3, "bad")])[..40]);
                let noon: jiff::Timestamp = at(720).parse().unwrap();
                fs::File::options()
                    .write(true)
                    .open(path)
                    .unwrap()
                    .set_modified(noon.into())
                    .unwrap();
            },
            Reported("malformed"),
        ),
        (
            "a torn trigger behind a whole line",
            |home| {
                bad(
                    home,
                    format!("{}{}", lines(&[reply(3)]), &lines(&[prompt(4, "bad")])[..40]),
                )
            },
            Reported("malformed"),
        ),
        (
            "a command with its message first",
            |home| {
                let text = "<command-message>ship</command-message>\n<command-name>/ship</command-name>";
                bad(home, lines(&[prompt(3, text), reply(4)]));
            },
            Turns(1),
        ),
        (
            "a prompt without a time",
            |home| {
                bad(
                    home,
                    lines(&[with(prompt(3, "bad"), json!({"timestamp": null})), reply(4)]),
                )
            },
            Reported("without a time"),
        ),
    ];
    #[cfg(unix)]
    cases.extend(unix_cases());
    check(&cases);
}

#[cfg(unix)]
fn unix_cases() -> Vec<Case> {
    use std::os::unix::fs::symlink;
    fn place(home: &Home) -> std::path::PathBuf {
        let place = home.path.join("claude/projects/bad/x.jsonl");
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        place
    }
    vec![
        (
            "a link to nowhere",
            |home| symlink("/nowhere/at/all", place(home)).unwrap(),
            Reported("not a regular file"),
        ),
        (
            "a link to itself",
            |home| symlink(place(home), place(home)).unwrap(),
            Reported("not a regular file"),
        ),
        (
            "a link to another log",
            |home| {
                symlink(home.path.join("claude/projects/good/good.jsonl"), place(home)).unwrap();
            },
            Reported("not a regular file"),
        ),
        (
            "a link out of the root",
            |home| symlink("/etc/passwd", place(home)).unwrap(),
            Reported("not a regular file"),
        ),
        (
            "a pipe",
            |home| {
                let made = std::process::Command::new("mkfifo").arg(place(home)).status().unwrap();
                assert!(made.success());
            },
            Reported("not a regular file"),
        ),
        (
            "a directory that leads back",
            |home| symlink(home.path.join("claude/projects"), place(home).with_file_name("loop")).unwrap(),
            Nothing,
        ),
        (
            "a name that is no text",
            |home| {
                use std::os::unix::ffi::OsStrExt;
                let name = std::ffi::OsStr::from_bytes(b"x\xff.jsonl");
                fs::write(place(home).with_file_name(name), lines(&[prompt(3, "bad")])).unwrap();
            },
            Turns(1),
        ),
        (
            "a name with a line break",
            |home| fs::write(place(home).with_file_name("a\nb.jsonl"), lines(&[prompt(3, "bad")])).unwrap(),
            Turns(1),
        ),
        (
            "a name with a colon",
            |home| fs::write(place(home).with_file_name("a:b.jsonl"), lines(&[prompt(3, "bad")])).unwrap(),
            Turns(1),
        ),
    ]
}

#[test]
fn odd_bytes_only_lose_themselves() {
    check(&[
        ("an empty log", |home| bad(home, ""), Nothing),
        ("only line breaks", |home| bad(home, "\n\n\n"), Nothing),
        (
            "zeros at the end",
            |home| bad(home, [lines(&[prompt(3, "bad")]).as_bytes(), &[0; 512]].concat()),
            Turns(1),
        ),
        (
            "carriage returns",
            |home| bad(home, lines(&[prompt(3, "bad"), reply(4)]).replace('\n', "\r\n")),
            Turns(1),
        ),
        (
            "no last line break",
            |home| bad(home, lines(&[prompt(3, "bad")]).trim_end()),
            Turns(1),
        ),
        (
            "a torn last line",
            |home| bad(home, format!("{}{{\"type\":\"ass", lines(&[prompt(3, "bad")]))),
            Turns(1),
        ),
        (
            "random bytes",
            |home| {
                bad(
                    home,
                    (0..4096_u32)
                        .map(|number| ((number * 7919) >> 3) as u8)
                        .collect::<Vec<_>>(),
                )
            },
            Nothing,
        ),
        (
            "not a number",
            |home| bad_line(home, r#"{"type":"assistant","x":NaN}"#),
            Turns(1),
        ),
        (
            "keys twice",
            |home| {
                bad_line(
                    home,
                    r#"{"type":"x","type":"assistant","timestamp":1,"timestamp":null}"#,
                )
            },
            Turns(1),
        ),
        ("a line that is a number", |home| bad_line(home, "5"), Turns(1)),
        ("a line that is a list", |home| bad_line(home, "[[[]]]"), Turns(1)),
        (
            "a line of a megabyte",
            |home| bad_line(home, &format!("{{\"x\":\"{}\"}}", "y".repeat(1 << 20))),
            Turns(1),
        ),
        (
            "a damaged archive",
            |home| _ = home.write("codex/sessions/rollout-z.jsonl.zst", b"(\xb5/\xfd not at all"),
            Reported("cannot be read"),
        ),
        (
            "half an archive",
            |home| {
                let bytes =
                    zstd::encode_all(lines(&[head("z"), event(3, "user_message", "bad")]).as_bytes(), 3).unwrap();
                home.write("codex/sessions/rollout-z.jsonl.zst", &bytes[..bytes.len() / 2]);
            },
            Reported("cannot be read"),
        ),
        (
            "an archive of nothing",
            |home| {
                home.write(
                    "codex/sessions/rollout-z.jsonl.zst",
                    zstd::encode_all(&b""[..], 3).unwrap(),
                );
            },
            Nothing,
        ),
    ]);
}

#[test]
fn odd_fields_only_lose_themselves() {
    check(&[
        (
            "a directory that is a number",
            |home| bad_record(home, json!({"cwd": 5})),
            Turns(1),
        ),
        (
            "a directory that is a list",
            |home| bad_record(home, json!({"cwd": ["/x"]})),
            Turns(1),
        ),
        (
            "a blank directory",
            |home| bad_record(home, json!({"cwd": "  "})),
            Turns(1),
        ),
        (
            "a directory that climbs",
            |home| bad_record(home, json!({"cwd": "../../../../etc"})),
            Turns(1),
        ),
        (
            "a directory of dots",
            |home| bad_record(home, json!({"cwd": "/.."})),
            Turns(1),
        ),
        (
            "the last year",
            |home| bad_line(home, r#"{"type":"assistant","timestamp":"9999-12-31T23:59:59Z"}"#),
            Turns(1),
        ),
        (
            "a year before all",
            |home| bad_line(home, r#"{"type":"assistant","timestamp":"-009999-01-02T00:00:00Z"}"#),
            Turns(1),
        ),
        (
            "no message",
            |home| {
                bad_line(
                    home,
                    r#"{"type":"user","timestamp":"2026-05-12T01:00:00Z","message":null}"#,
                )
            },
            Turns(1),
        ),
        (
            "content that is null",
            |home| {
                bad_line(
                    home,
                    r#"{"type":"user","timestamp":"2026-05-12T01:00:00Z","message":{"role":"user","content":null}}"#,
                )
            },
            Turns(1),
        ),
        (
            "content that is a number",
            |home| {
                bad_line(
                    home,
                    r#"{"type":"user","timestamp":"2026-05-12T01:00:00Z","message":{"role":"user","content":7}}"#,
                )
            },
            Turns(1),
        ),
        (
            "a payload that is text",
            |home| {
                _ = home.codex(
                    "t",
                    &[
                        head("t"),
                        codex(2, "response_item", json!("x")),
                        event(3, "user_message", "bad"),
                    ],
                )
            },
            Turns(1),
        ),
        (
            "a payload that is a list",
            |home| {
                _ = home.codex(
                    "t",
                    &[
                        head("t"),
                        codex(2, "event_msg", json!([])),
                        event(3, "user_message", "bad"),
                    ],
                )
            },
            Turns(1),
        ),
        (
            "an id that climbs",
            |home| _ = home.codex("t", &[head("../../../../tmp/x"), event(3, "user_message", "bad")]),
            Turns(1),
        ),
        (
            "an id that is a path",
            |home| _ = home.codex("t", &[head("/etc/passwd"), event(3, "user_message", "bad")]),
            Turns(1),
        ),
        (
            "an id of 300 letters",
            |home| _ = home.codex("t", &[head(&"x".repeat(300)), event(3, "user_message", "bad")]),
            Turns(1),
        ),
        (
            "a blank id",
            |home| _ = home.codex("t", &[head(""), event(3, "user_message", "bad")]),
            Turns(1),
        ),
        (
            "no head",
            |home| _ = home.codex("t", &[event(3, "user_message", "bad")]),
            Turns(1),
        ),
        (
            "arguments that are no JSON",
            |home| {
                let call = codex(
                    2,
                    "response_item",
                    json!({"type": "function_call", "name": "spawn_agent", "call_id": "c", "arguments": "{"}),
                );
                home.codex("t", &[head("t"), event(1, "user_message", "bad"), call]);
            },
            Turns(1),
        ),
        (
            "times that run backwards",
            |home| {
                bad(
                    home,
                    lines(&[prompt(50, "one"), reply(40), prompt(30, "two"), reply(20)]),
                )
            },
            Turns(2),
        ),
        (
            "a name in capitals beside its twin",
            |home| {
                home.write("claude/projects/p/bad.jsonl", lines(&[prompt(3, "one")]));
                home.write("claude/projects/p/BAD.jsonl", lines(&[prompt(4, "two")]));
            },
            Turns(2),
        ),
        (
            "a hidden name",
            |home| _ = home.write("claude/projects/p/.bad.jsonl", lines(&[prompt(3, "one")])),
            Turns(1),
        ),
        (
            "a device's name",
            |home| _ = home.write("claude/projects/p/con.jsonl", lines(&[prompt(3, "one")])),
            Turns(1),
        ),
        (
            "a name of signs",
            |home| _ = home.write("claude/projects/p/🦀 日.jsonl", lines(&[prompt(3, "one")])),
            Turns(1),
        ),
        (
            "too deep",
            |home| {
                _ = home.write(
                    &format!("claude/projects/{}bad.jsonl", "d/".repeat(20)),
                    lines(&[prompt(3, "one")]),
                )
            },
            Nothing,
        ),
    ]);
}

#[test]
fn odd_subagents_only_lose_themselves() {
    fn spawn(id: &str) -> [Value; 2] {
        let call = json!({"type": "function_call", "name": "spawn_agent", "call_id": id, "arguments": "{}"});
        let output =
            json!({"type": "function_call_output", "call_id": id, "output": json!({"agent_id": id}).to_string()});
        [codex(2, "response_item", call), codex(2, "response_item", output)]
    }
    check(&[
        (
            "a child that is not there",
            |home| {
                let [call, output] = spawn("gone");
                home.codex("t", &[head("t"), event(1, "user_message", "bad"), call, output]);
                let made = home.prepare();
                assert!(
                    made.notes.skipped[0].reason.contains("its log is missing"),
                    "{:?}",
                    made.notes.skipped
                );
                fs::remove_dir_all(home.reports()).unwrap();
            },
            Turns(1),
        ),
        (
            "a child that is its own parent",
            |home| {
                let [call, output] = spawn("t");
                home.codex("t", &[head("t"), event(1, "user_message", "bad"), call, output]);
            },
            Turns(1),
        ),
        (
            "three thousand children",
            |home| {
                let mut records = vec![head("t"), event(1, "user_message", "bad")];
                records.extend((0..3_000).flat_map(|number| spawn(&format!("child-{number}"))));
                home.codex("t", &records);
            },
            Turns(1),
        ),
        (
            "a subagent of nobody",
            |home| {
                let record = with(prompt(3, "part"), json!({"isSidechain": true, "agentId": "a1"}));
                home.write("claude/projects/p/x/subagents/agent-a1.jsonl", lines(&[record]));
            },
            Reported("is a subagent's log"),
        ),
        (
            "a thread of a review",
            |home| {
                let payload = json!({"id": "r", "cwd": "/w", "source": {"subagent": "review"}});
                home.codex("r", &[codex(1, "session_meta", payload), item(2, "user", "review it")]);
            },
            Reported("is a subagent's log"),
        ),
    ]);
}

#[test]
fn a_root_that_is_a_file_or_missing_leaves_an_empty_day() {
    let home = Home::new();
    fs::remove_dir_all(home.path.join("claude")).unwrap();
    fs::write(home.path.join("claude"), "x").unwrap();
    fs::remove_dir_all(home.path.join("codex")).unwrap();
    let made = home.prepare();
    assert_eq!((made.projects, made.sessions), (0, 0));
    assert!(home.workspace().join("projects").is_dir());
    assert_eq!(at(61), "2026-05-12T01:01:00Z");
}

#[test]
fn a_reports_root_that_cannot_be_created_is_an_error_and_leaves_nothing() {
    let home = Home::new();
    fs::write(home.reports(), "a file").unwrap();
    assert!(home.try_prepare(crate::home::DATE, None).is_err());
    assert_eq!(fs::read_to_string(home.reports()).unwrap(), "a file");
}
