//! Formats a count with its noun for messages.

pub(crate) fn count_noun(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
