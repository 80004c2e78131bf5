//! A toy agent, for tests only: the smallest possible reader on the code that all readers share. It shows what a
//! reader has to define, and proves that the shared code does not depend on any agent.
//!
//! Its log: `{"who":"me","say":"…"}`, `{"who":"bot","say":"…"}`, `{"who":"bot","run":"…","id":"1"}`, and
//! `{"who":"tool","id":"1","code":0,"say":"…"}`.

use serde::{Deserialize, Serialize};

use crate::command::test_runner;
use crate::event::{Actor, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::joins::{CallJoiner, CallResult, OpenCall, call_kinds};
use crate::reading::{Delta, Fate, Fault, Unknown};
use crate::records::{each_object, trim};
use crate::turns::TurnTracker;
use crate::wire::{WireNumber, WireText, wire};
use crate::wording::summary;

wire! {
    struct ToyRecord<'a> {
        who: WireText<'a> = "who",
        say: WireText<'a> = "say",
        run: WireText<'a> = "run",
        id: WireText<'a> = "id",
        code: WireNumber = "code",
    }
}

/// Everything the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ToyState {
    next_seq: u64,
    tools: CallJoiner,
    turns: TurnTracker,
}

impl ToyState {
    fn take(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) {
        let bytes = trim(bytes);
        let mut fate = if bytes.is_empty() { Fate::Blank } else { Fate::Fault };
        let broken = each_object(bytes, &["{\"who\":"], &mut |json| {
            let record: ToyRecord<'_> = serde_json::from_slice(json)?;
            fate = self.record(line, &record, delta);
            Ok(())
        });
        if let Some(broken) = broken {
            let (reason, mended) = (broken.reason, broken.mended);
            delta.faults.push(Fault { line, reason, mended });
        }
        delta.fates.count(fate);
        self.turns.finish_line(line);
    }

    fn close(&self, delta: &mut Delta) {
        self.turns.push_open_turn(delta);
    }

    fn record(&mut self, line: u64, record: &ToyRecord<'_>, delta: &mut Delta) -> Fate {
        let first = delta.events.len();
        let id = record.id.or_empty();
        match (record.who.or_empty(), record.run.get()) {
            ("me", _) => {
                let event = event(line, Kind::UserMsg, Actor::Human, record.say.or_empty());
                self.push(SessionEvent { trigger: true, ..event }, delta);
            }
            ("bot", None) => {
                let event = event(line, Kind::AssistantMsg, Actor::Agent, record.say.or_empty());
                self.push(event, delta);
            }
            ("bot", Some(command)) => {
                let mut event = event(line, Kind::ToolCall, Actor::Agent, command);
                event.kinds = call_kinds(
                    false,
                    test_runner(command).is_some(),
                    self.tools.is_retry("run", command),
                );
                let open = OpenCall::new(self.next_seq, None, "run", command);
                self.push(event, delta);
                self.tools.add_call(id, open, delta);
            }
            ("tool", _) => {
                let exit_code = record.code.0.and_then(|code| i32::try_from(code).ok());
                let success = exit_code.map(|code| code == 0);
                let ending = CallResult {
                    seq: self.next_seq,
                    ts: None,
                    success,
                    exit_code,
                    denied: false,
                };
                let event = event(line, Kind::ToolResult, Actor::Tool, record.say.or_empty());
                self.push(SessionEvent { success, ..event }, delta);
                self.tools.add_result(id, ending, delta);
            }
            (who, _) => {
                let unknown = Unknown {
                    version: None,
                    record: who.to_owned(),
                };
                *delta.unknown.entry(unknown).or_default() += 1;
                return Fate::Unknown;
            }
        }
        self.turns.assign_turns(first, delta, &mut self.tools);
        Fate::Event
    }

    fn push(&mut self, event: SessionEvent, delta: &mut Delta) {
        let seq = self.next_seq;
        self.next_seq += 1;
        delta.events.push(SessionEvent { seq, ..event });
    }
}

fn event(line: u64, kind: Kind, actor: Actor, said: &str) -> SessionEvent {
    SessionEvent {
        seq: 0,
        parent_seq: None,
        id: format!("L{line}#0").into(),
        ts: None,
        kinds: Kinds::of(kind),
        role: Role::System,
        actor,
        trigger: false,
        turn: None,
        tool: None,
        summary: summary(said),
        part: PartKind::Log,
        line,
        text_line: None,
        block: 0,
        call_id: None,
        duration_ms: None,
        success: None,
        exit_code: None,
        files: Vec::new(),
        tokens: None,
        is_sidechain: false,
        spill: None,
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::lines::{LineBody, Lines};
    use crate::reading::Reading;

    const LOG: &str = r#"{"who":"me","say":"make it green"}
{"who":"bot","run":"cargo test","id":"1"}
{"who":"tool","id":"1","code":101,"say":"1 failed"}
{"who":"bot","run":"cargo test","id":"2"}{"who":"tool","id":"2","code":0,"say":"ok"}
{"who":"bot","say":"green
{"who":"cat","say":"meow"}

{"who":"me","say":"thanks"}
"#;

    /// Reads the log, serializing the state after every `lines_per_piece` lines.
    fn read(lines_per_piece: u64) -> Reading {
        let mut state = ToyState::default();
        let mut reading = Reading::default();
        let mut delta = Delta::default();
        let mut lines = Lines::new(LOG.as_bytes());
        while let Some(line) = lines.next().unwrap() {
            let LineBody::Bytes(bytes) = line.body else { continue };
            state.take(line.number, bytes, &mut delta);
            if line.number % lines_per_piece == 0 {
                state.close(&mut delta);
                reading.apply(std::mem::take(&mut delta));
                let kept = postcard::to_stdvec(&state).unwrap();
                state = postcard::from_bytes(&kept).unwrap();
            }
        }
        state.close(&mut delta);
        reading.apply(delta);
        reading
    }

    #[test]
    fn a_toy_agent_reads_with_the_shared_code() {
        let reading = read(100);
        let events = reading.events.iter().map(|event| {
            let turn = event.turn.unwrap_or_default();
            let ended = event.success.map(|success| if success { " ok" } else { " failed" });
            format!(
                "{} t{turn} {:?}{}: {}",
                event.line,
                event.kinds,
                ended.unwrap_or_default(),
                event.summary
            )
        });
        assert_snapshot!(events.collect::<Vec<_>>().join("\n"), @"
        1 t1 user_msg: make it green
        2 t1 test_run+tool_call failed: cargo test
        3 t1 tool_result failed: 1 failed
        4 t1 retry+test_run+tool_call ok: cargo test
        4 t1 tool_result ok: ok
        8 t2 user_msg: thanks
        ");
        assert_eq!(
            (reading.faults.len(), reading.unknown.len(), reading.turns.len()),
            (1, 1, 2)
        );
        assert_eq!(
            (reading.fates.lines(), reading.fates.event, reading.fates.blank),
            (8, 5, 1)
        );
    }

    #[test]
    fn a_toy_agent_reads_the_same_in_pieces() {
        for lines_per_piece in 1..9 {
            assert_eq!(read(lines_per_piece), read(100), "{lines_per_piece} lines at a time");
        }
    }
}
