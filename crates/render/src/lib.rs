//! Renders a session as an HTML page or as Markdown, and many sessions as an index page.
//!
//! Every renderer takes a [`Transcript`] and writes bytes to a `Write`. This crate knows the types of `transcript` and nothing
//! else: no store, disk, clock, terminal or configuration. The caller masks secrets. All other text of a log is untrusted and
//! reaches a page only through `escape`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ansi;
pub mod budget;
mod card_html;
pub mod cards;
pub mod diff;
pub mod escape;
mod from_log;
mod highlights;
mod html;
pub mod input;
pub mod markdown;
mod markdown_html;
pub mod measure;
pub mod patch;
#[cfg(test)]
mod properties;
mod site;
pub mod steps;
pub mod tool_body;
pub mod tools;

pub use escape::escape as escape_html;
pub use html::title as html_title;
pub use html::{PageOptions, STYLE_BASE, STYLE_CARDS, html};
pub use input::{SessionCost, SessionNumbers, Subagent, Transcript, TranscriptEntry, TranscriptHead};
pub use markdown::{MarkdownDepth, MarkdownOptions, OmittedTurns, markdown};
pub use measure::dollars;
pub use site::{SiteSession, site_index, site_search_data};
pub use steps::calls_of_results;
