//! The report of a day as a page, written from its workspace. `boswell report` and `boswell diary` share this code.

mod asked;
mod cited;
mod escape;
mod files;
mod hash;
mod index;
mod laid_out;
mod markdown;
mod noted;
mod page;
mod process;
mod prompt;
mod publish;
mod range;
mod shown;
mod timeline;
mod writer;
mod written;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use memory::diary::{self, Copies, DayStatus, DayWindow, EmptyDay, Prepared};
use memory::mask::Masker;
use memory::prices::PriceTable;
use memory::report::writing::{self, WritingPhase, WritingProgress};
use memory::report::{DayReport, ReportRequest};
use memory::store::Store;
use transcript::SafeName;

pub(crate) use asked::Days;

use crate::answers::page::{ReportAnswer, ReportRange, WRITING_SCHEMA, WritingAnswer, WritingDay};
use crate::context::Context;
use crate::day_workspace::{DayTarget, PlaceArgs, damaged, gather, no_window};
use crate::error::{CommandError, Outcome};
use crate::opener::open_file;
use crate::prices;
use crate::render::text::plural;
use crate::ui::{Format, Ui, escape, escape_lines};
use cited::CitationStyle;
use files::Kept;

/// Who writes, and of whom.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct WriterArgs {
    /// Who writes the text: `default`, `codex`, `claude`, `grok`, or a command of yours
    #[arg(long, value_name = "WRITER")]
    writer: Option<String>,
    /// Run only this phase of the writer, and make no page
    #[arg(long, value_name = "PHASE", requires = "writer")]
    phase: Option<PhaseName>,
    /// Only sessions of this user, in a shared memory; the page is stored separately
    #[arg(long, value_name = "USER", conflicts_with = "writer")]
    user: Option<String>,
    /// Only sessions written by this machine
    #[arg(long, value_name = "MACHINE", conflicts_with = "writer")]
    machine: Option<String>,
}

impl WriterArgs {
    /// Returns the uids of the sessions that the report is restricted to, or `None` if it covers all sessions.
    fn only(&self, store: Option<&Store>) -> Result<Option<HashSet<String>>, CommandError> {
        if self.user.is_none() && self.machine.is_none() {
            return Ok(None);
        }
        let is_own = |asked: &Option<String>, own: Option<&str>| asked.is_none() || asked.as_deref() == own;
        let listed = store.map_or(Ok(Vec::new()), |store| store.reads().listed())?;
        let own = listed
            .into_iter()
            .filter(|one| is_own(&self.user, one.user.as_deref()) && is_own(&self.machine, one.machine.as_deref()));
        Ok(Some(own.map(|one| one.session_uid).collect()))
    }

    /// Returns the directory for restricted pages, so that they do not overwrite those of all sessions.
    fn root(&self, root: PathBuf) -> Result<PathBuf, CommandError> {
        let mut root = root;
        for (word, name) in [("user", &self.user), ("machine", &self.machine)] {
            let Some(name) = name else { continue };
            let safe = SafeName::new(name)
                .ok_or_else(|| CommandError::usage(format_args!("no name of a {word}: `{name}`")))?;
            root = root.join(format!("by-{word}")).join(safe.as_str());
        }
        Ok(root)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PhaseName {
    Evidence,
    Project,
    Daily,
}

/// What becomes of a report.
#[derive(clap::Args, Debug)]
pub(crate) struct Output {
    /// Format of what is printed, or written by `-o`
    #[arg(long, value_name = "FORMAT")]
    to: Option<To>,
    /// Write the page to this file and print nothing
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Run this command with the finished files: their paths as its last arguments, and as JSON on its standard input
    #[arg(long, value_name = "COMMAND")]
    publish: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    Md,
    Html,
    Json,
}

impl Output {
    /// Returns whether the page is laid out for a terminal. `--to md` prints the Markdown itself.
    fn is_for_terminal(&self, ui: &Ui, format: To) -> bool {
        let is_markdown = format == To::Md && self.to.is_none() && self.output.is_none();
        is_markdown && ui.format == Format::Text && ui.columns().is_some()
    }

    /// Returns the format: that of `--to`, otherwise that of the output file's extension.
    fn format(&self, ui: &Ui) -> To {
        let ending = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        match (self.to, ending) {
            (Some(to), _) => to,
            (None, Some("html" | "htm")) => To::Html,
            (None, Some("json")) => To::Json,
            (None, _) if ui.format == Format::Json => To::Json,
            (None, _) => To::Md,
        }
    }
}

/// Writes the reports of the selected days, stores their pages, and prints or publishes the result.
pub(crate) fn write(
    ui: &mut Ui,
    context: &Context,
    days: &Days,
    place: &PlaceArgs,
    by: &WriterArgs,
    output: &Output,
) -> Result<Outcome, CommandError> {
    let (zone, zone_name) = place.zone(context)?;
    let command = output.publish.as_deref();
    let command = command.map(|line| publish::words("--publish", line)).transpose()?;
    let by_agent = by.writer.as_deref().map(writer::Writer::parse).transpose()?.flatten();
    let dates = days.dates(zone.to_datetime(context.now).date())?;
    let store = Store::open_existing(&context.places.data_dir).unwrap_or_else(|error| {
        ui.warning(format_args!("what is in the memory alone is left out: {error}"));
        None
    });
    let writer = Writer {
        by: by_agent,
        context,
        zone_name,
        zone,
        reports_root: by.root(place.root(ui, context))?,
        masker: context.masker(true)?,
        prices: prices::load(Some(&prices::user_file(context)))?,
        only: by.only(store.as_ref())?,
        store,
        empty_day: match dates.len() {
            1 => EmptyDay::Skip,
            _ => EmptyDay::Prepare,
        },
    };
    if let Some(phase) = by.phase {
        return writer.phase(ui, phase, &dates);
    }
    let mut written = Vec::new();
    for date in &dates {
        written.push(writer.day(ui, *date)?);
    }
    index::write(&writer.reports_root)?;
    let kept = match (dates.as_slice(), written.as_slice()) {
        ([_], [(_, kept)]) => kept.clone(),
        _ => range::keep(
            &writer.reports_root,
            &ReportRange::new(written.iter().map(|(day, _)| day)),
        )?,
    };
    let (days, all_kept): (Vec<DayReport>, Vec<Kept>) = written.into_iter().unzip();
    let elsewhere = output.output.as_ref().map(|path| context.places.current_dir.join(path));
    hand_out(ui, &days, &kept, output, elsewhere.as_deref(), writer.store.as_ref())?;
    if let Some(store) = &writer.store {
        for (day, own) in days.iter().zip(&all_kept) {
            let pages = own.paths().into_iter().chain(kept.paths()).chain(elsewhere.as_deref());
            noted::note(ui, context, store, day, &pages.collect::<BTreeSet<_>>())?;
        }
    }
    if output.open {
        open_file(&kept.html)?;
        ui.status(format_args!("Opening {}", kept.html.display()));
    }
    if let Some(command) = command {
        publish::run(ui, &command, &days, &kept)?;
    }
    Ok(Outcome::Done)
}

/// Prints the report, or writes it to the requested file.
fn hand_out(
    ui: &mut Ui,
    days: &[DayReport],
    kept: &Kept,
    output: &Output,
    elsewhere: Option<&Path>,
    store: Option<&Store>,
) -> Result<(), CommandError> {
    let format = output.format(ui);
    if output.is_for_terminal(ui, format) {
        laid_out::print(ui, days, store)?;
        ui.status(format_args!("Wrote {}", kept.html.display()));
        return Ok(());
    }
    let text = match (format, days) {
        (To::Md, [day]) => markdown::day(day, CitationStyle::Workspace),
        (To::Md, days) => range::markdown(&ReportRange::new(days), |_| CitationStyle::Workspace),
        (To::Html, [day]) => page::day(day),
        (To::Html, days) => range::page(&ReportRange::new(days)),
        (To::Json, [day]) => files::json(day)?,
        (To::Json, days) => files::json(&ReportRange::new(days))?,
    };
    if let Some(path) = elsewhere {
        files::write_for_user(path, text.as_bytes())?;
        ui.status(format_args!("Wrote {}", path.display()));
        return Ok(());
    }
    match (ui.format, format) {
        (Format::Json, To::Json) => match days {
            [day] => ui.json(&ReportAnswer::Day(day))?,
            days => ui.json(&ReportAnswer::Range(ReportRange::new(days)))?,
        },
        (_, To::Md) => {
            ui.page()?;
            for line in text.lines() {
                ui.row_whole(escape_lines(line))?;
            }
            ui.end_pages()?;
        }
        _ => ui.write(|out| out.write_all(text.as_bytes()))?,
    }
    ui.status(format_args!("Wrote {}", kept.html.display()));
    Ok(())
}

/// The settings that all days of a run share.
struct Writer<'c> {
    /// An agent that writes the report instead of Boswell.
    by: Option<writer::Writer>,
    context: &'c Context,
    zone: TimeZone,
    zone_name: String,
    reports_root: PathBuf,
    masker: Masker,
    prices: PriceTable,
    /// The uids of the sessions that the report is restricted to, or `None` for all.
    only: Option<HashSet<String>>,
    store: Option<Store>,
    /// A single empty day has no page; an empty day of a range has one.
    empty_day: EmptyDay,
}

impl Writer<'_> {
    /// Prepares a day if necessary, and returns the path of its workspace.
    fn workspace(&self, ui: &mut Ui, date: Date) -> Result<PathBuf, CommandError> {
        let window = DayWindow::new(date, &self.zone, &self.zone_name, self.context.now).map_err(no_window)?;
        let site = DayTarget {
            window: &window,
            zone: &self.zone,
            reports_root: &self.reports_root,
            empty_day: self.empty_day,
        };
        // A day that is not over has new sessions since it was last prepared.
        let force = window.status == DayStatus::Partial;
        let copies = Copies::Masked(&self.masker);
        let prepared = gather(self.context, &site, copies, self.store.as_ref(), force)?;
        if let Prepared::Created(made) = &prepared {
            let skipped = made.notes.skipped.len() as u64;
            if skipped > 0 {
                let first = made.notes.skipped.first();
                let first = first.map_or(String::new(), |one| {
                    format!("; the first: {} ({})", one.what, one.reason)
                });
                ui.warning(escape(&format!("{} left out of {date}{first}", plural(skipped, "log"))));
                let audit = self.reports_root.join(format!("private/{date}/audit.manifest.json"));
                ui.hint(format_args!("`{}` names each and the reason", audit.display()));
            }
        }
        match prepared {
            Prepared::Existing(workspace) | Prepared::Created(memory::diary::PreparedWorkspace { workspace, .. }) => {
                Ok(workspace)
            }
            Prepared::Empty => Err(self.no_sessions_on(date)?),
        }
    }

    /// Returns the error for a day without sessions, with the nearest day that has some.
    fn no_sessions_on(&self, date: Date) -> Result<CommandError, CommandError> {
        let home = &self.context.places.home;
        let days = diary::list_days(self.store.as_ref(), &self.zone, &self.reports_root, home)?;
        let distance = |day: &diary::DiaryDay| day.date.since(date).map_or(i32::MAX, |span| span.get_days().abs());
        // If two days are equally near, the earlier one is chosen: the list is newest first, and `min_by_key` returns
        // the first minimum.
        let nearest = days
            .iter()
            .rev()
            .filter(|day| day.turns > 0)
            .min_by_key(|day| distance(day));
        let subagents = match self.subagents_on(date)? {
            0 => String::new(),
            count => format!(", only {}", plural(count, "subagent")),
        };
        Ok(match nearest {
            Some(day) => CommandError::not_found(
                "no-sessions",
                format_args!(
                    "no sessions on {date}{subagents}; the nearest day with sessions is {}",
                    day.date
                ),
            )
            .with_hint(format_args!("`boswell diary {}`", day.date)),
            None => CommandError::not_found("no-sessions", format_args!("no sessions on {date}{subagents}"))
                .with_hint("`boswell sweep` reads the agents' logs, `boswell days` lists the days with sessions"),
        })
    }

    /// Returns the number of subagents that worked on a day. The diary includes their work in that of the session that
    /// started them.
    fn subagents_on(&self, date: Date) -> Result<u64, CommandError> {
        let Some(store) = &self.store else { return Ok(0) };
        let day_of = |micros: Option<i64>| {
            let at = jiff::Timestamp::from_microsecond(micros?).ok()?;
            Some(self.zone.to_datetime(at).date())
        };
        let listed = store.reads().listed()?;
        let is_on_day = |session: &&memory::store::ListedSession| {
            let (first, last) = (day_of(session.started_micros), day_of(session.ended_micros));
            session.is_subagent && first.is_some_and(|first| first <= date) && last.is_some_and(|last| date <= last)
        };
        Ok(listed.iter().filter(is_on_day).count() as u64)
    }

    /// Lets an agent write one phase of some days, and prints the progress of each day.
    fn phase(&self, ui: &mut Ui, phase: PhaseName, dates: &[Date]) -> Result<Outcome, CommandError> {
        let phase = match phase {
            PhaseName::Evidence => WritingPhase::Evidence,
            PhaseName::Project => WritingPhase::Project,
            PhaseName::Daily => WritingPhase::Daily,
        };
        let mut days = Vec::new();
        for date in dates {
            let workspace = self.workspace(ui, *date)?;
            let Some(agent) = &self.by else {
                return Err(CommandError::usage(
                    "`--phase` is for a `--writer` other than the default one",
                ));
            };
            let progress = self.let_write(ui, agent, &workspace, &[phase])?;
            days.push((*date, workspace, progress));
        }
        match ui.format {
            Format::Json => ui.json(&ReportAnswer::Writing(writing_answer(&days)))?,
            Format::Text => {
                for (date, _, progress) in &days {
                    let told = WritingPhase::ALL.map(|phase| {
                        let count = progress.count(phase);
                        format!("{} {} of {}", phase.as_str(), count.done, count.all)
                    });
                    ui.row(format_args!("{date}  {}", told.join("  ")))?;
                }
            }
        }
        Ok(Outcome::Done)
    }

    fn let_write(
        &self,
        ui: &mut Ui,
        agent: &writer::Writer,
        workspace: &Path,
        phases: &[WritingPhase],
    ) -> Result<WritingProgress, CommandError> {
        let desk = written::DayWriter {
            context: self.context,
            writer: agent,
            masker: &self.masker,
            reports_root: &self.reports_root,
            workspace,
        };
        desk.write(ui, phases)
    }

    /// Writes a day and stores its pages.
    fn day(&self, ui: &mut Ui, date: Date) -> Result<(DayReport, Kept), CommandError> {
        let workspace = self.workspace(ui, date)?;
        let day = self.written(ui, &workspace)?;
        for unread in &day.unread {
            let memory::report::UnreadSession {
                project,
                session_ref,
                reason,
            } = unread;
            ui.warning(format_args!("not read: {session_ref} of {project}: {reason}"));
        }
        let kept = files::keep(&workspace, &day)?;
        Ok((day, kept))
    }

    fn written(&self, ui: &mut Ui, workspace: &Path) -> Result<DayReport, CommandError> {
        let ask = ReportRequest {
            workspace,
            masker: &self.masker,
            prices: &self.prices,
            store: self.store.as_ref(),
            home: &self.context.places.home,
            only: self.only.as_ref(),
        };
        if let Some(agent) = &self.by {
            let progress = self.let_write(ui, agent, workspace, &WritingPhase::ALL)?;
            // For a day without sessions an agent has nothing to write.
            if !progress.pieces.is_empty() {
                let day = writing::write_external(&ask).map_err(damaged)?;
                return day.ok_or_else(|| CommandError::internal("a written day is not there"));
            }
        }
        memory::report::write_default(&ask).map_err(damaged)
    }
}

/// Returns the progress of some days for `--json`.
fn writing_answer(days: &[(Date, PathBuf, WritingProgress)]) -> WritingAnswer<'_> {
    let days = days.iter().map(|(date, workspace, progress)| WritingDay {
        date: date.to_string(),
        workspace,
        evidence: progress.count(WritingPhase::Evidence),
        project: progress.count(WritingPhase::Project),
        daily: progress.count(WritingPhase::Daily),
    });
    WritingAnswer {
        schema: WRITING_SCHEMA,
        days: days.collect(),
    }
}
