//! Digests for the verbs, and as they are printed with `--json`.

use memory::digest::{self, Digest};
use memory::store::{Decision, LockWait, Store, StoreError};

use crate::answers::session::{DigestRecord, RolledUpDigest, SubagentDigest, WholeDigest};
use crate::answers::shared::DecisionRecord;
use crate::context::Context;
use crate::digest_page::DigestAnswer;
use crate::error::CommandError;

/// Returns the digest of a session: the stored one if it is current, otherwise a new one, which is stored unless
/// another process is writing.
pub(crate) fn digest_of(store: &Store, context: &Context, uid: &str) -> Result<Option<Digest>, CommandError> {
    if let Some(kept) = digest::current_digest(store, uid)? {
        return Ok(Some(kept));
    }
    // A digest of what remains after an eviction would be empty.
    if store.reads().is_evicted(uid)? {
        return Ok(None);
    }
    let settings = context.digest_settings();
    let written = Store::open(&context.places.data_dir)
        .and_then(|mut store| digest::write_digest(&mut store, LockWait::GiveUp, "digest", uid, &settings));
    match written {
        Ok(digest) => Ok(digest),
        // A digest that cannot be stored can still be shown.
        Err(StoreError::Busy | StoreError::Io { .. } | StoreError::Database(_)) => {
            Ok(digest::compute_digest(store, uid, &settings)?.map(|(digest, _)| digest))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns a digest for `--json`, with its outcome as of now.
pub(crate) fn record<'a>(context: &'a Context, decisions: &[Decision], digest: &'a Digest) -> DigestRecord<'a> {
    let outcome = digest.outcome.as_of(digest.ended_at, context.now);
    let domain = context.domain(digest.repo.as_deref(), digest.remote.as_deref());
    let decisions = decisions.iter().map(DecisionRecord::from).collect();
    DigestRecord::new(digest, outcome, domain, decisions)
}

impl DigestAnswer {
    /// Returns a digest for `--json`, with everything that is printed with it.
    pub(crate) fn record<'a>(&'a self, context: &'a Context, with_subagents: bool) -> WholeDigest<'a> {
        let subagents = || self.children.iter().map(|child| child_record(context, child)).collect();
        WholeDigest {
            digest: record(context, &self.decisions, &self.digest),
            text_from: self.origin.as_str(),
            cost_microusd: self.cost.billed_micros(),
            unpriced_calls: self.cost.unpriced_calls,
            subagents: with_subagents.then(subagents),
            rolled_up: with_subagents.then(|| self.rolled_up()),
        }
    }

    /// Returns the totals of a session and its subagents. The outcome is the session's own; active times are added up,
    /// although subagents work in parallel.
    fn rolled_up(&self) -> RolledUpDigest {
        let children = &self.children;
        let all = || std::iter::once(&self.digest).chain(children);
        let failed = children
            .iter()
            .filter(|one| one.outcome.outcome == transcript::Outcome::Fail);
        RolledUpDigest {
            sessions: children.len() + 1,
            tool_calls: all().map(|one| one.tool_calls).sum(),
            errors: all().map(|one| one.errors.count).sum(),
            retries: all().map(|one| one.retries).sum(),
            active_s: all().map(|one| one.time.active_s).sum(),
            tokens: self.rolled_up_cost.tokens.total(),
            cost_microusd: self.rolled_up_cost.billed_micros(),
            unpriced_calls: self.rolled_up_cost.unpriced_calls,
            failed_subagents: failed.count(),
        }
    }
}

fn child_record<'a>(context: &Context, child: &'a Digest) -> SubagentDigest<'a> {
    let outcome = child.outcome.as_of(child.ended_at, context.now);
    SubagentDigest {
        session_uid: &child.session_uid,
        title: child.title.as_deref(),
        outcome: outcome.outcome,
        reason: outcome.reason,
        confidence: outcome.confidence,
        tool_calls: child.tool_calls,
        errors: child.errors.count,
        active_s: child.time.active_s,
        tokens: child.tokens.total.total(),
    }
}
