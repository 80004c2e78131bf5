//! `boswell search`: finds turns of sessions by their words.

mod page;
mod text;

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use memory::find::{Bare, Findings, Found, Question, add_sources, count_sources, find, find_bare, suggest};
use memory::search::query::{PartSyntax, QueryError, QueryPart};
use memory::search::{HitTarget, Query};
use memory::session_text::SessionTexts;
use memory::store::{ListedSession, Store};

use self::page::Page;
use crate::answers;
use crate::answers::ask::{SearchAnswer, SearchHit};
use crate::arguments::TEXT_MARK;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, Filters, ToolMeans};
use crate::render::budget::TOKEN_CHARS;
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui};

/// An answer with a smaller budget than this would be useless.
const TOKENS_MIN: u64 = 100;
/// Characters that are reserved for the message about left-out results.
const LEFT_OUT_CHARS: usize = 80;
/// If fewer sessions than this are found, a hint names what was not searched.
const FEW_SESSIONS: usize = 3;
/// Maximum number of evicted sessions that are checked for that hint.
const SOURCES_COUNTED_MAX: usize = 50;

/// Find turns by words, phrases, any characters or a regular expression
///
/// All words must occur in one turn, in any order: in its prompt, its answers, its thinking, or in the input and output of its
/// tools. Titles and your own names, notes and tags are searched too. Case is ignored.
/// `"exact phrase"`, `begin*`, `-without`, and the fields
/// `tool:Bash file:src/main.rs kind:error role:user in:prompt|answer|thinking|tool` narrow the search.
///
/// A separate `-word` of three letters or more excludes turns with that word. `-cr` or an unknown `--option` is searched as text, and so are dashes
/// inside an argument with spaces, and everything after `--`. The answer says how dashes were read.
#[derive(clap::Args, Debug)]
#[command(visible_alias = "grep")]
#[command(after_help = "Examples:
  boswell search login timeout
  boswell search xattr -cr                      `-cr` is text
  boswell search 'git rebase --autosquash'
  boswell search '\"cannot borrow\" tool:Bash' --since 30d
  boswell search migrat* -draft --here
  boswell search --exact 'fn main(' --agent codex
  boswell search --regex 'E0[0-9]{3}' --json
  boswell search login --sources                also the logs of evicted sessions
  boswell search login --in ~/backup/claude     logs that are not in the memory")]
pub(crate) struct SearchArgs {
    /// What to search for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<QueryArg>,
    /// Search for the characters as they are
    #[arg(long, conflicts_with = "regex")]
    exact: bool,
    /// Search for a regular expression
    #[arg(long)]
    regex: bool,
    /// Search the logs in this directory, without the memory
    #[arg(long = "in", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Also search the logs of evicted sessions, where they still exist
    #[arg(long, conflicts_with = "directory")]
    sources: bool,
    #[command(flatten)]
    filters: FilterArgs,
    /// Maximum number of sessions; `0` for no limit
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Continue after the previous page, with the cursor it printed
    #[arg(long, value_name = "CURSOR", conflicts_with = "directory")]
    cursor: Option<Page>,
    /// Maximum size of the answer in model tokens, about 4 characters each; prints what was left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(TOKENS_MIN..))]
    max_tokens: Option<u64>,
}

/// One argument of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
struct QueryArg(QueryPart);

impl FromStr for QueryArg {
    type Err = Infallible;

    /// Parses an argument that `arguments.rs` may have marked.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (text, syntax) = match text.strip_prefix(TEXT_MARK) {
            Some(text) => (text, PartSyntax::Literal),
            None if text.trim().contains(char::is_whitespace) => (text.trim(), PartSyntax::DashesAreText),
            None => (text.trim(), PartSyntax::Full),
        };
        Ok(Self(QueryPart {
            text: text.to_owned(),
            syntax,
        }))
    }
}

impl SearchArgs {
    /// Returns the query as it was typed, in one line.
    fn typed(&self) -> String {
        let parts: Vec<&str> = self.query.iter().map(|part| part.0.text.as_str()).collect();
        parts.join(" ")
    }

    /// Returns whether the search reads the memory instead of logs.
    pub(crate) fn asks_memory(&self) -> bool {
        self.directory.is_none()
    }

    fn query(&self) -> Result<Query, CommandError> {
        let query = match (self.exact, self.regex) {
            (true, _) => Query::exact(&self.typed()),
            (_, true) => Query::regex(&self.typed()),
            _ => {
                let parts: Vec<QueryPart> = self.query.iter().map(|part| part.0.clone()).collect();
                Query::parse_parts(&parts)
            }
        };
        let mut query = query.map_err(refused)?;
        query
            .only
            .tools
            .wanted
            .extend(self.filters.tool.iter().map(|tool| tool.to_lowercase()));
        Ok(query)
    }

    fn room_chars(&self) -> usize {
        self.max_tokens.map_or(usize::MAX, |tokens| {
            usize::try_from(tokens)
                .unwrap_or(usize::MAX)
                .saturating_mul(TOKEN_CHARS)
        })
    }
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SearchArgs) -> Result<Outcome, CommandError> {
    let clock = context.clock();
    let query = args.query()?;
    for note in &query.notes {
        ui.status(format_args!("Note: {note}"));
    }
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let page = args.cursor.clone().unwrap_or_else(|| Page::first(limit));
    let store = args.asks_memory().then(|| open_memory(context)).transpose()?;
    let findings = match &store {
        Some(store) => {
            let filters = args.filters.resolve(context, store, ToolMeans::Texts)?;
            ask_memory(store, context, args, &query, &filters, &page)?
        }
        None => ask_logs(context, args, &query, &args.filters.resolve_bare(context)?, &page)?,
    };
    let blocks = by_session(&findings.found);
    let shown: Vec<&Vec<&Found>> = blocks.iter().skip(page.skip).take(limit).collect();
    // A search of logs without a memory has no pages.
    let next = store.as_ref().and_then(|_| page.next(&findings, blocks.len(), limit));
    match ui.format {
        Format::Json => {
            let mut answer = to_answer(&query, &findings, &shown, next.as_ref(), clock.elapsed_ms());
            fit(&mut answer, args.room_chars());
            ui.answer(&answer)?;
        }
        Format::Text => {
            let ids = text::ids(store.as_ref(), &shown)?;
            text::show(ui, context, &shown, &ids, args.room_chars())?;
            let left = blocks.len().saturating_sub(page.skip);
            tell(ui, &findings, left, shown.len(), next.as_ref());
            if let Some(store) = store.as_ref().filter(|_| shown.is_empty()) {
                hint_suggestion(ui, context, store, args, &query)?;
            }
            if let Some(store) = store.as_ref().filter(|_| left < FEW_SESSIONS) {
                hint_sources(ui, context, store, &findings)?;
            }
        }
    }
    for reason in &findings.unreadable {
        ui.warning(format_args!("cannot be read: {reason}"));
    }
    Ok(if shown.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

fn refused(error: QueryError) -> CommandError {
    let hint = error.hint();
    CommandError::user("query", error).with_hint(hint)
}

fn ask_memory(
    store: &Store,
    context: &Context,
    args: &SearchArgs,
    query: &Query,
    filters: &Filters<'_>,
    page: &Page,
) -> Result<Findings, CommandError> {
    let question = Question {
        query,
        now: context.now,
        threads: context.threads,
        enough: page.enough(),
        takes: &|session: &ListedSession| filters.take(session),
        behind: page.behind.clone(),
        is_cancelled: &|| false,
    };
    let mut findings = find(store, &question)?;
    if args.sources {
        let masker = context.masker(false)?;
        let texts = SessionTexts {
            store,
            masker: &masker,
            is_ignored: &|log| context.is_ignored(log),
        };
        add_sources(&mut findings, &texts, &question)?;
    }
    Ok(findings)
}

/// Prints a hint if logs of evicted sessions exist that were not searched. Only the newest evicted sessions are checked, because each check
/// opens a file.
fn hint_sources(ui: &mut Ui, context: &Context, store: &Store, findings: &Findings) -> Result<(), CommandError> {
    if findings.evicted.is_empty() {
        return Ok(());
    }
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    let count = count_sources(findings, &texts, SOURCES_COUNTED_MAX)?;
    let at_least = match findings.evicted.len() > SOURCES_COUNTED_MAX {
        true => "at least ",
        false => "",
    };
    let sessions = plural(count as u64, "evicted session");
    match count {
        0 => {}
        1 => ui.hint(format_args!(
            "{at_least}{sessions} still has its log; `--sources` searches it too"
        )),
        _ => ui.hint(format_args!(
            "{at_least}{sessions} still have their logs; `--sources` searches them too"
        )),
    }
    Ok(())
}

/// Prints a hint with the query that was probably meant, if nothing was found.
fn hint_suggestion(
    ui: &mut Ui,
    context: &Context,
    store: &Store,
    args: &SearchArgs,
    query: &Query,
) -> Result<(), CommandError> {
    if args.exact || args.regex {
        return Ok(());
    }
    let filters = args.filters.resolve(context, store, ToolMeans::Texts)?;
    let question = Question {
        query,
        now: context.now,
        threads: context.threads,
        enough: HitTarget::of(1),
        takes: &|session: &ListedSession| filters.take(session),
        behind: None,
        is_cancelled: &|| false,
    };
    if let Some(suggestion) = suggest(store, &args.typed(), &question)? {
        ui.hint(format_args!("did you mean `{suggestion}`?"));
    }
    Ok(())
}

/// Searches logs directly, without a memory. Filters on properties that only the memory knows are errors.
fn ask_logs(
    context: &Context,
    args: &SearchArgs,
    query: &Query,
    filters: &Filters<'_>,
    page: &Page,
) -> Result<Findings, CommandError> {
    let only_kept = [
        ("--outcome", !args.filters.outcome.is_empty()),
        ("--model", args.filters.model.is_some()),
        ("--machine", args.filters.machine.is_some()),
        ("--user", args.filters.user.is_some()),
        ("--task", args.filters.task.is_some()),
        ("--tag", !args.filters.tag.is_empty()),
    ];
    if let Some((flag, _)) = only_kept.iter().find(|(_, is_given)| *is_given) {
        return Err(CommandError::usage(format_args!(
            "`{flag}` asks the memory, and `--in` asks none"
        )));
    }
    let given = args.directory.as_deref().unwrap_or(&context.places.current_dir);
    let directory = context.places.current_dir.join(given);
    if !directory.is_dir() {
        let message = format_args!("no such directory: {}", given.display());
        return Err(CommandError::not_found("no-logs", message));
    }
    let bare = Bare {
        directory: &directory,
        // Output is always masked, but searching alone is no reason to create the masking key.
        masker: &context.masker(false)?,
    };
    let question = Question {
        query,
        now: context.now,
        threads: context.threads,
        enough: page.enough(),
        takes: &|session: &ListedSession| filters.take(session),
        behind: None,
        is_cancelled: &|| false,
    };
    Ok(find_bare(&bare, &question))
}

/// Groups turns by session. The session with the best turn comes first.
fn by_session(found: &[Found]) -> Vec<Vec<&Found>> {
    let mut blocks: Vec<Vec<&Found>> = Vec::new();
    let mut at = std::collections::HashMap::new();
    for one in found {
        let next = blocks.len();
        let block = *at.entry(one.session.session_uid.as_str()).or_insert(next);
        match blocks.get_mut(block) {
            Some(block) => block.push(one),
            None => blocks.push(vec![one]),
        }
    }
    blocks
}

/// Prints what is not shown, and why.
fn tell(ui: &mut Ui, findings: &Findings, sessions: usize, shown: usize, next: Option<&Page>) {
    if shown == 0 {
        ui.status("Nothing found");
    }
    match next {
        Some(next) if findings.is_partial => ui.hint(format_args!(
            "only the newest sessions were searched; `--limit 0` searches all, `--cursor {next}` continues"
        )),
        Some(next) => ui.hint(format_args!(
            "found in {}, {shown} shown; `--limit 0` shows all, `--cursor {next}` continues",
            plural(sessions as u64, "session")
        )),
        None if findings.is_partial => ui.hint("only the newest sessions were searched; `--limit 0` searches all"),
        None if sessions > shown => {
            let all = plural(sessions as u64, "session");
            ui.hint(format_args!("found in {all}, {shown} shown; `--limit 0` shows all"));
        }
        None => {}
    }
    if findings.hidden > 0 {
        let hidden = plural(findings.hidden as u64, "session");
        ui.hint(format_args!("{hidden} not searched because of the filters"));
    }
}

fn to_answer<'a>(
    query: &Query,
    findings: &Findings,
    shown: &[&Vec<&'a Found>],
    next: Option<&Page>,
    took_ms: u64,
) -> SearchAnswer<'a> {
    SearchAnswer {
        total: findings.found.len(),
        hits: shown.iter().copied().flatten().map(|found| search_hit(found)).collect(),
        sessions: shown.len(),
        is_partial: findings.is_partial,
        next_cursor: next.map(ToString::to_string),
        hidden: findings.hidden,
        left_out: 0,
        notes: query.notes.iter().map(ToString::to_string).collect(),
        took_ms,
        frames_asked: findings.work.asked,
        frames_read: findings.work.read,
        sources_searched: findings.sources,
    }
}

fn search_hit(found: &Found) -> SearchHit<'_> {
    SearchHit {
        session_uid: &found.session.session_uid,
        turn: found.turn,
        line: found.line,
        part: found.part.as_deref(),
        path: found.path.as_deref(),
        text_from: found.text_from().as_str(),
        ts: found.ts,
        agent: found.session.flavor(),
        project: found.session.cwd.as_deref(),
        kind: found.what.as_str(),
        field: found.field.as_str(),
        tool: found.tool.as_deref(),
        prompt: found.prompt.as_deref(),
        snippet: &found.snippet.text,
        marks: found.snippet.marks.iter().map(|mark| [mark.start, mark.end]).collect(),
        score: found.score,
        copies: found.copies,
    }
}

/// Drops hits from the end until the answer fits, and stores the number of dropped hits.
fn fit(answer: &mut SearchAnswer<'_>, room_chars: usize) {
    let length = |value: serde_json::Value| value.to_string().chars().count() + 1;
    let mut hits = std::mem::take(&mut answer.hits);
    let mut taken = answers::to_value(answer).map_or(0, length);
    let fits = hits.iter().take_while(|hit| {
        taken += serde_json::to_value(hit).map_or(0, length);
        taken <= room_chars
    });
    let count = fits.count();
    answer.left_out = hits.len() - count;
    hits.truncate(count);
    answer.hits = hits;
}
