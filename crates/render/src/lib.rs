//! A session as something to look at: one HTML page, a text in Markdown, the index of many pages.
//!
//! [`Transcript`] in, bytes out, into whatever can be written to. This crate knows the words of `transcript` and nothing
//! else: no store, disk, clock, terminal or settings. Secrets are masked before texts come here. Everything else in a
//! log is a stranger's text, which is shown and never run: it reaches a page only through `escape`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ansi;
pub mod budget;
pub mod cards;
pub mod diff;
pub mod dress;
pub mod escape;
mod highlights;
mod html;
pub mod markdown;
pub mod measure;
mod of_log;
pub mod patch;
#[cfg(test)]
mod properties;
mod site;
pub mod steps;
pub mod tools;
pub mod transcript_in;
mod words;

pub use escape::escape as escape_html;
pub use html::title as html_title;
pub use html::{PageOptions, STYLE_BASE, STYLE_CARDS, html};
pub use markdown::{Depth, LeftOut, MarkdownOptions, markdown};
pub use measure::dollars;
pub use site::{SiteSession, site_index, site_words};
pub use steps::calls_of_results;
pub use transcript_in::{Head, Money, SessionNumbers, Subagent, Told, Transcript};
