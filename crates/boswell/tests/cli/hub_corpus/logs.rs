//! Real logs, copied to where the agents keep them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

/// One log of Claude Code and Codex in this many is used. With `BOSWELL_FAULTS` every log is.
const STEP: usize = 8;

/// Copies real logs into the agents' roots.
pub fn lay_out(corpus: &Path, sandbox: &Sandbox) {
    for (agent, place) in [("claude", ".claude/projects"), ("codex", ".codex/sessions")] {
        let mut paths = Vec::new();
        below(&corpus.join(agent), &mut paths);
        paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        paths.sort();
        let step = if std::env::var_os("BOSWELL_FAULTS").is_some() {
            1
        } else {
            STEP
        };
        for (number, path) in paths.iter().enumerate().step_by(step) {
            let name = path.file_name().unwrap().to_string_lossy();
            let prefix = if agent == "codex" && !name.starts_with("rollout-") {
                "rollout-"
            } else {
                ""
            };
            put(
                path,
                &sandbox.home.join(place).join(format!("folder-{number}/{prefix}{name}")),
            );
        }
    }
    let mut paths = Vec::new();
    below(&corpus.join("grok"), &mut paths);
    for path in paths {
        let session = path.parent().unwrap();
        let own = session
            .strip_prefix(corpus)
            .unwrap()
            .to_string_lossy()
            .replace('/', "-");
        let name = path.file_name().unwrap();
        put(&path, &sandbox.home.join(".grok/sessions/project").join(own).join(name));
    }
}

fn put(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, fs::read(from).unwrap()).unwrap();
}

pub fn below(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => below(&path, paths),
            false => paths.push(path),
        }
    }
    paths.sort();
}
