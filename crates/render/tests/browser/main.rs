//! Pages in a real browser: what they do for people, and what strangers' text cannot do in them.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod chromium;
mod hostile;
mod logs;
mod page;
mod site;
