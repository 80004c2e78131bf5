//! Generates Codex CLI threads with traps: token counters that repeat, fall and restart, and copied histories.

use serde_json::{Value, json};

use super::{Corpus, CountedCall, SeededRandom, Tokens, Truth};

const MODELS: [&str; 3] = ["gpt-5.4", "gpt-5.5", "gpt-5.6-sol"];

/// Writes `threads` threads (at least two) and their forks. Every trap occurs at least once.
///
/// The traps, with their names in [`Truth::traps`]:
///
/// | name | what the log contains | what counts |
/// |---|---|---|
/// | `repeat` | the same counters again, as on a refresh of the rate limits | nothing |
/// | `info_null` | a record of rate limits alone | nothing |
/// | `estimate` | `last` is an estimate after a compaction, totals are unchanged | nothing |
/// | `stale` | counters of an earlier call, then the newest ones again | nothing |
/// | `reset` | totals restart at the call | the call |
/// | `overflow` | totals are overwritten with the size of the context | nothing; the next call counts |
/// | `only_totals` | no `last` | the difference |
/// | `only_totals_reset` | no `last`, totals restart | the new totals |
/// | `compaction` | a compaction with a request of its own, recorded twice | once |
/// | `fast` | the tier changes for a while | fast calls |
/// | `model` | another model | its calls under its name |
/// | `clamp` | more cached than input, more reasoning than output | cached is limited to input |
/// | `cache_write` | input written to the cache | separately from input |
/// | `nulls` | nulls in the counters | 0 in their place |
/// | `glued` | two records on one line | both |
/// | `late_model` | a count before the first model name | under that name |
/// | `fork` | a copy of the history with the time of the fork; turn ids contain the original time | own calls only |
/// | `old_fork` | a copy without turns, all at the same time; totals restart | own calls only |
/// | `subagent` | a copy for a subagent, which continues from the copied totals | own calls only |
/// | `torn_end` | the last line is torn | everything before it |
pub fn codex(seed: u64, threads: usize) -> Corpus {
    let mut random = SeededRandom(seed);
    let mut corpus = Corpus::default();
    let threads = threads.max(2);
    for number in 0..threads {
        let mut builder = SessionBuilder::new(&mut random, seed, number);
        let mut plants = TRAPS.to_vec();
        builder.random.shuffle(&mut plants);
        builder.start(number == 0);
        let few = if number == 0 { plants.len() } else { 8 };
        for plant in plants.into_iter().take(few) {
            builder.call();
            plant(&mut builder);
        }
        builder.call();
        let kinds = if number == 0 { vec![0, 1, 2] } else { vec![number % 3] };
        for kind in kinds {
            builder.fork(kind, &mut corpus);
        }
        builder.finish(number % 2 == 0, &mut corpus);
    }
    corpus
}

type Trap = fn(&mut SessionBuilder<'_>);

/// The traps of a thread.
const TRAPS: [Trap; 15] = [
    |builder| builder.repeat(),
    |builder| builder.info_null(),
    |builder| builder.estimate(),
    |builder| builder.stale(),
    |builder| builder.reset(),
    |builder| builder.overflow(),
    |builder| builder.only_totals(),
    |builder| builder.only_totals_reset(),
    |builder| builder.compaction(),
    |builder| builder.fast(),
    |builder| builder.other_model(),
    |builder| builder.clamp(),
    |builder| builder.cache_write(),
    |builder| builder.nulls(),
    |builder| builder.glued(),
];

/// The counters of a thread or a call: input, cached, written to the cache, output, reasoning.
type Counts = [u64; 5];

/// A thread under construction.
struct SessionBuilder<'a> {
    random: &'a mut SeededRandom,
    truth: Truth,
    id: String,
    path: String,
    ms: u64,
    records: Vec<Value>,
    total: Counts,
    last: Counts,
    model: Option<String>,
    is_fast: bool,
    glued: Vec<usize>,
    serial: u64,
}

fn uuid(ms: u64, version: u64, tail: u64) -> String {
    format!("{:08x}-{:04x}-{version}000-8000-{tail:012x}", ms >> 16, ms & 0xffff)
}

fn time(ms: u64) -> String {
    let (seconds, days) = (ms / 1000, ms / 86_400_000);
    // All logs are in one month.
    let day = days - 20_605 + 1;
    format!(
        "2026-06-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        ms % 1000
    )
}

fn usage(counts: Counts) -> Value {
    json!({
        "input_tokens": counts[0], "cached_input_tokens": counts[1], "cache_write_input_tokens": counts[2],
        "output_tokens": counts[3], "reasoning_output_tokens": counts[4], "total_tokens": counts[0] + counts[3],
    })
}

impl<'a> SessionBuilder<'a> {
    fn new(random: &'a mut SeededRandom, seed: u64, number: usize) -> SessionBuilder<'a> {
        // Up to 20 days after 2026-06-01.
        let ms = 1_780_272_000_000 + random.between(0, 20) * 86_400_000 + random.between(0, 40_000_000);
        let id = uuid(ms, 7, (seed & 0xffff) << 16 | number as u64);
        let path = format!("sessions/2026/06/01/rollout-2026-06-01T00-00-00-{id}.jsonl");
        SessionBuilder {
            random,
            truth: Truth::default(),
            id,
            path,
            ms,
            records: Vec::new(),
            total: [0; 5],
            last: [0; 5],
            model: None,
            is_fast: false,
            glued: Vec::new(),
            serial: number as u64 * 10_000,
        }
    }

    fn write(&mut self, kind: &str, payload: Value) {
        self.ms += self.random.between(200, 4_000);
        self.records
            .push(json!({"timestamp": time(self.ms), "type": kind, "payload": payload}));
    }

    fn event(&mut self, payload: Value) {
        self.write("event_msg", payload);
    }

    fn start(&mut self, late_model: bool) {
        self.truth.files.entry(self.path.clone()).or_default();
        let head = json!({"id": self.id, "timestamp": time(self.ms), "cwd": "/home/ada/app", "originator": "codex-tui", "cli_version": "0.145.0", "source": "cli"});
        self.write("session_meta", head);
        if late_model {
            *self.truth.traps.entry("late_model").or_default() += 1;
            self.model = Some(MODELS[0].to_owned());
            self.turn();
            self.call();
            self.write("turn_context", json!({"model": MODELS[0], "cwd": "/home/ada/app"}));
        } else {
            self.turn();
            self.switch();
        }
    }

    /// Starts a turn with a prompt.
    fn turn(&mut self) {
        let turn = uuid(self.ms + 1, 7, 0xffff);
        self.event(json!({"type": "task_started", "turn_id": turn}));
        let words = format!("count it, number {}", self.serial);
        self.serial += 1;
        self.write(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}),
        );
        self.event(json!({"type": "user_message", "message": words}));
    }

    fn switch(&mut self) {
        let model = self.random.pick(&MODELS);
        self.model = Some(model.to_owned());
        self.write("turn_context", json!({"model": model, "cwd": "/home/ada/app"}));
    }

    /// Returns the counts of the next call. The input count is unique.
    fn next_counts(&mut self) -> Counts {
        self.serial += 1;
        let input = self.random.between(10, 90) * 10_000 + self.serial % 10_000;
        let cached = self.random.between(0, input);
        let output = self.random.between(20, 900);
        [input, cached, 0, output, self.random.between(0, output)]
    }

    fn count(&mut self, total: Option<Value>, last: Option<Value>) {
        let mut info = json!({"model_context_window": 272_000});
        for (key, value) in [("total_token_usage", total), ("last_token_usage", last)] {
            if let Some(value) = value {
                info[key] = value;
            }
        }
        self.event(json!({"type": "token_count", "info": info, "rate_limits": null}));
    }

    /// Counts a call of this thread.
    fn count_call(&mut self, counts: Counts) {
        let cached = counts[1].min(counts[0]);
        let written = counts[2].min(counts[0] - cached);
        let call = CountedCall {
            model: self.model.clone(),
            day: time(self.ms)[..10].to_owned(),
            tokens: Tokens {
                calls: 1,
                fast_calls: u64::from(self.is_fast),
                input: counts[0] - cached - written,
                output: counts[3],
                cache_read: cached,
                cache_write_5m: written,
                cache_write_1h: 0,
            },
        };
        self.truth.in_file(&self.path, &call);
        self.truth.in_session(&self.id, &call);
        self.truth.once(&self.id, &call);
    }

    fn add(&mut self, counts: Counts) {
        for (total, count) in self.total.iter_mut().zip(counts) {
            *total += count;
        }
        self.last = counts;
    }

    /// Writes an ordinary call: the agent's message, followed by the counters.
    fn call(&mut self) {
        let counts = self.next_counts();
        self.call_of(counts);
    }

    fn call_of(&mut self, counts: Counts) {
        let words = format!("counted {}", self.serial);
        self.write(
            "response_item",
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}),
        );
        self.add(counts);
        self.count(Some(usage(self.total)), Some(usage(counts)));
        self.count_call(counts);
    }

    fn trap(&mut self, name: &'static str) {
        *self.truth.traps.entry(name).or_default() += 1;
    }

    fn repeat(&mut self) {
        self.trap("repeat");
        for _ in 0..self.random.between(1, 3) {
            self.count(Some(usage(self.total)), Some(usage(self.last)));
        }
    }

    fn info_null(&mut self) {
        self.trap("info_null");
        self.event(json!({"type": "token_count", "info": null, "rate_limits": {"primary": {"used_percent": 3.0}}}));
    }

    fn estimate(&mut self) {
        self.trap("estimate");
        let estimate = json!({"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": 9_000});
        self.count(Some(usage(self.total)), Some(estimate));
    }

    fn stale(&mut self) {
        self.trap("stale");
        let (before, last) = (self.total, self.last);
        self.call();
        self.call();
        self.count(Some(usage(before)), Some(usage(last)));
        self.count(Some(usage(self.total)), Some(usage(self.last)));
    }

    fn reset(&mut self) {
        self.trap("reset");
        self.call();
        self.total = [0; 5];
        self.call();
    }

    fn overflow(&mut self) {
        self.trap("overflow");
        let full = json!({"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": 272_000});
        self.count(Some(full.clone()), Some(full));
        self.total = [0; 5];
        self.call();
    }

    fn only_totals(&mut self) {
        self.trap("only_totals");
        let counts = self.next_counts();
        self.add(counts);
        self.count(Some(usage(self.total)), None);
        self.count(Some(usage(self.total)), None);
        self.count_call(counts);
    }

    fn only_totals_reset(&mut self) {
        self.trap("only_totals_reset");
        // Make sure that the totals differ enough not to be mistaken for stale ones.
        for _ in 0..8 {
            self.call();
        }
        let counts = [5_000 + self.serial % 100_000, 100, 0, 10, 0];
        self.total = [0; 5];
        self.add(counts);
        self.count(Some(usage(self.total)), None);
        self.count_call(counts);
    }

    fn compaction(&mut self) {
        self.trap("compaction");
        let counts = self.next_counts();
        self.write("compacted", json!({"message": "", "replacement_history": []}));
        let record = json!({"response_id": format!("resp_{}_{}", self.id, self.serial), "usage": usage(counts)});
        self.write("token_usage_record", record.clone());
        self.event(json!({"type": "context_compacted"}));
        self.write("token_usage_record", record);
        self.count_call(counts);
    }

    fn fast(&mut self) {
        self.trap("fast");
        self.event(json!({"type": "thread_settings_applied", "thread_settings": {"service_tier": "priority"}}));
        self.is_fast = true;
        self.call();
        self.event(json!({"type": "thread_settings_applied", "thread_settings": {"approval_policy": "never"}}));
        self.call();
        self.event(json!({"type": "thread_settings_applied", "thread_settings": {"service_tier": "default"}}));
        self.is_fast = false;
        self.call();
    }

    fn other_model(&mut self) {
        self.trap("model");
        self.turn();
        self.switch();
        self.call();
    }

    fn clamp(&mut self) {
        self.trap("clamp");
        let mut counts = self.next_counts();
        (counts[1], counts[4]) = (counts[0] + 7, counts[3] + 7);
        self.call_of(counts);
    }

    fn cache_write(&mut self) {
        self.trap("cache_write");
        let mut counts = self.next_counts();
        (counts[1], counts[2]) = (counts[0] / 2, counts[0] / 4);
        self.call_of(counts);
    }

    fn nulls(&mut self) {
        self.trap("nulls");
        let mut counts = self.next_counts();
        (counts[1], counts[4]) = (0, 0);
        self.add(counts);
        let mut last = usage(counts);
        (last["cached_input_tokens"], last["reasoning_output_tokens"]) = (Value::Null, json!("none"));
        self.count(Some(usage(self.total)), Some(last));
        self.count_call(counts);
    }

    fn glued(&mut self) {
        self.trap("glued");
        self.glued.push(self.records.len());
        self.call();
    }

    fn jsonl(&self) -> Vec<u8> {
        let mut text = String::new();
        for (at, record) in self.records.iter().enumerate() {
            text.push_str(&record.to_string());
            if !self.glued.contains(&at) {
                text.push('\n');
            }
        }
        text.into_bytes()
    }

    /// Forks the thread: copies its history into a new one, which continues with its own calls.
    fn fork(&mut self, kind: usize, corpus: &mut Corpus) {
        let name = ["fork", "old_fork", "subagent"][kind];
        let ms = self.ms + 60_000;
        let version = if kind == 1 { 4 } else { 7 };
        let id = uuid(ms, version, 0xf000_0000 + self.serial * 4 + kind as u64);
        let mut fork = SessionBuilder {
            random: &mut *self.random,
            truth: Truth::default(),
            path: format!("sessions/2026/06/30/rollout-2026-06-30T00-00-00-{id}.jsonl"),
            id: id.clone(),
            ms,
            records: Vec::new(),
            total: self.total,
            last: self.last,
            model: self.model.clone(),
            is_fast: false,
            glued: Vec::new(),
            serial: self.serial + 3_000 * (kind as u64 + 1),
        };
        fork.trap(name);
        fork.truth.files.entry(fork.path.clone()).or_default();
        let mut head = json!({"id": id, "timestamp": time(ms), "cwd": "/home/ada/app", "originator": "codex-tui", "cli_version": "0.118.0", "source": "cli"});
        match kind {
            0 => head["forked_from_id"] = json!(self.id),
            2 => head["source"] = json!({"subagent": {"thread_spawn": {"parent_thread_id": self.id, "depth": 1}}}),
            _ => {}
        }
        fork.records
            .push(json!({"timestamp": time(ms), "type": "session_meta", "payload": head}));
        for (at, record) in self.records.iter().enumerate() {
            let is_turn = record["type"] == "event_msg" && record["payload"]["type"] == "task_started";
            if kind != 1 || !is_turn {
                let mut copy = record.clone();
                copy["timestamp"] = json!(time(ms + at as u64));
                fork.records.push(copy);
            }
        }
        fork.ms = ms + 60_000;
        fork.event(json!({"type": "thread_settings_applied", "thread_settings": {"service_tier": "default"}}));
        if kind == 1 {
            fork.total = [0; 5];
            fork.write(
                "response_item",
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "another way"}]}),
            );
        } else {
            fork.turn();
            fork.repeat();
        }
        fork.switch();
        for _ in 0..fork.random.between(1, 4) {
            fork.call();
        }
        let bytes = fork.jsonl();
        corpus.files.push((fork.path.clone(), bytes));
        corpus.truth.absorb(fork.truth);
    }

    fn finish(mut self, torn: bool, corpus: &mut Corpus) {
        let mut bytes = self.jsonl();
        if torn {
            self.trap("torn_end");
            let counts = self.next_counts();
            self.add(counts);
            self.count(Some(usage(self.total)), Some(usage(counts)));
            let lost = self.records.pop().expect("a count is a record").to_string();
            let cut = self.random.between(1, lost.len() as u64 - 1);
            bytes.extend_from_slice(&lost.as_bytes()[..usize::try_from(cut).expect("an index")]);
        }
        corpus.files.push((self.path.clone(), bytes));
        corpus.truth.absorb(self.truth);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Deserializer;

    use super::*;
    use crate::truth::sum;

    /// Counts all files together: every distinct pair of counters is one call.
    fn plain_count(corpus: &Corpus) -> (u64, u64) {
        let mut calls: BTreeMap<String, u64> = BTreeMap::new();
        for (_, bytes) in &corpus.files {
            let mut before = 0;
            for line in bytes.split(|byte| *byte == b'\n') {
                let records = Deserializer::from_slice(line).into_iter::<Value>();
                for record in records.map_while(Result::ok) {
                    let payload = &record["payload"];
                    let output = |usage: &Value| usage["output_tokens"].as_u64().unwrap_or_default();
                    if record["type"] == "token_usage_record" {
                        calls.insert(payload["response_id"].to_string(), output(&payload["usage"]));
                    }
                    let (total, last) = (
                        &payload["info"]["total_token_usage"],
                        &payload["info"]["last_token_usage"],
                    );
                    if !total.is_object() {
                        continue;
                    }
                    let total_output = output(total);
                    let spent = match (last.is_object(), total_output >= before) {
                        (true, _) => output(last),
                        (false, true) => total_output - before,
                        (false, false) => total_output,
                    };
                    before = total_output;
                    if spent > 0 {
                        calls.entry(format!("{total}{last}")).or_insert(spent);
                    }
                }
            }
        }
        (calls.len() as u64, calls.values().sum())
    }

    #[test]
    fn the_expected_counts_equal_a_simple_count_of_the_records() {
        for seed in 0..12 {
            let corpus = codex(seed, 2 + seed as usize % 5);
            let all = sum(&corpus.truth.all);
            assert_eq!((all.calls, all.output), plain_count(&corpus), "seed {seed}");
            let files = corpus.truth.files.values().map(sum);
            let of_files: u64 = files.map(|tokens| tokens.output).sum();
            assert_eq!(of_files, all.output, "seed {seed}");
        }
    }

    #[test]
    fn every_trap_occurs_for_any_seed_and_paths_are_unique() {
        for seed in 0..12 {
            let corpus = codex(seed, 2);
            assert_eq!(corpus.truth.traps.len(), 20, "{:?}", corpus.truth.traps);
            let paths: BTreeSet<_> = corpus.files.iter().map(|(path, _)| path).collect();
            assert_eq!(paths.len(), corpus.files.len());
        }
    }

    #[test]
    fn only_the_same_seed_gives_the_same_bytes() {
        assert_eq!(codex(7, 3).files, codex(7, 3).files);
        assert_ne!(codex(7, 3).files, codex(8, 3).files);
    }
}
