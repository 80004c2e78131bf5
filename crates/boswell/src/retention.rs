//! Code that all commands that evict raw text share: the configured policy, and the messages about reasons and losses.

use std::io::Write;
use std::process::{Command, Stdio};

use memory::retention::{DATA_LOSS, EvictionReason, EvictionSummary, PlannedEviction, Retention, RetentionPolicy};

use crate::answers;
use crate::answers::keep::LossEvent;
use crate::context::Context;
use crate::error::Outcome;
use crate::render::text::plural;
use crate::ui::{Ui, measure};

/// Maximum number of lost sessions that are named.
const LOST_SHOWN: usize = 10;

/// Returns the caps and the start of the current day.
pub(crate) fn policy(context: &Context) -> RetentionPolicy {
    let retention = &context.config.retention;
    let today = context.now.to_zoned(context.zone.clone()).start_of_day();
    RetentionPolicy {
        raw_soft_cap_bytes: retention.raw_soft_cap_bytes,
        raw_hard_cap_bytes: retention.raw_hard_cap_bytes,
        raw_max_age_days: retention.raw_max_age_days,
        distilled_cap_bytes: retention.distilled_cap_bytes,
        today_began: today.map_or(context.now, |today| today.timestamp()),
    }
}

/// Returns the arguments of a retention run.
pub(crate) fn order(context: &Context) -> Retention<'_> {
    Retention {
        policy: policy(context),
        digests: context.digest_settings(),
    }
}

/// Describes why a session is evicted.
pub(crate) fn why(reason: EvictionReason) -> &'static str {
    match reason {
        EvictionReason::Age { .. } => "age (days since it was last read)",
        EvictionReason::Budget => "budget (over the soft cap)",
        EvictionReason::HardCap => "budget (over the hard cap)",
        EvictionReason::Overflow => "overflow (over the hard cap, no digest)",
    }
}

/// Returns the warning about raw text that was lost, or `None` if none was.
pub(crate) fn loss_message(context: &Context, done: &EvictionSummary) -> Option<String> {
    let (sessions, bytes) = done.lost().fold((0, 0), |(n, bytes), drop| (n + 1, bytes + drop.bytes));
    (sessions > 0).then(|| {
        format!(
            "DATA LOSS: {} of {} evicted without a digest, because raw text was over its hard cap of {}",
            measure::bytes(bytes),
            plural(sessions, "session"),
            measure::bytes(context.config.retention.raw_hard_cap_bytes)
        )
    })
}

/// Returns the warning that distilled memory is above its cap, or `None` if it is not. Distilled memory is never
/// dropped, so the user has to decide.
pub(crate) fn distilled_message(context: &Context, bytes: u64) -> Option<String> {
    let cap = context.config.retention.distilled_cap_bytes;
    (bytes > cap).then(|| {
        format!(
            "distilled memory is above its cap and is never dropped automatically: {} > {}; \
             raise `session_memory.retention.distilled_cap_bytes`, or `boswell forget --with-digest`",
            measure::bytes(bytes),
            measure::bytes(cap)
        )
    })
}

/// Warns of raw text that was lost and runs the configured `notify` command. A loss has its own exit code.
pub(crate) fn tell_loss(ui: &mut Ui, context: &Context, done: &EvictionSummary) -> Outcome {
    let Some(message) = loss_message(context, done) else {
        return Outcome::Done;
    };
    let lost: Vec<&PlannedEviction> = done.lost().collect();
    let bytes: u64 = lost.iter().map(|drop| drop.bytes).sum();
    ui.warning(message);
    for drop in lost.iter().take(LOST_SHOWN) {
        ui.warning(format_args!("lost: {}", drop.session_uid));
    }
    ui.hint(
        "raise `session_memory.retention.raw_hard_cap_bytes`, or run `boswell doctor --deep` to see what is damaged",
    );
    let event = LossEvent {
        event: DATA_LOSS,
        at: context.now,
        bytes,
        sessions: lost.iter().map(|drop| (*drop).into()).collect(),
    };
    if let Err(reason) = notify(&context.config.notify, &event) {
        ui.warning(format_args!("the notify command failed: {reason}"));
    }
    Outcome::DataLost
}

/// Runs the configured command with an event on its standard input, without a shell.
fn notify(words: &[String], event: &LossEvent) -> Result<(), String> {
    let event = answers::to_value(event).map_err(|error| error.to_string())?;
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{program}`: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command may ignore its input: running it is notification enough.
        _ = writeln!(stdin, "{event}");
    }
    let status = child.wait().map_err(|error| format!("`{program}`: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{program}`: {status}")),
    }
}

/// Warns if distilled memory is above its cap.
pub(crate) fn warn_distilled(ui: &mut Ui, context: &Context, bytes: u64) {
    if let Some(message) = distilled_message(context, bytes) {
        ui.warning(message);
    }
}
