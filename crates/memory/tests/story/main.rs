//! Stories of the store: real files, a real database, and what a person would see.

#![allow(clippy::unwrap_used)]

mod digest;
mod false_alarms;
mod hazards;
mod home;
mod keeping;
mod prompts;
mod restoring;
mod secrets;
mod sweep;
