//! Makes the digest of a session while a sweep still has all its lines and events in memory, because reading them back
//! from the store takes longer. The result is equal to a digest made from stored rows and frames.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use transcript::{Agent, Delta, Session};

use super::lines::{Wanted, look_through};
use super::{DigestFacts, DigestSettings, QUIET, make_digest};
use crate::repos::{self, Repo};
use crate::store::{
    FreshDigest, FreshEvents, SessionFact, Store, StoreError, stored_calls, stored_session, stored_turn,
};

thread_local! {
    static LOOKUPS: RefCell<LookupCache> = RefCell::default();
}

/// What a worker has looked up for the sessions of its sweep. Sweeps use new threads, so it is never outdated for long.
#[derive(Default)]
struct LookupCache {
    /// Repositories by directory. Most sessions start in few directories, and asking the file system each time is slow.
    places: HashMap<String, Option<Repo>>,
    /// `false` if the store has no facts at all: then no session needs a query.
    has_facts: Option<bool>,
}

fn find_repo(cwd: &str) -> Option<Repo> {
    LOOKUPS.with_borrow_mut(|cache| match cache.places.get(cwd) {
        Some(place) => place.clone(),
        None => cache
            .places
            .entry(cwd.to_owned())
            .or_insert(repos::find_repo(Path::new(cwd)))
            .clone(),
    })
}

/// Sets the name of a session's repository as in its digest. Readers know only the name of the directory.
pub(crate) fn name_repo(delta: &mut Delta) {
    if let Some(session) = &mut delta.session
        && let Some(place) = session.cwd.as_deref().and_then(find_repo)
    {
        session.repo = Some(place.name);
    }
}

fn load_facts(store: &Store, uid: &str) -> Result<Vec<SessionFact>, StoreError> {
    let has_facts = match LOOKUPS.with_borrow(|cache| cache.has_facts) {
        Some(known) => known,
        None => store.reads().has_facts()?,
    };
    LOOKUPS.with_borrow_mut(|cache| cache.has_facts = Some(has_facts));
    match has_facts {
        true => store.reads().facts_of(uid),
        false => Ok(Vec::new()),
    }
}

/// A session that was read completely and is still in memory.
pub(crate) struct InMemorySession<'h> {
    /// The uid under which the session is stored.
    pub(crate) uid: &'h str,
    pub(crate) agent: Agent,
    pub(crate) delta: &'h Delta,
    pub(crate) events: &'h FreshEvents,
}

impl InMemorySession<'_> {
    /// Returns the digest, or `None` if it has to be made from the store later, for example because the session may go
    /// on. `stretches` are all lines: the number of the first line, the number of lines, and their bytes.
    pub(crate) fn digest<'l>(
        &self,
        store: &Store,
        settings: &DigestSettings<'_>,
        stretches: impl Iterator<Item = (u64, u64, &'l [u8])>,
    ) -> Result<Option<FreshDigest>, StoreError> {
        // If the log names another session after its head, it is stored under the uid from its path, so the rows
        // decide.
        let is_named = |session: &&Session| session.session_uid.as_str() == self.uid;
        let Some(session) = self.delta.session.as_ref().filter(is_named) else {
            return Ok(None);
        };
        // An amendment can change an event that is already stored, so the rows decide.
        if !self.delta.amendments.is_empty() {
            return Ok(None);
        }
        let last = session.ended_at.or(session.started_at);
        if last.is_none_or(|last| last > settings.now - QUIET) {
            return Ok(None);
        }
        let told = load_facts(store, self.uid)?;
        let mut facts = DigestFacts {
            turns: self.delta.turns.iter().map(stored_turn).collect(),
            calls: stored_calls(&self.delta.calls),
            findings: look_through(self.agent, Wanted::of(self.events.iter()), stretches),
            place: session.cwd.as_deref().and_then(find_repo),
            told,
            session: stored_session(session.clone()),
        };
        let digest = make_digest(&facts, self.events.iter(), settings);
        Ok(Some(FreshDigest::of(&digest, &mut facts.calls, &facts.told)))
    }
}
