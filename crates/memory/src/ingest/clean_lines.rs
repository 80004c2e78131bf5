//! Which lines of a source hold no secret: learned in the first pass over it, so that a second pass does not search them again.
//!
//! A source may have changed in between. A line is taken for the one that was searched only if its bytes are the same.

use twox_hash::XxHash3_64;

use crate::mask::MaskVersion;

/// How many lines are remembered, eight bytes each; the ones after them are searched again.
const LINES_MAX: u64 = 1 << 20;

/// The lines that a masker left as they were.
#[derive(Debug, Default)]
pub(crate) struct CleanLines {
    /// The rules that searched them, or `None` before the first line.
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

    /// Returns `true` if the same rules found no secret in the same line.
    pub(super) fn is_known(&self, version: MaskVersion, number: u64, line: &[u8]) -> bool {
        let at = number.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let known = at.and_then(|at| self.hashes.get(at).copied().flatten());
        known.is_some_and(|hash| hash == XxHash3_64::oneshot(line)) && self.version == Some(version)
    }
}
