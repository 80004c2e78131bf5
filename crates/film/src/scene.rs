//! The data of a film: rows of styled cells, and when each of them appears.
//!
//! Plain data. Other modules derive it from a transcript, and draw it as pixels or as terminal output.

use jiff::Timestamp;

/// What a film omits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilmCuts {
    pub turns: Vec<u32>,
    pub steps: u64,
    /// Waiting time that was skipped.
    pub waits_ms: u64,
}

/// The meaning of a text colour. A theme maps it to a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextColor {
    #[default]
    Plain,
    Dim,
    Faint,
    Human,
    Agent,
    Good,
    Bad,
    Warn,
    Code,
    /// One of the sixteen ANSI colours.
    Ansi(u8),
}

/// The meaning of a background colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Background {
    #[default]
    Page,
    Bar,
    Human,
    Added,
    Removed,
    Code,
    Good,
    Bad,
    Ansi(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CellStyle {
    pub(crate) color: TextColor,
    /// `None` for the background of the row.
    pub(crate) background: Option<Background>,
    pub(crate) is_bold: bool,
    pub(crate) is_underlined: bool,
}

impl CellStyle {
    pub(crate) const PLAIN: Self = Self::new(TextColor::Plain);
    pub(crate) const DIM: Self = Self::new(TextColor::Dim);

    pub(crate) const fn new(color: TextColor) -> Self {
        Self {
            color,
            background: None,
            is_bold: false,
            is_underlined: false,
        }
    }

    pub(crate) const fn bold(self) -> Self {
        Self { is_bold: true, ..self }
    }

    pub(crate) const fn on(self, background: Background) -> Self {
        Self {
            background: Some(background),
            ..self
        }
    }
}

/// One character with its combining marks, one or two columns wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) character: char,
    /// Combining marks; `\0` for none.
    pub(crate) marks: [char; 2],
    pub(crate) columns: u8,
    pub(crate) style: CellStyle,
}

/// One row of the screen. Its background extends over the whole width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ScreenRow {
    pub(crate) cells: Vec<Cell>,
    pub(crate) background: Background,
}

impl ScreenRow {
    pub(crate) fn columns(&self) -> usize {
        self.cells.iter().map(|cell| usize::from(cell.columns)).sum()
    }
}

/// A card that covers the whole screen at the start and at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TitleCard {
    /// Drawn at twice the size.
    pub(crate) title: Vec<ScreenRow>,
    pub(crate) facts: Vec<ScreenRow>,
}

/// One event of a film.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SceneEvent {
    Card(TitleCard),
    /// A turn starts: its number and its prompt.
    Turn(u32, String),
    /// The recorded time, for the clock.
    Clock(Timestamp),
    /// A caption, shown until the next one.
    Caption(String),
    /// A row appears.
    Row(ScreenRow),
    /// A row is typed character by character, until the given time.
    Typed(ScreenRow, u64),
}

/// An event and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimedEvent {
    pub(crate) at_ms: u64,
    pub(crate) event: SceneEvent,
}

/// A position in a film that a player can jump to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    pub at_ms: u64,
    pub title: String,
}
