//! Every command in an answer can be run: it parses, names one session, and finds it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use testkit::home::{FixtureHome, LogSource, PlainRun};
use testkit::verbs::{Ending, Exit, ExpectedExit, Invocation, Output, invocations};

/// Far longer than any run takes: a run that reaches it hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Errors that are allowed here, because the home already has settings and no agent is installed.
const ALLOWED_ERRORS: &[&str] = &["no-program", "exists"];

/// Verbs that run until interrupted, run another program, or ask questions.
const NOT_RUN: &[&str] = &["watch", "run", "mcp", "hook", "setup"];

#[test]
fn every_printed_command_runs() {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::MadeUp).unwrap();
    let mut commands: BTreeMap<String, String> = BTreeMap::new();
    for invocation in invocations().iter().filter(|one| is_checked(one)) {
        let run = home.run(invocation, LIMIT).unwrap();
        home.reset().unwrap();
        for command in printed_commands(&run, invocation.output) {
            commands.entry(command).or_insert_with(|| invocation.line.clone());
        }
    }
    let mut problems = Vec::new();
    for (command, printed_by) in &commands {
        let Some(line) = runnable(command, &home.path().to_string_lossy()) else {
            continue;
        };
        // An error has a code only with `--json`, which `help` does not have.
        let line = if line.starts_with("help") {
            line
        } else {
            format!("{line} --json")
        };
        let run = home.run(&plain(line), LIMIT).unwrap();
        home.reset().unwrap();
        if let Some(problem) = problem_of(&run) {
            problems.push(format!("`boswell {printed_by}` prints `{command}`: {problem}"));
        }
    }
    let shown = commands
        .keys()
        .filter(|command| command.starts_with("boswell show "))
        .count();
    assert!(shown > 10, "only {} commands: {commands:?}", commands.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Returns whether the commands in an answer are run. The examples in help texts name synthetic sessions, and a test of
/// the command line parses them.
fn is_checked(invocation: &Invocation) -> bool {
    let is_help = invocation.line.split(' ').any(|word| word.contains("help"));
    let is_short = matches!(invocation.ending, Ending::Itself | Ending::Input(_));
    let is_page = ["completions", "man"]
        .iter()
        .any(|verb| invocation.line.starts_with(verb));
    !is_help && !is_page && is_short && invocation.output != Output::Screen
}

fn plain(line: String) -> Invocation {
    Invocation {
        line,
        output: Output::Json,
        ending: Ending::Itself,
        exit: ExpectedExit::Any,
        plain_exit: ExpectedExit::Any,
    }
}

fn printed_commands(run: &PlainRun, output: Output) -> Vec<String> {
    let mut commands = Vec::new();
    let stdout = String::from_utf8_lossy(&run.stdout);
    match output {
        Output::Json => stdout
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .for_each(|value| collect_json(&value, &mut commands)),
        _ => stdout.lines().for_each(|line| collect(line, &mut commands)),
    }
    let stderr = String::from_utf8_lossy(&run.stderr);
    stderr.lines().for_each(|line| collect(line, &mut commands));
    commands
}

fn collect_json(value: &Value, commands: &mut Vec<String>) {
    match value {
        Value::String(text) => text.lines().for_each(|line| collect(line, commands)),
        Value::Array(values) => values.iter().for_each(|value| collect_json(value, commands)),
        Value::Object(fields) => fields.values().for_each(|value| collect_json(value, commands)),
        _ => {}
    }
}

/// Collects commands in backticks, and bare ones up to two spaces or the end of the line.
fn collect(line: &str, commands: &mut Vec<String>) {
    for (at, _) in line.match_indices("boswell ") {
        let (before, rest) = line.split_at(at);
        let end = match before.chars().next_back() {
            Some('`') => rest.find('`'),
            None => rest.find("  ").or(Some(rest.len())),
            // In the middle of a sentence `boswell` is the program's name.
            Some(' ') if before.trim().is_empty() || before.ends_with(": ") || before.ends_with("  ") => {
                rest.find("  ").or(Some(rest.len()))
            }
            Some(_) => None,
        };
        commands.extend(end.map(|end| rest[..end].to_owned()));
    }
}

/// Returns the arguments of a command, or `None` if it has placeholders or does not end by itself.
fn runnable(command: &str, home: &str) -> Option<String> {
    let line = command.strip_prefix("boswell ")?.split(" | ").next()?.trim();
    let is_placeholder = |word: &str| {
        let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_upper = letters.len() > 1 && letters.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        is_upper || word.contains(['…', '<', '['])
    };
    let verb = line.split(' ').next()?;
    let is_verb = verb.chars().all(|c| c.is_ascii_lowercase());
    // The test removes files below `out` after the run that wrote them.
    let is_removed = line.contains(&format!("{home}/out/"));
    if !is_verb || is_removed || line.split(' ').any(is_placeholder) || NOT_RUN.contains(&verb) {
        return None;
    }
    let words: Vec<String> = line
        .split(' ')
        .map(|word| match word.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None => word.to_owned(),
        })
        .collect();
    Some(words.join(" "))
}

fn problem_of(run: &PlainRun) -> Option<String> {
    let stdout = String::from_utf8_lossy(&run.stdout);
    let answers = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let error = answers.filter_map(|answer| answer.get("error").cloned()).next();
    match (run.exit, error) {
        (_, Some(error)) => {
            let code = error["code"].as_str().unwrap_or_default();
            (!ALLOWED_ERRORS.contains(&code)).then(|| format!("{code}: {}", error["message"]))
        }
        (Exit::Code(0 | 1 | 3), None) => None,
        (exit, None) => Some(format!("exits with {exit}: {}", String::from_utf8_lossy(&run.stderr))),
    }
}
