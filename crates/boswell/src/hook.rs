//! `boswell hook AGENT`: the command in an agent's settings. It writes a note that something happened to a session,
//! starts the ingest in the background, and exits.
//!
//! The agent waits for it, so it uses neither the command line's parser, nor the configuration, nor the store. It
//! prints nothing and never fails, whatever its input and the state of the memory are.

pub(crate) mod baked;
mod ingest;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use memory::spool::{self, HookNote};
use transcript::{Agent, hook_call};

use self::baked::Baked;
use crate::context::{hook_time, own_program};

/// The verb, the flag with the directory of the memory, and the argument that starts the background ingest.
pub(crate) const VERB: &str = "hook";
pub(crate) const HOME_FLAG: &str = "--home";
const INGEST: &str = "ingest";
/// Maximum size of the input. Some agents include the last answer, which can be long.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// This much more is read and discarded, so that the agent does not see a closed pipe.
const SPARE_BYTES_MAX: u64 = 64 << 20;
/// Held by the one ingest that runs.
const LOCK: &str = "ingest.lock";

/// Returns whether the process was started as a hook.
pub(crate) fn is_meant(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|verb| verb == VERB)
}

/// Runs the hook. Errors are not reported, because a hook must never disturb its agent.
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

/// Writes a note with the standard input, and makes sure that an ingest reads it.
fn note(made_for: Agent, home: &Path) -> Option<()> {
    let call = hook_call(&input()?, made_for)?;
    let baked = Baked::read(home);
    let at = hook_time();
    let note = HookNote::from_call(&call, baked.as_ref().map(|baked| baked.roots.as_slice()), at)?;
    // File names sort by time, and are unique even within one moment.
    let mut dice = [0; 4];
    _ = getrandom::fill(&mut dice);
    let dice = u32::from_le_bytes(dice);
    let name = format!("{:016x}-{:08x}-{dice:08x}", at.as_microsecond(), std::process::id());
    // If the note could not be written, the failure is counted; the ingest starts anyway, because the session is in its
    // log.
    _ = spool::write_note(home, &name, &note);
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

/// Starts the ingest unless one is running. A running one checks for notes again before it ends, so no note is missed.
fn start_ingest(home: &Path, baked: Option<&Baked>) -> Option<()> {
    let lock = open_lock(home)?;
    lock.try_lock().ok()?;
    let mut command = Command::new(own_program()?);
    command.args([VERB, INGEST, HOME_FLAG]).arg(home).current_dir(home);
    if let Some(baked) = baked {
        baked.surround(&mut command);
    }
    // The child inherits the lock, so fifty hooks at once start only one ingest.
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

/// An agent that ends kills its process group; a process in a group of its own survives.
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
