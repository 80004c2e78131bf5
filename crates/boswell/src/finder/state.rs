//! The state of the finder, and how a key changes it. Pure: no terminal, no memory, no clock.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use transcript::Agent;
use unicode_segmentation::UnicodeSegmentation;

/// Everything that is on the screen.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) query: String,
    pub(crate) narrow: Narrow,
    pub(crate) rows: Vec<Row>,
    pub(crate) selected: usize,
    /// The preview of the selected row, once it has been read.
    pub(crate) preview: Option<Preview>,
    pub(crate) preview_scroll: u16,
    pub(crate) stage: Stage,
    /// The last message: what was copied, or why a query is invalid.
    pub(crate) message: Option<String>,
    /// How many results there are.
    pub(crate) count: String,
    /// How many more matches the filters hide.
    pub(crate) hidden: Option<String>,
    /// The query that was probably meant, if there are no results.
    pub(crate) suggestion: Option<String>,
    pub(crate) is_asking: bool,
    pub(crate) is_help: bool,
}

/// Whether the memory has sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    #[default]
    Ready,
    /// No memory, or no session in it.
    Empty,
}

/// The filters of the finder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Narrow {
    pub(crate) agent: Option<Agent>,
    pub(crate) place: Place,
    pub(crate) since: Since,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Place {
    #[default]
    Everywhere,
    /// The repository that contains the current directory.
    Here,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Since {
    #[default]
    Ever,
    Days7,
    Days30,
}

/// A row of the list: a turn that matched, or a session. Texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) session_uid: String,
    pub(crate) id: String,
    pub(crate) agent: String,
    pub(crate) project: String,
    pub(crate) branch: String,
    pub(crate) at: Option<Timestamp>,
    /// What the session is about.
    pub(crate) title: String,
    pub(crate) turn: Option<u32>,
    pub(crate) prompt: String,
    /// The line of the log with the match, or `None` if the row is a session.
    pub(crate) line: Option<u64>,
    /// The tool or the field that matched.
    pub(crate) place: String,
    /// The snippet in pieces; the flag marks a match.
    pub(crate) pieces: Vec<(String, Mark)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Plain,
    Hit,
}

/// The preview beside the list. Texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Preview {
    pub(crate) session_uid: String,
    pub(crate) line: Option<u64>,
    pub(crate) events: Vec<Around>,
}

/// One event near the hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) label: String,
    pub(crate) text: String,
    pub(crate) mark: Mark,
}

/// The action that the finder takes after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    /// The query changed.
    Ask,
    /// Another row is selected.
    Look,
    Open,
    CopyId,
    CopyResume,
    Setup,
    Sweep,
    Demo,
    Leave,
}

impl State {
    pub(crate) fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Shows other results. If the user has moved down the list, the same turn stays selected if it is still in the
    /// results.
    pub(crate) fn take_rows(&mut self, rows: Vec<Row>, count: String) {
        let key = |row: &Row| (row.session_uid.clone(), row.line);
        let before = self.row().filter(|_| self.selected > 0).map(key);
        let same = before.and_then(|before| rows.iter().position(|row| key(row) == before));
        self.selected = same.unwrap_or(0);
        self.rows = rows;
        self.count = count;
        self.hidden = None;
        self.suggestion = None;
        self.is_asking = false;
        self.preview_scroll = 0;
    }

    /// Shows a preview, unless another row has been selected meanwhile.
    pub(crate) fn take_preview(&mut self, preview: Preview) {
        let is_its = |row: &Row| row.session_uid == preview.session_uid && row.line == preview.line;
        if self.row().is_some_and(is_its) {
            self.preview = Some(preview);
        }
    }

    fn select(&mut self, at: usize) -> Action {
        let at = at.min(self.rows.len().saturating_sub(1));
        if at == self.selected {
            return Action::Nothing;
        }
        self.selected = at;
        self.preview = None;
        self.preview_scroll = 0;
        Action::Look
    }

    fn edit(&mut self, change: impl FnOnce(&mut String)) -> Action {
        let before = self.query.clone();
        change(&mut self.query);
        if self.query == before {
            return Action::Nothing;
        }
        self.selected = 0;
        Action::Ask
    }
}

/// How many rows a page key moves by.
const PAGE_ROWS: usize = 10;
/// Maximum length of a query; a longer one was pasted by mistake.
const QUERY_BYTES_MAX: usize = 1000;

/// Handles a key.
pub(crate) fn update(state: &mut State, key: KeyEvent) -> Action {
    state.message = None;
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if is_control && key.code == KeyCode::Char('c') {
        return Action::Leave;
    }
    if state.is_help {
        // Any key closes the help.
        state.is_help = false;
        return Action::Nothing;
    }
    match (state.stage, is_control) {
        (Stage::Empty, _) => on_empty(state, key.code),
        (Stage::Ready, true) => on_control(state, key.code),
        (Stage::Ready, false) => on_key(state, key),
    }
}

/// Returns pasted text with line breaks as spaces.
pub(crate) fn paste(state: &mut State, text: &str) -> Action {
    if state.stage == Stage::Empty || state.is_help {
        return Action::Nothing;
    }
    state.edit(|query| {
        for c in text.chars() {
            push(query, if c.is_control() { ' ' } else { c });
        }
    })
}

fn push(query: &mut String, c: char) {
    if query.len() + c.len_utf8() <= QUERY_BYTES_MAX {
        query.push(c);
    }
}

fn on_empty(state: &mut State, code: KeyCode) -> Action {
    match code {
        KeyCode::Enter => Action::Setup,
        KeyCode::Char('s') => Action::Sweep,
        KeyCode::Char('d') => Action::Demo,
        KeyCode::Esc | KeyCode::Char('q') => Action::Leave,
        KeyCode::F(1) | KeyCode::Char('?') => {
            state.is_help = true;
            Action::Nothing
        }
        _ => Action::Nothing,
    }
}

fn on_control(state: &mut State, code: KeyCode) -> Action {
    match code {
        KeyCode::Char('n') => state.select(state.selected + 1),
        KeyCode::Char('p') => state.select(state.selected.saturating_sub(1)),
        KeyCode::Char('u') => state.edit(String::clear),
        KeyCode::Char('w') => state.edit(|query| {
            let kept = query.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
            // White space can be longer than one byte.
            let kept = (kept..=query.len()).find(|at| query.is_char_boundary(*at)).unwrap_or(0);
            query.truncate(kept);
        }),
        KeyCode::Char('h') => state.edit(drop_last),
        KeyCode::Char('e') => {
            state.narrow.place = match state.narrow.place {
                Place::Everywhere => Place::Here,
                Place::Here => Place::Everywhere,
            };
            Action::Ask
        }
        KeyCode::Char('s') => {
            state.narrow.since = match state.narrow.since {
                Since::Ever => Since::Days7,
                Since::Days7 => Since::Days30,
                Since::Days30 => Since::Ever,
            };
            Action::Ask
        }
        KeyCode::Char('y') => on_row(state, Action::CopyId),
        KeyCode::Char('r') => on_row(state, Action::CopyResume),
        _ => Action::Nothing,
    }
}

fn on_key(state: &mut State, key: KeyEvent) -> Action {
    let is_shifted = key.modifiers.contains(KeyModifiers::SHIFT);
    let is_empty = state.query.is_empty();
    match key.code {
        KeyCode::Esc => Action::Leave,
        KeyCode::F(1) => show_help(state),
        KeyCode::Char('?') if is_empty => show_help(state),
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => state.edit(|query| push(query, c)),
        KeyCode::Backspace => state.edit(drop_last),
        KeyCode::Up if is_shifted => scroll(state, state.preview_scroll.saturating_sub(1)),
        KeyCode::Down if is_shifted => scroll(state, state.preview_scroll.saturating_add(1)),
        KeyCode::Up => state.select(state.selected.saturating_sub(1)),
        KeyCode::Down => state.select(state.selected + 1),
        KeyCode::PageUp => state.select(state.selected.saturating_sub(PAGE_ROWS)),
        KeyCode::PageDown => state.select(state.selected + PAGE_ROWS),
        KeyCode::Home => state.select(0),
        KeyCode::End => state.select(usize::MAX),
        KeyCode::Tab => cycle_agent(state, 1),
        KeyCode::BackTab => cycle_agent(state, AGENTS.len() - 1),
        KeyCode::Enter => match state.suggestion.take() {
            Some(suggestion) if state.rows.is_empty() => state.edit(|query| *query = suggestion),
            _ => on_row(state, Action::Open),
        },
        _ => Action::Nothing,
    }
}

fn show_help(state: &mut State) -> Action {
    state.is_help = true;
    Action::Nothing
}

/// Removes the last grapheme cluster.
fn drop_last(query: &mut String) {
    let kept = query.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
    query.truncate(kept);
}

fn scroll(state: &mut State, to: u16) -> Action {
    state.preview_scroll = to;
    Action::Nothing
}

/// Returns the action if a row is selected.
fn on_row(state: &State, action: Action) -> Action {
    state.row().map_or(Action::Nothing, |_| action)
}

const AGENTS: [Option<Agent>; 4] = [None, Some(Agent::Claude), Some(Agent::Codex), Some(Agent::Grok)];

fn cycle_agent(state: &mut State, by: usize) -> Action {
    let at = AGENTS
        .iter()
        .position(|agent| *agent == state.narrow.agent)
        .unwrap_or(0);
    state.narrow.agent = AGENTS[(at + by) % AGENTS.len()];
    Action::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> Vec<Row> {
        let row = |line| Row {
            session_uid: "claude:one".to_owned(),
            line: Some(line),
            ..Row::default()
        };
        (0..count).map(row).collect()
    }

    /// Presses keys in order: `^x` is Ctrl-X, `<name>` is a named key, everything else is typed.
    fn press(state: &mut State, keys: &str) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let (event, taken) = match c {
                '^' => {
                    let c = rest[1..].chars().next().unwrap();
                    (KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL), 2)
                }
                '<' => {
                    let end = rest.find('>').unwrap();
                    (named(&rest[1..end]), end + 1)
                }
                c => (KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE), c.len_utf8()),
            };
            actions.push(update(state, event));
            rest = &rest[taken..];
        }
        actions
    }

    fn named(name: &str) -> KeyEvent {
        let (modifiers, code) = match name {
            "up" => (KeyModifiers::NONE, KeyCode::Up),
            "down" => (KeyModifiers::NONE, KeyCode::Down),
            "more" => (KeyModifiers::SHIFT, KeyCode::Down),
            "page" => (KeyModifiers::NONE, KeyCode::PageDown),
            "home" => (KeyModifiers::NONE, KeyCode::Home),
            "end" => (KeyModifiers::NONE, KeyCode::End),
            "tab" => (KeyModifiers::NONE, KeyCode::Tab),
            "back-tab" => (KeyModifiers::SHIFT, KeyCode::BackTab),
            "enter" => (KeyModifiers::NONE, KeyCode::Enter),
            "esc" => (KeyModifiers::NONE, KeyCode::Esc),
            "back" => (KeyModifiers::NONE, KeyCode::Backspace),
            _ => panic!("no such key: {name}"),
        };
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn what_is_typed_is_asked_and_taken_back_by_characters_and_words() {
        let mut state = State::default();
        assert_eq!(press(&mut state, "e\u{301}q?"), [Action::Ask; 4]);
        assert_eq!(state.query, "e\u{301}q?");
        press(&mut state, "<back><back><back>");
        assert_eq!(state.query, "");
        assert_eq!(press(&mut state, "<back>^w^u"), [Action::Nothing; 3]);
        press(&mut state, "one two^w");
        assert_eq!(state.query, "one ");
        press(&mut state, "^u日本\u{3000}語^w");
        assert_eq!(state.query, "日本\u{3000}");
    }

    #[test]
    fn a_question_may_begin_with_any_letter_and_escape_leaves() {
        let mut state = State::default();
        assert_eq!(press(&mut state, "queue"), [Action::Ask; 5]);
        assert_eq!(state.query, "queue");
        assert_eq!(press(&mut state, "^c<esc>"), [Action::Leave; 2]);
        assert_eq!(press(&mut State::default(), "<esc>"), [Action::Leave]);
    }

    #[test]
    fn the_selection_stays_inside_the_list() {
        let mut state = State {
            rows: rows(15),
            ..State::default()
        };
        assert_eq!(press(&mut state, "<up>"), [Action::Nothing]);
        press(&mut state, "<down>^n<down>^p");
        assert_eq!(state.selected, 2);
        press(&mut state, "<page><page>");
        assert_eq!(state.selected, 14);
        assert_eq!(press(&mut state, "<down><end><home>").last(), Some(&Action::Look));
        assert_eq!(state.selected, 0);
        let mut none = State::default();
        assert_eq!(press(&mut none, "<down><end><enter>^y^r"), [Action::Nothing; 5]);
    }

    #[test]
    fn filters_go_round_by_key() {
        let mut state = State::default();
        assert_eq!(press(&mut state, "<tab>^e^s"), [Action::Ask; 3]);
        let narrow = Narrow {
            agent: Some(Agent::Claude),
            place: Place::Here,
            since: Since::Days7,
        };
        assert_eq!(state.narrow, narrow);
        press(&mut state, "<back-tab>^e^s^s");
        assert_eq!(state.narrow, Narrow::default());
        press(&mut state, "<back-tab>");
        assert_eq!(state.narrow.agent, Some(Agent::Grok));
    }

    #[test]
    fn a_new_answer_keeps_the_turn_somebody_is_at() {
        let mut state = State::default();
        state.take_rows(rows(5), String::new());
        press(&mut state, "<down><down>");
        state.take_rows(rows(5).split_off(1), String::new());
        assert_eq!(state.row().unwrap().line, Some(2));
        press(&mut state, "x");
        state.take_rows(rows(5), String::new());
        assert_eq!(state.row().unwrap().line, Some(0));
    }

    #[test]
    fn a_preview_that_comes_late_is_not_shown() {
        let mut state = State::default();
        state.take_rows(rows(2), String::new());
        let preview = |line| Preview {
            session_uid: "claude:one".to_owned(),
            line: Some(line),
            events: Vec::new(),
        };
        state.take_preview(preview(1));
        assert_eq!(state.preview, None);
        state.take_preview(preview(0));
        assert_eq!(state.preview, Some(preview(0)));
        press(&mut state, "<more><more>");
        assert_eq!(state.preview_scroll, 2);
        press(&mut state, "<down>");
        assert_eq!((state.preview.as_ref(), state.preview_scroll), (None, 0));
    }

    #[test]
    fn help_goes_away_with_any_key_and_an_empty_memory_takes_no_words() {
        let mut state = State::default();
        press(&mut state, "?");
        assert!(state.is_help);
        assert_eq!(press(&mut state, "q"), [Action::Nothing]);
        assert!(!state.is_help);
        state.stage = Stage::Empty;
        assert_eq!(
            press(&mut state, "x<enter>sdq<esc>^c"),
            [
                Action::Nothing,
                Action::Setup,
                Action::Sweep,
                Action::Demo,
                Action::Leave,
                Action::Leave,
                Action::Leave
            ]
        );
        assert_eq!(paste(&mut state, "words"), Action::Nothing);
        assert_eq!(state.query, "");
    }

    #[test]
    fn pasted_lines_are_one_question_of_bounded_size() {
        let mut state = State::default();
        assert_eq!(paste(&mut state, "one\r\ntwo\u{1b}[31m"), Action::Ask);
        assert_eq!(state.query, "one  two [31m");
        paste(&mut state, &"é".repeat(2000));
        assert!(state.query.len() <= QUERY_BYTES_MAX);
    }
}
