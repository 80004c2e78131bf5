//! Builds a transcript from the bytes of one log, for programs that do not use the memory.

use std::collections::HashMap;
use std::io;

use jiff::tz::TimeZone;
use transcript::{Agent, LineBody, Lines, Origin, PartKind, Reading, SessionEvent, State, bodies, images};

use crate::input::{Transcript, TranscriptEntry, TranscriptHead};

impl Transcript {
    /// Parses a log. Returns `None` if it contains no session. `path` is the path of the log, from which some agents' session ids derive.
    ///
    /// Nothing is masked here: pass masked bytes if others will see the transcript.
    pub fn from_log(agent: Agent, path: &str, bytes: &[u8], zone: TimeZone) -> io::Result<Option<Self>> {
        let mut state = State::new(agent, Origin::of(path));
        let mut reading = Reading::default();
        reading.apply(state.read_unmasked(PartKind::Log, &mut Lines::new(bytes))?);
        reading.settle();
        let Some(session) = reading.session else {
            return Ok(None);
        };
        let mut at_line: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, event) in reading.events.iter().enumerate() {
            at_line
                .entry(event.text_line.unwrap_or(event.line))
                .or_default()
                .push(at);
        }
        let mut events: Vec<TranscriptEntry> = reading.events.into_iter().map(without_text).collect();
        let mut lines = Lines::new(bytes);
        while let Some(line) = lines.next()? {
            let (Some(own), LineBody::Bytes(bytes)) = (at_line.get(&line.number), line.body) else {
                continue;
            };
            let (bodies, mut pictures) = (bodies(agent, bytes), images(agent, bytes));
            for at in own {
                let entry = &mut events[*at];
                let block = if entry.event.text_line.is_some() {
                    0
                } else {
                    entry.event.block
                };
                entry.images = pictures.extract_if(.., |image| image.block == Some(block)).collect();
                let body = bodies.get(block as usize);
                let is_human = entry.event.actor == transcript::Actor::Human;
                // For a prompt, show what the user typed and not the markup that the agent wrapped around it.
                let words = body.and_then(|body| body.words.clone().filter(|_| is_human));
                entry.text = words.or_else(|| body.map(|body| body.text.clone()));
            }
            // An image whose block is not an event, or is unknown, belongs to the last event on the line.
            if let Some(last) = own.last() {
                events[*last].images.append(&mut pictures);
            }
        }
        Ok(Some(Self {
            turns: reading.turns,
            events,
            subagents: Vec::new(),
            head: TranscriptHead {
                outcome: session.outcome,
                name: None,
                money: None,
                numbers: None,
                repository_url: None,
                masked: 0,
                faults: reading.faults.len() as u64,
                zone,
                session,
            },
        }))
    }
}

fn without_text(event: SessionEvent) -> TranscriptEntry {
    TranscriptEntry {
        event,
        text: None,
        images: Vec::new(),
    }
}
