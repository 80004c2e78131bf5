//! `boswell render --all`: writes a directory of pages with an index. A page is written again only when its session
//! changed.
//!
//! A note beside each page records what the page was made from. The next run uses it to decide whether the page is
//! current, and to build the index without reading the sessions again.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use memory::mask::Masker;
use memory::session_text::{SessionTexts, TextOrigin};
use memory::store::{ListedSession, SessionStatus, Store};
use render::{PageOptions, SiteSession, site_index, site_search_data};
use serde::{Deserialize, Serialize};

use super::{Means, RenderArgs, To, gather, note_copy, write};
use crate::answers::page::{RenderAnswer, RenderedSite};
use crate::context::{Context, create_private_dir};
use crate::error::{CommandError, Outcome};
use crate::filters::ToolMeans;
use crate::opener::open_file;
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui, escape};

/// The version of the page layout. Pages of another version are written again.
const VERSION: u32 = 1;
const PAGES: &str = "sessions";
const NOTES: &str = ".boswell";

/// The page of one session.
struct Page {
    session: SiteSession,
    packed: String,
    masked: u64,
    is_new: bool,
}

/// The first line of the file beside a page.
#[derive(Serialize, Deserialize)]
struct PageNote {
    masked: u64,
    session: SiteSession,
    /// Identifies the state of the session from which the page was made.
    stamp: String,
}

pub(super) fn run(ui: &mut Ui, context: &Context, args: &RenderArgs) -> Result<Outcome, CommandError> {
    if args.to() == To::Md {
        return Err(CommandError::usage("`--all` makes pages: leave `--to md` out"));
    }
    let store = open_memory(context)?;
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    let mut sessions = store.reads().listed()?;
    // The page of an evicted session stays, but that of a forgotten session is removed.
    let forgotten = store.reads().tombstones()?;
    sessions.retain(|session| {
        let is_own = !session.is_subagent && !forgotten.contains(&session.session_uid);
        is_own && session.status != SessionStatus::PromptsOnly && filters.take(session)
    });
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    let site = Site {
        directory: context.places.current_dir.join(output),
        means: Means::of(context, args)?,
        family: gather::Family::known(&store)?,
        // Sizes only determine the order of work, so an error here does not matter.
        sizes: store.reads().raw_bytes().unwrap_or_default(),
        context,
        masker: context.masker(false)?,
    };
    site.prepare()?;
    let pages = site.pages(&sessions)?;
    site.take_away(&pages)?;
    let new = pages.iter().filter(|page| page.is_new);
    let new: Vec<_> = new
        .map(|page| {
            (
                page.session.session_uid.clone(),
                site.directory.join(&page.session.file),
            )
        })
        .collect();
    let masked: u64 = pages.iter().map(|page| page.masked).sum();
    let pages: Vec<(SiteSession, String)> = pages.into_iter().map(|page| (page.session, page.packed)).collect();
    let index = site.directory.join("index.html");
    write::write_file(&index, |out| site_index(&pages, &site.means.zone, out))?;
    note_copy(ui, context, &new)?;
    match ui.format {
        Format::Json => ui.answer(&RenderAnswer::Site(RenderedSite {
            to: To::Html.name(),
            path: &index,
            pages: pages.len(),
            made: new.len(),
            unchanged: pages.len() - new.len(),
            secrets_masked: masked,
        }))?,
        Format::Text => {
            ui.row(ui.path(&escape(&index.display().to_string())))?;
            let (made, same) = (plural(new.len() as u64, "page"), pages.len() - new.len());
            ui.status(format_args!("Made {made}, {same} unchanged"));
            if masked > 0 {
                ui.status(format_args!("Masked: {}", plural(masked, "secret")));
            }
        }
    }
    if args.open {
        open_file(&index)?;
    }
    Ok(if pages.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

struct Site<'c> {
    directory: PathBuf,
    means: Means<'c>,
    family: gather::Family,
    /// The stored size of each session in bytes, an estimate of how long its page takes.
    sizes: HashMap<String, u64>,
    context: &'c Context,
    masker: Masker,
}

impl Site<'_> {
    fn prepare(&self) -> Result<(), CommandError> {
        for name in [PAGES, NOTES] {
            let path = self.directory.join(name);
            create_private_dir(&path).map_err(|error| {
                CommandError::user("output", format_args!("cannot write `{}`: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    /// Makes the pages of all sessions in parallel, and returns them in the order of `sessions`. Large sessions come
    /// first, so that no thread is left with a large one at the end.
    fn pages(&self, sessions: &[ListedSession]) -> Result<Vec<Page>, CommandError> {
        let mut order: Vec<usize> = (0..sessions.len()).collect();
        order.sort_by_key(|at| Reverse(self.sizes.get(&sessions[*at].session_uid)));
        let next = AtomicUsize::new(0);
        let made: Mutex<Vec<(usize, Page)>> = Mutex::new(Vec::new());
        let failed: Mutex<Option<CommandError>> = Mutex::new(None);
        let work = || -> Result<(), CommandError> {
            let store = open_memory(self.context)?;
            loop {
                let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return Ok(());
                };
                // Everything about one session is read from one snapshot of the memory.
                let _look = store.look()?;
                if let Some(page) = self.page(&store, &sessions[at])? {
                    made.lock().expect("no thread panics with it").push((at, page));
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.context.threads.clamp(1, sessions.len().max(1)) {
                scope.spawn(|| {
                    if let Err(error) = work() {
                        next.store(sessions.len(), Ordering::Relaxed);
                        failed.lock().expect("no thread panics with it").get_or_insert(error);
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner().expect("no thread panics with it") {
            return Err(error);
        }
        let mut made = made.into_inner().expect("no thread panics with it");
        made.sort_by_key(|(at, _)| *at);
        Ok(made.into_iter().map(|(_, page)| page).collect())
    }

    /// Returns the page of one session: the existing one if it is current, or a new one. Returns `None` if there is no
    /// text to make it from.
    fn page(&self, store: &Store, session: &ListedSession) -> Result<Option<Page>, CommandError> {
        let uid = session.session_uid.as_str();
        let name = write::file_name(uid);
        let file = format!("{PAGES}/{name}.html");
        let stamp = self.stamp(store, session)?;
        let note = self.directory.join(NOTES).join(&name);
        let known = read_note(&note).filter(|_| self.directory.join(&file).is_file());
        let is_kept = session.status == SessionStatus::Kept && store.reads().has_raw_text(uid)?;
        if let Some((_, page)) = known.filter(|(old, _)| *old == stamp || !is_kept) {
            return Ok(Some(page));
        }
        let texts = SessionTexts {
            store,
            masker: &self.masker,
            is_ignored: &|log| self.context.is_ignored(log),
        };
        let location = texts.locate(uid)?;
        let has_text = is_kept || location.origin() == TextOrigin::Source;
        let Some(text) = texts.open(uid, location).filter(|_| has_text) else {
            return Ok(None);
        };
        let mut gathered = gather::known(&texts, &text, uid, &self.means, &self.family, None)?;
        gathered.number();
        let options = PageOptions {
            index: Some("../index.html".to_owned()),
            ..PageOptions::default()
        };
        write::write_file(&self.directory.join(&file), |out| {
            render::html(&gathered.transcript, &options, out)
        })?;
        let page = Page {
            session: SiteSession::of(&gathered.transcript, file),
            packed: site_search_data(&gathered.transcript),
            masked: gathered.masked,
            is_new: true,
        };
        // The note is written last, because a page without a note is written again.
        write::write_file(&note, |out| {
            let note = PageNote {
                masked: page.masked,
                session: page.session.clone(),
                stamp,
            };
            writeln!(out, "{}", serde_json::to_value(&note)?)?;
            writeln!(out, "{}", page.packed)
        })?;
        Ok(Some(page))
    }

    /// Returns a string that changes whenever the content of a session's page would change.
    fn stamp(&self, store: &Store, session: &ListedSession) -> Result<String, CommandError> {
        let reads = store.reads();
        let uid = session.session_uid.as_str();
        let mut growth = vec![reads.growth(uid)?];
        for child in reads.uids_with_prefix(&format!("{uid}/"))? {
            growth.push(reads.growth(&child)?);
        }
        let name = &session.said.name;
        let zone = self.means.zone.iana_name();
        let outcome = memory::digest::current_digest(store, uid)?.map(|digest| digest.outcome.outcome);
        Ok(format!(
            "{VERSION} {growth:?} {name:?} {zone:?} {outcome:?} {:?}",
            self.masker.version()
        ))
    }

    /// Removes pages of sessions that are no longer selected. Only files that an earlier run wrote are removed.
    fn take_away(&self, pages: &[Page]) -> Result<(), CommandError> {
        let failed = |error| {
            CommandError::user(
                "output",
                format_args!("cannot read `{}`: {error}", self.directory.display()),
            )
        };
        let listed: HashSet<&str> = pages.iter().map(|page| page.session.file.as_str()).collect();
        for entry in fs::read_dir(self.directory.join(NOTES)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (note, file) = (
                entry.path(),
                format!("{PAGES}/{}.html", entry.file_name().to_string_lossy()),
            );
            if listed.contains(file.as_str()) {
                continue;
            }
            if read_note(&note).is_some_and(|(_, old)| old.session.file == file) {
                _ = fs::remove_file(self.directory.join(&file));
                _ = fs::remove_file(&note);
            }
        }
        Ok(())
    }
}

/// Reads the note beside a page. Returns the stamp and the page.
fn read_note(path: &Path) -> Option<(String, Page)> {
    let text = fs::read_to_string(path).ok()?;
    let (told, packed) = text.split_once('\n')?;
    let note: PageNote = serde_json::from_str(told).ok()?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let packed = packed.trim_end();
    let page = Page {
        session: note.session,
        packed: packed.bytes().all(is_base64).then(|| packed.to_owned())?,
        masked: note.masked,
        is_new: false,
    };
    Some((note.stamp, page))
}
