//! Parses single values of the configuration, and describes what each kind of key expects.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use memory::hub::PushScope;
use memory::mask::{MaskKey, Masker, Tier, UserRule, UserRules};
use regex::Regex;
use toml::Value;
use transcript::Agent;

use super::{Cadence, ExtraRoot};

/// What was expected; completes the sentence "must be …".
pub(super) type Expected = String;

/// The fields of an element of `session_memory.sources.extra`.
pub(super) const EXTRA_FIELDS: [&str; 3] = ["agent", "path", "label"];

/// The fields of an element of `session_memory.masking.rules`.
pub(super) const RULE_FIELDS: [&str; 3] = ["name", "regex", "keyword"];
/// The field of an element of `session_memory.masking.allow` that is a table.
pub(super) const ALLOW_FIELDS: [&str; 1] = ["regex"];

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

pub(super) fn text(found: &Value) -> Result<String, Expected> {
    found
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| "text in quotes".to_owned())
}

/// Parses text; an empty text is `None`.
pub(super) fn word(found: &Value) -> Result<Option<String>, Expected> {
    Ok(Some(text(found)?).filter(|text| !text.is_empty()))
}

pub(super) fn share(found: &Value) -> Result<PushScope, Expected> {
    let all = [PushScope::Digests, PushScope::Full];
    let named = all.into_iter().find(|share| found.as_str() == Some(share.as_str()));
    named.ok_or_else(|| "\"digests\" or \"full\"".to_owned())
}

/// Parses `yes` or `no` as a word, so that a wrong value causes the same message as for any other key.
pub(super) fn yes_or_no(found: &Value) -> Result<bool, Expected> {
    match found.as_str() {
        Some("yes") => Ok(true),
        Some("no") => Ok(false),
        _ => Err("\"yes\" or \"no\"".to_owned()),
    }
}

pub(super) fn size(found: &Value) -> Result<u64, Expected> {
    let size = match found {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::String(text) => size_bytes(text),
        _ => None,
    };
    size.ok_or_else(|| "a size such as \"4GiB\" or \"500MB\", or a whole number of bytes".to_owned())
}

/// Parses a size such as `4GiB`, `1.5 GB` or `4096`. `K` alone is an error, because it can mean 1000 or 1024.
pub(crate) fn size_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..unit_at].trim_end(), &text[unit_at..]);
    let unit_bytes = match unit {
        "" => 1,
        _ => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let tens = 10_u128.pow(fraction.len().try_into().ok()?);
    let parts = whole.parse::<u64>().ok()?.checked_mul(unit_bytes)?;
    let rest = fraction.parse::<u128>().ok()? * u128::from(unit_bytes) / tens;
    parts.checked_add(rest.try_into().ok()?)
}

pub(super) fn age_days(found: &Value) -> Result<Option<u32>, Expected> {
    let days = match found {
        Value::String(word) if word == "never" => return Ok(None),
        Value::Integer(days) => u32::try_from(*days).ok().filter(|days| *days > 0),
        _ => None,
    };
    days.map(Some)
        .ok_or_else(|| "a whole number of days from 1, or \"never\"".to_owned())
}

/// Parses a whole number from 1.
pub(super) fn count<N: TryFrom<i64>>(found: &Value, most: i64) -> Result<N, Expected> {
    let number = found.as_integer().filter(|number| (1..=most).contains(number));
    let number = number.and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| format!("a whole number from 1 to {most}"))
}

/// Parses a language tag. It becomes part of a prompt, so it must not be a sentence.
pub(super) fn language(found: &Value) -> Result<String, Expected> {
    let is_tag = |tag: &&str| {
        let parts = || tag.split('-');
        (2..=35).contains(&tag.len())
            && parts()
                .all(|part| !part.is_empty() && part.len() <= 8 && part.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let tag = found.as_str().filter(is_tag);
    tag.map(str::to_owned)
        .ok_or_else(|| "the tag of a language, such as \"en\" or \"zh-Hans\"".to_owned())
}

pub(super) fn cadence(found: &Value) -> Result<Cadence, Expected> {
    match found.as_str() {
        Some("hourly") => Ok(Cadence::Hourly),
        Some("daily") => Ok(Cadence::Daily),
        Some("weekly") => Ok(Cadence::Weekly),
        Some("on-hook") => Ok(Cadence::OnHook),
        _ => Err("\"hourly\", \"daily\", \"weekly\" or \"on-hook\"".to_owned()),
    }
}

pub(super) fn words(found: &Value) -> Result<Vec<String>, Expected> {
    let texts = texts(found).map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
    texts.ok_or_else(|| "a list of texts: a program and its arguments".to_owned())
}

pub(super) fn paths(found: &Value, home: &Path) -> Result<Vec<PathBuf>, Expected> {
    let expected = "a list of paths that are absolute or start with `~/`";
    texts(found)
        .and_then(|texts| texts.iter().map(|text| path(text, home)).collect())
        .ok_or_else(|| expected.to_owned())
}

/// Parses an optional path: an empty text is `None`.
pub(super) fn place(found: &Value, home: &Path) -> Result<Option<PathBuf>, Expected> {
    let expected = || "a path that is absolute or starts with `~/`, or empty".to_owned();
    match found.as_str().ok_or_else(expected)? {
        "" => Ok(None),
        text => path(text, home).map(Some).ok_or_else(expected),
    }
}

/// Parses a path, which must be absolute: a file has no directory that a relative path could refer to.
fn path(text: &str, home: &Path) -> Option<PathBuf> {
    let path = expand_home(text, home);
    path.is_absolute().then_some(path)
}

/// Replaces a leading `~` with the home directory.
pub(crate) fn expand_home(text: &str, home: &Path) -> PathBuf {
    match text.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with(std::path::is_separator) => home.join(&rest[1..]),
        _ => PathBuf::from(text),
    }
}

pub(super) fn extra_roots(found: &Value, home: &Path) -> Result<Vec<ExtraRoot>, Expected> {
    let expected = || "a list of tables with `agent`, `path` and perhaps `label`".to_owned();
    found
        .as_array()
        .ok_or_else(expected)?
        .iter()
        .map(|element| extra_root(element, home))
        .collect()
}

fn extra_root(element: &Value, home: &Path) -> Result<ExtraRoot, Expected> {
    let field = |name: &str| element.get(name).map(|value| value.as_str().ok_or(()));
    let agent = match field("agent") {
        Some(Ok("claude" | "claude-code")) => Agent::Claude,
        Some(Ok("codex")) => Agent::Codex,
        Some(Ok("grok")) => Agent::Grok,
        _ => return Err("a list where each `agent` is \"claude\", \"codex\" or \"grok\"".to_owned()),
    };
    let place = field("path").and_then(Result::ok).and_then(|text| path(text, home));
    let label = field("label")
        .transpose()
        .map_err(|()| "a list where each `label` is text".to_owned())?;
    Ok(ExtraRoot {
        agent,
        path: place.ok_or("a list where each `path` is absolute or starts with `~/`")?,
        label: label.map(str::to_owned),
    })
}

pub(super) fn globs(found: &Value, home: &Path) -> Result<GlobSet, Expected> {
    let texts = texts(found).ok_or("a list of globs")?;
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let glob = glob(text, home).map_err(|error| format!("a list of globs ({})", error.kind()))?;
        set.add(glob);
    }
    set.build()
        .map_err(|error| format!("a list of globs ({})", error.kind()))
}

fn glob(text: &str, home: &Path) -> Result<Glob, globset::Error> {
    let pattern = match text.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", globset::escape(&home.to_string_lossy())),
        None => text.to_owned(),
    };
    globset::GlobBuilder::new(&pattern).literal_separator(true).build()
}

/// The default pattern of task names.
const TASK_PATTERN: &str = r"[A-Z][A-Z0-9]+-(?:WP-)?\d+(?:-T\d+)?";

/// A regular expression. The default one is compiled when it is first used, because most commands never use it.
#[derive(Debug)]
pub(crate) struct LateRegex(OnceLock<Regex>);

impl LateRegex {
    pub(crate) fn get(&self) -> &Regex {
        self.0
            .get_or_init(|| Regex::new(TASK_PATTERN).expect("it is an expression"))
    }
}

pub(super) fn task_pattern(found: &Value) -> Result<LateRegex, Expected> {
    let pattern = found.as_str().ok_or("a regular expression in quotes")?;
    if pattern == TASK_PATTERN {
        return Ok(LateRegex(OnceLock::new()));
    }
    let regex = Regex::new(pattern);
    let regex = regex.map_err(|error| format!("a regular expression ({})", regex_reason(&error)))?;
    Ok(LateRegex(regex.into()))
}

/// Returns the last line of the error for a pattern; the lines before it draw the position.
fn regex_reason(error: &regex::Error) -> String {
    let told = error.to_string();
    let reason = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
    reason.to_owned()
}

/// Parses one rule of `session_memory.masking.rules`.
pub(super) fn mask_rule(element: &Value) -> Result<UserRule, Expected> {
    let field = |name: &str| element.get(name).map(|value| value.as_str().ok_or(()));
    let expected = || "a table with `name`, `regex` and perhaps `keyword`, all in quotes".to_owned();
    let (Some(Ok(name)), Some(Ok(pattern))) = (field("name"), field("regex")) else {
        return Err(expected());
    };
    let keyword = field("keyword").transpose().map_err(|()| expected())?;
    let rule = UserRule {
        name: name.to_owned(),
        pattern: mask_pattern(pattern)?,
        keywords: keyword.map(str::to_owned).into_iter().collect(),
        tier: Tier::A,
    };
    // The masker itself checks the rule; the key does not matter for that.
    let alone = UserRules {
        rules: vec![rule.clone()],
        ..UserRules::default()
    };
    match Masker::new(&MaskKey::new([0; 32]), &alone) {
        Ok(_) => Ok(rule),
        Err(error) => Err(format!("a usable rule ({error})")),
    }
}

/// An exception from masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allowed {
    Text(String),
    Pattern(String),
}

/// Parses one element of `session_memory.masking.allow`.
pub(super) fn mask_allow(element: &Value) -> Result<Allowed, Expected> {
    if let Some(text) = element.as_str().filter(|text| !text.is_empty()) {
        return Ok(Allowed::Text(text.to_owned()));
    }
    let pattern = element.get("regex").and_then(Value::as_str);
    let pattern = pattern.ok_or("text in quotes, or a table with `regex`")?;
    mask_pattern(pattern).map(Allowed::Pattern)
}

fn mask_pattern(pattern: &str) -> Result<String, Expected> {
    match regex::bytes::Regex::new(pattern) {
        Ok(_) => Ok(pattern.to_owned()),
        Err(error) => Err(format!(
            "a table whose `regex` is a regular expression ({})",
            regex_reason(&error)
        )),
    }
}

fn texts(found: &Value) -> Option<Vec<&str>> {
    found.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units_and_nothing_is_guessed() {
        let good = ["4GiB", "500MB", "1.5 GiB", "4096", "0", "10kb", "2 tib", "7B"];
        let sizes = [4 << 30, 500_000_000, 3 << 29, 4096, 0, 10_000, 2 << 40, 7];
        assert_eq!(good.map(|text| size_bytes(text).unwrap()), sizes);
        for bad in [
            "",
            "GiB",
            "4G",
            "4K",
            "-1",
            "1e9",
            "4 GiB more",
            "1.2.3MB",
            "99999999999TiB",
            "½GiB",
            ".5GB",
        ] {
            assert_eq!(size_bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn home_stands_for_the_tilde_only_where_a_path_begins() {
        let home = Path::new("/home/you");
        let expanded = ["~", "~/x", "/x", "~other/x", "x/~"].map(|text| expand_home(text, home));
        assert_eq!(
            expanded,
            ["/home/you", "/home/you/x", "/x", "~other/x", "x/~"].map(PathBuf::from)
        );
    }
}
