//! The text of an evicted session, read from its log.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use memory::retention::ForgetScope;
use memory::session_text::{EvictionReason, SessionText, SessionTexts, SourceProblem, TextLocation, TextOrigin};
use memory::store::Store;
use serde_json::json;
use testkit::corpus;
use testkit::logs::ClaudeLog;
use transcript::{PartKind, SessionEvent, Turn};

use super::home::Home;
use super::retention::{Memory, native, path, uid};

/// Everything that is read of a session.
#[derive(Debug, PartialEq)]
struct SessionContent {
    events: Vec<SessionEvent>,
    texts: BTreeMap<u64, String>,
    parts: BTreeMap<String, Vec<u8>>,
}

fn read_whole(text: &SessionText<'_>) -> SessionContent {
    let events = text.events().unwrap();
    let texts: HashMap<u64, String> = text.texts(&events).unwrap();
    let mut parts = BTreeMap::new();
    for (kind, name) in text.parts().unwrap() {
        // The list of thread names belongs to all sessions.
        if kind != PartKind::Index {
            let mut bytes = Vec::new();
            text.cat(&name, &mut bytes).unwrap().unwrap();
            parts.insert(name, bytes);
        }
    }
    SessionContent {
        texts: texts.into_iter().collect(),
        events,
        parts,
    }
}

fn uids(store: &Store) -> Vec<String> {
    let sessions = store.reads().sessions().unwrap();
    sessions.into_iter().map(|session| session.session_uid).collect()
}

/// Evicts all sessions.
fn evict(memory: &mut Memory) {
    memory.wait_days(400);
    memory.policy.raw_soft_cap_bytes = 0;
    memory.sweep();
    memory.policy.raw_soft_cap_bytes = u64::MAX;
}

fn locate(home: &Home, session_uid: &str) -> TextLocation {
    let store = home.store();
    home.texts(&store).locate(session_uid).unwrap()
}

#[test]
fn an_evicted_session_of_any_agent_has_the_same_text_from_its_log() {
    let mut memory = Memory::new();
    corpus::write(&memory.home.path(""), &corpus::CorpusShape::with_bytes(5, 1_000_000)).unwrap();
    memory.wait_days(400);
    memory.sweep();
    let store = memory.home.store();
    let before: BTreeMap<String, (SessionContent, Vec<Turn>)> = uids(&store)
        .into_iter()
        .map(|uid| {
            let whole = read_whole(&SessionText::of_memory(&store, &uid));
            let turns = store.reads().turns(&uid).unwrap();
            (uid, (whole, turns))
        })
        .collect();
    drop(store);
    evict(&mut memory);
    let store = memory.home.store();
    let texts = memory.home.texts(&store);
    let mut agents = BTreeSet::new();
    for (uid, (whole, turns)) in &before {
        assert!(!store.reads().has_raw_text(uid).unwrap(), "{uid}");
        let location = texts.locate(uid).unwrap();
        assert_eq!(location.origin(), TextOrigin::Source, "{uid}: {location:?}");
        let text = texts.open(uid, location).unwrap();
        let read = read_whole(&text);
        assert_eq!(read.parts, whole.parts, "{uid}");
        let comparable = |events: &[SessionEvent]| -> Vec<String> {
            let shown = |event: &SessionEvent| {
                let place = (event.seq, event.turn, event.part, event.line, event.block);
                format!(
                    "{place:?} {:?} {:?} {:?} {}",
                    event.ts, event.kinds, event.tool, event.summary
                )
            };
            events.iter().map(shown).collect()
        };
        assert_eq!(comparable(&read.events), comparable(&whole.events), "{uid}");
        // The text of Grok's companion files is only in the memory; their events have summaries.
        for (seq, text) in &read.texts {
            assert_eq!(Some(text), whole.texts.get(seq), "{uid} {seq}");
        }
        let reading = text.source().unwrap().reading().unwrap();
        assert_eq!(&reading.reading.turns, turns, "{uid}");
        agents.insert(uid.split(':').next().unwrap().to_owned());
    }
    assert_eq!(agents.len(), 3, "{agents:?}");
}

#[test]
fn a_log_that_is_gone_ignored_or_forgotten_is_not_read() {
    let mut memory = Memory::new();
    for number in [1, 2, 3, 5] {
        memory.write(number, 48, 10);
    }
    memory.sweep();
    evict(&mut memory);
    memory.forget(&[2], ForgetScope::Raw);
    let home = &memory.home;
    assert_eq!(locate(home, &uid(1)).origin(), TextOrigin::Source);
    fs::remove_file(home.path(&path(1))).unwrap();
    let problem = |number| match locate(home, &uid(number)) {
        TextLocation::Evicted(eviction, problem) => (eviction.reason, problem),
        other => panic!("{number}: {other:?}"),
    };
    let (soft, own) = (EvictionReason::SoftCap, |number| home.path(&path(number)));
    assert_eq!(problem(1), (soft, SourceProblem::LogGone(own(1))));
    assert_eq!(problem(2), (EvictionReason::Forgotten, SourceProblem::Forgotten));
    assert!(own(2).is_file());
    let store = home.store();
    let ignoring = SessionTexts {
        is_ignored: &|log: &Path| log.ends_with(path(3)),
        ..home.texts(&store)
    };
    let ignored = ignoring.locate(&uid(3)).unwrap();
    assert!(
        matches!(&ignored, TextLocation::Evicted(_, SourceProblem::Ignored(log)) if *log == own(3)),
        "{ignored:?}"
    );
    assert_eq!(ignoring.locate(&uid(5)).unwrap().origin(), TextOrigin::Source);
}

#[test]
fn a_file_that_is_now_the_log_of_another_session_is_not_read() {
    let mut memory = Memory::new();
    corpus::write(&memory.home.path(""), &corpus::CorpusShape::with_bytes(5, 1_000_000)).unwrap();
    memory.wait_days(400);
    memory.sweep();
    evict(&mut memory);
    let store = memory.home.store();
    // The file name of a Claude log is its session, while the records of a Codex log name theirs.
    let codex: Vec<String> = uids(&store)
        .into_iter()
        .filter(|uid| uid.starts_with("codex:"))
        .collect();
    let log = |uid: &String| std::path::PathBuf::from(store.reads().log_path(uid).unwrap());
    let plain: Vec<&String> = codex
        .iter()
        .filter(|uid| log(uid).extension().is_some_and(|end| end == "jsonl"))
        .collect();
    let (replaced, other) = (plain[0], plain[1]);
    fs::copy(log(other), log(replaced)).unwrap();
    let location = locate(&memory.home, replaced);
    assert!(
        matches!(&location, TextLocation::Evicted(_, SourceProblem::OtherSession(path)) if *path == log(replaced)),
        "{location:?}"
    );
    assert_eq!(locate(&memory.home, other).origin(), TextOrigin::Source);
}

#[test]
fn a_claude_log_with_other_content_is_not_read() {
    let mut memory = Memory::new();
    for number in 1..=5 {
        memory.write(number, 48, 10);
    }
    memory.sweep();
    evict(&mut memory);
    memory.forget(&[2], ForgetScope::WithDigest);
    let home = &memory.home;
    let own = |number| home.path(&path(number));
    // The file name is still that of the session.
    fs::copy(own(2), own(1)).unwrap();
    let text = fs::read(own(3)).unwrap();
    fs::write(own(3), &text[..text.len() / 2]).unwrap();
    fs::write(own(4), "").unwrap();
    for number in [1, 3, 4] {
        let location = locate(home, &uid(number));
        assert!(
            matches!(&location, TextLocation::Evicted(_, SourceProblem::OtherSession(log)) if *log == own(number)),
            "{number}: {location:?}"
        );
    }
    assert_eq!(locate(home, &uid(5)).origin(), TextOrigin::Source);
}

#[cfg(unix)]
#[test]
fn a_link_that_replaced_a_log_or_its_directory_is_not_followed() {
    let mut memory = Memory::new();
    memory.write(1, 48, 10);
    memory.write(2, 48, 10);
    memory.sweep();
    evict(&mut memory);
    let home = &memory.home;
    let link = |number: u32| {
        let (log, aside) = (home.path(&path(number)), home.path(&format!("{number}.jsonl")));
        fs::rename(&log, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &log).unwrap();
    };
    link(1);
    let is_refused = |uid: &str| {
        let location = locate(home, uid);
        matches!(location, TextLocation::Evicted(_, SourceProblem::Unreadable(..)))
    };
    assert!(is_refused(&uid(1)));
    assert!(!is_refused(&uid(2)));
    let project = home.path(".claude/projects/-home-ada-app");
    fs::rename(&project, home.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(home.path("elsewhere"), &project).unwrap();
    assert!(is_refused(&uid(2)));
}

#[test]
fn a_log_that_grew_since_the_eviction_is_read_completely() {
    let mut memory = Memory::new();
    memory.write(1, 48, 10);
    memory.sweep();
    evict(&mut memory);
    memory.grow(1);
    let store = memory.home.store();
    let texts = memory.home.texts(&store);
    let text = texts.open(&uid(1), texts.locate(&uid(1)).unwrap()).unwrap();
    let events = text.events().unwrap();
    let texts = text.texts(&events).unwrap();
    assert!(texts.values().any(|text| text == "and now something new"), "{texts:?}");
}

#[test]
fn a_secret_is_masked_in_everything_that_is_read_from_a_source() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let mut memory = Memory::new();
    let at = memory.now - jiff::SignedDuration::from_hours(48);
    let log = ClaudeLog::new(&native(1))
        .at(&at.to_string())
        .prompt(&format!("use {token}"))
        .tool("Bash", json!({ "command": format!("login {token}") }), &token)
        .reply("done");
    memory.put(1, &log.jsonl(), at);
    // Grok writes a reply in chunks, and a token may be split over two of them.
    let chunk = |text: &str| {
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        let meta = json!({ "agentTimestampMs": at.as_millisecond(), "promptId": "p1" });
        let params = json!({ "sessionId": "0199a", "update": update, "_meta": meta });
        format!(
            "{}\n",
            json!({ "timestamp": at.as_second(), "method": "session/update", "params": params })
        )
    };
    let (first, rest) = token.split_at(20);
    let grok = [chunk(&format!("it is {first}")), chunk(&format!("{rest} there"))].concat();
    memory
        .home
        .write(".grok/sessions/%2Fhome%2Fada/0199a/updates.jsonl", grok);
    memory.wait_days(2);
    memory.sweep();
    evict(&mut memory);
    let store = memory.home.store();
    let texts = memory.home.texts(&store);
    let uids = uids(&store);
    assert_eq!(uids.len(), 2, "{uids:?}");
    for uid in uids {
        let location = texts.locate(&uid).unwrap();
        let whole = format!("{:?}", read_whole_text(&texts.open(&uid, location).unwrap()));
        assert!(
            whole.contains("[REDACTED:") && whole.contains("SessionEvent"),
            "{uid}: {whole}"
        );
        for piece in [first, rest] {
            assert!(!whole.contains(piece), "{uid}: {whole}");
        }
    }
}

/// Returns everything that is read of a session, with its bytes as text.
fn read_whole_text(text: &SessionText<'_>) -> (Vec<SessionEvent>, Vec<String>, Vec<String>) {
    let whole = read_whole(text);
    let parts = whole.parts.into_values();
    (
        whole.events,
        whole.texts.into_values().collect(),
        parts.map(|bytes| String::from_utf8(bytes).unwrap()).collect(),
    )
}
