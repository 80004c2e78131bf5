//! Opens the texts of sessions for verbs, and describes their source or why they no longer exist.

use std::path::Path;

use jiff::tz::TimeZone;
use memory::mask::Masker;
use memory::session_text::{
    Eviction, EvictionReason, SessionText, SessionTexts, SourceLog, SourceProblem, TextError, TextLocation,
};

use crate::error::{CommandError, log_error};
use crate::render::text::date_time;
use crate::ui::Ui;

impl From<TextError> for CommandError {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Store(error) => error.into(),
            TextError::Log(error) => log_error(error),
            TextError::Gone(_) => Self::not_found("text-gone", error),
        }
    }
}

/// Returns the text of a session. Prints a message if it comes from the session's log. If there is no text, the error
/// gives the reason.
pub(crate) fn open_text<'t>(
    ui: &mut Ui,
    zone: &TimeZone,
    texts: &SessionTexts<'t>,
    session_uid: &str,
) -> Result<SessionText<'t>, CommandError> {
    let location = texts.locate(session_uid)?;
    announce(ui, zone, texts.masker, &location);
    let text = texts.open(session_uid, location.clone());
    text.ok_or_else(|| text_gone(zone, texts.masker, session_uid, &location))
}

/// Reports that a text is read from the session's log, and which parts of it no longer exist.
pub(crate) fn announce(ui: &mut Ui, zone: &TimeZone, masker: &Masker, location: &TextLocation) {
    let TextLocation::Source(SourceLog {
        path,
        missing_parts,
        eviction,
        ..
    }) = location
    else {
        return;
    };
    ui.status(format_args!(
        "Reading its log `{}`: raw text was {}",
        masked_path(masker, path),
        describe_eviction(eviction, zone)
    ));
    for part in missing_parts {
        ui.warning(format_args!("this part of the session no longer exists: `{part}`"));
    }
}

/// Returns a path for a message. The names of directories and files can hold secrets, too.
fn masked_path(masker: &Masker, path: &Path) -> String {
    masker
        .mask_str(&path.display().to_string(), &mut Vec::new())
        .into_owned()
}

/// Returns the error for a session whose text is neither in the memory nor at its source.
pub(crate) fn text_gone(zone: &TimeZone, masker: &Masker, session_uid: &str, location: &TextLocation) -> CommandError {
    let TextLocation::Evicted(eviction, problem) = location else {
        let message = format_args!("only prompts of this session are known: `{session_uid}`");
        return CommandError::not_found("text-gone", message)
            .with_hint("its log was deleted before the first sweep; `boswell show` prints the prompts");
    };
    let evicted = describe_eviction(eviction, zone);
    let message = format!("the raw text of `{session_uid}` was {evicted}");
    let message = match eviction.reason {
        EvictionReason::Forgotten => message,
        _ => format!("{message}, and {}", describe_problem(problem, masker)),
    };
    CommandError::not_found("text-gone", message)
        .with_hint(format_args!("`boswell show {session_uid}` prints what is left"))
}

/// Returns when and why raw text was evicted, as the end of a sentence.
pub(crate) fn describe_eviction(eviction: &Eviction, zone: &TimeZone) -> String {
    let on = eviction
        .at
        .map(|at| format!(" on {}", date_time(at, zone)))
        .unwrap_or_default();
    match eviction.reason {
        EvictionReason::Age => format!("evicted{on} because it reached its maximum age"),
        EvictionReason::SoftCap => format!("evicted{on} because the raw cache exceeded its soft cap"),
        EvictionReason::HardCap => format!("evicted{on} because the raw cache exceeded its hard cap"),
        EvictionReason::Overflow => {
            format!("evicted{on} because the raw cache exceeded its hard cap, before a digest could be made")
        }
        EvictionReason::Forgotten => format!("forgotten{on}"),
        EvictionReason::Unknown => format!("evicted{on}"),
    }
}

/// Returns why a log cannot be read at its source, as a clause.
pub(crate) fn describe_problem(problem: &SourceProblem, masker: &Masker) -> String {
    let path = |path: &Path| masked_path(masker, path);
    match problem {
        SourceProblem::Forgotten => "a forgotten session is not read from its log".to_owned(),
        SourceProblem::Elsewhere => "no log of it is known on this machine".to_owned(),
        SourceProblem::LogGone(log) => format!("its log no longer exists: `{}`", path(log)),
        SourceProblem::Ignored(log) => format!("the configuration ignores its log: `{}`", path(log)),
        SourceProblem::OtherSession(log) => format!("its log was replaced or rewritten: `{}`", path(log)),
        SourceProblem::Unreadable(log, reason) => format!("its log cannot be read: `{}`: {reason}", path(log)),
    }
}
