//! Paths in a database that many machines share: the same path means another file on each, so that it is kept with the name of
//! its machine in front. A path of this machine is given back as it is; that of another one names no file here.

use std::borrow::Cow;
use std::path::Path;

use super::engine::Engine;

/// A path of this machine as it is kept.
pub(super) fn kept<'p>(engine: &Engine, path: &'p str) -> Cow<'p, str> {
    match machine(engine) {
        Some(machine) => format!("{machine}:{path}").into(),
        None => path.into(),
    }
}

/// A kept path as it is told.
pub(super) fn told(engine: &Engine, path: String) -> String {
    let own = machine(engine).and_then(|machine| path.strip_prefix(machine)?.strip_prefix(':'));
    own.map(str::to_owned).unwrap_or(path)
}

/// A kept path that is surely one of this machine.
pub(super) fn own(engine: &Engine, path: &str) -> Option<String> {
    let own = match machine(engine) {
        Some(machine) => path.strip_prefix(machine)?.strip_prefix(':')?,
        None => path,
    };
    Path::new(own).is_absolute().then(|| own.to_owned())
}

/// Whether a path that was told is of another machine.
pub(super) fn is_elsewhere(engine: &Engine, path: &str) -> bool {
    machine(engine).is_some() && !Path::new(path).is_absolute()
}

fn machine(engine: &Engine) -> Option<&str> {
    let machine = engine.writer().machine.as_str();
    (engine.is_shared() && !machine.is_empty()).then_some(machine)
}
