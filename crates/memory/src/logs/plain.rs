//! Which lines of a log hold no secret: learned when it is read, so that a second run over it need not look again.
//!
//! A log may have changed in between. A line is taken for the one that was looked through only if its bytes are the same.

use std::borrow::Cow;

use twox_hash::XxHash3_64;

use crate::mask::{LineState, MaskVersion, Masker};

/// So many lines are remembered, eight bytes each; those behind them are looked through again.
const LINES_MAX: u64 = 1 << 20;

/// The lines that a masker left as they were.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    /// By which rules; none as long as nothing was looked through.
    version: Option<MaskVersion>,
    /// Of each line from the first one on, and none where something was masked.
    hashes: Vec<Option<u64>>,
}

impl Plain {
    /// Masks the next line, and remembers it if nothing was found. `state` carries tokens that an agent streamed over several lines.
    pub(super) fn mask<'l>(
        &mut self,
        masker: &Masker,
        state: &mut LineState,
        number: u64,
        line: &'l [u8],
    ) -> Cow<'l, [u8]> {
        let masked = masker.mask_next_line(state, line, &mut Vec::new());
        if (1..=LINES_MAX).contains(&number) {
            self.version = Some(masker.version());
            let at = usize::try_from(number - 1).expect("a million fits");
            self.hashes.resize(at.max(self.hashes.len()), None);
            if at == self.hashes.len() {
                let is_plain = matches!(masked, Cow::Borrowed(_));
                self.hashes.push(is_plain.then(|| XxHash3_64::oneshot(line)));
            }
        }
        masked
    }

    /// Masks the next line of the second run, which passes every line either here or to [`Masker::skip_line`].
    pub(super) fn mask_again<'l>(
        &self,
        masker: &Masker,
        state: &mut LineState,
        number: u64,
        line: &'l [u8],
    ) -> Cow<'l, [u8]> {
        let at = number.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let known = at.and_then(|at| self.hashes.get(at).copied().flatten());
        let is_same = |hash: u64| hash == XxHash3_64::oneshot(line) && self.version == Some(masker.version());
        masker.mask_next_line_again(state, line, || known.is_some_and(is_same))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::{MaskKey, UserRules};

    #[test]
    fn a_line_that_changed_is_looked_through_again() {
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
        let secret = format!(r#"{{"text":"ghp_{}"}}"#, "a1B2".repeat(9));
        let (plain, secret) = (br#"{"text":"nothing"}"#.as_slice(), secret.as_bytes());
        let mut lines = Plain::default();
        for (number, line) in [(1, plain), (2, secret), (4, plain)] {
            let state = &mut LineState::default();
            let masked = lines.mask(&masker, state, number, line).into_owned();
            assert_eq!(masked == line, line == plain);
            assert_eq!(lines.mask_again(&masker, state, number, line), masked);
        }
        for number in 0..6 {
            let state = &mut LineState::default();
            assert_ne!(lines.mask_again(&masker, state, number, secret), secret);
            assert_eq!(lines.mask_again(&masker, state, number, plain), plain);
        }
    }
}
