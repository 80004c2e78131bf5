//! What every verb prints with `--json` is valid against the schema that `boswell schema` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use testkit::home::{FixtureHome, LogSource};
use testkit::json_schema::validate;
use testkit::verbs::{Output, invocations};

/// Far more than any run takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// One real log in this many is read, so that a debug build takes seconds.
const CORPUS_STEP: usize = 24;

/// Answers whose schema is not derived yet; the lines of `read` between its first and its last have no field `schema`. The list only becomes shorter: an entry that is not needed fails the test.
#[rustfmt::skip]
const WITHOUT_SCHEMA: &[&str] = &[
    "", "bundle", "config path", "config show", "demo", "digest", "doctor", "forget", "hooks", "hub status", "prepare", "read", "render", "report",
    "schedule install", "schedule status", "schedule uninstall", "show", "status", "why",
];

/// Returns what a run without `--json` printed.
fn text(home: &FixtureHome, arguments: &[&str]) -> String {
    let output = home.command().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the schemas of all verbs.
fn schemas(home: &FixtureHome) -> BTreeMap<String, Value> {
    let verbs = text(home, &["schema"]);
    let schema = |verb: &str| {
        let words: Vec<&str> = ["schema"].into_iter().chain(verb.split(' ')).collect();
        (verb.to_owned(), serde_json::from_str(&text(home, &words)).unwrap())
    };
    verbs.lines().map(schema).collect()
}

/// Returns the verb whose answer this is, by its field `schema`; empty if it has none.
fn verb_of(answer: &Value) -> String {
    let name = answer["schema"].as_str().unwrap_or_default();
    let name = name.strip_prefix("boswell.").unwrap_or_default();
    name.trim_end_matches("/1").replace('.', " ")
}

/// Returns what is wrong with the JSON of all invocations, and the answers without a schema.
fn check(source: LogSource<'_>) -> (Vec<String>, BTreeSet<String>) {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, source).unwrap();
    let schemas = schemas(&home);
    let (mut problems, mut without) = (Vec::new(), BTreeSet::new());
    for invocation in invocations().iter().filter(|one| one.output == Output::Json) {
        let run = home.run(invocation, LIMIT).unwrap();
        home.reset().unwrap();
        let answers = serde_json::Deserializer::from_slice(&run.stdout).into_iter::<Value>();
        for answer in answers {
            let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", invocation.line));
            let verb = verb_of(&answer);
            match schemas.get(&verb) {
                _ if answer.get("error").is_some_and(Value::is_object) => {}
                Some(schema) => {
                    let errors = validate(schema, &answer).into_iter();
                    problems.extend(errors.take(5).map(|error| format!("{}: {error}", invocation.line)));
                }
                None => _ = without.insert(verb),
            }
        }
    }
    (problems, without)
}

#[test]
fn every_answer_over_the_demo_is_valid_against_its_schema() {
    let (problems, without) = check(LogSource::Demo);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let expected: BTreeSet<String> = WITHOUT_SCHEMA.iter().map(|verb| (*verb).to_owned()).collect();
    assert_eq!(without, expected);
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
    let (problems, _) = check(source);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_field_that_a_schema_does_not_have_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, _) = FixtureHome::prepare(&place.path().join("home"), &binary, LogSource::Demo).unwrap();
    let schemas = schemas(&home);
    let mut answer: Value = serde_json::from_str(&text(&home, &["sessions", "--json"])).unwrap();
    assert_eq!(validate(&schemas["sessions"], &answer), Vec::<String>::new());
    answer["sessions"][0]["colour"] = "red".into();
    assert_eq!(
        validate(&schemas["sessions"], &answer),
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
