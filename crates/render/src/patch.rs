//! Patches as agents write them: Codex's `*** Begin Patch` form, unified differences, and files told by their changes.

use serde_json::Value;

use crate::diff::{self, Line};

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange<'t> {
    pub path: &'t str,
    pub what: What<'t>,
    pub lines: Vec<Line<'t>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'t> {
    Added,
    Changed,
    Deleted,
    Moved(&'t str),
}

/// The files of a patch; none where a text is no patch.
pub(crate) fn of_patch(text: &str) -> Option<Vec<FileChange<'_>>> {
    let begin = text.find("*** Begin Patch")?;
    let mut files: Vec<FileChange<'_>> = Vec::new();
    for line in text[begin..].lines().skip(1) {
        let header = |mark: &str| line.strip_prefix(mark).map(str::trim);
        let mut open = |path, what| {
            files.push(FileChange {
                path,
                what,
                lines: Vec::new(),
            });
        };
        if line.starts_with("*** End Patch") {
            break;
        } else if let Some(path) = header("*** Add File:") {
            open(path, What::Added);
        } else if let Some(path) = header("*** Update File:") {
            open(path, What::Changed);
        } else if let Some(path) = header("*** Delete File:") {
            open(path, What::Deleted);
        } else if let Some(file) = files.last_mut() {
            match header("*** Move to:") {
                Some(path) => file.what = What::Moved(path),
                None if line.starts_with("*** ") => {}
                None => file.lines.push(of_line(line)),
            }
        }
    }
    Some(files).filter(|files| !files.is_empty())
}

/// The lines of a unified difference, without its headers of files.
pub(crate) fn of_unified(text: &str) -> Vec<Line<'_>> {
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff ");
    text.lines().filter(|line| !is_header(line)).map(of_line).collect()
}

fn of_line(line: &str) -> Line<'_> {
    match line.split_at_checked(1) {
        Some(("+", rest)) => Line::In(rest),
        Some(("-", rest)) => Line::Out(rest),
        Some((" ", rest)) => Line::Same(rest),
        _ if line.starts_with("@@") => Line::Place(line),
        _ => Line::Same(line),
    }
}

/// The files that an input names with their changes: `{"src/a.rs": {"update": {"unified_diff": "…"}}}`, or a list.
pub(crate) fn of_changes(input: &Value) -> Option<Vec<FileChange<'_>>> {
    let files: Vec<FileChange<'_>> = match input {
        Value::Object(map) => map
            .iter()
            .filter_map(|(path, change)| of_change(path, change))
            .collect(),
        Value::Array(all) => all
            .iter()
            .filter_map(|change| of_change(change.get("path")?.as_str()?, change))
            .collect(),
        _ => return None,
    };
    Some(files).filter(|files| !files.is_empty())
}

fn of_change<'v>(path: &'v str, change: &'v Value) -> Option<FileChange<'v>> {
    let kind = change.get("type").or(change.get("kind"));
    let kind = kind.and_then(|kind| kind.as_str().or_else(|| kind.get("type")?.as_str()));
    let inside = ["add", "update", "delete"]
        .into_iter()
        .find_map(|word| Some((word, change.get(word)?)));
    let (word, body) = match (inside, kind) {
        (Some(found), _) => found,
        (None, Some(word)) => (word, change),
        (None, None) => return None,
    };
    let text = |keys: &[&str]| crate::tools::text_of(body, keys);
    let (what, lines) = match word {
        "add" => {
            let content = text(&["content", "diff", "unified_diff"])?;
            (What::Added, diff::lines("", content))
        }
        "delete" => (What::Deleted, diff::lines(text(&["content"]).unwrap_or_default(), "")),
        "update" => {
            let moved = text(&["move_path"]);
            let lines = of_unified(text(&["unified_diff", "diff"])?);
            (moved.map_or(What::Changed, What::Moved), lines)
        }
        _ => return None,
    };
    Some(FileChange { path, what, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_told_file_by_file() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn main\n x\n-y\n+z\n*** Add File: c\n+new\n*** End Patch\n";
        let files = of_patch(patch).unwrap();
        assert_eq!(files[0].what, What::Moved("b.rs"));
        assert_eq!(
            files[0].lines,
            [
                Line::Place("@@ fn main"),
                Line::Same("x"),
                Line::Out("y"),
                Line::In("z")
            ]
        );
        assert_eq!((files[1].path, files[1].what), ("c", What::Added));
        assert_eq!(of_patch("no patch"), None);
    }

    #[test]
    fn changes_are_told_by_any_generation_of_codex() {
        let told = |json: &str| {
            let input: Value = serde_json::from_str(json).unwrap();
            let files = of_changes(&input).unwrap_or_default();
            format!(
                "{:?}",
                files
                    .iter()
                    .map(|file| (file.path, file.what, diff::counts(&file.lines)))
                    .collect::<Vec<_>>()
            )
        };
        assert_eq!(
            told(r#"{"a":{"add":{"content":"x\ny\n"}}}"#),
            r#"[("a", Added, (2, 0))]"#
        );
        assert_eq!(
            told(r#"{"a":{"type":"update","unified_diff":"@@ -1 +1 @@\n-x\n+y\n","move_path":null}}"#),
            r#"[("a", Changed, (1, 1))]"#
        );
        assert_eq!(
            told(r#"[{"path":"b","kind":{"type":"delete"}}]"#),
            r#"[("b", Deleted, (0, 0))]"#
        );
        assert_eq!(told(r#"{"command":"ls"}"#), "[]");
    }
}
