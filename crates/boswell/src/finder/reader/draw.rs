//! Draws the reader's screen from its state.

use anstyle::{AnsiColor, Color as AnyColor, Effects};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::draw::{Look, draw_help, draw_keys};
use super::{Panel, Reader};
use crate::ui::prose::{StyledLine, StyledText};
use crate::ui::{escape, measure};

/// Columns before every line, for the cursor.
const GUTTER: u16 = 2;
/// Rows for the title and the keys.
const FRAME_ROWS: u16 = 2;

pub(in crate::finder) fn draw(frame: &mut Frame<'_>, reader: &mut Reader, look: &Look) {
    let area = frame.area();
    let parts = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [head, body, foot] = Layout::vertical(parts).areas(area);
    reader.set_size(
        usize::from(area.width.saturating_sub(GUTTER + 1)).max(8),
        usize::from(area.height.saturating_sub(FRAME_ROWS)),
    );
    match &reader.panel {
        Some(panel) => {
            draw_panel(frame, head, body, panel, look);
            draw_keys(frame, foot, None, &PANEL_KEYS, look);
        }
        None => {
            draw_body(frame, body, reader, look);
            draw_head(frame, head, reader, look);
            draw_foot(frame, foot, reader, look);
        }
    }
    if reader.is_help {
        draw_help(frame, area, &HELP, look);
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, reader: &Reader, look: &Look) {
    let document = &reader.document;
    let percent = format!("{}%", reader.percent());
    let place = match reader.turn() {
        Some(turn) => format!("turn {turn} of {} · {percent}", document.turn_count),
        None => percent,
    };
    let room = usize::from(area.width).saturating_sub(measure::width(&place) + 4);
    let title = measure::fit(&document.title, room).into_owned();
    let rest = room.saturating_sub(measure::width(&title) + 2);
    let mut spans = vec![Span::raw("  "), Span::styled(title, look.strong)];
    let about = document.notice.as_ref().unwrap_or(&document.about);
    if rest > 12 {
        spans.push(Span::styled(format!("  {}", measure::fit(about, rest)), look.faint));
    }
    frame.render_widget(Line::from(spans), area);
    frame.render_widget(Line::from(Span::styled(place, look.faint)).right_aligned(), area);
}

fn draw_body(frame: &mut Frame<'_>, area: Rect, reader: &mut Reader, look: &Look) {
    let cursor = reader.cursor();
    let needle = reader.search.needle.as_deref().map(str::to_lowercase);
    let visible = reader.visible();
    let mut lines = Vec::with_capacity(visible.len());
    for (at, line) in visible {
        // An empty line separates an item from the one before it.
        let is_cursor = at == cursor && !line.parts.is_empty();
        let sign = if is_cursor { "▌ " } else { "  " };
        let mut spans = vec![Span::styled(sign, look.selected)];
        spans.extend(marked(&line, needle.as_deref(), look));
        lines.push(Line::from(spans));
    }
    if (lines.len() as u16) < area.height {
        lines.push(Line::default());
        lines.push(Line::from(Span::styled("  end of the session", look.faint)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_panel(frame: &mut Frame<'_>, head: Rect, body: Rect, panel: &Panel, look: &Look) {
    let title = measure::fit(&panel.title, usize::from(head.width).saturating_sub(3)).into_owned();
    frame.render_widget(
        Line::from(vec![Span::raw("  "), Span::styled(title, look.strong)]),
        head,
    );
    let visible = panel.lines.iter().skip(panel.top).take(usize::from(body.height));
    let line = |line: &StyledLine| {
        let mut spans = vec![Span::raw("  ")];
        spans.extend(marked(line, None, look));
        Line::from(spans)
    };
    frame.render_widget(Paragraph::new(visible.map(line).collect::<Vec<_>>()), body);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, reader: &Reader, look: &Look) {
    let message = match (&reader.search.typed, &reader.message) {
        (Some(typed), _) => Some(format!("/{}▏", escape(typed))),
        (None, _) if reader.search.is_running() => Some("Searching… any key stops it".to_owned()),
        (None, message) => message.clone(),
    };
    draw_keys(frame, area, message.as_deref(), &KEYS, look);
}

const KEYS: [(&str, &str); 9] = [
    ("q", "back"),
    ("?", "keys"),
    ("j/k", "turn"),
    ("↑↓", "move"),
    ("Enter", "expand"),
    ("/", "find"),
    ("y", "copy"),
    ("w", "why"),
    ("o", "page"),
];

const PANEL_KEYS: [(&str, &str); 2] = [("q", "back"), ("↑↓", "scroll")];

const HELP: [(&str, &str); 14] = [
    ("j k", "next and previous turn"),
    ("Up Down", "next and previous item"),
    ("Space b", "a page down and up"),
    ("g G", "beginning and end"),
    ("Enter", "expand or fold a call or a thought"),
    ("e", "expand or fold the whole turn"),
    ("/", "find text in the session"),
    ("n N", "next and previous match"),
    ("y", "copy the item"),
    ("w", "why: which turns touched this file"),
    ("o", "open the session as a page"),
    ("r", "resume the session with its agent"),
    ("q Esc", "back to the list"),
    ("Ctrl-C", "leave"),
];

/// Returns the spans of a line, with matches of the needle marked.
fn marked<'a>(line: &StyledLine, needle: Option<&str>, look: &Look) -> Vec<Span<'a>> {
    let places = needle.map(|needle| places_of(&line.text(), needle)).unwrap_or_default();
    let mut spans = Vec::new();
    let mut offset = 0;
    for part in &line.parts {
        push_part(&mut spans, part, offset, &places, look);
        offset += part.text.len();
    }
    spans
}

fn push_part<'a>(spans: &mut Vec<Span<'a>>, part: &StyledText, offset: usize, places: &[(usize, usize)], look: &Look) {
    let style = look.style(part.style);
    let end = offset + part.text.len();
    let mut from = offset;
    for (start, stop) in places
        .iter()
        .copied()
        .filter(|(start, stop)| *start < end && *stop > offset)
    {
        let (start, stop) = (start.max(from), stop.min(end));
        spans.push(Span::styled(part.text[from - offset..start - offset].to_owned(), style));
        spans.push(Span::styled(
            part.text[start - offset..stop - offset].to_owned(),
            style.patch(look.mark),
        ));
        from = stop;
    }
    spans.push(Span::styled(part.text[from - offset..].to_owned(), style));
    spans.retain(|span| !span.content.is_empty());
}

/// Returns where a text contains the needle, which is in lower case.
pub(super) fn places_of(text: &str, needle: &str) -> Vec<(usize, usize)> {
    if needle.is_empty() {
        return Vec::new();
    }
    let lower = text.to_lowercase();
    // If the lower case of a letter has another length, the offsets do not fit and nothing is marked.
    if lower.len() != text.len() {
        return Vec::new();
    }
    let places = lower.match_indices(needle).map(|(at, found)| (at, at + found.len()));
    places
        .filter(|(start, stop)| text.is_char_boundary(*start) && text.is_char_boundary(*stop))
        .collect()
}

/// Turns a style of our output into one of the screen.
pub(in crate::finder) fn screen_style(style: anstyle::Style) -> Style {
    let mut made = Style::new();
    if let Some(AnyColor::Ansi(color)) = style.get_fg_color() {
        made = made.fg(match color {
            AnsiColor::Red | AnsiColor::BrightRed => Color::Red,
            AnsiColor::Green | AnsiColor::BrightGreen => Color::Green,
            AnsiColor::Yellow | AnsiColor::BrightYellow => Color::Yellow,
            AnsiColor::Blue | AnsiColor::BrightBlue => Color::Blue,
            AnsiColor::Magenta | AnsiColor::BrightMagenta => Color::Magenta,
            AnsiColor::Cyan | AnsiColor::BrightCyan => Color::Cyan,
            _ => Color::Reset,
        });
    }
    let effects = style.get_effects();
    let modifiers = [
        (Effects::BOLD, Modifier::BOLD),
        (Effects::DIMMED, Modifier::DIM),
        (Effects::ITALIC, Modifier::ITALIC),
        (Effects::UNDERLINE, Modifier::UNDERLINED),
        (Effects::STRIKETHROUGH, Modifier::CROSSED_OUT),
    ];
    for (effect, modifier) in modifiers {
        if effects.contains(effect) {
            made = made.add_modifier(modifier);
        }
    }
    made
}
