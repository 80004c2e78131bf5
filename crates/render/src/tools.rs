//! The tools of all agents by what they do, so that each is shown in the same dress whoever calls it.

use serde_json::Value;

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Shell,
    Edit,
    Read,
    Search,
    Todo,
    Plan,
    Question,
    Web,
    Agent,
    Other,
}

/// The family of a tool. Names from other servers are prefixed: `mcp__server__tool`.
pub fn family(tool: &str) -> Family {
    match tool {
        "write_stdin" | "BashOutput" | "KillShell" => Family::Shell,
        _ if transcript::runs_commands(tool) => Family::Shell,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "apply_patch" | "search_replace" | "write" | "write_file"
        | "edit_file" | "create_file" | "file_change" | "patch" => Family::Edit,
        "Read" | "NotebookRead" | "read_file" | "view_image" | "view" => Family::Read,
        "Grep" | "Glob" | "LS" | "grep" | "list_dir" | "glob_file_search" | "codebase_search" | "ToolSearch"
        | "tool_search" => Family::Search,
        "TodoWrite" | "TodoRead" | "update_plan" | "todo_write" | "TaskCreate" | "TaskUpdate" | "TaskList" => {
            Family::Todo
        }
        "ExitPlanMode" | "exit_plan_mode" => Family::Plan,
        "AskUserQuestion" | "request_user_input" | "ask_user_question" => Family::Question,
        "WebSearch" | "WebFetch" | "web_search" | "web_fetch" | "x_search" | "open_page" => Family::Web,
        "Task" | "Agent" | "spawn_agent" | "task" | "spawn_subagent" => Family::Agent,
        _ => Family::Other,
    }
}

/// The input of a tool call, where it is JSON.
pub fn input(text: &str) -> Option<Value> {
    let text = text.trim_start();
    let is_json = text.starts_with('{') || text.starts_with('[');
    is_json.then(|| serde_json::from_str(text).ok()).flatten()
}

/// A text in the input, under the first of some keys that has one.
pub fn text_of<'v>(input: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| input.get(key)?.as_str())
}

/// A call in one line, where it can be told better than by its keys.
pub fn wording(tool: &str, asked: &str) -> Option<String> {
    let family = family(tool);
    let is_known = matches!(
        family,
        Family::Todo | Family::Plan | Family::Question | Family::Web | Family::Search
    );
    // Most calls are told by their summaries: only these are worth taking apart.
    let input = is_known.then(|| input(asked)).flatten()?;
    let text = |keys: &[&str]| text_of(&input, keys).map(str::to_owned);
    match family {
        Family::Todo => match list_of(&input) {
            Some(list) => {
                let done = list.iter().filter(|one| is_done(one)).count();
                Some(format!("{done} of {} done", list.len()))
            }
            None => {
                let id = input.get("taskId").or(input.get("id"));
                let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
                let status = text(&["status"]).map(|status| status.replace('_', " "));
                let told = text(&["subject", "content"]);
                told.or_else(|| Some(format!("task {}: {}", id?, status.unwrap_or_default())))
            }
        },
        Family::Plan => Some("a plan".to_owned()),
        Family::Question => text_of(input.get("questions")?.get(0)?, &["question", "prompt"]).map(str::to_owned),
        Family::Web => text(&["query", "url"]),
        _ => text(&["query"]),
    }
}

/// The list of things to do in an input: Claude's `todos`, Codex's `plan`, Grok's of either form.
pub fn list_of(input: &Value) -> Option<&Vec<Value>> {
    let list = ["todos", "plan", "items", "steps"]
        .into_iter()
        .find_map(|key| input.get(key)?.as_array());
    list.or_else(|| input.as_array())
}

fn is_done(one: &Value) -> bool {
    matches!(text_of(one, &["status", "state"]), Some("completed" | "done"))
}

/// The command that a shell runs.
pub fn command(input: &Value) -> Option<String> {
    if let Some(command) = text_of(input, &["command", "cmd", "chars", "script"]) {
        return Some(command.to_owned());
    }
    let words: Vec<&str> = input
        .get("command")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    Some(match words.as_slice() {
        // What stands behind `bash -lc` is the whole command.
        [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => (*script).to_owned(),
        words => words.join(" "),
    })
}

/// The language of a file by its ending, as the colours know it.
pub(crate) fn language(path: &str) -> &'static str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "rs" => "rs",
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "vue" | "svelte" => "js",
        "py" | "pyi" => "py",
        "go" => "go",
        "c" | "h" | "cc" | "cpp" | "hpp" | "java" | "kt" | "cs" | "swift" | "scala" | "dart" | "zig" | "php" => "c",
        "sh" | "bash" | "zsh" | "fish" | "ps1" => "sh",
        "json" | "jsonl" | "json5" => "json",
        "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "env" => "yaml",
        "html" | "htm" | "xml" | "svg" => "xml",
        "css" | "scss" | "less" => "css",
        "sql" => "sql",
        "rb" => "rb",
        "lua" | "hs" => "lua",
        "md" | "markdown" | "txt" | "log" => "",
        _ if matches!(name, "Makefile" | "Dockerfile" | "Justfile") => "sh",
        _ => "",
    }
}

/// The language that a fence in Markdown names.
pub(crate) fn fenced(info: &str) -> &'static str {
    let word = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        "rust" => "rs",
        "javascript" | "typescript" | "jsx" | "tsx" => "js",
        "python" | "python3" => "py",
        "golang" => "go",
        "cpp" | "c++" | "java" | "kotlin" | "csharp" | "swift" => "c",
        "shell" | "bash" | "console" | "terminal" | "zsh" | "powershell" => "sh",
        "ruby" => "rb",
        "diff" | "patch" => "diff",
        other => language(&format!("x.{other}")),
    }
}
