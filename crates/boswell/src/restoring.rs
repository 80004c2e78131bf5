//! Code that `boswell restore` and `boswell resume` share: the plan of the files, its errors and its warnings.

use std::path::Path;

use memory::restore::{self, PlannedFile, RestoreError, RestorePlan, RestoreTarget};
use memory::session_text::{SessionTexts, TextLocation};

use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::plural;
use crate::session_arg::Named;
use crate::text_source::text_gone;
use crate::ui::Ui;

/// Returns what restoring a session would write.
pub(crate) fn plan(
    context: &Context,
    texts: &SessionTexts<'_>,
    named: &Named,
    location: &TextLocation,
    directory: Option<&Path>,
) -> Result<RestorePlan, CommandError> {
    if matches!(location, TextLocation::Evicted(..) | TextLocation::PromptsOnly) {
        return Err(text_gone(&context.zone, texts.masker, &named.session_uid, location));
    }
    let roots = context.memory_roots();
    let target = directory.map_or(RestoreTarget::InPlace(&roots), RestoreTarget::Directory);
    restore::plan_restore(texts, &named.session_uid, target).map_err(told)
}

/// Returns the error for a session that cannot be restored, with a hint.
pub(crate) fn told(error: RestoreError) -> CommandError {
    match error {
        RestoreError::Text(error) => error.into(),
        RestoreError::Io { .. } => CommandError::user("restore-failed", error),
        RestoreError::UnsafeName(_) | RestoreError::LeadsOut(_) => CommandError::user("restore-refused", error),
        RestoreError::NoPlace => {
            CommandError::user("restore-nowhere", error).with_hint("`-o DIR` writes it anywhere else")
        }
    }
}

/// Prints how the files differ from those that the agent wrote.
pub(crate) fn tell_masked(ui: &mut Ui, plan: &RestorePlan) {
    let new = || plan.files.iter().filter(|file| !file.is_there);
    let sum = |count: fn(&PlannedFile) -> u64| new().map(count).sum::<u64>();
    let masked = sum(|file| file.redactions);
    if masked > 0 {
        let secrets = plural(masked, "masked secret");
        ui.status(format_args!(
            "These files differ from what the agent wrote: they hold {secrets}"
        ));
    }
    if !plan.gone.is_empty() {
        let gone = plural(plan.gone.len() as u64, "subagent");
        ui.warning(format_args!(
            "{gone} left out, because their raw text was evicted and their logs are gone"
        ));
    }
    let long = sum(|file| file.lines_left_out);
    if long > 0 {
        let lines = plural(long, "line");
        ui.warning(format_args!(
            "{lines} too long to be stored; a short placeholder replaces each"
        ));
    }
}
