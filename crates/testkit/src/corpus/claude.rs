//! Generates sessions of Claude Code: the log, the logs of its subagents, and spilled results.
//!
//! Two versions of the format alternate: the older one reports hooks and running commands in `progress` records, the newer one in
//! `attachment` records.

mod tools;

use std::fmt;
use std::io;

use super::disk::LogFile;
use super::lengths::{ANSWER, IMAGE, PROMPT, REPLY, SIGNATURE, STEPS, THOUGHT};
use super::record::{JsonString, Time, Uuid};
use super::state::{CorpusState, Language};

/// The plan of one session.
pub(super) struct SessionPlan {
    pub(super) weight: usize,
    pub(super) subagents: Vec<usize>,
    pub(super) spills: Vec<usize>,
    pub(super) start_ms: u64,
}

/// A log ends if less than this is left of its budget.
const ROOM_MIN: u64 = 2_500;

/// Writes one session.
pub(super) fn write(state: &mut CorpusState, plan: &SessionPlan) -> io::Result<()> {
    let project = state.begin();
    let id = state.uuid();
    let folder = folder(&state.projects[project].cwd);
    let path = format!("{folder}/{id}.jsonl");
    let budget = state.totals.share(plan.weight);
    let mut session = SessionWriter::new(state, project, id, None, &path, budget, plan.start_ms)?;
    let mut agents = Vec::new();
    for _ in &plan.subagents {
        session.turns(budget / (plan.subagents.len() as u64 + 1))?;
        agents.push(session.spawn()?);
    }
    let mut spills = Vec::new();
    for _ in &plan.spills {
        spills.push(session.spill(&folder)?);
    }
    session.turns(0)?;
    let end_ms = session.close()?;
    for (weight, (agent, prompt)) in plan.subagents.iter().zip(agents) {
        subagent(state, project, id, &folder, (*weight, &agent, &prompt), plan.start_ms)?;
    }
    for (weight, name) in plan.spills.iter().zip(spills) {
        let length = usize::try_from(state.totals.share(*weight)).expect("a length");
        let text = state.command_output(project, length);
        state.put(
            &format!("{folder}/{id}/tool-results/{name}.txt"),
            format_args!("{text}"),
            end_ms,
        )?;
    }
    Ok(())
}

/// Writes a single session without subagents.
pub(super) fn write_one(state: &mut CorpusState, bytes: u64, start_ms: u64) -> io::Result<String> {
    let id = state.uuid();
    let path = format!("{}/{id}.jsonl", folder(&state.projects[0].cwd));
    let mut session = SessionWriter::new(state, 0, id, None, &path, bytes, start_ms)?;
    session.turns(0)?;
    session.close()?;
    Ok(path)
}

fn subagent(
    state: &mut CorpusState,
    project: usize,
    id: Uuid,
    folder: &str,
    (weight, agent, prompt): (usize, &str, &str),
    start_ms: u64,
) -> io::Result<()> {
    let path = format!("{folder}/{id}/subagents/agent-{agent}");
    let budget = state.totals.share(weight);
    let log = format!("{path}.jsonl");
    let mut session = SessionWriter::new(state, project, id, Some(agent), &log, budget, start_ms + 60_000)?;
    session.user(prompt)?;
    session.steps(0, usize::MAX)?;
    session.answer()?;
    let end_ms = session.close()?;
    let about = state.sentence();
    let meta = format_args!(
        r#"{{"agentType":"general-purpose","description":{}}}"#,
        JsonString(&about)
    );
    state.put(&format!("{path}.meta.json"), meta, end_ms)
}

/// Returns the directory name of a project's logs.
fn folder(cwd: &str) -> String {
    let name: String = cwd
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    format!(".claude/projects/{name}")
}

/// A log under construction.
struct SessionWriter<'w> {
    state: &'w mut CorpusState,
    file: LogFile,
    project: usize,
    id: Uuid,
    agent: Option<String>,
    language: Language,
    /// Whether the log has the older version of the format.
    is_old: bool,
    model: &'static str,
    /// The fields at the end of every record.
    tail: String,
    parent: Option<Uuid>,
    prompt: Uuid,
    ms: u64,
    /// The longest pause between two turns.
    pause_ms_max: u64,
    turn: u64,
}

impl<'w> SessionWriter<'w> {
    fn new(
        state: &'w mut CorpusState,
        project: usize,
        id: Uuid,
        agent: Option<&str>,
        path: &str,
        budget: u64,
        ms: u64,
    ) -> io::Result<SessionWriter<'w>> {
        let is_old = state.chance(400);
        let version = if is_old { "2.1.41" } else { "2.1.219" };
        let of = &state.projects[project];
        let tail = format!(
            r#","userType":"external","entrypoint":"cli","cwd":"{}","sessionId":"{id}","version":"{version}","gitBranch":"{}""#,
            of.cwd, of.branch
        );
        let file = LogFile::create(&state.home.join(path), budget)?;
        let language = if state.chance(40) {
            Language::Cjk
        } else {
            Language::English
        };
        let model = state.random.pick(&[
            "claude-opus-5",
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-haiku-4-5-20251001",
        ]);
        let prompt = state.uuid();
        Ok(SessionWriter {
            state,
            file,
            project,
            id,
            agent: agent.map(str::to_owned),
            language,
            is_old,
            model,
            tail,
            parent: None,
            prompt,
            ms,
            // Limit the pauses, so that even the largest session ends within weeks.
            pause_ms_max: (30 * 86_400_000 / (budget / 80_000 + 1)).clamp(10_000, 1_800_000),
            turn: 0,
        })
    }

    fn close(self) -> io::Result<u64> {
        self.state.close(self.file, self.ms)?;
        Ok(self.ms)
    }

    /// Appends a record with the usual envelope and returns its id.
    fn record(&mut self, body: fmt::Arguments<'_>) -> io::Result<Uuid> {
        self.ms += self.state.random.between(20, 4_000);
        let uuid = self.state.uuid();
        let parent = self.parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let (time, tail) = (Time(self.ms), &self.tail);
        match &self.agent {
            None => self.file.line(format_args!(
                r#"{{"parentUuid":{parent},"isSidechain":false,{body},"uuid":"{uuid}","timestamp":"{time}"{tail}}}"#
            ))?,
            Some(agent) => self.file.line(format_args!(
                r#"{{"parentUuid":{parent},"isSidechain":true,"agentId":"{agent}",{body},"uuid":"{uuid}","timestamp":"{time}"{tail}}}"#
            ))?,
        }
        self.parent = Some(uuid);
        self.state.maybe_tear(&mut self.file)?;
        Ok(uuid)
    }

    /// Writes turns until at most `rest` bytes of the budget are left.
    fn turns(&mut self, rest: u64) -> io::Result<()> {
        if self.turn == 0 {
            self.begin()?;
        }
        while self.turn == 0 || self.file.room() > rest.max(ROOM_MIN) {
            self.turn += 1;
            self.write_before_prompt()?;
            let length = self.state.length(&PROMPT).max(1);
            let text = self.state.prose(self.language, self.file.fit(length).max(8));
            self.prompt = self.state.uuid();
            match self.state.chance(20) {
                true => self.user_with_image(&text)?,
                false => self.user(&text)?,
            }
            let steps = self.state.length(&STEPS);
            let before = self.ms;
            self.steps(rest, steps)?;
            self.answer()?;
            self.write_after_answer(self.ms - before)?;
            // Users pause between turns.
            self.ms += self.state.random.between(5_000, self.pause_ms_max);
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.is_old || self.file.room() < 60_000 {
            return Ok(());
        }
        let skills = self.state.prose(Language::English, 9_000);
        self.record(format_args!(
            r#""attachment":{{"type":"skill_listing","content":{},"skillCount":40,"isInitial":true}},"type":"attachment""#,
            JsonString(&skills)
        ))?;
        let tools = self.state.prose(Language::English, 2_000);
        self.record(format_args!(
            r#""attachment":{{"type":"deferred_tools_delta","addedNames":[{0}],"addedLines":[{0}],"removedNames":[]}},"type":"attachment""#,
            JsonString(&tools)
        ))?;
        Ok(())
    }

    /// Writes the harness records before a prompt.
    fn write_before_prompt(&mut self) -> io::Result<()> {
        let (id, time) = (self.id, Time(self.ms));
        let message = self.state.uuid();
        let backup = self.state.letters(16);
        let path = &self.state.projects[self.project].paths[0];
        self.file.line(format_args!(
            r#"{{"type":"file-history-snapshot","messageId":"{message}","snapshot":{{"messageId":"{message}","trackedFileBackups":{{"{path}":{{"backupFileName":"{backup}@v{}","version":{},"backupTime":"{time}"}}}},"timestamp":"{time}"}},"isSnapshotUpdate":false}}"#,
            self.turn, self.turn
        ))?;
        if self.is_old {
            return Ok(());
        }
        let title = self.state.sentence();
        self.file
            .line(format_args!(r#"{{"type":"mode","mode":"normal","sessionId":"{id}"}}"#))?;
        self.file.line(format_args!(
            r#"{{"type":"permission-mode","permissionMode":"acceptEdits","sessionId":"{id}"}}"#
        ))?;
        self.file.line(format_args!(
            r#"{{"type":"ai-title","aiTitle":{},"sessionId":"{id}"}}"#,
            JsonString(&title)
        ))
    }

    /// Writes a prompt: the user's in the main log, the parent's in a subagent's log.
    fn user(&mut self, text: &str) -> io::Result<()> {
        let prompt = self.prompt;
        match self.agent.is_none() && !self.is_old {
            true => self.record(format_args!(
                r#""promptId":"{prompt}","type":"user","message":{{"role":"user","content":{}}},"permissionMode":"acceptEdits","promptSource":"typed","origin":{{"kind":"human"}}"#,
                JsonString(text)
            ))?,
            false => self.record(format_args!(
                r#""type":"user","message":{{"role":"user","content":{}}}"#,
                JsonString(text)
            ))?,
        };
        Ok(())
    }

    fn user_with_image(&mut self, text: &str) -> io::Result<()> {
        let length = self.state.length(&IMAGE);
        let image = self.state.base64(self.file.fit(length));
        self.record(format_args!(
            r#""type":"user","message":{{"role":"user","content":[{{"type":"text","text":{}}},{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{image}"}}}}]}}"#,
            JsonString(text)
        ))?;
        Ok(())
    }

    /// Writes up to `count` API calls with their tools, until at most `rest` bytes are left.
    fn steps(&mut self, rest: u64, count: usize) -> io::Result<()> {
        let mut done = 0;
        while done < count && self.file.room() > rest.max(ROOM_MIN) {
            self.step()?;
            done += 1;
        }
        Ok(())
    }

    fn step(&mut self) -> io::Result<()> {
        let call = self.call();
        if self.state.chance(360) {
            self.think(&call)?;
        }
        if self.state.chance(310) {
            let length = self.state.length(&REPLY);
            let text = self.state.prose(self.language, self.file.fit(length));
            self.write_message(&call, &text, "null")?;
        }
        self.tool(&call)
    }

    /// Writes the text answer that ends a turn.
    fn answer(&mut self) -> io::Result<()> {
        let call = self.call();
        let length = self.state.length(&ANSWER);
        let text = self.state.prose(self.language, self.file.fit(length).max(20));
        self.write_message(&call, &text, "\"end_turn\"")
    }

    fn think(&mut self, call: &Call) -> io::Result<()> {
        let (length, signature) = (self.state.length(&THOUGHT), self.state.length(&SIGNATURE));
        let text = self.state.prose(self.language, self.file.fit(length));
        let signature = self.state.base64(self.file.fit(signature));
        let block = format_args!(
            r#"{{"type":"thinking","thinking":{},"signature":"{signature}"}}"#,
            JsonString(&text)
        )
        .to_string();
        self.assistant(call, &block, "null")?;
        Ok(())
    }

    fn write_message(&mut self, call: &Call, text: &str, stop: &str) -> io::Result<()> {
        let block = format!(r#"{{"type":"text","text":{}}}"#, JsonString(text));
        self.assistant(call, &block, stop)?;
        Ok(())
    }

    /// Writes one content block of an API call as a record that repeats the call's ids and usage.
    fn assistant(&mut self, call: &Call, block: &str, stop: &str) -> io::Result<Uuid> {
        let Call {
            message,
            request,
            usage,
        } = call;
        let model = self.model;
        self.record(format_args!(
            r#""message":{{"model":"{model}","id":"msg_01{message}","type":"message","role":"assistant","content":[{block}],"stop_reason":{stop},"stop_sequence":null,"usage":{usage}}},"requestId":"req_011C{request}","type":"assistant""#
        ))
    }

    fn call(&mut self) -> Call {
        let random = &mut self.state.random;
        let (input, written, read, output) = (
            random.between(1, 9),
            random.between(100, 9_000),
            random.between(9_000, 160_000),
            random.between(10, 3_000),
        );
        let usage = format!(
            r#"{{"input_tokens":{input},"cache_creation_input_tokens":{written},"cache_read_input_tokens":{read},"output_tokens":{output},"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard","cache_creation":{{"ephemeral_1h_input_tokens":{written},"ephemeral_5m_input_tokens":0}},"inference_geo":"","iterations":[],"speed":"standard"}}"#
        );
        Call {
            message: self.state.letters(22).to_string(),
            request: self.state.letters(20).to_string(),
            usage,
        }
    }

    /// Writes the harness records after an answer.
    fn write_after_answer(&mut self, took_ms: u64) -> io::Result<()> {
        if self.state.chance(450) {
            self.write_turn_duration(took_ms)?;
        }
        if !self.is_old {
            let (leaf, id) = (self.parent.unwrap_or(self.id), self.id);
            self.file.line(format_args!(
                r#"{{"type":"last-prompt","leafUuid":"{leaf}","sessionId":"{id}"}}"#
            ))?;
        }
        if self.state.chance(12) && self.file.room() > 30_000 {
            self.compact()?;
        }
        Ok(())
    }

    fn write_turn_duration(&mut self, took_ms: u64) -> io::Result<()> {
        let tool = self.state.uuid();
        self.record(format_args!(
            r#""type":"system","subtype":"stop_hook_summary","hookCount":1,"hookInfos":[{{"command":"notify --stop","durationMs":{}}}],"hookErrors":[],"preventedContinuation":false,"stopReason":"","hasOutput":false,"level":"suggestion","toolUseID":"{tool}""#,
            took_ms % 900
        ))?;
        self.record(format_args!(
            r#""type":"system","subtype":"turn_duration","durationMs":{took_ms},"messageCount":{},"isMeta":false"#,
            self.turn * 3
        ))?;
        Ok(())
    }

    fn compact(&mut self) -> io::Result<()> {
        let before = self.parent.take().unwrap_or(self.id);
        self.record(format_args!(
            r#""logicalParentUuid":"{before}","type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{{"trigger":"auto","preTokens":163509}}"#
        ))?;
        let summary = self.state.prose(self.language, 7_000);
        let text = format!("This session is being continued from a previous conversation. {summary}");
        self.record(format_args!(
            r#""type":"user","message":{{"role":"user","content":{}}},"isCompactSummary":true,"isVisibleInTranscriptOnly":true"#,
            JsonString(&text)
        ))?;
        Ok(())
    }
}

/// One API call: its ids, and its usage as JSON.
struct Call {
    message: String,
    request: String,
    usage: String,
}
