//! Decides whether a path in a session names the file in question: by the absolute path, or by its path in the
//! repository, so that clones and worktrees count as the same file.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use crate::repos::{self, Checkout};

/// The file in question with all its current and former names.
#[derive(Debug)]
pub(super) struct TargetFile {
    absolute: BTreeSet<PathBuf>,
    pub(super) checkout: Option<Checkout>,
    /// Relative to the root of the repository, the current name first.
    pub(super) names: Vec<PathBuf>,
    /// The checkouts of directories already looked up, because the lookup reads the disk.
    checkouts: HashMap<PathBuf, Option<Checkout>>,
}

impl TargetFile {
    /// Creates the target from an absolute path. The file need not exist.
    pub(super) fn new(path: &Path) -> Self {
        let recorded = path
            .to_str()
            .filter(|path| is_windows_path(path))
            .map(normalize_windows);
        // On another system a Windows path cannot exist: it was recorded on a different machine.
        if let Some(path) = recorded.filter(|_| !cfg!(windows)) {
            return Self {
                absolute: [path].into(),
                checkout: None,
                names: Vec::new(),
                checkouts: HashMap::new(),
            };
        }
        let path = normalize(path);
        // The path may be a link. If the file was deleted, its directory can still be resolved.
        let real = path.canonicalize().ok().or_else(|| {
            let directory = path.parent()?.canonicalize().ok()?;
            Some(directory.join(path.file_name()?))
        });
        let own = real.clone().unwrap_or_else(|| path.clone());
        let checkout = own.parent().and_then(repos::find_checkout);
        let name = checkout
            .as_ref()
            .and_then(|checkout| own.strip_prefix(&checkout.root).ok());
        let names = name.map(Path::to_owned).into_iter().collect();
        Self {
            absolute: std::iter::once(path)
                .chain(real)
                .filter_map(|path| absolute_path(&path.to_string_lossy(), None))
                .collect(),
            checkout,
            names,
            checkouts: HashMap::new(),
        }
    }

    /// Adds a former name of the file in its repository.
    pub(super) fn add_name(&mut self, name: &Path) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// Adds a path from which the file was moved.
    pub(super) fn add_path(&mut self, path: &str, directory: Option<&str>) {
        let Some(path) = absolute_path(path, directory) else {
            return;
        };
        let checkout = path.parent().and_then(repos::find_checkout);
        if let (Some(own), Some(checkout)) = (&self.checkout, checkout)
            && own.is_same_as(&checkout)
            && let Ok(name) = path.strip_prefix(&checkout.root)
        {
            let name = name.to_owned();
            self.add_name(&name);
        }
        self.absolute.insert(path);
    }

    /// Returns the file names of all known paths.
    pub(super) fn file_names(&self) -> BTreeSet<String> {
        let all = self.absolute.iter().chain(&self.names);
        all.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect()
    }

    /// Returns `true` if a path, in a session that works in `directory`, names this file.
    pub(super) fn matches_path(&mut self, path: &str, directory: Option<&str>) -> bool {
        let Some(path) = absolute_path(path, directory) else {
            return false;
        };
        if self.absolute.contains(&path) {
            return true;
        }
        let is_named = |name: &PathBuf| name.file_name() == path.file_name();
        let Some(own) = self.checkout.as_ref().filter(|_| self.names.iter().any(is_named)) else {
            return false;
        };
        let Some(parent) = path.parent() else { return false };
        let checkout = self
            .checkouts
            .entry(parent.to_owned())
            .or_insert_with(|| repos::find_checkout(parent));
        if let Some(checkout) = checkout
            && own.is_same_as(checkout)
            && let Ok(name) = path.strip_prefix(&checkout.root)
            && self.names.iter().any(|known| known == name)
        {
            return true;
        }
        // If the worktree was removed, its path still names the main checkout.
        let Some((main, inside)) = repos::split_worktree_path(&path) else {
            return false;
        };
        let is_same_repository = repos::find_checkout(&main).is_some_and(|main| own.is_same_as(&main));
        is_same_repository && self.names.contains(&inside)
    }
}

/// Returns `true` if a path was written on Windows: `C:\\x`, `C:/x` or `\\\\server\\x`.
pub fn is_windows_path(path: &str) -> bool {
    let mut chars = path.chars();
    let drive = (chars.next(), chars.next(), chars.next());
    path.starts_with("\\\\")
        || matches!(drive, (Some(letter), Some(':'), Some('/' | '\\')) if letter.is_ascii_alphabetic())
}

/// Returns the components of a path from any system.
pub(super) fn path_parts(path: &str) -> Vec<String> {
    let is_part = |part: &&str| !part.is_empty() && *part != ".";
    path.split(['/', '\\']).filter(is_part).map(str::to_owned).collect()
}

/// Returns the normal form of a Windows path: lower case, with `/` as separator.
fn normalize_windows(path: &str) -> PathBuf {
    normalize(Path::new(&path.replace('\\', "/").to_lowercase()))
}

/// Returns an absolute path without `.` and `..`, or `None` if `path` is relative and `directory` is missing.
pub(super) fn absolute_path(path: &str, directory: Option<&str>) -> Option<PathBuf> {
    if is_windows_path(path) {
        return Some(normalize_windows(path));
    }
    if let Some(directory) = directory.filter(|directory| is_windows_path(directory) && !path.starts_with('/')) {
        return Some(normalize_windows(&format!("{directory}/{path}")));
    }
    let path = match directory {
        Some(directory) => Path::new(directory).join(path),
        None => PathBuf::from(path),
    };
    path.is_absolute().then(|| normalize(&path))
}

fn normalize(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_windows_path_matches_in_any_case_and_with_either_separator() {
        assert!(is_windows_path("C:\\x\\y.rs") && is_windows_path("d:/x") && is_windows_path("\\\\server\\x"));
        assert!(!is_windows_path("/c:/x") && !is_windows_path("c:x") && !is_windows_path("src/x.rs"));
        let mut target = TargetFile::new(Path::new("C:\\Code\\app\\src\\Y.rs"));
        for (path, directory) in [
            ("C:\\Code\\app\\src\\Y.rs", None),
            ("c:/code/APP/src/y.rs", None),
            ("src\\Y.rs", Some("c:\\code\\app")),
            ("..\\src\\y.rs", Some("C:/Code/app/docs")),
        ] {
            assert!(target.matches_path(path, directory), "{path}");
        }
        assert!(!target.matches_path("D:\\Code\\app\\src\\Y.rs", None));
        assert!(!target.matches_path("/code/app/src/Y.rs", None));
    }

    #[test]
    fn clones_and_worktrees_name_the_same_file_and_other_repositories_do_not() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let config = "[remote \"origin\"]\n\turl = git@example.test:acme/app.git\n";
        write("app/.git/config", config);
        write("app/src/main.rs", "");
        write("clone/.git/config", config);
        write("clone/src/other.rs", "");
        write("other/.git/config", "[core]\n");
        write("other/src/main.rs", "");
        let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
        let mut target = TargetFile::new(&home.join("app/src/../src/main.rs"));
        for (path, directory) in [
            (at("app/src/main.rs"), None),
            ("src/main.rs".to_owned(), Some(at("app"))),
            ("../src/./main.rs".to_owned(), Some(at("app/docs"))),
            (at("clone/src/main.rs"), None),
            (at("app/.claude/worktrees/fix/src/main.rs"), None),
        ] {
            assert!(target.matches_path(&path, directory.as_deref()), "{path}");
        }
        for (path, directory) in [
            (at("other/src/main.rs"), None),
            (at("clone/main.rs"), None),
            ("src/main.rs".to_owned(), None),
            ("src/main.rs".to_owned(), Some(at("other"))),
            (String::new(), None),
            ("/".to_owned(), None),
        ] {
            assert!(!target.matches_path(&path, directory.as_deref()), "{path}");
        }
        assert!(!target.matches_path("C:\\app\\src\\main.rs", None));
        target.add_name(Path::new("src/old.rs"));
        assert!(target.matches_path(&at("clone/src/old.rs"), None));
        assert_eq!(
            target.file_names().into_iter().collect::<Vec<_>>(),
            ["main.rs", "old.rs"]
        );
    }
}
