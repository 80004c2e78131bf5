//! Determines the project of a session: its canonical root, its label and the key derived from both.
//!
//! The root is untrusted text until it is found on disk. Only its hash and a label of letters, digits, `.`, `_` and `-`
//! become directory names.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const LABEL_CHARS_MAX: usize = 48;
const HASH_DIGITS: usize = 12;
const UNKNOWN: &str = "unknown-project";

/// A project of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `<label>-<hash>`, used as a directory name.
    pub key: String,
    pub label: String,
    /// The canonical root, or a placeholder if it is unknown.
    pub root: String,
    pub is_unknown: bool,
}

impl Project {
    /// Returns the project with the given root, in which `~` means `home`.
    pub(super) fn from_root(root: &str, home: &Path) -> Self {
        let root = canonicalize_root(root, home);
        let label = make_label(root.rsplit('/').next().unwrap_or(&root));
        Self::new(label, root, false)
    }

    /// Returns the project of a session whose log names no root.
    pub(super) fn unknown(source: &str, session_id: &str) -> Self {
        let root = format!("{UNKNOWN}/{source}/{session_id}");
        Self::new(UNKNOWN.to_owned(), root, true)
    }

    fn new(label: String, root: String, is_unknown: bool) -> Self {
        let hash = hex(&Sha256::digest(root.as_bytes()));
        Self {
            key: format!("{label}-{}", &hash[..HASH_DIGITS]),
            label,
            root,
            is_unknown,
        }
    }

    /// Returns `true` if the root is inside `directory`, which must be canonical.
    pub(super) fn is_inside(&self, directory: &Path) -> bool {
        !self.is_unknown && Path::new(&self.root).starts_with(directory)
    }
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes every write");
    }
    text
}

/// Returns the canonical form of a root, so that each directory has exactly one. A path that does not exist is only
/// normalized.
fn canonicalize_root(root: &str, home: &Path) -> String {
    let path = match root.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        // The home directories of other users are not looked up.
        _ => PathBuf::from(root),
    };
    let path = normalize(&path.to_string_lossy());
    // A relative path is relative to the agent's working directory, which is unknown here.
    let real = path
        .starts_with('/')
        .then(|| Path::new(&path).canonicalize().ok())
        .flatten();
    let windows = || cfg!(windows).then(|| Path::new(&path).canonicalize().ok()).flatten();
    match real.or_else(windows) {
        Some(real) => real.to_string_lossy().into_owned(),
        None => path.replace('\\', "/"),
    }
}

/// Removes repeated separators and `.` components.
fn normalize(path: &str) -> String {
    let prefix = match path.bytes().take_while(|byte| *byte == b'/').count() {
        0 => "",
        // POSIX allows exactly two leading slashes to have a special meaning.
        2 => "//",
        _ => "/",
    };
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    match names.is_empty() && prefix.is_empty() {
        true => ".".to_owned(),
        false => format!("{prefix}{}", names.join("/")),
    }
}

fn make_label(name: &str) -> String {
    let mut label = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        };
        if c != '-' || !label.ends_with('-') {
            label.push(c);
        }
    }
    let label = label.trim_matches('-');
    let cut = &label[..label.len().min(LABEL_CHARS_MAX)];
    match cut.trim_matches('-') {
        "" => UNKNOWN.to_owned(),
        label => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_normalized_and_gets_a_key() {
        let project = |root: &str| {
            let project = Project::from_root(root, Path::new("/home/ada"));
            format!("{} {}", project.root, project.key)
        };
        // These keys are the output of the public tool for the same roots.
        assert_eq!(project("/nowhere/A"), "/nowhere/A A-9681751402ae");
        assert_eq!(project("rel/My Proj!!x"), "rel/My Proj!!x My-Proj-x-0c5b2e68a154");
        assert_eq!(project(r"C:\w\app"), "C:/w/app app-282c571e1f65");
        assert_eq!(project("/x//y//"), "/x/y y-62b0ea75ac86");
        assert_eq!(project("/x/../y/./z/"), "/x/../y/z z-4e7b70f53033");
        assert_eq!(project("/x/日本"), "/x/日本 unknown-project-af0ed095d6de");
        assert_eq!(project("/"), "/ unknown-project-8a5edab28263");
        assert_eq!(project("~/q").split(' ').next(), Some("/home/ada/q"));
    }

    #[test]
    fn hostile_roots_make_safe_keys() {
        for root in ["/a\0b", "~nosuchuser/x", "../../..", &"x/".repeat(5_000), "/..", "."] {
            let project = Project::from_root(root, Path::new("/home/ada"));
            assert!(!project.key.contains(['/', '\\', '\0']), "{}", project.key);
            assert!(
                project.key.len() <= LABEL_CHARS_MAX + 1 + HASH_DIGITS,
                "{}",
                project.key
            );
        }
    }

    #[test]
    fn a_session_without_a_root_gets_its_own_project() {
        let project = Project::unknown("claude-code", "s");
        assert_eq!(project.key, "unknown-project-5fe8e8247615");
        assert!(!project.is_inside(Path::new("")));
    }
}
