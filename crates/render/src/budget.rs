//! An answer that fits a model's budget: what is least important is left out, whole turns at a time, and said.
//!
//! A token is about four characters. The same answer under the same budget is always cut in the same way.

/// About how many characters a model takes for one token.
pub const TOKEN_CHARS: usize = 4;

/// A stretch of an answer that is shown or left out as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// None for what stands before the first prompt.
    pub turn: Option<u32>,
    pub is_rewound: bool,
    pub chars: usize,
}

/// About how many tokens so many characters are.
pub fn tokens(chars: usize) -> usize {
    chars.div_ceil(TOKEN_CHARS)
}

/// Which blocks are shown within `room` characters, `gap` of which every run of left-out blocks takes.
///
/// The end of a session and its beginning matter most, its middle less, what a human went back behind least. The last block
/// is always shown: whoever calls cuts it, if it alone is too long.
pub fn choose(blocks: &[Block], room: usize, gap: usize) -> Vec<bool> {
    let mut shown = vec![true; blocks.len()];
    let last = blocks.len().saturating_sub(1);
    let mut order: Vec<usize> = (0..last).collect();
    // Least important first. Of two as far from an end the older one goes.
    order.sort_by_key(|at| {
        let block = blocks[*at];
        let distance = (*at).min(last - *at);
        let is_beside = block.turn.is_none() || block.is_rewound;
        (!is_beside, std::cmp::Reverse(distance), *at)
    });
    for at in &order {
        if taken(blocks, &shown, gap) <= room {
            break;
        }
        shown[*at] = false;
    }
    // A long turn may have made room for shorter ones that went before it.
    for at in order.into_iter().rev().filter(|at| !shown[*at]).collect::<Vec<_>>() {
        shown[at] = true;
        shown[at] = taken(blocks, &shown, gap) <= room;
    }
    shown
}

fn taken(blocks: &[Block], shown: &[bool], gap: usize) -> usize {
    let chars: usize = blocks
        .iter()
        .zip(shown)
        .filter(|(_, shown)| **shown)
        .map(|(block, _)| block.chars)
        .sum();
    let is_begin = |at: usize| !shown[at] && (at == 0 || shown[at - 1]);
    chars + gap * (0..shown.len()).filter(|at| is_begin(*at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(room: usize) -> String {
        let block = |turn: u32| Block {
            turn: Some(turn),
            is_rewound: turn == 2,
            chars: 100,
        };
        let blocks: Vec<Block> = (1..=8).map(block).collect();
        let shown = choose(&blocks, room, 10);
        let turns = blocks.iter().zip(shown).filter(|(_, shown)| *shown);
        turns
            .map(|(block, _)| block.turn.unwrap_or_default().to_string())
            .collect()
    }

    #[test]
    fn the_middle_goes_first_and_the_ends_stay() {
        assert_eq!(check(800), "12345678");
        assert_eq!(check(799), "1345678"); // a rewound turn before all others
        assert_eq!(check(700), "135678");
        assert_eq!(check(500), "1678");
        assert_eq!(check(310), "178");
        assert_eq!(check(0), "8");
    }

    #[test]
    fn a_long_turn_does_not_keep_short_ones_out() {
        let block = |(turn, chars)| Block {
            turn: Some(turn),
            is_rewound: false,
            chars,
        };
        let blocks = [(1, 900), (2, 100), (3, 100)].map(block);
        assert_eq!(choose(&blocks, 300, 10), [false, true, true]);
    }
}
