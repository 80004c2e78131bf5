//! Property tests over generated input.

use super::places::has;
use super::samples::{self, all_samples};
use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        proptest::collection::vec(any::<u8>(), 8..20).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map("[a-z]{1,8}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Inserts a text into a value, at a place that `steps` select.
fn plant(value: &mut Value, text: &str, steps: &[usize]) {
    let step = steps.first().copied().unwrap_or_default();
    let rest = steps.get(1..).unwrap_or_default();
    match value {
        Value::Array(items) if !items.is_empty() && !rest.is_empty() => {
            let at = step % items.len();
            plant(&mut items[at], text, rest);
        }
        Value::Object(fields) if !fields.is_empty() && !rest.is_empty() => {
            let at = step % fields.len();
            match fields.iter_mut().nth(at) {
                Some((_, field)) if step % 3 != 0 => plant(field, text, rest),
                _ => drop(fields.insert(text.to_string(), Value::Null)),
            }
        }
        other => *other = Value::String(text.to_string()),
    }
}

/// Writes JSON with some characters of its strings escaped, which is valid although no agent does it.
fn with_escapes(json: &str, choices: &[bool]) -> String {
    let mut out = String::new();
    let mut choices = choices.iter().cycle();
    let (mut in_string, mut in_escape) = (false, 0);
    for character in json.chars() {
        if in_escape > 0 {
            in_escape -= 1;
            in_escape += if in_escape == 0 && character == 'u' { 4 } else { 0 };
        } else if character == '"' {
            in_string = !in_string;
        } else if character == '\\' {
            in_escape = 1;
        } else if in_string && character.is_ascii_alphanumeric() && *choices.next().unwrap() {
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
            continue;
        }
        out.push(character);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2_000 }))]

    #[test]
    fn no_bytes_panic_and_masking_twice_is_masking_once(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let masker = masker();
        let once = masker.mask_json_line(&bytes, &mut Vec::new());
        prop_assert_eq!(&masker.mask_json_line(&once, &mut Vec::new()), &once);
        let once = masker.mask_text_line(&mut TextState::default(), &bytes, &mut Vec::new());
        prop_assert_eq!(&masker.mask_text_line(&mut TextState::default(), &once, &mut Vec::new()), &once);
        let mut state = LineState::default();
        for line in [&bytes[..], br#"{"sessionUpdate":"a_chunk","content":{"text":"see ghp_0123456789"}}"#, &bytes[..]] {
            masker.mask_next_line(&mut state, line, &mut Vec::new());
        }
        for state in 0..=12 {
            masker.mask_text_line(&mut TextState::from_byte(state), &bytes, &mut Vec::new());
        }
    }

    #[test]
    fn text_made_of_pieces_of_secrets_is_masked_once_and_stays_utf8(
        pieces in proptest::collection::vec((0_usize..200, 0_usize..80, 0_usize..80, 0_usize..10), 1..8),
    ) {
        const BETWEEN: [&str; 10] = ["", " ", "\n", "\"", "\\n", ":", "=", "é", "{\"a\":\"", "-----"];
        let masker = masker();
        let samples = all_samples();
        let mut text = String::new();
        for (index, from, to, between) in pieces {
            let sample = &samples[index % samples.len()].text;
            let (from, to) = (from.min(sample.len()), to.min(sample.len()));
            text.push_str(&sample[from.min(to)..from.max(to)]);
            text.push_str(BETWEEN[between]);
            text.push_str(if between % 2 == 0 { sample } else { "" });
        }
        let once = masker.mask_str(&text, &mut Vec::new()).into_owned();
        prop_assert_eq!(masker.mask_str(&once, &mut Vec::new()), once.as_str());
        let line = masker.mask_json_line(text.as_bytes(), &mut Vec::new());
        prop_assert_eq!(&masker.mask_json_line(&line, &mut Vec::new()), &line);
        prop_assert!(std::str::from_utf8(&line).is_ok());
    }

    #[test]
    fn a_stream_of_pieces_of_secrets_is_masked_once(
        pieces in proptest::collection::vec((0_usize..200, 0_usize..80, 0_usize..80, 0_usize..5), 1..8),
    ) {
        const BEHIND: [&str; 5] = ["", "", " ", "\n", "="];
        let masker = masker();
        let samples = all_samples();
        let lines = pieces.iter().map(|(index, from, to, behind)| {
            let sample = &samples[index % samples.len()].text;
            let (from, to) = (from.min(&sample.len()).to_owned(), to.min(&sample.len()).to_owned());
            let text = format!("{}{}", &sample[from.min(to)..from.max(to)], BEHIND[*behind]);
            serde_json::json!({ "update": { "sessionUpdate": "a_chunk", "content": { "text": text } } }).to_string()
        });
        let mask = |lines: Vec<String>| {
            let mut state = LineState::default();
            let mask = |line: &String| masker.mask_next_line(&mut state, line.as_bytes(), &mut Vec::new()).into_owned();
            lines.iter().map(mask).map(|line| String::from_utf8(line).unwrap()).collect::<Vec<_>>()
        };
        let once = mask(lines.collect());
        prop_assert!(once.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()));
        prop_assert_eq!(mask(once.clone()), once);
    }

    #[test]
    fn a_secret_planted_anywhere_in_json_is_gone(
        mut value in json_value(),
        which in 0_usize..200,
        steps in proptest::collection::vec(any::<usize>(), 0..6),
        escapes in proptest::collection::vec(prop::bool::weighted(0.2), 1..40),
    ) {
        let masker = masker();
        let samples = all_samples();
        let sample = &samples[which % samples.len()];
        plant(&mut value, &format!("see\n{} there", sample.text), &steps);
        let line = with_escapes(&value.to_string(), &escapes);
        prop_assert_eq!(&serde_json::from_str::<Value>(&line).unwrap(), &value);
        let masked = masker.mask_json_line(line.as_bytes(), &mut Vec::new());
        let after: Value = serde_json::from_slice(&masked).unwrap();
        for piece in sample.secret.lines() {
            prop_assert!(!has(&masked, piece), "{}", sample.rule);
            prop_assert!(!has(after.to_string().as_bytes(), piece), "{}", sample.rule);
        }
    }

    #[test]
    fn a_secret_between_any_characters_that_are_no_word_is_gone(before in "[^A-Za-z0-9_]{0,4}", after in "[^A-Za-z0-9_]{0,4}") {
        let masker = masker();
        let token = samples::token("github-token");
        let masked = masker.mask_str(&format!("{before}{token}{after}"), &mut Vec::new()).into_owned();
        prop_assert!(!masked.contains(&token));
        prop_assert!(masked.starts_with(&before) && masked.ends_with(&after));
    }
}
