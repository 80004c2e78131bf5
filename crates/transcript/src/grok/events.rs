//! `events.jsonl`: Grok's measurements of itself. This only adds what the log does not contain; `phase_changed` is
//! repeated with every chunk of streamed text.

use super::record::EventRow;
use super::tools::CallMeasurement;
use super::{GrokLineProgress, GrokState, RowPosition, unknown};
use crate::event::{Actor, Kind, PartKind, Role};
use crate::reading::{Delta, Fate};
use crate::wording::summary;

/// Types that are known and give no event. The log has turns, tools and messages; phases are for Grok's window.
const SKIPPED: &[&str] = &[
    "first_token",
    "interjected",
    "loop_started",
    "permission_requested",
    "phase_changed",
    "tool_started",
];

/// Prefixes of families of types that are known and give no event: Grok monitors itself and its servers.
const SKIPPED_FAMILIES: &[&str] = &["goal_", "laziness_", "mcp_", "todo_gate_"];

impl GrokState {
    pub(super) fn take_happening(&mut self, row: &EventRow<'_>, progress: &mut GrokLineProgress, delta: &mut Delta) {
        let mut position = RowPosition::new(PartKind::Events, progress, self.events_beside, delta);
        position.ts = row.ts.get().and_then(|text| text.parse().ok());
        if self.facts.is_before_fork(position.ts) {
            position.is_inherited = true;
        } else {
            self.facts.note_time(position.ts);
        }
        let is_known = self.dispatch_event(&mut position, row, delta);
        if !is_known {
            let version = self.schema_version.clone();
            unknown(version.as_deref(), &format!("events/{}", row.kind.or_empty()), delta);
        }
        // These lines belong to another file, so no turn's range of lines contains them, but a turn's time does.
        let turn = self.turn_at(&position);
        for event in &mut delta.events[position.first..] {
            event.turn = turn.filter(|_| !position.is_inherited);
            self.latest_beside = self.latest_beside.max(position.ts.filter(|_| !position.is_inherited));
        }
        progress.block = position.block;
        progress.add_fate(match is_known {
            _ if delta.events.len() > position.first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Reads a record by its type. Returns `false` if the type is unknown.
    fn dispatch_event(&mut self, position: &mut RowPosition<'_>, row: &EventRow<'_>, delta: &mut Delta) -> bool {
        let has_log = self.conversation == Some(PartKind::Log);
        match row.kind.or_empty() {
            "turn_started" => {
                super::changed(&mut self.schema_version, row.schema_version.get());
                if !has_log {
                    self.facts.set_model_beside(row.model_id.get());
                }
            }
            // The log's `turn_completed` has it, with the tokens.
            "turn_ended" if has_log => {}
            "turn_ended" => self.turn_ended(position, row, delta),
            "tool_completed" => self.tool_completed(row, delta),
            "permission_resolved" => self.permission_resolved(position, row, has_log, delta),
            "yolo_toggled" => {
                let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Human);
                let state = if row.enabled.0 { "on" } else { "off" };
                event.summary = format!("approve everything: {state}").into();
                self.push(position, event, delta);
            }
            "goal_classifier_verdict" => {
                self.push_note(position, &format!("goal verdict: {}", row.verdict.or_empty()), delta);
            }
            "goal_verifier_aggregate_verdict" => {
                let verdict = if row.achieved.0 { "achieved" } else { "not achieved" };
                self.push_note(position, &format!("goal verified: {verdict}"), delta);
            }
            "mcp_server_failed" => {
                let what = format!("MCP server {} failed", row.server_name.or_empty());
                self.failure(position, &what, row.error_message.get(), delta);
            }
            kind if SKIPPED.contains(&kind) => {}
            kind if SKIPPED_FAMILIES.iter().any(|family| kind.starts_with(family)) => {}
            _ => return false,
        }
        true
    }

    fn turn_ended(&mut self, position: &mut RowPosition<'_>, row: &EventRow<'_>, delta: &mut Delta) {
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = match row.outcome.or_empty() {
            "completed" => {
                event.kinds = event.kinds.and(Kind::Completion);
                "turn finished".into()
            }
            "cancelled" if row.category.or_empty() == "hook_denied" => "turn stopped by a hook".into(),
            "cancelled" => {
                if self.facts.is_human() {
                    (event.kinds, event.actor) = (event.kinds.and(Kind::HumanIntervention), Actor::Human);
                }
                "turn cancelled".into()
            }
            "error" => {
                (event.kinds, event.success) = (event.kinds.and(Kind::Error), Some(false));
                "turn failed".into()
            }
            outcome => summary(&format!("turn ended: {outcome}")),
        };
        self.push(position, event, delta);
    }

    /// Rows of the source `workspace` repeat the shell's.
    fn tool_completed(&mut self, row: &EventRow<'_>, delta: &mut Delta) {
        if let Some(id) = row.call_id.get().filter(|_| row.source.or_empty() != "workspace") {
            let measured = CallMeasurement {
                duration_ms: row.duration_ms.0,
                succeeded: row.outcome.get().map(|outcome| outcome == "success"),
            };
            self.add_measurement(id, measured, delta);
        }
    }

    /// Reads a denial by the human that may be missing in the log. The log always has the text of a denial, and the
    /// turn that was cancelled instead.
    fn permission_resolved(
        &mut self,
        position: &mut RowPosition<'_>,
        row: &EventRow<'_>,
        has_log: bool,
        delta: &mut Delta,
    ) {
        let is_in_log = has_log && matches!(row.decision.or_empty(), "followup" | "cancelled");
        if !matches!(row.decision.or_empty(), "deny" | "followup" | "cancelled") || is_in_log {
            return;
        }
        if self.denials > 0 {
            self.denials -= 1;
            return;
        }
        if self.facts.is_human() {
            self.denials_beside += 1;
            let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Human);
            event.kinds = event.kinds.and(Kind::HumanIntervention);
            event.tool = row.tool_name.get().map(Into::into);
            event.summary = summary(&format!("refused: {}", row.tool_name.or_empty()));
            self.push(position, event, delta);
        }
    }

    /// Returns the turn that was open at the time of a row.
    fn turn_at(&self, position: &RowPosition<'_>) -> Option<u32> {
        let ts = position.ts?;
        let at = self
            .turn_starts
            .iter()
            .rposition(|start| start.is_some_and(|start| start <= ts))?;
        u32::try_from(at + 1).ok()
    }
}
