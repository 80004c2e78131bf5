//! Opens a session of the memory for the reader.

use jiff::tz::TimeZone;
use memory::kept;
use memory::session_text::{SessionText, SessionTexts, TextLocation, read_wholes};
use transcript::SessionEvent;

use super::document::Document;
use super::{ReadTexts, Reader};
use crate::context::Context;
use crate::error::{CommandError, log_error};
use crate::portrait::Portrait;
use crate::render::depth::is_message;
use crate::session_arg::{open_memory, resolve};
use crate::text_source::describe_eviction;
use crate::ui::in_one_line;
use crate::ui::markdown::Ink;

/// Reads the events of a session. Texts are read later, when they are shown.
pub(in crate::finder) fn open(context: &Context, session_uid: &str, ink: Ink) -> Result<Reader, CommandError> {
    let store = open_memory(context)?;
    let named = resolve(&store, context, session_uid)?;
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store: &store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    let mut portrait = Portrait::of(&texts, &named)?;
    let text = texts.open(session_uid, portrait.location.clone());
    let source = text.as_ref().and_then(SessionText::source);
    if let Some(source) = source {
        portrait.use_source(source)?;
    }
    let events = text.as_ref().map_or(Ok(Vec::new()), SessionText::events)?;
    let events: Vec<SessionEvent> = events.iter().map(|event| portrait.with_summary(event)).collect();
    let session = &portrait.session;
    let facts = [
        Some(session.flavor.title().to_owned()),
        session.repo.as_deref().map(in_one_line),
        session.git_branch.as_deref().map(in_one_line),
    ];
    let title = portrait.said.name.as_deref().or(session.title.as_deref());
    let first = portrait.turns.first().map(|turn| turn.prompt.as_ref());
    // The title of a subagent is its task.
    let task = events
        .iter()
        .find(|event| is_message(event))
        .map(|event| &*event.summary);
    let mut document = Document {
        session_uid: session_uid.to_owned(),
        title: in_one_line(title.or(first).or(task).unwrap_or(session_uid)),
        about: facts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        directory: session.cwd.clone(),
        notice: notice(&portrait.location, &context.zone),
        is_subagent: session.is_subagent,
        ..Document::default()
    };
    document.set_events(events, &portrait.turns, &context.zone);
    // The log was read for its events; texts are read from it again when they are shown.
    let log = match text {
        Some(SessionText::Source(source)) => source.into_reading(),
        Some(SessionText::Memory { .. }) | None => None,
    };
    let uid = session_uid.to_owned();
    let read: ReadTexts = Box::new(move |events| match &log {
        None => Ok(kept::read_texts(&store, &uid, events)?),
        Some(log) => {
            let wholes = read_wholes(log, &masker, events).map_err(log_error)?;
            let texts = wholes.into_iter().filter_map(|(seq, whole)| Some((seq, whole.text?)));
            Ok(texts.collect())
        }
    });
    Ok(Reader::new(document, read, ink))
}

fn notice(location: &TextLocation, zone: &TimeZone) -> Option<String> {
    match location {
        TextLocation::Memory => None,
        TextLocation::Source(source) => Some(format!(
            "Read from its log: the raw text was {}",
            describe_eviction(&source.eviction, zone)
        )),
        TextLocation::Evicted(eviction, _) => Some(format!(
            "The raw text was {}; `boswell show` prints what is left",
            describe_eviction(eviction, zone)
        )),
        TextLocation::PromptsOnly => Some("Only prompts of this session are known".to_owned()),
    }
}
