//! Answers to bytes: how what was read is shown to people and to programs.

pub(crate) mod budget;
pub(crate) mod depth;
pub(crate) mod text;
