//! Rules about Rust code.
//!
//! Most rules check product code only, because tests may print, read the clock and contain SQL. Code that macros generate is not
//! checked.

use super::rust::{Source, is_word, names};
use super::{Complaint, complain};
use std::collections::{BTreeMap, BTreeSet};

/// The only file that reads the clock, the home directory and the environment.
const AMBIENT_FILE: &str = "crates/boswell/src/context.rs";

/// What only `boswell` may use, and the alternative.
const AMBIENT: &[(&str, &str)] = &[
    ("std::env", "take what you need as an argument"),
    ("env::", "take what you need as an argument"),
    ("SystemTime", "take the time as an argument"),
    ("println!", "return the text, `boswell` prints it"),
    ("eprintln!", "return the text, `boswell` prints it"),
    ("print!", "return the text, `boswell` prints it"),
    ("eprint!", "return the text, `boswell` prints it"),
];

/// What only [`AMBIENT_FILE`] may use inside `boswell`. `main` may read its arguments, and clippy checks printing.
const AMBIENT_IN_BOSWELL: &[(&str, &str)] = &[
    ("env::var", "take what you need from the context"),
    ("env::current_dir", "take what you need from the context"),
    ("env::home_dir", "take what you need from the context"),
    ("env::temp_dir", "take what you need from the context"),
    ("SystemTime", "take the time from the context"),
];

/// What `transcript` must not use.
const NOT_IN_TRANSCRIPT: &[&str] = &[
    "std::fs",
    "fs::",
    "std::net",
    "std::process",
    "rusqlite",
    "stdout()",
    "stdin()",
];

/// What brings the bytes of a log to a reader, and the files that may name it. Everything else takes lines from the ingest module, which
/// masks them.
const INGEST_ONLY: &[(&str, &[&str])] = &[
    ("Lines::new", &[INGEST, FROM_LOG, "crates/transcript/src/lines.rs"]),
    ("Lines::resume", &[INGEST, "crates/transcript/src/lines.rs"]),
    (
        "assume_masked",
        &[
            INGEST,
            "crates/transcript/src/lines.rs",
            "crates/transcript/src/state.rs",
        ],
    ),
    ("read_unmasked", &[FROM_LOG, "crates/transcript/src/state.rs"]),
    ("Transcript::from_log", &[]),
    (
        "revealed_by_owner",
        &[
            INGEST,
            "crates/memory/src/diary/copy.rs",
            "crates/boswell/src/commands/render.rs",
        ],
    ),
    (
        "zstd::Decoder",
        &[
            "crates/memory/src/ingest/source.rs",
            "crates/memory/src/store/derived.rs",
        ],
    ),
];
const INGEST: &str = "crates/memory/src/ingest.rs";
/// Makes a transcript of bytes that another program masked. Tests and examples call it; the product does not.
const FROM_LOG: &str = "crates/render/src/from_log.rs";

pub(super) fn check(sources: &[Source], out: &mut Vec<Complaint>) {
    for source in sources {
        header(source, out);
        sql(source, out);
        ambient(source, out);
        transcript_is_pure(source, out);
        one_ingest_loop(source, out);
        unfinished(source, out);
        if source.path.ends_with("/mod.rs") {
            let message = "write `foo.rs` beside `foo/` instead of `foo/mod.rs`";
            complain(out, &source.path, 1, "mod-rs", message.to_string());
        }
    }
    one_writer_per_table(sources, out);
}

/// Returns the crate to whose `src` a file belongs.
fn crate_of(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

/// Requires a `//!` header, or the help text of a command instead.
fn header(source: &Source, out: &mut Vec<Complaint>) {
    if crate_of(&source.path).is_none() {
        return;
    }
    let first = source.lines.first().map_or("", String::as_str);
    let says_something = first.strip_prefix("//!").is_some_and(|t| !t.trim().is_empty());
    let is_command = source.path.contains("/commands/");
    let has_help = source.lines.iter().any(|line| line.starts_with("///"));
    if !(says_something || is_command && has_help) {
        let message = "open the file with `//!`: what it is for, what it may not know";
        complain(out, &source.path, 1, "header", message.to_string());
    }
}

fn is_store(path: &str) -> bool {
    path == "crates/memory/src/store.rs" || path.starts_with("crates/memory/src/store/")
}

/// Forbids SQL outside the store.
fn sql(source: &Source, out: &mut Vec<Complaint>) {
    if matches!(crate_of(&source.path), None | Some("testkit")) || is_store(&source.path) {
        return;
    }
    for literal in &source.literals {
        if source.is_test(literal.line) {
            continue;
        }
        if let Some(keywords) = sql_keywords(&literal.text) {
            let message = format!("`{keywords}` belongs into `crates/memory/src/store/`");
            complain(out, &source.path, literal.line, "sql", message);
        }
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect()
}

/// Returns the first keyword if the text contains an SQL statement. Only capitals count, because "select a day from the list" is
/// English.
fn sql_keywords(text: &str) -> Option<&'static str> {
    let words = words(text);
    let follows = |first: &str, second: &str| {
        let at = words.iter().position(|word| *word == first);
        at.is_some_and(|at| words[at..].contains(&second))
    };
    let stand_together = |pair: [&str; 2]| words.windows(2).any(|two| two == pair);
    if follows("SELECT", "FROM") {
        Some("SELECT … FROM")
    } else if stand_together(["INSERT", "INTO"]) {
        Some("INSERT INTO")
    } else if follows("UPDATE", "SET") {
        Some("UPDATE … SET")
    } else if stand_together(["DELETE", "FROM"]) {
        Some("DELETE FROM")
    } else if stand_together(["CREATE", "TABLE"]) {
        Some("CREATE TABLE")
    } else {
        None
    }
}

/// Requires that each table is written by one file. Migrations are exempt.
fn one_writer_per_table(sources: &[Source], out: &mut Vec<Complaint>) {
    let mut writers: BTreeMap<String, &Source> = BTreeMap::new();
    let mut expected = BTreeSet::new();
    let store = sources
        .iter()
        .filter(|s| is_store(&s.path) && !s.path.ends_with("/schema.rs"));
    for source in store {
        let product = source.literals.iter().filter(|l| !source.is_test(l.line));
        for literal in product {
            for table in written_tables(&literal.text) {
                let writer = writers.entry(table.clone()).or_insert(source);
                if writer.path != source.path && expected.insert((table.clone(), &source.path)) {
                    let message = format!("`{table}` is written by `{}` already", writer.path);
                    complain(out, &source.path, literal.line, "one-writer", message);
                }
            }
        }
    }
}

fn written_tables(text: &str) -> Vec<String> {
    let words = words(text);
    let mut tables = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| words[at]);
        let is_write = match *word {
            "INTO" => true,
            "FROM" => before == Some("DELETE"),
            // Not `ON CONFLICT DO UPDATE SET`, and not the lock of `SELECT … FOR UPDATE`.
            "UPDATE" => !matches!(before, Some("DO" | "FOR")),
            _ => false,
        };
        if is_write && let Some(table) = words.get(at + 1) {
            tables.push(table.to_string());
        }
    }
    tables
}

/// Forbids reading the clock and the environment outside [`AMBIENT_FILE`], and printing outside `boswell`.
fn ambient(source: &Source, out: &mut Vec<Complaint>) {
    let (forbidden, home) = match crate_of(&source.path) {
        None | Some("testkit") => return,
        Some("boswell") if source.path == AMBIENT_FILE => return,
        Some("boswell") => (AMBIENT_IN_BOSWELL, AMBIENT_FILE),
        Some(_) => (AMBIENT, "crates/boswell"),
    };
    for (line, code) in source.product_code() {
        let found = forbidden.iter().find(|(name, _)| names(code, name));
        if let Some((name, instead)) = found {
            let message = format!("`{name}` belongs into `{home}`: {instead}");
            complain(out, &source.path, line, "ambient", message);
        }
        if reads_the_clock(code) {
            let message = format!("`now()` belongs into `{home}`: take the time as an argument");
            complain(out, &source.path, line, "ambient", message);
        }
    }
}

/// Whether a line calls or passes on the `now` function of any type.
fn reads_the_clock(code: &str) -> bool {
    code.match_indices("::now")
        .any(|(at, found)| !code[at + found.len()..].starts_with(is_word))
}

/// Forbids I/O in `transcript`, because readers process untrusted input.
fn transcript_is_pure(source: &Source, out: &mut Vec<Complaint>) {
    if crate_of(&source.path) != Some("transcript") {
        return;
    }
    for (line, code) in source.product_code() {
        if let Some(name) = NOT_IN_TRANSCRIPT.iter().find(|name| names(code, name)) {
            let message = format!("`{name}`: a reader knows no disk, network, SQL or terminal");
            complain(out, &source.path, line, "transcript", message);
        }
    }
}

/// A reader sees a line only after the ingest module masked it.
fn one_ingest_loop(source: &Source, out: &mut Vec<Complaint>) {
    if matches!(crate_of(&source.path), None | Some("testkit")) {
        return;
    }
    for (line, code) in source.product_code() {
        let is_named =
            |(name, allowed): &&(&str, &[&str])| names(code, name) && !allowed.contains(&source.path.as_str());
        if let Some((name, _)) = INGEST_ONLY.iter().find(is_named) {
            let message = format!("`{name}`: take masked lines from `crates/memory/src/ingest.rs`");
            complain(out, &source.path, line, "ingest-loop", message);
        }
    }
}

/// Forbids unfinished code and ignored tests.
fn unfinished(source: &Source, out: &mut Vec<Complaint>) {
    for (line, code) in source.all_code() {
        for name in ["todo!", "unimplemented!", "dbg!", "#[ignore"] {
            if names(code, name) {
                let message = format!("`{name}` must not stay");
                complain(out, &source.path, line, "unfinished", message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the complaints about one file, as `line rule`.
    fn complaints_about(path: &str, text: &str) -> Vec<String> {
        told_of(&[(path, text)])
    }

    fn told_of(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(p, t)| Source::scan(p, t)).collect();
        let mut out = Vec::new();
        check(&sources, &mut out);
        out.iter().map(|c| format!("{} {}", c.line, c.rule)).collect()
    }

    #[test]
    fn a_file_needs_a_header() {
        assert_eq!(complaints_about("crates/memory/src/a.rs", "fn a() {}\n"), ["1 header"]);
        assert_eq!(
            complaints_about("crates/memory/src/a.rs", "//!\nfn a() {}\n"),
            ["1 header"]
        );
        assert_eq!(complaints_about("crates/memory/src/a.rs", ""), ["1 header"]);
        assert!(complaints_about("crates/memory/src/a.rs", "//! What.\nfn a() {}\n").is_empty());
        assert!(complaints_about("crates/memory/tests/a.rs", "fn a() {}\n").is_empty());
    }

    #[test]
    fn the_help_text_of_a_command_serves_as_its_header() {
        let path = "crates/boswell/src/commands/read.rs";
        assert!(complaints_about(path, "use a::b;\n/// Show a log\nstruct ReadArgs;\n").is_empty());
        assert_eq!(complaints_about(path, "use a::b;\nstruct ReadArgs;\n"), ["1 header"]);
    }

    #[test]
    fn sql_outside_the_store_is_reported() {
        for statement in [
            "SELECT a\n FROM b",
            "INSERT INTO a VALUES (1)",
            "UPDATE a SET b = 1",
            "DELETE FROM a",
            "CREATE TABLE a (b)",
        ] {
            let text = format!("//! A.\nconst A: &str = r#\"{statement}\"#;\n");
            assert_eq!(
                complaints_about("crates/memory/src/a.rs", &text),
                ["2 sql"],
                "{statement}"
            );
            assert!(complaints_about("crates/memory/src/store/a.rs", &text).is_empty());
        }
    }

    #[test]
    fn a_line_that_reaches_a_reader_past_the_ingest_module_is_reported() {
        for code in [
            "let lines = Lines::new(file);",
            "Lines::resume(file, 1, 2);",
            "MaskedLine::assume_masked(line, Cow::Borrowed);",
            "state.read_unmasked(PartKind::Log, &mut lines);",
            "Disclosure::revealed_by_owner();",
            "zstd::Decoder::new(file);",
        ] {
            let text = format!("//! A.\nfn a() {{ {code} }}\n");
            let path = "crates/memory/src/a.rs";
            assert_eq!(complaints_about(path, &text), ["2 ingest-loop"], "{code}");
            let test = format!("//! A.\n#[cfg(test)]\nmod tests {{\n    fn a() {{ {code} }}\n}}\n");
            assert!(complaints_about(path, &test).is_empty(), "{code}");
        }
        let text = "//! A.\nfn a() { Lines::new(file); }\n";
        assert!(complaints_about("crates/memory/src/ingest.rs", text).is_empty());
    }

    #[test]
    fn english_text_comments_and_tests_are_not_sql() {
        let path = "crates/boswell/src/a.rs";
        assert!(complaints_about(path, "//! A.\nconst A: &str = \"select one from the list\";\n").is_empty());
        assert!(complaints_about(path, "//! A.\n// SELECT a FROM b\n").is_empty());
        let test = "//! A.\n#[cfg(test)]\nmod tests {\n    const A: &str = \"DELETE FROM a\";\n}\n";
        assert!(complaints_about(path, test).is_empty());
    }

    #[test]
    fn a_table_written_by_two_files_is_reported_once() {
        let first = (
            "crates/memory/src/store/a.rs",
            "//! A.\nconst A: &str = \"INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET b = 1\";\n",
        );
        let reader = (
            "crates/memory/src/store/b.rs",
            "//! B.\nconst B: &str = \"SELECT a FROM t\";\n",
        );
        assert!(told_of(&[first, reader]).is_empty());
        for write in ["INSERT OR REPLACE INTO t", "UPDATE t SET a = 1", "DELETE FROM t"] {
            let text = format!("//! C.\nconst C: &str = \"{write}\";\nconst D: &str = \"{write}\";\n");
            let second = ("crates/memory/src/store/c.rs", text.as_str());
            assert_eq!(told_of(&[first, second]), ["2 one-writer"], "{write}");
        }
    }

    #[test]
    fn only_boswell_reads_the_clock_and_prints() {
        for line in [
            "use std::env;",
            "let a = env::var(\"A\");",
            "let a = Timestamp::now();",
            "let a = b.unwrap_or_else(Instant::now);",
            "use std::time::SystemTime;",
            "println!(\"a\");",
            "eprintln!(\"a\");",
            "print!(\"a\");",
        ] {
            let text = format!("//! A.\n{line}\n");
            assert_eq!(
                complaints_about("crates/memory/src/a.rs", &text),
                ["2 ambient"],
                "{line}"
            );
            assert_eq!(
                complaints_about("crates/transcript/src/a.rs", &text),
                ["2 ambient"],
                "{line}"
            );
            assert!(complaints_about(AMBIENT_FILE, &text).is_empty(), "{line}");
            assert!(complaints_about("crates/testkit/src/a.rs", &text).is_empty(), "{line}");
            assert!(complaints_about("crates/memory/tests/a.rs", &text).is_empty(), "{line}");
        }
        for line in [
            "let a = env!(\"A\");",
            "let now = a.now;",
            "a::nowhere()",
            "// println!",
        ] {
            let text = format!("//! A.\n{line}\n");
            assert!(complaints_about("crates/memory/src/a.rs", &text).is_empty(), "{line}");
        }
    }

    #[test]
    fn one_file_of_boswell_reads_the_clock_and_the_environment() {
        for line in [
            "std::env::var_os(a)",
            "env::current_dir()",
            "env::home_dir()",
            "Zoned::now()",
            "SystemTime",
        ] {
            let text = format!("//! A.\n{line}\n");
            assert_eq!(
                complaints_about("crates/boswell/src/a.rs", &text),
                ["2 ambient"],
                "{line}"
            );
            assert!(complaints_about(AMBIENT_FILE, &text).is_empty(), "{line}");
        }
        let arguments = "//! A.\nstd::env::args_os();\nuse crate::env::BOSWELL_HOME;\n";
        assert!(complaints_about("crates/boswell/src/main.rs", arguments).is_empty());
    }

    #[test]
    fn a_reader_does_no_io() {
        for line in ["use std::fs;", "fs::read(a)", "use rusqlite::Row;", "io::stdout()"] {
            let text = format!("//! A.\n{line}\n");
            let expected = ["2 transcript"];
            assert_eq!(
                complaints_about("crates/transcript/src/a.rs", &text),
                expected,
                "{line}"
            );
            assert!(complaints_about("crates/memory/src/a.rs", &text).is_empty(), "{line}");
            assert!(
                complaints_about("crates/transcript/tests/a.rs", &text).is_empty(),
                "{line}"
            );
        }
    }

    #[test]
    fn unfinished_code_is_reported_in_tests_too() {
        for line in [
            "todo!()",
            "unimplemented!()",
            "dbg!(a)",
            "#[ignore]",
            "#[ignore = \"slow\"]",
        ] {
            let text = format!("//! A.\n{line}\n");
            assert_eq!(
                complaints_about("crates/memory/tests/a.rs", &text),
                ["2 unfinished"],
                "{line}"
            );
            assert_eq!(
                complaints_about("fuzzing/fuzz_targets/a.rs", &text),
                ["2 unfinished"],
                "{line}"
            );
        }
        assert!(complaints_about("crates/memory/tests/a.rs", "//! A.\n// todo!\n\"todo!\"\n").is_empty());
    }

    #[test]
    fn mod_rs_is_told() {
        assert_eq!(complaints_about("crates/memory/src/a/mod.rs", "//! A.\n"), ["1 mod-rs"]);
    }
}
