//! Opens a session of the memory for the reader.

use memory::kept;
use memory::store::{Status, Store};
use transcript::SessionEvent;

use super::document::Document;
use super::{ReadTexts, Reader};
use crate::commands::sessions::in_one_line;
use crate::context::Context;
use crate::error::CommandError;
use crate::render::depth::is_message;
use crate::render::portrait::Portrait;
use crate::session_arg::{open_memory, resolve};
use crate::ui::markdown::Ink;

/// Reads what is known of a session; its texts are read as they are shown.
pub(in crate::finder) fn open(context: &Context, session_uid: &str, ink: Ink) -> Result<Reader, CommandError> {
    let store = open_memory(context)?;
    let named = resolve(&store, context, session_uid)?;
    let portrait = Portrait::of(&store, &named)?;
    let events: Vec<SessionEvent> = store.reads().events(session_uid)?;
    let events: Vec<SessionEvent> = events.iter().map(|event| portrait.with_summary(event)).collect();
    let session = &portrait.session;
    let facts = [
        Some(session.flavor.title().to_owned()),
        session.repo.as_deref().map(in_one_line),
        session.git_branch.as_deref().map(in_one_line),
    ];
    let title = portrait.said.name.as_deref().or(session.title.as_deref());
    let first = portrait.turns.first().map(|turn| turn.prompt.as_ref());
    // A subagent is known by its task.
    let task = events
        .iter()
        .find(|event| is_message(event))
        .map(|event| &*event.summary);
    let mut document = Document {
        session_uid: session_uid.to_owned(),
        title: in_one_line(title.or(first).or(task).unwrap_or(session_uid)),
        about: facts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        directory: session.cwd.clone(),
        notice: notice(portrait.status),
        is_subagent: session.is_subagent,
        ..Document::default()
    };
    document.set_events(events, &portrait.turns, &context.zone);
    let uid = session_uid.to_owned();
    let read: ReadTexts = Box::new(move |events| Ok(read_texts(&store, &uid, events)?));
    Ok(Reader::new(document, read, ink))
}

fn read_texts(
    store: &Store,
    session_uid: &str,
    events: &[SessionEvent],
) -> Result<std::collections::HashMap<u64, String>, memory::store::StoreError> {
    kept::texts(store, session_uid, events)
}

fn notice(status: Status) -> Option<String> {
    match status {
        Status::Kept => None,
        Status::Evicted => {
            Some("The text of this session was evicted; only its numbers and its digest are left".to_owned())
        }
        Status::PromptsOnly => Some("Only prompts of this session are left".to_owned()),
    }
}
