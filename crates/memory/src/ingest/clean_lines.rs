//! Remembers which lines of a source hold no secret: the first pass records them, so that a second pass does not search
//! them again.
//!
//! A source may change in between, so a line counts as searched only if the hash of its bytes is the same.

use twox_hash::XxHash3_64;

use crate::mask::MaskVersion;

/// Maximum number of lines to remember, at eight bytes each of hash; later lines are searched again.
const LINES_MAX: u64 = 1 << 20;

/// The lines that a masker left unchanged.
#[derive(Debug, Default)]
pub(crate) struct CleanLines {
    /// The version of the rules that searched the lines, or `None` before the first line.
    version: Option<MaskVersion>,
    /// The hash of each line from the first one, or `None` for a line in which something was masked.
    hashes: Vec<Option<u64>>,
}

impl CleanLines {
    /// Remembers the next line.
    pub(super) fn remember(&mut self, version: MaskVersion, number: u64, line: &[u8], is_clean: bool) {
        if !(1..=LINES_MAX).contains(&number) {
            return;
        }
        self.version = Some(version);
        let at = usize::try_from(number - 1).expect("a million fits");
        self.hashes.resize(at.max(self.hashes.len()), None);
        if at == self.hashes.len() {
            self.hashes.push(is_clean.then(|| XxHash3_64::oneshot(line)));
        }
    }

    /// Returns `true` if the same rules found no secret in the same line before.
    pub(super) fn is_known(&self, version: MaskVersion, number: u64, line: &[u8]) -> bool {
        let at = number.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let known = at.and_then(|at| self.hashes.get(at).copied().flatten());
        known.is_some_and(|hash| hash == XxHash3_64::oneshot(line)) && self.version == Some(version)
    }
}
