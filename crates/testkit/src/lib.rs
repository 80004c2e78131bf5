//! Test support: synthetic logs, homes with a fixed clock, a list of all verbs, disk faults, a PostgreSQL server, the tidy test.
//!
//! Nothing here is shipped. Synthetic data contains no real name, path or secret.

#[cfg(target_os = "linux")]
pub mod faults;
pub mod tidy;

pub mod corpus;
pub mod days;
pub mod golden;
pub mod home;
pub mod json_schema;
pub mod language;
pub mod logs;
pub mod postgres;
pub mod truth;
pub mod verbs;
