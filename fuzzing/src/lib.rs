//! The shared parts of the fuzz targets and the seed writer: parsing an input, and checking a reading.

pub mod heap;

use transcript::{Agent, Lines, Origin, PartKind, Reading, State, bodies};

use crate::heap::peak_of;

/// The first `CUTS` bytes of an input say where to cut the log. The next byte chooses the path of the log, and whether
/// its first line is also the companion file. The log follows.
pub const CUTS: usize = 4;
pub const HEAD: usize = CUTS + 1;

/// Returns possible paths of an agent's log. The last byte of the head chooses one.
fn places(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &PLACES,
        Agent::Codex => &[
            "sessions/2026/04/01/rollout-2026-04-01T10-00-00-019d4700-0000-7000-8000-00000000c0de.jsonl",
            "archived_sessions/rollout-2026-04-01T10-00-00-019d4700-0000-7000-8000-00000000c0de_019d4700-0000-7000-8000-00000000c0df.jsonl",
            "full.jsonl",
        ],
        Agent::Grok => &[
            "sessions/%2Fhome%2Fada%2Fapp/019d4710-0000-7000-8000-00000000600d/updates.jsonl",
            "updates.jsonl",
        ],
    }
}

/// Possible paths of Claude Code's logs.
pub const PLACES: [&str; 4] = [
    "projects/-home-ada-app/5e551000-0000-4000-8000-000000000001.jsonl",
    "projects/-home-ada-app/5e551000-0000-4000-8000-000000000001/subagents/agent-a1b2c3.jsonl",
    "projects/-home-ada-app/agent-a1b2c3.jsonl",
    "full.jsonl",
];

/// A parsed input of a reader's target.
pub struct Input<'a> {
    pub agent: Agent,
    pub cuts: Vec<usize>,
    pub place: &'static str,
    /// The content of the metadata file beside a subagent's log.
    pub meta: Option<&'a [u8]>,
    pub log: &'a [u8],
}

impl<'a> Input<'a> {
    /// Parses an input. Returns `None` if it is too short.
    pub fn of(agent: Agent, bytes: &'a [u8]) -> Option<Self> {
        let (head, log) = bytes.split_first_chunk::<HEAD>()?;
        let mut cuts: Vec<usize> = head[..CUTS]
            .iter()
            .map(|byte| usize::from(*byte) * log.len() / 256)
            .collect();
        cuts.sort_unstable();
        let places = places(agent);
        let place = places[usize::from(head[CUTS]) % places.len()];
        let first_line = log.split(|byte| *byte == b'\n').next();
        let meta = first_line.filter(|_| agent == Agent::Claude && head[CUTS] & 4 != 0);
        Some(Self {
            agent,
            cuts,
            place,
            meta,
            log,
        })
    }

    fn state(&self) -> State {
        State::new(self.agent, Origin::of(self.place))
    }

    /// Reads the log at once.
    pub fn read_whole(&self) -> (Reading, State) {
        let (mut state, mut reading) = (self.state(), Reading::default());
        if let Some(meta) = self.meta {
            state.companion(PartKind::Meta, meta);
        }
        let delta = state.read_unmasked(PartKind::Log, &mut Lines::new(self.log));
        reading.apply(delta.expect("bytes in memory can be read"));
        reading.settle();
        (reading, state)
    }

    /// Reads the log like one that grows: an incomplete last line waits for the next piece, and the state is serialized
    /// in between. The metadata file comes late. Also returns the number of amendments to earlier pieces.
    pub fn read_in_pieces(&self) -> (Reading, State, usize) {
        let (mut state, mut reading) = (self.state(), Reading::default());
        let (mut from, mut amendments) = (0, 0);
        for cut in self.cuts.iter().copied().chain([self.log.len()]) {
            let whole_lines = self.log[..cut].iter().rposition(|byte| *byte == b'\n');
            let to = if cut == self.log.len() {
                cut
            } else {
                whole_lines.map_or(0, |at| at + 1)
            };
            if to < from {
                continue;
            }
            state = State::from_bytes(&state.to_bytes()).expect("a state reads back what it wrote");
            if let Some(meta) = self.meta.filter(|_| to == self.log.len()) {
                state.companion(PartKind::Meta, meta);
            }
            let mut lines = Lines::resume(&self.log[from..to], state.lines(PartKind::Log), from as u64);
            let delta = state.read_unmasked(PartKind::Log, &mut lines);
            let delta = delta.expect("bytes in memory can be read");
            amendments += delta.amendments.len();
            reading.apply(delta);
            from = to;
        }
        reading.settle();
        (reading, state, amendments)
    }
}

/// Returns the number of lines of a log: a last line without a line break is one.
pub fn count_lines(log: &[u8]) -> u64 {
    let breaks = log.iter().filter(|byte| **byte == b'\n').count() as u64;
    breaks + u64::from(log.last().is_some_and(|byte| *byte != b'\n'))
}

/// Returns the number of bytes of untrusted text in the events of a reading.
pub fn text_bytes(reading: &Reading) -> usize {
    let of = |text: &Option<Box<str>>| text.as_deref().map_or(0, str::len);
    reading
        .events
        .iter()
        .map(|event| {
            let files: usize = event.files.iter().map(|file| file.len()).sum();
            event.id.len() + event.summary.len() + files + of(&event.tool) + of(&event.call_id) + of(&event.spill)
        })
        .sum()
}

/// The maximum size of the state per byte read. The state keeps a few words per record.
const STATE_FACTOR: usize = 8;
/// The maximum text of events per byte read, and per event. Events repeat IDs and cut texts of the log, and each has an
/// ID made of its line and block.
const TEXT_FACTOR: usize = 8;
const TEXT_PER_EVENT: usize = 64;
/// The maximum heap of a reading per byte read, including events. The shortest block that is an event has 4 bytes; the
/// event and its block take about 250 bytes each, and three times that while a list grows. More would not be linear.
const HEAP_FACTOR: usize = 512;
const SLACK: usize = 1 << 20;
/// A record that changes earlier events has some dozens of bytes, and changes a few events.
const BYTES_PER_AMENDMENT: usize = 8;

/// Checks a reader with any bytes as a log: no panic, every line has a fate, reading in pieces equals reading whole,
/// and memory is bounded.
pub fn check(agent: Agent, bytes: &[u8]) {
    let Some(input) = Input::of(agent, bytes) else { return };
    let size = input.log.len();
    let ((reading, state), peak) = peak_of(|| input.read_whole());
    assert_eq!(reading.fates.lines(), count_lines(input.log), "fates add up to lines");
    assert_eq!(
        state.lines(PartKind::Log),
        count_lines(input.log),
        "the state knows how many lines it read"
    );

    let state_bytes = state.to_bytes();
    assert!(
        state_bytes.len() <= STATE_FACTOR * size + 4_096,
        "state of {} bytes after {size} bytes",
        state_bytes.len()
    );
    let text = text_bytes(&reading);
    assert!(
        text <= TEXT_FACTOR * size + TEXT_PER_EVENT * reading.events.len() + 4_096,
        "{} events with {text} bytes of text from {size} bytes",
        reading.events.len()
    );
    assert!(
        peak <= HEAP_FACTOR * size + SLACK,
        "heap of {peak} bytes for {size} bytes"
    );

    let (pieces, state_after_pieces, amendments) = input.read_in_pieces();
    assert!(
        amendments <= size / BYTES_PER_AMENDMENT + 64,
        "{amendments} amendments from {size} bytes"
    );
    assert!(
        pieces == reading,
        "pieces {:?}\n{pieces:#?}\nwhole\n{reading:#?}",
        input.cuts
    );
    assert!(
        state_after_pieces.to_bytes() == state_bytes,
        "state after pieces {:?}\n{state_after_pieces:#?}\nwhole\n{state:#?}",
        input.cuts
    );

    for line in input.log.split(|byte| *byte == b'\n') {
        bodies(agent, line);
    }
}
