//! Masking: secrets go out before the first byte of a log reaches our disk.
//!
//! A secret is found in what a line means, not in how it is written: strings and keys of JSON are
//! decoded, strings that hold JSON once more, arrays of bytes too. What is replaced are the raw bytes
//! of the secret and nothing else, by a tag that names the rule and a keyed fingerprint. A line of JSON
//! stays one, of the same shape. Masking what is masked changes nothing.
//!
//! This module knows no disk and no configuration: the key and the user's rules are arguments. It does
//! not promise to find every secret: one without a known form and without a telling name is just text.

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

/// The version of the rules and of the way they are applied. Packs carry it; what an older one masked is masked again.
pub const MASK_VERSION: u32 = 2;

/// How many levels of JSON inside JSON are decoded: the line itself, and strings in it that are JSON.
const LEVELS: u8 = 4;
/// How often a masked line is looked at again. What is cut out may let a secret beside it be seen.
const PASSES_MAX: usize = 8;

/// How sure a rule is.
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
    /// Which bytes of the line were replaced.
    pub range: Range<usize>,
}

/// What the user adds to the rules, and takes from them.
#[derive(Debug, Clone, Default)]
pub struct UserRules {
    pub rules: Vec<UserRule>,
    /// Texts that are never secrets.
    pub allowed_texts: Vec<String>,
    /// Patterns of what is never a secret, wherever they match in it.
    pub allowed_patterns: Vec<String>,
}

/// A rule of the user.
#[derive(Debug, Clone)]
pub struct UserRule {
    /// The name in the tag: `a-z`, `0-9` and `-`.
    pub name: String,
    /// A pattern over decoded text. Its first group is the secret; without one, all of it.
    pub pattern: String,
    /// Strings of which one stands in every text that the pattern can match. Without them every string of every line
    /// is decoded, which is several times slower.
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

/// The rules, compiled, and the key. Threads share one.
#[derive(Debug)]
pub struct Masker {
    key: MaskKey,
    gate: Gate,
    /// Compiled when their gate opens for the first time: most never do.
    patterns: Vec<OnceLock<Regex>>,
    user_rules: Vec<CompiledRule>,
    allowed_texts: Vec<String>,
    allowed_patterns: Vec<Regex>,
    /// Whether a rule of the user has no keyword, so that the gate cannot help.
    looks_everywhere: bool,
    version: MaskVersion,
}

/// The names and tiers of all rules that are built in.
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
    /// If a rule of the user has no usable name or pattern.
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

    /// By which rules it masks.
    pub fn version(&self) -> MaskVersion {
        self.version
    }

    /// Masks one line of JSON Lines on its own, without what the lines before it began. Only the tests of the rules want that.
    #[cfg(test)]
    fn mask_json_line<'a>(&self, line: &'a [u8], hits: &mut Vec<Hit>) -> Cow<'a, [u8]> {
        self.mask(line, hits, |text| records::find(self, text, LEVELS))
    }

    /// Masks the next line of a log, with what the lines before it began: see [`LineState`]. Borrowed if there is nothing to mask.
    pub fn mask_next_line<'a>(&self, state: &mut LineState, line: &'a [u8], hits: &mut Vec<Hit>) -> Cow<'a, [u8]> {
        let carried = stream::find(self, state, line);
        self.mask_with(line, hits, carried, |text| records::find(self, text, LEVELS))
    }

    /// Masks the last line of a log, which has no end yet: a token may be broken off with it.
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

    /// Masks the next line of a log that an earlier run may have found to hold no secret. `is_known_clean` is only called if no token of an
    /// earlier line continues in this one; the state advances either way.
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

    /// Masks the next line of a plain-text part. A private key that goes on is carried over lines in `state`.
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

    /// Masks text that we are about to show: digests, pages.
    pub fn mask_str<'a>(&self, text: &'a str, hits: &mut Vec<Hit>) -> Cow<'a, str> {
        match self.mask(text.as_bytes(), hits, |text| self.find(text, LEVELS)) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Whole characters were replaced by ASCII, so this never replaces anything.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The same as `mask`, with what is known of the line from those before it.
    fn mask_with<'a>(
        &self,
        line: &'a [u8],
        hits: &mut Vec<Hit>,
        carried: Vec<Found>,
        find: impl Fn(&[u8]) -> Vec<Found>,
    ) -> Cow<'a, [u8]> {
        // It holds for the line itself, not for what masking makes of it.
        let carried = std::cell::Cell::new(carried);
        self.mask(line, hits, |text| {
            let mut found = find(text);
            found.append(&mut carried.take());
            self.resolve(text, found)
        })
    }

    /// Replaces what `find` finds, until it finds nothing any more.
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

    /// Finds secrets in decoded text, which may be JSON once more. They are sorted and do not overlap.
    fn find(&self, text: &[u8], levels: u8) -> Vec<Found> {
        let first = text.get(escape::skip_space(text, 0));
        if levels > 0 && matches!(first, Some(b'{' | b'[' | b'"')) {
            records::find(self, text, levels)
        } else {
            scan::find(self, text, levels)
        }
    }

    /// Drops what is allowed or masked already, and joins what overlaps. The surer rule names the result.
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

    /// The pattern of a precise rule, anchored.
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
    // A keyword too short for the gate is as good as none.
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

/// A secret in the text that is looked at.
#[derive(Debug, Clone)]
struct Found {
    rule: Cow<'static, str>,
    tier: Tier,
    range: Range<usize>,
    fingerprint: Fingerprint,
    /// Whether it was known by its form, which names it better than the place it stands in.
    by_form: bool,
    /// How many arrays of bytes it stands in, one inside the other: so often its tag is written as integers.
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

    /// The lower, the surer.
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

/// Puts tags where secrets stand.
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

/// Adds to what was found in a line what was found in it after masking, which never overlaps a tag.
fn merge(found: Vec<Found>, more: Vec<Found>) -> Vec<Found> {
    let mut merged = Vec::with_capacity(found.len() + more.len());
    let mut more = more.into_iter().peekable();
    // How far a place in the masked line is behind the same place in the line itself.
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

/// Widens a range so that it cuts no character of UTF-8.
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
