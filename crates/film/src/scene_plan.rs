//! Plans when each step is shown: at the recorded pace, without long waits, and within the maximum duration.
//!
//! Planning needs only the duration of each step. The rows of a step are created when it is played, so that they are never all in
//! memory.

use jiff::Timestamp;

use super::cells::text_cells;
use super::scene::{Background, CellStyle, Chapter, FilmCuts, SceneEvent, ScreenRow, TextColor, TimedEvent};
use super::step_rows::{RowOptions, is_shown, step_rows};
use super::title_card;
use render::budget::{BudgetBlock, choose_blocks};
use render::escape::one_line;
use render::html_title;
use render::input::Transcript;
use render::measure::{duration, plural};
use render::steps::{Step, steps};

/// Longer waits are shortened to this.
const WAIT_MS_MAX: u64 = 1_200;
/// The shortest waits that are announced by a caption, and by a row.
const CAPTION_MS_MIN: u64 = 5_000;
const ROW_MS_MIN: u64 = 60_000;
const TITLE_MS: u64 = 3_000;
const END_MS: u64 = 4_000;
const GAP_MS: u64 = 1_500;
/// A film that is too long is sped up to this factor before anything is omitted.
const SPEED_UP_MAX: u64 = 3;
/// Chapter titles are cut after this many characters.
const CHAPTER_CHARS: usize = 80;

/// A planned film.
pub(crate) struct Scene<'t> {
    pub(crate) transcript: &'t Transcript,
    steps: Vec<Step<'t>>,
    options: RowOptions<'t>,
    segments: Vec<Segment>,
    /// The playback speed in thousandths of the planned pace.
    rate: u64,
    pub(crate) chapters: Vec<Chapter>,
    pub(crate) duration_ms: u64,
    pub(crate) cuts: FilmCuts,
}

/// One segment of a film and its start in the planned pace.
#[derive(Debug)]
struct Segment {
    at_ms: u64,
    kind: SegmentKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentKind {
    Title,
    Turn(u32),
    /// A wait of this many recorded milliseconds.
    Wait(u64),
    Step(usize),
    /// Omitted turns and steps.
    Gap(u64, u64),
    End,
}

/// The segments of one turn, with their durations.
#[derive(Debug)]
struct TurnSegments {
    turn: Option<u32>,
    is_rewound: bool,
    segments: Vec<(SegmentKind, u64)>,
}

impl TurnSegments {
    fn duration_ms(&self) -> u64 {
        self.segments.iter().map(|(_, ms)| ms).sum()
    }

    fn steps(&self) -> u64 {
        self.segments
            .iter()
            .filter(|(kind, _)| matches!(kind, SegmentKind::Step(_)))
            .count() as u64
    }
}

impl<'t> Scene<'t> {
    /// Plans a film of at most `max_ms`. `speed` is in thousandths.
    pub(crate) fn plan(transcript: &'t Transcript, options: RowOptions<'t>, speed: u64, max_ms: u64) -> Self {
        let steps = steps(transcript);
        let mut cuts = FilmCuts::default();
        let mut groups = turn_segments(transcript, &steps, options, &mut cuts);
        let cards_ms = TITLE_MS + END_MS;
        // The film may be sped up before anything is omitted.
        let room = max_ms.saturating_mul(speed.saturating_mul(SPEED_UP_MAX)) / 1_000;
        omit_turns(&mut groups, room.saturating_sub(cards_ms), &mut cuts);
        let mut segments = vec![(SegmentKind::Title, TITLE_MS)];
        segments.extend(groups.into_iter().flat_map(|group| group.segments));
        segments.push((SegmentKind::End, END_MS));
        let total: u64 = segments.iter().map(|(_, ms)| ms).sum();
        let rate = speed.max((total * 1_000).div_ceil(max_ms.max(1)));
        let mut scene = Self {
            transcript,
            steps,
            options,
            segments: Vec::with_capacity(segments.len()),
            rate,
            chapters: Vec::new(),
            duration_ms: 0,
            cuts,
        };
        let mut at_ms = 0;
        for (kind, duration_ms) in segments {
            scene.segments.push(Segment { at_ms, kind });
            at_ms += duration_ms;
        }
        scene.duration_ms = scene.film_ms(at_ms).max(1);
        scene.chapters = scene.chapters();
        scene
    }

    /// Returns the playback speed in thousandths.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    fn film_ms(&self, own_ms: u64) -> u64 {
        own_ms.saturating_mul(1_000) / self.rate
    }

    fn chapters(&self) -> Vec<Chapter> {
        let title = |turn: u32| {
            let prompt = turn_prompt(self.transcript, turn);
            match prompt.is_empty() {
                true => format!("{turn}"),
                false => format!("{turn} · {prompt}"),
            }
        };
        let own = self.segments.iter().filter_map(|segment| {
            let title = match segment.kind {
                SegmentKind::Title => one_line(
                    &render::escape::show_invisible(&html_title(self.transcript)),
                    CHAPTER_CHARS,
                ),
                SegmentKind::Turn(turn) => title(turn),
                _ => return None,
            };
            Some(Chapter {
                at_ms: self.film_ms(segment.at_ms),
                title,
            })
        });
        own.collect()
    }

    /// Returns all events in order.
    pub(crate) fn play(&self) -> impl Iterator<Item = TimedEvent> + '_ {
        self.segments.iter().flat_map(|segment| self.events(segment))
    }

    fn events(&self, segment: &Segment) -> Vec<TimedEvent> {
        let at_ms = self.film_ms(segment.at_ms);
        let now = |event| TimedEvent { at_ms, event };
        match segment.kind {
            SegmentKind::Title => vec![now(SceneEvent::Card(title_card::title_card(
                self.transcript,
                self.options.columns,
            )))],
            SegmentKind::End => vec![now(SceneEvent::Card(title_card::end_card(
                self.transcript,
                &self.cuts,
                self.options.columns,
            )))],
            SegmentKind::Turn(turn) => vec![now(SceneEvent::Turn(turn, turn_prompt(self.transcript, turn)))],
            SegmentKind::Wait(0..CAPTION_MS_MIN) => Vec::new(),
            SegmentKind::Wait(real_ms) => {
                let caption = format!("» {} cut", duration(real_ms - WAIT_MS_MAX.min(real_ms)));
                let mut events = vec![now(SceneEvent::Caption(caption.clone()))];
                if real_ms >= ROW_MS_MIN {
                    events.push(now(SceneEvent::Row(self.rule(&caption))));
                    events.push(now(SceneEvent::Row(ScreenRow::default())));
                }
                events
            }
            SegmentKind::Gap(turns, steps) => {
                let omitted = match turns {
                    0 => plural(steps, "step"),
                    turns => format!("{}, {}", plural(turns, "turn"), plural(steps, "step")),
                };
                let blank = || now(SceneEvent::Row(ScreenRow::default()));
                vec![
                    blank(),
                    now(SceneEvent::Row(self.rule(&format!("{omitted} left out")))),
                    blank(),
                ]
            }
            SegmentKind::Step(at) => self.step(segment.at_ms, &self.steps[at]),
        }
    }

    fn step(&self, own_ms: u64, step: &Step<'_>) -> Vec<TimedEvent> {
        let shown = step_rows(step, self.options);
        let mut at_ms = own_ms;
        let mut events = Vec::with_capacity(shown.rows.len() + 2);
        let now = |at_ms, event| TimedEvent { at_ms, event };
        events.extend(
            step.entry
                .event
                .ts
                .map(|ts| now(self.film_ms(at_ms), SceneEvent::Clock(ts))),
        );
        events.push(now(self.film_ms(at_ms), SceneEvent::Caption(String::new())));
        for row in shown.rows {
            let from = self.film_ms(at_ms);
            at_ms += row.duration_ms;
            let event = match row.is_typed {
                true => SceneEvent::Typed(row.row, self.film_ms(at_ms)),
                false => SceneEvent::Row(row.row),
            };
            events.push(now(from, event));
        }
        events
    }

    /// Returns a horizontal rule with a text in its middle.
    fn rule(&self, words: &str) -> ScreenRow {
        let words = text_cells(&format!(" {words} "), CellStyle::new(TextColor::Faint));
        let side = self.options.columns.saturating_sub(words.len()) / 2;
        let mut cells = text_cells(&"─".repeat(side.min(24)), CellStyle::new(TextColor::Faint));
        let lead = side - side.min(24);
        cells.splice(0..0, text_cells(&" ".repeat(lead), CellStyle::PLAIN));
        cells.extend(words);
        cells.extend(text_cells(&"─".repeat(side.min(24)), CellStyle::new(TextColor::Faint)));
        ScreenRow {
            cells,
            background: Background::Page,
        }
    }
}

fn turn_prompt(transcript: &Transcript, turn: u32) -> String {
    let known = transcript.turns.iter().find(|known| known.turn == turn);
    let prompt = known
        .map(|known| render::escape::show_invisible(&known.prompt))
        .unwrap_or_default();
    one_line(&prompt, CHAPTER_CHARS)
}

/// Groups the shown steps by turn, with the waits between them.
fn turn_segments(
    transcript: &Transcript,
    steps: &[Step<'_>],
    options: RowOptions<'_>,
    cuts: &mut FilmCuts,
) -> Vec<TurnSegments> {
    let mut groups: Vec<TurnSegments> = Vec::new();
    let mut last: Option<Timestamp> = None;
    let shown = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| is_shown(options.depth, step));
    for (at, step) in shown {
        let event = &step.entry.event;
        let mut segments = Vec::new();
        let real_ms = last.zip(event.ts).map_or(0, |(from, to)| millis(from, to));
        if real_ms > 0 {
            let shown_ms = real_ms.min(WAIT_MS_MAX);
            cuts.waits_ms += real_ms - shown_ms;
            segments.push((SegmentKind::Wait(real_ms), shown_ms));
        }
        if groups.last().is_none_or(|group| group.turn != event.turn) {
            let known = transcript.turns.iter().find(|known| Some(known.turn) == event.turn);
            groups.push(TurnSegments {
                turn: event.turn,
                is_rewound: known.is_some_and(|known| known.rewound),
                segments: Vec::new(),
            });
            segments.extend(event.turn.map(|turn| (SegmentKind::Turn(turn), 0)));
        }
        segments.push((SegmentKind::Step(at), step_rows(step, options).duration_ms()));
        if let Some(group) = groups.last_mut() {
            group.segments.extend(segments);
        }
        let ended = step.result.and_then(|result| result.event.ts).or(event.ts);
        last = ended.max(last);
    }
    groups
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}

/// Omits what does not fit: first turns from the middle, then the middle of the longest turn.
fn omit_turns(groups: &mut Vec<TurnSegments>, room_ms: u64, cuts: &mut FilmCuts) {
    let size = |ms: u64| usize::try_from(ms).unwrap_or(usize::MAX);
    let measures: Vec<BudgetBlock> = groups
        .iter()
        .map(|group| BudgetBlock {
            turn: group.turn,
            is_rewound: group.is_rewound,
            chars: size(group.duration_ms()),
        })
        .collect();
    let is_shown = choose_blocks(&measures, size(room_ms), size(GAP_MS));
    let mut kept: Vec<TurnSegments> = Vec::new();
    let mut gap: Option<(u64, u64)> = None;
    for (group, is_shown) in groups.drain(..).zip(is_shown) {
        if !is_shown {
            let (turns, steps) = gap.unwrap_or_default();
            gap = Some((turns + u64::from(group.turn.is_some()), steps + group.steps()));
            cuts.turns.extend(group.turn);
            cuts.steps += group.steps();
            continue;
        }
        if let Some((turns, steps)) = gap.take() {
            kept.push(TurnSegments {
                turn: None,
                is_rewound: false,
                segments: vec![(SegmentKind::Gap(turns, steps), GAP_MS)],
            });
        }
        kept.push(group);
    }
    let total: u64 = kept.iter().map(TurnSegments::duration_ms).sum();
    let over = total.saturating_sub(room_ms);
    if let Some(longest) = kept
        .iter_mut()
        .max_by_key(|group| group.duration_ms())
        .filter(|_| over > 0)
    {
        let room = longest.duration_ms().saturating_sub(over + GAP_MS);
        omit_middle(longest, room, cuts);
    }
    *groups = kept;
}

/// Omits the middle of a turn.
fn omit_middle(group: &mut TurnSegments, room_ms: u64, cuts: &mut FilmCuts) {
    let upto = |segments: &mut dyn Iterator<Item = &(SegmentKind, u64)>| {
        let mut taken = 0;
        segments
            .take_while(|(_, ms)| {
                taken += ms;
                taken <= room_ms / 2
            })
            .count()
    };
    // Always keep the first two segments: the start of the turn and its prompt.
    let head = upto(&mut group.segments.iter()).max(2).min(group.segments.len());
    let tail = upto(&mut group.segments.iter().rev()).min(group.segments.len() - head);
    let end = group.segments.len() - tail;
    let left = group.segments[head..end]
        .iter()
        .filter(|(kind, _)| matches!(kind, SegmentKind::Step(_)))
        .count() as u64;
    if left > 0 {
        group.segments.splice(head..end, [(SegmentKind::Gap(0, left), GAP_MS)]);
        cuts.steps += left;
    }
}
