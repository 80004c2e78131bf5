//! Search against truths that were made another way: tables of what was planted, and plain scans of real logs.

#![allow(clippy::unwrap_used)]

mod corpus;
mod dice;
mod kept;
mod oracle;
mod planted;
mod recall;
mod runs;
