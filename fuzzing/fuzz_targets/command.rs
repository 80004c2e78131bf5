//! Parses any text as a command line: the answer comes in bounded time and depends only on the beginning of the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use transcript::test_runner;

/// The number of bytes that the parser looks at.
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
