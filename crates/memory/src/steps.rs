//! Combines events into steps: a tool call and its result are one step, any other event is a step of its own.
//!
//! A result may come late, twice or never, so calls wait for theirs in a short queue.

use std::collections::VecDeque;

use jiff::Timestamp;
use transcript::{Actor, Kind, PartKind, SessionEvent, runs_commands};

/// Maximum number of calls that wait for a result. If there are more, the oldest becomes a step without a result.
const OPEN_MAX: usize = 64;

/// One step of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'e> {
    Call(&'e CallStep),
    Event(&'e SessionEvent),
}

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallStep {
    pub(crate) seq: u64,
    pub(crate) line: u64,
    pub(crate) turn: Option<u32>,
    pub(crate) ts: Option<Timestamp>,
    pub(crate) tool: Box<str>,
    /// The call on one line.
    pub(crate) wording: Box<str>,
    pub(crate) files: Vec<Box<str>>,
    pub(crate) is_test: bool,
    pub(crate) is_retry: bool,
    pub(crate) success: Option<bool>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) is_sidechain: bool,
    pub(crate) end: CallStatus,
    /// The beginning of the result.
    pub(crate) result: Box<str>,
    /// The part, line and block of the result.
    pub(crate) result_at: Option<(PartKind, u64, u32)>,
    pub(crate) call_at: (PartKind, u32),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStatus {
    /// It returned a result.
    Answered,
    /// It returned an error.
    Failed,
    /// A human denied it.
    Denied,
    /// A human interrupted it.
    Stopped,
    /// The log contains no result.
    Open,
}

impl CallStep {
    /// Returns `true` if the tool did not do what it was called for. A call that a human denied or interrupted did not
    /// fail, and neither did a query whose answer is no.
    pub(crate) fn has_failed(&self) -> bool {
        let has_error = self.success == Some(false) || self.end == CallStatus::Failed;
        has_error && !matches!(self.end, CallStatus::Denied | CallStatus::Stopped) && !self.is_negative_answer()
    }

    /// Returns `true` if the command is a query whose exit code 1 means "no" instead of an error.
    fn is_negative_answer(&self) -> bool {
        const QUERIES: [&str; 10] = [
            "grep", "rg", "diff", "test", "which", "find", "ls", "cmp", "pgrep", "command",
        ];
        self.exit_code == Some(1) && self.program().is_some_and(|program| QUERIES.contains(&program))
    }

    /// Returns the program that a shell command runs, after changes of directory and assignments of variables.
    pub(crate) fn program(&self) -> Option<&str> {
        let words = words_of_command(&self.tool, &self.wording)?;
        words.first().map(|word| word.rsplit('/').next().unwrap_or(word))
    }

    /// Returns the program and its subcommand, such as `cargo test`, without further arguments.
    pub(crate) fn command(&self) -> Option<String> {
        // A patch applied by a shell command counts as an edit.
        if !self.files.is_empty() {
            return None;
        }
        let words = words_of_command(&self.tool, &self.wording)?;
        let program = words.first()?.rsplit('/').next()?;
        // A word such as `-v` or `***` is the rest of something that is no command.
        if !program.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '.' | '_' | '[')) {
            return None;
        }
        let is_verb =
            |word: &&&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let verb = words.get(1).filter(is_verb).filter(|word| !word.starts_with('-'));
        Some(match verb {
            Some(verb) => format!("{program} {verb}"),
            None => program.to_owned(),
        })
    }
}

impl CallStep {
    /// Returns a description of what was attempted, by which errors and their repairs are grouped: a command, an edit of a
    /// file, or a tool. Retries are recognised earlier, by the reader (`is_retry` in `transcript`).
    pub(crate) fn describe_attempt(&self) -> String {
        let edit = || {
            let file = self.files.first()?;
            Some(format!("edit of {}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
        };
        self.command().or_else(edit).unwrap_or_else(|| self.tool.to_string())
    }
}

fn words_of_command<'w>(tool: &str, wording: &'w str) -> Option<Vec<&'w str>> {
    if !runs_commands(tool) {
        return None;
    }
    let is_before = |piece: &&str| {
        let first = piece.split_whitespace().next().unwrap_or_default();
        matches!(
            first,
            "cd" | "set" | "export" | "source" | "sleep" | "for" | "case" | "done" | "fi" | "esac"
        ) || first.is_empty()
    };
    let piece = wording
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| line.split([';', '&', '|']))
        .map(without_shell_syntax)
        .find(|piece| !is_before(piece))
        .unwrap_or_default();
    let is_variable = |word: &&str| word.contains('=') || matches!(*word, "sudo" | "env" | "time" | "command" | "rtk");
    let mut words: Vec<&str> = piece.split_whitespace().collect();
    let skipped = words.iter().take_while(|word| is_variable(word)).count();
    // `command -v rg` asks for a program and does not run it: an option belongs to the word before it.
    let is_option = words.get(skipped).is_some_and(|word| word.starts_with('-'));
    words.drain(..skipped - usize::from(is_option && skipped > 0));
    Some(words)
}

/// Returns a command without what groups it or tests it: `(git diff`, `do cargo test`, `if ! rg x`.
fn without_shell_syntax(piece: &str) -> &str {
    let mut piece = piece.trim_start();
    loop {
        let grouped = piece.trim_start_matches(['(', '{', '!']).trim_start();
        let word = grouped.split_whitespace().next().unwrap_or_default();
        let inner = match word {
            "do" | "then" | "else" | "if" | "elif" | "while" | "until" => grouped[word.len()..].trim_start(),
            _ => grouped,
        };
        if inner.len() == piece.len() {
            return piece;
        }
        piece = inner;
    }
}

/// Joins calls with their results.
#[derive(Debug, Default)]
pub(crate) struct StepJoiner {
    open: VecDeque<CallStep>,
}

impl StepJoiner {
    /// Returns `true` if a tool is running. Tools that wait for the user do not count.
    pub(crate) fn is_working(&self) -> bool {
        self.open
            .iter()
            .any(|call| !matches!(&*call.tool, "AskUserQuestion" | "ExitPlanMode"))
    }

    /// Adds the next event, and passes on the steps that it completes.
    pub(crate) fn take(&mut self, event: &SessionEvent, emit: &mut impl FnMut(Step<'_>)) {
        if event.kinds.has(Kind::ToolCall) {
            self.open.push_back(call_step(event));
            if self.open.len() > OPEN_MAX
                && let Some(oldest) = self.open.pop_front()
            {
                emit(Step::Call(&oldest));
            }
            return;
        }
        if event.trigger {
            // A new prompt ends all earlier calls: no result will follow.
            self.end(emit);
        }
        match self.find_call(event) {
            Some(at) if event.kinds.has(Kind::ToolResult) => {
                let Some(mut call) = self.open.remove(at) else { return };
                call.add_result(event);
                emit(Step::Call(&call));
            }
            _ => emit(Step::Event(event)),
        }
    }

    /// Passes on the calls without a result.
    pub(crate) fn end(&mut self, emit: &mut impl FnMut(Step<'_>)) {
        for call in self.open.drain(..) {
            emit(Step::Call(&call));
        }
    }

    /// Returns the index of the call that a result belongs to: its parent event or, without one, the oldest call of the
    /// same tool.
    fn find_call(&self, result: &SessionEvent) -> Option<usize> {
        let fits = |call: &CallStep| result.tool.as_deref().is_none_or(|tool| *tool == *call.tool);
        let parent = |call: &CallStep| result.parent_seq == Some(call.seq) && fits(call);
        let open = || self.open.iter();
        open().position(parent).or_else(|| open().position(fits))
    }
}

impl CallStep {
    fn add_result(&mut self, result: &SessionEvent) {
        self.end = if result.actor == Actor::Human {
            CallStatus::Denied
        } else if result.kinds.has(Kind::Error) {
            CallStatus::Failed
        } else if result.success == Some(false) {
            CallStatus::Stopped
        } else {
            CallStatus::Answered
        };
        // The result of a background command may already be joined with its call.
        self.success = self.success.or(result.success);
        self.exit_code = self.exit_code.or(result.exit_code);
        self.result = result.summary.clone();
        self.result_at = Some((result.part, result.line, result.block));
        self.ts = result.ts.or(self.ts);
    }
}

fn call_step(call: &SessionEvent) -> CallStep {
    CallStep {
        seq: call.seq,
        line: call.line,
        turn: call.turn,
        ts: call.ts,
        tool: call.tool.clone().unwrap_or_default(),
        wording: call.summary.clone(),
        files: call.files.clone(),
        is_test: call.kinds.has(Kind::TestRun),
        is_retry: call.kinds.has(Kind::Retry),
        success: call.success,
        exit_code: call.exit_code,
        duration_ms: call.duration_ms,
        is_sidechain: call.is_sidechain,
        end: CallStatus::Open,
        result: "".into(),
        result_at: None,
        call_at: (call.part, call.block),
    }
}
