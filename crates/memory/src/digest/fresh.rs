//! Digests of sessions that one reading has wholly, made while their lines and events are at hand: nothing is unpacked for them
//! again, and nothing is asked but what hooks told. They say the same as digests that are made of rows and frames.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use transcript::{Agent, Delta, Session};

use super::lines::{Wanted, look_through};
use super::{Facts, QUIET, Settings, of};
use crate::repos::{self, Repo};
use crate::store::{Fact, FreshDigest, FreshEvents, Store, StoreError, kept_calls, kept_session, kept_turn};

thread_local! {
    static LEARNED: RefCell<Learned> = RefCell::default();
}

/// What a worker learned once for all sessions of its sweep; it lives no longer.
#[derive(Default)]
struct Learned {
    /// Most sessions began in few directories.
    places: HashMap<String, Option<Repo>>,
    /// Whether hooks ever told anything.
    has_facts: Option<bool>,
}

fn place_of(cwd: &str) -> Option<Repo> {
    LEARNED.with_borrow_mut(|learned| match learned.places.get(cwd) {
        Some(place) => place.clone(),
        None => learned
            .places
            .entry(cwd.to_owned())
            .or_insert(repos::of(Path::new(cwd)))
            .clone(),
    })
}

/// Sets the name of a session's repository as in digests. Readers know only the name of its directory.
pub(crate) fn name_repo(delta: &mut Delta) {
    if let Some(session) = &mut delta.session
        && let Some(place) = session.cwd.as_deref().and_then(place_of)
    {
        session.repo = Some(place.name);
    }
}

fn facts_of(store: &Store, uid: &str) -> Result<Vec<Fact>, StoreError> {
    let has_facts = match LEARNED.with_borrow(|learned| learned.has_facts) {
        Some(known) => known,
        None => store.reads().has_facts()?,
    };
    LEARNED.with_borrow_mut(|learned| learned.has_facts = Some(has_facts));
    match has_facts {
        true => store.reads().facts_of(uid),
        false => Ok(Vec::new()),
    }
}

/// What a reading of a whole session has at hand.
pub(crate) struct AtHand<'h> {
    /// Under which it is kept.
    pub(crate) uid: &'h str,
    pub(crate) agent: Agent,
    pub(crate) delta: &'h Delta,
    pub(crate) events: &'h FreshEvents,
}

impl AtHand<'_> {
    /// The digest; none while the session may go on. `stretches` are all its lines: from which on, how many, and their bytes.
    pub(crate) fn digest<'l>(
        &self,
        store: &Store,
        settings: &Settings<'_>,
        stretches: impl Iterator<Item = (u64, u64, &'l [u8])>,
    ) -> Result<Option<FreshDigest>, StoreError> {
        // What names itself behind its head is kept under the name of its log.
        let is_named = |session: &&Session| session.session_uid.as_str() == self.uid;
        let Some(session) = self.delta.session.as_ref().filter(is_named) else {
            return Ok(None);
        };
        // What changes something that is not at hand is left to the rows.
        if !self.delta.amendments.is_empty() {
            return Ok(None);
        }
        let last = session.ended_at.or(session.started_at);
        if last.is_none_or(|last| last > settings.now - QUIET) {
            return Ok(None);
        }
        let told = facts_of(store, self.uid)?;
        let mut facts = Facts {
            turns: self.delta.turns.iter().map(kept_turn).collect(),
            calls: kept_calls(&self.delta.calls),
            findings: look_through(self.agent, Wanted::of(self.events.iter()), stretches),
            place: session.cwd.as_deref().and_then(place_of),
            told,
            session: kept_session(session.clone()),
        };
        let digest = of(&facts, self.events.iter(), settings);
        Ok(Some(FreshDigest::of(&digest, &mut facts.calls, &facts.told)))
    }
}
