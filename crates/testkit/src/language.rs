//! Figures on the language of the code: words of comments and strings, names of types, size.
//!
//! Counts what the scanner of `tidy` finds in the Rust files below `crates/`. The figures of ripgrep, jj and atuin are constants: they
//! were measured once over those projects' comments and are what ours are compared with.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use crate::tidy::Tree;
use crate::tidy::rust::{Source, is_word};

/// A word, or a group of words, whose frequency is measured.
#[derive(Debug)]
pub struct WatchedWord {
    pub name: &'static str,
    /// Each is one word or two words separated by a space, in lower case.
    forms: &'static [&'static str],
    /// Occurrences per 10,000 words of comments in ripgrep, jj and atuin; `None` where it was not measured.
    pub models: [Option<f64>; 3],
    kind: WordKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// Sounds translated; a native writer rarely needs it.
    Dialect,
    /// An ordinary technical word that a translated text avoids.
    Trade,
}

/// This file is not counted, because it lists the watched words.
const OWN_FILE: &str = "crates/testkit/src/language.rs";
/// The most that a dialect word may occur per 10,000 words.
const DIALECT_MAX: f64 = 1.0;

const fn dialect(name: &'static str, forms: &'static [&'static str], models: [Option<f64>; 3]) -> WatchedWord {
    WatchedWord {
        name,
        forms,
        models,
        kind: WordKind::Dialect,
    }
}

const fn trade(name: &'static str, forms: &'static [&'static str], models: [f64; 3]) -> WatchedWord {
    WatchedWord {
        name,
        forms,
        models: [Some(models[0]), Some(models[1]), Some(models[2])],
        kind: WordKind::Trade,
    }
}

/// All watched words, in the order in which they are printed.
pub const WATCHED_WORDS: &[WatchedWord] = &[
    dialect("told", &["told"], [Some(0.0), Some(0.0), Some(0.7)]),
    dialect("stand(s)", &["stand", "stands"], [Some(0.0), Some(0.0), Some(0.0)]),
    dialect(
        "nobody, somebody, whoever",
        &["nobody", "somebody", "whoever"],
        [Some(0.1), Some(0.1), Some(0.6)],
    ),
    dialect("anew", &["anew"], [Some(0.0), Some(0.1), Some(0.0)]),
    dialect("so many", &["so many"], [Some(0.0), None, None]),
    trade("if", &["if"], [133.0, 80.0, 46.0]),
    trade("returns", &["returns"], [48.0, 24.0, 17.0]),
    trade("error", &["error"], [48.0, 21.0, 26.0]),
    trade("default", &["default"], [36.0, 19.0, 12.0]),
    trade("because", &["because"], [14.0, 15.0, 8.0]),
    trade("parse", &["parse"], [4.0, 5.0, 5.0]),
];

/// Words of one kind of text, and how often each watched word is among them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct WordCount {
    pub words: u64,
    /// In the order of [`WATCHED_WORDS`].
    pub occurrences: [u64; WATCHED_WORDS.len()],
}

impl WordCount {
    /// Counts the words of `text`. A word is a run of ASCII letters.
    fn add_text(&mut self, text: &str) {
        let lower = text.to_ascii_lowercase();
        let words = lower
            .split(|c: char| !c.is_ascii_alphabetic())
            .filter(|word| !word.is_empty());
        let mut previous = String::new();
        for word in words {
            self.words += 1;
            let pair = format!("{previous} {word}");
            for (watched, occurrences) in WATCHED_WORDS.iter().zip(&mut self.occurrences) {
                if watched.forms.iter().any(|form| *form == word || *form == pair) {
                    *occurrences += 1;
                }
            }
            word.clone_into(&mut previous);
        }
    }

    fn add(&mut self, other: &Self) {
        self.words += other.words;
        for (sum, more) in self.occurrences.iter_mut().zip(other.occurrences) {
            *sum += more;
        }
    }

    /// Returns how often the watched word at `index` occurs per 10,000 words.
    pub fn per_10_000(&self, index: usize) -> f64 {
        share(self.occurrences[index], self.words) * 10_000.0
    }
}

/// What was counted in one crate, or in all of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LanguageFigures {
    /// Comments of all files, tests too.
    pub comments: WordCount,
    /// String literals of product code.
    pub strings: WordCount,
    /// Lines that are not test code, including blank lines and comments.
    pub product_lines: u64,
    /// Lines of product files that are doc comments.
    pub doc_lines: u64,
    /// Lines of product code with a comment that is not a doc comment.
    pub comment_lines: u64,
    /// Public functions, types, constants, modules and re-exports; no fields, and no `pub(crate)`.
    pub pub_items: u64,
    pub types: u64,
    pub one_word_types: u64,
    /// Types whose name is also declared elsewhere in the workspace.
    pub shared_name_types: u64,
}

impl LanguageFigures {
    fn add(&mut self, other: &Self) {
        self.comments.add(&other.comments);
        self.strings.add(&other.strings);
        self.product_lines += other.product_lines;
        self.doc_lines += other.doc_lines;
        self.comment_lines += other.comment_lines;
        self.pub_items += other.pub_items;
        self.types += other.types;
        self.one_word_types += other.one_word_types;
        self.shared_name_types += other.shared_name_types;
    }

    fn add_source(&mut self, source: &Source) {
        for comment in &source.comments {
            self.comments.add_text(&comment.text);
            if source.is_test(comment.line) {
                continue;
            }
            let lines = comment.text.lines().count() as u64;
            if comment.is_doc() {
                self.doc_lines += lines;
            } else {
                self.comment_lines += lines;
            }
        }
        for literal in source.literals.iter().filter(|literal| !source.is_test(literal.line)) {
            self.strings.add_text(&literal.text);
        }
        self.product_lines += (1..=source.lines.len()).filter(|line| !source.is_test(*line)).count() as u64;
        self.pub_items += source.product_code().filter(|(_, code)| is_pub_item(code)).count() as u64;
    }
}

/// The figures of a checkout: each crate by name, and their sum.
#[derive(Debug)]
pub struct LanguageReport {
    pub crates: BTreeMap<String, LanguageFigures>,
    pub total: LanguageFigures,
}

/// Counts the Rust files below `crates/` of the checkout at `root`.
///
/// # Panics
///
/// If `root` cannot be read.
pub fn measure(root: &Path) -> LanguageReport {
    measure_sources(&Tree::read(root).sources())
}

fn measure_sources(sources: &[Source]) -> LanguageReport {
    let mut crates: BTreeMap<String, LanguageFigures> = BTreeMap::new();
    let mut types: Vec<(String, String)> = Vec::new();
    for source in sources.iter().filter(|source| source.path != OWN_FILE) {
        let Some(name) = crate_of(&source.path) else { continue };
        crates.entry(name.to_owned()).or_default().add_source(source);
        let declared = source.product_code().filter_map(|(_, code)| declared_type(code));
        types.extend(declared.map(|declared| (name.to_owned(), declared.to_owned())));
    }
    let mut declarations: HashMap<&str, u64> = HashMap::new();
    for (_, declared) in &types {
        *declarations.entry(declared).or_default() += 1;
    }
    for (name, declared) in &types {
        let figures = crates.entry(name.clone()).or_default();
        figures.types += 1;
        figures.one_word_types += u64::from(is_one_word(declared));
        figures.shared_name_types += u64::from(declarations[declared.as_str()] > 1);
    }
    let mut total = LanguageFigures::default();
    for figures in crates.values() {
        total.add(figures);
    }
    LanguageReport { crates, total }
}

impl LanguageReport {
    /// Returns one sentence for each watched word that is too frequent or too rare.
    ///
    /// A dialect word is judged in comments and in strings. A trade word is judged in comments only, because what strings say depends on
    /// what the program does.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (index, word) in WATCHED_WORDS.iter().enumerate() {
            let texts = [("comments", &self.total.comments), ("strings", &self.total.strings)];
            match word.kind {
                WordKind::Dialect => {
                    for (place, count) in texts {
                        let found = count.per_10_000(index);
                        if found > DIALECT_MAX {
                            complaints.push(format!(
                                "`{}` occurs {found:.1} times per 10,000 words of {place}; at most {DIALECT_MAX} is allowed",
                                word.name
                            ));
                        }
                    }
                }
                WordKind::Trade => {
                    let found = self.total.comments.per_10_000(index);
                    let lowest = word.models.into_iter().flatten().fold(f64::INFINITY, f64::min);
                    if found < lowest / 2.0 {
                        complaints.push(format!(
                            "`{}` occurs {found:.1} times per 10,000 words of comments; at least {} is expected",
                            word.name,
                            lowest / 2.0
                        ));
                    }
                }
            }
        }
        complaints
    }
}

/// The label of a row, and its value for a crate.
type Row = (&'static str, fn(&LanguageFigures) -> String);

impl fmt::Display for LanguageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<(&str, &LanguageFigures)> = self
            .crates
            .iter()
            .map(|(name, figures)| (name.as_str(), figures))
            .chain([("total", &self.total)])
            .collect();
        write_words(f, "comments", &all, |figures| &figures.comments)?;
        writeln!(f)?;
        write_words(f, "strings of product code", &all, |figures| &figures.strings)?;
        writeln!(f)?;
        write_header(f, "size and names", &all)?;
        let rows: [Row; 7] = [
            ("product lines", |one| one.product_lines.to_string()),
            ("`pub` items", |one| one.pub_items.to_string()),
            ("doc comment lines", |one| percent(one.doc_lines, one.product_lines)),
            ("other comment lines", |one| {
                percent(one.comment_lines, one.product_lines)
            }),
            ("types", |one| one.types.to_string()),
            ("one-word types", |one| percent(one.one_word_types, one.types)),
            ("types sharing a name", |one| percent(one.shared_name_types, one.types)),
        ];
        for (label, value) in rows {
            write!(f, "{label:<26}")?;
            for (_, figures) in &all {
                write!(f, "{:>11}", value(figures))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn write_header(f: &mut fmt::Formatter<'_>, title: &str, all: &[(&str, &LanguageFigures)]) -> fmt::Result {
    write!(f, "{title:<26}")?;
    for (name, _) in all {
        write!(f, "{name:>11}")?;
    }
    writeln!(f)
}

fn write_words(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    all: &[(&str, &LanguageFigures)],
    count: fn(&LanguageFigures) -> &WordCount,
) -> fmt::Result {
    write!(f, "{title:<26}")?;
    for (name, _) in all {
        write!(f, "{name:>11}")?;
    }
    writeln!(f, "{:>11}{:>8}{:>8}", "ripgrep", "jj", "atuin")?;
    for (index, word) in WATCHED_WORDS.iter().enumerate() {
        write!(f, "{:<26}", word.name)?;
        for (_, figures) in all {
            write!(f, "{:>11.1}", count(figures).per_10_000(index))?;
        }
        let [ripgrep, jj, atuin] = word
            .models
            .map(|value| value.map_or("-".to_owned(), |value| value.to_string()));
        writeln!(f, "{ripgrep:>11}{jj:>8}{atuin:>8}")?;
    }
    write!(f, "{:<26}", "words")?;
    for (_, figures) in all {
        write!(f, "{:>11}", count(figures).words)?;
    }
    writeln!(f)
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", share(part, whole) * 100.0)
}

/// Returns `part / whole`, or 0 if there is nothing to divide by.
fn share(part: u64, whole: u64) -> f64 {
    let exact = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { exact(part) / exact(whole) }
}

fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

fn is_pub_item(code: &str) -> bool {
    let Some(item) = code.trim_start().strip_prefix("pub ") else {
        return false;
    };
    let first = item.split(|c: char| !is_word(c)).next().unwrap_or_default();
    matches!(
        first,
        "fn" | "async" | "unsafe" | "const" | "static" | "struct" | "enum" | "union" | "trait" | "type" | "mod" | "use"
    )
}

/// Returns the name of the type that a line of code declares. An associated type of an `impl` or a trait is not one.
fn declared_type(code: &str) -> Option<&str> {
    // `type` inside an `impl` or a trait is indented.
    let is_nested = code.starts_with(' ');
    let mut item = code.trim_start();
    if let Some(rest) = item.strip_prefix("pub") {
        let rest = rest
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest);
        item = rest.trim_start();
    }
    let (keyword, rest) = item.split_once(' ')?;
    let is_type = matches!(keyword, "struct" | "enum" | "union" | "trait") || (keyword == "type" && !is_nested);
    let name = rest.split(|c: char| !is_word(c)).next()?;
    (is_type && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(name)
}

/// Whether a name in camel case is a single word. `HTML` is one word, and so is `Utf8`.
fn is_one_word(name: &str) -> bool {
    let mut was_lower = false;
    let mut humps = 1;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            humps += 1;
        }
        // A digit continues a word, so `Utf8` has one hump.
        was_lower = !c.is_uppercase();
    }
    humps == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> LanguageReport {
        measure_sources(&Tree::of(&[("crates/a/src/lib.rs", text)]).sources())
    }

    fn occurrences(count: &WordCount, name: &str) -> u64 {
        let index = WATCHED_WORDS.iter().position(|word| word.name == name);
        count.occurrences[index.expect("the word is watched")]
    }

    #[test]
    fn words_are_counted_in_comments_and_strings_and_not_in_code() {
        let report = report("//! Told if so many stand.\nfn told() { print(\"nobody was told\") } // Returns\n");
        assert_eq!(report.total.comments.words, 6);
        assert_eq!(report.total.strings.words, 3);
        for (name, comments, strings) in [
            ("told", 1, 1),
            ("if", 1, 0),
            ("so many", 1, 0),
            ("stand(s)", 1, 0),
            ("returns", 1, 0),
            ("nobody, somebody, whoever", 0, 1),
        ] {
            assert_eq!(occurrences(&report.total.comments, name), comments, "{name}");
            assert_eq!(occurrences(&report.total.strings, name), strings, "{name}");
        }
    }

    #[test]
    fn strings_of_tests_are_not_counted() {
        let report = report("#[cfg(test)]\nmod tests {\n    const A: &str = \"told\";\n}\n");
        assert_eq!(report.total.strings.words, 0);
    }

    #[test]
    fn types_are_counted_with_their_shared_names() {
        let text = "struct One;\npub(crate) enum One {}\npub trait TwoWords {\n    type Item;\n}\ntype Three = u8;\n";
        let total = report(text).total;
        assert_eq!((total.types, total.one_word_types, total.shared_name_types), (4, 3, 2));
    }

    #[test]
    fn public_items_are_counted_and_fields_are_not() {
        let total =
            report("pub struct One {\n    pub field: u8,\n}\npub(crate) fn two() {}\npub const fn three() {}\n").total;
        assert_eq!(total.pub_items, 2);
    }

    #[test]
    fn a_frequent_dialect_word_and_a_rare_trade_word_are_complaints() {
        let complaints = report("// This is told to nobody.\n").complaints();
        assert!(complaints.iter().any(|one| one.starts_with("`told`")), "{complaints:?}");
        assert!(
            complaints.iter().any(|one| one.starts_with("`because`")),
            "{complaints:?}"
        );
    }

    #[test]
    fn an_acronym_with_a_figure_is_one_word() {
        assert!(is_one_word("Utf8") && is_one_word("HTML") && is_one_word("Session"));
        assert!(!is_one_word("SessionFilter"));
    }
}
