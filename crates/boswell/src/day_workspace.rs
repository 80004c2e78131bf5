//! The workspace of a day: its options on the command line, its preparation, and its errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use memory::diary::{self, Copies, DayWindow, DiaryError, EmptyDay, PrepareRequest, Prepared, WindowError};
use memory::report::ReportError;
use memory::store::Store;

use crate::context::Context;
use crate::day_arg::DayWord;
use crate::error::CommandError;
use crate::ui::Ui;

/// Which day is meant.
#[derive(clap::Args, Debug)]
pub(crate) struct DayArgs {
    /// The day: `2026-05-12`, `today`, `yesterday`, `monday` or `-3d`; the default is yesterday
    #[arg(long, value_name = "DAY", conflicts_with = "today")]
    date: Option<DayWord>,
    /// Today so far
    #[arg(long)]
    today: bool,
}

/// Where days lie, in time and on disk.
#[derive(clap::Args, Debug)]
pub(crate) struct PlaceArgs {
    /// Time zone of the day, such as `Europe/Berlin`; the system's by default
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Directory of the workspaces
    #[arg(long, value_name = "DIR")]
    reports_root: Option<PathBuf>,
}

impl PlaceArgs {
    /// Returns the time zone and its name.
    pub(crate) fn zone(&self, context: &Context) -> Result<(TimeZone, String), CommandError> {
        let unknown = |name: &str| {
            CommandError::usage(format_args!("no such time zone: `{name}`")).with_hint("write it like `Europe/Berlin`")
        };
        let zone = match &self.timezone {
            Some(name) => TimeZone::get(name).map_err(|_| unknown(name))?,
            None => context.zone.clone(),
        };
        let name = zone.iana_name().unwrap_or("UTC").to_owned();
        Ok((zone, name))
    }

    /// Returns the directory of all workspaces.
    pub(crate) fn root(&self, ui: &mut Ui, context: &Context) -> PathBuf {
        if let Some(given) = &self.reports_root {
            return context.places.current_dir.join(given);
        }
        if context.reports.is_by_old_variable {
            ui.hint("`PROMPT_DIARY_HOME` is honoured; `BOSWELL_REPORTS` is its name here");
        }
        context.reports.path.clone()
    }
}

impl DayArgs {
    /// Returns the selected day, in a zone.
    pub(crate) fn date(&self, context: &Context, zone: &TimeZone) -> Result<Date, CommandError> {
        let today = zone.to_datetime(context.now).date();
        let day = match self.today {
            true => DayWord::DaysAgo(0),
            false => self.date.unwrap_or(DayWord::YESTERDAY),
        };
        day.date(today)
    }
}

/// A day and the directory of its workspace.
pub(crate) struct DayTarget<'s> {
    pub(crate) window: &'s DayWindow,
    pub(crate) zone: &'s TimeZone,
    pub(crate) reports_root: &'s Path,
    pub(crate) empty_day: EmptyDay,
}

/// Prepares the workspace of a day, unless it exists and `force` is not set.
pub(crate) fn gather(
    context: &Context,
    site: &DayTarget<'_>,
    copies: Copies<'_>,
    store: Option<&Store>,
    force: bool,
) -> Result<Prepared, CommandError> {
    let roots = context.memory_roots();
    let fallback = &context.config.diary.fallback_roots;
    let request = PrepareRequest {
        window: site.window,
        zone: site.zone,
        now: context.now,
        roots: &roots,
        fallback_roots: fallback.iter().cloned().collect::<BTreeMap<_, _>>(),
        reports_root: site.reports_root,
        home: &context.places.home,
        copies,
        threads: context.threads,
        is_ignored: &|log: &Path| context.is_ignored(log),
        force,
        empty_day: site.empty_day,
    };
    diary::prepare(&request, store).map_err(told)
}

pub(crate) fn no_window(error: WindowError) -> CommandError {
    CommandError::usage(error)
}

/// Returns the error for a day that cannot be prepared, with a hint.
pub(crate) fn told(error: DiaryError) -> CommandError {
    match &error {
        DiaryError::Busy(_) => CommandError::user("diary-busy", &error)
            .with_hint("try again when it is done")
            .retryable(),
        DiaryError::Mismatch { .. } => CommandError::user("diary-mismatch", &error)
            .with_hint("`boswell prepare --force` prepares it again; reports in it stay"),
        DiaryError::Io { .. } => CommandError::user("diary-unwritable", &error)
            .with_hint("the reports root must be yours to write, with room on its disk"),
    }
}

/// Returns the error for a workspace that cannot be read, with a hint.
pub(crate) fn damaged(error: ReportError) -> CommandError {
    match error {
        ReportError::Store(error) => error.into(),
        error @ ReportError::Workspace { .. } => CommandError::user("workspace-damaged", error)
            .with_hint("`boswell prepare --force` prepares it again; reports in it stay"),
    }
}
