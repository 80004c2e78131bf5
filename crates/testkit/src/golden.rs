//! The golden record: what every verb prints and writes, as files in a directory, and a comparison of two records.
//!
//! Homes have a fixed clock, zone, key and paths (see [`crate::home`]), so two records of one binary are equal. A record of real logs
//! contains their text, which is why it must never be written into the repository.

mod compare;
mod json;
mod normalise;
mod record;

pub use self::compare::{Comparison, Difference, DifferenceKind, compare};
pub use self::normalise::NORMALISATIONS;
pub use self::record::{RecordError, RecordOptions, RecordSummary, record};

/// Extensions of the files of one invocation.
const COMMAND: &str = "cmd";
const STDOUT: &str = "out";
const STDERR: &str = "err";
const EXIT: &str = "exit";
const FILES: &str = "files";
