//! Generates Grok sessions with traps: `updates.jsonl` files with every form of usage records.

mod subagents;

use serde_json::{Map, Value, json};

use super::{Corpus, CountedCall, SeededRandom, Tokens};

const MODELS: [&str; 3] = ["grok-4.6-build", "grok-4-fast", "grok-code-fast-1"];

/// The start of the first session: 2026-08-16T04:10:00Z.
const START_MS: u64 = 1_786_853_400_000;

/// Writes `sessions` sessions (at least two). Every trap occurs at least once.
///
/// The traps, with their names in [`crate::truth::Truth::traps`]:
///
/// | name | what the log contains | what counts |
/// |---|---|---|
/// | `plain` | one prompt, one model | the prompt |
/// | `models` | a prompt of two or three models | each model's share |
/// | `no_split` | usage without `modelUsage` | all of it, for the session's model |
/// | `copy` | the same row twice | once |
/// | `later` | a second row of a prompt, with more | the later row |
/// | `no_usage` | a turn that ends without usage | nothing |
/// | `nulls` | nulls and numbers as `1e3`, `20.0` | 0 in place of nulls, the number |
/// | `cache` | cache reads and writes inside `inputTokens` | each kind separately |
/// | `decoy` | usage in a tool's output | nothing |
/// | `numbered` | prompt ids that are numbers, in every session | each session's own |
/// | `fork` | another session's rows, copied | the parent's |
/// | `growth` | a session that records only the size of the context | its growth |
/// | `torn` | the last line is torn | everything before it |
/// | `subagent` | a prompt whose cost includes the subagents that ended in it; their logs repeat their cost | the prompt |
/// | `nested` | such a subagent whose cost includes a subagent of its own | the first prompt |
/// | `late` | a subagent that ends after its prompt, or in the next one | its own log |
pub fn grok(seed: u64, sessions: usize) -> Corpus {
    let mut random = SeededRandom(seed);
    let mut corpus = Corpus::default();
    let mut order = TRAPS;
    random.shuffle(&mut order);
    for number in 0..sessions.max(2) {
        let mut builder = SessionBuilder::new(&mut random, seed, number);
        for plant in order.iter().skip(number).step_by(sessions.max(2)) {
            plant(&mut builder);
        }
        for _ in 0..builder.random.between(1, 5) {
            let plant = builder.random.pick(&TRAPS);
            plant(&mut builder);
        }
        match number {
            0 => builder.fork(&mut corpus),
            1 => builder.subagents(&mut corpus),
            _ if builder.random.flip() => builder.subagents(&mut corpus),
            _ => {}
        }
        builder.finish(&mut corpus);
    }
    growth(&mut random, seed, &mut corpus);
    corpus
}

type Trap = fn(&mut SessionBuilder<'_>);

const TRAPS: [Trap; 10] = [
    |builder| builder.plain(),
    |builder| builder.models(),
    |builder| builder.no_split(),
    |builder| builder.copy(),
    |builder| builder.later(),
    |builder| builder.no_usage(),
    |builder| builder.nulls(),
    |builder| builder.cache(),
    |builder| builder.decoy(),
    |builder| builder.numbered(),
];

/// A session under construction: its log and the expected counts.
struct SessionBuilder<'a> {
    random: &'a mut SeededRandom,
    session: String,
    rows: Vec<String>,
    bills: Vec<CountedCall>,
    traps: Vec<&'static str>,
    events: u64,
    prompts: u64,
    now_ms: u64,
    /// For a subagent, whether its parent's log includes its cost.
    subagent: Option<bool>,
}

impl<'a> SessionBuilder<'a> {
    fn new(random: &'a mut SeededRandom, seed: u64, number: usize) -> SessionBuilder<'a> {
        let session = uuid(seed, number as u64);
        let now_ms = START_MS + 3_600_000 * random.between(0, 400);
        let (rows, bills, traps) = (Vec::new(), Vec::new(), Vec::new());
        let mut builder = SessionBuilder {
            random,
            session,
            rows,
            bills,
            traps,
            events: 0,
            prompts: 0,
            now_ms,
            subagent: None,
        };
        builder.plain();
        builder
    }

    fn plain(&mut self) {
        let (prompt, usage) = (self.prompt(), self.share(0));
        let split = json!({MODELS[0]: usage});
        self.finished(&prompt, &with_split(usage.clone(), split));
        self.call(Some(MODELS[0]), &usage);
        self.traps.push("plain");
    }

    fn models(&mut self) {
        let prompt = self.prompt();
        let count = self.random.between(2, 3);
        let mut split = Map::new();
        for model in MODELS.into_iter().take(usize::try_from(count).expect("a few")) {
            let usage = self.share(0);
            self.call(Some(model), &usage);
            split.insert(model.to_owned(), usage);
        }
        let total = self.share(0);
        self.finished(&prompt, &with_split(total, Value::Object(split)));
        self.traps.push("models");
    }

    fn no_split(&mut self) {
        let (prompt, usage) = (self.prompt(), self.share(0));
        self.finished(&prompt, &usage);
        self.call(Some("grok-4.6"), &usage);
        self.traps.push("no_split");
    }

    fn copy(&mut self) {
        self.plain();
        let row = self.rows.last().expect("a row was written").clone();
        self.rows.push(row);
        self.traps.push("copy");
    }

    fn later(&mut self) {
        let (prompt, first, later) = (self.prompt(), self.share(0), self.share(0));
        for usage in [&first, &later] {
            self.finished(&prompt, &with_split(usage.clone(), json!({MODELS[1]: usage})));
        }
        self.call(Some(MODELS[1]), &later);
        self.traps.push("later");
    }

    fn no_usage(&mut self) {
        let prompt = self.prompt();
        self.finished(&prompt, &Value::Null);
        self.traps.push("no_usage");
    }

    fn nulls(&mut self) {
        let prompt = self.prompt();
        let usage = json!({"inputTokens": null, "outputTokens": 20.0, "cachedReadTokens": -4, "reasoningTokens": "7"});
        self.finished(&prompt, &with_split(usage.clone(), json!({MODELS[2]: usage})));
        self.call(Some(MODELS[2]), &json!({"outputTokens": 20}));
        self.traps.push("nulls");
    }

    fn cache(&mut self) {
        let prompt = self.prompt();
        let writes = self.random.between(1, 400);
        let usage = self.share(writes);
        self.finished(&prompt, &with_split(usage.clone(), json!({MODELS[0]: usage})));
        self.call(Some(MODELS[0]), &usage);
        self.traps.push("cache");
    }

    fn decoy(&mut self) {
        let usage = self.share(0);
        let output = json!({"type": "ReadFile", "usage": usage, "sessionUpdate": "turn_completed"});
        let update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "completed", "rawOutput": output,
        });
        self.row("session/update", &update);
        self.traps.push("decoy");
    }

    fn numbered(&mut self) {
        let prompt = format!("{}", self.prompts);
        self.prompt();
        let usage = self.share(0);
        self.finished(&prompt, &with_split(usage.clone(), json!({MODELS[0]: usage})));
        self.call(Some(MODELS[0]), &usage);
        self.traps.push("numbered");
    }

    /// Writes a prompt of the user and returns its id.
    fn prompt(&mut self) -> String {
        let update = json!({
            "sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go on"},
            "_meta": {"modelId": "grok-4.6", "promptIndex": self.prompts},
        });
        self.prompts += 1;
        self.row("session/update", &update);
        uuid(self.random.next_u64(), self.prompts)
    }

    /// Returns the usage of one model, with `writes` tokens written to the cache.
    fn share(&mut self, writes: u64) -> Value {
        let (new, read, output) = (
            self.random.between(1, 9_000),
            self.random.between(0, 50_000),
            self.random.between(1, 900),
        );
        json!({
            "inputTokens": new + read + writes, "outputTokens": output, "totalTokens": new + read + writes + output,
            "cachedReadTokens": read, "cacheCreationTokens": writes, "reasoningTokens": output / 2, "modelCalls": 1,
            "costUsdTicks": new * 20_000,
        })
    }

    fn finished(&mut self, prompt: &str, usage: &Value) {
        let update = json!({
            "sessionUpdate": "turn_completed", "prompt_id": prompt, "stop_reason": "end_turn", "usage": usage,
        });
        self.row("_x.ai/session/update", &update);
    }

    fn row(&mut self, method: &str, update: &Value) {
        self.events += 1;
        self.now_ms += 1_000;
        let row = json!({
            "timestamp": self.now_ms / 1_000, "method": method,
            "params": {
                "sessionId": self.session, "update": update,
                "_meta": {"eventId": format!("{}-{}", self.session, self.events), "agentTimestampMs": self.now_ms},
            },
        });
        self.rows.push(row.to_string());
    }

    fn call(&mut self, model: Option<&str>, usage: &Value) {
        let count = |key: &str| usage[key].as_u64().unwrap_or_default();
        let (read, write) = (count("cachedReadTokens"), count("cacheCreationTokens"));
        let tokens = Tokens {
            calls: 1,
            input: count("inputTokens") - read - write,
            output: count("outputTokens"),
            cache_read: read,
            cache_write_5m: write,
            ..Tokens::default()
        };
        let model = model.map(str::to_owned);
        self.bills.push(CountedCall {
            model,
            tokens,
            day: day(self.now_ms),
        });
    }

    /// Forks the session.
    fn fork(&mut self, corpus: &mut Corpus) {
        let session = uuid(self.random.next_u64(), 77);
        let own = format!("\"sessionId\":\"{}\"", self.session);
        let new = format!("\"sessionId\":\"{session}\"");
        let rows: Vec<String> = self.rows.iter().map(|row| row.replace(&own, &new)).collect();
        let mut fork = SessionBuilder {
            random: &mut *self.random,
            session,
            rows,
            bills: Vec::new(),
            traps: vec!["fork"],
            events: 0,
            prompts: self.prompts,
            now_ms: self.now_ms,
            subagent: None,
        };
        fork.plain();
        fork.finish(corpus);
    }

    fn finish(mut self, corpus: &mut Corpus) {
        let mut bytes = self.rows.join("\n").into_bytes();
        bytes.push(b'\n');
        if self.random.flip() || corpus.files.is_empty() {
            bytes.extend_from_slice(b"{\"timestamp\":17868534");
            self.traps.push("torn");
        }
        let path = format!("sessions/%2Fhome%2Fada%2Fapp/{}/updates.jsonl", self.session);
        corpus.truth.files.entry(path.clone()).or_default();
        for call in &self.bills {
            corpus.truth.in_file(&path, call);
            corpus.truth.in_session(&self.session, call);
            if self.subagent != Some(true) {
                corpus.truth.once(&self.session, call);
            }
        }
        if self.subagent.is_some() {
            let summary = json!({"info": {"id": self.session, "cwd": "/home/ada/app"}, "session_kind": "subagent"});
            let path = path.replace("updates.jsonl", "summary.json");
            corpus.companions.push((path, summary.to_string().into_bytes()));
        }
        for trap in self.traps {
            *corpus.truth.traps.entry(trap).or_default() += 1;
        }
        corpus.files.push((path, bytes));
    }
}

/// Writes a session of an early version without usage records: rows contain the size of the context, which may be reset in between.
fn growth(random: &mut SeededRandom, seed: u64, corpus: &mut Corpus) {
    let mut builder = SessionBuilder::new(random, seed, 999);
    (builder.rows, builder.bills, builder.traps) = (Vec::new(), Vec::new(), vec!["growth"]);
    let mut full = 0;
    for _ in 0..builder.random.between(2, 4) {
        let prompt = builder.prompt();
        let mut grown = 0;
        for _ in 0..builder.random.between(1, 5) {
            let next = builder.random.between(0, 90_000);
            grown += next.saturating_sub(full);
            full = next;
            builder.events += 1;
            let row = json!({"timestamp": builder.now_ms / 1_000, "method": "session/update", "params": {
                "sessionId": builder.session,
                "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "so"}},
                "_meta": {"eventId": format!("{}-{}", builder.session, builder.events), "agentTimestampMs": builder.now_ms,
                    "promptId": prompt, "totalTokens": full},
            }});
            builder.rows.push(row.to_string());
        }
        builder.finished(&prompt, &Value::Null);
        if grown > 0 {
            builder.call(None, &json!({"inputTokens": grown}));
        }
    }
    builder.finish(corpus);
}

fn with_split(mut usage: Value, split: Value) -> Value {
    usage["modelUsage"] = split;
    usage
}

fn uuid(high: u64, low: u64) -> String {
    format!(
        "{:08x}-0000-7000-8000-{:012x}",
        high & 0xffff_ffff,
        low & 0xffff_ffff_ffff
    )
}

/// Returns the UTC day of a time.
fn day(ms: u64) -> String {
    // Convert days to a date. Only the years of these logs are supported.
    let mut days = ms / 86_400_000 - 20_454;
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (month, length) in lengths.into_iter().enumerate() {
        if days < length {
            return format!("2026-{:02}-{:02}", month + 1, days + 1);
        }
        days -= length;
    }
    unreachable!("the logs are of 2026")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::sum;
    use super::*;

    /// A simple second count: the last row of a prompt counts; copies and sessions that ended within the prompt that started them do not.
    fn output(files: &[(String, Vec<u8>)]) -> u64 {
        let mut prompts: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut held: Vec<String> = Vec::new();
        for (_, bytes) in files {
            let (mut started, mut done) = (BTreeMap::new(), Vec::new());
            for line in bytes.split(|byte| *byte == b'\n') {
                let Ok(row) = serde_json::from_slice::<Value>(line) else {
                    continue;
                };
                let update = &row["params"]["update"];
                let child = update["child_session_id"].as_str().unwrap_or_default().to_owned();
                match update["sessionUpdate"].as_str() {
                    Some("subagent_spawned") => {
                        started.insert(child, update["parent_prompt_id"].clone());
                    }
                    Some("subagent_finished") => done.push(child),
                    Some("turn_completed") => {
                        let ended = std::mem::take(&mut done).into_iter();
                        held.extend(ended.filter(|child| started[child] == update["prompt_id"]));
                    }
                    _ => {}
                }
                if update["sessionUpdate"] != "turn_completed" || !update["usage"].is_object() {
                    continue;
                }
                let id = row["params"]["_meta"]["eventId"].as_str().expect("rows have ids");
                let writer = id.rsplit_once('-').expect("an id has a number").0.to_owned();
                let prompt = update["prompt_id"].as_str().expect("prompts have ids").to_owned();
                let usage = &update["usage"];
                let number = |usage: &Value| usage["outputTokens"].as_f64().unwrap_or_default();
                let output: f64 = match usage["modelUsage"].as_object() {
                    Some(split) => split.values().map(number).sum(),
                    None => number(usage),
                };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small whole numbers"
                )]
                prompts.insert((writer, prompt), output as u64);
            }
        }
        prompts.retain(|(writer, _), _| !held.contains(writer));
        prompts.values().sum()
    }

    #[test]
    fn the_expected_counts_equal_a_simple_count_of_the_rows() {
        for seed in 0..16 {
            let corpus = grok(seed, 2 + usize::try_from(seed).expect("a few") % 5);
            assert_eq!(sum(&corpus.truth.all).output, output(&corpus.files), "seed {seed}");
            assert_eq!(corpus.truth.traps.len(), 16, "seed {seed}: {:?}", corpus.truth.traps);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(grok(7, 4).files, grok(7, 4).files);
        assert_ne!(grok(7, 4).files, grok(8, 4).files);
    }

    #[test]
    fn day_converts_times_to_dates() {
        assert_eq!(day(START_MS), "2026-08-16");
        assert_eq!(day(1_767_225_600_000), "2026-01-01");
    }
}
