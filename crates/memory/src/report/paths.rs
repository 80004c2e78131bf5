//! Paths as a page shows them: relative to the project, and without the name of anybody's home. Pure: only what the log
//! itself says is used, so that the page is the same on every machine.

use std::sync::LazyLock;

use regex::Regex;

/// Homes as systems name them.
static HOME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s"':]+|/root\b"#).expect("the expression is a good one")
});

/// A file's path from a directory that has the project's name: for sessions that do not tell where they worked.
pub(super) fn below(path: &str, label: &str) -> Option<String> {
    let (_, rest) = path.split_once(&format!("/{label}/"))?;
    Some(rest.to_owned())
}

/// A file's path from where the session worked.
pub(super) fn relative(path: &str, cwd: Option<&str>) -> String {
    let cwd = cwd
        .map(|cwd| cwd.trim_end_matches(['/', '\\']))
        .filter(|cwd| !cwd.is_empty());
    let inside = cwd
        .and_then(|cwd| path.strip_prefix(cwd))
        .and_then(|rest| rest.strip_prefix(['/', '\\']));
    match inside {
        Some("") => ".".to_owned(),
        Some(rest) => rest.to_owned(),
        None => without_home(path.strip_prefix("./").unwrap_or(path)),
    }
}

/// A path that fits: of a long one its end tells most.
pub(super) fn fitting(path: &str, chars_max: usize) -> String {
    let chars = path.chars().count();
    if chars <= chars_max {
        return path.to_owned();
    }
    let cut: String = path.chars().skip(chars - chars_max).collect();
    let end = cut.split_once('/').map_or(cut.as_str(), |(_, end)| end);
    format!("…/{end}")
}

/// A command with the project's paths relative.
pub(super) fn in_command(command: &str, cwd: Option<&str>) -> String {
    let cwd = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| cwd.len() > 1);
    let text = match cwd {
        Some(cwd) => {
            let inner = command.replace(&format!("{cwd}/"), "");
            // A longer name that begins the same way is another place.
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
    // To go where one is already says nothing.
    without_home(text.strip_prefix("cd . && ").unwrap_or(&text))
}

fn without_home(text: &str) -> String {
    HOME.replace_all(text, "~").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_the_project() {
        let app = Some("/home/ada/app");
        assert_eq!(relative("/home/ada/app/src/a.rs", app), "src/a.rs");
        assert_eq!(relative("/home/ada/application/a.rs", app), "~/application/a.rs");
        assert_eq!(relative("/Users/ada/notes.md", app), "~/notes.md");
        assert_eq!(relative("./a.rs", app), "a.rs");
        assert_eq!(fitting("one/two/three.rs", 12), "…/three.rs");
        assert_eq!(relative("/etc/hosts", None), "/etc/hosts");
        assert_eq!(relative(r"C:\Users\ada\a.rs", None), r"~\a.rs");
    }

    #[test]
    fn commands_lose_the_paths_of_machines() {
        let check = |command| in_command(command, Some("/home/ada/app"));
        assert_eq!(check("cd /home/ada/app && cargo test"), "cargo test");
        assert_eq!(check("cat /home/ada/app/a.rs"), "cat a.rs");
        assert_eq!(check("ls /home/ada/app-two"), "ls ~/app-two");
        assert_eq!(check("ls /home/ada"), "ls ~");
    }
}
