//! The schema of a session, and a reader for each agent's log.
//!
//! This crate parses bytes: lines in, [`SessionEvent`]s, [`Turn`]s and [`Fault`]s out. It knows no disk, clock,
//! database or terminal, so that a reader can be fuzzed, resumed and tested on its own. Logs are untrusted text,
//! written by programs that change weekly, and no line can fail the others.

mod agent;
mod call;
mod changes;
mod claude;
mod codex;
mod command;
mod event;
mod grok;
mod history;
mod hook;
mod ids;
mod images;
mod joins;
mod line_texts;
mod lines;
mod name;
mod reading;
mod records;
mod repair;
mod session;
mod source;
mod state;
mod texts;
#[cfg(test)]
mod toy;
mod turns;
mod wire;
mod wording;

pub use agent::{Agent, Origin, detect};
pub use call::{Call, Tokens, counted};
pub use changes::{Change, Edited, How, Hunk, Replacement, Row, Side, changes, edited};
pub use command::{CommitCommand, GitCommit, announced_commits, commit_command, may_announce_commits, test_runner};
pub use event::{Actor, BESIDE_SEQ, Kind, Kinds, PartKind, Role, SessionEvent};
pub use history::{HistoryPrompt, grok_project, history_prompts, is_session_id};
pub use hook::{HookCall, hook_call};
pub use images::{Image, images};
pub use line_texts::{bare_bodies, bodies, texts};
pub use lines::{LINE_BYTES_MAX, Line, LineBody, Lines, MaskedLine};
pub use name::SafeName;
pub use reading::{Amendment, Delta, Fate, Fates, Fault, Reading, Unknown};
pub use session::{
    Cost, Inherited, InheritedRule, Lineage, LineageKind, Outcome, RateLimit, RateLimits, SCHEMA_VERSION, Session,
    SessionUid, Turn, wall_clock_s,
};
pub use source::{Part, Source};
pub use state::{State, StateError, reader_version};
pub use texts::{Body, Field, Tell, Text};
pub use wording::runs_commands;
