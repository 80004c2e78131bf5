//! `boswell render`: writes a session as a page, a text or a film.

mod film;
mod gather;
mod site;
mod watch;
mod write;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::tz::TimeZone;
use memory::ingest::Disclosure;
use memory::mask::Masker;
use memory::prices::PriceTable;
use memory::session_text::{SessionTexts, TextError};
use memory::store::{LockWait, Store};
use render::{MarkdownOptions, PageOptions, Transcript};

use self::film::FilmArgs;
use self::gather::Gathered;
use crate::answers::page::{RenderAnswer, RenderLeftOut, RenderedSession};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::opener::open_file;
use crate::prices;
use crate::render::depth::Depth;
use crate::render::text::plural;
use crate::session_arg::{SESSION_HELP, open_memory, resolve_among};
use crate::text_source::open_text;
use crate::turn_arg::TurnRange;
use crate::ui::{Format, Ui, escape, measure};
use crate::waiting::say_waiting;
use crate::zone_arg::zone_of;

/// An answer with a smaller budget than this would be useless.
const TOKENS_MIN: u64 = 100;

/// Make a page, a text or a film of a session
///
/// A page is one file that needs no network: an outline of prompts, turns with calls and results, diffs, pictures,
/// search over all of it, a player. A text is Markdown, for a pull request or a model. A film shows the session as it
/// happened, with long waits cut and a chapter per turn: MP4, GIF, or an asciicast for terminal players. Secrets are
/// masked in all of them, and counted at the end. An evicted session is read from its log if that still exists. `--all`
/// makes a directory of pages with an index; unchanged pages are not made again.
#[derive(clap::Args, Debug)]
#[command(visible_alias = "open")]
#[command(after_help = "Examples:
  boswell render last --open
  boswell render 5e55 -o session.html
  boswell render last --to md --depth tools --max-tokens 8000
  boswell render here --turns 3-7 --to md
  boswell render LOG -o page.html                a log that is not in the memory
  boswell render here --watch --open             follow a running session
  boswell render last --to mp4 --speed 2         a film, twice as fast
  boswell render last --turns 3 -o turn.gif      one turn, as an animated image
  boswell render --all -o pages --since 30d      all sessions, with an index")]
pub(crate) struct RenderArgs {
    #[arg(help = SESSION_HELP, required_unless_present = "all", conflicts_with = "all")]
    session: Option<String>,
    /// Output format; by default taken from the extension of `-o`
    #[arg(long, value_name = "FORMAT")]
    to: Option<To>,
    /// Output file; `-` is standard output; with `--all` a directory
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only these turns: `3`, `3-7` or `3-`
    #[arg(long, alias = "turn", value_name = "TURNS", conflicts_with = "all")]
    turns: Option<TurnRange>,
    /// How much of each turn a text or a film shows
    #[arg(long, value_name = "DEPTH")]
    depth: Option<Depth>,
    /// Maximum size of a text in model tokens, about 4 characters each; prints what was left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(TOKENS_MIN..))]
    max_tokens: Option<u64>,
    /// Write a page for every session that matches the filters, and an index
    #[arg(long, requires = "output")]
    all: bool,
    /// Open the result
    #[arg(long)]
    open: bool,
    /// Render again whenever the session grows, until Ctrl-C; an open page follows
    #[arg(long, conflicts_with = "all")]
    watch: bool,
    /// Do not mask secrets; only for a log that you name by its path, and not for sharing
    #[arg(long, conflicts_with = "all")]
    reveal: bool,
    #[command(flatten)]
    film: FilmArgs,
    #[command(flatten)]
    filters: FilterArgs,
    /// Show times in this zone, such as `Europe/Berlin`
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

/// What a session is made into.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// One page for a browser
    Html,
    /// Markdown
    Md,
    /// A film for any player or browser
    Mp4,
    /// An animated image, for pages that cannot embed a film
    Gif,
    /// An asciicast, for terminal players
    Cast,
}

impl To {
    fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Md => "md",
            Self::Mp4 => "mp4",
            Self::Gif => "gif",
            Self::Cast => "cast",
        }
    }

    /// Returns the format for a file extension.
    fn of_ending(ending: &str) -> Self {
        match ending {
            "md" | "markdown" => Self::Md,
            "mp4" | "m4v" => Self::Mp4,
            "gif" => Self::Gif,
            "cast" => Self::Cast,
            _ => Self::Html,
        }
    }
}

impl RenderArgs {
    /// Returns whether the memory is needed. A log named by its path does not need it.
    pub(crate) fn asks_memory(&self) -> bool {
        self.session.as_deref().is_none_or(|word| !Path::new(word).is_file())
    }

    fn to(&self) -> To {
        let ending = self.output.as_deref().and_then(Path::extension);
        let told = ending
            .and_then(|ending| ending.to_str())
            .map_or(To::Html, To::of_ending);
        self.to.unwrap_or(if self.all { To::Html } else { told })
    }
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &RenderArgs) -> Result<Outcome, CommandError> {
    let to = args.to();
    if to == To::Html && (args.depth.is_some() || args.max_tokens.is_some()) {
        let error = CommandError::usage("a page holds everything: `--depth` and `--max-tokens` are for a text");
        return Err(error.with_hint("add `--to md`"));
    }
    film::check(ui, args, to)?;
    if args.all {
        return site::run(ui, context, args);
    }
    let source = Source::of(ui, context, args)?;
    if args.watch {
        return watch::run(ui, context, args, &source);
    }
    let gathered = source.gather(context, args)?;
    if gathered.transcript.events.is_empty() && args.turns.is_some() {
        ui.hint("this session has no such turns");
        return Ok(Outcome::NothingFound);
    }
    let made = source.make(ui, context, args, &gathered, PageOptions::default())?;
    made.tell(ui, args, &gathered)?;
    if args.open {
        open_file(&made.path)?;
    }
    Ok(Outcome::Done)
}

/// The source of a session.
enum Source {
    Memory {
        store: Box<Store>,
        session_uid: String,
    },
    /// A log, read without a memory. Without a masker, its text is rendered unmasked for its owner.
    Log {
        path: PathBuf,
        masker: Option<Box<Masker>>,
    },
}

/// The settings that rendering a session needs.
struct Means<'c> {
    zone: TimeZone,
    prices: PriceTable,
    digests: memory::digest::DigestSettings<'c>,
}

impl<'c> Means<'c> {
    fn of(context: &'c Context, args: &RenderArgs) -> Result<Self, CommandError> {
        Ok(Self {
            zone: zone_of(context, args.timezone.as_deref())?,
            prices: prices::load(Some(&prices::user_file(context)))?,
            digests: context.digest_settings(),
        })
    }
}

/// A file that was written.
struct Made {
    path: PathBuf,
    bytes: u64,
    left_out: Option<render::OmittedTurns>,
    film: Option<film::Film>,
}

impl Source {
    fn of(ui: &mut Ui, context: &Context, args: &RenderArgs) -> Result<Self, CommandError> {
        let word = args.session.as_deref().unwrap_or_default();
        let path = context.places.current_dir.join(word);
        if path.is_file() {
            let masker = (!args.reveal).then(|| context.masker(false)).transpose()?;
            return Ok(Self::Log {
                path,
                masker: masker.map(Box::new),
            });
        }
        if !word.is_empty() && path.is_dir() {
            let error = CommandError::usage(format_args!("this is a directory: `{word}`"));
            return Err(error.with_hint("name one log in it, or make pages of all that is kept by `--all -o DIR`"));
        }
        if args.reveal {
            let error = CommandError::usage("what is kept is masked, and cannot be revealed");
            return Err(error.with_hint("name the log by its path"));
        }
        let store = open_memory(context)?;
        let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
        let named = resolve_among(&store, context, word, &|session| filters.take(session))?;
        let masker = context.masker(false)?;
        let texts = SessionTexts {
            store: &store,
            masker: &masker,
            is_ignored: &|log| context.is_ignored(log),
        };
        open_text(ui, &context.zone, &texts, &named.session_uid)?;
        Ok(Self::Memory {
            store: Box::new(store),
            session_uid: named.session_uid,
        })
    }

    fn gather(&self, context: &Context, args: &RenderArgs) -> Result<Gathered, CommandError> {
        let means = Means::of(context, args)?;
        let mut gathered = match self {
            Self::Memory { store, session_uid } => {
                let masker = context.masker(false)?;
                let texts = SessionTexts {
                    store,
                    masker: &masker,
                    is_ignored: &|log| context.is_ignored(log),
                };
                let text = texts.open(session_uid, texts.locate(session_uid)?);
                let text = text.ok_or_else(|| TextError::Gone(session_uid.clone()))?;
                gather::known(&texts, &text, session_uid, &means, &gather::Family::Asked, args.turns)?
            }
            Self::Log { path, masker } => {
                let agent = args.filters.agent.first().map(|name| name.0);
                let disclosure = masker
                    .as_deref()
                    .map_or_else(Disclosure::revealed_by_owner, Disclosure::masked);
                gather::bare(path, agent, disclosure, &means, args.turns)?
            }
        };
        gathered.number();
        Ok(gathered)
    }

    /// Renders the session and writes the result to its destination.
    fn make(
        &self,
        ui: &mut Ui,
        context: &Context,
        args: &RenderArgs,
        gathered: &Gathered,
        page: PageOptions,
    ) -> Result<Made, CommandError> {
        let (to, transcript) = (args.to(), &gathered.transcript);
        let path = write::place(context, args, to, transcript);
        let (mut left_out, mut film) = (None, None);
        let bar = film::bar(ui);
        let bytes = write::write(ui, &path, to, |out| {
            match to {
                To::Html => render::html(transcript, &page, out)?,
                To::Md => left_out = Some(render::markdown(transcript, &text_options(args), out)?),
                To::Mp4 | To::Gif | To::Cast => film = Some(film::make(&bar, args, transcript, out)?),
            }
            Ok(())
        })?;
        if let (Self::Memory { session_uid, .. }, true) = (self, path.as_os_str() != "-") {
            note_copy(ui, context, &[(session_uid.clone(), path.clone())])?;
        }
        Ok(Made {
            path,
            bytes,
            left_out,
            film,
        })
    }
}

fn text_options(args: &RenderArgs) -> MarkdownOptions {
    MarkdownOptions {
        depth: depth_of(args.depth.unwrap_or(Depth::Turns)),
        max_tokens: args
            .max_tokens
            .map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
    }
}

fn depth_of(depth: Depth) -> render::MarkdownDepth {
    match depth {
        Depth::Prompts => render::MarkdownDepth::Prompts,
        Depth::Turns => render::MarkdownDepth::Turns,
        Depth::Tools => render::MarkdownDepth::Tools,
        Depth::Full => render::MarkdownDepth::Full,
    }
}

/// Records which files were written outside of the memory, so that `boswell forget` can list them.
fn note_copy(ui: &mut Ui, context: &Context, copies: &[(String, PathBuf)]) -> Result<(), CommandError> {
    let mut store = Store::open(&context.places.data_dir)?;
    let known = |(uid, path): &&(String, PathBuf)| {
        let copies = store.reads().copies_of(uid).unwrap_or_default();
        !copies.iter().any(|copy| *copy.path == *path.to_string_lossy())
    };
    let new: Vec<_> = copies.iter().filter(known).cloned().collect();
    if new.is_empty() {
        return Ok(());
    }
    let waiting = RefCell::new(ui);
    let lock = store.lock(LockWait::Wait(&|| say_waiting(&mut waiting.borrow_mut())))?;
    store.write(&lock, context.now, "render", |tx| {
        for (session_uid, path) in &new {
            let copy = memory::store::CopyRow {
                session_uid: session_uid.clone(),
                path: path.display().to_string(),
                kind: "page".to_owned(),
            };
            tx.note_copy(&copy, context.now)?;
        }
        Ok(((), format!("made {}", plural(new.len() as u64, "page"))))
    })?;
    Ok(())
}

impl Made {
    fn tell(&self, ui: &mut Ui, args: &RenderArgs, gathered: &Gathered) -> Result<(), CommandError> {
        let is_stream = self.path.as_os_str() == "-";
        let transcript: &Transcript = &gathered.transcript;
        match ui.format {
            Format::Json if !is_stream => ui.answer(&RenderAnswer::Session(RenderedSession {
                session_uid: transcript.head.session.session_uid.as_str(),
                text_from: gathered.origin.as_str(),
                to: args.to().name(),
                path: &self.path,
                bytes: self.bytes,
                turns: transcript.turns.len(),
                events: transcript.events.len(),
                subagents: transcript.subagents.len(),
                secrets_masked: gathered.masked,
                left_out: self.left_out.as_ref().map(|left| RenderLeftOut {
                    turns: &left.turns,
                    steps: left.steps,
                    tokens: left.tokens,
                }),
                film: self.film.as_ref().map(film::record),
            }))?,
            Format::Json => {}
            Format::Text => {
                if !is_stream {
                    ui.row(ui.path(&escape(&self.path.display().to_string())))?;
                    ui.status(format_args!("Wrote {}", measure::bytes(self.bytes)));
                }
                if let Some(film) = &self.film {
                    film::tell(ui, film);
                }
            }
        }
        if args.reveal {
            ui.warning("nothing is masked in it: it is for your eyes only");
        } else if gathered.masked > 0 && ui.format == Format::Text {
            ui.status(format_args!("Masked: {}", plural(gathered.masked, "secret")));
        }
        Ok(())
    }
}
