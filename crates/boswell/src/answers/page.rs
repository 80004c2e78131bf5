//! Answers of the verbs that make pages and files: render, prepare, report, bundle, demo.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::diary::AuditNotes;
use memory::report::writing::PartCount;
use memory::report::{DayReport, Totals};
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;

/// `boswell render`: one session, or with `--all` a directory of pages.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RenderAnswer<'a> {
    Session(RenderedSession<'a>),
    Site(RenderedSite<'a>),
}

impl Answer for RenderAnswer<'_> {
    const SCHEMA: &'static str = "boswell.render/1";
}

/// A session that was rendered.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedSession<'a> {
    pub(crate) session_uid: &'a str,
    /// `memory` or `source`.
    pub(crate) text_from: &'static str,
    /// `html`, `md`, `mp4`, `gif` or `cast`.
    pub(crate) to: &'static str,
    pub(crate) path: &'a Path,
    pub(crate) bytes: u64,
    pub(crate) turns: usize,
    pub(crate) events: usize,
    pub(crate) subagents: usize,
    pub(crate) secrets_masked: u64,
    /// What did not fit into `--max-tokens`; null if it is not Markdown.
    pub(crate) left_out: Option<RenderLeftOut<'a>>,
    /// Null if it is no film.
    pub(crate) film: Option<FilmRecord<'a>>,
}

/// What did not fit into a page.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderLeftOut<'a> {
    /// The numbers of the turns.
    pub(crate) turns: &'a [u32],
    pub(crate) steps: u64,
    /// About how many.
    pub(crate) tokens: usize,
}

/// A film.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FilmRecord<'a> {
    pub(crate) duration_ms: u64,
    pub(crate) frames: u64,
    pub(crate) chapters: Vec<FilmChapter<'a>>,
    pub(crate) speed_thousandths: u64,
    /// Waiting that is not in the film.
    pub(crate) waits_cut_ms: u64,
    pub(crate) left_out: FilmLeftOut<'a>,
}

/// Where a turn begins in a film.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FilmChapter<'a> {
    pub(crate) at_ms: u64,
    pub(crate) title: &'a str,
}

/// What of the session is not in a film.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FilmLeftOut<'a> {
    /// The numbers of the turns.
    pub(crate) turns: &'a [u32],
    pub(crate) steps: u64,
}

/// A directory of pages.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedSite<'a> {
    /// `html`.
    pub(crate) to: &'static str,
    /// The index.
    pub(crate) path: &'a Path,
    pub(crate) pages: usize,
    pub(crate) made: usize,
    pub(crate) unchanged: usize,
    pub(crate) secrets_masked: u64,
}

/// `boswell prepare`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PrepareAnswer<'a> {
    pub(crate) date: &'a str,
    pub(crate) timezone: &'a str,
    /// `final`, or `partial` if the day is not over.
    pub(crate) status: &'static str,
    pub(crate) window: PreparedWindow,
    /// Null if the day has no sessions.
    pub(crate) workspace: Option<&'a Path>,
    pub(crate) audit: PathBuf,
    /// False if the workspace was there already; then the counts are null.
    pub(crate) is_new: bool,
    pub(crate) projects: Option<usize>,
    pub(crate) sessions: Option<usize>,
    pub(crate) turns: Option<usize>,
    pub(crate) subagents: Option<usize>,
    pub(crate) notes: Option<&'a AuditNotes>,
}

impl Answer for PrepareAnswer<'_> {
    const SCHEMA: &'static str = "boswell.prepare/1";
}

/// When the day begins and when the next one does.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PreparedWindow {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// `boswell report` and `boswell diary`: a day as it is written, several days, or with `--phase` how much of them is written.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ReportAnswer<'a> {
    Day(&'a DayReport),
    Range(ReportRange<'a>),
    Writing(WritingAnswer<'a>),
}

/// Several days.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReportRange<'a> {
    #[schemars(extend("const" = memory::report::REPORT_SCHEMA))]
    pub(crate) schema: &'static str,
    pub(crate) since: &'a str,
    pub(crate) until: &'a str,
    pub(crate) timezone: &'a str,
    pub(crate) totals: Totals,
    pub(crate) days: Vec<&'a DayReport>,
}

/// The schema of [`WritingAnswer`].
pub(crate) const WRITING_SCHEMA: &str = "boswell.writing/1";

/// How much of some days is written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WritingAnswer<'a> {
    #[schemars(extend("const" = WRITING_SCHEMA))]
    pub(crate) schema: &'static str,
    pub(crate) days: Vec<WritingDay<'a>>,
}

/// How much of a day is written, by phase.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WritingDay<'a> {
    pub(crate) date: String,
    pub(crate) workspace: &'a Path,
    pub(crate) evidence: PartCount,
    pub(crate) project: PartCount,
    pub(crate) daily: PartCount,
}

/// What the command of `--publish` reads.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PublishedReport<'a> {
    pub(crate) since: Option<&'a str>,
    pub(crate) until: Option<&'a str>,
    pub(crate) timezone: Option<&'a str>,
    pub(crate) markdown: &'a Path,
    pub(crate) html: &'a Path,
    pub(crate) json: &'a Path,
}

impl Answer for PublishedReport<'_> {
    const SCHEMA: &'static str = "boswell.publish/1";
}

/// `boswell bundle`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BundleAnswer<'a> {
    pub(crate) date: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) bytes: u64,
    /// The names of the files in the archive.
    pub(crate) files: &'a [String],
    /// How many sessions of the workspace are not in it.
    pub(crate) left_out: usize,
    pub(crate) secrets_masked: u64,
}

impl Answer for BundleAnswer<'_> {
    const SCHEMA: &'static str = "boswell.bundle/1";
}

/// The manifest in the archive of `boswell bundle`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BundleManifest<'a> {
    pub(crate) files: &'a [String],
    pub(crate) left_out: &'a [String],
    pub(crate) secrets_masked: u64,
}

impl Answer for BundleManifest<'_> {
    const SCHEMA: &'static str = "boswell.bundle-manifest/1";
}

/// `boswell demo`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DemoAnswer<'a> {
    /// Where the demo was written; null without `-o`.
    pub(crate) home: Option<&'a Path>,
    /// The logs, relative to that directory.
    pub(crate) logs: Vec<&'a Path>,
}

impl Answer for DemoAnswer<'_> {
    const SCHEMA: &'static str = "boswell.demo/1";
}
