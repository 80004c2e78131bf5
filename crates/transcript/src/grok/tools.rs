//! Tool calls and their results. A call is written at least three times: as the model requested it, as Grok parsed
//! it, and as it ended. Here it becomes one call and one result, joined by `toolCallId`.

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::record::{GrokBlock, GrokUpdate, RawOutput, RowBody, blocks, exit_code, json_of, text_of};
use super::{GrokState, RowPosition};
use crate::command::test_runner;
use crate::event::{Actor, Kind, Kinds, Role};
use crate::ids::{from_entries, hash, in_order};
use crate::joins::{CallResult, OpenCall, call_kinds};
use crate::reading::{Amendment, Delta};
use crate::wire::RawJson;
use crate::wording::{Wording, cut, summary, word};

/// A call without a result so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenToolCall {
    seq: u64,
    ts: Option<Timestamp>,
    tool: Box<str>,
    wording: Box<str>,
    files: Vec<Box<str>>,
    /// True if the model's own input is known; before that the title is used instead.
    has_input: bool,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FinishedCall {
    seq: u64,
    success: Option<bool>,
    exit_code: Option<i32>,
    /// True if it continued in the background and that has ended.
    is_task_over: bool,
}

/// The measurements of a call in `events.jsonl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallMeasurement {
    pub(super) duration_ms: Option<u64>,
    pub(super) succeeded: Option<bool>,
}

/// The calls of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GrokCalls {
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    open: FxHashMap<u64, OpenToolCall>,
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    done: FxHashMap<u64, FinishedCall>,
    /// Measurements of calls whose end is not in the log yet.
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    measured: FxHashMap<u64, CallMeasurement>,
    /// The call that started each background command.
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    tasks: FxHashMap<u64, u64>,
}

/// A tool call before it becomes an event.
pub(super) struct GrokToolCall<'r> {
    pub(super) id: Option<&'r str>,
    pub(super) tool: &'r str,
    /// `execute`, `edit`, …: Grok's classification of the tool.
    pub(super) kind: &'r str,
    /// The input as JSON text, empty if it is missing.
    pub(super) input: &'r str,
    pub(super) title: &'r str,
}

/// The result of a call.
pub(super) struct GrokResult<'r> {
    pub(super) id: &'r str,
    pub(super) text: &'r str,
    pub(super) success: Option<bool>,
    pub(super) exit_code: Option<i32>,
}

impl GrokState {
    pub(super) fn tool_row(&mut self, position: &mut RowPosition<'_>, params: &RowBody<'_>, delta: &mut Delta) -> bool {
        let update = &params.update;
        let Some(id) = update.call_id.get() else { return true };
        let key = hash(id);
        (self.streamed, self.after_user) = (None, false);
        if self.calls.done.contains_key(&key) {
            return true;
        }
        let all = blocks(update.content);
        let edited = edited_files(&all);
        let call = parse_call(update, id);
        let is_described = !call.input.is_empty() || update.title.get().is_some();
        if self.calls.open.contains_key(&key) {
            self.reword(&call, edited, delta);
        } else if update.kind.or_empty() == "tool_call" || is_described {
            self.push_call(position, &call, edited, delta);
        }
        let success = match update.status.or_empty() {
            "completed" => true,
            "failed" | "cancelled" => false,
            _ => return true,
        };
        let output = &update.raw_output;
        let exit = exit_code(output.exit_code).or(exit_code(output.exit_code_camel));
        // A command that fails still has the status `completed`.
        let failed = exit.is_some_and(|code| code != 0)
            || output.timed_out.0
            || !matches!(output.signal.json(), "" | "null")
            || output.read_error.get().is_some()
            || output.error.get().is_some();
        let text = output_text(output, &all);
        let result = GrokResult {
            id,
            text: &text,
            success: Some(success && !failed),
            exit_code: exit,
        };
        self.push_result(position, &result, delta);
        true
    }

    /// Pushes the event of a call.
    pub(super) fn push_call(
        &mut self,
        position: &mut RowPosition<'_>,
        call: &GrokToolCall<'_>,
        edited: Vec<Box<str>>,
        delta: &mut Delta,
    ) {
        let wording = word_tool_call(call);
        let files = if edited.is_empty() { wording.files } else { edited };
        let tests = runs_tests(wording.command.as_deref());
        let retries = self.tools.is_retry(call.tool, &wording.text);
        self.turns.retries += u32::from(retries);
        let actor = if self.shell_by_human {
            Actor::Human
        } else {
            Actor::Agent
        };
        let mut event = position.event(Kind::ToolCall, Role::Assistant, actor);
        event.kinds = call_kinds(!files.is_empty(), tests, retries);
        event.tool = Some(call.tool.into());
        event.call_id = call.id.map(Into::into);
        event.summary = wording.text.clone();
        event.files = files.clone();
        let seq = self.next_seq;
        self.push(position, event, delta);
        let Some(id) = call.id else { return };
        let open = OpenToolCall {
            seq,
            ts: position.ts,
            tool: call.tool.into(),
            wording: wording.text,
            files,
            has_input: !call.input.is_empty(),
        };
        self.tools
            .add_call(id, OpenCall::new(seq, position.ts, &open.tool, &open.wording), delta);
        self.calls.open.insert(hash(id), open);
    }

    /// Updates a call when Grok adds its input, if only a title was known, or the files it writes.
    fn reword(&mut self, call: &GrokToolCall<'_>, edited: Vec<Box<str>>, delta: &mut Delta) {
        let id = call.id.unwrap_or_default();
        let Some(open) = self.calls.open.get_mut(&hash(id)) else {
            return;
        };
        let mut kinds = Kinds::default();
        let mut is_new = false;
        if !open.has_input && !call.input.is_empty() {
            let wording = word_tool_call(call);
            if self.tools.is_retry(call.tool, &wording.text) {
                self.turns.retries += 1;
                kinds = kinds.and(Kind::Retry);
            }
            if runs_tests(wording.command.as_deref()) {
                kinds = kinds.and(Kind::TestRun);
            }
            is_new = true;
            open.has_input = true;
            (open.tool, open.wording) = (call.tool.into(), wording.text);
            if !wording.files.is_empty() {
                open.files = wording.files;
            }
            self.tools
                .add_call(id, OpenCall::new(open.seq, open.ts, &open.tool, &open.wording), delta);
        }
        if !edited.is_empty() && open.files != edited {
            (open.files, is_new) = (edited, true);
        }
        if !open.files.is_empty() {
            kinds = kinds.and(Kind::Edit);
        }
        if is_new {
            delta.amend(Amendment::Reworded {
                seq: open.seq,
                tool: open.tool.clone(),
                summary: open.wording.clone(),
                files: open.files.clone(),
                kinds,
            });
        }
    }

    /// Pushes the result of a call, and joins it with the call.
    pub(super) fn push_result(&mut self, position: &mut RowPosition<'_>, result: &GrokResult<'_>, delta: &mut Delta) {
        let key = hash(result.id);
        let open = self.calls.open.remove(&key);
        let mut event = position.event(Kind::ToolResult, Role::Tool, Actor::Tool);
        event.tool = open.as_ref().map(|open| open.tool.clone());
        event.call_id = Some(result.id.into());
        event.summary = summary(result.text);
        (event.success, event.exit_code) = (result.success, result.exit_code);
        let denied = result.success == Some(false) && result.exit_code.is_none() && is_denial(result.text);
        if denied && self.facts.is_human() {
            // The tool never ran: the human acted here.
            (event.actor, event.kinds) = (Actor::Human, event.kinds.and(Kind::HumanIntervention));
            self.denials += 1;
            self.is_stale |= self.denials_beside > 0;
        } else if result.success == Some(false) {
            event.kinds = event.kinds.and(Kind::Error);
        }
        if let Some(open) = &open {
            event.parent_seq = Some(open.seq);
        }
        let ending = CallResult {
            seq: self.next_seq,
            ts: position.ts,
            success: result.success,
            exit_code: result.exit_code,
            denied,
        };
        self.push(position, event, delta);
        self.tools.add_result(result.id, ending, delta);
        if let Some(open) = open {
            let done = FinishedCall {
                seq: open.seq,
                success: result.success,
                exit_code: result.exit_code,
                is_task_over: false,
            };
            self.calls.done.insert(key, done);
            if let Some(measured) = self.calls.measured.remove(&key) {
                delta.amend(done.with_measurement(measured));
            }
        }
    }

    /// Notes that a command continues in the background: its task reports the result.
    pub(super) fn add_background(&mut self, call_id: &str, task_id: &str) {
        let key = hash(call_id);
        if self.calls.done.contains_key(&key) || self.calls.open.contains_key(&key) {
            self.calls.tasks.insert(hash(task_id), key);
        }
    }

    /// Ends a background command and joins the result with its call.
    pub(super) fn finish_task(
        &mut self,
        task_id: &str,
        success: bool,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
        delta: &mut Delta,
    ) {
        let Some(key) = self.calls.tasks.remove(&hash(task_id)) else {
            return;
        };
        let done = self.calls.done.get_mut(&key).map(|done| {
            done.is_task_over = true;
            done.seq
        });
        if let Some(seq) = done.or_else(|| self.calls.open.get(&key).map(|open| open.seq)) {
            delta.amend(Amendment::Joined {
                seq,
                success: Some(success),
                exit_code,
                duration_ms,
                kinds: Kinds::default(),
            });
        }
    }

    /// Adds measurements of `events.jsonl` to a call. They exclude the time that the human took to approve it, and
    /// they include failures that the log calls completed. The log may not have the result yet.
    pub(super) fn add_measurement(&mut self, call_id: &str, measured: CallMeasurement, delta: &mut Delta) {
        let key = hash(call_id);
        match self.calls.done.get(&key) {
            // This measured only how long it took to start the task.
            Some(done) if done.is_task_over => {}
            Some(done) => delta.amend(done.with_measurement(measured)),
            None => _ = self.calls.measured.insert(key, measured),
        }
    }
}

impl FinishedCall {
    fn with_measurement(self, measured: CallMeasurement) -> Amendment {
        Amendment::Joined {
            seq: self.seq,
            success: match (self.success, measured.succeeded) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (success, succeeded) => success.or(succeeded),
            },
            exit_code: self.exit_code,
            duration_ms: measured.duration_ms,
            kinds: Kinds::default(),
        }
    }
}

/// Returns the call that a row describes.
fn parse_call<'r>(update: &'r GrokUpdate<'r>, id: &'r str) -> GrokToolCall<'r> {
    let meta = &update.meta.tool;
    let title = update.title.or_empty();
    let kind = meta.kind.get().or(update.tool_kind.get()).unwrap_or_default();
    let plain = Some(title).filter(|title| !title.is_empty() && !title.contains(char::is_whitespace));
    let named = meta.name.get().or(plain).or(Some(kind).filter(|kind| !kind.is_empty()));
    GrokToolCall {
        id: Some(id),
        tool: named.unwrap_or("tool"),
        kind,
        input: nonempty_input(update.raw_input),
        title,
    }
}

/// Returns the input, or an empty text if it is an empty value.
fn nonempty_input(input: RawJson<'_>) -> &str {
    match json_of(input).trim() {
        "null" | "{}" | "\"\"" => "",
        json => json,
    }
}

/// Returns the wording of a call from the table that all agents share. Grok's names and keys are mapped to those of
/// the table; a call that has no entry there is worded by its keys.
fn word_tool_call(call: &GrokToolCall<'_>) -> Wording {
    if call.input.is_empty() {
        return Wording {
            text: summary(call.title),
            ..Wording::default()
        };
    }
    let Ok(Value::Object(mut input)) = serde_json::from_str(call.input) else {
        return word(call.tool, call.input);
    };
    // Grok's own name for the input's type.
    input.remove("variant");
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)?.as_str());
    let path = text(&["file_path", "target_file", "path", "filePath"]);
    let pattern = text(&["pattern", "query", "regex", "glob_pattern"]);
    let described = text(&["description", "prompt"]);
    let table = match (call.tool, call.kind) {
        ("run_terminal_command" | "run_terminal_cmd" | "bash" | "Bash" | "shell", _) | (_, "execute")
            if text(&["command"]).is_some() =>
        {
            Some(("Bash", Value::Object(input.clone())))
        }
        ("read_file" | "Read", _) => path.map(|path| ("Read", json!({"file_path": path}))),
        ("write" | "write_file" | "create_file" | "Write", _) => path.map(|path| {
            let content = text(&["content", "contents", "file_text"]).unwrap_or_default();
            ("Write", json!({"file_path": path, "content": content}))
        }),
        ("search_replace" | "edit_file" | "Edit" | "edit", _) | (_, "edit") => {
            path.map(|path| ("Edit", json!({"file_path": path})))
        }
        ("grep" | "grep_search" | "Grep", _) => pattern.map(|pattern| {
            let position = text(&["path", "target_directory"]);
            ("Grep", json!({"pattern": pattern, "path": position}))
        }),
        ("glob" | "glob_file_search" | "Glob", _) => pattern.map(|pattern| ("Glob", json!({"pattern": pattern}))),
        ("task" | "Task" | "spawn_subagent", _) => {
            let kind = text(&["subagent_type", "agent_type"]);
            described.map(|what| ("Task", json!({"description": what, "subagent_type": kind})))
        }
        _ => None,
    };
    match table {
        Some((tool, input)) => word(tool, &input.to_string()),
        None => word(call.tool, &Value::Object(without_nulls(input)).to_string()),
    }
}

/// Removes null values, because Grok writes every field that it left empty.
fn without_nulls(input: Map<String, Value>) -> Map<String, Value> {
    input.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn runs_tests(command: Option<&str>) -> bool {
    command.is_some_and(|command| test_runner(command).is_some())
}

/// Returns the files whose changes a row shows.
fn edited_files(all: &[GrokBlock<'_>]) -> Vec<Box<str>> {
    let mut files: Vec<Box<str>> = Vec::new();
    for block in all.iter().filter(|block| block.kind.or_empty() == "diff") {
        if let Some(path) = block.path.get()
            && !files.iter().any(|known| &**known == path)
        {
            files.push(path.into());
        }
    }
    files
}

/// Returns the text of a tool's output: the bytes that a command printed, else what the row shows, else what the
/// model was shown.
pub(super) fn output_text(output: &RawOutput<'_>, all: &[GrokBlock<'_>]) -> String {
    if let Some(text) = output.output.0.as_deref().filter(|text| !text.is_empty()) {
        return text.to_owned();
    }
    let shown: Vec<String> = all
        .iter()
        .map(|block| text_of(&blocks(block.content)).into_owned())
        .filter(|text| !text.is_empty())
        .collect();
    if !shown.is_empty() {
        return shown.join("\n");
    }
    let candidates = [
        &output.edits.for_prompt,
        &output.file.content,
        &output.listing.content,
        &output.read_error,
        &output.error,
        &output.output_for_prompt,
        &output.content,
        &output.text,
        &output.message,
    ];
    let candidates = candidates.into_iter().find_map(|text| text.get()).unwrap_or_default();
    candidates.to_owned()
}

/// Phrases that say that a human denied a tool call.
const DENIALS: &[&str] = &[
    "user rejected",
    "user denied",
    "user declined",
    "user does not want",
    "user doesn't want",
    "rejected by user",
    "rejected by the user",
    "denied by user",
    "denied by the user",
    "declined by the user",
];

/// Returns `true` if the start of a text says that a human denied the tool call.
fn is_denial(text: &str) -> bool {
    let head = cut(text, 300).to_lowercase();
    DENIALS.iter().any(|words| head.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tool: &str, kind: &str, input: &str) -> String {
        let call = GrokToolCall {
            id: None,
            tool,
            kind,
            input,
            title: "A title",
        };
        word_tool_call(&call).text.into()
    }

    #[test]
    fn grok_tools_are_worded_by_the_shared_table() {
        let cases = [
            (
                "run_terminal_command",
                "execute",
                r#"{"command":"ls","description":"List"}"#,
                "ls # List",
            ),
            (
                "read_file",
                "read",
                r#"{"variant":"ReadFile","target_file":"a.txt","limit":3}"#,
                "a.txt",
            ),
            (
                "search_replace",
                "edit",
                r#"{"file_path":"a.txt","old_string":"x"}"#,
                "a.txt (edit)",
            ),
            (
                "write",
                "edit",
                r#"{"file_path":"a.txt","contents":"four"}"#,
                "a.txt (4 bytes)",
            ),
            (
                "grep",
                "search",
                r#"{"pattern":"TODO","path":"src","head_limit":5.0}"#,
                "/TODO/ in src",
            ),
            ("grep", "search", r#"{"pattern":"TODO","path":null}"#, "/TODO/ in ."),
            ("glob_file_search", "search", r#"{"glob_pattern":"*.rs"}"#, "*.rs"),
            (
                "list_dir",
                "list",
                r#"{"variant":"ListDir","target_directory":"docs","depth":null}"#,
                "target_directory: docs",
            ),
            (
                "spawn_subagent",
                "other",
                r#"{"description":"Count","subagent_type":"explore"}"#,
                "[explore] Count",
            ),
            ("odd", "", "", "A title"),
        ];
        for (tool, kind, input, want) in cases {
            assert_eq!(text(tool, kind, input), want, "{tool} {input}");
        }
    }

    #[test]
    fn only_a_humans_refusal_is_a_denial() {
        assert!(is_denial("The user rejected this tool call."));
        assert!(is_denial("Tool use was rejected by the user: too slow"));
        assert!(!is_denial("Permission denied (os error 13): /Users/ada/app"));
    }
}
