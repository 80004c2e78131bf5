//! The gate: one fast pass over the raw bytes that finds the places where a secret could be.
//!
//! Each literal of each rule is indexed by its rarest window of three bytes, and `pairs.rs` finds the places of a text
//! where such windows may occur. (An Aho-Corasick automaton over the same literals was measured: it alone took longer
//! than all of masking.) Most lines contain no literal, and a check of the next few bytes rules out most literals. That
//! check sees raw JSON, so it must not be stricter than the rules, which see decoded text: a false positive costs time,
//! a false negative leaks a secret.

use super::commands;
use super::escape;
use super::judge;
use super::pairs::{PLACES, Pairs, Window};
use super::rules::{Back, RULES};
use super::text::{is_flag, is_left_border, is_word};

/// The check that a literal of the gate triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Try the precise rule with this index.
    Rule(usize),
    /// Try the user's rule with this index.
    UserRule(usize),
    /// A name that secrets have: search for `= value`.
    Name,
    /// `://`: search for `user:password@`.
    Link,
    /// The header `Authorization`, or a variable of that name.
    Authorization,
    /// `Bearer `, anywhere.
    Bearer,
    /// The headers `Cookie` and `Set-Cookie`.
    Cookie,
    /// A JSON web token.
    WebToken,
    /// `curl`, which takes `-u user:password`.
    Curl,
    /// A command that accepts a password after a one-letter flag.
    Command,
    /// The port in a line of `.pgpass`.
    PasswordFile,
    /// The first line of a private key.
    PrivateKey,
    /// An image in a data link, which is skipped.
    Image,
    /// `[` and a digit: possibly an array of bytes.
    Bytes,
    /// An escaped ASCII character: it may hide any other literal.
    Hidden,
}

/// Parts of names that secrets have, matched in any case. A space matches any separator in `BETWEEN_WORDS`.
const NAMES: &[&str] = &[
    "secret",
    "token",
    "pass",
    "pwd",
    "private",
    "credential",
    "api key",
    "access key",
    "auth key",
    "signing key",
    "encryption key",
    "master key",
    "service key",
    "account key",
    "session key",
    "app key",
    "key data",
];

/// The separators between two parts of a name.
const BETWEEN_WORDS: [&str; 5] = ["", "_", "-", ".", " "];

const LITERALS: &[(Action, &[&str])] = &[
    (
        Action::Name,
        &[
            "auth=", "auth:", "auth\"", "auth\\", "auth'", "AUTH=", "AUTH:", "AUTH\"",
        ],
    ),
    (Action::Link, &["://", "%3A%2F%2F", "%3a%2f%2f"]),
    (
        Action::Authorization,
        &["authorization", "Authorization", "AUTHORIZATION"],
    ),
    (Action::Bearer, &["bearer ", "Bearer ", "BEARER "]),
    (Action::Cookie, &["cookie", "Cookie", "COOKIE"]),
    (Action::WebToken, &["eyJ"]),
    (Action::Curl, &["curl"]),
    (Action::Command, &["sshpass", "mysql", "mariadb", "mongo", "redis-cli"]),
    (
        Action::PasswordFile,
        &[":5432:", ":5433:", ":5434:", ":6432:", ":6543:", ":*:"],
    ),
    (Action::PrivateKey, &["-----BEGIN ", "Private-Lines:"]),
    (Action::Image, &["data:image/"]),
    (
        Action::Bytes,
        &[
            "[0,", "[1,", "[2,", "[3,", "[4,", "[5,", "[6,", "[7,", "[8,", "[9,", "[10", "[11", "[12", "[13", "[14",
            "[15", "[16", "[17", "[18", "[19", "[20", "[21", "[22", "[23", "[24", "[25", "[26", "[27", "[28", "[29",
            "[30", "[31", "[32", "[33", "[34", "[35", "[36", "[37", "[38", "[39", "[40", "[41", "[42", "[43", "[44",
            "[45", "[46", "[47", "[48", "[49", "[50", "[51", "[52", "[53", "[54", "[55", "[56", "[57", "[58", "[59",
            "[60", "[61", "[62", "[63", "[64", "[65", "[66", "[67", "[68", "[69", "[70", "[71", "[72", "[73", "[74",
            "[75", "[76", "[77", "[78", "[79", "[80", "[81", "[82", "[83", "[84", "[85", "[86", "[87", "[88", "[89",
            "[90", "[91", "[92", "[93", "[94", "[95", "[96", "[97", "[98", "[99", "[ 0", "[ 1", "[ 2", "[ 3", "[ 4",
            "[ 5", "[ 6", "[ 7", "[ 8", "[ 9",
        ],
    ),
    (
        Action::Hidden,
        &[r"\u002", r"\u003", r"\u004", r"\u005", r"\u006", r"\u007"],
    ),
];

/// Length of the shortest literal.
pub(super) const LITERAL_BYTES_MIN: usize = 3;

/// One place where a literal matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) action: Action,
}

/// All literals, indexed by their windows.
#[derive(Debug)]
pub(super) struct Gate {
    pairs: Pairs,
    /// A set of window hashes, one bit per hash.
    bits: Box<[u32; 4096]>,
    /// The literals, sorted by bucket.
    literals: Vec<Literal>,
    /// The index of the first literal of each bucket; the last entry is the end of the last bucket.
    buckets: Box<[u16; BUCKETS + 1]>,
}

/// Number of buckets.
const BUCKETS: usize = 4096;

#[derive(Debug)]
struct Literal {
    window: u32,
    /// The offset of the window in the literal.
    offset: usize,
    text: Box<[u8]>,
    /// `true` if letters match in any case. The window itself is always case-sensitive: there is one literal for each
    /// way to write it.
    in_any_case: bool,
    action: Action,
}

impl Gate {
    /// Builds the gate of all rules; `keywords` are those of the user rules, each with the index of its rule.
    pub(super) fn new(keywords: &[(usize, &str)]) -> Gate {
        let mut literals = Vec::new();
        for (index, rule) in RULES.iter().enumerate() {
            literals.extend(rule.gates.iter().map(|gate| Literal::new(gate, Action::Rule(index))));
        }
        for name in NAMES {
            let pieces: Vec<_> = name.split(' ').collect();
            let between = if pieces.len() > 1 { &BETWEEN_WORDS[..] } else { &[""] };
            literals.extend(between.iter().flat_map(|sign| Literal::in_any_case(&pieces.join(sign))));
        }
        for (action, gates) in LITERALS {
            literals.extend(gates.iter().map(|gate| Literal::new(gate, *action)));
        }
        literals.extend(
            keywords
                .iter()
                .map(|(index, keyword)| Literal::new(keyword, Action::UserRule(*index))),
        );
        literals.sort_by_key(|literal| bucket(literal.window));
        let mut bits = Box::new([0; 4096]);
        for literal in &literals {
            let (word, bit) = place(literal.window);
            bits[word] |= 1 << bit;
        }
        let mut buckets = Box::new([0; BUCKETS + 1]);
        for (index, start) in buckets.iter_mut().enumerate() {
            *start = literals.partition_point(|literal| bucket(literal.window) < index) as u16;
        }
        Gate {
            pairs: Pairs::of(literals.iter().map(Literal::rare_window)),
            bits,
            literals,
            buckets,
        }
    }

    /// Calls `act` for every literal in the text. `act` returns the position at which to continue, or 0 for the next
    /// byte.
    pub(super) fn each(&self, text: &[u8], mut act: impl FnMut(Opening) -> usize) {
        let mut at = 0;
        while let Some(found) = self.next_window(text, at) {
            at = found + 1;
            let window = window_at(text, found);
            let bucket = bucket(window);
            let range = usize::from(self.buckets[bucket])..usize::from(self.buckets[bucket + 1]);
            for literal in self.literals[range].iter().filter(|literal| literal.window == window) {
                let Some(start) = found.checked_sub(literal.offset) else {
                    continue;
                };
                if literal.stands_at(text, start) {
                    at = at.max(act(Opening {
                        start,
                        end: start + literal.text.len(),
                        action: literal.action,
                    }));
                }
            }
        }
    }

    /// Returns the first position at or after `from` where one of our windows may be.
    fn next_window(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
            if let Some(agreed) = self.pairs.agree(bytes) {
                let mut places = agreed.places();
                if let Some(place) = places.find(|place| self.knows(window_at(bytes, *place))) {
                    return Some(at + place);
                }
            }
            at += PLACES;
        }
        let last = text.len().saturating_sub(LITERAL_BYTES_MIN - 1);
        (at..last).find(|at| self.knows(window_at(text, *at)))
    }

    fn knows(&self, window: u32) -> bool {
        let (word, bit) = place(window);
        self.bits[word] >> bit & 1 == 1
    }
}

impl Literal {
    fn new(text: &str, action: Action) -> Literal {
        let text = text.as_bytes();
        let offsets = 0..=text.len() - LITERAL_BYTES_MIN;
        let offset = offsets
            .min_by_key(|at| commonness(&text[*at..at + LITERAL_BYTES_MIN]))
            .unwrap_or_default();
        Literal {
            window: window_at(text, offset),
            offset,
            text: text.into(),
            in_any_case: false,
            action,
        }
    }

    /// Returns the literals for one part of a name: one for each way to write its window in upper and lower case.
    fn in_any_case(text: &str) -> Vec<Literal> {
        let literal = Literal::new(text, Action::Name);
        let window = &literal.text[literal.offset..literal.offset + LITERAL_BYTES_MIN];
        let mut windows: Vec<u32> = (0..1_u8 << LITERAL_BYTES_MIN)
            .map(|uppers| {
                let mut window = [window[0], window[1], window[2]];
                for (at, byte) in window.iter_mut().enumerate() {
                    if uppers >> at & 1 == 1 {
                        byte.make_ascii_uppercase();
                    }
                }
                window_at(&window, 0)
            })
            .collect();
        windows.sort_unstable();
        windows.dedup();
        let with_window = |window| Literal {
            window,
            in_any_case: true,
            text: literal.text.clone(),
            ..literal
        };
        windows.into_iter().map(with_window).collect()
    }

    /// Returns the window and the possible spellings of the bytes beside it.
    fn rare_window(&self) -> Window {
        let cases = |byte: &u8| match self.in_any_case {
            true => [*byte, byte.to_ascii_uppercase()],
            false => [*byte; 2],
        };
        let [first, second, third, _] = self.window.to_le_bytes();
        Window {
            bytes: [first, second, third],
            before: self.text[..self.offset].last().map(cases),
            behind: self.text.get(self.offset + LITERAL_BYTES_MIN).map(cases),
        }
    }

    fn stands_at(&self, text: &[u8], start: usize) -> bool {
        text.get(start..start + self.text.len()).is_some_and(|there| {
            if self.in_any_case {
                there.eq_ignore_ascii_case(&self.text)
            } else {
                *there == *self.text
            }
        })
    }
}

/// Returns a rough rank of how common a window is in prose and source code.
fn commonness(window: &[u8]) -> u32 {
    const LETTERS: &[u8] = b"zqxjkvbywgpfmucdlhrsnioate";
    let rank = |byte: &u8| match LETTERS.iter().position(|letter| letter == byte) {
        Some(rank) => rank as u32 + 4,
        None => match byte {
            b' ' => 60,
            b'_' | b'-' | b'.' => 14,
            _ => 4,
        },
    };
    let is_row = window.iter().all(|byte| *byte == window[0]);
    let pairs = window
        .windows(2)
        .filter(|pair| judge::is_common(pair[0], pair[1]) && pair[1].is_ascii_lowercase())
        .count();
    window.iter().map(rank).sum::<u32>() + 30 * (pairs as u32 + u32::from(is_row))
}

fn window_at(text: &[u8], at: usize) -> u32 {
    u32::from(text[at]) | u32::from(text[at + 1]) << 8 | u32::from(text[at + 2]) << 16
}

fn hash(window: u32) -> u32 {
    window.wrapping_mul(0x9E37_79B1) >> 15
}

/// Returns the index of the word and of the bit for a window in the table.
fn place(window: u32) -> (usize, u32) {
    let hash = hash(window);
    ((hash >> 5) as usize & 4095, hash & 31)
}

fn bucket(window: u32) -> usize {
    (hash(window) >> 5) as usize & (BUCKETS - 1)
}

/// Returns `true` if a secret could be or begin at an opening of raw text.
pub(super) fn is_plausible(text: &[u8], opening: Opening) -> bool {
    let Opening { start, end, action } = opening;
    match action {
        Action::Rule(index) => is_token(text, start, end, index),
        Action::Name => !is_count(text, end) && (is_named_value(text, start, end) || commands::is_netrc(text, start)),
        Action::Link => text[start] == b'%' || is_link_with_user(text, end),
        Action::WebToken => is_left_border(text, start) && has_solid(text, end, 8),
        Action::Bytes => escape::opens_byte_array(text, start),
        Action::Curl => memchr::memmem::find(&text[end..text.len().min(end + commands::BYTES_MAX)], b"-u").is_some(),
        Action::Command => memchr::memmem::find(&text[end..text.len().min(end + commands::BYTES_MAX)], b" -").is_some(),
        Action::Image => false,
        Action::Authorization
        | Action::Bearer
        | Action::Cookie
        | Action::PasswordFile
        | Action::PrivateKey
        | Action::Hidden
        | Action::UserRule(_) => true,
    }
}

fn is_token(text: &[u8], start: usize, end: usize, index: usize) -> bool {
    let rule = &RULES[index];
    if rule.pattern.starts_with("(?s") {
        return true; // The token is somewhere after its gate.
    }
    (rule.back != Back::Gate || is_left_border(text, start)) && has_solid(text, end, 8)
}

/// Returns `true` if the next `count` bytes could all belong to a token or to an escaped token.
fn has_solid(text: &[u8], at: usize, count: usize) -> bool {
    let is_solid = |byte: &u8| {
        is_word(*byte)
            || matches!(
                byte,
                b'-' | b'.' | b'/' | b'+' | b'=' | b'%' | b'~' | b'\\' | b'"' | b'\''
            )
    };
    text.get(at..at + count).is_some_and(|next| next.iter().all(is_solid))
}

/// Returns `true` if a token count follows, such as `s":123,`. Every record has some, and they are not named values.
fn is_count(text: &[u8], end: usize) -> bool {
    let count = text[end..].strip_prefix(b"s\":").unwrap_or_default();
    let digits = count.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches!(count.get(digits), Some(b',' | b'}'))
}

/// Returns `true` if a separator and a value that is not a number follow the name.
fn is_named_value(text: &[u8], start: usize, end: usize) -> bool {
    let skip = |from: usize, max: usize, set: fn(&u8) -> bool| {
        let rest = &text[from.min(text.len())..text.len().min(from + max)];
        from + rest.iter().take_while(|byte| set(byte)).count()
    };
    // Some literals include the characters after the name.
    let signs = text[start..end]
        .iter()
        .rev()
        .take_while(|byte| !is_word(**byte))
        .count();
    let name_end = match signs {
        0 => skip(end, 64, |byte| is_word(*byte) || matches!(byte, b'-' | b'.')),
        _ => end - signs,
    };
    let at = skip(name_end, 16, |byte| {
        matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b']' | b' ' | b'*')
    });
    let is_assigned = matches!(text.get(at), Some(b'=' | b':' | b',' | b'>'));
    let is_flagged = text.get(name_end) == Some(&b' ') && is_flag(text, start);
    if !is_assigned && !is_flagged {
        return false;
    }
    let value = skip(at, 24, |byte| {
        matches!(
            byte,
            b'"' | b'\'' | b'\\' | b'`' | b' ' | b'=' | b':' | b',' | b'>' | b'\t'
        )
    });
    let value_end = skip(value, 6, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b',' | b';' | b')' | b'{' | b'[')
    });
    let found = &text[value.min(text.len())..value_end.min(text.len())];
    let is_number = || {
        let digits = skip(value, 24, |byte| byte.is_ascii_digit() || *byte == b'.');
        matches!(text.get(digits), Some(b',' | b'}' | b']' | b' ') | None)
    };
    found.starts_with(b"value") || found.len() == 6 && !is_number()
}

/// Returns `true` if there is an `@` between `://` and the path.
fn is_link_with_user(text: &[u8], end: usize) -> bool {
    let rest = &text[end..text.len().min(end + 512)];
    let ends = |byte: &u8| {
        matches!(
            byte,
            b'/' | b'"' | b' ' | b'@' | b'?' | b'#' | b'\'' | b')' | b'<' | b'>' | b'\n'
        )
    };
    rest.iter().find(|byte| ends(byte)) == Some(&b'@')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Parts of literals, whole literals and arbitrary text, concatenated.
        #[test]
        fn the_gate_opens_wherever_a_literal_stands(
            pieces in proptest::collection::vec((0..400_usize, 0..4_usize, "[ -~é]{0,9}"), 0..12),
        ) {
            let gate = Gate::new(&[(0, "mine-")]);
            let mut text = Vec::new();
            for (literal, cut, between) in &pieces {
                let literal = &gate.literals[literal % gate.literals.len()].text;
                text.extend_from_slice(&literal[(*cut).min(literal.len())..]);
                text.extend_from_slice(between.as_bytes());
            }
            let mut opened = Vec::new();
            gate.each(&text, |opening| {
                opened.push((opening.start, opening.end, format!("{:?}", opening.action)));
                0
            });
            let mut standing = Vec::new();
            for literal in &gate.literals {
                let stands = |at: &usize| {
                    let window = text.get(at + literal.offset..at + literal.offset + LITERAL_BYTES_MIN);
                    literal.stands_at(&text, *at) && window.is_some_and(|window| window_at(window, 0) == literal.window)
                };
                let found = (0..text.len()).filter(stands);
                standing.extend(found.map(|at| (at, at + literal.text.len(), format!("{:?}", literal.action))));
            }
            opened.sort();
            standing.sort();
            prop_assert_eq!(opened, standing);
        }
    }
}
