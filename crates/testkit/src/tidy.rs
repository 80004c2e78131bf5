//! The tidy test: rules of this repository that the compiler cannot check.
//!
//! [`check`] reads a checkout and returns one [`Complaint`] per broken rule and line. It reads files and nothing else: no cargo, no
//! git, no network. The rules use a small scanner (`tidy/rust.rs`) instead of a parser, so that files which do not compile are
//! checked too. Each rule has a test in which it complains.

mod code;
mod graph;
mod repository;
pub(crate) mod rust;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A broken rule and where it is broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    /// The file, relative to the root of the checkout.
    pub path: String,
    /// The 1-based line. 1 if the whole file is meant.
    pub line: usize,
    /// The rule's short name.
    pub rule: &'static str,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}

/// The files of a checkout by their relative path, which is separated by `/`.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

/// Checks the checkout at `root` against every rule.
///
/// # Panics
///
/// If `root` cannot be read.
pub fn check(root: &Path) -> Vec<Complaint> {
    check_tree(&Tree::read(root))
}

fn check_tree(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let sources = tree.sources();
    code::check(&sources, &mut complaints);
    repository::check(tree, &sources, &mut complaints);
    graph::check(&sources, &mut complaints);
    complaints.sort();
    complaints
}

fn complain(out: &mut Vec<Complaint>, path: &str, line: usize, rule: &'static str, message: String) {
    out.push(Complaint {
        path: path.to_string(),
        line,
        rule,
        message,
    });
}

impl Tree {
    /// Builds a tree from paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let files = files
            .iter()
            .map(|(path, text)| (path.to_string(), text.to_string()))
            .collect();
        Tree { files }
    }

    /// Reads every file below `root` that git could track. Links are not followed.
    pub(crate) fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        tree.walk(root, "");
        tree
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        let entries = std::fs::read_dir(folder).expect("a folder of the checkout can be listed");
        for entry in entries {
            let entry = entry.expect("a folder of the checkout can be listed");
            let kind = entry.file_type().expect("a listed entry has a type");
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if kind.is_dir() && !is_ignored_directory(&path) {
                self.walk(&entry.path(), &format!("{path}/"));
            } else if kind.is_file() && path != ".git" {
                // `.git` is skipped because it is a file with a local path if this is a linked worktree.
                // Another process may delete a file between listing and reading.
                if let Ok(bytes) = std::fs::read(entry.path()) {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    self.files.insert(path, text);
                }
            }
        }
    }

    pub(crate) fn sources(&self) -> Vec<rust::Source> {
        let mut sources: Vec<_> = self
            .files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| rust::Source::scan(path, text))
            .collect();
        rust::spread_tests(&mut sources);
        sources
    }
}

/// Whether `.gitignore` lists a directory.
fn is_ignored_directory(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == ".git"
        || name.starts_with("target")
        || matches!(path, "fuzzing/artifacts" | "fuzzing/coverage" | "fuzzing/corpus")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_prints_as_path_line_rule_message() {
        let complaint = Complaint {
            path: "a/b.rs".into(),
            line: 3,
            rule: "sql",
            message: "no".into(),
        };
        assert_eq!(complaint.to_string(), "a/b.rs:3: sql: no");
    }

    #[test]
    fn folders_made_by_tools_are_not_walked() {
        for path in [".git", "target", "target-x", "crates/a/target", "fuzzing/artifacts"] {
            assert!(is_ignored_directory(path), "{path}");
        }
        assert!(!is_ignored_directory("crates/a/src"));
    }

    #[test]
    fn complaints_come_in_the_order_of_path_and_line() {
        let tree = Tree::of(&[
            ("crates/b/src/lib.rs", "fn f() {\n    todo!()\n}\n"),
            ("crates/a/src/mod.rs", "//! A.\n"),
        ]);
        let places: Vec<_> = check_tree(&tree)
            .into_iter()
            .filter(|c| c.path.ends_with(".rs"))
            .map(|c| (c.path, c.line, c.rule))
            .collect();
        assert_eq!(
            places,
            [
                ("crates/a/src/mod.rs".to_string(), 1, "mod-rs"),
                ("crates/a/src/mod.rs".to_string(), 1, "unlisted"),
                ("crates/b/src/lib.rs".to_string(), 1, "header"),
                ("crates/b/src/lib.rs".to_string(), 2, "unfinished"),
            ]
        );
    }
}
