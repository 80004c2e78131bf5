//! Writes digests and decisions as files, if the settings name a directory for them.

use std::path::Path;

use memory::store::{Decision, Store, StoreLocation};
use memory::surface::{ExportKind, write_export};

use crate::answers;
use crate::answers::shared::{DecisionFile, DecisionRecord};
use crate::context::Context;
use crate::digests::record;
use crate::error::CommandError;
use crate::ui::Ui;

/// Writes new digests as files.
pub(crate) fn digests(
    ui: &mut Ui,
    context: &Context,
    memory: &StoreLocation,
    uids: &[String],
) -> Result<(), CommandError> {
    let Some(directory) = context.config.surface_dir.as_deref().filter(|_| !uids.is_empty()) else {
        return Ok(());
    };
    let Some(store) = Store::open_existing(memory)? else {
        return Ok(());
    };
    for uid in uids {
        if let Some(row) = store.reads().digest_of(uid)? {
            let decisions = store.reads().decisions_of(uid)?;
            let content = serde_json::to_value(record(context, &decisions, &row.digest)).unwrap_or_default();
            if let Err(error) = write_export(directory, ExportKind::Digest, uid, &content) {
                tell(ui, directory, &error);
                break;
            }
        }
    }
    Ok(())
}

/// Writes a decision as a file.
pub(crate) fn decision(ui: &mut Ui, context: &Context, decision: &Decision) {
    let Some(directory) = context.config.surface_dir.as_deref() else {
        return;
    };
    let content = answers::to_value(&DecisionFile(DecisionRecord::from(decision))).unwrap_or_default();
    if let Err(error) = write_export(
        directory,
        ExportKind::Decision,
        &decision.decision_id.to_string(),
        &content,
    ) {
        tell(ui, directory, &error);
    }
}

/// The data is stored in the memory, whether or not the file can be written.
fn tell(ui: &mut Ui, directory: &Path, error: &std::io::Error) {
    ui.warning(format_args!("cannot write into {}: {error}", directory.display()));
    ui.hint("`session_memory.surface.dir` names where digests and decisions are written");
}
