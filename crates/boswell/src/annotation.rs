//! Code that `boswell note` and `boswell name` share: the user's text about a session.

use std::cell::RefCell;

use memory::annotations::{self, AnnotationError, AnnotationText};
use memory::store::{AnnotationKind, Annotations, LockWait, Store};

use crate::answers::keep::{NameAnswer, NoteAnswer};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::session_arg::{open_memory, resolve};
use crate::ui::{Format, Ui, escape, escape_lines};
use crate::waiting::say_waiting;

/// Sets or prints the note or the name of a session.
pub(crate) fn annotate(
    ui: &mut Ui,
    context: &Context,
    session: &str,
    kind: AnnotationKind,
    text: Option<&str>,
) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let uid = resolve(&store, context, session)?.session_uid;
    let Some(text) = text else {
        let said = store.reads().annotations_of(&uid)?;
        let is_there = own(kind, &said).is_some();
        tell(ui, &uid, kind, &said)?;
        return Ok(if is_there { Outcome::Done } else { Outcome::NothingFound });
    };
    drop(store);
    let text = AnnotationText::new(kind, text, &context.masker(true)?).map_err(refused)?;
    let mut store = Store::open(&context.places.data_dir)?;
    let annotated = {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        annotations::annotate(&mut store, LockWait::Wait(&waiting), context.now, &uid, kind, &text)?
    };
    if annotated.redactions > 0 {
        ui.warning(format_args!("{} masked", plural(annotated.redactions, "secret")));
    }
    tell(ui, &uid, kind, &annotated.annotations)?;
    Ok(Outcome::Done)
}

/// Returns the error for text that cannot be stored, which the user has to change.
pub(crate) fn refused(error: AnnotationError) -> CommandError {
    CommandError::user("annotation-refused", error)
}

fn own(kind: AnnotationKind, said: &Annotations) -> Option<&str> {
    match kind {
        AnnotationKind::Name => said.name.as_deref(),
        AnnotationKind::Note => said.note.as_deref(),
    }
}

fn tell(ui: &mut Ui, uid: &str, kind: AnnotationKind, said: &Annotations) -> Result<(), CommandError> {
    let word = kind.as_str();
    match (ui.format, own(kind, said)) {
        (Format::Json, text) => match kind {
            AnnotationKind::Name => ui.answer(&NameAnswer {
                session_uid: uid,
                name: text,
            }),
            AnnotationKind::Note => ui.answer(&NoteAnswer {
                session_uid: uid,
                note: text,
            }),
        },
        // A name is always one line, regardless of who wrote it.
        (Format::Text, Some(text)) if kind == AnnotationKind::Name => Ok(ui.row(escape(text))?),
        (Format::Text, Some(text)) => Ok(ui.row(escape_lines(text))?),
        (Format::Text, None) => {
            ui.status(format_args!("No {word}: {uid}"));
            Ok(())
        }
    }
}
