//! `boswell digest`: one session on one page.

mod fit;
mod page;

use memory::digest::{self, Digest};
use memory::logs::{self, LogReading};
use memory::mask::Masker;
use memory::outcome::outcome_name;
use memory::prices::PriceTable;
use memory::session_text::{SessionText, SessionTexts, TextLocation, TextOrigin};
use memory::store::{Decision, Patience, Store, StoreError};
use memory::usage::{self, UsageSum};
use serde_json::{Value, json};
use transcript::Call;

use super::read::told_log_error;
use crate::answers::shared::DecisionRecord;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::prices;
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::text_source::{announce, text_gone};
use crate::ui::{Format, Ui};

/// Show a session on one page: prompts, result and effort
///
/// Outcome with its evidence, turns, time, tokens, tools, files, tests, errors and signals. A digest is stored once a
/// session is quiet, and stays when its raw text is evicted. Line numbers are those of the log: `boswell show` prints
/// the text around them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell digest last
  boswell digest 5e55 --subagents           with its subagents
  boswell digest last --max-tokens 500      for a model
  boswell digest LOG                        a log that is not in the memory
  boswell digest last --json")]
pub(crate) struct DigestArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Add its subagents, each with its own outcome, and the totals
    #[arg(long)]
    subagents: bool,
    /// Approximate size of the answer in model tokens; the last sections are left out first
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(50..))]
    max_tokens: Option<u32>,
}

/// A digest with everything that is printed with it.
struct DigestAnswer {
    digest: Digest,
    /// Where the text of the session comes from.
    origin: TextOrigin,
    cost: UsageSum,
    decisions: Vec<Decision>,
    /// With `--subagents`: their digests, and the total cost of the session and its subagents.
    children: Vec<Digest>,
    rolled_up_cost: UsageSum,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DigestArgs) -> Result<Outcome, CommandError> {
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let answer = match from_memory(ui, context, args, &prices) {
        // A log that is not in the memory is read from its path.
        Err(error) if error.is_not_found() && context.places.current_dir.join(&args.session).is_file() => {
            from_log(context, args, &prices)?
        }
        answer => answer?,
    };
    match ui.format {
        Format::Json => {
            let mut json = to_json(context, &answer.decisions, &answer.digest);
            json["text_from"] = answer.origin.as_str().into();
            json["cost_microusd"] = answer.cost.billed_micros().into();
            json["unpriced_calls"] = answer.cost.unpriced_calls.into();
            if args.subagents {
                json["subagents"] = answer.children.iter().map(|child| child_json(context, child)).collect();
                json["rolled_up"] = rolled_up(&answer);
            }
            if let Some(most) = args.max_tokens {
                json = fit::fit(json, most);
            }
            ui.json(&json)?;
        }
        Format::Text => {
            let lines = page::lines(ui, context, &answer);
            page::print(ui, lines, args.max_tokens)?;
        }
    }
    Ok(Outcome::Done)
}

fn from_memory(
    ui: &mut Ui,
    context: &Context,
    args: &DigestArgs,
    prices: &PriceTable,
) -> Result<DigestAnswer, CommandError> {
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
            announce(ui, &context.zone, texts.masker, &location);
            (digest_of_source(&texts, context, &uid, location)?, TextOrigin::Source)
        }
        (None, _) => return Err(no_digest(context, texts.masker, &uid, &location)),
    };
    let mut calls = store.reads().calls_of(&uid)?;
    let cost = usage::sum_calls(calls.iter(), prices);
    let mut children = Vec::new();
    if args.subagents {
        for child in store.reads().subagents_of(&uid)? {
            let child = child.session_uid.as_str();
            calls.extend(store.reads().calls_of(child)?);
            children.extend(digest_of(&store, context, child)?);
        }
    }
    Ok(DigestAnswer {
        digest,
        origin,
        cost,
        decisions: store.reads().decisions_of(&uid)?,
        children,
        rolled_up_cost: usage::sum_calls(calls.iter(), prices),
    })
}

/// Makes the digest of a log that is not in the memory. Writes nothing.
fn from_log(context: &Context, args: &DigestArgs, prices: &PriceTable) -> Result<DigestAnswer, CommandError> {
    let path = context.places.current_dir.join(&args.session);
    let (masker, settings) = (context.masker(false)?, context.digest_settings());
    let read = logs::read_session(&path, None, &masker).map_err(told_log_error)?;
    let make = |log: &LogReading| digest::from_log(log, Some(&masker), Vec::new(), &settings).map_err(told_log_error);
    let Some(digest) = make(&read.main)? else {
        let message = format_args!("no session in this log: `{}`", args.session);
        return Err(CommandError::not_found("log-empty", message));
    };
    let mut children = Vec::new();
    let mut calls: Vec<&Call> = read.main.reading.calls.iter().collect();
    let cost = usage::sum_calls(calls.iter().copied(), prices);
    for log in read.subagents.iter().filter(|_| args.subagents) {
        calls.extend(&log.reading.calls);
        children.extend(make(log)?);
    }
    Ok(DigestAnswer {
        digest,
        origin: TextOrigin::Source,
        cost,
        decisions: Vec::new(),
        children,
        rolled_up_cost: usage::sum_calls(calls.into_iter(), prices),
    })
}

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

/// Makes the digest of an evicted session from its log. It is not stored, because the memory has nothing it could be checked against.
fn digest_of_source(
    texts: &SessionTexts<'_>,
    context: &Context,
    uid: &str,
    location: TextLocation,
) -> Result<Digest, CommandError> {
    let text = texts.open(uid, location.clone());
    let Some(source) = text.as_ref().and_then(SessionText::source) else {
        return Err(no_digest(context, texts.masker, uid, &location));
    };
    let log = source.reading().map_err(told_log_error)?;
    let told = texts.store.reads().facts_of(uid)?;
    let digest = digest::from_log(log, Some(texts.masker), told, &context.digest_settings()).map_err(told_log_error)?;
    digest.ok_or_else(|| no_digest(context, texts.masker, uid, &location))
}

fn no_digest(context: &Context, masker: &Masker, uid: &str, location: &TextLocation) -> CommandError {
    match location {
        TextLocation::PromptsOnly => {
            let message = format_args!("no digest, because only prompts of this session are known: `{uid}`");
            CommandError::not_found("digest-unknown", message).with_hint("`boswell show` prints the prompts")
        }
        TextLocation::Evicted(..) => text_gone(&context.zone, masker, uid, location),
        TextLocation::Memory | TextLocation::Source(_) => {
            let message = format_args!("this session has nothing to make a digest from: `{uid}`");
            CommandError::not_found("digest-unknown", message).with_hint("`boswell sweep` reads it again")
        }
    }
}

/// Returns the page of a digest as lines of text, without decisions and subagents. The first two lines name the session.
pub(crate) fn page_lines(
    ui: &Ui,
    context: &Context,
    store: &Store,
    digest: Digest,
) -> Result<Vec<String>, CommandError> {
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let calls = store.reads().calls_of(digest.session_uid.as_str())?;
    let cost = usage::sum_calls(calls.iter(), &prices);
    let answer = DigestAnswer {
        digest,
        origin: TextOrigin::Digest,
        rolled_up_cost: cost,
        cost,
        decisions: Vec::new(),
        children: Vec::new(),
    };
    Ok(page::lines(ui, context, &answer))
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

fn child_json(context: &Context, child: &Digest) -> Value {
    let outcome = child.outcome.as_of(child.ended_at, context.now);
    json!({
        "session_uid": child.session_uid,
        "title": child.title,
        "outcome": outcome_name(outcome.outcome),
        "reason": outcome.reason.as_str(),
        "confidence": outcome.confidence.as_str(),
        "tool_calls": child.tool_calls,
        "errors": child.errors.count,
        "active_s": child.time.active_s,
        "tokens": child.tokens.total.total(),
    })
}

/// A session and its subagents together. The outcome is the session's own; active times add up, although subagents work at the
/// same time.
fn rolled_up(answer: &DigestAnswer) -> Value {
    let children = &answer.children;
    let all = || std::iter::once(&answer.digest).chain(children);
    json!({
        "sessions": children.len() + 1,
        "tool_calls": all().map(|one| one.tool_calls).sum::<u64>(),
        "errors": all().map(|one| one.errors.count).sum::<u64>(),
        "retries": all().map(|one| one.retries).sum::<u64>(),
        "active_s": all().map(|one| one.time.active_s).sum::<u64>(),
        "tokens": answer.rolled_up_cost.tokens.total(),
        "cost_microusd": answer.rolled_up_cost.billed_micros(),
        "unpriced_calls": answer.rolled_up_cost.unpriced_calls,
        "failed_subagents": children.iter().filter(|one| outcome_name(one.outcome.outcome) == "fail").count(),
    })
}
