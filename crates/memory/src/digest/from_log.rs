//! The digest of a log that is not in the store. It equals the digest that the same log would have in the store.
//! Nothing is written.

use std::path::Path;

use transcript::Agent;

use super::lines::{Wanted, look_through_lines};
use super::{Digest, DigestFacts, DigestSettings, Findings, make_digest};
use crate::ingest::Disclosure;
use crate::logs::{self, LogError, LogReading};
use crate::repos;
use crate::store::{SessionFact, stored_calls, stored_events, stored_session, stored_turn};

/// Returns the digest of a log that was read, or `None` if it contains no session. The log is read a second time,
/// because some facts are only in full texts. `hook_facts` are the facts that hooks reported about the session.
pub fn from_log<'m>(
    log: &LogReading,
    disclosure: impl Into<Disclosure<'m>>,
    hook_facts: Vec<SessionFact>,
    settings: &DigestSettings<'_>,
) -> Result<Option<Digest>, LogError> {
    let Some(session) = log.reading.session.clone().map(stored_session) else {
        return Ok(None);
    };
    let events = stored_events(&log.reading.events);
    let facts = DigestFacts {
        turns: log.reading.turns.iter().map(stored_turn).collect(),
        calls: stored_calls(&log.reading.calls),
        findings: find(log, log.agent, Wanted::of(&events), disclosure.into())?,
        place: session.cwd.as_deref().and_then(|cwd| repos::find_repo(Path::new(cwd))),
        told: hook_facts,
        session,
    };
    Ok(Some(make_digest(&facts, &events, settings)))
}

fn find(log: &LogReading, agent: Agent, wanted: Wanted, disclosure: Disclosure<'_>) -> Result<Findings, LogError> {
    let mut failed = None;
    let findings = look_through_lines(agent, wanted, |take| {
        failed = logs::each_masked_line(log, disclosure, take).err();
    });
    failed.map_or(Ok(findings), Err)
}
