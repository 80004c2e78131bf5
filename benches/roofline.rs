//! The lower bounds of a sweep: parsing, masking and compressing the same bytes, each alone, on the same number of
//! threads, without a store. All logs are in memory.

use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use memory::mask::{LineState, Masker};
use memory::packs::{self, FRAME_BYTES};
use transcript::{Agent, Lines, Origin, PartKind, State};

use crate::{process, seeded};

/// One step of a sweep that processes every byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not in [`Stage::ALL`], because it takes hardly any time if the system has the files in its cache.
    Read,
    Parse,
    Mask,
    Compress,
}

impl Stage {
    pub const ALL: [Stage; 3] = [Stage::Parse, Stage::Mask, Stage::Compress];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Read => "read: every file",
            Stage::Parse => "parse: the readers",
            Stage::Mask => "mask: every line",
            Stage::Compress => "compress: zstd level 2, frames of 1 MiB",
        }
    }
}

/// The measurements of one run of a stage.
pub struct Times {
    pub bytes: usize,
    pub seconds: f64,
    pub cpu_seconds: f64,
}

impl Times {
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.seconds
    }
}

struct Log {
    agent: Agent,
    kind: PartKind,
    path: PathBuf,
    bytes: Vec<u8>,
}

/// The logs in memory.
pub struct Roofline {
    logs: Vec<Log>,
    masker: Masker,
    threads: usize,
}

impl Roofline {
    pub fn load(home: &Path, masker: Masker, threads: usize) -> Roofline {
        let mut logs = Vec::new();
        for agent in Agent::ALL {
            let mut files = Vec::new();
            seeded::files_below(&home.join(format!(".{}", agent.as_str())), &mut files);
            logs.extend(files.into_iter().filter_map(|path| log(agent, path)));
        }
        Roofline { logs, masker, threads }
    }

    /// Runs a stage over all logs.
    pub fn run(&self, stage: Stage) -> Times {
        let cpu = process::cpu_seconds();
        let start = Instant::now();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    while let Some(log) = self.logs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        black_box(self.one(stage, log));
                    }
                });
            }
        });
        let seconds = start.elapsed().as_secs_f64();
        let after = process::cpu_seconds();
        Times {
            bytes: self.logs.iter().map(|log| log.bytes.len()).sum(),
            seconds,
            cpu_seconds: cpu.zip(after).map_or(f64::NAN, |(before, after)| after - before),
        }
    }

    /// Runs a stage on one log. Returns a number, so that the compiler cannot remove the work.
    fn one(&self, stage: Stage, log: &Log) -> usize {
        match stage {
            Stage::Read => fs::read(&log.path).map_or(0, |bytes| bytes.len()),
            Stage::Parse => {
                let mut state = State::new(log.agent, Origin::of(&log.path.to_string_lossy()));
                let delta = state.read_unmasked(log.kind, &mut Lines::new(&log.bytes[..]));
                delta.expect("bytes in memory can be read").events.len()
            }
            Stage::Mask => {
                let mut found = Vec::new();
                let mut state = LineState::of_agent(log.agent);
                let lines = log.bytes.split(|byte| *byte == b'\n');
                let masked: usize = lines
                    .map(|line| self.masker.mask_next_line(&mut state, line, &mut found).len())
                    .sum();
                masked + found.len()
            }
            Stage::Compress => {
                let frames = log.bytes.chunks(FRAME_BYTES);
                let packed = |frame| packs::compress_frame(1, 1, frame).expect("bytes in memory can be compressed");
                frames.map(|frame| packed(frame).bytes.len()).sum()
            }
        }
    }
}

/// Returns a file in memory if a sweep reads its lines.
fn log(agent: Agent, path: PathBuf) -> Option<Log> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let kind = match (agent, &*name) {
        (Agent::Grok, "updates.jsonl") => PartKind::Log,
        (Agent::Grok, "events.jsonl") => PartKind::Events,
        (Agent::Claude, name) if name.ends_with(".jsonl") && name != "history.jsonl" => PartKind::Log,
        (Agent::Codex, name) if name.starts_with("rollout-") => PartKind::Log,
        _ => return None,
    };
    let mut bytes = fs::read(&path).ok()?;
    if name.ends_with(".zst") {
        let mut plain = Vec::new();
        zstd::Decoder::new(&bytes[..]).ok()?.read_to_end(&mut plain).ok()?;
        bytes = plain;
    }
    Some(Log {
        agent,
        kind,
        path,
        bytes,
    })
}
