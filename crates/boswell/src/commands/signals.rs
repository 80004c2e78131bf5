//! `boswell signals`: notable patterns, in one session or in all of them.

use std::collections::{BTreeMap, HashMap};

use memory::budget_overrun::{UsualValues, compute_usual, find_overrun};
use memory::digest::Digest;
use memory::signals::{Signal, SignalKind};
use memory::store::{ListedSession, Store};

use crate::answers::ask::{SessionSignals, SignalsAnswer};
use crate::context::Context;
use crate::digests::digest_of;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::render::text::plural;
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::signal_lines::lines;
use crate::ui::{Format, HEADING, Ui, escape};

/// Show patterns in sessions: loops, retries, interruptions, tests left failing
///
/// For one session with the evidence, or for all sessions that have a digest, newest first. Each piece of evidence
/// names a line of the log. `budget_overrun` marks a session that used more than nine of ten others.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell signals last
  boswell signals --since 7d
  boswell signals --signal error_loop --signal failing_tests_left --json")]
pub(crate) struct SignalsArgs {
    #[arg(help = SESSION_HELP)]
    session: Option<String>,
    /// Only this signal; can be repeated
    #[arg(long, value_name = "SIGNAL", value_parser = signal)]
    signal: Vec<SignalKind>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Maximum number of sessions; `0` for no limit
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

fn signal(word: &str) -> Result<SignalKind, String> {
    let found = SignalKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == word.replace('-', "_"));
    found.ok_or_else(|| {
        let known: Vec<&str> = SignalKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("signals are: {}", known.join(", "))
    })
}

/// Digests, and the usual values among them.
struct Known {
    digests: HashMap<String, Digest>,
    usual: [Option<UsualValues>; 2],
}

impl Known {
    fn of(store: &Store) -> Result<Self, CommandError> {
        let rows = store.reads().digests()?;
        let usual_of = |are_subagents| compute_usual(rows.iter().map(|row| &row.digest), are_subagents);
        let usual = [usual_of(false), usual_of(true)];
        let digests = rows
            .into_iter()
            .map(|row| (row.digest.session_uid.clone(), row.digest))
            .collect();
        Ok(Self { digests, usual })
    }

    /// Returns the signals of a session, including those that depend on a comparison with other sessions.
    fn signals(&self, digest: &Digest, wanted: &[SignalKind]) -> Vec<Signal> {
        let usual = self.usual[usize::from(digest.is_subagent)];
        let over = usual.and_then(|usual| find_overrun(digest, &usual));
        let all = digest.signals.iter().cloned().chain(over);
        all.filter(|signal| wanted.is_empty() || wanted.contains(&signal.signal))
            .collect()
    }
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SignalsArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let known = Known::of(&store)?;
    let mut found: Vec<(String, Vec<Signal>)> = Vec::new();
    let mut total = 0;
    if let Some(word) = &args.session {
        let uid = resolve(&store, context, word)?.session_uid;
        if let Some(digest) = digest_of(&store, context, &uid)? {
            found.push((uid, known.signals(&digest, &args.signal)));
        }
    } else {
        let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
        for session in store.reads().listed()?.iter().filter(|session| filters.take(session)) {
            let signals = signals_of(&known, session, &args.signal);
            total += usize::from(!signals.is_empty());
            if !signals.is_empty() && (args.limit == 0 || found.len() < args.limit) {
                found.push((session.session_uid.clone(), signals));
            }
        }
    }
    let is_found = found.iter().any(|(_, signals)| !signals.is_empty());
    match ui.format {
        Format::Json => ui.answer(&to_answer(&found, total.max(found.len())))?,
        Format::Text => show(ui, &found, args.session.is_some())?,
    }
    if !is_found {
        ui.status("No signals");
        return Ok(Outcome::NothingFound);
    }
    if total > found.len() {
        ui.hint(format_args!(
            "{} more: `--limit 0` shows all",
            plural((total - found.len()) as u64, "session")
        ));
    }
    Ok(Outcome::Done)
}

fn signals_of(known: &Known, session: &ListedSession, wanted: &[SignalKind]) -> Vec<Signal> {
    let digest = known.digests.get(&session.session_uid);
    digest.map(|digest| known.signals(digest, wanted)).unwrap_or_default()
}

fn show(ui: &mut Ui, found: &[(String, Vec<Signal>)], is_one: bool) -> Result<(), CommandError> {
    for (uid, signals) in found {
        if !is_one {
            ui.row(ui.paint(HEADING, escape(uid)))?;
        }
        for line in lines(ui, signals, is_one) {
            ui.row(line)?;
        }
    }
    Ok(())
}

fn to_answer(found: &[(String, Vec<Signal>)], total: usize) -> SignalsAnswer<'_> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for signal in found.iter().flat_map(|(_, signals)| signals) {
        *counts.entry(signal.signal.as_str()).or_default() += 1;
    }
    let sessions = found
        .iter()
        .map(|(session_uid, signals)| SessionSignals { session_uid, signals });
    SignalsAnswer {
        sessions: sessions.collect(),
        counts,
        total,
    }
}
