//! Renders a session as a film: MP4, GIF or asciicast.
//!
//! All three formats draw the same `Scene`. It is planned from the recorded times, expanded step by step, and drawn
//! frame by frame, with one frame in memory at a time. Everything happens in this process: no other program, no system fonts, no
//! clock. The same session gives the same bytes.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cast;
mod cells;
mod draw;
#[cfg(test)]
mod ffmpeg;
mod font;
mod gif;
mod h264;
mod markdown_rows;
mod mp4;
#[cfg(test)]
mod properties;
mod scene;
mod scene_plan;
mod screen;
mod step_rows;
#[cfg(test)]
mod tests;
mod theme;
mod title_card;

use std::io::{self, Seek, Write};

use self::cast::CastWriter;
use self::draw::{FrameCanvas, FrameLayout};
use self::h264::H264Encoder;
use self::scene_plan::Scene;
use self::screen::ScreenState;
use self::step_rows::RowOptions;
use render::escape::{one_line, show_invisible};
use render::html_title;
use render::input::Transcript;
use render::markdown::MarkdownDepth;

pub use self::scene::{Chapter, FilmCuts};
pub use self::theme::Theme;

/// The quantization parameter: low enough for sharp text, high enough to keep a film of ten minutes small.
const QP: u8 = 20;
/// A player can seek only to key frames, so there is one at each chapter and at least this often.
const KEY_SECONDS: u64 = 20;
/// A cast is updated this often.
const CAST_FPS: u32 = 20;

/// Options of a film.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilmOptions {
    /// In pixels. Width and height are even.
    pub width: usize,
    pub height: usize,
    pub fps: u32,
    /// In thousandths of the normal speed.
    pub speed: u64,
    pub max_duration_ms: u64,
    pub theme: Theme,
    pub depth: MarkdownDepth,
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
            depth: MarkdownDepth::Tools,
        }
    }
}

/// What was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Film {
    pub duration_ms: u64,
    pub frames: u64,
    pub chapters: Vec<Chapter>,
    /// What was omitted.
    pub cuts: FilmCuts,
    /// The speed in thousandths. Higher than requested if the film would have been too long.
    pub speed: u64,
}

/// A callback with the number of finished frames and of all frames.
pub type Progress<'p> = &'p mut dyn FnMut(u64, u64);

/// Writes a film as MP4 with H.264, which every player and browser supports. Returns an error if `out` does, or if the film is too
/// long for the format.
pub fn mp4<W: Write + Seek>(
    transcript: &Transcript,
    options: &FilmOptions,
    out: &mut W,
    progress: Progress<'_>,
) -> io::Result<Film> {
    let layout = frame_layout(options);
    let scene = plan_scene(transcript, options, layout);
    let film = Film::from_scene(&scene, options.fps);
    let mut encoder = H264Encoder::new(layout.width, layout.height, options.fps, QP);
    let side = |side: usize| u32::try_from(side).unwrap_or(0);
    let keys = key_frames(&film, options.fps);
    let plan = mp4::Mp4Plan {
        width: side(layout.width),
        height: side(layout.height),
        fps: options.fps,
        frames: u32::try_from(film.frames).map_err(|_| io::Error::other("the film has too many frames"))?,
        level: encoder.level(),
        sps: encoder.sequence_parameter_set(),
        pps: encoder.picture_parameter_set(),
        key_frames: keys.clone(),
        chapters: film.chapters.clone(),
        title: one_line(&show_invisible(&html_title(transcript)), 120),
    };
    let mut muxer = mp4::Mp4Muxer::new(out, plan)?;
    let mut next_key = keys.into_iter().peekable();
    let mut drawer = FrameDrawer::new(&scene, options, layout, film.frames);
    while let Some((frame, changed)) = drawer.next_frame() {
        let planes = &drawer.canvas.planes;
        let unit = match changed {
            _ if next_key.next_if(|key| u64::from(*key) == frame).is_some() => encoder.encode_key_frame(planes),
            Some(scrolled) => encoder.encode_frame(planes, scrolled),
            None => encoder.encode_unchanged_frame(),
        };
        muxer.write_frame(&unit)?;
        progress(frame + 1, film.frames);
    }
    muxer.finish()?;
    Ok(film)
}

/// Writes a film as an animated GIF. Returns an error only if `out` does.
pub fn gif(
    transcript: &Transcript,
    options: &FilmOptions,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> io::Result<Film> {
    let layout = frame_layout(options);
    let scene = plan_scene(transcript, options, layout);
    let film = Film::from_scene(&scene, options.fps);
    let agent = transcript.head.session.flavor;
    let mut gif = gif::GifWriter::new(out, layout, options.theme, agent)?;
    let mut drawer = FrameDrawer::new(&scene, options, layout, film.frames);
    while let Some((frame, changed)) = drawer.next_frame() {
        if frame == 0 || changed.is_some() {
            gif.write_frame(&drawer.canvas.pixels, frame_time_ms(frame, options.fps))?;
        }
        progress(frame + 1, film.frames);
    }
    gif.finish(frame_time_ms(film.frames, options.fps))?;
    Ok(film)
}

/// Writes a film as an asciicast, for players of terminal sessions. Returns an error only if `out` does.
pub fn cast(transcript: &Transcript, options: &FilmOptions, out: &mut dyn Write) -> io::Result<Film> {
    let layout = frame_layout(options);
    let scene = plan_scene(transcript, options, layout);
    let film = Film::from_scene(&scene, CAST_FPS);
    let mut screen = ScreenState::new(&scene, layout.columns, layout.rows);
    let mut cast = CastWriter::new(out, &scene, options.theme, layout.columns, layout.rows)?;
    let mut chapters = film.chapters.iter().peekable();
    for frame in 0..film.frames {
        let now_ms = frame_time_ms(frame, CAST_FPS);
        while let Some(chapter) = chapters.next_if(|chapter| chapter.at_ms <= now_ms) {
            cast.write_marker(now_ms, &chapter.title)?;
        }
        let scrolled = screen.advance(now_ms);
        cast.write_screen(&screen, scrolled, now_ms)?;
    }
    cast.finish(film.duration_ms)?;
    Ok(film)
}

impl Film {
    fn from_scene(scene: &Scene<'_>, fps: u32) -> Self {
        Self {
            duration_ms: scene.duration_ms,
            frames: (scene.duration_ms * u64::from(fps)).div_ceil(1_000).max(1),
            chapters: scene.chapters.clone(),
            cuts: scene.cuts.clone(),
            speed: scene.rate(),
        }
    }
}

fn frame_layout(options: &FilmOptions) -> FrameLayout {
    FrameLayout::new(options.width.max(160) / 2 * 2, options.height.max(90) / 2 * 2)
}

fn plan_scene<'t>(transcript: &'t Transcript, options: &FilmOptions, layout: FrameLayout) -> Scene<'t> {
    let row_options = RowOptions {
        depth: options.depth,
        columns: layout.columns,
        cwd: transcript.head.session.cwd.as_deref(),
    };
    Scene::plan(transcript, row_options, options.speed.max(1), options.max_duration_ms)
}

fn frame_time_ms(frame: u64, fps: u32) -> u64 {
    frame * 1_000 / u64::from(fps.max(1))
}

/// Returns the numbers of the key frames.
fn key_frames(film: &Film, fps: u32) -> Vec<u32> {
    let often = u64::from(fps) * KEY_SECONDS;
    let chapters = film
        .chapters
        .iter()
        .map(|chapter| (chapter.at_ms * u64::from(fps)).div_ceil(1_000));
    let mut starts: Vec<u64> = chapters.filter(|frame| *frame < film.frames).collect();
    starts.extend([0, film.frames]);
    starts.sort_unstable();
    starts.dedup();
    // Chapters within one second share a key frame.
    starts.dedup_by(|later, earlier| *later < *earlier + u64::from(fps) && *later != film.frames);
    let between = starts
        .windows(2)
        .flat_map(|pair| (pair[0]..pair[1]).step_by(usize::try_from(often).unwrap_or(1)));
    between.filter_map(|frame| u32::try_from(frame).ok()).collect()
}

/// Draws the frames of a scene one after another into one canvas.
struct FrameDrawer<'s> {
    screen: ScreenState<'s>,
    canvas: FrameCanvas,
    chapters: &'s [Chapter],
    duration_ms: u64,
    fps: u32,
    frame: u64,
    frames: u64,
}

impl<'s> FrameDrawer<'s> {
    fn new(scene: &'s Scene<'_>, options: &FilmOptions, layout: FrameLayout, frames: u64) -> Self {
        let agent = scene.transcript.head.session.flavor;
        Self {
            screen: ScreenState::new(scene, layout.columns, layout.rows),
            canvas: FrameCanvas::new(layout, options.theme, agent),
            chapters: &scene.chapters,
            duration_ms: scene.duration_ms,
            fps: options.fps,
            frame: 0,
            frames,
        }
    }

    /// Draws the next frame. Returns its number and, if anything changed, by how many lines it scrolled.
    fn next_frame(&mut self) -> Option<(u64, Option<usize>)> {
        let frame = self.frame;
        if frame >= self.frames {
            return None;
        }
        self.frame += 1;
        let now_ms = frame_time_ms(frame, self.fps);
        let scrolled = self.screen.advance(now_ms);
        let changed = self
            .canvas
            .draw(&self.screen, scrolled, (now_ms, self.duration_ms), self.chapters);
        Some((frame, changed))
    }
}
