//! Draws characters as coverage masks. The fonts are compiled in, so that text looks the same on every machine.
//!
//! There is no text shaping: letters do not join, and only the first emoji of a sequence is drawn. A character that no font has is
//! drawn as a box with its code point. Braille patterns and control pictures are drawn here.

use std::collections::HashMap;
use std::rc::Rc;

use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_normalization::char::is_combining_mark;
use zeno::{Command, Mask, Point};

/// The fonts: regular, bold, symbols, emoji, Chinese and Japanese, Korean. The order of the search depends on the character.
const FILES: [&[u8]; 6] = [
    include_bytes!("../fonts/JetBrainsMono-Regular.ttf"),
    include_bytes!("../fonts/JetBrainsMono-Bold.ttf"),
    include_bytes!("../fonts/DejaVuSansMono.ttf"),
    include_bytes!("../fonts/NotoEmoji-Medium.ttf"),
    include_bytes!("../fonts/DroidSansFallback.ttf"),
    include_bytes!("../fonts/NotoSansKR-Regular.ttf"),
];
const REGULAR: usize = 0;
const BOLD: usize = 1;
const SYMBOLS: usize = 2;
const EMOJI: usize = 3;
const EASTERN: usize = 4;
const KOREAN: usize = 5;
/// The maximum size of the glyph cache.
const KNOWN_MAX: usize = 8_000;

/// The size of a cell in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CellSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl CellSize {
    /// Returns the font size.
    fn em(self) -> f32 {
        self.height as f32 * 0.75
    }

    fn baseline(self) -> f32 {
        self.height as f32 * 0.74
    }
}

/// The coverage mask of a character and its position in the cell.
#[derive(Debug, Default)]
pub(crate) struct Glyph {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: usize,
    pub(crate) shades: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    character: char,
    is_bold: bool,
    columns: u8,
    cell: CellSize,
}

/// The fonts and a cache of drawn glyphs.
pub(crate) struct Fonts {
    faces: Vec<Face<'static>>,
    known: HashMap<Key, Rc<Glyph>>,
}

impl Fonts {
    pub(crate) fn new() -> Self {
        let faces = FILES.map(|file| Face::parse(file, 0).expect("the fonts in this program can be read"));
        Self {
            faces: faces.into(),
            known: HashMap::new(),
        }
    }

    pub(crate) fn glyph(&mut self, character: char, is_bold: bool, columns: u8, cell: CellSize) -> Rc<Glyph> {
        let key = Key {
            character,
            is_bold,
            columns,
            cell,
        };
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        // Clearing the cache is simpler than evicting single glyphs, and only extreme texts need it.
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        let glyph = Rc::new(self.drawn(key));
        self.known.insert(key, Rc::clone(&glyph));
        glyph
    }

    fn drawn(&self, key: Key) -> Glyph {
        let mut path = Path::default();
        let cell = key.cell;
        let width = cell.width as f32 * f32::from(key.columns);
        match key.character {
            ' ' | '\u{a0}' | '\u{3000}' => {}
            '\u{2800}'..='\u{28ff}' => braille(&mut path, u32::from(key.character) - 0x2800, cell),
            '\u{2400}'..='\u{2421}' => self.control(&mut path, u32::from(key.character) - 0x2400, cell),
            character => match self.find(alias(character), key) {
                Some((face, id)) => self.letter(&mut path, face, id, width, cell),
                // A box would hide the letter that the mark belongs to.
                None if is_combining_mark(character) => {}
                None => self.unknown(&mut path, character, width, cell),
            },
        }
        if path.commands.is_empty() {
            return Glyph::default();
        }
        let (shades, place) = Mask::new(path.commands.as_slice()).render();
        Glyph {
            left: place.left,
            top: place.top,
            width: place.width as usize,
            shades,
        }
    }

    /// Returns the first font that has a character, and its glyph.
    fn find(&self, character: char, key: Key) -> Option<(usize, GlyphId)> {
        let usual = if key.is_bold { BOLD } else { REGULAR };
        let order = match key.columns {
            2 => [EMOJI, EASTERN, KOREAN, usual, SYMBOLS],
            _ => [usual, SYMBOLS, EASTERN, KOREAN, EMOJI],
        };
        order
            .into_iter()
            .find_map(|face| Some((face, self.faces[face].glyph_index(character)?)))
    }

    /// Draws a glyph, centred in its cell and not wider than it.
    fn letter(&self, path: &mut Path, face: usize, id: GlyphId, width: f32, cell: CellSize) {
        let font = &self.faces[face];
        let units = f32::from(font.units_per_em());
        let advance = f32::from(font.glyph_hor_advance(id).unwrap_or(0)) / units;
        // East Asian characters fill their two columns.
        let mut em = match face {
            EASTERN | KOREAN => (width * 0.94).min(cell.height as f32 * 0.86),
            _ => cell.em(),
        };
        if advance * em > width * 1.02 {
            em = width / advance;
        }
        // A combining mark has no advance width; the font positions it relative to the end of the cell.
        let shift = if advance > 0.0 {
            (width - advance * em) / 2.0
        } else {
            width
        };
        path.scale = em / units;
        path.x = shift;
        path.y = match face {
            // The glyphs of this font sit lower than letters.
            EMOJI => cell.baseline() - em * 0.02,
            EASTERN | KOREAN => cell.baseline() + em * 0.02,
            _ => cell.baseline(),
        };
        font.outline_glyph(id, path);
    }

    /// Draws a control character as a box with its caret-notation letter.
    fn control(&self, path: &mut Path, code: u32, cell: CellSize) {
        let letter = match code {
            0x20 | 0x21 => '?',
            code => char::from_u32(0x40 + code).unwrap_or('?'),
        };
        frame(path, cell.width as f32, cell);
        self.small(path, letter, 0.14, 0.5, 0.72, cell);
    }

    /// Draws a box with the code point of a character that no font has.
    fn unknown(&self, path: &mut Path, character: char, width: f32, cell: CellSize) {
        frame(path, width, cell);
        let digits = format!("{:04X}", u32::from(character));
        let digits: Vec<char> = digits.chars().rev().take(4).collect();
        let places = [(0.52, 0.78), (0.1, 0.78), (0.52, 0.46), (0.1, 0.46)];
        for (digit, (x, y)) in digits.into_iter().zip(places) {
            self.small(path, digit, x * width / cell.width as f32, 0.38, y, cell);
        }
    }

    /// Draws a small letter. Position and size are fractions of the cell.
    fn small(&self, path: &mut Path, letter: char, x: f32, size: f32, y: f32, cell: CellSize) {
        if let Some(id) = self.faces[REGULAR].glyph_index(letter) {
            path.scale = cell.em() * size / f32::from(self.faces[REGULAR].units_per_em()) * 1.25;
            (path.x, path.y) = (x * cell.width as f32, y * cell.height as f32);
            self.faces[REGULAR].outline_glyph(id, path);
        }
    }
}

/// Replaces a character that no font has by a similar one.
fn alias(character: char) -> char {
    match character {
        '⎿' => '└',
        '⏺' => '●',
        '⏵' => '▶',
        '⟨' => '‹',
        '⟩' => '›',
        character => character,
    }
}

/// The outline of a character in pixels.
#[derive(Default)]
struct Path {
    commands: Vec<Command>,
    scale: f32,
    x: f32,
    y: f32,
}

impl Path {
    fn point(&self, x: f32, y: f32) -> Point {
        Point::new(self.x + x * self.scale, self.y - y * self.scale)
    }

    /// Appends a rectangle in pixels. `is_hole` reverses its direction, so that it is cut out.
    fn rectangle(&mut self, (left, top): (f32, f32), (right, bottom): (f32, f32), is_hole: bool) {
        let mut corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        if is_hole {
            corners.reverse();
        }
        for (at, (x, y)) in corners.into_iter().enumerate() {
            let point = Point::new(x, y);
            self.commands.push(if at == 0 {
                Command::MoveTo(point)
            } else {
                Command::LineTo(point)
            });
        }
        self.commands.push(Command::Close);
    }
}

impl OutlineBuilder for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        self.commands.push(Command::MoveTo(self.point(x, y)));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.commands.push(Command::LineTo(self.point(x, y)));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.commands
            .push(Command::QuadTo(self.point(x1, y1), self.point(x, y)));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second) = (self.point(x1, y1), self.point(x2, y2));
        self.commands.push(Command::CurveTo(first, second, self.point(x, y)));
    }

    fn close(&mut self) {
        self.commands.push(Command::Close);
    }
}

/// Draws an empty box.
fn frame(path: &mut Path, width: f32, cell: CellSize) {
    let height = cell.height as f32;
    let line = (height / 24.0).max(1.0).floor();
    let (left, top, right, bottom) = (1.0, (height * 0.12).floor(), width - 1.0, (height * 0.88).floor());
    path.rectangle((left, top), (right, bottom), false);
    path.rectangle((left + line, top + line), (right - line, bottom - line), true);
}

/// Draws a braille pattern, which spinners and charts consist of.
fn braille(path: &mut Path, dots: u32, cell: CellSize) {
    const PLACES: [(f32, f32); 8] = [
        (0.0, 0.0),
        (0.0, 1.0),
        (0.0, 2.0),
        (1.0, 0.0),
        (1.0, 1.0),
        (1.0, 2.0),
        (0.0, 3.0),
        (1.0, 3.0),
    ];
    let (width, height) = (cell.width as f32, cell.height as f32);
    let size = width * 0.22;
    for (at, (column, row)) in PLACES.into_iter().enumerate() {
        if dots & 1 << at != 0 {
            let (x, y) = (width * (0.18 + 0.42 * column), height * (0.14 + 0.2 * row));
            path.rectangle((x, y), (x + size, y + size), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: CellSize = CellSize { width: 11, height: 24 };

    #[test]
    fn every_promised_script_has_glyphs() {
        let fonts = Fonts::new();
        for (character, columns) in [
            ('a', 1),
            ('ß', 1),
            ('Ж', 1),
            ('Ω', 1),
            ('→', 1),
            ('✓', 1),
            ('✗', 1),
            ('●', 1),
            ('◐', 1),
            ('✎', 1),
            ('✻', 1),
            ('❯', 1),
            ('─', 1),
            ('█', 1),
            ('漢', 2),
            ('字', 2),
            ('あ', 2),
            ('ア', 2),
            ('한', 2),
            ('体', 2),
            ('體', 2),
            ('，', 2),
            ('😀', 2),
            ('🚀', 2),
            ('✅', 2),
            ('⋯', 1),
            ('−', 1),
            ('◆', 1),
            ('■', 1),
            ('•', 1),
            ('»', 1),
            ('◌', 1),
            ('…', 1),
            ('‹', 1),
            ('\u{301}', 1),
        ] {
            let key = Key {
                character,
                is_bold: false,
                columns,
                cell: CELL,
            };
            assert!(fonts.find(alias(character), key).is_some(), "{character}");
        }
    }

    #[test]
    fn a_glyph_stays_in_its_cell() {
        let mut fonts = Fonts::new();
        for (character, columns) in [
            ('M', 1),
            ('g', 1),
            ('漢', 2),
            ('🚀', 2),
            ('\u{10ffff}', 1),
            ('␛', 1),
            ('⣿', 1),
        ] {
            let glyph = fonts.glyph(character, false, columns, CELL);
            let right = glyph.left + i32::try_from(glyph.width).unwrap();
            assert!(
                glyph.left >= -1 && right <= 11 * i32::from(columns) + 1,
                "{character}: {} {right}",
                glyph.left
            );
            assert!(glyph.shades.iter().any(|shade| *shade > 128), "{character}");
        }
    }
}
