//! A scanner that separates Rust code from comments, strings and tests.
//!
//! It is not a parser. It recognises comments, literals and brackets, which is enough to find the code that names `std::env` and to
//! ignore comments and strings that do.

use std::collections::BTreeSet;

/// A scanned Rust file.
#[derive(Debug)]
pub(crate) struct Source {
    pub path: String,
    /// The lines of the file.
    pub lines: Vec<String>,
    /// The lines with comments replaced by spaces and contents of strings by underscores.
    pub code: Vec<String>,
    pub literals: Vec<Literal>,
    pub comments: Vec<Comment>,
    /// Modules that this file declares for tests only, as paths without `.rs`.
    test_modules: Vec<String>,
    /// For each line, whether it is inside test code.
    tests: Vec<bool>,
}

/// A string literal: the text between its quotes, with escapes unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// The 1-based line of the opening quote.
    pub line: usize,
    pub text: String,
}

/// A comment: one line of `//`, or a whole `/* … */`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// The 1-based line on which it starts.
    pub line: usize,
    /// The text with its slashes.
    pub text: String,
}

impl Comment {
    /// Whether it is a doc comment.
    pub(crate) fn is_doc(&self) -> bool {
        ["///", "//!", "/**", "/*!"]
            .iter()
            .any(|mark| self.text.starts_with(mark))
            && !self.text.starts_with("////")
    }
}

impl Source {
    pub(crate) fn scan(path: &str, text: &str) -> Source {
        let Scanner {
            masked,
            literals,
            comments,
            ..
        } = mask(text);
        let code: Vec<String> = masked.split('\n').map(str::to_string).collect();
        let regions = test_regions(&masked);
        // Files in these directories are never part of a product, so no attribute marks them.
        let in_tests_folder = path.contains("/tests/") || path.contains("/benches/");
        let tests = (1..=code.len())
            .map(|n| in_tests_folder || regions.iter().any(|r| r.0 <= n && n <= r.1))
            .collect();
        Source {
            path: path.to_string(),
            lines: text.split('\n').map(str::to_string).collect(),
            test_modules: test_modules(path, &masked),
            code,
            literals,
            comments,
            tests,
        }
    }

    /// Whether the 1-based line is test code.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.tests.get(line - 1).copied().unwrap_or(false)
    }

    /// Returns the numbered lines of product code that are not blank.
    pub(crate) fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.all_code().filter(|(line, _)| !self.is_test(*line))
    }

    /// Returns the numbered lines of code, including tests, that are not blank.
    pub(crate) fn all_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.iter().enumerate();
        lines
            .map(|(index, code)| (index + 1, code.as_str()))
            .filter(|(_, code)| !code.trim().is_empty())
    }
}

/// Marks files as tests if another file declares them with `#[cfg(test)] mod name;`.
pub(crate) fn spread_tests(sources: &mut [Source]) {
    let modules: BTreeSet<String> = sources
        .iter()
        .flat_map(|source| source.test_modules.iter().cloned())
        .collect();
    for source in sources {
        let stem = source.path.trim_end_matches(".rs");
        let below = |m: &String| stem.strip_prefix(m.as_str()).is_some_and(is_path_boundary);
        if modules.iter().any(below) {
            source.tests.fill(true);
        }
    }
}

fn is_path_boundary(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Returns the directory of the modules that the file at `path` declares.
pub(super) fn module_folder(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    // Cargo compiles each file directly in `tests` as a crate of its own.
    let is_own_crate = folder.ends_with("/tests") && !folder.contains("/src/");
    let is_crate_root = matches!(name, "lib" | "main") || is_own_crate;
    if is_crate_root { folder } else { stem }
}

/// Whether `code` contains `needle` at the start of a name.
pub(super) fn names(code: &str, needle: &str) -> bool {
    code.match_indices(needle).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(is_word)
    })
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Masks and collects comments and contents of strings. Line breaks are kept, so line numbers stay the same.
fn mask(text: &str) -> Scanner {
    let mut scanner = Scanner {
        chars: text.chars().collect(),
        at: 0,
        line: 1,
        masked: String::with_capacity(text.len()),
        literals: Vec::new(),
        comments: Vec::new(),
    };
    while let Some(c) = scanner.peek(0) {
        match (c, scanner.peek(1)) {
            ('/', Some('/')) => scanner.line_comment(),
            ('/', Some('*')) => scanner.block_comment(),
            ('"', _) => scanner.string(),
            ('\'', _) => scanner.char_or_lifetime(),
            _ if is_word(c) => scanner.word(),
            _ => scanner.keep(),
        }
    }
    scanner
}

struct Scanner {
    chars: Vec<char>,
    at: usize,
    line: usize,
    masked: String,
    literals: Vec<Literal>,
    comments: Vec<Comment>,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Advances by one character and writes `shown` in its place. Line breaks are kept.
    fn step(&mut self, shown: Option<char>) {
        let Some(c) = self.peek(0) else { return };
        if c == '\n' {
            self.line += 1;
        }
        self.masked.push(match shown {
            Some(shown) if c != '\n' => shown,
            _ => c,
        });
        self.at += 1;
    }

    fn keep(&mut self) {
        self.step(None);
    }

    fn line_comment(&mut self) {
        let (line, start) = (self.line, self.at);
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.step(Some(' '));
        }
        self.finish_comment(line, start);
    }

    fn finish_comment(&mut self, line: usize, start: usize) {
        let text = self.chars[start..self.at].iter().collect();
        self.comments.push(Comment { line, text });
    }

    fn block_comment(&mut self) {
        let (line, start) = (self.line, self.at);
        let mut depth = 0;
        while let Some(c) = self.peek(0) {
            let pair = (c, self.peek(1));
            let width = match pair {
                ('/', Some('*')) => {
                    depth += 1;
                    2
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    2
                }
                _ => 1,
            };
            for _ in 0..width {
                self.step(Some(' '));
            }
            if depth == 0 {
                break;
            }
        }
        self.finish_comment(line, start);
    }

    fn string(&mut self) {
        let line = self.line;
        let mut text = String::new();
        self.keep();
        while let Some(c) = self.peek(0).filter(|c| *c != '"') {
            text.push(c);
            self.step(Some('_'));
            if c == '\\' {
                text.extend(self.peek(0));
                self.step(Some('_'));
            }
        }
        self.keep();
        self.literals.push(Literal { line, text });
    }

    fn raw_string(&mut self, hashes: usize) {
        let line = self.line;
        let mut text = String::new();
        for _ in 0..=hashes {
            self.keep();
        }
        while let Some(c) = self.peek(0) {
            let closes = c == '"' && (1..=hashes).all(|n| self.peek(n) == Some('#'));
            if closes {
                break;
            }
            text.push(c);
            self.step(Some('_'));
        }
        for _ in 0..=hashes {
            self.keep();
        }
        self.literals.push(Literal { line, text });
    }

    fn char_or_lifetime(&mut self) {
        self.keep();
        if self.peek(0) == Some('\\') {
            self.step(Some('_'));
            self.step(Some('_'));
            while self.peek(0).is_some_and(|c| c != '\'' && c != '\n') {
                self.step(Some('_'));
            }
            self.keep();
        } else if self.peek(1) == Some('\'') {
            self.step(Some('_'));
            self.keep();
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.keep();
        }
        let word: String = self.chars[start..self.at].iter().collect();
        if matches!(word.as_str(), "r" | "br" | "cr") {
            let hashes = (0..).take_while(|n| self.peek(*n) == Some('#')).count();
            if self.peek(hashes) == Some('"') {
                self.raw_string(hashes);
            }
        }
    }
}

fn line_of(masked: &str, at: usize) -> usize {
    masked[..at].matches('\n').count() + 1
}

/// Returns the position at which the block that opens at `open` closes.
fn closing_brace(masked: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in masked.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    masked.len()
}

/// Returns the first `{` or `;` after `start` that is not inside parentheses or square brackets.
fn body_or_end(masked: &str, start: usize) -> Option<(usize, u8)> {
    let mut depth = 0;
    for (at, byte) in masked.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' | b';' if depth == 0 => return Some((at, byte)),
            _ => {}
        }
    }
    None
}

/// Returns the position of each `#[cfg(test)]` or `#[cfg(all(test, …))]`, and the first `{` or `;` after it.
fn test_attributes(masked: &str) -> impl Iterator<Item = (usize, Option<(usize, u8)>)> {
    masked.match_indices("#[cfg(").filter_map(|(at, _)| {
        let condition = masked[at..].split(']').next()?;
        let for_tests = names(condition, "test") && !condition.contains("not(");
        let end = at + condition.len() + 1;
        for_tests.then(|| (at, body_or_end(masked, end)))
    })
}

/// Returns the first and the last line of each item with `#[cfg(test)]`.
fn test_regions(masked: &str) -> Vec<(usize, usize)> {
    test_attributes(masked)
        .map(|(at, end)| {
            let last = match end {
                Some((open, b'{')) => closing_brace(masked, open),
                Some((semicolon, _)) => semicolon,
                None => masked.len(),
            };
            (line_of(masked, at), line_of(masked, last))
        })
        .collect()
}

fn test_modules(path: &str, masked: &str) -> Vec<String> {
    test_attributes(masked)
        .filter_map(|(at, end)| {
            let (semicolon, b';') = end? else { return None };
            let item = &masked[at..semicolon];
            let name = item.rsplit_once("mod ")?.1.trim();
            Some(format!("{}/{name}", module_folder(path)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        mask(text).masked
    }

    #[test]
    fn comments_become_blanks_and_strings_become_underscores() {
        assert_eq!(masked("a // b\nc"), "a     \nc");
        assert_eq!(masked("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(masked(r#"f("a // b")"#), r#"f("______")"#);
        assert_eq!(masked(r#"f("a\"b", c)"#), r#"f("____", c)"#);
    }

    #[test]
    fn comments_keep_their_text_and_know_whether_rustdoc_shows_them() {
        let source = Source::scan("a.rs", "/// One.\nlet a = \"// no\"; // two\n/* three\nfour */\n");
        let found: Vec<_> = source.comments.iter().map(|c| (c.line, &*c.text, c.is_doc())).collect();
        assert_eq!(
            found,
            [
                (1, "/// One.", true),
                (2, "// two", false),
                (3, "/* three\nfour */", false)
            ]
        );
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        assert_eq!(masked("r#\"a\"b\"# c"), "r#\"___\"# c");
        assert_eq!(masked("br\"\\\" c"), "br\"_\" c");
        assert_eq!(masked("r#type c"), "r#type c");
    }

    #[test]
    fn quotes_in_chars_and_lifetimes_do_not_start_literals() {
        assert_eq!(masked("'\"' a 'b' \"c\""), "'_' a '_' \"_\"");
        assert_eq!(masked("'\\'' a"), "'__' a");
        assert_eq!(masked("&'a str, 'static"), "&'a str, 'static");
        assert_eq!(masked("'\\u{1F600}' \"x\""), "'_________' \"_\"");
    }

    #[test]
    fn literals_have_the_line_of_their_opening_quote() {
        let source = Source::scan("a.rs", "let a = \"one\";\nlet b = r#\"two\nthree\"#;\n");
        let found: Vec<_> = source.literals.iter().map(|l| (l.line, &*l.text)).collect();
        assert_eq!(found, [(1, "one"), (2, "two\nthree")]);
    }

    #[test]
    fn a_test_module_is_test_code_and_the_rest_is_not() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::scan("crates/a/src/x.rs", text);
        let tests: Vec<_> = (1..=6).filter(|n| source.is_test(*n)).collect();
        assert_eq!(tests, [2, 3, 4, 5]);
        let not = Source::scan("x.rs", "#[cfg(not(test))]\nfn a() {}\n");
        assert!(!not.is_test(2));
    }

    #[test]
    fn a_module_declared_for_tests_is_test_code_in_its_own_file() {
        let mut sources = vec![
            Source::scan("crates/a/src/x.rs", "#[cfg(test)]\nmod tests;\nmod more;\n"),
            Source::scan("crates/a/src/x/tests.rs", "fn t() {}\n"),
            Source::scan("crates/a/src/x/more.rs", "fn m() {}\n"),
        ];
        spread_tests(&mut sources);
        assert!(sources[1].is_test(1));
        assert!(!sources[2].is_test(1));
    }

    #[test]
    fn a_name_is_not_found_at_the_end_of_a_longer_one() {
        assert!(names("use std::env::var;", "env::"));
        assert!(!names("my_env::var", "env::"));
    }
}
