//! Answers of `boswell hub`.

use memory::hub::{MoveSummary, PushSummary};
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;

/// `boswell hub init`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HubInitAnswer<'a> {
    /// The server and its database, without a password.
    pub(crate) path: String,
    pub(crate) roles: &'a [&'static str],
}

impl Answer for HubInitAnswer<'_> {
    const SCHEMA: &'static str = "boswell.hub.init/1";
}

/// `boswell hub move`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HubMoveAnswer {
    pub(crate) from: String,
    pub(crate) to: String,
    #[serde(flatten)]
    pub(crate) moved: MoveSummary,
}

impl Answer for HubMoveAnswer {
    const SCHEMA: &'static str = "boswell.hub.move/1";
}

/// `boswell hub push`. The counts are null if the server cannot be reached.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HubPushAnswer {
    path: String,
    is_away: bool,
    sessions: Option<u64>,
    /// Sessions that the server already has.
    unchanged: Option<u64>,
    /// Sessions of which the server has more, or that were forgotten there.
    left: Option<u64>,
    /// Tags, decisions and other annotations of sessions.
    beside: Option<u64>,
    /// Annotations that were removed here, and now there.
    taken_back: Option<u64>,
    /// Sessions that were forgotten here, and now there.
    forgotten: Option<u64>,
    /// Sessions of which the server has another log, which stays.
    apart: Option<Vec<String>>,
}

impl HubPushAnswer {
    pub(crate) fn new(path: String, pushed: Option<&PushSummary>) -> Self {
        Self {
            path,
            is_away: pushed.is_none(),
            sessions: pushed.map(|pushed| pushed.sessions),
            unchanged: pushed.map(|pushed| pushed.unchanged),
            left: pushed.map(|pushed| pushed.left),
            beside: pushed.map(|pushed| pushed.beside),
            taken_back: pushed.map(|pushed| pushed.taken_back),
            forgotten: pushed.map(|pushed| pushed.forgotten),
            apart: pushed.map(|pushed| pushed.apart.clone()),
        }
    }
}

impl Answer for HubPushAnswer {
    const SCHEMA: &'static str = "boswell.hub.push/1";
}

/// `boswell hub status`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HubStatusAnswer {
    /// The setting `hub.share`.
    pub(crate) share: &'static str,
    pub(crate) places: Vec<HubPlace>,
}

impl Answer for HubStatusAnswer {
    const SCHEMA: &'static str = "boswell.hub.status/1";
}

/// One memory, and what it holds; null where that is not known.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HubPlace {
    /// `here`, `store` or `hub`.
    pub(crate) role: &'static str,
    pub(crate) path: String,
    /// Whether the server cannot be reached.
    pub(crate) is_away: bool,
    pub(crate) error: Option<String>,
    /// Whether there is a memory.
    pub(crate) is_made: Option<bool>,
    pub(crate) sessions: Option<u64>,
    pub(crate) with_raw_text: Option<u64>,
    pub(crate) raw_bytes: Option<u64>,
    /// `filters`, `words`, or `words and pieces`.
    pub(crate) searched_by: Option<&'static str>,
}
