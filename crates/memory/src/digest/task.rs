//! Which task a session worked on: the first reference in its branch, else in its prompts, else in its commits.

use regex::Regex;

/// Names of standards look like references and are none.
const STANDARDS: [&str; 14] = [
    "UTF-", "SHA-", "ISO-", "RFC-", "AES-", "RSA-", "GPT-", "MD-", "HTTP-", "IPV-", "BASE-", "X-", "COVID-", "H-",
];

/// Finds the reference. An empty match names nothing.
pub(super) fn find<'t>(
    pattern: &Regex,
    branch: Option<&'t str>,
    prompts: impl Iterator<Item = &'t str>,
    commits: impl Iterator<Item = &'t str>,
) -> Option<String> {
    let in_text = |text: &'t str| {
        let mut found = pattern.find_iter(text).map(|found| found.as_str());
        found.find(|found| !found.is_empty() && !STANDARDS.iter().any(|standard| found.starts_with(standard)))
    };
    let mut texts = branch.into_iter().chain(prompts).chain(commits);
    texts.find_map(in_text).map(|found| super::one_line(found, 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_goes_before_prompts_and_prompts_before_commits() {
        let pattern = Regex::new(r"[A-Z][A-Z0-9]+-(?:WP-)?\d+(?:-T\d+)?").unwrap();
        let find = |branch, prompt, commit| find(&pattern, branch, std::iter::once(prompt), std::iter::once(commit));
        assert_eq!(
            find(Some("feat/APP-7-x"), "see APP-8", "APP-9").as_deref(),
            Some("APP-7")
        );
        assert_eq!(
            find(Some("main"), "in UTF-8, for APP-8", "APP-9").as_deref(),
            Some("APP-8")
        );
        assert_eq!(find(None, "go on", "APP-9: mend").as_deref(), Some("APP-9"));
        assert_eq!(find(None, "SHA-256 please", ""), None);
    }
}
