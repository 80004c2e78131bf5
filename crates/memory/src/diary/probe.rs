//! What the diary has to know of a line beside what the readers tell: its time, whether it is one record at all, and
//! where the session says it works. The rest of a line is passed over without being held.
//!
//! The words are the agents'. Every field may be missing or of any type.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::bytes::Regex;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use transcript::Agent;

use super::flat;

/// Numbers above this are milliseconds: as seconds they would lie in the year 5138.
const SECONDS_MAX: f64 = 1e11;

static OF_THREAD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("session_meta|turn_context").expect("two words are an expression"));

/// What a line tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) at: Option<Timestamp>,
    /// A time in a form that the readers do not take: a bare number.
    pub(super) is_number: bool,
    /// Where the session works.
    pub(super) cwd: Option<String>,
    /// The head of a Codex thread.
    pub(super) head: Option<Head>,
    pub(super) is_turn_context: bool,
    /// A record of a subagent of Claude Code's.
    pub(super) sidechain: Option<Sidechain>,
}

/// What a Codex thread tells of itself in its first record.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) role: Option<String>,
    /// It works for another thread or another agent.
    pub(super) is_child: bool,
}

/// What a record of a Claude subagent tells of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Sidechain {
    pub(super) agent_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) role: Option<String>,
}

/// Looks at a line of which the readers parsed all that stands on it.
pub(super) fn probe_sound(agent: Agent, line: &[u8]) -> Option<Told> {
    // What these tell of a thread lies deeper.
    let is_flat = agent == Agent::Claude || agent == Agent::Codex && !OF_THREAD.is_match(line);
    let mut record = Record::default();
    let walked = is_flat
        .then(|| flat::walk(line, |key, value| record.take(key, value)))
        .flatten();
    match walked {
        Some(()) => Some(told(agent, &record)),
        None => probe(agent, line),
    }
}

/// Looks at one line. Nothing where it is not one JSON object.
pub(super) fn probe(agent: Agent, line: &[u8]) -> Option<Told> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    // Only these two tell of the thread in what they carry; what the others carry is most of a log.
    if agent == Agent::Codex && !OF_THREAD.is_match(line) {
        let mut lean = serde_json::Deserializer::from_slice(line);
        if let Ok(record) = lean.deserialize_map(Fields { with_payload: false })
            && lean.end().is_ok()
        {
            return Some(told(agent, &record));
        }
    }
    let record: Record<'_> = match serde_json::from_slice(line) {
        Ok(record) => record,
        // A byte that is no text costs that letter, not the record.
        Err(_) if std::str::from_utf8(line).is_err() => {
            return told_of(agent, &String::from_utf8_lossy(line));
        }
        Err(_) => return None,
    };
    Some(told(agent, &record))
}

fn told_of(agent: Agent, line: &str) -> Option<Told> {
    let record: Record<'_> = serde_json::from_str(line).ok()?;
    Some(told(agent, &record))
}

fn told(agent: Agent, record: &Record<'_>) -> Told {
    let mut told = Told::default();
    match agent {
        Agent::Claude => {
            told.cwd = record.cwd.and_then(text);
            if record.is_sidechain.is_some_and(|raw| raw.get() == "true") {
                told.sidechain = Some(Sidechain {
                    agent_id: record.agent_id.and_then(text),
                    session_id: record.session_id.and_then(text),
                    role: record.attribution.and_then(text),
                });
            }
        }
        Agent::Codex => match record.kind.and_then(text).as_deref() {
            Some("session_meta") => {
                let payload = record.payload.and_then(fields).unwrap_or_default();
                told.cwd = payload.cwd.and_then(text);
                told.at = payload.timestamp.and_then(time).map(|(at, _)| at);
                told.head = Some(head(&payload));
            }
            Some("turn_context") => {
                told.is_turn_context = true;
                told.cwd = record
                    .payload
                    .and_then(fields)
                    .and_then(|payload| payload.cwd.and_then(text));
            }
            _ => {}
        },
        Agent::Grok => {}
    }
    if let Some((at, is_number)) = record.timestamp.or(record.ts).and_then(time) {
        (told.at, told.is_number) = (Some(at), is_number);
    }
    told
}

fn head(payload: &Record<'_>) -> Head {
    let source = payload.source.and_then(fields).unwrap_or_default();
    let spawn = source
        .subagent
        .and_then(fields)
        .and_then(|subagent| subagent.spawn.and_then(fields));
    let spawn = spawn.unwrap_or_default();
    let is_companion = payload.originator.and_then(text).as_deref() == Some("Claude Code");
    let parent = payload.parent.and_then(text).or_else(|| spawn.parent.and_then(text));
    let is_thread = payload.thread_source.and_then(text).as_deref() == Some("subagent");
    let has_source = source.subagent.is_some_and(|raw| raw.get() != "null");
    let role = payload.role.and_then(text).or_else(|| spawn.role.and_then(text));
    Head {
        id: payload.id.and_then(text),
        is_child: is_thread || has_source || is_companion || parent.is_some(),
        parent,
        role: role.or_else(|| is_companion.then(|| "codex".to_owned())),
    }
}

/// A text that says something.
fn text(raw: &RawValue) -> Option<String> {
    let text: Cow<'_, str> = serde_json::from_str(raw.get()).ok()?;
    (!text.trim().is_empty()).then(|| text.into_owned())
}

fn fields(raw: &RawValue) -> Option<Record<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// A time, and whether it is a bare number.
fn time(raw: &RawValue) -> Option<(Timestamp, bool)> {
    let raw = raw.get();
    if let Some(plain) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        // Nobody escapes a letter of a time.
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

/// The fields of a record, or of an object inside one. Where a key comes twice, the last one counts.
#[derive(Default)]
struct Record<'a> {
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

impl<'a> Record<'a> {
    /// Takes one of the fields that stand in a record itself. None where that cannot be told without a closer look.
    fn take(&mut self, key: &[u8], value: &'a [u8]) -> Option<()> {
        let place = match key {
            b"timestamp" => &mut self.timestamp,
            b"ts" => &mut self.ts,
            b"type" => &mut self.kind,
            b"cwd" => &mut self.cwd,
            b"isSidechain" => &mut self.is_sidechain,
            b"agentId" => &mut self.agent_id,
            b"sessionId" => &mut self.session_id,
            b"attributionAgent" => &mut self.attribution,
            // Letters of a key may be written in another way.
            _ if key.contains(&b'\\') => return None,
            _ => return Some(()),
        };
        *place = Some(serde_json::from_slice(value).ok()?);
        Some(())
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier)]
enum Key {
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

impl<'de: 'a, 'a> Deserialize<'de> for Record<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields { with_payload: true })
    }
}

struct Fields {
    with_payload: bool,
}

impl<'de> Visitor<'de> for Fields {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Record<'de>, M::Error> {
        let mut record = Record::default();
        while let Some(key) = map.next_key::<Key>()? {
            let place = match key {
                Key::Timestamp => &mut record.timestamp,
                Key::Ts => &mut record.ts,
                Key::Kind => &mut record.kind,
                Key::Payload if self.with_payload => &mut record.payload,
                Key::Cwd => &mut record.cwd,
                Key::IsSidechain => &mut record.is_sidechain,
                Key::AgentId => &mut record.agent_id,
                Key::SessionId => &mut record.session_id,
                Key::Attribution => &mut record.attribution,
                Key::Id => &mut record.id,
                Key::Parent => &mut record.parent,
                Key::ThreadSource => &mut record.thread_source,
                Key::Source => &mut record.source,
                Key::Subagent => &mut record.subagent,
                Key::Spawn => &mut record.spawn,
                Key::Originator => &mut record.originator,
                Key::Role => &mut record.role,
                Key::Payload | Key::Other => {
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
        fn a_sound_line_tells_the_same_in_both_ways(
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
                let (fast, slow) = (probe_sound(agent, line.as_bytes()), probe(agent, line.as_bytes()));
                proptest::prop_assert!(slow.is_some());
                proptest::prop_assert_eq!(fast, slow, "{}", line);
            }
        }
    }

    #[test]
    fn times_are_texts_with_an_offset_or_numbers() {
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
    fn the_head_of_a_thread_tells_whose_child_it_is() {
        let head = |payload: &str| {
            let line = format!("{{\"type\":\"session_meta\",\"payload\":{payload}}}");
            let head = probe(Agent::Codex, line.as_bytes()).unwrap().head.unwrap();
            (head.is_child, head.parent, head.role)
        };
        let told = |is_child, parent: Option<&str>, role: Option<&str>| {
            (is_child, parent.map(str::to_owned), role.map(str::to_owned))
        };
        assert_eq!(head(r#"{"id":"a","source":"cli"}"#), told(false, None, None));
        assert_eq!(head(r#"{"thread_source":"subagent"}"#), told(true, None, None));
        assert_eq!(head(r#"{"originator":"Claude Code"}"#), told(true, None, Some("codex")));
        assert_eq!(
            head(r#"{"source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","agent_role":"r"}}}}"#),
            told(true, Some("p"), Some("r"))
        );
    }
}
