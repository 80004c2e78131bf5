//! Which verbs have an answer with a schema.

use serde_json::Value;

use super::ask::{DecisionsAnswer, SearchAnswer, SecretsAnswer, SessionsAnswer, SignalsAnswer};
use super::keep::{
    DecideAnswer, EvictAnswer, JournalAnswer, KeepAnswer, NameAnswer, NoteAnswer, RebuildAnswer, SweepAnswer, TagAnswer,
};
use super::schema::answer_schema;
use super::share::{DaysAnswer, ExportAnswer, RestoreAnswer, ResumeAnswer};
use super::start::{CompletionsAnswer, ManAnswer, SchemaAnswer, SetupAnswer};
use super::usage::{StatsAnswer, StatuslineAnswer, UsageAnswer};

/// Derives the schema of one answer.
pub(crate) type SchemaFunction = fn() -> Value;

/// The verbs in the order of the help, each with the function that derives the schema of its answer.
pub(crate) const SCHEMAS: &[(&str, SchemaFunction)] = &[
    ("setup", answer_schema::<SetupAnswer>),
    ("completions", answer_schema::<CompletionsAnswer>),
    ("man", answer_schema::<ManAnswer>),
    ("search", answer_schema::<SearchAnswer<'static>>),
    ("sessions", answer_schema::<SessionsAnswer<'static>>),
    ("usage", answer_schema::<UsageAnswer>),
    ("stats", answer_schema::<StatsAnswer<'static>>),
    ("statusline", answer_schema::<StatuslineAnswer<'static>>),
    ("signals", answer_schema::<SignalsAnswer<'static>>),
    ("decisions", answer_schema::<DecisionsAnswer>),
    ("secrets", answer_schema::<SecretsAnswer>),
    ("days", answer_schema::<DaysAnswer<'static>>),
    ("export", answer_schema::<ExportAnswer<'static>>),
    ("restore", answer_schema::<RestoreAnswer<'static>>),
    ("resume", answer_schema::<ResumeAnswer<'static>>),
    ("sweep", answer_schema::<SweepAnswer>),
    ("evict", answer_schema::<EvictAnswer>),
    ("keep", answer_schema::<KeepAnswer<'static>>),
    ("decide", answer_schema::<DecideAnswer>),
    ("tag", answer_schema::<TagAnswer<'static>>),
    ("note", answer_schema::<NoteAnswer<'static>>),
    ("name", answer_schema::<NameAnswer<'static>>),
    ("journal", answer_schema::<JournalAnswer>),
    ("rebuild", answer_schema::<RebuildAnswer>),
    ("schema", answer_schema::<SchemaAnswer>),
];
