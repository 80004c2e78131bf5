//! `boswell forget`: what a user wants gone goes now, for good.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use memory::retention::{self, Reach, Remains};
use memory::store::{CopyRow, Patience, Store};
use serde_json::{Value, json};

use super::sweep::say_waiting;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::render::text::plural;
use crate::session_arg::{open_memory, resolve};
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};

/// Forget sessions: their raw text goes now and never comes back
///
/// No sweep and no history of prompts brings a forgotten session back, though its log be there and grow. Its digest and
/// its numbers stay, unless `--with-digest` takes them, too. The agent's own files are not touched. What was made of the
/// session outside of the memory is listed, and `--copies` deletes it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell forget 5e55 --dry-run
  boswell forget 5e55
  boswell forget --project secret-client --with-digest --copies")]
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
    /// Show what would be forgotten and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ForgetArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let remains = chosen(&store, context, args)?;
    let mut copies = Vec::new();
    for one in &remains {
        copies.extend(store.reads().copies_of(&one.session_uid)?);
    }
    copies.retain(|copy| Path::new(&copy.path).symlink_metadata().is_ok());
    drop(store);
    let mut is_finished = true;
    if !args.dry_run && !remains.is_empty() {
        let told = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut told.borrow_mut());
        is_finished = forget(context, args, &remains, &copies, Patience::Wait(&waiting))?;
    }
    match ui.format {
        Format::Json => ui.json(&to_json(args, &remains, &copies, is_finished))?,
        Format::Text => show(ui, args, &remains, &copies)?,
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
                uids.push(resolve(store, context, word)?.session_uid);
            }
        }
    }
    Ok(retention::remains(&store.reads(), &uids)?)
}

/// Says whether all of it is off the disk.
fn forget(
    context: &Context,
    args: &ForgetArgs,
    remains: &[Remains],
    copies: &[CopyRow],
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
    if args.copies && !copies.is_empty() {
        for copy in copies {
            delete(Path::new(&copy.path))?;
        }
        let lock = store.lock(patience)?;
        store.write(&lock, context.now, "forget", |tx| {
            for copy in copies {
                tx.drop_copy(&copy.path)?;
            }
            let uids: Vec<&str> = remains.iter().map(|one| one.session_uid.as_str()).collect();
            let copies = plural(copies.len() as u64, "copy").replace("copys", "copies");
            Ok(((), format!("forgot {} and deleted {copies}", uids.join(", "))))
        })?;
    }
    Ok(done.is_finished)
}

/// Deletes something we made: a file, or a directory that is ours as a whole.
fn delete(path: &Path) -> Result<(), CommandError> {
    let deleted = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    deleted.map_err(|error| {
        CommandError::user(
            "copy-not-deleted",
            format_args!("cannot delete `{}`: {error}", path.display()),
        )
    })
}

fn show(ui: &mut Ui, args: &ForgetArgs, remains: &[Remains], copies: &[CopyRow]) -> Result<(), CommandError> {
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
    for copy in copies {
        let kind = format!("{} of {}", copy.kind, copy.session_uid);
        ui.row(format_args!(
            "{:>10}  {}  {}",
            "copy",
            escape(&copy.path),
            ui.paint(FAINT, escape(&kind))
        ))?;
    }
    let sessions = plural(remains.len() as u64, "session");
    if remains.is_empty() {
        ui.status("No session is like that");
    } else if args.dry_run {
        ui.status(format_args!("Would forget: {sessions}"));
        ui.hint("run again without `--dry-run` to forget them");
    } else {
        ui.status(format_args!("Forgotten: {sessions}"));
        if !copies.is_empty() && !args.copies {
            ui.hint("`--copies` deletes the copies, too");
        }
    }
    Ok(())
}

fn to_json(args: &ForgetArgs, remains: &[Remains], copies: &[CopyRow], is_finished: bool) -> Value {
    let sessions = remains.iter().map(|one| {
        json!({
            "session_uid": one.session_uid,
            "bytes": one.bytes,
            "has_digest": one.has_digest,
            "prompts": one.prompts,
        })
    });
    let copies = copies
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
