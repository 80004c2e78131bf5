//! Alerts: raw text was lost, or the distilled memory is above its cap.
//!
//! A run without a terminal (the scheduler's sweep, a hook's ingest) leaves a message in a small file of the store's
//! directory, and the next command on a terminal prints it once. The journal and the sizes remain the only source of the facts:
//! `boswell status` and `boswell doctor` read those, not this file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use memory::retention::{DATA_LOSS, EvictionSummary};
use memory::store::Store;
use serde::{Deserialize, Serialize};

use crate::answers::health::Alert;
use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::date_time;
use crate::retention::{distilled_message, loss_message};
use crate::ui::Ui;

const FILE: &str = "alerts.json";
/// How long `status` and `doctor` show a loss. `boswell journal` lists it permanently.
const LOSS_SHOWN_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Returns what is wrong with a memory; nothing if there is none.
pub(crate) fn current(context: &Context, store: Option<&Store>) -> Result<Vec<Alert>, CommandError> {
    let mut alerts = Vec::new();
    let Some(store) = store else { return Ok(alerts) };
    let losses = store.reads().operations_of(DATA_LOSS)?;
    for loss in losses {
        let at = Timestamp::from_microsecond(loss.at_micros).ok();
        let Some(at) = at.filter(|at| context.now.duration_since(*at) <= LOSS_SHOWN_FOR) else {
            continue;
        };
        // The rest of the sentence lists uids, which can be many.
        let sentence = loss.sentence.split(": ").next().unwrap_or_default();
        alerts.push(Alert {
            kind: "data_loss",
            at: Some(at),
            message: format!(
                "DATA LOSS on {}: {sentence}; `boswell journal` names them",
                date_time(at, &context.zone)
            ),
        });
    }
    let bytes = store.reads().distilled_bytes()?;
    alerts.extend(distilled_message(context, bytes).map(|message| Alert {
        kind: "distilled_over_cap",
        at: None,
        message,
    }));
    Ok(alerts)
}

/// Messages that were not shown on a terminal yet.
#[derive(Default, Serialize, Deserialize)]
struct UnseenMessages {
    messages: Vec<String>,
    /// Whether an exceeded cap of the distilled memory was reported. Reset once it is below the cap.
    is_distilled_reported: bool,
}

impl UnseenMessages {
    fn read(directory: &Path) -> Self {
        let text = fs::read(path(directory)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Best effort: a message that cannot be written is still in `status` and `doctor`.
    fn write(&self, directory: &Path) {
        if self.messages.is_empty() && !self.is_distilled_reported {
            _ = fs::remove_file(path(directory));
            return;
        }
        _ = tempfile::NamedTempFile::new_in(directory).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(path(directory)).map_err(|error| error.error)
        });
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Leaves what an eviction has to report for the next command on a terminal, unless this one has a terminal.
pub(crate) fn record(ui: &Ui, context: &Context, directory: &Path, done: &EvictionSummary, distilled_bytes: u64) {
    let loss = loss_message(context, done).filter(|_| !ui.is_watched());
    let distilled = distilled_message(context, distilled_bytes);
    if loss.is_none() && distilled.is_none() && !path(directory).exists() {
        return;
    }
    let mut unseen = UnseenMessages::read(directory);
    unseen.messages.extend(loss);
    let is_new = distilled.is_some() && !unseen.is_distilled_reported;
    unseen.is_distilled_reported = distilled.is_some();
    unseen.messages.extend(distilled.filter(|_| is_new && !ui.is_watched()));
    unseen.write(directory);
}

/// Prints the messages that were not shown yet, if stderr is a terminal.
pub(crate) fn show_unseen(ui: &mut Ui, directory: &Path) {
    for message in take_unseen(ui, directory) {
        ui.warning(message);
    }
}

/// Removes and returns the messages that were not shown yet; none if stderr is not a terminal.
pub(crate) fn take_unseen(ui: &Ui, directory: &Path) -> Vec<String> {
    if !ui.is_watched() {
        return Vec::new();
    }
    let mut unseen = UnseenMessages::read(directory);
    let messages = std::mem::take(&mut unseen.messages);
    if !messages.is_empty() {
        unseen.write(directory);
    }
    messages
}
