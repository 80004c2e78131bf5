//! The digest of a log that is not in the store. It must say what the digest of the same log would say once it is kept, and
//! it writes nothing.

use std::path::Path;

use transcript::Agent;

use super::lines::{Wanted, look_through_lines};
use super::{Digest, Facts, Findings, Settings, of};
use crate::logs::{self, LogError, LogReading};
use crate::mask::Masker;
use crate::repos;
use crate::store::{Fact, kept_calls, kept_events, kept_session, kept_turn};

/// Returns the digest of a log that was read, or `None` if there is no session in it. The log is read once more, because some
/// facts stand in whole texts only. `told` holds what hooks reported of the session.
pub fn from_log(
    log: &LogReading,
    masker: Option<&Masker>,
    told: Vec<Fact>,
    settings: &Settings<'_>,
) -> Result<Option<Digest>, LogError> {
    let Some(session) = log.reading.session.clone().map(kept_session) else {
        return Ok(None);
    };
    let events = kept_events(&log.reading.events);
    let facts = Facts {
        turns: log.reading.turns.iter().map(kept_turn).collect(),
        calls: kept_calls(&log.reading.calls),
        findings: find(log, log.agent, Wanted::of(&events), masker)?,
        place: session.cwd.as_deref().and_then(|cwd| repos::of(Path::new(cwd))),
        told,
        session,
    };
    Ok(Some(of(&facts, &events, settings)))
}

fn find(log: &LogReading, agent: Agent, wanted: Wanted, masker: Option<&Masker>) -> Result<Findings, LogError> {
    let mut failed = None;
    let findings = look_through_lines(agent, wanted, |take| {
        failed = logs::each_masked_line(log, masker, take).err();
    });
    failed.map_or(Ok(findings), Err)
}
