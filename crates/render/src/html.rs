//! Renders a session as one HTML file that needs no network and no server, however long the session is.
//!
//! The steps are compressed blocks inside the page. The script draws a block when it is scrolled to, and searches blocks without
//! drawing them. The content security policy allows only our own script, by its hash, and no loading at all. Text from logs
//! becomes HTML only through `escape`, in this crate; the script creates no HTML from text.

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

use self::blocks::PageBlocks;
use crate::escape::{escape, one_line};
use crate::input::Transcript;

pub use self::head::title;

/// The colours, light and dark, and the fonts of all pages. Pages that other crates make start their style sheet with it.
pub const STYLE_BASE: &str = include_str!("html/base.css");
/// The layout of the pages that consist of cards and tables: the statistics and the page of a day.
pub const STYLE_CARDS: &str = include_str!("html/cards.css");
pub(crate) const STYLE: &str = concat!(include_str!("html/base.css"), include_str!("html/page.css"));
const SCRIPT: &str = include_str!("html/page.js");
/// The fastest level, because the best one takes five times as long and saves only a tenth of the size.
const COMPRESSION_LEVEL: i32 = 1;

/// Options of a page.
#[derive(Debug, Clone, Default)]
pub struct PageOptions {
    /// If set, the page reloads itself after this many seconds and keeps its scroll position, for a session that is still running.
    pub reload_seconds: Option<u32>,
    /// The link to the index of all pages, relative to this page.
    pub index: Option<String>,
}

/// Writes a session as an HTML page. Returns an error only if `out` does.
pub fn html(transcript: &Transcript, options: &PageOptions, out: &mut dyn Write) -> io::Result<()> {
    let blocks = PageBlocks::of(transcript);
    let title = escape(&one_line(&head::title(transcript), 120));
    write_page_head(out, &title, &SCRIPT_HASH)?;
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
    out.write_all(head::player_and_keys().as_bytes())?;
    write_data(out, "ix", &compress_base64(blocks.index_json().as_bytes()))?;
    let mut packed = blocks.packed.iter().enumerate();
    // The script follows the first block, so that it can draw the visible part while the browser still parses the rest.
    for (at, block) in packed.by_ref().take(1) {
        write_data(out, &format!("b{at}"), block)?;
    }
    writeln!(out, "<script>{SCRIPT}</script>")?;
    for (at, block) in packed {
        write_data(out, &format!("b{at}"), block)?;
    }
    for (at, extra) in blocks.extras.iter().enumerate() {
        write_data(out, &format!("x{at}"), extra)?;
    }
    out.write_all(b"</body>\n</html>\n")
}

/// The hash of the only script that a page may run. All pages share the script, so it is computed once.
static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| csp_hash(SCRIPT));
static STYLE_HASH: LazyLock<String> = LazyLock::new(|| csp_hash(STYLE));

/// Returns the SHA-256 hash of a text as a content security policy writes it.
pub(crate) fn csp_hash(text: &str) -> String {
    BASE64.encode(Sha256::digest(text.as_bytes()))
}

/// Writes the `<head>` of a page, with its content security policy and style sheet.
pub(crate) fn write_page_head(out: &mut dyn Write, title: &str, script_hash: &str) -> io::Result<()> {
    let style_hash = &*STYLE_HASH;
    // `img-src data:` allows the images that are embedded in logs, and no others.
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

/// Writes data in a script element of a type that browsers do not run.
fn write_data(out: &mut dyn Write, id: &str, base64: &str) -> io::Result<()> {
    writeln!(out, "<script type=\"text/plain\" id=\"{id}\">{base64}</script>")
}

/// Compresses bytes with raw deflate, which browsers can decompress natively, and encodes them as base64.
pub(crate) fn compress_base64(bytes: &[u8]) -> String {
    thread_local! {
        /// Reused because allocating the compressor's tables takes longer than compressing a small piece.
        static PACKER: RefCell<(Compressor, Vec<u8>)> = RefCell::new((
            Compressor::new(CompressionLvl::new(COMPRESSION_LEVEL).expect("the level is one of its own")),
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
    fn compressed_data_can_be_decompressed() {
        for text in ["", "a", &"long text ".repeat(100_000), "a"] {
            assert_eq!(compress_base64(text.as_bytes()), compress_base64(text.as_bytes()));
            let packed = BASE64.decode(compress_base64(text.as_bytes())).unwrap();
            let mut back = String::new();
            io::Read::read_to_string(&mut flate2::read::DeflateDecoder::new(packed.as_slice()), &mut back).unwrap();
            assert!(back == text);
        }
    }
}
