//! The guarantees of masking, for every rule: the secret is found in every place of a log, and nothing else changes.

mod gaps;
mod negatives;
mod places;
mod properties;
mod samples;

use super::*;
use samples::{Sample, all_samples};

fn masker() -> Masker {
    Masker::for_test()
}

#[test]
fn every_rule_of_the_table_has_a_sample_and_a_pattern_that_compiles() {
    let masker = masker();
    let samples = all_samples();
    for (index, rule) in rules::RULES.iter().enumerate() {
        assert!(masker.pattern(index).captures_len() <= 2, "{}", rule.name);
        assert!(tag::is_rule_name(rule.name), "{}", rule.name);
        assert!(
            samples.iter().any(|sample| sample.rule == rule.name),
            "{} has no sample",
            rule.name
        );
        assert!(
            rule.gates.iter().all(|gate| gate.len() >= gate::LITERAL_BYTES_MIN),
            "{}",
            rule.name
        );
    }
}

#[test]
fn the_list_of_rules_is_the_list_of_samples() {
    let listed: std::collections::BTreeSet<_> = rules().map(|(rule, _)| rule).collect();
    let sampled: std::collections::BTreeSet<_> = all_samples().iter().map(|sample| sample.rule).collect();
    assert_eq!(listed, sampled);
    assert_eq!(rules().count(), listed.len(), "a name is given twice");
}

#[test]
fn every_sample_is_found_by_its_rule() {
    let masker = masker();
    for Sample { rule, text, secret } in all_samples() {
        let mut hits = Vec::new();
        let masked = masker.mask_str(&text, &mut hits);
        let rules: Vec<_> = hits.iter().map(|hit| hit.rule.as_ref()).collect();
        assert_eq!(rules, [rule], "{text}");
        assert!(super::rules().any(|known| known == (rule, hits[0].tier)), "{rule}");
        assert_eq!(&text[hits[0].range.clone()], secret, "{rule}");
        let tag = format!("[REDACTED:{rule}:{}]", hits[0].fingerprint);
        assert_eq!(masked, text.replace(&secret, &tag), "{rule}");
    }
}

#[test]
fn the_same_secret_has_the_same_tag_and_another_key_another_one() {
    let sample = &all_samples()[0];
    let tag_of = |masker: &Masker, text: &str| {
        let mut hits = Vec::new();
        masker.mask_str(text, &mut hits);
        hits[0].fingerprint
    };
    let other = Masker::new(&MaskKey::new([8; 32]), &UserRules::default()).unwrap();
    assert_eq!(
        tag_of(&masker(), &sample.text),
        tag_of(&masker(), &format!("a\n{}", sample.text))
    );
    assert_ne!(tag_of(&masker(), &sample.text), tag_of(&other, &sample.text));
}

#[test]
fn a_name_and_a_form_together_are_one_secret_of_the_surer_rule() {
    let token = samples::token("github-token");
    let text = format!("GITHUB_TOKEN={token} and Authorization: Bearer {token}");
    let mut hits = Vec::new();
    let masked = masker().mask_str(&text, &mut hits).into_owned();
    assert_eq!(
        hits.iter().map(|hit| (hit.rule.as_ref(), hit.tier)).collect::<Vec<_>>(),
        [("github-token", Tier::A); 2]
    );
    assert!(masked.starts_with("GITHUB_TOKEN=[REDACTED:github-token:"), "{masked}");
}

#[test]
fn what_the_user_allows_stays_and_what_the_user_names_goes() {
    let token = samples::token("github-token");
    let rule = |name: &str, pattern: &str, keywords: &[&str]| UserRule {
        name: name.to_string(),
        pattern: pattern.to_string(),
        keywords: keywords.iter().map(|keyword| keyword.to_string()).collect(),
        tier: Tier::A,
    };
    let rules = UserRules {
        rules: vec![
            rule("ticket", r"ACME-\d{4}", &["ACME-"]),
            rule("street", r"lives at (\w+ street)", &[]),
        ],
        allowed_texts: vec![token.clone()],
        allowed_patterns: vec!["^ACME-0".to_string()],
    };
    let masker = Masker::new(&MaskKey::new([7; 32]), &rules).unwrap();
    let line = format!(r#"{{"a":"{token} ACME-1234 ACME-0123","b":"lives at F\u00f6hr street, \u0046"}}"#);
    let mut hits = Vec::new();
    let masked = masker.mask_json_line(line.as_bytes(), &mut hits);
    let found: Vec<_> = hits
        .iter()
        .map(|hit| (hit.rule.as_ref(), &line[hit.range.clone()]))
        .collect();
    assert_eq!(found, [("ticket", "ACME-1234"), ("street", r"F\u00f6hr street")]);
    assert!(serde_json::from_slice::<serde_json::Value>(&masked).is_ok());
    for (name, pattern) in [("Bad Name", "a"), ("bad", "("), ("empty", "a*")] {
        let rules = UserRules {
            rules: vec![rule(name, pattern, &[])],
            ..UserRules::default()
        };
        assert!(Masker::new(&MaskKey::new([7; 32]), &rules).is_err(), "{name}");
    }
}

#[test]
fn a_key_over_many_lines_is_masked_line_by_line_and_its_neighbours_stay() {
    let block = samples::private_key("\n");
    for prefix in ["", "   12\t", "+", "> "] {
        let lines: Vec<String> = format!("before\n{block}\nafter")
            .lines()
            .map(|line| format!("{prefix}{line}"))
            .collect();
        let mut state = TextState::default();
        let mut hits = Vec::new();
        let mut masked = Vec::new();
        for line in &lines {
            // Between two lines the state may be stored on disk.
            state = TextState::from_byte(state.to_byte());
            masked.push(
                String::from_utf8(
                    masker()
                        .mask_text_line(&mut state, line.as_bytes(), &mut hits)
                        .into_owned(),
                )
                .unwrap(),
            );
        }
        assert_eq!(hits.len(), block.lines().count(), "{masked:#?}");
        assert_eq!((masked.first(), masked.last()), (lines.first(), lines.last()));
        let mut state = TextState::default();
        for line in &masked {
            let again = masker().mask_text_line(&mut state, line.as_bytes(), &mut hits);
            assert_eq!(String::from_utf8_lossy(&again), line.as_str());
        }
    }
}

#[test]
fn images_signatures_and_ciphertext_are_skipped_and_a_secret_under_their_keys_is_not() {
    let token = samples::token("crates-token");
    let noise = samples::noise(samples::ALNUM, 200, 3);
    for (line, is_found) in [
        (
            format!(r#"{{"type":"base64","media_type":"image/png","data":"{noise}+{token}+{noise}"}}"#),
            false,
        ),
        (format!(r#"{{"data":"iVBORw0KGgo{noise}+{token}+{noise}"}}"#), false),
        (
            format!(r#"{{"url":"data:image/png;base64,{noise}/{token}+{noise}"}}"#),
            false,
        ),
        (format!(r#"{{"signature":"{noise}/{token}/{noise}"}}"#), false),
        (format!(r#"{{"encrypted_content":"{noise}/{token}/{noise}"}}"#), false),
        (format!(r#"{{"signature":"{token}"}}"#), true),
        (format!(r#"{{"encrypted_content":"see {token} {noise}"}}"#), true),
        (format!(r#"{{"data":"{token} {noise}"}}"#), true),
        (format!(r#"{{"url":"data:image/png;base64,{noise} {token}"}}"#), true),
        (format!(r#"{{"other":"{noise}/{token}/{noise}"}}"#), true),
    ] {
        let mut hits = Vec::new();
        masker().mask_json_line(line.as_bytes(), &mut hits);
        assert_eq!(!hits.is_empty(), is_found, "{line}");
    }
}

#[test]
fn pairs_of_name_and_value_are_found_however_json_spells_them() {
    let value = samples::noise(samples::ALNUM, 24, 5);
    let short = format!("{}-9", samples::noise(samples::LOWER, 7, 5));
    for line in [
        format!(r#"{{"password":"{value}"}}"#),
        format!(r#"{{"a":{{"b":[{{"clientSecret" : "{value}"}}]}}}}"#),
        format!(r#"{{"pass\u0077ord":"{value}"}}"#),
        format!(r#"{{"name":"API_KEY","value":"{value}"}}"#),
        format!(
            r#"{{"twilio":{{"twilio_sid":"{}{}"}}}}"#,
            "SK",
            samples::noise(samples::HEX, 32, 4)
        ),
        format!(r#"{{"headers":{{"Authorization":"Bearer {value}"}}}}"#),
        format!(r#"{{"headers":{{"cookie":"a=b; sid={value}"}}}}"#),
        format!(r#"{{"headers":[["X-Api-Key: {value}"]]}}"#),
        format!(r#"{{"command":["tool","--password","{short}"]}}"#),
        format!(r#"{{"arguments":"{{\"env\":{{\"API_KEY\":\"{value}\"}}}}"}}"#),
        format!(r#"{{"text":"see `\"api_key\": \"{value}\"` there"}}"#),
    ] {
        let mut hits = Vec::new();
        let masked = masker().mask_json_line(line.as_bytes(), &mut hits).into_owned();
        let masked = String::from_utf8(masked).unwrap();
        assert!(
            hits.len() == 1 && !masked.contains(&value) && !masked.contains(&short),
            "{masked}"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
    }
}

#[test]
fn a_long_line_of_traps_costs_no_more_than_its_length() {
    let masker = masker();
    for trap in [
        "token=",
        "sk-proj-",
        "eyJ-eyJ.",
        "-----BEGIN ",
        "Authorization:",
        "://a:b@",
        "[1,2,",
        "{\"a\":",
        "\\u0067",
        "Cookie: a=",
        "AKIA",
        "\"\\",
    ] {
        let line = trap.repeat(200_000 / trap.len());
        masker.mask_json_line(line.as_bytes(), &mut Vec::new());
        masker.mask_text_line(&mut TextState::default(), line.as_bytes(), &mut Vec::new());
    }
}

#[test]
fn a_text_that_begins_with_a_quoted_name_keeps_it_for_its_value() {
    let masker = masker();
    let value = ["k3Jf9xQ2", "mZbWp4Lr8TvN"].concat();
    for text in [
        format!("\"api_key\": \"{value}\""),
        format!("  \"client_secret\": \"{value}\",\n  \"a\": 1"),
        format!("look: \"api_key\": \"{value}\""),
    ] {
        let line = serde_json::json!({ "content": text }).to_string();
        let masked = masker.mask_json_line(line.as_bytes(), &mut Vec::new());
        assert!(!String::from_utf8_lossy(&masked).contains(&value), "{text}");
        let masked = masker.mask_text_line(&mut TextState::default(), text.as_bytes(), &mut Vec::new());
        assert!(!String::from_utf8_lossy(&masked).contains(&value), "{text}");
    }
}
