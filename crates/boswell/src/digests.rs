//! A digest as the verbs get it, and as programs read it.

use memory::digest::{self, Digest};
use memory::outcome::outcome_name;
use memory::store::{Decision, Patience, Store, StoreError};
use serde_json::{Value, json};

use crate::answers::shared::DecisionRecord;
use crate::context::Context;
use crate::error::CommandError;

/// The digest of a session: the kept one where there is nothing newer, else one that is made now, and kept where nobody
/// else writes.
pub(crate) fn digest_of(store: &Store, context: &Context, uid: &str) -> Result<Option<Digest>, CommandError> {
    if let Some(kept) = digest::current_digest(store, uid)? {
        return Ok(Some(kept));
    }
    // A digest of what an eviction left would be empty.
    if store.reads().is_let_go(uid)? {
        return Ok(None);
    }
    let settings = context.digest_settings();
    let written = Store::open(&context.places.data_dir)
        .and_then(|mut store| digest::write_digest(&mut store, Patience::Leave, "digest", uid, &settings));
    match written {
        Ok(digest) => Ok(digest),
        // What cannot be kept can be shown all the same.
        Err(StoreError::Busy | StoreError::Io { .. } | StoreError::Database(_)) => {
            Ok(digest::compute_digest(store, uid, &settings)?.map(|(digest, _)| digest))
        }
        Err(error) => Err(error.into()),
    }
}

/// A digest as programs read it.
pub(crate) fn to_json(context: &Context, decisions: &[Decision], digest: &Digest) -> Value {
    let mut answer = serde_json::to_value(digest).unwrap_or_default();
    answer["schema"] = "boswell.digest/1".into();
    answer["version"] = digest::VERSION.into();
    // A turn is what one prompt of a human caused.
    answer["prompts"] = digest.turns.into();
    answer["commits_total"] = digest.commit_count().into();
    answer["domain"] = context.domain(digest.repo.as_deref(), digest.remote.as_deref()).into();
    let outcome = digest.outcome.as_of(digest.ended_at, context.now);
    answer["outcome"] = outcome_name(outcome.outcome).into();
    answer["reason"] = outcome.reason.as_str().into();
    answer["confidence"] = outcome.confidence.as_str().into();
    answer["evidence"] = serde_json::to_value(outcome.evidence).unwrap_or_default();
    answer["decisions"] = json!(decisions.iter().map(DecisionRecord::from).collect::<Vec<_>>());
    answer
}
