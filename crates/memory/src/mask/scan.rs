//! The rules over plain text: the content of a decoded string, a line of a text file, an incomplete line.

use super::commands;
use super::gate::{Action, Opening};
use super::judge;
use super::named::{self, Named};
use super::pem;
use super::places;
use super::rules::{Back, RULES, Rule, Tail};
use super::text::{is_left_border, is_word, skip};
use super::wrap;
use super::{Found, Masker, Tier, escape};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum length that a pattern can match; the tail covers the rest.
const PATTERN_BYTES_MAX: usize = 512;
/// Maximum distance from a token to the word that its rule requires nearby.
const NEAR_BYTES: usize = 200;
/// The number of bytes that are decoded before and after an escape: enough for a name and its value.
const ESCAPED_BYTES_BEFORE: usize = 256;
const ESCAPED_BYTES_BEHIND: usize = 2048;

/// Finds secrets in a text. The results are sorted and do not overlap.
pub(super) fn find(masker: &Masker, text: &[u8], levels: u8) -> Vec<Found> {
    let mut scan = Scan {
        masker,
        text,
        levels,
        found: Vec::new(),
        long_until: 0,
        escaped_until: 0,
        user_rules: Vec::new(),
    };
    masker.gate.each(text, |opening| scan.act(opening));
    scan.user_rules();
    masker.resolve(text, scan.found)
}

struct Scan<'a> {
    masker: &'a Masker,
    text: &'a [u8],
    levels: u8,
    found: Vec<Found>,
    /// See [`named::value_of`].
    long_until: usize,
    /// The end of the last text in which escapes were decoded.
    escaped_until: usize,
    /// The user rules that have a keyword in the text.
    user_rules: Vec<usize>,
}

impl Scan<'_> {
    /// Performs one action. Returns the position at which to continue, or 0 for the next byte.
    fn act(&mut self, opening: Opening) -> usize {
        let Opening { start, end, action } = opening;
        let text = self.text;
        match action {
            Action::Rule(index) => return self.token(index, start),
            Action::Name => {
                let named = named::value_of(text, start, end, &mut self.long_until);
                self.named(named.or_else(|| commands::netrc(text, start)));
            }
            Action::Link if text[start] == b'%' => self.named(places::escaped_link(text, end)),
            Action::Link => self.named(places::link(text, start)),
            Action::Authorization => self.named(places::authorization(text, end)),
            Action::Bearer => self.named(places::bearer(text, end)),
            Action::Cookie => {
                for named in places::cookies(text, end) {
                    self.named(Some(named));
                }
            }
            Action::Curl => self.named(commands::curl(text, end)),
            Action::Command => self.named(commands::password_flag(text, start, end)),
            Action::PasswordFile => self.named(commands::password_file(text, start, end)),
            Action::WebToken => {
                if let Some(end) = places::web_token_end(text, start) {
                    self.push_form("jwt", start..end);
                    return end;
                }
            }
            Action::PrivateKey => {
                if let Some(block) = pem::block_at(text, start) {
                    let fingerprint = self.masker.key.fingerprint(&block.key);
                    let end = block.range.end;
                    self.found
                        .push(Found::new(pem::NAME.into(), Tier::A, block.range, fingerprint));
                    return end;
                }
            }
            Action::Image => return image_end(text, end),
            Action::Bytes => return self.bytes(start),
            Action::UserRule(index) => {
                if !self.user_rules.contains(&index) {
                    self.user_rules.push(index);
                }
            }
            Action::Hidden => self.escaped(start),
        }
        0
    }

    fn push(&mut self, rule: &'static str, tier: Tier, range: Range<usize>) {
        let fingerprint = self.masker.key.fingerprint(&self.text[range.clone()]);
        self.found
            .push(Found::new(Cow::Borrowed(rule), tier, range, fingerprint));
    }

    fn push_form(&mut self, rule: &'static str, range: Range<usize>) {
        self.push(rule, Tier::A, range);
        if let Some(last) = self.found.last_mut() {
            last.by_form = true;
        }
    }

    fn named(&mut self, named: Option<Named>) {
        if let Some(named) = named {
            self.push(named.rule, named.tier, named.range);
        }
    }

    fn token(&mut self, index: usize, gate: usize) -> usize {
        let rule = &RULES[index];
        let Some(range) = self.token_at(index, gate) else {
            return self.wrapped_token(index, gate);
        };
        // A terminal may have wrapped it at the end of a full line.
        let rest = wrap::rest_of(self.text, &range, rule.tail);
        let secret: Vec<u8> = [range.clone()]
            .iter()
            .chain(&rest)
            .flat_map(|range| &self.text[range.clone()])
            .copied()
            .collect();
        self.push_pieces(rule.name, &secret, std::iter::once(range).chain(rest))
    }

    /// Tries a precise rule across line ends.
    fn wrapped_token(&mut self, index: usize, gate: usize) -> usize {
        let rule = &RULES[index];
        if rule.back != Back::Gate || rule.pattern.starts_with("(?s") || !is_left_border(self.text, gate) {
            return 0;
        }
        for breaks in 1..=wrap::BREAKS_MAX {
            let Some(joined) = wrap::join(self.text, gate, breaks, PATTERN_BYTES_MAX) else {
                return 0;
            };
            let Some(captures) = self.masker.pattern(index).captures(&joined.text) else {
                continue;
            };
            let Some(secret) = captures.get(1).or(captures.get(0)) else {
                continue;
            };
            let Some(end) = tail_end(&joined.text, secret.end(), rule.tail) else {
                continue;
            };
            let range = secret.start()..end;
            if !fits(rule, &joined.text, &range) || judge::is_wordy(&joined.text[range.clone()]) {
                return 0;
            }
            return self.push_pieces(
                rule.name,
                &joined.text[range.clone()],
                joined.pieces(&range).into_iter(),
            );
        }
        0
    }

    /// Adds the pieces of one secret. Returns the end of the last one.
    fn push_pieces(&mut self, rule: &'static str, secret: &[u8], pieces: impl Iterator<Item = Range<usize>>) -> usize {
        let fingerprint = self.masker.key.fingerprint(secret);
        let mut end = 0;
        for range in pieces {
            end = range.end;
            let mut found = Found::new(Cow::Borrowed(rule), Tier::A, range, fingerprint);
            found.by_form = true;
            self.found.push(found);
        }
        end
    }

    /// Decodes escapes such as `\u0067` in text that is a piece of JSON or of source code, and searches the result.
    fn escaped(&mut self, at: usize) {
        if self.levels == 0 || at < self.escaped_until {
            return;
        }
        let is_border = |byte: &u8| byte.is_ascii_whitespace();
        let from = at.saturating_sub(ESCAPED_BYTES_BEFORE).max(self.escaped_until);
        let start = self.text[from..at]
            .iter()
            .position(is_border)
            .map_or(from, |border| from + border);
        let near = self.text.len().min(at + ESCAPED_BYTES_BEHIND);
        let end = self.text[near..]
            .iter()
            .position(is_border)
            .map_or(self.text.len(), |border| near + border);
        let raw = &self.text[start..end];
        let mut found = find(self.masker, &escape::decode_string(raw), self.levels - 1);
        escape::to_raw_string(raw, &mut found);
        found.iter_mut().for_each(|hit| hit.shift(start));
        self.found.append(&mut found);
        self.escaped_until = end;
    }

    /// Tries a precise rule at its gate.
    fn token_at(&self, index: usize, gate: usize) -> Option<Range<usize>> {
        let (text, rule) = (self.text, &RULES[index]);
        let start = match rule.back {
            Back::Gate => gate,
            Back::Bytes(count) => gate.checked_sub(count)?,
            Back::Digits => {
                gate - text[..gate]
                    .iter()
                    .rev()
                    .take(10)
                    .take_while(|byte| byte.is_ascii_digit())
                    .count()
            }
        };
        let is_ahead = rule.pattern.starts_with("(?s");
        if !is_ahead && !is_left_border(text, start) {
            return None;
        }
        let window = &text[start..text.len().min(start + PATTERN_BYTES_MAX)];
        let captures = self.masker.pattern(index).captures(window)?;
        let secret = captures.get(1).or(captures.get(0))?;
        let range = start + secret.start()..tail_end(text, start + secret.end(), rule.tail)?;
        fits(rule, text, &range).then_some(range)
    }

    /// Searches the array of bytes that opens at `start`, even if it is cut off.
    fn bytes(&mut self, start: usize) -> usize {
        if self.levels == 0 || !escape::opens_byte_array(self.text, start) {
            return 0;
        }
        let raw = &self.text[start..];
        let bytes = escape::decode_bytes(raw);
        let mut found = self.masker.find(&bytes, self.levels - 1);
        escape::to_raw_bytes(raw, &mut found);
        found.iter_mut().for_each(|hit| hit.shift(start));
        self.found.append(&mut found);
        // Each number takes at least two bytes of text, so this position is certainly inside the part already searched.
        start + bytes.len() * 2
    }

    fn user_rules(&mut self) {
        for (index, rule) in self.masker.user_rules.iter().enumerate() {
            if !rule.keywords.is_empty() && !self.user_rules.contains(&index) {
                continue;
            }
            for captures in rule.pattern.captures_iter(self.text) {
                let Some(secret) = captures.get(1).or(captures.get(0)) else {
                    continue;
                };
                let fingerprint = self.masker.key.fingerprint(secret.as_bytes());
                self.found.push(Found::new(
                    Cow::Owned(rule.name.clone()),
                    rule.tier,
                    secret.range(),
                    fingerprint,
                ));
            }
        }
    }
}

/// Returns `true` if a token meets the conditions of its rule besides its form.
fn fits(rule: &Rule, text: &[u8], range: &Range<usize>) -> bool {
    let secret = &text[range.clone()];
    if judge::is_blank_form(secret) {
        return false;
    }
    // A prefix of two or three letters also occurs inside base64.
    let is_inside = || range.start > 0 && matches!(text[range.start - 1], b'-' | b'+');
    if rule.digit && (is_inside() || judge::is_words(secret) || !secret.iter().skip(4).any(u8::is_ascii_digit)) {
        return false;
    }
    rule.near.is_none_or(|word| {
        let around = &text[range.start.saturating_sub(NEAR_BYTES)..text.len().min(range.end + NEAR_BYTES)];
        judge::contains_ignoring_case(around, word.as_bytes())
    })
}

/// Returns the end of a token, or `None` if a character follows that the rule forbids.
fn tail_end(text: &[u8], end: usize, tail: Tail) -> Option<usize> {
    let go_on = |set: fn(u8) -> bool| skip(text, end, usize::MAX, set);
    match tail {
        Tail::Exact => text.get(end).is_none_or(|byte| !is_word(*byte)).then_some(end),
        Tail::Word => Some(go_on(is_word)),
        Tail::Dash => Some(go_on(|byte| is_word(byte) || byte == b'-')),
        Tail::Dots => {
            let far = go_on(|byte| is_word(byte) || matches!(byte, b'-' | b'.' | b'~'));
            let dots = text[end..far].iter().rev().take_while(|byte| **byte == b'.').count();
            Some(far - dots)
        }
        Tail::Base64 => Some(go_on(|byte| {
            is_word(byte) || matches!(byte, b'-' | b'+' | b'/' | b'=' | b'%')
        })),
    }
}

/// Returns the end of an image in a data link; `at` is the position after `data:image/`.
pub(super) fn image_end(text: &[u8], at: usize) -> usize {
    let kind_end = skip(text, at, 64, |byte| {
        is_word(byte) || matches!(byte, b'+' | b'-' | b'.' | b';' | b'=')
    });
    if !text[kind_end..].starts_with(b",") {
        return kind_end;
    }
    skip(text, kind_end + 1, usize::MAX, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
    })
}
