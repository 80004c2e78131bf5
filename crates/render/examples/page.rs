//! Renders a log as a page without `boswell`: `cargo run -p boswell-render --example page -- claude LOG PAGE`.
//!
//! This example masks nothing; `boswell render` masks texts before rendering them.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};

use jiff::tz::TimeZone;
use render::{MarkdownDepth, MarkdownOptions, PageOptions, Transcript, html, markdown};
use transcript::Agent;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, agent, log, page] = arguments.as_slice() else {
        return Err("usage: page claude|codex|grok LOG PAGE".into());
    };
    let known = Agent::ALL.into_iter().find(|known| known.as_str() == agent);
    let agent = known.ok_or("no such agent")?;
    let transcript = Transcript::from_log(agent, log, &fs::read(log)?, TimeZone::UTC)?.ok_or("no session in it")?;
    let mut out = BufWriter::new(File::create(page)?);
    if page.ends_with(".md") {
        let options = MarkdownOptions {
            depth: MarkdownDepth::Tools,
            max_tokens: None,
        };
        markdown(&transcript, &options, &mut out)?;
    } else {
        html(&transcript, &PageOptions::default(), &mut out)?;
    }
    out.flush()?;
    Ok(())
}
