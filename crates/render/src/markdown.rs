//! Renders a session as Markdown, for a pull request or for a model.
//!
//! Text from the log keeps its formatting but cannot affect the rest of the document: see `safe`.

mod safe;

use std::io::{self, Write};

use transcript::Kind;

use self::safe::{code_span, contained, fence, quote};
use crate::budget::{self, BudgetBlock, TOKEN_CHARS, choose_blocks};
use crate::cards::is_hidden_by_default;
use crate::escape::{one_line, show_invisible};
use crate::html::title as html_title;
use crate::input::{Subagent, Transcript};
use crate::measure::{count, date_time, dollars, duration};
use crate::steps::{Step, StepKind, steps, unplaced_subagents};
use crate::tools::{parse_input, shell_command};
use crate::{ansi, tool_body};

/// How much of each turn is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkdownDepth {
    /// Only what the user wrote.
    Prompts,
    /// Also the answers, and each tool call in one line.
    Turns,
    /// Also what tools did, the start of their output, and subagents.
    Tools,
    /// Everything, with full texts.
    Full,
}

/// Options of the Markdown.
#[derive(Debug, Clone, Copy)]
pub struct MarkdownOptions {
    pub depth: MarkdownDepth,
    /// The maximum number of tokens. `None` for no limit.
    pub max_tokens: Option<usize>,
}

/// What was omitted because it did not fit into the budget.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OmittedTurns {
    pub turns: Vec<u32>,
    pub steps: u64,
    pub tokens: usize,
}

/// Output of tools is cut after this many lines and characters, unless the depth is [`MarkdownDepth::Full`].
const RESULT_LINES: usize = 30;
const RESULT_CHARS: usize = 2_400;
/// Reserved for the note that replaces omitted turns.
const GAP_CHARS: usize = 120;
const NESTED_MAX: usize = 4;

/// The Markdown of one turn.
struct TurnText {
    turn: Option<u32>,
    is_rewound: bool,
    steps: u64,
    text: String,
}

/// Writes a session as Markdown and returns what was omitted. Returns an error only if `out` does.
pub fn markdown(transcript: &Transcript, options: &MarkdownOptions, out: &mut dyn Write) -> io::Result<OmittedTurns> {
    let head = head(transcript);
    let mut blocks = turn_texts(transcript, options.depth, 0);
    let mut left_out = OmittedTurns::default();
    if let Some(max_tokens) = options.max_tokens {
        let room = max_tokens
            .saturating_mul(TOKEN_CHARS)
            .saturating_sub(head.chars().count());
        left_out = omit_turns(&mut blocks, room);
    }
    out.write_all(head.as_bytes())?;
    blocks
        .iter()
        .try_for_each(|block| out.write_all(block.text.as_bytes()))?;
    Ok(left_out)
}

fn head(transcript: &Transcript) -> String {
    let head = &transcript.head;
    let session = &head.session;
    let mut facts = vec![session.flavor.title().to_owned()];
    let texts = [&session.model, &session.cwd, &session.git_branch];
    facts.extend(
        texts
            .into_iter()
            .flatten()
            .map(|text| code_span(&one_line(&show_invisible(text), 120))),
    );
    facts.extend(session.started_at.map(|at| date_time(at, &head.zone)));
    let took = session
        .started_at
        .zip(session.ended_at)
        .map(|(from, to)| to.duration_since(from).as_millis());
    facts.extend(took.and_then(|ms| u64::try_from(ms).ok()).map(duration));
    let cost = &session.cost;
    let tokens = cost.input_tokens + cost.output_tokens + cost.cache_tokens;
    facts.extend((tokens > 0).then(|| format!("{} tokens", count(tokens))));
    facts.extend(head.money.map(|cost| dollars(cost.micros)));
    format!(
        "# {}\n\n{}\n",
        contained(&one_line(&show_invisible(&html_title(transcript)), 120)),
        facts.join(" · ")
    )
}

/// Renders the turns of a session.
fn turn_texts(transcript: &Transcript, depth: MarkdownDepth, nested: usize) -> Vec<TurnText> {
    let mut blocks: Vec<TurnText> = Vec::new();
    let steps = steps(transcript);
    for step in &steps {
        let turn = step.entry.event.turn;
        if blocks.last().is_none_or(|block| block.turn != turn) {
            blocks.push(begin_turn(transcript, turn, nested));
        }
        let Some(block) = blocks.last_mut() else { continue };
        if is_shown(depth, step) {
            block.steps += 1;
            push_step(&mut block.text, step, depth, nested);
        }
    }
    if depth >= MarkdownDepth::Tools
        && let Some(block) = blocks.last_mut()
    {
        for stray in unplaced_subagents(transcript, &steps) {
            push_subagent(&mut block.text, stray, depth, nested);
        }
    }
    // The part before the first prompt is mostly written by the harness, so often none of its steps is shown.
    blocks.retain(|block| block.steps > 0);
    blocks
}

fn begin_turn(transcript: &Transcript, turn: Option<u32>, nested: usize) -> TurnText {
    let known = transcript.turns.iter().find(|known| Some(known.turn) == turn);
    let at = known.and_then(|known| known.started_at);
    let at = at
        .map(|at| format!(" · {}", date_time(at, &transcript.head.zone)))
        .unwrap_or_default();
    let is_rewound = known.is_some_and(|known| known.rewound);
    let rewound = if is_rewound { " · rewound" } else { "" };
    let level = "#".repeat((2 + nested).min(6));
    let text = turn
        .map(|turn| format!("\n{level} Turn {turn}{at}{rewound}\n"))
        .unwrap_or_default();
    TurnText {
        turn,
        is_rewound,
        steps: 0,
        text,
    }
}

fn is_shown(depth: MarkdownDepth, step: &Step<'_>) -> bool {
    let kind = step.kind();
    match depth {
        MarkdownDepth::Prompts => step.is_human(),
        MarkdownDepth::Turns => !matches!(kind, StepKind::Thought | StepKind::Note) || step.is_error(),
        MarkdownDepth::Tools => !is_hidden_by_default(step) && (kind != StepKind::Note || step.is_error()),
        MarkdownDepth::Full => !is_hidden_by_default(step),
    }
}

fn push_step(out: &mut String, step: &Step<'_>, depth: MarkdownDepth, nested: usize) {
    let text = show_invisible(step.words());
    match step.kind() {
        StepKind::Prompt => {
            start_paragraph(out);
            out.push_str(&quote(&text));
        }
        StepKind::Answer => {
            start_paragraph(out);
            out.push_str(&contained(&text));
            out.push('\n');
        }
        StepKind::Thought => {
            start_paragraph(out);
            let thought = truncate(&text, depth);
            out.push_str("*Thinking:*\n\n");
            out.push_str(&quote(&thought));
        }
        StepKind::Note => {
            start_list_item(out);
            let word = if step.entry.event.kinds.has(Kind::Error) {
                "Error"
            } else {
                "Harness"
            };
            out.push_str(&format!("- {word}: {}\n", code_span(&one_line(&text, 200))));
        }
        StepKind::Shell | StepKind::Test | StepKind::Edit | StepKind::Tool | StepKind::Agent => {
            push_call(out, step, depth, nested)
        }
    }
    if !step.entry.images.is_empty() {
        out.push_str(&format!(
            "\n[{} in the log]\n",
            crate::measure::plural(step.entry.images.len() as u64, "picture")
        ));
    }
}

/// Ends the previous paragraph with an empty line.
fn start_paragraph(out: &mut String) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// Starts a list item. The first item of a list needs an empty line before it.
fn start_list_item(out: &mut String) {
    let last = out.trim_end().rsplit('\n').next().unwrap_or_default();
    if !last.starts_with("- ") {
        start_paragraph(out);
    }
}

fn push_call(out: &mut String, step: &Step<'_>, depth: MarkdownDepth, nested: usize) {
    let event = &step.entry.event;
    let tool = event.tool.as_deref().unwrap_or("result");
    let mut ends = Vec::new();
    ends.extend(step.duration_ms().filter(|ms| *ms >= 1_000).map(duration));
    match step.exit_code() {
        Some(code) if code != 0 => ends.push(format!("exit {code}")),
        _ if step.is_error() => ends.push("failed".to_owned()),
        _ => {}
    }
    let ends = if ends.is_empty() {
        String::new()
    } else {
        format!(" ({})", ends.join(", "))
    };
    start_list_item(out);
    let wording = one_line(&show_invisible(&event.summary), 200);
    out.push_str(&format!(
        "- **{}** {}{ends}\n",
        contained(&one_line(&show_invisible(tool), 60)),
        code_span(&wording)
    ));
    if depth < MarkdownDepth::Tools {
        return;
    }
    let asked = step.entry.text();
    let known = parse_input(asked);
    if let Some(lines) = tool_body::diff_text(tool, asked, known.as_ref()) {
        push_fenced(out, "diff", &truncate(&show_invisible(&lines), depth));
    } else if matches!(step.kind(), StepKind::Shell | StepKind::Test) {
        let command = known
            .as_ref()
            .and_then(shell_command)
            .unwrap_or_else(|| asked.to_owned());
        if command.contains('\n') || command.chars().count() > 200 {
            push_fenced(out, "sh", &truncate(&show_invisible(&command), depth));
        }
    } else if depth == MarkdownDepth::Full && !asked.trim().is_empty() {
        push_fenced(out, if known.is_some() { "json" } else { "" }, &show_invisible(asked));
    }
    if let Some(result) = step.result {
        let is_plain = step.kind() == StepKind::Edit && !step.is_error() && depth < MarkdownDepth::Full;
        let text = ansi::plain(result.text());
        if !is_plain && !text.trim().is_empty() {
            push_fenced(out, "", &truncate(&show_invisible(text.trim_end()), depth));
        }
    }
    for one in &step.subagents {
        push_subagent(out, one, depth, nested);
    }
}

/// Appends a fenced block.
fn push_fenced(out: &mut String, language: &str, text: &str) {
    start_paragraph(out);
    out.push_str(&fence(language, text));
    out.push('\n');
}

fn push_subagent(out: &mut String, one: &Subagent, depth: MarkdownDepth, nested: usize) {
    if nested >= NESTED_MAX {
        return;
    }
    let label = one.link.as_ref().and_then(|link| link.label.as_deref());
    let about = one
        .transcript
        .head
        .session
        .title
        .as_deref()
        .or(label)
        .unwrap_or("subagent");
    start_paragraph(out);
    out.push_str(&format!(
        "**Subagent: {}**\n",
        contained(&one_line(&show_invisible(about), 120))
    ));
    for block in turn_texts(&one.transcript, depth, nested + 1) {
        out.push_str(&block.text);
    }
    start_paragraph(out);
    out.push_str("**End of the subagent**\n");
}

/// Returns the start of a long text and a note on how much is missing.
fn truncate(text: &str, depth: MarkdownDepth) -> String {
    if depth == MarkdownDepth::Full {
        return text.to_owned();
    }
    let lines = text.lines().count();
    let mut kept = String::new();
    let mut taken = 0;
    for line in text.lines().take(RESULT_LINES) {
        if kept.chars().count() + line.chars().count() > RESULT_CHARS {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
        taken += 1;
    }
    if taken == 0 {
        // The first line alone exceeds the limit.
        kept = text.chars().take(RESULT_CHARS).collect();
        return kept + "\n… cut";
    }
    if taken < lines {
        kept.push_str(&format!("… {} more lines", lines - taken));
    }
    kept.trim_end_matches('\n').to_owned()
}

/// Omits turns that do not fit and puts a note in their place.
fn omit_turns(blocks: &mut Vec<TurnText>, room: usize) -> OmittedTurns {
    let chars = |text: &str| text.chars().count();
    let measures: Vec<BudgetBlock> = blocks
        .iter()
        .map(|block| BudgetBlock {
            turn: block.turn,
            is_rewound: block.is_rewound,
            chars: chars(&block.text),
        })
        .collect();
    let shown = choose_blocks(&measures, room, GAP_CHARS);
    let mut left_out = OmittedTurns::default();
    let mut kept: Vec<TurnText> = Vec::new();
    let mut gap: Option<TurnText> = None;
    for (block, is_shown) in blocks.drain(..).zip(shown) {
        if is_shown {
            kept.extend(gap.take());
            kept.push(block);
            continue;
        }
        left_out.turns.extend(block.turn);
        left_out.steps += block.steps;
        left_out.tokens += budget::estimate_tokens(chars(&block.text));
        let summary = gap.get_or_insert_with(|| TurnText {
            text: String::new(),
            steps: 0,
            ..block
        });
        summary.steps += 1;
        summary.text = match summary.steps {
            1 => format!("\n… turn {} left out\n", summary.turn.unwrap_or_default()),
            many => format!(
                "\n… {many} turns left out, from turn {}\n",
                summary.turn.unwrap_or_default()
            ),
        };
    }
    kept.extend(gap);
    let total: usize = kept.iter().map(|block| chars(&block.text)).sum();
    if total > room
        && let Some(last) = kept.last_mut()
    {
        let wanted = chars(&last.text).saturating_sub(total - room + GAP_CHARS);
        let cut: String = last.text.chars().take(wanted).collect();
        // The last turn is always shown, so it is truncated if it does not fit on its own.
        left_out.tokens += budget::estimate_tokens(chars(&last.text) - wanted);
        last.text = safe::close_fence(&cut) + "\n… the rest of this turn is left out\n";
    }
    *blocks = kept;
    left_out
}

#[cfg(test)]
mod tests;
