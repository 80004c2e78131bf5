//! The finder's queries to the memory, on threads of their own, so that typing never waits. Everything they return is
//! escaped. They only read, and know nothing of the screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::find::{Findings, Found, Question, find, suggest};
use memory::search::query::{FieldSuggestion, QueryError, QueryNote};
use memory::search::{HitTarget, Query};
use memory::store::{ListedSession, Reads, Store, StoreError};
use transcript::{Kind, SessionEvent};

use super::state::{Around, Mark, Narrow, Place, Preview, Row, Since};
use crate::agent_arg::AgentName;
use crate::context::Context;
use crate::error::CommandError;
use crate::filters::{FilterArgs, When};
use crate::render::text::plural;
use crate::ui::{escape, in_one_line, measure};

/// A query is sent after this long without a key.
const PAUSE: Duration = Duration::from_millis(60);
/// Maximum number of results. A longer list is not scrolled: a more specific query is faster.
const ROWS_MAX: usize = 200;
/// Number of events shown before the match, and in total.
const EVENTS_BEFORE: usize = 4;
const EVENTS_MAX: usize = 60;
/// Number of log lines read of a session without a match.
const BEGINNING_LINES: u64 = 400;

/// An answer of one of the threads.
pub(crate) enum Answer {
    Rows {
        rows: Vec<Row>,
        count: String,
        /// A note on how a word of the query was read.
        note: Option<String>,
    },
    /// How many matches the filters hide.
    Hidden(String),
    /// The query that was probably meant, if there are no results.
    Suggestion(String),
    /// The memory has no sessions.
    Empty,
    /// The query is invalid, with the reason.
    Refused(String),
    Preview(Preview),
    Failed(CommandError),
}

/// The two threads: one searches, one reads previews.
pub(crate) struct Desk {
    wishes: Sender<Wish>,
    looks: Sender<Row>,
    answers: Receiver<(u64, Answer)>,
    newest: Arc<AtomicU64>,
}

struct Wish {
    number: u64,
    query: String,
    narrow: Narrow,
}

impl Desk {
    pub(crate) fn open(context: &Arc<Context>) -> Self {
        let newest = Arc::new(AtomicU64::new(0));
        let (wishes, wished) = channel();
        let (looks, looked) = channel();
        let (answer, answers) = channel();
        let finder = (Arc::clone(context), Arc::clone(&newest), answer.clone());
        // The threads are not joined, because the user should not wait for them. They end when the channel is closed.
        thread::spawn(move || find_all(&finder.0, &wished, &finder.1, &finder.2));
        let looker = Arc::clone(context);
        thread::spawn(move || look_at_all(&looker, &looked, &answer));
        Self {
            wishes,
            looks,
            answers,
            newest,
        }
    }

    /// Sends a query. Answers to earlier queries are discarded.
    pub(crate) fn ask(&self, query: &str, narrow: Narrow) {
        let wish = Wish {
            number: self.newest.fetch_add(1, Ordering::Relaxed) + 1,
            query: query.to_owned(),
            narrow,
        };
        // If the thread has ended, `answer` reports it.
        _ = self.wishes.send(wish);
    }

    pub(crate) fn look(&self, row: &Row) {
        _ = self.looks.send(row.clone());
    }

    /// Returns the next answer to the newest query, if there is one.
    pub(crate) fn answer(&self) -> Option<Answer> {
        loop {
            match self.answers.try_recv() {
                Ok((number, _)) if number > 0 && number != self.newest.load(Ordering::Relaxed) => {}
                Ok((_, answer)) => return Some(answer),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => {
                    return Some(Answer::Failed(CommandError::internal("the finder's threads are gone")));
                }
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.newest.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers the newest query, once the user has stopped typing.
fn find_all(context: &Context, wished: &Receiver<Wish>, newest: &AtomicU64, answers: &Sender<(u64, Answer)>) {
    while let Ok(mut wish) = wished.recv() {
        // The first list is shown without a delay.
        while wish.number > 1 {
            match wished.recv_timeout(PAUSE) {
                Ok(newer) => wish = newer,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        let is_cancelled = || newest.load(Ordering::Relaxed) != wish.number;
        let answer = answer(context, &wish, &is_cancelled).unwrap_or_else(Answer::Failed);
        let is_nothing = matches!(&answer, Answer::Rows { rows, .. } if rows.is_empty());
        if answers.send((wish.number, answer)).is_err() {
            return;
        }
        // These take as long as the search itself, so they follow it.
        let more = [
            hidden(context, &wish, &is_cancelled),
            suggestion(context, &wish, is_nothing, &is_cancelled),
        ];
        for answer in more
            .into_iter()
            .filter_map(|more| more.unwrap_or_else(|error| Some(Answer::Failed(error))))
        {
            if !is_cancelled() && answers.send((wish.number, answer)).is_err() {
                return;
            }
        }
    }
}

/// Returns how many matches the filters hide.
fn hidden(
    context: &Context,
    wish: &Wish,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Answer>, CommandError> {
    if wish.narrow == Narrow::default() {
        return Ok(None);
    }
    let args = filters(wish.narrow);
    let filters = args.resolve_bare(context)?;
    let hides = |session: &ListedSession| !filters.take(session);
    let Some(store) = Store::open_existing(&context.places.data_dir)? else {
        return Ok(None);
    };
    let count = match Query::parse_while_typing(&wish.query) {
        _ if wish.query.trim().is_empty() => {
            let listed = store.reads().listed()?;
            let own = listed.iter().filter(|session| is_own(session) && hides(session));
            plural(own.count() as u64, "session")
        }
        Ok(query) => count_of(&find(&store, &question(context, &query, &hides, is_cancelled))?),
        Err(_) => return Ok(None),
    };
    Ok((!count.starts_with('0')).then_some(Answer::Hidden(count)))
}

/// Returns the query that was probably meant, if there are no results.
fn suggestion(
    context: &Context,
    wish: &Wish,
    is_nothing: bool,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Answer>, CommandError> {
    let (true, Ok(query)) = (is_nothing, Query::parse_while_typing(&wish.query)) else {
        return Ok(None);
    };
    let args = filters(wish.narrow);
    let filters = args.resolve_bare(context)?;
    let takes = |session: &ListedSession| filters.take(session);
    let Some(store) = Store::open_existing(&context.places.data_dir)? else {
        return Ok(None);
    };
    let question = question(context, &query, &takes, is_cancelled);
    Ok(suggest(&store, &wish.query, &question)?.map(Answer::Suggestion))
}

fn question<'q>(
    context: &Context,
    query: &'q Query,
    takes: &'q (dyn Fn(&ListedSession) -> bool + Sync),
    is_cancelled: &'q (dyn Fn() -> bool + Sync),
) -> Question<'q> {
    Question {
        query,
        now: context.now,
        threads: context.threads,
        enough: HitTarget::of(ROWS_MAX),
        takes,
        behind: None,
        is_cancelled,
    }
}

/// Returns the number of results as text.
fn count_of(findings: &Findings) -> String {
    let mut uids: Vec<&str> = findings
        .found
        .iter()
        .map(|found| found.session.session_uid.as_str())
        .collect();
    uids.sort_unstable();
    uids.dedup();
    let (turns, sessions) = (findings.found.len() as u64, uids.len() as u64);
    if findings.is_partial {
        let (turns, sessions) = (measure::count(turns), measure::count(sessions));
        return format!("{turns}+ turns in {sessions}+ sessions");
    }
    format!("{} in {}", plural(turns, "turn"), plural(sessions, "session"))
}

/// Returns a message about how a word of the query was read. If a key of the finder does the same as an option, the
/// message names the key.
fn note_text(note: &QueryNote) -> Option<String> {
    let QueryNote::UnknownField {
        typed,
        suggestion: FieldSuggestion::Option { option, value },
        ..
    } = note
    else {
        return (*note != QueryNote::ReadsEverything).then(|| note.to_string());
    };
    let instead = match *option {
        "agent" => "Tab filters by agent".to_owned(),
        "since" | "until" => "Ctrl-S filters by time".to_owned(),
        "repo" | "project" => "Ctrl-E filters by this repository".to_owned(),
        option => format!("`boswell search --{option} {value}` filters by it"),
    };
    Some(format!("`{typed}:` is not a field; {instead}"))
}

fn answer(context: &Context, wish: &Wish, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Answer, CommandError> {
    let args = filters(wish.narrow);
    // The keys set filters that every list has.
    let filters = args.resolve_bare(context)?;
    let takes = |session: &ListedSession| filters.take(session);
    if wish.query.trim().is_empty() {
        return newest(context, &takes);
    }
    let query = match Query::parse_while_typing(&wish.query) {
        Ok(query) => query,
        Err(QueryError::Empty) => return newest(context, &takes),
        Err(error) => return Ok(Answer::Refused(in_one_line(&error.to_string()))),
    };
    let Some(store) = Store::open_existing(&context.places.data_dir)? else {
        return Ok(Answer::Empty);
    };
    let findings = find(&store, &question(context, &query, &takes, is_cancelled))?;
    Ok(Answer::Rows {
        rows: findings.found.iter().take(ROWS_MAX).map(row_of_hit).collect(),
        count: count_of(&findings),
        note: query.notes.iter().find_map(note_text).map(|note| in_one_line(&note)),
    })
}

fn filters(narrow: Narrow) -> FilterArgs {
    let days = |days: i64| Some(When::Ago(SignedDuration::from_hours(24 * days)));
    FilterArgs {
        agent: narrow.agent.into_iter().map(AgentName).collect(),
        here: narrow.place == Place::Here,
        since: match narrow.since {
            Since::Ever => None,
            Since::Days7 => days(7),
            Since::Days30 => days(30),
        },
        ..FilterArgs::default()
    }
}

/// Returns the newest sessions, for an empty query. Subagents are listed only if their text matches a query.
fn newest(context: &Context, takes: &(dyn Fn(&ListedSession) -> bool + Sync)) -> Result<Answer, CommandError> {
    let Some(store) = Store::open_existing(&context.places.data_dir)? else {
        return Ok(Answer::Empty);
    };
    let reads = store.reads();
    let listed = reads.listed()?;
    if listed.is_empty() {
        return Ok(Answer::Empty);
    }
    let found: Vec<&ListedSession> = listed
        .iter()
        .filter(|session| takes(session) && is_own(session))
        .collect();
    let mut rows = Vec::new();
    for session in found.iter().take(ROWS_MAX) {
        let mut row = row_of(session);
        let first = match &session.first_prompt {
            Some(prompt) => Some(prompt.clone()),
            None => reads.turn_prompt(&session.session_uid, 1)?,
        };
        row.prompt = first.as_deref().map(in_one_line).unwrap_or_default();
        if row.title.is_empty() {
            row.title = row.prompt.clone();
        }
        rows.push(row);
    }
    let count = plural(found.len() as u64, "session");
    let note = None;
    Ok(Answer::Rows { rows, count, note })
}

/// Returns whether a session is listed by default.
fn is_own(session: &ListedSession) -> bool {
    !session.is_subagent && !session.is_hidden
}

fn row_of(session: &ListedSession) -> Row {
    Row {
        session_uid: session.session_uid.clone(),
        id: session.native_session_id().to_owned(),
        agent: in_one_line(session.flavor()),
        project: in_one_line(session.repo.as_deref().unwrap_or("-")),
        branch: session.branch.as_deref().map(in_one_line).unwrap_or_default(),
        at: session.last_micros.and_then(|at| Timestamp::from_microsecond(at).ok()),
        title: session.title.as_deref().map(in_one_line).unwrap_or_default(),
        ..Row::default()
    }
}

fn row_of_hit(found: &Found) -> Row {
    let snippet = &found.snippet;
    let mut pieces = Vec::new();
    let mut from = 0;
    for mark in &snippet.marks {
        pieces.push((escape(&snippet.text[from..mark.start]).into_owned(), Mark::Plain));
        pieces.push((escape(&snippet.text[mark.clone()]).into_owned(), Mark::Hit));
        from = mark.end;
    }
    pieces.push((escape(&snippet.text[from..]).into_owned(), Mark::Plain));
    pieces.retain(|(text, _)| !text.is_empty());
    Row {
        turn: found.turn,
        prompt: found.prompt.as_deref().map(in_one_line).unwrap_or_default(),
        line: found.line,
        at: found.ts.or(row_of(&found.session).at),
        place: in_one_line(found.place()),
        pieces,
        ..row_of(&found.session)
    }
}

/// Reads the preview of the newest selected row.
fn look_at_all(context: &Context, looked: &Receiver<Row>, answers: &Sender<(u64, Answer)>) {
    while let Ok(row) = looked.recv() {
        let row = looked.try_iter().last().unwrap_or(row);
        let preview = look(context, &row).map_or_else(|error| Answer::Failed(error.into()), Answer::Preview);
        if answers.send((0, preview)).is_err() {
            return;
        }
    }
}

fn look(context: &Context, row: &Row) -> Result<Preview, StoreError> {
    let store = Store::open_existing(&context.places.data_dir)?;
    let events = match &store {
        Some(store) => around(&store.reads(), row)?,
        None => Vec::new(),
    };
    Ok(Preview {
        session_uid: row.session_uid.clone(),
        line: row.line,
        events,
    })
}

/// Returns the events around the match, or the first ones of the session.
fn around(reads: &Reads<'_>, row: &Row) -> Result<Vec<Around>, StoreError> {
    let (first, last) = match row.line {
        Some(line) => (line.saturating_sub(EVENTS_BEFORE as u64), line + EVENTS_MAX as u64),
        None => (0, BEGINNING_LINES),
    };
    let mut events = reads.events_of_lines(&row.session_uid, first, last)?;
    let line_of = |event: &SessionEvent| event.text_line.unwrap_or(event.line);
    let is_hit = |event: &SessionEvent| row.line == Some(line_of(event));
    events.retain(|event| is_hit(event) || (event.kind() != Kind::Lifecycle && !event.summary.is_empty()));
    let hit = events.iter().position(is_hit);
    let from = hit.unwrap_or(0).saturating_sub(EVENTS_BEFORE);
    let told = events.iter().skip(from).take(EVENTS_MAX);
    Ok(told
        .map(|event| Around {
            label: in_one_line(event.tool.as_deref().unwrap_or(event.role.as_str())),
            text: in_one_line(&event.summary),
            mark: if is_hit(event) { Mark::Hit } else { Mark::Plain },
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use jiff::tz::TimeZone;

    use super::*;
    use crate::config::{Config, ConfigFile, Settings};
    use crate::context::Places;
    use crate::env::Environment;

    /// Returns the threads of a memory that does not exist.
    fn desk(directory: &Path) -> Desk {
        let none = ConfigFile {
            path: PathBuf::new(),
            is_required: false,
        };
        let places = Places {
            home: directory.to_owned(),
            current_dir: directory.to_owned(),
            system_config: none.clone(),
            user_config: none,
            data_dir: directory.into(),
            config_dir: PathBuf::new(),
        };
        let (settings, _) = Settings::merge(&[], &Environment::default(), &[]).unwrap();
        let config = Config::read(&settings, &places.home).unwrap();
        Desk::open(&Arc::new(Context {
            search_path: Vec::new(),
            reports: crate::context::Reports {
                path: PathBuf::new(),
                is_by_old_variable: false,
            },
            now: Timestamp::UNIX_EPOCH,
            is_clock_still: true,
            zone: std::sync::LazyLock::new(Box::new(|| TimeZone::UTC)),
            program: PathBuf::new(),
            own_variables: Vec::new(),
            threads: 1,
            places,
            config,
            settings,
            roots: Vec::new(),
            hub: None,
            passwords: crate::context::Passwords::default(),
        }))
    }

    fn next(desk: &Desk) -> Answer {
        loop {
            match desk.answer() {
                Some(answer) => return answer,
                None => thread::park_timeout(Duration::from_millis(5)),
            }
        }
    }

    #[test]
    fn only_the_newest_question_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let desk = desk(directory.path());
        for query in ["", "kind:one", "kind:two", "kind:three"] {
            desk.ask(query, Narrow::default());
        }
        assert!(matches!(next(&desk), Answer::Refused(why) if why.contains("three")));
        assert!(desk.answer().is_none());
        desk.ask("words", Narrow::default());
        assert!(matches!(next(&desk), Answer::Empty));
        desk.ask(" ", Narrow::default());
        assert!(matches!(next(&desk), Answer::Empty));
    }
}
