//! The seeded corpus: a home with logs of all three agents, shaped like real ones, of any size.
//!
//! Same seed and size, same bytes, on every machine: no clock, no randomness of the system, whole numbers only. The shape
//! (how long files and lines are, what they hold, how well they compress) follows real logs; `docs/dev/corpus.md` has the
//! table. It is written line by line, so that memory stays small whatever the size. The words are ours.

mod claude;
mod codex;
mod disk;
mod grok;
mod project;
mod record;
mod spread;
mod text;
mod words;
mod world;

use std::io;
use std::path::{Path, PathBuf};

use self::codex::Place;
use self::record::Json;
use self::spread::{CLAUDE_LOG, CODEX_LOG, GROK_LOG, SPILL, SUBAGENT_LOG};
use self::world::{Tongue, World};

/// How large a corpus is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub seed: u64,
    pub bytes: u64,
    pub files: usize,
}

/// Below this there is not one of each kind of file.
const FILES_MIN: usize = 60;
/// Files that stand beside the sessions: histories of prompts, and an index.
const FILES_BESIDE: usize = 3;

impl Shape {
    /// 300 MB in 1,500 files.
    pub fn ordinary(seed: u64) -> Shape {
        Shape::of_bytes(seed, 300_000_000)
    }

    /// Any other size, with as many files per byte.
    pub fn of_bytes(seed: u64, bytes: u64) -> Shape {
        let files = usize::try_from(bytes / 200_000).expect("a number of files");
        Shape {
            seed,
            bytes,
            files: files.max(FILES_MIN),
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub files: usize,
    pub bytes: u64,
    /// Lines that were torn on purpose.
    pub torn_lines: u64,
    /// Fake secrets that were planted.
    pub secrets: Vec<String>,
}

/// Writes a corpus into `home`: the roots `.claude`, `.codex` and `.grok`.
///
/// # Errors
/// If a file cannot be written.
pub fn write(home: &Path, shape: &Shape) -> io::Result<Written> {
    let mut world = World::new(home, shape.seed, shape.bytes);
    let plan = Plan::make(&mut world, shape.files.max(FILES_MIN));
    for session in &plan.claude {
        claude::write(&mut world, session)?;
    }
    codex_threads(&mut world, &plan)?;
    histories(&mut world)?;
    for session in &plan.grok {
        grok::write(&mut world, session)?;
    }
    Ok(written(world))
}

/// Writes one session of Claude Code of about `bytes` bytes into `home`, and gives the path of its log.
///
/// # Errors
/// If the file cannot be written.
pub fn one_session(home: &Path, seed: u64, bytes: u64) -> io::Result<PathBuf> {
    let mut world = World::new(home, seed, bytes);
    let start_ms = world.start_ms(0, 1);
    claude::write_one(&mut world, bytes, start_ms).map(|path| home.join(path))
}

/// Every session to be written, with its share of the bytes.
struct Plan {
    claude: Vec<claude::Plan>,
    codex: Vec<codex::Plan>,
    grok: Vec<grok::Plan>,
}

impl Plan {
    fn make(world: &mut World, files: usize) -> Plan {
        let grok = files.div_ceil(100);
        let codex = files * 33 / 100;
        let rest = files - FILES_BESIDE - grok * grok::FILES - codex;
        let (subagents, spills) = (rest * 18 / 100, rest * 8 / 100);
        let claude = rest - 2 * subagents - spills;
        let mut plan = Plan {
            claude: claude_plans(world, claude, subagents, spills),
            codex: (0..codex).map(|number| codex_plan(world, number, codex)).collect(),
            grok: Vec::new(),
        };
        for number in 0..grok {
            plan.grok.push(grok::Plan {
                weight: world.length(&GROK_LOG),
                start_ms: world.start_ms(number, grok),
            });
        }
        plan.weigh(world);
        plan
    }

    /// Tells the ledger what all files weigh together.
    fn weigh(&self, world: &mut World) {
        let claude = self.claude.iter().flat_map(|session| {
            let parts = session.subagents.iter().chain(&session.spills);
            parts.chain(std::iter::once(&session.weight))
        });
        let codex = self.codex.iter().map(|thread| &thread.weight);
        let grok = self.grok.iter().map(|session| &session.weight);
        world.ledger.weight_left = claude.chain(codex).chain(grok).map(|weight| *weight as u64).sum();
    }
}

/// Sessions of Claude Code; some have subagents, some results in files of their own.
fn claude_plans(world: &mut World, count: usize, subagents: usize, spills: usize) -> Vec<claude::Plan> {
    let mut plans: Vec<claude::Plan> = Vec::new();
    for number in 0..count {
        plans.push(claude::Plan {
            weight: world.length(&CLAUDE_LOG),
            subagents: Vec::new(),
            spills: Vec::new(),
            start_ms: world.start_ms(number, count),
        });
    }
    // Who delegates does so often: a sixth of the sessions has all the subagents, and they are long.
    for number in 0..subagents {
        let weight = world.length(&SUBAGENT_LOG);
        plans[number * 5 % count / 6 * 6].subagents.push(weight);
    }
    for _ in 0..spills {
        let weight = world.length(&SPILL);
        let at = world.dice.below(count);
        plans[at].spills.push(weight);
    }
    for plan in &mut plans {
        plan.weight = plan.weight.max(40_000 * plan.subagents.len());
    }
    plans
}

fn codex_plan(world: &mut World, number: usize, count: usize) -> codex::Plan {
    codex::Plan {
        weight: world.length(&CODEX_LOG),
        place: match number % 20 {
            3 => Place::Compressed,
            7 | 14 => Place::Archived,
            _ => Place::Sessions,
        },
        start_ms: world.start_ms(number, count),
    }
}

fn codex_threads(world: &mut World, plan: &Plan) -> io::Result<()> {
    let mut index = String::new();
    let mut last = None;
    for (number, thread) in plan.codex.iter().enumerate() {
        let parent = last.filter(|_| number % 12 == 5);
        let id = codex::write(world, thread, parent)?;
        last = Some(id);
        if number % 3 == 0 {
            let (name, time) = (world.sentence(), record::Time(thread.start_ms));
            let line =
                format_args!(r#"{{"id":"{id}","thread_name":{},"updated_at":"{time}"}}"#, Json(&name)).to_string();
            index.push_str(&line);
            index.push('\n');
        }
    }
    let end_ms = plan.codex.last().map_or(0, |thread| thread.start_ms);
    world.put(
        ".codex/session_index.jsonl",
        format_args!("{}", index.trim_end()),
        end_ms,
    )
}

/// What the agents remember of prompts. No sessions, and not to be taken for any.
fn histories(world: &mut World) -> io::Result<()> {
    let now_ms = world.start_ms(0, 1);
    for (path, key) in [(".claude/history.jsonl", "display"), (".codex/history.jsonl", "text")] {
        let mut lines = Vec::new();
        for _ in 0..20 {
            let text = world.prose(Tongue::English, 60);
            lines.push(format!(r#"{{"{key}":{},"ts":{}}}"#, Json(&text), now_ms / 1_000));
        }
        world.put(path, format_args!("{}", lines.join("\n")), now_ms)?;
    }
    Ok(())
}

fn written(world: World) -> Written {
    Written {
        files: world.ledger.files,
        bytes: world.ledger.bytes,
        torn_lines: world.faults,
        secrets: world.secrets,
    }
}
