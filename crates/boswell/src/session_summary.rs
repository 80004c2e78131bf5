//! A session in one line: its name, title or first prompt, and its outcome.

use memory::digest;
use memory::store::{ListedSession, SessionCounts, Store, StoreError};

use crate::context::Context;
use crate::error::CommandError;

/// Returns the outcome of a session as its digest has it. If there is no digest, the session is judged now; nothing is written.
pub(crate) fn current_outcome(
    store: &Store,
    context: &Context,
    session_uid: &str,
) -> Result<transcript::Outcome, CommandError> {
    let kept = store
        .reads()
        .digest_of(session_uid)?
        .map(|row| (row.is_sealed, row.digest));
    let is_whole = |is_sealed: bool| Ok::<_, StoreError>(is_sealed || store.reads().is_analyzed(session_uid)?);
    let digest = match kept {
        Some((is_sealed, digest)) if is_whole(is_sealed)? => Some(digest),
        _ => digest::compute_digest(store, session_uid, &context.digest_settings())?.map(|(digest, _)| digest),
    };
    let judged = digest.map(|digest| digest.outcome.as_of(digest.ended_at, context.now).outcome);
    Ok(judged.unwrap_or(transcript::Outcome::Unknown))
}

/// Returns the user's name for a session, or else its title or first prompt.
pub(crate) fn words<'s>(session: &'s ListedSession, counted: &'s SessionCounts) -> Option<&'s str> {
    let first = counted.first_prompt.as_deref().or(session.first_prompt.as_deref());
    let title = session.title.as_deref().filter(|title| !title.is_empty());
    session.said.name.as_deref().or(title).or(first)
}
