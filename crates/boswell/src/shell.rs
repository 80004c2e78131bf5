//! Quotes words for a shell.

/// Quotes a word for a shell. Characters that could affect the terminal are escaped.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | '@' | '+' | ',' | '%');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let has_hidden = crate::ui::escape(word) != word;
    if has_hidden {
        // Invisible characters are written as escaped bytes, which most shells understand.
        let byte = |byte: u8| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(byte)),
            b' '..=b'~' => char::from(byte).to_string(),
            other => format!("\\x{other:02x}"),
        };
        return format!("$'{}'", word.bytes().map(byte).collect::<String>());
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_so_that_a_shell_reads_it_back() {
        assert_eq!(quoted("/home/ada/app"), "/home/ada/app");
        assert_eq!(quoted("/home/ada/my app"), "'/home/ada/my app'");
        assert_eq!(quoted("it's $(rm -rf)"), r"'it'\''s $(rm -rf)'");
        assert_eq!(quoted("a\u{1b}b"), r"$'a\x1bb'");
        assert_eq!(quoted(""), "''");
    }
}
