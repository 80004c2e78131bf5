//! Every command reports the same about a session. Compares the numbers of `sessions`, `show`, `digest`, `usage`,
//! `stats`, `status`, `export`, the page that `render` makes, and the diary, over synthetic and real logs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::home::{FixtureHome, LogSource};

/// If two events are further apart, the gap is not active time. Repeated here so that the rule cannot change unnoticed.
const IDLE_LIMIT_S: i64 = 300;
/// The number of differences that are printed; all of them are counted.
const PRINTED_MAX: usize = 40;

/// The answers of all commands over one home, and the result of the comparison.
struct Agreement {
    home: FixtureHome,
    compared: u64,
    differences: Vec<String>,
}

impl Agreement {
    fn answer(&self, line: &[&str]) -> Value {
        let output = self.home.command().args(line).arg("--json").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let first = text
            .lines()
            .next()
            .unwrap_or_else(|| panic!("{line:?}: {:?}", output.stderr));
        serde_json::from_str(first).unwrap_or_else(|error| panic!("{line:?}: {error}: {first}"))
    }

    /// Compares one value of a session as two commands report it.
    fn check(&mut self, uid: &str, what: &str, left: impl Into<Value>, right: impl Into<Value>) {
        let (left, right) = (left.into(), right.into());
        self.compared += 1;
        if left != right {
            self.differences.push(format!("{uid}: {what}: {left} and {right}"));
        }
    }

    /// Returns the rows of an exported table, by session.
    fn table(&self, name: &str) -> HashMap<String, Vec<Value>> {
        let path = self.home.path().join("out/agreement").join(format!("{name}.jsonl"));
        let mut rows: HashMap<String, Vec<Value>> = HashMap::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            rows.entry(text(&row["session_uid"])).or_default().push(row);
        }
        rows
    }

    /// Returns the numbers that each page contains for programs.
    fn pages(&self) -> HashMap<String, Value> {
        let mut pages = HashMap::new();
        for page in fs::read_dir(self.home.path().join("out/pages/sessions")).unwrap() {
            let html = fs::read_to_string(page.unwrap().path()).unwrap();
            let (_, behind) = html.split_once("id=\"numbers\">").unwrap();
            let (numbers, _) = behind.split_once("</script>").unwrap();
            let mut numbers: Value = serde_json::from_str(numbers).unwrap();
            let (_, behind) = html.split_once("<p class=\"who\">").unwrap();
            numbers["head"] = behind.split_once("</header>").unwrap().0.into();
            pages.insert(text(&numbers["session_uid"]), numbers);
        }
        pages
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A stretch of active time, in seconds since 1970.
type Stretch = (i64, i64);

/// Computes the active time of events by the documented rule. Events are in order and exclude copied history.
fn stretches(times: impl Iterator<Item = i64>) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for at in times {
        match found.last_mut() {
            Some((_, end)) if at - *end <= IDLE_LIMIT_S => *end = at.max(*end),
            _ => found.push((at, at)),
        }
    }
    found
}

/// Returns the seconds in which at least one stretch is active between two times.
fn seconds_within(stretches: &[Stretch], from: i64, to: i64) -> i64 {
    let mut clipped: Vec<Stretch> = stretches
        .iter()
        .map(|(start, end)| ((*start).max(from), (*end).min(to)))
        .filter(|(start, end)| start <= end)
        .collect();
    clipped.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for (start, end) in clipped {
        let start = start.max(until);
        sum += (end - start).max(0);
        until = until.max(end);
    }
    sum
}

/// The answers of the commands about one session.
struct SessionAnswers<'a> {
    uid: &'a str,
    listed: &'a Value,
    shown: &'a Value,
    digest: &'a Value,
}

impl Agreement {
    fn compare_session(&mut self, answers: &SessionAnswers<'_>) {
        let SessionAnswers {
            uid,
            listed,
            shown,
            digest,
        } = answers;
        let tokens = &digest["tokens"]["total"];
        let class = |name: &str| number(&tokens[name]);
        let cache = class("cache_read") + class("cache_write_5m") + class("cache_write_1h");
        let all = class("input") + class("output") + cache;
        for name in [
            "title",
            "repo",
            "outcome",
            "started_at",
            "ended_at",
            "turns",
            "prompts",
            "events",
        ] {
            self.check(
                uid,
                &format!("{name} in sessions and digest"),
                listed[name].clone(),
                digest[name].clone(),
            );
        }
        for name in [
            "title",
            "repo",
            "outcome",
            "started_at",
            "ended_at",
            "model",
            "prompts",
            "events",
            "git_branch",
        ] {
            self.check(
                uid,
                &format!("{name} in show and digest"),
                shown[name].clone(),
                digest[name].clone(),
            );
        }
        let cost = &shown["cost"];
        for (what, left, right) in [
            (
                "branch in sessions and digest",
                listed["branch"].clone(),
                digest["git_branch"].clone(),
            ),
            ("tokens in sessions and digest", listed["tokens"].clone(), json!(all)),
            (
                "wall time in sessions and digest",
                json!(number(&listed["duration_ms"]) / 1000),
                digest["time"]["wall_s"].clone(),
            ),
            (
                "wall time in show and digest",
                cost["wall_clock_s"].clone(),
                digest["time"]["wall_s"].clone(),
            ),
            (
                "turns in show and digest",
                cost["turns"].clone(),
                digest["turns"].clone(),
            ),
            (
                "retries in show and digest",
                cost["retries"].clone(),
                digest["retries"].clone(),
            ),
            (
                "input tokens in show and digest",
                cost["input_tokens"].clone(),
                tokens["input"].clone(),
            ),
            (
                "output tokens in show and digest",
                cost["output_tokens"].clone(),
                tokens["output"].clone(),
            ),
            (
                "cache tokens in show and digest",
                cost["cache_tokens"].clone(),
                json!(cache),
            ),
            (
                "commits and their total",
                json!(array(&digest["commits"]).len()),
                digest["commits_total"].clone(),
            ),
        ] {
            self.check(uid, what, left, right);
        }
    }

    /// Compares a page with the digest of its session.
    fn compare_page(&mut self, uid: &str, page: &Value, digest: &Value) {
        let numbers = &page["numbers"];
        let tokens = &digest["tokens"]["total"];
        let cache = ["cache_read", "cache_write_5m", "cache_write_1h"].map(|name| number(&tokens[name]));
        for (what, left, right) in [
            ("turns on the page", &numbers["turns"], &digest["turns"]),
            ("tool calls on the page", &numbers["tool_calls"], &digest["tool_calls"]),
            ("errors on the page", &numbers["errors"], &digest["errors"]["count"]),
            ("wall time on the page", &numbers["wall_s"], &digest["time"]["wall_s"]),
            (
                "active time on the page",
                &numbers["active_s"],
                &digest["time"]["active_s"],
            ),
            ("commits on the page", &numbers["commits"], &digest["commits_total"]),
            (
                "files on the page",
                &numbers["files"],
                &json!(array(&digest["files"]).len()),
            ),
            ("input tokens on the page", &page["input_tokens"], &tokens["input"]),
            ("output tokens on the page", &page["output_tokens"], &tokens["output"]),
            (
                "cache tokens on the page",
                &page["cache_tokens"],
                &json!(cache.iter().sum::<u64>()),
            ),
            (
                "cost on the page",
                &page["cost_microusd"],
                &digest["rolled_up"]["cost_microusd"],
            ),
        ] {
            self.check(uid, what, left.clone(), right.clone());
        }
        // The text of the page has the same numbers.
        let head = text(&page["head"]);
        let calls = format!("<dt>Tool calls</dt><dd>{}", number(&digest["tool_calls"]));
        self.check(uid, "tool calls in words on the page", head.contains(&calls), true);
        let failed = match number(&digest["errors"]["count"]) {
            0 => "</dd>".to_owned(),
            errors => format!(", <b class=\"no\">{errors} failed</b></dd>"),
        };
        self.check(
            uid,
            "errors in words on the page",
            head.contains(&format!("{calls}{failed}")),
            true,
        );
        if let Some(micros) = digest["rolled_up"]["cost_microusd"].as_u64() {
            let dollars = render::dollars(micros).replace('<', "&lt;");
            let is_told =
                head.contains(&format!("<dt>Cost</dt><dd>{dollars}")) || head.contains(&render::dollars(micros));
            self.check(uid, "cost in words on the page", is_told, true);
        }
    }

    /// Compares a row of `usage` with the digests of a session and its subagents.
    fn compare_usage(&mut self, uid: &str, row: &Value, digest: &Value) {
        let rolled_up = &digest["rolled_up"];
        let classes = [
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
        ];
        let tokens: u64 = classes.iter().map(|name| number(&row[name])).sum();
        self.check(uid, "tokens in usage", tokens, rolled_up["tokens"].clone());
        self.check(
            uid,
            "cost in usage",
            row["cost_microusd"].clone(),
            rolled_up["cost_microusd"].clone(),
        );
        self.check(
            uid,
            "unpriced calls in usage",
            number(&row["unpriced_calls"]),
            rolled_up["unpriced_calls"].clone(),
        );
    }

    fn compare_export(&mut self, uid: &str, tables: &Tables, digest: &Value) {
        let none = Value::Null;
        let session = tables.sessions.get(uid).map_or(&none, |rows| &rows[0]);
        for name in ["turns", "events", "title", "repo", "started_at", "ended_at"] {
            self.check(
                uid,
                &format!("{name} in the exported sessions"),
                session[name].clone(),
                digest[name].clone(),
            );
        }
        let count = |table: &HashMap<String, Vec<Value>>| table.get(uid).map_or(0, Vec::len);
        self.check(
            uid,
            "rows of exported turns",
            count(&tables.turns),
            digest["turns"].clone(),
        );
        self.check(
            uid,
            "rows of exported events",
            count(&tables.events),
            digest["events"].clone(),
        );
        if let Some(row) = tables.digests.get(uid).map(|rows| &rows[0]) {
            for (name, right) in [
                ("outcome", &digest["outcome"]),
                ("active_s", &digest["time"]["active_s"]),
                ("wall_s", &digest["time"]["wall_s"]),
                ("turns", &digest["turns"]),
                ("tool_calls", &digest["tool_calls"]),
                ("errors", &digest["errors"]["count"]),
                ("tests_passed", &digest["tests"]["passed"]),
                ("repo", &digest["repo"]),
            ] {
                self.check(
                    uid,
                    &format!("{name} in the exported digests"),
                    row[name].clone(),
                    right.clone(),
                );
            }
        }
        let active = seconds_within(&tables.active(uid), i64::MIN, i64::MAX);
        self.check(
            uid,
            "active time by the rule",
            active,
            digest["time"]["active_s"].clone(),
        );
    }

    /// Compares sums over all sessions.
    fn compare_sums(&mut self, listed: &[Value], digests: &BTreeMap<String, Value>, usage: &Value) {
        let stats = self.answer(&["stats"]);
        let has_digest: BTreeSet<String> = self.table("digests").into_keys().collect();
        let known = || {
            digests
                .iter()
                .filter(|(uid, _)| has_digest.contains(*uid))
                .map(|(_, digest)| digest)
        };
        let main = || known().filter(|digest| digest["is_subagent"] == false);
        for (name, sum) in [
            ("turns", main().map(|digest| number(&digest["turns"])).sum::<u64>()),
            ("wall_s", main().map(|digest| number(&digest["time"]["wall_s"])).sum()),
            (
                "active_s",
                main().map(|digest| number(&digest["time"]["active_s"])).sum(),
            ),
            ("tool_calls", known().map(|digest| number(&digest["tool_calls"])).sum()),
            ("retries", known().map(|digest| number(&digest["retries"])).sum()),
            ("errors", known().map(|digest| number(&digest["errors"]["count"])).sum()),
        ] {
            self.check("all sessions", &format!("{name} in stats"), stats[name].clone(), sum);
        }
        for outcome in ["success", "fail", "abandoned", "unknown"] {
            let count = main().filter(|digest| digest["outcome"] == outcome).count();
            self.check(
                "all sessions",
                &format!("{outcome} in stats"),
                stats["outcomes"][outcome].clone(),
                count,
            );
        }
        for (name, sum) in usage["totals"].as_object().unwrap() {
            self.check(
                "all sessions",
                &format!("{name} in stats and usage"),
                stats["usage"][name].clone(),
                sum.clone(),
            );
        }
        let status = self.answer(&["status"]);
        for agent in array(&status["store"]["agents"]) {
            let own = || listed.iter().filter(|one| one["flavor"] == agent["agent"]);
            let of = |status: &str| own().filter(|one| one["status"] == status).count();
            let is_side = |one: &&Value| one["status"] != "prompts_only" && one["is_subagent"] == true;
            let sides = own().filter(is_side).count();
            let mains = own().count() - sides - of("prompts_only");
            let flavor = text(&agent["agent"]);
            self.check(&flavor, "sessions in status", agent["sessions"].clone(), mains);
            self.check(&flavor, "subagents in status", agent["subagents"].clone(), sides);
            self.check(
                &flavor,
                "prompts only in status",
                agent["prompts_only"].clone(),
                of("prompts_only"),
            );
            self.check(&flavor, "evicted in status", agent["evicted"].clone(), of("evicted"));
        }
        self.check(
            "status",
            "logs that wait after a sweep",
            status["waiting"]["files_read"].clone(),
            0,
        );
    }

    /// Compares the diary of each day with the sessions in its workspace.
    fn compare_days(&mut self, days: &BTreeSet<String>, tables: &Tables, digests: &BTreeMap<String, Value>) {
        for day in days {
            let report = self.answer(&["report", "--date", day]);
            let uids = self.sessions_of_day(day);
            if uids.is_empty() {
                self.check(
                    day,
                    "a day without sessions",
                    report["error"]["code"].clone(),
                    "no-sessions",
                );
                continue;
            }
            let start: Timestamp = format!("{day}T00:00:00Z").parse().unwrap();
            let (from, to) = (start.as_second(), start.as_second() + 24 * 3600);
            let all: Vec<Stretch> = uids.iter().flat_map(|uid| tables.active(uid)).collect();
            let active = seconds_within(&all, from, to);
            self.check(
                day,
                "active time of a day",
                report["totals"]["active_s"].clone(),
                active,
            );
            let own: Vec<&Value> = uids.iter().filter_map(|uid| digests.get(uid)).collect();
            let is_whole = |digest: &&Value| {
                text(&digest["started_at"]).starts_with(day.as_str())
                    && text(&digest["ended_at"]).starts_with(day.as_str())
            };
            // A day counts a session that spans midnight, or that has two logs on disk, differently.
            let is_once = number(&report["totals"]["sessions"]) == own.len() as u64;
            if is_once && own.iter().all(is_whole) {
                let sum = |name: &str, below: &str| -> u64 {
                    own.iter()
                        .map(|digest| {
                            if below.is_empty() {
                                number(&digest[name])
                            } else {
                                number(&digest[name][below])
                            }
                        })
                        .sum()
                };
                self.check(
                    day,
                    "turns of a day",
                    report["totals"]["turns"].clone(),
                    sum("turns", ""),
                );
                self.check(
                    day,
                    "commits of a day",
                    report["totals"]["commits"].clone(),
                    sum("commits_total", ""),
                );
                for (name, below) in [
                    ("tests_passed", "passed"),
                    ("tests_failed", "failed"),
                    ("tests_unclear", "unclear"),
                ] {
                    self.check(
                        day,
                        &format!("{name} of a day"),
                        report["totals"][name].clone(),
                        sum("tests", below),
                    );
                }
            }
        }
    }

    /// Returns the sessions of a day's workspace.
    fn sessions_of_day(&self, day: &str) -> BTreeSet<String> {
        let days = self.home.path().join(concat!(".local/share/boswell-reports/", "work"));
        let mut uids = BTreeSet::new();
        for project in fs::read_dir(days.join(day).join("projects")).into_iter().flatten() {
            let index = fs::read_to_string(project.unwrap().path().join("sessions.index.jsonl")).unwrap();
            for row in index.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
                let flavor = match row["source"].as_str().unwrap_or_default() {
                    "claude-code" => "claude",
                    source => source,
                };
                uids.insert(format!("{flavor}:{}", text(&row["source_session_id"])));
            }
        }
        uids
    }
}

/// The tables that `export` wrote, and the lines of copied history.
struct Tables {
    sessions: HashMap<String, Vec<Value>>,
    turns: HashMap<String, Vec<Value>>,
    events: HashMap<String, Vec<Value>>,
    digests: HashMap<String, Vec<Value>>,
    inherited: HashMap<String, (u64, u64)>,
}

impl Tables {
    fn active(&self, uid: &str) -> Vec<Stretch> {
        let events = self.events.get(uid).map(Vec::as_slice).unwrap_or_default();
        let copied = self.inherited.get(uid).copied().unwrap_or((1, 0));
        let own = events
            .iter()
            .filter(|event| !(copied.0..=copied.1).contains(&number(&event["line"])));
        let mut own: Vec<&Value> = own.collect();
        own.sort_by_key(|event| number(&event["seq"]));
        let time = |event: &&Value| event["ts"].as_str()?.parse::<Timestamp>().ok().map(|at| at.as_second());
        stretches(own.iter().filter_map(time))
    }
}

/// Compares everything over a home. Returns the number of sessions and values, and the differences.
#[allow(
    clippy::print_stderr,
    reason = "how much was compared is what a passing test has to say"
)]
fn compare(source: LogSource<'_>) -> Agreement {
    let directory = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(directory.path(), binary, source).unwrap();
    let mut agreement = Agreement {
        home,
        compared: 0,
        differences: Vec::new(),
    };
    let listed = agreement.answer(&["sessions", "--all", "--limit", "0"]);
    let listed = array(&listed["sessions"]).to_vec();
    let out = agreement.home.path().join("out/agreement");
    agreement.answer(&["export", "--to", "jsonl", "-o", out.to_str().unwrap()]);
    agreement.answer(&[
        "render",
        "--all",
        "-o",
        agreement.home.path().join("out/pages").to_str().unwrap(),
    ]);
    let usage = agreement.answer(&["usage", "--by", "session"]);
    let rows: HashMap<String, &Value> = array(&usage["rows"])
        .iter()
        .map(|row| (text(&row["session_uid"]), row))
        .collect();
    let pages = agreement.pages();
    let mut tables = Tables {
        sessions: agreement.table("sessions"),
        turns: agreement.table("turns"),
        events: agreement.table("events"),
        digests: agreement.table("digests"),
        inherited: HashMap::new(),
    };
    let mut digests: BTreeMap<String, Value> = BTreeMap::new();
    for one in listed.iter().filter(|one| one["status"] != "prompts_only") {
        let uid = text(&one["session_uid"]);
        let shown = agreement.answer(&["show", &uid, "--depth", "prompts"])["session"].clone();
        let digest = agreement.answer(&["digest", &uid, "--subagents"]);
        let copied = &shown["inherited"];
        if copied.is_object() {
            let lines = (number(&copied["first_line"]), number(&copied["last_line"]));
            tables.inherited.insert(uid.clone(), lines);
        }
        agreement.compare_session(&SessionAnswers {
            uid: &uid,
            listed: one,
            shown: &shown,
            digest: &digest,
        });
        agreement.compare_export(&uid, &tables, &digest);
        if let Some(page) = pages.get(&uid) {
            agreement.compare_page(&uid, page, &digest);
        }
        if one["is_subagent"] == false {
            agreement.compare_usage(&uid, rows.get(&uid).copied().unwrap_or(&Value::Null), &digest);
        }
        digests.insert(uid, digest);
    }
    agreement.compare_sums(&listed, &digests, &usage);
    let is_main = |uid: &String| digests.get(uid).is_some_and(|digest| digest["is_subagent"] == false);
    let starts = tables
        .turns
        .iter()
        .filter(|(uid, _)| is_main(uid))
        .flat_map(|(_, rows)| rows);
    let days: BTreeSet<String> = starts
        .filter_map(|row| Some(row["started_at"].as_str()?.get(..10)?.to_owned()))
        .collect();
    agreement.compare_days(&days, &tables, &digests);
    eprintln!(
        "compared {} sessions, {} pages and {} days: {} values, {} differences",
        digests.len(),
        pages.len(),
        days.len(),
        agreement.compared,
        agreement.differences.len()
    );
    assert!(
        !digests.is_empty() && !pages.is_empty() && !days.is_empty(),
        "nothing was compared"
    );
    agreement
}

fn assert_agreement(agreement: &Agreement) {
    let differences = &agreement.differences;
    let printed = &differences[..differences.len().min(PRINTED_MAX)];
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        printed.join("\n")
    );
}

#[test]
fn every_command_says_the_same_of_made_up_sessions() {
    assert_agreement(&compare(LogSource::MadeUp));
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test has to be visible")]
fn every_command_says_the_same_of_real_sessions() {
    let Some(corpus) = std::env::var_os("BOSWELL_CORPUS") else {
        eprintln!("SKIPPED: no real logs to compare commands over");
        return;
    };
    let directory = Path::new(&corpus);
    assert_agreement(&compare(LogSource::Corpus { directory, step: 1 }));
}
