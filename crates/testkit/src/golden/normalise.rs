//! Replaces what differs between two records of one binary, each with its reason. Everything else is recorded unchanged.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// One replacement.
#[derive(Debug)]
pub struct Normalisation {
    /// The verbs whose output it changes; empty for every verb.
    pub verbs: &'static [&'static str],
    pub pattern: &'static str,
    pub replacement: &'static str,
    pub reason: &'static str,
}

/// All replacements, in the order in which they are applied.
pub const NORMALISATIONS: &[Normalisation] = &[
    Normalisation {
        verbs: &["demo"],
        pattern: r"boswell-demo-\w{6}",
        replacement: "boswell-demo-[RANDOM]",
        reason: "the temporary home has a random name",
    },
    Normalisation {
        verbs: &["sweep", "rebuild", "setup", "demo"],
        pattern: r"in \d+(\.\d+)? m?s\b",
        replacement: "in [DURATION]",
        reason: "how long the run took",
    },
    Normalisation {
        verbs: &["sweep", "rebuild", "setup"],
        pattern: r#""duration_ms":\d+"#,
        replacement: r#""duration_ms":0"#,
        reason: "how long the run took",
    },
    Normalisation {
        verbs: &["search", "grep"],
        pattern: r#""took_ms":\d+"#,
        replacement: r#""took_ms":0"#,
        reason: "how long the search took",
    },
    Normalisation {
        verbs: &["status"],
        pattern: r"on disk( +)[\d.]+ \w+: packs ([\d.]+ \w+), database [\d.]+ \w+",
        replacement: "on disk$1[SIZE]: packs $2, database [SIZE]",
        reason: "the size of the database depends on the order in which threads hand in their sessions",
    },
    Normalisation {
        verbs: &["status"],
        pattern: r#""database_bytes":\d+"#,
        replacement: r#""database_bytes":0"#,
        reason: "the size of the database depends on the order in which threads hand in their sessions",
    },
];

static COMPILED: LazyLock<Vec<(&'static Normalisation, Regex)>> = LazyLock::new(|| {
    let compile = |one: &'static Normalisation| (one, Regex::new(one.pattern).expect("the pattern is valid"));
    NORMALISATIONS.iter().map(compile).collect()
});

/// Replaces the home directory by `[HOME]`, the one for temporary files by `[TMP]`, and what the table names.
pub(super) fn normalise(text: &str, verb: &str, home: &Path) -> String {
    let home = home.to_string_lossy();
    let base = home.strip_suffix("/home").unwrap_or(&home);
    let mut text = text.replace(&*home, "[HOME]").replace(base, "[BASE]");
    for (one, regex) in COMPILED.iter() {
        if one.verbs.is_empty() || one.verbs.contains(&verb) {
            text = regex.replace_all(&text, one.replacement).into_owned();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_verbs_of_a_row_are_changed_by_it() {
        let home = Path::new("/tmp/base/home");
        let text = r#"[HOME] "duration_ms":12"#;
        let normalised = |verb| normalise(&text.replace("[HOME]", "/tmp/base/home/x"), verb, home);
        assert_eq!(normalised("sweep"), r#"[HOME]/x "duration_ms":0"#);
        assert_eq!(normalised("setup"), r#"[HOME]/x "duration_ms":0"#);
        assert_eq!(normalised("sessions"), r#"[HOME]/x "duration_ms":12"#);
    }

    #[test]
    fn every_row_has_a_reason_and_a_pattern_that_compiles() {
        assert_eq!(COMPILED.len(), NORMALISATIONS.len());
        assert!(NORMALISATIONS.iter().all(|one| !one.reason.is_empty()));
    }
}
