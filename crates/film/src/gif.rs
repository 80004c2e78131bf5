//! Writes an animated GIF, for sites that embed no video. A frame contains only the rectangle that changed.

use std::borrow::Cow;
use std::io::{self, Write};

use gif::{Encoder, Frame, Repeat};
use transcript::Agent;

use super::draw::FrameLayout;
use super::scene::{Background, TextColor};
use super::theme::{Color, Theme};

/// Number of shades between a text colour and its background.
const FADE_STEPS: i32 = 6;
/// A delay is two bytes, in hundredths of a second.
const DELAY_MAX: u64 = 60_000;

/// Writes a GIF frame by frame.
pub(crate) struct GifWriter<W: Write> {
    encoder: Encoder<W>,
    layout: FrameLayout,
    palette: Vec<Color>,
    /// A cache of the nearest palette colour, indexed by the upper five bits of red, green and blue.
    nearest: Vec<Option<u8>>,
    shown: Vec<Color>,
    /// The last frame and its start time. It is written when the next frame starts, because only then its delay is known.
    waiting: Option<(Frame<'static>, u64)>,
}

impl<W: Write> GifWriter<W> {
    pub(crate) fn new(out: W, layout: FrameLayout, theme: Theme, agent: Agent) -> io::Result<Self> {
        let palette = palette(theme, agent);
        let bytes: Vec<u8> = palette.iter().flatten().copied().collect();
        let side = |side: usize| u16::try_from(side).unwrap_or(u16::MAX);
        let mut encoder = Encoder::new(out, side(layout.width), side(layout.height), &bytes).map_err(io_error)?;
        encoder.set_repeat(Repeat::Infinite).map_err(io_error)?;
        Ok(Self {
            encoder,
            layout,
            palette,
            nearest: vec![None; 1 << 15],
            shown: Vec::new(),
            waiting: None,
        })
    }

    /// Shows `pixels` from `at_ms` on.
    pub(crate) fn write_frame(&mut self, pixels: &[Color], at_ms: u64) -> io::Result<()> {
        let width = self.layout.width;
        let is_first = self.shown.is_empty();
        let differs = |line: usize| self.shown[line * width..][..width] != pixels[line * width..][..width];
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
        let column_differs = |x: usize| (top..bottom).any(|y| self.shown[y * width + x] != pixels[y * width + x]);
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
            for pixel in &pixels[line * width + left..line * width + right] {
                buffer.push(nearest_color(&mut self.nearest, &self.palette, *pixel));
            }
        }
        self.write_waiting(at_ms)?;
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
        self.shown.extend_from_slice(pixels);
        Ok(())
    }

    /// Ends the animation.
    pub(crate) fn finish(mut self, at_ms: u64) -> io::Result<()> {
        self.write_waiting(at_ms)?;
        self.encoder.into_inner().map_err(io_error)?.flush()
    }

    /// Writes the last frame, which is shown until `at_ms`.
    fn write_waiting(&mut self, at_ms: u64) -> io::Result<()> {
        let Some((mut frame, since_ms)) = self.waiting.take() else {
            return Ok(());
        };
        // Round start and end separately, so that rounding errors do not add up.
        let hundredths = (at_ms / 10).saturating_sub(since_ms / 10).clamp(1, DELAY_MAX);
        frame.delay = u16::try_from(hundredths).unwrap_or(u16::MAX);
        self.encoder.write_frame(&frame).map_err(io_error)
    }
}

fn io_error(error: gif::EncodingError) -> io::Error {
    match error {
        gif::EncodingError::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// Returns the colours of a theme and the shades between them, the most important ones first, because a palette has only 256 entries.
fn palette(theme: Theme, agent: Agent) -> Vec<Color> {
    let colors = [
        TextColor::Plain,
        TextColor::Dim,
        TextColor::Faint,
        TextColor::Human,
        TextColor::Agent,
        TextColor::Good,
        TextColor::Bad,
        TextColor::Warn,
        TextColor::Code,
    ];
    let grounds = [
        Background::Page,
        Background::Bar,
        Background::Human,
        Background::Added,
        Background::Removed,
        Background::Good,
        Background::Bad,
        Background::Code,
    ];
    let mut palette: Vec<Color> = Vec::new();
    let mut add = |color: Color| {
        if palette.len() < 256 && !palette.contains(&color) {
            palette.push(color);
        }
    };
    grounds
        .into_iter()
        .for_each(|background| add(theme.background_color(background)));
    add(theme.track_color());
    let mut fade = |meaning: TextColor, background: Background| {
        let (over, under) = (theme.text_color(meaning, agent), theme.background_color(background));
        for step in 1..=FADE_STEPS {
            add(std::array::from_fn(|at| {
                let (under, over) = (i32::from(under[at]), i32::from(over[at]));
                u8::try_from(under + (over - under) * step / FADE_STEPS).unwrap_or(0)
            }));
        }
    };
    colors.into_iter().for_each(|meaning| fade(meaning, Background::Page));
    for (meaning, background) in [
        (TextColor::Plain, Background::Bar),
        (TextColor::Plain, Background::Human),
        (TextColor::Plain, Background::Added),
        (TextColor::Plain, Background::Removed),
        (TextColor::Good, Background::Good),
        (TextColor::Bad, Background::Bad),
        (TextColor::Agent, Background::Bar),
        (TextColor::Dim, Background::Bar),
        (TextColor::Code, Background::Code),
        (TextColor::Human, Background::Human),
    ] {
        fade(meaning, background);
    }
    (0..16).for_each(|number| fade(TextColor::Ansi(number), Background::Page));
    palette
}

fn nearest_color(nearest: &mut [Option<u8>], palette: &[Color], [red, green, blue]: Color) -> u8 {
    // Five bits per channel are precise enough for a palette of 256 colours, and keep the cache small.
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
