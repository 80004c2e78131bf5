//! A number with its noun, as messages print it.

pub(crate) fn several(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
