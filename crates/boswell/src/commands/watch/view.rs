//! Shows the active sessions: redrawn in place on a terminal, line by line without one, and as a stream of objects with
//! `--json`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use memory::store::{ListedSession, Store};
use memory::sweep::SweepReport;
use transcript::{Kind, SessionEvent};

use super::open;
use crate::answers::health::WatchAnswer;
use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::plural;
use crate::ui::{BAD, FAINT, Format, STRONG, Ui, escape, in_one_line, measure};

/// A session that was inactive for longer is not shown as active.
const RUNS_FOR: SignedDuration = SignedDuration::from_mins(10);
/// Maximum number of sessions shown.
const SHOWN_MAX: usize = 12;

/// An active session.
struct Running {
    heard_at: Timestamp,
    line: String,
}

/// The active sessions, and what is drawn on the terminal.
pub(super) struct View {
    running: BTreeMap<String, Running>,
    /// The time of each session's last activity, by uid, when sessions were last shown.
    last_micros: HashMap<String, Option<i64>>,
    drawn: usize,
}

impl View {
    pub(super) fn begin(ui: &mut Ui, context: &Context, report: &SweepReport) -> Result<Self, CommandError> {
        let mut view = Self {
            running: BTreeMap::new(),
            last_micros: HashMap::new(),
            drawn: 0,
        };
        if let Some(store) = open(context)? {
            let listed = store.reads().listed()?;
            view.last_micros = listed
                .into_iter()
                .map(|session| (session.session_uid, session.last_micros))
                .collect();
        }
        ui.status(format_args!(
            "Watching {}; Ctrl-C ends it",
            plural(report.files_seen, "file")
        ));
        view.draw(ui, context)?;
        Ok(view)
    }

    /// Shows the sessions of logs that grew. Without `paths` all logs were read, and the sessions that changed since the
    /// last time are shown.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        context: &Context,
        paths: Option<&[PathBuf]>,
    ) -> Result<(), CommandError> {
        let Some(store) = open(context)? else { return Ok(()) };
        let mut uids: BTreeSet<String> = BTreeSet::new();
        for path in paths.unwrap_or_default() {
            uids.extend(store.reads().uids_of_path(&path.to_string_lossy())?);
        }
        if paths.is_some() && uids.is_empty() {
            return Ok(());
        }
        let listed = store.reads().listed()?;
        for session in &listed {
            let last_before = self
                .last_micros
                .insert(session.session_uid.clone(), session.last_micros);
            let is_shown = match paths {
                Some(_) => uids.contains(&session.session_uid),
                None => last_before != Some(session.last_micros),
            };
            if is_shown {
                self.show_one(ui, context, &store, session)?;
            }
        }
        if ui.format == Format::Text && ui.draws() {
            self.draw(ui, context)?;
        }
        Ok(())
    }

    fn show_one(
        &mut self,
        ui: &mut Ui,
        context: &Context,
        store: &Store,
        session: &ListedSession,
    ) -> Result<(), CommandError> {
        let counted = store.reads().counted(&session.session_uid)?;
        let events = store.reads().last_events(&session.session_uid)?;
        let tool = events.iter().rev().find_map(|event| event.tool.as_deref());
        let errors = events.iter().filter(|event| event.kinds.has(Kind::Error)).count();
        let now = context.now_again();
        if ui.format == Format::Json {
            ui.answer(&WatchAnswer {
                at: now,
                session_uid: &session.session_uid,
                agent: session.flavor(),
                project: session.cwd.as_deref(),
                title: session.title.as_deref(),
                turns: counted.turns,
                events: counted.events,
                tokens: counted.tokens,
                last_kind: events.last().map(|event| event.kind().as_str()),
                last_tool: tool,
                recent_errors: errors,
            })?;
            return Ok(ui.flush()?);
        }
        let line = line(ui, session, counted.turns, counted.tokens, &events, errors);
        if !ui.draws() {
            let at = now.to_zoned(context.zone.clone()).strftime("%H:%M:%S").to_string();
            ui.row(format_args!("{at}  {line}"))?;
            ui.flush()?;
        }
        self.running
            .insert(session.session_uid.clone(), Running { heard_at: now, line });
        Ok(())
    }

    /// Redraws the sessions over the previous drawing.
    fn draw(&mut self, ui: &mut Ui, context: &Context) -> Result<(), CommandError> {
        if !ui.draws() {
            return Ok(());
        }
        let now = context.now_again();
        self.running
            .retain(|_, running| now.duration_since(running.heard_at) <= RUNS_FOR);
        let mut newest: Vec<&Running> = self.running.values().collect();
        newest.sort_by_key(|running| std::cmp::Reverse(running.heard_at));
        let mut lines: Vec<String> = newest
            .iter()
            .take(SHOWN_MAX)
            .map(|running| {
                format!(
                    "{}  {}",
                    running.line,
                    ui.paint(FAINT, measure::age(now, running.heard_at))
                )
            })
            .collect();
        if lines.is_empty() {
            lines.push(ui.paint(FAINT, "no session runs").to_string());
        }
        if newest.len() > SHOWN_MAX {
            lines.push(format!("{} more", newest.len() - SHOWN_MAX));
        }
        ui.draw_over(self.drawn, &lines)?;
        self.drawn = lines.len();
        Ok(())
    }
}

fn line(ui: &Ui, session: &ListedSession, turns: u64, tokens: u64, events: &[SessionEvent], errors: usize) -> String {
    let project = session.repo.as_deref().unwrap_or("-");
    let said = session.said.name.as_deref().or(session.title.as_deref());
    let last = events.last();
    let doing = last.map(|event| event.tool.as_deref().unwrap_or(event.kind().as_str()).to_owned());
    let mut line = format!(
        "{}  {}  {}, {} tokens  {}",
        ui.paint(STRONG, format!("{:<6}", session.flavor())),
        escape(project),
        plural(turns, "turn"),
        measure::short_count(tokens),
        escape(&doing.unwrap_or_default()),
    );
    if errors > 0 {
        line += &format!("  {}", ui.paint(BAD, plural(errors as u64, "error")));
    }
    if let Some(said) = said {
        line += &format!("  {}", ui.paint(FAINT, measure::fit(&in_one_line(said), 50)));
    }
    line
}
