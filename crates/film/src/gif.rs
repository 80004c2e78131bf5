//! A film as an animated GIF: for pages that show nothing else. A frame holds only the lines and columns that changed.

use std::borrow::Cow;
use std::io::{self, Write};

use gif::{Encoder, Frame, Repeat};
use transcript::Agent;

use super::draw::Layout;
use super::scene::{Ground, Ink};
use super::theme::{Color, Theme};

/// Letters fade into what they stand on by so many steps.
const STEPS: i32 = 6;
/// A delay is told in hundredths of a second, and in two bytes.
const DELAY_MAX: u64 = 60_000;

/// A GIF in the making.
pub(crate) struct Gif<W: Write> {
    encoder: Encoder<W>,
    layout: Layout,
    palette: Vec<Color>,
    /// The nearest colour of the palette by the upper five bits of each part, as far as it was asked for.
    nearest: Vec<Option<u8>>,
    shown: Vec<Color>,
    /// The frame that waits for its end: what it holds, and since when it is shown.
    waiting: Option<(Frame<'static>, u64)>,
}

impl<W: Write> Gif<W> {
    pub(crate) fn new(out: W, layout: Layout, theme: Theme, agent: Agent) -> io::Result<Self> {
        let palette = palette(theme, agent);
        let bytes: Vec<u8> = palette.iter().flatten().copied().collect();
        let side = |side: usize| u16::try_from(side).unwrap_or(u16::MAX);
        let mut encoder = Encoder::new(out, side(layout.width), side(layout.height), &bytes).map_err(told)?;
        encoder.set_repeat(Repeat::Infinite).map_err(told)?;
        Ok(Self {
            encoder,
            layout,
            palette,
            nearest: vec![None; 1 << 15],
            shown: Vec::new(),
            waiting: None,
        })
    }

    /// What is seen from a time on.
    pub(crate) fn picture(&mut self, points: &[Color], at_ms: u64) -> io::Result<()> {
        let width = self.layout.width;
        let is_first = self.shown.is_empty();
        let differs = |line: usize| self.shown[line * width..][..width] != points[line * width..][..width];
        let lines = 0..self.layout.height;
        let top = if is_first {
            Some(0)
        } else {
            lines.clone().find(|line| differs(*line))
        };
        let Some(top) = top else { return Ok(()) };
        let bottom = if is_first {
            None
        } else {
            lines.rev().find(|line| differs(*line))
        };
        let bottom = bottom.map_or(self.layout.height, |line| line + 1);
        let column_differs = |x: usize| (top..bottom).any(|y| self.shown[y * width + x] != points[y * width + x]);
        let (left, right) = match is_first {
            true => (0, width),
            false => {
                let left = (0..width).find(|x| column_differs(*x)).unwrap_or(0);
                let right = (left..width).rev().find(|x| column_differs(*x)).unwrap_or(left);
                (left, right + 1)
            }
        };
        let mut buffer = Vec::with_capacity((right - left) * (bottom - top));
        for line in top..bottom {
            for point in &points[line * width + left..line * width + right] {
                buffer.push(near(&mut self.nearest, &self.palette, *point));
            }
        }
        self.end(at_ms)?;
        let side = |side: usize| u16::try_from(side).unwrap_or(u16::MAX);
        let frame = Frame {
            left: side(left),
            top: side(top),
            width: side(right - left),
            height: side(bottom - top),
            buffer: Cow::Owned(buffer),
            ..Frame::default()
        };
        self.waiting = Some((frame, at_ms));
        self.shown.clear();
        self.shown.extend_from_slice(points);
        Ok(())
    }

    /// Ends the film.
    pub(crate) fn finish(mut self, at_ms: u64) -> io::Result<()> {
        self.end(at_ms)?;
        self.encoder.into_inner().map_err(told)?.flush()
    }

    /// Writes the frame that was shown until now.
    fn end(&mut self, at_ms: u64) -> io::Result<()> {
        let Some((mut frame, since_ms)) = self.waiting.take() else {
            return Ok(());
        };
        // Times are rounded for themselves, so that a film does not get longer by them.
        let hundredths = (at_ms / 10).saturating_sub(since_ms / 10).clamp(1, DELAY_MAX);
        frame.delay = u16::try_from(hundredths).unwrap_or(u16::MAX);
        self.encoder.write_frame(&frame).map_err(told)
    }
}

fn told(error: gif::EncodingError) -> io::Error {
    match error {
        gif::EncodingError::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// The colours of a theme and what lies between them, the most needed ones first.
fn palette(theme: Theme, agent: Agent) -> Vec<Color> {
    let inks = [
        Ink::Plain,
        Ink::Dim,
        Ink::Faint,
        Ink::Human,
        Ink::Agent,
        Ink::Good,
        Ink::Bad,
        Ink::Warn,
        Ink::Code,
    ];
    let grounds = [
        Ground::Page,
        Ground::Bar,
        Ground::Human,
        Ground::Added,
        Ground::Removed,
        Ground::Good,
        Ground::Bad,
        Ground::Code,
    ];
    let mut palette: Vec<Color> = Vec::new();
    let mut add = |color: Color| {
        if palette.len() < 256 && !palette.contains(&color) {
            palette.push(color);
        }
    };
    grounds.into_iter().for_each(|ground| add(theme.ground(ground)));
    add(theme.track());
    let mut fade = |ink: Ink, ground: Ground| {
        let (over, under) = (theme.ink(ink, agent), theme.ground(ground));
        for step in 1..=STEPS {
            add(std::array::from_fn(|at| {
                let (under, over) = (i32::from(under[at]), i32::from(over[at]));
                u8::try_from(under + (over - under) * step / STEPS).unwrap_or(0)
            }));
        }
    };
    inks.into_iter().for_each(|ink| fade(ink, Ground::Page));
    for (ink, ground) in [
        (Ink::Plain, Ground::Bar),
        (Ink::Plain, Ground::Human),
        (Ink::Plain, Ground::Added),
        (Ink::Plain, Ground::Removed),
        (Ink::Good, Ground::Good),
        (Ink::Bad, Ground::Bad),
        (Ink::Agent, Ground::Bar),
        (Ink::Dim, Ground::Bar),
        (Ink::Code, Ground::Code),
        (Ink::Human, Ground::Human),
    ] {
        fade(ink, ground);
    }
    (0..16).for_each(|number| fade(Ink::Ansi(number), Ground::Page));
    palette
}

fn near(nearest: &mut [Option<u8>], palette: &[Color], [red, green, blue]: Color) -> u8 {
    let key = usize::from(red >> 3) << 10 | usize::from(green >> 3) << 5 | usize::from(blue >> 3);
    *nearest[key].get_or_insert_with(|| {
        let off = |color: &Color| -> u32 {
            let parts = color.iter().zip([red, green, blue]);
            parts.map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
        };
        let best = palette.iter().enumerate().min_by_key(|(_, color)| off(color));
        best.map_or(0, |(at, _)| u8::try_from(at).unwrap_or(0))
    })
}
