//! Parses the formats in which agents describe edits: Codex's `*** Begin Patch`, unified diffs, and maps from files to changes.

use serde_json::Value;

use crate::diff::{self, DiffLine};

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange<'t> {
    pub path: &'t str,
    pub kind: FileChangeKind<'t>,
    pub lines: Vec<DiffLine<'t>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChangeKind<'t> {
    Added,
    Changed,
    Deleted,
    Moved(&'t str),
}

/// Parses a `*** Begin Patch` text. Returns `None` if it is not one.
pub(crate) fn parse_patch(text: &str) -> Option<Vec<FileChange<'_>>> {
    let begin = text.find("*** Begin Patch")?;
    let mut files: Vec<FileChange<'_>> = Vec::new();
    for line in text[begin..].lines().skip(1) {
        let header = |mark: &str| line.strip_prefix(mark).map(str::trim);
        let mut open = |path, kind| {
            files.push(FileChange {
                path,
                kind,
                lines: Vec::new(),
            });
        };
        if line.starts_with("*** End Patch") {
            break;
        } else if let Some(path) = header("*** Add File:") {
            open(path, FileChangeKind::Added);
        } else if let Some(path) = header("*** Update File:") {
            open(path, FileChangeKind::Changed);
        } else if let Some(path) = header("*** Delete File:") {
            open(path, FileChangeKind::Deleted);
        } else if let Some(file) = files.last_mut() {
            match header("*** Move to:") {
                Some(path) => file.kind = FileChangeKind::Moved(path),
                None if line.starts_with("*** ") => {}
                None => file.lines.push(parse_diff_line(line)),
            }
        }
    }
    Some(files).filter(|files| !files.is_empty())
}

/// Parses a unified diff, skipping its file headers.
pub(crate) fn parse_unified_diff(text: &str) -> Vec<DiffLine<'_>> {
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff ");
    text.lines()
        .filter(|line| !is_header(line))
        .map(parse_diff_line)
        .collect()
}

fn parse_diff_line(line: &str) -> DiffLine<'_> {
    match line.split_at_checked(1) {
        Some(("+", rest)) => DiffLine::Added(rest),
        Some(("-", rest)) => DiffLine::Removed(rest),
        Some((" ", rest)) => DiffLine::Same(rest),
        _ if line.starts_with("@@") => DiffLine::HunkHeader(line),
        _ => DiffLine::Same(line),
    }
}

/// Parses a tool input that maps files to changes, `{"src/a.rs": {"update": {"unified_diff": "…"}}}`, or lists them.
pub(crate) fn parse_changes(input: &Value) -> Option<Vec<FileChange<'_>>> {
    let files: Vec<FileChange<'_>> = match input {
        Value::Object(map) => map
            .iter()
            .filter_map(|(path, change)| parse_change(path, change))
            .collect(),
        Value::Array(all) => all
            .iter()
            .filter_map(|change| parse_change(change.get("path")?.as_str()?, change))
            .collect(),
        _ => return None,
    };
    Some(files).filter(|files| !files.is_empty())
}

fn parse_change<'v>(path: &'v str, change: &'v Value) -> Option<FileChange<'v>> {
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
    let text = |keys: &[&str]| crate::tools::first_text(body, keys);
    let (kind, lines) = match word {
        "add" => {
            let content = text(&["content", "diff", "unified_diff"])?;
            (FileChangeKind::Added, diff::diff_lines("", content))
        }
        "delete" => (
            FileChangeKind::Deleted,
            diff::diff_lines(text(&["content"]).unwrap_or_default(), ""),
        ),
        "update" => {
            let moved = text(&["move_path"]);
            let lines = parse_unified_diff(text(&["unified_diff", "diff"])?);
            (moved.map_or(FileChangeKind::Changed, FileChangeKind::Moved), lines)
        }
        _ => return None,
    };
    Some(FileChange { path, kind, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_split_into_its_files() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn main\n x\n-y\n+z\n*** Add File: c\n+new\n*** End Patch\n";
        let files = parse_patch(patch).unwrap();
        assert_eq!(files[0].kind, FileChangeKind::Moved("b.rs"));
        assert_eq!(
            files[0].lines,
            [
                DiffLine::HunkHeader("@@ fn main"),
                DiffLine::Same("x"),
                DiffLine::Removed("y"),
                DiffLine::Added("z")
            ]
        );
        assert_eq!((files[1].path, files[1].kind), ("c", FileChangeKind::Added));
        assert_eq!(parse_patch("no patch"), None);
    }

    #[test]
    fn changes_of_every_codex_version_are_parsed() {
        let summary = |json: &str| {
            let input: Value = serde_json::from_str(json).unwrap();
            let files = parse_changes(&input).unwrap_or_default();
            format!(
                "{:?}",
                files
                    .iter()
                    .map(|file| (file.path, file.kind, diff::count_changes(&file.lines)))
                    .collect::<Vec<_>>()
            )
        };
        assert_eq!(
            summary(r#"{"a":{"add":{"content":"x\ny\n"}}}"#),
            r#"[("a", Added, (2, 0))]"#
        );
        assert_eq!(
            summary(r#"{"a":{"type":"update","unified_diff":"@@ -1 +1 @@\n-x\n+y\n","move_path":null}}"#),
            r#"[("a", Changed, (1, 1))]"#
        );
        assert_eq!(
            summary(r#"[{"path":"b","kind":{"type":"delete"}}]"#),
            r#"[("b", Deleted, (0, 0))]"#
        );
        assert_eq!(summary(r#"{"command":"ls"}"#), "[]");
    }
}
