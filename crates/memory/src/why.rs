//! Why a file is as it is: which turns of which sessions touched it, and which one wrote a line of it.
//!
//! A line is never guessed. The recorded edits are made again from where the file's text is known, and each line is followed
//! to the present text; what cannot be followed must stand there whole, once, and not later than the commit that brought it. What
//! nobody recorded is not from a session, or only came with a commit that a session made; then that is what is said.

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
use transcript::Hunk;

pub use git::Commit;
pub use paths::is_windows_path;
pub use recorded::{LikelySource, RecordedPath, recorded_paths};

use self::edits::Found;
use self::git::Git;
use self::paths::Target;
use self::present::{masked, present, present_lines};
use self::recorded::LikelyEdits;
use self::replay::{Made, Writer};
use crate::commits;
use crate::mask::Masker;
use crate::store::{Listed, Status, Store, StoreError};

/// A longer file is not followed line by line.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// A file with a zero byte in its beginning is no text.
const HEAD_BYTES: usize = 8 << 10;
/// So often a file may have been moved.
const MOVES_MAX: usize = 8;
/// A commit tells its time in seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// An absolute path, of a file that need not be there.
    pub path: &'a Path,
    /// From 1.
    pub line: Option<u64>,
    pub masker: &'a Masker,
    pub threads: usize,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The names it has and had in its repository, the present one first.
    pub names: Vec<PathBuf>,
    pub line: Option<AskedLine>,
    /// Newest first, those that only name the file in a command behind the others. Of a line, the one that wrote it.
    pub touches: Vec<Touch>,
    /// Sessions that edited the file and whose text is gone, newest first.
    pub evicted: Vec<Evicted>,
    /// Set if the touches are those of another path, whose recorded edits match the text of the file.
    pub likely: Option<LikelySource>,
}

/// The line that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedLine {
    pub number: u64,
    pub text: String,
    pub verdict: Verdict,
    /// The commit that brought it; none where it is not committed.
    pub commit: Option<Commit>,
}

/// How it is known who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// An edit wrote exactly this line, and it was followed from there to now.
    Wrote,
    /// The same, but somebody changed its spacing since.
    Respaced,
    /// What an edit wrote stands here whole and only here; the text in between could not be followed.
    StandsHere,
    /// An edit of another path wrote the same line, and the text of the file matches the edits of that path.
    Likely,
    /// No recorded edit wrote it, but the commit that brought it was made by a session.
    Committed,
    /// Nothing in the memory wrote it.
    NotFromASession,
    /// Nothing that is kept wrote it, but sessions edited the file whose text is gone.
    Unknown,
}

impl Verdict {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wrote => "wrote",
            Self::Respaced => "respaced",
            Self::StandsHere => "stands_here",
            Self::Likely => "likely",
            Self::Committed => "committed",
            Self::NotFromASession => "not_from_a_session",
            Self::Unknown => "unknown",
        }
    }
}

/// A turn that touched a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    pub session: Listed,
    /// None in what stands before the first prompt.
    pub turn: Option<u32>,
    /// What the turn began with, or the session.
    pub prompt: Option<String>,
    pub at: Option<Timestamp>,
    /// Whether the file is only named in a command that may write it.
    pub is_command: bool,
    /// In their order. Empty where the turn only made the commit.
    pub edits: Vec<Edit>,
}

/// One edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub at: Option<Timestamp>,
    pub tool: String,
    pub seq: u64,
    /// Of the log.
    pub line: u64,
    /// The tool call in one line.
    pub summary: String,
    /// What it changed; empty where that is not told.
    pub diff: Vec<Hunk>,
}

/// A session that edited a file and whose text is gone. Its digest still tells that.
#[derive(Debug, Clone, PartialEq)]
pub struct Evicted {
    pub session: Listed,
    pub edits: u64,
    pub prompt: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no such file")]
    Missing,
    #[error("this is no file")]
    NoFile,
    #[error("the file is larger than {} MiB", FILE_BYTES_MAX >> 20)]
    TooLarge,
    #[error("the file is no text")]
    NoText,
    #[error("the file has {0} lines")]
    NoSuchLine(u64),
    #[error("cannot read the file: {0}")]
    Unreadable(#[source] std::io::Error),
}

/// Looks for the turns that touched a file, or that wrote one line of it, among the sessions that are taken.
pub fn find(store: &Store, question: &Question<'_>, takes: &dyn Fn(&Listed) -> bool) -> Result<Answer, WhyError> {
    let text = question
        .line
        .map(|line| Ok::<_, WhyError>((line, present(question, line)?)));
    let text = text.transpose()?;
    let mut target = Target::new(question.path);
    let git = target.checkout.as_ref().map(|checkout| Git::new(&checkout.root));
    let own_name = target.names.first().and_then(|name| name.to_str()).map(str::to_owned);
    let in_git = git.as_ref().zip(own_name.as_deref());
    let history = in_git.map_or_else(Vec::new, |(git, name)| git.commits(name));
    for commit in &history {
        target.was(Path::new(&commit.name));
    }
    let sessions = store.reads().listed()?;
    let mut found = edits::gather(store, &sessions, &mut target)?;
    for _ in 0..MOVES_MAX {
        if !edits::note_moves(&found, &sessions, &mut target) {
            break;
        }
        found = edits::gather(store, &sessions, &mut target)?;
    }
    let mut looked = Looked {
        store,
        sessions: &sessions,
        prompts: HashMap::new(),
    };
    let evicted = evicted(store, &sessions, &mut target, takes)?;
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
    // All edits are made again; only what is told is chosen.
    let (line, mut touches) = match text {
        None => (None, looked.all(found)?),
        Some((number, lines)) => {
            // The history of this file does not apply to another one.
            let git = in_git.filter(|_| likely.is_none());
            let known = Known {
                git,
                history: if likely.is_none() { &history } else { &[] },
                found: &found,
            };
            let (mut line, writer) = of_line(question, number, &lines, &known);
            if likely.is_some() && writer.is_some() {
                line.verdict = Verdict::Likely;
            }
            let (mut line, touches) = looked.of_line(question, line, writer, &found, takes)?;
            if line.verdict == Verdict::NotFromASession && !evicted.is_empty() {
                line.verdict = Verdict::Unknown;
            }
            (Some(line), touches)
        }
    };
    touches.retain(|touch| takes(&touch.session));
    Ok(Answer {
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
    sessions: &[Listed],
    question: &Question<'_>,
    lines: Option<&[String]>,
) -> Result<Option<LikelyEdits>, StoreError> {
    let lines = lines.map(<[String]>::to_vec).or_else(|| present_lines(question).ok());
    match lines {
        Some(lines) => recorded::likely_edits(store, sessions, question.path, &lines),
        None => Ok(None),
    }
}

/// What is known of a file beside its text.
struct Known<'a> {
    /// Git, and what it calls the file.
    git: Option<(&'a Git, &'a str)>,
    history: &'a [Commit],
    found: &'a [Found],
}

/// Which edit wrote a line, by its place among those that were found.
fn of_line(
    question: &Question<'_>,
    number: u64,
    lines: &[String],
    known: &Known<'_>,
) -> (AskedLine, Option<(usize, Writer)>) {
    let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let told: Vec<usize> = (0..known.found.len())
        .filter(|at| known.found[*at].change.is_some())
        .collect();
    let made: Vec<Made<'_>> = told
        .iter()
        .filter_map(|at| {
            let found = &known.found[*at];
            Some(Made {
                at: found.at,
                before: found.before.as_deref(),
                change: found.change.as_ref()?,
            })
        })
        .collect();
    let mut text_at = |moment: Option<Timestamp>, newest: Option<usize>| {
        let ((git, _), moment) = known.git.zip(moment)?;
        // Within one second it is not known which came first.
        let is_before = |commit: &Commit| later(commit.at) <= moment;
        let number = known
            .history
            .iter()
            .position(is_before)
            .filter(|at| Some(*at) != newest)?;
        let commit = &known.history[number];
        let text = git.text_at(&commit.sha, &commit.name)?;
        Some((number, masked(question.masker, &text).join("\n")))
    };
    let writers = replay::writers(&made, lines, &mut text_at);
    let commit = known.git.and_then(|(git, name)| {
        let newest = masked(question.masker, &git.text_at("HEAD", name)?);
        let bare = |lines: &[String]| lines.iter().map(|line| lines::bare(line)).collect::<Vec<_>>();
        let pairs = lines::pairs(&bare(&newest), &bare(lines));
        let (committed, _) = pairs.into_iter().find(|(_, present)| *present == at)?;
        git.blamed(name, committed as u64 + 1)
    });
    // What a commit brought was there before a later edit.
    let is_earlier = |writer: &Writer| match (&commit, made[writer.edit].at) {
        (Some(commit), Some(at)) if !writer.is_followed => at <= later(commit.at),
        _ => true,
    };
    let writer = writers.get(at).copied().flatten().filter(is_earlier);
    let verdict = match &writer {
        Some(writer) if !writer.is_followed => Verdict::StandsHere,
        Some(writer) if writer.is_respaced => Verdict::Respaced,
        Some(_) => Verdict::Wrote,
        None => Verdict::NotFromASession,
    };
    let line = AskedLine {
        number,
        text: lines[at].clone(),
        verdict,
        commit,
    };
    (line, writer.map(|writer| (told[writer.edit], writer)))
}

/// A commit is made within the second it tells.
fn later(at: Timestamp) -> Timestamp {
    at.saturating_add(SECOND).unwrap_or(at)
}

/// Sessions of which only a digest is left that names the file.
fn evicted(
    store: &Store,
    sessions: &[Listed],
    target: &mut Target,
    takes: &dyn Fn(&Listed) -> bool,
) -> Result<Vec<Evicted>, StoreError> {
    let mut gone = Vec::new();
    for session in sessions {
        if session.status != Status::Evicted || !takes(session) {
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
            .filter(|file| target.is_at(&file.path, directory));
        let edits: u64 = own.map(|file| file.edits).sum();
        if edits > 0 {
            gone.push(Evicted {
                session: session.clone(),
                edits,
                prompt: row.digest.first_prompt.map(|prompt| prompt.text),
            });
        }
    }
    Ok(gone)
}

/// Puts together what is told of turns.
struct Looked<'a> {
    store: &'a Store,
    sessions: &'a [Listed],
    /// By session and turn.
    prompts: HashMap<(String, Option<u32>), Option<String>>,
}

impl Looked<'_> {
    /// All turns, newest first, those that only name the file last.
    fn all(&mut self, found: Vec<Found>) -> Result<Vec<Touch>, StoreError> {
        let mut touches: Vec<Touch> = Vec::new();
        let mut at: HashMap<(usize, Option<u32>, bool), usize> = HashMap::new();
        for one in found {
            let key = (one.session, one.turn, one.is_command);
            match at.get(&key) {
                Some(known) => touches[*known].edits.push(show::edit(&one)),
                None => {
                    at.insert(key, touches.len());
                    let touch = self.touch(one.session, one.turn, &one)?;
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

    /// The turn that wrote a line, else the one that made the commit which brought it.
    fn of_line(
        &mut self,
        question: &Question<'_>,
        mut line: AskedLine,
        writer: Option<(usize, Writer)>,
        found: &[Found],
        takes: &dyn Fn(&Listed) -> bool,
    ) -> Result<(AskedLine, Vec<Touch>), StoreError> {
        if let Some((at, _)) = writer {
            let one = &found[at];
            return Ok((line, vec![self.touch(one.session, one.turn, one)?]));
        }
        let Some(commit) = &line.commit else {
            return Ok((line, Vec::new()));
        };
        let made = commits::find(self.store, &commit.sha, question.threads, takes)?.made;
        let session = made.as_ref().and_then(|place| {
            let is_it = |session: &&Listed| session.session_uid == place.session_uid;
            self.sessions.iter().find(is_it).cloned()
        });
        let (Some(place), Some(session)) = (made, session) else {
            return Ok((line, Vec::new()));
        };
        line.verdict = Verdict::Committed;
        let touch = Touch {
            prompt: self.prompt(&session.session_uid, place.turn)?,
            turn: place.turn,
            at: Some(commit.at),
            is_command: true,
            edits: Vec::new(),
            session,
        };
        Ok((line, vec![touch]))
    }

    fn touch(&mut self, session: usize, turn: Option<u32>, first: &Found) -> Result<Touch, StoreError> {
        let session = self.sessions[session].clone();
        Ok(Touch {
            prompt: self.prompt(&session.session_uid, turn)?,
            turn,
            at: first.at,
            is_command: first.is_command,
            edits: vec![show::edit(first)],
            session,
        })
    }

    /// What a turn began with; of what belongs to none, what the session began with.
    fn prompt(&mut self, uid: &str, turn: Option<u32>) -> Result<Option<String>, StoreError> {
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
