//! Every secret in every place of a log: it is masked, and nothing else changes.

use super::samples::{Sample, all_samples};
use super::*;
use serde_json::{Value, json};

/// Returns lines that contain the text in each of the places.
fn lines_with(text: &str) -> Vec<(&'static str, String)> {
    let inner = json!({ "command": text, "cwd": "/home/me" }).to_string();
    let twice = json!({ "body": inner }).to_string();
    let listing = format!("     1\tfirst\n     2\t{text}\n     3\tlast");
    let bytes: Vec<u8> = format!("total 4\n{text}\n").into_bytes();
    vec![
        (
            "prompt",
            json!({ "type": "user", "message": { "content": format!("use {text} please") } }).to_string(),
        ),
        ("alone", json!({ "content": text }).to_string()),
        ("key", json!({ "env": { (text): "here" } }).to_string()),
        (
            "tool input",
            json!({ "input": { "command": format!("run '{text}'"), "n": 3 } }).to_string(),
        ),
        (
            "tool output",
            json!({ "content": [{ "text": listing, "ok": true }] }).to_string(),
        ),
        (
            "after a line break",
            json!({ "output": format!("line\n{text}\nline\ttab {text}") }).to_string(),
        ),
        ("nested JSON", json!({ "arguments": inner }).to_string()),
        ("JSON in nested JSON", json!({ "arguments": twice }).to_string()),
        (
            "a print of JSON",
            json!({ "output": format!("log: {}", json!({ "text": format!("x\n{text}\n") })) }).to_string(),
        ),
        ("bytes", json!({ "rawOutput": { "output": bytes } }).to_string()),
        (
            "colours",
            json!({ "output": format!("\u{1b}[32m{text}\u{1b}[0m") }).to_string(),
        ),
        (
            "beside other letters",
            json!({ "a": "naïve 😀", "b": format!("日本語 {text} 日本語"), "c": null }).to_string(),
        ),
    ]
}

/// Appends all text of a value: strings and keys decoded at every level, arrays of bytes as text.
fn meaning(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\u{0}');
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(text) {
                meaning(&inner, out);
            }
        }
        Value::Array(items) => {
            let bytes: Option<Vec<u8>> = items
                .iter()
                .map(|item| item.as_u64().and_then(|byte| byte.try_into().ok()))
                .collect();
            out.push_str(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
            items.iter().for_each(|item| meaning(item, out));
        }
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            meaning(&Value::String(key.clone()), out);
            meaning(value, out);
        }),
        _ => {}
    }
}

/// Returns `true` if two values have the same shape and differ only in strings that contain a tag.
fn is_same_but_masked(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(a), Value::String(b)) => a == b || b.contains("[REDACTED:"),
        (Value::Array(a), Value::Array(b)) => {
            let numbers = |items: &[Value]| items.iter().all(Value::is_u64) && items.len() >= 8;
            numbers(a) && numbers(b) || a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_but_masked(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same_key = |a: &str, b: &str| a == b || b.contains("[REDACTED:");
            a.len() == b.len()
                && a.iter().all(|(key, value)| {
                    b.iter()
                        .any(|(other, masked)| same_key(key, other) && is_same_but_masked(value, masked))
                })
        }
        _ => before == after,
    }
}

/// Checks that `masked` equals `line` with every hit replaced by its tag.
fn assert_only_hits_differ(line: &[u8], masked: &[u8], hits: &[Hit]) {
    let mut rest = masked;
    let mut done = 0;
    for hit in hits {
        let kept = &line[done..hit.range.start];
        rest = rest.strip_prefix(kept).expect("what is no secret stays");
        let plain = tag::render(&hit.rule, hit.fingerprint, 0);
        let integers = tag::render(&hit.rule, hit.fingerprint, 1);
        rest = rest
            .strip_prefix(&plain[..])
            .or_else(|| rest.strip_prefix(&integers[..]))
            .expect("a tag stands for the secret");
        done = hit.range.end;
    }
    assert_eq!(rest, &line[done..]);
}

/// Returns the pieces of a secret that must not remain: each of its lines.
fn pieces(secret: &str) -> Vec<&str> {
    secret.lines().collect()
}

fn assert_gone(place: &str, sample: &Sample, masked: &[u8]) {
    let text = String::from_utf8_lossy(masked);
    let mut said = String::new();
    if let Ok(value) = serde_json::from_slice::<Value>(masked) {
        meaning(&value, &mut said);
    }
    for piece in pieces(&sample.secret) {
        assert!(
            !text.contains(piece) && !said.contains(piece),
            "{} as {place}: {text}",
            sample.rule
        );
        let escaped = serde_json::to_string(piece).unwrap();
        assert!(
            !text.contains(escaped.trim_matches('"')),
            "{} as {place}: {text}",
            sample.rule
        );
    }
}

#[test]
fn every_secret_is_found_in_every_place_and_nothing_else_changes() {
    let masker = masker();
    for sample in all_samples() {
        for (place, line) in lines_with(&sample.text) {
            let mut hits = Vec::new();
            let masked = masker.mask_json_line(line.as_bytes(), &mut hits);
            assert_gone(place, &sample, &masked);
            assert!(
                hits.iter().any(|hit| hit.rule == sample.rule),
                "{} as {place}: {hits:?}",
                sample.rule
            );
            assert_only_hits_differ(line.as_bytes(), &masked, &hits);
            let before: Value = serde_json::from_str(&line).unwrap();
            let after: Value = serde_json::from_slice(&masked).unwrap();
            assert!(
                is_same_but_masked(&before, &after),
                "{} as {place}: {after}",
                sample.rule
            );
            let mut again = Vec::new();
            assert_eq!(
                masker.mask_json_line(&masked, &mut again),
                masked,
                "{} as {place}",
                sample.rule
            );
            assert!(again.is_empty());
        }
    }
}

#[test]
fn every_secret_is_found_in_plain_text_of_many_lines() {
    let masker = masker();
    for sample in all_samples() {
        let text = format!("# notes\n\n  {}\nend of it", sample.text);
        let mut state = TextState::default();
        let mut hits = Vec::new();
        let mut masked = Vec::new();
        for line in text.lines() {
            masked.extend_from_slice(&masker.mask_text_line(&mut state, line.as_bytes(), &mut hits));
            masked.push(b'\n');
        }
        assert_gone("plain text", &sample, &masked);
        assert!(
            masked.starts_with(b"# notes\n\n  ") && masked.ends_with(b"\nend of it\n"),
            "{}",
            sample.rule
        );
    }
}

#[test]
fn every_secret_is_found_in_glued_and_torn_lines() {
    let masker = masker();
    for sample in all_samples() {
        let record = json!({ "type": "user", "text": format!("a\n{}\nb", sample.text), "n": 1 }).to_string();
        let other = json!({ "type": "other", "text": "\"quoted\" {\"a\": 1}" }).to_string();
        let start = record.find("a\\n").unwrap();
        let end = record.find("\\nb").unwrap();
        let lines = [
            ("glued before", format!("{record}{other}")),
            ("glued behind", format!("{other}{record}")),
            ("behind half a record", format!("{}{record}", &other[..20])),
            ("torn, then whole", format!("{}{other}", &record[..end + 4])),
            ("torn", record[..end].to_string()),
            ("torn in an escape", record[..end + 1].to_string()),
            ("the tail of a record", record[start..].to_string()),
            ("the tail from a border on", record[start + 1..].to_string()),
            ("no JSON", format!("{{'text': {}", &record[start..end])),
        ];
        for (place, line) in lines {
            let mut hits = Vec::new();
            let masked = masker.mask_json_line(line.as_bytes(), &mut hits);
            assert_gone(place, &sample, &masked);
            assert_only_hits_differ(line.as_bytes(), &masked, &hits);
            assert_eq!(
                masker.mask_json_line(&masked, &mut Vec::new()),
                masked,
                "{} {place}",
                sample.rule
            );
        }
    }
}

#[test]
fn a_secret_is_found_wherever_its_line_is_cut_behind_or_before_it() {
    let masker = masker();
    let token = samples::token("github-token");
    let line = json!({ "type": "user", "message": { "content": [{ "text": format!("so \"{token}\" is\nit"), "n": [1, 2] }] } }).to_string();
    let start = line.find(&token).unwrap();
    for cut in start + token.len()..=line.len() {
        assert!(
            !has(&masker.mask_json_line(&line.as_bytes()[..cut], &mut Vec::new()), &token),
            "until {cut}"
        );
    }
    for cut in 0..=start {
        assert!(
            !has(&masker.mask_json_line(&line.as_bytes()[cut..], &mut Vec::new()), &token),
            "from {cut}"
        );
    }
}

#[test]
fn an_escaped_secret_is_found_in_a_torn_string() {
    let token = samples::token("github-token");
    let line = format!(r#"{{"text":"see \u0067{} and\n mo"#, &token[1..]);
    let mut hits = Vec::new();
    let masked = masker().mask_json_line(line.as_bytes(), &mut hits);
    assert_eq!(hits.len(), 1, "{}", String::from_utf8_lossy(&masked));
}

#[test]
fn a_torn_array_of_bytes_is_looked_into() {
    let token = samples::token("github-token");
    let bytes: Vec<String> = format!("x {token} y").bytes().map(|byte| byte.to_string()).collect();
    let line = format!(r#"{{"output":[{},"#, bytes.join(","));
    let mut hits = Vec::new();
    masker().mask_json_line(line.as_bytes(), &mut hits);
    assert_eq!(hits.len(), 1);
}

pub(super) fn has(text: &[u8], secret: &str) -> bool {
    memchr::memmem::find(text, secret.as_bytes()).is_some()
}
