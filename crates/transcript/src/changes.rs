//! The file changes that a tool call makes, parsed again from its log line for questions such as why a file is as it
//! is.
//!
//! Agents describe an edit in three ways: the whole new text, a replacement of one text by another, or a patch. The
//! shape of the input decides which one it is, not the tool's name, because names change and one tool can be called
//! through another. The tool's result is better evidence than its input because the tool knew the file's previous
//! text.

mod patch;

use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::texts::{BlockContent, Field, TextBlock};
use crate::{claude, codex, grok};

/// Maximum number of changes returned for one call.
const CHANGES_MAX: usize = 256;

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// As the agent wrote it: absolute, or relative to its working directory.
    pub path: String,
    /// The new path, if the file is renamed.
    pub moved_to: Option<String>,
    pub how: How,
}

/// How a file is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// The file's whole new text.
    Whole(String),
    /// Replacements, applied one after the other.
    Replaced(Vec<Replacement>),
    /// Patch hunks with context lines.
    Patched(Vec<Hunk>),
    /// The file is deleted.
    Deleted,
}

/// A replacement of one text by another, once or everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub old: String,
    pub new: String,
    pub everywhere: bool,
}

/// One hunk of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// The first line of the old text in this hunk, counted from 1, if known.
    pub old_line: Option<u64>,
    /// A line somewhere above the hunk, such as the head of a function.
    pub below: Option<String>,
    pub rows: Vec<Row>,
}

impl Hunk {
    /// Returns the lines before the change.
    pub fn old(&self) -> impl Iterator<Item = &str> {
        let rows = self.rows.iter().filter(|row| row.side != Side::New);
        rows.map(|row| row.text.as_str())
    }

    /// Returns the lines after the change.
    pub fn new_lines(&self) -> impl Iterator<Item = &str> {
        let rows = self.rows.iter().filter(|row| row.side != Side::Old);
        rows.map(|row| row.text.as_str())
    }
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub side: Side,
    pub text: String,
}

/// Whether a line is in the old text, the new text or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Both,
    Old,
    New,
}

/// An edit as reported by the tool that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file's text before the edit, if reported; empty if the file did not exist.
    pub before: Option<String>,
    pub change: Change,
}

/// Returns the changes requested by the tool call in one block of a line.
pub fn changes(agent: Agent, line: &[u8], block: u32) -> Vec<Change> {
    let blocks = match agent {
        Agent::Claude => claude::blocks(line),
        Agent::Grok => grok::blocks(line),
        Agent::Codex => codex::blocks(line),
    };
    let block = blocks.into_iter().nth(block as usize);
    let mut found = block.map(changes_in_block).unwrap_or_default();
    found.truncate(CHANGES_MAX);
    found
}

/// Returns the edit that the line of a tool result reports.
pub fn edited(agent: Agent, line: &[u8]) -> Option<Edited> {
    let record: Value = serde_json::from_slice(line).ok()?;
    match agent {
        Agent::Claude => claude_edit(record.get("toolUseResult")?.as_object()?),
        Agent::Grok => grok_edit(record.get("params")?.get("update")?),
        // Codex reports an edit in a call of its own.
        Agent::Codex => None,
    }
}

fn changes_in_block(block: TextBlock) -> Vec<Change> {
    if block.field != Field::ToolInput {
        return Vec::new();
    }
    match block.content {
        BlockContent::Text(text) => patch::parse_embedded(&text),
        BlockContent::Input(json) => match serde_json::from_str(&json) {
            Ok(input) => changes_in_input(&input),
            Err(_) => patch::parse_embedded(&json),
        },
        BlockContent::Placeholder(_) => Vec::new(),
    }
}

fn changes_in_input(input: &Value) -> Vec<Change> {
    match input {
        // JSON inside a string, a patch, or a program that contains a patch.
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => changes_in_input(&inner),
            _ => patch::parse_embedded(text),
        },
        Value::Array(words) => words.iter().flat_map(changes_in_input).collect(),
        Value::Object(object) => changes_in_object(object),
        _ => Vec::new(),
    }
}

fn changes_in_object(object: &Map<String, Value>) -> Vec<Change> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key)?.as_str());
    if let Some(path) = text(&["file_path", "notebook_path", "target_file", "path", "filePath"]) {
        let how = edit_from_fields(object);
        return how
            .map(|how| change(path, how))
            .into_iter()
            .chain(patches_in_values(object))
            .collect();
    }
    let by_path: Vec<Change> = object
        .iter()
        .filter_map(|(path, entry)| change_from_entry(path, entry))
        .collect();
    match by_path.is_empty() {
        false => by_path,
        true => patches_in_values(object).collect(),
    }
}

/// Returns the patches inside the texts of an input, such as the command of a shell.
fn patches_in_values(object: &Map<String, Value>) -> impl Iterator<Item = Change> {
    object.values().flat_map(|value| match value {
        Value::String(text) if text.contains(patch::BEGIN) => patch::parse_embedded(text),
        Value::Array(words) => words.iter().flat_map(changes_in_input).collect(),
        _ => Vec::new(),
    })
}

fn edit_from_fields(object: &Map<String, Value>) -> Option<How> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key)?.as_str());
    if let Some(edits) = object.get("edits").and_then(Value::as_array) {
        let edits: Vec<Replacement> = edits.iter().filter_map(|edit| replacement(edit.as_object()?)).collect();
        return (!edits.is_empty()).then_some(How::Replaced(edits));
    }
    if let Some(replacement) = replacement(object) {
        // An empty text cannot be replaced, so this creates the file.
        return Some(match replacement.old.is_empty() {
            true => How::Whole(replacement.new),
            false => How::Replaced(vec![replacement]),
        });
    }
    if let Some(source) = text(&["new_source"]) {
        return Some(How::Patched(vec![patch::cell_hunk(source)]));
    }
    text(&["content", "contents", "file_text"]).map(|content| How::Whole(content.to_owned()))
}

fn replacement(object: &Map<String, Value>) -> Option<Replacement> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key)?.as_str());
    let everywhere = ["replace_all", "replaceAll"].iter().find_map(|key| object.get(*key));
    Some(Replacement {
        old: text(&["old_string", "oldString", "old_str"])?.to_owned(),
        new: text(&["new_string", "newString", "new_str"])?.to_owned(),
        everywhere: everywhere.and_then(Value::as_bool).unwrap_or_default(),
    })
}

/// Parses one entry of a map from path to change.
fn change_from_entry(path: &str, entry: &Value) -> Option<Change> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let how = match text("type")? {
        "add" => How::Whole(text("content")?.to_owned()),
        "delete" => How::Deleted,
        "update" => How::Patched(patch::parse_unified(text("unified_diff")?)),
        _ => return None,
    };
    Some(Change {
        moved_to: text("move_path").map(str::to_owned),
        ..change(path, how)
    })
}

fn change(path: &str, how: How) -> Change {
    Change {
        path: path.to_owned(),
        moved_to: None,
        how,
    }
}

/// The user may have changed an edit before it was applied, so the applied version counts.
fn claude_edit(result: &Map<String, Value>) -> Option<Edited> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| result.get(*key)?.as_str());
    let path = text(&["filePath", "notebook_path"])?;
    let was_none = result.get("originalFile").is_some_and(Value::is_null) && text(&["type"]) == Some("create");
    let before = text(&["originalFile", "originalFileContents", "original_file"]).map(str::to_owned);
    let hunks = result.get("structuredPatch").and_then(Value::as_array);
    let hunks: Vec<Hunk> = hunks
        .into_iter()
        .flatten()
        .filter_map(patch::parse_structured)
        .collect();
    let how = match (text(&["updated_file"]), hunks.is_empty()) {
        (Some(whole), _) => How::Whole(whole.to_owned()),
        (None, false) => How::Patched(hunks),
        (None, true) => edit_from_fields(result)?,
    };
    Some(Edited {
        before: before.or_else(|| was_none.then(String::new)),
        change: change(path, how),
    })
}

/// Grok shows what it changed, and repeats it in the tool's output.
fn grok_edit(update: &Value) -> Option<Edited> {
    let made = update.get("rawOutput").and_then(|output| output.get("EditsApplied"));
    let shown = update.get("content").and_then(Value::as_array).into_iter().flatten();
    let mut shown = shown.filter(|block| block.get("type").and_then(Value::as_str) == Some("diff"));
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let (path, old, new) = match (made, shown.next()) {
        (Some(made), _) => (
            text(made, "absolute_path")?,
            text(made, "old_string")?,
            text(made, "new_string")?,
        ),
        (None, Some(shown)) => (
            text(shown, "path")?,
            text(shown, "oldText").unwrap_or_default(),
            text(shown, "newText")?,
        ),
        (None, None) => return None,
    };
    let how = match old.is_empty() {
        true => How::Whole(new),
        false => How::Replaced(vec![Replacement {
            old,
            new,
            everywhere: false,
        }]),
    };
    Some(Edited {
        before: None,
        change: change(&path, how),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(agent: Agent, line: &Value) -> String {
        print_changes(&changes(agent, line.to_string().as_bytes(), 0))
    }

    fn print_changes(changes: &[Change]) -> String {
        let printed = changes.iter().map(|change| {
            let how = match &change.how {
                How::Whole(text) => format!("whole {text:?}"),
                How::Deleted => "deleted".to_owned(),
                How::Replaced(all) => all
                    .iter()
                    .map(|one| {
                        format!(
                            "{:?} for {:?}{}",
                            one.new,
                            one.old,
                            if one.everywhere { " everywhere" } else { "" }
                        )
                    })
                    .collect::<Vec<_>>()
                    .join(", "),
                How::Patched(hunks) => hunks
                    .iter()
                    .map(|hunk| format!("{:?} {:?} {}", hunk.old_line, hunk.below, rows(hunk)))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            let moved = change
                .moved_to
                .as_ref()
                .map(|to| format!(" to {to}"))
                .unwrap_or_default();
            format!("{}{moved}: {how}", change.path)
        });
        printed.collect::<Vec<_>>().join("; ")
    }

    fn rows(hunk: &Hunk) -> String {
        let sign = |row: &Row| match row.side {
            Side::Both => ' ',
            Side::Old => '-',
            Side::New => '+',
        };
        let rows = hunk.rows.iter().map(|row| format!("{}{}", sign(row), row.text));
        rows.collect::<Vec<_>>().join("|")
    }

    fn claude(tool: &str, input: &Value) -> String {
        let call = json!({"type":"assistant","message":{"content":[{"type":"tool_use","name":tool,"input":input}]}});
        check(Agent::Claude, &call)
    }

    fn codex(payload: &Value) -> String {
        check(Agent::Codex, &json!({"type":"response_item","payload":payload}))
    }

    #[test]
    fn claude_tools_replace_texts_or_write_whole_files() {
        assert_eq!(
            claude(
                "Edit",
                &json!({"file_path":"/a","old_string":"x","new_string":"y","replace_all":true})
            ),
            "/a: \"y\" for \"x\" everywhere"
        );
        assert_eq!(
            claude("Write", &json!({"file_path":"/a","content":"x\n"})),
            "/a: whole \"x\\n\""
        );
        assert_eq!(
            claude(
                "MultiEdit",
                &json!({"file_path":"/a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"y","new_string":"z"}]})
            ),
            "/a: \"y\" for \"x\", \"z\" for \"y\""
        );
        assert_eq!(
            claude("NotebookEdit", &json!({"notebook_path":"/n.ipynb","new_source":"a\nb"})),
            r#"/n.ipynb: None None +"a\n",|+"b""#
        );
        assert_eq!(claude("Read", &json!({"file_path":"/a"})), "");
        assert_eq!(claude("Bash", &json!({"command":"sed -i s/a/b/ c"})), "");
    }

    #[test]
    fn claudes_applied_edit_is_preferred_to_the_requested_one() {
        let result = json!({"type":"user","toolUseResult":{"filePath":"/a","oldString":"x","newString":"y",
            "originalFile":"w\nx\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" w","-x","+y"]}]}});
        let edited = edited(Agent::Claude, result.to_string().as_bytes()).unwrap();
        assert_eq!(edited.before.as_deref(), Some("w\nx\n"));
        assert_eq!(print_changes(&[edited.change]), "/a: Some(1) None  w|-x|+y");
        let created = json!({"toolUseResult":{"type":"create","filePath":"/a","content":"x","originalFile":null,"structuredPatch":[]}});
        let created = super::edited(Agent::Claude, created.to_string().as_bytes()).unwrap();
        assert_eq!(
            (created.before.as_deref(), print_changes(&[created.change])),
            (Some(""), "/a: whole \"x\"".to_owned())
        );
        assert_eq!(super::edited(Agent::Claude, br#"{"toolUseResult":"Error: no"}"#), None);
    }

    #[test]
    fn codex_patches_are_found_in_any_position() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn x() {\n w\n-x\n+y\n*** Add File: c.rs\n+z\n*** Delete File: d.rs\n*** End Patch";
        let want = "a.rs to b.rs: None Some(\"fn x() {\")  w|-x|+y; c.rs: whole \"z\\n\"; d.rs: deleted";
        assert_eq!(
            codex(&json!({"type":"custom_tool_call","name":"apply_patch","input":patch})),
            want
        );
        let arguments = json!({ "input": patch }).to_string();
        assert_eq!(
            codex(&json!({"type":"function_call","name":"apply_patch","arguments":arguments})),
            want
        );
        let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        let arguments = json!({ "command": ["bash", "-lc", command] }).to_string();
        assert_eq!(
            codex(&json!({"type":"function_call","name":"shell","arguments":arguments})),
            want
        );
        let arguments = json!({ "cmd": command }).to_string();
        assert_eq!(
            codex(&json!({"type":"function_call","name":"exec_command","arguments":arguments})),
            want
        );
        assert_eq!(
            codex(&json!({"type":"custom_tool_call","name":"exec","input":"tools.ls()"})),
            ""
        );
    }

    #[test]
    fn codex_maps_of_changes_have_line_numbers() {
        let changes = json!({"/a":{"type":"update","unified_diff":"@@ -3,2 +3,2 @@\n w\n-x\n+y\n","move_path":null},
            "/b":{"type":"add","content":"z\n"},"/c":{"type":"delete","content":""}});
        let end = json!({"type":"event_msg","payload":{"type":"patch_apply_end","call_id":"c","success":true,"changes":changes}});
        assert_eq!(
            check(Agent::Codex, &end),
            "/a: Some(3) None  w|-x|+y; /b: whole \"z\\n\"; /c: deleted"
        );
    }

    #[test]
    fn grok_reports_an_edit_in_the_call_and_in_the_result() {
        let row = |update: Value| json!({"timestamp":1,"method":"session/update","params":{"update":update}});
        let input = json!({"file_path":"a","old_string":"x","new_string":"y"});
        let call = row(json!({"sessionUpdate":"tool_call","rawInput":input}));
        assert_eq!(check(Agent::Grok, &call), "a: \"y\" for \"x\"");
        let content = json!([{"type":"diff","path":"/a","oldText":"x","newText":"y"}]);
        let done = row(json!({"sessionUpdate":"tool_call_update","status":"completed","content":content}));
        let done = edited(Agent::Grok, done.to_string().as_bytes()).unwrap();
        assert_eq!(print_changes(&[done.change]), "/a: \"y\" for \"x\"");
    }

    #[test]
    fn no_line_panics() {
        for line in [
            "",
            "{",
            "[]",
            "null",
            "{\"toolUseResult\":7}",
            "{\"params\":{\"update\":[]}}",
        ] {
            for agent in Agent::ALL {
                assert_eq!(
                    (changes(agent, line.as_bytes(), 9), edited(agent, line.as_bytes())),
                    (Vec::new(), None)
                );
            }
        }
    }
}
