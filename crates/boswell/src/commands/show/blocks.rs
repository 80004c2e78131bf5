//! The turns of a session as blocks of an answer, which are shown or left out as a whole.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use memory::session_text::SessionText;
use serde::Serialize;
use transcript::{SessionEvent, Turn};

use crate::answers::read::{EventRecord, TurnRecord};
use crate::answers::session::ShowLeftOut;
use crate::error::CommandError;
use crate::portrait::Portrait;
use crate::render::budget::{self, TOKEN_CHARS, choose, visible_chars};
use crate::render::depth::Depth;
use crate::render::text::{event_lines, heading, plural};
use crate::ui::{Ui, escape, in_one_line, measure};

/// Characters that are reserved for the line about left-out turns.
const GAP_CHARS: usize = 160;
/// Lines of the header and the footer are cut to this width if the budget is small.
const NARROW_COLUMNS: usize = 80;

/// Consecutive events of one turn.
pub(super) struct Block {
    pub(super) turn: Option<u32>,
    is_rewound: bool,
    pub(super) events: Vec<SessionEvent>,
}

/// Groups events into blocks, in order.
pub(super) fn of(portrait: &Portrait, events: Vec<SessionEvent>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for event in events {
        match blocks.last_mut() {
            Some(block) if block.turn == event.turn => block.events.push(event),
            _ => blocks.push(Block {
                turn: event.turn,
                is_rewound: portrait.turn(event.turn).is_some_and(|turn| turn.rewound),
                events: vec![event],
            }),
        }
    }
    blocks
}

/// The whole texts of blocks, for the depths that show them.
pub(super) struct BlockTexts<'a> {
    text: Option<&'a SessionText<'a>>,
    portrait: &'a Portrait,
    depth: Depth,
    /// The texts of all blocks that were read at once, by `seq`: one frame holds those of many turns, and a log at its source is read from its
    /// start each time.
    messages: HashMap<u64, String>,
}

impl<'a> BlockTexts<'a> {
    pub(super) fn read(
        text: Option<&'a SessionText<'a>>,
        portrait: &'a Portrait,
        blocks: &[Block],
        depth: Depth,
    ) -> Result<Self, CommandError> {
        let mut texts = Self::none(text, portrait, depth);
        if let Some(text) = text.filter(|_| texts.block_text().is_none()) {
            let events = blocks.iter().flat_map(|block| &block.events);
            let whole: Vec<SessionEvent> = events.filter(|event| depth.is_whole(event)).cloned().collect();
            texts.messages = text.texts(&whole)?;
        }
        Ok(texts)
    }

    /// Returns the text that is read block by block, or `None` if all blocks are read at once. All texts of a long session are too much to hold.
    fn block_text(&self) -> Option<&'a SessionText<'a>> {
        self.text
            .filter(|text| self.depth == Depth::Full && text.source().is_none())
    }

    /// Returns no texts, so that every message is one line.
    pub(super) fn none(text: Option<&'a SessionText<'a>>, portrait: &'a Portrait, depth: Depth) -> Self {
        Self {
            text,
            portrait,
            depth,
            messages: HashMap::new(),
        }
    }

    /// Returns the texts of one block, by `seq`.
    fn take(&mut self, block: &Block) -> Result<HashMap<u64, String>, CommandError> {
        if let Some(text) = self.block_text() {
            return Ok(text.texts(&block.events)?);
        }
        let text = |event: &SessionEvent| Some((event.seq, self.messages.remove(&event.seq)?));
        Ok(block.events.iter().filter_map(text).collect())
    }
}

/// Returns the lines of a block for text output.
pub(super) fn lines(
    ui: &Ui,
    texts: &mut BlockTexts<'_>,
    block: &Block,
    zone: &TimeZone,
) -> Result<Vec<String>, CommandError> {
    let portrait = texts.portrait;
    let mut whole = texts.take(block)?;
    let mut lines = vec![String::new(), heading(ui, &portrait.turns, block.turn, zone)];
    for event in &block.events {
        let text = whole.remove(&event.seq);
        let event = portrait.with_summary(event);
        lines.extend(event_lines(
            ui,
            &event,
            text.as_deref(),
            portrait.session.is_subagent,
            zone,
        ));
    }
    Ok(lines)
}

/// Returns the headings and prompts of the turns of a session whose events are gone.
pub(super) fn marks(ui: &Ui, turns: &[Turn], zone: &TimeZone) -> Vec<String> {
    let mark = |turn: &Turn| {
        let mut lines = vec![String::new(), heading(ui, turns, Some(turn.turn), zone)];
        // Most prompts were evicted with the text.
        if !turn.prompt.is_empty() {
            let prompt = in_one_line(&turn.prompt);
            lines.push(format!("        {prompt}"));
        }
        lines
    };
    turns.iter().flat_map(mark).collect()
}

/// A block as it is printed with `--json`.
pub(super) struct Record<'a> {
    pub(super) turn: Option<TurnRecord<'a>>,
    pub(super) events: Vec<EventRecord<'a>>,
}

pub(super) fn turn_record<'a>(portrait: &'a Portrait, turn: &'a Turn) -> TurnRecord<'a> {
    TurnRecord::new(portrait.session.session_uid.as_str(), turn)
}

/// Returns the events of each block with the summaries that are known without reading their lines.
pub(super) fn with_summaries(portrait: &Portrait, blocks: &[Block]) -> Vec<Vec<SessionEvent>> {
    let events = |block: &Block| block.events.iter().map(|event| portrait.with_summary(event)).collect();
    blocks.iter().map(events).collect()
}

/// Returns a block for `--json`. `events` are its events from [`with_summaries`].
pub(super) fn record<'a>(
    texts: &mut BlockTexts<'a>,
    block: &Block,
    events: &'a [SessionEvent],
) -> Result<Record<'a>, CommandError> {
    let (portrait, depth) = (texts.portrait, texts.depth);
    let uid = portrait.session.session_uid.as_str();
    let mut whole = texts.take(block)?;
    let records = block.events.iter().zip(events).map(|(stored, event)| {
        let text = whole.remove(&event.seq);
        let text = text.or_else(|| depth.is_whole(stored).then(|| stored.summary.to_string()));
        EventRecord::new(uid, event, text)
    });
    Ok(Record {
        events: records.collect(),
        turn: portrait.turn(block.turn).map(|turn| turn_record(portrait, turn)),
    })
}

/// Turns and events that were left out to fit a budget.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    turns: Vec<u32>,
    events: u64,
    chars: usize,
}

impl LeftOut {
    pub(super) fn record(self) -> ShowLeftOut {
        ShowLeftOut {
            turns: self.turns,
            events: self.events,
            tokens: budget::tokens(self.chars),
        }
    }
}

fn measured(block: &Block, chars: usize) -> budget::Block {
    budget::Block {
        turn: block.turn,
        is_rewound: block.is_rewound,
        chars,
    }
}

/// Returns the lines that fit the budget, with a line wherever turns were left out.
pub(super) fn fitted(
    portrait: &Portrait,
    blocks: &[Block],
    max_tokens: usize,
    mut head: Vec<String>,
    turns: Vec<Vec<String>>,
    mut foot: Vec<String>,
) -> Vec<String> {
    let chars = |lines: &[String]| lines.iter().map(|line| visible_chars(line)).sum::<usize>();
    let room = max_tokens.saturating_mul(TOKEN_CHARS);
    // The header may take a third of the budget.
    narrow(&mut head, room / 3);
    let left = room.saturating_sub(chars(&head));
    if chars(&foot) > left / 3 && !blocks.is_empty() {
        foot = vec![format!(
            "… {} left out",
            plural(portrait.subagents.len() as u64, "subagent")
        )];
    }
    let left = left.saturating_sub(chars(&foot));
    if blocks.is_empty() {
        cut(&mut foot, room.saturating_sub(chars(&head)));
    }
    let measures: Vec<budget::Block> = blocks
        .iter()
        .zip(&turns)
        .map(|(block, lines)| measured(block, chars(lines)))
        .collect();
    let shown = choose(&measures, left, GAP_CHARS);
    let gaps: usize = shown.windows(2).filter(|pair| !pair[0] && pair[1]).count() * GAP_CHARS;
    let mut lines = head;
    let mut gap: Vec<&budget::Block> = Vec::new();
    let mut others = measures
        .iter()
        .zip(&shown)
        .filter(|(_, shown)| **shown)
        .map(|(block, _)| block.chars)
        .sum::<usize>();
    for ((block, measure), is_shown) in turns.into_iter().zip(&measures).zip(shown) {
        if !is_shown {
            gap.push(measure);
            continue;
        }
        lines.extend(told_gap(portrait, &std::mem::take(&mut gap)));
        others -= measure.chars;
        let mut block = block;
        cut(&mut block, left.saturating_sub(gaps + others));
        lines.extend(block);
    }
    lines.extend(foot);
    lines
}

/// If the lines do not fit, cuts each to [`NARROW_COLUMNS`], and then drops the last ones.
fn narrow(lines: &mut Vec<String>, room: usize) {
    if lines.iter().map(|line| visible_chars(line)).sum::<usize>() <= room {
        return;
    }
    for line in lines.iter_mut() {
        // A cut line loses its colours, because the code that ends a colour could be cut off.
        let plain: String = anstyle_free(line);
        *line = measure::fit(&plain, NARROW_COLUMNS).into_owned();
    }
    cut(lines, room);
}

/// Returns a line without our colour codes.
fn anstyle_free(line: &str) -> String {
    let mut is_color = false;
    let keep = |c: &char| match c {
        '\u{1b}' => {
            is_color = true;
            false
        }
        'm' if is_color => {
            is_color = false;
            false
        }
        _ => !is_color,
    };
    line.chars().filter(keep).collect()
}

/// Drops the last lines that do not fit, and adds a line with their number.
fn cut(lines: &mut Vec<String>, room: usize) {
    let total: usize = lines.iter().map(|line| visible_chars(line)).sum();
    if total <= room {
        return;
    }
    const SAID_CHARS: usize = 40;
    let (mut taken, mut kept) = (SAID_CHARS, 0);
    for line in lines.iter() {
        taken += visible_chars(line);
        if taken > room {
            break;
        }
        kept += 1;
    }
    let dropped = lines.len() - kept;
    lines.truncate(kept);
    lines.push(format!("        … {} left out", plural(dropped as u64, "line")));
}

/// Returns the lines that name the left-out turns and the command that shows them.
fn told_gap(portrait: &Portrait, gap: &[&budget::Block]) -> Vec<String> {
    let turns: Vec<u32> = gap.iter().filter_map(|block| block.turn).collect();
    let tokens = budget::tokens(gap.iter().map(|block| block.chars).sum());
    let about = format!("about {} tokens", measure::count(tokens as u64));
    let id = portrait.session.session_uid.as_str();
    let told = match (gap, turns.first(), turns.last()) {
        ([], ..) => return Vec::new(),
        (_, Some(first), Some(last)) if first == last => {
            format!(
                "turn {first} left out, {about}: boswell show {} --turns {first}",
                escape(id)
            )
        }
        (_, Some(first), Some(last)) => {
            format!(
                "turns {first}–{last} left out, {about}: boswell show {} --turns {first}-{last}",
                escape(id)
            )
        }
        _ => format!("text before the first prompt left out, {about}"),
    };
    vec![String::new(), format!("… {told}")]
}

/// Returns whether the lines of turns fit into a budget.
pub(super) fn fits(turns: &[Vec<String>], max_tokens: usize) -> bool {
    let chars: usize = turns.iter().flatten().map(|line| visible_chars(line)).sum();
    budget::tokens(chars) <= max_tokens
}

/// Drops the whole texts of messages if they do not fit into a budget, because all summaries are more useful than the
/// texts of a few messages.
pub(super) fn drop_texts_unless_fitting(records: &mut [Record<'_>], max_tokens: usize) {
    let chars: usize = records.iter().flat_map(|record| &record.events).map(json_chars).sum();
    if budget::tokens(chars) <= max_tokens {
        return;
    }
    for event in records.iter_mut().flat_map(|record| &mut record.events) {
        event.text = None;
    }
}

/// Returns how many characters a value has as JSON.
fn json_chars(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.chars().count())
}

/// Empties the records that do not fit, and returns what was left out.
pub(super) fn fit_records(
    blocks: &[Block],
    max_tokens: usize,
    answer: &impl Serialize,
    records: &mut [Record<'_>],
) -> LeftOut {
    // A comma follows each value.
    let lengths = |record: &Record<'_>| {
        let turn = record.turn.as_ref().map_or(0, |turn| json_chars(turn) + 1);
        turn + record.events.iter().map(|event| json_chars(event) + 1).sum::<usize>()
    };
    let measures: Vec<budget::Block> = blocks
        .iter()
        .zip(records.iter())
        .map(|(block, record)| measured(block, lengths(record)))
        .collect();
    // The list of left-out turns takes space, too.
    let said = measures.len() * 5 + 60;
    let room = max_tokens
        .saturating_mul(TOKEN_CHARS)
        .saturating_sub(json_chars(answer) + 1 + said);
    let shown = choose(&measures, room, 0);
    let mut left_out = LeftOut::default();
    let mut taken: usize = 0;
    for ((record, measure), is_shown) in records.iter_mut().zip(&measures).zip(&shown) {
        if *is_shown {
            taken += measure.chars;
            continue;
        }
        left_out.turns.extend(measure.turn);
        left_out.events += record.events.len() as u64;
        left_out.chars += measure.chars;
        (record.turn, record.events) = (None, Vec::new());
    }
    if let Some(last) = records.last_mut() {
        while taken > room
            && let Some(event) = last.events.pop()
        {
            let length = json_chars(&event) + 1;
            taken -= length;
            left_out.events += 1;
            left_out.chars += length;
        }
    }
    left_out
}
