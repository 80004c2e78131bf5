//! Gathers everything that a rendered session shows: from the memory, from the log of an evicted session, or from a log
//! without a memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memory::digest::{self, Digest};
use memory::ingest::Disclosure;
use memory::logs::{self, LogReading};
use memory::mask::{Masker, Numbering};
use memory::repos;
use memory::session_text::{SessionText, SessionTexts, TextLocation, TextOrigin};
use memory::store::{Store, find_parents};
use memory::usage::{self, UsageSum};
use render::{SessionCost, SessionNumbers, Subagent, Transcript, TranscriptEntry, TranscriptHead};
use transcript::{Agent, Call, Lineage, LineageKind, Outcome, Session, SessionEvent, Turn};

use super::Means;
use crate::error::{CommandError, log_error};
use crate::turn_arg::TurnRange;

/// Maximum depth of nested subagents.
const NESTED_MAX: usize = 6;
/// The start of the tag that replaces a secret.
const MASKED: &str = "[REDACTED:";

/// A session, gathered.
pub(super) struct Gathered {
    pub(super) transcript: Transcript,
    /// The number of masked secrets in it.
    pub(super) masked: u64,
    pub(super) origin: TextOrigin,
}

impl Gathered {
    /// Replaces the fingerprints of secrets with numbers, because the rendered file may leave this machine.
    pub(super) fn number(&mut self) {
        let mut numbering = Numbering::default();
        self.masked = number(&mut self.transcript, &mut numbering);
        self.transcript.head.masked = self.masked;
    }
}

fn number(transcript: &mut Transcript, numbering: &mut Numbering) -> u64 {
    let mut count = 0;
    let mut one = |text: &mut String| {
        if !is_tagged(text) {
            return;
        }
        count += text.matches(MASKED).count() as u64;
        if let std::borrow::Cow::Owned(new) = numbering.renumber_str(text) {
            *text = new;
        }
    };
    for told in &mut transcript.events {
        if let Some(text) = &mut told.text {
            one(text);
        }
    }
    let mut boxed = |text: &mut Box<str>| {
        if is_tagged(text)
            && let std::borrow::Cow::Owned(new) = numbering.renumber_str(text)
        {
            *text = new.into();
        }
    };
    for told in &mut transcript.events {
        boxed(&mut told.event.summary);
        told.event.files.iter_mut().for_each(&mut boxed);
    }
    transcript.turns.iter_mut().for_each(|turn| boxed(&mut turn.prompt));
    let head = &mut transcript.head;
    let session = &mut head.session;
    let texts = [
        &mut head.name,
        &mut session.title,
        &mut session.cwd,
        &mut session.git_branch,
    ];
    for text in texts.into_iter().flatten() {
        *text = numbering.renumber_str(text).into_owned();
    }
    for subagent in &mut transcript.subagents {
        count += number(&mut subagent.transcript, numbering);
    }
    count
}

/// Masks tokens that are split by colour codes. A page drops the codes, which would make such a token whole again. A
/// text that contains one loses its colours.
fn mask_coloured(transcript: &mut Transcript, masker: &Masker) {
    for text in transcript.events.iter_mut().filter_map(|entry| entry.text.as_mut()) {
        if !text.contains(['\u{1b}', '\u{9b}']) {
            continue;
        }
        let plain = render::ansi::plain(text);
        if let std::borrow::Cow::Owned(masked) = masker.mask_str(&plain, &mut Vec::new()) {
            *text = masked;
        }
    }
    for subagent in &mut transcript.subagents {
        mask_coloured(&mut subagent.transcript, masker);
    }
}

/// Returns whether a text may contain masked secrets. Most texts contain none, so one cheap search decides; its
/// searchers are built once.
fn is_tagged(text: &str) -> bool {
    static TAGS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| {
        let of_bytes: Vec<String> = MASKED.bytes().map(|byte| byte.to_string()).collect();
        [Finder::new(MASKED), Finder::new(&of_bytes.join(",")).into_owned()]
    });
    TAGS.iter().any(|tag| tag.find(text.as_bytes()).is_some())
}

/// The source of parent-child relations between sessions.
pub(super) enum Family {
    /// Each session is looked up in the memory.
    Asked,
    /// All subagents were read at once: the children by the uid of their parent.
    Known(HashMap<String, Vec<Session>>),
}

impl Family {
    /// Reads the relations of all sessions at once.
    pub(super) fn known(store: &Store) -> Result<Self, CommandError> {
        let mut children: HashMap<String, Vec<Session>> = HashMap::new();
        for child in store.reads().subagents()? {
            for parent in find_parents(&child) {
                children.entry(parent.to_owned()).or_default().push(child.clone());
            }
        }
        Ok(Self::Known(children))
    }

    fn children(&self, store: &Store, session_uid: &str) -> Result<Vec<Session>, CommandError> {
        Ok(match self {
            Self::Asked => store.reads().subagents_of(session_uid)?,
            Self::Known(children) => children.get(session_uid).cloned().unwrap_or_default(),
        })
    }
}

/// Gathers a session from the memory.
pub(super) fn known(
    texts: &SessionTexts<'_>,
    text: &SessionText<'_>,
    session_uid: &str,
    means: &Means<'_>,
    family: &Family,
    turns: Option<TurnRange>,
) -> Result<Gathered, CommandError> {
    let mut calls = Vec::new();
    let mut gatherer = SessionGatherer {
        texts,
        means,
        family,
        calls: &mut calls,
    };
    let mut transcript = gatherer.session(session_uid, text, turns, 0)?;
    transcript.head.money = money(&usage::sum_calls(calls.iter(), &means.prices));
    mask_coloured(&mut transcript, texts.masker);
    Ok(Gathered {
        transcript,
        masked: 0,
        origin: text.source().map_or(TextOrigin::Memory, |_| TextOrigin::Source),
    })
}

/// The state while a session and its subagents are gathered.
struct SessionGatherer<'g> {
    texts: &'g SessionTexts<'g>,
    means: &'g Means<'g>,
    family: &'g Family,
    calls: &'g mut Vec<Call>,
}

impl SessionGatherer<'_> {
    fn session(
        &mut self,
        session_uid: &str,
        text: &SessionText<'_>,
        turns: Option<TurnRange>,
        depth: usize,
    ) -> Result<Transcript, CommandError> {
        let store = self.texts.store;
        let reads = store.reads();
        let Some(mut session) = reads.view(session_uid)? else {
            let message = format_args!("this session was not read yet: `{session_uid}`");
            return Err(CommandError::not_found("session-unknown", message).with_hint("`boswell sweep` reads it"));
        };
        let own = reads.calls_of(session_uid)?;
        settle(&mut session, &own);
        self.calls.extend(own);
        let mut events = text.events()?;
        events.retain(|event| is_asked(event, turns));
        let mut wholes = text.wholes(&events)?;
        let mut all_turns = reads.turns(session_uid)?;
        if let Some(source) = text.source() {
            source.fill_session(&mut session).map_err(log_error)?;
            all_turns.clone_from(&source.reading().map_err(log_error)?.reading.turns);
        }
        let told = events.into_iter().map(|event| {
            let whole = wholes.remove(&event.seq).unwrap_or_default();
            TranscriptEntry {
                event,
                text: whole.text,
                images: whole.images,
            }
        });
        let told: Vec<TranscriptEntry> = told.collect();
        let subagents = self.subagents(session_uid, depth)?;
        let digest = self.digest(session_uid, text)?;
        Ok(Transcript {
            turns: asked_turns(all_turns, turns),
            head: TranscriptHead {
                name: reads.annotations_of(session_uid)?.name,
                outcome: outcome(digest.as_ref(), self.means),
                numbers: digest.as_ref().filter(|_| turns.is_none()).map(numbers),
                faults: reads.fault_count(session_uid)?,
                ..head(session, self.means)
            },
            events: told,
            subagents,
        })
    }

    /// Returns the digest, because every other command takes its numbers from it.
    fn digest(&self, session_uid: &str, text: &SessionText<'_>) -> Result<Option<Digest>, CommandError> {
        let store = self.texts.store;
        if let Some(stored) = digest::current_digest(store, session_uid)? {
            return Ok(Some(stored));
        }
        let settings = &self.means.digests;
        Ok(match text.source() {
            Some(source) => {
                let log = source.reading().map_err(log_error)?;
                let told = store.reads().facts_of(session_uid)?;
                digest::from_log(log, self.texts.masker, told, settings).map_err(log_error)?
            }
            None => digest::compute_digest(store, session_uid, settings)?.map(|(digest, _)| digest),
        })
    }

    /// Gathers the subagents whose text can be read.
    fn subagents(&mut self, session_uid: &str, depth: usize) -> Result<Vec<Subagent>, CommandError> {
        let mut subagents = Vec::new();
        if depth >= NESTED_MAX {
            return Ok(subagents);
        }
        let store = self.texts.store;
        for child in self.family.children(store, session_uid)? {
            let uid = child.session_uid.as_str();
            // A nested subagent names all its ancestors; it belongs to the nearest one.
            if !own_child(session_uid, &child) {
                continue;
            }
            let location = self.texts.locate(uid)?;
            let is_empty = location == TextLocation::Memory && !store.reads().has_raw_text(uid)?;
            let Some(text) = self.texts.open(uid, location).filter(|_| !is_empty) else {
                continue;
            };
            let transcript = self.session(uid, &text, None, depth + 1)?;
            subagents.push(Subagent {
                link: link_of(&transcript.head.session).or_else(|| link_of(&child)),
                transcript,
            });
        }
        Ok(subagents)
    }
}

/// Returns whether a session is a direct child of another one.
fn own_child(parent: &str, child: &Session) -> bool {
    let told = child
        .lineage
        .iter()
        .find(|link| link.kind == LineageKind::Subagent && link.child_uid == child.session_uid);
    told.is_none_or(|link| link.parent_uid.as_str() == parent)
}

fn link_of(child: &Session) -> Option<Lineage> {
    let mut links = child.lineage.iter();
    links
        .find(|link| link.kind == LineageKind::Subagent && link.child_uid == child.session_uid)
        .cloned()
}

/// Gathers a session from its log, without a memory.
pub(super) fn bare(
    path: &Path,
    agent: Option<Agent>,
    disclosure: Disclosure<'_>,
    means: &Means<'_>,
    turns: Option<TurnRange>,
) -> Result<Gathered, CommandError> {
    let read = logs::read_session(path, agent, disclosure).map_err(log_error)?;
    let calls: Vec<Call> = read.counted_calls().into_iter().flatten().cloned().collect();
    let Some(mut transcript) = bare_one(&read.main, disclosure, means, turns)? else {
        let message = format_args!("there is no session in it: `{}`", path.display());
        return Err(CommandError::not_found("log-empty", message));
    };
    let links: HashMap<String, Lineage> = read
        .main
        .reading
        .session
        .iter()
        .flat_map(|session| &session.lineage)
        .filter(|link| link.kind == LineageKind::Subagent)
        .map(|link| (link.child_uid.as_str().to_owned(), link.clone()))
        .collect();
    for log in &read.subagents {
        if let Some(child) = bare_one(log, disclosure, means, None)? {
            let told = links.get(child.head.session.session_uid.as_str()).cloned();
            subagent(&mut transcript, told.or_else(|| link_of(&child.head.session)), child);
        }
    }
    transcript.head.money = money(&usage::sum_calls(calls.iter(), &means.prices));
    if let Some(masker) = disclosure.masker() {
        mask_coloured(&mut transcript, masker);
    }
    Ok(Gathered {
        transcript,
        masked: 0,
        origin: TextOrigin::Source,
    })
}

fn subagent(parent: &mut Transcript, link: Option<Lineage>, transcript: Transcript) {
    parent.subagents.push(Subagent { link, transcript });
}

fn bare_one(
    log: &LogReading,
    disclosure: Disclosure<'_>,
    means: &Means<'_>,
    turns: Option<TurnRange>,
) -> Result<Option<Transcript>, CommandError> {
    let Some(session) = log.reading.session.clone() else {
        return Ok(None);
    };
    let mut events = Vec::new();
    let take = |event: &SessionEvent, whole: memory::whole::Whole| {
        events.push(TranscriptEntry {
            text: logs::spilled(&log.path, event, disclosure).or(whole.text),
            images: whole.images,
            event: event.clone(),
        });
        Ok::<(), std::convert::Infallible>(())
    };
    _ = logs::each_whole(log, disclosure, |event| is_asked(event, turns), take).map_err(log_error)?;
    // Events of other parts come last, so sorting puts them in their place.
    events.sort_by_key(|told| told.event.seq);
    let digest = digest::from_log(log, disclosure, Vec::new(), &means.digests).map_err(log_error)?;
    Ok(Some(Transcript {
        turns: asked_turns(log.reading.turns.clone(), turns),
        head: TranscriptHead {
            outcome: outcome(digest.as_ref(), means),
            numbers: digest.as_ref().filter(|_| turns.is_none()).map(numbers),
            faults: log.reading.faults.len() as u64,
            ..head(session, means)
        },
        events,
        subagents: Vec::new(),
    }))
}

fn outcome(digest: Option<&Digest>, means: &Means<'_>) -> Outcome {
    digest.map_or(Outcome::Unknown, |digest| {
        digest.outcome.as_of(digest.ended_at, means.digests.now).outcome
    })
}

fn numbers(digest: &Digest) -> SessionNumbers {
    SessionNumbers {
        turns: digest.turns.into(),
        tool_calls: digest.tool_calls,
        errors: digest.errors.count,
        wall_s: digest.time.wall_s,
        active_s: digest.time.active_s,
        commits: digest.commit_count(),
        files: digest.files.len() as u64,
    }
}

fn head(session: Session, means: &Means<'_>) -> TranscriptHead {
    let place = session.cwd.as_deref().and_then(|cwd| repos::find_repo(Path::new(cwd)));
    TranscriptHead {
        name: None,
        outcome: session.outcome,
        money: None,
        numbers: None,
        repository_url: place
            .and_then(|repo| repo.remote)
            .map(|remote| format!("https://{remote}")),
        masked: 0,
        faults: 0,
        zone: means.zone.clone(),
        session,
    }
}

fn settle(session: &mut Session, calls: &[Call]) {
    let all: Vec<&Call> = calls.iter().collect();
    let counts = transcript::counted(&all);
    session.settle(
        all.into_iter()
            .zip(counts)
            .filter(|(_, counts)| *counts)
            .map(|(call, _)| call),
    );
}

fn money(sum: &UsageSum) -> Option<SessionCost> {
    let micros = sum.micros().filter(|_| sum.calls > 0)?;
    Some(SessionCost {
        micros,
        is_partial: sum.unpriced_calls > 0,
    })
}

fn is_asked(event: &SessionEvent, turns: Option<TurnRange>) -> bool {
    turns.is_none_or(|turns| event.turn.is_some_and(|turn| turns.has(turn)))
}

fn asked_turns(mut all: Vec<Turn>, turns: Option<TurnRange>) -> Vec<Turn> {
    all.retain(|turn| turns.is_none_or(|turns| turns.has(turn.turn)));
    all
}
