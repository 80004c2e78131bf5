//! The filter of a frame: which words and byte trigrams its texts may contain. It may have false positives, but never
//! false negatives.
//!
//! It consists of two split-block Bloom filters as specified by Apache Parquet (blocks of 256 bits, eight bits set in
//! a block, public salts): one over XXH3 hashes of folded words and one over mixed trigrams. The format does not
//! depend on the implementation of a library, because filters are stored for years: version, number of word blocks,
//! number of trigram blocks (u32, little endian), the blocks. The store keeps a checksum; only the length is checked
//! here. The trigram blocks are two thirds of a filter and may be stored separately, because words exclude most
//! frames.
//!
//! Characters and pairs of unspaced scripts are not added, because the bytes of a character already are a trigram.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use thiserror::Error;
use twox_hash::XxHash3_64;

use super::fold::{Folded, compose};
use super::words::{self, WordKind};

/// The first byte. It changes if the words, the hashes or the format change. A filter of another version is ignored.
pub const VERSION: u8 = 1;

const WORD_BITS: usize = 12;
const TRIGRAM_BITS: usize = 8;
/// Longer runs are keys, hashes and encoded bytes. Users do not type them, and their trigrams find them.
pub(super) const WORD_BYTES_MAX: usize = 48;
const BLOCK_BYTES: usize = 32;
const HEAD_BYTES: usize = 9;
/// Number of recent short words and longer words in the cache. Together they fit into the L1 cache.
const SHORT_SLOTS: usize = 1 << 11;
const LONG_SLOTS: usize = 1 << 9;
/// One bit for each of the 2^24 trigrams.
const SEEN_WORDS: usize = 1 << 18;

/// A key that a filter can be tested for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FilterKey {
    /// A folded word.
    Word(Box<str>),
    Trigram(u32),
}

impl FilterKey {
    /// Returns the key of a folded word, or `None` if it is too long.
    pub fn word(folded: &str) -> Option<Self> {
        (folded.len() <= WORD_BYTES_MAX).then(|| Self::Word(folded.into()))
    }

    /// Returns the keys of all trigrams of a folded text.
    pub fn trigrams(folded: &str) -> impl Iterator<Item = Self> {
        folded.as_bytes().windows(3).map(|bytes| Self::Trigram(trigram(bytes)))
    }
}

/// What a text must contain, as far as a filter can decide it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Nothing is required, so every frame may match.
    Anything,
    Key(FilterKey),
    All(Vec<Need>),
    Any(Vec<Need>),
}

impl Need {
    /// Requires all of these, without duplicates.
    pub fn all(needs: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for need in needs {
            match need {
                Self::Anything => {}
                Self::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        let mut seen = HashSet::new();
        all.retain(|need| !matches!(need, Self::Key(key) if !seen.insert(key.clone())));
        match all.len() {
            0 => Self::Anything,
            _ => Self::All(all),
        }
    }

    /// Requires one of these.
    pub fn any(needs: Vec<Self>) -> Self {
        match needs.contains(&Self::Anything) {
            true => Self::Anything,
            false => Self::Any(needs),
        }
    }

    /// Returns `true` if trigrams are required.
    pub fn needs_trigrams(&self) -> bool {
        match self {
            Self::Anything | Self::Key(FilterKey::Word(_)) => false,
            Self::Key(FilterKey::Trigram(_)) => true,
            Self::All(needs) | Self::Any(needs) => needs.iter().any(Self::needs_trigrams),
        }
    }
}

/// Collects the words and trigrams of texts and builds a filter. Create one per thread and reuse it, because it is
/// large.
pub struct FilterBuilder {
    words: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
    recent: RecentWords,
    trigrams: Trigrams,
    folded: Folded,
}

/// A cache of recent words of the frame, each in its own slot, so that they are neither hashed nor looked up again. A
/// word contains no NUL, so its bytes determine its length.
struct RecentWords {
    /// Words of up to 8 bytes.
    short: Box<[u64; SHORT_SLOTS]>,
    /// Words of up to 16 bytes.
    long: Box<[[u64; 2]; LONG_SLOTS]>,
}

/// One bit for each of the 2^24 trigrams, and the list of trigrams whose bits are set.
struct Trigrams {
    seen: Box<[u64; SEEN_WORDS]>,
    all: Vec<u32>,
}

impl Default for FilterBuilder {
    fn default() -> Self {
        Self {
            words: HashSet::default(),
            recent: RecentWords {
                short: Box::new([0; SHORT_SLOTS]),
                long: Box::new([[0; 2]; LONG_SLOTS]),
            },
            trigrams: Trigrams {
                seen: vec![0; SEEN_WORDS].try_into().expect("the vector has this length"),
                all: Vec::new(),
            },
            folded: Folded::default(),
        }
    }
}

impl FilterBuilder {
    /// Adds one decoded text of the frame.
    pub fn add(&mut self, text: &str) {
        let text = compose(text);
        self.folded.fold(&text);
        let folded = &self.folded;
        let bytes = folded.as_str().as_bytes();
        self.trigrams.add(bytes);
        words::each_word(&text, &mut |kind, place| {
            if !matches!(kind, WordKind::Run | WordKind::Part) {
                return;
            }
            let (start, end) = (folded.to_folded_offset(place.start), folded.to_folded_offset(place.end));
            if end - start > WORD_BYTES_MAX {
                return;
            }
            // Most words occurred before.
            if !self.recent.contains_or_insert(bytes, start..end) {
                self.words.insert(hash(&bytes[start..end]));
            }
        });
    }

    /// Returns the filter of everything that was added, and resets the builder.
    pub fn finish(&mut self) -> Vec<u8> {
        let filter = self.filter();
        self.clear();
        filter
    }

    /// Resets the builder.
    pub fn clear(&mut self) {
        self.words.clear();
        self.recent.clear();
        self.trigrams.clear();
    }

    /// Returns the filter of everything that was added.
    pub fn filter(&self) -> Vec<u8> {
        let blocks = |keys: usize, bits: usize| (keys * bits).div_ceil(BLOCK_BYTES * 8);
        let word_blocks = blocks(self.words.len(), WORD_BITS);
        let trigram_blocks = blocks(self.trigrams.all.len(), TRIGRAM_BITS);
        let mut filter = Vec::with_capacity(HEAD_BYTES + (word_blocks + trigram_blocks) * BLOCK_BYTES);
        filter.push(VERSION);
        for blocks in [word_blocks, trigram_blocks] {
            let blocks = u32::try_from(blocks).expect("a frame has far fewer keys");
            filter.extend(blocks.to_le_bytes());
        }
        filter.resize(HEAD_BYTES + (word_blocks + trigram_blocks) * BLOCK_BYTES, 0);
        let (words, trigrams) = filter[HEAD_BYTES..].split_at_mut(word_blocks * BLOCK_BYTES);
        for hash in &self.words {
            insert(words, *hash);
        }
        for trigram in &self.trigrams.all {
            insert(trigrams, mix_trigram(*trigram));
        }
        filter
    }
}

impl RecentWords {
    /// Returns `true` if a word is in the cache, and adds it.
    #[inline]
    fn contains_or_insert(&mut self, bytes: &[u8], word: Range<usize>) -> bool {
        match word.len() {
            0 => false,
            1..=8 => {
                let word = first_bytes(bytes, word);
                let place = slot_of(word) % SHORT_SLOTS;
                std::mem::replace(&mut self.short[place], word) == word
            }
            9..=16 => {
                let half = word.start + 8;
                let word = [first_bytes(bytes, word.start..half), first_bytes(bytes, half..word.end)];
                let place = slot_of(word[0] ^ word[1].rotate_left(32)) % LONG_SLOTS;
                std::mem::replace(&mut self.long[place], word) == word
            }
            _ => false,
        }
    }

    fn clear(&mut self) {
        self.short.fill(0);
        self.long.fill([0; 2]);
    }
}

/// Returns one to eight bytes as a number.
#[inline]
fn first_bytes(bytes: &[u8], place: Range<usize>) -> u64 {
    match bytes[place.start..].first_chunk() {
        // Reading eight bytes and masking them is faster than reading the exact number.
        Some(chunk) => u64::from_le_bytes(*chunk) & u64::MAX >> (64 - 8 * place.len()),
        None => bytes[place]
            .iter()
            .rfold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Hashes a number to a cache slot.
#[inline]
fn slot_of(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

impl Trigrams {
    fn add(&mut self, bytes: &[u8]) {
        let mut count = self.all.len();
        self.all.resize(count + bytes.len(), 0);
        let mut put = |trigram: u32| {
            let (slot, bit) = ((trigram >> 6) as usize, 1 << (trigram & 63));
            let seen = self.seen[slot];
            self.seen[slot] = seen | bit;
            // Written unconditionally and counted only if it is new, because a branch here would be mispredicted.
            self.all[count] = trigram;
            count += usize::from(seen & bit == 0);
        };
        // Reads four bytes at once; the last trigram has no fourth byte.
        for four in bytes.windows(4) {
            put(u32::from_be_bytes([four[0], four[1], four[2], four[3]]) >> 8);
        }
        if let Some(last) = bytes.last_chunk::<3>() {
            put(trigram(last));
        }
        self.all.truncate(count);
    }

    fn clear(&mut self) {
        for trigram in self.all.drain(..) {
            self.seen[trigram as usize >> 6] = 0;
        }
    }
}

/// Why a filter cannot be parsed. Its frame may then contain anything.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FilterError {
    #[error("the filter was written by another version")]
    OtherVersion,
    #[error("the filter is damaged")]
    Damaged,
}

/// A parsed filter, or one half of it. A missing half excludes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'f> {
    words: Option<&'f [u8]>,
    trigrams: Option<&'f [u8]>,
}

/// Splits a filter into the part without trigrams, and the trigrams.
pub fn split_halves(filter: &[u8]) -> (&[u8], &[u8]) {
    let words = filter.get(1..5).and_then(<[u8]>::first_chunk).map_or(0, blocks_size);
    filter.split_at((HEAD_BYTES + words).min(filter.len()))
}

/// Returns the size of the given number of blocks.
fn blocks_size(blocks: &[u8; 4]) -> usize {
    u32::from_le_bytes(*blocks) as usize * BLOCK_BYTES
}

impl<'f> Filter<'f> {
    /// Parses a filter without copying it.
    pub fn read(bytes: &'f [u8]) -> Result<Self, FilterError> {
        let (version, rest) = bytes.split_first().ok_or(FilterError::Damaged)?;
        if *version != VERSION {
            return Err(FilterError::OtherVersion);
        }
        let (word_blocks, rest) = rest.split_first_chunk().ok_or(FilterError::Damaged)?;
        let (trigram_blocks, blocks) = rest.split_first_chunk().ok_or(FilterError::Damaged)?;
        let (words, trigrams) = blocks
            .split_at_checked(blocks_size(word_blocks))
            .ok_or(FilterError::Damaged)?;
        let are_apart = trigrams.is_empty() && blocks_size(trigram_blocks) > 0;
        if !are_apart && trigrams.len() != blocks_size(trigram_blocks) {
            return Err(FilterError::Damaged);
        }
        Ok(Self {
            words: Some(words),
            trigrams: (!are_apart).then_some(trigrams),
        })
    }

    /// Parses trigrams that were stored separately.
    pub fn of_trigrams(blocks: &'f [u8]) -> Result<Self, FilterError> {
        match blocks.len().is_multiple_of(BLOCK_BYTES) {
            true => Ok(Self {
                words: None,
                trigrams: Some(blocks),
            }),
            false => Err(FilterError::Damaged),
        }
    }

    /// Returns `true` if its trigrams are stored separately.
    pub fn is_half(&self) -> bool {
        self.trigrams.is_none()
    }

    /// Returns `true` if the frame may meet a need.
    pub fn may_hold(&self, need: &Need) -> bool {
        match need {
            Need::Anything => true,
            Need::Key(FilterKey::Word(word)) => self.words.is_none_or(|words| contains(words, hash(word.as_bytes()))),
            Need::Key(FilterKey::Trigram(trigram)) => self
                .trigrams
                .is_none_or(|blocks| contains(blocks, mix_trigram(*trigram))),
            Need::All(needs) => needs.iter().all(|need| self.may_hold(need)),
            Need::Any(needs) => needs.iter().any(|need| self.may_hold(need)),
        }
    }
}

fn hash(word: &[u8]) -> u64 {
    XxHash3_64::oneshot(word)
}

fn trigram(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2])
}

/// Mixes a trigram to 64 bits with the finalizer of MurmurHash3, which is in the public domain.
fn mix_trigram(trigram: u32) -> u64 {
    let mut hash = u64::from(trigram) + 1;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ hash >> 33).wrapping_mul(factor);
    }
    hash ^ hash >> 33
}

/// The salts of the Parquet specification.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Returns the block of a hash, chosen by its upper half, scaled to the number of blocks.
fn block_of(blocks: &[u8], hash: u64) -> usize {
    let count = (blocks.len() / BLOCK_BYTES) as u64;
    (((hash >> 32) * count) >> 32) as usize * BLOCK_BYTES
}

fn masks(hash: u64) -> [u32; 8] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

fn insert(blocks: &mut [u8], hash: u64) {
    let at = block_of(blocks, hash);
    let (words, _) = blocks[at..at + BLOCK_BYTES].as_chunks_mut::<4>();
    for (word, mask) in words.iter_mut().zip(masks(hash)) {
        *word = (u32::from_le_bytes(*word) | mask).to_le_bytes();
    }
}

fn contains(blocks: &[u8], hash: u64) -> bool {
    if blocks.is_empty() {
        return false;
    }
    let at = block_of(blocks, hash);
    let mut words = blocks[at..at + BLOCK_BYTES].chunks_exact(4).zip(masks(hash));
    words.all(|(word, mask)| {
        word.iter()
            .zip(mask.to_le_bytes())
            .all(|(byte, mask)| byte & mask == mask)
    })
}

/// Passes a hash through unchanged, because the words are hashed already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Vec<u8> {
        let mut builder = FilterBuilder::default();
        builder.add(text);
        builder.finish()
    }

    fn word(folded: &str) -> Need {
        Need::Key(FilterKey::word(folded).unwrap())
    }

    #[test]
    fn a_filter_contains_the_words_and_trigrams_of_its_texts() {
        let bytes = of("ParseConfig in src/Main.rs, CAFE\u{301} 文件");
        let filter = Filter::read(&bytes).unwrap();
        for present in ["parseconfig", "parse", "config", "src", "main", "rs", "café"] {
            assert!(filter.may_hold(&word(present)), "{present}");
        }
        for absent in ["parsec", "onfig", "cafe", "mainrs"] {
            assert!(!filter.may_hold(&word(absent)), "{absent}");
        }
        for (text, is_there) in [("c/main.r", true), ("文件", true), ("件文", false), ("main rs", false)] {
            let need = Need::all(FilterKey::trigrams(text).map(Need::Key));
            assert_eq!(filter.may_hold(&need), is_there, "{text}");
        }
    }

    #[test]
    fn finish_resets_the_builder() {
        let mut builder = FilterBuilder::default();
        builder.add("first words");
        builder.finish();
        builder.add("second texts");
        assert_eq!(builder.finish(), of("second texts"));
    }

    proptest! {
        #[test]
        fn every_trigram_is_added(texts in proptest::collection::vec("[abA é文_.\\x00]{0,24}", 0..8)) {
            let mut builder = FilterBuilder::default();
            let mut all = std::collections::BTreeSet::new();
            for text in &texts {
                builder.add(text);
                all.extend(Folded::of(text).as_str().as_bytes().windows(3).map(trigram));
            }
            builder.trigrams.all.sort_unstable();
            prop_assert_eq!(builder.trigrams.all, all.into_iter().collect::<Vec<_>>());
        }
    }

    /// The hash was computed with another implementation of the specification, sbbf-rs-safe 0.3.2.
    #[test]
    fn blocks_are_filled_as_specified() {
        let mut blocks = vec![0; 5 * BLOCK_BYTES];
        let mut hash: u64 = 1;
        for _ in 0..40 {
            hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ 0x5bd1;
            assert!(!contains(&blocks, hash));
            insert(&mut blocks, hash);
            assert!(contains(&blocks, hash));
        }
        let hash = blake3::hash(&blocks).to_hex();
        assert_eq!(&hash[..16], "85b105fb3056c189");
    }

    /// Filters are stored for years and shared between machines. If this test must change, the version must change as
    /// well.
    #[test]
    fn the_format_of_a_filter_is_stable() {
        let bytes = of("The quick brown fox: src/main.rs ParseConfig 文件 größer");
        assert_eq!(bytes.len(), 9 + 3 * 32);
        assert_eq!(&bytes[..9], [1, 1, 0, 0, 0, 2, 0, 0, 0]);
        let hash = blake3::hash(&bytes).to_hex();
        assert_eq!(&hash[..16], "8c8b3570ae9eb0fb");
    }

    #[test]
    fn damaged_filters_and_other_versions_are_errors() {
        assert_eq!(Filter::read(&[]).unwrap_err(), FilterError::Damaged);
        assert_eq!(Filter::read(&[9, 9]).unwrap_err(), FilterError::OtherVersion);
        let mut bytes = of("some words");
        bytes.pop();
        assert_eq!(Filter::read(&bytes).unwrap_err(), FilterError::Damaged);
        let empty = of("");
        assert!(!Filter::read(&empty).unwrap().may_hold(&word("x")));
        assert!(Filter::read(&empty).unwrap().may_hold(&Need::Anything));
    }

    #[test]
    fn both_halves_together_decide_like_the_whole_filter() {
        let bytes = of("ParseConfig in src/Main.rs");
        let (words, trigrams) = split_halves(&bytes);
        assert_eq!([words, trigrams].concat(), bytes);
        let whole = Filter::read(&bytes).unwrap();
        let halves = [Filter::read(words).unwrap(), Filter::of_trigrams(trigrams).unwrap()];
        assert_eq!((whole.is_half(), halves[0].is_half()), (false, true));
        for text in ["config", "parsec", "main", "confog", "src"] {
            let trigrams = Need::all(FilterKey::trigrams(text).map(Need::Key));
            for need in [word(text), trigrams.clone(), Need::all([word(text), trigrams])] {
                let together = halves.iter().all(|half| half.may_hold(&need));
                assert_eq!(together, whole.may_hold(&need), "{text}");
            }
        }
        assert_eq!(Filter::of_trigrams(&[0; 31]).unwrap_err(), FilterError::Damaged);
        assert_eq!(super::split_halves(&[1, 9]), (&[1, 9][..], &[][..]));
    }
}
