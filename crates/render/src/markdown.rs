//! A session as a text: for a pull request, and for a model.
//!
//! Texts of the log keep their form, but not their power: a fence is longer than any inside it, an open one is closed, tags
//! are written so that they stay text, and headings stand below ours.

mod safe;

use std::io::{self, Write};

use transcript::Kind;

use self::safe::{code_span, fence, quoted, settled};
use crate::budget::{self, Block, TOKEN_CHARS, choose};
use crate::cards::is_quiet;
use crate::escape::{one_line, reveal};
use crate::html_title;
use crate::measure::{count, date_time, dollars, duration};
use crate::steps::{Look, Step, steps, strays};
use crate::tools::{command, input};
use crate::transcript_in::{Subagent, Transcript};
use crate::{ansi, dress};

/// How much of each turn is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What the human said.
    Prompts,
    /// Also the answers, and each tool call in one line.
    Turns,
    /// Also what tools did and the beginning of what they gave back, and subagents.
    Tools,
    /// Everything, with whole texts.
    Full,
}

/// What a text has to be like.
#[derive(Debug, Clone, Copy)]
pub struct MarkdownOptions {
    pub depth: Depth,
    /// It fits into so many tokens.
    pub max_tokens: Option<usize>,
}

/// What did not fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    pub turns: Vec<u32>,
    pub steps: u64,
    pub tokens: usize,
}

/// So much of what a tool gave back is told where not everything is.
const RESULT_LINES: usize = 30;
const RESULT_CHARS: usize = 2_400;
/// The line that says what is left out.
const GAP_CHARS: usize = 120;
const NESTED_MAX: usize = 4;

/// One turn, worded.
struct Worded {
    turn: Option<u32>,
    is_rewound: bool,
    steps: u64,
    text: String,
}

/// Writes a session as Markdown, and says what did not fit.
pub fn markdown(transcript: &Transcript, options: &MarkdownOptions, out: &mut dyn Write) -> io::Result<LeftOut> {
    let head = head(transcript);
    let mut blocks = worded(transcript, options.depth, 0);
    let mut left_out = LeftOut::default();
    if let Some(max_tokens) = options.max_tokens {
        let room = max_tokens
            .saturating_mul(TOKEN_CHARS)
            .saturating_sub(head.chars().count());
        left_out = fit(&mut blocks, room);
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
            .map(|text| code_span(&one_line(&reveal(text), 120))),
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
    facts.extend(head.money.map(|told| dollars(told.micros)));
    format!(
        "# {}\n\n{}\n",
        settled(&one_line(&reveal(&html_title(transcript)), 120)),
        facts.join(" · ")
    )
}

/// The turns of a session, worded.
fn worded(transcript: &Transcript, depth: Depth, nested: usize) -> Vec<Worded> {
    let mut blocks: Vec<Worded> = Vec::new();
    let steps = steps(transcript);
    for step in &steps {
        let turn = step.told.event.turn;
        if blocks.last().is_none_or(|block| block.turn != turn) {
            blocks.push(begin(transcript, turn, nested));
        }
        let Some(block) = blocks.last_mut() else { continue };
        if takes(depth, step) {
            block.steps += 1;
            push(&mut block.text, step, depth, nested);
        }
    }
    if depth >= Depth::Tools
        && let Some(block) = blocks.last_mut()
    {
        for stray in strays(transcript, &steps) {
            subagent(&mut block.text, stray, depth, nested);
        }
    }
    // What stands before the first prompt is mostly the harness's: nothing of it may be told.
    blocks.retain(|block| block.steps > 0);
    blocks
}

fn begin(transcript: &Transcript, turn: Option<u32>, nested: usize) -> Worded {
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
    Worded {
        turn,
        is_rewound,
        steps: 0,
        text,
    }
}

fn takes(depth: Depth, step: &Step<'_>) -> bool {
    let look = step.look();
    match depth {
        Depth::Prompts => step.is_mine(),
        Depth::Turns => !matches!(look, Look::Thought | Look::Note) || step.is_error(),
        Depth::Tools => !is_quiet(step) && (look != Look::Note || step.is_error()),
        Depth::Full => !is_quiet(step),
    }
}

fn push(out: &mut String, step: &Step<'_>, depth: Depth, nested: usize) {
    let text = reveal(step.words());
    match step.look() {
        Look::Prompt => {
            paragraph(out);
            out.push_str(&quoted(&text));
        }
        Look::Answer => {
            paragraph(out);
            out.push_str(&settled(&text));
            out.push('\n');
        }
        Look::Thought => {
            paragraph(out);
            let thought = cut(&text, depth);
            out.push_str("*Thinking:*\n\n");
            out.push_str(&quoted(&thought));
        }
        Look::Note => {
            item(out);
            let word = if step.told.event.kinds.has(Kind::Error) {
                "Error"
            } else {
                "Harness"
            };
            out.push_str(&format!("- {word}: {}\n", code_span(&one_line(&text, 200))));
        }
        Look::Shell | Look::Test | Look::Edit | Look::Tool | Look::Agent => call(out, step, depth, nested),
    }
    if !step.told.images.is_empty() {
        out.push_str(&format!(
            "\n[{} in the log]\n",
            crate::measure::plural(step.told.images.len() as u64, "picture")
        ));
    }
}

/// An empty line before what follows.
fn paragraph(out: &mut String) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// The next line of a list; an empty line before its first.
fn item(out: &mut String) {
    let last = out.trim_end().rsplit('\n').next().unwrap_or_default();
    if !last.starts_with("- ") {
        paragraph(out);
    }
}

fn call(out: &mut String, step: &Step<'_>, depth: Depth, nested: usize) {
    let event = &step.told.event;
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
    item(out);
    let wording = one_line(&reveal(&event.summary), 200);
    out.push_str(&format!(
        "- **{}** {}{ends}\n",
        settled(&one_line(&reveal(tool), 60)),
        code_span(&wording)
    ));
    if depth < Depth::Tools {
        return;
    }
    let asked = step.told.text();
    let known = input(asked);
    if let Some(lines) = dress::difference(tool, asked, known.as_ref()) {
        block(out, "diff", &cut(&reveal(&lines), depth));
    } else if matches!(step.look(), Look::Shell | Look::Test) {
        let command = known.as_ref().and_then(command).unwrap_or_else(|| asked.to_owned());
        if command.contains('\n') || command.chars().count() > 200 {
            block(out, "sh", &cut(&reveal(&command), depth));
        }
    } else if depth == Depth::Full && !asked.trim().is_empty() {
        block(out, if known.is_some() { "json" } else { "" }, &reveal(asked));
    }
    if let Some(result) = step.result {
        let is_plain = step.look() == Look::Edit && !step.is_error() && depth < Depth::Full;
        let text = ansi::plain(result.text());
        if !is_plain && !text.trim().is_empty() {
            block(out, "", &cut(&reveal(text.trim_end()), depth));
        }
    }
    for one in &step.subagents {
        subagent(out, one, depth, nested);
    }
}

/// A text in a fence of its own.
fn block(out: &mut String, language: &str, text: &str) {
    paragraph(out);
    out.push_str(&fence(language, text));
    out.push('\n');
}

fn subagent(out: &mut String, one: &Subagent, depth: Depth, nested: usize) {
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
    paragraph(out);
    out.push_str(&format!("**Subagent: {}**\n", settled(&one_line(&reveal(about), 120))));
    for block in worded(&one.transcript, depth, nested + 1) {
        out.push_str(&block.text);
    }
    paragraph(out);
    out.push_str("**End of the subagent**\n");
}

/// The beginning of a long text, and how much of it is not told.
fn cut(text: &str, depth: Depth) -> String {
    if depth == Depth::Full {
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
        kept = text.chars().take(RESULT_CHARS).collect();
        return kept + "\n… cut";
    }
    if taken < lines {
        kept.push_str(&format!("… {} more lines", lines - taken));
    }
    kept.trim_end_matches('\n').to_owned()
}

/// Leaves out what does not fit, and says so in its place.
fn fit(blocks: &mut Vec<Worded>, room: usize) -> LeftOut {
    let chars = |text: &str| text.chars().count();
    let measures: Vec<Block> = blocks
        .iter()
        .map(|block| Block {
            turn: block.turn,
            is_rewound: block.is_rewound,
            chars: chars(&block.text),
        })
        .collect();
    let shown = choose(&measures, room, GAP_CHARS);
    let mut left_out = LeftOut::default();
    let mut kept: Vec<Worded> = Vec::new();
    let mut gap: Option<Worded> = None;
    for (block, is_shown) in blocks.drain(..).zip(shown) {
        if is_shown {
            kept.extend(gap.take());
            kept.push(block);
            continue;
        }
        left_out.turns.extend(block.turn);
        left_out.steps += block.steps;
        left_out.tokens += budget::tokens(chars(&block.text));
        let told = gap.get_or_insert_with(|| Worded {
            text: String::new(),
            steps: 0,
            ..block
        });
        told.steps += 1;
        told.text = match told.steps {
            1 => format!("\n… turn {} left out\n", told.turn.unwrap_or_default()),
            many => format!(
                "\n… {many} turns left out, from turn {}\n",
                told.turn.unwrap_or_default()
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
        left_out.tokens += budget::tokens(chars(&last.text) - wanted);
        last.text = safe::closed(&cut) + "\n… the rest of this turn is left out\n";
    }
    *blocks = kept;
    left_out
}

#[cfg(test)]
mod tests;
