//! Claude Code's log: one JSON object per line, appended while the agent runs.
//!
//! The format is undocumented and changes without notice. So every field is optional, a record of an
//! unknown type is counted as unknown, and no line can fail the others. Lines hold two records glued
//! together, or half of one; both are read as far as they go.

mod bills;
mod body;
mod facts;
mod meta;
mod nodes;
mod queue;
mod record;
mod said;
mod state_records;
mod tools;
mod turns;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use body::bodies;
pub use meta::SubagentMeta;

use self::bills::{Bills, Row};
use self::facts::Facts;
use self::nodes::{Nodes, hash};
use self::queue::Queue;
use self::record::{Block, Content, Record};
use self::said::{Said, denial_words, is_denial, judge};
use self::tools::{Ending, OpenCall, Tools, exit_code, is_shell, kinds_of_call};
use self::turns::Turns;
use crate::agent::Origin;
use crate::command::test_runner;
use crate::event::{Actor, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::reading::{Delta, Fate, Fault, Unknown};
use crate::repair::repair;
use crate::session::LineageKind;
use crate::wording::{summary, word};

/// Version of this reader: a change in what it makes of the same lines raises it.
pub(crate) const VERSION: u16 = 1;

/// All that the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    next_seq: u64,
    facts: Facts,
    nodes: Nodes,
    bills: Bills,
    tools: Tools,
    queue: Queue,
    turns: Turns,
    /// The last warning before local commands, by hash of its `uuid`.
    caveat: Option<u64>,
    permission_mode: Option<Box<str>>,
    mode: Option<Box<str>>,
}

/// One record being read, and where it stands.
struct Place<'r> {
    record: &'r Record<'r>,
    line: u64,
    ts: Option<Timestamp>,
    /// What the next event follows from.
    parent: Option<u64>,
    /// How many blocks of this line went before.
    block: u32,
    /// The index of the record's first event in the delta.
    first: usize,
}

impl State {
    pub(crate) fn new(origin: Origin) -> Self {
        Self { facts: Facts::new(origin), ..Self::default() }
    }

    /// Reads one line.
    pub(crate) fn take(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) {
        let fate = self.take_line(line, bytes, delta);
        delta.fates.count(fate);
        self.turns.line_over(line);
    }

    /// A line too long to hold.
    pub(crate) fn pass_over(&mut self, line: u64, reason: String, delta: &mut Delta) {
        delta.faults.push(Fault { line, reason, mended: false });
        delta.fates.count(Fate::Fault);
        self.turns.line_over(line);
    }

    /// Puts into the delta what is known after the last line of a piece.
    pub(crate) fn close(&self, delta: &mut Delta) {
        self.turns.show(delta);
        delta.session = Some(self.facts.session(&self.turns));
    }

    fn take_line(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) -> Fate {
        let bytes = trim(bytes);
        if bytes.is_empty() {
            return Fate::Blank;
        }
        let mut taken = Taken { line, fate: None, block: 0 };
        let Err((from, reason)) = self.take_records(bytes, &mut taken, delta) else {
            return taken.fate.unwrap_or(Fate::Skipped);
        };
        let rest = &bytes[from..];
        let mended = match repair(rest) {
            Some(mended) if self.take_whole(&mended, &mut taken, delta) => Some(format!("mended: {reason}")),
            _ => self.take_behind_a_tear(rest, &mut taken, delta).then(|| format!("torn record skipped: {reason}")),
        };
        let reason = mended.clone().unwrap_or(reason);
        delta.faults.push(Fault { line, reason, mended: mended.is_some() || taken.fate.is_some() });
        taken.fate.unwrap_or(Fate::Fault)
    }

    /// Reads the records that stand on one line, and says where and why it had to stop.
    fn take_records(&mut self, bytes: &[u8], taken: &mut Taken, delta: &mut Delta) -> Result<(), (usize, String)> {
        let mut at = 0;
        while let Some(start) = bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
            at += start;
            if bytes[at] != b'{' {
                return Err((at, "expected a JSON object".to_owned()));
            }
            let mut records = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Record<'_>>();
            match records.next() {
                Some(Ok(record)) => self.take_record(&record, bytes.len(), taken, delta),
                Some(Err(error)) => return Err((at, error.to_string())),
                None => return Ok(()),
            }
            at += records.byte_offset();
        }
        Ok(())
    }

    /// Reads a line only if all of it can be read.
    fn take_whole(&mut self, bytes: &[u8], taken: &mut Taken, delta: &mut Delta) -> bool {
        let records = serde_json::Deserializer::from_slice(bytes).into_iter::<Record<'_>>();
        let Ok(records) = records.collect::<Result<Vec<_>, _>>() else { return false };
        for record in &records {
            self.take_record(record, bytes.len(), taken, delta);
        }
        true
    }

    /// A crash can leave the beginning of a record before a whole one on the same line.
    fn take_behind_a_tear(&mut self, bytes: &[u8], taken: &mut Taken, delta: &mut Delta) -> bool {
        const OPENINGS: [&[u8]; 3] = [b"{\"type\":", b"{\"parentUuid\":", b"{\"uuid\":"];
        // Each try may run over the rest of the line: a few are enough, and keep the cost in bounds.
        let starts = memchr::memmem::find_iter(&bytes[1..], b"{\"").map(|at| at + 1);
        let likely = starts.filter(|at| OPENINGS.iter().any(|opening| bytes[*at..].starts_with(opening)));
        for at in likely.take(32) {
            let mut records = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Record<'_>>();
            let Some(Ok(record)) = records.next() else { continue };
            let whole = record.uuid.get().or(record.session_id.get()).is_some();
            if whole && bytes[at + records.byte_offset()..].iter().all(u8::is_ascii_whitespace) {
                self.take_record(&record, bytes.len(), taken, delta);
                return true;
            }
        }
        false
    }

    fn take_record(&mut self, record: &Record<'_>, length: usize, taken: &mut Taken, delta: &mut Delta) {
        let ts = record.timestamp.get().and_then(|text| text.parse().ok());
        let stamp = stamp(record, length);
        if let Some(uuid) = record.uuid.get()
            && self.nodes.is_copy(uuid, stamp)
        {
            taken.was(Fate::Skipped);
            return;
        }
        self.facts.heard(record, ts);
        let parent = self.parent(record);
        let first = delta.events.len();
        let mut place = Place { record, line: taken.line, ts, parent, block: taken.block, first };
        let known = self.dispatch(&mut place, delta);
        taken.block = place.block;
        self.turns.seal(first, delta, &mut self.tools);
        if record.kind.or_empty() == "assistant" {
            self.bill(&place, delta);
        }
        if let Some(uuid) = record.uuid.get() {
            self.nodes.add(uuid, delta.events[first..].last().map(|event| event.seq).or(parent), stamp);
        }
        taken.was(match known {
            _ if delta.events.len() > first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// The event a record follows from: by the graph, else by the order of the file.
    fn parent(&self, record: &Record<'_>) -> Option<u64> {
        let before = self.next_seq.checked_sub(1);
        match record.parent_uuid.get().or(record.logical_parent_uuid.get()) {
            Some(uuid) => self.nodes.seq(uuid).unwrap_or(before),
            None if record.uuid.get().is_some() => None,
            None => before,
        }
    }

    /// Reads a record by its type, and says whether the type is known.
    fn dispatch(&mut self, place: &mut Place<'_>, delta: &mut Delta) -> bool {
        match place.record.kind.or_empty() {
            "user" => self.user(place, delta),
            "assistant" => self.assistant(place, delta),
            "progress" => self.progress(place, delta),
            "queue-operation" => self.queue_operation(place, delta),
            _ => return self.state_record(place, delta),
        }
        true
    }

    fn user(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        let Some(message) = &place.record.message.0 else { return };
        match &message.content {
            Content::Nothing => {}
            Content::Text(text) => self.user_text(place, text, delta),
            Content::Blocks(blocks) => {
                let has_words = blocks.iter().any(|block| block.text.get().is_some());
                for block in blocks {
                    match block.kind.or_empty() {
                        "text" => self.user_text(place, block.text.or_empty(), delta),
                        "tool_result" => self.tool_result(place, block, delta),
                        // A picture belongs to the words beside it; on its own it is the prompt.
                        "image" | "document" if has_words => place.block += 1,
                        "image" | "document" => self.user_text(place, &format!("[{}]", block.kind.or_empty()), delta),
                        other => unknown_block(place, other, delta),
                    }
                }
            }
        }
    }

    fn user_text(&mut self, place: &mut Place<'_>, text: &str, delta: &mut Delta) {
        let record = place.record;
        let after_caveat = self.caveat.is_some() && record.parent_uuid.get().map(hash) == self.caveat;
        let said = judge(record, text, self.is_delegated(record), after_caveat);
        if matches!(said, Said::Prompt(_) | Said::Harness(_)) {
            self.queue.arrived(text);
        }
        if matches!(said, Said::Prompt(_)) && self.queue.is_echo(text) {
            place.block += 1;
            return;
        }
        if matches!(said, Said::Harness(said) if said.contains("Caveat: The messages below")) {
            self.caveat = record.uuid.get().map(hash);
        }
        self.say(place, &said, delta);
    }

    /// Makes the event of a text of role `user`.
    fn say(&mut self, place: &mut Place<'_>, said: &Said<'_>, delta: &mut Delta) {
        let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
        match said {
            Said::Nothing => {
                place.block += 1;
                return;
            }
            Said::Prompt(words) => {
                event.summary = summary(words);
                event.trigger = true;
                if self.is_rewind(place.record) {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
            }
            Said::Command { name, args, local } => {
                event.summary = summary(format!("{name} {args}").trim_end());
                event.trigger = !local;
            }
            Said::Shell(command) => event.summary = summary(&format!("! {command}")),
            Said::Note(note) => event.summary = summary(&format!("# {note}")),
            Said::Interrupt => {
                event.kinds = Kinds::of(Kind::Lifecycle).and(Kind::HumanIntervention);
                event.summary = "interrupted by the user".into();
            }
            Said::OtherAgent(words) => (event.actor, event.summary) = (Actor::OtherAgent, summary(words)),
            Said::Delegated(words) => (event.actor, event.summary) = (Actor::Agent, summary(words)),
            Said::Program(words) => (event.actor, event.summary) = (Actor::Harness, summary(words)),
            Said::Harness(words) => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(words);
            }
        }
        self.push(place, event, delta);
    }

    /// Whether a prompt hangs on a record from before the last trigger: the human went back.
    fn is_rewind(&mut self, record: &Record<'_>) -> bool {
        let parent = record.parent_uuid.get().and_then(|uuid| self.nodes.seq(uuid)).flatten();
        parent.is_some_and(|parent| self.turns.rewind_to(parent))
    }

    fn is_delegated(&self, record: &Record<'_>) -> bool {
        record.is_sidechain.0 || self.facts.is_subagent()
    }

    fn tool_result(&mut self, place: &mut Place<'_>, block: &Block<'_>, delta: &mut Delta) {
        let record = place.record;
        let text = block.content.text();
        let id = block.tool_use_id.or_empty();
        let call = self.tools.waiting(id).map(|open| (open.seq, open.tool.clone()));
        let tool = call.as_ref().map(|(_, tool)| &**tool).unwrap_or_default();
        let denied = block.is_error.0 && is_denial(record, &text);
        let said = &record.tool_result.object;
        let running = said.background.get().is_some();

        let mut event = place.event(Kind::ToolResult, Role::Tool, Actor::Tool);
        event.tool = call.as_ref().map(|(_, tool)| tool.clone());
        event.call_id = block.tool_use_id.get().map(Into::into);
        event.summary = summary(&text);
        event.success = Some(!block.is_error.0);
        event.exit_code = match exit_code(&text).filter(|_| block.is_error.0) {
            None if is_shell(tool) && !block.is_error.0 && !running && !said.interrupted.0 => Some(0),
            code => code.or(said.exit_code.0.and_then(|code| i32::try_from(code).ok())),
        };
        event.spill = spill(said.spilled_to.get(), &text);
        if denied {
            // The tool never ran: it is the human who acts here.
            (event.actor, event.kinds) = (Actor::Human, event.kinds.and(Kind::HumanIntervention));
        } else if block.is_error.0 {
            event.kinds = event.kinds.and(Kind::Error);
        }
        if event.parent_seq.is_none() || record.parent_uuid.get().is_none() {
            event.parent_seq = call.as_ref().map(|(seq, _)| *seq).or(event.parent_seq);
        }
        let ending = Ending {
            seq: self.next_seq,
            ts: place.ts,
            success: event.success,
            exit_code: event.exit_code,
            denied,
        };
        self.child_of(place, id);
        let follows = place.parent;
        self.push(place, event, delta);
        self.tools.result(id, ending, delta);
        if !self.is_delegated(record) {
            self.words_in_a_result(place, tool, &text, denied, delta);
        }
        // Results of one record are siblings: each follows from the calls, not from the result before.
        place.parent = follows.or(place.parent);
    }

    /// A result may carry a human's words: why a call was denied, what was answered, that a plan is good.
    fn words_in_a_result(&mut self, place: &mut Place<'_>, tool: &str, text: &str, denied: bool, delta: &mut Delta) {
        let answers = place.record.tool_result.object.answers;
        let (words, trigger) = if denied {
            let Some((words, directs)) = denial_words(text) else { return };
            (summary(words), directs)
        } else if answers.0.is_some() || tool == "AskUserQuestion" {
            (body::answers(answers.json(), text), false)
        } else if text.starts_with("User has approved your plan") {
            ("approved the plan".into(), false)
        } else {
            return;
        };
        let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
        event.block -= 1;
        event.id = format!("{}.words", place.id(event.block)).into();
        event.parent_seq = self.next_seq.checked_sub(1);
        event.summary = words;
        event.trigger = trigger;
        if denied {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(place, event, delta);
        place.block -= 1;
    }

    /// The result of a call that made a subagent names it.
    fn child_of(&mut self, place: &Place<'_>, call_id: &str) {
        let said = &place.record.tool_result.object;
        if let Some(agent_id) = said.agent_id.get() {
            self.facts.child(LineageKind::Subagent, agent_id, call_id, place.line, said.agent_type.get());
        }
    }

    fn assistant(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        let record = place.record;
        let Some(message) = &record.message.0 else { return };
        let synthetic = message.model.or_empty() == "<synthetic>";
        if !record.is_sidechain.0 || self.facts.is_subagent() {
            self.facts.model(message.model.get().filter(|_| !synthetic));
        }
        let one;
        let blocks: &[Block<'_>] = match &message.content {
            Content::Nothing => &[],
            Content::Blocks(blocks) => blocks,
            Content::Text(text) => {
                one = [Block { text: crate::wire::Text(Some(text.as_ref().into())), ..Block::default() }];
                &one
            }
        };
        for block in blocks {
            self.assistant_block(place, block, synthetic, delta);
        }
        let ends = message.stop_reason.or_empty() == "end_turn" && !synthetic;
        if let Some(last) = delta.events[place.first..].last_mut()
            && ends
            && last.kinds.has(Kind::AssistantMsg)
        {
            last.kinds = last.kinds.and(Kind::Completion);
        }
    }

    fn assistant_block(&mut self, place: &mut Place<'_>, block: &Block<'_>, synthetic: bool, delta: &mut Delta) {
        let record = place.record;
        let actor = if synthetic { Actor::Harness } else { Actor::Agent };
        let mut event = place.event(Kind::AssistantMsg, Role::Assistant, actor);
        match block.kind.or_empty() {
            "" | "text" => event.summary = summary(block.text.or_empty()),
            "thinking" | "redacted_thinking" => {
                event.kinds = Kinds::of(Kind::Thinking);
                event.summary = summary(block.thinking.or_empty());
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => return self.tool_call(place, block, delta),
            "image" => event.summary = "[image]".into(),
            "fallback" => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(&format!("model fallback: {}", block.to.model.or_empty()));
            }
            kind if kind.ends_with("tool_result") => return self.tool_result(place, block, delta),
            other => return unknown_block(place, other, delta),
        }
        if record.is_api_error.0 {
            event.kinds = event.kinds.and(Kind::Error);
            event.success = Some(false);
        }
        if record.is_aborted.0 {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(place, event, delta);
    }

    fn tool_call(&mut self, place: &mut Place<'_>, block: &Block<'_>, delta: &mut Delta) {
        let tool = block.name.or_empty();
        let wording = word(tool, block.input.json());
        let tests = wording.command.as_deref().is_some_and(|command| test_runner(command).is_some());
        let retries = self.tools.is_retry(tool, &wording.text);
        self.turns.retries += u32::from(retries);
        let mut event = place.event(Kind::ToolCall, Role::Assistant, Actor::Agent);
        event.kinds = kinds_of_call(!wording.files.is_empty(), tests, retries);
        event.tool = Some(tool.into());
        event.call_id = block.id.get().map(Into::into);
        let open = OpenCall::new(self.next_seq, place.ts, tool, &wording.text);
        event.summary = wording.text;
        event.files = wording.files;
        self.push(place, event, delta);
        if let Some(id) = block.id.get() {
            self.tools.call(id, open, delta);
        }
    }

    /// Counts the API call an assistant record is a row of.
    fn bill(&mut self, place: &Place<'_>, delta: &mut Delta) {
        let record = place.record;
        let Some(message) = &record.message.0 else { return };
        let Some(usage) = &message.usage.0 else { return };
        if message.model.or_empty() == "<synthetic>" {
            return;
        }
        let fallback_id = record.uuid.get().map_or(place.line, hash);
        let row = Row {
            message_id: message.id.get(),
            request_id: record.request_id.get(),
            fallback_id,
            model: message.model.get(),
            usage,
            ts: place.ts,
            line: place.line,
            turn: self.turns.current(),
            seq: delta.events.get(place.first).map(|event| event.seq),
            is_sidechain: record.is_sidechain.0,
            is_echo: false,
        };
        self.bills.take(&row, delta);
    }

    /// Progress of a subagent may wrap its messages: they are spend, if no log of its own tells of them.
    fn progress(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        let data = &place.record.data;
        if data.kind.or_empty() != "agent_progress" {
            return;
        }
        if let Some(agent_id) = data.agent_id.get() {
            let call_id = place.record.parent_tool_use_id.or_empty();
            self.facts.child(LineageKind::Subagent, agent_id, call_id, place.line, None);
        }
        let Some(message) = &data.message.message.0 else { return };
        let Some(usage) = &message.usage.0 else { return };
        let Some(id) = message.id.get().filter(|_| message.model.or_empty() != "<synthetic>") else { return };
        let row = Row {
            message_id: Some(id),
            request_id: data.message.request_id.get(),
            fallback_id: 0,
            model: message.model.get(),
            usage,
            ts: data.message.timestamp.get().and_then(|text| text.parse().ok()).or(place.ts),
            line: place.line,
            turn: self.turns.current(),
            seq: None,
            is_sidechain: true,
            is_echo: true,
        };
        self.bills.take(&row, delta);
    }

    fn queue_operation(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        match place.record.operation.or_empty() {
            "enqueue" => self.queue.enqueue(place.line, &place.record.content.text()),
            "popAll" => self.queue.clear(),
            "remove" => {
                let Some(queued) = self.queue.remove().filter(|queued| queued.by_human) else { return };
                let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
                event.summary = queued.text.unwrap_or_else(|| "[queued prompt whose text the log does not hold]".into());
                event.text_line = Some(queued.line);
                event.trigger = queued.is_trigger;
                self.push(place, event, delta);
            }
            _ => {}
        }
    }

    /// Gives an event its number and its place in the graph.
    fn push(&mut self, place: &mut Place<'_>, mut event: SessionEvent, delta: &mut Delta) {
        event.seq = self.next_seq;
        self.next_seq += 1;
        place.parent = Some(event.seq);
        place.block += 1;
        delta.events.push(event);
    }
}

/// What became of one physical line so far.
struct Taken {
    line: u64,
    fate: Option<Fate>,
    block: u32,
}

impl Taken {
    /// A line with several records has the fate of its best one.
    fn was(&mut self, fate: Fate) {
        let better = |fate: &Fate| match fate {
            Fate::Event => 3,
            Fate::Unknown => 2,
            _ => 1,
        };
        if self.fate.as_ref().is_none_or(|known| better(&fate) > better(known)) {
            self.fate = Some(fate);
        }
    }
}

impl Place<'_> {
    /// The agent's own identity of a block of this record.
    fn id(&self, block: u32) -> String {
        match self.record.uuid.get() {
            Some(uuid) => format!("{uuid}#{block}"),
            None => format!("L{}#{block}", self.line),
        }
    }

    /// An event of this record that says nothing yet.
    fn event(&self, kind: Kind, role: Role, actor: Actor) -> SessionEvent {
        SessionEvent {
            seq: 0,
            parent_seq: self.parent,
            id: self.id(self.block).into(),
            ts: self.ts,
            kinds: Kinds::of(kind),
            role,
            actor,
            trigger: false,
            turn: None,
            tool: None,
            summary: Box::default(),
            part: PartKind::Log,
            line: self.line,
            text_line: None,
            block: self.block,
            call_id: None,
            duration_ms: None,
            success: None,
            exit_code: None,
            files: Vec::new(),
            tokens: None,
            is_sidechain: self.record.is_sidechain.0,
            spill: None,
        }
    }
}

/// Counts a record type nobody told us of.
fn unknown(place: &Place<'_>, record: String, delta: &mut Delta) {
    let version = place.record.version.get().map(str::to_owned);
    *delta.unknown.entry(Unknown { version, record }).or_default() += 1;
}

fn unknown_block(place: &mut Place<'_>, kind: &str, delta: &mut Delta) {
    unknown(place, format!("{}/block/{kind}", place.record.kind.or_empty()), delta);
    place.block += 1;
}

/// Takes off what editors, crashes and other systems leave around a line.
fn trim(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_junk = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let start = bytes.iter().position(|byte| !is_junk(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_junk(byte)).map_or(start, |at| at + 1);
    &bytes[start..end]
}

/// Tells copies of a record from other records with the same id: a copy is as long and as old.
fn stamp(record: &Record<'_>, length: usize) -> u32 {
    let time = record.timestamp.or_empty().bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    time ^ (length as u32).wrapping_mul(0x9E37_79B9)
}

/// The name of the file in the session's `tool-results` that holds a result too large for the log.
fn spill(path: Option<&str>, text: &str) -> Option<Box<str>> {
    let told = || {
        let text = text.strip_prefix("<persisted-output>")?;
        text.split_once("Full output saved to: ")?.1.lines().next()
    };
    let path = path.or_else(told)?.trim();
    let (directory, name) = path.rsplit_once(['/', '\\'])?;
    directory.ends_with("tool-results").then(|| name.into())
}
