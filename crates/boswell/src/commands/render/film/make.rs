//! Makes films with the crate `film` and prints a summary of each.

use std::io;

use ::film::{FilmOptions, cast, gif, mp4};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use render::Transcript;

use super::super::write::Sink;
use super::super::{RenderArgs, To, depth_of};
use super::{FilmArgs, Size, Speed, Theme, Time};
use crate::answers::page::{FilmChapter, FilmLeftOut, FilmRecord};
use crate::error::CommandError;
use crate::render::depth::Depth;
use crate::render::text::plural;
use crate::ui::{Format, Ui, measure};

pub(crate) use ::film::Film;

/// Defaults for a GIF. They are smaller, slower and shorter than those of a film, because GIF files are large.
const GIF: FilmOptions = FilmOptions {
    width: 960,
    height: 540,
    fps: 10,
    max_duration_ms: 60_000,
    speed: 1_000,
    theme: ::film::Theme::Dark,
    depth: render::MarkdownDepth::Tools,
};

/// Returns an error in a build without film support.
pub(super) fn check_support() -> Result<(), CommandError> {
    Ok(())
}

impl FilmArgs {
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
                Some(Theme::Light) => ::film::Theme::Light,
                Some(Theme::Dark) | None => ::film::Theme::Dark,
            },
            depth: depth.map_or(usual.depth, depth_of),
        }
    }
}

/// Makes a film and shows its progress.
pub(crate) fn make(
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
        To::Gif => gif(transcript, &options, &mut out, &mut progress),
        To::Cast => cast(transcript, &options, &mut out),
        _ => mp4(transcript, &options, &mut out, &mut progress),
    };
    bar.finish_and_clear();
    film
}

pub(crate) fn bar(ui: &Ui) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    let style = ProgressStyle::with_template("Filming {bar:30} {percent:>3} %  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints the length of a film and what it leaves out.
pub(crate) fn tell(ui: &mut Ui, film: &Film) {
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

pub(crate) fn record(film: &Film) -> FilmRecord<'_> {
    let chapters = film.chapters.iter().map(|chapter| FilmChapter {
        at_ms: chapter.at_ms,
        title: &chapter.title,
    });
    FilmRecord {
        duration_ms: film.duration_ms,
        frames: film.frames,
        chapters: chapters.collect(),
        speed_thousandths: film.speed,
        waits_cut_ms: film.cuts.waits_ms,
        left_out: FilmLeftOut {
            turns: &film.cuts.turns,
            steps: film.cuts.steps,
        },
    }
}
