//! Events with all that their lines hold of them: whole texts, and pictures.

use transcript::{Agent, Image, SessionEvent, bodies, images};

use crate::logs;

/// What a line holds of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Whole {
    pub text: Option<String>,
    pub images: Vec<Image>,
}

/// What a line holds of the events that stand on it, by `seq`.
pub(crate) fn of_line(agent: Agent, line: &[u8], events: &[&SessionEvent]) -> Vec<(u64, Whole)> {
    let bodies = bodies(agent, line);
    let mut images = images(agent, line);
    let last = events.len().saturating_sub(1);
    let mut wholes = Vec::with_capacity(events.len());
    for (at, event) in events.iter().enumerate() {
        // What is known to stand on the line only belongs to its last event.
        let is_own = |image: &mut Image| image.block.map_or(at == last, |block| block == event.block);
        let whole = Whole {
            text: logs::text_of(event, &bodies),
            images: images.extract_if(.., is_own).collect(),
        };
        wholes.push((event.seq, whole));
    }
    wholes
}
