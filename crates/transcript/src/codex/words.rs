//! Wordings for Codex tool calls: one line of text, the files they write and the commands they run.

use std::borrow::Cow;

use serde_json::Value;

use super::patch;
use crate::wire::{RawJson, WireText, wire};
use crate::wording::{SUMMARY_CHARS_MAX, Wording, cut, summary, word};

/// Maximum number of commands per program.
const COMMANDS_MAX: usize = 32;

/// Returns the wording of a call of `tool` with its arguments or free-form input.
pub(super) fn word_call(tool: &str, input: &str) -> Wording {
    let name = tool.split(['<', '?']).next().unwrap_or(tool);
    let input: Cow<'_, str> = match input.starts_with('"') {
        true => serde_json::from_str(input).unwrap_or(input.into()),
        false => input.into(),
    };
    if input == "null" {
        return Wording::default();
    }
    let known: CodexToolInput<'_> = serde_json::from_str(&input).unwrap_or_default();
    match name {
        "shell" | "shell_command" | "exec_command" | "local_shell" | "container.exec" | "unified_exec" => {
            let command = command_in(known.command).or_else(|| command_in(known.cmd));
            match command {
                Some(command) => shell(&command, known.justification.get()),
                None => word(tool, &input),
            }
        }
        "apply_patch" => word_patch(known.input.get().or(known.patch.get()).unwrap_or(&input)),
        "exec" if !input.trim_start().starts_with('{') => program(&input),
        "spawn_agent" if known.message.get().is_some() => task(&known),
        "view_image" if known.path.get().is_some() => word_text(known.path.or_empty()),
        _ => word(tool, &input),
    }
}

/// Returns the wording of a command given as a list of arguments.
pub(super) fn word_command(arguments: &[WireText<'_>]) -> Wording {
    let words: Vec<&str> = arguments.iter().map(WireText::or_empty).collect();
    shell(&script(&words), None)
}

/// Returns the wording of an edit of `files`.
pub(super) fn word_files(files: Vec<Box<str>>) -> Wording {
    Wording {
        text: summary(&patch::wording(&files)),
        files,
        command: None,
    }
}

/// Returns a wording that is just `text`.
pub(super) fn word_text(text: &str) -> Wording {
    Wording {
        text: summary(text),
        ..Wording::default()
    }
}

fn shell(command: &str, description: Option<&str>) -> Wording {
    let files = match command.contains("apply_patch") {
        true => patch::files(command),
        false => Vec::new(),
    };
    let text = match (&files[..], description) {
        ([_, ..], _) => summary(&patch::wording(&files)),
        ([], Some(description)) => summary(&format!("{} # {description}", cut(command, SUMMARY_CHARS_MAX))),
        ([], None) => summary(command),
    };
    Wording {
        text,
        files,
        command: Some(command.into()),
    }
}

fn word_patch(text: &str) -> Wording {
    let files = patch::files(text);
    match files.is_empty() {
        true => word_text(text),
        false => word_files(files),
    }
}

fn task(input: &CodexToolInput<'_>) -> Wording {
    let message = cut(input.message.or_empty(), SUMMARY_CHARS_MAX);
    match input.agent_type.get() {
        Some(kind) => word_text(&format!("[{kind}] {message}")),
        None => word_text(message),
    }
}

/// Returns the wording of a program that calls tools: its commands are the text, and its patches are edits.
fn program(source: &str) -> Wording {
    let mut commands: Vec<String> = Vec::new();
    let mut files: Vec<Box<str>> = Vec::new();
    for (key, literal) in literals(source) {
        if matches!(key, "cmd" | "command") && commands.len() < COMMANDS_MAX {
            commands.push(literal);
        } else {
            for file in patch::files(&literal) {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
    }
    let command = commands.join("\n");
    let text = match (commands.is_empty(), files.is_empty()) {
        (true, true) => summary(source),
        (true, false) => summary(&patch::wording(&files)),
        (false, true) => summary(&command),
        (false, false) => summary(&format!(
            "{}; {}",
            patch::wording(&files),
            cut(&command, SUMMARY_CHARS_MAX)
        )),
    };
    Wording {
        text,
        files,
        command: (!command.is_empty()).then(|| command.into()),
    }
}

/// Returns the string literals of a program, each with the key it is assigned to.
fn literals(source: &str) -> Vec<(&str, String)> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut key = "";
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'' | b'`') => {
                let start = at + 1;
                let end = end_of_literal(bytes, start, quote);
                let text = &source[start..end];
                at = end + 1;
                let rest = source.get(at..).unwrap_or_default().trim_start();
                if rest.starts_with(':') && quote != b'`' {
                    key = text;
                } else {
                    found.push((key, unescape(text)));
                    key = "";
                }
            }
            b'/' if bytes[at..].starts_with(b"//") => {
                at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                    .count();
                let name = &source[at..at + length];
                at += length;
                let rest = source[at..].trim_start();
                key = if rest.starts_with(':') || rest.starts_with('=') {
                    name
                } else {
                    ""
                };
            }
            b':' | b'=' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            _ => {
                key = "";
                at += 1;
            }
        }
    }
    found
}

/// Returns the end of the literal that starts at `at`.
fn end_of_literal(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r' | '\n') | None => {}
            Some(other) => out.push(other),
        }
    }
    out
}

/// Returns the command in an argument: a shell command line, or a list of words.
fn command_in(raw: RawJson<'_>) -> Option<String> {
    match serde_json::from_str(raw.json()).ok()? {
        Value::String(line) => Some(line),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| script(&words))
        }
        _ => None,
    }
}

/// Returns the command line for a list of words: the script of a shell, or the quoted words.
fn script(words: &[&str]) -> String {
    if let [shell, flags, script] = words
        && is_shell(shell)
        && flags.starts_with('-')
        && flags.ends_with('c')
    {
        return (*script).to_owned();
    }
    let quoted: Vec<Cow<'_, str>> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

fn is_shell(program: &str) -> bool {
    matches!(
        program.rsplit('/').next(),
        Some("bash" | "sh" | "zsh" | "dash" | "fish" | "ksh")
    )
}

fn quote(word: &str) -> Cow<'_, str> {
    let word_text = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(word_text) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")).into(),
    }
}

wire! {
    /// The arguments of the tools with a known wording.
    struct CodexToolInput<'a> {
        command: RawJson<'a> = "command",
        cmd: RawJson<'a> = "cmd",
        justification: WireText<'a> = "justification",
        input: WireText<'a> = "input",
        patch: WireText<'a> = "patch",
        message: WireText<'a> = "message",
        agent_type: WireText<'a> = "agent_type",
        path: WireText<'a> = "path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, input: &str) -> String {
        let worded = word_call(tool, input);
        let files = worded.files.iter().map(|file| format!(" [{file}]")).collect::<String>();
        let command = worded
            .command
            .map(|command| format!(" $ {command}"))
            .unwrap_or_default();
        format!("{}{files}{command}", worded.text)
    }

    #[test]
    fn shells_are_worded_by_their_command() {
        let cases = [
            (
                "shell",
                r#"{"command":["bash","-lc","cargo test"]}"#,
                "cargo test $ cargo test",
            ),
            (
                "shell",
                r#"{"command":["git","commit","-m","it's done"]}"#,
                r"git commit -m 'it'\''s done' $ git commit -m 'it'\''s done'",
            ),
            (
                "shell_command",
                r#"{"command":"ls","justification":"look"}"#,
                "ls # look $ ls",
            ),
            (
                "exec_command",
                r#"{"cmd":"pytest -q","workdir":"/w"}"#,
                "pytest -q $ pytest -q",
            ),
            ("shell<|channel|>", r#"{"cmd":["ls"]}"#, "ls $ ls"),
            ("shell", "not json", "not json"),
            (
                "update_plan",
                r#"{"plan":[1,2],"explanation":"why"}"#,
                "explanation: why, plan: [2]",
            ),
            (
                "spawn_agent",
                r#"{"agent_type":"explorer","message":"look"}"#,
                "[explorer] look",
            ),
            ("view_image", r#"{"path":"/a.png"}"#, "/a.png"),
        ];
        for (tool, input, worded) in cases {
            assert_eq!(check(tool, input), worded, "{tool} {input}");
        }
    }

    #[test]
    fn a_patch_is_an_edit_in_every_form() {
        let patch = r"*** Begin Patch\n*** Update File: a.rs\n@@\n*** End Patch";
        let text = patch.replace(r"\n", "\n");
        assert_eq!(check("apply_patch", &text), "a.rs (edit) [a.rs]");
        assert_eq!(
            check("apply_patch", &format!(r#"{{"input":"{patch}"}}"#)),
            "a.rs (edit) [a.rs]"
        );
        let heredoc = format!(r#"{{"command":["bash","-lc","apply_patch <<'EOF'\n{patch}\nEOF"]}}"#);
        assert!(check("shell", &heredoc).starts_with("a.rs (edit) [a.rs] $ apply_patch"));
        let program = format!("const p = \"{patch}\";\nawait tools.apply_patch(p);");
        assert_eq!(check("exec", &program), "a.rs (edit) [a.rs]");
        assert_eq!(
            check("exec", &format!("await tools.apply_patch(`{text}`)")),
            "a.rs (edit) [a.rs]"
        );
    }

    #[test]
    fn a_program_is_worded_by_the_commands_it_runs() {
        let source = r#"// cmd: "no"
const r = await Promise.all([tools.exec_command({cmd:"cargo test -p \"app\"", workdir: "/w"}), tools.exec_command({ "cmd": 'ls' })]);
text(r);"#;
        assert_eq!(
            check("exec", source),
            "cargo test -p \"app\"\nls $ cargo test -p \"app\"\nls"
        );
        assert_eq!(check("exec", "text(1)"), "text(1)");
        for cut in 0..source.len() {
            word_call("exec", &source[..cut]);
        }
    }
}
