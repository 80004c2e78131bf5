//! Answers of the verbs about Boswell itself.

use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;

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
