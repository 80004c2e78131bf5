//! Fits an answer on a terminal into a model's budget: see [`::render::budget`].

pub(crate) use ::render::budget::{
    BudgetBlock as Block, TOKEN_CHARS, choose_blocks as choose, estimate_tokens as tokens,
};

/// Counts the visible characters of a line and its line break. All escape codes are our own colours, because those in
/// other text are escaped.
pub(crate) fn visible_chars(line: &str) -> usize {
    let (mut count, mut is_color) = (1, false);
    for c in line.chars() {
        match c {
            '\u{1b}' => is_color = true,
            'm' if is_color => is_color = false,
            _ if is_color => {}
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_cost_nothing() {
        assert_eq!(visible_chars("\u{1b}[1mab\u{1b}[0m"), 3);
        assert_eq!(tokens(9), 3);
    }
}
