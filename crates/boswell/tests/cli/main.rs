//! The command line as people and agents meet it: the real binary, in a home of its own.

#![allow(clippy::unwrap_used)]

mod config;
mod contract;
mod generated;
mod keep;
mod read;
mod sandbox;
mod sessions;
