//! Decides if a value is random enough to be a secret.
//!
//! The precise rules do not need this, because their forms are sufficient evidence. The contextual rules match every
//! `token = …` of every program, and most of those values are identifiers, placeholders, paths and ids. So the decision
//! relies on a property that random strings lack: words. This module sees values, not their names.

/// Minimum length of a value for the contextual rules.
const GENERIC_BYTES_MIN: usize = 16;
/// Maximum length of a value: a longer one is a document, not a secret.
pub(super) const VALUE_BYTES_MAX: usize = 4096;
/// Minimum Shannon entropy per byte: a value below it is too regular.
const GENERIC_ENTROPY_MIN: f64 = 3.5;
/// The same for hexadecimal digits.
const HEX_ENTROPY_MIN: f64 = 3.0;
/// Minimum Shannon entropy per byte at which a value with brackets or quotes may still be a secret instead of source
/// code.
const SCRAMBLED_ENTROPY_MIN: f64 = 4.2;

/// For each letter, the letters that commonly follow it in words and in identifiers.
const FOLLOWERS: [&[u8]; 26] = [
    b"bcdgilmnprstuvy",
    b"aceilorsu",
    b"acehiklorstu",
    b"adeilorsu",
    b"acdefglmnpqrstvx",
    b"aefilorsu",
    b"ehinrsu",
    b"aeio",
    b"abcdefglmnoprstvz",
    b"",
    b"eis",
    b"adefilostuy",
    b"abeimopsu",
    b"acdefgiklnostuv",
    b"bcdfgiklmnoprstuvw",
    b"aeiloprstu",
    b"u",
    b"acdegimnorstuy",
    b"acehilopstuy",
    b"acehiloprstuy",
    b"abceilmnprst",
    b"aei",
    b"aehior",
    b"pt",
    b"ps",
    b"e",
];

/// Parts of placeholders for secrets, and of references to secrets. Lower case.
const BLANKS: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "replace",
    "your-",
    "your_",
    "yourkey",
    "yourtoken",
    "yourpass",
    "yoursecret",
    "xxxx",
    "redacted",
    "insert",
    "secret-here",
    "****",
    "....",
    "____",
    "----",
    "process.env",
    "import.meta",
    "os.environ",
    "getenv",
    "secrets.",
    "undefined",
    "<",
    "${",
    "$(",
    "{{",
    "%s",
    "…",
];

/// Parts of values that are used in tests. Lower case.
const MAKE_BELIEVE: &[&str] = &[
    "test", "fake", "mock", "dummy", "sample", "todo", "fixme", "mytoken", "my-token", "my_token", "foobar",
];

/// Prefixes of ids and checksums, which are common in logs and lock files and give no access to anything.
const ID_PREFIXES: &[&str] = &[
    "msg_",
    "toolu_",
    "srvtoolu_",
    "req_",
    "call_",
    "chatcmpl-",
    "resp_",
    "rs_",
    "fc_",
    "ctc_",
    "thread_",
    "session_",
    "sess_",
    "item_",
    "run_",
    "file-",
    "file_",
    "batch_",
    "org-",
    "user_",
    "proj_",
    "task_",
    "agent-",
    "sha1-",
    "sha1:",
    "sha256-",
    "sha256:",
    "sha384-",
    "sha512-",
    "sha512:",
    "md5:",
    "h1:",
    "ssh-rsa",
    "ssh-ed25519",
    "ecdsa-",
    "AAAAB3NzaC1",
    "AAAAC3NzaC1",
    "pk_",
    "pk-",
    "phc_",
    "W/\"",
    "arn:",
    "urn:",
    "did:",
    "refs/",
];

/// The kinds of characters that a value contains.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classes {
    pub(super) upper: bool,
    pub(super) lower: bool,
    pub(super) digit: bool,
    pub(super) symbol: bool,
    /// White space, control characters, or bytes beyond ASCII.
    pub(super) other: bool,
}

impl Classes {
    pub(super) fn of(value: &[u8]) -> Classes {
        let mut classes = Classes::default();
        for byte in value {
            match byte {
                b'A'..=b'Z' => classes.upper = true,
                b'a'..=b'z' => classes.lower = true,
                b'0'..=b'9' => classes.digit = true,
                b'!'..=b'~' => classes.symbol = true,
                _ => classes.other = true,
            }
        }
        classes
    }

    pub(super) fn letter(self) -> bool {
        self.upper || self.lower
    }

    pub(super) fn count(self) -> usize {
        [self.upper, self.lower, self.digit, self.symbol]
            .into_iter()
            .filter(|has| *has)
            .count()
    }
}

/// Returns `true` if a value with a telling name is a secret: long, random, and not one of the harmless forms.
///
/// With a weaker name (`token`), a hexadecimal value counts as a hash.
pub(super) fn is_random(value: &[u8], name_is_strong: bool) -> bool {
    if !(GENERIC_BYTES_MIN..=VALUE_BYTES_MAX).contains(&value.len()) {
        return false;
    }
    let classes = Classes::of(value);
    // One in thirty random tokens of this length has no digit, but most names have none.
    let is_scrambled =
        || name_is_strong && value.len() >= 20 && classes.upper && classes.lower && words_percent(value) < 20;
    if classes.other || !classes.letter() || !(classes.digit || is_scrambled()) {
        return false;
    }
    let is_hex = is_hex(value);
    if is_hex && !(name_is_strong && value.len() >= 32) {
        return false;
    }
    // A hexadecimal digit carries at most four bits.
    let entropy_min = if is_hex { HEX_ENTROPY_MIN } else { GENERIC_ENTROPY_MIN };
    let entropy = entropy(value);
    // Generated passwords may contain any character; but then they contain all kinds, and many different ones.
    let may_be_code = has_code(value) && !(classes.count() == 4 && entropy >= SCRAMBLED_ENTROPY_MIN);
    entropy >= entropy_min && !may_be_code && !looks_harmless(value) && !is_make_believe(value) && !is_wordy(value)
}

/// Returns `true` if a value with the name of a password is one; it may be short or consist of words.
pub(super) fn is_password(value: &[u8]) -> bool {
    let classes = Classes::of(value);
    (8..=128).contains(&value.len())
        && !classes.other
        && classes.digit
        && classes.letter()
        && classes.count() >= 3
        && !has_code(value)
        && !looks_harmless(value)
        && !is_make_believe(value)
        && !is_name_of_something(value)
}

/// Returns `true` if a value in a place made for secrets (a header, a flag, `.env`) is one; it may be shorter and less
/// random.
pub(super) fn is_likely(value: &[u8], bytes_min: usize) -> bool {
    let classes = Classes::of(value);
    (bytes_min..=VALUE_BYTES_MAX).contains(&value.len())
        && !classes.other
        && classes.digit
        && classes.letter()
        && entropy(value) >= 2.5
        && !has_code(value)
        && !looks_harmless(value)
        && !is_wordy(value)
}

/// Returns `true` if a value is a placeholder, an id, a path, a link or a date.
pub(super) fn looks_harmless(value: &[u8]) -> bool {
    is_blank(value) || is_uuid(value) || is_id(value) || is_path_or_link(value) || is_date(value)
}

/// Returns `true` if a token consists of filler: `ghp_xxxxxxxx`, `AKIA…EXAMPLE`. The precise rules use only this check.
pub(super) fn is_blank_form(value: &[u8]) -> bool {
    let filler = |byte: &&u8| matches!(byte, b'x' | b'X' | b'*' | b'0' | b'.' | b'_' | b'-');
    let fillers = value.iter().filter(filler).count();
    let words: [&[u8]; 4] = [b"EXAMPLE", b"PLACEHOLDER", b"REDACTED", b"XXXXXXXX"];
    fillers * 5 >= value.len() * 4 || words.iter().any(|word| contains_ignoring_case(value, word))
}

/// Returns `true` if a value is a placeholder for a secret, or a reference to one.
pub(super) fn is_blank(value: &[u8]) -> bool {
    let has = |word: &&str| contains_ignoring_case(value, word.as_bytes());
    value.first() == Some(&b'$') || is_blank_form(value) || BLANKS.iter().any(has)
}

/// Returns `true` if a value looks like test data.
pub(super) fn is_make_believe(value: &[u8]) -> bool {
    is_sequence(value)
        || MAKE_BELIEVE
            .iter()
            .any(|word| contains_ignoring_case(value, word.as_bytes()))
}

/// Returns the Shannon entropy in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let total = value.len() as f64;
    let share = |count: u32| f64::from(count) / total;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| -share(*count) * share(*count).log2())
        .sum()
}

/// Returns `true` if much of a value consists of words: an identifier, a slug, a sentence without spaces.
pub(super) fn is_wordy(value: &[u8]) -> bool {
    // In `ed25519.Ed25519PrivateKey` the last name is better evidence than the path before it.
    let own_name = memchr::memrchr(b'.', value)
        .map(|dot| &value[dot + 1..])
        .filter(|name| name.len() >= 8);
    words_percent(value) >= 40 || own_name.is_some_and(|name| words_percent(name) >= 40)
}

/// Returns `true` if almost all of a value consists of words.
pub(super) fn is_words(value: &[u8]) -> bool {
    words_percent(value) >= 80
}

/// Returns the percentage of a value that is in runs of letters with letter pairs common in words.
fn words_percent(value: &[u8]) -> usize {
    let (mut in_words, mut pairs, mut common) = (0, 0, 0);
    let mut run = 0;
    for at in 0..=value.len() {
        let goes_on = value.get(at).is_some_and(|byte| {
            let starts = run == 0 && byte.is_ascii_alphabetic();
            starts || byte.is_ascii_lowercase() || byte.is_ascii_uppercase() && value[at - 1].is_ascii_uppercase()
        });
        if goes_on {
            run += 1;
            continue;
        }
        if run >= 3 {
            let word = &value[at - run..at];
            in_words += run;
            pairs += run - 1;
            common += word.windows(2).filter(|pair| is_common(pair[0], pair[1])).count();
        }
        run = usize::from(value.get(at).is_some_and(u8::is_ascii_alphabetic));
    }
    // In a name nearly all letters are in words; in noise some are by chance.
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let reads_well = common * 4 >= pairs * 3 && in_words * 5 >= letters * 4;
    if reads_well {
        in_words * 100 / value.len().max(1)
    } else {
        0
    }
}

/// Returns `true` if the second letter commonly follows the first, in any case.
pub(super) fn is_common(first: u8, second: u8) -> bool {
    let index = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    FOLLOWERS
        .get(index)
        .is_some_and(|after| after.contains(&second.to_ascii_lowercase()))
}

pub(super) fn is_hex(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_hexdigit)
}

fn is_uuid(value: &[u8]) -> bool {
    let dash_at = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, &u8)| {
        if dash_at(at) {
            *byte == b'-'
        } else {
            byte.is_ascii_hexdigit()
        }
    };
    value.len() >= 36 && value[..36].iter().enumerate().all(fits)
}

/// Returns `true` if a value is a UUID that looks random, not a made-up one.
pub(super) fn is_secret_id(value: &[u8]) -> bool {
    value.len() == 36
        && is_uuid(value)
        && entropy(value) >= HEX_ENTROPY_MIN
        && !value.starts_with(b"1234")
        && !is_blank_form(value)
}

fn is_id(value: &[u8]) -> bool {
    ID_PREFIXES.iter().any(|prefix| value.starts_with(prefix.as_bytes()))
}

/// Returns `true` for a path, a file name or a link, because a location by itself is not a secret.
fn is_path_or_link(value: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"/", b"./", b"../", b"~/", b"@/", b"\\"];
    let is_drive =
        value.len() > 2 && value[0].is_ascii_alphabetic() && value[1] == b':' && matches!(value[2], b'\\' | b'/');
    let ends = [
        ".json", ".pem", ".key", ".txt", ".md", ".ts", ".js", ".py", ".rs", ".go", ".yml", ".yaml", ".toml", ".env",
        ".com", ".log",
    ];
    starts.iter().any(|start| value.starts_with(start))
        || is_drive
        || contains_ignoring_case(value, b"://")
        || ends.iter().any(|end| value.ends_with(end.as_bytes()))
}

fn is_date(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b'T' | b'Z' | b'+' | b'/'))
}

/// Returns `true` if a value contains characters that are common in source code and rare in secrets.
pub(super) fn has_code(value: &[u8]) -> bool {
    value.iter().any(|byte| {
        matches!(
            byte,
            b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'|' | b';' | b'"' | b'\'' | b'`' | b'\\'
        )
    })
}

/// Returns `true` for identifiers such as `user.password2`, `next_token_v2`, `KEY_3DES_OF`.
fn is_name_of_something(value: &[u8]) -> bool {
    let is_constant = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    if value.contains(&b'_') && value.iter().all(is_constant) {
        return true;
    }
    let mut parts = value.split(|byte| matches!(byte, b'.' | b'-' | b'_' | b':' | b'/'));
    let is_name = |part: &[u8]| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        digits <= 2 && part.iter().all(u8::is_ascii_alphanumeric)
    };
    value
        .iter()
        .any(|byte| matches!(byte, b'.' | b'-' | b'_' | b':' | b'/'))
        && parts.all(is_name)
}

/// Returns `true` for a sequence such as `0123456789abcdef`: each character follows its predecessor or repeats it, with
/// at most one exception.
fn is_sequence(value: &[u8]) -> bool {
    let is_break = |pair: &&[u8]| pair[1] != pair[0].wrapping_add(1) && pair[1] != pair[0];
    value.len() > 4 && value.windows(2).filter(is_break).count() <= 1
}

/// Returns `true` if `text` contains the ASCII `word`, in any case.
pub(super) fn contains_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_noise() {
        for value in [
            "authenticationServiceV2",
            "my-project-access-token-name",
            "config.auth.accessToken2",
            "REFRESH_TOKEN_LIFETIME_30",
            "getServerSideProps1",
            "ed25519.Ed25519PrivateKey",
        ] {
            assert!(is_wordy(value.as_bytes()), "{value}");
        }
        for value in [
            "k3Jf9xQ2mZbWp4Lr8TvN",
            "a81f0c77e2b94d35f6",
            "q7wz8kx3vj2hbn5mcr4d",
            "Zm9vYmFyYmF6cXV4MTIz",
            "NGhDd6NOFOhK8Xyliospu2RC",
            "2ORjCksdWiNFuAduP6F8XEaLkGF1K3",
        ] {
            assert!(!is_wordy(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn placeholders_ids_paths_and_dates_are_harmless() {
        for value in [
            "xxxxxxxxxxxxxxxxxxxx",
            "your-api-key-1234567",
            "${API_KEY_PRODUCTION1}",
            "3f1c9a52-7be1-4a7e-9d55-0c2f6e1b8a43",
            "toolu_01AbCdEfGhIjKlMnOpQr",
            "/home/me/keys/id_ed25519",
            "https://a.example/k3Jf9xQ2mZbWp4Lr",
            "2026-11-15T20:35:00.000Z",
        ] {
            assert!(looks_harmless(value.as_bytes()), "{value}");
        }
        assert!(is_make_believe(b"0123456789abcdefghij") && is_make_believe(b"my-test-key-1"));
        assert!(!looks_harmless(b"k3Jf9xQ2mZbWp4Lr8TvN"));
    }

    #[test]
    fn a_hash_is_a_secret_only_under_a_strong_name() {
        let hash = b"9b74c9897bac770ffc029102a200c5de9b74c989";
        assert!(!is_random(hash, false));
        assert!(is_random(hash, true));
    }

    #[test]
    fn entropy_counts_bits_per_byte() {
        assert!(entropy(b"aaaa").abs() < 1e-9);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
    }
}
