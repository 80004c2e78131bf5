//! Tool calls in one line of text, and what a call does: the files it edits and the command it runs.
//!
//! The wordings of the known tools are a contract; any other tool is worded by its keys.

use serde_json::{Map, Value};

use crate::wire::{WireText, wire};

/// Maximum number of characters of a summary.
pub(crate) const SUMMARY_CHARS_MAX: usize = 500;
/// Maximum number of characters of a name that is stored repeatedly: ids, versions, types.
pub(crate) const NAME_CHARS_MAX: usize = 128;
/// Maximum number of characters of one value of an unknown tool.
const VALUE_CHARS_MAX: usize = 60;

/// The wording of a tool call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wording {
    pub(crate) text: Box<str>,
    /// The files that an edit writes; empty for any other call.
    pub(crate) files: Vec<Box<str>>,
    /// The command that a shell runs.
    pub(crate) command: Option<Box<str>>,
}

/// Returns `true` if a tool of any agent runs shell commands.
pub fn runs_commands(tool: &str) -> bool {
    matches!(
        tool,
        "Bash"
            | "PowerShell"
            | "bash"
            | "shell"
            | "shell_command"
            | "local_shell"
            | "exec"
            | "exec_command"
            | "unified_exec"
            | "container.exec"
            | "command_execution"
            | "run_terminal_command"
            | "run_terminal_cmd"
            | "execute"
    )
}

/// Returns the wording of a call of `tool` with `input` as JSON text.
pub(crate) fn word(tool: &str, input: &str) -> Wording {
    let known: KnownToolInput<'_> = serde_json::from_str(input).unwrap_or_default();
    let file = || known.file_path.get().or(known.notebook_path.get());
    match (tool, file()) {
        ("Bash" | "PowerShell", _) if known.command.get().is_some() => shell(&known),
        ("Edit" | "MultiEdit" | "NotebookEdit", Some(file)) => edit(file, format!("{file} (edit)")),
        ("Write", Some(file)) => edit(file, format!("{file} ({} bytes)", known.content.or_empty().len())),
        ("Read", Some(file)) => plain(file),
        ("Grep", _) if known.pattern.get().is_some() => plain(&format!(
            "/{}/ in {}",
            known.pattern.or_empty(),
            known.path.get().unwrap_or(".")
        )),
        ("Glob", _) if known.pattern.get().is_some() => plain(known.pattern.or_empty()),
        ("Task" | "Agent", _) if known.description.get().or(known.prompt.get()).is_some() => task(&known),
        _ => plain(&by_keys(input)),
    }
}

/// Returns the first characters of a text, cut on a character boundary.
pub(crate) fn cut(text: &str, chars_max: usize) -> &str {
    // A text never has more characters than bytes, so short texts need no counting.
    if text.len() <= chars_max {
        return text;
    }
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}

/// Only input up to this size is indented, because the indentation of deeply nested JSON multiplies its size.
const PRETTY_BYTES_MAX: usize = 64 << 10;

/// Returns the input of a tool as indented JSON, or unchanged if it is not JSON.
pub(crate) fn pretty(json: &str) -> String {
    let indented = || {
        let value: serde_json::Value = serde_json::from_str(json).ok()?;
        serde_json::to_string_pretty(&value).ok()
    };
    let short = json.len() <= PRETTY_BYTES_MAX;
    short.then(indented).flatten().unwrap_or_else(|| json.to_owned())
}

/// Returns the summary of a message.
pub(crate) fn summary(text: &str) -> Box<str> {
    cut(text, SUMMARY_CHARS_MAX).into()
}

fn plain(text: &str) -> Wording {
    Wording {
        text: summary(text),
        ..Wording::default()
    }
}

fn edit(file: &str, text: String) -> Wording {
    Wording {
        text: summary(&text),
        files: vec![file.into()],
        command: None,
    }
}

fn shell(input: &KnownToolInput<'_>) -> Wording {
    let command = input.command.or_empty();
    let text = match input.description.get() {
        Some(description) => summary(&format!("{} # {description}", cut(command, SUMMARY_CHARS_MAX))),
        None => summary(command),
    };
    Wording {
        text,
        files: Vec::new(),
        command: Some(command.into()),
    }
}

fn task(input: &KnownToolInput<'_>) -> Wording {
    let what = input.description.get().or(input.prompt.get()).unwrap_or_default();
    match input.subagent_type.get() {
        Some(kind) => plain(&format!("[{kind}] {}", cut(what, SUMMARY_CHARS_MAX))),
        None => plain(what),
    }
}

/// Describes the input of an unknown tool by its keys in alphabetical order, with short values.
fn by_keys(input: &str) -> String {
    let Ok(Value::Object(map)) = serde_json::from_str::<Value>(input) else {
        return short(&Value::String(input.trim_matches('"').to_owned()));
    };
    sorted(&map)
        .map(|(key, value)| format!("{key}: {}", short(value)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Sorts the entries, because a `Map` keeps the order of the file if any crate in the build enables that.
fn sorted(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| key.as_str());
    entries.into_iter()
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let cut_text = cut(text, VALUE_CHARS_MAX);
            if cut_text.len() < text.len() {
                format!("{cut_text}…")
            } else {
                text.clone()
            }
        }
        Value::Array(elements) => format!("[{}]", elements.len()),
        Value::Object(map) => format!("{{{}}}", map.len()),
        other => other.to_string(),
    }
}

wire! {
    /// The keys of the tools with a known wording.
    struct KnownToolInput<'a> {
        command: WireText<'a> = "command",
        description: WireText<'a> = "description",
        file_path: WireText<'a> = "file_path",
        notebook_path: WireText<'a> = "notebook_path",
        content: WireText<'a> = "content",
        pattern: WireText<'a> = "pattern",
        path: WireText<'a> = "path",
        prompt: WireText<'a> = "prompt",
        subagent_type: WireText<'a> = "subagent_type",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_tools_are_worded_by_their_table() {
        let cases = [
            (
                "Bash",
                r#"{"command":"git status","description":"Show the tree"}"#,
                "git status # Show the tree",
            ),
            ("PowerShell", r#"{"command":"dir"}"#, "dir"),
            ("Read", r#"{"file_path":"/src/main.go","limit":5}"#, "/src/main.go"),
            (
                "Edit",
                r#"{"file_path":"/src/main.go","old_string":"a"}"#,
                "/src/main.go (edit)",
            ),
            (
                "MultiEdit",
                r#"{"file_path":"/src/main.go","edits":[]}"#,
                "/src/main.go (edit)",
            ),
            ("NotebookEdit", r#"{"notebook_path":"/n.ipynb"}"#, "/n.ipynb (edit)"),
            ("Write", r#"{"file_path":"/a","content":"h\u00e9\n"}"#, "/a (4 bytes)"),
            ("Grep", r#"{"pattern":"TODO","path":"./src"}"#, "/TODO/ in ./src"),
            ("Grep", r#"{"pattern":"TODO"}"#, "/TODO/ in ."),
            ("Glob", r#"{"pattern":"**/*.go"}"#, "**/*.go"),
            (
                "Task",
                r#"{"subagent_type":"code","description":"Refactor"}"#,
                "[code] Refactor",
            ),
            ("Agent", r#"{"description":"Refactor","prompt":"…"}"#, "Refactor"),
            (
                "WebFetch",
                r#"{"url":"https://x.test","prompt":"read"}"#,
                "prompt: read, url: https://x.test",
            ),
            (
                "Odd",
                r#"{"b":[1,2],"a":null,"c":{"d":1},"e":true}"#,
                "a: null, b: [2], c: {1}, e: true",
            ),
            ("Bash", r#"{"command":7}"#, "command: 7"),
            ("Edit", r#"{}"#, ""),
            ("Odd", "not json", "not json"),
        ];
        for (tool, input, text) in cases {
            assert_eq!(&*word(tool, input).text, text, "{tool} {input}");
        }
    }

    #[test]
    fn a_wording_is_cut_on_a_character_boundary() {
        let long = "é".repeat(600);
        let worded = word("Bash", &format!(r#"{{"command":"{long}"}}"#));
        assert_eq!(worded.text.chars().count(), SUMMARY_CHARS_MAX);
        let other = word("Odd", &format!(r#"{{"text":"{long}"}}"#));
        assert_eq!(&*other.text, &format!("text: {}…", "é".repeat(60)));
    }

    #[test]
    fn an_edit_knows_its_file_and_a_shell_its_command() {
        assert_eq!(
            word("Write", r#"{"file_path":"/a","content":""}"#).files,
            [Box::from("/a")]
        );
        assert_eq!(word("Bash", r#"{"command":"ls"}"#).command.as_deref(), Some("ls"));
        assert!(word("Read", r#"{"file_path":"/a"}"#).files.is_empty());
    }
}
