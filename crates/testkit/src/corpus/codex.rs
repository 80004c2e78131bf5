//! Generates threads of Codex CLI, one rollout each, in four generations of the format. Some are archived, some of those are
//! compressed, and some are subagents of another thread.

mod tools;

use std::fmt;
use std::io;

use super::disk::LogFile;
use super::lengths::{ANSWER, ENCRYPTED, PROMPT, REPLY, STEPS, THOUGHT};
use super::record::{JsonString, Time, Uuid};
use super::state::{CorpusState, Language};

/// The plan of one thread.
pub(super) struct ThreadPlan {
    pub(super) weight: usize,
    pub(super) place: Place,
    pub(super) start_ms: u64,
}

/// Where a rollout is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Sessions,
    Archived,
    Compressed,
}

/// Generations of the format, as in `docs/agents.md`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    /// Only turn contexts mark turns.
    G4,
    /// Adds events for the start and the end of turns and commands.
    G5,
    /// Adds events for the end of patches.
    G6,
    /// Paginated: items replace the messages of the user and the agent.
    G7,
}

const ROOM_MIN: u64 = 2_500;

/// Writes one thread and returns its id.
pub(super) fn write(state: &mut CorpusState, plan: &ThreadPlan, parent: Option<Uuid>) -> io::Result<Uuid> {
    let id = Uuid::at(plan.start_ms, &mut state.random);
    let time = Time(plan.start_ms);
    let name = format!("rollout-{}-{id}.jsonl", time.in_name());
    let path = match plan.place {
        Place::Sessions => format!(".codex/sessions/{}/{name}", time.date("/")),
        Place::Archived => format!(".codex/archived_sessions/{name}"),
        Place::Compressed => format!(".codex/archived_sessions/{name}.zst"),
    };
    let budget = state.totals.share(plan.weight);
    let project = state.begin();
    let generation = match state.random.between(0, 99) {
        0..15 => Generation::G4,
        15..50 => Generation::G5,
        50..80 => Generation::G6,
        _ => Generation::G7,
    };
    let mut thread = ThreadWriter {
        file: LogFile::create(&state.home.join(path), budget)?,
        language: if state.chance(40) {
            Language::Cjk
        } else {
            Language::English
        },
        turn_id: Uuid::at(plan.start_ms, &mut state.random),
        state,
        project,
        id,
        generation,
        ms: plan.start_ms,
        ordinal: 0,
        total: [0; 4],
    };
    thread.begin(parent)?;
    loop {
        thread.turn()?;
        if thread.file.room() < ROOM_MIN {
            break;
        }
    }
    let ms = thread.ms;
    thread.state.close(thread.file, ms)?;
    Ok(id)
}

/// A rollout under construction.
struct ThreadWriter<'w> {
    state: &'w mut CorpusState,
    file: LogFile,
    project: usize,
    id: Uuid,
    generation: Generation,
    language: Language,
    turn_id: Uuid,
    ms: u64,
    ordinal: u64,
    /// Tokens so far: input, cached, output, reasoning.
    total: [u64; 4],
}

impl ThreadWriter<'_> {
    fn line(&mut self, kind: &str, payload: fmt::Arguments<'_>) -> io::Result<()> {
        self.ms += self.state.random.between(2, 3_000);
        let time = Time(self.ms);
        if self.generation == Generation::G7 {
            let ordinal = self.ordinal;
            self.ordinal += 1;
            self.file.line(format_args!(
                r#"{{"timestamp":"{time}","ordinal":{ordinal},"type":"{kind}","payload":{{{payload}}}}}"#
            ))?;
        } else {
            self.file.line(format_args!(
                r#"{{"timestamp":"{time}","type":"{kind}","payload":{{{payload}}}}}"#
            ))?;
        }
        self.state.maybe_tear(&mut self.file)
    }

    fn item(&mut self, payload: fmt::Arguments<'_>) -> io::Result<()> {
        self.line("response_item", payload)
    }

    fn event(&mut self, payload: fmt::Arguments<'_>) -> io::Result<()> {
        self.line("event_msg", payload)
    }

    /// Writes the event that repeats an item in a paginated rollout.
    fn completed(&mut self, item: fmt::Arguments<'_>) -> io::Result<()> {
        let (thread, turn) = (self.id, self.turn_id);
        self.event(format_args!(
            r#""type":"item_completed","thread_id":"{thread}","turn_id":"{turn}","item":{{{item}}}"#
        ))
    }

    fn begin(&mut self, parent: Option<Uuid>) -> io::Result<()> {
        let version = match self.generation {
            Generation::G4 => "0.63.0",
            Generation::G5 => "0.118.0",
            Generation::G6 => "0.130.0",
            Generation::G7 => "0.149.0",
        };
        let source = match parent {
            None => "\"cli\"".to_owned(),
            Some(parent) => format!(
                r#"{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{parent}","depth":1,"agent_nickname":"Ada","agent_role":"explorer"}}}}}}"#
            ),
        };
        let mode = if self.generation == Generation::G7 {
            "paginated"
        } else {
            "legacy"
        };
        let (id, time, cwd) = (self.id, Time(self.ms), self.cwd());
        let length = self.file.fit(6_000);
        let rules = self.state.prose(Language::English, length);
        let commit = self.state.random.next_u64();
        self.line(
            "session_meta",
            format_args!(
                r#""id":"{id}","timestamp":"{time}","cwd":"{cwd}","originator":"codex-tui","cli_version":"{version}","source":{source},"model_provider":"openai","base_instructions":{{"text":{}}},"history_mode":"{mode}","git":{{"commit_hash":"{commit:016x}{commit:016x}","branch":"main","repository_url":"git@example.com:ada/app.git"}}"#,
                JsonString(&rules)
            ),
        )?;
        let length = self.file.fit(5_000);
        let rules = self.state.prose(Language::English, length);
        let text = format!("<permissions instructions>\n{rules}\n</permissions instructions>");
        self.message("developer", &text)?;
        let text = format!("<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>zsh</shell>\n</environment_context>");
        self.message("user", &text)
    }

    fn cwd(&self) -> String {
        self.state.projects[self.project].cwd.clone()
    }

    fn message(&mut self, role: &str, text: &str) -> io::Result<()> {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        self.item(format_args!(
            r#""type":"message","role":"{role}","content":[{{"type":"{kind}","text":{}}}]"#,
            JsonString(text)
        ))
    }

    fn turn(&mut self) -> io::Result<()> {
        let turn = Uuid::at(self.ms, &mut self.state.random);
        self.turn_id = turn;
        let before = self.ms;
        if self.generation > Generation::G4 {
            self.event(format_args!(
                r#""type":"task_started","turn_id":"{turn}","started_at":{},"model_context_window":272000,"collaboration_mode_kind":"default""#,
                before / 1_000
            ))?;
        }
        let (cwd, date) = (self.cwd(), Time(self.ms).date("-"));
        self.line(
            "turn_context",
            format_args!(
                r#""turn_id":"{turn}","cwd":"{cwd}","workspace_roots":["{cwd}"],"current_date":"{date}","timezone":"Europe/Berlin","approval_policy":"never","sandbox_policy":{{"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false}},"model":"gpt-5.6-sol","effort":"high","collaboration_mode":{{"mode":"default"}},"summary":"auto""#
            ),
        )?;
        self.prompt()?;
        let steps = self.state.length(&STEPS) * 2;
        let mut done = 0;
        while done < steps && self.file.room() > ROOM_MIN {
            self.step()?;
            done += 1;
        }
        let length = self.state.length(&ANSWER);
        let answer = self.state.prose(self.language, self.file.fit(length).max(20));
        self.write_message(&answer, "final_answer")?;
        if self.generation > Generation::G4 {
            let took = self.ms - before;
            self.event(format_args!(
                r#""type":"task_complete","turn_id":"{turn}","last_agent_message":{},"completed_at":{},"duration_ms":{took},"time_to_first_token_ms":{}"#,
                JsonString(&answer),
                self.ms / 1_000,
                took % 9_000
            ))?;
        }
        if self.state.chance(10) && self.file.room() > 60_000 {
            self.compact()?;
        }
        self.ms += self.state.random.between(5_000, 1_200_000);
        Ok(())
    }

    fn prompt(&mut self) -> io::Result<()> {
        let length = self.state.length(&PROMPT);
        let text = self.state.prose(self.language, self.file.fit(length).max(8));
        self.message("user", &text)?;
        if self.generation == Generation::G7 {
            let id = self.state.letters(12);
            return self.completed(format_args!(
                r#""type":"UserMessage","id":"{id}","content":[{{"type":"text","text":{}}}]"#,
                JsonString(&text)
            ));
        }
        self.event(format_args!(
            r#""type":"user_message","message":{},"images":[],"local_images":[],"text_elements":[]"#,
            JsonString(&text)
        ))
    }

    /// Writes a message of the agent twice, as an event and as an item, as real rollouts do.
    fn write_message(&mut self, text: &str, phase: &str) -> io::Result<()> {
        self.item(format_args!(
            r#""type":"message","role":"assistant","content":[{{"type":"output_text","text":{}}}],"phase":"{phase}""#,
            JsonString(text)
        ))?;
        if self.generation == Generation::G7 {
            let id = self.state.letters(12);
            return self.completed(format_args!(
                r#""type":"AgentMessage","id":"{id}","content":[{{"type":"Text","text":{}}}],"phase":"{phase}""#,
                JsonString(text)
            ));
        }
        self.event(format_args!(
            r#""type":"agent_message","message":{},"phase":"{phase}","memory_citation":null"#,
            JsonString(text)
        ))
    }

    /// Writes one API call: reasoning, perhaps a message, a tool call, and the token counters.
    fn step(&mut self) -> io::Result<()> {
        if self.state.chance(420) {
            self.think()?;
        }
        if self.state.chance(250) {
            let length = self.state.length(&REPLY);
            let text = self.state.prose(self.language, self.file.fit(length).max(20));
            self.write_message(&text, "commentary")?;
        }
        match self.state.random.between(0, 99) {
            0..9 => self.patch()?,
            9..17 if self.generation > Generation::G4 => self.poll()?,
            _ => self.shell()?,
        }
        // Not every call is followed by its counters.
        match self.state.chance(640) {
            true => self.count(),
            false => Ok(()),
        }
    }

    fn think(&mut self) -> io::Result<()> {
        let length = self.state.length(&ENCRYPTED);
        let encrypted = self.state.base64(self.file.fit(length));
        let id = self.state.letters(40);
        if !self.state.chance(300) {
            return self.item(format_args!(
                r#""type":"reasoning","id":"rs_{id}","summary":[],"content":null,"encrypted_content":"{encrypted}""#
            ));
        }
        let length = self.state.length(&THOUGHT).max(60);
        let text = self.state.prose(self.language, self.file.fit(length));
        if self.generation < Generation::G7 {
            self.event(format_args!(r#""type":"agent_reasoning","text":{}"#, JsonString(&text)))?;
        }
        self.item(format_args!(
            r#""type":"reasoning","id":"rs_{id}","summary":[{{"type":"summary_text","text":{}}}],"content":null,"encrypted_content":"{encrypted}""#,
            JsonString(&text)
        ))
    }

    fn count(&mut self) -> io::Result<()> {
        let random = &mut self.state.random;
        let input = random.between(9_000, 180_000);
        let output = random.between(30, 2_000);
        let last = [input, input - input / 9, output, output / 3];
        for (total, last) in self.total.iter_mut().zip(last) {
            *total += last;
        }
        let usage = |[input, cached, output, reasoning]: [u64; 4]| {
            format!(
                r#"{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":{output},"reasoning_output_tokens":{reasoning},"total_tokens":{}}}"#,
                input + output
            )
        };
        let resets = self.ms / 1_000 + 9_000;
        self.event(format_args!(
            r#""type":"token_count","info":{{"total_token_usage":{},"last_token_usage":{},"model_context_window":272000}},"rate_limits":{{"limit_id":"codex","limit_name":null,"primary":{{"used_percent":12.0,"window_minutes":300,"resets_at":{resets}}},"secondary":null,"credits":null,"plan_type":"pro","rate_limit_reached_type":null}}"#,
            usage(self.total),
            usage(last)
        ))
    }

    fn compact(&mut self) -> io::Result<()> {
        let mut history = Vec::new();
        for _ in 0..12 {
            let text = self.state.prose(self.language, 600);
            history.push(format!(
                r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{}}}]}}"#,
                JsonString(&text)
            ));
        }
        self.line(
            "compacted",
            format_args!(r#""message":"","replacement_history":[{}]"#, history.join(",")),
        )?;
        match self.generation {
            Generation::G7 => {
                let id = self.state.letters(12);
                self.completed(format_args!(r#""type":"ContextCompaction","id":"{id}""#))
            }
            _ => self.event(format_args!(r#""type":"context_compacted""#)),
        }
    }
}
