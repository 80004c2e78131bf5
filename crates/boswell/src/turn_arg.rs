//! Turns of a session, as given on the command line.

use std::str::FromStr;

/// A range of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnRange {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl TurnRange {
    pub(crate) fn has(self, turn: u32) -> bool {
        (self.first..=self.last).contains(&turn)
    }
}

impl FromStr for TurnRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let range = match text.split_once('-') {
            None => number(text).map(|turn| Self {
                first: turn,
                last: turn,
            }),
            Some((first, "")) => number(first).map(|first| Self { first, last: u32::MAX }),
            Some((first, last)) => number(first)
                .zip(number(last))
                .map(|(first, last)| Self { first, last }),
        };
        let range = range.filter(|range| range.first <= range.last);
        range.ok_or_else(|| "turns are written like `3`, `3-7` or `3-`, from 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_one_or_a_range() {
        let range = |text: &str| text.parse::<TurnRange>().ok().map(|range| (range.first, range.last));
        assert_eq!(range("3"), Some((3, 3)));
        assert_eq!(range("3-7"), Some((3, 7)));
        assert_eq!(range("3-"), Some((3, u32::MAX)));
        for wrong in ["", "0", "-3", "7-3", "x", "1-2-3"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
