//! Resolves a session argument: a uid, the start of an id, `last`, `here`, or a log.

use std::path::Path;

use memory::store::{ListedSession, SessionStatus, Store, StoreError};
use transcript::Agent;

use crate::context::Context;
use crate::error::CommandError;
use crate::filters::{lies_in, repository};
use crate::session_summary::words;
use crate::ui::{escape, in_one_line, measure};

/// Maximum number of candidates that are listed.
const CANDIDATES_MAX: usize = 10;
/// The width of each candidate's title.
const WORDS_COLUMNS: usize = 60;

/// The help of every argument that names a session.
pub(crate) const SESSION_HELP: &str =
    "A uid, the start of an id, `last`, `here` (the newest session of the current repository), or a log";

/// A session that an argument resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) session_uid: String,
    pub(crate) status: SessionStatus,
}

/// Opens the memory of this machine.
pub(crate) fn open_memory(context: &Context) -> Result<Store, CommandError> {
    let store = Store::open_existing(&context.places.data_dir)?;
    store.ok_or_else(|| {
        CommandError::not_found("no-memory", "there is no memory yet")
            .with_hint("`boswell setup` reads the agents' logs and creates it")
    })
}

/// Returns the one session that `word` names.
pub(crate) fn resolve(store: &Store, context: &Context, word: &str) -> Result<Named, CommandError> {
    resolve_among(store, context, word, &|_| true)
}

/// Returns the one session that `word` names among those that `takes` accepts.
pub(crate) fn resolve_among(
    store: &Store,
    context: &Context,
    word: &str,
    takes: &dyn Fn(&ListedSession) -> bool,
) -> Result<Named, CommandError> {
    if let Some(named) = of_whole_id(store, word, takes)? {
        return Ok(named);
    }
    let mut listed = store.reads().listed()?;
    let none = match listed.is_empty() {
        true => "there is no session in the memory yet",
        false => "no session in the memory matches",
    };
    listed.retain(takes);
    // `last` and `here` mean the user's own sessions, so subagents, hidden sessions and those without stored text are
    // excluded.
    let mut own = listed
        .iter()
        .filter(|session| session.status == SessionStatus::Kept && !session.is_subagent && !session.is_hidden);
    match word {
        "last" => {
            return own.next().map(named).ok_or_else(|| unknown(none));
        }
        "here" => {
            let here = repository(&context.places.current_dir);
            let found = own.find(|session| lies_in(session, &here)).map(named);
            return found.ok_or_else(|| unknown("there is no session of this directory in the memory"));
        }
        _ => {}
    }
    let begins = |session: &&ListedSession| {
        session.session_uid.starts_with(word) || session.native_session_id().starts_with(word)
    };
    let mut found: Vec<&ListedSession> = listed.iter().filter(begins).collect();
    let is_exact = |session: &&&ListedSession| session.session_uid == word || session.native_session_id() == word;
    let exact: Vec<&ListedSession> = found.iter().filter(is_exact).copied().collect();
    // The id of a session is a prefix of its subagents' ids; then the session itself is meant.
    let main: Vec<&ListedSession> = found
        .iter()
        .filter(|session| !session.native_session_id().contains('/'))
        .copied()
        .collect();
    for surer in [exact, main] {
        if surer.len() == 1 {
            found = surer;
        }
    }
    match found.as_slice() {
        [only] if !word.is_empty() => Ok(named(only)),
        [] => of_log(store, context, word, &listed),
        several => Err(ambiguous(store, context, word, several)?),
    }
}

fn named(session: &ListedSession) -> Named {
    Named {
        session_uid: session.session_uid.clone(),
        status: session.status,
    }
}

/// Returns the session with this whole uid or native id. Agents pass whole ids, and this lookup avoids listing all
/// sessions.
fn of_whole_id(store: &Store, word: &str, takes: &dyn Fn(&ListedSession) -> bool) -> Result<Option<Named>, StoreError> {
    let uids = match word.contains(':') {
        true => vec![word.to_owned()],
        false => Agent::ALL.map(|agent| format!("{}:{word}", agent.as_str())).to_vec(),
    };
    let mut found = Vec::new();
    for uid in uids {
        found.extend(store.reads().find_listed(&uid)?.filter(takes));
    }
    Ok(match found.as_slice() {
        [only] => Some(named(only)),
        _ => None,
    })
}

/// Returns the session of a log, given its path.
fn of_log(store: &Store, context: &Context, word: &str, listed: &[ListedSession]) -> Result<Named, CommandError> {
    let path = context.places.current_dir.join(word);
    if !path.is_file() {
        return Err(unknown(format_args!("no session in the memory begins with: `{word}`")));
    }
    let uid_of = |path: &Path| store.reads().uid_of_log(&path.to_string_lossy());
    let uid = match uid_of(&path)? {
        Some(uid) => Some(uid),
        None => path.canonicalize().ok().map_or(Ok(None), |real| uid_of(&real))?,
    };
    let session = uid.and_then(|uid| listed.iter().find(|session| session.session_uid == uid));
    session
        .map(named)
        .ok_or_else(|| unknown(format_args!("the memory holds nothing of this log: `{word}`")))
}

fn unknown(message: impl std::fmt::Display) -> CommandError {
    CommandError::not_found("session-unknown", message).with_hint("`boswell sweep` reads what is new")
}

fn ambiguous(
    store: &Store,
    context: &Context,
    word: &str,
    several: &[&ListedSession],
) -> Result<CommandError, StoreError> {
    let mut message = format!("several sessions begin with `{word}`:");
    for session in several.iter().take(CANDIDATES_MAX) {
        message += &format!("\n  {}", escape(&session.session_uid));
        let at = session
            .last_micros
            .and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
        if let Some(at) = at {
            message += &format!("  {}", measure::age(context.now, at));
        }
        let counted = store.reads().counted(&session.session_uid)?;
        if let Some(words) = words(session, &counted) {
            message += &format!("  {}", measure::fit(&in_one_line(words), WORDS_COLUMNS));
        }
    }
    if several.len() > CANDIDATES_MAX {
        message += &format!("\n  and {} more", several.len() - CANDIDATES_MAX);
    }
    Ok(CommandError::user("session-ambiguous", message).with_hint("name more of the id"))
}
