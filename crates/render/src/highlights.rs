//! Finds the commits and pull requests of a session in the output of its tools.

use crate::ansi;
use crate::steps::{Step, StepKind};

/// A commit or a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Highlight {
    /// The event of the call that made it.
    pub(crate) seq: u64,
    pub(crate) kind: HighlightKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HighlightKind {
    Commit { sha: String, subject: String },
    Request { url: String },
}

/// At most this many are listed.
const HIGHLIGHTS_MAX: usize = 100;

/// Returns the commits and pull requests that shell steps reported, in order.
pub(crate) fn highlights(steps: &[Step<'_>]) -> Vec<Highlight> {
    let mut found: Vec<Highlight> = Vec::new();
    for step in steps {
        let is_shell = matches!(step.kind(), StepKind::Shell | StepKind::Test);
        let Some(result) = step.result.filter(|_| is_shell) else {
            continue;
        };
        let asked = step.entry.text();
        let commits = transcript::commit_command(asked).is_some();
        let requests = asked.contains("gh pr create") || asked.contains("glab mr create");
        // Most commands make neither, so their output need not be converted and searched.
        if !commits && !requests {
            continue;
        }
        let text = ansi::plain(result.text());
        let found_on_lines = text.lines().filter_map(|line| match commits {
            true => commit_on_line(line).or_else(|| request_on_line(line)),
            false => request_on_line(line),
        });
        for kind in found_on_lines {
            if found.len() < HIGHLIGHTS_MAX && !found.iter().any(|known| known.kind == kind) {
                let seq = step.entry.event.seq;
                found.push(Highlight { seq, kind });
            }
        }
    }
    found
}

/// Returns the commit that git announces on a line.
fn commit_on_line(line: &str) -> Option<HighlightKind> {
    let commit = transcript::announced_commits(line).pop()?;
    Some(HighlightKind::Commit {
        sha: commit.hash?,
        subject: commit.subject.unwrap_or_default(),
    })
}

/// Returns the URL of a pull request or merge request that is alone on its line.
fn request_on_line(line: &str) -> Option<HighlightKind> {
    let line = line.trim();
    let is_request = line.contains("/pull/") || line.contains("/merge_requests/");
    let is_safe = line.starts_with("https://") && crate::markdown_html::is_safe(line);
    (is_request && is_safe).then(|| HighlightKind::Request { url: line.to_owned() })
}

/// Returns the web URL of the repository that the session pushed to.
pub(crate) fn repository_url(steps: &[Step<'_>]) -> Option<String> {
    let url_in_step = |step: &Step<'_>| {
        let is_push = step.entry.text().contains("git push");
        let text = step.result.filter(|_| is_push)?.text();
        text.lines()
            .find_map(|line| remote_to_url(line.trim().strip_prefix("To ")?))
    };
    steps.iter().find_map(url_in_step)
}

/// Converts a git remote to `https://host/owner/name`. Returns `None` for a local path or an unusual remote.
pub(crate) fn remote_to_url(remote: &str) -> Option<String> {
    let remote = remote.trim().trim_end_matches('/').trim_end_matches(".git");
    let path = match remote.split_once("://") {
        // The part before `@` can be a token and must not be shown.
        Some((_, path)) => path.rsplit('@').next()?.to_owned(),
        None => remote.rsplit('@').next()?.replacen(':', "/", 1),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let is_whole = path.matches('/').count() >= 2 && path.contains('.') && path.chars().all(is_plain);
    is_whole.then(|| format!("https://{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_pull_requests_are_found_in_output() {
        let sha = |line: &str| match commit_on_line(line) {
            Some(HighlightKind::Commit { sha, subject }) => format!("{sha} {subject}"),
            other => format!("{other:?}"),
        };
        assert_eq!(sha("[main 1a2b3c4] fix the login"), "1a2b3c4 fix the login");
        assert_eq!(sha("[main (root-commit) 1a2b3c4] begin"), "1a2b3c4 begin");
        assert_eq!(sha("[INFO 12:00] nothing"), "None");
        assert!(request_on_line("https://github.com/a/b/pull/7").is_some());
        assert_eq!(request_on_line("javascript:alert(1)/pull/7"), None);
    }

    #[test]
    fn the_url_of_a_remote_contains_no_credentials() {
        let page = Some("https://github.com/ada/app".to_owned());
        assert_eq!(remote_to_url("git@github.com:ada/app.git"), page);
        assert_eq!(remote_to_url("https://token@github.com/ada/app.git"), page);
        assert_eq!(remote_to_url("../elsewhere"), None);
        assert_eq!(remote_to_url("git@x.test:\"><script>"), None);
    }
}
