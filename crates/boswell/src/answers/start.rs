//! Answers of the verbs about Boswell itself.

use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use super::keep::SweepAnswer;

/// `boswell completions`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompletionsAnswer {
    pub(crate) shell: String,
    pub(crate) script: String,
}

impl Answer for CompletionsAnswer {
    const SCHEMA: &'static str = "boswell.completions/1";
}

/// `boswell man`: one page, or the paths of all pages that were written.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ManAnswer {
    Page(ManPage),
    Files(ManFiles),
}

impl Answer for ManAnswer {
    const SCHEMA: &'static str = "boswell.man/1";
}

/// The page of the program.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ManPage {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Pages that were written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ManFiles {
    pub(crate) paths: Vec<String>,
}

/// `boswell schema` without a verb.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SchemaAnswer {
    /// The verbs whose answers have a schema.
    pub(crate) verbs: Vec<&'static str>,
}

impl Answer for SchemaAnswer {
    const SCHEMA: &'static str = "boswell.schema/1";
}

/// `boswell setup --yes`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SetupAnswer {
    /// Where the memory is.
    pub(crate) directory: String,
    pub(crate) roots: Vec<AgentRoot>,
    pub(crate) raw_max_age_days: Option<u32>,
    pub(crate) raw_soft_cap_bytes: u64,
    pub(crate) sweep: SweepAnswer,
    pub(crate) cadence: &'static str,
    pub(crate) schedule: Installation,
    /// Absent unless `--hooks` was given.
    pub(crate) hooks: Option<Installation>,
}

impl Answer for SetupAnswer {
    const SCHEMA: &'static str = "boswell.setup/1";
}

/// A directory in which an agent writes its logs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AgentRoot {
    pub(crate) agent: &'static str,
    pub(crate) path: String,
    pub(crate) exists: bool,
}

/// Whether a part was installed, and the error if it was not.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Installation {
    pub(crate) is_installed: bool,
    pub(crate) error: Option<String>,
}
