//! Formats answers as text.

pub(crate) mod budget;
pub(crate) mod depth;
pub(crate) mod text;
