//! The shape of logs: compares the seeded corpus with real logs, if `$BOSWELL_CORPUS` names some. Prints the table of
//! `docs/dev/corpus.md`.
//!
//! `cargo bench -p boswell-benches --bench shape`. Only counts; the speed of writing the corpus is the only timing.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod process;
mod seeded;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use transcript::{Agent, Lines, Origin, PartKind, State};

/// The approximate size of a block of lines before compression, as in packs.
const FRAME_BYTES: usize = 1 << 20;

fn main() {
    let (home, written) = seeded::corpus();
    println!(
        "Seeded corpus: {} files, {} bytes{}\n",
        written.files,
        written.bytes,
        written.speed()
    );
    for agent in Agent::ALL {
        let mut columns = Vec::new();
        if let Some(corpus) = seeded::real() {
            columns.push(("real", measure(agent, &corpus.join(agent.as_str()))));
        }
        columns.push(("seeded", measure(agent, &home.join(format!(".{}", agent.as_str())))));
        table(agent, &columns);
    }
}

/// The counts for the logs of one agent.
#[derive(Default)]
struct Measure {
    sizes: Vec<usize>,
    lengths: Vec<usize>,
    bytes: usize,
    packed: usize,
    events: usize,
    turns: usize,
    calls: usize,
    /// Bytes by kind of text, and records and tools by name.
    texts: BTreeMap<&'static str, usize>,
    records: BTreeMap<String, usize>,
    tools: BTreeMap<String, usize>,
}

fn measure(agent: Agent, folder: &Path) -> Measure {
    let mut measure = Measure::default();
    let mut logs = Vec::new();
    seeded::files_below(folder, &mut logs);
    logs.retain(|path| is_log(agent, path));
    for path in logs {
        measure.add(agent, &path);
    }
    measure.sizes.sort_unstable();
    measure.lengths.sort_unstable();
    measure
}

fn is_log(agent: Agent, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match agent {
        Agent::Grok => name.contains("updates.jsonl"),
        Agent::Codex => name.contains(".jsonl") && name != "session_index.jsonl" && name != "history.jsonl",
        Agent::Claude => name.contains(".jsonl") && name != "history.jsonl",
    }
}

impl Measure {
    fn add(&mut self, agent: Agent, path: &Path) {
        let bytes = read(path);
        self.sizes.push(bytes.len());
        self.bytes += bytes.len();
        let mut state = State::new(agent, Origin::of(&path.to_string_lossy()));
        let delta = state
            .read_unmasked(PartKind::Log, &mut Lines::new(&bytes[..]))
            .expect("bytes in memory can be read");
        self.events += delta.events.len();
        self.turns += delta.turns.len();
        self.calls += delta.calls.len();
        for tool in delta.events.into_iter().filter_map(|event| event.tool) {
            *self.tools.entry(tool.into()).or_default() += 1;
        }
        let mut frame = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.lengths.push(line.len());
            frame.extend_from_slice(line);
            if frame.len() >= FRAME_BYTES {
                self.pack(&mut frame);
            }
            if let Ok(record) = serde_json::from_slice::<Value>(line) {
                *self.records.entry(kind_of(&record)).or_default() += 1;
                self.weigh(&record, "other");
            }
        }
        self.pack(&mut frame);
    }

    fn pack(&mut self, frame: &mut Vec<u8>) {
        if !frame.is_empty() {
            self.packed += zstd::bulk::compress(frame, 3)
                .expect("bytes in memory can be compressed")
                .len();
            frame.clear();
        }
    }

    /// Adds the sizes of a record's texts by kind.
    fn weigh(&mut self, value: &Value, sort: &'static str) {
        match value {
            Value::String(text) => *self.texts.entry(sort).or_default() += text.len(),
            Value::Array(items) => {
                // Counts bytes that are written as numbers.
                if items.first().is_some_and(Value::is_u64) {
                    *self.texts.entry(sort).or_default() += items.len() * 4;
                }
                items.iter().for_each(|item| self.weigh(item, sort));
            }
            Value::Object(fields) => {
                let sort = sort_of_object(value, sort);
                for (key, field) in fields {
                    self.weigh(field, sort_of_field(key, sort));
                }
            }
            _ => {}
        }
    }
}

/// Returns the kind of an object's texts, by its type.
fn sort_of_object(value: &Value, sort: &'static str) -> &'static str {
    let role = value["role"].as_str();
    match value["type"]
        .as_str()
        .or(value["sessionUpdate"].as_str())
        .unwrap_or_default()
    {
        "tool_result" | "function_call_output" | "custom_tool_call_output" => "tool output",
        "tool_use" | "function_call" | "custom_tool_call" | "tool_call" => "tool input",
        "tool_call_update" => "tool output",
        "thinking" | "reasoning" | "agent_thought_chunk" => "thinking",
        "image" => "images",
        "user_message_chunk" => "prompts and replies",
        "agent_message_chunk" => "prompts and replies",
        "text" if sort == "other" => "prompts and replies",
        "message" if role == Some("user") || role == Some("assistant") => "prompts and replies",
        "exec_command_end" | "patch_apply_end" | "item_completed" | "user_message" | "agent_message"
        | "agent_reasoning" | "task_complete" | "progress" => "repeated",
        _ if sort == "other" && role == Some("user") => "prompts and replies",
        _ => sort,
    }
}

/// Returns the kind of a field by its name, whichever object contains it.
fn sort_of_field(key: &str, sort: &'static str) -> &'static str {
    match key {
        "toolUseResult" | "rawOutput" => "repeated",
        "signature" | "encrypted_content" => "signatures",
        "id" | "uuid" | "tool_use_id" | "call_id" | "type" | "role" | "model" => "other",
        _ => sort,
    }
}

fn kind_of(record: &Value) -> String {
    let mut kind = record["type"].as_str().unwrap_or("(none)").to_owned();
    let detail = [
        &record["payload"]["type"],
        &record["data"]["type"],
        &record["attachment"]["type"],
        &record["subtype"],
    ];
    let update = &record["params"]["update"]["sessionUpdate"];
    let blocks = &record["message"]["content"][0]["type"];
    if let Some(detail) = detail.into_iter().chain([update, blocks]).find_map(Value::as_str) {
        kind = format!("{kind}/{detail}");
    }
    kind
}

fn read(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a log can be read");
    if path.extension().is_none_or(|extension| extension != "zst") {
        return bytes;
    }
    let mut plain = Vec::new();
    let decoder = zstd::Decoder::new(&bytes[..]);
    decoder
        .and_then(|mut decoder| decoder.read_to_end(&mut plain))
        .expect("a compressed log can be read");
    plain
}

fn table(agent: Agent, columns: &[(&str, Measure)]) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    println!("| {} | {} |", agent.title(), names.join(" | "));
    println!("|---|{}", "---:|".repeat(columns.len()));
    let row = |name: &str, cell: &dyn Fn(&Measure) -> String| {
        let cells: Vec<String> = columns.iter().map(|(_, measure)| cell(measure)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    row("logs", &|m| m.sizes.len().to_string());
    row("bytes", &|m| m.bytes.to_string());
    row("bytes of a log: 10, 50, 90, 99 %", &|m| {
        quantiles(&m.sizes, &[100, 500, 900, 990])
    });
    row("bytes of a line: 10, 50, 90, 99, 99.9 %", &|m| {
        quantiles(&m.lengths, &[100, 500, 900, 990, 999])
    });
    row("longest line", &|m| {
        m.lengths.last().copied().unwrap_or_default().to_string()
    });
    for limit in [20_000, 100_000] {
        row(&format!("share of bytes in lines over {limit}"), &|m| {
            share(m.lengths.iter().filter(|length| **length > limit).sum(), m.bytes)
        });
    }
    row("zstd level 3, frames of 1 MiB", &|m| share(m.packed, m.bytes));
    row("events, turns, API calls per MB", &|m| {
        let per = |count: usize| format!("{:.0}", count as f64 * 1e6 / m.bytes.max(1) as f64);
        [m.events, m.turns, m.calls].map(per).join(", ")
    });
    for sort in [
        "tool output",
        "repeated",
        "tool input",
        "thinking",
        "signatures",
        "prompts and replies",
        "images",
        "other",
    ] {
        row(&format!("share of bytes: {sort}"), &|m| {
            share(m.texts.get(sort).copied().unwrap_or_default(), m.bytes)
        });
    }
    most("share of records", columns, |m| &m.records, |m| m.lengths.len());
    most("share of tool calls", columns, |m| &m.tools, |m| m.tools.values().sum());
    println!();
}

/// Prints the most frequent names of the first column, with the shares of the others.
fn most(
    what: &str,
    columns: &[(&str, Measure)],
    names: fn(&Measure) -> &BTreeMap<String, usize>,
    whole: fn(&Measure) -> usize,
) {
    let mut all: Vec<(&String, &usize)> = columns.iter().flat_map(|(_, measure)| names(measure)).collect();
    all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut told: Vec<&String> = Vec::new();
    let first = &columns[0].1;
    let mut of_first: Vec<(&String, &usize)> = names(first).iter().collect();
    of_first.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (name, _) in of_first.into_iter().take(14).chain(all.into_iter().take(14)) {
        if told.contains(&name) {
            continue;
        }
        told.push(name);
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, measure)| share(names(measure).get(name).copied().unwrap_or_default(), whole(measure)))
            .collect();
        println!("| {what}: `{name}` | {} |", cells.join(" | "));
    }
}

fn quantiles(sorted: &[usize], thousandths: &[usize]) -> String {
    let at = |part: &usize| sorted.get((sorted.len() * part / 1_000).min(sorted.len().saturating_sub(1)));
    let told: Vec<String> = thousandths.iter().filter_map(at).map(ToString::to_string).collect();
    told.join(", ")
}

fn share(part: usize, whole: usize) -> String {
    format!("{:.3}", part as f64 / whole.max(1) as f64)
}
