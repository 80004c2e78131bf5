//! Events as steps: a tool call and what came of it are one step, everything else is one by itself.
//!
//! Results may come late, twice or never, so calls wait for theirs in a short queue.

use std::collections::VecDeque;

use jiff::Timestamp;
use transcript::{Actor, Kind, PartKind, SessionEvent, runs_commands};

/// So many calls wait for their results; an older one is told without.
const OPEN_MAX: usize = 64;

/// One step of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'e> {
    Ran(&'e Ran),
    Event(&'e SessionEvent),
}

/// A tool call and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) seq: u64,
    pub(crate) line: u64,
    pub(crate) turn: Option<u32>,
    pub(crate) ts: Option<Timestamp>,
    pub(crate) tool: Box<str>,
    /// The call in one line.
    pub(crate) wording: Box<str>,
    pub(crate) files: Vec<Box<str>>,
    pub(crate) is_test: bool,
    pub(crate) is_retry: bool,
    pub(crate) success: Option<bool>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) is_sidechain: bool,
    pub(crate) end: End,
    /// The beginning of what the tool gave back.
    pub(crate) result: Box<str>,
    /// Where the result stands: its part, line and block.
    pub(crate) result_at: Option<(PartKind, u64, u32)>,
    pub(crate) call_at: (PartKind, u32),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It gave something back.
    Answered,
    /// It gave something back, and that is an error.
    Failed,
    /// A human said no.
    Denied,
    /// A human stopped it.
    Stopped,
    /// Nothing came back.
    Open,
}

impl Ran {
    /// Whether the tool did not do what it was asked for. What a human refused did not fail, and a question that is
    /// answered by no is answered.
    pub(crate) fn failed(&self) -> bool {
        let told = self.success == Some(false) || self.end == End::Failed;
        told && !matches!(self.end, End::Denied | End::Stopped) && !self.only_asks()
    }

    /// Whether the command asks something whose answer may be no, and its exit code says so.
    fn only_asks(&self) -> bool {
        const ASKING: [&str; 10] = [
            "grep", "rg", "diff", "test", "which", "find", "ls", "cmp", "pgrep", "command",
        ];
        self.exit_code == Some(1) && self.program().is_some_and(|program| ASKING.contains(&program))
    }

    /// The program a shell runs first, behind directories and variables.
    pub(crate) fn program(&self) -> Option<&str> {
        let words = command_words(&self.tool, &self.wording)?;
        words.first().map(|word| word.rsplit('/').next().unwrap_or(word))
    }

    /// The program and its first argument where that is a word, such as `cargo test`: what is run, without what on.
    pub(crate) fn command(&self) -> Option<String> {
        // A patch given to a shell is an edit.
        if !self.files.is_empty() {
            return None;
        }
        let words = command_words(&self.tool, &self.wording)?;
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

impl Ran {
    /// What was tried, so that trying it again is seen: a command, the edit of a file, or a tool.
    pub(crate) fn what(&self) -> String {
        let edit = || {
            let file = self.files.first()?;
            Some(format!("edit of {}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
        };
        self.command().or_else(edit).unwrap_or_else(|| self.tool.to_string())
    }
}

fn command_words<'w>(tool: &str, wording: &'w str) -> Option<Vec<&'w str>> {
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
pub(crate) struct Steps {
    open: VecDeque<Ran>,
}

impl Steps {
    /// Whether a tool is at work.
    pub(crate) fn is_working(&self) -> bool {
        self.open
            .iter()
            .any(|ran| !matches!(&*ran.tool, "AskUserQuestion" | "ExitPlanMode"))
    }

    /// Takes the next event, and gives the steps that are whole by it.
    pub(crate) fn take(&mut self, event: &SessionEvent, give: &mut impl FnMut(Step<'_>)) {
        if event.kinds.has(Kind::ToolCall) {
            self.open.push_back(ran(event));
            if self.open.len() > OPEN_MAX
                && let Some(oldest) = self.open.pop_front()
            {
                give(Step::Ran(&oldest));
            }
            return;
        }
        if event.trigger {
            // Whatever was asked before is over: nothing will come back to it.
            self.end(give);
        }
        match self.call_of(event) {
            Some(at) if event.kinds.has(Kind::ToolResult) => {
                let Some(mut call) = self.open.remove(at) else { return };
                call.answer(event);
                give(Step::Ran(&call));
            }
            _ => give(Step::Event(event)),
        }
    }

    /// Gives the calls to which nothing came back.
    pub(crate) fn end(&mut self, give: &mut impl FnMut(Step<'_>)) {
        for call in self.open.drain(..) {
            give(Step::Ran(&call));
        }
    }

    /// The call that a result belongs to: the one it follows from, else the oldest of the same tool.
    fn call_of(&self, result: &SessionEvent) -> Option<usize> {
        let fits = |ran: &Ran| result.tool.as_deref().is_none_or(|tool| *tool == *ran.tool);
        let parent = |ran: &Ran| result.parent_seq == Some(ran.seq) && fits(ran);
        let open = || self.open.iter();
        open().position(parent).or_else(|| open().position(fits))
    }
}

impl Ran {
    fn answer(&mut self, result: &SessionEvent) {
        self.end = if result.actor == Actor::Human {
            End::Denied
        } else if result.kinds.has(Kind::Error) {
            End::Failed
        } else if result.success == Some(false) {
            End::Stopped
        } else {
            End::Answered
        };
        // What went on in the background is joined with its call.
        self.success = self.success.or(result.success);
        self.exit_code = self.exit_code.or(result.exit_code);
        self.result = result.summary.clone();
        self.result_at = Some((result.part, result.line, result.block));
        self.ts = result.ts.or(self.ts);
    }
}

fn ran(call: &SessionEvent) -> Ran {
    Ran {
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
        end: End::Open,
        result: "".into(),
        result_at: None,
        call_at: (call.part, call.block),
    }
}
