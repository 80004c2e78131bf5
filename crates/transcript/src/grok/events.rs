//! `events.jsonl`: Grok's measurements of itself. This only adds what the log does not contain; `phase_changed` is
//! repeated with every chunk of streamed text.

use super::record::Happening;
use super::tools::Measured;
use super::{Place, State, Taken, unknown};
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

impl State {
    pub(super) fn take_happening(&mut self, row: &Happening<'_>, taken: &mut Taken, delta: &mut Delta) {
        let mut place = Place::new(PartKind::Events, taken, self.events_beside, delta);
        place.ts = row.ts.get().and_then(|text| text.parse().ok());
        if self.facts.is_older_than_the_fork(place.ts) {
            place.is_inherited = true;
        } else {
            self.facts.time(place.ts);
        }
        let is_known = self.happening(&mut place, row, delta);
        if !is_known {
            let version = self.schema_version.clone();
            unknown(version.as_deref(), &format!("events/{}", row.kind.or_empty()), delta);
        }
        // These lines belong to another file, so no turn's range of lines contains them, but a turn's time does.
        let turn = self.turn_at(&place);
        for event in &mut delta.events[place.first..] {
            event.turn = turn.filter(|_| !place.is_inherited);
            self.latest_beside = self.latest_beside.max(place.ts.filter(|_| !place.is_inherited));
        }
        taken.block = place.block;
        taken.was(match is_known {
            _ if delta.events.len() > place.first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Reads a record by its type. Returns `false` if the type is unknown.
    fn happening(&mut self, place: &mut Place<'_>, row: &Happening<'_>, delta: &mut Delta) -> bool {
        let has_log = self.conversation == Some(PartKind::Log);
        match row.kind.or_empty() {
            "turn_started" => {
                super::changed(&mut self.schema_version, row.schema_version.get());
                if !has_log {
                    self.facts.model_beside(row.model_id.get());
                }
            }
            // The log's `turn_completed` has it, with the tokens.
            "turn_ended" if has_log => {}
            "turn_ended" => self.turn_ended(place, row, delta),
            "tool_completed" => self.tool_completed(row, delta),
            "permission_resolved" => self.permission_resolved(place, row, has_log, delta),
            "yolo_toggled" => {
                let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Human);
                let state = if row.enabled.0 { "on" } else { "off" };
                event.summary = format!("approve everything: {state}").into();
                self.push(place, event, delta);
            }
            "goal_classifier_verdict" => {
                self.note(place, &format!("goal verdict: {}", row.verdict.or_empty()), delta);
            }
            "goal_verifier_aggregate_verdict" => {
                let verdict = if row.achieved.0 { "achieved" } else { "not achieved" };
                self.note(place, &format!("goal verified: {verdict}"), delta);
            }
            "mcp_server_failed" => {
                let what = format!("MCP server {} failed", row.server_name.or_empty());
                self.failure(place, &what, row.error_message.get(), delta);
            }
            kind if SKIPPED.contains(&kind) => {}
            kind if SKIPPED_FAMILIES.iter().any(|family| kind.starts_with(family)) => {}
            _ => return false,
        }
        true
    }

    fn turn_ended(&mut self, place: &mut Place<'_>, row: &Happening<'_>, delta: &mut Delta) {
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
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
        self.push(place, event, delta);
    }

    /// Rows of the source `workspace` repeat the shell's.
    fn tool_completed(&mut self, row: &Happening<'_>, delta: &mut Delta) {
        if let Some(id) = row.call_id.get().filter(|_| row.source.or_empty() != "workspace") {
            let measured = Measured {
                duration_ms: row.duration_ms.0,
                worked: row.outcome.get().map(|outcome| outcome == "success"),
            };
            self.measured(id, measured, delta);
        }
    }

    /// Reads a denial by the human that may be missing in the log. The log always has the text of a denial, and the
    /// turn that was cancelled instead.
    fn permission_resolved(&mut self, place: &mut Place<'_>, row: &Happening<'_>, has_log: bool, delta: &mut Delta) {
        let told_by_the_log = has_log && matches!(row.decision.or_empty(), "followup" | "cancelled");
        if !matches!(row.decision.or_empty(), "deny" | "followup" | "cancelled") || told_by_the_log {
            return;
        }
        if self.denials > 0 {
            self.denials -= 1;
            return;
        }
        if self.facts.is_human() {
            self.denials_beside += 1;
            let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Human);
            event.kinds = event.kinds.and(Kind::HumanIntervention);
            event.tool = row.tool_name.get().map(Into::into);
            event.summary = summary(&format!("refused: {}", row.tool_name.or_empty()));
            self.push(place, event, delta);
        }
    }

    /// Returns the turn that was open at the time of a row.
    fn turn_at(&self, place: &Place<'_>) -> Option<u32> {
        let ts = place.ts?;
        let at = self
            .turn_starts
            .iter()
            .rposition(|start| start.is_some_and(|start| start <= ts))?;
        u32::try_from(at + 1).ok()
    }
}
