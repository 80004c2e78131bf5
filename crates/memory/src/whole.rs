//! Events with their full content from their lines: texts and images.

use transcript::{Actor, Agent, Body, Image, Role, SessionEvent, bodies, images};

/// The full content of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Whole {
    pub text: Option<String>,
    pub images: Vec<Image>,
}

/// Returns the text of an event from the bodies of its line.
pub(crate) fn text_of(event: &SessionEvent, bodies: &[Body]) -> Option<String> {
    // A queued prompt is the only body on the line that recorded it.
    let body = bodies.get(if event.text_line.is_some() {
        0
    } else {
        event.block as usize
    })?;
    match event.actor {
        Actor::Human if event.role == Role::User => Some(body.words.as_ref().unwrap_or(&body.text).clone()),
        _ => Some(body.text.clone()),
    }
}

/// Returns the full content of the given events of a line, by `seq`.
pub(crate) fn of_line(agent: Agent, line: &[u8], events: &[&SessionEvent]) -> Vec<(u64, Whole)> {
    let bodies = bodies(agent, line);
    let mut images = images(agent, line);
    let mut wholes = Vec::with_capacity(events.len());
    for event in events {
        let is_own = |image: &mut Image| image.block == Some(event.block);
        let whole = Whole {
            text: text_of(event, &bodies),
            images: images.extract_if(.., is_own).collect(),
        };
        wholes.push((event.seq, whole));
    }
    // An image is assigned to the last event if its block has no event or is unknown.
    if let Some((_, last)) = wholes.last_mut() {
        last.images.append(&mut images);
    }
    wholes
}
