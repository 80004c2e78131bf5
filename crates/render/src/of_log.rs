//! A transcript straight from the bytes of a log, for programs that have nothing but one.

use std::collections::HashMap;
use std::io;

use jiff::tz::TimeZone;
use transcript::{Agent, LineBody, Lines, Origin, PartKind, Reading, SessionEvent, State, bodies, images};

use crate::transcript_in::{Head, Told, Transcript};

impl Transcript {
    /// Reads a log; none where no session is in it. `path` is where it lies, which tells some agents' sessions apart.
    ///
    /// Nothing is masked here: whoever shows the transcript to others gives masked bytes.
    pub fn of_log(agent: Agent, path: &str, bytes: &[u8], zone: TimeZone) -> io::Result<Option<Self>> {
        let mut state = State::new(agent, Origin::of(path));
        let mut reading = Reading::default();
        reading.apply(state.resume(PartKind::Log, &mut Lines::new(bytes))?);
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
        let mut events: Vec<Told> = reading.events.into_iter().map(bare).collect();
        let mut lines = Lines::new(bytes);
        while let Some(line) = lines.next()? {
            let (Some(own), LineBody::Bytes(bytes)) = (at_line.get(&line.number), line.body) else {
                continue;
            };
            let (bodies, mut pictures) = (bodies(agent, bytes), images(agent, bytes));
            for at in own {
                let told = &mut events[*at];
                let block = if told.event.text_line.is_some() {
                    0
                } else {
                    told.event.block
                };
                told.images = pictures.extract_if(.., |image| image.block == Some(block)).collect();
                let body = bodies.get(block as usize);
                let is_human = told.event.actor == transcript::Actor::Human;
                let words = body.and_then(|body| body.words.clone().filter(|_| is_human));
                told.text = words.or_else(|| body.map(|body| body.text.clone()));
            }
            // A picture whose block is no event, or not known, belongs to what else was said on the line.
            if let Some(last) = own.last() {
                events[*last].images.append(&mut pictures);
            }
        }
        Ok(Some(Self {
            turns: reading.turns,
            events,
            subagents: Vec::new(),
            head: Head {
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

fn bare(event: SessionEvent) -> Told {
    Told {
        event,
        text: None,
        images: Vec::new(),
    }
}
