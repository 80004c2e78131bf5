//! `boswell hub`: manages one memory for several machines, on a PostgreSQL server.

use std::cell::RefCell;

use indicatif::ProgressBar;
use memory::hub::{self, MoveSummary};
use memory::store::{DatabaseServer, LockWait, ServerErrorKind, Store, StoreError, StoreLocation, WordIndex};

use crate::answers::hub::{HubInitAnswer, HubMoveAnswer, HubPlace, HubPushAnswer, HubStatusAnswer};
use crate::config::without_credentials;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::hub_delivery::{deliver, open_source};
use crate::render::text::plural;
use crate::ui::{Format, Ui, escape, measure};
use crate::waiting::say_waiting;

/// Share one memory among several machines
///
/// The shared memory is a PostgreSQL database. A machine either keeps its memory there (`store.url`), or keeps its own
/// and pushes to it (`hub.url`). Everything that leaves a machine is masked; `push` leaves out prompts and raw text
/// unless `hub.share` says otherwise.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hub init postgres://ada@db.example/memory
  boswell hub move postgres://ada@db.example/memory
  boswell hub push
  boswell hub status --json")]
pub(crate) struct HubArgs {
    #[command(subcommand)]
    command: HubCommand,
}

#[derive(clap::Subcommand, Debug)]
enum HubCommand {
    Init(InitArgs),
    Push(PushArgs),
    Move(MoveArgs),
    Status(StatusArgs),
}

/// Create the tables and roles of a shared memory
///
/// The roles are boswell_owner, boswell_writer and boswell_reader; grant them to the database users who need them.
/// Existing tables and roles are kept.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hub init postgres://ada@db.example/memory
  boswell hub init")]
struct InitArgs {
    /// The database; by default that of `hub.url` or `store.url`
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// Push what is new to the shared memory
///
/// Of two logs of one session the longer one counts. What was pushed from here and has since been removed or forgotten
/// here is also removed there. If the server cannot be reached, nothing is lost: the next push delivers it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hub push")]
struct PushArgs {}

/// Move the whole memory to a server, or back into the data directory
///
/// Nothing is removed at the origin. An interrupted move continues where it stopped; at the end both memories are
/// compared row by row and frame by frame. From then on `store.url` decides which one is used.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hub move postgres://ada@db.example/memory
  boswell hub move local")]
struct MoveArgs {
    /// The URL of a database, or `local` for the data directory
    #[arg(value_name = "TO")]
    to: String,
}

/// Show what is stored here and on the server
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell hub status")]
struct StatusArgs {}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &HubArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        HubCommand::Init(args) => init(ui, context, args),
        HubCommand::Push(_) => push(ui, context),
        HubCommand::Move(args) => move_to(ui, context, args),
        HubCommand::Status(_) => status(ui, context),
    }
}

fn init(ui: &mut Ui, context: &Context, args: &InitArgs) -> Result<Outcome, CommandError> {
    let place = match &args.url {
        Some(url) => context.place_of(url)?,
        None => hub_of(context)?,
    };
    let store = Store::open(&place)?;
    let roles = store.make_roles()?;
    match ui.format {
        Format::Json => ui.answer(&HubInitAnswer {
            path: place.to_string(),
            roles: &roles,
        })?,
        Format::Text => ui.status(format_args!("Ready: {place}, with the roles {}", roles.join(", "))),
    }
    Ok(Outcome::Done)
}

fn move_to(ui: &mut Ui, context: &Context, args: &MoveArgs) -> Result<Outcome, CommandError> {
    let here = &context.places.data_dir;
    let to = match args.to.as_str() {
        "local" => here.local(),
        url if DatabaseServer::is_url(url) => context.place_of(url)?,
        other => {
            let message = format_args!(
                "neither the URL of a database nor `local`: `{}`",
                without_credentials(other)
            );
            return Err(
                CommandError::user("hub-place", message).with_hint("write it like `postgres://ada@db.example/memory`")
            );
        }
    };
    // A move to a server starts from the data directory. A move back starts from wherever the memory is now.
    let from = if to.server().is_none() {
        here.clone()
    } else {
        here.local()
    };
    if from.to_string() == to.to_string() {
        return Err(
            CommandError::user("hub-place", format_args!("the memory is there already: {to}"))
                .with_hint("`store.url` says which one is asked"),
        );
    }
    let source = open_source(&from)?
        .ok_or_else(|| CommandError::not_found("no-memory", format_args!("there is no memory to move: {from}")))?;
    let mut target = Store::open(&to)?;
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    let progress = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let moved = {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        hub::move_store(&source, &mut target, context.now, LockWait::Wait(&waiting), &progress)
    };
    bar.finish_and_clear();
    let moved = moved?;
    show_moved(ui, &from, &to, moved)?;
    Ok(Outcome::Done)
}

fn show_moved(ui: &mut Ui, from: &StoreLocation, to: &StoreLocation, moved: MoveSummary) -> Result<(), CommandError> {
    match ui.format {
        Format::Json => ui.answer(&HubMoveAnswer {
            from: from.to_string(),
            to: to.to_string(),
            moved,
        })?,
        Format::Text => {
            ui.status(format_args!(
                "Moved: {}, {} were there already; {} and {} are the same in both",
                plural(moved.sessions, "session"),
                measure::count(moved.unchanged),
                plural(moved.rows, "row"),
                plural(moved.frames, "frame"),
            ));
            let key = if to.server().is_some() {
                format!("`store.url = \"{to}\"` keeps the memory there from now on")
            } else {
                "without `store.url` the memory is kept here from now on".to_owned()
            };
            ui.hint(key);
        }
    }
    Ok(())
}

fn push(ui: &mut Ui, context: &Context) -> Result<Outcome, CommandError> {
    let hub = hub_of(context)?;
    let pushed = deliver(ui, context, &hub);
    let pushed = match pushed {
        Err(error) if is_away(&error) => {
            ui.warning(format_args!("the shared memory cannot be reached: {error}"));
            ui.hint("nothing is lost; the next `boswell hub push` delivers it");
            None
        }
        pushed => Some(pushed?),
    };
    match (ui.format, &pushed) {
        (Format::Json, pushed) => ui.answer(&HubPushAnswer::new(hub.to_string(), pushed.as_ref()))?,
        (Format::Text, Some(pushed)) => {
            ui.status(format_args!(
                "Delivered: {} and {} on them, {} were there already, {} stay as they are there",
                plural(pushed.sessions, "session"),
                plural(pushed.beside, "word"),
                measure::count(pushed.unchanged),
                measure::count(pushed.left),
            ));
            if pushed.taken_back + pushed.forgotten > 0 {
                ui.status(format_args!(
                    "Taken away there, as here: {} and {}",
                    plural(pushed.forgotten, "session"),
                    plural(pushed.taken_back, "word"),
                ));
            }
        }
        (Format::Text, None) => {}
    }
    Ok(Outcome::Done)
}

/// Counts of what a memory contains.
struct Held {
    sessions: u64,
    with_raw_text: u64,
    raw_bytes: u64,
    index: WordIndex,
}

impl Held {
    /// Returns `None` if no memory exists at `place` yet.
    fn of(place: &StoreLocation) -> Result<Option<Self>, StoreError> {
        let store = Store::open_existing(place)?;
        let Some(reads) = store.as_ref().map(Store::reads) else {
            return Ok(None);
        };
        let sessions = reads.sessions()?;
        Ok(Some(Self {
            sessions: sessions.len() as u64,
            with_raw_text: sessions.iter().filter(|row| row.evicted_at.is_none()).count() as u64,
            raw_bytes: reads.raw_cache_bytes()?,
            index: reads.index()?,
        }))
    }
}

fn is_away(error: &StoreError) -> bool {
    matches!(error, StoreError::Server(error) if error.kind() == ServerErrorKind::Unavailable)
}

/// Returns what a search in this memory finds frames by, for display.
pub(crate) fn index_word(index: WordIndex) -> &'static str {
    match index {
        WordIndex::None => "filters",
        WordIndex::Words => "words",
        WordIndex::Pieces => "words and pieces",
    }
}

fn status(ui: &mut Ui, context: &Context) -> Result<Outcome, CommandError> {
    let here = context.places.data_dir.local();
    let mut places = vec![("here", here)];
    places.extend(
        context
            .places
            .data_dir
            .server()
            .map(|_| ("store", context.places.data_dir.clone())),
    );
    places.extend(context.hub.clone().map(|hub| ("hub", hub)));
    let rows: Vec<Asked<'_>> = places
        .iter()
        .map(|(role, place)| (*role, place, Held::of(place)))
        .collect();
    if ui.format == Format::Json {
        ui.answer(&HubStatusAnswer {
            share: context.config.hub.share.as_str(),
            places: rows.iter().map(place_record).collect(),
        })?;
        return Ok(Outcome::Done);
    }
    for (role, place, held) in &rows {
        // Error messages of a server are untrusted text, so they are escaped below.
        let told = match held {
            Ok(Some(held)) => format!(
                "{}, {} with raw text, {}, searched by {}",
                plural(held.sessions, "session"),
                measure::count(held.with_raw_text),
                measure::bytes(held.raw_bytes),
                index_word(held.index),
            ),
            Ok(None) => "no memory yet".to_owned(),
            Err(error) if is_away(error) => format!("cannot be reached: {error}"),
            Err(error) => format!("cannot be asked: {error}"),
        };
        ui.row(format_args!(
            "{role:<6} {}  {}",
            ui.path(&escape(&place.to_string())),
            escape(&told)
        ))?;
    }
    tell_next(ui, &rows);
    Ok(Outcome::Done)
}

/// One of the memories: its role for this machine, its location, and its contents.
type Asked<'p> = (&'static str, &'p StoreLocation, Result<Option<Held>, StoreError>);

/// Prints hints about what is missing.
fn tell_next(ui: &mut Ui, rows: &[Asked<'_>]) {
    if rows.len() == 1 {
        ui.hint(
            "no shared memory is configured: `hub.url` names one to deliver to, `store.url` one to keep the memory in",
        );
    }
    let servers = || rows.iter().filter(|(_, place, _)| place.server().is_some());
    if servers().any(|(.., held)| matches!(held, Ok(None))) {
        ui.hint("`boswell hub init` makes the tables and the roles");
    }
    let is_lacking = |held: &Held| held.index != WordIndex::Pieces && held.with_raw_text > 0;
    if servers().any(|(.., held)| matches!(held, Ok(Some(held)) if is_lacking(held))) {
        ui.hint("the server's index is not whole: the extension `pg_trgm` and `boswell rebuild` make it so");
    }
}

fn place_record((role, place, held): &Asked<'_>) -> HubPlace {
    let error = held.as_ref().err();
    let held = held.as_ref().ok().and_then(Option::as_ref);
    // A memory that does not exist yet contains nothing. After an error, the counts are unknown.
    let count = |of: fn(&Held) -> u64| error.is_none().then(|| held.map_or(0, of));
    HubPlace {
        role,
        path: place.to_string(),
        is_away: error.is_some_and(is_away),
        error: error.map(ToString::to_string),
        is_made: error.is_none().then_some(held.is_some()),
        sessions: count(|held| held.sessions),
        with_raw_text: count(|held| held.with_raw_text),
        raw_bytes: count(|held| held.raw_bytes),
        searched_by: held.map(|held| index_word(held.index)),
    }
}

/// Returns the shared memory of the settings: that of `hub.url`, otherwise that of `store.url`.
fn hub_of(context: &Context) -> Result<StoreLocation, CommandError> {
    let store = &context.places.data_dir;
    let own = store.server().map(|_| store.clone());
    context.hub.clone().or(own).ok_or_else(|| {
        CommandError::config("no-hub", "no shared memory is configured")
            .with_hint("`hub.url` names one, such as `postgres://ada@db.example/memory`")
    })
}
