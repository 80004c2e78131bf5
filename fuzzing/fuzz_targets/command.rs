//! Any text as a command line: an answer in bounded time, which depends on its beginning only.

#![no_main]

use libfuzzer_sys::fuzz_target;
use transcript::test_runner;

/// As much as the judgement looks at.
const EXAMINED_BYTES_MAX: usize = 16 * 1024;

fuzz_target!(|command: &str| {
    let runner = test_runner(command);
    let beginning = &command[..command.floor_char_boundary(EXAMINED_BYTES_MAX)];
    assert_eq!(test_runner(beginning), runner);
    if let Some(runner) = runner {
        assert!(
            !runner.is_empty() && runner.len() < 40 && !runner.contains('\n'),
            "{runner:?}"
        );
    }
});
