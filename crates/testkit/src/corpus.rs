//! The seeded corpus: a home directory of any size with synthetic logs of all three agents.
//!
//! The same seed and size give the same bytes on every machine, because the generator uses no clock, no system randomness and only
//! integers. Lengths of files and lines, content and compressibility follow real logs; `docs/dev/corpus.md` has the figures. Files
//! are written line by line, so memory use does not depend on the size. No text is copied from real logs.

mod claude;
mod codex;
mod disk;
mod grok;
mod lengths;
mod project;
mod record;
mod state;
mod text;
mod vocabulary;

use std::io;
use std::path::{Path, PathBuf};

use self::codex::Place;
use self::lengths::{CLAUDE_LOG, CODEX_LOG, GROK_LOG, SPILL, SUBAGENT_LOG};
use self::record::JsonString;
use self::state::{CorpusState, Language};

/// The size of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorpusShape {
    pub seed: u64,
    pub bytes: u64,
    pub files: usize,
}

/// A smaller corpus would not contain every kind of file.
const FILES_MIN: usize = 60;
/// Files that belong to no session: prompt histories and an index.
const FILES_BESIDE: usize = 3;

impl CorpusShape {
    /// Returns the default size: 300 MB in 1,500 files.
    pub fn ordinary(seed: u64) -> CorpusShape {
        CorpusShape::with_bytes(seed, 300_000_000)
    }

    /// Returns another size with the same number of files per byte.
    pub fn with_bytes(seed: u64, bytes: u64) -> CorpusShape {
        let files = usize::try_from(bytes / 200_000).expect("a number of files");
        CorpusShape {
            seed,
            bytes,
            files: files.max(FILES_MIN),
        }
    }
}

/// A summary of the written corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusSummary {
    pub files: usize,
    pub bytes: u64,
    /// Lines that were deliberately left incomplete.
    pub torn_lines: u64,
    /// Fake secrets that the logs contain.
    pub secrets: Vec<String>,
}

/// Writes a corpus into `home`: the roots `.claude`, `.codex` and `.grok`.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(home: &Path, shape: &CorpusShape) -> io::Result<CorpusSummary> {
    let mut state = CorpusState::new(home, shape.seed, shape.bytes);
    let plan = CorpusPlan::make(&mut state, shape.files.max(FILES_MIN));
    for session in &plan.claude {
        claude::write(&mut state, session)?;
    }
    codex_threads(&mut state, &plan)?;
    histories(&mut state)?;
    for session in &plan.grok {
        grok::write(&mut state, session)?;
    }
    Ok(written(state))
}

/// Writes one session of Claude Code of about `bytes` bytes into `home` and returns the path of its log.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn one_session(home: &Path, seed: u64, bytes: u64) -> io::Result<PathBuf> {
    let mut state = CorpusState::new(home, seed, bytes);
    let start_ms = state.start_ms(0, 1);
    claude::write_one(&mut state, bytes, start_ms).map(|path| home.join(path))
}

/// All sessions to be written, with their share of the bytes.
struct CorpusPlan {
    claude: Vec<claude::SessionPlan>,
    codex: Vec<codex::ThreadPlan>,
    grok: Vec<grok::SessionPlan>,
}

impl CorpusPlan {
    fn make(state: &mut CorpusState, files: usize) -> CorpusPlan {
        let grok = files.div_ceil(100);
        let codex = files * 33 / 100;
        let rest = files - FILES_BESIDE - grok * grok::FILES - codex;
        let (subagents, spills) = (rest * 18 / 100, rest * 8 / 100);
        let claude = rest - 2 * subagents - spills;
        let mut plan = CorpusPlan {
            claude: claude_plans(state, claude, subagents, spills),
            codex: (0..codex).map(|number| codex_plan(state, number, codex)).collect(),
            grok: Vec::new(),
        };
        for number in 0..grok {
            plan.grok.push(grok::SessionPlan {
                weight: state.length(&GROK_LOG),
                start_ms: state.start_ms(number, grok),
            });
        }
        plan.weigh(state);
        plan
    }

    /// Adds the weights of all files to the ledger.
    fn weigh(&self, state: &mut CorpusState) {
        let claude = self.claude.iter().flat_map(|session| {
            let parts = session.subagents.iter().chain(&session.spills);
            parts.chain(std::iter::once(&session.weight))
        });
        let codex = self.codex.iter().map(|thread| &thread.weight);
        let grok = self.grok.iter().map(|session| &session.weight);
        state.totals.weight_left = claude.chain(codex).chain(grok).map(|weight| *weight as u64).sum();
    }
}

/// Plans the sessions of Claude Code. Some have subagents, some spilled results.
fn claude_plans(state: &mut CorpusState, count: usize, subagents: usize, spills: usize) -> Vec<claude::SessionPlan> {
    let mut plans: Vec<claude::SessionPlan> = Vec::new();
    for number in 0..count {
        plans.push(claude::SessionPlan {
            weight: state.length(&CLAUDE_LOG),
            subagents: Vec::new(),
            spills: Vec::new(),
            start_ms: state.start_ms(number, count),
        });
    }
    // In real logs, a sixth of the sessions start all subagents, and these sessions are long.
    for number in 0..subagents {
        let weight = state.length(&SUBAGENT_LOG);
        plans[number * 5 % count / 6 * 6].subagents.push(weight);
    }
    for _ in 0..spills {
        let weight = state.length(&SPILL);
        let at = state.random.below(count);
        plans[at].spills.push(weight);
    }
    for plan in &mut plans {
        plan.weight = plan.weight.max(40_000 * plan.subagents.len());
    }
    plans
}

fn codex_plan(state: &mut CorpusState, number: usize, count: usize) -> codex::ThreadPlan {
    codex::ThreadPlan {
        weight: state.length(&CODEX_LOG),
        place: match number % 20 {
            3 => Place::Compressed,
            7 | 14 => Place::Archived,
            _ => Place::Sessions,
        },
        start_ms: state.start_ms(number, count),
    }
}

fn codex_threads(state: &mut CorpusState, plan: &CorpusPlan) -> io::Result<()> {
    let mut index = String::new();
    let mut last = None;
    for (number, thread) in plan.codex.iter().enumerate() {
        let parent = last.filter(|_| number % 12 == 5);
        let id = codex::write(state, thread, parent)?;
        last = Some(id);
        if number % 3 == 0 {
            let (name, time) = (state.sentence(), record::Time(thread.start_ms));
            let line = format_args!(
                r#"{{"id":"{id}","thread_name":{},"updated_at":"{time}"}}"#,
                JsonString(&name)
            )
            .to_string();
            index.push_str(&line);
            index.push('\n');
        }
    }
    let end_ms = plan.codex.last().map_or(0, |thread| thread.start_ms);
    state.put(
        ".codex/session_index.jsonl",
        format_args!("{}", index.trim_end()),
        end_ms,
    )
}

/// Writes the prompt histories. They are not sessions and must not be read as such.
fn histories(state: &mut CorpusState) -> io::Result<()> {
    let now_ms = state.start_ms(0, 1);
    for (path, key) in [(".claude/history.jsonl", "display"), (".codex/history.jsonl", "text")] {
        let mut lines = Vec::new();
        for _ in 0..20 {
            let text = state.prose(Language::English, 60);
            lines.push(format!(r#"{{"{key}":{},"ts":{}}}"#, JsonString(&text), now_ms / 1_000));
        }
        state.put(path, format_args!("{}", lines.join("\n")), now_ms)?;
    }
    Ok(())
}

fn written(state: CorpusState) -> CorpusSummary {
    CorpusSummary {
        files: state.totals.files,
        bytes: state.totals.bytes,
        torn_lines: state.faults,
        secrets: state.secrets,
    }
}
