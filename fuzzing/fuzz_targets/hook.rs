//! Parses any bytes as the payload of a hook: a note is small, with plain words and paths below the roots, or there is
//! none.

#![no_main]

use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use memory::spool::HookNote;
use transcript::{Agent, SafeName, hook_call};

fuzz_target!(|bytes: &[u8]| {
    let roots: Vec<(Agent, PathBuf)> = vec![
        (Agent::Claude, "/home/ada/.claude".into()),
        (Agent::Codex, "/home/ada/.codex".into()),
    ];
    for agent in [Agent::Claude, Agent::Codex, Agent::Grok] {
        let Some(call) = hook_call(bytes, agent) else { continue };
        let at = "2026-04-01T10:00:00Z".parse().expect("a time");
        for roots in [None, Some(roots.as_slice())] {
            let Some(note) = HookNote::from_call(&call, roots, at) else {
                continue;
            };
            assert!(SafeName::new(&note.session_id).is_some());
            let is_word = |word: &str| {
                !word.is_empty()
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-'))
            };
            assert!(is_word(&note.event));
            assert!(note.reason.as_deref().is_none_or(is_word) && note.error.as_deref().is_none_or(is_word));
            for place in [&note.log, &note.subagent_log].into_iter().flatten() {
                assert!(!place.components().any(|part| part == std::path::Component::ParentDir));
                assert!(place.starts_with(Path::new("/home/ada")), "{place:?}");
            }
            assert!(serde_json::to_vec(&note).is_ok());
        }
    }
});
