//! Masks any bytes as a line: the result is one line, JSON stays JSON, and masking it again changes nothing.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use memory::mask::{LineState, MaskKey, Masker, TextState, UserRules};
use serde_json::Value;

static MASKER: LazyLock<Masker> =
    LazyLock::new(|| Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules are sound"));

fuzz_target!(|bytes: &[u8]| {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut hits = Vec::new();
    let masked = MASKER
        .mask_next_line(&mut LineState::default(), line, &mut hits)
        .into_owned();
    assert!(!masked.contains(&b'\n'), "a line stays one");
    assert!(hits.is_empty() == (masked == line), "what changes is told");
    if serde_json::from_slice::<Value>(line).is_ok() {
        assert!(serde_json::from_slice::<Value>(&masked).is_ok(), "JSON stays JSON");
    }
    let again = MASKER.mask_next_line(&mut LineState::default(), &masked, &mut Vec::new());
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&masked),
        "twice is once"
    );

    let mut state = TextState::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let masked = MASKER.mask_text_line(&mut state, line, &mut Vec::new());
        assert!(!masked.contains(&b'\n'));
    }
});
