//! Generates sessions of Grok Build: a directory with the log of updates, the events, and small files.

use std::fmt;
use std::io;

use super::disk::LogFile;
use super::lengths::{ANSWER, COMMAND_OUTPUT, EDITED, PROMPT, READ_OUTPUT, REPLY, STEPS, THOUGHT};
use super::record::{JsonByteArray, JsonString, Time, Uuid};
use super::state::{CorpusState, Language};
use super::text;

/// The plan of one session.
pub(super) struct SessionPlan {
    pub(super) weight: usize,
    pub(super) start_ms: u64,
}

/// Number of files of one session.
pub(super) const FILES: usize = 7;

const ROOM_MIN: u64 = 2_500;
const MODEL: &str = "grok-4.6-build";

/// Writes one session with its other files.
pub(super) fn write(state: &mut CorpusState, plan: &SessionPlan) -> io::Result<()> {
    let id = Uuid::at(plan.start_ms, &mut state.random);
    let project = state.begin();
    let cwd = state.projects[project].cwd.clone();
    let folder = format!(".grok/sessions/{}/{id}", cwd.replace('/', "%2F"));
    let budget = state.totals.share(plan.weight);
    let history = format!("{folder}/chat_history.jsonl");
    let log = LogFile::create(&state.home.join(format!("{folder}/updates.jsonl")), budget)?;
    let events = LogFile::create(&state.home.join(format!("{folder}/events.jsonl")), budget)?;
    let chat = LogFile::create(&state.home.join(history), budget)?;
    let mut session = SessionWriter {
        language: if state.chance(40) {
            Language::Cjk
        } else {
            Language::English
        },
        prompt: state.uuid(),
        state,
        log,
        events,
        chat,
        budget,
        project,
        id,
        ms: plan.start_ms,
        event: 0,
        turn: 0,
    };
    loop {
        session.turn()?;
        if session.room() < ROOM_MIN {
            break;
        }
    }
    let (ms, turns) = (session.ms, session.turn);
    let SessionWriter {
        state,
        log,
        events,
        chat,
        ..
    } = session;
    for file in [log, events, chat] {
        state.close(file, ms)?;
    }
    companions(state, &folder, id, &cwd, plan.start_ms, ms, turns)
}

/// Writes the small files beside a log.
fn companions(
    state: &mut CorpusState,
    folder: &str,
    id: Uuid,
    cwd: &str,
    start_ms: u64,
    end_ms: u64,
    turns: u64,
) -> io::Result<()> {
    let (title, start, end) = (state.sentence(), Time(start_ms), Time(end_ms));
    state.put(
        &format!("{folder}/summary.json"),
        format_args!(
            r#"{{"info":{{"id":"{id}","cwd":"{cwd}"}},"session_summary":{0},"generated_title":{0},"created_at":"{start}","updated_at":"{end}","last_active_at":"{end}","num_messages":{turns},"num_chat_messages":{turns},"current_model_id":"{MODEL}","chat_format_version":1,"head_branch":"main","agent_name":"grok-build"}}"#,
            JsonString(&title)
        ),
        end_ms,
    )?;
    state.put(
        &format!("{folder}/prompt_context.json"),
        format_args!(
            r#"{{"version":1,"audience":"primary","is_non_interactive":false,"os_name":"linux","working_directory":"{cwd}","build_timestamp_utc":"2026-05-01T00:00:00Z"}}"#
        ),
        end_ms,
    )?;
    state.put(
        &format!("{folder}/signals.json"),
        format_args!(r#"{{"turnCount":{turns},"userMessageCount":{turns},"errorCount":0,"toolFailureCount":0,"cancellationCount":0,"compactionCount":0,"toolsUsed":["read_file","run_terminal_command"],"modelsUsed":["{MODEL}"],"primaryModelId":"{MODEL}"}}"#),
        end_ms,
    )?;
    state.put(
        &format!("{folder}/plan_mode.json"),
        format_args!(r#"{{"active":false}}"#),
        end_ms,
    )
}

/// A session under construction.
struct SessionWriter<'w> {
    state: &'w mut CorpusState,
    log: LogFile,
    events: LogFile,
    chat: LogFile,
    /// The bytes of the three large files together.
    budget: u64,
    project: usize,
    id: Uuid,
    language: Language,
    prompt: Uuid,
    ms: u64,
    event: u64,
    turn: u64,
}

impl SessionWriter<'_> {
    fn room(&self) -> u64 {
        let written = [&self.log, &self.events, &self.chat].map(LogFile::written);
        self.budget.saturating_sub(written.iter().sum())
    }

    fn fit(&self, length: usize) -> usize {
        length.min(usize::try_from(self.room() / 8).unwrap_or(usize::MAX))
    }

    /// Appends an update. `method` is the protocol's or Grok's own.
    fn update(&mut self, method: &str, update: fmt::Arguments<'_>) -> io::Result<()> {
        self.ms += self.state.random.between(5, 2_500);
        self.event += 1;
        let (id, ms, prompt, event) = (self.id, self.ms, self.prompt, self.event);
        self.log.line(format_args!(
            r#"{{"timestamp":{},"method":"{method}","params":{{"sessionId":"{id}","update":{{{update}}},"_meta":{{"eventId":"{id}-{event}","agentTimestampMs":{ms},"promptId":"{prompt}"}}}}}}"#,
            ms / 1_000
        ))?;
        self.state.maybe_tear(&mut self.log)
    }

    fn acp(&mut self, update: fmt::Arguments<'_>) -> io::Result<()> {
        self.update("session/update", update)
    }

    fn write_event(&mut self, event: fmt::Arguments<'_>) -> io::Result<()> {
        let time = Time(self.ms);
        self.events.line(format_args!(r#"{{"ts":"{time}",{event}}}"#))
    }

    fn turn(&mut self) -> io::Result<()> {
        let (id, turn) = (self.id, self.turn);
        self.prompt = self.state.uuid();
        self.write_event(format_args!(
            r#""type":"turn_started","session_id":"{id}","turn_number":{turn},"model_id":"{MODEL}","yolo_mode":false,"conversation_message_count":{turn},"session_relationship":"primary","schema_version":"1.0""#
        ))?;
        self.hook("user_prompt_submit")?;
        let length = self.state.length(&PROMPT);
        let text = self.state.prose(self.language, self.fit(length).max(8));
        self.acp(format_args!(
            r#""sessionUpdate":"user_message_chunk","content":{{"type":"text","text":{}}},"_meta":{{"modelId":"{MODEL}","promptIndex":{turn}}}"#,
            JsonString(&text)
        ))?;
        self.chat.line(format_args!(
            r#"{{"type":"user","content":[{{"type":"text","text":{}}}],"prompt_index":{turn}}}"#,
            JsonString(&text)
        ))?;
        let steps = self.state.length(&STEPS);
        let mut done = 0;
        while done < steps && self.room() > ROOM_MIN {
            self.step(done)?;
            done += 1;
        }
        let length = self.state.length(&ANSWER);
        let answer = self.state.prose(self.language, self.fit(length).max(20));
        self.chunk("agent_message_chunk", &answer)?;
        self.chat.line(format_args!(
            r#"{{"type":"assistant","content":{},"tool_calls":[],"model_id":"{MODEL}"}}"#,
            JsonString(&answer)
        ))?;
        self.hook("stop")?;
        self.complete()?;
        self.write_event(format_args!(r#""type":"turn_ended","outcome":"completed""#))?;
        self.turn += 1;
        self.ms += self.state.random.between(5_000, 900_000);
        Ok(())
    }

    fn chunk(&mut self, kind: &str, text: &str) -> io::Result<()> {
        // There is an event for each chunk of a stream, always with the same content.
        let phase = if kind == "agent_thought_chunk" {
            "streaming_reasoning"
        } else {
            "streaming_text"
        };
        for _ in 0..(text.len() / 60).min(200) {
            self.ms += 3;
            self.write_event(format_args!(r#""type":"phase_changed","phase":"{phase}""#))?;
        }
        self.acp(format_args!(
            r#""sessionUpdate":"{kind}","content":{{"type":"text","text":{}}}"#,
            JsonString(text)
        ))
    }

    fn hook(&mut self, event: &str) -> io::Result<()> {
        let prompt = self.prompt;
        self.update(
            "_x.ai/session/update",
            format_args!(
                r#""sessionUpdate":"hook_execution","event_name":"{event}","runs":[{{"name":"global/settings:{event}[0].hooks[0]","status":{{"status":"success","elapsed_ms":9}}}}],"prompt_id":"{prompt}""#
            ),
        )
    }

    fn complete(&mut self) -> io::Result<()> {
        let random = &mut self.state.random;
        let (input, output) = (random.between(9_000, 120_000), random.between(40, 3_000));
        let prompt = self.prompt;
        let usage = format!(
            r#""inputTokens":{input},"outputTokens":{output},"totalTokens":{},"cachedReadTokens":{},"cacheCreationTokens":0,"reasoningTokens":{},"modelCalls":2"#,
            input + output,
            input / 2,
            output / 3
        );
        self.update(
            "_x.ai/session/update",
            format_args!(
                r#""sessionUpdate":"turn_completed","prompt_id":"{prompt}","stop_reason":"end_turn","usage":{{{usage},"costUsdTicks":{},"modelUsage":{{"{MODEL}":{{{usage}}}}}}}"#,
                input * 4_000
            ),
        )
    }

    fn step(&mut self, number: usize) -> io::Result<()> {
        self.write_event(format_args!(r#""type":"loop_started","loop_index":{number}"#))?;
        if self.state.chance(500) {
            let length = self.state.length(&THOUGHT);
            let thought = self.state.prose(self.language, self.fit(length).max(20));
            self.chunk("agent_thought_chunk", &thought)?;
        }
        if self.state.chance(300) {
            let length = self.state.length(&REPLY);
            let text = self.state.prose(self.language, self.fit(length).max(20));
            self.chunk("agent_message_chunk", &text)?;
        }
        let call = format!("call-{}-{number}", self.state.uuid());
        match self.state.random.between(0, 9) {
            0..4 => self.command(&call),
            4..8 => self.read(&call),
            _ => self.edit(&call),
        }
    }

    /// Writes a tool call to the log, the model's context and the events.
    fn call(&mut self, call: &str, name: &str, kind: &str, input: &str) -> io::Result<()> {
        self.acp(format_args!(
            r#""sessionUpdate":"tool_call","toolCallId":"{call}","title":"{name}","rawInput":{input},"_meta":{{"x.ai/tool":{{"version":1,"name":"{name}","kind":"{kind}","namespace":"grok_build","label":"Tool","read_only":false}}}}"#
        ))?;
        self.chat.line(format_args!(
            r#"{{"type":"assistant","content":"","tool_calls":[{{"id":"{call}","name":"{name}","arguments":{}}}],"model_id":"{MODEL}"}}"#,
            JsonString(input)
        ))?;
        self.write_event(format_args!(r#""type":"tool_started","tool_name":"{name}""#))
    }

    fn result(&mut self, call: &str, name: &str, content: &str, output: fmt::Arguments<'_>) -> io::Result<()> {
        self.acp(format_args!(
            r#""sessionUpdate":"tool_call_update","toolCallId":"{call}","status":"completed","content":[{{"type":"content","content":{{"type":"text","text":{}}}}}],"rawOutput":{{{output}}}"#,
            JsonString(content)
        ))?;
        self.chat.line(format_args!(
            r#"{{"type":"tool_result","tool_call_id":"{call}","content":{}}}"#,
            JsonString(content)
        ))?;
        let took = self.state.random.between(2, 4_000);
        self.write_event(format_args!(
            r#""type":"tool_completed","tool_name":"{name}","duration_ms":{took},"outcome":"success","tool_call_id":"{call}""#
        ))
    }

    fn command(&mut self, call: &str) -> io::Result<()> {
        let (command, about) = (self.state.command(self.project), self.state.sentence());
        let input = format!(
            r#"{{"command":{},"description":{}}}"#,
            JsonString(&command),
            JsonString(&about)
        );
        let name = "run_terminal_command";
        self.call(call, name, "execute", &input)?;
        // The output is written as an array of byte values, which makes it four times as long.
        let length = self.state.length(&COMMAND_OUTPUT);
        let output = self.state.command_output(self.project, self.fit(length));
        self.result(
            call,
            name,
            &output,
            format_args!(
                r#""type":"Bash","output":{},"output_for_prompt":{},"exit_code":0,"command":{},"timed_out":false,"signal":null"#,
                JsonByteArray(&output),
                JsonString(&output),
                JsonString(&command)
            ),
        )
    }

    fn read(&mut self, call: &str) -> io::Result<()> {
        let length = self.state.length(&READ_OUTPUT);
        let part = self.state.read(self.project, self.fit(length));
        let path = &part.path;
        self.call(call, "read_file", "read", &format!(r#"{{"target_file":"{path}"}}"#))?;
        let shown = text::numbered(&part.text, part.first);
        self.result(
            call,
            "read_file",
            &shown,
            format_args!(
                r#""type":"ReadFile","FileContent":{{"content":{},"absolute_path":"{path}"}}"#,
                JsonString(&shown)
            ),
        )
    }

    fn edit(&mut self, call: &str) -> io::Result<()> {
        let length = self.state.length(&EDITED);
        let edit = self.state.edit(self.project, self.fit(length));
        let (path, old, new) = (&edit.path, JsonString(&edit.old), JsonString(&edit.new));
        let input = format!(r#"{{"file_path":"{path}","old_string":{old},"new_string":{new}}}"#);
        self.call(call, "search_replace", "edit", &input)?;
        let done = format!("The file {path} has been updated.");
        self.result(
            call,
            "search_replace",
            &done,
            format_args!(
                r#""type":"SearchReplace","EditsApplied":{{"tool_output_for_prompt":{}}}"#,
                JsonString(&done)
            ),
        )
    }
}
