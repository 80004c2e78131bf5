//! A session as a film: pictures in an MP4 or a GIF, or what a terminal is told, as an asciicast.
//!
//! One scene serves all three. It is planned from the log's own times, told step by step, and seen frame by frame; only one
//! picture is in memory at a time. Everything happens in this process: no other program, no system's fonts, no clock. The log's
//! text is drawn, whatever it holds. The same session gives the same bytes.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod card;
mod cast;
mod cells;
mod draw;
mod font;
mod gif;
mod h264;
mod mp4;
mod pace;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod properties;
mod scene;
mod stage;
mod tell;
#[cfg(test)]
mod tests;
mod theme;
mod words;

use std::io::{self, Seek, Write};

use self::cast::Cast;
use self::draw::{Canvas, Layout};
use self::h264::Encoder;
use self::pace::Scene;
use self::stage::Stage;
use self::tell::Manner;
use render::escape::{one_line, reveal};
use render::html_title;
use render::markdown::Depth;
use render::transcript_in::Transcript;

pub use self::scene::{Chapter, Cuts};
pub use self::theme::Theme;

/// How fine pictures are: letters keep their edges, and a film of ten minutes stays small.
const COARSENESS: u8 = 20;
/// A player can jump to a picture that stands alone: at each chapter, and at least this often.
const KEY_SECONDS: u64 = 20;
/// A cast is looked at so often.
const CAST_FPS: u32 = 20;

/// What a film has to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilmOptions {
    /// In points, both even.
    pub width: usize,
    pub height: usize,
    pub fps: u32,
    /// In thousandths of the usual pace.
    pub speed: u64,
    pub max_duration_ms: u64,
    pub theme: Theme,
    pub depth: Depth,
}

impl Default for FilmOptions {
    fn default() -> Self {
        Self {
            width: 1_280,
            height: 720,
            fps: 30,
            speed: 1_000,
            max_duration_ms: 10 * 60_000,
            theme: Theme::Dark,
            depth: Depth::Tools,
        }
    }
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Film {
    pub duration_ms: u64,
    pub frames: u64,
    pub chapters: Vec<Chapter>,
    /// What of the session is not in it.
    pub cuts: Cuts,
    /// How fast it is shown, in thousandths; more than was asked for where it would have been too long.
    pub speed: u64,
}

/// Is told how many frames of how many are made.
pub type Progress<'p> = &'p mut dyn FnMut(u64, u64);

/// Writes a film as MP4 with H.264, which every player and browser knows.
pub fn mp4<W: Write + Seek>(
    transcript: &Transcript,
    options: &FilmOptions,
    out: &mut W,
    progress: Progress<'_>,
) -> io::Result<Film> {
    let layout = layout(options);
    let scene = scene(transcript, options, layout);
    let film = Film::of(&scene, options.fps);
    let mut encoder = Encoder::new(layout.width, layout.height, options.fps, COARSENESS);
    let side = |side: usize| u32::try_from(side).unwrap_or(0);
    let keys = keys(&film, options.fps);
    let plan = mp4::Plan {
        width: side(layout.width),
        height: side(layout.height),
        fps: options.fps,
        frames: u32::try_from(film.frames).map_err(|_| io::Error::other("the film has too many pictures"))?,
        level: encoder.level(),
        sequence: encoder.sequence_unit(),
        picture: encoder.picture_unit(),
        keys: keys.clone(),
        chapters: film.chapters.clone(),
        title: one_line(&reveal(&html_title(transcript)), 120),
    };
    let mut muxer = mp4::Muxer::new(out, plan)?;
    let mut next_key = keys.into_iter().peekable();
    let mut pictures = Pictures::of(&scene, options, layout, film.frames);
    while let Some((frame, changed)) = pictures.next() {
        let planes = &pictures.canvas.planes;
        let unit = match changed {
            _ if next_key.next_if(|key| u64::from(*key) == frame).is_some() => encoder.key(planes),
            Some(scrolled) => encoder.next(planes, scrolled),
            None => encoder.same(),
        };
        muxer.picture(&unit)?;
        progress(frame + 1, film.frames);
    }
    muxer.finish()?;
    Ok(film)
}

/// Writes a film as an animated GIF.
pub fn gif(
    transcript: &Transcript,
    options: &FilmOptions,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> io::Result<Film> {
    let layout = layout(options);
    let scene = scene(transcript, options, layout);
    let film = Film::of(&scene, options.fps);
    let agent = transcript.head.session.flavor;
    let mut gif = gif::Gif::new(out, layout, options.theme, agent)?;
    let mut pictures = Pictures::of(&scene, options, layout, film.frames);
    while let Some((frame, changed)) = pictures.next() {
        if frame == 0 || changed.is_some() {
            gif.picture(&pictures.canvas.points, at_ms(frame, options.fps))?;
        }
        progress(frame + 1, film.frames);
    }
    gif.finish(at_ms(film.frames, options.fps))?;
    Ok(film)
}

/// Writes a film as an asciicast, for players of terminal sessions.
pub fn cast(transcript: &Transcript, options: &FilmOptions, out: &mut dyn Write) -> io::Result<Film> {
    let layout = layout(options);
    let scene = scene(transcript, options, layout);
    let film = Film::of(&scene, CAST_FPS);
    let mut stage = Stage::new(&scene, layout.columns, layout.rows);
    let mut cast = Cast::new(out, &scene, options.theme, layout.columns, layout.rows)?;
    let mut chapters = film.chapters.iter().peekable();
    for frame in 0..film.frames {
        let now_ms = at_ms(frame, CAST_FPS);
        while let Some(chapter) = chapters.next_if(|chapter| chapter.at_ms <= now_ms) {
            cast.marker(now_ms, &chapter.title)?;
        }
        let scrolled = stage.advance(now_ms);
        cast.screen(&stage, scrolled, now_ms)?;
    }
    cast.finish(film.duration_ms)?;
    Ok(film)
}

impl Film {
    fn of(scene: &Scene<'_>, fps: u32) -> Self {
        Self {
            duration_ms: scene.duration_ms,
            frames: (scene.duration_ms * u64::from(fps)).div_ceil(1_000).max(1),
            chapters: scene.chapters.clone(),
            cuts: scene.cuts.clone(),
            speed: scene.rate(),
        }
    }
}

fn layout(options: &FilmOptions) -> Layout {
    Layout::of(options.width.max(160) / 2 * 2, options.height.max(90) / 2 * 2)
}

fn scene<'t>(transcript: &'t Transcript, options: &FilmOptions, layout: Layout) -> Scene<'t> {
    let manner = Manner {
        depth: options.depth,
        columns: layout.columns,
        cwd: transcript.head.session.cwd.as_deref(),
    };
    Scene::plan(transcript, manner, options.speed.max(1), options.max_duration_ms)
}

fn at_ms(frame: u64, fps: u32) -> u64 {
    frame * 1_000 / u64::from(fps.max(1))
}

/// Which pictures stand alone.
fn keys(film: &Film, fps: u32) -> Vec<u32> {
    let often = u64::from(fps) * KEY_SECONDS;
    let chapters = film
        .chapters
        .iter()
        .map(|chapter| (chapter.at_ms * u64::from(fps)).div_ceil(1_000));
    let mut starts: Vec<u64> = chapters.filter(|frame| *frame < film.frames).collect();
    starts.extend([0, film.frames]);
    starts.sort_unstable();
    starts.dedup();
    // Chapters that follow each other at once share one.
    starts.dedup_by(|later, earlier| *later < *earlier + u64::from(fps) && *later != film.frames);
    let between = starts
        .windows(2)
        .flat_map(|pair| (pair[0]..pair[1]).step_by(usize::try_from(often).unwrap_or(1)));
    between.filter_map(|frame| u32::try_from(frame).ok()).collect()
}

/// The pictures of a scene, one after the other, in one canvas.
struct Pictures<'s> {
    stage: Stage<'s>,
    canvas: Canvas,
    chapters: &'s [Chapter],
    duration_ms: u64,
    fps: u32,
    frame: u64,
    frames: u64,
}

impl<'s> Pictures<'s> {
    fn of(scene: &'s Scene<'_>, options: &FilmOptions, layout: Layout, frames: u64) -> Self {
        let agent = scene.transcript.head.session.flavor;
        Self {
            stage: Stage::new(scene, layout.columns, layout.rows),
            canvas: Canvas::new(layout, options.theme, agent),
            chapters: &scene.chapters,
            duration_ms: scene.duration_ms,
            fps: options.fps,
            frame: 0,
            frames,
        }
    }

    /// Draws the next picture; gives its number, and by how many lines it scrolled where it changed at all.
    fn next(&mut self) -> Option<(u64, Option<usize>)> {
        let frame = self.frame;
        if frame >= self.frames {
            return None;
        }
        self.frame += 1;
        let now_ms = at_ms(frame, self.fps);
        let scrolled = self.stage.advance(now_ms);
        let changed = self
            .canvas
            .draw(&self.stage, scrolled, (now_ms, self.duration_ms), self.chapters);
        Some((frame, changed))
    }
}
