//! Private keys in blocks: `-----BEGIN … PRIVATE KEY-----`, complete or cut off, on one line or on many.
//!
//! The text after the first line may be quoted, indented, numbered by an editor or escaped, or it may be missing,
//! because prose and source code often mention that first line. So a block is a secret only if dense stretches of
//! base64 follow.

use super::commands;
use super::judge::{Classes, is_wordy};
use super::text::skip;
use std::ops::Range;

/// The name in the tag.
pub(super) const NAME: &str = "private-key";
/// Maximum number of bytes without key data before the first dense stretch (headers such as `DEK-Info`), or between
/// two.
const LOOSE_BYTES_MAX: usize = 240;
/// Maximum number of header lines before the key data.
const HEADER_LINES_MAX: u8 = 8;
/// The bit of the state byte that marks a `.netrc`.
const NETRC: u8 = 0x80;

/// The state of a plain-text part between two lines: whether a key continues.
///
/// It fits in one byte, so that a cursor can store it between two sweeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextState {
    inside: Inside,
    /// `true` if the previous line belongs to a `.netrc`.
    netrc: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Text,
    /// After the first line, with the number of header lines so far.
    Head(u8),
    /// Inside the key data.
    Body,
}

impl TextState {
    /// Returns the state as the byte that a cursor stores.
    pub fn to_byte(self) -> u8 {
        let inside = match self.inside {
            Inside::Text => 0,
            Inside::Body => 1,
            Inside::Head(lines) => 2 + lines,
        };
        inside | if self.netrc { NETRC } else { 0 }
    }

    /// Decodes the state from the byte of a cursor. An unknown byte is decoded as the initial state.
    pub fn from_byte(byte: u8) -> TextState {
        let inside = match byte & !NETRC {
            1 => Inside::Body,
            lines @ 2.. if lines - 2 <= HEADER_LINES_MAX => Inside::Head(lines - 2),
            _ => Inside::Text,
        };
        TextState {
            inside,
            netrc: byte & NETRC != 0,
        }
    }

    /// Records if a line belongs to a `.netrc`. Returns `true` if the previous line did.
    pub(super) fn pass_netrc(&mut self, line: &[u8]) -> bool {
        std::mem::replace(&mut self.netrc, commands::begins_netrc(line))
    }

    /// Advances over the next line. Returns the range of the line that belongs to a key from an earlier line.
    pub(super) fn continue_key(&mut self, line: &[u8]) -> Option<Range<usize>> {
        if self.inside == Inside::Text {
            return None;
        }
        if let Some(end) = memchr::memmem::find(line, b"-----END ") {
            let dense = first_dense(&line[..end], 0);
            let is_empty = dense.is_none() && self.inside != Inside::Body;
            self.inside = Inside::Text;
            return (!is_empty).then(|| dense.map_or(end, |dense| dense.start)..marker_end(line, end));
        }
        if let Some(first) = first_dense(line, 0) {
            self.inside = Inside::Body;
            let mut range = first;
            while let Some(next) = first_dense(line, range.end) {
                range.end = next.end;
            }
            return Some(range);
        }
        let is_masked = memchr::memmem::find(line, b"[REDACTED:").is_some();
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        self.inside = match self.inside {
            Inside::Head(lines) if (is_blank || is_masked || is_header(line)) && lines < HEADER_LINES_MAX => {
                Inside::Head(lines + 1)
            }
            // The last line of a key may be short. After it comes the end marker or other text.
            Inside::Body if is_short_end(line) => {
                let start = skip(line, 0, line.len(), |byte| byte.is_ascii_whitespace());
                let end = start + line[start..].trim_ascii_end().len();
                self.inside = Inside::Text;
                return Some(start..end);
            }
            Inside::Body if is_masked => Inside::Body,
            _ => Inside::Text,
        };
        None
    }

    /// Records if a key begins on this line and continues on the next. Returns the range of its first line if the line
    /// contains nothing else.
    pub(super) fn begin_key(&mut self, line: &[u8]) -> Option<Range<usize>> {
        let start = memchr::memmem::rfind(line, b"-----BEGIN ")?;
        let end = header_end(line, start)?;
        let rest = &line[end..];
        if memchr::memmem::find(rest, b"-----END ").is_some() {
            return None;
        }
        let has_body = first_dense(line, end).is_some();
        self.inside = if has_body { Inside::Body } else { Inside::Head(0) };
        let is_alone = rest.trim_ascii().is_empty() && line[..start].iter().all(|byte| !byte.is_ascii_alphabetic());
        (is_alone && !has_body).then_some(start..end)
    }
}

/// A complete block in one text.
pub(super) struct Block {
    pub(super) range: Range<usize>,
    /// The key data, without line breaks and other characters between its lines.
    pub(super) key: Vec<u8>,
}

/// Returns the block that begins at `start`, if it contains a key.
pub(super) fn block_at(text: &[u8], start: usize) -> Option<Block> {
    let mut at = header_end(text, start)?;
    let mut end = None;
    let mut key = Vec::new();
    let mut loose_bytes = 0;
    let mut is_between_lines = false;
    while at < text.len() && loose_bytes <= LOOSE_BYTES_MAX {
        let from = at;
        at = skip_between(text, at);
        loose_bytes += at - from;
        if text[at..].starts_with(b"-----END ") {
            return finished(start, marker_end(text, at), key);
        }
        if text[at..].starts_with(b"-----BEGIN ") {
            break;
        }
        let stop = skip(text, at, usize::MAX, is_base64);
        let chunk = &text[at..stop];
        // The last line of a key that was cut off may be short.
        let is_last = is_between_lines && stop == text.len() && !chunk.is_empty();
        if is_dense(chunk) || is_last {
            key.extend_from_slice(chunk);
            end = Some(stop);
            loose_bytes = 0;
            is_between_lines = true;
        } else {
            loose_bytes += chunk.len() + 1;
            is_between_lines &= chunk.iter().all(u8::is_ascii_digit);
        }
        at = stop.max(from + 1);
    }
    finished(start, end?, key)
}

fn finished(start: usize, end: usize, key: Vec<u8>) -> Option<Block> {
    (!key.is_empty()).then_some(Block { range: start..end, key })
}

/// Returns the end of the private-key header that begins at `start`.
fn header_end(text: &[u8], start: usize) -> Option<usize> {
    let line = &text[start..text.len().min(start + 64)];
    if let Some(rest) = line.strip_prefix(b"Private-Lines:") {
        let digits = skip(rest, 0, 8, |byte| byte == b' ' || byte.is_ascii_digit());
        return Some(start + b"Private-Lines:".len() + digits);
    }
    let name = line.strip_prefix(b"-----BEGIN ")?;
    let close = memchr::memmem::find(name, b"-----")?;
    let is_label = name[..close]
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
    let is_private = memchr::memmem::find(&name[..close], b"PRIVATE KEY").is_some();
    (is_label && is_private).then_some(start + b"-----BEGIN ".len() + close + b"-----".len())
}

/// Returns the end of the marker that begins at `start`: the end of its second row of dashes, if there is one nearby.
fn marker_end(text: &[u8], start: usize) -> usize {
    let from = start + b"-----END ".len();
    let rest = &text[from..text.len().min(from + 64)];
    memchr::memmem::find(rest, b"-----").map_or(from, |at| from + at + b"-----".len())
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Skips the characters between the lines of a key: white space, quotes, escaped line breaks, line prefixes of editors.
fn skip_between(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        if *byte == b'\\' {
            let letter = skip(text, at, usize::MAX, |byte| byte == b'\\');
            let is_break = matches!(text.get(letter), Some(b'n' | b'r' | b't'));
            at = letter + usize::from(is_break);
        } else if is_base64(*byte) || text[at..].starts_with(b"-----") {
            return at;
        } else {
            at += 1;
        }
    }
    at
}

/// Returns the first dense stretch at or after `from`.
fn first_dense(line: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = from;
    while at < line.len() {
        let start = skip(line, at, usize::MAX, |byte| !is_base64(byte));
        at = skip(line, start, usize::MAX, is_base64);
        if is_dense(&line[start..at]) {
            return Some(start..at);
        }
    }
    None
}

/// Returns `true` if a stretch of base64 looks like a line of a key rather than like a word.
fn is_dense(chunk: &[u8]) -> bool {
    let classes = Classes::of(chunk);
    let is_mixed = classes.upper && classes.lower && classes.digit;
    (chunk.len() >= 32 || chunk.len() >= 16 && is_mixed) && !is_wordy(chunk)
}

/// Returns `true` for a header such as `Proc-Type: 4,ENCRYPTED` or `Comment: …`.
fn is_header(line: &[u8]) -> bool {
    let name = skip(line, 0, 32, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    name > 0 && line.get(name) == Some(&b':')
}

/// Returns `true` if a short stretch is alone on its line, like the last line of a key.
fn is_short_end(line: &[u8]) -> bool {
    let word = line.trim_ascii();
    let classes = Classes::of(word);
    let looks_so = word.ends_with(b"=") || classes.count() >= 2;
    !word.is_empty() && word.iter().all(|byte| is_base64(*byte)) && looks_so
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    fn block(text: &str) -> Option<&str> {
        let start = text.find("-----BEGIN")?;
        block_at(text.as_bytes(), start).map(|block| &text[block.range])
    }

    #[test]
    fn a_block_is_found_whole_cut_short_quoted_numbered_and_escaped() {
        let begin = concat!("-----BEGIN RSA ", "PRIVATE KEY-----");
        let end = concat!("-----END RSA ", "PRIVATE KEY-----");
        for between in ["\n", "\\n", "\\\\n", "\n     2→", "\n+", "\",\n  \"", "\n> "] {
            let whole = [begin, LINE, LINE, "Ab3=", end].join(between);
            assert_eq!(block(&format!("a {whole} b")), Some(whole.as_str()), "{between:?}");
            let cut = [begin, LINE, LINE].join(between);
            assert_eq!(block(&format!("a {cut}")), Some(cut.as_str()), "{between:?}");
            assert_eq!(
                block(&format!("a {cut}\nThanks for the key")),
                Some(cut.as_str()),
                "{between:?}"
            );
        }
        let headers = format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n{LINE}\n{end}");
        assert_eq!(block(&headers), Some(headers.as_str()));
    }

    #[test]
    fn a_first_line_alone_is_no_secret() {
        let begin = concat!("-----BEGIN ", "PRIVATE KEY-----");
        for rest in [
            "",
            "\n...\n-----END PRIVATE KEY-----",
            " is how a key starts",
            "\") { return parsePrivateKeyFromPemBlock(key) }",
        ] {
            assert_eq!(block(&format!("{begin}{rest}")), None, "{rest}");
        }
        assert_eq!(
            block(&format!("-----BEGIN PUBLIC KEY-----\n{LINE}\n-----END PUBLIC KEY-----")),
            None
        );
        assert_eq!(block(&format!("-----BEGIN CERTIFICATE-----\n{LINE}")), None);
    }

    #[test]
    fn a_state_survives_as_a_byte() {
        for byte in 0..=255 {
            let state = TextState::from_byte(byte);
            assert_eq!(TextState::from_byte(state.to_byte()), state);
        }
    }
}
