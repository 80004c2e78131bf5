//! For tests: ffmpeg and ffprobe as they are on this machine. Where they are not, a test says so and does nothing, unless
//! `BOSWELL_FFMPEG=must`.

use std::io::Write;
use std::process::{Command, Stdio};

/// The raw pictures of a bare stream of H.264.
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

/// What a program writes; none where there is no such program. It must not complain.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let started = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Ok(output) = started else {
        let must = std::env::var("BOSWELL_FFMPEG").is_ok_and(|word| word == "must");
        assert!(!must, "no `{program}`");
        return None;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.trim().is_empty(), "{program}: {told}");
    Some(output.stdout)
}
