//! Notations of secrets, most of which masking once missed: names, files, flags, escapes, and line ends.

use super::samples::{self, ALNUM, HEX, noise};
use super::*;
use serde_json::json;
use transcript::Agent;

/// Returns a UUID that looks random.
fn uuid() -> String {
    let hex = noise(HEX, 32, 77);
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    parts.join("-")
}

/// Checks that a secret is masked in every form in which a log can contain the text.
fn check(text: &str, secret: &str) {
    let masker = masker();
    assert!(text.contains(secret), "{text}");
    let lines = [
        json!({ "content": text }).to_string(),
        json!({ "content": format!("first\n{text}\nlast") }).to_string(),
        json!({ "arguments": json!({ "command": text }).to_string() }).to_string(),
        json!({ "output": format!("said: {}", json!({ "text": text })) }).to_string(),
        json!({ "output": text.as_bytes() }).to_string(),
    ];
    for line in lines {
        let masked = masker.mask_json_line(line.as_bytes(), &mut Vec::new()).into_owned();
        let said = serde_json::from_slice::<serde_json::Value>(&masked)
            .unwrap()
            .to_string();
        let secret_bytes = json!(secret.as_bytes()).to_string();
        assert!(!said.contains(secret), "{said}");
        assert!(!said.contains(secret_bytes.trim_matches(['[', ']'])), "{said}");
        assert!(said.contains("[REDACTED:") || said.contains("91,82,69,68"), "{said}");
        let again = masker.mask_json_line(&masked, &mut Vec::new());
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&masked));
    }
    let masked = masker.mask_str(text, &mut Vec::new()).into_owned();
    assert!(!masked.contains(secret), "{masked}");
}

#[test]
fn names_are_known_in_any_case_and_with_any_sign_between_their_words() {
    let password = format!("{}!9", noise(ALNUM, 9, 3));
    let key = noise(ALNUM, 24, 4);
    for text in [
        format!(r#""pass": "{password}""#),
        format!("DBPASS={password}"),
        format!("pass: {password}"),
        format!("PassWord={password}"),
        format!("smtp.pass = '{password}'"),
        format!("dbPass: \"{password}\""),
        format!("pAsSwD={password}"),
        format!("tool --password={password} x"),
        format!("mysql --password='{password}' x"),
    ] {
        check(&text, &password);
    }
    for text in [
        format!("ACCESSKEY={key}"),
        format!("Api_Key: {key}"),
        format!("API.KEY={key}"),
        format!("Access-Key: {key}"),
        format!("PRIVATEKEY={key}"),
        format!("Client_Secret: {key}"),
        format!("sEcReT={key}"),
        format!("auth: \"{key}\""),
        format!("AuthKey={key}"),
    ] {
        check(&text, &key);
    }
}

#[test]
fn a_name_makes_a_hexadecimal_value_or_an_id_a_secret() {
    let hex = noise(HEX, 40, 5);
    check(&format!("GITHUB_TOKEN={hex}"), &hex);
    check(&format!(r#""GITHUB_TOKEN": "{hex}""#), &hex);
    check(&format!("githubToken: '{hex}'"), &hex);
    check(&format!("export CODECOV_TOKEN=\"{hex}\""), &hex);
    let id = uuid();
    check(&format!("HEROKU_API_KEY={id}"), &id);
    check(&format!(r#""api_key": "{id}""#), &id);
    let line = json!({ "name": "HEROKU_API_KEY", "value": id }).to_string();
    let masked = masker().mask_json_line(line.as_bytes(), &mut Vec::new()).into_owned();
    assert!(!String::from_utf8_lossy(&masked).contains(&id));
}

#[test]
fn files_and_flags_of_commands_are_known() {
    let password = format!("{}#7", noise(ALNUM, 8, 6));
    for text in [
        format!("machine api.host login ada password {password}"),
        format!("machine api.host\n  login ada\n  password {password}\n"),
        format!("default login ada password {password}"),
        format!("db.internal:5432:app:ada:{password}"),
        format!("*:*:*:ada:{password}"),
        format!("sshpass -p '{password}' ssh ada@h"),
        format!("mysql -u root -p{password} app"),
        format!("mysqldump -uroot -p'{password}' app > dump.sql"),
        format!("curl -u ada:{password} https://h"),
        format!("curl -s \\\n  -u ada:{password} \\\n  https://h"),
        format!("redis-cli -a {password} ping"),
    ] {
        check(&text, &password);
    }
    let base64 = noise(ALNUM, 5000, 8);
    check(&format!("    client-key-data: {base64}\n"), &base64);
    let auth = samples::token("basic-auth");
    check(&format!(r#"{{"auths":{{"h":{{"auth":"{auth}"}}}}}}"#), &auth);
    check(&format!("//h/:_auth={auth}"), &auth);
}

#[test]
fn a_netrc_is_known_line_by_line() {
    let (masker, mut state) = (masker(), TextState::default());
    let password = noise(ALNUM, 10, 6);
    let mut masked = String::new();
    for line in ["machine h", "  login ada", &format!("  password {password}"), "done"] {
        state = TextState::from_byte(state.to_byte());
        masked += &String::from_utf8_lossy(&masker.mask_text_line(&mut state, line.as_bytes(), &mut Vec::new()));
    }
    assert!(
        masked.contains("password [REDACTED:netrc-password:") && masked.ends_with("done"),
        "{masked}"
    );
}

#[test]
fn passwords_of_escaped_links_are_known() {
    let password = noise(ALNUM, 10, 9);
    check(&format!("postgres://ada:%40{password}%21@h/x"), &password);
    check(&format!("postgres://ada%3A{password}@h/x"), &password);
    check(&format!("?to=postgres%3A%2F%2Fada%3A{password}%40h%2Fx"), &password);
    check(&format!("postgres://ada:pa$${password}@h/x"), &password);
}

#[test]
fn a_token_that_a_terminal_wrapped_is_known_and_the_line_break_stays() {
    let masker = masker();
    for rule in [
        "github-token",
        "anthropic-key",
        "openai-key",
        "gitlab-token",
        "aws-access-key",
    ] {
        let token = samples::token(rule);
        for cut in 8..token.len() - 1 {
            let (head, rest) = token.split_at(cut);
            let text = format!("{}TOKEN is {head}\n{rest} and more", "x ".repeat(20));
            for line in [
                json!({ "output": text }).to_string(),
                json!({ "output": json!(text).to_string() + " said" }).to_string(),
                json!({ "output": text.replace('\n', "\r\n") }).to_string(),
            ] {
                let masked = masker.mask_json_line(line.as_bytes(), &mut Vec::new()).into_owned();
                let masked = String::from_utf8(masked).unwrap();
                // If the first piece is a complete token by itself, a short rest looks like any word.
                let is_whole = rest.len() < 6 || !rest.bytes().any(|byte| byte.is_ascii_digit());
                assert!(!masked.contains(head), "{rule} at {cut}: {masked}");
                assert!(is_whole || !masked.contains(rest), "{rule} at {cut}: {masked}");
                assert!(
                    masked.contains("]\\n[") || masked.contains("]\\r\\n[") || masked.contains("]\\\\n[") || is_whole,
                    "{masked}"
                );
                assert_eq!(
                    masker.mask_json_line(masked.as_bytes(), &mut Vec::new()),
                    masked.as_bytes()
                );
            }
        }
    }
}

#[test]
fn escapes_are_looked_behind_however_deep_they_stand() {
    let token = samples::token("github-token");
    let escaped: String = token.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let half = format!("\\u0067{}", &token[1..]);
    let value = noise(ALNUM, 24, 5);
    for inner in [
        format!(r#"{{"a":"{escaped}"}}"#),
        format!(r#"{{"a":"{half}"}}"#),
        format!(r#"said {{"a":"{half}"}} and more"#),
        format!(r#"said {{"a":"{escaped}"}} and more"#),
        format!(r#"said {{"pass\u0077ord":"{value}"}} and more"#),
        format!(r#"{}{{"a":"{half}"}}"#, r#"{"no "#.repeat(40)),
        format!(r#"{}{{"pass\u0077ord":"{value}"}}"#, r#"{"no "#.repeat(40)),
        format!(
            r#"{}{{"b":"{{\"a\":\"{}\"}}"}}"#,
            r#"{"no "#.repeat(40),
            half.replace('\\', "\\\\")
        ),
    ] {
        let line = json!({ "content": inner }).to_string();
        let mut hits = Vec::new();
        let masked = masker().mask_json_line(line.as_bytes(), &mut hits).into_owned();
        let masked = String::from_utf8(masked).unwrap();
        assert_eq!(hits.len(), 1, "{masked}");
        assert!(
            !masked.contains(&token[8..]) && !masked.contains(&value) && !masked.contains(&escaped[60..]),
            "{masked}"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
    }
}

/// Returns a record of Grok with the next part of a text.
fn chunk(kind: &str, text: &str) -> String {
    let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
    json!({ "method": "session/update", "params": { "sessionId": "s", "update": update } }).to_string()
}

#[test]
fn a_token_broken_over_streamed_records_is_known() {
    let masker = masker();
    for rule in ["github-token", "anthropic-key", "stripe-key", "gitlab-token"] {
        let token = samples::token(rule);
        for cut in 1..token.len() {
            for third in [cut, (cut + 3).min(token.len())] {
                let lines = [
                    chunk("agent_message_chunk", &format!("it is {}", &token[..cut])),
                    chunk("agent_thought_chunk", "meanwhile"),
                    json!({ "params": { "update": { "sessionUpdate": "plan" } } }).to_string(),
                    chunk("agent_message_chunk", &token[cut..third]),
                    chunk("agent_message_chunk", &format!("{} and more", &token[third..])),
                ];
                let lines = lines
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != 3 || third > cut)
                    .map(|(_, line)| line);
                let mut state = LineState::default();
                let mut masked = String::new();
                for line in lines {
                    masked +=
                        &String::from_utf8_lossy(&masker.mask_next_line(&mut state, line.as_bytes(), &mut Vec::new()));
                }
                // At most the prefix and a few characters after it may remain.
                let longest = (0..token.len()).flat_map(|from| (from..=token.len()).map(move |to| from..to));
                let longest = longest
                    .filter(|range| masked.contains(&token[range.clone()]))
                    .map(|range| range.len())
                    .max();
                assert!(longest.unwrap_or_default() < 24, "{rule} at {cut}, {third}: {masked}");
                assert!(
                    masked.contains("[REDACTED:") && masked.contains(" and more"),
                    "{rule} at {cut}: {masked}"
                );
            }
        }
    }
}

#[test]
fn a_token_broken_over_two_deltas_is_known_if_the_log_may_have_them() {
    let masker = masker();
    let token = samples::token("github-token");
    let (head, rest) = token.split_at(20);
    let delta =
        |kind: &str, text: &str| json!({ "type": "event_msg", "payload": { "type": kind, "delta": text } }).to_string();
    let lines = [
        delta("agent_message_delta", &format!("it is {head}")),
        delta("agent_reasoning_delta", "meanwhile"),
        delta("agent_message_delta", rest),
    ];
    for agent in [None, Some(Agent::Codex)] {
        let mut state = LineState::of_agent(agent);
        for line in &lines {
            let masked = masker
                .mask_next_line(&mut state, line.as_bytes(), &mut Vec::new())
                .into_owned();
            assert!(!places::has(&masked, head) && !places::has(&masked, rest), "{agent:?}");
        }
    }
}

#[test]
fn the_beginning_of_a_token_is_masked_where_a_log_breaks_off() {
    let masker = masker();
    let token = samples::token("github-token");
    let line = format!(r#"{{"type":"user","message":{{"content":"it is {}"#, &token[..20]);
    let mut state = LineState::default();
    let masked = masker
        .mask_torn_line(&mut state, line.as_bytes(), &mut Vec::new())
        .into_owned();
    assert!(!places::has(&masked, &token[..20]) && masked.starts_with(b"{\"type\":\"user\""));
    let plain = br#"{"type":"user","message":{"content":"it is a wo"#;
    assert_eq!(masker.mask_torn_line(&mut state, plain, &mut Vec::new()), &plain[..]);
}

#[test]
fn a_name_and_its_value_in_two_streamed_records_are_known() {
    let masker = masker();
    let value = noise(ALNUM, 24, 4);
    let mut state = LineState::default();
    let name = chunk("agent_message_chunk", "set API_KEY=");
    let line = chunk("agent_message_chunk", &format!("{value} there"));
    masker.mask_next_line(&mut state, name.as_bytes(), &mut Vec::new());
    let masked = masker.mask_next_line(&mut state, line.as_bytes(), &mut Vec::new());
    assert!(!String::from_utf8_lossy(&masked).contains(&value));
}

#[test]
fn streamed_words_that_are_no_token_stay() {
    let masker = masker();
    let mut state = LineState::default();
    for text in [
        "see sk-",
        "learn and hf_",
        "hub, the ghp_",
        "xxxxxxxxxxxx",
        "task-1234567",
        "890abcdef1234567",
    ] {
        let line = chunk("agent_message_chunk", text);
        assert_eq!(
            masker.mask_next_line(&mut state, line.as_bytes(), &mut Vec::new()),
            line.as_bytes()
        );
    }
    // Two prompts are not a stream.
    let prompt = chunk("user_message_chunk", &samples::token("github-token"));
    masker.mask_next_line(&mut state, prompt.as_bytes(), &mut Vec::new());
    let line = chunk("user_message_chunk", "nowhere");
    assert_eq!(
        masker.mask_next_line(&mut state, line.as_bytes(), &mut Vec::new()),
        line.as_bytes()
    );
}
