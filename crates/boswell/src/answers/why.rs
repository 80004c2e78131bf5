//! The answer of `boswell why`.

use jiff::Timestamp;
use memory::why::{FileCommit, LikelySource, LineVerdict, RecordedPath};
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;

/// `boswell why`.
#[derive(Serialize, JsonSchema, Default)]
pub(crate) struct WhyAnswer<'a> {
    /// The requested file, without the line.
    pub(crate) path: String,
    /// The names that it has and had in its repository, the present one first.
    pub(crate) names: Vec<String>,
    /// The requested line.
    pub(crate) line: Option<WhyLine<'a>>,
    /// Newest first; of a line, the turn that wrote it.
    pub(crate) touches: Vec<WhyTouch<'a>>,
    /// Sessions that edited the file and whose text is gone.
    pub(crate) evicted: Vec<WhyEvicted<'a>>,
    /// Set if the turns edited another path, and the text of the file matches their edits.
    pub(crate) likely: Option<&'a LikelySource>,
    /// Recorded paths that end with the name, if several do; everything else is empty then.
    pub(crate) candidates: &'a [RecordedPath],
    /// Turns that `--limit` left out.
    pub(crate) left_out: usize,
}

impl Answer for WhyAnswer<'_> {
    const SCHEMA: &'static str = "boswell.why/1";
}

/// A line of the file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhyLine<'a> {
    pub(crate) number: u64,
    pub(crate) text: &'a str,
    pub(crate) verdict: LineVerdict,
    /// The verdict as a sentence.
    pub(crate) evidence: String,
    /// The commit that brought the line; null if none has it.
    pub(crate) commit: Option<&'a FileCommit>,
}

/// A turn that edited the file, or names it in a command.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhyTouch<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) flavor: &'a str,
    pub(crate) is_subagent: bool,
    pub(crate) turn: Option<u32>,
    pub(crate) prompt: Option<&'a str>,
    pub(crate) at: Option<Timestamp>,
    /// `edit`, or `command` if the file is only named in a command.
    pub(crate) how: &'static str,
    pub(crate) edits: Vec<WhyEdit<'a>>,
    /// The command that shows the turn.
    pub(crate) open: String,
}

/// One edit.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhyEdit<'a> {
    pub(crate) at: Option<Timestamp>,
    pub(crate) tool: &'a str,
    pub(crate) seq: u64,
    /// The line of the log.
    pub(crate) line: u64,
    pub(crate) summary: &'a str,
    /// Null if the log does not tell what was changed.
    pub(crate) diff: Option<String>,
}

/// A session that edited the file and whose text is gone.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhyEvicted<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) flavor: &'a str,
    /// How many edits.
    pub(crate) edits: u64,
    /// Its first prompt.
    pub(crate) prompt: Option<&'a str>,
    pub(crate) at: Option<Timestamp>,
}
