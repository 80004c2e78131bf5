//! The verbs whose answers have a schema.

use serde_json::Value;

use super::ask::{DecisionsAnswer, SearchAnswer, SecretsAnswer, SessionsAnswer, SignalsAnswer};
use super::health::{DoctorAnswer, StatusAnswer, WatchAnswer};
use super::hub::{HubInitAnswer, HubMoveAnswer, HubPushAnswer, HubStatusAnswer};
use super::keep::{
    DecideAnswer, EvictAnswer, ForgetAnswer, JournalAnswer, KeepAnswer, NameAnswer, NoteAnswer, RebuildAnswer,
    SweepAnswer, TagAnswer,
};
use super::machine::{
    ConfigInitAnswer, ConfigPathAnswer, ConfigShowAnswer, HooksChangeAnswer, HooksStatusAnswer, ScheduleInstallAnswer,
    ScheduleStatusAnswer, ScheduleUninstallAnswer,
};
use super::page::{BundleAnswer, DemoAnswer, PrepareAnswer, RenderAnswer, ReportAnswer};
use super::read::Record;
use super::schema::{answer_schema, line_schema};
use super::session::{DigestAnswer, ShowAnswer};
use super::share::{DaysAnswer, ExportAnswer, RestoreAnswer, ResumeAnswer};
use super::start::{CompletionsAnswer, ManAnswer, SchemaAnswer, SetupAnswer};
use super::usage::{StatsAnswer, StatuslineAnswer, UsageAnswer};
use super::why::WhyAnswer;

/// Derives the schema of one answer.
pub(crate) type SchemaFunction = fn() -> Value;

/// The verbs in the order of the help, each with the function that derives the schema of its answer.
pub(crate) const SCHEMAS: &[(&str, SchemaFunction)] = &[
    ("setup", answer_schema::<SetupAnswer>),
    ("demo", answer_schema::<DemoAnswer<'static>>),
    ("status", answer_schema::<StatusAnswer<'static>>),
    ("doctor", answer_schema::<DoctorAnswer<'static>>),
    ("config init", answer_schema::<ConfigInitAnswer<'static>>),
    ("config show", answer_schema::<ConfigShowAnswer>),
    ("config path", answer_schema::<ConfigPathAnswer>),
    ("completions", answer_schema::<CompletionsAnswer>),
    ("man", answer_schema::<ManAnswer>),
    ("search", answer_schema::<SearchAnswer<'static>>),
    ("sessions", answer_schema::<SessionsAnswer<'static>>),
    ("show", line_schema::<ShowAnswer<'static>>),
    ("why", answer_schema::<WhyAnswer<'static>>),
    ("usage", answer_schema::<UsageAnswer>),
    ("stats", answer_schema::<StatsAnswer<'static>>),
    ("statusline", answer_schema::<StatuslineAnswer<'static>>),
    ("digest", line_schema::<DigestAnswer<'static>>),
    ("signals", answer_schema::<SignalsAnswer<'static>>),
    ("decisions", answer_schema::<DecisionsAnswer>),
    ("secrets", answer_schema::<SecretsAnswer>),
    ("diary", line_schema::<ReportAnswer<'static>>),
    ("prepare", answer_schema::<PrepareAnswer<'static>>),
    ("report", line_schema::<ReportAnswer<'static>>),
    ("days", answer_schema::<DaysAnswer<'static>>),
    ("bundle", answer_schema::<BundleAnswer<'static>>),
    ("render", answer_schema::<RenderAnswer<'static>>),
    ("read", line_schema::<Record<'static>>),
    ("export", answer_schema::<ExportAnswer<'static>>),
    ("restore", answer_schema::<RestoreAnswer<'static>>),
    ("resume", answer_schema::<ResumeAnswer<'static>>),
    ("sweep", answer_schema::<SweepAnswer>),
    ("evict", answer_schema::<EvictAnswer>),
    ("keep", answer_schema::<KeepAnswer<'static>>),
    ("forget", answer_schema::<ForgetAnswer<'static>>),
    ("decide", answer_schema::<DecideAnswer>),
    ("tag", answer_schema::<TagAnswer<'static>>),
    ("note", answer_schema::<NoteAnswer<'static>>),
    ("name", answer_schema::<NameAnswer<'static>>),
    ("journal", answer_schema::<JournalAnswer>),
    ("rebuild", answer_schema::<RebuildAnswer>),
    ("hooks install", answer_schema::<HooksChangeAnswer<'static>>),
    ("hooks uninstall", answer_schema::<HooksChangeAnswer<'static>>),
    ("hooks status", answer_schema::<HooksStatusAnswer<'static>>),
    ("watch", answer_schema::<WatchAnswer<'static>>),
    ("schedule install", answer_schema::<ScheduleInstallAnswer<'static>>),
    ("schedule uninstall", answer_schema::<ScheduleUninstallAnswer>),
    ("schedule status", answer_schema::<ScheduleStatusAnswer>),
    ("hub init", answer_schema::<HubInitAnswer<'static>>),
    ("hub push", answer_schema::<HubPushAnswer>),
    ("hub move", answer_schema::<HubMoveAnswer>),
    ("hub status", answer_schema::<HubStatusAnswer>),
    ("schema", answer_schema::<SchemaAnswer>),
];
