//! The finder: `boswell` alone on a terminal. Keys in, questions to the memory, a screen out. It only reads; what it
//! opens is opened by the verbs, after it has given the terminal back.

mod ask;
mod draw;
mod screen;
mod state;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
use memory::store::Store;

use self::ask::{Answer, Desk};
use self::draw::Look;
use self::screen::{Screen, Signals};
use self::state::{Action, Row, Stage, State, paste, update};
use crate::catch_up::catch_up;
use crate::cli::{GlobalArgs, parse_verb};
use crate::commands;
use crate::commands::sessions::in_one_line;
use crate::context::{Context, Surroundings};
use crate::error::{CommandError, Outcome};
use crate::ui::Ui;

/// How long a key is waited for while an answer is due, and while none is.
const WAIT_ASKING: Duration = Duration::from_millis(15);
const WAIT_IDLE: Duration = Duration::from_millis(200);

/// How the finder was left.
enum End {
    Left,
    Open(Box<Row>),
    Sweep,
    Demo,
}

pub(crate) fn run(ui: &mut Ui, surroundings: &Surroundings, global: &GlobalArgs) -> Result<Outcome, CommandError> {
    let context = Arc::new(Context::load(ui, surroundings, &global.config)?);
    catch_up(ui, &context, global.no_sweep)?;
    ui.flush()?;
    let mut copied = None;
    let end = show(ui, &context, &mut copied).map_err(|error| error.in_store(&context.places.data_dir))?;
    // Not every terminal takes what it is told to copy; printed, it can be copied by hand.
    if let Some(copied) = copied {
        ui.row(copied)?;
    }
    let mut verb = |words: &[&str]| match parse_verb(words) {
        Some(command) => commands::run(ui, surroundings, global, command),
        None => Err(CommandError::internal(format_args!("no such verb: {words:?}"))),
    };
    match end {
        End::Left => Ok(Outcome::Done),
        End::Sweep => {
            verb(&["sweep"])?;
            // Where something was kept, it can be found now.
            let store = Store::open_existing(&context.places.data_dir)?;
            match store.map_or(Ok(Vec::new()), |store| store.reads().listed())?.is_empty() {
                true => Ok(Outcome::Done),
                false => run(ui, surroundings, global),
            }
        }
        End::Demo => verb(&["demo"]),
        // The turn that was found, or the session.
        End::Open(row) => {
            let turn = row.turn.map(|turn| turn.to_string());
            let mut words = vec!["show", row.session_uid.as_str()];
            words.extend(turn.iter().flat_map(|turn| ["--turns", turn]));
            verb(&words)
        }
    }
}

/// Has the terminal until somebody leaves.
fn show(ui: &Ui, context: &Arc<Context>, copied: &mut Option<String>) -> Result<End, CommandError> {
    let cannot = |error: io::Error| CommandError::user("terminal", format_args!("cannot use the terminal: {error}"));
    let signals = Signals::note().map_err(cannot)?;
    let mut screen = Screen::open().map_err(cannot)?;
    let look = Look::new(ui.has_color(), context.now);
    let desk = Desk::open(context);
    let mut state = State::default();
    ask(&desk, &mut state);
    let mut is_changed = true;
    let end = loop {
        if is_changed {
            let drawn = screen.terminal.draw(|frame| draw::draw(frame, &state, &look));
            drawn.map_err(cannot)?;
        }
        let is_due = state.is_asking || (state.preview.is_none() && state.row().is_some());
        let wait = if is_due { WAIT_ASKING } else { WAIT_IDLE };
        let key = next_event(wait);
        if signals.is_noted()
            || key
                .as_ref()
                .is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
        {
            break End::Left;
        }
        let key = key.map_err(cannot)?;
        is_changed = key.is_some();
        let action = key.map_or(Action::Nothing, |key| take_event(&mut state, &key));
        match action {
            Action::Nothing => {}
            Action::Ask => ask(&desk, &mut state),
            Action::Look => look_closer(&desk, &state),
            Action::Leave => break End::Left,
            Action::Sweep => break End::Sweep,
            Action::Demo => break End::Demo,
            Action::Open => break state.row().map_or(End::Left, |row| End::Open(Box::new(row.clone()))),
            Action::CopyId | Action::CopyResume => {
                let text = state.row().and_then(|row| to_copy(row, action));
                if let Some(text) = &text {
                    screen.copy(text).map_err(cannot)?;
                }
                state.message = Some(match &text {
                    Some(text) => format!("Copied: {text}"),
                    None => "A subagent cannot be resumed".to_owned(),
                });
                *copied = text.or(copied.take());
            }
        }
        while let Some(answer) = desk.answer() {
            take_answer(&desk, &mut state, answer)?;
            is_changed = true;
        }
    };
    drop(screen);
    signals.obey();
    Ok(end)
}

fn next_event(wait: Duration) -> io::Result<Option<Event>> {
    // What was read with an earlier key may still wait inside.
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
        // Some terminals tell of keys that are let go, too.
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
        Answer::Rows { rows, count } => {
            state.take_rows(rows, count);
            state.preview = None;
            look_closer(desk, state);
        }
        Answer::Empty => {
            state.stage = Stage::Empty;
            state.is_asking = false;
        }
        Answer::Refused(why) => {
            state.message = Some(why);
            state.is_asking = false;
        }
        Answer::Preview(preview) => state.take_preview(preview),
        Answer::Failed(error) => return Err(error),
    }
    Ok(())
}

/// What is copied of a row. Ids stand in logs: what a shell would take apart is never copied as a command.
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
