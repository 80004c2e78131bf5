//! Which logs make up a day: chosen by their time and by the dates in them, read on several threads, each once.
//!
//! One bad log costs itself and is told; it never costs another one.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use transcript::{Agent, PartKind, SessionUid, grok_project};

use super::audit::Skipped;
use super::children::stem;
use super::copy::{Copied, Copies, copy};
use super::recalled::{Forgotten, KeptPart};
use super::roots::Project;
use super::scan::{Day, Scan, scan};
use super::text::Text;
use super::traces::native_id;
use super::write::waiting_place;
use super::{Ask, source_name};
use crate::files;
use crate::sources::{self, Log};
use crate::threads::on_threads;

/// A clock may be set back between the last line and the file's own time.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_hours(1);

/// Why a session is left out that a user wanted gone.
pub(super) const FORGOTTEN: &str = "was forgotten";

/// A root session of the day.
#[derive(Debug)]
pub(super) struct Picked {
    pub(super) agent: Agent,
    /// Where its log lies, or lay.
    pub(super) place: PathBuf,
    pub(super) id: String,
    pub(super) project: Project,
    pub(super) scan: Scan,
    pub(super) copied: Copied,
    /// What lies beside a Grok log, by its name.
    pub(super) beside: Vec<(String, Copied)>,
    /// Its log is gone, and its lines are those that were kept.
    pub(super) is_from_memory: bool,
}

/// What the logs gave.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) picked: Vec<Picked>,
    pub(super) skipped: Vec<Skipped>,
    /// Logs of children that were at work on the day: each is copied with its parent, or told.
    pub(super) children: Vec<PathBuf>,
}

impl Collected {
    /// Returns whether a session is part of the day.
    pub(super) fn has_session(&self, session_uid: &str) -> bool {
        let uid = |picked: &Picked| SessionUid::new(picked.agent, &picked.id);
        self.picked.iter().any(|picked| uid(picked).as_str() == session_uid)
    }
}

/// A log that is to be looked at.
pub(super) struct Candidate<'c> {
    pub(super) agent: Agent,
    /// Where its bytes are.
    pub(super) path: &'c Path,
    /// Where the agent had it: the same, unless it is gone.
    pub(super) place: &'c Path,
    pub(super) modified: Option<Timestamp>,
    pub(super) is_from_memory: bool,
    /// What lay beside a Grok log that is gone.
    pub(super) beside: &'c [KeptPart],
}

/// Whether a log was written to on the day or after it. What is not told is looked at.
pub(super) fn may_be_of_day(log: &Log, start: Timestamp) -> bool {
    log.modified.is_none_or(|modified| {
        modified
            .saturating_add(CLOCK_SLACK)
            .is_ok_and(|modified| modified >= start)
    })
}

/// Looks at all candidates. `copies` is an empty directory of ours.
pub(super) fn collect(ask: &Ask<'_>, candidates: &[Candidate<'_>], forgotten: &Forgotten, copies: &Path) -> Collected {
    let day = Day::new(ask.window);
    let outcomes = on_threads(ask.threads, candidates.len(), |number, room| {
        let to = waiting_place(copies, "", number);
        look(ask, &day, forgotten, &candidates[number], room, &to)
    });
    let mut collected = Collected::default();
    for (candidate, outcome) in candidates.iter().zip(outcomes) {
        outcome.into_collected(candidate, &mut collected);
    }
    collected
}

/// What became of a candidate.
enum Outcome {
    OtherDay,
    Child,
    Picked(Box<Picked>),
    Skipped(Vec<String>),
}

impl Outcome {
    fn forgotten() -> Self {
        Self::Skipped(vec![FORGOTTEN.to_owned()])
    }

    fn into_collected(self, candidate: &Candidate<'_>, collected: &mut Collected) {
        match self {
            Self::OtherDay => {}
            Self::Child => collected.children.push(candidate.place.to_owned()),
            Self::Picked(picked) => {
                let untimed = untimed(&picked.scan);
                collected
                    .skipped
                    .extend(untimed.map(|reason| Skipped::at(candidate.place, reason)));
                collected.picked.push(*picked);
            }
            Self::Skipped(reasons) => {
                let skipped = reasons.into_iter().map(|reason| Skipped::at(candidate.place, reason));
                collected.skipped.extend(skipped);
            }
        }
    }
}

fn look(
    ask: &Ask<'_>,
    day: &Day<'_>,
    forgotten: &Forgotten,
    candidate: &Candidate<'_>,
    room: &mut Vec<u8>,
    to: &Path,
) -> Outcome {
    let unread = |error: std::io::Error| Outcome::Skipped(vec![format!("cannot be read: {error}")]);
    let text = match Text::open(candidate.path, room) {
        Ok(text) => text,
        Err(error) => return unread(error),
    };
    match text.is_wide() {
        Ok(true) => return Outcome::Skipped(vec!["is written as UTF-16, which no agent writes".to_owned()]),
        Ok(false) => {}
        Err(error) => return unread(error),
    }
    let scanned = day.may_be_in(candidate.agent, &text).and_then(|may_be| {
        let scan = may_be.then(|| scan(candidate.agent, candidate.place, candidate.beside, &text, day));
        scan.transpose()
    });
    let scan = match scanned {
        Ok(Some(scan)) => scan,
        Ok(None) => return Outcome::OtherDay,
        Err(error) => return unread(error),
    };
    let is_forgotten = forgotten.has(
        candidate.agent,
        &native_id(candidate.agent, &candidate.place.to_string_lossy()),
    ) || forgotten.has(candidate.agent, &session_id(candidate.agent, candidate.place, &scan));
    if scan.is_child {
        return match scan.is_at_work {
            true if is_forgotten => Outcome::forgotten(),
            true => Outcome::Child,
            false => Outcome::OtherDay,
        };
    }
    if scan.turns.is_empty() {
        let was_written = candidate.modified.is_some_and(|modified| ask.window.contains(modified));
        return match lost(&scan, was_written) {
            reasons if reasons.is_empty() => Outcome::OtherDay,
            reasons => Outcome::Skipped(reasons),
        };
    }
    if is_forgotten {
        return Outcome::forgotten();
    }
    pick(ask, candidate, scan, &text, to).unwrap_or_else(unread)
}

/// Takes a session into the day, unless it is to be left out.
fn pick(ask: &Ask<'_>, candidate: &Candidate<'_>, scan: Scan, text: &Text<'_>, to: &Path) -> std::io::Result<Outcome> {
    let (agent, place) = (candidate.agent, candidate.place);
    let id = session_id(agent, place, &scan);
    let project = project(ask, candidate, &id, &scan);
    if project.is_inside(ask.reports_root) {
        return Ok(Outcome::Skipped(vec!["works on the reports themselves".to_owned()]));
    }
    if (ask.is_ignored)(candidate.path) {
        return Ok(Outcome::Skipped(vec!["is ignored by the settings".to_owned()]));
    }
    let copied = copy(text, ask.copies, to)?;
    let beside = match agent {
        Agent::Grok if candidate.is_from_memory => copy_kept(candidate.beside, ask.copies, to),
        Agent::Grok => copy_beside(place, ask.copies, to),
        Agent::Claude | Agent::Codex => Vec::new(),
    };
    Ok(Outcome::Picked(Box::new(Picked {
        agent,
        place: place.to_owned(),
        id,
        project,
        scan,
        copied,
        beside,
        is_from_memory: candidate.is_from_memory,
    })))
}

/// Why a session of which the day may have something has nothing in it.
fn lost(scan: &Scan, was_written: bool) -> Vec<String> {
    // Where no time stands at all, the file's own is all there is.
    let count = match scan.first_at {
        None if was_written => scan.malformed,
        _ => scan.malformed_of_day,
    };
    let torn =
        (count > 0).then(|| format!("no turn of the day can be read, and {count} malformed line(s) may hold one"));
    torn.into_iter().chain(untimed(scan)).collect()
}

fn untimed(scan: &Scan) -> Option<String> {
    let lines: Vec<String> = scan.untimed.iter().map(ToString::to_string).collect();
    let told = lines.join(", ");
    (!lines.is_empty()).then(|| format!("a human asks without a time, so on no day, at line(s) {told}"))
}

/// The agent's own id of a session, as the workspace has it.
fn session_id(agent: Agent, place: &Path, scan: &Scan) -> String {
    match agent {
        Agent::Claude => stem(place),
        Agent::Codex => scan
            .head
            .as_ref()
            .and_then(|head| head.id.clone())
            .unwrap_or_else(|| stem(place)),
        Agent::Grok => {
            let directory = place.parent().and_then(Path::file_name);
            directory.map_or_else(|| stem(place), |name| name.to_string_lossy().into_owned())
        }
    }
}

fn project(ask: &Ask<'_>, candidate: &Candidate<'_>, id: &str, scan: &Scan) -> Project {
    let agent = candidate.agent;
    let told = match agent {
        Agent::Claude | Agent::Codex => scan.cwd.clone(),
        Agent::Grok => {
            let seen = || scan.session.as_ref().and_then(|session| session.cwd.clone());
            grok_root(candidate).or_else(seen)
        }
    };
    let fallback = || {
        ask.fallback_roots
            .get(&agent)
            .map(|root| root.to_string_lossy().into_owned())
    };
    // The name of a directory can be a secret, too, and it becomes the name of the project.
    let masked = |root: String| match ask.copies {
        Copies::Masked(masker) => masker.mask_str(&root, &mut Vec::new()).into_owned(),
        Copies::Verbatim => root,
    };
    match told.or_else(fallback).map(masked) {
        Some(root) => Project::of_root(&root, ask.home),
        None => Project::unknown(source_name(agent), id),
    }
}

/// Where a Grok session worked: by its summary, else by the file for long paths, else by its directory's name.
fn grok_root(candidate: &Candidate<'_>) -> Option<String> {
    let directory = candidate.place.parent()?;
    let group = directory.parent()?;
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let kept = candidate.beside.iter().find(|part| part.kind == PartKind::Summary);
    let summary = match kept {
        Some(part) => fs::read(&part.file).ok(),
        None => files::read_companion(directory, &directory.join("summary.json")).ok(),
    };
    let summary: serde_json::Value = serde_json::from_slice(&summary.unwrap_or_default()).unwrap_or_default();
    let told = summary["info"]["cwd"]
        .as_str()
        .or(summary["cwd"].as_str())
        .and_then(said);
    let long = || {
        let bytes = files::read_companion(group, &group.join(".cwd")).ok()?;
        said(&String::from_utf8_lossy(&bytes))
    };
    told.or_else(long)
        .or_else(|| grok_project(&group.file_name()?.to_string_lossy()))
}

/// Copies what was kept of the files beside a Grok log.
fn copy_kept(kept: &[KeptPart], copies: Copies<'_>, to: &Path) -> Vec<(String, Copied)> {
    let files = kept.iter().map(|part| (part.name, part.file.as_path()));
    files
        .filter_map(|(name, file)| copy_one(name, file, copies, to))
        .collect()
}

/// Copies what lies beside a Grok log. What cannot be read costs itself.
fn copy_beside(place: &Path, copies: Copies<'_>, to: &Path) -> Vec<(String, Copied)> {
    let mut beside = Vec::new();
    for (_, name) in sources::GROK_PARTS {
        let path = place.with_file_name(name);
        if path == place || path.symlink_metadata().is_err() {
            continue;
        }
        beside.extend(copy_one(name, &path, copies, to));
    }
    beside
}

fn copy_one(name: &str, path: &Path, copies: Copies<'_>, to: &Path) -> Option<(String, Copied)> {
    let own = to.with_extension(name.replace('.', "-"));
    let mut room = Vec::new();
    let copied = Text::open(path, &mut room).and_then(|text| copy(&text, copies, &own));
    copied.ok().map(|copied| (name.to_owned(), copied))
}

/// Of a session that lies in two places the longest copy counts. The others are told.
pub(super) fn without_copies(picked: Vec<Picked>, roots: &[PathBuf], skipped: &mut Vec<Skipped>) -> Vec<Picked> {
    let root_of = |place: &Path| roots.iter().position(|root| place.starts_with(root));
    let mut kept: Vec<Picked> = Vec::new();
    let mut known: HashMap<(Agent, String), Vec<usize>> = HashMap::new();
    for one in picked {
        let same = known.entry((one.agent, one.id.clone())).or_default();
        // Two logs of one root are two sessions, whatever they call themselves.
        let twin = same.iter().copied().find(|at| {
            let other: &Picked = &kept[*at];
            root_of(&other.place) != root_of(&one.place) && stem(&other.place) == stem(&one.place)
        });
        let Some(at) = twin else {
            same.push(kept.len());
            kept.push(one);
            continue;
        };
        let (longer, shorter) = match one.scan.lines > kept[at].scan.lines {
            true => (Some(one), std::mem::take(&mut kept[at].place)),
            false => (None, one.place),
        };
        skipped.push(Skipped::at(
            &shorter,
            "is a copy of a session that is longer elsewhere".to_owned(),
        ));
        if let Some(longer) = longer {
            kept[at] = longer;
        }
    }
    kept
}
