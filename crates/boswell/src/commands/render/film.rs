//! `boswell render --to mp4|gif|cast`: a session as a film.

#[cfg(feature = "film")]
mod make;
#[cfg(not(feature = "film"))]
#[path = "film/no_film.rs"]
mod make;

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

use super::{RenderArgs, To};
use crate::error::CommandError;
use crate::ui::Ui;

pub(super) use make::{Film, bar, make, record, tell};

#[derive(clap::Args, Debug)]
pub(crate) struct FilmArgs {
    /// Playback speed: `2` is twice as fast, `0.5` half as fast
    #[arg(long, value_name = "FACTOR", help_heading = "Films")]
    speed: Option<Speed>,
    /// Frames per second; 30 by default, 10 for a GIF
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60), help_heading = "Films")]
    fps: Option<u32>,
    /// Frame size; `1280x720` by default, `960x540` for a GIF
    #[arg(long, value_name = "SIZE", help_heading = "Films")]
    size: Option<Size>,
    /// Colours of the film
    #[arg(long, value_name = "THEME", help_heading = "Films")]
    theme: Option<Theme>,
    /// Maximum length of the film, such as `90s` or `10m`; 10 minutes by default, 1 for a GIF. A longer session is
    /// shown faster, then turns are left out
    #[arg(long, value_name = "TIME", help_heading = "Films")]
    max_duration: Option<Time>,
}

/// The colours of a film.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Theme {
    /// Light text on a dark background
    Dark,
    /// Dark text on a light background
    Light,
}

/// A factor, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Speed(u64);

impl FromStr for Speed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const MESSAGE: &str = "not a factor between 0.1 and 100";
        let text = text.strip_suffix('x').unwrap_or(text);
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{part:0<3}");
        let number = |text: &str| text.parse::<u64>().ok();
        let whole = if whole.is_empty() { Some(0) } else { number(whole) };
        let thousandths = whole
            .zip(digits.get(..3).and_then(number))
            .map(|(whole, part)| whole.saturating_mul(1_000) + part);
        thousandths
            .filter(|speed| (100..=100_000).contains(speed))
            .map(Self)
            .ok_or(MESSAGE)
    }
}

/// Width and height, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size(usize, usize);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sides = text
            .split_once(['x', '×'])
            .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        let fits = |(width, height): &(usize, usize)| (320..=3_840).contains(width) && (180..=2_160).contains(height);
        let sides = sides.filter(fits).ok_or("not a size between 320x180 and 3840x2160")?;
        match sides {
            (width, height) if width % 2 == 0 && height % 2 == 0 => Ok(Self(width, height)),
            _ => Err("width and height are even numbers"),
        }
    }
}

/// A duration, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time(u64);

impl FromStr for Time {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let unit = match text[at..].trim() {
            "" | "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            _ => return Err("not a time such as `90s`, `10m` or `1h`"),
        };
        let ms = text[..at]
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(unit));
        // Positions in the film file are 32-bit numbers, so films have a maximum length.
        ms.filter(|ms| (5_000..=6 * 3_600_000).contains(ms))
            .map(Self)
            .ok_or("not a time between 5 seconds and 6 hours")
    }
}

impl FilmArgs {
    /// Returns the first given flag that only films have.
    pub(super) fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.speed.is_some(), "--speed"),
            (self.fps.is_some(), "--fps"),
            (self.size.is_some(), "--size"),
            (self.theme.is_some(), "--theme"),
            (self.max_duration.is_some(), "--max-duration"),
        ];
        flags.into_iter().find_map(|(is, flag)| is.then_some(flag))
    }
}

/// Returns whether a format is a film.
pub(super) fn is_film(to: To) -> bool {
    matches!(to, To::Mp4 | To::Gif | To::Cast)
}

/// Returns an error for flags that do not fit the format.
pub(super) fn check(ui: &Ui, args: &RenderArgs, to: To) -> Result<(), CommandError> {
    let usage = |message: fmt::Arguments<'_>| Err(CommandError::usage(message));
    match (is_film(to), args.film.given()) {
        (false, Some(flag)) => {
            let error = CommandError::usage(format_args!("`{flag}` is for films"));
            Err(error.with_hint("add `--to mp4`, `--to gif` or `--to cast`"))
        }
        (true, _)
            if to != To::Cast && ui.draws() && args.output.as_deref().is_some_and(|path| path.as_os_str() == "-") =>
        {
            usage(format_args!("a film is nothing that a terminal can print"))
        }
        (true, _) if args.all => usage(format_args!("`--all` makes pages, no films")),
        (true, _) if args.watch => usage(format_args!("a film is made once: `--watch` is for pages and texts")),
        (true, _) if args.max_tokens.is_some() => usage(format_args!("`--max-tokens` is for a text")),
        (true, _) => make::check_support(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_speeds_and_times_are_read_as_people_write_them() {
        assert_eq!("1280x720".parse(), Ok(Size(1_280, 720)));
        assert_eq!("2".parse(), Ok(Speed(2_000)));
        assert_eq!("0.5x".parse(), Ok(Speed(500)));
        assert_eq!(".25".parse(), Ok(Speed(250)));
        assert_eq!("90s".parse(), Ok(Time(90_000)));
        assert_eq!("10m".parse(), Ok(Time(600_000)));
        for wrong in ["", "1281x720", "10x10", "axb", "1280"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
        for wrong in ["0", "-1", "1e3", "101", "0.01", "fast"] {
            assert!(wrong.parse::<Speed>().is_err(), "{wrong}");
        }
        for wrong in ["", "1s", "7h", "10 weeks", "99999999999999999999"] {
            assert!(wrong.parse::<Time>().is_err(), "{wrong}");
        }
    }
}
