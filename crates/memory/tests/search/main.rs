//! Search compared with independent results: tables of planted words, and plain scans of real logs.

#![allow(clippy::unwrap_used)]

mod corpus;
mod dice;
mod kept;
mod oracle;
mod planted;
mod recall;
mod runs;
