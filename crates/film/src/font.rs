//! Signs as shades of points. The fonts lie in this program: the same text looks the same on every machine.
//!
//! A cell holds one sign, so nothing is shaped: letters do not join, and of a sequence of emoji the first one is drawn. What
//! no font has is a box with its number; some signs that fonts lack are drawn here.

use std::collections::HashMap;
use std::rc::Rc;

use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_normalization::char::is_combining_mark;
use zeno::{Command, Mask, Point};

/// Which fonts are looked at for a sign, in an order of its own: the usual two, symbols, emoji, Chinese and Japanese, Korean.
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
/// So many drawn signs are remembered.
const KNOWN_MAX: usize = 8_000;

/// How large cells are, in points of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CellSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl CellSize {
    /// The height of letters, as fonts count it.
    fn em(self) -> f32 {
        self.height as f32 * 0.75
    }

    fn baseline(self) -> f32 {
        self.height as f32 * 0.74
    }
}

/// The shades of a sign, and where they stand in its cell.
#[derive(Debug, Default)]
pub(crate) struct Glyph {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: usize,
    pub(crate) shades: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    sign: char,
    is_bold: bool,
    columns: u8,
    cell: CellSize,
}

/// All fonts, and the signs that were drawn already.
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

    pub(crate) fn glyph(&mut self, sign: char, is_bold: bool, columns: u8, cell: CellSize) -> Rc<Glyph> {
        let key = Key {
            sign,
            is_bold,
            columns,
            cell,
        };
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
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
        match key.sign {
            ' ' | '\u{a0}' | '\u{3000}' => {}
            '\u{2800}'..='\u{28ff}' => braille(&mut path, u32::from(key.sign) - 0x2800, cell),
            '\u{2400}'..='\u{2421}' => self.control(&mut path, u32::from(key.sign) - 0x2400, cell),
            sign => match self.find(alias(sign), key) {
                Some((face, id)) => self.letter(&mut path, face, id, width, cell),
                // A mark that no font has is better left out than drawn over its letter.
                None if is_combining_mark(sign) => {}
                None => self.unknown(&mut path, sign, width, cell),
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

    /// The font that has a sign.
    fn find(&self, sign: char, key: Key) -> Option<(usize, GlyphId)> {
        let usual = if key.is_bold { BOLD } else { REGULAR };
        let order = match key.columns {
            2 => [EMOJI, EASTERN, KOREAN, usual, SYMBOLS],
            _ => [usual, SYMBOLS, EASTERN, KOREAN, EMOJI],
        };
        order
            .into_iter()
            .find_map(|face| Some((face, self.faces[face].glyph_index(sign)?)))
    }

    /// A sign of a font, in the middle of its cell and not wider than it.
    fn letter(&self, path: &mut Path, face: usize, id: GlyphId, width: f32, cell: CellSize) {
        let font = &self.faces[face];
        let units = f32::from(font.units_per_em());
        let advance = f32::from(font.glyph_hor_advance(id).unwrap_or(0)) / units;
        // Signs that fill a square are as wide as their two columns.
        let mut em = match face {
            EASTERN | KOREAN => (width * 0.94).min(cell.height as f32 * 0.86),
            _ => cell.em(),
        };
        if advance * em > width * 1.02 {
            em = width / advance;
        }
        // Marks have no width of their own: they stand where the font puts them.
        let shift = if advance > 0.0 {
            (width - advance * em) / 2.0
        } else {
            width
        };
        path.scale = em / units;
        path.x = shift;
        path.y = match face {
            // Their signs stand lower than letters do.
            EMOJI => cell.baseline() - em * 0.02,
            EASTERN | KOREAN => cell.baseline() + em * 0.02,
            _ => cell.baseline(),
        };
        font.outline_glyph(id, path);
    }

    /// A box with the letter that stands for a control character.
    fn control(&self, path: &mut Path, code: u32, cell: CellSize) {
        let letter = match code {
            0x20 | 0x21 => '?',
            code => char::from_u32(0x40 + code).unwrap_or('?'),
        };
        frame(path, cell.width as f32, cell);
        self.small(path, letter, 0.14, 0.5, 0.72, cell);
    }

    /// A box with the number of a sign that no font has.
    fn unknown(&self, path: &mut Path, sign: char, width: f32, cell: CellSize) {
        frame(path, width, cell);
        let digits = format!("{:04X}", u32::from(sign));
        let digits: Vec<char> = digits.chars().rev().take(4).collect();
        let places = [(0.52, 0.78), (0.1, 0.78), (0.52, 0.46), (0.1, 0.46)];
        for (digit, (x, y)) in digits.into_iter().zip(places) {
            self.small(path, digit, x * width / cell.width as f32, 0.38, y, cell);
        }
    }

    /// A small letter at a place of a cell, all in parts of its size.
    fn small(&self, path: &mut Path, letter: char, x: f32, size: f32, y: f32, cell: CellSize) {
        if let Some(id) = self.faces[REGULAR].glyph_index(letter) {
            path.scale = cell.em() * size / f32::from(self.faces[REGULAR].units_per_em()) * 1.25;
            (path.x, path.y) = (x * cell.width as f32, y * cell.height as f32);
            self.faces[REGULAR].outline_glyph(id, path);
        }
    }
}

/// Signs that look like others which fonts have.
fn alias(sign: char) -> char {
    match sign {
        '⎿' => '└',
        '⏺' => '●',
        '⏵' => '▶',
        '⟨' => '‹',
        '⟩' => '›',
        sign => sign,
    }
}

/// The outline of a sign, in points.
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

    /// A rectangle, in points; `is_hole` turns it round, so that it takes away.
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

/// An empty box.
fn frame(path: &mut Path, width: f32, cell: CellSize) {
    let height = cell.height as f32;
    let line = (height / 24.0).max(1.0).floor();
    let (left, top, right, bottom) = (1.0, (height * 0.12).floor(), width - 1.0, (height * 0.88).floor());
    path.rectangle((left, top), (right, bottom), false);
    path.rectangle((left + line, top + line), (right - line, bottom - line), true);
}

/// The dots of a braille sign, which spinners and small pictures are made of.
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
    fn every_script_that_is_promised_has_signs_of_its_own() {
        let fonts = Fonts::new();
        for (sign, columns) in [
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
                sign,
                is_bold: false,
                columns,
                cell: CELL,
            };
            assert!(fonts.find(alias(sign), key).is_some(), "{sign}");
        }
    }

    #[test]
    fn a_sign_stays_in_its_cell() {
        let mut fonts = Fonts::new();
        for (sign, columns) in [
            ('M', 1),
            ('g', 1),
            ('漢', 2),
            ('🚀', 2),
            ('\u{10ffff}', 1),
            ('␛', 1),
            ('⣿', 1),
        ] {
            let glyph = fonts.glyph(sign, false, columns, CELL);
            let right = glyph.left + i32::try_from(glyph.width).unwrap();
            assert!(
                glyph.left >= -1 && right <= 11 * i32::from(columns) + 1,
                "{sign}: {} {right}",
                glyph.left
            );
            assert!(glyph.shades.iter().any(|shade| *shade > 128), "{sign}");
        }
    }
}
