//! Compares the answers of every verb over real logs, from a memory in a directory and from one on a server. Needs
//! `BOSWELL_CORPUS`, the directory of the logs, and is skipped without it.

mod logs;
mod mcp;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::postgres::Postgres;

use self::logs::{below, lay_out};
use crate::sandbox::Sandbox;

/// Command lines run with `--json`, in this order. `DAY` is a day with sessions, `SESSION` a session of each agent,
/// `LOG` one of their logs, `FILE` an edited file, and `OUT` an output directory for each memory. The test compares the
/// written files at the end.
const QUESTIONS: &[&str] = &[
    "sessions",
    "sessions --agent codex --limit 3",
    "sessions --outcome success",
    "sessions --tool Bash",
    "sessions --since 2025-10-01 --until 2025-12-31",
    "tag SESSION seen",
    "tag SESSION",
    "note SESSION words",
    "name SESSION mine",
    "decide --session SESSION kept",
    "sessions --tag seen",
    "show SESSION",
    "show SESSION --turns 1",
    "digest SESSION",
    "digest SESSION --max-tokens 500",
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
    "usage --csv",
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
    "keep SESSION --undo",
    "sweep --dry-run",
    "prepare --date DAY",
    "report --date DAY --to json",
    "report --date DAY --user ada --to json",
    "bundle --date DAY -o OUT/day.zip",
    "bundle --date DAY --raw-sessions -o OUT/whole.zip",
    "diary DAY",
    "render SESSION --to md",
    "render SESSION --to html -o OUT/page-N.html",
    "read LOG",
    "cat SESSION",
    "export --to jsonl -o OUT/jsonl",
    "export --to csv -o OUT/csv",
    "export --to csv -o OUT/some --agent codex --tables sessions,calls",
    "export --to parquet -o OUT/parquet",
    "restore SESSION -o OUT/given --dry-run",
    "restore SESSION -o OUT/given-N",
    "why FILE",
    "why FILE --limit 1",
    "status",
    "doctor --deep",
    "hooks status",
    "schedule status",
    "run -- true",
    "evict --config session_memory.retention.raw_soft_cap_bytes=1MB",
    "sessions --limit 0",
    "forget SESSION --yes",
    "forget --agent codex --since 2025-10-01 --with-digest --yes",
    "rebuild",
    "sweep",
    "sessions --limit 0",
    "usage",
    "stats",
    "status",
    "doctor --deep",
];

/// Verbs that are tested differently below, that use no memory, or whose answers must differ.
const ELSEWHERE: &[(&str, &str)] = &[
    ("search", "asked below: what is found is compared in any order"),
    ("mcp", "asked below, tool by tool"),
    ("hub", "says where memories are"),
    ("config", "says where memories are"),
    ("setup", "asks no memory that is there"),
    ("demo", "has logs and a memory of its own"),
    ("watch", "goes on until it is ended; what it reads a sweep reads"),
    ("completions", "asks no memory"),
    ("man", "asks no memory"),
    ("schema", "does not open the memory"),
];

/// Searches. Both memories must find the same turns, in any order.
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

/// One of the two memories.
struct Side<'s> {
    sandbox: &'s Sandbox,
    name: &'static str,
    url: Option<&'s str>,
}

impl Side<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.sandbox.command("");
        command
            .args(words)
            .env("BOSWELL_HOME", self.sandbox.path(self.name))
            .env("BOSWELL_REPORTS", self.sandbox.path(&format!("{}-days", self.name)));
        command.envs(self.url.map(|url| ("BOSWELL_STORE", url)));
        command
    }

    fn ask(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let told = format!(
            "{}\n{:?}\n{}",
            String::from_utf8_lossy(&output.stdout),
            output.status.code(),
            String::from_utf8_lossy(&output.stderr)
        );
        self.without_places(&told)
    }

    /// Replaces the location of the memory, the only text that must differ.
    fn without_places(&self, told: &str) -> String {
        let told = told.replace(&self.sandbox.path(self.name), "[MEMORY]");
        // The form of the path inside a zip.
        told.replace(&format!("~/{}", self.name), "[MEMORY]")
    }

    fn json(&self, words: &[&str]) -> Value {
        let told = self.ask(words);
        serde_json::from_str(told.lines().next().unwrap_or_default()).unwrap_or_default()
    }

    /// Returns the output directory of this memory.
    fn out(&self) -> PathBuf {
        self.sandbox.home.join(format!("{}-out", self.name))
    }

    /// Returns every written file: rows of tables in any order, the files in a zip, and all others unchanged.
    fn written(&self) -> BTreeMap<String, String> {
        let mut paths = Vec::new();
        below(&self.out(), &mut paths);
        let mut written = BTreeMap::new();
        for path in paths {
            let name = path.strip_prefix(self.out()).unwrap().to_string_lossy().into_owned();
            let bytes = fs::read(&path).unwrap();
            match path.extension().and_then(|end| end.to_str()) {
                Some("zip") => written.extend(self.unzipped(&name, &bytes)),
                Some("jsonl" | "csv") if !name.starts_with("given") => {
                    let text = self.without_places(&String::from_utf8(bytes).unwrap());
                    let mut lines: Vec<&str> = text.lines().collect();
                    lines.sort_unstable();
                    written.insert(name, lines.join("\n"));
                }
                _ => _ = written.insert(name, self.without_places(&String::from_utf8_lossy(&bytes))),
            }
        }
        written
    }

    fn unzipped(&self, name: &str, bytes: &[u8]) -> Vec<(String, String)> {
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        (0..zip.len())
            .map(|at| {
                let mut file = zip.by_index(at).unwrap();
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                let text = self.without_places(&String::from_utf8_lossy(&bytes));
                (format!("{name}/{}", file.name().unwrap()), text)
            })
            .collect()
    }
}

/// Removes values that depend on the location of a memory: its name, its size on disk, and durations.
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
        Some("sweep" | "rebuild") => &["duration_ms"],
        // The paths in a zip affect how well it compresses.
        Some("bundle") => &["bytes"],
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

/// Returns the hits of a search, in any order.
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
    let chosen = Chosen::of(&sides);
    for side in &sides {
        fs::create_dir_all(side.out()).unwrap();
    }
    let mut differing = Vec::new();
    let [ours, theirs] = sides.each_ref().map(|side| {
        side.ask(&["prepare", "--date", &chosen.day, "--no-sweep"]);
        let days = Path::new(&side.sandbox.path(&format!("{}-days", side.name))).join("work");
        let workspace = days.join(&chosen.day);
        mcp::told(side.command(&["mcp", "--workspace", workspace.to_str().unwrap()]))
    });
    if ours != theirs {
        differing.push(format!("mcp:\n{}", differs_at(&ours, &theirs)));
    }
    // Searches before the eviction, when there is most to find.
    let hits = search(&sides, &mut differing);
    ask_all(&sides, &chosen, &mut differing);
    compare_written(&sides, &mut differing);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(hits > 100, "{hits} hits");
}

/// The sessions, day and file that questions refer to.
struct Chosen {
    /// A session of each agent, and one of its logs.
    sessions: Vec<(String, String)>,
    day: String,
    /// A file that was edited.
    file: String,
}

impl Chosen {
    fn of(sides: &[Side<'_>; 2]) -> Self {
        let side = &sides[0];
        let all = side.json(&["sessions", "--limit", "0", "--json", "--no-sweep"]);
        let all = all["sessions"].as_array().unwrap();
        let sessions = ["claude", "codex", "grok"].iter().map(|agent| {
            let found = all.iter().find(|one| one["flavor"] == *agent && one["turns"] != 0);
            let uid = found.unwrap_or_else(|| panic!("no session of {agent}"))["session_uid"].as_str();
            (uid.unwrap().to_owned(), log_of(side, agent))
        });
        let days = side.json(&["days", "--limit", "1000", "--json", "--no-sweep"]);
        // The clock of a sandbox is fixed, and future days are rejected.
        let past = |day: &&Value| day["date"].as_str().is_some_and(|date| date < "2026-04-01");
        let days = days["days"].as_array().unwrap().iter().filter(past);
        let day = days.max_by_key(|day| day["turns"].as_u64());
        let sessions: Vec<(String, String)> = sessions.collect();
        // A question for a digest creates it, so both memories are asked.
        let [digest, _] = sides
            .each_ref()
            .map(|side| side.json(&["digest", &sessions[0].0, "--json", "--no-sweep"]));
        Self {
            sessions,
            file: digest["files"][0]["path"].as_str().unwrap().to_owned(),
            day: day.unwrap()["date"].as_str().unwrap().to_owned(),
        }
    }
}

/// Runs all questions in order.
fn ask_all(sides: &[Side<'_>; 2], chosen: &Chosen, differing: &mut Vec<String>) {
    for question in QUESTIONS {
        let is_of_each = ["SESSION", "LOG", "-N"].iter().any(|word| question.contains(word));
        let asked = chosen.sessions.iter().enumerate();
        for (number, (session, log)) in asked.take(if is_of_each { usize::MAX } else { 1 }) {
            let line = question.replace("SESSION", session).replace("DAY", &chosen.day);
            let line = line.replace("FILE", &chosen.file);
            let line = line.replace("-N", &format!("-{number}")).replace("LOG", log);
            let [ours, theirs] = sides.each_ref().map(|side| {
                let line = line.replace("OUT", &side.out().to_string_lossy());
                told(question, &side.ask(&arguments(&line)))
            });
            assert!(!ours.starts_with("{\"error\""), "{line}: {ours}");
            if ours != theirs {
                differing.push(format!("{line}:\n{}", differs_at(&ours, &theirs)));
            }
        }
    }
}

/// Compares every file that was written.
fn compare_written(sides: &[Side<'_>; 2], differing: &mut Vec<String>) {
    let [ours, theirs] = sides.each_ref().map(Side::written);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for name in [
        "jsonl/events.jsonl",
        "csv/calls.csv",
        "parquet/turns.parquet",
        "page-2.html",
    ] {
        assert!(ours.get(name).is_some_and(|text| !text.is_empty()), "{name}");
    }
    let sessions = ["whole.zip", "work", "projects"].join("/");
    assert!(ours.keys().any(|name| name.starts_with(&sessions)));
    for (name, ours) in &ours {
        let theirs = &theirs[name];
        if ours != theirs {
            differing.push(format!("{name}:\n{}", differs_at(ours, theirs)));
        }
    }
}

/// Runs all searches. Returns the number of hits.
fn search(sides: &[Side<'_>; 2], differing: &mut Vec<String>) -> usize {
    let mut hits = 0;
    let [here, there] = sides;
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
    hits
}

/// Splits a line and puts our own flags first, because a wrapped command has its own flags.
fn arguments(line: &str) -> Vec<&str> {
    ["--json", "--no-sweep"]
        .into_iter()
        .chain(line.split_whitespace())
        .collect()
}

/// Returns the path of a log of an agent.
fn log_of(side: &Side<'_>, agent: &str) -> String {
    let mut paths = Vec::new();
    below(&side.sandbox.home.join(format!(".{agent}")), &mut paths);
    let log = paths
        .iter()
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    log.unwrap().to_string_lossy().into_owned()
}

#[test]
fn no_verb_is_left_out_of_what_is_compared() {
    let help = Sandbox::new().run("--help");
    let verbs = help.lines().take_while(|line| !line.starts_with("Global options"));
    let verbs: BTreeSet<&str> = verbs
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(verbs.contains("sessions") && verbs.contains("mcp"), "{help}");
    let asked = QUESTIONS.iter().filter_map(|question| question.split(' ').next());
    let elsewhere = ELSEWHERE.iter().map(|(verb, _)| *verb);
    let known: Vec<&str> = asked.collect::<BTreeSet<_>>().into_iter().chain(elsewhere).collect();
    assert_eq!(known.iter().copied().collect::<BTreeSet<_>>(), verbs);
    assert_eq!(
        known.len(),
        verbs.len(),
        "a verb that is asked needs no reason why it is not"
    );
}

/// Returns the first difference between two texts, with some context.
fn differs_at(ours: &str, theirs: &str) -> String {
    let at = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(200).min(text.len())..(at + 200).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!("  {}\n  {}", around(ours), around(theirs))
}
