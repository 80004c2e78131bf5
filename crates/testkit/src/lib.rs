//! For tests only: made-up logs, homes with a still clock, every verb as a list of lines, a disk that fails on demand, and the
//! tidy test.
//!
//! Nothing here ships. What is made up is made up by us: no real name, path or secret.

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
