//! Formats paths for pages: relative to the project, and without the name of a home directory. Pure: only the log
//! itself is used, so the page is the same on every machine.

use std::sync::LazyLock;

use regex::Regex;

/// Home directories on all systems.
static HOME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s"':]+|/root\b"#).expect("the expression is valid")
});

/// Returns a file's path relative to the first directory that is named like the project. For sessions without a known
/// working directory.
pub(super) fn path_below_project(path: &str, label: &str) -> Option<String> {
    let (_, rest) = path.split_once(&format!("/{label}/"))?;
    Some(rest.to_owned())
}

/// Returns a file's path relative to the session's working directory.
pub(super) fn relative_path(path: &str, cwd: Option<&str>) -> String {
    let cwd = cwd
        .map(|cwd| cwd.trim_end_matches(['/', '\\']))
        .filter(|cwd| !cwd.is_empty());
    let inside = cwd
        .and_then(|cwd| path.strip_prefix(cwd))
        .and_then(|rest| rest.strip_prefix(['/', '\\']));
    match inside {
        Some("") => ".".to_owned(),
        Some(rest) => rest.to_owned(),
        None => hide_home(path.strip_prefix("./").unwrap_or(path)),
    }
}

/// Shortens a path at its beginning, because its end is more specific.
pub(super) fn shorten_path(path: &str, chars_max: usize) -> String {
    let chars = path.chars().count();
    if chars <= chars_max {
        return path.to_owned();
    }
    let cut: String = path.chars().skip(chars - chars_max).collect();
    let end = cut.split_once('/').map_or(cut.as_str(), |(_, end)| end);
    format!("…/{end}")
}

/// Returns a command with the project's paths relative.
pub(super) fn shorten_command(command: &str, cwd: Option<&str>) -> String {
    let cwd = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| cwd.len() > 1);
    let text = match cwd {
        Some(cwd) => {
            let inner = command.replace(&format!("{cwd}/"), "");
            // A longer name with the same prefix is a different path.
            let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
            let mut pieces = inner.split(cwd);
            let mut text = pieces.next().unwrap_or_default().to_owned();
            for piece in pieces {
                text += if is_end(piece) { "." } else { cwd };
                text += piece;
            }
            text
        }
        None => command.to_owned(),
    };
    // A change to the current directory says nothing.
    hide_home(text.strip_prefix("cd . && ").unwrap_or(&text))
}

fn hide_home(text: &str) -> String {
    HOME.replace_all(text, "~").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_project() {
        let app = Some("/home/ada/app");
        assert_eq!(relative_path("/home/ada/app/src/a.rs", app), "src/a.rs");
        assert_eq!(relative_path("/home/ada/application/a.rs", app), "~/application/a.rs");
        assert_eq!(relative_path("/Users/ada/notes.md", app), "~/notes.md");
        assert_eq!(relative_path("./a.rs", app), "a.rs");
        assert_eq!(shorten_path("one/two/three.rs", 12), "…/three.rs");
        assert_eq!(relative_path("/etc/hosts", None), "/etc/hosts");
        assert_eq!(relative_path(r"C:\Users\ada\a.rs", None), r"~\a.rs");
    }

    #[test]
    fn commands_lose_the_paths_of_the_machine() {
        let check = |command| shorten_command(command, Some("/home/ada/app"));
        assert_eq!(check("cd /home/ada/app && cargo test"), "cargo test");
        assert_eq!(check("cat /home/ada/app/a.rs"), "cat a.rs");
        assert_eq!(check("ls /home/ada/app-two"), "ls ~/app-two");
        assert_eq!(check("ls /home/ada"), "ls ~");
    }
}
