//! Claude Code sessions with traps: the plan of a corpus, and the desk where one session is written and booked.

mod forms;
mod traps;

use serde_json::{Value, json};

use self::traps::TRAPS;
use super::{Bill, Corpus, Dice, Tokens, Truth};
use crate::logs::ClaudeLog;

const MODELS: [&str; 4] = [
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-1",
];

/// Writes `sessions` sessions (at least two) and their forks and subagents. Every trap is planted at least once.
///
/// The traps, by the name they have in [`Truth::traps`]:
///
/// | name | what is planted | what counts |
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
/// | `btw_file` | such copies in `agent-aside_question-*.jsonl`, with a call of its own | main rows, and the own call |
/// | `inline_sidechain` | sidechain rows of their own in the main log | one call |
/// | `fork` | history copied to a new file and `sessionId` | each call once |
/// | `nested_nulls` | a tool input that holds `"id":null`, `"usage":null`, `"model":null` … | the call |
/// | `null_fields` | nulls inside `usage` | 0 in their place |
/// | `synthetic` | `<synthetic>` rows | nothing |
/// | `no_usage` | `usage` missing or null | nothing |
/// | `decoys` | `usage` in tool inputs, tool results, text | nothing |
/// | `advisor` | `iterations` with advisor calls, model may be null | each besides the call |
/// | `cache_split`, `cache_disagree`, `cache_old`, `cache_null` | the forms of cache writes | the split if there is one |
/// | `progress_with_file` | `progress` rows repeat a part of a subagent's call | the subagent's row |
/// | `progress_alone` | the same without the subagent's file | the progress row |
/// | `fast` | `speed: "fast"` | one fast call |
/// | `subagent`, `subagent_flat`, `workflow` | the three places of subagent logs, and a journal | their calls; no journal |
/// | `floats` | counts as `1.2e6`, `5000.0` | the number |
/// | `not_counts` | counts as strings, negative, broken, beyond 2^53 | 0 in their place |
/// | `glued` | two records on one line | both |
/// | `torn_then_whole` | a piece of a record before the whole, which follows once more | one call |
/// | `torn_end` | the last line is cut | what stood before |
/// | `crlf` | lines end with CR LF | no difference |
pub fn claude(seed: u64, sessions: usize) -> Corpus {
    let sessions = sessions.max(2);
    let mut dice = Dice(seed);
    let mut corpus = Corpus::default();
    let mut order = TRAPS;
    dice.shuffle(&mut order);
    for number in 0..sessions {
        let mut desk = Desk::new(&mut dice, seed, number);
        desk.start();
        for plant in order.iter().skip(number).step_by(sessions) {
            desk.chat();
            plant(&mut desk);
        }
        for _ in 0..desk.dice.between(2, 8) {
            let plant = desk.dice.pick(&TRAPS);
            desk.chat();
            plant(&mut desk);
        }
        desk.finish(number == 0, &mut corpus);
    }
    corpus
}

/// One session on the desk: its log, the other files it has so far, and the books.
struct Desk<'a> {
    dice: &'a mut Dice,
    truth: Truth,
    session: String,
    serial: u64,
    family: u64,
    log: ClaudeLog,
    path: String,
    others: Vec<(String, Vec<u8>)>,
    /// What a fork from here would hold: calls of the main log that stand in whole records.
    copied: Vec<Bill>,
    fork: Option<(ClaudeLog, Vec<Bill>)>,
}

/// One row of an API call.
#[derive(Clone)]
struct Row {
    message: String,
    request: Option<String>,
    model: Option<String>,
    usage: Value,
    block: Value,
    sidechain: bool,
}

impl<'a> Desk<'a> {
    fn new(dice: &'a mut Dice, seed: u64, number: usize) -> Desk<'a> {
        let session = format!(
            "{:08x}-{number:04x}-4000-8000-{:012x}",
            seed & 0xffff_ffff,
            dice.roll() >> 16
        );
        let day = dice.between(1, 28);
        let log = ClaudeLog::new(&session)
            .cwd(&format!("/home/ada/app{}", number % 3))
            .at(&format!(
                "2026-0{}-{day:02}T{:02}:10:00Z",
                dice.between(1, 9),
                dice.between(0, 22)
            ));
        let path = log.path();
        let family = dice.roll() >> 20;
        let (truth, others, copied) = (Truth::default(), Vec::new(), Vec::new());
        Desk {
            dice,
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
        self.tell(|log| {
            log.title("A made-up session")
                .prompt("find out why the totals are wrong")
        });
        self.truth.files.entry(self.path.clone()).or_default();
    }

    /// A plain call and its result between two traps; sometimes a fork happens here.
    fn chat(&mut self) {
        let row = self.row();
        let day = self.write(&row);
        self.count(&row, &day);
        self.tell(|log| log.user("go on"));
        if self.fork.is_none() && self.dice.between(0, 3) == 0 {
            self.split();
        }
    }

    /// Goes on with the story in the main log.
    fn tell(&mut self, story: impl FnOnce(ClaudeLog) -> ClaudeLog) {
        let log = std::mem::replace(&mut self.log, ClaudeLog::new(""));
        self.log = story(log);
    }

    fn split(&mut self) {
        let id = format!("f{}", &self.session[1..]);
        self.fork = Some((self.log.fork(&id), self.copied.clone()));
    }

    /// Closes the session: its fork, its last line, its line ends.
    fn finish(mut self, first: bool, corpus: &mut Corpus) {
        if first && self.fork.is_none() {
            self.split();
        }
        let main = if first || self.dice.coin() {
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

    fn finish_fork(&mut self, log: ClaudeLog, bills: &[Bill]) -> (String, Vec<u8>) {
        self.trap("fork");
        let (session, path) = (format!("f{}", &self.session[1..]), log.path());
        let main = std::mem::replace(&mut self.log, log.user(json!("try it another way")));
        for bill in bills {
            self.truth.in_file(&path, bill);
            self.truth.in_session(&session, bill);
        }
        for _ in 0..self.dice.between(1, 4) {
            let row = self.row();
            let bill = row.bill(&self.write(&row));
            self.truth.in_file(&path, &bill);
            self.truth.in_session(&session, &bill);
            self.truth.once(&session, &bill);
        }
        self.trap("crlf");
        let fork = std::mem::replace(&mut self.log, main).crlf();
        (path, fork.jsonl().into_bytes())
    }

    /// Ends the log in the middle of a row: of a new call, or of the last row of a call that had rows before.
    fn torn_end(&mut self) -> Vec<u8> {
        self.trap("torn_end");
        let (row, last) = (self.row(), self.row());
        let day = self.write(&row);
        self.count(&row, &day);
        let torn = if self.dice.coin() {
            last
        } else {
            row.output(row.tokens().output + 500)
        };
        let line = self.record(&torn).to_string();
        let cut = self.dice.between(1, line.len() as u64 - 1);
        let mut bytes = self.log.jsonl().into_bytes();
        bytes.extend_from_slice(&line.as_bytes()[..usize::try_from(cut).expect("an index")]);
        bytes
    }

    fn trap(&mut self, name: &'static str) {
        *self.truth.traps.entry(name).or_default() += 1;
    }

    /// A new call: ids never used before, numbers by chance.
    fn row(&mut self) -> Row {
        self.serial += 1;
        let (family, serial) = (self.family, self.serial);
        let usage = json!({
            "input_tokens": self.dice.between(1, 900), "output_tokens": self.dice.between(100, 9_000),
            "cache_read_input_tokens": self.dice.between(0, 180_000), "cache_creation_input_tokens": 0,
            "service_tier": "standard",
        });
        let (five, hour) = (self.dice.between(0, 9_000), self.dice.between(0, 9_000));
        Row {
            message: format!("msg_01{family:011x}{serial:06}"),
            request: Some(format!("req_011C{family:011x}{serial:06}")),
            model: Some(self.dice.pick(&MODELS).to_owned()),
            usage,
            block: json!({"type": "text", "text": format!("thought {serial}")}),
            sidechain: false,
        }
        .writes(five, hour)
    }

    /// The record of a row, under the next envelope of the main log.
    fn record(&mut self, row: &Row) -> Value {
        let mut record = self.log.envelope("assistant");
        row.fill(&mut record);
        record
    }

    /// Appends a row to the main log; returns its day.
    fn write(&mut self, row: &Row) -> String {
        let record = self.record(row);
        let day = day_of(&record);
        self.log.push(record);
        day
    }

    /// Enters a call that stands whole in the main log.
    fn count(&mut self, row: &Row, day: &str) {
        let bill = row.bill(day);
        self.count_bill(&bill);
    }

    fn count_bill(&mut self, bill: &Bill) {
        self.count_main(bill);
        self.count_session(bill);
    }

    /// What the main log alone shows.
    fn count_main(&mut self, bill: &Bill) {
        self.truth.in_file(&self.path, bill);
        self.copied.push(bill.clone());
    }

    /// What the session as a whole shows.
    fn count_session(&mut self, bill: &Bill) {
        self.truth.in_session(&self.session, bill);
        self.truth.once(&self.session, bill);
    }

    /// A subagent's log that begins now.
    fn agent(&mut self, prefix: &str) -> ClaudeLog {
        let name = format!("{prefix}{:07x}", self.dice.roll() >> 36);
        ClaudeLog::subagent(&self.session, &name)
            .at(&self.log.now().to_string())
            .prompt("look into this part")
    }

    /// A call in a subagent's log.
    fn agent_call(&mut self, log: &mut ClaudeLog, path: &str) -> (Row, Value) {
        let mut row = self.row();
        row.sidechain = true;
        let mut last = Value::Null;
        for row in [row.output(1), row.clone()] {
            last = log.envelope("assistant");
            row.fill(&mut last);
            log.push(last.clone());
        }
        let bill = row.bill(&day_of(&last));
        self.truth.in_file(path, &bill);
        self.count_session(&bill);
        (row, last)
    }

    /// A whole subagent with some calls.
    fn agent_file(&mut self, path: &str, mut log: ClaudeLog) {
        for _ in 0..self.dice.between(1, 5) {
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

    /// The same row with other output.
    fn output(&self, tokens: u64) -> Row {
        self.set("output_tokens", json!(tokens))
    }

    /// The same row with another field in its usage.
    fn set(&self, field: &str, value: Value) -> Row {
        let mut row = self.clone();
        row.usage[field] = value;
        row
    }

    /// The same row with these cache writes, told as Claude Code tells them now.
    fn writes(&self, five: u64, hour: u64) -> Row {
        self.set("cache_creation_input_tokens", json!(five + hour)).set(
            "cache_creation",
            json!({"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}),
        )
    }

    /// What an ordinary row counts. Traps that write other forms say themselves what they count.
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

    fn bill(&self, day: &str) -> Bill {
        Bill {
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
