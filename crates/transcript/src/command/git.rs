//! The commits that a command made, according to its command line and its output.
//!
//! Git announces a commit as `[main 1a2b3c4] subject`. A quiet commit, or one whose output went elsewhere, is known only by the message
//! on its command line, and its hash is unknown. Pure: the caller judges the exit status of the command.

use serde_json::Value;

use super::shell::{ShellWord, SimpleCommand, simple_commands};

/// Maximum number of bytes of a command line that are examined. Agents write whole files before they commit them.
const EXAMINED_BYTES_MAX: usize = 256 << 10;
/// Maximum depth of nested shells.
const DEPTH_MAX: u8 = 4;
const HASH_CHARS_MIN: usize = 7;
const HASH_CHARS_MAX: usize = 40;
/// The subcommands that make commits and announce them.
const COMMITTING: [&str; 7] = ["commit", "merge", "cherry-pick", "revert", "rebase", "am", "pull"];
/// Words before a program that do not change what it does.
const PREFIXES: [&str; 13] = [
    "sudo", "env", "time", "command", "rtk", "nohup", "exec", "then", "do", "else", "{", "!", "if",
];

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommit {
    /// Abbreviated, as git printed it; `None` if it printed none.
    pub hash: Option<String>,
    /// The first line of its message, if known.
    pub subject: Option<String>,
}

/// What a command line says about commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitCommand {
    /// One for each `git commit` on the command line: the first line of its message, if it is there.
    pub subjects: Vec<Option<String>>,
}

/// Returns what the input of a tool that runs commands says about commits, or `None` if it makes none. The input is a command
/// line, or JSON that holds one.
pub fn commit_command(input: &str) -> Option<CommitCommand> {
    if !input.contains("git") {
        return None;
    }
    let mut scan = CommitScan::default();
    match serde_json::from_str::<Value>(input) {
        Ok(value) => scan.json(&value),
        Err(_) => scan.free_text(input),
    }
    scan.commits.then_some(CommitCommand {
        subjects: scan.subjects,
    })
}

/// Returns the commits that git announces in the output of a command, in order.
pub fn announced_commits(output: &str) -> Vec<GitCommit> {
    output.lines().filter_map(announced_commit).collect()
}

/// Returns `true` if bytes of a log may contain an announced commit: a hash before `] `.
pub fn may_announce_commits(bytes: &[u8]) -> bool {
    let ends = memchr::memmem::find_iter(bytes, b"] ");
    ends.into_iter().any(|end| {
        let hash = bytes[..end]
            .iter()
            .rev()
            .take_while(|byte| is_hash_byte(**byte))
            .count();
        let before = (end - hash).checked_sub(1).and_then(|at| bytes.get(at));
        (HASH_CHARS_MIN..=HASH_CHARS_MAX).contains(&hash) && before == Some(&b' ')
    })
}

fn is_hash_byte(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Parses `[main 1a2b3c4] subject` and `[main (root-commit) 1a2b3c4] subject`.
fn announced_commit(line: &str) -> Option<GitCommit> {
    let plain = without_colours(line);
    let (inside, subject) = plain.trim().strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = inside.rsplit_once(' ')?;
    let is_hash = (HASH_CHARS_MIN..=HASH_CHARS_MAX).contains(&hash.len()) && hash.bytes().all(is_hash_byte);
    (is_hash && !branch.trim().is_empty()).then(|| GitCommit {
        hash: Some(hash.to_owned()),
        subject: first_line(subject),
    })
}

fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut pieces = line.split('\u{1b}');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(piece.len(), |at| at + 1);
        plain.push_str(&piece[end..]);
    }
    plain
}

#[derive(Default)]
struct CommitScan {
    commits: bool,
    subjects: Vec<Option<String>>,
}

impl CommitScan {
    /// Scans the input of a tool: its command is text, or a list of words.
    fn json(&mut self, value: &Value) {
        match value {
            Value::String(script) => self.script(script, 0),
            Value::Array(words) => {
                let words: Vec<ShellWord<'_>> = words.iter().filter_map(Value::as_str).map(Into::into).collect();
                self.words(&words, None, 0);
            }
            Value::Object(fields) => {
                for name in ["command", "cmd", "script", "input", "code"] {
                    if let Some(field) = fields.get(name).filter(|field| !field.is_object()) {
                        self.json(field);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Scans a text that may be a shell script, or a program in which one is quoted.
    fn free_text(&mut self, text: &str) {
        self.script(text, 0);
        if self.commits {
            return;
        }
        // Codex runs programs in which the command line is a quoted text.
        if text.contains("exec_command") {
            for literal in literals(text) {
                self.script(&literal, 0);
            }
        }
    }

    fn script(&mut self, text: &str, depth: u8) {
        if depth >= DEPTH_MAX {
            return;
        }
        let end = text.floor_char_boundary(EXAMINED_BYTES_MAX.min(text.len()));
        for command in simple_commands(&text[..end]) {
            self.simple_command(&command, depth);
        }
    }

    fn simple_command(&mut self, command: &SimpleCommand<'_>, depth: u8) {
        self.words(&command.words, command.stdin.as_deref(), depth);
        for script in &command.substitutions {
            self.script(script, depth + 1);
        }
    }

    fn words(&mut self, words: &[ShellWord<'_>], stdin: Option<&str>, depth: u8) {
        let is_before = |word: &&ShellWord<'_>| PREFIXES.contains(&word.as_ref()) || word.contains('=');
        let rest = &words[words.iter().take_while(is_before).count()..];
        let Some((program, arguments)) = rest.split_first() else {
            return;
        };
        match program.rsplit(['/', '\\']).next().unwrap_or(program) {
            "git" | "git.exe" => self.git(arguments, stdin),
            "bash" | "sh" | "zsh" => {
                let is_script_flag = |word: &ShellWord<'_>| word.starts_with('-') && word.ends_with('c');
                let script = arguments
                    .iter()
                    .position(is_script_flag)
                    .and_then(|at| arguments.get(at + 1));
                if let Some(script) = script {
                    self.script(script, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn git(&mut self, arguments: &[ShellWord<'_>], stdin: Option<&str>) {
        let mut rest = arguments;
        while let Some((option, behind)) = rest.split_first().filter(|(word, _)| word.starts_with('-')) {
            let has_value = matches!(
                option.as_ref(),
                "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace"
            );
            rest = behind.get(usize::from(has_value)..).unwrap_or_default();
        }
        let Some((verb, arguments)) = rest.split_first() else {
            return;
        };
        if !COMMITTING.contains(&verb.as_ref()) || arguments.iter().any(|word| word == "--dry-run") {
            return;
        }
        self.commits = true;
        if verb == "commit" {
            self.subjects
                .push(message(arguments, stdin).and_then(|message| first_line(&message)));
        }
    }
}

/// Returns the quoted texts of a program that mention git, without their escapes.
fn literals(program: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = program.chars();
    while let Some(quote) = chars.find(|c| matches!(c, '"' | '\'' | '`')) {
        let mut literal = String::new();
        while let Some(c) = chars.next().filter(|c| *c != quote) {
            literal.push(match c {
                '\\' => match chars.next() {
                    Some('n') => '\n',
                    Some(escaped) => escaped,
                    None => break,
                },
                c => c,
            });
        }
        if literal.contains("git") {
            found.push(literal);
        }
    }
    found
}

/// Returns the first message among the arguments of `git commit`.
fn message(arguments: &[ShellWord<'_>], stdin: Option<&str>) -> Option<String> {
    for (at, word) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).map(|word| word.to_string());
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let found = match word.as_ref() {
            "--message" => next(),
            "-F" | "--file" if next().as_deref() == Some("-") => stdin.map(str::to_owned),
            "--file=-" | "-F-" => stdin.map(str::to_owned),
            "--" => return None,
            flags if is_short && flags.ends_with('m') => next(),
            flags if flags.starts_with("-m") => Some(flags[2..].to_owned()),
            flags => flags.strip_prefix("--message=").map(str::to_owned),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns the first non-empty line of a message. A here-document such as `$(cat <<'EOF' …` is unwrapped.
fn first_line(message: &str) -> Option<String> {
    let message = message.trim_start();
    let is_heredoc = message.starts_with("$(cat <<") || message.starts_with("`cat <<");
    let mut lines = message.lines().skip(usize::from(is_heredoc));
    let line = lines.find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(input: &str) -> Option<Vec<Option<String>>> {
        commit_command(input).map(|command| command.subjects)
    }

    fn one(subject: &str) -> Option<Vec<Option<String>>> {
        Some(vec![Some(subject.to_owned())])
    }

    #[test]
    fn messages_are_found_in_every_notation() {
        for input in [
            "git commit -m 'mend the lexer'",
            "cd /w && git add -A && git -C app commit -qam \"mend the lexer\"",
            "git -c user.name=ada commit --message='mend the lexer'",
            "git commit -F - <<'EOF'\nmend the lexer\n\nBecause.\nEOF",
            "git commit -m \"$(cat <<'EOF'\nmend the lexer\n\nBecause it is broken.\nEOF\n)\"",
            "{\"command\":\"cd app && git commit -m \\\"mend the lexer\\\"\"}",
            "{\"command\":[\"bash\",\"-lc\",\"git commit -m 'mend the lexer'\"],\"workdir\":\"/w\"}",
            "{\"command\":[\"git\",\"commit\",\"-m\",\"mend the lexer\"]}",
            "const r = await tools.exec_command({cmd: \"git commit -m \\\"mend the lexer\\\"\"});",
        ] {
            assert_eq!(subjects(input), one("mend the lexer"), "{input}");
        }
        assert_eq!(subjects("git commit --amend --no-edit"), Some(vec![None]));
        assert_eq!(subjects("git merge side && git cherry-pick abc"), Some(Vec::new()));
        assert_eq!(
            subjects("git commit -qm a; git commit -qm b"),
            Some(vec![Some("a".to_owned()), Some("b".to_owned())])
        );
    }

    #[test]
    fn commands_that_only_mention_commits_make_none() {
        for input in [
            "git log --grep commit",
            "echo git commit -m x",
            "git commit --dry-run -m x",
            "git show HEAD",
            "cat commit.txt",
            "{\"command\":\"ls\"}",
        ] {
            assert_eq!(subjects(input), None, "{input}");
        }
    }

    #[test]
    fn announced_commits_are_read_from_the_whole_output() {
        let output = "hooks ran\n[main 1a2b3c4] one: [x] y\n 1 file changed\n\u{1b}[1m[main (root-commit) 0123456789] two\u{1b}[0m\n\
                      [detached HEAD abcdef0] three\n[INFO 12:00] no\n[1a2b3c4] no\n[main xyz] no\n";
        let printed: Vec<String> = announced_commits(output)
            .into_iter()
            .map(|commit| format!("{} {}", commit.hash.unwrap(), commit.subject.unwrap()))
            .collect();
        assert_eq!(printed, ["1a2b3c4 one: [x] y", "0123456789 two", "abcdef0 three"]);
        assert!(may_announce_commits(br#"{"a":"x\n[main 1a2b3c4] one"}"#));
        assert!(!may_announce_commits(br#"{"a":"[1a2b3c4] one [main 1a2b3c] two"}"#));
    }
}
