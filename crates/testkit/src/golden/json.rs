//! Compares JSON values. The order of keys is ignored, and numbers are compared by value.

use serde_json::Value;

/// Longer values are cut after this many characters.
const SHOWN_CHARS: usize = 60;

/// One position at which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonDifference {
    /// Such as `$.sessions[0].turns`.
    pub(super) path: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// Parses one JSON value, or one per line. Returns `None` if the text is not JSON.
pub(super) fn parse(text: &str) -> Option<Vec<Value>> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.collect::<Result<_, _>>().ok()
}

/// Returns every position at which two lists of values differ, in the order of the first list.
pub(super) fn differences(before: &[Value], after: &[Value]) -> Vec<JsonDifference> {
    let mut found = Vec::new();
    match (before, after) {
        ([before], [after]) => walk("$", before, after, &mut found),
        _ => walk_lists("$", before, after, &mut found),
    }
    found
}

fn walk(path: &str, before: &Value, after: &Value, found: &mut Vec<JsonDifference>) {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                let path = format!("{path}.{key}");
                match b.get(key) {
                    Some(other) => walk(&path, value, other, found),
                    None => push(&path, Some(value), None, found),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                push(&format!("{path}.{key}"), None, Some(value), found);
            }
        }
        (Value::Array(a), Value::Array(b)) => walk_lists(path, a, b, found),
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() && a.as_i64() == b.as_i64() => {}
        (a, b) if a == b => {}
        (a, b) => push(path, Some(a), Some(b), found),
    }
}

fn walk_lists(path: &str, before: &[Value], after: &[Value], found: &mut Vec<JsonDifference>) {
    for at in 0..before.len().max(after.len()) {
        let path = format!("{path}[{at}]");
        match (before.get(at), after.get(at)) {
            (Some(a), Some(b)) => walk(&path, a, b, found),
            (a, b) => push(&path, a, b, found),
        }
    }
}

fn push(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<JsonDifference>) {
    found.push(JsonDifference {
        path: path.to_owned(),
        before: shown(before),
        after: shown(after),
    });
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "absent".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(before: &str, after: &str) -> Vec<String> {
        let values = |text: &str| parse(text).expect("it is JSON");
        let found = differences(&values(before), &values(after)).into_iter();
        found
            .map(|one| format!("{}: {} → {}", one.path, one.before, one.after))
            .collect()
    }

    #[test]
    fn order_of_keys_and_notation_of_numbers_are_ignored() {
        assert!(describe(r#"{"a":1,"b":2.0}"#, r#"{"b":2.0,"a":1}"#).is_empty());
        assert!(describe(r#"{"a":1.50}"#, r#"{"a":1.5}"#).is_empty());
    }

    #[test]
    fn values_are_compared_by_position() {
        assert_eq!(
            describe(r#"{"a":[{"b":3}]}"#, r#"{"a":[{"b":4}]}"#),
            ["$.a[0].b: 3 → 4"]
        );
        assert_eq!(
            describe(r#"{"a":1}"#, r#"{"b":1}"#),
            ["$.a: 1 → absent", "$.b: absent → 1"]
        );
        assert_eq!(describe(r#"[1,2]"#, r#"[1]"#), ["$[1]: 2 → absent"]);
        assert_eq!(
            describe("{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":3}\n"),
            ["$[1].a: 2 → 3"]
        );
        assert_eq!(
            describe(r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#).len(),
            1
        );
        assert_eq!(describe(r#"{"a":null}"#, r#"{"a":0}"#), ["$.a: null → 0"]);
    }

    #[test]
    fn text_is_not_json() {
        assert_eq!(parse("{name}"), None);
        assert_eq!(parse("12 sessions"), None);
    }
}
