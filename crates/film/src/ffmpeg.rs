//! Runs ffmpeg and ffprobe in tests. If they are not installed, a test is skipped, unless `BOSWELL_FFMPEG=must`.

use std::io::Write;
use std::process::{Command, Stdio};

/// Decodes an H.264 stream to raw frames.
pub(crate) fn decode(stream: &[u8]) -> Option<Vec<u8>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(stream).unwrap();
    let path = file.path().to_str().unwrap();
    run(
        "ffmpeg",
        &[
            "-v",
            "error",
            "-xerror",
            "-f",
            "h264",
            "-i",
            path,
            "-f",
            "rawvideo",
            "-fps_mode",
            "passthrough",
            "-pix_fmt",
            "yuv420p",
            "-",
        ],
    )
}

/// Returns the output of a program, or `None` if it is not installed. Panics if the program fails or prints to stderr.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let started = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Ok(output) = started else {
        let must = std::env::var("BOSWELL_FFMPEG").is_ok_and(|word| word == "must");
        assert!(!must, "no `{program}`");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.trim().is_empty(),
        "{program}: {stderr}"
    );
    Some(output.stdout)
}
