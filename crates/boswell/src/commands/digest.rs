//! `boswell digest`: one session on one page.

mod fit;
mod page;

use std::collections::HashMap;
use std::path::Path;

use memory::digest::{self, Digest};
use memory::outcome::outcome_word;
use memory::repos;
use memory::session_text::{SessionText, SessionTexts, TextLocation, TextOrigin};
use memory::store::{Patience, Store, StoreError};
use serde_json::{Value, json};
use transcript::SessionEvent;

use super::decisions;
use super::read::told_log_error;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::text_source::{announce, text_gone};
use crate::ui::{Format, Ui};

/// Show a session on one page: what was asked, what came of it, what it took
///
/// Outcome with its evidence, turns, time, tokens, tools, files, tests, errors and signals. A digest is kept when a session
/// is quiet, and stays when its raw text is evicted. Lines are lines of the log: `boswell show` has the words around them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell digest last
  boswell digest 5e55 --subagents           with those who worked for it
  boswell digest last --max-tokens 500      for a model
  boswell digest last --json")]
pub(crate) struct DigestArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Add what its subagents did, each judged for itself, and the sums
    #[arg(long)]
    subagents: bool,
    /// About how many tokens the answer may take; what is told last goes first
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(50..))]
    max_tokens: Option<u32>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DigestArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let uid = resolve(&store, context, &args.session)?.session_uid;
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store: &store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    let location = texts.locate(&uid)?;
    let (digest, origin) = match (digest_of(&store, context, &uid)?, &location) {
        (Some(digest), TextLocation::Memory) => (digest, TextOrigin::Memory),
        (Some(digest), _) => (digest, TextOrigin::Digest),
        // An overflow evicts sessions without a digest.
        (None, TextLocation::Source(_)) => {
            announce(ui, &context.zone, &location);
            (digest_of_source(&texts, context, &uid, location)?, TextOrigin::Source)
        }
        (None, _) => return Err(no_digest(context, &uid, &location)),
    };
    let mut children = Vec::new();
    if args.subagents {
        for child in store.reads().subagents_of(&uid)? {
            children.extend(digest_of(&store, context, child.session_uid.as_str())?);
        }
    }
    match ui.format {
        Format::Json => {
            let mut answer = to_json(context, &store, &digest)?;
            answer["text_from"] = origin.as_str().into();
            if args.subagents {
                answer["subagents"] = children.iter().map(|child| child_json(context, child)).collect();
                answer["rolled_up"] = rolled_up(&digest, &children);
            }
            if let Some(most) = args.max_tokens {
                answer = fit::fit(answer, most);
            }
            ui.json(&answer)?;
        }
        Format::Text => {
            let decisions = store.reads().decisions_of(&uid)?;
            let lines = page::lines(ui, context, &digest, &decisions, &children);
            page::print(ui, lines, args.max_tokens)?;
        }
    }
    Ok(Outcome::Done)
}

/// The digest of a session: the kept one where there is nothing newer, else one that is made now, and kept where nobody
/// else writes.
pub(crate) fn digest_of(store: &Store, context: &Context, uid: &str) -> Result<Option<Digest>, CommandError> {
    if let Some(kept) = digest::current(store, uid)? {
        return Ok(Some(kept));
    }
    // A digest of what an eviction left would be an empty one.
    if store.reads().is_let_go(uid)? {
        return Ok(None);
    }
    let settings = context.digest_settings();
    let written = Store::open(&context.places.data_dir)
        .and_then(|mut store| digest::make_one(&mut store, Patience::Leave, "digest", uid, &settings));
    match written {
        Ok(digest) => Ok(digest),
        // What cannot be kept can be shown all the same.
        Err(StoreError::Busy | StoreError::Io { .. } | StoreError::Database(_)) => {
            Ok(digest::make(store, uid, &settings)?.map(|(digest, _)| digest))
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the digest of an evicted session from its log. It is not stored, because the memory has nothing it could be checked against.
fn digest_of_source(
    texts: &SessionTexts<'_>,
    context: &Context,
    uid: &str,
    location: TextLocation,
) -> Result<Digest, CommandError> {
    let text = texts.open(uid, location.clone());
    let source = text.as_ref().and_then(SessionText::source);
    let (Some(text), Some(source)) = (&text, source) else {
        return Err(no_digest(context, uid, &location));
    };
    let reading = &source.reading().map_err(told_log_error)?.reading;
    let Some(session) = reading.session.clone() else {
        return Err(no_digest(context, uid, &location));
    };
    let whole = text.texts(&reading.events)?;
    let at = |event: &SessionEvent| Some(((event.part, event.line, event.block), whole.get(&event.seq)?.as_str()));
    let at_place: HashMap<_, _> = reading.events.iter().filter_map(at).collect();
    let facts = digest::Facts {
        turns: reading.turns.clone(),
        calls: reading.calls.clone(),
        findings: digest::Findings::default(),
        place: session.cwd.as_deref().and_then(|cwd| repos::of(Path::new(cwd))),
        told: texts.store.reads().facts_of(uid)?,
        session,
    };
    let text_at = |part, line, block| at_place.get(&(part, line, block)).copied();
    Ok(digest::of_log(
        facts,
        &reading.events,
        text_at,
        &context.digest_settings(),
    ))
}

fn no_digest(context: &Context, uid: &str, location: &TextLocation) -> CommandError {
    match location {
        TextLocation::PromptsOnly => {
            let message = format_args!("only prompts of this session are known, which make no digest: `{uid}`");
            CommandError::not_found("digest-unknown", message).with_hint("`boswell show` prints the prompts")
        }
        TextLocation::Evicted(..) => text_gone(&context.zone, uid, location),
        TextLocation::Memory | TextLocation::Source(_) => {
            let message = format_args!("this session has nothing to make a digest of: `{uid}`");
            CommandError::not_found("digest-unknown", message).with_hint("`boswell sweep` reads it again")
        }
    }
}

/// Returns the page of a digest as lines of text, without decisions and subagents. The first two lines name the session.
pub(crate) fn page_lines(ui: &Ui, context: &Context, digest: &Digest) -> Vec<String> {
    page::lines(ui, context, digest, &[], &[])
}

/// A digest as programs read it.
pub(crate) fn to_json(context: &Context, store: &Store, digest: &Digest) -> Result<Value, CommandError> {
    let mut answer = serde_json::to_value(digest).unwrap_or_default();
    answer["schema"] = "boswell.digest/1".into();
    answer["version"] = digest::VERSION.into();
    answer["domain"] = context.domain(digest.repo.as_deref(), digest.remote.as_deref()).into();
    let outcome = digest.outcome.at(digest.ended_at, context.now);
    answer["outcome"] = outcome_word(outcome.outcome).into();
    answer["reason"] = outcome.reason.as_str().into();
    answer["confidence"] = outcome.confidence.as_str().into();
    answer["evidence"] = serde_json::to_value(outcome.evidence).unwrap_or_default();
    let decisions = store.reads().decisions_of(&digest.session_uid)?;
    answer["decisions"] = decisions.iter().map(decisions::to_json).collect();
    Ok(answer)
}

fn child_json(context: &Context, child: &Digest) -> Value {
    let outcome = child.outcome.at(child.ended_at, context.now);
    json!({
        "session_uid": child.session_uid,
        "title": child.title,
        "outcome": outcome_word(outcome.outcome),
        "reason": outcome.reason.as_str(),
        "confidence": outcome.confidence.as_str(),
        "tool_calls": child.tool_calls,
        "errors": child.errors.count,
        "active_s": child.time.active_s,
        "tokens": child.tokens.total.total(),
    })
}

/// A session and those who worked for it, together. The outcome is the session's own.
fn rolled_up(digest: &Digest, children: &[Digest]) -> Value {
    let all = || std::iter::once(digest).chain(children);
    json!({
        "sessions": children.len() + 1,
        "tool_calls": all().map(|one| one.tool_calls).sum::<u64>(),
        "errors": all().map(|one| one.errors.count).sum::<u64>(),
        "retries": all().map(|one| one.retries).sum::<u64>(),
        "active_s": all().map(|one| one.time.active_s).sum::<u64>(),
        "tokens": all().map(|one| one.tokens.total.total()).sum::<u64>(),
        "failed_subagents": children.iter().filter(|one| outcome_word(one.outcome.outcome) == "fail").count(),
    })
}
