//! Pages in a real browser: their features for readers, and that untrusted text in them cannot run.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod chromium;
mod hostile;
mod logs;
mod page;
mod site;
