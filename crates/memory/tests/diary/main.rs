//! The diary's evidence from real files: the public tool's output, every listed difference, bad input, and stored text.

#![allow(clippy::unwrap_used)]

mod differences;
mod home;
mod hostile;
mod oracle;
mod story;
mod traces;
mod window;
