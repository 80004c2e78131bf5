//! `boswell digest`: shows one session on one page.

mod fit;

use memory::digest::{self, Digest};
use memory::logs::{self, LogReading};
use memory::mask::Masker;
use memory::prices::PriceTable;
use memory::session_text::{SessionText, SessionTexts, TextLocation, TextOrigin};
use memory::usage;
use transcript::Call;

use crate::answers;
use crate::context::Context;
use crate::digest_page::{DigestAnswer, lines, print};
use crate::digests::digest_of;
use crate::error::{CommandError, Outcome, log_error};
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
            let digest = answer.record(context, args.subagents);
            ui.json(&match args.max_tokens {
                Some(most) => fit::fit(digest, most)?,
                None => answers::session::DigestAnswer::Whole(Box::new(digest)),
            })?;
        }
        Format::Text => {
            print(ui, lines(ui, context, &answer), args.max_tokens)?;
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
        // A session that an overflow evicted has no digest.
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
    let read = logs::read_session(&path, None, &masker).map_err(log_error)?;
    let make = |log: &LogReading| digest::from_log(log, &masker, Vec::new(), &settings).map_err(log_error);
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

/// Makes the digest of an evicted session from its log. The digest is not stored, because the memory has nothing to
/// check it against.
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
    let log = source.reading().map_err(log_error)?;
    let told = texts.store.reads().facts_of(uid)?;
    let digest = digest::from_log(log, texts.masker, told, &context.digest_settings()).map_err(log_error)?;
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
