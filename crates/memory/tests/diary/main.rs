//! The diary's evidence on real files: the public tool's trees, every listed difference, bad input, and what is kept.

#![allow(clippy::unwrap_used)]

mod differences;
mod home;
mod hostile;
mod oracle;
mod story;
mod traces;
mod window;
