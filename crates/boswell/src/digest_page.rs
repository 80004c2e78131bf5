//! A digest as a page of text: first the request and its outcome, then time and cost, then the details.

use jiff::SignedDuration;
use memory::digest::{Digest, SessionCommit, Snippet};
use memory::outcome::{Confidence, outcome_name};
use memory::session_text::TextOrigin;
use memory::store::{Decision, Store};
use memory::usage::{self, UsageSum};
use transcript::Outcome;

use crate::context::Context;
use crate::error::CommandError;
use crate::money::cost;
use crate::render::budget::{tokens, visible_chars};
use crate::render::text::{date_time, plural};
use crate::ui::{BAD, FAINT, GOOD, HEADING, STRONG, Ui, escape, measure, prose};
use crate::{prices, signal_lines};

/// Maximum number of tools, files, commands and errors on the page.
const ENTRIES_MAX: usize = 6;
/// Maximum number of commits on the page; the first ones are shown.
const COMMITS_MAX: usize = 10;
const LABEL_COLUMNS: usize = 10;
/// No label extends past this column.
const TEXT_COLUMN_MAX: usize = 24;

/// A digest with everything that is printed with it.
pub(crate) struct DigestAnswer {
    pub(crate) digest: Digest,
    /// The source of the session's text.
    pub(crate) origin: TextOrigin,
    pub(crate) cost: UsageSum,
    pub(crate) decisions: Vec<Decision>,
    /// With `--subagents`: their digests, and the total cost of the session and its subagents.
    pub(crate) children: Vec<Digest>,
    pub(crate) rolled_up_cost: UsageSum,
}

/// Returns the page of a digest as lines of text, without decisions and subagents. The first two lines name the session.
pub(crate) fn page_lines(
    ui: &Ui,
    context: &Context,
    store: &Store,
    digest: Digest,
) -> Result<Vec<String>, CommandError> {
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let calls = store.reads().calls_of(digest.session_uid.as_str())?;
    let cost = usage::sum_calls(calls.iter(), &prices);
    let answer = DigestAnswer {
        digest,
        origin: TextOrigin::Digest,
        rolled_up_cost: cost,
        cost,
        decisions: Vec::new(),
        children: Vec::new(),
    };
    Ok(lines(ui, context, &answer))
}

/// Returns the lines of the page.
pub(crate) fn lines(ui: &Ui, context: &Context, answer: &DigestAnswer) -> Vec<String> {
    let (digest, children) = (&answer.digest, &answer.children);
    let mut lines = head(ui, context, digest);
    lines.extend(outcome(ui, context, digest));
    lines.push(String::new());
    lines.extend(effort(answer));
    lines.extend(work(digest));
    for decision in &answer.decisions {
        let words = decision.text.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.push(labelled("decided", &escape(&words)));
    }
    if !digest.signals.is_empty() {
        lines.push(String::new());
        lines.push(ui.paint(HEADING, "Signals").to_string());
        lines.extend(signal_lines::lines(ui, &digest.signals, true));
    }
    if !children.is_empty() {
        lines.push(String::new());
        lines.push(ui.paint(HEADING, plural(children.len() as u64, "subagent")).to_string());
        lines.extend(children.iter().map(|child| subagent(ui, child)));
    }
    lines
}

/// Prints the page, or as much of it as fits.
pub(crate) fn print(ui: &mut Ui, lines: Vec<String>, max_tokens: Option<u32>) -> Result<(), CommandError> {
    let shown = max_tokens.map_or(lines.len(), |most| shown(&lines, most));
    let left_out = lines.len() - shown;
    let mut lines = lines;
    lines.truncate(shown);
    for line in lines {
        ui.row_wrapped(&line, indent_of(&line))?;
    }
    if left_out > 0 {
        ui.row(left_out_line(left_out))?;
    }
    Ok(())
}

/// Returns the column at which the text after a label begins.
fn indent_of(line: &str) -> usize {
    let plain = prose::parse_ansi(line).text();
    let lead = plain.len() - plain.trim_start().len();
    let label_end = plain[lead..].find("  ").map(|end| lead + end);
    match label_end.filter(|end| *end <= TEXT_COLUMN_MAX) {
        Some(end) => plain.len() - plain[end..].trim_start().len(),
        None if lead > LABEL_COLUMNS => lead,
        None => lead + 2,
    }
}

/// Returns the number of lines that fit, including the line that counts the rest. The first line is always shown.
fn shown(lines: &[String], max_tokens: u32) -> usize {
    let fits = |count: usize| {
        let chars: usize = lines[..count].iter().map(|line| visible_chars(line)).sum();
        let rest = match lines.len() - count {
            0 => 0,
            left_out => visible_chars(&left_out_line(left_out)),
        };
        tokens(chars + rest) <= max_tokens as usize
    };
    (1..=lines.len()).rev().find(|count| fits(*count)).unwrap_or(1)
}

fn left_out_line(count: usize) -> String {
    format!("… {} left out", plural(count as u64, "line"))
}

fn labelled(label: &str, text: &str) -> String {
    format!("  {label:LABEL_COLUMNS$}  {text}")
}

fn head(ui: &Ui, context: &Context, digest: &Digest) -> Vec<String> {
    let title = digest.title.as_deref().map(|title| format!("  {}", escape(title)));
    let mut lines = vec![format!(
        "{}{}",
        ui.paint(STRONG, escape(&digest.session_uid)),
        title.unwrap_or_default()
    )];
    let domain = context.domain(digest.repo.as_deref(), digest.remote.as_deref());
    let repo = digest.repo.as_deref().map(|repo| match &digest.git_branch {
        Some(branch) => format!("{} on {}", escape(repo), escape(branch)),
        None => escape(repo).into_owned(),
    });
    let told = [
        repo,
        domain.map(|domain| escape(domain).into_owned()),
        digest.task_ref.as_deref().map(|task| escape(task).into_owned()),
        digest.model.as_deref().map(|model| escape(model).into_owned()),
        digest.started_at.map(|at| date_time(at, &context.zone)),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    lines.push(format!("  {}", told.join(" · ")));
    lines.push(String::new());
    if let Some(prompt) = &digest.first_prompt {
        lines.push(labelled("asked", &quoted(prompt)));
    }
    let last = digest.snippets.iter().filter(|snippet| {
        let first = digest.first_prompt.as_ref().map(|first| first.line);
        Some(snippet.line) != first
    });
    for snippet in last {
        let label = if snippet.actor == "human" {
            "last asked"
        } else {
            "answered"
        };
        lines.push(labelled(label, &quoted(snippet)));
    }
    lines
}

fn quoted(snippet: &Snippet) -> String {
    format!("{} (line {})", escape(&snippet.text), measure::count(snippet.line))
}

fn outcome(ui: &Ui, context: &Context, digest: &Digest) -> Vec<String> {
    let judged = digest.outcome.as_of(digest.ended_at, context.now);
    let word = outcome_name(judged.outcome);
    let painted = match judged.outcome {
        Outcome::Success => ui.paint(GOOD, word).to_string(),
        Outcome::Fail => ui.paint(BAD, word).to_string(),
        Outcome::Abandoned | Outcome::Unknown => word.to_owned(),
    };
    // An unknown outcome is not a claim, so it has no confidence.
    let sure = match judged.confidence {
        _ if judged.outcome == Outcome::Unknown => "",
        Confidence::High => " (sure)",
        Confidence::Medium => " (fairly sure)",
        Confidence::Low => " (not sure)",
    };
    let why = judged.reason.describe();
    let mut lines = vec![labelled("outcome", &format!("{painted}: {why}{sure}"))];
    for evidence in &judged.evidence {
        let line = format!("line {}: {}", measure::count(evidence.line), escape(&evidence.text));
        lines.push(labelled("", &ui.paint(FAINT, line).to_string()));
    }
    for told in &digest.told {
        let words = told.error.as_deref().or(told.reason.as_deref());
        match (told.event.as_str(), words, told.exit_code) {
            ("session_end", Some(words), _) => lines.push(labelled("ended", &escape(&words.replace('_', " ")))),
            ("exit", _, Some(code)) => lines.push(labelled("exit", &code.to_string())),
            _ => {}
        }
    }
    lines
}

/// Returns the lines about time, tokens and cost.
fn effort(answer: &DigestAnswer) -> Vec<String> {
    let digest = &answer.digest;
    let seconds = |seconds: u64| measure::duration(SignedDuration::from_secs(seconds.cast_signed()));
    let mut time = format!(
        "{} active of {}",
        seconds(digest.time.active_s),
        seconds(digest.time.wall_s)
    );
    if digest.time.pauses > 0 {
        time += &format!(
            "; {} over {} minutes, the longest {}",
            plural(u64::from(digest.time.pauses), "pause"),
            digest.time.idle_after_s / 60,
            seconds(digest.time.longest_pause_s)
        );
    }
    let mut turns = format!(
        "{}, {}, {}",
        plural(u64::from(digest.turns), "turn"),
        plural(digest.events, "event"),
        plural(digest.tool_calls, "tool call")
    );
    if digest.interventions.total() > 0 {
        turns += &format!(
            ", {} by a human",
            plural(u64::from(digest.interventions.total()), "intervention")
        );
    }
    let total = &digest.tokens.total;
    let models: Vec<String> = digest
        .tokens
        .by_model
        .iter()
        .map(|model| escape(&model.model).into_owned())
        .collect();
    let tokens = format!(
        "{} in, {} out, {} cached, in {} of {}",
        measure::count(total.input),
        measure::count(total.output),
        measure::count(total.cache()),
        plural(digest.tokens.calls, "call"),
        models.join(", ")
    );
    let mut lines = vec![labelled("time", &time), labelled("turns", &turns)];
    if digest.tokens.calls > 0 {
        lines.push(labelled("tokens", &tokens));
        lines.push(labelled("cost", &cost(&answer.cost)));
    }
    lines
}

/// Returns the lines about tools, files and commands.
fn work(digest: &Digest) -> Vec<String> {
    let mut lines = Vec::new();
    let mut list = |label: &str, entries: Vec<String>| {
        if entries.is_empty() {
            return;
        }
        let more = entries.len().saturating_sub(ENTRIES_MAX);
        let mut text = entries.into_iter().take(ENTRIES_MAX).collect::<Vec<_>>().join(", ");
        if more > 0 {
            text += &format!(", and {more} more");
        }
        lines.push(labelled(label, &text));
    };
    let failed = |errors: u64| match errors {
        0 => String::new(),
        errors => format!(" ({errors} failed)"),
    };
    let tools = digest.tools.iter();
    list(
        "tools",
        tools
            .map(|tool| format!("{} {}{}", escape(&tool.tool), tool.calls, failed(tool.errors)))
            .collect(),
    );
    let commands = digest.commands.iter();
    list(
        "commands",
        commands
            .map(|one| format!("{} {}{}", escape(&one.command), one.runs, failed(one.errors)))
            .collect(),
    );
    let files = digest.files.iter();
    list(
        "files",
        files
            .map(|file| format!("{} {}", escape(short(&file.path, digest.cwd.as_deref())), file.edits))
            .collect(),
    );
    lines.extend(proofs(digest));
    lines.extend(errors(digest));
    lines
}

/// Returns the lines about test runs and commits.
fn proofs(digest: &Digest) -> Vec<String> {
    let mut lines = Vec::new();
    let tests = &digest.tests;
    if let Some(last) = &tests.last {
        let how = match last.passed {
            Some(true) => "passed",
            Some(false) => "failed",
            None => "came out unclear",
        };
        let unclear = match tests.unclear {
            0 => String::new(),
            unclear => format!(", {} unclear", measure::count(unclear)),
        };
        let text = format!(
            "{} passed, {} failed{unclear}; the last {how} (line {}): {}",
            tests.passed,
            tests.failed,
            measure::count(last.line),
            escape(&last.command)
        );
        lines.push(labelled("tests", &text));
    }
    lines.extend(commits(digest));
    lines
}

/// Returns the first commits and the number of further ones.
fn commits(digest: &Digest) -> Vec<String> {
    let line = |commit: &SessionCommit| {
        let words: Vec<&str> = [&commit.hash, &commit.subject]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let words = match words.is_empty() {
            true => "no message in the log".to_owned(),
            false => escape(&words.join(" ")).into_owned(),
        };
        labelled("commit", &format!("{words} (line {})", measure::count(commit.line)))
    };
    let mut lines: Vec<String> = digest.commits.iter().take(COMMITS_MAX).map(line).collect();
    let more = digest.commit_count().saturating_sub(COMMITS_MAX as u64);
    if more > 0 {
        lines.push(labelled("", &format!("and {}", plural(more, "more commit"))));
    }
    lines
}

fn errors(digest: &Digest) -> Vec<String> {
    let mut lines = Vec::new();
    let errors = &digest.errors;
    if errors.count > 0 {
        let text = format!(
            "{}, {} resolved",
            plural(errors.count, "error"),
            measure::count(errors.resolved)
        );
        lines.push(labelled("errors", &text));
        for kind in errors.kinds.iter().take(3) {
            let text = format!(
                "{}× {} (line {})",
                kind.count,
                escape(&kind.text),
                measure::count(kind.line)
            );
            lines.push(labelled("", &text));
        }
    }
    lines
}

/// Returns a path relative to the session's working directory if it is below that.
fn short<'p>(path: &'p str, cwd: Option<&str>) -> &'p str {
    let below = cwd.and_then(|cwd| path.strip_prefix(cwd));
    below.map_or(path, |below| below.trim_start_matches(['/', '\\']))
}

fn subagent(ui: &Ui, child: &Digest) -> String {
    let about = child
        .title
        .as_deref()
        .or(child.first_prompt.as_ref().map(|prompt| prompt.text.as_str()));
    format!(
        "  {}  {}: {}, {}  {}",
        ui.paint(STRONG, escape(&child.session_uid)),
        outcome_name(child.outcome.outcome),
        plural(child.tool_calls, "tool call"),
        plural(child.errors.count, "error"),
        about
            .map(|about| measure::fit(&escape(about), 60).into_owned())
            .unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_wraps_under_its_text() {
        assert_eq!(indent_of(&labelled("tests", "32 passed")), 14);
        assert_eq!(indent_of(&labelled("", "1× a file is gone")), 14);
        assert_eq!(indent_of("  edit revert churn   changes were reverted"), 22);
        assert_eq!(indent_of("              line 316  git checkout"), 24);
        assert_eq!(indent_of("claude:5e550000-0000-4000-8000-000000000001  Title"), 2);
    }
}
