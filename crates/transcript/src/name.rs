//! The one gate through which a name found in a log may reach the file system.
//!
//! Session ids, agent ids and file names are strangers' words: `../../.ssh/id_rsa` is a session id to
//! whoever writes it into a log. A [`SafeName`] is one path component and nothing else.

/// A single file name, without separators, dots that climb, control characters or reserved names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(String);

impl SafeName {
    /// Accepts a name that is safe as one path component on every system we compile for.
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= 255;
        let plain = !name
            .chars()
            .any(|c| c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'));
        let still = !name.starts_with('.') && !name.ends_with(['.', ' ']);
        (fits && plain && still && !is_reserved(name)).then(|| Self(name.to_owned()))
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Windows opens a device for these names, whatever their ending.
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
    fn a_name_that_climbs_or_hides_or_names_a_device_is_refused() {
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
