//! The finder: `boswell` alone on a terminal. It turns keys into queries and draws the results: a list of hits,
//! and a reader for one session. It only reads the memory; for everything else it runs verbs.

mod ask;
mod draw;
mod reader;
mod screen;
mod state;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
use memory::store::Store;

use self::ask::{Answer, Desk};
use self::draw::Look;
use self::reader::{Panel, Reader, ReaderAction};
use self::screen::{Screen, Signals};
use self::state::{Action, Mark, Row, Stage, State, paste, update};
use crate::catch_up::catch_up;
use crate::cli::run_verb;
use crate::commands;
use crate::context::{Context, Surroundings, create_private_dir};
use crate::error::{CommandError, Outcome};
use crate::global_args::GlobalArgs;
use crate::render::text::plural;
use crate::ui::markdown::Ink;
use crate::ui::prose::{StyledLine, parse_ansi};
use crate::ui::{Ui, in_one_line, shorten_home};

/// How long to wait for a key while an answer is due, and while none is.
const WAIT_ASKING: Duration = Duration::from_millis(15);
const WAIT_IDLE: Duration = Duration::from_millis(200);

/// The reason why the finder ended.
#[derive(PartialEq, Eq)]
enum End {
    Left,
    /// The session is resumed with its agent.
    Resume(String),
    Setup,
    Sweep,
    Demo,
}

pub(crate) fn run(ui: &mut Ui, surroundings: &Surroundings, global: &GlobalArgs) -> Result<Outcome, CommandError> {
    let context = Arc::new(Context::load(ui, surroundings, &global.config)?);
    catch_up(ui, &context, global.no_sweep)?;
    ui.flush()?;
    let mut finder = Finder {
        ui,
        surroundings,
        global,
        context: Arc::clone(&context),
        state: State::default(),
        reader: None,
        copied: None,
    };
    let end = finder
        .show()
        .map_err(|error| error.in_store(&context.places.data_dir))?;
    // Not every terminal supports copying, so the text is also printed for copying by hand.
    if let Some(copied) = finder.copied.take() {
        ui.row(copied)?;
    }
    let mut verb = |words: &[&str]| run_verb(ui, surroundings, global, words);
    match end {
        End::Left => Ok(Outcome::Done),
        End::Setup | End::Sweep => {
            verb(&[if end == End::Setup { "setup" } else { "sweep" }])?;
            // If the memory has sessions now, the finder opens again.
            let store = Store::open_existing(&context.places.data_dir)?;
            match store.map_or(Ok(Vec::new()), |store| store.reads().listed())?.is_empty() {
                true => Ok(Outcome::Done),
                false => run(ui, surroundings, global),
            }
        }
        End::Demo => verb(&["demo"]),
        End::Resume(session_uid) => verb(&["resume", &session_uid]),
    }
}

/// The finder while it is on the screen: the list, and the reader of a session if it is open.
struct Finder<'f> {
    ui: &'f Ui,
    surroundings: &'f Surroundings,
    global: &'f GlobalArgs,
    context: Arc<Context>,
    state: State,
    reader: Option<Reader>,
    /// The last text that was copied and fits on a line.
    copied: Option<String>,
}

impl Finder<'_> {
    /// Runs on the terminal until the user leaves.
    fn show(&mut self) -> Result<End, CommandError> {
        let signals = Signals::note().map_err(cannot)?;
        let mut screen = Screen::open().map_err(cannot)?;
        let look = Look::new(self.ui.has_color(), self.context.now);
        let desk = Desk::open(&self.context);
        ask(&desk, &mut self.state);
        let mut is_changed = true;
        let end = loop {
            if is_changed {
                self.draw(&mut screen, &look)?;
            }
            let key = next_event(self.wait());
            let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
            if signals.is_noted() || key.as_ref().is_err_and(is_closed) {
                break End::Left;
            }
            let key = key.map_err(cannot)?;
            is_changed = key.is_some();
            if let Some(key) = key
                && let Some(end) = self.take_event(&desk, &mut screen, &look, &key)?
            {
                break end;
            }
            is_changed |= self.reader.as_mut().is_some_and(Reader::go_on);
            while let Some(answer) = desk.answer() {
                take_answer(&desk, &mut self.state, answer)?;
                is_changed = true;
            }
        };
        drop(screen);
        signals.obey();
        Ok(end)
    }

    fn draw(&mut self, screen: &mut Screen, look: &Look) -> Result<(), CommandError> {
        let (state, reader) = (&self.state, &mut self.reader);
        let drawn = screen.terminal.draw(|frame| match reader {
            Some(reader) => reader::draw::draw(frame, reader, look),
            None => draw::draw(frame, state, look),
        });
        drawn.map_err(cannot)?;
        if let Some(error) = self.reader.as_mut().and_then(Reader::take_error) {
            self.set_message(error.message);
        }
        Ok(())
    }

    /// Returns how long to wait for a key before other work is done.
    fn wait(&self) -> Duration {
        let state = &self.state;
        let is_due = state.is_asking || (state.preview.is_none() && state.row().is_some());
        match &self.reader {
            Some(reader) if reader.search.is_running() => Duration::ZERO,
            _ if is_due => WAIT_ASKING,
            _ => WAIT_IDLE,
        }
    }

    /// Handles a key. Returns how the finder ends, or `None` if it continues.
    fn take_event(
        &mut self,
        desk: &Desk,
        screen: &mut Screen,
        look: &Look,
        event: &Event,
    ) -> Result<Option<End>, CommandError> {
        if self.reader.is_some() {
            return self.take_reader_event(screen, look, event);
        }
        match take_event(&mut self.state, event) {
            Action::Nothing => {}
            Action::Ask => ask(desk, &mut self.state),
            Action::Look => look_closer(desk, &self.state),
            Action::Leave => return Ok(Some(End::Left)),
            Action::Setup => return Ok(Some(End::Setup)),
            Action::Sweep => return Ok(Some(End::Sweep)),
            Action::Demo => return Ok(Some(End::Demo)),
            Action::Open => self.open(),
            action @ (Action::CopyId | Action::CopyResume) => {
                let text = self.state.row().and_then(|row| to_copy(row, action));
                if let Some(text) = &text {
                    screen.copy(text).map_err(cannot)?;
                }
                self.state.message = Some(match &text {
                    Some(text) => format!("Copied: {text}"),
                    None => "A subagent cannot be resumed".to_owned(),
                });
                self.copied = text.or(self.copied.take());
            }
        }
        Ok(None)
    }

    /// Opens the session of the selected row, at the turn that was found.
    fn open(&mut self) {
        let Some(row) = self.state.row() else { return };
        let ink = if self.ui.has_color() { Ink::Color } else { Ink::Plain };
        let mut reader = match reader::load::open(&self.context, &row.session_uid, ink) {
            Ok(reader) => reader,
            Err(error) => {
                self.state.message = Some(in_one_line(&error.message));
                return;
            }
        };
        let hit = row.pieces.iter().find(|(_, mark)| *mark == Mark::Hit);
        let needle = hit.map(|(text, _)| text.clone());
        reader.go_to(row.turn, row.line, needle);
        if reader.document.items.is_empty() {
            // `show` prints what the memory still has.
            let words = ["show".to_owned(), row.session_uid.clone()];
            let (_, lines) = self.run_captured(&words);
            reader.panel = Some(Panel {
                title: reader.document.title.clone(),
                lines,
                top: 0,
            });
        }
        self.reader = Some(reader);
    }

    fn take_reader_event(
        &mut self,
        screen: &mut Screen,
        look: &Look,
        event: &Event,
    ) -> Result<Option<End>, CommandError> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let action = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => reader::update(reader, *key),
            _ => ReaderAction::Nothing,
        };
        let session_uid = reader.document.session_uid.clone();
        match action {
            ReaderAction::Nothing => {}
            ReaderAction::Back => self.reader = None,
            ReaderAction::Leave => return Ok(Some(End::Left)),
            ReaderAction::Resume => match commands::resume::check(&self.context, &session_uid) {
                Ok(()) => return Ok(Some(End::Resume(session_uid))),
                Err(error) => self.set_message(error.message),
            },
            ReaderAction::Copy(text) => {
                screen.copy(&text).map_err(cannot)?;
                reader.message = Some(format!("Copied {}", plural(text.chars().count() as u64, "character")));
            }
            ReaderAction::OpenPage => {
                reader.message = Some("Making the page…".to_owned());
                self.draw(screen, look)?;
                let page = self.page_path(&session_uid)?;
                let words = ["render", &session_uid, "--open", "-o", &page].map(str::to_owned);
                let message = match self.run_captured(&words) {
                    (Ok(()), _) => format!("Opened the page: {page}"),
                    (Err(error), _) => error.message,
                };
                self.set_message(message);
            }
            ReaderAction::Why(path) => {
                reader.message = Some("Looking for the turns that touched it…".to_owned());
                self.draw(screen, look)?;
                let words = ["why", "--no-pager", "--", &path].map(str::to_owned);
                let (outcome, lines) = self.run_captured(&words);
                match outcome {
                    Ok(()) => self.set_panel(format!("why {path}"), lines),
                    Err(error) => self.set_message(error.message),
                }
            }
        }
        Ok(None)
    }

    fn set_message(&mut self, message: String) {
        if let Some(reader) = &mut self.reader {
            // As in all output, the home directory is `~`.
            let home = self.context.places.home.to_string_lossy();
            reader.message = Some(in_one_line(&shorten_home(&message, &home)));
        }
    }

    fn set_panel(&mut self, title: String, lines: Vec<StyledLine>) {
        if let Some(reader) = &mut self.reader {
            reader.message = None;
            let title = in_one_line(&title);
            reader.panel = Some(Panel { title, lines, top: 0 });
        }
    }

    /// Returns the path for the page of a session, in a directory of Boswell.
    fn page_path(&self, session_uid: &str) -> Result<String, CommandError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name: String = session_uid.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let directory = self.context.places.home.join(".cache/boswell/pages");
        let cannot = |error| CommandError::user("page", format_args!("cannot make {}: {error}", directory.display()));
        create_private_dir(&directory).map_err(cannot)?;
        Ok(directory.join(format!("{name}.html")).to_string_lossy().into_owned())
    }

    /// Runs a verb and returns what it would have printed, for this screen.
    fn run_captured(&self, words: &[String]) -> (Result<(), CommandError>, Vec<StyledLine>) {
        let columns = self.surroundings.columns().unwrap_or(80);
        let (mut ui, captured) = self.ui.captured(columns.saturating_sub(4).max(20));
        let global = GlobalArgs {
            json: false,
            quiet: false,
            color: self.global.color,
            config: self.global.config.clone(),
            no_sweep: true,
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = run_verb(&mut ui, self.surroundings, &global, &words);
        let flushed = ui.flush();
        let lines = captured.text().lines().map(parse_ansi).collect();
        let outcome = outcome.and_then(|_| Ok(flushed?));
        (outcome, lines)
    }
}

fn cannot(error: io::Error) -> CommandError {
    CommandError::user("terminal", format_args!("cannot use the terminal: {error}"))
}

fn next_event(wait: Duration) -> io::Result<Option<Event>> {
    // Bytes of an earlier read may still be buffered inside crossterm.
    let mut rest = screen::wait_for_input(Duration::ZERO)?;
    if !event::poll(Duration::ZERO).unwrap_or(false) {
        rest = screen::wait_for_input(wait)?;
    }
    match event::poll(rest) {
        Ok(true) => event::read().map(Some),
        Ok(false) => Ok(None),
        // A signal came instead of a key.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

fn take_event(state: &mut State, event: &Event) -> Action {
    match event {
        // Some terminals also report key releases.
        Event::Key(key) if key.kind != KeyEventKind::Release => update(state, *key),
        Event::Paste(text) => paste(state, text),
        _ => Action::Nothing,
    }
}

fn ask(desk: &Desk, state: &mut State) {
    state.is_asking = true;
    desk.ask(&state.query, state.narrow);
}

fn look_closer(desk: &Desk, state: &State) {
    if let Some(row) = state.row() {
        desk.look(row);
    }
}

fn take_answer(desk: &Desk, state: &mut State, answer: Answer) -> Result<(), CommandError> {
    match answer {
        Answer::Rows { rows, count, note } => {
            state.take_rows(rows, count);
            state.message = note.or(state.message.take());
            state.preview = None;
            look_closer(desk, state);
        }
        Answer::Empty => {
            state.stage = Stage::Empty;
            state.is_asking = false;
        }
        Answer::Hidden(count) => state.hidden = Some(count),
        Answer::Suggestion(query) => state.suggestion = Some(in_one_line(&query)),
        Answer::Refused(why) => {
            state.message = Some(why);
            state.is_asking = false;
        }
        Answer::Preview(preview) => state.take_preview(preview),
        Answer::Failed(error) => return Err(error),
    }
    Ok(())
}

/// Returns the text to copy for a row. Ids come from logs, so an id that a shell would interpret is never copied as a
/// command.
fn to_copy(row: &Row, action: Action) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let id = row.id.as_str();
    if action == Action::CopyId {
        return Some(in_one_line(id));
    }
    if id.is_empty() || id.starts_with('-') || !id.chars().all(is_plain) {
        return None;
    }
    Some(format!("boswell resume {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_a_shell_would_take_apart_is_never_copied_as_a_command() {
        let check = |id: &str| {
            let row = Row {
                session_uid: format!("codex:{id}"),
                id: id.to_owned(),
                ..Row::default()
            };
            to_copy(&row, Action::CopyResume)
        };
        assert!(check("019d4700-c0de").is_some_and(|command| command.ends_with("resume 019d4700-c0de")));
        for id in ["", "-x", "a b", "a;rm", "a/b", "a\u{1b}", "$(a)", "a\n"] {
            assert_eq!(check(id), None, "{id:?}");
        }
    }
}
