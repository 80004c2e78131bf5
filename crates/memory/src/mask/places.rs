//! Places that are made for secrets: headers, links, web tokens.
//!
//! Here the place is the evidence, so every value counts unless it is a placeholder.

use super::Tier;
use super::judge;
use super::named::Named;
use super::text::{is_left_border, is_word, skip};
use std::ops::Range;

/// The rules that match by place or name instead of by form.
pub(super) const RULES: &[(&str, Tier)] = &[
    ("private-key", Tier::A),
    ("jwt", Tier::A),
    ("url-password", Tier::A),
    ("authorization", Tier::A),
    ("api-key-header", Tier::A),
    ("cookie", Tier::A),
    ("aws-secret-key", Tier::A),
    ("basic-auth", Tier::A),
    ("key-data", Tier::A),
    ("netrc-password", Tier::A),
    ("pgpass-password", Tier::A),
    ("named-secret", Tier::B),
    ("password", Tier::B),
    ("env-secret", Tier::B),
    ("flag-secret", Tier::B),
    ("curl-password", Tier::B),
    ("command-password", Tier::B),
];

/// Placeholder passwords in links and commands.
const NO_PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pw",
    "pwd",
    "postgres",
    "root",
    "user",
    "username",
    "secret",
    "admin",
    "guest",
    "mysql",
    "redis",
    "mongo",
    "token",
    "key",
    "apikey",
    "api_key",
    "x-oauth-basic",
    "dev",
    "prod",
    "local",
    "localhost",
    "null",
    "none",
    "string",
    "pass123",
    "password123",
    "mypassword",
    "yourpassword",
];

/// Finds the token after the header name `Authorization`, which ends at `end`.
pub(super) fn authorization(text: &[u8], end: usize) -> Option<Named> {
    let closers = skip(text, end, 8, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b']'));
    let sign = skip(text, closers, 8, |byte| byte == b' ');
    if !matches!(text.get(sign), Some(b':' | b'=' | b',')) {
        return None;
    }
    let value = skip(text, sign + 1, 16, |byte| {
        matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b'`' | b'=' | b'>')
    });
    let named = authorization_value(&text[value..text.len().min(value + judge::VALUE_BYTES_MAX)])?;
    Some(Named {
        range: value + named.range.start..value + named.range.end,
        ..named
    })
}

/// Finds the token in the value of an `Authorization` header.
pub(super) fn authorization_value(value: &[u8]) -> Option<Named> {
    const SCHEMES: [&str; 9] = [
        "bearer",
        "basic",
        "token",
        "bot",
        "apikey",
        "api-key",
        "key",
        "digest",
        "negotiate",
    ];
    let scheme = skip(value, 0, 16, |byte| byte.is_ascii_alphabetic() || byte == b'-');
    let is_scheme = value.get(scheme) == Some(&b' ')
        && SCHEMES
            .iter()
            .any(|name| value[..scheme].eq_ignore_ascii_case(name.as_bytes()));
    let start = if is_scheme {
        skip(value, scheme, 8, |byte| byte == b' ')
    } else {
        0
    };
    let range = start..skip(value, start, judge::VALUE_BYTES_MAX, is_token);
    let token = &value[range.clone()];
    let is_basic = value[..scheme].eq_ignore_ascii_case(b"basic");
    let is_secret = if is_scheme && is_basic {
        token.len() >= 8 && !judge::looks_harmless(token) && is_base64_of_a_pair(token)
    } else if is_scheme {
        judge::is_likely(token, 8)
    } else {
        judge::is_random(token, true)
    };
    is_secret.then_some(Named {
        rule: "authorization",
        tier: Tier::A,
        range,
    })
}

/// Finds the token after `Bearer `, which ends at `end`, if no header is named.
pub(super) fn bearer(text: &[u8], end: usize) -> Option<Named> {
    let start = skip(text, end, 4, |byte| byte == b' ');
    let range = start..skip(text, start, judge::VALUE_BYTES_MAX, is_token);
    judge::is_likely(&text[range.clone()], 16).then_some(Named {
        rule: "authorization",
        tier: Tier::A,
        range,
    })
}

fn is_token(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'-' | b'.' | b'~' | b'+' | b'/' | b'=' | b'|')
}

/// Returns `true` if a value is the base64 encoding of `user:password` and nothing else.
pub(super) fn is_basic_auth(value: &[u8]) -> bool {
    value.len() >= 12 && !judge::looks_harmless(value) && is_base64_of_a_pair(value)
}

/// Returns `true` if the base64 decodes to printable characters with a colon, as `user:password` does.
fn is_base64_of_a_pair(token: &[u8]) -> bool {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (mut bits, mut count, mut pair) = (0_u32, 0, false);
    for byte in token.iter().take_while(|byte| **byte != b'=') {
        let Some(value) = digit(*byte) else {
            return false;
        };
        bits = (bits << 6 | u32::from(value)) & 0xFFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            let decoded = bits >> count & 0xFF;
            if decoded < 0x20 || decoded == 0x7F {
                return false;
            }
            pair |= decoded == u32::from(b':');
        }
    }
    pair
}

/// Finds the values in a `Cookie` or `Set-Cookie` header; `end` is the end of the header name.
pub(super) fn cookies(text: &[u8], end: usize) -> Vec<Named> {
    let closers = skip(text, end, 8, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b']'));
    let sign = skip(text, closers, 4, |byte| byte == b' ');
    let is_flag = text[..end - b"cookie".len()].ends_with(b"--") && sign > end;
    if !matches!(text.get(sign), Some(b':' | b'=' | b',')) && !is_flag {
        return Vec::new();
    }
    let start = skip(text, sign, 16, |byte| {
        matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b'`' | b'=' | b':' | b',')
    });
    let named = cookie_values(&text[start..text.len().min(start + judge::VALUE_BYTES_MAX)]);
    let moved = |named: Named| Named {
        range: start + named.range.start..start + named.range.end,
        ..named
    };
    named.into_iter().map(moved).collect()
}

/// Finds the values in a cookie header: `name=value; name=value`.
pub(super) fn cookie_values(text: &[u8]) -> Vec<Named> {
    const ATTRIBUTES: [&str; 7] = [
        "path", "domain", "expires", "max-age", "samesite", "version", "priority",
    ];
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let name_end = skip(text, at, 128, |byte| {
            is_word(byte) || matches!(byte, b'-' | b'.' | b'[' | b']')
        });
        if name_end > at && text.get(name_end) == Some(&b'=') {
            let start = name_end + 1;
            let end = skip(text, start, judge::VALUE_BYTES_MAX, |byte| {
                byte.is_ascii_graphic()
                    && !matches!(byte, b';' | b'"' | b'\'' | b'\\' | b'`' | b',' | b'<' | b'$' | b'{')
            });
            let is_attribute = ATTRIBUTES
                .iter()
                .any(|name| text[at..name_end].eq_ignore_ascii_case(name.as_bytes()));
            let goes_on = matches!(text.get(end), Some(b'$' | b'{' | b'<'));
            if !is_attribute && !goes_on && judge::is_likely(&text[start..end], 12) {
                found.push(Named {
                    rule: "cookie",
                    tier: Tier::A,
                    range: start..end,
                });
            }
            at = end;
        } else {
            // `HttpOnly` and other attributes without a value.
            at = name_end;
        }
        if text.get(at) != Some(&b';') {
            return found;
        }
        at = skip(text, at, 4, |byte| matches!(byte, b';' | b' '));
    }
}

/// Finds the password in `scheme://user:password@host`; `at` is the position of `://`.
pub(super) fn link(text: &[u8], at: usize) -> Option<Named> {
    let scheme = text[..at]
        .iter()
        .rev()
        .take(16)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    let start = at + b"://".len();
    let end = skip(text, start, 512, |byte| {
        byte.is_ascii_graphic()
            && !matches!(
                byte,
                b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'(' | b')' | b',' | b'|'
            )
    });
    let authority = &text[start..end];
    let host = memchr::memrchr(b'@', authority)?;
    let has_host = authority
        .get(host + 1)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    if scheme == 0 || !has_host {
        return None;
    }
    let named = |range: Range<usize>| {
        Some(Named {
            rule: "url-password",
            tier: Tier::A,
            range,
        })
    };
    match colon(&authority[..host]) {
        Some(colon) if is_real_password(&authority[..colon.start], &authority[colon.end..host]) => {
            named(start + colon.end..start + host)
        }
        // A token without a user, as in `https://<token>@host`.
        None if judge::is_likely(&authority[..host], 20) => named(start..start + host),
        _ => None,
    }
}

/// Returns the range of the colon between user and password, which may be written `%3A`.
fn colon(pair: &[u8]) -> Option<Range<usize>> {
    let plain = memchr::memchr(b':', pair).map(|at| at..at + 1);
    plain.or_else(|| escaped(pair, b"%3A").map(|at| at..at + 3))
}

/// Returns the position of a percent escape, in any case.
fn escaped(text: &[u8], escape: &[u8]) -> Option<usize> {
    text.windows(escape.len())
        .position(|window| window.eq_ignore_ascii_case(escape))
}

/// Finds the password in a link that is embedded in another link; `end` is the position after `%3A%2F%2F`.
pub(super) fn escaped_link(text: &[u8], end: usize) -> Option<Named> {
    let far = skip(text, end, 512, |byte| {
        is_word(byte) || matches!(byte, b'%' | b'-' | b'.' | b'~' | b'+' | b'!' | b'*')
    });
    let link = &text[end..far];
    let authority = &link[..escaped(link, b"%2F").unwrap_or(link.len())];
    let host = escaped(authority, b"%40")?;
    let colon = escaped(&authority[..host], b"%3A")?;
    let range = colon + 3..host;
    is_real_password(&authority[..colon], &authority[range.clone()]).then_some(Named {
        rule: "url-password",
        tier: Tier::A,
        range: end + range.start..end + range.end,
    })
}

/// Returns `true` unless the password is a placeholder, as documentation uses.
pub(super) fn is_real_password(user: &[u8], password: &[u8]) -> bool {
    let is_word_for_it = NO_PASSWORDS
        .iter()
        .any(|word| password.eq_ignore_ascii_case(word.as_bytes()));
    let has_template = password
        .iter()
        .any(|byte| matches!(byte, b'{' | b'}' | b'<' | b'[' | b']'));
    let is_variable = |three: &[u8]| three[0] == b'$' && three[1..].iter().all(u8::is_ascii_uppercase);
    let has_reference = has_template || password.windows(3).any(is_variable);
    password.len() >= 4 && password != user && !is_word_for_it && !has_reference && !judge::is_blank(password)
}

/// Finds the end of the JSON web token at `start`: two base64 parts that each begin with JSON, and a signature.
pub(super) fn web_token_end(text: &[u8], start: usize) -> Option<usize> {
    // A token cannot begin inside base64.
    let is_inside = start > 0 && matches!(text[start - 1], b'-' | b'+' | b'/' | b'.');
    if is_inside || !is_left_border(text, start) {
        return None;
    }
    let part = |from: usize| skip(text, from, usize::MAX, |byte| is_word(byte) || byte == b'-');
    let header = part(start);
    let payload = header + 1;
    if text.get(header) != Some(&b'.') || header - start < 12 || !text[payload..].starts_with(b"eyJ") {
        return None;
    }
    let payload_end = part(payload);
    if text.get(payload_end) != Some(&b'.') {
        // The token was cut off within the payload.
        return (payload_end - payload >= 24).then_some(payload_end);
    }
    let end = part(payload_end + 1);
    // Encrypted tokens have two more parts.
    Some(
        skip(text, end, usize::MAX, |byte| {
            is_word(byte) || matches!(byte, b'-' | b'.')
        })
        .max(end),
    )
    .map(|end| trim_dot(text, end))
}

fn trim_dot(text: &[u8], end: usize) -> usize {
    if text[..end].ends_with(b".") { end - 1 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str, named: Option<Named>) -> Option<&str> {
        named.map(|named| &text[named.range])
    }

    #[test]
    fn passwords_of_links_are_found_and_the_words_for_them_are_not() {
        for (text, expected) in [
            ("postgres://app:k3Jf9x@db.host/x", Some("k3Jf9x")),
            ("redis://:s3cr3tpw@h:1", Some("s3cr3tpw")),
            ("https://u:p@ss!w0rd@h/", Some("p@ss!w0rd")),
            ("https://k3Jf9xQ2mZbWp4Lr8TvN@h/", Some("k3Jf9xQ2mZbWp4Lr8TvN")),
            ("postgres://user:password@localhost", None),
            ("postgres://postgres:postgres@localhost", None),
            ("https://u:p%40ss%21w0rd@h/", Some("p%40ss%21w0rd")),
            ("https://u%3Ap%40ssw0rd@h/", Some("p%40ssw0rd")),
            ("postgres://u:pa$$w0rd@h/", Some("pa$$w0rd")),
            ("https://${USER}:${PASS}@h", None),
            ("https://u:pre$PASS@h", None),
            ("https://h/@scope/a:b@c", None),
            ("ssh://git@github.com/a", None),
        ] {
            let at = text.find("://").unwrap();
            assert_eq!(text_of(text, link(text.as_bytes(), at)), expected, "{text}");
        }
    }

    #[test]
    fn passwords_of_escaped_links_are_found() {
        for (text, expected) in [
            ("?to=postgres%3A%2F%2Fapp%3Ak3Jf9x%40db%2Fx", Some("k3Jf9x")),
            ("?to=https%3A%2F%2Fa.example%2Fb%3Ac%40d", None),
            ("?to=https%3A%2F%2Fuser%3Apassword%40h", None),
        ] {
            let end = text.find("%3A%2F%2F").unwrap() + 9;
            assert_eq!(text_of(text, escaped_link(text.as_bytes(), end)), expected, "{text}");
        }
    }

    #[test]
    fn tokens_of_headers_are_found_and_placeholders_are_not() {
        for (text, expected) in [
            ("Authorization: Bearer k3Jf9xQ2mZbW", Some("k3Jf9xQ2mZbW")),
            (
                "Authorization: Basic YWxpY2U6azNKZjl4UTI=",
                Some("YWxpY2U6azNKZjl4UTI="),
            ),
            (r#"Authorization\": \"token k3Jf9xQ2mZbW\""#, Some("k3Jf9xQ2mZbW")),
            ("Authorization: Bearer $TOKEN", None),
            ("Authorization: Bearer your-token-123", None),
            ("Authorization: Basic authentication", None),
            ("Authorization header", None),
        ] {
            assert_eq!(
                text_of(text, authorization(text.as_bytes(), "Authorization".len())),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn values_of_cookies_are_found_and_attributes_are_not() {
        let text =
            "Set-Cookie: sid=k3Jf9xQ2mZbWp4Lr; Path=/; theme=dark; id=a81f0c77e2b94d35; HttpOnly; Expires=Wed21Oct2026";
        let found: Vec<_> = cookies(text.as_bytes(), "Set-Cookie".len())
            .into_iter()
            .map(|named| &text[named.range])
            .collect();
        assert_eq!(found, ["k3Jf9xQ2mZbWp4Lr", "a81f0c77e2b94d35"]);
    }
}
