//! A second pass over a log that was read already: its lines, masked.

use std::borrow::Cow;

use transcript::{LineBody, Lines};

use super::plain::Plain;
use super::{LogError, LogReading, failed, unpacked};
use crate::files;
use crate::mask::{LineState, Masker};

/// Reads the main part of a log again and passes on each line, masked, with its number. Lines that are too long to be
/// read are left out.
pub(crate) fn each_masked_line(
    log: &LogReading,
    masker: Option<&Masker>,
    take: &mut dyn FnMut(u64, &[u8]),
) -> Result<(), LogError> {
    let plain = log.parts.first().map(|part| &part.plain);
    let (file, _) = files::open(&log.path).map_err(|source| failed(&log.path, source))?;
    let mut lines = Lines::new(unpacked(&log.path, file).map_err(|source| failed(&log.path, source))?);
    let mut line_state = LineState::default();
    while let Some(line) = lines.next().map_err(|source| failed(&log.path, source))? {
        if let LineBody::Bytes(bytes) = line.body {
            take(
                line.number,
                &mask_line(plain, masker, &mut line_state, line.number, bytes),
            );
        }
    }
    Ok(())
}

/// Masks a line in a second pass over a log. `line_state` carries tokens that are streamed over several lines.
pub(super) fn mask_line<'l>(
    plain: Option<&Plain>,
    masker: Option<&Masker>,
    line_state: &mut LineState,
    number: u64,
    bytes: &'l [u8],
) -> Cow<'l, [u8]> {
    masker.map_or(Cow::Borrowed(bytes), |masker| match plain {
        Some(plain) => plain.mask_again(masker, line_state, number, bytes),
        None => masker.mask_next_line(line_state, bytes, &mut Vec::new()),
    })
}
