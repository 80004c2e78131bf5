//! What we keep of sessions, what we make of it, and what we let go.
//!
//! This crate knows the disk and nothing of terminals, HTTP, the environment or the configuration file:
//! roots, limits and the time of day come in as arguments, and answers go out as plain structs.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod active;
pub mod annotations;
mod breaks;
pub mod budget_overrun;
pub mod commits;
pub mod decisions;
pub mod diary;
pub mod digest;
mod digest_fields;
pub mod doctor;
mod effort;
mod excerpt;
mod files;
pub mod find;
mod findings;
pub mod follow;
pub mod hub;
pub mod ingest;
pub mod kept;
pub mod logs;
pub mod mask;
pub mod outcome;
pub mod overview;
pub mod packs;
pub mod plural;
pub mod prices;
pub mod report;
mod reported_facts;
pub mod repos;
pub mod restore;
pub mod retention;
pub mod search;
pub mod secrets;
pub mod session_text;
pub mod signals;
pub mod sources;
pub mod spool;
mod squeeze;
pub mod stats;
mod steps;
pub mod store;
pub mod surface;
pub mod sweep;
mod terms;
mod threads;
pub mod usage;
pub mod whole;
pub mod why;
