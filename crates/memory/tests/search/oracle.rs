//! What search must find, implemented independently: records as plain JSON values, words by Unicode and by a separate
//! splitter, substrings and regular expressions by testing every position. It implements docs/search.md and uses
//! nothing of the search engine or the readers.

use std::collections::HashSet;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The texts of one session.
#[derive(Default)]
pub struct OracleTexts {
    pub uid: String,
    /// In composed form, as they were written.
    pub texts: Vec<String>,
    /// The same in lower case.
    pub small: Vec<String>,
    /// The words of Unicode, in lower case.
    pub unicode_words: HashSet<String>,
    /// Runs of letters and digits, and their parts that start with a capital letter, in lower case.
    pub words: HashSet<String>,
}

impl OracleTexts {
    pub fn new(uid: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            ..Self::default()
        }
    }

    pub fn add(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text: String = text.nfc().collect();
        self.unicode_words.extend(text.unicode_words().map(small));
        add_words(&text, &mut self.words);
        self.small.push(small(&text));
        self.texts.push(text);
    }

    pub fn add_all(&mut self, texts: &[String]) {
        texts.iter().for_each(|text| self.add(text));
    }

    pub fn contains(&self, characters: &str) -> bool {
        self.small.iter().any(|text| text.contains(characters))
    }

    pub fn matches(&self, shape: &Shape) -> bool {
        self.small.iter().any(|text| shape.is_in(text))
    }
}

/// Converts each character to a single lower-case character.
pub fn small(text: &str) -> String {
    text.chars()
        .map(|c| {
            let mut small = c.to_lowercase();
            small.next().filter(|_| small.len() == 0).unwrap_or(c)
        })
        .collect()
}

fn add_words(text: &str, words: &mut HashSet<String>) {
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        words.insert(small(run));
        let chars: Vec<char> = run.chars().collect();
        let mut from = 0;
        for at in 1..=chars.len() {
            let is_end = at == chars.len()
                || chars[at].is_uppercase() && {
                    let ends_small = !chars[at - 1].is_uppercase();
                    // The last of several capital letters belongs to the lower-case letters after it.
                    ends_small || chars.get(at + 1).is_some_and(|next| next.is_lowercase())
                };
            if is_end && (from, at) != (0, chars.len()) {
                words.insert(small(&chars[from..at].iter().collect::<String>()));
            }
            if is_end {
                from = at;
            }
        }
    }
}

/// The matches of an expression, as alternative sequences of choices.
pub struct Shape(pub Vec<Vec<Choice>>);

/// The characters that match at one position.
pub enum Choice {
    /// One of these, in lower case.
    Of(Vec<char>),
    /// Any character except a line break.
    Any,
    Digit,
}

impl Shape {
    fn is_in(&self, small: &str) -> bool {
        self.0.iter().any(|sequence| is_sequence_in(sequence, small))
    }
}

fn is_sequence_in(sequence: &[Choice], small: &str) -> bool {
    // Most texts do not contain the literal characters around the choice, which is a fast test.
    let is_open = |choice: &Choice| !matches!(choice, Choice::Of(one) if one.len() == 1);
    let stretches = sequence.split(is_open).map(|stretch| {
        let letters = stretch.iter().filter_map(|choice| match choice {
            Choice::Of(one) => one.first(),
            _ => None,
        });
        letters.collect::<String>()
    });
    if stretches.into_iter().any(|stretch| !small.contains(&stretch)) {
        return false;
    }
    let mut rest = small.chars();
    loop {
        let mut here = rest.clone();
        if sequence
            .iter()
            .all(|choice| here.next().is_some_and(|c| choice.takes(c)))
        {
            return true;
        }
        if rest.next().is_none() {
            return false;
        }
    }
}

impl Choice {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Of(choices) => choices.contains(&c),
            Self::Any => c != '\n',
            Self::Digit => c.is_ascii_digit(),
        }
    }
}

/// Returns the records of a line, usually one. A parse error ends the line.
pub fn records(line: &[u8]) -> (Vec<Value>, bool) {
    let mut records = Vec::new();
    for record in serde_json::Deserializer::from_slice(line).into_iter::<Value>() {
        match record {
            Ok(record) => records.push(record),
            Err(_) => return (records, false),
        }
    }
    (records, true)
}

/// Adds the texts of one record of an agent.
pub fn add_record(agent: &str, record: &Value, texts: &mut OracleTexts) {
    match agent {
        "claude" => add_claude(record, texts),
        "codex" => add_codex(record, texts),
        _ => add_grok(record, texts),
    }
}

fn add_claude(record: &Value, texts: &mut OracleTexts) {
    let content = [
        &record["message"]["content"],
        &record["attachment"]["prompt"],
        &record["content"],
    ];
    let is_message = record["message"].is_object();
    let content = content.into_iter().take(if is_message { 1 } else { 3 });
    let Some(content) = content.into_iter().find(|content| !content.is_null()) else {
        return;
    };
    let Some(blocks) = content.as_array() else {
        return texts.add(content.as_str().unwrap_or_default());
    };
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "thinking" => texts.add(block["thinking"].as_str().unwrap_or_default()),
            kind if kind.ends_with("tool_use") => texts.add_all(&values(&block["input"])),
            "image" | "document" => {}
            _ => texts.add(&words(if block["text"].is_string() {
                &block["text"]
            } else {
                &block["content"]
            })),
        }
    }
}

fn add_codex(record: &Value, texts: &mut OracleTexts) {
    let payload = if record["payload"].is_object() {
        &record["payload"]
    } else {
        record
    };
    match payload["type"].as_str().unwrap_or_default() {
        "function_call" | "custom_tool_call" | "tool_search_call" => {
            let input = ["input", "arguments"].map(|name| &payload[name]);
            texts.add_all(&values(
                input.into_iter().find(|input| !input.is_null()).unwrap_or(&Value::Null),
            ));
        }
        "function_call_output" | "custom_tool_call_output" => {
            // Older versions wrap the output in JSON with an exit code, so the inner text has to be decoded.
            let output = words(&payload["output"]);
            let inner = serde_json::from_str::<Value>(&output).ok();
            let inner = inner.as_ref().filter(|inner| inner["metadata"].is_object());
            texts.add(inner.and_then(|inner| inner["output"].as_str()).unwrap_or(&output));
        }
        "reasoning" => {
            texts.add(&words(&payload["summary"]));
            texts.add(&words(&payload["content"]));
        }
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" => {
            texts.add(&joined(&payload["command"], " "));
            texts.add_all(&values(&payload["invocation"]["arguments"]));
            texts.add_all(&values(&payload["changes"]));
            texts.add(&words(&payload["result"]["Ok"]["content"]));
            texts.add(payload["result"]["Err"].as_str().unwrap_or_default());
            for stream in ["stdout", "stderr", "aggregated_output"] {
                texts.add(payload[stream].as_str().unwrap_or_default());
            }
        }
        _ => {
            for name in ["message", "text", "content"] {
                texts.add(&words(&payload[name]));
            }
        }
    }
}

fn add_grok(record: &Value, texts: &mut OracleTexts) {
    if record["params"].is_null() {
        // The agent's own instructions, which start every session, are not searched.
        if record["type"] == "system" || record["role"] == "system" {
            return;
        }
        texts.add(record["reasoning_content"].as_str().unwrap_or_default());
        texts.add(&words(&record["content"]));
        texts.add_all(&values(&record["kind"]["action"]));
        texts.add(&words(&record["summary"]));
        for call in record["tool_calls"].as_array().into_iter().flatten() {
            for input in [&call["function"]["arguments"], &call["arguments"]] {
                texts.add_all(&values(input));
            }
        }
        return;
    }
    let update = &record["params"]["update"];
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => texts.add(&words(&update["content"])),
        kind @ ("tool_call" | "tool_call_update") => {
            if kind == "tool_call" {
                texts.add_all(&values(&update["rawInput"]));
            }
            if matches!(update["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
                texts.add(&words(&update["content"]));
                for output in update["rawOutput"]
                    .as_object()
                    .into_iter()
                    .flat_map(|output| output.values())
                {
                    texts.add(output["tool_output_for_prompt"].as_str().unwrap_or_default());
                }
            }
        }
        _ => {}
    }
}

/// Returns the words of a content, which is a text, or a list of blocks of which some are texts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(words).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(block) => ["text", "content"]
            .iter()
            .filter_map(|name| block.get(*name))
            .map(words)
            .find(|text| !text.is_empty())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns the strings and numbers in a tool's input, which is JSON, JSON within a text, or a text.
fn values(input: &Value) -> Vec<String> {
    let inner = input.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let input = inner.as_ref().filter(|inner| !inner.is_string()).unwrap_or(input);
    let mut leaves = Vec::new();
    gather(input, &mut leaves);
    leaves
}

fn gather(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::String(text) => leaves.push(text.clone()),
        Value::Number(number) => leaves.push(number.to_string()),
        Value::Array(all) => all.iter().for_each(|value| gather(value, leaves)),
        Value::Object(all) => all.values().for_each(|value| gather(value, leaves)),
        _ => {}
    }
}

fn joined(list: &Value, between: &str) -> String {
    let words = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(between)
}
