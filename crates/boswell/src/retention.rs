//! What every door that lets raw text go shares: the policy as the configuration has it, and how a loss is told.

use std::io::Write;
use std::process::{Command, Stdio};

use memory::retention::{DATA_LOSS, Done, Drop, Policy, Reason, Retention};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Outcome;
use crate::render::text::plural;
use crate::ui::{Ui, measure};

/// So many lost sessions are named.
const LOST_SHOWN: usize = 10;

/// The caps, and when this day began here.
pub(crate) fn policy(context: &Context) -> Policy {
    let retention = &context.config.retention;
    let today = context.now.to_zoned(context.zone.clone()).start_of_day();
    Policy {
        raw_soft_cap_bytes: retention.raw_soft_cap_bytes,
        raw_hard_cap_bytes: retention.raw_hard_cap_bytes,
        raw_max_age_days: retention.raw_max_age_days,
        distilled_cap_bytes: retention.distilled_cap_bytes,
        today_began: today.map_or(context.now, |today| today.timestamp()),
    }
}

/// All that a retention run is told.
pub(crate) fn order(context: &Context) -> Retention<'_> {
    Retention {
        policy: policy(context),
        digests: context.digest_settings(),
    }
}

/// Why a session goes, for people.
pub(crate) fn why(reason: Reason) -> String {
    match reason {
        Reason::Age { days } => format!("here for {}", plural(days.into(), "day")),
        Reason::Budget => "over the soft cap".to_owned(),
        Reason::HardCap => "over the hard cap".to_owned(),
        Reason::Overflow => "over the hard cap, without a digest".to_owned(),
    }
}

pub(crate) fn drop_json(drop: &Drop) -> Value {
    let days = match drop.reason {
        Reason::Age { days } => Some(days),
        Reason::Budget | Reason::HardCap | Reason::Overflow => None,
    };
    json!({
        "session_uid": drop.session_uid,
        "agent": drop.flavor,
        "bytes": drop.bytes,
        "reason": drop.reason.as_str(),
        "age_days": days,
        "needs_digest": drop.needs_digest,
    })
}

/// Says loudly what was lost, and tells whoever the configuration names. A loss is an exit code of its own.
pub(crate) fn tell_loss(ui: &mut Ui, context: &Context, done: &Done) -> Outcome {
    let lost: Vec<&Drop> = done.lost().collect();
    if lost.is_empty() {
        return Outcome::Done;
    }
    let bytes: u64 = lost.iter().map(|drop| drop.bytes).sum();
    ui.warning(format_args!(
        "DATA LOSS: {} of {} went without a digest, because raw text was over its hard cap of {}",
        measure::bytes(bytes),
        plural(lost.len() as u64, "session"),
        measure::bytes(context.config.retention.raw_hard_cap_bytes)
    ));
    for drop in lost.iter().take(LOST_SHOWN) {
        ui.warning(format_args!("lost: {}", drop.session_uid));
    }
    ui.hint("raise `session_memory.retention.raw_hard_cap_bytes`, or `boswell doctor --deep` says what is damaged");
    let sessions: Vec<Value> = lost.iter().map(|drop| drop_json(drop)).collect();
    let event = json!({
        "schema": "boswell.event/1",
        "event": DATA_LOSS,
        "at": context.now,
        "bytes": bytes,
        "sessions": sessions,
    });
    if let Err(reason) = notify(&context.config.notify, &event) {
        ui.warning(format_args!("the notify command failed: {reason}"));
    }
    Outcome::DataLost
}

/// Runs the command of the configuration with an event on its standard input. No shell is asked.
fn notify(words: &[String], event: &Value) -> Result<(), String> {
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
        // A command that does not listen is told all the same, by being run.
        _ = writeln!(stdin, "{event}");
    }
    let status = child.wait().map_err(|error| format!("`{program}`: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{program}`: {status}")),
    }
}
