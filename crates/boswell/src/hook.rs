//! `boswell hook AGENT`: what an agent's settings call. It notes that something happened to a session, starts the ingest
//! behind its own back, and is gone.
//!
//! An agent waits for it, so it knows neither the command line's grammar, nor the configuration, nor the store. It says
//! nothing and never fails, whatever it is given and whatever state the memory is in.

pub(crate) mod baked;
mod ingest;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use memory::spool::{self, Note};
use transcript::{Agent, hook_call};

use self::baked::Baked;
use crate::context::{hook_time, own_program};

/// The verb, the flag that says where the memory lies, and the word for what runs behind the agent's back.
pub(crate) const VERB: &str = "hook";
pub(crate) const HOME_FLAG: &str = "--home";
const INGEST: &str = "ingest";
/// A last answer is part of what some agents hand over, and can be long.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// So much more is taken in and thrown away, so that nobody sees a closed pipe.
const SPARE_BYTES_MAX: u64 = 64 << 20;
/// Held by the one ingest that runs.
const LOCK: &str = "ingest.lock";

/// Whether a process was started as a hook.
pub(crate) fn is_meant(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|verb| verb == VERB)
}

/// Does what a hook does. Nothing that goes wrong is anybody's business here.
pub(crate) fn answer(arguments: &[OsString]) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    _ = panic::catch_unwind(|| {
        let home = value_of(arguments, HOME_FLAG)
            .map(PathBuf::from)
            .filter(|home| home.is_absolute());
        let who = arguments.get(2).and_then(|word| word.to_str());
        match (who, home) {
            (Some(INGEST), Some(home)) => ingest::run(&home),
            (Some(word), Some(home)) => {
                let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == word);
                _ = agent.and_then(|agent| note(agent, &home));
            }
            _ => {}
        }
    });
    ExitCode::SUCCESS
}

fn value_of<'a>(arguments: &'a [OsString], flag: &str) -> Option<&'a OsStr> {
    let at = arguments.iter().position(|word| word == flag)?;
    arguments.get(at + 1).map(OsString::as_os_str)
}

/// Notes what stands on standard input, and sees to it that somebody takes the note in.
fn note(made_for: Agent, home: &Path) -> Option<()> {
    let call = hook_call(&input()?, made_for)?;
    let baked = Baked::read(home);
    let at = hook_time();
    let note = Note::of(&call, baked.as_ref().map(|baked| baked.roots.as_slice()), at)?;
    // Names sort by time, and no two calls of one moment share one.
    let mut dice = [0; 4];
    _ = getrandom::fill(&mut dice);
    let dice = u32::from_le_bytes(dice);
    let name = format!("{:016x}-{:08x}-{dice:08x}", at.as_microsecond(), std::process::id());
    // What could not be noted is counted; the session itself is in its log, so it is looked for all the same.
    _ = spool::put(home, &name, &note);
    start_ingest(home, baked.as_ref());
    Some(())
}

fn input() -> Option<Vec<u8>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let mut stdin = stdin.lock();
    let mut bytes = Vec::new();
    let read = stdin.by_ref().take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
    if bytes.len() as u64 == INPUT_BYTES_MAX {
        _ = io::copy(&mut stdin.take(SPARE_BYTES_MAX), &mut io::sink());
    }
    read.ok().map(|_| bytes)
}

/// Starts the ingest, unless one runs: it looks for notes once more when it is done, so none is overlooked.
fn start_ingest(home: &Path, baked: Option<&Baked>) -> Option<()> {
    let lock = open_lock(home)?;
    lock.try_lock().ok()?;
    let mut command = Command::new(own_program()?);
    command.args([VERB, INGEST, HOME_FLAG]).arg(home).current_dir(home);
    if let Some(baked) = baked {
        baked.surround(&mut command);
    }
    // The lock goes over to whom it is held for: fifty hooks at once start one ingest.
    command
        .stdin(Stdio::from(lock))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    detach(&mut command);
    _ = command.spawn();
    Some(())
}

fn open_lock(home: &Path) -> Option<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(home.join(spool::FOLDER).join(LOCK)).ok()
}

/// An agent that ends takes its hooks with it; what has a group of its own stays.
#[cfg(unix)]
fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(windows)]
fn detach(command: &mut Command) {
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    std::os::windows::process::CommandExt::creation_flags(command, DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

#[cfg(not(any(unix, windows)))]
fn detach(_: &mut Command) {}
