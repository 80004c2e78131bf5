//! Pages in a real browser: their features for readers, and what untrusted text cannot do in them.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod chromium;
mod hostile;
mod logs;
mod page;
mod site;
