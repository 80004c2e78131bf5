//! Planted secrets: one for every rule in every place of a log. After a sweep, none of them is on our disk.
//!
//! The secrets are generated here, from a different seed for each place. A failure prints the rule and the place, never
//! the secret.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use memory::mask::{MaskKey, Masker, Tier, UserRule, UserRules, rules};
use memory::sources::LogRoot;
use memory::store::{SessionScope, Store};
use memory::sweep::{Sweep, SweepReport, run};
use samples::{Sample, samples_of};
use serde_json::{Value, json};
use tempfile::TempDir;
use transcript::Agent;

use super::home::{WAIT, place};

#[allow(dead_code, reason = "the unit tests need more of it")]
#[path = "../../src/mask/tests/samples.rs"]
mod samples;

const AGENTS: [&str; 3] = ["claude", "codex", "grok"];
const OPENING: &str = "[REDACTED:";

/// A secret, and where it was planted.
struct Planted {
    rule: &'static str,
    place: String,
    secret: String,
    /// A unique word in front of it.
    mark: String,
}

/// Logs full of secrets, and the list of those.
struct PlantedLogs {
    directory: TempDir,
    planted: Vec<Planted>,
    seed: u64,
}

impl PlantedLogs {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            planted: Vec::new(),
            seed: 100,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Returns one text with a secret for every rule, each with its mark.
    fn plant(&mut self, place: &str) -> Vec<String> {
        self.seed += 1;
        let mut texts = Vec::new();
        for Sample { rule, text, secret } in samples_of(self.seed) {
            let mark = format!("mark{}q", self.planted.len());
            texts.push(format!("{mark} {text}"));
            self.planted.push(Planted {
                rule,
                place: place.to_owned(),
                secret,
                mark,
            });
        }
        texts
    }

    /// Returns the records of one log, with every rule in every place that a line can have.
    fn log(&mut self, agent: &str, name: &str, number: usize) -> String {
        let mut log = head(agent, number);
        for place in PLACES {
            for text in self.plant(&format!("{agent} {name}: {place}")) {
                log += &line(agent, place, &text);
                log.push('\n');
            }
        }
        log
    }

    fn sweep(&self, rules: &UserRules) -> SweepReport {
        let masker = Masker::new(&MaskKey::new([7; 32]), rules).unwrap();
        let root = |agent, name| LogRoot {
            agent,
            path: self.path(name),
            label: None,
        };
        let roots = [
            root(Agent::Claude, ".claude"),
            root(Agent::Codex, ".codex"),
            root(Agent::Grok, ".grok"),
        ];
        let (directory, now) = (
            place(&self.path("store")),
            Timestamp::now() + SignedDuration::from_hours(1),
        );
        let sweep = Sweep {
            threads: 2,
            ..Sweep::new(&directory, &roots, &masker, now)
        };
        run(&sweep, WAIT).unwrap()
    }

    /// Returns all stored lines, decompressed.
    fn kept(&self) -> Vec<u8> {
        let store = Store::open(place(&self.path("store"))).unwrap();
        let packs = store.packs();
        let mut kept = Vec::new();
        for (_, _, frame) in store.reads().frames_of(SessionScope::All).unwrap() {
            kept.append(&mut memory::packs::read_frame(&packs, &frame).unwrap());
        }
        let reads = store.reads();
        for session in reads.sessions().unwrap() {
            for part in reads.parts(&session.session_uid).unwrap() {
                if let Some(mut tail) = reads.tail(&session.session_uid, &part).unwrap() {
                    kept.append(&mut tail.bytes);
                }
            }
        }
        kept
    }

    /// Returns every byte of the store on disk, compressed and decompressed, and every derived row.
    fn all_bytes(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = vec![("what is kept".to_owned(), self.kept())];
        let store = Store::open(place(&self.path("store"))).unwrap();
        let rows = store.reads().derived_rows().unwrap().join("\n");
        all.push(("the rows".to_owned(), rows.into_bytes()));
        let mut open = vec![self.path("store")];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                all.push((name, fs::read(&path).unwrap()));
            }
        }
        all
    }
}

/// The places in a line of a log.
const PLACES: [&str; 10] = [
    "prompt",
    "key",
    "tool input",
    "tool output",
    "escaped JSON",
    "nested JSON",
    "bytes",
    "glued",
    "glued behind",
    "no JSON",
];

/// Returns the first lines of a log.
fn head(agent: &str, number: usize) -> String {
    let meta = json!({ "id": native_id(number), "cwd": "/home/ada/app", "cli_version": "0.145.0" });
    match agent {
        "codex" => record(agent, json!({ "type": "session_meta", "payload": meta })) + "\n",
        _ => String::new(),
    }
}

fn native_id(number: usize) -> String {
    format!("019d4700-0000-7000-8000-{number:012}")
}

/// Returns a line with a text in one of the places.
fn line(agent: &str, place: &str, text: &str) -> String {
    let inner = json!({ "command": text, "cwd": "/home/ada" }).to_string();
    match place {
        "prompt" => prompt(agent, text),
        "key" => tool_input(agent, json!({ (text): "here" })),
        "tool input" => tool_input(agent, json!({ "command": format!("run {text}"), "n": 1 })),
        "tool output" => tool_output(agent, json!(format!("total 4\n   1\t{text}\nend"))),
        "escaped JSON" => tool_output(
            agent,
            json!(format!("log: {}", json!({ "text": format!("x\n{text}\n") }))),
        ),
        "nested JSON" => tool_input(agent, json!({ "body": inner })),
        "bytes" => tool_output(agent, json!(format!("total 4\n{text}\nend").as_bytes())),
        "glued" => prompt(agent, text) + &prompt(agent, "more"),
        "glued behind" => prompt(agent, "more") + &prompt(agent, text),
        _ => prompt(agent, text).replacen("\":", "\" ", 1),
    }
}

fn prompt(agent: &str, text: &str) -> String {
    let record_of = match agent {
        "claude" => json!({ "type": "user", "message": { "role": "user", "content": text } }),
        "codex" => json!({ "type": "event_msg", "payload": { "type": "user_message", "message": text } }),
        _ => {
            let content = json!({ "type": "text", "text": text });
            json!({ "update": { "sessionUpdate": "user_message_chunk", "content": content } })
        }
    };
    record(agent, record_of)
}

fn tool_input(agent: &str, input: Value) -> String {
    let record_of = match agent {
        "claude" => {
            let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": input });
            json!({ "type": "assistant", "message": { "role": "assistant", "content": [call] } })
        }
        "codex" => {
            let call =
                json!({ "type": "function_call", "name": "shell", "arguments": input.to_string(), "call_id": "c" });
            json!({ "type": "response_item", "payload": call })
        }
        _ => json!({ "update": { "sessionUpdate": "tool_call", "toolCallId": "c", "rawInput": input } }),
    };
    record(agent, record_of)
}

fn tool_output(agent: &str, output: Value) -> String {
    let record_of = match agent {
        "claude" => {
            let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": output });
            json!({ "type": "user", "message": { "role": "user", "content": [result] }, "toolUseResult": output })
        }
        "codex" => {
            let result = json!({ "type": "function_call_output", "call_id": "c", "output": output });
            json!({ "type": "response_item", "payload": result })
        }
        _ => {
            let raw = json!({ "type": "Bash", "output": output });
            json!({ "update": { "sessionUpdate": "tool_call_update", "toolCallId": "c", "rawOutput": raw } })
        }
    };
    record(agent, record_of)
}

/// Adds the fields that every record of the agent has.
fn record(agent: &str, mut record: Value) -> String {
    match agent {
        "claude" => record["sessionId"] = json!("5e55"),
        "codex" => record["timestamp"] = json!("2026-04-01T10:00:00Z"),
        _ => record = json!({ "timestamp": 1_775_037_600, "method": "session/update", "params": record }),
    }
    record.to_string()
}

/// Returns the path of a log, by agent and number.
fn log_path(agent: &str, number: usize) -> String {
    match agent {
        "claude" => format!(".claude/projects/-home-ada-app/5e550000-0000-4000-8000-{number:012}.jsonl"),
        "codex" => {
            format!(".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-019d4700-0000-7000-8000-{number:012}.jsonl")
        }
        _ => format!(".grok/sessions/%2Fhome%2Fada/{}/updates.jsonl", native_id(number)),
    }
}

/// Plants all secrets.
fn plant_all() -> PlantedLogs {
    let mut planted_logs = PlantedLogs::new();
    for agent in AGENTS {
        let log = planted_logs.log(agent, "log", 1);
        planted_logs.write(&log_path(agent, 1), log);
        let texts = planted_logs.plant(&format!("{agent}: torn last line"));
        for (number, text) in texts.iter().enumerate() {
            let line = prompt(agent, text);
            let text_end = line.rfind("\"}").unwrap();
            planted_logs.write(
                &log_path(agent, 1000 + number),
                head(agent, 1000 + number) + &line[..text_end],
            );
        }
    }
    companions(&mut planted_logs);
    stream(&mut planted_logs);
    planted_logs
}

/// Plants secrets in subagents' logs and in companion files.
fn companions(planted_logs: &mut PlantedLogs) {
    let subagent = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/subagents/agent-a1";
    let log = planted_logs.log("claude", "subagent", 2);
    planted_logs.write(&format!("{subagent}.jsonl"), log);
    let texts = planted_logs.plant("claude: .meta.json");
    let meta = json!({ "agentType": "general", "description": texts });
    planted_logs.write(
        &format!("{subagent}.meta.json"),
        serde_json::to_string_pretty(&meta).unwrap(),
    );
    let log = planted_logs
        .log("codex", "subagent", 2)
        .replace("\"cwd\"", "\"source\":{\"subagent\":\"review\"},\"cwd\"");
    planted_logs.write(&log_path("codex", 2), log);
    let rows = planted_logs.plant("codex: session_index.jsonl");
    let native_id = native_id(1);
    let rows = rows
        .iter()
        .map(|text| json!({ "id": native_id, "thread_name": text }).to_string());
    planted_logs.write(".codex/session_index.jsonl", rows.collect::<Vec<_>>().join("\n"));
    let log = planted_logs.log("grok", "subagent", 2);
    planted_logs.write(&log_path("grok", 2), log);
    let directory = log_path("grok", 1).replace("/updates.jsonl", "");
    let lines = planted_logs
        .plant("grok: summary.json, as plain text of many lines")
        .join("\n\n");
    planted_logs.write(&format!("{directory}/summary.json"), format!("# notes\n\n{lines}\n"));
    let events = planted_logs.plant("grok: events.jsonl");
    let events = events
        .iter()
        .map(|text| json!({ "type": "x", "text": text }).to_string());
    planted_logs.write(
        &format!("{directory}/events.jsonl"),
        events.collect::<Vec<_>>().join("\n"),
    );
    let texts = planted_logs.plant("grok: meta.json of a subagent");
    let meta = serde_json::to_string_pretty(&json!({ "description": texts })).unwrap();
    planted_logs.write(&format!("{directory}/subagents/a1/meta.json"), meta);
}

/// Number of bytes at the end of a secret to search for. They are random, so they are unique.
const END: usize = 8;

fn end_of(piece: &[u8]) -> Option<u64> {
    let end = piece.len().checked_sub(END)?;
    Some(u64::from_le_bytes(piece[end..].try_into().unwrap()))
}

/// Returns the secrets whose ends occur in some bytes.
fn find_leaks<'g>(planted: &'g [Planted], bytes: &[u8]) -> HashSet<(&'g str, &'g str)> {
    let mut ends = HashMap::new();
    let mut is_end = vec![false; 1 << 16];
    for planted in planted {
        for piece in planted.secret.lines().filter(|piece| !piece.contains("-----")) {
            let escaped = serde_json::to_string(piece).unwrap();
            for form in [piece, escaped.trim_matches('"')] {
                let end = end_of(form.as_bytes()).unwrap();
                is_end[end as usize & 0xFFFF] = true;
                ends.insert(end, planted);
            }
        }
    }
    let found = bytes.windows(END).filter_map(|window| {
        let end = u64::from_le_bytes(window.try_into().unwrap());
        is_end[end as usize & 0xFFFF].then(|| ends.get(&end)).flatten()
    });
    found.map(|planted| (planted.rule, planted.place.as_str())).collect()
}

/// Converts JSON arrays of bytes to text, because a secret could hide in them.
fn decode_byte_arrays(bytes: &[u8]) -> Vec<u8> {
    let runs = bytes.split(|byte| !byte.is_ascii_digit() && !matches!(byte, b',' | b' '));
    let runs = runs.filter(|run| run.len() >= 24);
    let numbers = runs.map(|run| {
        let numbers = run.split(|byte| *byte == b',');
        let byte = |number: &[u8]| std::str::from_utf8(number).ok()?.trim().parse::<u8>().ok();
        numbers
            .map(move |number| byte(number).unwrap_or(b' '))
            .collect::<Vec<_>>()
    });
    numbers.collect::<Vec<_>>().join(&b'\n')
}

/// Plants every secret that is recognised by its format, split over two records of one stream.
fn stream(planted_logs: &mut PlantedLogs) {
    let mut log = String::new();
    let from = planted_logs.planted.len();
    let texts = planted_logs.plant("grok: broken over two records");
    let mut planted = planted_logs
        .planted
        .split_off(from)
        .into_iter()
        .zip(texts)
        .collect::<Vec<_>>();
    planted.retain(|(planted, text)| *text == format!("{} {}", planted.mark, planted.secret) && !text.contains('\n'));
    for (planted, text) in planted {
        let cut = text.len() - planted.secret.len() / 3;
        for piece in [&text[..cut], &text[cut..], " is what it is\n"] {
            let content = json!({ "type": "text", "text": piece });
            let update = json!({ "update": { "sessionUpdate": "agent_message_chunk", "content": content } });
            log += &(record("grok", update) + "\n");
        }
        planted_logs.planted.push(planted);
    }
    planted_logs.write(&log_path("grok", 3), log);
}

/// Returns the secrets without a tag after their mark.
fn find_untagged<'g>(planted: &'g [Planted], kept: &str) -> Vec<(&'g str, &'g str)> {
    let mut after = HashMap::new();
    for piece in kept.split("mark").skip(1) {
        if let Some(end) = piece.find('q').filter(|end| *end < 8) {
            after.entry(piece[..end].to_owned()).or_insert(piece);
        }
    }
    let is_tagged = |planted: &&Planted| {
        let number = planted.mark.trim_start_matches("mark").trim_end_matches('q');
        let tag = format!("{OPENING}{}:", planted.rule);
        after.get(number).is_some_and(|piece| piece.contains(&tag))
    };
    let missing = planted.iter().filter(|planted| !is_tagged(planted));
    missing.map(|planted| (planted.rule, planted.place.as_str())).collect()
}

#[test]
fn no_planted_secret_reaches_the_disk() {
    let planted_logs = plant_all();
    let rules: HashSet<_> = rules().map(|(rule, _)| rule).collect();
    let planted: HashSet<_> = planted_logs.planted.iter().map(|planted| planted.rule).collect();
    assert_eq!(planted, rules, "a rule has no sample");
    let raw: Vec<u8> = planted_logs
        .planted
        .iter()
        .flat_map(|planted| planted.secret.bytes())
        .collect();
    assert!(
        !find_leaks(&planted_logs.planted, &raw).is_empty(),
        "a leak would be found"
    );
    let report = planted_logs.sweep(&UserRules::default());
    assert_eq!(report.unread, []);
    for (name, bytes) in planted_logs.all_bytes() {
        let found = find_leaks(&planted_logs.planted, &bytes);
        assert!(
            found.is_empty(),
            "in {name}, {} of (rule, place): {found:?}",
            found.len()
        );
        let found = find_leaks(&planted_logs.planted, &decode_byte_arrays(&bytes));
        assert!(
            found.is_empty(),
            "in {name}, as bytes, {} of (rule, place): {found:?}",
            found.len()
        );
    }
    let kept = planted_logs.kept();
    let kept = [&kept[..], b"\n", &decode_byte_arrays(&kept)].concat();
    let untagged = find_untagged(&planted_logs.planted, &String::from_utf8_lossy(&kept));
    assert!(untagged.is_empty(), "{} of (rule, place): {untagged:?}", untagged.len());
}

#[test]
fn rules_of_the_user_mask_text_and_allowed_text_stays() {
    let mut planted_logs = PlantedLogs::new();
    let allowed = planted_logs.plant("allowed").remove(0);
    let other = planted_logs.plant("not allowed").remove(0);
    let secret_of = |text: &str| text.split(' ').next_back().unwrap().to_owned();
    let log = [
        prompt("claude", &format!("ticket ACME-4711 and ACME-0042, {allowed}")),
        tool_output("claude", json!(format!("ACME-4712 {other}").as_bytes())),
    ];
    planted_logs.write(&log_path("claude", 1), log.join("\n"));
    let rules = UserRules {
        rules: vec![UserRule {
            name: "ticket".to_owned(),
            pattern: r"ACME-\d{4}".to_owned(),
            keywords: vec!["ACME-".to_owned()],
            tier: Tier::B,
        }],
        allowed_texts: vec![secret_of(&allowed)],
        allowed_patterns: vec!["^ACME-00".to_owned()],
    };
    planted_logs.sweep(&rules);
    let kept = planted_logs.kept();
    let text = String::from_utf8_lossy(&kept).into_owned() + &String::from_utf8_lossy(&decode_byte_arrays(&kept));
    assert_eq!(
        text.matches("[REDACTED:ticket:").count(),
        2 + 1,
        "as text, and twice the same bytes"
    );
    assert!(text.contains("ACME-0042") && text.contains(&secret_of(&allowed)));
    for (name, bytes) in planted_logs.all_bytes() {
        for hidden in ["ACME-4711", "ACME-4712", &secret_of(&other)] {
            let holds = |bytes: &[u8]| bytes.windows(hidden.len()).any(|window| window == hidden.as_bytes());
            assert!(!holds(&bytes) && !holds(&decode_byte_arrays(&bytes)), "{name}");
        }
    }
}

#[test]
fn the_store_contains_no_key_and_nothing_of_a_torn_log() {
    let mut planted_logs = PlantedLogs::new();
    let path = log_path("claude", 1);
    let texts = planted_logs.plant("a log that was torn, and then went on");
    let log: String = texts.iter().map(|text| prompt("claude", text) + "\n").collect();
    // The log is cut within a secret and read when it is quiet, and read again when it is complete.
    for part in [log.len() / 3, log.len() / 2, log.len()] {
        planted_logs.write(&path, &log[..part]);
        planted_logs.sweep(&UserRules::default());
    }
    for (name, bytes) in planted_logs.all_bytes() {
        assert!(find_leaks(&planted_logs.planted, &bytes).is_empty(), "{name}");
        assert!(!bytes.windows(32).any(|window| window == [7; 32]), "{name}");
    }
}

/// Returns the documentation of masking.
fn read_masking_page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/masking.md")).unwrap()
}

#[test]
fn the_documentation_of_masking_names_every_rule() {
    let page = read_masking_page();
    for (rule, _) in rules() {
        assert!(page.contains(&format!("`{rule}`")), "{rule}");
    }
}
