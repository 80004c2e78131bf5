//! When what happens: the pace of the log, without its long waits, within the time that a film may take.
//!
//! A film is planned first, by the lengths of its steps alone, and then told step by step: never are all its rows in memory.

use jiff::Timestamp;

use super::card;
use super::cells::of;
use super::scene::{Beat, Chapter, Cuts, Ground, Ink, Row, Style, Timed};
use super::tell::{Manner, takes, tell};
use render::budget::{Block, choose};
use render::escape::one_line;
use render::html_title;
use render::measure::{duration, plural};
use render::steps::{Step, steps};
use render::transcript_in::Transcript;

/// A wait is shown no longer than this.
const WAIT_MS_MAX: u64 = 1_200;
/// A wait that was cut is said below from here on, and in a row of its own from there on.
const CAPTION_MS_MIN: u64 = 5_000;
const ROW_MS_MIN: u64 = 60_000;
const TITLE_MS: u64 = 3_000;
const END_MS: u64 = 4_000;
const GAP_MS: u64 = 1_500;
/// A film that is too long is shown up to so many times as fast before anything is left out.
const QUICKER: u64 = 3;
/// The name of a chapter is cut here.
const CHAPTER_CHARS: usize = 80;

/// A session, planned.
pub(crate) struct Scene<'t> {
    pub(crate) transcript: &'t Transcript,
    steps: Vec<Step<'t>>,
    manner: Manner<'t>,
    shots: Vec<Shot>,
    /// How many thousandths of its own pace it is shown at.
    rate: u64,
    pub(crate) chapters: Vec<Chapter>,
    pub(crate) duration_ms: u64,
    pub(crate) cuts: Cuts,
}

/// One stretch of a film, from when on, at its own pace.
#[derive(Debug)]
struct Shot {
    at_ms: u64,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Title,
    Turn(u32),
    /// So long was waited really.
    Wait(u64),
    Step(usize),
    /// So many turns and steps are not shown.
    Gap(u64, u64),
    End,
}

/// The stretches of one turn.
#[derive(Debug)]
struct Group {
    turn: Option<u32>,
    is_rewound: bool,
    shots: Vec<(What, u64)>,
}

impl Group {
    fn takes_ms(&self) -> u64 {
        self.shots.iter().map(|(_, ms)| ms).sum()
    }

    fn steps(&self) -> u64 {
        self.shots
            .iter()
            .filter(|(what, _)| matches!(what, What::Step(_)))
            .count() as u64
    }
}

impl<'t> Scene<'t> {
    /// Plans a film that takes `max_ms` at most. `speed` is in thousandths.
    pub(crate) fn plan(transcript: &'t Transcript, manner: Manner<'t>, speed: u64, max_ms: u64) -> Self {
        let steps = steps(transcript);
        let mut cuts = Cuts::default();
        let mut groups = groups(transcript, &steps, manner, &mut cuts);
        let cards_ms = TITLE_MS + END_MS;
        let room = max_ms.saturating_mul(speed.saturating_mul(QUICKER)) / 1_000;
        fit(&mut groups, room.saturating_sub(cards_ms), &mut cuts);
        let mut shots = vec![(What::Title, TITLE_MS)];
        shots.extend(groups.into_iter().flat_map(|group| group.shots));
        shots.push((What::End, END_MS));
        let total: u64 = shots.iter().map(|(_, ms)| ms).sum();
        let rate = speed.max((total * 1_000).div_ceil(max_ms.max(1)));
        let mut scene = Self {
            transcript,
            steps,
            manner,
            shots: Vec::with_capacity(shots.len()),
            rate,
            chapters: Vec::new(),
            duration_ms: 0,
            cuts,
        };
        let mut at_ms = 0;
        for (what, takes_ms) in shots {
            scene.shots.push(Shot { at_ms, what });
            at_ms += takes_ms;
        }
        scene.duration_ms = scene.in_film(at_ms).max(1);
        scene.chapters = scene.chapters();
        scene
    }

    /// How far quicker than planned it is shown, in thousandths.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    fn in_film(&self, own_ms: u64) -> u64 {
        own_ms.saturating_mul(1_000) / self.rate
    }

    fn chapters(&self) -> Vec<Chapter> {
        let title = |turn: u32| {
            let asked = prompt_of(self.transcript, turn);
            match asked.is_empty() {
                true => format!("{turn}"),
                false => format!("{turn} · {asked}"),
            }
        };
        let own = self.shots.iter().filter_map(|shot| {
            let title = match shot.what {
                What::Title => one_line(&render::escape::reveal(&html_title(self.transcript)), CHAPTER_CHARS),
                What::Turn(turn) => title(turn),
                _ => return None,
            };
            Some(Chapter {
                at_ms: self.in_film(shot.at_ms),
                title,
            })
        });
        own.collect()
    }

    /// All that happens, in order.
    pub(crate) fn play(&self) -> impl Iterator<Item = Timed> + '_ {
        self.shots.iter().flat_map(|shot| self.beats(shot))
    }

    fn beats(&self, shot: &Shot) -> Vec<Timed> {
        let at_ms = self.in_film(shot.at_ms);
        let now = |beat| Timed { at_ms, beat };
        match shot.what {
            What::Title => vec![now(Beat::Card(card::title(self.transcript, self.manner.columns)))],
            What::End => vec![now(Beat::Card(card::end(
                self.transcript,
                &self.cuts,
                self.manner.columns,
            )))],
            What::Turn(turn) => vec![now(Beat::Turn(turn, prompt_of(self.transcript, turn)))],
            What::Wait(0..CAPTION_MS_MIN) => Vec::new(),
            What::Wait(real_ms) => {
                let told = format!("» {} cut", duration(real_ms - WAIT_MS_MAX.min(real_ms)));
                let mut beats = vec![now(Beat::Caption(told.clone()))];
                if real_ms >= ROW_MS_MIN {
                    beats.push(now(Beat::Row(self.rule(&told))));
                    beats.push(now(Beat::Row(Row::default())));
                }
                beats
            }
            What::Gap(turns, steps) => {
                let what = match turns {
                    0 => plural(steps, "step"),
                    turns => format!("{}, {}", plural(turns, "turn"), plural(steps, "step")),
                };
                let blank = || now(Beat::Row(Row::default()));
                vec![blank(), now(Beat::Row(self.rule(&format!("{what} left out")))), blank()]
            }
            What::Step(at) => self.step(shot.at_ms, &self.steps[at]),
        }
    }

    fn step(&self, own_ms: u64, step: &Step<'_>) -> Vec<Timed> {
        let told = tell(step, self.manner);
        let mut at_ms = own_ms;
        let mut beats = Vec::with_capacity(told.rows.len() + 2);
        let now = |at_ms, beat| Timed { at_ms, beat };
        beats.extend(step.told.event.ts.map(|ts| now(self.in_film(at_ms), Beat::Clock(ts))));
        beats.push(now(self.in_film(at_ms), Beat::Caption(String::new())));
        for shown in told.rows {
            let from = self.in_film(at_ms);
            at_ms += shown.takes_ms;
            let beat = match shown.is_typed {
                true => Beat::Typed(shown.row, self.in_film(at_ms)),
                false => Beat::Row(shown.row),
            };
            beats.push(now(from, beat));
        }
        beats
    }

    /// Words in the middle of a line.
    fn rule(&self, words: &str) -> Row {
        let words = of(&format!(" {words} "), Style::of(Ink::Faint));
        let side = self.manner.columns.saturating_sub(words.len()) / 2;
        let mut cells = of(&"─".repeat(side.min(24)), Style::of(Ink::Faint));
        let lead = side - side.min(24);
        cells.splice(0..0, of(&" ".repeat(lead), Style::PLAIN));
        cells.extend(words);
        cells.extend(of(&"─".repeat(side.min(24)), Style::of(Ink::Faint)));
        Row {
            cells,
            ground: Ground::Page,
        }
    }
}

fn prompt_of(transcript: &Transcript, turn: u32) -> String {
    let known = transcript.turns.iter().find(|known| known.turn == turn);
    let prompt = known
        .map(|known| render::escape::reveal(&known.prompt))
        .unwrap_or_default();
    one_line(&prompt, CHAPTER_CHARS)
}

/// The shown steps of a session, turn by turn, with the waits between them.
fn groups(transcript: &Transcript, steps: &[Step<'_>], manner: Manner<'_>, cuts: &mut Cuts) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut last: Option<Timestamp> = None;
    let shown = steps.iter().enumerate().filter(|(_, step)| takes(manner.depth, step));
    for (at, step) in shown {
        let event = &step.told.event;
        let mut shots = Vec::new();
        let real_ms = last.zip(event.ts).map_or(0, |(from, to)| millis(from, to));
        if real_ms > 0 {
            let shown_ms = real_ms.min(WAIT_MS_MAX);
            cuts.waits_ms += real_ms - shown_ms;
            shots.push((What::Wait(real_ms), shown_ms));
        }
        if groups.last().is_none_or(|group| group.turn != event.turn) {
            let known = transcript.turns.iter().find(|known| Some(known.turn) == event.turn);
            groups.push(Group {
                turn: event.turn,
                is_rewound: known.is_some_and(|known| known.rewound),
                shots: Vec::new(),
            });
            shots.extend(event.turn.map(|turn| (What::Turn(turn), 0)));
        }
        shots.push((What::Step(at), tell(step, manner).takes_ms()));
        if let Some(group) = groups.last_mut() {
            group.shots.extend(shots);
        }
        let ended = step.result.and_then(|result| result.event.ts).or(event.ts);
        last = ended.max(last);
    }
    groups
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}

/// Leaves out what does not fit: turns from the middle first, and then the middle of a turn that is too long by itself.
fn fit(groups: &mut Vec<Group>, room_ms: u64, cuts: &mut Cuts) {
    let size = |ms: u64| usize::try_from(ms).unwrap_or(usize::MAX);
    let measures: Vec<Block> = groups
        .iter()
        .map(|group| Block {
            turn: group.turn,
            is_rewound: group.is_rewound,
            chars: size(group.takes_ms()),
        })
        .collect();
    let is_shown = choose(&measures, size(room_ms), size(GAP_MS));
    let mut kept: Vec<Group> = Vec::new();
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
            kept.push(Group {
                turn: None,
                is_rewound: false,
                shots: vec![(What::Gap(turns, steps), GAP_MS)],
            });
        }
        kept.push(group);
    }
    let total: u64 = kept.iter().map(Group::takes_ms).sum();
    let over = total.saturating_sub(room_ms);
    if let Some(longest) = kept
        .iter_mut()
        .max_by_key(|group| group.takes_ms())
        .filter(|_| over > 0)
    {
        let room = longest.takes_ms().saturating_sub(over + GAP_MS);
        trim(longest, room, cuts);
    }
    *groups = kept;
}

/// Leaves out the middle of a turn.
fn trim(group: &mut Group, room_ms: u64, cuts: &mut Cuts) {
    let upto = |shots: &mut dyn Iterator<Item = &(What, u64)>| {
        let mut taken = 0;
        shots
            .take_while(|(_, ms)| {
                taken += ms;
                taken <= room_ms / 2
            })
            .count()
    };
    let head = upto(&mut group.shots.iter()).max(2).min(group.shots.len());
    let tail = upto(&mut group.shots.iter().rev()).min(group.shots.len() - head);
    let end = group.shots.len() - tail;
    let left = group.shots[head..end]
        .iter()
        .filter(|(what, _)| matches!(what, What::Step(_)))
        .count() as u64;
    if left > 0 {
        group.shots.splice(head..end, [(What::Gap(0, left), GAP_MS)]);
        cuts.steps += left;
    }
}
