//! The JSON of every verb is valid against the schema that `boswell schema` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use testkit::home::{FixtureHome, LogSource};
use testkit::json_schema::validate;
use testkit::verbs::{Invocation, Output, invocations};

use crate::verbs::{self, ListedVerbs};

/// Far longer than any run takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// One real log in this many is read, so that a debug build takes seconds.
const CORPUS_STEP: usize = 24;

/// Verbs that print no JSON of their own, and why.
const WITHOUT_JSON: &[&str] = &[
    "cat", // Prints the bytes of a part as the agent wrote them.
    "mcp", // Answers in the protocol of MCP.
    "run", // Prints the output of the wrapped command.
];
/// Verbs whose answers need a server or a growing log: their own tests validate them.
const VALIDATED_ELSEWHERE: &[&str] = &["hub init", "hub move", "hub push", "watch"];

/// Returns the output of a run without `--json`.
fn text(home: &FixtureHome, arguments: &[&str]) -> String {
    let output = home.command().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the schema that `boswell schema` prints for a verb, or for `error`.
fn schema(home: &FixtureHome, verb: &str) -> Value {
    let words: Vec<&str> = ["schema"].into_iter().chain(verb.split(' ')).collect();
    serde_json::from_str(&text(home, &words)).unwrap()
}

/// The schemas of all verbs, and of errors.
struct Schemas {
    by_verb: BTreeMap<String, Value>,
    error: Value,
    subcommands: BTreeSet<String>,
}

impl Schemas {
    fn read(home: &FixtureHome) -> Self {
        let verbs = text(home, &["schema"]);
        let by_verb = verbs.lines().map(|verb| (verb.to_owned(), schema(home, verb)));
        Self {
            by_verb: by_verb.collect(),
            error: schema(home, "error"),
            subcommands: listed_verbs(home).subcommands,
        }
    }

    /// Returns the verb that gave an answer. If the verb of the command line is an alias, the name in the answer
    /// counts.
    fn verb_of(&self, invocation: &Invocation, answer: &Value) -> String {
        let verb = invocation.verb(&self.subcommands);
        let name = answer["schema"].as_str().and_then(|name| name.strip_prefix("boswell."));
        match name {
            Some(name) if !self.by_verb.contains_key(&verb) => name.trim_end_matches("/1").replace('.', " "),
            _ => verb,
        }
    }
}

fn listed_verbs(home: &FixtureHome) -> ListedVerbs {
    verbs::listed(|line| text(home, &line.split(' ').collect::<Vec<_>>()))
}

/// The results for the JSON of all invocations.
#[derive(Default)]
struct Checked {
    /// Errors of the validation.
    problems: Vec<String>,
    /// The verbs that gave an answer other than an error.
    answered: BTreeSet<String>,
}

/// Validates the JSON of all invocations.
fn check(source: LogSource<'_>) -> Checked {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, source).unwrap();
    let schemas = Schemas::read(&home);
    let mut checked = Checked::default();
    for invocation in invocations().iter().filter(|one| one.output == Output::Json) {
        let run = home.run(invocation, LIMIT).unwrap();
        home.reset().unwrap();
        let line = &invocation.line;
        for answer in serde_json::Deserializer::from_slice(&run.stdout).into_iter::<Value>() {
            let answer = answer.unwrap_or_else(|error| panic!("{line}: {error}"));
            let errors = if answer.get("error").is_some_and(Value::is_object) {
                validate(&schemas.error, &answer)
            } else {
                let verb = schemas.verb_of(invocation, &answer);
                let errors = match schemas.by_verb.get(&verb) {
                    Some(schema) => validate(schema, &answer),
                    None => vec![format!("`{verb}` has no schema")],
                };
                checked.answered.insert(verb);
                errors
            };
            let errors = errors.into_iter().take(5);
            checked.problems.extend(errors.map(|error| format!("{line}: {error}")));
        }
    }
    checked
}

#[test]
fn every_answer_over_the_demo_is_valid_against_its_schema() {
    let checked = check(LogSource::Demo);
    assert!(checked.problems.is_empty(), "{}", checked.problems.join("\n"));
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::Demo).unwrap();
    let verbs = text(&home, &["schema"]);
    let mut validated: BTreeSet<&str> = checked.answered.iter().map(String::as_str).collect();
    validated.extend(VALIDATED_ELSEWHERE);
    let unseen: Vec<&str> = verbs.lines().filter(|verb| !validated.contains(verb)).collect();
    assert!(
        unseen.is_empty(),
        "no invocation in `testkit::verbs` gives an answer of these verbs: {unseen:?}"
    );
}

#[test]
fn every_verb_has_a_schema_or_prints_no_json() {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::Demo).unwrap();
    let mut with_schema: BTreeSet<String> = text(&home, &["schema"]).lines().map(str::to_owned).collect();
    with_schema.extend(WITHOUT_JSON.iter().map(|verb| (*verb).to_owned()));
    assert_eq!(with_schema, listed_verbs(&home).all);
}

#[test]
fn every_answer_over_real_logs_is_valid_against_its_schema() {
    let Some(corpus) = std::env::var_os("BOSWELL_CORPUS") else {
        return;
    };
    let source = LogSource::Corpus {
        directory: Path::new(&corpus),
        step: CORPUS_STEP,
    };
    let problems = check(source).problems;
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_field_that_a_schema_does_not_have_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::Demo).unwrap();
    let schema = schema(&home, "sessions");
    let mut answer: Value = serde_json::from_str(&text(&home, &["sessions", "--json"])).unwrap();
    assert_eq!(validate(&schema, &answer), Vec::<String>::new());
    answer["sessions"][0]["colour"] = "red".into();
    assert_eq!(
        validate(&schema, &answer),
        ["$.sessions[0].colour: nothing is allowed here"]
    );
}

#[test]
fn an_unknown_verb_is_an_error_that_suggests_the_nearest_one() {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::Demo).unwrap();
    let output = home.command().args(["schema", "sesions"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("did you mean `boswell schema sessions`?"), "{message}");
}
