//! Generates tool output of a given length: code, test runs, listings, diffs, build logs, JSON.

use std::fmt::Write;

use super::vocabulary::{Vocabulary, cut};
use crate::truth::SeededRandom;

/// Returns about `length` bytes of source code.
pub(super) fn code(words: &Vocabulary, random: &mut SeededRandom, length: usize) -> String {
    let mut out = String::with_capacity(length + 256);
    while out.len() < length {
        if random.next_u64() & 1 == 0 {
            out.push_str("/// ");
            words.sentence(random, &mut out);
            out.push('\n');
        }
        let name = words.name(random);
        let (first, second) = (words.name(random), words.name(random));
        put(
            &mut out,
            format_args!("pub fn {name}({first}: &str, {second}: usize) -> Result<(), Error> {{\n"),
        );
        for _ in 0..random.between(2, 14) {
            statement(words, random, first, &mut out);
        }
        out.push_str("    Ok(())\n}\n\n");
    }
    cut(&mut out, length);
    out
}

/// Appends a line of code, usually a repeated one.
fn statement(words: &Vocabulary, random: &mut SeededRandom, known: &str, out: &mut String) {
    match random.below(5) {
        0 => new_statement(words, random, known, out),
        _ => out.push_str(words.snippet(random)),
    }
}

pub(super) fn new_statement(words: &Vocabulary, random: &mut SeededRandom, known: &str, out: &mut String) {
    let (a, b) = (words.name(random), words.name(random));
    match random.next_u64() & 15 {
        0..=3 => put(out, format_args!("    let {a} = {known}.{b}();\n")),
        4 | 5 => put(
            out,
            format_args!("    if {a}.is_empty() {{\n        return Err(Error::{b});\n    }}\n"),
        ),
        6 | 7 => put(
            out,
            format_args!("    for {a} in self.{b}.iter() {{\n        self.{known}.push({a}.clone());\n    }}\n"),
        ),
        8 => put(out, format_args!("    tracing::debug!(\"{a} {b}: {{}}\", {known});\n")),
        9 => put(
            out,
            format_args!("    assert_eq!({a}.{b}(), {});\n", random.between(0, 4_096)),
        ),
        10 => {
            out.push_str("    // ");
            words.sentence(random, out);
            out.push('\n');
        }
        11 => put(
            out,
            format_args!("    let mut {a} = HashMap::new();\n    {a}.insert(\"{b}\", {known});\n"),
        ),
        12 => out.push('\n'),
        _ => put(out, format_args!("    self.{a}({b}, {known})?;\n")),
    }
}

/// Returns about `length` bytes of output of a random kind of command.
pub(super) fn command_output(words: &Vocabulary, random: &mut SeededRandom, paths: &[String], length: usize) -> String {
    let sort = random.between(0, 9);
    let mut out = String::with_capacity(length + 128);
    while out.len() < length {
        match sort {
            0..=2 => test_line(words, random, &mut out),
            3 | 4 => grep_line(words, random, paths, &mut out),
            5 => listing_line(random, paths, &mut out),
            6 => diff_piece(words, random, paths, &mut out),
            7 => build_line(words, random, &mut out),
            8 => json_line(words, random, &mut out),
            _ => log_line(words, random, &mut out),
        }
    }
    cut(&mut out, length);
    out
}

fn test_line(words: &Vocabulary, random: &mut SeededRandom, out: &mut String) {
    let (a, b, c) = (words.name(random), words.name(random), words.name(random));
    match random.next_u64() & 31 {
        0 => put(out, format_args!("test {a}::tests::{b}_{c} ... FAILED\n")),
        1 => put(
            out,
            format_args!(
                "thread '{a}::{b}' panicked at src/{a}.rs:{}:9:\nassertion `left == right` failed\n  left: {}\n right: {}\n",
                random.between(1, 900),
                random.between(0, 99),
                random.between(0, 99)
            ),
        ),
        _ => put(out, format_args!("test {a}::tests::{b}_{c} ... ok\n")),
    }
}

/// Appends a line of `grep` output.
pub(super) fn grep_line(words: &Vocabulary, random: &mut SeededRandom, paths: &[String], out: &mut String) {
    let path = &paths[random.below(paths.len())];
    put(out, format_args!("{path}:{}:", random.between(1, 1_200)));
    let known = words.name(random);
    statement(words, random, known, out);
}

fn listing_line(random: &mut SeededRandom, paths: &[String], out: &mut String) {
    let path = &paths[random.below(paths.len())];
    let (size, day, minute) = (
        random.between(100, 90_000),
        random.between(1, 28),
        random.between(0, 59),
    );
    put(
        out,
        format_args!("-rw-r--r--  1 ada ada {size:>7} Jun {day:>2} 10:{minute:02} {path}\n"),
    );
}

fn diff_piece(words: &Vocabulary, random: &mut SeededRandom, paths: &[String], out: &mut String) {
    let path = &paths[random.below(paths.len())];
    let line = random.between(1, 900);
    put(
        out,
        format_args!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{line},7 +{line},9 @@\n"),
    );
    let known = words.name(random);
    for _ in 0..random.between(4, 20) {
        out.push(random.pick(&[' ', ' ', '+', '-']));
        statement(words, random, known, out);
    }
}

fn build_line(words: &Vocabulary, random: &mut SeededRandom, out: &mut String) {
    let (a, b) = (words.name(random), words.name(random));
    let (major, minor) = (random.between(0, 4), random.between(0, 40));
    match random.next_u64() & 7 {
        0 => put(
            out,
            format_args!(
                "warning: unused variable: `{a}`\n  --> src/{b}.rs:{}:{}\n   |\n",
                random.between(1, 800),
                minor
            ),
        ),
        _ => put(out, format_args!("   Compiling {a}-{b} v{major}.{minor}.0\n")),
    }
}

fn json_line(words: &Vocabulary, random: &mut SeededRandom, out: &mut String) {
    let (a, b) = (words.name(random), words.name(random));
    put(
        out,
        format_args!(
            "{{\"id\":{},\"name\":\"{a}\",\"status\":\"{b}\",\"count\":{},\"is_active\":true}}\n",
            random.between(1, 99_999),
            random.between(0, 500)
        ),
    );
}

fn log_line(words: &Vocabulary, random: &mut SeededRandom, out: &mut String) {
    let (hour, minute, second, ms) = (
        random.between(0, 23),
        random.between(0, 59),
        random.between(0, 59),
        random.between(0, 999),
    );
    let level = random.pick(&["INFO ", "INFO ", "DEBUG", "WARN "]);
    put(
        out,
        format_args!(
            "2026-06-11T{hour:02}:{minute:02}:{second:02}.{ms:03}Z {level} {}: ",
            words.name(random)
        ),
    );
    words.sentence(random, out);
    out.push('\n');
}

/// Returns the text with line numbers, as an agent is shown a file.
pub(super) fn numbered(text: &str, first: usize) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for (at, line) in text.lines().enumerate() {
        put(&mut out, format_args!("{:>6}→{line}\n", first + at));
    }
    out.pop();
    out
}

/// Returns a shell command.
pub(super) fn command(words: &Vocabulary, random: &mut SeededRandom, paths: &[String]) -> String {
    let path = &paths[random.below(paths.len())];
    let (a, b) = (words.name(random), words.name(random));
    match random.between(0, 11) {
        0 | 1 => format!("cargo test -p {a} {b} 2>&1 | tail -{}", random.between(5, 60)),
        2 => "git status --short && git diff --stat".to_owned(),
        3 => format!("grep -rn \"{a}\" {path} | head -{}", random.between(5, 50)),
        4 => format!(
            "sed -n '{},{}p' {path}",
            random.between(1, 200),
            random.between(201, 500)
        ),
        5 => format!(
            "ls -la {}",
            path.rsplit_once('/').map_or(".", |(directory, _)| directory)
        ),
        6 => format!("git add -A && git commit -m \"{a}: {b} the {}\"", words.name(random)),
        7 => format!("npm run {a} -- --{b}"),
        8 => format!("python3 - <<'EOF'\nimport json\n{a} = json.load(open('{path}'))\nprint(len({a}['{b}']))\nEOF"),
        9 => format!("cargo clippy --all-targets -- -D warnings && cargo fmt --check -p {a}"),
        10 => format!("cat {path} | wc -l"),
        _ => format!("find . -name '*{a}*' -not -path './target/*'"),
    }
}

/// Appends formatted text. Writing to a `String` cannot fail.
pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
}
