//! Distributions of lengths, given by quantiles that were measured on real logs. Sampling uses integers only, so that every machine
//! gets the same values.

use crate::truth::SeededRandom;

/// Pairs of a quantile in ten-thousandths and a length, with linear interpolation between them.
pub(super) struct LengthDistribution(pub(super) &'static [(u64, u64)]);

impl LengthDistribution {
    pub(super) fn sample(&self, random: &mut SeededRandom) -> usize {
        let at = random.between(0, 9_999);
        let above = self
            .0
            .partition_point(|(part, _)| *part <= at)
            .clamp(1, self.0.len() - 1);
        let ((from, low), (to, high)) = (self.0[above - 1], self.0[above]);
        let length = low + (high - low) * (at - from).min(to - from) / (to - from);
        usize::try_from(length).expect("a length")
    }
}

/// Sizes of logs, in bytes.
pub(super) const CLAUDE_LOG: LengthDistribution = LengthDistribution(&[
    (0, 1_500),
    (1_000, 6_000),
    (2_500, 16_000),
    (5_000, 110_000),
    (7_500, 560_000),
    (9_000, 950_000),
    (9_900, 4_000_000),
    (10_000, 16_000_000),
]);
pub(super) const CODEX_LOG: LengthDistribution = LengthDistribution(&[
    (0, 4_000),
    (1_000, 9_400),
    (2_500, 16_000),
    (5_000, 121_000),
    (7_500, 431_000),
    (9_000, 1_130_000),
    (9_900, 3_600_000),
    (10_000, 9_000_000),
]);
pub(super) const GROK_LOG: LengthDistribution =
    LengthDistribution(&[(0, 60_000), (5_000, 600_000), (9_000, 1_800_000), (10_000, 4_000_000)]);
pub(super) const SUBAGENT_LOG: LengthDistribution =
    LengthDistribution(&[(0, 3_000), (5_000, 60_000), (9_000, 300_000), (10_000, 1_500_000)]);
pub(super) const SPILL: LengthDistribution =
    LengthDistribution(&[(0, 32_000), (5_000, 70_000), (9_000, 250_000), (10_000, 1_200_000)]);

/// Lengths of messages of users and agents.
pub(super) const PROMPT: LengthDistribution = LengthDistribution(&[
    (0, 4),
    (2_500, 36),
    (5_000, 90),
    (7_500, 200),
    (9_000, 700),
    (9_700, 3_000),
    (9_900, 7_000),
    (10_000, 12_000),
]);
pub(super) const REPLY: LengthDistribution = LengthDistribution(&[
    (0, 20),
    (5_000, 110),
    (7_500, 280),
    (9_000, 1_000),
    (9_900, 3_000),
    (10_000, 9_000),
]);
pub(super) const ANSWER: LengthDistribution =
    LengthDistribution(&[(0, 60), (5_000, 480), (9_000, 1_800), (10_000, 9_000)]);
/// Most thoughts are empty, because logs keep only their signature.
pub(super) const THOUGHT: LengthDistribution = LengthDistribution(&[
    (0, 0),
    (4_800, 0),
    (5_000, 71),
    (7_500, 200),
    (9_000, 630),
    (9_900, 2_600),
    (10_000, 14_000),
]);
pub(super) const SIGNATURE: LengthDistribution = LengthDistribution(&[
    (0, 260),
    (2_500, 370),
    (5_000, 596),
    (7_500, 1_480),
    (9_000, 3_900),
    (9_700, 10_400),
    (9_900, 20_600),
    (9_990, 50_000),
    (10_000, 70_000),
]);
pub(super) const ENCRYPTED: LengthDistribution = LengthDistribution(&[
    (0, 200),
    (5_000, 400),
    (7_500, 760),
    (9_000, 2_000),
    (9_900, 7_500),
    (10_000, 20_000),
]);

/// Lengths of tool inputs and outputs.
pub(super) const COMMAND_OUTPUT: LengthDistribution = LengthDistribution(&[
    (0, 0),
    (1_000, 31),
    (2_500, 78),
    (5_000, 289),
    (7_500, 902),
    (9_000, 2_300),
    (9_700, 8_300),
    (9_900, 16_000),
    (9_985, 30_000),
    (9_994, 120_000),
    (10_000, 1_000_000),
]);
pub(super) const CODEX_OUTPUT: LengthDistribution = LengthDistribution(&[
    (0, 0),
    (2_500, 100),
    (5_000, 520),
    (7_500, 3_700),
    (9_000, 9_200),
    (9_700, 13_500),
    (9_900, 26_000),
    (9_995, 46_000),
    (10_000, 300_000),
]);
pub(super) const READ_OUTPUT: LengthDistribution = LengthDistribution(&[
    (0, 60),
    (1_000, 490),
    (2_500, 1_030),
    (5_000, 2_100),
    (7_500, 4_900),
    (9_000, 13_500),
    (9_700, 36_000),
    (9_900, 56_000),
    (10_000, 90_000),
]);
pub(super) const EDITED: LengthDistribution = LengthDistribution(&[
    (0, 40),
    (2_500, 160),
    (5_000, 340),
    (7_500, 700),
    (9_000, 1_450),
    (9_900, 4_000),
    (10_000, 12_000),
]);
/// Bytes that a patch removes. It adds about as many.
pub(super) const PATCHED: LengthDistribution = LengthDistribution(&[
    (0, 60),
    (2_500, 260),
    (5_000, 500),
    (7_500, 1_100),
    (9_000, 2_500),
    (9_900, 6_500),
    (10_000, 13_000),
]);
pub(super) const WRITTEN: LengthDistribution = LengthDistribution(&[
    (0, 120),
    (5_000, 1_800),
    (7_500, 6_000),
    (9_000, 13_800),
    (10_000, 31_000),
]);
pub(super) const FOUND: LengthDistribution = LengthDistribution(&[
    (0, 10),
    (2_500, 124),
    (5_000, 480),
    (7_500, 1_690),
    (9_000, 4_200),
    (10_000, 16_000),
]);
pub(super) const SOURCE_FILE: LengthDistribution = LengthDistribution(&[
    (0, 400),
    (2_500, 5_000),
    (5_000, 12_500),
    (7_500, 27_000),
    (9_000, 50_000),
    (9_900, 88_000),
    (10_000, 110_000),
]);
pub(super) const IMAGE: LengthDistribution =
    LengthDistribution(&[(0, 39_000), (5_000, 114_000), (9_000, 283_000), (10_000, 900_000)]);
pub(super) const STEPS: LengthDistribution =
    LengthDistribution(&[(0, 0), (2_500, 2), (5_000, 6), (7_500, 14), (9_000, 32), (10_000, 110)]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_quantiles() {
        let mut random = SeededRandom(5);
        let mut samples: Vec<usize> = (0..20_000).map(|_| READ_OUTPUT.sample(&mut random)).collect();
        samples.sort_unstable();
        assert!(samples[0] >= 60 && samples[19_999] <= 90_000);
        for (part, length) in [(5_000, 2_100.0), (9_000, 13_500.0)] {
            let found = samples[part * 2] as f64;
            assert!((0.9..1.1).contains(&(found / length)), "{part}: {found}");
        }
    }
}
