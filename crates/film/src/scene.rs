//! A session as something that happens: rows of styled cells, and when each of them comes.
//!
//! Plain data. What draws it, as points or as the codes of a terminal, lives elsewhere, and so does what makes it of a log.

use jiff::Timestamp;

/// What of a session a film does not show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts {
    pub turns: Vec<u32>,
    pub steps: u64,
    /// How much waiting.
    pub waits_ms: u64,
}

/// What a sign is drawn in, by its meaning: a theme says which colour that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ink {
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
    /// One of the sixteen colours of a terminal.
    Ansi(u8),
}

/// What a sign stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ground {
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
pub(crate) struct Style {
    pub(crate) ink: Ink,
    /// None where the row's own is meant.
    pub(crate) ground: Option<Ground>,
    pub(crate) is_bold: bool,
    pub(crate) is_underlined: bool,
}

impl Style {
    pub(crate) const PLAIN: Self = Self::of(Ink::Plain);
    pub(crate) const DIM: Self = Self::of(Ink::Dim);

    pub(crate) const fn of(ink: Ink) -> Self {
        Self {
            ink,
            ground: None,
            is_bold: false,
            is_underlined: false,
        }
    }

    pub(crate) const fn bold(self) -> Self {
        Self { is_bold: true, ..self }
    }

    pub(crate) const fn on(self, ground: Ground) -> Self {
        Self {
            ground: Some(ground),
            ..self
        }
    }
}

/// One sign with its marks, one or two columns wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) sign: char,
    /// Accents over or under it; `\0` is none.
    pub(crate) marks: [char; 2],
    pub(crate) columns: u8,
    pub(crate) style: Style,
}

/// One row of a screen. What it stands on goes as far as the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) ground: Ground,
}

impl Row {
    pub(crate) fn columns(&self) -> usize {
        self.cells.iter().map(|cell| usize::from(cell.columns)).sum()
    }
}

/// What stands over the whole picture at the beginning and at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    /// In large letters.
    pub(crate) title: Vec<Row>,
    pub(crate) facts: Vec<Row>,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beat {
    Card(Card),
    /// A turn begins: its number, and what was asked.
    Turn(u32, String),
    /// What time it was then.
    Clock(Timestamp),
    /// What is said below, until something else is.
    Caption(String),
    /// A row comes.
    Row(Row),
    /// A row comes sign by sign, until then.
    Typed(Row, u64),
}

/// When something happens, in milliseconds of the film.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) at_ms: u64,
    pub(crate) beat: Beat,
}

/// A place in a film that a player can jump to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    pub at_ms: u64,
    pub title: String,
}
