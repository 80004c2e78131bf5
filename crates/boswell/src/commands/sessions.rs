//! `boswell sessions`: lists the sessions in the memory, newest first.

use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use memory::find::Behind;
use memory::outcome::outcome_name;
use memory::store::{ListedSession, SessionCounts, SessionStatus};

use crate::answers::ask::SessionsAnswer;
use crate::answers::shared::SessionRow;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::session_ids::SessionIds;
use crate::session_summary::{current_outcome, words};
use crate::ui::{FAINT, Format, HEADING, STRONG, Ui, escape, in_one_line, measure};

/// Maximum width of the id column; longer ids run over it.
const ID_COLUMNS_MAX: usize = 13;
/// Maximum width of a project's name.
const PROJECT_COLUMNS_MAX: usize = 24;
/// Minimum width of a session's title, even on a narrow terminal.
const WORDS_COLUMNS_MIN: usize = 20;

/// List the sessions in the memory, newest first
///
/// A session whose log was deleted before it was swept is listed with status `prompts only` if the agent's prompt
/// history names it. It becomes complete if its log turns up. Subagents, and sessions that the agent hides from its own
/// lists, are left out unless `--all` is given.
#[derive(clap::Args, Debug)]
#[command(visible_aliases = ["ls", "list"])]
#[command(after_help = "Examples:
  boswell sessions
  boswell sessions --here --since 7d
  boswell sessions --agent codex --project api --limit 0
  boswell sessions --since yesterday --until yesterday --json")]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    filters: FilterArgs,
    /// Include subagents and hidden sessions
    #[arg(long)]
    all: bool,
    /// Maximum number of sessions; `0` for no limit
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Continue after the previous page, with the cursor it printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,
}

/// The start of a page: the session before it. A position would shift when new sessions come.
#[derive(Debug, Clone)]
struct Cursor(Behind);

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write it as the answer before gave it in `next_cursor`";
        let (at, uid) = text.split_once('.').filter(|(_, uid)| !uid.is_empty()).ok_or(wrong)?;
        let last_micros = match at {
            "" => None,
            at => Some(at.parse().map_err(|_| wrong)?),
        };
        let session_uid = uid.to_owned();
        Ok(Self(Behind {
            last_micros,
            session_uid,
        }))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.0.last_micros.map(|at| at.to_string()).unwrap_or_default();
        write!(f, "{at}.{}", self.0.session_uid)
    }
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SessionsArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    let listed = store.reads().listed()?;
    let found: Vec<&ListedSession> = listed.iter().filter(|session| filters.take(session)).collect();
    let is_side = |session: &ListedSession| !args.all && (session.is_subagent || session.is_hidden);
    let is_behind = |session: &ListedSession| args.cursor.as_ref().is_none_or(|cursor| cursor.0.has(session));
    let wanted = found.iter().copied().filter(|session| !is_side(session));
    let mut wanted = wanted.filter(|session| is_behind(session)).peekable();
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut shown = Vec::new();
    while let Some(session) = wanted.next_if(|_| shown.len() < limit) {
        shown.push((session, store.reads().counted(&session.session_uid)?));
    }
    let last = shown.last().filter(|_| wanted.peek().is_some());
    let left_out = LeftOut {
        side: found.iter().filter(|session| is_side(session)).count(),
        total: found.len(),
        shown: shown.len(),
        older: wanted.count(),
        next: last.map(|(session, _)| Cursor(Behind::new(session))),
    };
    match ui.format {
        Format::Json => {
            let mut outcomes = Vec::new();
            for (session, _) in &shown {
                outcomes.push(outcome_name(current_outcome(&store, context, &session.session_uid)?));
            }
            ui.answer(&to_answer(&shown, &outcomes, &left_out))?;
        }
        Format::Text if shown.is_empty() => tell_nothing(ui, filters.are_given(), listed.is_empty(), &left_out),
        Format::Text => show(ui, context, &shown, &listed, &left_out)?,
    }
    Ok(if shown.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Sessions that match and are not listed.
struct LeftOut {
    /// Subagents and hidden sessions.
    side: usize,
    total: usize,
    shown: usize,
    /// Sessions on further pages, and the start of the next page.
    older: usize,
    next: Option<Cursor>,
}

fn tell_nothing(ui: &mut Ui, is_filtered: bool, is_empty: bool, left_out: &LeftOut) {
    if is_empty {
        ui.status("No session is in the memory yet");
        ui.hint("`boswell sweep` reads the agents' logs");
        return;
    }
    ui.status("No session matches");
    if left_out.side > 0 {
        ui.hint(format_args!(
            "{} left out: `--all`",
            plural(left_out.side as u64, "subagent")
        ));
    } else if is_filtered {
        ui.hint("`boswell sweep` reads what is new; fewer filters find more");
    }
}

const COLUMNS: usize = 10;
/// The index of the id column.
const ID: usize = 0;
const HEADINGS: [&str; COLUMNS] = [
    "id", "last", "agent", "project", "turns", "prompts", "tokens", "took", "size", "status",
];
const IS_NUMBER: [bool; COLUMNS] = [false, false, false, false, true, true, true, true, true, false];
/// The columns that a narrow terminal leaves out, the first one first.
const DISPENSABLE: [usize; 8] = [8, 5, 7, 6, 9, 4, 2, 3];

fn show(
    ui: &mut Ui,
    context: &Context,
    shown: &[(&ListedSession, SessionCounts)],
    listed: &[ListedSession],
    left_out: &LeftOut,
) -> Result<(), CommandError> {
    let ids = SessionIds::new(listed);
    let rows: Vec<[String; COLUMNS]> = shown
        .iter()
        .map(|(session, counted)| cells(context, session, counted, &ids))
        .collect();
    let columns = columns(&rows, ui.columns());
    let lead: usize = columns.iter().map(|(_, width)| width + 2).sum();
    let room = ui.columns().map(|all| all.saturating_sub(lead).max(WORDS_COLUMNS_MIN));
    let padded = |cells: [&str; COLUMNS]| {
        let mut line = String::new();
        for (at, width) in &columns {
            let gap = " ".repeat(width.saturating_sub(measure::width(cells[*at])));
            let (before, after) = if IS_NUMBER[*at] {
                (gap.as_str(), "")
            } else {
                ("", gap.as_str())
            };
            line += &format!("{before}{}{after}  ", cells[*at]);
        }
        line
    };
    ui.row(ui.paint(HEADING, format!("{}title or first prompt", padded(HEADINGS))))?;
    for (row, (session, counted)) in rows.iter().zip(shown) {
        let tags: String = session.said.tags.iter().map(|tag| format!("#{tag} ")).collect();
        let words = in_one_line(&(tags + words(session, counted).unwrap_or_default()));
        // An id that is longer than its column takes space from the title.
        let over = measure::width(&row[ID]).saturating_sub(ID_COLUMNS_MAX);
        let room = room.map(|room| room.saturating_sub(over).max(WORDS_COLUMNS_MIN));
        let words = room.map_or(words.clone(), |room| measure::fit(&words, room).into_owned());
        let line = padded(row.each_ref().map(String::as_str)) + &words;
        // The id stands out because users copy it.
        let (id, rest) = line.trim_end().split_at(row[ID].len());
        match session.status {
            SessionStatus::Kept => ui.row(format_args!("{}{rest}", ui.paint(STRONG, id)))?,
            SessionStatus::Evicted | SessionStatus::PromptsOnly => {
                ui.row(format_args!("{}{}", ui.paint(STRONG, id), ui.paint(FAINT, rest)))?;
            }
        }
    }
    if left_out.older > 0 {
        let more = measure::count(left_out.older as u64);
        ui.hint(format_args!("{more} older: `--limit 0` lists all"));
    }
    if left_out.side > 0 {
        ui.hint(format_args!(
            "{} left out: `--all`",
            plural(left_out.side as u64, "subagent")
        ));
    }
    Ok(())
}

/// Returns the columns that are shown, with their widths. Empty columns are left out, and so are those that do not fit.
fn columns(rows: &[[String; COLUMNS]], terminal: Option<usize>) -> Vec<(usize, usize)> {
    let mut columns = Vec::new();
    for (at, heading) in HEADINGS.iter().enumerate() {
        let widest = rows.iter().map(|row| measure::width(&row[at])).max().unwrap_or(0);
        // One long id, such as that of a subagent, does not widen the column for all.
        let widest = if at == ID { widest.min(ID_COLUMNS_MAX) } else { widest };
        if widest > 0 {
            columns.push((at, widest.max(heading.len())));
        }
    }
    for dispensable in DISPENSABLE {
        let taken: usize = columns.iter().map(|(_, width)| width + 2).sum();
        if terminal.is_some_and(|terminal| taken + WORDS_COLUMNS_MIN > terminal) {
            columns.retain(|(at, _)| *at != dispensable);
        }
    }
    columns
}

fn cells(
    context: &Context,
    session: &ListedSession,
    counted: &SessionCounts,
    ids: &SessionIds<'_>,
) -> [String; COLUMNS] {
    let some = |number: u64| {
        if number == 0 {
            String::new()
        } else {
            measure::count(number)
        }
    };
    let project = escape(session.repo.as_deref().unwrap_or("-")).into_owned();
    let status = match session.status {
        SessionStatus::Kept => "kept",
        SessionStatus::Evicted => "evicted",
        SessionStatus::PromptsOnly => "prompts only",
    };
    let bytes = if counted.bytes == 0 {
        String::new()
    } else {
        measure::bytes(counted.bytes)
    };
    [
        escape(&ids.short(&session.session_uid)).into_owned(),
        time(session.last_micros).map_or("-".to_owned(), |at| measure::age(context.now, at)),
        session.flavor().to_owned(),
        measure::fit(&project, PROJECT_COLUMNS_MAX).into_owned(),
        some(counted.turns),
        match session.status {
            // Each turn has one prompt, so the column of turns shows their number.
            SessionStatus::Kept | SessionStatus::Evicted => String::new(),
            SessionStatus::PromptsOnly => some(counted.prompts),
        },
        measure::short_count(counted.tokens),
        took(session).map(measure::duration).unwrap_or_default(),
        bytes,
        status.to_owned(),
    ]
}

/// Returns the time from the first message of a session to its last.
fn took(session: &ListedSession) -> Option<SignedDuration> {
    let (started, ended) = (time(session.started_micros)?, time(session.ended_micros)?);
    (session.status != SessionStatus::PromptsOnly).then(|| ended.duration_since(started))
}

fn time(micros: Option<i64>) -> Option<Timestamp> {
    micros.and_then(|at| Timestamp::from_microsecond(at).ok())
}

fn to_answer<'a>(
    shown: &'a [(&ListedSession, SessionCounts)],
    outcomes: &[&'static str],
    left_out: &LeftOut,
) -> SessionsAnswer<'a> {
    let rows = shown.iter().zip(outcomes);
    SessionsAnswer {
        sessions: rows
            .map(|((session, counted), outcome)| session_row(session, counted, outcome))
            .collect(),
        total: left_out.total,
        hidden: left_out.total - left_out.shown,
        next_cursor: left_out.next.as_ref().map(ToString::to_string),
    }
}

fn session_row<'a>(session: &'a ListedSession, counted: &'a SessionCounts, outcome: &'static str) -> SessionRow<'a> {
    SessionRow {
        session_uid: &session.session_uid,
        flavor: session.flavor(),
        native_session_id: session.native_session_id(),
        project: session.cwd.as_deref(),
        cwd: session.cwd.as_deref(),
        repo: session.repo.as_deref(),
        branch: session.branch.as_deref(),
        title: session.title.as_deref(),
        outcome,
        name: session.said.name.as_deref(),
        note: session.said.note.as_deref(),
        tags: &session.said.tags,
        first_prompt: counted.first_prompt.as_deref().or(session.first_prompt.as_deref()),
        started_at: time(session.started_micros),
        ended_at: time(session.ended_micros),
        turns: counted.turns,
        events: counted.events,
        prompts: counted.prompts,
        bytes: counted.bytes,
        tokens: counted.tokens,
        duration_ms: took(session).and_then(|took| i64::try_from(took.as_millis()).ok()),
        status: session.status.as_str(),
        is_subagent: session.is_subagent,
        is_hidden: session.is_hidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_does_without_some_columns_and_nobody_sees_empty_ones() {
        let row = [
            "5e550000",
            "2 days ago",
            "claude",
            "app",
            "3",
            "",
            "1.5M",
            "12 min",
            "1.2 KiB",
            "kept",
        ]
        .map(str::to_owned);
        let check = |terminal| {
            let columns = columns(std::slice::from_ref(&row), terminal);
            let names: Vec<&str> = columns.iter().map(|(at, _)| HEADINGS[*at]).collect();
            names.join(" ")
        };
        assert_eq!(check(None), "id last agent project turns tokens took size status");
        assert_eq!(check(Some(105)), "id last agent project turns tokens took size status");
        assert_eq!(check(Some(90)), "id last agent project turns tokens took status");
        assert_eq!(check(Some(82)), "id last agent project turns tokens status");
        assert_eq!(check(Some(75)), "id last agent project turns status");
        assert_eq!(check(Some(70)), "id last agent project turns");
        assert_eq!(check(Some(60)), "id last agent project");
        assert_eq!(check(Some(50)), "id last");
    }
}
