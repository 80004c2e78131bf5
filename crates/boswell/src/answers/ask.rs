//! Answers of the verbs that query the memory: sessions, search, signals, decisions, secrets.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::signals::Signal;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use super::shared::{DecisionRecord, SessionRow, UnreadFile};

/// `boswell sessions`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionsAnswer<'a> {
    pub(crate) sessions: Vec<SessionRow<'a>>,
    /// How many sessions match the filters.
    pub(crate) total: usize,
    /// How many of them are not in `sessions`.
    pub(crate) hidden: usize,
    /// The value of `--cursor` for the next page; null at the end.
    pub(crate) next_cursor: Option<String>,
}

impl Answer for SessionsAnswer<'_> {
    const SCHEMA: &'static str = "boswell.sessions/1";
}

/// `boswell search`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchAnswer<'a> {
    /// How many hits were found.
    pub(crate) total: usize,
    pub(crate) hits: Vec<SearchHit<'a>>,
    /// In how many sessions the hits are.
    pub(crate) sessions: usize,
    /// Whether only the newest sessions were searched.
    pub(crate) is_partial: bool,
    /// The value of `--cursor` for the next page; null at the end.
    pub(crate) next_cursor: Option<String>,
    /// Sessions that were not searched because of the filters.
    pub(crate) hidden: usize,
    /// Hits that did not fit into `--max-tokens`.
    pub(crate) left_out: usize,
    /// How the query was read, where that may surprise.
    pub(crate) notes: Vec<String>,
    pub(crate) took_ms: u64,
    pub(crate) frames_asked: usize,
    pub(crate) frames_read: usize,
    pub(crate) sources_searched: usize,
}

impl Answer for SearchAnswer<'_> {
    const SCHEMA: &'static str = "boswell.search/1";
}

/// One place where the words of a query stand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchHit<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) turn: Option<u32>,
    pub(crate) line: Option<u64>,
    pub(crate) part: Option<&'a str>,
    /// The log, if it was searched at its source.
    pub(crate) path: Option<&'a std::path::Path>,
    /// `memory`, `source`, `digest` or `prompts`.
    pub(crate) text_from: &'static str,
    pub(crate) ts: Option<Timestamp>,
    pub(crate) agent: &'a str,
    pub(crate) project: Option<&'a str>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) field: &'static str,
    pub(crate) tool: Option<&'a str>,
    /// The prompt of the turn.
    pub(crate) prompt: Option<&'a str>,
    pub(crate) snippet: &'a str,
    /// Byte ranges of the words in `snippet`.
    pub(crate) marks: Vec<[usize; 2]>,
    pub(crate) score: u32,
    /// How many other sessions hold the same turn, because they were forked or resumed.
    pub(crate) copies: u64,
}

/// `boswell signals`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SignalsAnswer<'a> {
    pub(crate) sessions: Vec<SessionSignals<'a>>,
    /// How often each signal was found in `sessions`.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// How many sessions have signals.
    pub(crate) total: usize,
}

impl Answer for SignalsAnswer<'_> {
    const SCHEMA: &'static str = "boswell.signals/1";
}

/// The signals of one session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionSignals<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) signals: &'a [Signal],
}

/// `boswell decisions`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DecisionsAnswer {
    /// Newest first.
    pub(crate) decisions: Vec<DecisionRecord>,
    /// How many there are, even if fewer are listed.
    pub(crate) total: usize,
}

impl Answer for DecisionsAnswer {
    const SCHEMA: &'static str = "boswell.decisions/1";
}

/// `boswell secrets`. It never holds a secret itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SecretsAnswer {
    pub(crate) secrets: Vec<SecretRecord>,
    /// In how many places secrets stand.
    pub(crate) total: u64,
    /// Places that are counted and not listed.
    pub(crate) left_out: u64,
    /// How many files were read.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) unread: Vec<UnreadFile>,
}

impl Answer for SecretsAnswer {
    const SCHEMA: &'static str = "boswell.secrets/1";
}

/// One secret, by its fingerprint.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SecretRecord {
    pub(crate) fingerprint: String,
    pub(crate) rule: String,
    pub(crate) count: u64,
    pub(crate) places: Vec<SecretPlace>,
}

/// A line that holds a secret.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SecretPlace {
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) agent: Option<&'static str>,
}
