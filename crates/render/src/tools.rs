//! Classifies the tools of all agents by purpose, so that equivalent tools look the same.

use serde_json::Value;

/// The purpose of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFamily {
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

/// Returns the family of a tool by its name.
pub fn tool_family(tool: &str) -> ToolFamily {
    match tool {
        "write_stdin" | "BashOutput" | "KillShell" => ToolFamily::Shell,
        _ if transcript::runs_commands(tool) => ToolFamily::Shell,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "apply_patch" | "search_replace" | "write" | "write_file"
        | "edit_file" | "create_file" | "file_change" | "patch" => ToolFamily::Edit,
        "Read" | "NotebookRead" | "read_file" | "view_image" | "view" => ToolFamily::Read,
        "Grep" | "Glob" | "LS" | "grep" | "list_dir" | "glob_file_search" | "codebase_search" | "ToolSearch"
        | "tool_search" => ToolFamily::Search,
        "TodoWrite" | "TodoRead" | "update_plan" | "todo_write" | "TaskCreate" | "TaskUpdate" | "TaskList" => {
            ToolFamily::Todo
        }
        "ExitPlanMode" | "exit_plan_mode" => ToolFamily::Plan,
        "AskUserQuestion" | "request_user_input" | "ask_user_question" => ToolFamily::Question,
        "WebSearch" | "WebFetch" | "web_search" | "web_fetch" | "x_search" | "open_page" => ToolFamily::Web,
        "Task" | "Agent" | "spawn_agent" | "task" | "spawn_subagent" => ToolFamily::Agent,
        _ => ToolFamily::Other,
    }
}

/// Parses the input of a tool call. Returns `None` if it is not JSON.
pub fn parse_input(text: &str) -> Option<Value> {
    let text = text.trim_start();
    let is_json = text.starts_with('{') || text.starts_with('[');
    is_json.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Returns the string under the first of `keys` that has one.
pub fn first_text<'v>(input: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| input.get(key)?.as_str())
}

/// Returns a one-line description of a call, or `None` if its summary describes it as well.
pub fn describe_call(tool: &str, asked: &str) -> Option<String> {
    let family = tool_family(tool);
    let is_known = matches!(
        family,
        ToolFamily::Todo | ToolFamily::Plan | ToolFamily::Question | ToolFamily::Web | ToolFamily::Search
    );
    // Parsing the input is expensive, and the summary is good enough for all other families.
    let input = is_known.then(|| parse_input(asked)).flatten()?;
    let text = |keys: &[&str]| first_text(&input, keys).map(str::to_owned);
    match family {
        ToolFamily::Todo => match todo_list(&input) {
            Some(list) => {
                let done = list.iter().filter(|one| is_done(one)).count();
                Some(format!("{done} of {} done", list.len()))
            }
            None => {
                let id = input.get("taskId").or(input.get("id"));
                let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
                let status = text(&["status"]).map(|status| status.replace('_', " "));
                let title = text(&["subject", "content"]);
                title.or_else(|| Some(format!("task {}: {}", id?, status.unwrap_or_default())))
            }
        },
        ToolFamily::Plan => Some("a plan".to_owned()),
        ToolFamily::Question => first_text(input.get("questions")?.get(0)?, &["question", "prompt"]).map(str::to_owned),
        ToolFamily::Web => text(&["query", "url"]),
        _ => text(&["query"]),
    }
}

/// Returns the to-do list in an input: Claude's `todos`, Codex's `plan`, or either form of Grok's.
pub fn todo_list(input: &Value) -> Option<&Vec<Value>> {
    let list = ["todos", "plan", "items", "steps"]
        .into_iter()
        .find_map(|key| input.get(key)?.as_array());
    list.or_else(|| input.as_array())
}

fn is_done(one: &Value) -> bool {
    matches!(first_text(one, &["status", "state"]), Some("completed" | "done"))
}

/// Returns the command that a shell tool runs.
pub fn shell_command(input: &Value) -> Option<String> {
    if let Some(command) = first_text(input, &["command", "cmd", "chars", "script"]) {
        return Some(command.to_owned());
    }
    let words: Vec<&str> = input
        .get("command")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    Some(match words.as_slice() {
        // `bash -lc SCRIPT`: the script is the whole command.
        [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => (*script).to_owned(),
        words => words.join(" "),
    })
}

/// Returns the page script's name for the language of a file, by its extension. Empty if the language is not highlighted.
pub(crate) fn language_of_path(path: &str) -> &'static str {
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

/// Returns the page script's name for the language in the info string of a Markdown fence.
pub(crate) fn language_of_fence(info: &str) -> &'static str {
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
        other => language_of_path(&format!("x.{other}")),
    }
}
