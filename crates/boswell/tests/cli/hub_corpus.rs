//! Every verb that answers, asked of a memory in a directory and of one on a server, over real logs: the answers are the same. Told where
//! `BOSWELL_CORPUS` names a directory of logs, passed over where it does not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::postgres::Postgres;

use crate::sandbox::Sandbox;

/// Of the logs of Claude Code and Codex every so manieth is taken, and each where `BOSWELL_FAULTS=all` asks for everything.
const STEP: usize = 8;

/// What is asked with `--json`. `DAY` is a day of which there is something, `SESSION` a session of each agent.
const QUESTIONS: &[&str] = &[
    "sessions",
    "sessions --agent codex --limit 3",
    "sessions --outcome success",
    "sessions --tool Bash",
    "sessions --since 2025-10-01 --until 2025-12-31",
    "show SESSION",
    "show SESSION --turns 1",
    "digest SESSION",
    "signals",
    "signals --agent claude",
    "decisions",
    "usage",
    "usage weekly",
    "usage monthly",
    "usage session",
    "usage model",
    "usage project",
    "usage blocks",
    "usage --by agent,branch,user,machine",
    "stats",
    "stats --agent grok",
    "statusline",
    "secrets",
    "days",
    "journal",
    "resume SESSION --print",
    "evict --dry-run",
    "forget SESSION --dry-run",
    "keep SESSION",
    "sweep --dry-run",
    "prepare --date DAY",
    "report --date DAY --to json",
    "diary",
    "render SESSION --to md",
    "cat SESSION",
    "restore SESSION -o given --dry-run",
    "why src/main.rs",
    "status",
    "doctor --deep",
];

/// Searches: the same turns are found, in whichever order.
const SEARCHES: &[&str] = &[
    "error",
    "the",
    "test*",
    "main.rs",
    "\"not found\"",
    "import -test",
    "--exact rror",
    "--exact (x",
    "--regex fn\\s+\\w+",
    "--regex (?:todo|fixme)",
    "tool:Bash git",
    "kind:error",
    "名",
    "função",
    "HTTP",
    "parse config",
    "nowhereatall",
];

/// Copies real logs into the agents' roots.
fn lay_out(corpus: &Path, sandbox: &Sandbox) {
    for (agent, place) in [("claude", ".claude/projects"), ("codex", ".codex/sessions")] {
        let mut paths = Vec::new();
        below(&corpus.join(agent), &mut paths);
        paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        paths.sort();
        let step = if std::env::var_os("BOSWELL_FAULTS").is_some() {
            1
        } else {
            STEP
        };
        for (number, path) in paths.iter().enumerate().step_by(step) {
            let name = path.file_name().unwrap().to_string_lossy();
            let prefix = if agent == "codex" && !name.starts_with("rollout-") {
                "rollout-"
            } else {
                ""
            };
            put(
                path,
                &sandbox.home.join(place).join(format!("folder-{number}/{prefix}{name}")),
            );
        }
    }
    let mut paths = Vec::new();
    below(&corpus.join("grok"), &mut paths);
    for path in paths {
        let session = path.parent().unwrap();
        let own = session
            .strip_prefix(corpus)
            .unwrap()
            .to_string_lossy()
            .replace('/', "-");
        let name = path.file_name().unwrap();
        put(&path, &sandbox.home.join(".grok/sessions/project").join(own).join(name));
    }
}

fn put(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, fs::read(from).unwrap()).unwrap();
}

fn below(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => below(&path, paths),
            false => paths.push(path),
        }
    }
    paths.sort();
}

/// One of the two memories.
struct Side<'s> {
    sandbox: &'s Sandbox,
    name: &'static str,
    url: Option<&'s str>,
}

impl Side<'_> {
    fn ask(&self, words: &[&str]) -> String {
        let mut command = self.sandbox.command("");
        command
            .args(words)
            .env("BOSWELL_HOME", self.sandbox.path(self.name))
            .env("BOSWELL_REPORTS", self.sandbox.path(&format!("{}-days", self.name)));
        command.envs(self.url.map(|url| ("BOSWELL_STORE", url)));
        let output = command.output().unwrap();
        let told = format!(
            "{}\n{:?}\n{}",
            String::from_utf8_lossy(&output.stdout),
            output.status.code(),
            String::from_utf8_lossy(&output.stderr)
        );
        // Where it lies is the one thing that they must not say alike.
        let told = told.replace(&self.sandbox.path(&format!("{}-days", self.name)), "[DAYS]");
        told.replace(&self.sandbox.path(self.name), "[MEMORY]")
    }

    fn json(&self, words: &[&str]) -> Value {
        let told = self.ask(words);
        serde_json::from_str(told.lines().next().unwrap_or_default()).unwrap_or_default()
    }
}

/// An answer without what the place of a memory decides: its name, its size on disk, and how long something took.
fn told(question: &str, text: &str) -> String {
    let Some(Ok(mut value)) = text.lines().next().map(serde_json::from_str::<Value>) else {
        return text.to_owned();
    };
    let unlike: &[&str] = match question.split(' ').next() {
        Some("status") => &[
            "store",
            "path",
            "directory",
            "disk_bytes",
            "database_bytes",
            "packs_bytes",
        ],
        Some("doctor") => &["path"],
        Some("sweep") => &["duration_ms"],
        _ => &[],
    };
    leave_out(&mut value, unlike);
    let rest: Vec<&str> = text.lines().skip(1).collect();
    format!("{value}\n{}", rest.join("\n"))
}

fn leave_out(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|value| leave_out(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| leave_out(value, names)),
        _ => {}
    }
}

/// What a search found, in any order.
fn found(answer: &Value) -> BTreeSet<String> {
    let hits = answer["hits"].as_array().or(answer["results"].as_array());
    hits.into_iter().flatten().map(ToString::to_string).collect()
}

#[test]
#[allow(
    clippy::print_stderr,
    reason = "whoever runs the tests has to know what was not tested"
)]
fn every_verb_answers_from_a_server_as_from_a_directory() {
    let (Some(corpus), Some(server)) = (std::env::var_os("BOSWELL_CORPUS"), Postgres::shared()) else {
        eprintln!("SKIPPED: no real logs to compare the answers of two memories on");
        return;
    };
    let (mut sandbox, url) = (Sandbox::new(), server.database());
    sandbox.set("USER", "ada");
    lay_out(Path::new(&corpus), &sandbox);
    sandbox.write_user_config("[store]\nmachine = \"desk\"\n");
    let sides = [("memory", None), ("beside", Some(url.as_str()))].map(|(name, url)| Side {
        sandbox: &sandbox,
        name,
        url,
    });
    for side in &sides {
        let told = side.ask(&["sweep"]);
        assert!(told.contains("Some(0)"), "{told}");
        side.ask(&["tag", "last", "mine"]);
        side.ask(&["note", "last", "a", "note"]);
        side.ask(&["decide", "--session", "last", "we-keep-it"]);
    }
    let [here, there] = &sides;
    let all = here.json(&["sessions", "--limit", "0", "--json", "--no-sweep"]);
    let sessions = all["sessions"].as_array().unwrap();
    let of = |agent: &str| sessions.iter().find(|one| one["flavor"] == agent && one["turns"] != 0);
    let chosen: Vec<&str> = ["claude", "codex", "grok"]
        .iter()
        .map(|agent| {
            of(agent).unwrap_or_else(|| panic!("no session of {agent}"))["session_uid"]
                .as_str()
                .unwrap()
        })
        .collect();
    let day = here.json(&["days", "--json", "--no-sweep"]);
    let day = day["days"]
        .as_array()
        .and_then(|days| days.last())
        .map(|day| day["date"].clone());
    let day = day
        .and_then(|day| day.as_str().map(str::to_owned))
        .unwrap_or("2026-03-31".to_owned());
    let mut differing = Vec::new();
    for question in QUESTIONS {
        let asked: Vec<&str> = if question.contains("SESSION") {
            chosen.clone()
        } else {
            vec![""]
        };
        for session in asked {
            let line = question.replace("SESSION", session).replace("DAY", &day) + " --json --no-sweep";
            let words: Vec<&str> = line.split_whitespace().collect();
            let (ours, theirs) = (told(question, &here.ask(&words)), told(question, &there.ask(&words)));
            assert!(!ours.contains("\"code\":\"usage\""), "{ours}");
            if ours != theirs {
                differing.push(format!("{line}:\n{}", differs_at(&ours, &theirs)));
            }
        }
    }
    let mut hits = 0;
    for search in SEARCHES {
        let mut words = vec!["search", "--limit", "0", "--json", "--no-sweep"];
        match search.split_once(' ').filter(|_| search.starts_with("--")) {
            Some((flag, rest)) => words.extend([flag, rest]),
            None => words.push(search),
        }
        let (ours, theirs) = (found(&here.json(&words)), found(&there.json(&words)));
        hits += ours.len();
        if ours != theirs {
            differing.push(format!("search {search}: {} and {}", ours.len(), theirs.len()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(hits > 100, "{hits} hits");
}

/// The first place at which two texts differ, with a little around it.
fn differs_at(ours: &str, theirs: &str) -> String {
    let at = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(200).min(text.len())..(at + 200).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!("  {}\n  {}", around(ours), around(theirs))
}
