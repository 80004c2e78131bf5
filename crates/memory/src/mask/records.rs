//! Secrets in JSON: the walk decodes every string and key and reports secrets as raw ranges.
//!
//! It only decodes strings in which the gate opens. A line may contain several concatenated records, or an incomplete
//! one: text that cannot be parsed as JSON is scanned as plain text. The walk is iterative: its stack holds one byte
//! for each open bracket.

use super::escape::{self, skip_space};
use super::gate::{self, Action};
use super::named::{self, Form, Kind};
use super::places;
use super::{Found, Masker, scan};
use std::ops::Range;

/// Limits the work on invalid JSON to this multiple of the length of the text, because the walk restarts at each
/// record.
const WALKS_MAX: usize = 8;
/// Maximum number of openings that are stored; with more, every string is decoded.
const OPENINGS_MAX: usize = 1 << 16;
/// Minimum length from which the value of an opaque key is skipped if it is pure base64.
const OPAQUE_BYTES_MIN: usize = 100;

/// The state of an open bracket, one bit each.
const OBJECT: u8 = 1;
/// The object declares its data as an image.
const IMAGE: u8 = 2;
/// The object is a pair of `name` and `value`, and the name suggests a secret.
const NAMED: u8 = 4;
const NAMED_STRONG: u8 = 8;
const NAMED_PASSWORD: u8 = NAMED | NAMED_STRONG;
const NAMED_KEY: u8 = 32;
/// The last string of the array is a flag such as `--password`.
const FLAGGED: u8 = 16;

/// Keys with opaque values: signatures and ciphertext, which no rule can decode.
const OPAQUE_KEYS: [&[u8]; 4] = [
    b"signature",
    b"encrypted_content",
    b"thoughtSignature",
    b"thought_signature",
];
/// The base64 prefixes of images and PDF documents.
const IMAGE_STARTS: [&[u8]; 5] = [b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UklGR", b"JVBERi0"];

/// Finds secrets in a text of JSON records. The results are sorted and do not overlap.
pub(super) fn find(masker: &Masker, text: &[u8], levels: u8) -> Vec<Found> {
    let Some(openings) = openings(masker, text) else {
        return Vec::new();
    };
    let mut walk = Walk {
        masker,
        text,
        levels,
        openings,
        found: Vec::new(),
        stack: Vec::new(),
        key: Key::default(),
        last_string: 0,
        is_torn: false,
        furthest: 0,
        steps_left: text.len().saturating_mul(WALKS_MAX).saturating_add(1 << 12),
    };
    let mut at = skip_space(text, 0);
    let mut unwalked = at;
    while at < text.len() && walk.steps_left > 0 {
        // Text that begins with a quoted name is not a record: parsed as one, the name would be separated from its
        // value.
        let found = walk.found.len();
        let walked = match walk.value(at) {
            Ok(end) if !matches!(text[at], b'{' | b'[') && skip_space(text, end) < text.len() => {
                walk.found.truncate(found);
                Err(at)
            }
            walked => walked,
        };
        match walked {
            Ok(end) => {
                walk.scan_raw(unwalked..at);
                at = skip_space(text, end);
                unwalked = at;
            }
            Err(from) => {
                // The bytes of the failed walk count against the limit, and a constant for the search.
                let steps = walk.furthest.saturating_sub(at) + 64;
                walk.steps_left = walk.steps_left.saturating_sub(steps);
                let from = from.max(at + 1);
                let next = text.get(from..).and_then(|rest| memchr::memmem::find(rest, b"{\""));
                at = next.map_or(text.len(), |next| from + next);
            }
        }
    }
    walk.scan_raw(unwalked..text.len());
    masker.resolve(text, walk.found)
}

/// Returns the positions at which the gate opens, or `None` if there are none. An empty list means everywhere.
fn openings(masker: &Masker, text: &[u8]) -> Option<Vec<usize>> {
    if masker.looks_everywhere {
        return Some(Vec::new());
    }
    let mut openings = Vec::new();
    masker.gate.each(text, |opening| {
        if opening.action == Action::Image {
            return scan::image_end(text, opening.end);
        }
        if openings.len() <= OPENINGS_MAX && gate::is_plausible(text, opening) {
            openings.push(opening.start);
        }
        0
    });
    if openings.len() > OPENINGS_MAX {
        return Some(Vec::new());
    }
    // The gate reports them in the order of their windows.
    openings.sort_unstable();
    (!openings.is_empty()).then_some(openings)
}

/// The properties of a value that follow from its key.
#[derive(Default, Clone, Copy)]
struct Key {
    kind: Option<Kind>,
    role: Role,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Role {
    #[default]
    Other,
    Opaque,
    Data,
    MediaType,
    Name,
    Value,
}

struct Walk<'a> {
    masker: &'a Masker,
    text: &'a [u8],
    levels: u8,
    openings: Vec<usize>,
    found: Vec<Found>,
    stack: Vec<u8>,
    key: Key,
    /// The start of the last string: if it was incomplete, another record may begin inside it.
    last_string: usize,
    /// `true` once the rest of the text was searched as an incomplete string.
    is_torn: bool,
    /// The position that the last walk reached.
    furthest: usize,
    /// The number of bytes that failed walks may still visit.
    steps_left: usize,
}

/// The tokens that the grammar allows next.
#[derive(Clone, Copy)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

impl Walk<'_> {
    /// Walks the value at `at`. Returns its end, or as an error the position from which to search for another record.
    fn value(&mut self, at: usize) -> Result<usize, usize> {
        self.stack.clear();
        self.key = Key::default();
        self.last_string = at;
        let mut at = at;
        let mut next = Next::Value;
        loop {
            at = skip_space(self.text, at);
            self.furthest = at;
            let byte = *self.text.get(at).ok_or(self.last_string)?;
            (at, next) = match (next, byte) {
                (Next::ValueOrEnd, b']') | (Next::KeyOrEnd, b'}') => self.close(at),
                (Next::CommaOrEnd, b',') if self.is_in_object() => (at + 1, Next::Key),
                (Next::CommaOrEnd, b',') => (at + 1, Next::Value),
                (Next::CommaOrEnd, b'}') if self.is_in_object() => self.close(at),
                (Next::CommaOrEnd, b']') if !self.is_in_object() => self.close(at),
                (Next::Key | Next::KeyOrEnd, b'"') => (self.key(at)?, Next::Value),
                (Next::Value | Next::ValueOrEnd, b'{') => self.open(at, OBJECT, Next::KeyOrEnd),
                (Next::Value | Next::ValueOrEnd, b'[') => match escape::byte_array_end(self.text, at) {
                    Some(end) => (self.bytes(at..end), Next::CommaOrEnd),
                    None => self.open(at, 0, Next::ValueOrEnd),
                },
                (Next::Value | Next::ValueOrEnd, b'"') => (self.string(at)?, Next::CommaOrEnd),
                (Next::Value | Next::ValueOrEnd, _) => (self.scalar(at).ok_or(self.last_string)?, Next::CommaOrEnd),
                _ => return Err(self.last_string),
            };
            if self.stack.is_empty() {
                return Ok(at);
            }
        }
    }

    fn is_in_object(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame & OBJECT != 0)
    }

    fn open(&mut self, at: usize, frame: u8, next: Next) -> (usize, Next) {
        self.stack.push(frame);
        self.key = Key::default();
        (at + 1, next)
    }

    fn close(&mut self, at: usize) -> (usize, Next) {
        self.stack.pop();
        (at + 1, Next::CommaOrEnd)
    }

    /// Returns the end of a number, `true`, `false` or `null`, none of which can hold a secret.
    fn scalar(&self, at: usize) -> Option<usize> {
        let is_scalar = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = self.text[at..].iter().take_while(is_scalar).count();
        let scalar = &self.text[at..at + length];
        let is_number = scalar
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
        (length > 0 && (is_number || matches!(scalar, b"true" | b"false" | b"null"))).then_some(at + length)
    }

    /// Returns the position of the closing quote of the string that opens at `at`.
    fn closing_quote(&mut self, at: usize) -> Result<usize, usize> {
        self.last_string = at;
        let mut from = at + 1;
        while let Some(found) = self
            .text
            .get(from..)
            .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
        {
            if self.text[from + found] == b'"' {
                return Ok(from + found);
            }
            from += found + 2;
        }
        // The string is incomplete, but its content is still escaped. It is decoded only once per text.
        let inside = at + 1..self.text.len();
        if !self.is_torn && self.is_open(&inside) {
            self.is_torn = true;
            let found = self
                .masker
                .find(&escape::decode_string(&self.text[inside.clone()]), self.levels - 1);
            self.take_string(found, &inside);
        }
        Err(at)
    }

    /// Walks a key and its colon. Returns the position where its value may begin.
    fn key(&mut self, at: usize) -> Result<usize, usize> {
        let quote = self.closing_quote(at)?;
        let inside = at + 1..quote;
        let colon = skip_space(self.text, quote + 1);
        if self.text.get(colon) != Some(&b':') {
            return Err(at);
        }
        let role = match &self.text[inside.clone()] {
            b"data" => Role::Data,
            b"media_type" | b"mimeType" | b"mime_type" => Role::MediaType,
            b"name" | b"key" | b"Name" | b"Key" => Role::Name,
            b"value" | b"Value" => Role::Value,
            key if OPAQUE_KEYS.contains(&key) => Role::Opaque,
            _ => Role::Other,
        };
        self.key = Key { kind: None, role };
        if role == Role::Value {
            self.key.kind = self.stack.last().and_then(|frame| named_kind(*frame));
        }
        if self.is_open(&inside) {
            let decoded = escape::decode_string(&self.text[inside.clone()]);
            self.key.kind = named::kind_of(&decoded).or(self.key.kind);
            let found = self.masker.find(&decoded, self.levels - 1);
            self.take_string(found, &inside);
        }
        Ok(colon + 1)
    }

    /// Walks a string value. Returns its end.
    fn string(&mut self, at: usize) -> Result<usize, usize> {
        let quote = self.closing_quote(at)?;
        let inside = at + 1..quote;
        let raw = &self.text[inside.clone()];
        let key = std::mem::take(&mut self.key);
        let frame = self.stack.last().copied().unwrap_or_default();
        if key.role == Role::MediaType && raw.starts_with(b"image") {
            self.mark(IMAGE);
        }
        let flag = if frame & FLAGGED != 0 { named_kind(frame) } else { None };
        self.unmark(FLAGGED);
        let is_open = self.is_open(&inside);
        if !is_open && key.kind.is_none() && flag.is_none() || is_skipped(key.role, frame, raw) {
            return Ok(quote + 1);
        }
        let decoded = escape::decode_string(raw);
        let mut found = if is_open {
            self.masker.find(&decoded, self.levels - 1)
        } else {
            Vec::new()
        };
        if let Some(kind) = key.kind {
            self.pair(kind, Form::Assigned, &decoded, &mut found);
        }
        if let Some(kind) = flag {
            self.pair(kind, Form::Flag, &decoded, &mut found);
        }
        if is_open {
            self.remember_name(key.role, frame, &decoded);
        }
        let found = self.masker.resolve(&decoded, found);
        self.take_string(found, &inside);
        Ok(quote + 1)
    }

    /// Records that a string is the name of a secret which the next string may hold.
    fn remember_name(&mut self, role: Role, frame: u8, text: &[u8]) {
        let (kind, mark) = if frame & OBJECT == 0 {
            (named::flag_kind(text), FLAGGED)
        } else if role == Role::Name {
            (named::kind_of(text), 0)
        } else {
            return;
        };
        self.unmark(NAMED | NAMED_STRONG | NAMED_KEY);
        match kind {
            Some(Kind::Weak) => self.mark(NAMED | mark),
            Some(Kind::Password) => self.mark(NAMED_PASSWORD | mark),
            Some(Kind::Key) => self.mark(NAMED_KEY | mark),
            Some(_) => self.mark(NAMED_STRONG | mark),
            None => {}
        }
    }

    fn mark(&mut self, bits: u8) {
        if let Some(frame) = self.stack.last_mut() {
            *frame |= bits;
        }
    }

    fn unmark(&mut self, bits: u8) {
        if let Some(frame) = self.stack.last_mut() {
            *frame &= !bits;
        }
    }

    /// Judges a whole string by its key.
    fn pair(&self, kind: Kind, form: Form, value: &[u8], found: &mut Vec<Found>) {
        let named = match kind {
            Kind::Authorization => places::authorization_value(value).into_iter().collect(),
            Kind::Cookie => places::cookie_values(value),
            _ => named::judge(kind, form, value, 0).into_iter().collect(),
        };
        for named in named {
            let fingerprint = self.masker.key.fingerprint(&value[named.range.clone()]);
            found.push(Found::new(named.rule.into(), named.tier, named.range, fingerprint));
        }
    }

    fn bytes(&mut self, range: Range<usize>) -> usize {
        self.key = Key::default();
        if self.is_open(&range) {
            let raw = &self.text[range.clone()];
            let mut found = self.masker.find(&escape::decode_bytes(raw), self.levels - 1);
            escape::to_raw_bytes(raw, &mut found);
            self.take(found, range.start);
        }
        range.end
    }

    /// Returns `true` if the gate opens somewhere in a range.
    fn is_open(&self, range: &Range<usize>) -> bool {
        let next = self.openings.partition_point(|at| *at < range.start);
        self.openings.is_empty() || self.openings.get(next).is_some_and(|at| *at < range.end)
    }

    fn take_string(&mut self, mut found: Vec<Found>, inside: &Range<usize>) {
        if !found.is_empty() {
            escape::to_raw_string(&self.text[inside.clone()], &mut found);
            self.take(found, inside.start);
        }
    }

    fn take(&mut self, mut found: Vec<Found>, offset: usize) {
        found.iter_mut().for_each(|hit| hit.shift(offset));
        self.found.append(&mut found);
    }

    /// Scans text that is not valid JSON as plain text.
    fn scan_raw(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            let found = scan::find(self.masker, &self.text[range.clone()], self.levels);
            self.take(found, range.start);
        }
    }
}

fn named_kind(frame: u8) -> Option<Kind> {
    match frame & (NAMED | NAMED_STRONG | NAMED_KEY) {
        0 => None,
        NAMED => Some(Kind::Weak),
        NAMED_STRONG => Some(Kind::Strong),
        NAMED_PASSWORD => Some(Kind::Password),
        _ => Some(Kind::Key),
    }
}

/// Returns `true` if a string cannot hold a secret that we could find: images, signatures, ciphertext.
fn is_skipped(role: Role, frame: u8, raw: &[u8]) -> bool {
    let may_be = match role {
        Role::Opaque => true,
        Role::Data => frame & IMAGE != 0 || IMAGE_STARTS.iter().any(|start| raw.starts_with(start)),
        _ => false,
    };
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    may_be && raw.len() >= OPAQUE_BYTES_MIN && raw.iter().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_nesting_is_walked_without_recursion() {
        let masker = Masker::for_test();
        let deep = 100_000;
        let secret = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
        let line = format!("{}\"{secret}\"{}", "[".repeat(deep), "]".repeat(deep));
        let found = find(&masker, line.as_bytes(), 4);
        assert_eq!(
            found.iter().map(|hit| &line[hit.range.clone()]).collect::<Vec<_>>(),
            [secret]
        );
        assert!(find(&masker, "[".repeat(deep).as_bytes(), 4).is_empty());
        assert!(find(&masker, "{\"a\":".repeat(deep).as_bytes(), 4).is_empty());
    }
}
