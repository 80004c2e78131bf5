//! The only way by which a name found in a log may reach the file system.
//!
//! Session ids, agent ids and file names are untrusted: a log may contain `../../.ssh/id_rsa` as a session id. A
//! [`SafeName`] is always a single path component.

/// A single file name, without separators, leading dots, control characters or reserved names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(String);

impl SafeName {
    /// Returns a name that is safe as one path component on every supported system, or `None`.
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= 255;
        let plain = !name
            .chars()
            .any(|c| c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'));
        let still = !name.starts_with('.') && !name.ends_with(['.', ' ']);
        (fits && plain && still && !is_reserved(name)).then(|| Self(name.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns `true` for names that open a device on Windows, whatever their extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::SafeName;

    #[test]
    fn a_name_with_dots_separators_or_a_device_is_rejected() {
        for bad in [
            "", ".", "..", "../x", "a/b", "a\\b", ".hidden", "nul", "COM1.txt", "x\0", "c:x", "x.", "a\nb",
        ] {
            assert_eq!(SafeName::new(bad), None, "{bad:?}");
        }
        assert!(SafeName::new(&"x".repeat(256)).is_none());
    }

    #[test]
    fn ordinary_names_pass_unchanged() {
        for good in [
            "agent-a1b2c3.jsonl",
            "toolu_01.txt",
            "0a1b-2c",
            "日本語.json",
            "company",
        ] {
            assert_eq!(SafeName::new(good).as_ref().map(SafeName::as_str), Some(good));
        }
    }
}
