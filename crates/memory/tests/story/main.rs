//! Stories of the store: real files, a real database, and what a person would see.

#![allow(clippy::unwrap_used)]

mod false_alarms;
mod secrets;
mod sweep;
