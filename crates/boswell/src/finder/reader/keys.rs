//! The keys of the reader.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{LinePlace, Reader, ReaderAction, search};

/// Handles a key.
pub(in crate::finder) fn update(reader: &mut Reader, key: KeyEvent) -> ReaderAction {
    reader.message = None;
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if is_control && key.code == KeyCode::Char('c') {
        return ReaderAction::Leave;
    }
    if reader.is_help {
        reader.is_help = false;
        return ReaderAction::Nothing;
    }
    if reader.panel.is_some() {
        update_panel(reader, key.code);
        let is_all = reader.panel.is_none() && reader.document.items.is_empty();
        return if is_all {
            ReaderAction::Back
        } else {
            ReaderAction::Nothing
        };
    }
    if reader.search.is_running() {
        reader.search.stop();
        reader.message = Some("Search stopped".to_owned());
        return ReaderAction::Nothing;
    }
    if reader.search.is_typing() {
        search::type_key(reader, key.code, is_control);
        return ReaderAction::Nothing;
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return ReaderAction::Back,
        KeyCode::Char('y') => return copy(reader),
        KeyCode::Char('r') if reader.document.is_subagent => {
            reader.message = Some("A subagent cannot be resumed".to_owned());
        }
        KeyCode::Char('r') => return ReaderAction::Resume,
        KeyCode::Char('o') => return ReaderAction::OpenPage,
        KeyCode::Char('w') => match reader.file() {
            Some(path) => return ReaderAction::Why(path),
            None => reader.message = Some("No file here; move to a call that reads or edits one".to_owned()),
        },
        KeyCode::Char('/') => reader.search.begin(),
        KeyCode::Char('n') => search::start(reader, search::Direction::Forward),
        KeyCode::Char('N') => search::start(reader, search::Direction::Backward),
        KeyCode::Char('?') | KeyCode::F(1) => reader.is_help = true,
        code => move_by(reader, code, is_control),
    }
    ReaderAction::Nothing
}

fn move_by(reader: &mut Reader, code: KeyCode, is_control: bool) {
    let page = reader.rows.saturating_sub(2).max(1).cast_signed();
    match code {
        KeyCode::Char('d') if is_control => reader.page(page / 2),
        KeyCode::Char('u') if is_control => reader.page(-page / 2),
        KeyCode::Char('f') if is_control => reader.page(page),
        KeyCode::Char('b') if is_control => reader.page(-page),
        KeyCode::Char('j' | ']') => match reader.document.next_turn(reader.cursor) {
            Some(next) => reader.jump(next),
            None => reader.message = Some("This is the last turn".to_owned()),
        },
        KeyCode::Char('k' | '[') => {
            let start = reader.document.turn_start(reader.cursor);
            let is_begun = reader.cursor > start;
            let to = if is_begun {
                start
            } else {
                reader.document.turn_start(start.saturating_sub(1))
            };
            reader.jump(to);
        }
        KeyCode::Down => reader.step(true),
        KeyCode::Up => reader.step(false),
        KeyCode::PageDown | KeyCode::Char(' ' | 'd') => reader.page(page),
        KeyCode::PageUp | KeyCode::Char('b' | 'u') => reader.page(-page),
        KeyCode::Home | KeyCode::Char('g') => reader.jump(0),
        KeyCode::End | KeyCode::Char('G') => {
            reader.cursor = reader.last();
            reader.top = LinePlace {
                item: reader.last(),
                line: usize::MAX,
            };
            reader.clamp();
        }
        KeyCode::Enter => reader.toggle(reader.cursor),
        KeyCode::Char('e') => reader.toggle_turn(),
        _ => {}
    }
}

fn copy(reader: &mut Reader) -> ReaderAction {
    reader.text_to_copy().map_or(ReaderAction::Nothing, ReaderAction::Copy)
}

fn update_panel(reader: &mut Reader, code: KeyCode) {
    let rows = reader.rows;
    let Some(panel) = &mut reader.panel else { return };
    let last = panel.lines.len().saturating_sub(rows);
    let page = rows.saturating_sub(2).max(1);
    panel.top = match code {
        KeyCode::Down | KeyCode::Char('j') => panel.top + 1,
        KeyCode::Up | KeyCode::Char('k') => panel.top.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => panel.top + page,
        KeyCode::PageUp | KeyCode::Char('b') => panel.top.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => {
            reader.panel = None;
            return;
        }
    }
    .min(last);
}
