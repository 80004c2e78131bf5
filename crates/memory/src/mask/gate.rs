//! The gate: one pass over the raw bytes that finds where a secret could be, as fast as memory allows.
//!
//! All literals of all rules stand in one automaton. Most lines have none of them, and most hits are
//! ruled out by a look at the next few bytes. That look sees raw JSON, so it must not be sharper than
//! the rules, which see decoded text: a wrong yes costs time, a wrong no costs a secret.

use super::escape;
use super::rules::{Back, RULES};
use super::text::{is_flag, is_left_border, is_word};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

/// What to do where a literal of the gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Try the precise rule with this index.
    Rule(usize),
    /// Try the user's rule with this index.
    UserRule(usize),
    /// A name that secrets have: look for `= value`.
    Name,
    /// `://`: look for `user:password@`.
    Link,
    /// The header `Authorization`, or a variable named so.
    Authorization,
    /// `Bearer `, wherever it stands.
    Bearer,
    /// The headers `Cookie` and `Set-Cookie`.
    Cookie,
    /// A JSON web token.
    WebToken,
    /// `curl`, which takes `-u user:password`.
    Curl,
    /// The first line of a private key.
    PrivateKey,
    /// An image in a data link, which is skipped.
    Image,
    /// `[` and a digit: perhaps an array of bytes.
    Bytes,
    /// An escaped ASCII character: it may hide any of the other literals.
    Hidden,
}

const LITERALS: &[(Action, &[&str])] = &[
    (
        Action::Name,
        &[
            "secret", "Secret", "SECRET", "token", "Token", "TOKEN", "passw", "Passw", "PASSW", "passphrase", "Passphrase",
            "PASSPHRASE", "pwd", "Pwd", "PWD", "_pass", "_PASS", "api_key", "API_KEY", "apikey", "apiKey", "ApiKey", "APIKey",
            "APIKEY", "api-key", "Api-Key", "API-Key", "API-KEY", "api key", "API key", "API Key", "access_key", "ACCESS_KEY",
            "accesskey", "accessKey", "AccessKey", "access-key", "Access-Key", "access key", "private", "Private", "PRIVATE",
            "credential", "Credential", "CREDENTIAL", "auth_key", "AUTH_KEY", "authKey", "AuthKey", "signing_key", "SIGNING_KEY",
            "signingKey", "encryption_key", "ENCRYPTION_KEY", "encryptionKey", "master_key", "MASTER_KEY", "masterKey",
            "service_key", "SERVICE_KEY", "account_key", "ACCOUNT_KEY", "accountKey", "session_key", "SESSION_KEY", "sessionKey",
            "_auth=",
        ],
    ),
    (Action::Link, &["://"]),
    (Action::Authorization, &["authorization", "Authorization", "AUTHORIZATION"]),
    (Action::Bearer, &["bearer ", "Bearer ", "BEARER "]),
    (Action::Cookie, &["cookie", "Cookie", "COOKIE"]),
    (Action::WebToken, &["eyJ"]),
    (Action::Curl, &["curl"]),
    (Action::PrivateKey, &["-----BEGIN ", "Private-Lines:"]),
    (Action::Image, &["data:image/"]),
    (
        Action::Bytes,
        &[
            "[0", "[1", "[2", "[3", "[4", "[5", "[6", "[7", "[8", "[9", "[ 0", "[ 1", "[ 2", "[ 3", "[ 4", "[ 5", "[ 6", "[ 7",
            "[ 8", "[ 9",
        ],
    ),
    (Action::Hidden, &[r"\u002", r"\u003", r"\u004", r"\u005", r"\u006", r"\u007"]),
];

/// One place where the gate opens.
pub(super) struct Opening<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) actions: &'a [Action],
}

/// The automaton over all literals, and what each of them asks for.
#[derive(Debug)]
pub(super) struct Gate {
    automaton: AhoCorasick,
    actions: Vec<Box<[Action]>>,
}

impl Gate {
    /// Builds the gate of all rules; `keywords` are the users' own, with the index of their rule.
    pub(super) fn new(keywords: &[(usize, &str)]) -> Result<Gate, aho_corasick::BuildError> {
        let mut literals: Vec<(&str, Action)> = Vec::new();
        for (index, rule) in RULES.iter().enumerate() {
            literals.extend(rule.gates.iter().map(|gate| (*gate, Action::Rule(index))));
        }
        for (action, gates) in LITERALS {
            literals.extend(gates.iter().map(|gate| (*gate, *action)));
        }
        literals.extend(keywords.iter().map(|(index, keyword)| (*keyword, Action::UserRule(*index))));
        let mut patterns: Vec<&str> = literals.iter().map(|(literal, _)| *literal).collect();
        // The longest of those that begin at one place is reported, and it asks for what its beginnings ask for.
        patterns.sort_by_key(|pattern| (std::cmp::Reverse(pattern.len()), *pattern));
        patterns.dedup();
        let asked = |pattern: &str| literals.iter().filter(|(literal, _)| pattern.starts_with(literal)).map(|(_, action)| *action).collect();
        let actions = patterns.iter().map(|pattern| asked(pattern)).collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&patterns)?;
        Ok(Gate { automaton, actions })
    }

    /// Returns the first opening at or after `from`.
    pub(super) fn next(&self, text: &[u8], from: usize) -> Option<Opening<'_>> {
        if from >= text.len() {
            return None;
        }
        let found = self.automaton.find(Input::new(text).span(from..text.len()))?;
        Some(Opening { start: found.start(), end: found.end(), actions: &self.actions[found.pattern().as_usize()] })
    }
}

/// Whether a secret could stand at an opening of raw text, or begin there.
pub(super) fn is_plausible(text: &[u8], opening: &Opening<'_>) -> bool {
    let (start, end) = (opening.start, opening.end);
    opening.actions.iter().any(|action| match action {
        Action::Rule(index) => is_token(text, start, end, *index),
        Action::Name => is_named_value(text, start, end),
        Action::Link => is_link_with_user(text, end),
        Action::WebToken => is_left_border(text, start) && has_solid(text, end, 8),
        Action::Bytes => escape::opens_byte_array(text, start),
        Action::Curl => memchr::memmem::find(&text[end..text.len().min(end + 512)], b"-u").is_some(),
        Action::Image => false,
        Action::Authorization
        | Action::Bearer
        | Action::Cookie
        | Action::PrivateKey
        | Action::Hidden
        | Action::UserRule(_) => true,
    })
}

fn is_token(text: &[u8], start: usize, end: usize, index: usize) -> bool {
    let rule = &RULES[index];
    if rule.pattern.starts_with("(?s") {
        return true; // The token stands somewhere behind its gate.
    }
    (rule.back != Back::Gate || is_left_border(text, start)) && has_solid(text, end, 8)
}

/// Whether the next `count` bytes could all belong to a token, or to an escaped one.
fn has_solid(text: &[u8], at: usize, count: usize) -> bool {
    let is_solid = |byte: &u8| is_word(*byte) || matches!(byte, b'-' | b'.' | b'/' | b'+' | b'=' | b'%' | b'~' | b'\\' | b'"' | b'\'');
    text.get(at..at + count).is_some_and(|next| next.iter().all(is_solid))
}

/// Whether a name goes on to a separator and something that is no number.
fn is_named_value(text: &[u8], start: usize, end: usize) -> bool {
    let skip = |from: usize, max: usize, set: fn(&u8) -> bool| {
        let rest = &text[from.min(text.len())..text.len().min(from + max)];
        from + rest.iter().take_while(|byte| set(byte)).count()
    };
    let name_end = skip(end, 64, |byte| is_word(*byte) || matches!(byte, b'-' | b'.'));
    let at = skip(name_end, 16, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b']' | b' ' | b'*'));
    let is_assigned = matches!(text.get(at), Some(b'=' | b':' | b',' | b'>')) || text[..end].ends_with(b"=");
    if !is_assigned && !(text.get(name_end) == Some(&b' ') && is_flag(text, start)) {
        return false;
    }
    let value = skip(at, 24, |byte| {
        matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b' ' | b'=' | b':' | b',' | b'>' | b'\t')
    });
    let value_end = skip(value, 6, |byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b',' | b';' | b')' | b'{' | b'['));
    let found = &text[value.min(text.len())..value_end.min(text.len())];
    let is_number = || {
        let digits = skip(value, 24, |byte| byte.is_ascii_digit() || *byte == b'.');
        matches!(text.get(digits), Some(b',' | b'}' | b']' | b' ') | None)
    };
    found.starts_with(b"value") || found.len() == 6 && !is_number()
}

/// Whether a `@` comes before the end of what stands between `://` and the path.
fn is_link_with_user(text: &[u8], end: usize) -> bool {
    let rest = &text[end..text.len().min(end + 512)];
    let ends = |byte: &u8| matches!(byte, b'/' | b'"' | b' ' | b'@' | b'?' | b'#' | b'\'' | b')' | b'<' | b'>' | b'\n');
    rest.iter().find(|byte| ends(byte)) == Some(&b'@')
}
