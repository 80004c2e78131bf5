//! How a query runs: over frames and parts, on any number of threads, and with cancellation.

use memory::search::{EventFacts, HitTarget, PartFormat, Query, SearchSession};
use transcript::{Agent, Kind, Kinds};

use crate::kept::{MemorySessions, after, line};

const CLAUDE: PartFormat = PartFormat::Records(Agent::Claude);

fn words(text: &str) -> Query {
    Query::words(text).unwrap()
}

#[test]
fn the_words_of_a_turn_are_collected_over_frames_and_parts() {
    let mut kept = MemorySessions::default();
    let lines = [
        line::prompt("needle one"),
        line::answer("hay"),
        line::result("two"),
        line::prompt("two"),
    ];
    let log = kept.part(CLAUDE, &lines, 1, &[1, 4]);
    let mut spill = kept.part(PartFormat::Plain, &[b"three".to_vec(), b"x".to_vec()], 1, &[1]);
    spill.turns[0].turn = 1;
    kept.sessions.push(SearchSession {
        at_ms: 0,
        parts: vec![log, spill],
    });
    kept.facts.push(Vec::new());
    let answer = kept.ask(&words("needle two three"));
    assert_eq!(answer.hits.len(), 1);
    let hit = &answer.hits[0];
    assert_eq!((hit.turn, hit.part, hit.line, hit.texts), (Some(1), 0, 1, 3));
    assert_eq!(hit.snippet.text, "needle one");
    assert_eq!(hit.snippet.marks.first(), Some(&(0..6)));
    assert_eq!(
        (answer.work.asked, answer.work.read),
        (6, 3),
        "frames without any of the words stay closed"
    );
    assert_eq!(kept.ask(&words("needle four")).work.read, 0);
    assert_eq!(kept.ask(&words("needle -three")).hits, []);
}

/// Returns sessions whose turns all contain the word, and one with the word in a prompt.
fn many() -> MemorySessions {
    let mut kept = MemorySessions::default();
    for number in 0..200 {
        let said = match number {
            150 => [line::prompt("common words"), line::answer("yes")],
            _ => [line::prompt("go on"), line::result(&format!("common text {number}"))],
        };
        kept.add(CLAUDE, &said, 2, &[1]);
    }
    kept
}

#[test]
fn a_common_word_is_answered_from_the_newest_sessions_and_the_answer_says_so() {
    let kept = many();
    let answer = kept.ask_with(&words("common"), 20, 2, &|| false);
    assert_eq!((answer.hits.len(), answer.is_partial), (20, true));
    assert!(answer.hits.iter().all(|hit| hit.session < 20), "newest first");
    assert_eq!(answer.work.sessions, 20);
    let before = kept.reads();
    assert_eq!(kept.ask_with(&words("common"), 20, 1, &|| false), answer);
    assert_eq!(
        kept.reads() - before,
        20,
        "one thread reads what it needs and nothing besides"
    );
    let whole = kept.ask(&words("common"));
    assert_eq!((whole.hits.len(), whole.is_partial), (200, false));
    assert_eq!(
        whole.hits[0].session, 150,
        "a prompt is worth more than what a tool printed"
    );
    let exactly = kept.ask_with(&words("common"), 200, 2, &|| false);
    assert!(!exactly.is_partial, "nothing was left out");
}

#[test]
fn a_word_that_is_expensive_to_find_is_ranked_among_fewer_turns() {
    let kept = many();
    let enough = |frames| HitTarget {
        turns: 80,
        few: 20,
        frames,
    };
    for (frames, found) in [(30, 30), (5, 20), (500, 80)] {
        for threads in [1, 3] {
            let answer = kept.ask_until(&words("common"), enough(frames), threads, &|| false);
            assert_eq!((answer.hits.len(), answer.is_partial), (found, true), "{frames} frames");
            assert_eq!(answer.work.read, found);
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let kept = many();
    for question in ["common", "text 7", "common -words", "in:prompt"] {
        let one = kept.ask_with(&words(question), 33, 1, &|| false);
        for threads in [2, 5, 16] {
            assert_eq!(
                kept.ask_with(&words(question), 33, threads, &|| false),
                one,
                "{question}"
            );
        }
    }
}

#[test]
fn a_cancelled_query_returns_at_once() {
    let kept = many();
    assert!(kept.ask_with(&words("common"), 500, 2, &|| true).is_cancelled);
    let answer = kept.ask_with(&words("common"), 500, 1, &after(40));
    assert!(answer.is_cancelled && answer.hits.len() < 200);
    assert!(!kept.ask(&words("common")).is_cancelled);
}

#[test]
fn a_frame_that_cannot_be_read_is_named_and_the_others_are_searched() {
    let mut kept = many();
    kept.frames[3].0 = b"damaged".to_vec();
    let answer = kept.ask(&words("common"));
    assert_eq!(answer.hits.len(), 199);
    assert_eq!(answer.unreadable, [(3, "its checksum does not match".to_owned())]);
}

#[test]
fn filters_for_tools_and_kinds_use_the_events_of_the_session() {
    let mut kept = MemorySessions::default();
    let lines = [
        line::prompt("do it"),
        line::call("make"),
        line::result("boom"),
        line::call("boom"),
    ];
    kept.add(CLAUDE, &lines, 2, &[1]);
    let fact = |line, kinds| EventFacts {
        line,
        block: 0,
        tool: Some("Bash".into()),
        kinds,
    };
    let failed = Kinds::of(Kind::ToolResult).and(Kind::Error);
    kept.facts[0] = vec![
        fact(2, Kinds::of(Kind::ToolCall)),
        fact(3, failed),
        fact(4, Kinds::of(Kind::ToolCall)),
    ];
    let found = |question: &str| kept.ask(&words(question)).hits.first().map(|hit| (hit.line, hit.texts));
    assert_eq!(found("boom tool:bash"), Some((4, 2)));
    assert_eq!(found("boom kind:error"), Some((3, 1)));
    assert_eq!(found("kind:error"), Some((3, 1)));
    assert_eq!(found("boom tool:Read"), None);
    assert_eq!(kept.ask(&words("kind:error")).hits[0].tool.as_deref(), Some("Bash"));
}

#[test]
fn letters_that_are_escaped_in_a_line_are_found() {
    let mut kept = MemorySessions::default();
    let spelt = br#"{"type":"user","message":{"content":"n\u0065edle \u001b[0m"}}"#;
    kept.add(CLAUDE, &[spelt.to_vec(), line::prompt("needle \u{1b}[0m")], 9, &[1, 2]);
    assert_eq!(kept.turns(&words("needle")).len(), 2);
    let grok = br#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","rawInput":{"a":1},"status":"completed","rawOutput":{"output":[110,101,101,100,108,101]}}}}"#;
    kept.add(PartFormat::Records(Agent::Grok), &[grok.to_vec()], 9, &[1]);
    assert_eq!(kept.turns(&words("needle")).len(), 3);
}

#[test]
fn the_input_and_output_of_tools_are_always_searched() {
    let mut kept = MemorySessions::default();
    let lines = [
        line::prompt("x"),
        line::call("echo 'A\n\"Quoted\" tale'"),
        line::result("Stored\nHere"),
        line::thought("Hmm yes"),
    ];
    kept.add(CLAUDE, &lines, 9, &[1]);
    for question in [
        "tale",
        "\"quoted\\\" x",
        "stored here",
        "hmm in:thinking",
        "STORED in:output",
        "quoted in:input",
    ] {
        let question = question.replace("\\\" x", "\"");
        assert_eq!(kept.ask(&words(&question)).hits.len(), 1, "{question}");
    }
    for question in ["nstored", "searched", "command", "stored in:prompt"] {
        assert_eq!(kept.ask(&words(question)).hits.len(), 0, "{question}");
    }
    let exact = Query::exact("'a\n\"QUOTED\" t").unwrap();
    assert_eq!(kept.ask(&exact).hits.len(), 1);
}

#[test]
fn an_expression_without_letters_is_found_however_the_text_is_escaped() {
    let mut kept = MemorySessions::default();
    let spelled = r#"{"type":"user","message":{"role":"user","content":"call \u0035\u0035\u0035-1234"}}"#;
    let lines = [
        line::prompt("call 555-1234"),
        line::answer("first\n555-1234\nlast"),
        line::result("naïve 555-1234"),
        line::call("say \"555-1234\" \\"),
        spelled.as_bytes().to_vec(),
        line::answer("call 55-1234"),
    ];
    kept.add(CLAUDE, &lines, 2, &[1, 2, 3, 4, 5, 6]);
    for expression in [r"\d{3}-\d{4}", r"\b[0-9]{3}-\d{4}\b", r"\w{3}-\d{4}"] {
        let turns = kept.turns(&Query::regex(expression).unwrap());
        let expected = (1..=5).map(|turn| (0, Some(turn))).collect();
        assert_eq!(turns, expected, "{expression}");
    }
    let whole = kept.turns(&Query::regex(r"^\d{3}-\d{4}$").unwrap());
    assert_eq!(whole, [(0, Some(2))].into());
}
