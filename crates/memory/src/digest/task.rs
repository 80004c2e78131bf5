//! Finds the task that a session worked on: the first reference in its branch, its prompts or its commits, in this
//! order.

use regex::Regex;

/// Names of standards that look like task references.
const STANDARDS: [&str; 14] = [
    "UTF-", "SHA-", "ISO-", "RFC-", "AES-", "RSA-", "GPT-", "MD-", "HTTP-", "IPV-", "BASE-", "X-", "COVID-", "H-",
];

/// Returns the first reference. Empty matches and names of standards do not count.
pub(super) fn find_task<'t>(
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
    texts.find_map(in_text).map(|found| crate::excerpt::one_line(found, 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_precedes_prompts_and_prompts_precede_commits() {
        let pattern = Regex::new(r"[A-Z][A-Z0-9]+-(?:WP-)?\d+(?:-T\d+)?").unwrap();
        let find =
            |branch, prompt, commit| find_task(&pattern, branch, std::iter::once(prompt), std::iter::once(commit));
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
