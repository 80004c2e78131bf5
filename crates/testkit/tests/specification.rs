//! Checks `docs/dev/specification.md`: every test that it names exists, and its totals match its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/dev/specification.md";
const STATES: [&str; 3] = ["holds", "deviates", "not yet"];
const ROW_CELLS: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One requirement: a row of a table whose header starts with `id`.
struct Requirement<'a> {
    line: usize,
    id: &'a str,
    requirement: &'a str,
    state: &'a str,
    evidence: &'a str,
}

impl<'a> Requirement<'a> {
    /// Returns the file and the function of each test named as `` `path.rs::function` ``.
    fn tests(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        code_spans(self.evidence).filter_map(|span| span.split_once("::"))
    }

    /// Returns the last cell without the names of tests.
    fn reason(&self) -> String {
        let mut reason = self.evidence.to_owned();
        for span in code_spans(self.evidence).filter(|span| span.contains("::")) {
            reason = reason.replace(&format!("`{span}`"), "");
        }
        reason.trim_matches([' ', ',']).to_owned()
    }

    /// Returns the letter of the document, which the id begins with.
    fn document(&self) -> &'a str {
        self.id.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Splits a table row into its cells. Returns `None` for any other line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

/// Returns the rows of every table whose first header cell is `first`, with their 1-based line numbers.
fn rows_of<'a>(page: &'a str, first: &str) -> Vec<(usize, Vec<&'a str>)> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    let mut is_first_line_of_table = true;
    for (index, line) in page.lines().enumerate() {
        let Some(cells) = cells(line) else {
            is_inside = false;
            is_first_line_of_table = true;
            continue;
        };
        if is_first_line_of_table {
            is_inside = cells[0] == first;
        } else if is_inside && !cells[0].starts_with("--") {
            rows.push((index + 1, cells));
        }
        is_first_line_of_table = false;
    }
    rows
}

/// Returns whether a source file has a function of this name with a `#[test]` attribute.
fn has_test(source: &str, name: &str) -> bool {
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if line == "#[test]" {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            if is_test && rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')) {
                return true;
            }
            is_test = false;
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            is_test = false;
        }
    }
    false
}

/// Returns one line per defect of the page. `read` returns the text of a file of the checkout.
fn defects(page: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut defects = Vec::new();
    let mut requirements = Vec::new();
    for (line, cells) in rows_of(page, "id") {
        match cells[..] {
            [id, _, requirement, state, evidence] => requirements.push(Requirement {
                line,
                id,
                requirement,
                state,
                evidence,
            }),
            _ => defects.push(format!("line {line}: {} cells instead of {ROW_CELLS}", cells.len())),
        }
    }
    if requirements.is_empty() {
        defects.push("no rows".to_owned());
    }
    let mut ids = BTreeSet::new();
    let mut sources: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for row in &requirements {
        let mut add = |defect: &str| defects.push(format!("line {}: {}: {defect}", row.line, row.id));
        if !ids.insert(row.id) {
            add("duplicate id");
        }
        if row.requirement.is_empty() {
            add("empty requirement");
        }
        match row.state {
            "holds" if row.tests().next().is_none() => add("`holds` without a test"),
            "deviates" | "not yet" if row.reason().is_empty() => add("no reason"),
            state if !STATES.contains(&state) => add(&format!("unknown state `{state}`")),
            _ => {}
        }
        for (file, name) in row.tests() {
            match sources.entry(file).or_insert_with(|| read(file)) {
                None => add(&format!("no such file: {file}")),
                Some(source) if !has_test(source, name) => add(&format!("no such test: {file}::{name}")),
                Some(_) => {}
            }
        }
    }
    defects.extend(wrong_counts(page, &requirements));
    defects
}

/// Compares the table of counts at the top of the page with the rows.
fn wrong_counts(page: &str, requirements: &[Requirement<'_>]) -> Vec<String> {
    let count = |document: &str| {
        let of_document = |row: &&Requirement<'_>| document.is_empty() || row.document() == document;
        let states = STATES.map(|state| {
            let of_state = requirements.iter().filter(|row| row.state == state);
            of_state.filter(of_document).count()
        });
        let all = requirements.iter().filter(of_document).count();
        [all, states[0], states[1], states[2]].map(|count| count.to_string())
    };
    let mut expected: BTreeMap<&str, [String; 4]> = BTreeMap::new();
    expected.insert("", count(""));
    for row in requirements {
        expected.entry(row.document()).or_insert_with(|| count(row.document()));
    }
    let mut wrong = Vec::new();
    for (line, cells) in rows_of(page, "document") {
        // `Name (X)` counts the rows whose ids begin with `X`; the row without a letter counts all.
        let letter = cells[0]
            .rsplit_once('(')
            .map_or("", |(_, rest)| rest.trim_end_matches(')'));
        match expected.remove(letter) {
            None => wrong.push(format!("line {line}: no rows for: {}", cells[0])),
            Some(counts) if cells[1..] != counts => {
                wrong.push(format!("line {line}: the rows have: {}", counts.join(" | ")));
            }
            Some(_) => {}
        }
    }
    wrong.extend(expected.keys().map(|letter| format!("no counts for `{letter}`")));
    wrong
}

#[test]
fn the_specification_page_matches_the_tests() {
    let page = fs::read_to_string(root().join(PAGE)).expect("the map of the specification exists");
    let defects = defects(&page, &|file| fs::read_to_string(root().join(file)).ok());
    assert!(defects.is_empty(), "{PAGE}:\n{}\n", defects.join("\n"));
}

/// A page with two rows of one document and the given lines in place of the rows or counts.
fn check(counts: &str, rows: &str) -> Vec<String> {
    let page = format!(
        "# Map\n\n| document | rows | holds | deviates | not yet |\n|---|---:|---:|---:|---:|\n{counts}\n\n\
         ## A\n\n| id | section | requirement | state | shown by |\n|---|---|---|---|---|\n{rows}\n"
    );
    let source = "#[test]\nfn it_works() {}\n\nproptest! {\n    #[test]\n    fn it_always_works(n in 0..9) {}\n}\n\n\
                  fn helper() {}\n\n#[cfg(unix)]\n#[test]\n#[should_panic]\nfn it_panics() {}\n";
    defects(&page, &|file| (file == "a.rs").then(|| source.to_owned()))
}

const GOOD_COUNTS: &str = "| A (A) | 3 | 1 | 1 | 1 |\n| **total** | 3 | 1 | 1 | 1 |";
const GOOD_ROWS: &str = "| A1 | one | a rule | holds | `a.rs::it_works`, `a.rs::it_always_works` |\n\
                         | A2 | one | another rule | deviates | Because of `x`. `a.rs::it_panics` |\n\
                         | A3 | two | a third rule | not yet | No test shows it. |";

#[test]
fn a_page_without_defects_passes() {
    assert_eq!(check(GOOD_COUNTS, GOOD_ROWS), [""; 0]);
}

#[test]
fn each_defect_of_a_row_is_reported() {
    for (good, bad, defect) in [
        ("| not yet |", "| perhaps |", "A3: unknown state `perhaps`"),
        ("| A2 |", "| A1 |", "A1: duplicate id"),
        ("| a rule |", "| |", "A1: empty requirement"),
        (
            "`a.rs::it_works`, `a.rs::it_always_works`",
            "It just works.",
            "A1: `holds` without a test",
        ),
        ("`a.rs::it_works`", "`b.rs::it_works`", "A1: no such file: b.rs"),
        ("::it_works`", "::it_work`", "A1: no such test: a.rs::it_work"),
        ("::it_works`", "::helper`", "A1: no such test: a.rs::helper"),
        ("::it_panics`", "::it_fails`", "A2: no such test: a.rs::it_fails"),
        ("Because of `x`. ", "", "A2: no reason"),
        ("No test shows it.", "", "A3: no reason"),
        ("| two |", "|", "4 cells instead of 5"),
    ] {
        assert!(GOOD_ROWS.contains(good), "{good}");
        let defects = check(GOOD_COUNTS, &GOOD_ROWS.replace(good, bad)).join("\n");
        assert!(defects.contains(defect), "{bad}: {defects}");
    }
}

#[test]
fn counts_that_differ_from_the_rows_are_reported() {
    for (counts, defect) in [
        (
            "| A (A) | 3 | 2 | 1 | 0 |\n| **total** | 3 | 1 | 1 | 1 |",
            "line 5: the rows have: 3 | 1 | 1 | 1",
        ),
        (
            "| A (A) | 3 | 1 | 1 | 1 |\n| **total** | 4 | 2 | 1 | 1 |",
            "line 6: the rows have: 3 | 1 | 1 | 1",
        ),
        ("| A (A) | 3 | 1 | 1 | 1 |", "no counts for ``"),
        ("| **total** | 3 | 1 | 1 | 1 |", "no counts for `A`"),
        (
            &format!("{GOOD_COUNTS}\n| B (B) | 0 | 0 | 0 | 0 |"),
            "line 7: no rows for: B (B)",
        ),
    ] {
        assert_eq!(check(counts, GOOD_ROWS), [defect], "{counts}");
    }
}

#[test]
fn a_page_without_rows_is_reported() {
    let defects = check("| **total** | 0 | 0 | 0 | 0 |", "");
    assert_eq!(defects, ["no rows"]);
}
