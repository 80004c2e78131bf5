//! The beginning of a text, on one line.

/// Returns a text on one line, truncated to `chars_max` characters and an ellipsis.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(2 * chars_max));
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        if chars + word.len() <= chars_max {
            line.push_str(word);
            chars += word.chars().count();
            continue;
        }
        for c in word.chars() {
            if chars >= chars_max {
                line.push('…');
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line
}
