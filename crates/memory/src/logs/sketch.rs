//! Reads a log for its turns and the metadata of its events, without their texts, which a search reads again.

use std::path::Path;

use transcript::{Agent, Reading};

use super::{LeftOut, LogError, bound, read_pieces};
use crate::mask::Masker;

/// Reads a log with the parts beside it. The memory per event is small, and per log bounded.
pub(crate) fn sketch(path: &Path, agent: Agent, masker: &Masker) -> Result<Reading, LogError> {
    let mut reading = Reading::default();
    let mut left_out = LeftOut::default();
    read_pieces(path, Some(agent), masker.into(), &mut |mut delta| {
        delta.calls.clear();
        delta.faults.clear();
        delta.unknown.clear();
        for event in &mut delta.events {
            (event.summary, event.files) = (Box::default(), Vec::new());
        }
        reading.apply(delta);
        bound(&mut reading, &mut left_out);
    })?;
    Ok(reading)
}
