//! Prompt histories: what was typed, session by session, in files that outlive the logs.
//!
//! An agent keeps them to recall a prompt with the arrow keys. They are not logs: one record is one prompt, without
//! its result. This module does not know where the files are, or whether a log still exists.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::agent::Agent;
use crate::lines::{LineBody, MaskedLine};
use crate::reading::Fault;
use crate::records::{each_object, trim};
use crate::wire::{RawJson, WireFlag, WireNumber, WireObject, WireText, wire};

/// Longer texts are not accepted as ids.
const ID_BYTES_MAX: usize = 200;
/// Maximum length of the placeholder of a paste.
const MARK_BYTES_MAX: usize = 80;

/// A prompt in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPrompt {
    pub agent: Agent,
    /// The agent's own id of the session. Old histories of Claude Code only have the project.
    pub native_session_id: Option<String>,
    pub ts: Option<Timestamp>,
    pub text: String,
    /// The directory in which it was typed.
    pub project: Option<String>,
}

/// Parses one line of an agent's history. Returns its prompts, usually one, and the fault of the line, if any.
pub fn history_prompts(agent: Agent, line: &MaskedLine<'_>) -> (Vec<HistoryPrompt>, Option<Fault>) {
    let fault = |reason: String, mended| Fault {
        line: line.number(),
        reason,
        mended,
    };
    let bytes = match line.body() {
        LineBody::Bytes(bytes) => trim(bytes),
        LineBody::Oversized { length, .. } => {
            return (
                Vec::new(),
                Some(fault(format!("line of {length} bytes is too long"), false)),
            );
        }
    };
    let mut prompts = Vec::new();
    let mut without_prompt = 0;
    let opening = match agent {
        Agent::Claude => "{\"display\":",
        Agent::Codex => "{\"session_id\":",
        Agent::Grok => "{\"timestamp\":",
    };
    let broken = each_object(bytes, &[opening], &mut |record| {
        match prompt(agent, record)? {
            HistoryRecord::Prompt(prompt) => prompts.push(prompt),
            HistoryRecord::Empty => {}
            HistoryRecord::Nothing => without_prompt += 1,
        }
        Ok(())
    });
    let fault = match broken {
        Some(broken) => Some(fault(broken.reason, broken.mended)),
        None if without_prompt > 0 => Some(fault("no prompt in the record".to_owned(), !prompts.is_empty())),
        None => None,
    };
    (prompts, fault)
}

/// Returns the directory that one of Grok's directories is named after, or `None` if the path was too long for a
/// name.
pub fn grok_project(directory: &str) -> Option<String> {
    crate::grok::decode_directory(directory)
}

/// Returns `true` if a text can be an agent's id of a session.
pub fn is_session_id(text: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace();
    !text.is_empty() && text.len() <= ID_BYTES_MAX && !text.contains(is_odd)
}

/// The content of a record.
enum HistoryRecord {
    Prompt(HistoryPrompt),
    /// An empty prompt.
    Empty,
    /// The record has no field for a prompt.
    Nothing,
}

fn prompt(agent: Agent, record: &[u8]) -> Result<HistoryRecord, serde_json::Error> {
    let (id, ts, text, project) = match agent {
        Agent::Claude => {
            let record: ClaudePrompt<'_> = serde_json::from_slice(record)?;
            let text = record
                .display
                .0
                .as_deref()
                .map(|text| with_pastes(text, &record.pastes));
            (
                id(&record.session_id),
                time(&record.timestamp),
                text,
                words(&record.project),
            )
        }
        Agent::Codex => {
            let record: CodexPrompt<'_> = serde_json::from_slice(record)?;
            (id(&record.session_id), time(&record.ts), words(&record.text), None)
        }
        Agent::Grok => {
            let record: GrokPrompt<'_> = serde_json::from_slice(record)?;
            let sign = if record.is_bash.0 { "!" } else { "" };
            let text = record.prompt.0.as_deref().map(|text| format!("{sign}{text}"));
            (id(&record.session_id), time(&record.timestamp), text, None)
        }
    };
    Ok(match text {
        None => HistoryRecord::Nothing,
        Some(text) if text.trim().is_empty() => HistoryRecord::Empty,
        Some(text) => HistoryRecord::Prompt(HistoryPrompt {
            agent,
            native_session_id: id,
            ts,
            text,
            project,
        }),
    })
}

fn words(text: &WireText<'_>) -> Option<String> {
    text.0.as_deref().map(str::to_owned)
}

/// Returns an id, or `None` if the text cannot be one.
fn id(text: &WireText<'_>) -> Option<String> {
    text.get().filter(|id| is_session_id(id)).map(str::to_owned)
}

/// Parses a time in seconds, milliseconds or microseconds, or as text. Their magnitudes are too far apart to be
/// confused.
fn time(raw: &RawJson<'_>) -> Option<Timestamp> {
    const SECONDS_MAX: i64 = 100_000_000_000;
    const MILLIS_MAX: i64 = SECONDS_MAX * 1_000;
    if let Ok(WireText(Some(text))) = serde_json::from_str(raw.json()) {
        return text.parse().ok();
    }
    let WireNumber(number) = serde_json::from_str(raw.json()).ok()?;
    match i64::try_from(number?).ok()? {
        seconds @ ..SECONDS_MAX => Timestamp::from_second(seconds).ok(),
        millis @ ..MILLIS_MAX => Timestamp::from_millisecond(millis).ok(),
        micros => Timestamp::from_microsecond(micros).ok(),
    }
}

/// Inserts pasted text where the prompt only has a placeholder: `[Pasted text #1 +20 lines]`. The placeholders of
/// images, and of pastes too long for the history, remain.
fn with_pastes(display: &str, pastes: &RawJson<'_>) -> String {
    if !display.contains(" text #") {
        return display.to_owned();
    }
    let mut pastes: BTreeMap<String, WireObject<PastedText<'_>>> =
        serde_json::from_str(pastes.json()).unwrap_or_default();
    let mut text = String::with_capacity(display.len());
    let mut rest = display;
    while let Some(at) = rest.find('[') {
        let (before, named) = rest.split_at(at);
        text.push_str(before);
        let end = named
            .bytes()
            .take(MARK_BYTES_MAX)
            .position(|byte| byte == b']')
            .map(|end| end + 1);
        // Each paste is inserted once, so that no prompt is longer than its record.
        let paste = end
            .and_then(|end| paste_number(&named[1..end - 1]))
            .and_then(|number| pastes.remove(number))
            .and_then(|paste| paste.0)
            .filter(|paste| paste.kind.or_empty() != "image")
            .and_then(|paste| paste.content.0);
        match (paste, end) {
            (Some(paste), Some(end)) => {
                text.push_str(&paste);
                rest = &named[end..];
            }
            _ => {
                text.push('[');
                rest = &named[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns the number of the paste that a placeholder refers to.
fn paste_number(mark: &str) -> Option<&str> {
    let mark = mark.trim_start_matches("...");
    let named = mark
        .strip_prefix("Pasted text #")
        .or_else(|| mark.strip_prefix("Truncated text #"))?;
    let end = named.find(|c: char| !c.is_ascii_digit()).unwrap_or(named.len());
    Some(&named[..end])
}

wire! {
    /// A line of `history.jsonl` of Claude Code.
    struct ClaudePrompt<'a> {
        display: WireText<'a> = "display",
        pastes: RawJson<'a> = "pastedContents",
        timestamp: RawJson<'a> = "timestamp",
        project: WireText<'a> = "project",
        session_id: WireText<'a> = "sessionId",
    }
}

wire! {
    /// A paste; a long one only has a hash.
    struct PastedText<'a> {
        content: WireText<'a> = "content",
        kind: WireText<'a> = "type",
    }
}

wire! {
    /// A line of `history.jsonl` of Codex.
    struct CodexPrompt<'a> {
        session_id: WireText<'a> = "session_id",
        ts: RawJson<'a> = "ts",
        text: WireText<'a> = "text",
    }
}

wire! {
    /// A line of `prompt_history.jsonl` of Grok.
    struct GrokPrompt<'a> {
        timestamp: RawJson<'a> = "timestamp",
        session_id: WireText<'a> = "session_id",
        prompt: WireText<'a> = "prompt",
        is_bash: WireFlag = "is_bash",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Line;
    use std::borrow::Cow;

    fn line(number: u64, bytes: &[u8]) -> MaskedLine<'_> {
        let line = Line {
            number,
            offset: 0,
            body: LineBody::Bytes(bytes),
            terminated: true,
        };
        MaskedLine::assume_masked(line, Cow::Borrowed)
    }

    /// One line per prompt: id, time, project, text; then the fault.
    fn check(agent: Agent, lines: &str) -> String {
        let mut out = String::new();
        for (at, text) in lines.lines().enumerate() {
            let line = line(at as u64 + 1, text.as_bytes());
            let (prompts, fault) = history_prompts(agent, &line);
            for prompt in prompts {
                let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                let (id, project) = (or_none(prompt.native_session_id), or_none(prompt.project));
                let ts = or_none(prompt.ts.map(|ts| ts.to_string()));
                out += &format!("{} {id} {ts} {project} {:?}\n", line.number(), prompt.text);
            }
            if let Some(fault) = fault {
                out += &format!("{} fault: {}\n", fault.line, fault.reason);
            }
        }
        out
    }

    #[test]
    fn each_agent_has_its_own_history_format() {
        let claude = r#"{"display":"fix it","pastedContents":{},"timestamp":1765935954080,"project":"/home/ada/app","sessionId":"5e55"}
{"display":"an old one","timestamp":1765935954080,"project":"/home/ada/app"}"#;
        insta::assert_snapshot!(check(Agent::Claude, claude), @r#"
        1 5e55 2025-12-17T01:45:54.08Z /home/ada/app "fix it"
        2 - 2025-12-17T01:45:54.08Z /home/ada/app "an old one"
        "#);
        let codex = r#"{"session_id":"c0de","ts":1757998091,"text":"fix\nit"}"#;
        insta::assert_snapshot!(check(Agent::Codex, codex), @r#"1 c0de 2025-09-16T04:48:11Z - "fix\nit""#);
        let grok = r#"{"timestamp":"2026-08-18T10:00:00.5Z","session_id":"0199","prompt":"fix it","is_bash":false}
{"timestamp":"2026-08-18T10:00:01Z","session_id":"0199","prompt":"ls","is_bash":true}"#;
        insta::assert_snapshot!(check(Agent::Grok, grok), @r#"
        1 0199 2026-08-18T10:00:00.5Z - "fix it"
        2 0199 2026-08-18T10:00:01Z - "!ls"
        "#);
    }

    #[test]
    fn a_bad_field_loses_only_itself_and_so_does_a_bad_line() {
        let lines = r#"{"session_id":7,"ts":"soon","text":"kept all the same"}

{"session_id":"a b","ts":-5,"text":"no id has a space in it"}
{"session_id":"c0de","ts":1757998091,"text":"glued"}{"session_id":"c0de","ts":1757998092,"text":"to this"}
{"session_id":"c0de","ts":17{"session_id":"c0de","ts":1757998093,"text":"behind a tear"}
{"session_id":"c0de","ts":1757998091,"text":""}
{"session_id":"c0de","ts":1757998091,"text":null}
[1]
plain words"#;
        insta::assert_snapshot!(check(Agent::Codex, lines), @r#"
        1 - - - "kept all the same"
        3 - - - "no id has a space in it"
        4 c0de 2025-09-16T04:48:11Z - "glued"
        4 c0de 2025-09-16T04:48:12Z - "to this"
        5 c0de 2025-09-16T04:48:13Z - "behind a tear"
        5 fault: torn record skipped: expected `,` or `}` at line 1 column 29
        7 fault: no prompt in the record
        8 fault: expected a JSON object
        9 fault: expected a JSON object
        "#);
    }

    #[test]
    fn pasted_text_replaces_its_placeholder() {
        let lines = r#"{"display":"see [Pasted text #1 +2 lines] and [Image #2] [x]","pastedContents":{"1":{"id":1,"type":"text","content":"one\ntwo"},"2":{"id":2,"type":"image","content":"AAAA"}}}
{"display":"too long: [Pasted text #1]","pastedContents":{"1":{"id":1,"type":"text","contentHash":"ab"}}}
{"display":"[...Truncated text #3 +9 lines...] twice: [...Truncated text #3 +9 lines...]","pastedContents":{"3":{"id":3,"type":"text","content":"middle"}}}
{"display":"odd [Pasted text #1 [Pasted text #","pastedContents":[1]}
{"display":"odd [Pasted text #1]","pastedContents":{"1":null}}"#;
        insta::assert_snapshot!(check(Agent::Claude, lines), @r#"
        1 - - - "see one\ntwo and [Image #2] [x]"
        2 - - - "too long: [Pasted text #1]"
        3 - - - "middle twice: [...Truncated text #3 +9 lines...]"
        4 - - - "odd [Pasted text #1 [Pasted text #"
        5 - - - "odd [Pasted text #1]"
        "#);
    }

    #[test]
    fn a_grok_directory_names_its_project_unless_the_path_was_too_long() {
        assert_eq!(grok_project("%2Fhome%2Fada%2Fapp").as_deref(), Some("/home/ada/app"));
        assert_eq!(grok_project("home-ada-app-0123456789abcdef"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, which in 0..3usize) {
            history_prompts(Agent::ALL[which], &line(1, &bytes));
        }

        #[test]
        fn no_prompt_is_longer_than_its_record(
            display in "(\\[Pasted text #[12]\\]|[a-z\\[\\]#]){0,20}",
            paste in "[a-z]{0,40}",
        ) {
            let record = serde_json::json!({ "display": display, "pastedContents": { "1": { "content": paste } } });
            let bytes = record.to_string();
            for prompt in history_prompts(Agent::Claude, &line(1, bytes.as_bytes())).0 {
                proptest::prop_assert!(prompt.text.len() <= bytes.len());
            }
        }
    }
}
