//! The tag that replaces a secret: `[REDACTED:<rule>:<8 hex>]`.
//!
//! The eight digits are a keyed hash: equal secrets have equal tags on one machine, and without the machine's key it is
//! impossible to test guesses of the secret against the tag. Exports contain numbers instead ([`Numbering`]). A tag
//! contains no character that JSON escapes, at any depth.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

const OPENING: &[u8] = b"[REDACTED:";
/// Maximum length of a rule name. Its characters are `a-z`, `0-9` and `-`.
pub(super) const RULE_BYTES_MAX: usize = 40;
/// Maximum length of a tag: opening, rule, separator, fingerprint or number, closing.
const TAG_BYTES_MAX: usize = OPENING.len() + RULE_BYTES_MAX + 22;

/// The key of this machine's fingerprints. It comes from the caller and is never shown.
#[derive(Clone)]
pub struct MaskKey([u8; 32]);

impl MaskKey {
    pub fn new(bytes: [u8; 32]) -> MaskKey {
        MaskKey(bytes)
    }

    pub(super) fn fingerprint(&self, secret: &[u8]) -> Fingerprint {
        let hash = blake3::keyed_hash(&self.0, secret);
        let [a, b, c, d, ..] = *hash.as_bytes();
        Fingerprint([a, b, c, d])
    }
}

impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKey(…)")
    }
}

/// Four bytes of the keyed hash of a secret, shown as eight hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 4]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

/// Returns the tag as bytes, encoded as integers `layers` times: `91,82,69,…` inside an array of bytes.
pub(super) fn render(rule: &str, fingerprint: Fingerprint, layers: u8) -> Vec<u8> {
    let mut tag = format!("[REDACTED:{rule}:{fingerprint}]").into_bytes();
    for _ in 0..layers {
        tag = as_integers(&tag);
    }
    tag
}

fn as_integers(bytes: &[u8]) -> Vec<u8> {
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    numbers.join(",").into_bytes()
}

pub(super) fn is_rule_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=RULE_BYTES_MAX).contains(&name.len()) && name.bytes().all(fits)
}

/// Returns `true` if a range of `text` overlaps a tag, because masked text is never masked again.
pub(super) fn overlaps_tag(text: &[u8], range: &Range<usize>) -> bool {
    let from = range.start.saturating_sub(TAG_BYTES_MAX);
    // A tag counts if it begins before the end of the range.
    let until = text.len().min(range.end + OPENING.len() - 1);
    let touches = |start: usize| parse(&text[start..]).is_some_and(|tag| start + tag.length > range.start);
    memchr::memmem::find_iter(&text[from..until], OPENING).any(|at| touches(from + at))
}

/// A tag at the beginning of some text.
struct Parsed<'a> {
    rule: &'a str,
    /// `None` if the tag already carries a number.
    fingerprint: Option<&'a str>,
    length: usize,
}

fn parse(text: &[u8]) -> Option<Parsed<'_>> {
    let rest = text.strip_prefix(OPENING)?;
    let rest = &rest[..rest.len().min(TAG_BYTES_MAX)];
    let close = memchr::memchr(b']', rest)?;
    let inside = std::str::from_utf8(&rest[..close]).ok()?;
    let length = OPENING.len() + close + 1;
    if let Some((rule, number)) = inside.split_once('#') {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return (is_rule_name(rule) && is_number).then_some(Parsed {
            rule,
            fingerprint: None,
            length,
        });
    }
    let (rule, hex) = inside.split_once(':')?;
    let is_hex = hex.len() == 8 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_rule_name(rule) && is_hex).then_some(Parsed {
        rule,
        fingerprint: Some(hex),
        length,
    })
}

/// Numbers secrets by rule in the order of their first occurrence, for exports: `[REDACTED:<rule>#<n>]`.
///
/// One numbering serves one export, so that equal secrets have equal numbers on all its pages.
#[derive(Debug, Default)]
pub struct Numbering {
    numbers: HashMap<(Box<str>, Box<str>), usize>,
    counts: HashMap<Box<str>, usize>,
}

impl Numbering {
    /// Replaces the fingerprints of all tags in a text or a line, including those in arrays of bytes.
    pub fn renumber<'a>(&mut self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let plain = self.replace(text, OPENING, |text| Some(text.to_vec()));
        let integers = as_integers(OPENING);
        match plain {
            Cow::Borrowed(text) => self.replace(text, &integers, from_integers),
            Cow::Owned(text) => Cow::Owned(self.replace(&text, &integers, from_integers).into_owned()),
        }
    }

    /// Does the same for a `str`.
    pub fn renumber_str<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        match self.renumber(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Only ASCII was removed and inserted, so this never replaces anything.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    fn replace<'a>(&mut self, text: &'a [u8], opening: &[u8], decode: fn(&[u8]) -> Option<Vec<u8>>) -> Cow<'a, [u8]> {
        let is_plain = opening == OPENING;
        let mut out = Vec::new();
        let mut done = 0;
        for start in memchr::memmem::find_iter(text, opening) {
            let window = &text[start..text.len().min(start + TAG_BYTES_MAX * 4)];
            let Some(decoded) = decode(if is_plain { window } else { integers_of_a_tag(window) }) else {
                continue;
            };
            let Some(Parsed {
                rule,
                fingerprint: Some(hex),
                length,
            }) = parse(&decoded)
            else {
                continue;
            };
            let tag = format!("[REDACTED:{rule}#{}]", self.number(rule, hex)).into_bytes();
            out.extend_from_slice(&text[done..start]);
            if is_plain {
                out.extend_from_slice(&tag);
                done = start + length;
            } else {
                out.extend_from_slice(&as_integers(&tag));
                done = start + as_integers(&decoded[..length]).len();
            }
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(&text[done..]);
        Cow::Owned(out)
    }

    fn number(&mut self, rule: &str, hex: &str) -> usize {
        let count = self.counts.entry(rule.into()).or_default();
        *self.numbers.entry((rule.into(), hex.into())).or_insert_with(|| {
            *count += 1;
            *count
        })
    }
}

/// Returns the integers from the beginning of `text` up to the one that closes a tag, in the format that we write.
fn integers_of_a_tag(text: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(text, b",93").map_or(0, |at| at + 3);
    &text[..end]
}

fn from_integers(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    text.split(',').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_wherever_a_range_touches_it() {
        let text = b"ab [REDACTED:x-1:0123abcd] cd [REDACTED:not a tag] [REDACTED:x#12]";
        for (range, expected) in [
            (0..3, false),
            (0..4, true),
            (10..12, true),
            (25..26, true),
            (26..29, false),
            (30..50, false),
            (50..53, true),
        ] {
            assert_eq!(overlaps_tag(text, &range), expected, "{range:?}");
        }
    }

    #[test]
    fn what_leaves_the_machine_has_numbers_for_fingerprints() {
        let mut numbering = Numbering::default();
        let text = "[REDACTED:a:00000001] [REDACTED:b:00000001] [REDACTED:a:00000002] [REDACTED:a:00000001]";
        assert_eq!(
            numbering.renumber_str(text),
            "[REDACTED:a#1] [REDACTED:b#1] [REDACTED:a#2] [REDACTED:a#1]"
        );
        let tag = render("a", Fingerprint([0, 0, 0, 2]), 1);
        let line = [b"[1,".as_slice(), &tag, b",10]"].concat();
        let expected = [b"[1,".as_slice(), &as_integers(b"[REDACTED:a#2]"), b",10]"].concat();
        assert_eq!(numbering.renumber(&line), expected);
        assert!(matches!(numbering.renumber(b"nothing here"), Cow::Borrowed(_)));
    }
}
