//! Answers why a file is as it is: which turns of which sessions touched it, and which one wrote a given line.
//!
//! A line is never attributed by guessing. The recorded edits are replayed from a point at which the file's text is
//! known, and each line is followed to the present text. If the replay loses a line, it must occur in the present text
//! unchanged and exactly once, and the edit must not be later than the commit that added the line. A line that no edit
//! wrote is reported as not from a session, unless a session made the commit that added it.

mod edits;
mod git;
mod lines;
mod paths;
mod present;
mod recorded;
mod replay;
mod show;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use transcript::Hunk;

pub use git::FileCommit;
pub use paths::is_windows_path;
pub use recorded::{LikelySource, RecordedPath, recorded_paths};

use self::edits::FoundEdit;
use self::git::Git;
use self::paths::TargetFile;
use self::present::{mask_lines, read_lines, read_with_line};
use self::recorded::LikelyEdits;
use self::replay::{LineWriter, ReplayedEdit};
use crate::commits;
use crate::mask::Masker;
use crate::store::{ListedSession, SessionStatus, Store, StoreError};

/// Larger files are not attributed line by line, because matching lines takes quadratic time and memory.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Number of leading bytes that are checked for a zero byte. A file that has one is not text.
const HEAD_BYTES: usize = 8 << 10;
/// Maximum number of times the file may have been moved.
const MOVES_MAX: usize = 8;
/// Git stores commit times in whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The file, and optionally the line, to explain.
#[derive(Debug, Clone, Copy)]
pub struct FileQuery<'a> {
    /// An absolute path. The file need not exist.
    pub path: &'a Path,
    /// Counted from 1.
    pub line: Option<u64>,
    pub masker: &'a Masker,
    pub threads: usize,
}

/// Everything the memory knows about a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileAnswer {
    /// The current and former names of the file in its repository, the current one first.
    pub names: Vec<PathBuf>,
    pub line: Option<LineOrigin>,
    /// Newest first, but commands that only name the file come last. If a line was asked for, only the turn that wrote
    /// it.
    pub touches: Vec<FileTouch>,
    /// Sessions that edited the file and whose text was evicted, newest first.
    pub evicted: Vec<EvictedEdits>,
    /// Set if the touches are those of another path, whose recorded edits match the text of the file.
    pub likely: Option<LikelySource>,
}

/// The line that was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineOrigin {
    pub number: u64,
    pub text: String,
    pub verdict: LineVerdict,
    /// The commit that added the line, or `None` if it is not committed.
    pub commit: Option<FileCommit>,
}

/// How well the origin of a line is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineVerdict {
    /// An edit wrote exactly this line, and it was followed from that edit to the present text.
    Wrote,
    /// As `Wrote`, but its spacing was changed outside of all sessions since then.
    Respaced,
    /// The text of an edit occurs in the file unchanged and only here, but it could not be followed through the edits
    /// in between.
    #[serde(rename = "stands_here")]
    FoundInText,
    /// An edit of another path wrote the same line, and the text of the file matches the edits of that path.
    Likely,
    /// No recorded edit wrote it, but a session made the commit that added it.
    Committed,
    /// No session wrote it.
    NotFromASession,
    /// No stored session wrote it, but the text of some sessions that edited the file was evicted.
    Unknown,
}

/// A turn that touched a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileTouch {
    pub session: ListedSession,
    /// `None` before the first prompt.
    pub turn: Option<u32>,
    /// The prompt of the turn, or the first prompt of the session if the touch belongs to no turn.
    pub prompt: Option<String>,
    pub at: Option<Timestamp>,
    /// True if the file is only named in a command that may write it.
    pub is_command: bool,
    /// In log order. Empty if the turn only made the commit.
    pub edits: Vec<FileEdit>,
}

/// One edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub at: Option<Timestamp>,
    pub tool: String,
    pub seq: u64,
    /// The line of the log.
    pub line: u64,
    /// One-line summary of the tool call.
    pub summary: String,
    /// Empty if the log does not say what the edit changed.
    pub diff: Vec<Hunk>,
}

/// A session that edited a file and whose text was evicted. Its digest still counts the edits.
#[derive(Debug, Clone, PartialEq)]
pub struct EvictedEdits {
    pub session: ListedSession,
    pub edits: u64,
    pub prompt: Option<String>,
}

/// The reasons why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no such file")]
    Missing,
    #[error("not a regular file")]
    NotAFile,
    #[error("the file is larger than {} MiB", FILE_BYTES_MAX >> 20)]
    TooLarge,
    #[error("not a text file")]
    NotText,
    #[error("the file has only {0} lines")]
    NoSuchLine(u64),
    #[error("cannot read the file: {0}")]
    Unreadable(#[source] std::io::Error),
}

/// Returns the turns that touched a file, or the one that wrote a line of it, among the sessions that `takes` accepts.
pub fn explain_file(
    store: &Store,
    question: &FileQuery<'_>,
    takes: &dyn Fn(&ListedSession) -> bool,
) -> Result<FileAnswer, WhyError> {
    let text = question
        .line
        .map(|line| Ok::<_, WhyError>((line, read_with_line(question, line)?)));
    let text = text.transpose()?;
    let mut target = TargetFile::new(question.path);
    let git = target.checkout.as_ref().map(|checkout| Git::new(&checkout.root));
    let own_name = target.names.first().and_then(|name| name.to_str()).map(str::to_owned);
    let in_git = git.as_ref().zip(own_name.as_deref());
    let history = in_git.map_or_else(Vec::new, |(git, name)| git.list_commits(name));
    for commit in &history {
        target.add_name(Path::new(&commit.name));
    }
    let sessions = store.reads().listed()?;
    let mut found = edits::find_edits(store, &sessions, &mut target)?;
    for _ in 0..MOVES_MAX {
        if !edits::note_moves(&found, &sessions, &mut target) {
            break;
        }
        found = edits::find_edits(store, &sessions, &mut target)?;
    }
    let mut builder = TouchBuilder {
        store,
        sessions: &sessions,
        prompts: HashMap::new(),
    };
    let evicted = find_evicted(store, &sessions, &mut target, takes)?;
    let is_unknown = found.is_empty() && evicted.is_empty();
    let likely = match is_unknown {
        true => likely_edits(
            store,
            &sessions,
            question,
            text.as_ref().map(|(_, lines)| lines.as_slice()),
        )?,
        false => None,
    };
    let likely = likely.map(|edits| {
        found = edits.found;
        edits.source
    });
    // Edits of sessions that `takes` rejects are replayed too, because the lines of accepted ones depend on them. The
    // filter only applies to the result.
    let (line, mut touches) = match text {
        None => (None, builder.build_touches(found)?),
        Some((number, lines)) => {
            // The history of this file does not apply if the edits belong to another one.
            let git = in_git.filter(|_| likely.is_none());
            let known = FileHistory {
                git,
                history: if likely.is_none() { &history } else { &[] },
                found: &found,
            };
            let (mut line, writer) = attribute_line(question, number, &lines, &known);
            if likely.is_some() && writer.is_some() {
                line.verdict = LineVerdict::Likely;
            }
            let (mut line, touches) = builder.touches_of_line(question, line, writer, &found, takes)?;
            if line.verdict == LineVerdict::NotFromASession && !evicted.is_empty() {
                line.verdict = LineVerdict::Unknown;
            }
            (Some(line), touches)
        }
    };
    touches.retain(|touch| takes(&touch.session));
    Ok(FileAnswer {
        names: target.names,
        line,
        touches,
        evicted,
        likely,
    })
}

/// Returns recorded edits of another path that match the text of the file, if it has one.
fn likely_edits(
    store: &Store,
    sessions: &[ListedSession],
    question: &FileQuery<'_>,
    lines: Option<&[String]>,
) -> Result<Option<LikelyEdits>, StoreError> {
    let lines = lines.map(<[String]>::to_vec).or_else(|| read_lines(question).ok());
    match lines {
        Some(lines) => recorded::likely_edits(store, sessions, question.path, &lines),
        None => Ok(None),
    }
}

/// What is known of a file besides its text.
struct FileHistory<'a> {
    /// The repository, and the name of the file in it.
    git: Option<(&'a Git, &'a str)>,
    history: &'a [FileCommit],
    found: &'a [FoundEdit],
}

/// Returns the line with its verdict, and the edit that wrote it as an index into `known.found`.
fn attribute_line(
    question: &FileQuery<'_>,
    number: u64,
    lines: &[String],
    known: &FileHistory<'_>,
) -> (LineOrigin, Option<(usize, LineWriter)>) {
    let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let changed: Vec<usize> = (0..known.found.len())
        .filter(|at| known.found[*at].change.is_some())
        .collect();
    let replayed: Vec<ReplayedEdit<'_>> = changed
        .iter()
        .filter_map(|at| {
            let found = &known.found[*at];
            Some(ReplayedEdit {
                at: found.at,
                before: found.before.as_deref(),
                change: found.change.as_ref()?,
            })
        })
        .collect();
    let mut text_at = |moment: Option<Timestamp>, newest: Option<usize>| {
        let ((git, _), moment) = known.git.zip(moment)?;
        // Within one second, the order of a commit and an edit is unknown.
        let is_before = |commit: &FileCommit| latest_time(commit.at) <= moment;
        let number = known
            .history
            .iter()
            .position(is_before)
            .filter(|at| Some(*at) != newest)?;
        let commit = &known.history[number];
        let text = git.text_at(&commit.sha, &commit.name)?;
        Some((number, mask_lines(question.masker, &text).join("\n")))
    };
    let writers = replay::attribute_lines(&replayed, lines, &mut text_at);
    let commit = known.git.and_then(|(git, name)| {
        let newest = mask_lines(question.masker, &git.text_at("HEAD", name)?);
        let bare = |lines: &[String]| lines.iter().map(|line| lines::strip_spacing(line)).collect::<Vec<_>>();
        let pairs = lines::match_lines(&bare(&newest), &bare(lines));
        let (committed, _) = pairs.into_iter().find(|(_, present)| *present == at)?;
        git.blame_line(name, committed as u64 + 1)
    });
    // A line that was committed before an edit cannot come from that edit.
    let is_earlier = |writer: &LineWriter| match (&commit, replayed[writer.edit].at) {
        (Some(commit), Some(at)) if !writer.is_followed => at <= latest_time(commit.at),
        _ => true,
    };
    let writer = writers.get(at).copied().flatten().filter(is_earlier);
    let verdict = match &writer {
        Some(writer) if !writer.is_followed => LineVerdict::FoundInText,
        Some(writer) if writer.is_respaced => LineVerdict::Respaced,
        Some(_) => LineVerdict::Wrote,
        None => LineVerdict::NotFromASession,
    };
    let line = LineOrigin {
        number,
        text: lines[at].clone(),
        verdict,
        commit,
    };
    (line, writer.map(|writer| (changed[writer.edit], writer)))
}

/// Returns the latest time at which a commit with this timestamp can have been made.
fn latest_time(at: Timestamp) -> Timestamp {
    at.saturating_add(SECOND).unwrap_or(at)
}

/// Returns the evicted sessions whose digest names the file as edited.
fn find_evicted(
    store: &Store,
    sessions: &[ListedSession],
    target: &mut TargetFile,
    takes: &dyn Fn(&ListedSession) -> bool,
) -> Result<Vec<EvictedEdits>, StoreError> {
    let mut evicted = Vec::new();
    for session in sessions {
        if session.status != SessionStatus::Evicted || !takes(session) {
            continue;
        }
        let Some(row) = store.reads().digest_of(&session.session_uid)? else {
            continue;
        };
        let directory = row.digest.cwd.as_deref();
        let own = row
            .digest
            .files
            .iter()
            .filter(|file| target.matches_path(&file.path, directory));
        let edits: u64 = own.map(|file| file.edits).sum();
        if edits > 0 {
            evicted.push(EvictedEdits {
                session: session.clone(),
                edits,
                prompt: row.digest.first_prompt.map(|prompt| prompt.text),
            });
        }
    }
    Ok(evicted)
}

/// Builds the [`FileTouch`]es of an answer.
struct TouchBuilder<'a> {
    store: &'a Store,
    sessions: &'a [ListedSession],
    /// Prompts already looked up, by session and turn.
    prompts: HashMap<(String, Option<u32>), Option<String>>,
}

impl TouchBuilder<'_> {
    /// Returns all turns, newest first; those that only name the file in a command come last.
    fn build_touches(&mut self, found: Vec<FoundEdit>) -> Result<Vec<FileTouch>, StoreError> {
        let mut touches: Vec<FileTouch> = Vec::new();
        let mut at: HashMap<(usize, Option<u32>, bool), usize> = HashMap::new();
        for edit in found {
            let key = (edit.session, edit.turn, edit.is_command);
            match at.get(&key) {
                Some(known) => touches[*known].edits.push(show::describe_edit(&edit)),
                None => {
                    at.insert(key, touches.len());
                    let touch = self.build_touch(edit.session, edit.turn, &edit)?;
                    touches.push(touch);
                }
            }
        }
        for touch in &mut touches {
            touch.at = touch.edits.iter().filter_map(|edit| edit.at).max();
        }
        touches.reverse();
        touches.sort_by_key(|touch| (touch.is_command, std::cmp::Reverse(touch.at)));
        Ok(touches)
    }

    /// Returns the turn that wrote a line, or else the turn that made the commit which added it.
    fn touches_of_line(
        &mut self,
        question: &FileQuery<'_>,
        mut line: LineOrigin,
        writer: Option<(usize, LineWriter)>,
        found: &[FoundEdit],
        takes: &dyn Fn(&ListedSession) -> bool,
    ) -> Result<(LineOrigin, Vec<FileTouch>), StoreError> {
        if let Some((at, _)) = writer {
            let edit = &found[at];
            return Ok((line, vec![self.build_touch(edit.session, edit.turn, edit)?]));
        }
        let Some(commit) = &line.commit else {
            return Ok((line, Vec::new()));
        };
        let maker = commits::find_commit(self.store, &commit.sha, question.threads, takes)?.maker;
        let session = maker.as_ref().and_then(|place| {
            let is_same = |session: &&ListedSession| session.session_uid == place.session_uid;
            self.sessions.iter().find(is_same).cloned()
        });
        let (Some(place), Some(session)) = (maker, session) else {
            return Ok((line, Vec::new()));
        };
        line.verdict = LineVerdict::Committed;
        let touch = FileTouch {
            prompt: self.find_prompt(&session.session_uid, place.turn)?,
            turn: place.turn,
            at: Some(commit.at),
            is_command: true,
            edits: Vec::new(),
            session,
        };
        Ok((line, vec![touch]))
    }

    fn build_touch(&mut self, session: usize, turn: Option<u32>, first: &FoundEdit) -> Result<FileTouch, StoreError> {
        let session = self.sessions[session].clone();
        Ok(FileTouch {
            prompt: self.find_prompt(&session.session_uid, turn)?,
            turn,
            at: first.at,
            is_command: first.is_command,
            edits: vec![show::describe_edit(first)],
            session,
        })
    }

    /// Returns the prompt of a turn, or the session's first prompt if there is no such turn.
    fn find_prompt(&mut self, uid: &str, turn: Option<u32>) -> Result<Option<String>, StoreError> {
        let key = (uid.to_owned(), turn);
        if let Some(known) = self.prompts.get(&key) {
            return Ok(known.clone());
        }
        let turns = self.store.reads().turns(uid)?;
        let own = turns
            .into_iter()
            .find(|known| turn.is_none_or(|turn| known.turn == turn));
        let prompt = match own {
            Some(own) => Some(own.prompt.into()),
            None => self.store.reads().counted(uid)?.first_prompt,
        };
        self.prompts.insert(key, prompt.clone());
        Ok(prompt)
    }
}
