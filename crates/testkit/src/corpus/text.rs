//! What tools print: code, test runs, listings, diffs, build logs, JSON. Each gives about as many bytes as are asked for.

use std::fmt::Write;

use super::words::{Words, cut};
use crate::truth::Dice;

/// About `length` bytes of source code.
pub(super) fn code(words: &Words, dice: &mut Dice, length: usize) -> String {
    let mut out = String::with_capacity(length + 256);
    while out.len() < length {
        if dice.roll() & 1 == 0 {
            out.push_str("/// ");
            words.sentence(dice, &mut out);
            out.push('\n');
        }
        let name = words.name(dice);
        let (first, second) = (words.name(dice), words.name(dice));
        put(
            &mut out,
            format_args!("pub fn {name}({first}: &str, {second}: usize) -> Result<(), Error> {{\n"),
        );
        for _ in 0..dice.between(2, 14) {
            statement(words, dice, first, &mut out);
        }
        out.push_str("    Ok(())\n}\n\n");
    }
    cut(&mut out, length);
    out
}

/// A line of code, more often than not one that was seen before.
fn statement(words: &Words, dice: &mut Dice, known: &str, out: &mut String) {
    match dice.below(5) {
        0 => new_statement(words, dice, known, out),
        _ => out.push_str(words.snippet(dice)),
    }
}

pub(super) fn new_statement(words: &Words, dice: &mut Dice, known: &str, out: &mut String) {
    let (a, b) = (words.name(dice), words.name(dice));
    match dice.roll() & 15 {
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
            format_args!("    assert_eq!({a}.{b}(), {});\n", dice.between(0, 4_096)),
        ),
        10 => {
            out.push_str("    // ");
            words.sentence(dice, out);
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

/// About `length` bytes of what a command prints, of some sort.
pub(super) fn command_output(words: &Words, dice: &mut Dice, paths: &[String], length: usize) -> String {
    let sort = dice.between(0, 9);
    let mut out = String::with_capacity(length + 128);
    while out.len() < length {
        match sort {
            0..=2 => test_line(words, dice, &mut out),
            3 | 4 => grep_line(words, dice, paths, &mut out),
            5 => listing_line(dice, paths, &mut out),
            6 => diff_piece(words, dice, paths, &mut out),
            7 => build_line(words, dice, &mut out),
            8 => json_line(words, dice, &mut out),
            _ => log_line(words, dice, &mut out),
        }
    }
    cut(&mut out, length);
    out
}

fn test_line(words: &Words, dice: &mut Dice, out: &mut String) {
    let (a, b, c) = (words.name(dice), words.name(dice), words.name(dice));
    match dice.roll() & 31 {
        0 => put(out, format_args!("test {a}::tests::{b}_{c} ... FAILED\n")),
        1 => put(
            out,
            format_args!(
                "thread '{a}::{b}' panicked at src/{a}.rs:{}:9:\nassertion `left == right` failed\n  left: {}\n right: {}\n",
                dice.between(1, 900),
                dice.between(0, 99),
                dice.between(0, 99)
            ),
        ),
        _ => put(out, format_args!("test {a}::tests::{b}_{c} ... ok\n")),
    }
}

/// Lines as a search over files prints them.
pub(super) fn grep_line(words: &Words, dice: &mut Dice, paths: &[String], out: &mut String) {
    let path = &paths[dice.below(paths.len())];
    put(out, format_args!("{path}:{}:", dice.between(1, 1_200)));
    let known = words.name(dice);
    statement(words, dice, known, out);
}

fn listing_line(dice: &mut Dice, paths: &[String], out: &mut String) {
    let path = &paths[dice.below(paths.len())];
    let (size, day, minute) = (dice.between(100, 90_000), dice.between(1, 28), dice.between(0, 59));
    put(
        out,
        format_args!("-rw-r--r--  1 ada ada {size:>7} Jun {day:>2} 10:{minute:02} {path}\n"),
    );
}

fn diff_piece(words: &Words, dice: &mut Dice, paths: &[String], out: &mut String) {
    let path = &paths[dice.below(paths.len())];
    let line = dice.between(1, 900);
    put(
        out,
        format_args!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{line},7 +{line},9 @@\n"),
    );
    let known = words.name(dice);
    for _ in 0..dice.between(4, 20) {
        out.push(dice.pick(&[' ', ' ', '+', '-']));
        statement(words, dice, known, out);
    }
}

fn build_line(words: &Words, dice: &mut Dice, out: &mut String) {
    let (a, b) = (words.name(dice), words.name(dice));
    let (major, minor) = (dice.between(0, 4), dice.between(0, 40));
    match dice.roll() & 7 {
        0 => put(
            out,
            format_args!(
                "warning: unused variable: `{a}`\n  --> src/{b}.rs:{}:{}\n   |\n",
                dice.between(1, 800),
                minor
            ),
        ),
        _ => put(out, format_args!("   Compiling {a}-{b} v{major}.{minor}.0\n")),
    }
}

fn json_line(words: &Words, dice: &mut Dice, out: &mut String) {
    let (a, b) = (words.name(dice), words.name(dice));
    put(
        out,
        format_args!(
            "{{\"id\":{},\"name\":\"{a}\",\"status\":\"{b}\",\"count\":{},\"is_active\":true}}\n",
            dice.between(1, 99_999),
            dice.between(0, 500)
        ),
    );
}

fn log_line(words: &Words, dice: &mut Dice, out: &mut String) {
    let (hour, minute, second, ms) = (
        dice.between(0, 23),
        dice.between(0, 59),
        dice.between(0, 59),
        dice.between(0, 999),
    );
    let level = dice.pick(&["INFO ", "INFO ", "DEBUG", "WARN "]);
    put(
        out,
        format_args!(
            "2026-06-11T{hour:02}:{minute:02}:{second:02}.{ms:03}Z {level} {}: ",
            words.name(dice)
        ),
    );
    words.sentence(dice, out);
    out.push('\n');
}

/// Lines with their numbers in front, as an agent is shown a file.
pub(super) fn numbered(text: &str, first: usize) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for (at, line) in text.lines().enumerate() {
        put(&mut out, format_args!("{:>6}→{line}\n", first + at));
    }
    out.pop();
    out
}

/// A shell command.
pub(super) fn command(words: &Words, dice: &mut Dice, paths: &[String]) -> String {
    let path = &paths[dice.below(paths.len())];
    let (a, b) = (words.name(dice), words.name(dice));
    match dice.between(0, 11) {
        0 | 1 => format!("cargo test -p {a} {b} 2>&1 | tail -{}", dice.between(5, 60)),
        2 => "git status --short && git diff --stat".to_owned(),
        3 => format!("grep -rn \"{a}\" {path} | head -{}", dice.between(5, 50)),
        4 => format!("sed -n '{},{}p' {path}", dice.between(1, 200), dice.between(201, 500)),
        5 => format!(
            "ls -la {}",
            path.rsplit_once('/').map_or(".", |(directory, _)| directory)
        ),
        6 => format!("git add -A && git commit -m \"{a}: {b} the {}\"", words.name(dice)),
        7 => format!("npm run {a} -- --{b}"),
        8 => format!("python3 - <<'EOF'\nimport json\n{a} = json.load(open('{path}'))\nprint(len({a}['{b}']))\nEOF"),
        9 => format!("cargo clippy --all-targets -- -D warnings && cargo fmt --check -p {a}"),
        10 => format!("cat {path} | wc -l"),
        _ => format!("find . -name '*{a}*' -not -path './target/*'"),
    }
}

/// Appends; to a string that cannot fail.
pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
}
