//! Masking: replaces secrets before the first byte of a log reaches our disk.
//!
//! The masker searches the decoded content of a line, not its notation: it decodes strings and keys of JSON, strings
//! that contain JSON, and arrays of bytes. It replaces only the raw bytes of the secret, with a tag that names the rule
//! and a keyed fingerprint. A line of JSON remains valid JSON of the same shape. Masking is idempotent.
//!
//! This module does not access the disk or the configuration: the key and the user's rules are arguments. It does not
//! promise to find every secret, because one without a known form and without a telling name looks like any other text.

mod commands;
mod escape;
mod gate;
mod judge;
mod named;
mod pairs;
mod pem;
mod places;
mod records;
mod rules;
mod scan;
mod stream;
mod tag;
mod text;
mod version;
mod wrap;

pub use pem::TextState;
pub use stream::LineState;
pub use tag::{Fingerprint, MaskKey, Numbering};
pub use version::MaskVersion;

use gate::Gate;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// The version of the rules and of the way they are applied. Packs store it; text that an older version masked is
/// masked again.
pub const MASK_VERSION: u32 = 2;

/// Maximum depth of JSON inside JSON that is decoded: the line itself, and strings in it that are JSON.
const LEVELS: u8 = 4;
/// Maximum number of passes over a line. A replaced secret may uncover another one beside it.
const PASSES_MAX: usize = 8;

/// The confidence of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Precise: the form or the place leaves no doubt.
    A,
    /// Contextual: a telling name, and a value that looks random.
    B,
}

/// One masked secret. It never holds the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The name of the rule, as in the tag.
    pub rule: Cow<'static, str>,
    pub tier: Tier,
    pub fingerprint: Fingerprint,
    /// The bytes of the line that were replaced.
    pub range: Range<usize>,
}

/// The rules that the user adds, and the texts that the user allows.
#[derive(Debug, Clone, Default)]
pub struct UserRules {
    pub rules: Vec<UserRule>,
    /// Texts that are never secrets.
    pub allowed_texts: Vec<String>,
    /// Patterns of texts that are never secrets; a match anywhere in the text is enough.
    pub allowed_patterns: Vec<String>,
}

/// A rule of the user.
#[derive(Debug, Clone)]
pub struct UserRule {
    /// The name in the tag: `a-z`, `0-9` and `-`.
    pub name: String,
    /// A pattern over decoded text. Its first group is the secret; without a group, the whole match is.
    pub pattern: String,
    /// Keywords, of which every match of the pattern contains at least one. Without keywords the masker decodes every
    /// string of every line, which is several times slower.
    pub keywords: Vec<String>,
    pub tier: Tier,
}

/// Why the user's rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    #[error("rule names have 1 to 40 of `a-z`, `0-9` and `-`: `{0}`")]
    Name(String),
    #[error("cannot read the pattern of `{name}`: `{pattern}`")]
    Pattern {
        name: String,
        pattern: String,
        source: Box<regex::Error>,
    },
    #[error("pattern of `{0}` matches the empty text")]
    Empty(String),
}

/// The compiled rules and the key. Threads share one masker.
#[derive(Debug)]
pub struct Masker {
    key: MaskKey,
    gate: Gate,
    /// Compiled on first use, because most patterns are never needed.
    patterns: Vec<OnceLock<Regex>>,
    user_rules: Vec<CompiledRule>,
    allowed_texts: Vec<String>,
    allowed_patterns: Vec<Regex>,
    /// `true` if a user rule has no keyword, so that the gate cannot exclude any text.
    looks_everywhere: bool,
    version: MaskVersion,
}

/// Returns the names and tiers of all built-in rules.
pub fn rules() -> impl Iterator<Item = (&'static str, Tier)> {
    let forms = rules::RULES.iter().map(|rule| (rule.name, Tier::A));
    forms.chain(places::RULES.iter().copied())
}

#[derive(Debug)]
struct CompiledRule {
    name: String,
    pattern: Regex,
    keywords: Vec<String>,
    tier: Tier,
}

impl Masker {
    /// Compiles the rules.
    ///
    /// # Errors
    ///
    /// Returns an error if a user rule has an invalid name or pattern.
    pub fn new(key: &MaskKey, user: &UserRules) -> Result<Masker, MaskError> {
        let user_rules = user.rules.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
        let allowed = user
            .allowed_patterns
            .iter()
            .map(|pattern| compile_pattern("allow", pattern));
        let keywords: Vec<_> = user_rules
            .iter()
            .enumerate()
            .flat_map(|(index, rule)| rule.keywords.iter().map(move |keyword| (index, keyword.as_str())))
            .collect();
        Ok(Masker {
            key: key.clone(),
            gate: Gate::new(&keywords),
            patterns: rules::RULES.iter().map(|_| OnceLock::new()).collect(),
            allowed_texts: user.allowed_texts.clone(),
            allowed_patterns: allowed.collect::<Result<_, _>>()?,
            looks_everywhere: user_rules.iter().any(|rule| rule.keywords.is_empty()),
            user_rules,
            version: MaskVersion::of(user),
        })
    }

    /// Returns the version of the rules.
    pub fn version(&self) -> MaskVersion {
        self.version
    }

    /// Masks one line of JSON Lines on its own, without state of the lines before it. Only the tests of the rules need
    /// that.
    #[cfg(test)]
    fn mask_json_line<'a>(&self, line: &'a [u8], hits: &mut Vec<Hit>) -> Cow<'a, [u8]> {
        self.mask(line, hits, |text| records::find(self, text, LEVELS))
    }

    /// Masks the next line of a log, with the state of the lines before it (see [`LineState`]). Returns a borrowed line
    /// if there is nothing to mask.
    pub fn mask_next_line<'a>(&self, state: &mut LineState, line: &'a [u8], hits: &mut Vec<Hit>) -> Cow<'a, [u8]> {
        let carried = stream::find(self, state, line);
        self.mask_with(line, hits, carried, |text| records::find(self, text, LEVELS))
    }

    /// Masks the last line of a log if it has no line break yet: a token may be cut off at its end.
    pub(crate) fn mask_torn_line<'a>(
        &self,
        state: &mut LineState,
        line: &'a [u8],
        hits: &mut Vec<Hit>,
    ) -> Cow<'a, [u8]> {
        let mut carried = stream::find(self, state, line);
        carried.append(&mut stream::find_torn(self, line));
        self.mask_with(line, hits, carried, |text| records::find(self, text, LEVELS))
    }

    /// Masks the next line of a log. `is_known_clean` returns `true` if an earlier run found no secret in the line; it
    /// is only called if no token of an earlier line continues in this one. The state advances in both cases.
    pub(crate) fn mask_next_line_again<'a>(
        &self,
        state: &mut LineState,
        line: &'a [u8],
        hits: &mut Vec<Hit>,
        is_known_clean: impl FnOnce() -> bool,
    ) -> Cow<'a, [u8]> {
        let carried = stream::find(self, state, line);
        if carried.is_empty() && is_known_clean() {
            return Cow::Borrowed(line);
        }
        self.mask_with(line, hits, carried, |text| records::find(self, text, LEVELS))
    }

    /// Advances the state over a line that is not shown.
    pub(crate) fn skip_line(&self, state: &mut LineState, line: &[u8]) {
        stream::find(self, state, line);
    }

    /// Masks the next line of a plain-text part. `state` carries a private key that spans several lines.
    pub fn mask_text_line<'a>(&self, state: &mut TextState, line: &'a [u8], hits: &mut Vec<Hit>) -> Cow<'a, [u8]> {
        let key_line = state.continue_key(line).or_else(|| state.begin_key(line));
        let netrc_line = state.pass_netrc(line).then(|| commands::netrc_line(line)).flatten();
        let carried = [
            key_line.map(|range| (pem::NAME, range)),
            netrc_line.map(|named| (named.rule, named.range)),
        ];
        let found = |(rule, range): (&'static str, Range<usize>)| {
            let fingerprint = self.key.fingerprint(&line[range.clone()]);
            Found::new(rule.into(), Tier::A, range, fingerprint)
        };
        let carried: Vec<Found> = carried.into_iter().flatten().map(found).collect();
        self.mask_with(line, hits, carried, |text| self.find(text, LEVELS))
    }

    /// Masks text that we are about to show, such as digests and pages.
    pub fn mask_str<'a>(&self, text: &'a str, hits: &mut Vec<Hit>) -> Cow<'a, str> {
        match self.mask(text.as_bytes(), hits, |text| self.find(text, LEVELS)) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Whole characters were replaced by ASCII, so this never replaces anything.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Does the same as `mask`, and also replaces the ranges that earlier lines imply.
    fn mask_with<'a>(
        &self,
        line: &'a [u8],
        hits: &mut Vec<Hit>,
        carried: Vec<Found>,
        find: impl Fn(&[u8]) -> Vec<Found>,
    ) -> Cow<'a, [u8]> {
        // The carried ranges refer to the original line, so only the first pass may use them.
        let carried = std::cell::Cell::new(carried);
        self.mask(line, hits, |text| {
            let mut found = find(text);
            found.append(&mut carried.take());
            self.resolve(text, found)
        })
    }

    /// Replaces what `find` returns, and repeats this until `find` returns nothing or `PASSES_MAX` is reached.
    fn mask<'a>(&self, line: &'a [u8], hits: &mut Vec<Hit>, find: impl Fn(&[u8]) -> Vec<Found>) -> Cow<'a, [u8]> {
        let mut found = find(line);
        if found.is_empty() {
            return Cow::Borrowed(line);
        }
        let mut masked = splice(line, &found);
        for _ in 1..PASSES_MAX {
            let more = find(&masked);
            if more.is_empty() {
                break;
            }
            found = merge(found, more);
            masked = splice(line, &found);
        }
        hits.extend(found.into_iter().map(Found::into_hit));
        Cow::Owned(masked)
    }

    /// Finds secrets in decoded text, which may itself be JSON. The results are sorted and do not overlap.
    fn find(&self, text: &[u8], levels: u8) -> Vec<Found> {
        let first = text.get(escape::skip_space(text, 0));
        if levels > 0 && matches!(first, Some(b'{' | b'[' | b'"')) {
            records::find(self, text, levels)
        } else {
            scan::find(self, text, levels)
        }
    }

    /// Drops secrets that are allowed or already masked, and joins those that overlap. The rule with the higher
    /// confidence names the result.
    fn resolve(&self, text: &[u8], mut found: Vec<Found>) -> Vec<Found> {
        found
            .iter_mut()
            .for_each(|hit| hit.range = whole_characters(text, &hit.range));
        found.retain(|hit| {
            let secret = &text[hit.range.clone()];
            !secret.is_empty() && !tag::overlaps_tag(text, &hit.range) && !self.is_allowed(secret)
        });
        found.sort_by_key(|hit| (hit.range.start, hit.sureness(), std::cmp::Reverse(hit.range.end)));
        let mut joined: Vec<Found> = Vec::with_capacity(found.len());
        for hit in found {
            match joined.last_mut() {
                Some(last) if hit.range.start < last.range.end => {
                    let range = last.range.start..last.range.end.max(hit.range.end);
                    let layers = last.layers.max(hit.layers);
                    let surest = if hit.sureness() < last.sureness() {
                        hit
                    } else {
                        last.clone()
                    };
                    let is_same = surest.range == range;
                    *last = Found {
                        range: range.clone(),
                        layers,
                        ..surest
                    };
                    if !is_same {
                        last.fingerprint = self.key.fingerprint(&text[range]);
                    }
                }
                _ => joined.push(hit),
            }
        }
        joined
    }

    fn is_allowed(&self, secret: &[u8]) -> bool {
        self.allowed_texts.iter().any(|text| text.as_bytes() == secret)
            || self.allowed_patterns.iter().any(|pattern| pattern.is_match(secret))
    }

    /// Returns the pattern of a precise rule, anchored at the start.
    fn pattern(&self, index: usize) -> &Regex {
        self.patterns[index].get_or_init(|| {
            let pattern = format!(r"\A(?:{})", rules::RULES[index].pattern);
            RegexBuilder::new(&pattern)
                .unicode(false)
                .build()
                .expect("every pattern of the table is tested")
        })
    }
}

fn compile(rule: &UserRule) -> Result<CompiledRule, MaskError> {
    if !tag::is_rule_name(&rule.name) {
        return Err(MaskError::Name(rule.name.clone()));
    }
    let pattern = compile_pattern(&rule.name, &rule.pattern)?;
    if pattern.is_match(b"") {
        return Err(MaskError::Empty(rule.name.clone()));
    }
    let keywords = rule.keywords.iter();
    // The gate cannot find a keyword this short, so the rule is treated as one without keywords.
    let is_short = keywords.clone().any(|keyword| keyword.len() < gate::LITERAL_BYTES_MIN);
    let keywords = if is_short {
        Vec::new()
    } else {
        keywords.cloned().collect()
    };
    Ok(CompiledRule {
        name: rule.name.clone(),
        pattern,
        keywords,
        tier: rule.tier,
    })
}

fn compile_pattern(name: &str, pattern: &str) -> Result<Regex, MaskError> {
    Regex::new(pattern).map_err(|source| MaskError::Pattern {
        name: name.to_string(),
        pattern: pattern.to_string(),
        source: Box::new(source),
    })
}

/// A secret in the text that is being searched.
#[derive(Debug, Clone)]
struct Found {
    rule: Cow<'static, str>,
    tier: Tier,
    range: Range<usize>,
    fingerprint: Fingerprint,
    /// `true` if a rule recognised the secret by its form, which gives a better name than its place.
    by_form: bool,
    /// The number of nested byte arrays around the secret: its tag is encoded as integers that many times.
    layers: u8,
}

impl Found {
    fn new(rule: Cow<'static, str>, tier: Tier, range: Range<usize>, fingerprint: Fingerprint) -> Found {
        Found {
            rule,
            tier,
            range,
            fingerprint,
            by_form: false,
            layers: 0,
        }
    }

    /// Returns a sort key; a lower key means more confidence.
    fn sureness(&self) -> (bool, Tier) {
        (!self.by_form, self.tier)
    }

    fn shift(&mut self, offset: usize) {
        self.range = self.range.start + offset..self.range.end + offset;
    }

    fn into_hit(self) -> Hit {
        Hit {
            rule: self.rule,
            tier: self.tier,
            fingerprint: self.fingerprint,
            range: self.range,
        }
    }

    fn tag(&self) -> Vec<u8> {
        tag::render(&self.rule, self.fingerprint, self.layers)
    }

    #[cfg(test)]
    fn for_test(range: Range<usize>) -> Found {
        Found::new("test".into(), Tier::A, range, Fingerprint([0; 4]))
    }
}

#[cfg(test)]
impl Masker {
    fn for_test() -> Masker {
        Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules compile")
    }
}

/// Replaces each secret by its tag.
fn splice(line: &[u8], found: &[Found]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(line.len() + found.len() * 16);
    let mut done = 0;
    for hit in found {
        masked.extend_from_slice(&line[done..hit.range.start]);
        masked.extend_from_slice(&hit.tag());
        done = hit.range.end;
    }
    masked.extend_from_slice(&line[done..]);
    masked
}

/// Merges the hits of a line with the hits in its masked text, which never overlap a tag.
fn merge(found: Vec<Found>, more: Vec<Found>) -> Vec<Found> {
    let mut merged = Vec::with_capacity(found.len() + more.len());
    let mut more = more.into_iter().peekable();
    // The bytes that tags added and secrets removed before the current position: offsets in the masked line differ by
    // them.
    let (mut added, mut removed) = (0, 0);
    for hit in found {
        let start = hit.range.start + added - removed;
        while let Some(next) = more.next_if(|next| next.range.start < start) {
            merged.push(moved_back(next, added, removed));
        }
        added += hit.tag().len();
        removed += hit.range.len();
        merged.push(hit);
    }
    merged.extend(more.map(|next| moved_back(next, added, removed)));
    merged
}

fn moved_back(hit: Found, added: usize, removed: usize) -> Found {
    Found {
        range: hit.range.start + removed - added..hit.range.end + removed - added,
        ..hit
    }
}

/// Widens a range so that it does not split a UTF-8 character.
fn whole_characters(text: &[u8], range: &Range<usize>) -> Range<usize> {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let start = (0..4)
        .map(|back| range.start.saturating_sub(back))
        .find(|at| !is_inside(*at));
    let end = (0..4).map(|ahead| range.end + ahead).find(|at| !is_inside(*at));
    start.unwrap_or(range.start)..end.unwrap_or(range.end).min(text.len())
}

#[cfg(test)]
mod tests;
