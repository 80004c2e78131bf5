//! A session as one page: a single file that needs no network and no server, however long the session was.
//!
//! What is shown lies in the page in compressed blocks, each drawn when it is scrolled to, searched without being drawn.
//! The policy in its head lets nothing run but our own script, known by its hash, and nothing load at all. Log text is
//! HTML that this crate made through `escape`; the script adds none.

mod blocks;
mod head;
pub(crate) mod icons;

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use libdeflater::{CompressionLvl, Compressor};
use sha2::{Digest, Sha256};

use self::blocks::Blocks;
use crate::escape::{escape, one_line};
use crate::transcript_in::Transcript;

pub use self::head::title;

/// The palette, light and dark, and the type of all pages. Other pages than those of this crate begin their style with it.
pub const STYLE_BASE: &str = include_str!("html/base.css");
/// The layout of the pages that consist of cards and tables: the statistics and the page of a day.
pub const STYLE_CARDS: &str = include_str!("html/cards.css");
pub(crate) const STYLE: &str = concat!(include_str!("html/base.css"), include_str!("html/page.css"));
const SCRIPT: &str = include_str!("html/page.js");
/// The fastest: pages are made more often than they are sent, and the best would take five times as long for a tenth less.
const LEVEL: i32 = 1;

/// What a page does beside showing a session.
#[derive(Debug, Clone, Default)]
pub struct PageOptions {
    /// The page loads itself anew after so many seconds, and stays where it is: its session still runs.
    pub reload_seconds: Option<u32>,
    /// Where the index of all pages lies, seen from this one.
    pub index: Option<String>,
}

/// Writes the page of a session.
pub fn html(transcript: &Transcript, options: &PageOptions, out: &mut dyn Write) -> io::Result<()> {
    let blocks = Blocks::of(transcript);
    let title = escape(&one_line(&head::title(transcript), 120));
    open(out, &title, &SCRIPT_HASH)?;
    let reload = options
        .reload_seconds
        .map(|seconds| format!(" data-reload=\"{seconds}\""))
        .unwrap_or_default();
    writeln!(out, "<body{reload}>")?;
    out.write_all(head::bar(&title, options.index.as_deref()).as_bytes())?;
    out.write_all(b"<div id=\"page\">\n")?;
    out.write_all(head::outline(transcript, &blocks).as_bytes())?;
    out.write_all(b"<main id=\"main\" tabindex=\"-1\">\n")?;
    out.write_all(head::head(transcript, &blocks).as_bytes())?;
    out.write_all(b"<noscript><p class=\"none\">This page draws a session as you scroll, and needs JavaScript for it. Nothing is loaded \
        from anywhere. <code>boswell render --to md</code> makes a text that needs none.</p></noscript>\n<div id=\"flow\"></div>\n")?;
    out.write_all(b"</main>\n</div>\n")?;
    out.write_all(head::below().as_bytes())?;
    data(out, "ix", &pack(blocks.index_json().as_bytes()))?;
    let mut packed = blocks.packed.iter().enumerate();
    // The script comes as soon as it can draw what is seen first.
    for (at, block) in packed.by_ref().take(1) {
        data(out, &format!("b{at}"), block)?;
    }
    writeln!(out, "<script>{SCRIPT}</script>")?;
    for (at, block) in packed {
        data(out, &format!("b{at}"), block)?;
    }
    for (at, extra) in blocks.extras.iter().enumerate() {
        data(out, &format!("x{at}"), extra)?;
    }
    out.write_all(b"</body>\n</html>\n")
}

/// The only script that a page lets run. It is the same in all of them, and hashed once.
static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| hash(SCRIPT));
static STYLE_HASH: LazyLock<String> = LazyLock::new(|| hash(STYLE));

/// How a policy names a text.
pub(crate) fn hash(text: &str) -> String {
    BASE64.encode(Sha256::digest(text.as_bytes()))
}

/// The beginning of every page of ours: what it may do, and how it looks.
pub(crate) fn open(out: &mut dyn Write, title: &str, script_hash: &str) -> io::Result<()> {
    let style_hash = &*STYLE_HASH;
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    );
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"boswell\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>"
    )
}

/// Data that a browser leaves alone, as text in base64.
fn data(out: &mut dyn Write, id: &str, base64: &str) -> io::Result<()> {
    writeln!(out, "<script type=\"text/plain\" id=\"{id}\">{base64}</script>")
}

/// Compressed as browsers can take apart themselves, in base64.
pub(crate) fn pack(bytes: &[u8]) -> String {
    thread_local! {
        /// Its tables and the room it writes into are made once: a small piece takes less time than they do.
        static PACKER: RefCell<(Compressor, Vec<u8>)> = RefCell::new((
            Compressor::new(CompressionLvl::new(LEVEL).expect("the level is one of its own")),
            Vec::new(),
        ));
    }
    PACKER.with_borrow_mut(|(compressor, room)| {
        let bound = compressor.deflate_compress_bound(bytes.len());
        if room.len() < bound {
            room.resize(bound, 0);
        }
        let length = compressor.deflate_compress(bytes, room);
        BASE64.encode(&room[..length.expect("the room has the size that was asked for")])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_can_be_taken_apart() {
        for text in ["", "a", &"long text ".repeat(100_000), "a"] {
            assert_eq!(pack(text.as_bytes()), pack(text.as_bytes()));
            let packed = BASE64.decode(pack(text.as_bytes())).unwrap();
            let mut back = String::new();
            io::Read::read_to_string(&mut flate2::read::DeflateDecoder::new(packed.as_slice()), &mut back).unwrap();
            assert!(back == text);
        }
    }
}
