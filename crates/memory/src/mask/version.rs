//! The version of the rules that masked a text. It is stored with the text, which is masked again when the rules change.
//! A change of our rules raises `MASK_VERSION` in `mask.rs`.

use super::{MASK_VERSION, UserRules};

/// The version of the built-in rules and a hash of the user's rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaskVersion {
    rules: u32,
    /// A hash of the user's rules; 0 if there are none.
    user: u32,
}

impl MaskVersion {
    pub(super) fn of(user: &UserRules) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut count = 0_u64;
        let mut take = |text: &str| {
            count += 1;
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for rule in &user.rules {
            take(&rule.name);
            take(&rule.pattern);
            rule.keywords.iter().for_each(|keyword| take(keyword));
        }
        for (kind, texts) in [("text", &user.allowed_texts), ("pattern", &user.allowed_patterns)] {
            for text in texts {
                take(kind);
                take(text);
            }
        }
        let hash = *hasher.finalize().as_bytes();
        let user = u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]]);
        Self {
            rules: MASK_VERSION,
            // The hash itself may be 0, which must not mean that there are no rules.
            user: if count == 0 { 0 } else { user.max(1) },
        }
    }

    /// Returns the version as the integer that the store keeps.
    pub fn to_int(self) -> i64 {
        i64::from(self.rules) << 32 | i64::from(self.user)
    }

    /// Returns the version that [`MaskVersion::to_int`] encoded.
    pub fn of_int(kept: i64) -> Self {
        let bits = kept.cast_unsigned();
        Self {
            rules: (bits >> 32) as u32,
            user: bits as u32,
        }
    }

    /// Returns the smallest integer that a newer version of the built-in rules can have. Text that newer rules masked
    /// is not masked again.
    pub fn next_rules(self) -> i64 {
        (i64::from(self.rules) + 1) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_the_user_make_another_version_and_newer_rules_a_greater_one() {
        let none = MaskVersion::of(&UserRules::default());
        let some = MaskVersion::of(&UserRules {
            allowed_texts: vec!["example".to_owned()],
            ..UserRules::default()
        });
        assert_ne!(none, some);
        assert_eq!(MaskVersion::of_int(some.to_int()), some);
        assert!(none.to_int() < none.next_rules() && some.to_int() < some.next_rules());
        assert!(MaskVersion::default().to_int() < none.to_int());
    }
}
