//! Days written by an agent: the real binary, the real protocol, and a stand-in for the agent in its own process.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod agents;
mod day;
mod failing;
mod hostile;
mod mcp;
#[allow(dead_code)]
#[path = "../cli/sandbox.rs"]
mod sandbox;
mod stand_in;
