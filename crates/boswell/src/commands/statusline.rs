//! `boswell statusline`: one line for an agent's status line or a shell's prompt.

use std::io::{self, IsTerminal, Read};

use jiff::Timestamp;
use memory::prices::PriceTable;
use memory::store::{ListedSession, Store};
use memory::usage::{self, UsageSum};
use serde::Deserialize;
use transcript::Call;

use crate::answers::usage::StatuslineAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{lies_in, repository};
use crate::prices;
use crate::ui::{Format, Ui, escape, measure};
use render::dollars;

/// Maximum length of the agent's input. It is short, so more is not read.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// A session that was inactive for longer than this is not the current one.
const AT_HAND_HOURS: i64 = 6;

/// Print one line for a status line: today, this session, context used
///
/// Claude Code passes its state to a status line on standard input; the session's cost, model and context are shown as
/// it reports them. Without that input, as in a shell prompt, the newest session of the current repository is shown.
/// Prints only the line, or nothing if nothing is known.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell statusline
  PS1='$(boswell statusline --quiet) $ '

In Claude Code's settings.json:
  \"statusLine\": { \"type\": \"command\", \"command\": \"boswell statusline\" }")]
pub(crate) struct StatuslineArgs {}

/// The JSON that Claude Code passes on standard input. Every field may be missing.
#[derive(Deserialize, Default)]
#[serde(default)]
struct StatuslineInput {
    session_id: Option<String>,
    model: Option<Model>,
    cost: Option<ReportedCost>,
    context_window: Option<Window>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Model {
    id: Option<String>,
    display_name: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReportedCost {
    total_cost_usd: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Window {
    context_window_size: Option<u64>,
    used_percentage: Option<f64>,
}

/// The contents of the line.
#[derive(Default)]
struct Line {
    model: Option<String>,
    today: UsageSum,
    session_uid: Option<String>,
    session_micros: Option<u64>,
    context_tokens: Option<u64>,
    context_percent: Option<u64>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, _args: &StatuslineArgs) -> Result<Outcome, CommandError> {
    let told = told();
    let mut line = Line::default();
    if let Some(store) = Store::open_existing(&context.places.data_dir)? {
        let prices = prices::load(Some(&prices::user_file(context)))?;
        ask(&store, context, &prices, &told, &mut line)?;
    }
    line.listen(told);
    match ui.format {
        Format::Json => ui.answer(&StatuslineAnswer {
            model: line.model.as_deref(),
            today_microusd: line.today.micros(),
            today_tokens: line.today.tokens.total(),
            session_uid: line.session_uid.as_deref(),
            session_microusd: line.session_micros,
            context_tokens: line.context_tokens,
            context_percent: line.context_percent,
        })?,
        Format::Text => {
            let text = line.text();
            if !text.is_empty() {
                ui.row_whole(escape(&text))?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Parses the agent's JSON from standard input. Returns the default if there is none or if it is invalid.
fn told() -> StatuslineInput {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return StatuslineInput::default();
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
    let parsed = read.ok().and_then(|_| serde_json::from_slice(&bytes).ok());
    parsed.unwrap_or_default()
}

fn ask(
    store: &Store,
    context: &Context,
    prices: &PriceTable,
    told: &StatuslineInput,
    line: &mut Line,
) -> Result<(), CommandError> {
    let midnight = context.now.to_zoned(context.zone.clone()).start_of_day();
    if let Ok(midnight) = midnight {
        let calls = store.reads().calls_since(midnight.timestamp())?;
        line.today = usage::sum_calls(calls.iter().map(|(_, call)| call), prices);
    }
    let sessions = store.reads().listed()?;
    let Some(session) = at_hand(&sessions, context, told.session_id.as_deref()) else {
        return Ok(());
    };
    let calls = store.reads().calls_of(&session.session_uid)?;
    line.session_micros = usage::sum_calls(calls.iter(), prices).micros();
    let newest: Option<&Call> = calls
        .iter()
        .filter(|call| !call.is_sidechain)
        .max_by_key(|call| (call.ts, call.line));
    line.context_tokens = newest.map(|call| call.tokens.input.saturating_add(call.tokens.cache()));
    line.model = newest.and_then(|call| call.model.as_deref().map(str::to_owned));
    line.session_uid = Some(session.session_uid.clone());
    Ok(())
}

/// Returns the session with the given id or, without an id, the newest recent session of this repository.
fn at_hand<'s>(sessions: &'s [ListedSession], context: &Context, id: Option<&str>) -> Option<&'s ListedSession> {
    if let Some(id) = id {
        return sessions.iter().find(|session| session.native_session_id() == id);
    }
    let since = context
        .now
        .checked_sub(jiff::SignedDuration::from_hours(AT_HAND_HOURS))
        .ok()?;
    let is_new = |session: &&ListedSession| {
        let last = session.last_micros.and_then(|at| Timestamp::from_microsecond(at).ok());
        last.is_some_and(|last| last >= since) && !session.is_subagent
    };
    let here = repository(&context.places.current_dir);
    sessions.iter().filter(is_new).find(|session| lies_in(session, &here))
}

impl Line {
    /// Applies the agent's own values, which take precedence over those from the log.
    fn listen(&mut self, told: StatuslineInput) {
        let model = told.model.unwrap_or_default();
        self.model = model.display_name.or(model.id).or(self.model.take());
        let cost = told
            .cost
            .and_then(|cost| cost.total_cost_usd)
            .filter(|cost| *cost >= 0.0);
        self.session_micros = cost
            .map(|dollars| (dollars * 1e6).round() as u64)
            .or(self.session_micros);
        let window = told.context_window.unwrap_or_default();
        let of_window = |size: u64| Some(self.context_tokens? as f64 / size as f64 * 100.0);
        let percent = window.used_percentage.or_else(|| {
            let size = window.context_window_size.filter(|size| *size > 0)?;
            of_window(size)
        });
        self.context_percent = percent.map(|percent| percent.clamp(0.0, 100.0).round() as u64);
    }

    fn text(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.model.clone());
        if let Some(micros) = self.session_micros {
            parts.push(format!("session {}", dollars(micros)));
        }
        match self.today.micros() {
            Some(micros) if self.today.calls > 0 => parts.push(format!("today {}", dollars(micros))),
            None => parts.push(format!("today {} tokens", measure::count(self.today.tokens.total()))),
            _ => {}
        }
        match (self.context_percent, self.context_tokens) {
            (Some(percent), _) => parts.push(format!("context {percent} %")),
            (None, Some(tokens)) if tokens > 0 => parts.push(format!("context {}k", tokens.div_ceil(1000))),
            _ => {}
        }
        parts.join(" · ")
    }
}
