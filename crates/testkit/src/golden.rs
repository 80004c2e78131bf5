//! The golden record: what every verb prints and writes, as files of a directory, and what differs between two such directories.
//!
//! A record is made over homes whose clock, zone, key and paths are fixed (see [`crate::home`]), so that two records of one binary are equal. A
//! record of real logs holds their text, which is why it is never written into the repository.

mod compare;
mod json;
mod normalise;
mod record;

pub use self::compare::{Comparison, Difference, DifferenceKind, compare};
pub use self::normalise::NORMALISATIONS;
pub use self::record::{RecordError, RecordOptions, RecordSummary, record};

/// Endings of the files of one invocation.
const COMMAND: &str = "cmd";
const STDOUT: &str = "out";
const STDERR: &str = "err";
const EXIT: &str = "exit";
const FILES: &str = "files";
