//! `boswell show`: prints a session.

mod blocks;
mod commit;
mod follow;

use jiff::tz::TimeZone;
use memory::commits::{CommitOccurrence, is_sha};
use memory::digest::{self, Digest};
use memory::session_text::{SessionText, SessionTexts, TextLocation, TextOrigin};
use memory::store::{SessionStatus, Store};
use transcript::{PartKind, SessionEvent};

use self::blocks::{Block, BlockTexts, LeftOut};
use crate::answers::session::{DigestRecord, SHOW_SCHEMA, SessionName, ShowAnswer, ShownPart, ShownSession};
use crate::answers::shared::EvictionRecord;
use crate::context::Context;
use crate::digest_page::page_lines;
use crate::digests;
use crate::error::{CommandError, Outcome, OutputError};
use crate::filters::{FilterArgs, ToolMeans};
use crate::portrait::Portrait;
use crate::render::depth::Depth;
use crate::render::text::{plural, rows};
use crate::session_arg::{Named, SESSION_HELP, open_memory, resolve_among};
use crate::session_summary::current_outcome;
use crate::text_source::{announce, open_text};
use crate::turn_arg::TurnRange;
use crate::ui::{Format, Ui, escape_lines};
use crate::zone_arg::zone_of;

/// An answer with a smaller budget than this would be useless.
const TOKENS_MIN: u64 = 100;
/// The number of lines at the start of a digest's page that name the session.
const DIGEST_HEADING_LINES: usize = 2;

/// Show a session, or the session that made a commit
///
/// The session comes from the memory, whether or not its log still exists. An evicted session is read from its log; if that is gone, its digest
/// and its turns are printed, with when and why its text was evicted. Turns show whole prompts and answers, and each tool
/// call in one line; the finder (`boswell` without arguments) has a reader for the same. The id of a commit, 7 to 40 hexadecimal digits, shows the turn that made it,
/// and a citation of the diary, such as `claude:5e550000/T12`, shows that turn.
#[derive(clap::Args, Debug)]
#[command(visible_alias = "log")]
#[command(after_help = "Examples:
  boswell show last
  boswell show 5e55 --turns 3-7 --depth tools
  boswell show last --agent codex
  boswell show here --follow                    follow a running session
  boswell show 5e55 --depth full --max-tokens 8000
  boswell show claude:5e550000/T12              the turn that the diary cites
  boswell show 1a2b3c4                          the turn that made this commit")]
pub(crate) struct ShowArgs {
    #[arg(help = SESSION_HELP.to_owned() + "; or a commit")]
    session: String,
    /// Only these turns: `3`, `3-7` or `3-`
    #[arg(long, alias = "turn", value_name = "TURNS")]
    turns: Option<TurnRange>,
    /// How much of each turn to show
    #[arg(long, value_name = "DEPTH", default_value = "turns")]
    depth: Depth,
    /// Maximum size of the answer in model tokens, about 4 characters each; prints what was left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(TOKENS_MIN..))]
    max_tokens: Option<u64>,
    /// Keep printing as the session continues, until Ctrl-C
    #[arg(long, conflicts_with_all = ["max_tokens", "part"])]
    follow: bool,
    #[command(flatten)]
    filters: FilterArgs,
    /// Only this part of the session, such as `log` or a spilled result
    #[arg(long, value_name = "PART")]
    part: Option<String>,
    /// Do not use a pager, even if the output is longer than the screen
    #[arg(long)]
    no_pager: bool,
    /// Show times in this zone, such as `Europe/Berlin`
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ShowArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let zone = zone_of(context, args.timezone.as_deref())?;
    let word = args.session.as_str();
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    match resolve_among(&store, context, word, &|session| filters.take(session)) {
        Ok(named) => show(ui, context, &store, &named, args, &zone, None),
        Err(error) if error.code == "session-unknown" && is_sha(word) => commit::show(ui, context, &store, args, &zone),
        Err(error) => {
            let cited = citation(word).filter(|_| error.code == "session-unknown");
            let (session, _) = cited.ok_or(error)?;
            let named = resolve_among(&store, context, session, &|session| filters.take(session))?;
            show(ui, context, &store, &named, args, &zone, None)
        }
    }
}

/// Returns the session and the turn of a citation such as `claude:5e550000/T12`, as the diary prints them.
fn citation(word: &str) -> Option<(&str, u32)> {
    let (session, turn) = word.rsplit_once("/T")?;
    let is_number = turn.bytes().all(|byte| byte.is_ascii_digit());
    Some((session, is_number.then(|| turn.parse().ok()).flatten()?))
}

/// Shows a session. `made` is the place where it made the requested commit.
fn show(
    ui: &mut Ui,
    context: &Context,
    store: &Store,
    named: &Named,
    args: &ShowArgs,
    zone: &TimeZone,
    made: Option<&CommitOccurrence>,
) -> Result<Outcome, CommandError> {
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    if let Some(part) = args.part.as_deref().filter(|part| !has_events(part)) {
        let text = open_text(ui, zone, &texts, &named.session_uid)?;
        return show_part(ui, &text, named, part);
    }
    let mut portrait = Portrait::of(&texts, named)?;
    announce(ui, zone, texts.masker, &portrait.location);
    let text = texts.open(&named.session_uid, portrait.location.clone());
    if let Some(source) = text.as_ref().and_then(SessionText::source) {
        portrait.use_source(source)?;
    }
    // The id of a subagent may look like a citation.
    let cited = citation(&args.session).filter(|_| !named.session_uid.ends_with(&args.session));
    let turn = made.and_then(|place| place.turn).or(cited.map(|(_, turn)| turn));
    let turns = args.turns.or(turn.map(|turn| TurnRange {
        first: turn,
        last: turn,
    }));
    let events = chosen(text.as_ref(), &portrait, args, turns)?;
    let is_empty = events.is_empty() && (turns.is_some() || args.part.is_some());
    let blocks = blocks::of(&portrait, events);
    let shown = Shown {
        context,
        store,
        text: text.as_ref(),
        portrait: &portrait,
        blocks: &blocks,
        depth: args.depth,
        max_tokens: args
            .max_tokens
            .map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
        zone,
        made,
        outcome: current_outcome(store, context, &named.session_uid)?,
    };
    match ui.format {
        Format::Json if args.follow => {}
        Format::Json => shown.print_json(ui)?,
        Format::Text if args.follow => shown.print(ui)?,
        Format::Text => {
            if !args.no_pager {
                ui.page()?;
            }
            shown.print(ui)?;
            ui.end_pages()?;
        }
    }
    if args.follow {
        return follow::run(ui, &shown, args);
    }
    if is_empty && portrait.status != SessionStatus::PromptsOnly {
        hint_nothing_shown(ui, &shown);
        return Ok(Outcome::NothingFound);
    }
    Ok(Outcome::Done)
}

/// Prints a hint that explains why none of the requested turns or parts is shown.
fn hint_nothing_shown(ui: &mut Ui, shown: &Shown<'_>) {
    match shown.text {
        Some(_) => ui.hint(format_args!(
            "this session has no such turns or parts; it has {}",
            plural(shown.portrait.turns.len() as u64, "turn")
        )),
        None => ui.hint("the text of these turns is gone; run it without `--turns` and `--part` to print what is left"),
    }
}

fn has_events(part: &str) -> bool {
    PartKind::of_name(part).is_some_and(PartKind::has_lines)
}

/// Returns the requested events. Only the pages that hold them are read from the memory.
fn chosen(
    text: Option<&SessionText<'_>>,
    portrait: &Portrait,
    args: &ShowArgs,
    turns: Option<TurnRange>,
) -> Result<Vec<SessionEvent>, CommandError> {
    let uid = portrait.session.session_uid.as_str();
    let asked = |turn: u32| turns.is_none_or(|turns| turns.has(turn));
    let mut known = portrait.turns.iter().filter(|turn| asked(turn.turn)).peekable();
    // Grok's parts have separate line numbers, so lines do not identify pages.
    let is_one_part = portrait.session.flavor != transcript::Agent::Grok;
    let events = match (text, turns, known.peek()) {
        (None, ..) | (_, Some(_), None) => return Ok(Vec::new()),
        (Some(SessionText::Memory { store, .. }), Some(_), Some(first)) if is_one_part => {
            let first_line = first.start_line;
            let last_line = known.last().map_or(first_line, |last| last.end_line);
            store.reads().events_of_lines(uid, first_line, last_line)?
        }
        (Some(text), ..) => text.events()?,
    };
    let takes = |event: &SessionEvent| {
        let in_turns = turns.is_none() || event.turn.is_some_and(asked);
        let in_part = args.part.as_deref().is_none_or(|part| event.part.as_str() == part);
        in_turns && in_part && args.depth.takes(event)
    };
    Ok(events.into_iter().filter(takes).collect())
}

/// Prints a part that has no events as it is.
fn show_part(ui: &mut Ui, text: &SessionText<'_>, named: &Named, part: &str) -> Result<Outcome, CommandError> {
    let parts = text.parts()?;
    if !parts.iter().any(|(_, known)| known == part) {
        let message = format_args!("this session has no such part: `{part}`");
        let mut parts: Vec<String> = parts.iter().map(|(_, part)| format!("`{part}`")).collect();
        parts.sort();
        return Err(
            CommandError::not_found("part-unknown", message).with_hint(format_args!("it has {}", parts.join(", ")))
        );
    }
    let mut bytes = Vec::new();
    let origin = text.source().map_or(TextOrigin::Memory, |_| TextOrigin::Source);
    text.cat(part, &mut bytes)?.map_err(OutputError::from)?;
    let text = String::from_utf8_lossy(&bytes);
    match ui.format {
        Format::Json => ui.json(&ShowAnswer::Part(ShownPart {
            schema: SHOW_SCHEMA,
            session: SessionName {
                session_uid: &named.session_uid,
            },
            part,
            text_from: origin.as_str(),
            text: &text,
        }))?,
        Format::Text => text.lines().try_for_each(|line| ui.row_whole(escape_lines(line)))?,
    }
    Ok(Outcome::Done)
}

/// The session and the options for showing it.
struct Shown<'a> {
    context: &'a Context,
    store: &'a Store,
    text: Option<&'a SessionText<'a>>,
    portrait: &'a Portrait,
    blocks: &'a [Block],
    depth: Depth,
    max_tokens: Option<usize>,
    zone: &'a TimeZone,
    made: Option<&'a CommitOccurrence>,
    outcome: transcript::Outcome,
}

impl Shown<'_> {
    fn print(&self, ui: &mut Ui) -> Result<(), CommandError> {
        let mut head = self.portrait.header(ui, self.zone);
        head.extend(self.made.map(|place| commit::told(ui, place)));
        let mut foot = Vec::new();
        if self.portrait.status == SessionStatus::PromptsOnly {
            foot.push(String::new());
            foot.extend(self.portrait.told_prompts(ui, self.zone));
        } else if self.text.is_none() {
            foot.extend(self.digest_lines(ui)?);
            foot.extend(blocks::marks(ui, &self.portrait.turns, self.zone));
        }
        foot.extend(self.portrait.told_subagents(ui));
        let mut texts = BlockTexts::read(self.text, self.portrait, self.blocks, self.depth)?;
        match self.max_tokens {
            None => {
                rows(ui, head)?;
                for block in self.blocks {
                    rows(ui, blocks::lines(ui, &mut texts, block, self.zone)?)?;
                }
                rows(ui, foot)
            }
            Some(max_tokens) => {
                let mut turns = self.turn_lines(ui, &mut texts)?;
                if self.depth != Depth::Full && !blocks::fits(&turns, max_tokens) {
                    // One line of every message is more useful than the whole text of a few.
                    turns = self.turn_lines(ui, &mut BlockTexts::none(self.text, self.portrait, self.depth))?;
                }
                rows(
                    ui,
                    blocks::fitted(self.portrait, self.blocks, max_tokens, head, turns, foot),
                )
            }
        }
    }

    /// Returns the page of the stored digest without its heading, which the header of the session repeats.
    fn digest_lines(&self, ui: &Ui) -> Result<Vec<String>, CommandError> {
        let digest = digest::current_digest(self.store, self.portrait.session.session_uid.as_str())?;
        Ok(match digest {
            Some(digest) => page_lines(ui, self.context, self.store, digest)?.split_off(DIGEST_HEADING_LINES),
            None => vec![String::new(), "  no digest could be made of this session".to_owned()],
        })
    }

    fn turn_lines(&self, ui: &Ui, texts: &mut BlockTexts<'_>) -> Result<Vec<Vec<String>>, CommandError> {
        let blocks = self.blocks.iter();
        blocks.map(|block| blocks::lines(ui, texts, block, self.zone)).collect()
    }

    /// Returns the stored digest of a session whose text is gone.
    fn stored_digest(&self) -> Result<Option<Digest>, CommandError> {
        Ok(match self.portrait.location {
            TextLocation::Evicted(..) => {
                digest::current_digest(self.store, self.portrait.session.session_uid.as_str())?
            }
            _ => None,
        })
    }

    fn digest_record<'d>(&'d self, digest: &'d Digest) -> Result<DigestRecord<'d>, CommandError> {
        let decisions = self.store.reads().decisions_of(digest.session_uid.as_str())?;
        Ok(digests::record(self.context, &decisions, digest))
    }

    fn print_json(&self, ui: &mut Ui) -> Result<(), CommandError> {
        let portrait = self.portrait;
        let digest = self.stored_digest()?;
        let digest = digest.as_ref().map(|digest| self.digest_record(digest)).transpose()?;
        let mut answer = ShownSession {
            schema: SHOW_SCHEMA,
            session: portrait.record(self.outcome),
            text_from: portrait.location.origin().as_str(),
            eviction: EvictionRecord::new(&portrait.location),
            digest,
            turns: Vec::new(),
            events: Vec::new(),
            subagents: portrait.subagent_records(),
            prompts: portrait.prompt_records(),
            commit: self.made,
            left_out: None,
        };
        let events = blocks::with_summaries(portrait, self.blocks);
        let mut records = Vec::new();
        let mut texts = BlockTexts::read(self.text, portrait, self.blocks, self.depth)?;
        for (block, events) in self.blocks.iter().zip(&events) {
            records.push(blocks::record(&mut texts, block, events)?);
        }
        if let Some(max_tokens) = self.max_tokens.filter(|_| self.depth != Depth::Full) {
            blocks::drop_texts_unless_fitting(&mut records, max_tokens);
        }
        // The prompts of turns are shown even if no text is left.
        if self.blocks.is_empty() {
            let turns = portrait.turns.iter();
            answer.turns = turns.map(|turn| blocks::turn_record(portrait, turn)).collect();
        }
        let left_out = match self.max_tokens {
            Some(max_tokens) => blocks::fit_records(self.blocks, max_tokens, &answer, &mut records),
            None => LeftOut::default(),
        };
        let (mut turns, mut events) = (Vec::new(), Vec::new());
        for record in records {
            turns.extend(record.turn);
            events.extend(record.events);
        }
        if !turns.is_empty() || !events.is_empty() {
            (answer.turns, answer.events) = (turns, events);
        }
        answer.left_out = self.max_tokens.map(|_| left_out.record());
        ui.json(&ShowAnswer::Session(Box::new(answer)))
    }
}
