//! Whether a path in a session leads to the file that is asked about: by the path itself, or by its place in the
//! repository, so that clones and worktrees are one.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use crate::repos::{self, Checkout};

/// The file that is asked about, under all names it has and had.
#[derive(Debug)]
pub(super) struct Target {
    absolute: BTreeSet<PathBuf>,
    pub(super) checkout: Option<Checkout>,
    /// From the root of the repository, the present one first.
    pub(super) names: Vec<PathBuf>,
    /// What is around the directories that were seen.
    around: HashMap<PathBuf, Option<Checkout>>,
}

impl Target {
    /// The file at an absolute path, which need not be there.
    pub(super) fn new(path: &Path) -> Self {
        let recorded = path.to_str().filter(|path| is_windows_path(path)).map(windows_form);
        // A Windows path does not exist on this system; it was recorded on another one.
        if let Some(path) = recorded.filter(|_| !cfg!(windows)) {
            return Self {
                absolute: [path].into(),
                checkout: None,
                names: Vec::new(),
                around: HashMap::new(),
            };
        }
        let path = tidied(path);
        // A link may lead here; of a file that is gone its directory still tells.
        let real = path.canonicalize().ok().or_else(|| {
            let directory = path.parent()?.canonicalize().ok()?;
            Some(directory.join(path.file_name()?))
        });
        let own = real.clone().unwrap_or_else(|| path.clone());
        let checkout = own.parent().and_then(repos::checkout);
        let name = checkout
            .as_ref()
            .and_then(|checkout| own.strip_prefix(&checkout.root).ok());
        let names = name.map(Path::to_owned).into_iter().collect();
        Self {
            absolute: std::iter::once(path)
                .chain(real)
                .filter_map(|path| whole(&path.to_string_lossy(), None))
                .collect(),
            checkout,
            names,
            around: HashMap::new(),
        }
    }

    /// Adds a name that the file had in the repository.
    pub(super) fn was(&mut self, name: &Path) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// Adds a path of which the file was moved here.
    pub(super) fn was_at(&mut self, path: &str, directory: Option<&str>) {
        let Some(path) = whole(path, directory) else { return };
        let checkout = path.parent().and_then(repos::checkout);
        if let (Some(own), Some(checkout)) = (&self.checkout, checkout)
            && own.is_same_as(&checkout)
            && let Ok(name) = path.strip_prefix(&checkout.root)
        {
            let name = name.to_owned();
            self.was(&name);
        }
        self.absolute.insert(path);
    }

    /// The last parts of all names.
    pub(super) fn last_names(&self) -> BTreeSet<String> {
        let all = self.absolute.iter().chain(&self.names);
        all.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect()
    }

    /// Whether a path, of a session that works in `directory`, leads here.
    pub(super) fn is_at(&mut self, path: &str, directory: Option<&str>) -> bool {
        let Some(path) = whole(path, directory) else {
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
        let around = self
            .around
            .entry(parent.to_owned())
            .or_insert_with(|| repos::checkout(parent));
        if let Some(checkout) = around
            && own.is_same_as(checkout)
            && let Ok(name) = path.strip_prefix(&checkout.root)
            && self.names.iter().any(|known| known == name)
        {
            return true;
        }
        // Of a worktree that is gone the path still tells.
        let Some((main, inside)) = repos::in_worktree(&path) else {
            return false;
        };
        let is_here = repos::checkout(&main).is_some_and(|main| own.is_same_as(&main));
        is_here && self.names.contains(&inside)
    }
}

/// Returns whether a path was written on Windows: `C:\\x`, `C:/x` or `\\\\server\\x`.
pub fn is_windows_path(path: &str) -> bool {
    let mut chars = path.chars();
    let drive = (chars.next(), chars.next(), chars.next());
    path.starts_with("\\\\")
        || matches!(drive, (Some(letter), Some(':'), Some('/' | '\\')) if letter.is_ascii_alphabetic())
}

/// Returns the parts of a path of any system.
pub(super) fn path_parts(path: &str) -> Vec<String> {
    let is_part = |part: &&str| !part.is_empty() && *part != ".";
    path.split(['/', '\\']).filter(is_part).map(str::to_owned).collect()
}

/// Returns the normal form of a Windows path: lower case, with one kind of separator.
fn windows_form(path: &str) -> PathBuf {
    tidied(Path::new(&path.replace('\\', "/").to_lowercase()))
}

/// Returns an absolute path without `.` and `..`.
pub(super) fn whole(path: &str, directory: Option<&str>) -> Option<PathBuf> {
    if is_windows_path(path) {
        return Some(windows_form(path));
    }
    if let Some(directory) = directory.filter(|directory| is_windows_path(directory) && !path.starts_with('/')) {
        return Some(windows_form(&format!("{directory}/{path}")));
    }
    let path = match directory {
        Some(directory) => Path::new(directory).join(path),
        None => PathBuf::from(path),
    };
    path.is_absolute().then(|| tidied(&path))
}

fn tidied(path: &Path) -> PathBuf {
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
    fn a_path_of_windows_matches_in_any_case_and_with_either_separator() {
        assert!(is_windows_path("C:\\x\\y.rs") && is_windows_path("d:/x") && is_windows_path("\\\\server\\x"));
        assert!(!is_windows_path("/c:/x") && !is_windows_path("c:x") && !is_windows_path("src/x.rs"));
        let mut target = Target::new(Path::new("C:\\Code\\app\\src\\Y.rs"));
        for (path, directory) in [
            ("C:\\Code\\app\\src\\Y.rs", None),
            ("c:/code/APP/src/y.rs", None),
            ("src\\Y.rs", Some("c:\\code\\app")),
            ("..\\src\\y.rs", Some("C:/Code/app/docs")),
        ] {
            assert!(target.is_at(path, directory), "{path}");
        }
        assert!(!target.is_at("D:\\Code\\app\\src\\Y.rs", None));
        assert!(!target.is_at("/code/app/src/Y.rs", None));
    }

    #[test]
    fn clones_worktrees_and_gone_worktrees_lead_to_one_file_and_another_repository_does_not() {
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
        let mut target = Target::new(&home.join("app/src/../src/main.rs"));
        for (path, directory) in [
            (at("app/src/main.rs"), None),
            ("src/main.rs".to_owned(), Some(at("app"))),
            ("../src/./main.rs".to_owned(), Some(at("app/docs"))),
            (at("clone/src/main.rs"), None),
            (at("app/.claude/worktrees/fix/src/main.rs"), None),
        ] {
            assert!(target.is_at(&path, directory.as_deref()), "{path}");
        }
        for (path, directory) in [
            (at("other/src/main.rs"), None),
            (at("clone/main.rs"), None),
            ("src/main.rs".to_owned(), None),
            ("src/main.rs".to_owned(), Some(at("other"))),
            (String::new(), None),
            ("/".to_owned(), None),
        ] {
            assert!(!target.is_at(&path, directory.as_deref()), "{path}");
        }
        assert!(!target.is_at("C:\\app\\src\\main.rs", None));
        target.was(Path::new("src/old.rs"));
        assert!(target.is_at(&at("clone/src/old.rs"), None));
        assert_eq!(
            target.last_names().into_iter().collect::<Vec<_>>(),
            ["main.rs", "old.rs"]
        );
    }
}
