//! What the fuzz targets and the seed writer share: how an input is cut, and how much heap a reading takes.

pub mod heap;

use transcript::{Agent, Lines, Origin, PartKind, Reading, State};

/// The first bytes of an input say where it is cut; the next one says where the log lies, and whether its first
/// line serves as the small file beside it too. The log follows.
pub const CUTS: usize = 4;
pub const HEAD: usize = CUTS + 1;

/// Places a log may lie in. The last letter of the head picks one.
pub const PLACES: [&str; 4] = [
    "projects/-home-ada-app/5e551000-0000-4000-8000-000000000001.jsonl",
    "projects/-home-ada-app/5e551000-0000-4000-8000-000000000001/subagents/agent-a1b2c3.jsonl",
    "projects/-home-ada-app/agent-a1b2c3.jsonl",
    "full.jsonl",
];

/// An input of the `claude` target, taken apart.
pub struct Input<'a> {
    pub cuts: Vec<usize>,
    pub place: &'static str,
    /// The content of the small file beside a subagent's log.
    pub meta: Option<&'a [u8]>,
    pub log: &'a [u8],
}

impl<'a> Input<'a> {
    /// Takes an input apart; none if it is too short to be one.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let (head, log) = bytes.split_first_chunk::<HEAD>()?;
        let mut cuts: Vec<usize> = head[..CUTS]
            .iter()
            .map(|byte| usize::from(*byte) * log.len() / 256)
            .collect();
        cuts.sort_unstable();
        let place = PLACES[usize::from(head[CUTS]) % PLACES.len()];
        let meta = log.split(|byte| *byte == b'\n').next().filter(|_| head[CUTS] & 4 != 0);
        Some(Self { cuts, place, meta, log })
    }

    fn state(&self) -> State {
        State::new(Agent::Claude, Origin::of(self.place))
    }

    /// Reads the log at once.
    pub fn read_whole(&self) -> (Reading, State) {
        let (mut state, mut reading) = (self.state(), Reading::default());
        if let Some(meta) = self.meta {
            state.companion(PartKind::Meta, meta);
        }
        let delta = state.resume(PartKind::Log, &mut Lines::new(self.log));
        reading.apply(delta.expect("bytes in memory can be read"));
        reading.settle();
        (reading, state)
    }

    /// Reads the log as one that grows: a torn last line waits for the next piece, and the state is kept
    /// as bytes in between. The small file comes late.
    /// Says also how many amendments to earlier pieces came.
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
            let delta = state.resume(PartKind::Log, &mut lines);
            let delta = delta.expect("bytes in memory can be read");
            amendments += delta.amendments.len();
            reading.apply(delta);
            from = to;
        }
        reading.settle();
        (reading, state, amendments)
    }
}

/// How many lines a log has: a last line without a line break is one.
pub fn count_lines(log: &[u8]) -> u64 {
    let breaks = log.iter().filter(|byte| **byte == b'\n').count() as u64;
    breaks + u64::from(log.last().is_some_and(|byte| *byte != b'\n'))
}

/// Bytes of strangers' text that the events of a reading carry.
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
