//! Sessions of Claude Code: the log, its subagents with what is told about them, and results too large for the log.
//!
//! Two ages of the format take turns: the older one tells what hooks and commands do in `progress` records, the newer one
//! in `attachment` records.

mod tools;

use std::fmt;
use std::io;

use super::disk::LogFile;
use super::record::{Json, Time, Uuid};
use super::spread::{ANSWER, IMAGE, PROMPT, REPLY, SIGNATURE, STEPS, THOUGHT};
use super::world::{Tongue, World};

/// What one session is to become.
pub(super) struct Plan {
    pub(super) weight: usize,
    pub(super) subagents: Vec<usize>,
    pub(super) spills: Vec<usize>,
    pub(super) start_ms: u64,
}

/// Below this a log does not go on.
const ROOM_MIN: u64 = 2_500;

/// Writes one session.
pub(super) fn write(world: &mut World, plan: &Plan) -> io::Result<()> {
    let project = world.begin();
    let id = world.uuid();
    let folder = folder(&world.projects[project].cwd);
    let path = format!("{folder}/{id}.jsonl");
    let budget = world.ledger.share(plan.weight);
    let mut session = Session::new(world, project, id, None, &path, budget, plan.start_ms)?;
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
        subagent(world, project, id, &folder, (*weight, &agent, &prompt), plan.start_ms)?;
    }
    for (weight, name) in plan.spills.iter().zip(spills) {
        let length = usize::try_from(world.ledger.share(*weight)).expect("a length");
        let text = world.command_output(project, length);
        world.put(
            &format!("{folder}/{id}/tool-results/{name}.txt"),
            format_args!("{text}"),
            end_ms,
        )?;
    }
    Ok(())
}

/// Writes one session of its own and nothing else.
pub(super) fn write_one(world: &mut World, bytes: u64, start_ms: u64) -> io::Result<String> {
    let id = world.uuid();
    let path = format!("{}/{id}.jsonl", folder(&world.projects[0].cwd));
    let mut session = Session::new(world, 0, id, None, &path, bytes, start_ms)?;
    session.turns(0)?;
    session.close()?;
    Ok(path)
}

fn subagent(
    world: &mut World,
    project: usize,
    id: Uuid,
    folder: &str,
    (weight, agent, prompt): (usize, &str, &str),
    start_ms: u64,
) -> io::Result<()> {
    let path = format!("{folder}/{id}/subagents/agent-{agent}");
    let budget = world.ledger.share(weight);
    let log = format!("{path}.jsonl");
    let mut session = Session::new(world, project, id, Some(agent), &log, budget, start_ms + 60_000)?;
    session.user(prompt)?;
    session.steps(0, usize::MAX)?;
    session.answer()?;
    let end_ms = session.close()?;
    let about = world.sentence();
    let meta = format_args!(r#"{{"agentType":"general-purpose","description":{}}}"#, Json(&about));
    world.put(&format!("{path}.meta.json"), meta, end_ms)
}

/// Where the logs of a project lie.
fn folder(cwd: &str) -> String {
    let name: String = cwd
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    format!(".claude/projects/{name}")
}

/// A log while it is written.
struct Session<'w> {
    world: &'w mut World,
    file: LogFile,
    project: usize,
    id: Uuid,
    agent: Option<String>,
    tongue: Tongue,
    /// The older age of the format.
    is_old: bool,
    model: &'static str,
    /// What stands at the end of every record.
    tail: String,
    parent: Option<Uuid>,
    prompt: Uuid,
    ms: u64,
    /// The longest pause between two turns.
    pause_ms_max: u64,
    turn: u64,
}

impl<'w> Session<'w> {
    fn new(
        world: &'w mut World,
        project: usize,
        id: Uuid,
        agent: Option<&str>,
        path: &str,
        budget: u64,
        ms: u64,
    ) -> io::Result<Session<'w>> {
        let is_old = world.chance(400);
        let version = if is_old { "2.1.41" } else { "2.1.219" };
        let of = &world.projects[project];
        let tail = format!(
            r#","userType":"external","entrypoint":"cli","cwd":"{}","sessionId":"{id}","version":"{version}","gitBranch":"{}""#,
            of.cwd, of.branch
        );
        let file = LogFile::create(&world.home.join(path), budget)?;
        let tongue = if world.chance(40) { Tongue::Cjk } else { Tongue::English };
        let model = world.dice.pick(&[
            "claude-opus-5",
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-haiku-4-5-20251001",
        ]);
        let prompt = world.uuid();
        Ok(Session {
            world,
            file,
            project,
            id,
            agent: agent.map(str::to_owned),
            tongue,
            is_old,
            model,
            tail,
            parent: None,
            prompt,
            ms,
            // The largest session, too, is over within weeks.
            pause_ms_max: (30 * 86_400_000 / (budget / 80_000 + 1)).clamp(10_000, 1_800_000),
            turn: 0,
        })
    }

    fn close(self) -> io::Result<u64> {
        self.world.close(self.file, self.ms)?;
        Ok(self.ms)
    }

    /// Appends a record with the envelope that most have, and gives its id.
    fn record(&mut self, body: fmt::Arguments<'_>) -> io::Result<Uuid> {
        self.ms += self.world.dice.between(20, 4_000);
        let uuid = self.world.uuid();
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
        self.world.maybe_tear(&mut self.file)?;
        Ok(uuid)
    }

    /// Turns until no more than `rest` bytes fit.
    fn turns(&mut self, rest: u64) -> io::Result<()> {
        if self.turn == 0 {
            self.begin()?;
        }
        while self.turn == 0 || self.file.room() > rest.max(ROOM_MIN) {
            self.turn += 1;
            self.turn_begins()?;
            let length = self.world.length(&PROMPT).max(1);
            let text = self.world.prose(self.tongue, self.file.fit(length).max(8));
            self.prompt = self.world.uuid();
            match self.world.chance(20) {
                true => self.user_with_image(&text)?,
                false => self.user(&text)?,
            }
            let steps = self.world.length(&STEPS);
            let before = self.ms;
            self.steps(rest, steps)?;
            self.answer()?;
            self.turn_ends(self.ms - before)?;
            // People think, sleep, and come back.
            self.ms += self.world.dice.between(5_000, self.pause_ms_max);
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.is_old || self.file.room() < 60_000 {
            return Ok(());
        }
        let skills = self.world.prose(Tongue::English, 9_000);
        self.record(format_args!(
            r#""attachment":{{"type":"skill_listing","content":{},"skillCount":40,"isInitial":true}},"type":"attachment""#,
            Json(&skills)
        ))?;
        let tools = self.world.prose(Tongue::English, 2_000);
        self.record(format_args!(
            r#""attachment":{{"type":"deferred_tools_delta","addedNames":[{0}],"addedLines":[{0}],"removedNames":[]}},"type":"attachment""#,
            Json(&tools)
        ))?;
        Ok(())
    }

    /// What the harness writes before a prompt.
    fn turn_begins(&mut self) -> io::Result<()> {
        let (id, time) = (self.id, Time(self.ms));
        let message = self.world.uuid();
        let backup = self.world.letters(16);
        let path = &self.world.projects[self.project].paths[0];
        self.file.line(format_args!(
            r#"{{"type":"file-history-snapshot","messageId":"{message}","snapshot":{{"messageId":"{message}","trackedFileBackups":{{"{path}":{{"backupFileName":"{backup}@v{}","version":{},"backupTime":"{time}"}}}},"timestamp":"{time}"}},"isSnapshotUpdate":false}}"#,
            self.turn, self.turn
        ))?;
        if self.is_old {
            return Ok(());
        }
        let title = self.world.sentence();
        self.file
            .line(format_args!(r#"{{"type":"mode","mode":"normal","sessionId":"{id}"}}"#))?;
        self.file.line(format_args!(
            r#"{{"type":"permission-mode","permissionMode":"acceptEdits","sessionId":"{id}"}}"#
        ))?;
        self.file.line(format_args!(
            r#"{{"type":"ai-title","aiTitle":{},"sessionId":"{id}"}}"#,
            Json(&title)
        ))
    }

    /// A prompt: of a human in the main log, of the parent in a subagent's.
    fn user(&mut self, text: &str) -> io::Result<()> {
        let prompt = self.prompt;
        match self.agent.is_none() && !self.is_old {
            true => self.record(format_args!(
                r#""promptId":"{prompt}","type":"user","message":{{"role":"user","content":{}}},"permissionMode":"acceptEdits","promptSource":"typed","origin":{{"kind":"human"}}"#,
                Json(text)
            ))?,
            false => self.record(format_args!(
                r#""type":"user","message":{{"role":"user","content":{}}}"#,
                Json(text)
            ))?,
        };
        Ok(())
    }

    fn user_with_image(&mut self, text: &str) -> io::Result<()> {
        let length = self.world.length(&IMAGE);
        let image = self.world.base64(self.file.fit(length));
        self.record(format_args!(
            r#""type":"user","message":{{"role":"user","content":[{{"type":"text","text":{}}},{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{image}"}}}}]}}"#,
            Json(text)
        ))?;
        Ok(())
    }

    /// API calls with their tools, until there are enough or no more than `rest` bytes fit.
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
        if self.world.chance(360) {
            self.think(&call)?;
        }
        if self.world.chance(310) {
            let length = self.world.length(&REPLY);
            let text = self.world.prose(self.tongue, self.file.fit(length));
            self.say(&call, &text, "null")?;
        }
        self.tool(&call)
    }

    /// What ends a turn: an answer in words.
    fn answer(&mut self) -> io::Result<()> {
        let call = self.call();
        let length = self.world.length(&ANSWER);
        let text = self.world.prose(self.tongue, self.file.fit(length).max(20));
        self.say(&call, &text, "\"end_turn\"")
    }

    fn think(&mut self, call: &Call) -> io::Result<()> {
        let (length, signature) = (self.world.length(&THOUGHT), self.world.length(&SIGNATURE));
        let text = self.world.prose(self.tongue, self.file.fit(length));
        let signature = self.world.base64(self.file.fit(signature));
        let block = format_args!(
            r#"{{"type":"thinking","thinking":{},"signature":"{signature}"}}"#,
            Json(&text)
        )
        .to_string();
        self.assistant(call, &block, "null")?;
        Ok(())
    }

    fn say(&mut self, call: &Call, text: &str, stop: &str) -> io::Result<()> {
        let block = format!(r#"{{"type":"text","text":{}}}"#, Json(text));
        self.assistant(call, &block, stop)?;
        Ok(())
    }

    /// One block of an API call: a record of its own that repeats the call's ids and usage.
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
        let dice = &mut self.world.dice;
        let (input, written, read, output) = (
            dice.between(1, 9),
            dice.between(100, 9_000),
            dice.between(9_000, 160_000),
            dice.between(10, 3_000),
        );
        let usage = format!(
            r#"{{"input_tokens":{input},"cache_creation_input_tokens":{written},"cache_read_input_tokens":{read},"output_tokens":{output},"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard","cache_creation":{{"ephemeral_1h_input_tokens":{written},"ephemeral_5m_input_tokens":0}},"inference_geo":"","iterations":[],"speed":"standard"}}"#
        );
        Call {
            message: self.world.letters(22).to_string(),
            request: self.world.letters(20).to_string(),
            usage,
        }
    }

    /// What the harness writes after an answer.
    fn turn_ends(&mut self, took_ms: u64) -> io::Result<()> {
        if self.world.chance(450) {
            self.end_is_told(took_ms)?;
        }
        if !self.is_old {
            let (leaf, id) = (self.parent.unwrap_or(self.id), self.id);
            self.file.line(format_args!(
                r#"{{"type":"last-prompt","leafUuid":"{leaf}","sessionId":"{id}"}}"#
            ))?;
        }
        if self.world.chance(12) && self.file.room() > 30_000 {
            self.compact()?;
        }
        Ok(())
    }

    fn end_is_told(&mut self, took_ms: u64) -> io::Result<()> {
        let tool = self.world.uuid();
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
        let summary = self.world.prose(self.tongue, 7_000);
        let text = format!("This session is being continued from a previous conversation. {summary}");
        self.record(format_args!(
            r#""type":"user","message":{{"role":"user","content":{}}},"isCompactSummary":true,"isVisibleInTranscriptOnly":true"#,
            Json(&text)
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
