//! Parses any bytes as the head of a log, as a path and as a name: the answer is always the same, and a name never
//! leaves its directory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use transcript::{Origin, SafeName, detect};

fuzz_target!(|bytes: &[u8]| {
    assert_eq!(detect(bytes), detect(bytes));

    let text = String::from_utf8_lossy(bytes);
    let origin = Origin::of(&text);
    assert!(
        !origin.stem.contains(['/', '\\']),
        "a stem is one component: {:?}",
        origin.stem
    );
    if let Some(parent) = &origin.parent_session {
        assert!(origin.is_subagent && !parent.contains(['/', '\\']), "{parent:?}");
    }
    if let Some(name) = SafeName::new(&text) {
        let mut components = std::path::Path::new(name.as_str()).components();
        let only = components.next();
        assert!(
            matches!(only, Some(std::path::Component::Normal(_))) && components.next().is_none(),
            "{name:?}"
        );
    }
});
