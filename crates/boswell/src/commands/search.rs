//! `boswell search`: which turns of which sessions hold what somebody asks for.

use jiff::Timestamp;
use memory::find::{Findings, Found, Question, find};
use memory::search::Query;
use memory::search::query::QueryError;
use memory::store::Listed;
use serde_json::{Value, json};

use super::sessions::in_one_line;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::FilterArgs;
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{BAD, FAINT, Format, STRONG, Ui, escape, measure};

/// Turns shown of one session.
const TURNS_SHOWN_MAX: usize = 3;
/// So many turns are gathered for each session that is shown, so that the best of them can be told.
const TURNS_PER_SESSION: usize = 4;
/// Of an id, for a person to copy.
const ID_CHARS: usize = 8;

/// Find turns by words, phrases, any characters or a regular expression
///
/// All words have to stand in one turn, in any order: in its prompt, its answers, its thinking, or in what
/// tools were given or gave back. Case never counts. `"exact phrase"`, `begin*`, `-without`, and the
/// fields `tool:Bash file:src/main.rs kind:error role:user in:prompt|answer|thinking|tool` narrow it down.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell search login timeout
  boswell search '\"cannot borrow\" tool:Bash' --since 30d
  boswell search migrat* -draft --here
  boswell search --exact 'fn main(' --agent codex
  boswell search --regex 'E0[0-9]{3}' --json")]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Take every character as it is
    #[arg(long, conflicts_with = "regex")]
    exact: bool,
    /// Take it as a regular expression
    #[arg(long)]
    regex: bool,
    #[command(flatten)]
    filters: FilterArgs,
    /// Show at most so many sessions; `0` asks them all
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SearchArgs) -> Result<Outcome, CommandError> {
    let clock = context.clock();
    let text = args.query.join(" ");
    let query = match (args.exact, args.regex) {
        (true, _) => Query::exact(&text),
        (_, true) => Query::regex(&text),
        _ => Query::words(&text),
    };
    let query = query.map_err(refused)?;
    for note in &query.notes {
        ui.status(format_args!("Note: {note}"));
    }
    drop(open_memory(context)?);
    let filters = args.filters.resolve(context)?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let question = Question {
        query: &query,
        now: context.now,
        threads: context.threads,
        enough: limit.saturating_mul(TURNS_PER_SESSION),
        takes: &|session: &Listed| filters.take(session),
        is_cancelled: &|| false,
    };
    let findings = find(&context.places.data_dir, &question)?;
    let blocks = by_session(&findings.found, limit);
    match ui.format {
        Format::Json => ui.json(&to_json(&findings, &blocks, clock.elapsed_ms()))?,
        Format::Text => show(ui, context, &findings, &blocks)?,
    }
    for reason in &findings.unreadable {
        ui.warning(format_args!("a frame cannot be read: {reason}"));
    }
    Ok(if blocks.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

fn refused(error: QueryError) -> CommandError {
    let hint = error.hint();
    CommandError::user("query", error).with_hint(hint)
}

/// The turns of each session, the session with the best one first.
fn by_session(found: &[Found], limit: usize) -> Vec<Vec<&Found>> {
    let mut blocks: Vec<Vec<&Found>> = Vec::new();
    for one in found {
        let uid = &one.session.session_uid;
        match blocks.iter().position(|block| block[0].session.session_uid == *uid) {
            Some(at) => blocks[at].push(one),
            None if blocks.len() < limit => blocks.push(vec![one]),
            None => {}
        }
    }
    blocks
}

fn show(ui: &mut Ui, context: &Context, findings: &Findings, blocks: &[Vec<&Found>]) -> Result<(), CommandError> {
    for (at, block) in blocks.iter().enumerate() {
        if at > 0 {
            ui.row("")?;
        }
        show_block(ui, context, block)?;
    }
    if blocks.is_empty() {
        ui.status("Nothing found");
    }
    if findings.is_partial {
        ui.hint("these are the best of the newest; `--limit 0` asks all sessions");
    }
    if findings.hidden > 0 {
        let hidden = plural(findings.hidden as u64, "session");
        ui.hint(format_args!("{hidden} not asked because of the filters"));
    }
    Ok(())
}

fn show_block(ui: &mut Ui, context: &Context, block: &[&Found]) -> Result<(), CommandError> {
    let session = &block[0].session;
    let id: String = session.native_session_id.chars().take(ID_CHARS).collect();
    let project = session.repo.as_deref().unwrap_or("-");
    let at = session.last_micros.and_then(|at| Timestamp::from_microsecond(at).ok());
    let age = at.map(|at| measure::age(context.now, at)).unwrap_or_default();
    let title = session.title.as_deref().map(in_one_line).unwrap_or_default();
    let head = format!("{}  {}  {age}", session.flavor, escape(project));
    let room = ui
        .columns()
        .unwrap_or(usize::MAX)
        .saturating_sub(id.len() + head.len() + 4);
    let title = measure::fit(&title, room);
    let line = format!("{}  {head}  {}", ui.paint(STRONG, &id), ui.paint(FAINT, title));
    ui.row(line.trim_end())?;
    for one in block.iter().take(TURNS_SHOWN_MAX) {
        show_turn(ui, one)?;
    }
    if block.len() > TURNS_SHOWN_MAX {
        let more = plural((block.len() - TURNS_SHOWN_MAX) as u64, "more turn");
        ui.row(ui.paint(FAINT, format!("  {more}")))?;
    }
    let turn = block[0].turn.map(|turn| format!(" --turns {turn}")).unwrap_or_default();
    ui.row(ui.paint(FAINT, format!("  boswell show {id}{turn}")))?;
    Ok(())
}

fn show_turn(ui: &mut Ui, found: &Found) -> Result<(), CommandError> {
    let turn = found.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
    let room = ui.columns().unwrap_or(120).saturating_sub(turn.len() + 4);
    let prompt = in_one_line(found.prompt.as_deref().unwrap_or_default());
    let head = format!("  {turn}  {}", measure::fit(&prompt, room));
    ui.row(ui.paint(FAINT, head.trim_end()))?;
    let place = match (&found.tool, found.field) {
        (Some(tool), _) => tool.clone(),
        (None, field) => field.as_str().to_owned(),
    };
    let copies = match found.copies {
        0 => String::new(),
        copies => format!(" (and in {})", plural(copies, "copy of it")),
    };
    let text = marked(ui, found);
    ui.row(format_args!("    {}: {text}{copies}", escape(&place)))?;
    Ok(())
}

/// The snippet with its matches marked: by colour where there is any.
fn marked(ui: &Ui, found: &Found) -> String {
    let snippet = &found.snippet;
    let mut told = String::new();
    let mut from = 0;
    for mark in &snippet.marks {
        told += &escape(&snippet.text[from..mark.start]);
        told += &ui.paint(BAD, escape(&snippet.text[mark.clone()])).to_string();
        from = mark.end;
    }
    told += &escape(&snippet.text[from..]);
    told
}

fn to_json(findings: &Findings, blocks: &[Vec<&Found>], took_ms: u64) -> Value {
    let hits: Vec<Value> = blocks.iter().flatten().map(|found| hit_json(found)).collect();
    json!({
        "schema": "boswell.search/1",
        "total": hits.len(),
        "hits": hits,
        "sessions": blocks.len(),
        "is_partial": findings.is_partial,
        "hidden": findings.hidden,
        "took_ms": took_ms,
        "frames_asked": findings.work.asked,
        "frames_read": findings.work.read,
    })
}

fn hit_json(found: &Found) -> Value {
    let marks: Vec<[usize; 2]> = found.snippet.marks.iter().map(|mark| [mark.start, mark.end]).collect();
    json!({
        "session_uid": found.session.session_uid,
        "turn": found.turn,
        "line": found.line,
        "part": found.part,
        "ts": found.ts,
        "agent": found.session.flavor,
        "project": found.session.cwd,
        "kind": found.kind,
        "field": found.field.as_str(),
        "tool": found.tool,
        "prompt": found.prompt,
        "snippet": found.snippet.text,
        "marks": marks,
        "score": found.score,
        "copies": found.copies,
    })
}
