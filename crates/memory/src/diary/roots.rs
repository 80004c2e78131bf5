//! Which project a session belongs to: the canonical root, its label, and the key that both make.
//!
//! The root is a stranger's text until it is found on disk. Only its hash and a label of letters, digits, `.`, `_` and
//! `-` become names of directories.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const LABEL_CHARS_MAX: usize = 48;
const HASH_DIGITS: usize = 12;
const UNKNOWN: &str = "unknown-project";

/// A project of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `<label>-<hash>`: one name of a directory.
    pub key: String,
    pub label: String,
    /// The canonical root, or what stands for it.
    pub root: String,
    pub is_unknown: bool,
}

impl Project {
    /// The project of a root that was told, with `home` for `~`.
    pub(super) fn of_root(told: &str, home: &Path) -> Self {
        let root = canonical(told, home);
        let label = label(root.rsplit('/').next().unwrap_or(&root));
        Self::new(label, root, false)
    }

    /// The project of a session that tells no root.
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

    /// Whether the root lies in a directory, which is given as it really lies.
    pub(super) fn is_inside(&self, directory: &Path) -> bool {
        !self.is_unknown && Path::new(&self.root).starts_with(directory)
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes every write");
    }
    text
}

/// A root as one text for one place: what exists is resolved, what does not is only tidied.
fn canonical(told: &str, home: &Path) -> String {
    let path = match told.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        // Another user's home is not ours to look for.
        _ => PathBuf::from(told),
    };
    let path = tidied(&path.to_string_lossy());
    // A relative path is relative to where the agent ran, which is not here.
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

/// A path without doubled separators and dots that name the same place.
fn tidied(path: &str) -> String {
    let lead = match path.bytes().take_while(|byte| *byte == b'/').count() {
        0 => "",
        // Two, and only two, may mean something else than one.
        2 => "//",
        _ => "/",
    };
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    match names.is_empty() && lead.is_empty() {
        true => ".".to_owned(),
        false => format!("{lead}{}", names.join("/")),
    }
}

fn label(name: &str) -> String {
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
    fn a_root_becomes_one_tidy_text_and_a_key() {
        let project = |told: &str| {
            let project = Project::of_root(told, Path::new("/home/ada"));
            format!("{} {}", project.root, project.key)
        };
        // The keys are those that the public tool gives for the same roots.
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
    fn hostile_roots_are_only_text() {
        for told in ["/a\0b", "~nosuchuser/x", "../../..", &"x/".repeat(5_000), "/..", "."] {
            let project = Project::of_root(told, Path::new("/home/ada"));
            assert!(!project.key.contains(['/', '\\', '\0']), "{}", project.key);
            assert!(
                project.key.len() <= LABEL_CHARS_MAX + 1 + HASH_DIGITS,
                "{}",
                project.key
            );
        }
    }

    #[test]
    fn a_session_without_a_root_is_a_project_of_its_own() {
        let project = Project::unknown("claude-code", "s");
        assert_eq!(project.key, "unknown-project-5fe8e8247615");
        assert!(!project.is_inside(Path::new("")));
    }
}
