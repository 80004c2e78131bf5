//! More homes to sweep: one very long session, and the real logs if available.

use std::fs;
use std::path::PathBuf;

use testkit::corpus;

use crate::seeded::{MEGABYTE, SEED, cache, files_below, kept, real};

/// Returns a home with one session of `megabytes` megabytes.
#[allow(dead_code)] // Not every bench asks for one.
pub fn one_session(megabytes: u64) -> PathBuf {
    kept(&format!("session-{SEED}-{megabytes}"), |home| {
        corpus::one_session(home, SEED, megabytes * MEGABYTE).expect("the build directory can be written");
    })
}

/// Copies the real logs of Claude Code and Codex CLI to a home, laid out as their agents keep them.
pub fn real_home() -> Option<PathBuf> {
    let corpus = real()?;
    let home = cache().join("real");
    _ = fs::remove_dir_all(&home);
    for (agent, place) in [("claude", ".claude/projects"), ("codex", ".codex/sessions")] {
        let mut files = Vec::new();
        files_below(&corpus.join(agent), &mut files);
        files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        for (number, path) in files.iter().enumerate() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let prefix = if agent == "codex" && !name.starts_with("rollout-") {
                "rollout-"
            } else {
                ""
            };
            let folder = home.join(place).join(number.to_string());
            fs::create_dir_all(&folder).expect("the build directory can be written");
            fs::copy(path, folder.join(format!("{prefix}{name}"))).expect("a log can be copied");
        }
    }
    Some(home)
}
