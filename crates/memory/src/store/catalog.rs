//! Queries over all sessions: lists them by agent, place and time, and resolves names. Nothing is written here.
//!
//! A list of all sessions reads little of each. What has to be counted is read only for the sessions that are shown.

use std::collections::HashSet;
use std::sync::Arc;

use transcript::{Call, counted};

use super::annotations::Annotations;
use super::engine::{Row, Value};
use super::names::Names;
use super::{Reads, StoreError, paths};

/// Up to this many sessions are read one by one, and more with one query over all sessions.
const SINGLE_READS_MAX: usize = 64;

/// What is stored of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// Its log is stored.
    Kept,
    /// Its log was stored and has been evicted.
    Evicted,
    /// Only the agent's history still has its prompts.
    PromptsOnly,
}

impl SessionStatus {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Evicted => "evicted",
            Self::PromptsOnly => "prompts_only",
        }
    }
}

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    pub session_uid: String,
    pub status: SessionStatus,
    pub started_micros: Option<i64>,
    pub ended_micros: Option<i64>,
    /// When it was last active: its end, or when it was read if it has no timestamps.
    pub last_micros: Option<i64>,
    pub repo: Option<Arc<str>>,
    pub cwd: Option<Arc<str>>,
    pub branch: Option<Arc<str>>,
    pub title: Option<String>,
    pub is_subagent: bool,
    /// `true` if the agent hides it from its own lists.
    pub is_hidden: bool,
    /// Set only if nothing but prompts is left. Other sessions have it in [`SessionCounts`].
    pub first_prompt: Option<String>,
    /// The user's annotations.
    pub said: Annotations,
    /// The machine and the user that wrote it, as configured there, or `None` if they were not.
    pub machine: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
}

impl ListedSession {
    /// Returns the name of its agent.
    pub fn flavor(&self) -> &str {
        self.session_uid.split_once(':').map_or("", |(flavor, _)| flavor)
    }

    /// Returns the agent's own id of the session.
    pub fn native_session_id(&self) -> &str {
        self.session_uid.split_once(':').map_or("", |(_, native)| native)
    }
}

/// What has to be counted in a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionCounts {
    pub turns: u64,
    pub events: u64,
    /// Prompts by a human, one per turn. If only the agent's history of prompts is left, the prompts in it.
    pub prompts: u64,
    /// Bytes that the agent wrote.
    pub bytes: u64,
    /// Tokens of all kinds, of the calls that count within the session.
    pub tokens: u64,
    pub first_prompt: Option<String>,
}

impl Reads<'_> {
    /// Returns all sessions, including those of which only prompts are left, newest first.
    pub fn listed(&self) -> Result<Vec<ListedSession>, StoreError> {
        let mut listed = self.listed_where("1 = 1", &[])?;
        for session in self.prompts_only()? {
            listed.push(ListedSession {
                session_uid: session.session_uid,
                status: SessionStatus::PromptsOnly,
                started_micros: session.first_micros,
                ended_micros: session.last_micros,
                last_micros: session.last_micros,
                repo: session.project.as_deref().and_then(last_component).map(Into::into),
                cwd: session.project.map(Into::into),
                branch: None,
                title: session.title,
                is_subagent: false,
                is_hidden: false,
                first_prompt: Some(session.first_prompt).filter(|prompt| !prompt.is_empty()),
                said: Annotations::default(),
                machine: None,
                user: None,
            });
        }
        let mut said = self.annotations()?;
        if !said.is_empty() {
            for session in &mut listed {
                session.said = said.remove(&session.session_uid).unwrap_or_default();
            }
        }
        Ok(newest_first(listed))
    }

    /// Returns the session with this uid as a list shows it, if its log is or was stored.
    pub fn find_listed(&self, session_uid: &str) -> Result<Option<ListedSession>, StoreError> {
        let mut found = self.listed_where("session_uid = $1", &[Value::Text(session_uid)])?;
        let Some(mut session) = found.pop() else {
            return Ok(None);
        };
        session.said = self.annotations_of(session_uid)?;
        Ok(Some(session))
    }

    /// Returns how many of these sessions are listed as sessions and how many as subagents. Copies of other sessions are not listed.
    pub(crate) fn count_listed(&self, uids: &HashSet<String>) -> Result<(u64, u64), StoreError> {
        let mut listed = Vec::new();
        if uids.len() > SINGLE_READS_MAX {
            listed = self.listed_where("1 = 1", &[])?;
            listed.retain(|session| uids.contains(&session.session_uid));
        } else {
            for uid in uids {
                listed.extend(self.listed_where("session_uid = $1", &[Value::Text(uid)])?);
            }
        }
        let subagents = listed.iter().filter(|session| session.is_subagent).count();
        Ok(((listed.len() - subagents) as u64, subagents as u64))
    }

    /// Returns the sessions that match a condition and have or had a log, sorted by uid. Two scans of two tables take
    /// half the time of a lookup for each row.
    fn listed_where(&self, which: &str, values: &[Value<'_>]) -> Result<Vec<ListedSession>, StoreError> {
        let (gone, writer) = (self.evicted_at_column()?, self.writer_columns()?);
        let sql = format!(
            "SELECT session_uid, ingested_at, {gone}, {writer} FROM sessions
             WHERE stands_for IS NULL AND {which} ORDER BY session_uid"
        );
        let mut names = Names::default();
        let mut listed = self.engine.query(&sql, values, |row| read_listed(row, &mut names))?;
        let views = format!(
            "SELECT session_uid, started_at, ended_at, repo, cwd, branch, title, is_subagent, is_hidden FROM views
             WHERE {which}"
        );
        self.engine.each(&views, values, |row| {
            let uid = row.text_ref(0)?;
            if let Ok(at) = listed.binary_search_by(|session| session.session_uid.as_str().cmp(uid)) {
                fill_view(&mut listed[at], row, &mut names)?;
            }
            Ok(())
        })?;
        Ok(listed)
    }

    /// Counts the contents of a session.
    pub fn counted(&self, session_uid: &str) -> Result<SessionCounts, StoreError> {
        let uid = [Value::Text(session_uid)];
        let number = |sql: &str| -> Result<u64, StoreError> {
            let found = self.engine.query_opt(sql, &uid, |row| row.int_opt(0))?.flatten();
            Ok(found.and_then(|number| u64::try_from(number).ok()).unwrap_or_default())
        };
        let turn = self.engine.query_opt(
            "SELECT prompt FROM turns WHERE session_uid = $1 ORDER BY turn LIMIT 1",
            &uid,
            |row| row.text(0),
        )?;
        let calls = self.session_calls(session_uid)?;
        let borrowed: Vec<&Call> = calls.iter().collect();
        let that_count = calls.iter().zip(counted(&borrowed)).filter(|(_, counts)| *counts);
        let turns = number("SELECT count(*) FROM turns WHERE session_uid = $1")?;
        Ok(SessionCounts {
            tokens: that_count.map(|(call, _)| call.tokens.total()).sum(),
            turns,
            events: number("SELECT sum(events) FROM events WHERE session_uid = $1")?,
            prompts: match self.has_session(session_uid)? {
                true => turns,
                false => self.prompt_count(session_uid)?,
            },
            bytes: number("SELECT sum(read_to) FROM cursors WHERE session_uid = $1")?,
            first_prompt: turn.filter(|prompt| !prompt.is_empty()),
        })
    }

    /// Returns each session with the models that it called.
    pub fn models(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.query_pairs(
            "SELECT DISTINCT session_uid, model FROM calls WHERE model IS NOT NULL ORDER BY session_uid, model",
        )
    }

    /// Returns each session with the roots it was read from: the root's label, or its path if it has none.
    pub fn roots_of_sessions(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.query_pairs("SELECT DISTINCT session_uid, root FROM cursors ORDER BY session_uid, root")
    }

    /// Returns each session with the prompts of its turns.
    pub fn prompts_of_turns(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.query_pairs("SELECT session_uid, prompt FROM turns ORDER BY session_uid, turn")
    }

    fn query_pairs(&self, sql: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.engine.query(sql, &[], |row| Ok((row.text(0)?, row.text(1)?)))
    }

    /// Returns the sessions that have a part in the file at `path`.
    pub fn uids_of_path(&self, path: &str) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT DISTINCT session_uid FROM cursors WHERE path = $1 ORDER BY session_uid",
            &[Value::Text(&paths::to_stored(self.engine, path))],
            |row| row.text(0),
        )
    }

    /// Returns the session of the log at `path`.
    pub fn uid_of_log(&self, path: &str) -> Result<Option<String>, StoreError> {
        self.engine.query_opt(
            "SELECT cursors.session_uid FROM cursors JOIN sessions ON sessions.session_uid = cursors.session_uid
             WHERE path = $1 AND part IN ('log', 'chat_history', 'events') AND stands_for IS NULL
             ORDER BY cursors.session_uid LIMIT 1",
            &[Value::Text(&paths::to_stored(self.engine, path))],
            |row| row.text(0),
        )
    }
}

/// Sorts sessions, newest first. It sorts indexes and moves each session only once, because a session is large and a
/// second list would double the memory.
fn newest_first(mut listed: Vec<ListedSession>) -> Vec<ListedSession> {
    let mut order: Vec<usize> = (0..listed.len()).collect();
    order.sort_unstable_by(|a, b| {
        let (a, b) = (&listed[*a], &listed[*b]);
        let newest = b.last_micros.cmp(&a.last_micros);
        newest.then_with(|| a.session_uid.cmp(&b.session_uid))
    });
    for start in 0..order.len() {
        let mut at = start;
        // Follows one cycle of the permutation until it returns to its start.
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start {
                break;
            }
            listed.swap(at, from);
            at = from;
        }
    }
    listed
}

fn read_listed(row: &Row<'_>, names: &mut Names) -> Result<ListedSession, StoreError> {
    let is_evicted = row.int_opt(2)?.is_some();
    Ok(ListedSession {
        session_uid: row.text(0)?,
        status: if is_evicted {
            SessionStatus::Evicted
        } else {
            SessionStatus::Kept
        },
        started_micros: None,
        ended_micros: None,
        last_micros: Some(row.int(1)?),
        repo: None,
        cwd: None,
        branch: None,
        title: None,
        is_subagent: false,
        is_hidden: false,
        first_prompt: None,
        said: Annotations::default(),
        machine: names.intern_opt(row.text_ref_opt(3)?),
        user: names.intern_opt(row.text_ref_opt(4)?),
    })
}

/// Adds what the log says about its session.
fn fill_view(session: &mut ListedSession, row: &Row<'_>, names: &mut Names) -> Result<(), StoreError> {
    (session.started_micros, session.ended_micros) = (row.int_opt(1)?, row.int_opt(2)?);
    // A session without timestamps was last active when it was read.
    let last_time = session.ended_micros.or(session.started_micros);
    session.last_micros = last_time.or(session.last_micros);
    session.repo = names.intern_opt(row.text_ref_opt(3)?);
    session.cwd = names.intern_opt(row.text_ref_opt(4)?);
    session.branch = names.intern_opt(row.text_ref_opt(5)?);
    session.title = row.text_opt(6)?;
    (session.is_subagent, session.is_hidden) = (row.int(7)? != 0, row.int(8)? != 0);
    Ok(())
}

/// Returns the last component of a path with either kind of separator.
fn last_component(path: &str) -> Option<String> {
    let name = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}
