//! Chooses the parts of an answer that fit a token budget. The least important turns are omitted as a whole.
//!
//! The choice is deterministic: the same blocks and budget always give the same result.

/// The average number of characters per token.
pub const TOKEN_CHARS: usize = 4;

/// A part of an answer that is shown or omitted as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetBlock {
    /// `None` for the part before the first prompt.
    pub turn: Option<u32>,
    pub is_rewound: bool,
    pub chars: usize,
}

/// Estimates the number of tokens in a text of `chars` characters.
pub fn estimate_tokens(chars: usize) -> usize {
    chars.div_ceil(TOKEN_CHARS)
}

/// Returns for each block whether it is shown, so that the total stays within `chars_max`. Each run of omitted blocks costs `gap_chars`
/// for the note that replaces it.
///
/// The end and the beginning of a session matter most, the middle less, and rewound turns least. The last block is always shown;
/// the caller truncates it if it is too long on its own.
pub fn choose_blocks(blocks: &[BudgetBlock], chars_max: usize, gap_chars: usize) -> Vec<bool> {
    let mut shown = vec![true; blocks.len()];
    let last = blocks.len().saturating_sub(1);
    let mut order: Vec<usize> = (0..last).collect();
    // Least important first. If two blocks are equally far from an end, the older one is omitted first.
    order.sort_by_key(|at| {
        let block = blocks[*at];
        let distance = (*at).min(last - *at);
        let is_unimportant = block.turn.is_none() || block.is_rewound;
        (!is_unimportant, std::cmp::Reverse(distance), *at)
    });
    for at in &order {
        if chars_used(blocks, &shown, gap_chars) <= chars_max {
            break;
        }
        shown[*at] = false;
    }
    // Omitting a long turn can make room again for shorter ones that were omitted before it.
    for at in order.into_iter().rev().filter(|at| !shown[*at]).collect::<Vec<_>>() {
        shown[at] = true;
        shown[at] = chars_used(blocks, &shown, gap_chars) <= chars_max;
    }
    shown
}

fn chars_used(blocks: &[BudgetBlock], shown: &[bool], gap_chars: usize) -> usize {
    let chars: usize = blocks
        .iter()
        .zip(shown)
        .filter(|(_, shown)| **shown)
        .map(|(block, _)| block.chars)
        .sum();
    let is_begin = |at: usize| !shown[at] && (at == 0 || shown[at - 1]);
    chars + gap_chars * (0..shown.len()).filter(|at| is_begin(*at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chars_max: usize) -> String {
        let block = |turn: u32| BudgetBlock {
            turn: Some(turn),
            is_rewound: turn == 2,
            chars: 100,
        };
        let blocks: Vec<BudgetBlock> = (1..=8).map(block).collect();
        let shown = choose_blocks(&blocks, chars_max, 10);
        let turns = blocks.iter().zip(shown).filter(|(_, shown)| *shown);
        turns
            .map(|(block, _)| block.turn.unwrap_or_default().to_string())
            .collect()
    }

    #[test]
    fn the_middle_is_omitted_first_and_the_ends_stay() {
        assert_eq!(check(800), "12345678");
        assert_eq!(check(799), "1345678"); // a rewound turn before all others
        assert_eq!(check(700), "135678");
        assert_eq!(check(500), "1678");
        assert_eq!(check(310), "178");
        assert_eq!(check(0), "8");
    }

    #[test]
    fn a_long_turn_does_not_keep_short_ones_out() {
        let block = |(turn, chars)| BudgetBlock {
            turn: Some(turn),
            is_rewound: false,
            chars,
        };
        let blocks = [(1, 900), (2, 100), (3, 100)].map(block);
        assert_eq!(choose_blocks(&blocks, 300, 10), [false, true, true]);
    }
}
