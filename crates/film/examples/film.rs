//! Renders a log as a film without `boswell`: `cargo run --release -p boswell-film --example film -- claude LOG FILM`.
//!
//! The extension of FILM selects the format: `.mp4`, `.gif` or `.cast`. This example masks nothing; `boswell render` masks texts
//! before rendering them.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};

use film::{FilmOptions, cast, gif, mp4};
use jiff::tz::TimeZone;
use render::Transcript;
use transcript::Agent;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, agent, log, path] = arguments.as_slice() else {
        return Err("usage: film claude|codex|grok LOG FILM".into());
    };
    let known = Agent::ALL.into_iter().find(|known| known.as_str() == agent);
    let agent = known.ok_or("no such agent")?;
    let transcript = Transcript::from_log(agent, log, &fs::read(log)?, TimeZone::UTC)?.ok_or("no session in it")?;
    let options = FilmOptions::default();
    let mut out = BufWriter::new(File::create(path)?);
    let mut progress = |_done, _all| {};
    let film = match path.rsplit('.').next() {
        Some("gif") => gif(
            &transcript,
            &FilmOptions { fps: 10, ..options },
            &mut out,
            &mut progress,
        )?,
        Some("cast") => cast(&transcript, &options, &mut out)?,
        _ => mp4(&transcript, &options, &mut out, &mut progress)?,
    };
    out.flush()?;
    let mut stdout = std::io::stdout();
    writeln!(
        stdout,
        "{} s, {} chapters",
        film.duration_ms / 1_000,
        film.chapters.len()
    )?;
    Ok(())
}
