//! Secrets that are recognised by their names: `API_KEY=…`, `"password": "…"`, `--token …`.
//!
//! The name decides how random the value must be: `client_secret` is stronger evidence than `token`, and `token_count`
//! is not the name of a secret. `judge.rs` judges the values.

use super::Tier;
use super::judge;
use super::places;
use super::text::{is_flag, is_word, name_end, name_start, skip};
use std::ops::Range;

/// The strength with which a name suggests a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `token`, `private`: often something else.
    Weak,
    /// `GITHUB_TOKEN`: with a known vendor even a hexadecimal token is a secret.
    Token,
    /// `secret`, `access_token`.
    Strong,
    /// `api_key`, `client_secret`: even an id counts as a secret.
    Key,
    /// `password`: the value may be short and may consist of words.
    Password,
    /// `auth`: base64 of a user and a password, as in the files of Docker and npm.
    Auth,
    /// `client-key-data`: a private key in base64, of any length.
    KeyData,
    /// The secret half of an AWS key pair.
    AwsSecret,
    /// A name that contains `twilio`: the form of its keys is too generic to be recognised without the name.
    Twilio,
    /// A request header that only ever contains a key.
    Header,
    /// `Authorization`: a scheme and a token.
    Authorization,
    /// `Cookie`, `Set-Cookie`: names and values.
    Cookie,
}

/// The range of a secret and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) rule: &'static str,
    pub(super) tier: Tier,
    pub(super) range: Range<usize>,
}

/// The syntax that assigns the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `name: value`, quoted or not.
    Assigned,
    /// `NAME=value`, as in `.env` files and shells.
    Variable,
    /// `--name value`.
    Flag,
}

/// Endings of names that contain one of our words but are not names of secrets. Without `_`, `-`, `.`.
const HARMLESS_ENDS: &[&str] = &[
    "tokens",
    "count",
    "type",
    "name",
    "id",
    "ids",
    "url",
    "uri",
    "path",
    "file",
    "dir",
    "length",
    "limit",
    "size",
    "hash",
    "field",
    "label",
    "env",
    "var",
    "version",
    "expiry",
    "expires",
    "expiresin",
    "expiresat",
    "endpoint",
    "usage",
    "budget",
    "ref",
    "arn",
    "policy",
    "stdin",
    "fingerprint",
    "checksum",
    "digest",
    "scanning",
    "scanner",
    "manager",
    "status",
    "format",
    "index",
    "pattern",
    "regex",
    "address",
    "mint",
    "symbol",
    "contract",
    "title",
    "description",
    "hint",
    "prompt",
    "placeholder",
    "message",
    "rate",
    "through",
];
const HARMLESS_PARTS: &[&str] = &[
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "publickey",
    "publickeytoken",
    "tokeniz",
    "maxtoken",
    "tokencount",
    "pagination",
    "tokenusage",
    "sitekey",
    "cachekey",
    "canceltoken",
    "cancellationtoken",
    "idempotency",
];

/// Returns the kind of secret that a name suggests, or `None` if it suggests none.
pub(super) fn kind_of(name: &[u8]) -> Option<Kind> {
    if name.len() > 128 {
        return None;
    }
    let plain: Vec<u8> = name
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    let plain = std::str::from_utf8(&plain).unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| plain.contains(word));
    match plain {
        "authorization" | "proxyauthorization" => return Some(Kind::Authorization),
        "cookie" | "setcookie" | "cookies" => return Some(Kind::Cookie),
        "xapikey" | "xauthtoken" | "xaccesstoken" | "xgoogapikey" | "xvaulttoken" | "privatetoken" | "xfigmatoken"
        | "xgitlabtoken" => {
            return Some(Kind::Header);
        }
        _ => {}
    }
    let otherwise = (plain.contains('w') && plain.contains("twilio")).then_some(Kind::Twilio);
    // Nearly every name that reaches this line is a count of tokens; comparing one byte first rules out most endings.
    let ends_with = |end: &&str| plain.as_bytes().last() == end.as_bytes().last() && plain.ends_with(end);
    if HARMLESS_ENDS.iter().any(ends_with) || has(HARMLESS_PARTS) {
        return otherwise;
    }
    if has(&["secretaccesskey", "awssecret"]) {
        Some(Kind::AwsSecret)
    } else if has(&["passw", "passphrase", "pwd"]) || says_pass(name, plain) {
        Some(Kind::Password)
    } else if plain == "clientkeydata" {
        Some(Kind::KeyData)
    } else if KEYS.iter().any(|end| plain.ends_with(end)) {
        Some(Kind::Key)
    } else if has(STRONG) {
        Some(Kind::Strong)
    } else if plain == "auth" {
        Some(Kind::Auth)
    } else if has(&["token"]) && (is_constant(name) && plain != "token" || has(VENDORS)) {
        Some(Kind::Token)
    } else if has(&["token", "private"]) {
        Some(Kind::Weak)
    } else {
        otherwise
    }
}

/// Returns `true` if `pass` is a word of the name: `pass`, `dbPass`, `DBPASS`, `pass_db`, but not `bypass` or `passes`.
fn says_pass(name: &[u8], plain: &str) -> bool {
    const ENDS: [&str; 14] = [
        "bypass",
        "compass",
        "trespass",
        "surpass",
        "overpass",
        "underpass",
        "renderpass",
        "computepass",
        "shaderpass",
        "multipass",
        "twopass",
        "singlepass",
        "lastpass",
        "keepass",
    ];
    if plain.ends_with("pass") {
        return !ENDS.iter().any(|end| plain.ends_with(end));
    }
    let mut words = name
        .windows(4)
        .enumerate()
        .filter(|(_, word)| word.eq_ignore_ascii_case(b"pass"));
    words.any(|(at, word)| {
        let begins = at == 0 || !name[at - 1].is_ascii_alphabetic() || is_camel(name[at - 1], word[0]);
        let ends = name
            .get(at + 4)
            .is_none_or(|next| !next.is_ascii_alphabetic() || is_camel(word[3], *next));
        begins && ends
    })
}

/// Returns `true` at a word boundary between two letters: `dbPass`.
fn is_camel(before: u8, after: u8) -> bool {
    before.is_ascii_lowercase() && after.is_ascii_uppercase()
}

fn is_constant(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    name.iter().all(fits)
}

/// Endings of names that always have a key as value, whatever it looks like.
const KEYS: &[&str] = &[
    "apikey",
    "secretkey",
    "accesskey",
    "clientsecret",
    "appsecret",
    "apisecret",
];

/// Vendors that issue, or used to issue, purely hexadecimal tokens.
const VENDORS: &[&str] = &[
    "github",
    "gitlab",
    "gitea",
    "heroku",
    "bitbucket",
    "circleci",
    "travis",
    "codecov",
    "coveralls",
    "digitalocean",
    "cloudflare",
    "datadog",
    "sentry",
    "vercel",
    "netlify",
    "npmtoken",
    "jenkins",
    "sonar",
];

/// Size of the longest private key in base64: RSA with 16384 bits.
const KEY_DATA_BYTES_MAX: usize = 32 << 10;

const STRONG: &[&str] = &[
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "servicekey",
    "accountkey",
    "sessionkey",
    "appkey",
    "apitoken",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "sessiontoken",
    "bottoken",
    "idtoken",
    "usertoken",
    "deploytoken",
    "securitytoken",
];

/// Judges the value of a name of a known kind. `offset` is the position of the value.
pub(super) fn judge(kind: Kind, form: Form, value: &[u8], offset: usize) -> Option<Named> {
    let range = offset..offset + value.len();
    let found = |rule, tier| {
        Some(Named {
            rule,
            tier,
            range: range.clone(),
        })
    };
    let is_aws = || {
        value.len() == 40
            && value
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
    };
    match kind {
        Kind::AwsSecret if is_aws() && !judge::is_blank_form(value) => found("aws-secret-key", Tier::A),
        Kind::Twilio if is_twilio_key(value) => found("twilio-key", Tier::A),
        Kind::Header if judge::is_likely(value, 8) => found("api-key-header", Tier::A),
        Kind::KeyData if is_key_data(value) => found("key-data", Tier::A),
        Kind::Auth if places::is_basic_auth(value) => found("basic-auth", Tier::A),
        Kind::Password if judge::is_password(value) || judge::is_random(value, true) => found("password", Tier::B),
        Kind::Weak if judge::is_random(value, false) => found("named-secret", Tier::B),
        Kind::Key if judge::is_secret_id(value) => found("named-secret", Tier::B),
        Kind::Strong | Kind::Key | Kind::Token | Kind::Auth | Kind::AwsSecret if judge::is_random(value, true) => {
            found("named-secret", Tier::B)
        }
        Kind::Strong | Kind::Key | Kind::Password | Kind::AwsSecret
            if form == Form::Variable && judge::is_likely(value, 8) =>
        {
            found("env-secret", Tier::B)
        }
        Kind::Strong | Kind::Key | Kind::Token | Kind::Password | Kind::AwsSecret | Kind::Weak
            if form == Form::Flag && is_flag_value(value) =>
        {
            found("flag-secret", Tier::B)
        }
        _ => None,
    }
}

/// Returns `true` if the value is base64 and long enough for a key.
fn is_key_data(value: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    value.len() >= 40 && value.iter().all(is_base64) && !judge::is_blank_form(value)
}

fn is_twilio_key(value: &[u8]) -> bool {
    value.len() == 34 && value.starts_with(b"SK") && judge::is_hex(&value[2..])
}

/// Returns `true` if the value of a flag such as `--password` is a secret: anything unusual, but not a plain word.
fn is_flag_value(value: &[u8]) -> bool {
    let classes = judge::Classes::of(value);
    let is_odd = classes.digit && classes.letter()
        || value
            .iter()
            .any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'%' | b'^' | b'*'));
    let is_slug = value.len() > 20 && judge::is_wordy(value);
    (6..=512).contains(&value.len())
        && !classes.other
        && is_odd
        && !is_slug
        && !judge::looks_harmless(value)
        && !judge::is_make_believe(value)
        && !judge::has_code(value)
}

/// Finds the value that belongs to the name at `at..end`.
///
/// `long_until` remembers the end of the last value that was too long, so that a megabyte of `token=token=…` is not
/// measured again at each of its names.
pub(super) fn value_of(text: &[u8], at: usize, end: usize, long_until: &mut usize) -> Option<Named> {
    if end < *long_until {
        return None;
    }
    let start = name_start(text, at);
    // Some literals of the gate include the characters after the name.
    let signs = text[at..end].iter().rev().take_while(|byte| !is_word(**byte)).count();
    let name_end = if signs > 0 { end - signs } else { name_end(text, end) };
    let name = &text[start..name_end];
    let is_flag = is_flag(text, at);
    let (value_start, is_assigned) = separator_end(text, name_end, is_flag)?;
    let is_variable = text.get(name_end) == Some(&b'=') && is_constant(name);
    let form = match (is_flag, is_variable) {
        (true, _) => Form::Flag,
        (false, true) => Form::Variable,
        _ if is_assigned => Form::Assigned,
        _ => return None,
    };
    // This check is last because most names have no value after them, and it searches for many words.
    let kind = kind_of(name)?;
    let (opening, quote) = opening_quote(text, value_start);
    let bytes_max = if kind == Kind::KeyData {
        KEY_DATA_BYTES_MAX
    } else {
        judge::VALUE_BYTES_MAX
    };
    let value_end = value_end(text, opening, quote, bytes_max);
    let value = &text[opening..value_end];
    // Test runners print `PASS: login_2FA` for a test that passed.
    if name == b"PASS" && form == Form::Assigned && !judge::is_random(value, true) {
        return None;
    }
    if value.len() > judge::VALUE_BYTES_MAX {
        *long_until = value_end;
    }
    judge(kind, form, value, opening)
}

/// Returns the end of the separator after a name, and `true` if it is an assignment and not only white space.
fn separator_end(text: &[u8], name_end: usize, is_flag: bool) -> Option<(usize, bool)> {
    let closers = skip(text, name_end, 8, |byte| {
        matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b']' | b'*')
    });
    let at = skip(text, closers, 8, |byte| matches!(byte, b' ' | b'\t'));
    let sign_end = skip(text, at, 3, |byte| matches!(byte, b'=' | b':' | b'>'));
    if sign_end > at {
        return Some((skip(text, sign_end, 8, |byte| matches!(byte, b' ' | b'\t')), true));
    }
    // `--token value`, and `"--token", "value"` in a list of arguments.
    let is_listed = closers > name_end && text.get(at) == Some(&b',');
    let gap_end = skip(text, at, 8, |byte| matches!(byte, b' ' | b'\t' | b','));
    (is_flag && (at > closers || is_listed) && gap_end > name_end).then_some((gap_end, false))
}

/// Skips an opening quote, escaped or not. Returns the start of the value, and the quote.
fn opening_quote(text: &[u8], at: usize) -> (usize, Option<u8>) {
    // A `*` means that the name is in bold.
    let quote = skip(text, at, 8, |byte| matches!(byte, b'\\' | b'*' | b' '));
    match text.get(quote) {
        Some(byte @ (b'"' | b'\'' | b'`')) => (quote + 1, Some(*byte)),
        _ => (at, None),
    }
}

/// Returns the end of a value: its closing quote or, without a quote, the end of a shell or program word.
fn value_end(text: &[u8], start: usize, quote: Option<u8>, bytes_max: usize) -> usize {
    let ends = |byte: u8| match quote {
        Some(quote) => byte == quote || byte == b'\\' || byte.is_ascii_control(),
        None => {
            !byte.is_ascii_graphic()
                || matches!(
                    byte,
                    b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'&' | b'<' | b'>' | b'|' | b'\\'
                )
        }
    };
    let end = skip(text, start, bytes_max + 1, |byte| !ends(byte));
    // The punctuation of a sentence.
    if quote.is_none() && end > start && matches!(text[end - 1], b'.' | b':') {
        end - 1
    } else {
        end
    }
}

/// Returns the kind of a one-word text that is a command-line flag, with its value in the next text.
pub(super) fn flag_kind(text: &[u8]) -> Option<Kind> {
    let name = text.strip_prefix(b"--")?;
    let is_name = name.iter().all(|byte| is_word(*byte) || *byte == b'-');
    if is_name { kind_of(name) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_different_things() {
        for (name, expected) in [
            ("password", Some(Kind::Password)),
            ("DB_PASS", Some(Kind::Password)),
            ("DBPASS", Some(Kind::Password)),
            ("PassWord", Some(Kind::Password)),
            ("pass", Some(Kind::Password)),
            ("pass_db", Some(Kind::Password)),
            ("smtpPassOld", Some(Kind::Password)),
            ("bypass", None),
            ("passes", None),
            ("passenger", None),
            ("Api_Key", Some(Kind::Key)),
            ("ACCESSKEY", Some(Kind::Key)),
            ("HEROKU_API_KEY", Some(Kind::Key)),
            ("GITHUB_TOKEN", Some(Kind::Token)),
            ("githubToken", Some(Kind::Token)),
            ("TOKEN", Some(Kind::Weak)),
            ("client-key-data", Some(Kind::KeyData)),
            ("auth", Some(Kind::Auth)),
            ("_auth", Some(Kind::Auth)),
            ("author", None),
            ("oauth", None),
            ("client_secret", Some(Kind::Key)),
            ("apiKey", Some(Kind::Key)),
            ("X-Api-Key", Some(Kind::Header)),
            ("AWS_SECRET_ACCESS_KEY", Some(Kind::AwsSecret)),
            ("token", Some(Kind::Weak)),
            ("input_tokens", None),
            ("token_type", None),
            ("nextPageToken", None),
            ("secretName", None),
            ("public_key", None),
            ("colour", None),
        ] {
            assert_eq!(kind_of(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn values_are_found_behind_their_names() {
        let secret = "k3Jf9xQ2mZbWp4Lr8TvN";
        for text in [
            format!("API_KEY={secret}"),
            format!("export API_KEY='{secret}'"),
            format!(r#"{{"api_key": "{secret}"}}"#),
            format!(r#"{{\"api_key\": \"{secret}\"}}"#),
            format!("api_key: {secret}."),
            format!("const API_KEY = `{secret}`;"),
            format!("cfg[\"API_KEY\"] = \"{secret}\""),
            format!("'API_KEY' => '{secret}'"),
            format!("--API_KEY {secret} --verbose"),
            format!("[\"--API_KEY\",\"{secret}\"]"),
            format!("?API_KEY={secret}&page=2"),
            format!("<API_KEY>{secret}</API_KEY>"),
            format!("**API_KEY**: `{secret}`"),
        ] {
            let at = text.to_lowercase().find("api_key").unwrap();
            let found = value_of(text.as_bytes(), at, at + 7, &mut 0).map(|named| &text[named.range]);
            assert_eq!(found, Some(secret), "{text}");
        }
    }
}
