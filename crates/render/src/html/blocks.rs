//! Groups the steps of a session into blocks that the page draws one at a time, and builds the index that the page's script
//! searches, filters and jumps by.

use serde::Serialize;

use crate::card_html::CardHtml;
use crate::cards::{self, CardContext, is_hidden_by_default};
use crate::escape::{escape, one_line};
use crate::highlights::{self, Highlight};
use crate::html::compress_base64;
use crate::input::Transcript;
use crate::measure::{duration, plural};
use crate::steps::{Step, StepKind, steps, unplaced_subagents};

/// A block ends after this much HTML or this many steps, because a browser draws a block as a whole.
const BLOCK_BYTES: usize = 96 << 10;
const BLOCK_STEPS: usize = 80;
/// Estimated heights in pixels, used as placeholders until a block is drawn.
const ROW_PX: u32 = 31;
const LINE_PX: u32 = 23;
/// Prompts are cut after this many characters in the outline.
const OUTLINE_CHARS: usize = 140;

/// The compressed blocks of a session and what the page shows around them.
pub(super) struct PageBlocks {
    pub(super) packed: Vec<String>,
    pub(super) extras: Vec<String>,
    pub(super) turns: Vec<OutlineTurn>,
    pub(super) highlights: Vec<Highlight>,
    pub(super) repository_url: Option<String>,
    index: PageIndex,
}

/// A turn as an entry of the outline.
pub(super) struct OutlineTurn {
    pub(super) turn: u32,
    pub(super) prompt: String,
    pub(super) is_rewound: bool,
    pub(super) errors: u32,
}

/// What the page's script knows about every step without drawing it. The names are short because a session can have a hundred
/// thousand steps.
#[derive(Default, Serialize)]
struct PageIndex {
    /// The letter of each step's [`StepKind`].
    k: String,
    /// A bit set per step: 1 is an error, 2 a message of the user, 4 a step that is hidden by default.
    f: Vec<u8>,
    /// The event number of each step.
    q: Vec<u64>,
    l: Vec<u64>,
    /// Seconds since the start of the session, or -1 if unknown.
    t: Vec<i64>,
    /// The turn of each step, or 0 before the first turn.
    u: Vec<u32>,
    /// The tool of each step as an index into `tools`, or -1 for none.
    o: Vec<i32>,
    tools: Vec<String>,
    /// Results that are shown with their calls: event number, line, step.
    r: Vec<(u64, u64, usize)>,
    /// The first step of each block.
    b: Vec<usize>,
    h: Vec<u32>,
    /// The step that each extra belongs to.
    x: Vec<usize>,
}

impl PageBlocks {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let steps = steps(transcript);
        let mut writer = BlockWriter::new(transcript);
        for step in &steps {
            writer.push_step(step);
        }
        for stray in unplaced_subagents(transcript, &steps) {
            writer.push_stray(stray);
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

    /// Returns how many steps are of one of these kinds.
    pub(super) fn count(&self, letters: &[StepKind]) -> usize {
        let letters: Vec<char> = letters.iter().map(|kind| kind.letter()).collect();
        self.index.k.chars().filter(|letter| letters.contains(letter)).count()
    }

    pub(super) fn errors(&self) -> usize {
        self.index.f.iter().filter(|flags| **flags & 1 != 0).count()
    }
}

struct BlockWriter<'t> {
    transcript: &'t Transcript,
    card: CardHtml,
    packed: Vec<String>,
    extras: Vec<String>,
    turns: Vec<OutlineTurn>,
    index: PageIndex,
    /// The turn whose `<section>` is open in the current block. Steps before the first prompt form a section with no turn.
    open: Option<Option<u32>>,
    height: u32,
    began_micros: Option<i64>,
}

impl<'t> BlockWriter<'t> {
    fn new(transcript: &'t Transcript) -> Self {
        let began = transcript.events.iter().find_map(|entry| entry.event.ts);
        Self {
            transcript,
            card: CardHtml::default(),
            packed: Vec::new(),
            extras: Vec::new(),
            turns: Vec::new(),
            index: PageIndex::default(),
            open: None,
            height: 0,
            began_micros: began.map(|at| at.as_microsecond()),
        }
    }

    fn context(&self) -> CardContext<'t> {
        CardContext {
            zone: &self.transcript.head.zone,
            prefix: "",
            depth: 0,
        }
    }

    fn push_step(&mut self, step: &Step<'_>) {
        let event = &step.entry.event;
        let number = self.index.q.len();
        let in_block = self.index.b.last().map_or(0, |first| number - first);
        let is_full = self.card.html.len() > BLOCK_BYTES || in_block >= BLOCK_STEPS;
        let is_new_turn = self.open != Some(event.turn);
        // Start a block at a turn if possible, so that a turn is drawn as a whole.
        if is_full || (is_new_turn && self.card.html.len() > BLOCK_BYTES / 2) {
            self.flush();
        }
        if self.card.html.is_empty() {
            self.index.b.push(number);
        }
        if self.open != Some(event.turn) {
            self.open_section(event.turn);
        }
        let context = self.context();
        cards::push_card(&mut self.card, step, Some(number), context);
        self.index.add_step(step, self.began_micros);
        self.height += estimate_height(step);
        let extras = std::mem::take(&mut self.card.extras);
        self.put_extras(extras, number);
    }

    /// Appends a subagent whose calling step is unknown. It is shown at the end of the page.
    fn push_stray(&mut self, stray: &crate::input::Subagent) {
        // It has no entry of its own in the index, so its extras refer to the last step.
        let number = self.index.q.len().saturating_sub(1);
        if self.card.html.is_empty() {
            self.index.b.push(number);
        }
        let context = self.context();
        self.card.html.push_str("<div class=\"i kg\">");
        cards::push_subagent(&mut self.card, stray, context);
        self.card.html.push_str("</div>\n");
        let extras = std::mem::take(&mut self.card.extras);
        self.put_extras(extras, number);
    }

    fn put_extras(&mut self, extras: Vec<String>, number: usize) {
        for extra in extras {
            self.extras.push(compress_base64(extra.as_bytes()));
            self.index.x.push(number);
        }
        // Extras are numbered over the whole page, so the next step continues here.
        self.card.first_extra = self.extras.len();
    }

    /// Opens the section of a turn, or continues it if the turn started in an earlier block.
    fn open_section(&mut self, turn: Option<u32>) {
        if self.open.is_some() {
            self.card.html.push_str("</section>\n");
        }
        self.open = Some(turn);
        let Some(number) = turn else {
            // Steps without a turn precede the first prompt or were copied from another session.
            let goes_on = self.index.u.last() == Some(&0);
            let class = if goes_on { "turn go" } else { "turn" };
            self.card.html.push_str(&format!(
                "<section class=\"{class}\" aria-label=\"Outside of turns\">\n"
            ));
            return;
        };
        if self.turns.last().is_some_and(|last| last.turn == number) {
            self.card.html.push_str(&format!(
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
        self.card.html.push_str(&format!(
            "<section class=\"{class}\" id=\"t{number}\" aria-label=\"Turn {number}\">\n\
             <h2><a href=\"#t{number}\">Turn {number}</a> <span>{}</span></h2>\n",
            facts.join(" · ")
        ));
        self.height += 64;
        self.turns.push(OutlineTurn {
            turn: number,
            prompt: known
                .map(|known| escape(&one_line(&known.prompt, OUTLINE_CHARS)))
                .unwrap_or_default(),
            is_rewound: rewound,
            errors: known.map_or(0, |known| known.errors),
        });
    }

    fn flush(&mut self) {
        if self.card.html.is_empty() {
            return;
        }
        if self.open.take().is_some() {
            self.card.html.push_str("</section>\n");
        }
        self.packed.push(compress_base64(self.card.html.as_bytes()));
        self.index.h.push(self.height);
        self.card.html.clear();
        self.height = 0;
    }
}

impl PageIndex {
    fn add_step(&mut self, step: &Step<'_>, began_micros: Option<i64>) {
        let event = &step.entry.event;
        let number = self.q.len();
        self.k.push(step.kind().letter());
        let flags =
            u8::from(step.is_error()) | u8::from(step.is_human()) << 1 | u8::from(is_hidden_by_default(step)) << 2;
        self.f.push(flags);
        self.q.push(event.seq);
        self.l.push(event.line);
        let since = event
            .ts
            .zip(began_micros)
            .map(|(at, began)| (at.as_microsecond() - began) / 1_000_000);
        // The script reads -1 as unknown, so a time before the start, after a change of the clock, must not become -2.
        self.t.push(since.unwrap_or(-1).max(-1));
        self.u.push(event.turn.unwrap_or_default());
        let tool = event.tool.as_deref().map(|tool| {
            // A linear search is fast enough, because a session uses few different tools.
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

/// Estimates the height of a step in pixels.
fn estimate_height(step: &Step<'_>) -> u32 {
    let text = step.entry.text();
    let lines = || {
        // About 95 characters fit on a line at the usual page width.
        let lines = text.lines().map(|line| line.len() / 95 + 1).sum::<usize>();
        u32::try_from(lines.min(400)).unwrap_or(400) * LINE_PX
    };
    match step.kind() {
        StepKind::Prompt => 56 + lines(),
        StepKind::Answer => 20 + lines(),
        StepKind::Edit => ROW_PX + lines().min(480) / 2,
        StepKind::Note if is_hidden_by_default(step) => 0,
        _ => ROW_PX,
    }
}
