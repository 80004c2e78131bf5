//! Paths in a shared database. The same path is a different file on each machine, so it is stored with the name of
//! the machine as a prefix. A path of this machine is returned without the prefix; a path of another machine is not a
//! file here.

use std::borrow::Cow;
use std::path::Path;

use super::engine::Engine;

/// Returns a path of this machine as it is stored.
pub(super) fn to_stored<'p>(engine: &Engine, path: &'p str) -> Cow<'p, str> {
    match machine(engine) {
        Some(machine) => format!("{machine}:{path}").into(),
        None => path.into(),
    }
}

/// Returns a stored path as it is shown.
pub(super) fn from_stored(engine: &Engine, path: String) -> String {
    let own = machine(engine).and_then(|machine| path.strip_prefix(machine)?.strip_prefix(':'));
    own.map(str::to_owned).unwrap_or(path)
}

/// Returns a stored path if it is certainly on this machine.
pub(super) fn own_path(engine: &Engine, path: &str) -> Option<String> {
    let own = match machine(engine) {
        Some(machine) => path.strip_prefix(machine)?.strip_prefix(':')?,
        None => path,
    };
    Path::new(own).is_absolute().then(|| own.to_owned())
}

/// Returns `true` if a path as shown is on another machine.
pub(super) fn is_elsewhere(engine: &Engine, path: &str) -> bool {
    machine(engine).is_some() && !Path::new(path).is_absolute()
}

fn machine(engine: &Engine) -> Option<&str> {
    let machine = engine.writer().machine.as_str();
    (engine.is_shared() && !machine.is_empty()).then_some(machine)
}
