//! Compares two records and reports one difference per invocation and kind.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::{COMMAND, EXIT, FILES, STDERR, STDOUT, json};

/// Number of differing positions and lines that are shown.
const SHOWN_PLACES: usize = 4;
const SHOWN_LINE_CHARS: usize = 200;

/// How an invocation differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The invocation is only in the first record.
    Missing,
    /// The invocation is only in the second record.
    New,
    Exit {
        before: String,
        after: String,
    },
    /// JSON values differ at these positions, as `$.path: 3 → 4`. `total` counts all of them.
    Json {
        places: Vec<String>,
        count: usize,
    },
    /// The first line that differs, in the stream or list of files of this name.
    Text {
        stream: &'static str,
        line: usize,
        before: String,
        after: String,
    },
}

impl DifferenceKind {
    /// Returns the label under which the summary counts it.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::New => "new",
            Self::Exit { .. } => "exit differs",
            Self::Json { .. } => "JSON value differs",
            Self::Text { .. } => "text differs",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The home and the invocation: `demo/sessions+--json`.
    pub name: String,
    pub kind: DifferenceKind,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.kind.label())?;
        match &self.kind {
            DifferenceKind::Missing | DifferenceKind::New => Ok(()),
            DifferenceKind::Exit { before, after } => write!(f, ": {before} → {after}"),
            DifferenceKind::Json { places, count } => {
                write!(f, " at {}", places.join(", "))?;
                match count - places.len() {
                    0 => Ok(()),
                    more => write!(f, " (and {more} more)"),
                }
            }
            DifferenceKind::Text {
                stream,
                line,
                before,
                after,
            } => write!(f, " in {stream}, line {line}\n  - {before}\n  + {after}"),
        }
    }
}

/// All differences of two records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    pub differences: Vec<Difference>,
    /// Number of invocations in both records.
    pub compared: usize,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in &self.differences {
            writeln!(f, "{difference}")?;
        }
        if self.differences.is_empty() {
            return write!(f, "No differences in {} invocations", self.compared);
        }
        let labels: BTreeSet<&str> = self.differences.iter().map(|one| one.kind.label()).collect();
        let counts = labels.iter().map(|label| {
            let count = self.differences.iter().filter(|one| one.kind.label() == *label).count();
            format!("{label}: {count}")
        });
        let counts: Vec<String> = counts.collect();
        write!(f, "{} invocations compared; {}", self.compared, counts.join(", "))
    }
}

/// Compares two records.
///
/// # Errors
/// Returns an error if one of them cannot be read or is not a record.
pub fn compare(before: &Path, after: &Path) -> io::Result<Comparison> {
    let (names_before, names_after) = (names(before)?, names(after)?);
    let mut comparison = Comparison::default();
    for name in names_before.union(&names_after) {
        let kinds = match (names_before.contains(name), names_after.contains(name)) {
            (true, false) => vec![DifferenceKind::Missing],
            (false, _) => vec![DifferenceKind::New],
            (true, true) => {
                comparison.compared += 1;
                differing(before, after, name)?
            }
        };
        let name = name.clone();
        let differences = kinds.into_iter().map(|kind| Difference {
            name: name.clone(),
            kind,
        });
        comparison.differences.extend(differences);
    }
    Ok(comparison)
}

/// Returns the invocations of a record, as `home/name`.
fn names(record: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for home in fs::read_dir(record)? {
        let home = home?.path();
        if !home.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&home)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(name) = file.strip_suffix(&format!(".{COMMAND}")) {
                let home = home.file_name().unwrap_or_default().to_string_lossy();
                names.insert(format!("{home}/{name}"));
            }
        }
    }
    match names.is_empty() {
        true => Err(io::Error::other("it holds no record")),
        false => Ok(names),
    }
}

fn differing(before: &Path, after: &Path, name: &str) -> io::Result<Vec<DifferenceKind>> {
    let pair = |ending: &str| -> io::Result<(String, String)> {
        let file = format!("{name}.{ending}");
        Ok((read(&before.join(&file))?, read(&after.join(&file))?))
    };
    let mut kinds = Vec::new();
    let (a, b) = pair(EXIT)?;
    if a != b {
        kinds.push(DifferenceKind::Exit {
            before: a.trim_end().to_owned(),
            after: b.trim_end().to_owned(),
        });
    }
    for stream in [COMMAND, STDOUT, STDERR, FILES] {
        let (a, b) = pair(stream)?;
        if a == b {
            continue;
        }
        kinds.extend(match (json::parse(&a), json::parse(&b)) {
            (Some(a), Some(b)) => differing_values(&json::differences(&a, &b)),
            _ => Some(differing_text(stream, &a, &b)),
        });
    }
    Ok(kinds)
}

/// Returns an empty text if the file is missing, because empty streams have no file.
fn read(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}

fn differing_values(found: &[json::JsonDifference]) -> Option<DifferenceKind> {
    let shown = found.iter().take(SHOWN_PLACES);
    let places: Vec<String> = shown
        .map(|one| format!("{}: {} → {}", one.path, one.before, one.after))
        .collect();
    (!places.is_empty()).then_some(DifferenceKind::Json {
        places,
        count: found.len(),
    })
}

fn differing_text(stream: &'static str, before: &str, after: &str) -> DifferenceKind {
    let (mut a, mut b) = (before.split('\n'), after.split('\n'));
    let mut line = 0;
    loop {
        line += 1;
        match (a.next(), b.next()) {
            (Some(one), Some(other)) if one == other => {}
            (one, other) => {
                return DifferenceKind::Text {
                    stream,
                    line,
                    before: shown(one, other),
                    after: shown(other, one),
                };
            }
        }
    }
}

/// Returns a line, or the part of a long line around its first difference from the other.
fn shown(line: Option<&str>, other: Option<&str>) -> String {
    let Some(line) = line else {
        return "(no such line)".to_owned();
    };
    let same = line
        .chars()
        .zip(other.unwrap_or_default().chars())
        .take_while(|(a, b)| a == b)
        .count();
    let skipped = same.saturating_sub(SHOWN_LINE_CHARS / 2);
    let skipped = if line.chars().count() <= SHOWN_LINE_CHARS {
        0
    } else {
        skipped
    };
    let mut shown: String = line.chars().skip(skipped).take(SHOWN_LINE_CHARS).collect();
    if skipped > 0 {
        shown.insert(0, '…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a record with one home and these files.
    fn record(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(place.path().join("demo")).expect("it can be made");
        for (name, text) in files {
            fs::write(place.path().join("demo").join(name), text).expect("it can be written");
        }
        place
    }

    const BEFORE: &[(&str, &str)] = &[
        ("days.cmd", "boswell days\n"),
        ("days.out", "one\ntwo\n"),
        ("days.exit", "0\n"),
        ("gone.cmd", "boswell gone\n"),
        ("usage.cmd", "boswell usage --json\n"),
        ("usage.out", "{\"a\":{\"b\":3},\"c\":1}\n"),
        ("usage.exit", "0\n"),
    ];

    fn lines(after: &[(&str, &str)]) -> Vec<String> {
        let (before, after) = (record(BEFORE), record(after));
        let comparison = compare(before.path(), after.path()).expect("both can be read");
        comparison.to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn equal_records_have_no_differences() {
        assert_eq!(lines(BEFORE), ["No differences in 3 invocations"]);
        let mut other = BEFORE.to_vec();
        other[5].1 = "{\"c\":1,\"a\":{\"b\":3}}\n";
        assert_eq!(
            lines(&other),
            ["No differences in 3 invocations"],
            "the order of keys does not count"
        );
    }

    #[test]
    fn a_difference_of_each_kind_is_found() {
        let after = [
            ("days.cmd", "boswell days\n"),
            ("days.out", "one\nthree\n"),
            ("days.exit", "1\n"),
            ("more.cmd", "boswell more\n"),
            ("usage.cmd", "boswell usage --json\n"),
            ("usage.out", "{\"a\":{\"b\":4},\"c\":1}\n"),
            ("usage.exit", "0\n"),
            ("usage.files", "new page.html\n"),
        ];
        let expected = [
            "demo/days: exit differs: 0 → 1",
            "demo/days: text differs in out, line 2",
            "  - two",
            "  + three",
            "demo/gone: missing",
            "demo/more: new",
            "demo/usage: JSON value differs at $.a.b: 3 → 4",
            "demo/usage: text differs in files, line 1",
            "  - ",
            "  + new page.html",
            "2 invocations compared; JSON value differs: 1, exit differs: 1, missing: 1, new: 1, text differs: 2",
        ];
        assert_eq!(lines(&after), expected);
    }

    #[test]
    fn a_directory_without_a_record_is_an_error() {
        let (empty, whole) = (record(&[]), record(BEFORE));
        assert!(compare(empty.path(), whole.path()).is_err());
    }

    #[test]
    fn the_differing_part_of_a_long_line_is_shown() {
        let (a, b) = (format!("{}1", "x".repeat(500)), format!("{}2", "x".repeat(500)));
        assert!(shown(Some(&a), Some(&b)).ends_with("x1"));
    }
}
