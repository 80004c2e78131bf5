//! Draws the finder's screen from its state alone. All texts in the state are escaped; here they are cut to the
//! available columns.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Padding, Paragraph, Wrap};

use super::reader::draw::screen_style;
use super::state::{Mark, Place, Preview, Row, Since, Stage, State};
use crate::ui::{escape, measure};

/// On a narrower screen the preview is below the list; on a lower one it is hidden.
const BESIDE_COLUMNS_MIN: u16 = 70;
const BELOW_ROWS_MIN: u16 = 18;
/// Rows of an entry of the list: its origin, then its snippet.
const ROW_LINES: u16 = 2;
/// Characters of an id that are shown.
const ID_CHARS: usize = 8;
/// Columns for the name of a tool or role before an event.
const LABEL_COLUMNS: usize = 10;

/// Styles, and the current time for ages.
pub(crate) struct Look {
    pub(super) strong: Style,
    pub(super) faint: Style,
    pub(super) mark: Style,
    pub(super) selected: Style,
    accent: Style,
    has_color: bool,
    now: Timestamp,
}

impl Look {
    pub(crate) fn new(has_color: bool, now: Timestamp) -> Self {
        let plain = Style::new();
        let color = |color: Color| if has_color { plain.fg(color) } else { plain };
        Self {
            strong: plain.add_modifier(Modifier::BOLD),
            faint: plain.add_modifier(Modifier::DIM),
            // Matches are also visible without colour.
            mark: color(Color::Yellow).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            selected: color(Color::Cyan).add_modifier(Modifier::BOLD),
            accent: color(Color::Cyan),
            has_color,
            now,
        }
    }

    /// Returns a style of our output as one of the screen.
    pub(super) fn style(&self, style: anstyle::Style) -> Style {
        screen_style(if self.has_color { style } else { style.fg_color(None) })
    }
}

pub(crate) fn draw(frame: &mut Frame<'_>, state: &State, look: &Look) {
    let area = frame.area();
    let parts = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [query, filters, body, keys] = Layout::vertical(parts).areas(area);
    if state.stage == Stage::Empty {
        draw_empty(frame, area, look);
    } else {
        draw_query(frame, query, state, look);
        draw_filters(frame, filters, state, look);
        draw_body(frame, body, state, look);
        draw_keys(frame, keys, state.message.as_deref(), &KEYS, look);
    }
    if state.is_help {
        draw_help(frame, area, &HELP, look);
    }
}

fn draw_query(frame: &mut Frame<'_>, area: Rect, state: &State, look: &Look) {
    let room = usize::from(area.width).saturating_sub(3);
    let shown = end_of(&escape(&state.query), room);
    let column = u16::try_from(measure::width(&shown)).unwrap_or_default();
    let words = if state.query.is_empty() {
        Span::styled(
            measure::fit("type to search every session", room).into_owned(),
            look.faint,
        )
    } else {
        Span::raw(shown)
    };
    frame.render_widget(Line::from(vec![Span::styled("> ", look.accent), words]), area);
    if !state.is_help {
        let x = (area.x + 2 + column).min(area.right().saturating_sub(1));
        frame.set_cursor_position(Position::new(x, area.y));
    }
}

/// Returns the end of a text, which is where the cursor is.
fn end_of(text: &str, columns: usize) -> String {
    let mut from = 0;
    while measure::width(&text[from..]) > columns {
        from += text[from..].chars().next().map_or(1, char::len_utf8);
    }
    text[from..].to_owned()
}

fn draw_filters(frame: &mut Frame<'_>, area: Rect, state: &State, look: &Look) {
    let agent = state.narrow.agent.map_or("all agents", |agent| agent.as_str());
    let place = match state.narrow.place {
        Place::Everywhere => "everywhere",
        Place::Here => "here",
    };
    let since = match state.narrow.since {
        Since::Ever => "any time",
        Since::Days7 => "7 days",
        Since::Days30 => "30 days",
    };
    let narrow = &state.narrow;
    let filters = [
        (agent, narrow.agent.is_some()),
        (place, narrow.place != Place::default()),
        (since, narrow.since != Since::default()),
    ];
    let mut spans = vec![Span::raw(" ")];
    for (name, is_set) in filters {
        // If there is little room, unset filters are not shown.
        if is_set || area.width >= BESIDE_COLUMNS_MIN {
            let sign = if spans.len() > 1 { " · " } else { " " };
            spans.push(Span::styled(sign, look.faint));
            spans.push(Span::styled(name, if is_set { look.accent } else { look.faint }));
        }
    }
    let line = Line::from(spans);
    let room = usize::from(area.width).saturating_sub(line.width() + 2);
    let count = if state.is_asking {
        "searching…".to_owned()
    } else {
        count_text(&state.count, state.hidden.as_deref(), room)
    };
    let count = measure::fit(&count, room).into_owned();
    frame.render_widget(line, area);
    frame.render_widget(Line::from(Span::styled(count, look.faint)).right_aligned(), area);
}

/// Returns the number of results and of hidden matches, in the longest form that fits.
fn count_text(count: &str, hidden: Option<&str>, columns: usize) -> String {
    let Some(hidden) = hidden else { return count.to_owned() };
    let (turns, _) = hidden.split_once(" in ").unwrap_or((hidden, ""));
    let (number, _) = turns.split_once(' ').unwrap_or((turns, ""));
    let texts = [
        format!("{count} · filters hide {hidden}"),
        format!("{count} · {turns} hidden"),
        format!("{count} · {number} hidden"),
    ];
    let fits = texts.into_iter().find(|text| measure::width(text) <= columns);
    fits.unwrap_or_else(|| count.to_owned())
}

fn draw_body(frame: &mut Frame<'_>, area: Rect, state: &State, look: &Look) {
    if state.rows.is_empty() {
        draw_nothing_found(frame, area, state, look);
        return;
    }
    let is_beside = area.width >= BESIDE_COLUMNS_MIN;
    let is_below = !is_beside && area.height >= BELOW_ROWS_MIN;
    let halves = [Constraint::Percentage(48), Constraint::Percentage(52)];
    let (list, preview, border) = if is_beside {
        let [list, preview] = Layout::horizontal(halves).areas(area);
        (list, preview, Borders::LEFT)
    } else if is_below {
        let [list, preview] = Layout::vertical(halves).areas(area);
        (list, preview, Borders::TOP)
    } else {
        (area, Rect::ZERO, Borders::NONE)
    };
    draw_list(frame, list, state, look);
    if let Some(row) = state.row().filter(|_| !preview.is_empty()) {
        let block = Block::new()
            .borders(border)
            .border_style(look.faint)
            .padding(Padding::horizontal(1));
        let inner = block.inner(preview);
        frame.render_widget(block, preview);
        let lines = preview_lines(row, state.preview.as_ref(), inner.width, look);
        let text = Paragraph::new(lines).wrap(Wrap { trim: false });
        frame.render_widget(text.scroll((state.preview_scroll, 0)), inner);
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, state: &State, look: &Look) {
    let fitting = usize::from(area.height / ROW_LINES).max(1);
    let first = (state.selected + 1).saturating_sub(fitting);
    let mut lines = Vec::new();
    for (at, row) in state.rows.iter().enumerate().skip(first).take(fitting) {
        lines.extend(row_lines(row, at == state.selected, usize::from(area.width), look));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws what is shown if nothing was found, with suggestions, over the whole width.
fn draw_nothing_found(frame: &mut Frame<'_>, area: Rect, state: &State, look: &Look) {
    if state.is_asking {
        return;
    }
    let mut lines = vec![Line::from(Span::styled("Nothing found", look.faint))];
    if let Some(suggestion) = &state.suggestion {
        lines.push(Line::from(vec![
            Span::styled("Did you mean ", look.faint),
            Span::styled(suggestion.clone(), look.strong),
            Span::styled("? Enter searches for it", look.faint),
        ]));
    }
    if let Some(hidden) = &state.hidden {
        lines.push(Line::from(Span::styled(
            format!("The filters hide {hidden}"),
            look.faint,
        )));
    }
    let text = Paragraph::new(lines).wrap(Wrap { trim: false });
    frame.render_widget(text.block(Block::new().padding(Padding::left(2))), area);
}

fn row_lines<'a>(row: &Row, is_selected: bool, columns: usize, look: &Look) -> [Line<'a>; 2] {
    let (sign, style) = if is_selected {
        ("▌ ", look.selected)
    } else {
        ("  ", look.strong)
    };
    let room = columns.saturating_sub(3);
    let id: String = row.id.chars().take(ID_CHARS).collect();
    let id = measure::fit(&escape(&id), room).into_owned();
    let turn = row.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
    let mut about = String::new();
    let age_short = row.at.map(|at| measure::age_short(look.now, at)).unwrap_or_default();
    for (fact, short) in [
        (turn.as_str(), ""),
        (row.agent.as_str(), ""),
        (row.project.as_str(), ""),
        (age(row, look).as_str(), age_short.as_str()),
    ] {
        // A field that does not fit is left out, because part of it would mislead.
        let fits = |fact: &&str| measure::width(&id) + measure::width(&about) + 2 + measure::width(fact) <= room;
        if let Some(fact) = [fact, short].into_iter().find(fits).filter(|fact| !fact.is_empty()) {
            about = format!("{about}  {fact}");
        }
    }
    let head = Line::from(vec![
        Span::styled(sign, look.selected),
        Span::styled(id, style),
        Span::styled(about, look.faint),
    ]);
    let mut words = vec![Span::styled(sign, look.selected)];
    if row.pieces.is_empty() {
        words.push(Span::raw(measure::fit(&row.title, room).into_owned()));
    } else {
        words.extend(fit_pieces(&row.pieces, room, look));
    }
    [head, Line::from(words)]
}

fn age(row: &Row, look: &Look) -> String {
    row.at.map(|at| measure::age(look.now, at)).unwrap_or_default()
}

/// Returns a snippet in one line. If it is too long, it begins shortly before its first match.
fn fit_pieces<'a>(pieces: &[(String, Mark)], columns: usize, look: &Look) -> Vec<Span<'a>> {
    let all: usize = pieces.iter().map(|(text, _)| measure::width(text)).sum();
    let mut spans = Vec::new();
    let mut room = columns;
    for (at, (text, mark)) in pieces.iter().enumerate() {
        // Without a match, the beginning of the text is most useful.
        let is_lead =
            at == 0 && pieces.len() > 1 && *mark == Mark::Plain && all > columns && measure::width(text) > columns / 3;
        let text = if is_lead {
            format!("…{}", end_of(text, columns / 3))
        } else {
            text.clone()
        };
        let text = measure::fit(&text, room).into_owned();
        room = room.saturating_sub(measure::width(&text));
        spans.push(Span::styled(text, style_of(*mark, look)));
    }
    spans
}

fn style_of(mark: Mark, look: &Look) -> Style {
    match mark {
        Mark::Plain => Style::new(),
        Mark::Hit => look.mark,
    }
}

fn preview_lines<'a>(row: &'a Row, preview: Option<&'a Preview>, columns: u16, look: &Look) -> Vec<Line<'a>> {
    let columns = usize::from(columns);
    let fit = |text: &str| measure::fit(text, columns).into_owned();
    let facts = [row.agent.as_str(), &row.project, &row.branch, &age(row, look)];
    let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let mut lines = Vec::new();
    if !row.title.is_empty() {
        lines.push(Line::from(Span::styled(fit(&row.title), look.strong)));
    }
    lines.push(Line::from(Span::styled(fit(&facts.join(" · ")), look.faint)));
    lines.push(Line::from(Span::styled(fit(&escape(&row.id)), look.faint)));
    let turn = row.turn.map(|turn| format!("turn {turn}: ")).unwrap_or_default();
    if !row.prompt.is_empty() && (row.line.is_some() || row.prompt != row.title) {
        lines.push(Line::default());
        lines.push(Line::from(vec![
            Span::styled(turn, look.accent),
            // A prompt can be very long.
            Span::raw(measure::fit(&row.prompt, columns * 4).into_owned()),
        ]));
    }
    if !row.pieces.is_empty() {
        let place = Span::styled(format!("{}: ", row.place), look.accent);
        let pieces = row
            .pieces
            .iter()
            .map(|(text, mark)| Span::styled(text.as_str(), style_of(*mark, look)));
        lines.push(Line::default());
        lines.push(Line::from_iter(std::iter::once(place).chain(pieces)));
    }
    let events = preview.map(|preview| preview.events.as_slice()).unwrap_or_default();
    if !events.is_empty() {
        lines.push(Line::default());
    }
    for event in events {
        let (sign, style) = match event.mark {
            Mark::Hit => ("▸ ", look.accent),
            Mark::Plain => ("  ", look.faint),
        };
        let label = measure::fit(&event.label, LABEL_COLUMNS).into_owned();
        let gap = " ".repeat(LABEL_COLUMNS + 1 - measure::width(&label));
        let room = columns.saturating_sub(LABEL_COLUMNS + 3);
        lines.push(Line::from(vec![
            Span::styled(format!("{sign}{label}{gap}"), style),
            Span::raw(measure::fit(&event.text, room).into_owned()),
        ]));
    }
    lines
}

const KEYS: [(&str, &str); 8] = [
    ("Enter", "read"),
    ("Esc", "leave"),
    ("F1", "help"),
    ("Tab", "agent"),
    ("^E", "here"),
    ("^S", "since"),
    ("^Y", "copy id"),
    ("^R", "copy resume"),
];

/// Draws the keys, as many as there is room for, or a message.
pub(super) fn draw_keys(
    frame: &mut Frame<'_>,
    area: Rect,
    message: Option<&str>,
    keys: &[(&'static str, &'static str)],
    look: &Look,
) {
    let columns = usize::from(area.width);
    if let Some(message) = message {
        let text = measure::fit(message, columns.saturating_sub(2)).into_owned();
        frame.render_widget(Line::from(vec![Span::raw("  "), Span::styled(text, look.accent)]), area);
        return;
    }
    let mut spans = Vec::new();
    let mut room = columns;
    for (key, does) in keys {
        let taken = 2 + measure::width(key) + 1 + does.len();
        if taken > room {
            break;
        }
        room -= taken;
        spans.push(Span::styled(format!("  {key}"), look.strong));
        spans.push(Span::styled(format!(" {does}"), look.faint));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Draws what to do if the memory is empty.
fn draw_empty(frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let key = |key: &'static str, command: &'static str, does: &'static str| {
        Line::from(vec![
            Span::styled(format!("  {key:<5}  "), look.selected),
            Span::styled(format!("{command:<15}"), look.strong),
            Span::styled(does, look.faint),
        ])
    };
    let lines = vec![
        Line::from(Span::styled("  There is no session in the memory yet", look.strong)),
        Line::default(),
        key("Enter", "boswell setup", "guided setup: a few questions, then search"),
        key("s", "boswell sweep", "read the logs of your agents, no questions"),
        key("d", "boswell demo", "see it on made-up logs"),
        key("q", "", "leave"),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

const HELP: [(&str, &str); 12] = [
    ("Enter", "read the session, at this turn"),
    ("Up Down PgUp PgDn", "move in the list"),
    ("Shift-Up Shift-Down", "move in the preview"),
    ("Tab Shift-Tab", "which agent"),
    ("Ctrl-E", "this repository, or everywhere"),
    ("Ctrl-S", "7 days, 30 days, any time"),
    ("Ctrl-Y", "copy the id"),
    ("Ctrl-R", "copy the command that resumes"),
    ("Ctrl-W Ctrl-U", "take back a word, or all"),
    ("Esc Ctrl-C", "leave"),
    ("\"a b\" be* -no", "phrase, beginning, without"),
    ("tool:Bash file:a.rs", "fields, as `boswell search` has"),
];

/// Draws a list of keys over the screen.
pub(super) fn draw_help(frame: &mut Frame<'_>, area: Rect, help: &[(&'static str, &'static str)], look: &Look) {
    let width = 60.min(area.width);
    let height = (help.len() as u16 + 2).min(area.height);
    let place = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    let room = usize::from(width).saturating_sub(4);
    let line = |(keys, does): &(&'static str, &'static str)| {
        let text = measure::fit(does, room.saturating_sub(21)).into_owned();
        Line::from(vec![
            Span::styled(format!(" {keys:<20} "), look.strong),
            Span::raw(text),
        ])
    };
    let lines: Vec<Line<'_>> = help.iter().map(line).collect();
    let block = Block::bordered().border_style(look.faint).title(" Keys ");
    // A character of two columns that is cut in half would cover the border.
    for y in place.top()..place.bottom() {
        let left = Position::new(place.x.saturating_sub(1), y);
        if let Some(cell) = frame
            .buffer_mut()
            .cell_mut(left)
            .filter(|cell| measure::width(cell.symbol()) > 1)
        {
            cell.set_symbol(" ");
        }
    }
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

#[cfg(test)]
mod tests;
