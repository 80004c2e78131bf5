//! `boswell forget`: what a user wants gone goes now, for good.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use memory::retention::{self, Reach, Remains};
use memory::store::{CopyRow, Patience, Store};
use serde_json::{Value, json};

use super::sweep::say_waiting;
use crate::context::Context;
use crate::copies::Copies;
use crate::error::{Blame, CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::render::text::plural;
use crate::session_arg::{open_memory, resolve};
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};

/// Forget sessions: their raw text goes now and never comes back
///
/// No sweep, no history of prompts and no day of the diary brings a forgotten session back, though its log be there and grow. Its
/// digest and its numbers stay, unless `--with-digest` takes them, too. The agent's own files are not touched. What was made of the
/// session outside of the memory (restored files, tables, bundles, pages, days of the diary with their reports) is listed, and
/// `--copies` deletes it. A day goes as a whole: `boswell prepare` makes it anew, without the session.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell forget 5e55 --dry-run
  boswell forget 5e55
  boswell forget --project secret-client --with-digest --copies --yes")]
pub(crate) struct ForgetArgs {
    /// Uids, beginnings of ids, `last`, `here`, or logs
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Forget the digest and the numbers, too: nothing is left
    #[arg(long)]
    with_digest: bool,
    /// Delete what was made of them outside of the memory, too
    #[arg(long)]
    copies: bool,
    /// Where workspaces are kept
    #[arg(long, value_name = "DIR")]
    reports_root: Option<PathBuf>,
    /// Show what would be forgotten and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Forget what the filters take without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ForgetArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let remains = chosen(&store, context, args)?;
    let reports_root = match &args.reports_root {
        Some(given) => context.places.current_dir.join(given),
        None => context.reports.path.clone(),
    };
    let copies = Copies::find(context, &store, &reports_root, &remains, args.with_digest)?;
    drop(store);
    if ui.format == Format::Text {
        list(ui, args, &remains, &copies.rows())?;
    }
    let is_to_go = !args.dry_run && !remains.is_empty();
    if is_to_go && !is_wanted(ui, args, &remains)? {
        ui.status("Nothing was forgotten");
        return Ok(Outcome::Done);
    }
    let mut is_finished = true;
    if is_to_go {
        if args.copies {
            // Copies go first: a session that is wholly forgotten could not be named again if one of them could not go.
            copies.delete(&reports_root)?;
        }
        let told = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut told.borrow_mut());
        is_finished = forget(context, args, &remains, &copies, Patience::Wait(&waiting))?;
    }
    match ui.format {
        Format::Json => ui.json(&to_json(args, &remains, &copies, is_finished))?,
        Format::Text => tell(ui, args, &remains, &copies),
    }
    if is_to_go && context.hub.is_some() && context.places.data_dir.server().is_none() {
        ui.hint("the shared memory may still have it: `boswell hub push` takes it away there");
    }
    if !is_finished {
        ui.warning(
            "not all of it is off the disk yet: a reader is in the way, or there is no room; the next sweep ends it",
        );
    }
    Ok(if remains.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Who names sessions knows them; what filters take is asked for.
fn is_wanted(ui: &mut Ui, args: &ForgetArgs, remains: &[Remains]) -> Result<bool, CommandError> {
    if !args.sessions.is_empty() || args.yes {
        return Ok(true);
    }
    let sessions = plural(remains.len() as u64, "session");
    let answer = ui.ask(format_args!("Forget {sessions} for good?"));
    answer.ok_or_else(|| {
        let error = CommandError::usage(format_args!(
            "nobody is there to ask whether the filters mean it: {sessions}"
        ));
        error.with_hint("`--dry-run` shows which, and `--yes` forgets them")
    })
}

/// The sessions that are named or that the filters take, and those that worked for them.
fn chosen(store: &Store, context: &Context, args: &ForgetArgs) -> Result<Vec<Remains>, CommandError> {
    let filters = args.filters.resolve(context, store, ToolMeans::Sessions)?;
    let mut uids = Vec::new();
    match (args.sessions.is_empty(), filters.are_given()) {
        (true, false) => {
            let error = CommandError::usage("no session is named, and no filter is given");
            return Err(error.with_hint("`boswell forget SESSION`, or `boswell forget --project NAME`"));
        }
        (false, true) => {
            return Err(CommandError::usage("sessions are named or filtered, not both"));
        }
        (true, true) => {
            let listed = store.reads().listed()?;
            uids.extend(
                listed
                    .into_iter()
                    .filter(|one| filters.take(one))
                    .map(|one| one.session_uid),
            );
        }
        (false, false) => {
            for word in &args.sessions {
                match resolve(store, context, word) {
                    Ok(named) => uids.push(named.session_uid),
                    Err(error) => uids.extend(forgotten(store, word, error)?),
                }
            }
        }
    }
    Ok(retention::remains(&store.reads(), &uids)?)
}

/// A session of which nothing is known any more but that it was forgotten, and those that worked for it: there may still be
/// copies of them.
fn forgotten(store: &Store, word: &str, error: CommandError) -> Result<Vec<String>, CommandError> {
    if error.blame != Blame::NotFound || word.is_empty() {
        return Err(error);
    }
    let is_meant =
        |uid: &String| uid.starts_with(word) || uid.split_once(':').is_some_and(|(_, id)| id.starts_with(word));
    let found: Vec<String> = store.reads().tombstones()?.into_iter().filter(is_meant).collect();
    match found.iter().filter(|uid| !uid.contains('/')).count() {
        1 => Ok(found),
        _ => Err(error),
    }
}

/// Says whether all of it is off the disk.
fn forget(
    context: &Context,
    args: &ForgetArgs,
    remains: &[Remains],
    copies: &Copies,
    patience: Patience<'_>,
) -> Result<bool, CommandError> {
    let mut store = Store::open(&context.places.data_dir)?;
    let reach = if args.with_digest {
        Reach::WithDigest
    } else {
        Reach::Raw
    };
    let done = retention::forget(
        &mut store,
        patience,
        remains,
        reach,
        &context.digest_settings(),
        "forget",
    )?;
    let rows = copies.rows();
    let paths = paths(&rows);
    if args.copies && !paths.is_empty() {
        let lock = store.lock(patience)?;
        store.write(&lock, context.now, "forget", |tx| {
            for path in copies.files() {
                tx.drop_copy(path)?;
            }
            let uids: Vec<&str> = remains.iter().map(|one| one.session_uid.as_str()).collect();
            let copies = copies_in_words(paths.len());
            Ok(((), format!("forgot {} and deleted {copies}", uids.join(", "))))
        })?;
    }
    Ok(done.is_finished)
}

fn copies_in_words(count: usize) -> String {
    match count {
        1 => "1 copy".to_owned(),
        count => format!("{} copies", measure::count(count as u64)),
    }
}

/// What lies at each path: its kind, and the sessions it was made of.
fn paths(copies: &[CopyRow]) -> BTreeMap<&str, (&str, Vec<&str>)> {
    let mut paths: BTreeMap<&str, (&str, Vec<&str>)> = BTreeMap::new();
    for copy in copies {
        let entry = paths.entry(&copy.path).or_insert((&copy.kind, Vec::new()));
        entry.1.push(&copy.session_uid);
    }
    paths
}

/// Lists what there is.
fn list(ui: &mut Ui, args: &ForgetArgs, remains: &[Remains], copies: &[CopyRow]) -> Result<(), CommandError> {
    for one in remains {
        let digest = match (one.has_digest, args.with_digest) {
            (true, true) => "with its digest",
            (true, false) => "its digest stays",
            (false, true) => "no digest",
            (false, false) if one.bytes > 0 => "its digest is made first",
            (false, false) => "no digest",
        };
        ui.row(format_args!(
            "{:>10}  {}  {}",
            measure::bytes(one.bytes),
            ui.paint(STRONG, escape(&one.session_uid)),
            ui.paint(FAINT, digest)
        ))?;
    }
    for (path, (kind, uids)) in paths(copies) {
        let of = match uids.as_slice() {
            [first, rest @ ..] if !rest.is_empty() => format!("{first} and {} more", measure::count(rest.len() as u64)),
            uids => uids.join(""),
        };
        ui.row(format_args!(
            "{:>10}  {}  {}",
            "copy",
            escape(path),
            ui.paint(FAINT, escape(&format!("{kind} of {of}")))
        ))?;
    }
    Ok(())
}

/// Says what was done, or would be.
fn tell(ui: &mut Ui, args: &ForgetArgs, remains: &[Remains], copies: &Copies) {
    let sessions = plural(remains.len() as u64, "session");
    let (rows, days) = (copies.rows(), copies.days());
    let count = paths(&rows).len();
    if remains.is_empty() {
        ui.status("No session is like that");
        return;
    }
    match args.dry_run {
        true => {
            ui.status(format_args!("Would forget: {sessions}"));
            ui.hint("run again without `--dry-run` to forget them");
        }
        false => ui.status(format_args!("Forgotten: {sessions}")),
    }
    match args.copies {
        _ if count == 0 => {}
        false => ui.hint("`--copies` deletes the copies, too"),
        true if args.dry_run => ui.status(format_args!("Would delete: {}", copies_in_words(count))),
        true => ui.status(format_args!("Deleted: {}", copies_in_words(count))),
    }
    if let ([day, rest @ ..], true) = (days.as_slice(), args.copies) {
        let day = if rest.is_empty() { day.as_str() } else { "DAY" };
        ui.hint(format_args!(
            "days of the diary go as a whole: `boswell prepare --date {day}` makes one anew, without them"
        ));
    }
}

fn to_json(args: &ForgetArgs, remains: &[Remains], copies: &Copies, is_finished: bool) -> Value {
    let sessions = remains.iter().map(|one| {
        json!({
            "session_uid": one.session_uid,
            "bytes": one.bytes,
            "has_digest": one.has_digest,
            "prompts": one.prompts,
        })
    });
    let rows = copies.rows();
    let copies = rows
        .iter()
        .map(|copy| json!({ "session_uid": copy.session_uid, "path": copy.path, "kind": copy.kind }));
    json!({
        "schema": "boswell.forget/1",
        "dry_run": args.dry_run,
        "with_digest": args.with_digest,
        "sessions": sessions.collect::<Vec<_>>(),
        "copies": copies.collect::<Vec<_>>(),
        "copies_deleted": args.copies && !args.dry_run,
        "is_finished": is_finished,
    })
}
