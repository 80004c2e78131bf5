//! The present text of a file, masked like all stored text.

use std::fs;
use std::io::Read;

use super::{FILE_BYTES_MAX, FileQuery, HEAD_BYTES, WhyError};
use crate::mask::{Masker, TextState};

/// Returns the lines of the file, or an error if it does not have the requested line.
pub(super) fn read_with_line(question: &FileQuery<'_>, line: u64) -> Result<Vec<String>, WhyError> {
    let lines = read_lines(question)?;
    match line >= 1 && line <= lines.len() as u64 {
        true => Ok(lines),
        false => Err(WhyError::NoSuchLine(lines.len() as u64)),
    }
}

/// Returns the lines of the file, masked like all stored text.
pub(super) fn read_lines(question: &FileQuery<'_>) -> Result<Vec<String>, WhyError> {
    let metadata = fs::metadata(question.path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => WhyError::Missing,
        _ => WhyError::Unreadable(error),
    })?;
    if !metadata.is_file() {
        return Err(WhyError::NotAFile);
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(question.path).map_err(WhyError::Unreadable)?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if read.map_err(WhyError::Unreadable)? as u64 > FILE_BYTES_MAX {
        return Err(WhyError::TooLarge);
    }
    if bytes.iter().take(HEAD_BYTES).any(|byte| *byte == 0) {
        return Err(WhyError::NotText);
    }
    Ok(mask_lines(question.masker, &String::from_utf8_lossy(&bytes)))
}

/// Masks secrets in a text and returns its lines. Masking never joins or splits lines.
pub(super) fn mask_lines(masker: &Masker, text: &str) -> Vec<String> {
    let mut state = TextState::default();
    let mut hits = Vec::new();
    let mask = |line: &str| {
        let masked = masker.mask_text_line(&mut state, line.as_bytes(), &mut hits);
        String::from_utf8_lossy(&masked).into_owned()
    };
    text.lines().map(mask).collect()
}
