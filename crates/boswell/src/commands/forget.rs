//! `boswell forget`: deletes sessions from memory at once and for good.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use memory::retention::{self, ForgetScope, SessionRemains};
use memory::store::{CopyRow, LockWait, Store};

use crate::answers::keep::ForgetAnswer;
use crate::context::Context;
use crate::copies::Copies;
use crate::error::{Blame, CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::render::text::{date_time, plural};
use crate::session_arg::{open_memory, resolve};
use crate::ui::{FAINT, Format, STRONG, Ui, escape, in_one_line, measure};
use crate::waiting::say_waiting;

/// Maximum width of a title, so that it fits next to its time on a narrow terminal.
const TITLE_CHARS_MAX: usize = 34;

/// Delete sessions from memory now and for good
///
/// A forgotten session never comes back: sweeps, prompt histories and the diary skip it, even if its log still exists and grows. Its
/// digest and its numbers stay unless `--with-digest` is given. The agent's own files are not touched. Files that Boswell made of the
/// session elsewhere (restored files, tables, bundles, pages, days of the diary with their reports) are listed, and deleted with
/// `--copies`. A day of the diary is deleted as a whole; `boswell prepare` writes it again without the session.
///
/// Boswell asks before it deletes. Where it cannot ask (scripts, `--json`), `--yes` is required. Filters leave out sessions that
/// `boswell keep` protects.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell forget 5e55 --dry-run
  boswell forget last                           asks first
  boswell forget 5e55 --yes
  boswell forget --project secret-client --with-digest --copies --yes")]
pub(crate) struct ForgetArgs {
    /// Uids, unambiguous prefixes, `last`, `here`, or logs
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Also delete the digest and the numbers
    #[arg(long)]
    with_digest: bool,
    /// Also delete the files that Boswell made of them elsewhere
    #[arg(long)]
    copies: bool,
    /// Directory of the workspaces
    #[arg(long, value_name = "DIR")]
    reports_root: Option<PathBuf>,
    /// Show what would be deleted and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Delete without asking; required where Boswell cannot ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ForgetArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let chosen = select_sessions(&store, context, args)?;
    let remains = &chosen.remains;
    let reports_root = match &args.reports_root {
        Some(given) => context.places.current_dir.join(given),
        None => context.reports.path.clone(),
    };
    let copies = Copies::find(context, &store, &reports_root, remains, args.with_digest)?;
    drop(store);
    if ui.format == Format::Text {
        list(ui, args, &chosen, &copies.rows())?;
    }
    let is_to_go = !args.dry_run && !remains.is_empty();
    if is_to_go && !confirm(ui, args, &chosen)? {
        ui.status("Nothing forgotten");
        return Ok(Outcome::Done);
    }
    let mut is_finished = true;
    if is_to_go {
        if args.copies {
            // Copies are deleted first: if one cannot be deleted, the session can still be named for another try.
            copies.delete(&reports_root)?;
        }
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        is_finished = forget(context, args, remains, &copies, LockWait::Wait(&waiting))?;
    }
    match ui.format {
        Format::Json => ui.answer(&ForgetAnswer {
            dry_run: args.dry_run,
            with_digest: args.with_digest,
            sessions: &chosen.remains,
            sessions_kept: chosen.kept,
            copies: &copies.rows(),
            copies_deleted: args.copies && !args.dry_run,
            is_finished,
        })?,
        Format::Text => print_result(ui, args, &chosen, &copies),
    }
    if is_to_go && context.hub.is_some() && context.places.data_dir.server().is_none() {
        ui.hint("the shared memory may still have it: `boswell hub push` takes it away there");
    }
    if !is_finished {
        ui.warning(
            "forgotten text is still on disk because a reader holds the database or the disk is full; the next sweep removes it",
        );
    }
    Ok(if remains.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Asks whether to delete the sessions. Returns an error if there is no terminal to ask on and `--yes` is not given.
fn confirm(ui: &mut Ui, args: &ForgetArgs, chosen: &ForgetSelection) -> Result<bool, CommandError> {
    if args.yes {
        return Ok(true);
    }
    let sessions = plural(chosen.remains.len() as u64, "session");
    let bytes = measure::bytes(chosen.remains.iter().map(|one| one.bytes).sum());
    let question = format!("Forget {sessions} ({bytes} of raw text) for good?");
    ui.ask(question).ok_or_else(|| {
        CommandError::usage(format_args!(
            "forgetting {sessions} needs `--yes` where Boswell cannot ask"
        ))
        .with_hint("`--dry-run` shows what would be deleted")
    })
}

/// The sessions to forget.
struct ForgetSelection {
    remains: Vec<SessionRemains>,
    /// Time and title by uid, without subagents. Sessions for which neither is known are absent.
    titles: BTreeMap<String, String>,
    /// Number of sessions that the filters left out because they are kept.
    kept: u64,
}

/// Returns text by which a user recognizes a session: its time and its title. `None` if neither is known.
fn title_line(store: &Store, context: &Context, uid: &str) -> Result<Option<String>, CommandError> {
    let Some(listed) = store.reads().find_listed(uid)? else {
        return Ok(None);
    };
    let micros = listed.started_micros.or(listed.last_micros);
    let at = micros.and_then(|micros| Timestamp::from_microsecond(micros).ok());
    let at = at.map(|at| date_time(at, &context.zone));
    let digest = store.reads().digest_of(uid)?.map(|row| row.digest);
    let prompt = digest.and_then(|digest| digest.first_prompt).map(|prompt| prompt.text);
    let title = listed.said.name.or(listed.title).or(prompt);
    let title = title.map(|title| in_one_line(&title).chars().take(TITLE_CHARS_MAX).collect::<String>());
    let known: Vec<String> = at.into_iter().chain(title).collect();
    Ok((!known.is_empty()).then(|| known.join("  ")))
}

/// Returns the sessions that are named or that the filters select, with their subagents.
fn select_sessions(store: &Store, context: &Context, args: &ForgetArgs) -> Result<ForgetSelection, CommandError> {
    let filters = args.filters.resolve(context, store, ToolMeans::Sessions)?;
    let mut uids = Vec::new();
    let mut kept = 0;
    match (args.sessions.is_empty(), filters.are_given()) {
        (true, false) => {
            let error = CommandError::usage("no session and no filter given");
            return Err(error.with_hint("`boswell forget SESSION`, or `boswell forget --project NAME`"));
        }
        (false, true) => {
            return Err(CommandError::usage("sessions and filters cannot be combined"));
        }
        (true, true) => {
            for one in store.reads().listed()?.into_iter().filter(|one| filters.take(one)) {
                match store.reads().is_kept(&one.session_uid)? {
                    true => kept += u64::from(!one.is_subagent),
                    false => uids.push(one.session_uid),
                }
            }
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
    let mains = uids
        .iter()
        .filter(|uid| args.sessions.contains(uid) || !uid.contains('/'));
    let mut titles = BTreeMap::new();
    for uid in mains {
        titles.extend(title_line(store, context, uid)?.map(|title| (uid.clone(), title)));
    }
    Ok(ForgetSelection {
        titles,
        remains: retention::list_remains(&store.reads(), &uids)?,
        kept,
    })
}

/// Returns the uids of a session that was forgotten before and of its subagents, because copies of them may still
/// exist. Returns `error` unless `word` names exactly one such session.
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

/// Forgets the sessions. Returns `false` if some of their text is still on disk.
fn forget(
    context: &Context,
    args: &ForgetArgs,
    remains: &[SessionRemains],
    copies: &Copies,
    patience: LockWait<'_>,
) -> Result<bool, CommandError> {
    let mut store = Store::open(&context.places.data_dir)?;
    let reach = if args.with_digest {
        ForgetScope::WithDigest
    } else {
        ForgetScope::Raw
    };
    let done = retention::forget_sessions(
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

/// Groups copies by path. Returns the kind of each file and the sessions it was made from.
fn paths(copies: &[CopyRow]) -> BTreeMap<&str, (&str, Vec<&str>)> {
    let mut paths: BTreeMap<&str, (&str, Vec<&str>)> = BTreeMap::new();
    for copy in copies {
        let entry = paths.entry(&copy.path).or_insert((&copy.kind, Vec::new()));
        entry.1.push(&copy.session_uid);
    }
    paths
}

/// Lists the sessions, each with its time and title, and their copies.
fn list(ui: &mut Ui, args: &ForgetArgs, chosen: &ForgetSelection, copies: &[CopyRow]) -> Result<(), CommandError> {
    for one in &chosen.remains {
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
        if let Some(title) = chosen.titles.get(&one.session_uid) {
            ui.row_wrapped(format!("            {}", escape(title)), 12)?;
        }
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

/// Reports what was done, or what would be done.
fn print_result(ui: &mut Ui, args: &ForgetArgs, chosen: &ForgetSelection, copies: &Copies) {
    let remains = &chosen.remains;
    if chosen.kept > 0 {
        ui.status(format_args!(
            "Left out: {} protected by `keep`",
            plural(chosen.kept, "session")
        ));
    }
    let sessions = plural(remains.len() as u64, "session");
    let (rows, days) = (copies.rows(), copies.days());
    let count = paths(&rows).len();
    if remains.is_empty() {
        ui.status("No session matches");
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
            "whole days of the diary are deleted; `boswell prepare --date {day}` prepares one again without these sessions"
        ));
    }
}
