//! Stories of the store: real files, a real database, and what a user would see.

#![allow(clippy::unwrap_used)]

mod canary;
mod digest;
mod false_alarms;
mod hazards;
mod home;
mod keeping;
mod laws;
mod notes;
mod prompts;
mod restoring;
mod retention;
mod secrets;
mod source_text;
mod sweep;
