//! Generates Claude Code sessions with traps and their expected counts.

mod forms;
mod traps;

use serde_json::{Value, json};

use self::traps::TRAPS;
use super::{Corpus, CountedCall, SeededRandom, Tokens, Truth};
use crate::logs::ClaudeLog;

const MODELS: [&str; 4] = [
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-1",
];

/// Writes `sessions` sessions (at least two) and their forks and subagents. Every trap occurs at least once.
///
/// The traps, with their names in [`Truth::traps`]:
///
/// | name | what the log contains | what counts |
/// |---|---|---|
/// | `stream` | one call as several rows, `output_tokens` grows | the last row |
/// | `interleaved` | two such calls, rows mixed | each once |
/// | `falling` | the last row has less output than an earlier one | the row with most output |
/// | `fallback` | the row with most output has another model and a smaller total | that row, whole |
/// | `equal_output` | equal output, totals differ | the larger total |
/// | `midnight` | equal rows on both sides of midnight | the later day |
/// | `no_request_id` | rows without `requestId` | one call |
/// | `late_request_id` | only some rows of a call have a `requestId` | one call |
/// | `two_requests` | one `message.id` under two `requestId`s, both main | two calls |
/// | `btw_inline` | a larger sidechain copy with a new `requestId`, before or after the row | the main row |
/// | `btw_file` | such copies in `agent-aside_question-*.jsonl`, and an additional call | main rows, and the additional call |
/// | `inline_sidechain` | sidechain rows of their own in the main log | one call |
/// | `fork` | history copied to a new file and `sessionId` | each call once |
/// | `nested_nulls` | a tool input that holds `"id":null`, `"usage":null`, `"model":null` … | the call |
/// | `null_fields` | nulls inside `usage` | 0 instead |
/// | `synthetic` | `<synthetic>` rows | nothing |
/// | `no_usage` | `usage` missing or null | nothing |
/// | `decoys` | `usage` in tool inputs, tool results, text | nothing |
/// | `advisor` | `iterations` with advisor calls, model may be null | each in addition to the call |
/// | `cache_split`, `cache_disagree`, `cache_old`, `cache_null` | the forms of cache writes | the split if there is one |
/// | `progress_with_file` | `progress` rows repeat a part of a subagent's call | the subagent's row |
/// | `progress_alone` | the same without the subagent's file | the progress row |
/// | `fast` | `speed: "fast"` | one fast call |
/// | `subagent`, `subagent_flat`, `workflow` | the three places of subagent logs, and a journal | their calls; no journal |
/// | `floats` | counts as `1.2e6`, `5000.0` | the number |
/// | `not_counts` | counts as strings, negative, broken, beyond 2^53 | 0 in their place |
/// | `glued` | two records on one line | both |
/// | `torn_then_whole` | part of a record, followed by the whole record | one call |
/// | `torn_end` | the last line is torn | everything before it |
/// | `crlf` | lines end with CR LF | no difference |
pub fn claude(seed: u64, sessions: usize) -> Corpus {
    let sessions = sessions.max(2);
    let mut random = SeededRandom(seed);
    let mut corpus = Corpus::default();
    let mut order = TRAPS;
    random.shuffle(&mut order);
    for number in 0..sessions {
        let mut builder = SessionBuilder::new(&mut random, seed, number);
        builder.start();
        for plant in order.iter().skip(number).step_by(sessions) {
            builder.chat();
            plant(&mut builder);
        }
        for _ in 0..builder.random.between(2, 8) {
            let plant = builder.random.pick(&TRAPS);
            builder.chat();
            plant(&mut builder);
        }
        builder.finish(number == 0, &mut corpus);
    }
    corpus
}

/// A session under construction: its log, its other files, and the expected counts.
struct SessionBuilder<'a> {
    random: &'a mut SeededRandom,
    truth: Truth,
    session: String,
    serial: u64,
    family: u64,
    log: ClaudeLog,
    path: String,
    others: Vec<(String, Vec<u8>)>,
    /// The calls that a fork would copy: those of the main log in complete records.
    copied: Vec<CountedCall>,
    fork: Option<(ClaudeLog, Vec<CountedCall>)>,
}

/// One record of an API call.
#[derive(Clone)]
struct Row {
    message: String,
    request: Option<String>,
    model: Option<String>,
    usage: Value,
    block: Value,
    sidechain: bool,
}

impl<'a> SessionBuilder<'a> {
    fn new(random: &'a mut SeededRandom, seed: u64, number: usize) -> SessionBuilder<'a> {
        let session = format!(
            "{:08x}-{number:04x}-4000-8000-{:012x}",
            seed & 0xffff_ffff,
            random.next_u64() >> 16
        );
        let day = random.between(1, 28);
        let log = ClaudeLog::new(&session)
            .cwd(&format!("/home/ada/app{}", number % 3))
            .at(&format!(
                "2026-0{}-{day:02}T{:02}:10:00Z",
                random.between(1, 9),
                random.between(0, 22)
            ));
        let path = log.path();
        let family = random.next_u64() >> 20;
        let (truth, others, copied) = (Truth::default(), Vec::new(), Vec::new());
        SessionBuilder {
            random,
            truth,
            session,
            serial: 0,
            family,
            log,
            path,
            others,
            copied,
            fork: None,
        }
    }

    fn start(&mut self) {
        self.append(|log| {
            log.title("A made-up session")
                .prompt("find out why the totals are wrong")
        });
        self.truth.files.entry(self.path.clone()).or_default();
    }

    /// Writes a plain call with its result between two traps, and sometimes forks the session.
    fn chat(&mut self) {
        let row = self.row();
        let day = self.write(&row);
        self.count(&row, &day);
        self.append(|log| log.user("go on"));
        if self.fork.is_none() && self.random.between(0, 3) == 0 {
            self.split();
        }
    }

    /// Appends to the main log.
    fn append(&mut self, story: impl FnOnce(ClaudeLog) -> ClaudeLog) {
        let log = std::mem::replace(&mut self.log, ClaudeLog::new(""));
        self.log = story(log);
    }

    fn split(&mut self) {
        let id = format!("f{}", &self.session[1..]);
        self.fork = Some((self.log.fork(&id), self.copied.clone()));
    }

    /// Finishes the session: forks it, and changes its last line and line endings.
    fn finish(mut self, first: bool, corpus: &mut Corpus) {
        if first && self.fork.is_none() {
            self.split();
        }
        let main = if first || self.random.flip() {
            self.torn_end()
        } else {
            self.log.jsonl().into_bytes()
        };
        let fork = self.fork.take().map(|(log, bills)| self.finish_fork(log, &bills));
        corpus.files.push((self.path.clone(), main));
        corpus.files.append(&mut self.others);
        corpus.files.extend(fork);
        corpus.truth.absorb(self.truth);
    }

    fn finish_fork(&mut self, log: ClaudeLog, bills: &[CountedCall]) -> (String, Vec<u8>) {
        self.trap("fork");
        let (session, path) = (format!("f{}", &self.session[1..]), log.path());
        let main = std::mem::replace(&mut self.log, log.user(json!("try it another way")));
        for call in bills {
            self.truth.in_file(&path, call);
            self.truth.in_session(&session, call);
        }
        for _ in 0..self.random.between(1, 4) {
            let row = self.row();
            let call = row.call(&self.write(&row));
            self.truth.in_file(&path, &call);
            self.truth.in_session(&session, &call);
            self.truth.once(&session, &call);
        }
        self.trap("crlf");
        let fork = std::mem::replace(&mut self.log, main).crlf();
        (path, fork.jsonl().into_bytes())
    }

    /// Ends the log in the middle of a record: of a new call, or the last record of a call that already has records.
    fn torn_end(&mut self) -> Vec<u8> {
        self.trap("torn_end");
        let (row, last) = (self.row(), self.row());
        let day = self.write(&row);
        self.count(&row, &day);
        let torn = if self.random.flip() {
            last
        } else {
            row.output(row.tokens().output + 500)
        };
        let line = self.record(&torn).to_string();
        let cut = self.random.between(1, line.len() as u64 - 1);
        let mut bytes = self.log.jsonl().into_bytes();
        bytes.extend_from_slice(&line.as_bytes()[..usize::try_from(cut).expect("an index")]);
        bytes
    }

    fn trap(&mut self, name: &'static str) {
        *self.truth.traps.entry(name).or_default() += 1;
    }

    /// Returns a new call with unique ids and random counts.
    fn row(&mut self) -> Row {
        self.serial += 1;
        let (family, serial) = (self.family, self.serial);
        let usage = json!({
            "input_tokens": self.random.between(1, 900), "output_tokens": self.random.between(100, 9_000),
            "cache_read_input_tokens": self.random.between(0, 180_000), "cache_creation_input_tokens": 0,
            "service_tier": "standard",
        });
        let (five, hour) = (self.random.between(0, 9_000), self.random.between(0, 9_000));
        Row {
            message: format!("msg_01{family:011x}{serial:06}"),
            request: Some(format!("req_011C{family:011x}{serial:06}")),
            model: Some(self.random.pick(&MODELS).to_owned()),
            usage,
            block: json!({"type": "text", "text": format!("thought {serial}")}),
            sidechain: false,
        }
        .writes(five, hour)
    }

    /// Returns the record of a row with the next envelope of the main log.
    fn record(&mut self, row: &Row) -> Value {
        let mut record = self.log.envelope("assistant");
        row.fill(&mut record);
        record
    }

    /// Appends a row to the main log and returns its day.
    fn write(&mut self, row: &Row) -> String {
        let record = self.record(row);
        let day = day_of(&record);
        self.log.push(record);
        day
    }

    /// Counts a call whose record is complete in the main log.
    fn count(&mut self, row: &Row, day: &str) {
        let call = row.call(day);
        self.count_bill(&call);
    }

    fn count_bill(&mut self, call: &CountedCall) {
        self.count_main(call);
        self.count_session(call);
    }

    /// Adds a call to the counts of the main log.
    fn count_main(&mut self, call: &CountedCall) {
        self.truth.in_file(&self.path, call);
        self.copied.push(call.clone());
    }

    /// Adds a call to the counts of the session.
    fn count_session(&mut self, call: &CountedCall) {
        self.truth.in_session(&self.session, call);
        self.truth.once(&self.session, call);
    }

    /// Starts the log of a subagent.
    fn agent(&mut self, prefix: &str) -> ClaudeLog {
        let name = format!("{prefix}{:07x}", self.random.next_u64() >> 36);
        ClaudeLog::subagent(&self.session, &name)
            .at(&self.log.now().to_string())
            .prompt("look into this part")
    }

    /// Appends a call to a subagent's log.
    fn agent_call(&mut self, log: &mut ClaudeLog, path: &str) -> (Row, Value) {
        let mut row = self.row();
        row.sidechain = true;
        let mut last = Value::Null;
        for row in [row.output(1), row.clone()] {
            last = log.envelope("assistant");
            row.fill(&mut last);
            log.push(last.clone());
        }
        let call = row.call(&day_of(&last));
        self.truth.in_file(path, &call);
        self.count_session(&call);
        (row, last)
    }

    /// Writes the log of a subagent with some calls.
    fn agent_file(&mut self, path: &str, mut log: ClaudeLog) {
        for _ in 0..self.random.between(1, 5) {
            self.agent_call(&mut log, path);
        }
        self.others.push((path.to_owned(), log.jsonl().into_bytes()));
    }

    fn folder(&self) -> String {
        self.path.trim_end_matches(".jsonl").to_owned()
    }
}

impl Row {
    fn fill(&self, record: &mut Value) {
        record["isSidechain"] = json!(self.sidechain);
        if let Some(request) = &self.request {
            record["requestId"] = json!(request);
        }
        record["message"] = json!({
            "id": self.message, "type": "message", "role": "assistant", "content": [self.block],
            "model": self.model, "stop_reason": null, "usage": self.usage,
        });
    }

    /// Returns the row with another number of output tokens.
    fn output(&self, tokens: u64) -> Row {
        self.set("output_tokens", json!(tokens))
    }

    /// Returns the row with another field in its usage.
    fn set(&self, field: &str, value: Value) -> Row {
        let mut row = self.clone();
        row.usage[field] = value;
        row
    }

    /// Returns the row with these cache writes, in the form of current versions.
    fn writes(&self, five: u64, hour: u64) -> Row {
        self.set("cache_creation_input_tokens", json!(five + hour)).set(
            "cache_creation",
            json!({"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}),
        )
    }

    /// Returns the tokens of an ordinary row. Traps that write other forms count for themselves.
    fn tokens(&self) -> Tokens {
        let number = |value: &Value| value.as_u64().expect("an ordinary row has numbers");
        Tokens {
            calls: 1,
            fast_calls: 0,
            input: number(&self.usage["input_tokens"]),
            output: number(&self.usage["output_tokens"]),
            cache_read: number(&self.usage["cache_read_input_tokens"]),
            cache_write_5m: number(&self.usage["cache_creation"]["ephemeral_5m_input_tokens"]),
            cache_write_1h: number(&self.usage["cache_creation"]["ephemeral_1h_input_tokens"]),
        }
    }

    fn call(&self, day: &str) -> CountedCall {
        CountedCall {
            model: self.model.clone(),
            tokens: self.tokens(),
            day: day.to_owned(),
        }
    }
}

fn day_of(record: &Value) -> String {
    record["timestamp"].as_str().expect("records have times")[..10].to_owned()
}

impl Truth {
    pub(super) fn absorb(&mut self, other: Truth) {
        for (model, tokens) in other.all {
            *self.all.entry(model).or_default() += tokens;
        }
        for (day, tokens) in other.days {
            *self.days.entry(day).or_default() += tokens;
        }
        for (trap, times) in other.traps {
            *self.traps.entry(trap).or_default() += times;
        }
        self.sessions.extend(other.sessions);
        self.alone.extend(other.alone);
        self.files.extend(other.files);
    }
}
