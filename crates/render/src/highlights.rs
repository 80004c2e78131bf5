//! What came of a session that can be looked at elsewhere: commits and pull requests, as its tools told of them.

use crate::ansi;
use crate::steps::{Look, Step};

/// A commit, or a request to merge some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Highlight {
    /// The event that tells of it.
    pub(crate) seq: u64,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Commit { sha: String, subject: String },
    Request { url: String },
}

/// So many are listed.
const HIGHLIGHTS_MAX: usize = 100;

/// What the shells of some steps told, in order.
pub(crate) fn highlights(steps: &[Step<'_>]) -> Vec<Highlight> {
    let mut found: Vec<Highlight> = Vec::new();
    for step in steps {
        let is_shell = matches!(step.look(), Look::Shell | Look::Test);
        let Some(result) = step.result.filter(|_| is_shell) else {
            continue;
        };
        let asked = step.told.text();
        let commits = transcript::commit_command(asked).is_some();
        let requests = asked.contains("gh pr create") || asked.contains("glab mr create");
        if !commits && !requests {
            continue;
        }
        let text = ansi::plain(result.text());
        let told = text.lines().filter_map(|line| match commits {
            true => commit(line).or_else(|| request(line)),
            false => request(line),
        });
        for what in told {
            if found.len() < HIGHLIGHTS_MAX && !found.iter().any(|known| known.what == what) {
                let seq = step.told.event.seq;
                found.push(Highlight { seq, what });
            }
        }
    }
    found
}

/// Returns the commit that git announces on a line.
fn commit(line: &str) -> Option<What> {
    let commit = transcript::announced_commits(line).pop()?;
    Some(What::Commit {
        sha: commit.hash?,
        subject: commit.subject.unwrap_or_default(),
    })
}

/// The address of a pull request or a merge request, alone on its line.
fn request(line: &str) -> Option<What> {
    let line = line.trim();
    let is_request = line.contains("/pull/") || line.contains("/merge_requests/");
    let is_safe = line.starts_with("https://") && crate::words::is_safe(line);
    (is_request && is_safe).then(|| What::Request { url: line.to_owned() })
}

/// Where a repository can be looked at, as `git push` and `git clone` tell it.
pub(crate) fn repository_url(steps: &[Step<'_>]) -> Option<String> {
    let of_step = |step: &Step<'_>| {
        let is_push = step.told.text().contains("git push");
        let text = step.result.filter(|_| is_push)?.text();
        text.lines()
            .find_map(|line| of_remote(line.trim().strip_prefix("To ")?))
    };
    steps.iter().find_map(of_step)
}

/// `https://host/owner/name` of a remote.
pub(crate) fn of_remote(remote: &str) -> Option<String> {
    let remote = remote.trim().trim_end_matches('/').trim_end_matches(".git");
    let path = match remote.split_once("://") {
        // What stands before `@` lets somebody in.
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
    fn commits_and_requests_are_known_by_what_is_printed() {
        let sha = |line: &str| match commit(line) {
            Some(What::Commit { sha, subject }) => format!("{sha} {subject}"),
            other => format!("{other:?}"),
        };
        assert_eq!(sha("[main 1a2b3c4] fix the login"), "1a2b3c4 fix the login");
        assert_eq!(sha("[main (root-commit) 1a2b3c4] begin"), "1a2b3c4 begin");
        assert_eq!(sha("[INFO 12:00] nothing"), "None");
        assert!(request("https://github.com/a/b/pull/7").is_some());
        assert_eq!(request("javascript:alert(1)/pull/7"), None);
    }

    #[test]
    fn a_remote_is_an_address_without_what_lets_somebody_in() {
        let page = Some("https://github.com/ada/app".to_owned());
        assert_eq!(of_remote("git@github.com:ada/app.git"), page);
        assert_eq!(of_remote("https://token@github.com/ada/app.git"), page);
        assert_eq!(of_remote("../elsewhere"), None);
        assert_eq!(of_remote("git@x.test:\"><script>"), None);
    }
}
