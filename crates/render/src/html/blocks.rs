//! The steps of a session as blocks that are drawn one by one, and the index by which a page finds, filters and jumps.

use serde::Serialize;

use crate::cards::{self, Place, Sheet, is_quiet};
use crate::escape::{escape, one_line};
use crate::highlights::{self, Highlight};
use crate::html::pack;
use crate::measure::{duration, plural};
use crate::steps::{Look, Step, steps, strays};
use crate::transcript_in::Transcript;

/// A block ends after so much HTML, or so many steps: that much is drawn at once.
const BLOCK_BYTES: usize = 96 << 10;
const BLOCK_STEPS: usize = 80;
/// About how high things are, in pixels, until they are drawn.
const ROW: u32 = 31;
const LINE: u32 = 23;
/// So much of a prompt stands in the outline.
const OUTLINE_CHARS: usize = 140;

/// Everything of a session that is drawn, compressed.
pub(super) struct Blocks {
    pub(super) packed: Vec<String>,
    pub(super) extras: Vec<String>,
    pub(super) turns: Vec<TurnMark>,
    pub(super) highlights: Vec<Highlight>,
    pub(super) repository_url: Option<String>,
    index: Index,
}

/// A turn in the outline.
pub(super) struct TurnMark {
    pub(super) turn: u32,
    pub(super) prompt: String,
    pub(super) is_rewound: bool,
    pub(super) errors: u32,
}

/// What the script knows of all steps without drawing them. Names are short: there can be a hundred thousand.
#[derive(Default, Serialize)]
struct Index {
    /// The letter of each step's look.
    k: String,
    /// 1 for an error, 2 for a human's own words, 4 for a change of state that is not shown at first.
    f: Vec<u8>,
    /// The event and the line of each step.
    q: Vec<u64>,
    l: Vec<u64>,
    /// Seconds since the session began, -1 where nobody knows.
    t: Vec<i64>,
    /// The turn of each step, 0 before the first.
    u: Vec<u32>,
    /// The tool of each step as a place in `tools`, -1 for none.
    o: Vec<i32>,
    tools: Vec<String>,
    /// Results that are shown with their calls: event, line, step.
    r: Vec<(u64, u64, usize)>,
    /// The first step of each block, and about how high the block is.
    b: Vec<usize>,
    h: Vec<u32>,
    /// The step of each extra.
    x: Vec<usize>,
}

impl Blocks {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let steps = steps(transcript);
        let mut writer = Writer::new(transcript);
        for step in &steps {
            writer.step(step);
        }
        for stray in strays(transcript, &steps) {
            writer.stray(stray);
        }
        writer.flush();
        let known = transcript.head.repository_url.clone();
        Self {
            packed: writer.packed,
            extras: writer.extras,
            turns: writer.turns,
            highlights: highlights::highlights(&steps),
            repository_url: known.or_else(|| highlights::repository_url(&steps)),
            index: writer.index,
        }
    }

    pub(super) fn index_json(&self) -> String {
        serde_json::to_string(&self.index).unwrap_or_default()
    }

    /// How many steps have one of some letters.
    pub(super) fn count(&self, letters: &[Look]) -> usize {
        let letters: Vec<char> = letters.iter().map(|look| look.letter()).collect();
        self.index.k.chars().filter(|letter| letters.contains(letter)).count()
    }

    pub(super) fn errors(&self) -> usize {
        self.index.f.iter().filter(|flags| **flags & 1 != 0).count()
    }
}

struct Writer<'t> {
    transcript: &'t Transcript,
    sheet: Sheet,
    packed: Vec<String>,
    extras: Vec<String>,
    turns: Vec<TurnMark>,
    index: Index,
    /// The turn whose section is open in the block; a stretch before the first prompt is one, too.
    open: Option<Option<u32>>,
    height: u32,
    began_micros: Option<i64>,
}

impl<'t> Writer<'t> {
    fn new(transcript: &'t Transcript) -> Self {
        let began = transcript.events.iter().find_map(|told| told.event.ts);
        Self {
            transcript,
            sheet: Sheet::default(),
            packed: Vec::new(),
            extras: Vec::new(),
            turns: Vec::new(),
            index: Index::default(),
            open: None,
            height: 0,
            began_micros: began.map(|at| at.as_microsecond()),
        }
    }

    fn place(&self) -> Place<'t> {
        Place {
            zone: &self.transcript.head.zone,
            prefix: "",
            depth: 0,
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        let event = &step.told.event;
        let number = self.index.q.len();
        let in_block = self.index.b.last().map_or(0, |first| number - first);
        let is_full = self.sheet.html.len() > BLOCK_BYTES || in_block >= BLOCK_STEPS;
        let is_new_turn = self.open != Some(event.turn);
        // A turn begins a block where it can: what belongs together is drawn together.
        if is_full || (is_new_turn && self.sheet.html.len() > BLOCK_BYTES / 2) {
            self.flush();
        }
        if self.sheet.html.is_empty() {
            self.index.b.push(number);
        }
        if self.open != Some(event.turn) {
            self.section(event.turn);
        }
        let place = self.place();
        cards::push(&mut self.sheet, step, Some(number), place);
        self.index.note(step, self.began_micros);
        self.height += height(step);
        let extras = std::mem::take(&mut self.sheet.extras);
        self.put_extras(extras, number);
    }

    /// A subagent that nobody knows the caller of stands at the end.
    fn stray(&mut self, stray: &crate::transcript_in::Subagent) {
        let number = self.index.q.len().saturating_sub(1);
        if self.sheet.html.is_empty() {
            self.index.b.push(number);
        }
        let place = self.place();
        self.sheet.html.push_str("<div class=\"i kg\">");
        cards::nested(&mut self.sheet, stray, place);
        self.sheet.html.push_str("</div>\n");
        let extras = std::mem::take(&mut self.sheet.extras);
        self.put_extras(extras, number);
    }

    fn put_extras(&mut self, extras: Vec<String>, number: usize) {
        for extra in extras {
            self.extras.push(pack(extra.as_bytes()));
            self.index.x.push(number);
        }
        self.sheet.first_extra = self.extras.len();
    }

    /// Begins the section of a turn, or goes on with it in a new block.
    fn section(&mut self, turn: Option<u32>) {
        if self.open.is_some() {
            self.sheet.html.push_str("</section>\n");
        }
        self.open = Some(turn);
        let Some(number) = turn else {
            // What belongs to no turn stands before the first one, or was copied from elsewhere.
            let goes_on = self.index.u.last() == Some(&0);
            let class = if goes_on { "turn go" } else { "turn" };
            self.sheet.html.push_str(&format!(
                "<section class=\"{class}\" aria-label=\"Outside of turns\">\n"
            ));
            return;
        };
        if self.turns.last().is_some_and(|last| last.turn == number) {
            self.sheet.html.push_str(&format!(
                "<section class=\"turn go\" aria-label=\"Turn {number}, going on\">\n"
            ));
            return;
        }
        let known = self.transcript.turns.iter().find(|known| known.turn == number);
        let mut facts = Vec::new();
        if let Some(known) = known {
            if let (Some(from), Some(to)) = (known.started_at, known.ended_at) {
                let ms = u64::try_from(to.duration_since(from).as_millis()).unwrap_or_default();
                facts.push(duration(ms));
            }
            facts.push(plural(known.tool_calls.into(), "call"));
            if known.errors > 0 {
                facts.push(format!("<b class=\"no\">{}</b>", plural(known.errors.into(), "error")));
            }
            if known.rewound {
                facts.push("rewound".to_owned());
            }
        }
        let rewound = known.is_some_and(|known| known.rewound);
        let class = if rewound { "turn rewound" } else { "turn" };
        self.sheet.html.push_str(&format!(
            "<section class=\"{class}\" id=\"t{number}\" aria-label=\"Turn {number}\">\n\
             <h2><a href=\"#t{number}\">Turn {number}</a> <span>{}</span></h2>\n",
            facts.join(" · ")
        ));
        self.height += 64;
        self.turns.push(TurnMark {
            turn: number,
            prompt: known
                .map(|known| escape(&one_line(&known.prompt, OUTLINE_CHARS)))
                .unwrap_or_default(),
            is_rewound: rewound,
            errors: known.map_or(0, |known| known.errors),
        });
    }

    fn flush(&mut self) {
        if self.sheet.html.is_empty() {
            return;
        }
        if self.open.take().is_some() {
            self.sheet.html.push_str("</section>\n");
        }
        self.packed.push(pack(self.sheet.html.as_bytes()));
        self.index.h.push(self.height);
        self.sheet.html.clear();
        self.height = 0;
    }
}

impl Index {
    fn note(&mut self, step: &Step<'_>, began_micros: Option<i64>) {
        let event = &step.told.event;
        let number = self.q.len();
        self.k.push(step.look().letter());
        let flags = u8::from(step.is_error()) | u8::from(step.is_mine()) << 1 | u8::from(is_quiet(step)) << 2;
        self.f.push(flags);
        self.q.push(event.seq);
        self.l.push(event.line);
        let since = event
            .ts
            .zip(began_micros)
            .map(|(at, began)| (at.as_microsecond() - began) / 1_000_000);
        self.t.push(since.unwrap_or(-1).max(-1));
        self.u.push(event.turn.unwrap_or_default());
        let tool = event.tool.as_deref().map(|tool| {
            let known = self.tools.iter().position(|known| known == tool);
            known.unwrap_or_else(|| {
                self.tools.push(tool.to_owned());
                self.tools.len() - 1
            })
        });
        self.o.push(tool.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1));
        if let Some(result) = step.result {
            self.r.push((result.event.seq, result.event.line, number));
        }
    }
}

/// About how high a step will be.
fn height(step: &Step<'_>) -> u32 {
    let text = step.told.text();
    let lines = || {
        let lines = text.lines().map(|line| line.len() / 95 + 1).sum::<usize>();
        u32::try_from(lines.min(400)).unwrap_or(400) * LINE
    };
    match step.look() {
        Look::Prompt => 56 + lines(),
        Look::Answer => 20 + lines(),
        Look::Edit => ROW + lines().min(480) / 2,
        Look::Note if is_quiet(step) => 0,
        _ => ROW,
    }
}
