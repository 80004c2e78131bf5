//! `boswell render --to mp4|gif|cast`: a session as a film.

use std::fmt;
use std::io;
use std::str::FromStr;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use render::{Film, FilmOptions, Transcript};
use serde_json::{Value, json};

use super::write::Sink;
use super::{RenderArgs, To, depth_of};
use crate::error::CommandError;
use crate::render::depth::Depth;
use crate::render::text::plural;
use crate::ui::{Format, Ui, measure};

/// A GIF is large: unless it is asked for more, it is smaller, slower and shorter than a film.
const GIF: FilmOptions = FilmOptions {
    width: 960,
    height: 540,
    fps: 10,
    max_duration_ms: 60_000,
    speed: 1_000,
    theme: render::Theme::Dark,
    depth: render::Depth::Tools,
};

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
        // A file tells its places in four bytes.
        ms.filter(|ms| (5_000..=6 * 3_600_000).contains(ms))
            .map(Self)
            .ok_or("not a time between 5 seconds and 6 hours")
    }
}

impl FilmArgs {
    /// The first flag that was given and is for films alone.
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

    fn options(&self, to: To, depth: Option<Depth>) -> FilmOptions {
        let usual = if to == To::Gif { GIF } else { FilmOptions::default() };
        let (width, height) = self
            .size
            .map_or((usual.width, usual.height), |Size(width, height)| (width, height));
        FilmOptions {
            width,
            height,
            fps: self.fps.unwrap_or(usual.fps),
            speed: self.speed.map_or(usual.speed, |Speed(speed)| speed),
            max_duration_ms: self.max_duration.map_or(usual.max_duration_ms, |Time(ms)| ms),
            theme: match self.theme {
                Some(Theme::Light) => render::Theme::Light,
                Some(Theme::Dark) | None => render::Theme::Dark,
            },
            depth: depth.map_or(usual.depth, depth_of),
        }
    }
}

/// Whether a form is a film.
pub(super) fn is_film(to: To) -> bool {
    matches!(to, To::Mp4 | To::Gif | To::Cast)
}

/// What cannot be asked of a film.
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
        _ => Ok(()),
    }
}

/// Makes a film, and shows how far it is.
pub(super) fn make(
    bar: &ProgressBar,
    args: &RenderArgs,
    transcript: &Transcript,
    mut out: &mut dyn Sink,
) -> io::Result<Film> {
    let to = args.to();
    let options = args.film.options(to, args.depth);
    let mut progress = |done: u64, all: u64| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let film = match to {
        To::Gif => render::gif(transcript, &options, &mut out, &mut progress),
        To::Cast => render::cast(transcript, &options, &mut out),
        _ => render::mp4(transcript, &options, &mut out, &mut progress),
    };
    bar.finish_and_clear();
    film
}

pub(super) fn bar(ui: &Ui) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    let style = ProgressStyle::with_template("Filming {bar:30} {percent:>3} %  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// How long it is, and what is not in it.
pub(super) fn tell(ui: &mut Ui, film: &Film) {
    if ui.format != Format::Text {
        return;
    }
    let chapters = plural(film.chapters.len() as u64, "chapter");
    ui.status(format_args!("Film: {}, {chapters}", span(film.duration_ms)));
    let cuts = &film.cuts;
    if cuts.waits_ms >= 1_000 {
        ui.status(format_args!("Waiting cut: {}", span(cuts.waits_ms)));
    }
    if cuts.steps > 0 {
        let steps = plural(cuts.steps, "step");
        match cuts.turns.len() as u64 {
            0 => ui.status(format_args!("Left out: {steps}")),
            turns => ui.status(format_args!("Left out: {}, {steps}", plural(turns, "turn"))),
        }
        ui.hint("`--max-duration` lets it be longer, `--turns` chooses what is shown");
    }
}

fn span(ms: u64) -> String {
    measure::duration(SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX)))
}

pub(super) fn of_json(film: &Film) -> Value {
    json!({
        "duration_ms": film.duration_ms,
        "frames": film.frames,
        "chapters": film.chapters.iter().map(|chapter| json!({ "at_ms": chapter.at_ms, "title": chapter.title })).collect::<Vec<_>>(),
        "speed_thousandths": film.speed,
        "waits_cut_ms": film.cuts.waits_ms,
        "left_out": { "turns": film.cuts.turns, "steps": film.cuts.steps },
    })
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
