//! Extracts from a line what the diary needs beyond the readers: its time, whether it is a single JSON object, and the
//! working directory. The rest of the line is skipped without being copied.
//!
//! The field names are the agents'. Any field may be missing or have any type.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::bytes::Regex;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use transcript::Agent;

use super::flat;

/// Larger numbers are milliseconds, because as seconds they would be after the year 5138.
const SECONDS_MAX: f64 = 1e11;

static THREAD_KEYWORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("session_meta|turn_context").expect("two words are an expression"));

/// The facts of one line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LineFacts {
    pub(super) at: Option<Timestamp>,
    /// True if the time is a bare number, which the readers do not accept.
    pub(super) is_number: bool,
    /// The working directory.
    pub(super) cwd: Option<String>,
    /// The head of a Codex thread.
    pub(super) head: Option<ThreadHead>,
    pub(super) is_turn_context: bool,
    /// Set on the records of a Claude Code subagent.
    pub(super) sidechain: Option<SidechainFacts>,
}

/// What the first record of a Codex thread says about the thread.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ThreadHead {
    pub(super) id: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) role: Option<String>,
    /// True if it was started by another thread or another agent.
    pub(super) is_child: bool,
}

/// What a record of a Claude subagent says about the subagent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct SidechainFacts {
    pub(super) agent_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) role: Option<String>,
}

/// Probes a line that the reader parsed without a fault, which allows a faster path than [`probe`].
pub(super) fn probe_parsed(agent: Agent, line: &[u8]) -> Option<LineFacts> {
    // In these records, the facts of a thread are nested more deeply.
    let is_flat = agent == Agent::Claude || agent == Agent::Codex && !THREAD_KEYWORDS.is_match(line);
    let mut record = ProbedRecord::default();
    let walked = is_flat
        .then(|| flat::walk_fields(line, |key, value| record.set_field(key, value)))
        .flatten();
    match walked {
        Some(()) => Some(line_facts(agent, &record)),
        None => probe(agent, line),
    }
}

/// Probes one line. Returns `None` if it is not exactly one JSON object.
pub(super) fn probe(agent: Agent, line: &[u8]) -> Option<LineFacts> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    // Only these two records need their payload. Skipping the payload of all others is faster because payloads make up
    // most of a log.
    if agent == Agent::Codex && !THREAD_KEYWORDS.is_match(line) {
        let mut lean = serde_json::Deserializer::from_slice(line);
        if let Ok(record) = lean.deserialize_map(RecordVisitor { with_payload: false })
            && lean.end().is_ok()
        {
            return Some(line_facts(agent, &record));
        }
    }
    let record: ProbedRecord<'_> = match serde_json::from_slice(line) {
        Ok(record) => record,
        // Invalid UTF-8 is replaced, so that it only costs the affected character and not the record.
        Err(_) if std::str::from_utf8(line).is_err() => {
            return probe_lossy(agent, &String::from_utf8_lossy(line));
        }
        Err(_) => return None,
    };
    Some(line_facts(agent, &record))
}

fn probe_lossy(agent: Agent, line: &str) -> Option<LineFacts> {
    let record: ProbedRecord<'_> = serde_json::from_str(line).ok()?;
    Some(line_facts(agent, &record))
}

fn line_facts(agent: Agent, record: &ProbedRecord<'_>) -> LineFacts {
    let mut facts = LineFacts::default();
    match agent {
        Agent::Claude => {
            facts.cwd = record.cwd.and_then(non_empty_text);
            if record.is_sidechain.is_some_and(|raw| raw.get() == "true") {
                facts.sidechain = Some(SidechainFacts {
                    agent_id: record.agent_id.and_then(non_empty_text),
                    session_id: record.session_id.and_then(non_empty_text),
                    role: record.attribution.and_then(non_empty_text),
                });
            }
        }
        Agent::Codex => match record.kind.and_then(non_empty_text).as_deref() {
            Some("session_meta") => {
                let payload = record.payload.and_then(parse_fields).unwrap_or_default();
                facts.cwd = payload.cwd.and_then(non_empty_text);
                facts.at = payload.timestamp.and_then(parse_time).map(|(at, _)| at);
                facts.head = Some(thread_head(&payload));
            }
            Some("turn_context") => {
                facts.is_turn_context = true;
                facts.cwd = record
                    .payload
                    .and_then(parse_fields)
                    .and_then(|payload| payload.cwd.and_then(non_empty_text));
            }
            _ => {}
        },
        Agent::Grok => {}
    }
    if let Some((at, is_number)) = record.timestamp.or(record.ts).and_then(parse_time) {
        (facts.at, facts.is_number) = (Some(at), is_number);
    }
    facts
}

fn thread_head(payload: &ProbedRecord<'_>) -> ThreadHead {
    let source = payload.source.and_then(parse_fields).unwrap_or_default();
    let spawn = source
        .subagent
        .and_then(parse_fields)
        .and_then(|subagent| subagent.spawn.and_then(parse_fields));
    let spawn = spawn.unwrap_or_default();
    let is_companion = payload.originator.and_then(non_empty_text).as_deref() == Some("Claude Code");
    let parent = payload
        .parent
        .and_then(non_empty_text)
        .or_else(|| spawn.parent.and_then(non_empty_text));
    let is_thread = payload.thread_source.and_then(non_empty_text).as_deref() == Some("subagent");
    let has_source = source.subagent.is_some_and(|raw| raw.get() != "null");
    let role = payload
        .role
        .and_then(non_empty_text)
        .or_else(|| spawn.role.and_then(non_empty_text));
    ThreadHead {
        id: payload.id.and_then(non_empty_text),
        is_child: is_thread || has_source || is_companion || parent.is_some(),
        parent,
        role: role.or_else(|| is_companion.then(|| "codex".to_owned())),
    }
}

/// Parses a string that is not blank.
fn non_empty_text(raw: &RawValue) -> Option<String> {
    let text: Cow<'_, str> = serde_json::from_str(raw.get()).ok()?;
    (!text.trim().is_empty()).then(|| text.into_owned())
}

fn parse_fields(raw: &RawValue) -> Option<ProbedRecord<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// Parses a time. The second value is `true` if it is a bare number.
fn parse_time(raw: &RawValue) -> Option<(Timestamp, bool)> {
    let raw = raw.get();
    if let Some(plain) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        // Characters of a time are never escaped, so the string is not decoded.
        return plain.trim().parse().ok().map(|at| (at, false));
    }
    let number: f64 = raw.parse().ok().filter(|number: &f64| number.is_finite())?;
    let millis = if number.abs() > SECONDS_MAX {
        number
    } else {
        number * 1e3
    };
    Timestamp::from_millisecond(millis as i64).ok().map(|at| (at, true))
}

/// The fields of a record, or of an object in it. If a key is repeated, the last value counts, as in the agents' own
/// parsers.
#[derive(Default)]
struct ProbedRecord<'a> {
    timestamp: Option<&'a RawValue>,
    ts: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    payload: Option<&'a RawValue>,
    cwd: Option<&'a RawValue>,
    is_sidechain: Option<&'a RawValue>,
    agent_id: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    attribution: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    parent: Option<&'a RawValue>,
    thread_source: Option<&'a RawValue>,
    source: Option<&'a RawValue>,
    subagent: Option<&'a RawValue>,
    spawn: Option<&'a RawValue>,
    originator: Option<&'a RawValue>,
    role: Option<&'a RawValue>,
}

impl<'a> ProbedRecord<'a> {
    /// Stores a top-level field. Returns `None` if the line needs a full parse.
    fn set_field(&mut self, key: &[u8], value: &'a [u8]) -> Option<()> {
        let place = match key {
            b"timestamp" => &mut self.timestamp,
            b"ts" => &mut self.ts,
            b"type" => &mut self.kind,
            b"cwd" => &mut self.cwd,
            b"isSidechain" => &mut self.is_sidechain,
            b"agentId" => &mut self.agent_id,
            b"sessionId" => &mut self.session_id,
            b"attributionAgent" => &mut self.attribution,
            // A key can contain escape sequences, so it has to be decoded to be compared.
            _ if key.contains(&b'\\') => return None,
            _ => return Some(()),
        };
        *place = Some(serde_json::from_slice(value).ok()?);
        Some(())
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier)]
enum FieldKey {
    #[serde(rename = "timestamp")]
    Timestamp,
    #[serde(rename = "ts")]
    Ts,
    #[serde(rename = "type")]
    Kind,
    #[serde(rename = "payload")]
    Payload,
    #[serde(rename = "cwd")]
    Cwd,
    #[serde(rename = "isSidechain")]
    IsSidechain,
    #[serde(rename = "agentId")]
    AgentId,
    #[serde(rename = "sessionId")]
    SessionId,
    #[serde(rename = "attributionAgent")]
    Attribution,
    #[serde(rename = "id")]
    Id,
    #[serde(rename = "parent_thread_id")]
    Parent,
    #[serde(rename = "thread_source")]
    ThreadSource,
    #[serde(rename = "source")]
    Source,
    #[serde(rename = "subagent")]
    Subagent,
    #[serde(rename = "thread_spawn")]
    Spawn,
    #[serde(rename = "originator")]
    Originator,
    #[serde(rename = "agent_role")]
    Role,
    #[serde(other)]
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for ProbedRecord<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RecordVisitor { with_payload: true })
    }
}

struct RecordVisitor {
    with_payload: bool,
}

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = ProbedRecord<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ProbedRecord<'de>, M::Error> {
        let mut record = ProbedRecord::default();
        while let Some(key) = map.next_key::<FieldKey>()? {
            let place = match key {
                FieldKey::Timestamp => &mut record.timestamp,
                FieldKey::Ts => &mut record.ts,
                FieldKey::Kind => &mut record.kind,
                FieldKey::Payload if self.with_payload => &mut record.payload,
                FieldKey::Cwd => &mut record.cwd,
                FieldKey::IsSidechain => &mut record.is_sidechain,
                FieldKey::AgentId => &mut record.agent_id,
                FieldKey::SessionId => &mut record.session_id,
                FieldKey::Attribution => &mut record.attribution,
                FieldKey::Id => &mut record.id,
                FieldKey::Parent => &mut record.parent,
                FieldKey::ThreadSource => &mut record.thread_source,
                FieldKey::Source => &mut record.source,
                FieldKey::Subagent => &mut record.subagent,
                FieldKey::Spawn => &mut record.spawn,
                FieldKey::Originator => &mut record.originator,
                FieldKey::Role => &mut record.role,
                FieldKey::Payload | FieldKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *place = Some(map.next_value()?);
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object_or_nothing() {
        let is_one = |line: &[u8]| probe(Agent::Claude, line).is_some();
        let deep = format!("{{\"x\":{}1{}}}", "[".repeat(2_000), "]".repeat(2_000));
        let long = format!("{{\"x\":{}}}", "9".repeat(5_000));
        for good in [
            b"{}".as_slice(),
            b" {\"a\":1}\r",
            b"\xef\xbb\xbf{}",
            b"{\"a\":\"\xff\"}",
            b"{\"type\":\"\xff\"}",
            b"{\"a\":1,\"a\":2,\"type\":1,\"type\":[]}",
            b"{\"a\":\"\\ud800\"}",
            deep.as_bytes(),
            long.as_bytes(),
        ] {
            assert!(is_one(good), "{}", String::from_utf8_lossy(good));
        }
        for bad in [b"5".as_slice(), b"[]", b"null", b"{}{}", b"{\"a\":", b"\0\0", b""] {
            assert!(!is_one(bad), "{}", String::from_utf8_lossy(bad));
        }
    }

    proptest::proptest! {
        #[test]
        fn both_probes_agree_on_valid_lines(
            fields in proptest::collection::vec((
                proptest::sample::select(vec![
                    "timestamp", "ts", "type", "cwd", "isSidechain", "agentId", "sessionId", "attributionAgent", "x", "payload",
                    "t\\u0079pe",
                ]),
                proptest::sample::select(vec![
                    r#""2026-05-12T12:00:00Z""#, "1778587200", r#""/home/ada""#, "true", r#""session_meta""#, r#""turn_context""#,
                    r#"{"cwd":"/inner","timestamp":"2020-01-01T00:00:00Z","a":[1,{"b":"}]\\\""}]}"#, r#""\\""#, r#""a\"b""#, "[]",
                    "null", " \"spaced\" ",
                ]),
            ), 0..8),
            space in proptest::sample::select(vec!["", " ", "\t\r"]),
        ) {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{space}\"{key}\"{space}:{value}")).collect();
            let line = format!("{space}{{{}{space}}}{space}", fields.join(","));
            for agent in [Agent::Claude, Agent::Codex, Agent::Grok] {
                let (fast, slow) = (probe_parsed(agent, line.as_bytes()), probe(agent, line.as_bytes()));
                proptest::prop_assert!(slow.is_some());
                proptest::prop_assert_eq!(fast, slow, "{}", line);
            }
        }
    }

    #[test]
    fn times_are_strings_with_an_offset_or_numbers() {
        let at = |value: &str| {
            let line = format!("{{\"timestamp\":{value}}}");
            probe(Agent::Claude, line.as_bytes())
                .unwrap()
                .at
                .map(|at| at.to_string())
        };
        let noon = Some("2026-05-12T12:00:00Z".to_owned());
        assert_eq!(at(r#""2026-05-12T12:00:00Z""#), noon);
        assert_eq!(at(r#""2026-05-12T12:00:00z""#), noon);
        assert_eq!(at(r#""2026-05-12T20:00:00+08:00""#), noon);
        assert_eq!(at("1778587200"), noon);
        assert_eq!(at("1778587200000"), noon);
        for none in [r#""2026-05-12T12:00:00""#, "null", "{}", r#""soon""#, "1e999"] {
            assert_eq!(at(none), None, "{none}");
        }
    }

    #[test]
    fn the_head_of_a_thread_names_its_parent() {
        let head = |payload: &str| {
            let line = format!("{{\"type\":\"session_meta\",\"payload\":{payload}}}");
            let head = probe(Agent::Codex, line.as_bytes()).unwrap().head.unwrap();
            (head.is_child, head.parent, head.role)
        };
        let expected = |is_child, parent: Option<&str>, role: Option<&str>| {
            (is_child, parent.map(str::to_owned), role.map(str::to_owned))
        };
        assert_eq!(head(r#"{"id":"a","source":"cli"}"#), expected(false, None, None));
        assert_eq!(head(r#"{"thread_source":"subagent"}"#), expected(true, None, None));
        assert_eq!(
            head(r#"{"originator":"Claude Code"}"#),
            expected(true, None, Some("codex"))
        );
        assert_eq!(
            head(r#"{"source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","agent_role":"r"}}}}"#),
            expected(true, Some("p"), Some("r"))
        );
    }
}
