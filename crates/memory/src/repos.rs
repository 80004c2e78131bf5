//! Determines the repository of a directory: by its remote, so that clones and worktrees are the same repository, or
//! else by the directory of its main worktree. Parses git's own small files and never runs git.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a git file that is read. Larger files are not what we are looking for.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// The last component of the remote's path, or the name of the directory if there is no remote.
    pub name: String,
    /// `host/owner/name`, without credentials.
    pub remote: Option<String>,
}

/// A directory in which a repository is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub root: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub git: PathBuf,
    pub remote: Option<String>,
}

impl Checkout {
    /// Returns `true` if both belong to the same repository: clones share the remote, and worktrees share the git
    /// directory.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.git == other.git || (self.remote.is_some() && self.remote == other.remote)
    }
}

/// Returns the checkout that contains a directory.
pub fn find_checkout(directory: &Path) -> Option<Checkout> {
    if !directory.is_absolute() {
        return None;
    }
    let root = directory.ancestors().find(|path| path.join(".git").exists())?;
    let git = find_git_directory(&root.join(".git"))?;
    let remote = read_small_file(&git.join("config")).and_then(|config| parse_remote(&config));
    Some(Checkout {
        root: root.to_owned(),
        git: git.canonicalize().unwrap_or(git),
        remote,
    })
}

/// Returns the repository that contains a directory. The directory need not exist any more.
pub fn find_repo(directory: &Path) -> Option<Repo> {
    if !directory.is_absolute() {
        return None;
    }
    if !directory.ancestors().any(|path| path.join(".git").exists()) {
        return repo_of_deleted_worktree(directory);
    }
    let Checkout { root, git, remote } = find_checkout(directory)?;
    let own = || {
        let main = if git.ends_with(".git") { git.parent()? } else { &root };
        Some(main.file_name()?.to_string_lossy().into_owned())
    };
    let name = remote.as_deref().and_then(|remote| remote.rsplit('/').next());
    let name = name.map(str::to_owned).or_else(own)?;
    Some(Repo { name, remote })
}

/// Splits a path in an agent's worktree into the directory of the repository and the path inside the worktree.
pub fn split_worktree_path(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = path.to_str()?;
    let (at, place) = WORKTREES.iter().find_map(|place| Some((text.find(place)?, place)))?;
    let inside = text[at + place.len()..].split_once('/')?.1;
    Some((text[..at].into(), inside.into()))
}

/// Where agents create worktrees.
const WORKTREES: [&str; 4] = [
    "/.claude/worktrees/",
    "/.worktrees/",
    "/.codex/worktrees/",
    "/.grok/worktrees/",
];

/// Returns the repository of a worktree that was deleted. Agents create worktrees below the repository, so the path
/// still names it.
fn repo_of_deleted_worktree(directory: &Path) -> Option<Repo> {
    let text = directory.to_string_lossy().replace('\\', "/");
    let at = WORKTREES.iter().find_map(|place| text.find(place))?;
    let name = text[..at].rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(Repo {
        name: name.to_owned(),
        remote: None,
    })
}

/// Returns the git directory that all worktrees of a repository share.
fn find_git_directory(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let link = read_small_file(dot_git)?;
    let directory = dot_git.parent()?.join(link.strip_prefix("gitdir:")?.trim());
    let common = read_small_file(&directory.join("commondir")).map(|common| directory.join(common.trim()));
    let common = common.unwrap_or(directory);
    Some(common.canonicalize().unwrap_or(common))
}

fn read_small_file(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return None;
    }
    fs::read_to_string(path).ok()
}

/// Returns the URL of the remote `parse_remote`, or of the first remote.
fn parse_remote(config: &str) -> Option<String> {
    let mut section = "";
    let mut remotes = Vec::new();
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((key, url)) = line.split_once('=')
            && section.starts_with("[remote ")
            && key.trim() == "url"
        {
            remotes.push((section == "[remote \"origin\"]", url.trim()));
        }
    }
    let named = remotes.iter().find(|(is_origin, _)| *is_origin).or(remotes.first());
    normalize_url(named?.1)
}

/// Normalizes the URL of a remote to `host/owner/name`, without user, password, port and extension.
fn normalize_url(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let has_scheme = rest.len() != url.len();
    // Everything up to the last `@` before the path is credentials.
    let (host, path) = match has_scheme {
        true => rest.split_once('/')?,
        false => rest.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit('@').next()?.split(':').next()?.to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let path = path.split(['?', '#']).next()?;
    (!path.is_empty() && !host.is_empty()).then(|| format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_url_of_a_repository_is_normalized_without_its_password() {
        for url in [
            "git@github.com:acme/app.git",
            "https://github.com/acme/app",
            "https://ada:secret@GitHub.com/acme/app.git/",
            "ssh://git@github.com:22/acme/app.git",
        ] {
            assert_eq!(normalize_url(url).as_deref(), Some("github.com/acme/app"), "{url}");
        }
        assert_eq!(normalize_url("../app"), None);
        assert_eq!(normalize_url("/srv/git/app.git"), None);
    }

    #[test]
    fn clones_and_worktrees_are_one_repository_and_a_directory_without_remote_gives_its_name() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.test:acme/app.git\n";
        write("one/.git/config", config);
        write("one/.git/worktrees/side/commondir", "../..\n");
        write(
            "side/.git",
            &format!("gitdir: {}\n", home.path().join("one/.git/worktrees/side").display()),
        );
        write("clone/.git/config", config);
        write("alone/.git/config", "[core]\n");
        write("alone/src/main.rs", "");
        let repo = |name: &str| super::find_repo(&home.path().join(name));
        let app = repo("one").unwrap();
        assert_eq!(app.remote.as_deref(), Some("example.test/acme/app"));
        assert_eq!((repo("side"), repo("clone")), (Some(app.clone()), Some(app)));
        assert_eq!(repo("alone/src").unwrap().name, "alone");
        assert_eq!(repo("nowhere"), None);
        let gone = super::find_repo(Path::new("/home/ada/app/.claude/worktrees/x/src")).unwrap();
        assert_eq!(gone.name, "app");
    }
}
