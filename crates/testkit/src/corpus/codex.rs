//! Threads of Codex CLI: one rollout each, in four generations of the format. Some are archived, some of those compressed,
//! some are subagents of another thread.

mod tools;

use std::fmt;
use std::io;

use super::disk::LogFile;
use super::record::{Json, Time, Uuid};
use super::spread::{ANSWER, ENCRYPTED, PROMPT, REPLY, STEPS, THOUGHT};
use super::world::{Tongue, World};

/// What one thread is to become.
pub(super) struct Plan {
    pub(super) weight: usize,
    pub(super) place: Place,
    pub(super) start_ms: u64,
}

/// Where a rollout lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Sessions,
    Archived,
    Compressed,
}

/// Generations of the format, as `docs/agents.md` tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    /// Turns are told by their context alone.
    G4,
    /// With the start and the end of turns, and of commands.
    G5,
    /// With the ends of patches.
    G6,
    /// Paginated: items in place of messages of the user and the agent.
    G7,
}

const ROOM_MIN: u64 = 2_500;

/// Writes one thread; gives its id.
pub(super) fn write(world: &mut World, plan: &Plan, parent: Option<Uuid>) -> io::Result<Uuid> {
    let id = Uuid::at(plan.start_ms, &mut world.dice);
    let time = Time(plan.start_ms);
    let name = format!("rollout-{}-{id}.jsonl", time.in_name());
    let path = match plan.place {
        Place::Sessions => format!(".codex/sessions/{}/{name}", time.date("/")),
        Place::Archived => format!(".codex/archived_sessions/{name}"),
        Place::Compressed => format!(".codex/archived_sessions/{name}.zst"),
    };
    let budget = world.ledger.share(plan.weight);
    let project = world.begin();
    let generation = match world.dice.between(0, 99) {
        0..15 => Generation::G4,
        15..50 => Generation::G5,
        50..80 => Generation::G6,
        _ => Generation::G7,
    };
    let mut thread = Thread {
        file: LogFile::create(&world.home.join(path), budget)?,
        tongue: if world.chance(40) { Tongue::Cjk } else { Tongue::English },
        turn_id: Uuid::at(plan.start_ms, &mut world.dice),
        world,
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
    thread.world.close(thread.file, ms)?;
    Ok(id)
}

/// A rollout while it is written.
struct Thread<'w> {
    world: &'w mut World,
    file: LogFile,
    project: usize,
    id: Uuid,
    generation: Generation,
    tongue: Tongue,
    turn_id: Uuid,
    ms: u64,
    ordinal: u64,
    /// Tokens so far: input, cached, output, reasoning.
    total: [u64; 4],
}

impl Thread<'_> {
    fn line(&mut self, kind: &str, payload: fmt::Arguments<'_>) -> io::Result<()> {
        self.ms += self.world.dice.between(2, 3_000);
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
        self.world.maybe_tear(&mut self.file)
    }

    fn item(&mut self, payload: fmt::Arguments<'_>) -> io::Result<()> {
        self.line("response_item", payload)
    }

    fn event(&mut self, payload: fmt::Arguments<'_>) -> io::Result<()> {
        self.line("event_msg", payload)
    }

    /// An item as paginated rollouts tell it once more.
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
        let rules = self.world.prose(Tongue::English, length);
        let commit = self.world.dice.roll();
        self.line(
            "session_meta",
            format_args!(
                r#""id":"{id}","timestamp":"{time}","cwd":"{cwd}","originator":"codex-tui","cli_version":"{version}","source":{source},"model_provider":"openai","base_instructions":{{"text":{}}},"history_mode":"{mode}","git":{{"commit_hash":"{commit:016x}{commit:016x}","branch":"main","repository_url":"git@example.com:ada/app.git"}}"#,
                Json(&rules)
            ),
        )?;
        let length = self.file.fit(5_000);
        let rules = self.world.prose(Tongue::English, length);
        let text = format!("<permissions instructions>\n{rules}\n</permissions instructions>");
        self.message("developer", &text)?;
        let text = format!("<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>zsh</shell>\n</environment_context>");
        self.message("user", &text)
    }

    fn cwd(&self) -> String {
        self.world.projects[self.project].cwd.clone()
    }

    fn message(&mut self, role: &str, text: &str) -> io::Result<()> {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        self.item(format_args!(
            r#""type":"message","role":"{role}","content":[{{"type":"{kind}","text":{}}}]"#,
            Json(text)
        ))
    }

    fn turn(&mut self) -> io::Result<()> {
        let turn = Uuid::at(self.ms, &mut self.world.dice);
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
        let steps = self.world.length(&STEPS) * 2;
        let mut done = 0;
        while done < steps && self.file.room() > ROOM_MIN {
            self.step()?;
            done += 1;
        }
        let length = self.world.length(&ANSWER);
        let answer = self.world.prose(self.tongue, self.file.fit(length).max(20));
        self.say(&answer, "final_answer")?;
        if self.generation > Generation::G4 {
            let took = self.ms - before;
            self.event(format_args!(
                r#""type":"task_complete","turn_id":"{turn}","last_agent_message":{},"completed_at":{},"duration_ms":{took},"time_to_first_token_ms":{}"#,
                Json(&answer),
                self.ms / 1_000,
                took % 9_000
            ))?;
        }
        if self.world.chance(10) && self.file.room() > 60_000 {
            self.compact()?;
        }
        self.ms += self.world.dice.between(5_000, 1_200_000);
        Ok(())
    }

    fn prompt(&mut self) -> io::Result<()> {
        let length = self.world.length(&PROMPT);
        let text = self.world.prose(self.tongue, self.file.fit(length).max(8));
        self.message("user", &text)?;
        if self.generation == Generation::G7 {
            let id = self.world.letters(12);
            return self.completed(format_args!(
                r#""type":"UserMessage","id":"{id}","content":[{{"type":"text","text":{}}}]"#,
                Json(&text)
            ));
        }
        self.event(format_args!(
            r#""type":"user_message","message":{},"images":[],"local_images":[],"text_elements":[]"#,
            Json(&text)
        ))
    }

    /// What the agent says, told twice as in real rollouts.
    fn say(&mut self, text: &str, phase: &str) -> io::Result<()> {
        self.item(format_args!(
            r#""type":"message","role":"assistant","content":[{{"type":"output_text","text":{}}}],"phase":"{phase}""#,
            Json(text)
        ))?;
        if self.generation == Generation::G7 {
            let id = self.world.letters(12);
            return self.completed(format_args!(
                r#""type":"AgentMessage","id":"{id}","content":[{{"type":"Text","text":{}}}],"phase":"{phase}""#,
                Json(text)
            ));
        }
        self.event(format_args!(
            r#""type":"agent_message","message":{},"phase":"{phase}","memory_citation":null"#,
            Json(text)
        ))
    }

    /// One call of the model: thought, perhaps words, a tool, and the counters.
    fn step(&mut self) -> io::Result<()> {
        if self.world.chance(420) {
            self.think()?;
        }
        if self.world.chance(250) {
            let length = self.world.length(&REPLY);
            let text = self.world.prose(self.tongue, self.file.fit(length).max(20));
            self.say(&text, "commentary")?;
        }
        match self.world.dice.between(0, 99) {
            0..9 => self.patch()?,
            9..17 if self.generation > Generation::G4 => self.poll()?,
            _ => self.shell()?,
        }
        // Not every call tells its counters.
        match self.world.chance(640) {
            true => self.count(),
            false => Ok(()),
        }
    }

    fn think(&mut self) -> io::Result<()> {
        let length = self.world.length(&ENCRYPTED);
        let encrypted = self.world.base64(self.file.fit(length));
        let id = self.world.letters(40);
        if !self.world.chance(300) {
            return self.item(format_args!(
                r#""type":"reasoning","id":"rs_{id}","summary":[],"content":null,"encrypted_content":"{encrypted}""#
            ));
        }
        let length = self.world.length(&THOUGHT).max(60);
        let text = self.world.prose(self.tongue, self.file.fit(length));
        if self.generation < Generation::G7 {
            self.event(format_args!(r#""type":"agent_reasoning","text":{}"#, Json(&text)))?;
        }
        self.item(format_args!(
            r#""type":"reasoning","id":"rs_{id}","summary":[{{"type":"summary_text","text":{}}}],"content":null,"encrypted_content":"{encrypted}""#,
            Json(&text)
        ))
    }

    fn count(&mut self) -> io::Result<()> {
        let dice = &mut self.world.dice;
        let input = dice.between(9_000, 180_000);
        let output = dice.between(30, 2_000);
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
            let text = self.world.prose(self.tongue, 600);
            history.push(format!(
                r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{}}}]}}"#,
                Json(&text)
            ));
        }
        self.line(
            "compacted",
            format_args!(r#""message":"","replacement_history":[{}]"#, history.join(",")),
        )?;
        match self.generation {
            Generation::G7 => {
                let id = self.world.letters(12);
                self.completed(format_args!(r#""type":"ContextCompaction","id":"{id}""#))
            }
            _ => self.event(format_args!(r#""type":"context_compacted""#)),
        }
    }
}
