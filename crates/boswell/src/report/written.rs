//! Lets a writer write a day, piece by piece, until nothing is missing. Finished pieces are kept; a writer without
//! progress is stopped.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use memory::mask::Masker;
use memory::report::writing::{ReportPart, WritingPhase, WritingProgress, read_progress};

use super::process::{self, Ended, Ran, Stop};
use super::writer::{Server, Writer};
use super::{files, prompt};
use crate::context::Context;
use crate::day_workspace::damaged;
use crate::error::CommandError;
use crate::ui::Ui;

/// Maximum number of missing references in a message.
const TOLD_MAX: usize = 5;

/// A day and its writer.
pub(super) struct DayWriter<'d> {
    pub(super) context: &'d Context,
    pub(super) writer: &'d Writer,
    pub(super) masker: &'d Masker,
    pub(super) reports_root: &'d Path,
    pub(super) workspace: &'d Path,
}

impl DayWriter<'_> {
    /// Writes the missing pieces of some phases.
    pub(super) fn write(&self, ui: &mut Ui, phases: &[WritingPhase]) -> Result<WritingProgress, CommandError> {
        let mut so_far = self.read_progress()?;
        let mut stop = None;
        for phase in phases {
            let before = WritingPhase::ALL.iter().filter(|other| *other < phase);
            for other in before {
                let count = so_far.count(*other);
                if count.done < count.all {
                    let message =
                        format_args!("{} is not written yet: {} of {}", other.as_str(), count.done, count.all);
                    let hint = format!(
                        "`--phase {}` writes it, and without `--phase` everything is written",
                        other.as_str()
                    );
                    return Err(CommandError::user("writing-order", message).with_hint(hint));
                }
            }
            let is_open = |piece: &ReportPart| piece.phase == *phase && !piece.missing.is_empty();
            let open: Vec<ReportPart> = so_far.pieces.iter().filter(|piece| is_open(piece)).cloned().collect();
            if !open.is_empty() {
                self.begin(ui)?;
                self.pieces(ui, &listening(&mut stop)?, open)?;
                so_far = self.read_progress()?;
            }
        }
        Ok(so_far)
    }

    fn read_progress(&self) -> Result<WritingProgress, CommandError> {
        read_progress(self.workspace).map_err(damaged)
    }

    /// Warns once per writer that text leaves this machine, and writes the general rules to the file from which the
    /// writer reads them.
    fn begin(&self, ui: &mut Ui) -> Result<(), CommandError> {
        // The error of a missing program comes before the warning, because then no text leaves this machine.
        self.writer.find(self.context)?;
        let name = self.writer.name();
        let told = self.reports_root.join("private").join(format!("told-{name}"));
        if !told.exists() {
            ui.warning(format_args!(
                "`{name}` writes this day: it is given the text of the day's sessions, with the secrets out, and sends it to whoever runs its model"
            ));
            ui.hint("this is said once for each writer; without `--writer` nothing leaves this machine");
            files::write(&told, b"")?;
        }
        let rules = prompt::rules(&self.context.config.report.language);
        self.put(self.writer.rules_file(), &rules)?;
        let server = Server::new(self.context, self.workspace, self.writer);
        if let Some((name, text)) = self.writer.settings_file(&server) {
            self.put(name, &format!("# {}\n{text}", prompt::MARKER))?;
        }
        Ok(())
    }

    /// Writes one of our files into the workspace, unless a file without our marker is in its place.
    fn put(&self, name: &str, text: &str) -> Result<(), CommandError> {
        let path = self.workspace.join(name);
        let is_free = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                let there = fs::read_to_string(&path).unwrap_or_default();
                there.lines().next().is_some_and(|line| line.contains(prompt::MARKER)) && there != text
            }
            Ok(_) => false,
            Err(_) => true,
        };
        // A directory that is a symbolic link could lead out of the workspace.
        let above = path.parent().and_then(|above| fs::symlink_metadata(above).ok());
        let is_inside = above.is_none_or(|above| above.is_dir());
        match is_free && is_inside {
            true => files::write(&path, text.as_bytes()),
            false => Ok(()),
        }
    }

    /// Writes the open pieces of one phase in parallel. After an error no further piece is started.
    fn pieces(&self, ui: &mut Ui, stop: &Stop, open: Vec<ReportPart>) -> Result<(), CommandError> {
        let jobs = open.len().min(self.context.config.report.jobs);
        let waiting = Mutex::new(open.into_iter());
        let failed: Mutex<Option<CommandError>> = Mutex::new(None);
        let (tell, heard) = mpsc::channel::<String>();
        let work = |tell: Sender<String>| {
            while failed.lock().is_ok_and(|failed| failed.is_none()) {
                let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
                let Some(piece) = next else { return };
                if let Err(error) = self.piece(&tell, stop, piece) {
                    failed
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let tell = tell.clone();
                scope.spawn(|| work(tell));
            }
            drop(tell);
            for told in heard {
                ui.status(told);
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), Err)
    }

    /// Runs the writer on one piece until it is complete.
    fn piece(&self, tell: &Sender<String>, stop: &Stop, mut piece: ReportPart) -> Result<(), CommandError> {
        let settings = &self.context.config.report;
        let (name, title) = (self.writer.name(), piece.title());
        _ = tell.send(format!("{name} writes {title}"));
        let mut idle = 0;
        loop {
            let server = Server::new(self.context, self.workspace, self.writer);
            let prompt = prompt::prompt(&piece, &settings.language);
            let call = self.writer.call(self.context, self.workspace, &server, prompt)?;
            let timeout = Duration::from_secs(settings.timeout_s);
            let ran = process::run(&call, self.workspace, timeout, stop).map_err(|error| {
                let message = format_args!("cannot run the writer `{}`: {error}", call.program.display());
                CommandError::user("writer-failed", message)
            })?;
            if matches!(ran.ended, Ended::Stopped) {
                return Err(CommandError::user("stopped", "stopped while a writer was at work")
                    .with_hint("what is written stays; the same command goes on from there"));
            }
            let so_far = self.read_progress()?;
            let now = so_far.pieces.iter().find(|other| other.is_same(&piece));
            let missing = now.map(|now| now.missing.clone()).unwrap_or_default();
            if missing.is_empty() {
                return Ok(());
            }
            idle = if missing.len() < piece.missing.len() {
                0
            } else {
                idle + 1
            };
            piece.missing = missing;
            if idle >= settings.retries {
                return Err(self.no_progress(&name, &piece, idle, &ran));
            }
            _ = tell.send(format!("{name} goes on with {title}: {} missing", piece.missing.len()));
        }
    }

    fn no_progress(&self, name: &str, piece: &ReportPart, runs: u32, ran: &Ran) -> CommandError {
        let mut missing = piece
            .missing
            .iter()
            .take(TOLD_MAX)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        if piece.missing.len() > TOLD_MAX {
            missing += ", …";
        }
        let last = self.masker.mask_str(&ran.last_words, &mut Vec::new()).into_owned();
        let how = match &ran.ended {
            Ended::TimedOut => format!("it was stopped after {} s", self.context.config.report.timeout_s),
            Ended::By(status) if status.success() => "it ended without an error".to_owned(),
            Ended::By(status) => status.to_string(),
            Ended::Stopped => "it was stopped".to_owned(),
        };
        let said = if last.is_empty() {
            String::new()
        } else {
            format!(", and said last: {last}")
        };
        let message = format_args!(
            "`{name}` wrote nothing of {} in {runs} runs; missing: {missing}; {how}{said}",
            piece.title()
        );
        CommandError::user("writer-no-progress", message)
            .with_hint("what is written stays, and no page was made; the same command goes on from there")
            .retryable()
    }
}

/// Handles signals from the first run on. Before that, they keep their default action.
fn listening(stop: &mut Option<Stop>) -> Result<Stop, CommandError> {
    if let Some(stop) = stop {
        return Ok(stop.clone());
    }
    let failed = |error| CommandError::user("writer-failed", format_args!("cannot listen for signals: {error}"));
    Ok(stop.insert(Stop::listen().map_err(failed)?).clone())
}
