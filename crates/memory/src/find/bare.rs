//! Searches the logs in a directory without a memory: reads, masks and searches them in place, newest first. Nothing is
//! written, and everything that is shown is masked.
//!
//! A prefilter scans a log first. A log that may match is read for its turns and then searched in stretches of about 1
//! MiB, so that a long log needs no more memory than a short one.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use jiff::Timestamp;
use transcript::{Agent, PartKind, Reading};

use super::kept::{add_turn, facts_of};
use super::{Findings, Found, Once, Question, nearest, told};
use crate::files;
use crate::ingest::{self, LineForm, LineMasker};
use crate::logs;
use crate::mask::Masker;
use crate::search::{
    self, FrameRange, LinePrefilter, PartFormat, SearchLimits, SearchPart, SearchSession, SearchSource, TurnRange,
};
use crate::sources::{self, LogFile};
use crate::store::{Annotations, ListedSession, SessionStatus};

/// Approximate size of a stretch of lines.
const STRETCH_BYTES: u64 = 1 << 20;
/// Number of logs per thread that are searched before the search checks if it has found enough.
const LOGS_AT_ONCE: usize = 8;
/// Maximum number of bytes of a spilled result that are searched.
const SPILL_BYTES_MAX: u64 = 16 << 20;

/// The directory with the logs, and the masker for their secrets.
pub struct Bare<'b> {
    pub directory: &'b Path,
    pub masker: &'b Masker,
}

/// Searches the logs in a directory. Reports a log that cannot be read and continues with the others.
pub fn find_bare(bare: &Bare<'_>, question: &Question<'_>) -> Findings {
    let mut unreadable = Vec::new();
    let logs = logs_in(bare.directory, &mut unreadable);
    let mut findings = find_in_logs(&logs, bare.masker, question);
    findings.unreadable.splice(0..0, unreadable);
    findings
}

/// Searches the given logs, which must be sorted newest first.
pub(super) fn find_in_logs(logs: &[LogFile], masker: &Masker, question: &Question<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut once = Once::default();
    for (at, some) in logs.chunks(LOGS_AT_ONCE * question.threads.max(1)).enumerate() {
        if (question.is_cancelled)() || question.enough.is_found(findings.found.len(), findings.work.read) {
            findings.is_partial = true;
            break;
        }
        let glanced = in_parallel(question, some.len(), &|at| glance(masker, question, &some[at]));
        let mut opened = Vec::new();
        for (log, may_hold) in some.iter().zip(glanced) {
            match may_hold {
                Ok(true) => opened.push(log),
                Ok(false) => findings.sessions += 1,
                Err(error) => findings.unreadable.push(format!("{}: {error}", log.path.display())),
            }
        }
        let sketched = in_parallel(question, opened.len(), &|at| Sketch::of(masker, opened[at]));
        let mut sketches = Vec::new();
        for sketch in sketched {
            match sketch {
                Ok(sketch) if (question.takes)(&sketch.listed) => sketches.push(sketch),
                Ok(_) => findings.hidden += 1,
                Err(reason) => findings.unreadable.push(reason),
            }
        }
        findings.sessions += sketches.len();
        ask(masker, question, &sketches, &mut findings, &mut once);
        let is_last = at + 1 == logs.len().div_ceil(LOGS_AT_ONCE * question.threads.max(1));
        if question.enough.is_found(findings.found.len(), findings.work.read) && !is_last {
            findings.is_partial = true;
            break;
        }
    }
    findings.found.sort_by_key(|one| std::cmp::Reverse(one.score));
    findings
}

/// Returns the logs of all agents below a directory, newest first.
fn logs_in(directory: &Path, unreadable: &mut Vec<String>) -> Vec<LogFile> {
    let mut logs: Vec<LogFile> = Vec::new();
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    // Claude Code is last because the names of its logs are the least specific.
    for agent in [Agent::Grok, Agent::Codex, Agent::Claude] {
        let found = sources::find_logs_in(agent, directory);
        for log in found.logs {
            let name = log.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_others = agent == Agent::Claude && sources::agent_of_companion(&name).is_some();
            if is_others || sources::is_ignored_file(agent, &name) || !known.insert(log.path.clone()) {
                continue;
            }
            match logs::agent_of_head(&log.path) {
                Ok(agent) => logs.push(LogFile { agent, ..log }),
                // A file that only has the extension of a log is not one.
                Err(logs::LogError::UnknownAgent { .. }) => {}
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        if agent == Agent::Claude {
            let told = found.unread.iter();
            unreadable.extend(told.map(|unread| format!("{}: {}", unread.path.display(), unread.reason)));
        }
    }
    logs.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    logs
}

/// Returns `true` if a log may match the query.
fn glance(masker: &Masker, question: &Question<'_>, log: &LogFile) -> io::Result<bool> {
    let mut glance = LinePrefilter::new(question.query);
    let spills = spills_of(log);
    let mut is_plain = |path: &Path| {
        let text = read_spill(masker, path).unwrap_or_default();
        text.split(|byte| *byte == b'\n')
            .any(|line| glance.may_hold(PartFormat::Plain, line))
    };
    if spills.iter().any(|path| is_plain(path)) {
        return Ok(true);
    }
    let mut lines = ingest::open_lines(&log.path, masker, LineForm::Json(Some(log.agent)))?;
    while let Some(line) = lines.next()? {
        if (question.is_cancelled)() {
            return Ok(false);
        }
        // The line is masked first because the query may match a tag.
        let line = line.mask(&mut Vec::new());
        if let Some(bytes) = line.bytes()
            && glance.may_hold(PartFormat::Records(log.agent), bytes)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The data of a log that may match.
struct Sketch {
    path: PathBuf,
    agent: Agent,
    listed: ListedSession,
    reading: Reading,
    stretches: Vec<Stretch>,
    spills: Vec<PathBuf>,
}

/// A range of lines of a log and its byte range.
struct Stretch {
    first_line: u64,
    lines: u64,
    start: u64,
    end: u64,
}

impl Sketch {
    fn of(masker: &Masker, log: &LogFile) -> Result<Self, String> {
        let reading = logs::sketch(&log.path, log.agent, masker).map_err(|error| error.to_string())?;
        let stretches = cut(masker, log).map_err(|error| format!("{}: {error}", log.path.display()))?;
        Ok(Self {
            listed: listed(log, &reading),
            path: log.path.clone(),
            agent: log.agent,
            reading,
            stretches,
            spills: spills_of(log),
        })
    }

    fn session(&self, keys: &mut Vec<(usize, usize)>, at: usize) -> SearchSession {
        let mut turns = Vec::new();
        for turn in &self.reading.turns {
            let range = TurnRange {
                turn: turn.turn,
                start_line: turn.start_line,
                end_line: turn.end_line,
            };
            add_turn(&mut turns, range);
        }
        let mut frame = |number: usize, first_line: u64, lines: u64| {
            keys.push((at, number));
            FrameRange {
                key: keys.len() as u64 - 1,
                first_line,
                lines,
            }
        };
        let frames = self.stretches.iter().enumerate();
        let frames = frames
            .map(|(number, stretch)| frame(number, stretch.first_line, stretch.lines))
            .collect();
        let mut parts = vec![SearchPart {
            form: PartFormat::Records(self.agent),
            turns,
            frames,
        }];
        parts.extend((0..self.spills.len()).map(|number| SearchPart {
            form: PartFormat::Plain,
            turns: Vec::new(),
            frames: vec![frame(self.stretches.len() + number, 1, u64::from(u32::MAX))],
        }));
        SearchSession {
            at_ms: self.listed.last_micros.unwrap_or_default() / 1000,
            parts,
        }
    }

    /// Returns the masked lines of a stretch by its number, or of a spilled result, which are numbered after the
    /// stretches.
    fn lines(&self, masker: &Masker, number: usize) -> io::Result<Vec<u8>> {
        let Some(stretch) = self.stretches.get(number) else {
            let spill = self.spills.get(number - self.stretches.len());
            return read_spill(masker, spill.ok_or_else(|| io::Error::other("no such part"))?);
        };
        let (file, _) = files::open_regular(&self.path)?;
        let mut masker = LineMasker::new(masker, LineForm::Json(Some(self.agent)));
        let mut source = ingest::unpacked(&self.path, file)?;
        source.seek_to_line(stretch.start, &mut masker)?;
        let mut lines = ingest::resume_lines(source, stretch.first_line - 1, stretch.start, masker);
        let mut masked = Vec::new();
        while let Some(line) = lines.next()? {
            if line.number() >= stretch.first_line + stretch.lines || line.offset() >= stretch.end {
                break;
            }
            masked.extend_from_slice(line.mask(&mut Vec::new()).bytes().unwrap_or_default());
            masked.push(b'\n');
        }
        Ok(masked)
    }
}

/// Divides a log into stretches.
fn cut(masker: &Masker, log: &LogFile) -> io::Result<Vec<Stretch>> {
    let mut lines = ingest::open_lines(&log.path, masker, LineForm::Json(Some(log.agent)))?;
    let mut stretches: Vec<Stretch> = Vec::new();
    while let Some(line) = lines.next()? {
        let (number, offset, end) = (line.number(), line.offset(), line.offset() + line.length());
        if stretches.last().is_none_or(|last| end - last.start > STRETCH_BYTES) {
            stretches.push(Stretch {
                first_line: number,
                lines: 0,
                start: offset,
                end: 0,
            });
        }
        if let Some(last) = stretches.last_mut() {
            last.lines += 1;
            last.end = end + 1;
        }
    }
    Ok(stretches)
}

fn spills_of(log: &LogFile) -> Vec<PathBuf> {
    match log.agent == Agent::Claude && !log.is_subagent {
        true => logs::spills_of(&log.path),
        false => Vec::new(),
    }
}

fn read_spill(masker: &Masker, path: &Path) -> io::Result<Vec<u8>> {
    let (file, _) = files::open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(SPILL_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(ingest::mask_bytes(masker, LineForm::Text, &bytes, &mut Vec::new()))
}

/// Returns the list entry of a log.
fn listed(log: &LogFile, reading: &Reading) -> ListedSession {
    let session = reading.session.as_ref();
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_microsecond);
    let started = micros(session.and_then(|session| session.started_at));
    let ended = micros(session.and_then(|session| session.ended_at));
    // A log that names no session is identified by its path.
    let place = || format!("{}:{}", log.agent.as_str(), log.path.display());
    ListedSession {
        session_uid: session.map_or_else(place, |session| session.session_uid.as_str().to_owned()),
        status: SessionStatus::Kept,
        started_micros: started,
        ended_micros: ended,
        last_micros: ended.or(started).or(micros(log.modified)),
        repo: session.and_then(|session| session.repo.as_deref().map(Into::into)),
        cwd: session.and_then(|session| session.cwd.as_deref().map(Into::into)),
        branch: session.and_then(|session| session.git_branch.as_deref().map(Into::into)),
        title: session.and_then(|session| session.title.clone()),
        is_subagent: log.is_subagent || session.is_some_and(|session| session.is_subagent),
        is_hidden: session.is_some_and(|session| session.is_hidden),
        first_prompt: reading.turns.first().map(|turn| turn.prompt.to_string()),
        said: Annotations::default(),
        machine: None,
        user: None,
    }
}

/// Searches the given logs and adds the hits to `findings`.
fn ask(masker: &Masker, question: &Question<'_>, sketches: &[Sketch], findings: &mut Findings, once: &mut Once) {
    // Maps the number of a frame to a log and its stretch.
    let mut keys: Vec<(usize, usize)> = Vec::new();
    let sessions: Vec<SearchSession> = sketches
        .iter()
        .enumerate()
        .map(|(at, sketch)| sketch.session(&mut keys, at))
        .collect();
    let all = question.query.wanted() | question.query.unwanted();
    let reach = SearchSource {
        terms: &|_| all,
        lines: &|key, scratch| {
            let (at, number) = keys[usize::try_from(key).map_err(io::Error::other)?];
            scratch.lines = sketches[at].lines(masker, number)?;
            Ok(())
        },
        facts: &|session, part| match part {
            0 => facts_of(sketches[session].reading.events.clone()),
            _ => Vec::new(),
        },
        is_cancelled: question.is_cancelled,
    };
    let effort = SearchLimits {
        now_ms: question.now.as_millisecond(),
        enough: question.enough.without(findings.found.len(), findings.work.read),
        threads: question.threads,
    };
    let answer = search::search(question.query, &sessions, &reach, &effort);
    findings.is_partial |= answer.is_partial || answer.is_cancelled;
    findings.work.add(&answer.work);
    findings
        .unreadable
        .extend(answer.unreadable.into_iter().map(|(_, reason)| reason));
    for hit in answer.hits {
        let sketch = &sketches[hit.session];
        let is_log = hit.part == 0;
        let of_line = sketch.reading.events.iter();
        let of_line = of_line.filter(|event| is_log && event.text_line.unwrap_or(event.line) == hit.line);
        let events: Vec<_> = of_line.cloned().collect();
        let event = nearest(&events, hit.block);
        let ts = event.and_then(|event| event.ts);
        if once.take(&mut findings.found, &sketch.listed.session_uid, ts, &hit.snippet) {
            continue;
        }
        let turns = &sketch.reading.turns;
        let turn = turns.iter().find(|turn| Some(turn.turn) == hit.turn);
        let prompt = turn.map(|turn| turn.prompt.to_string());
        let part = match is_log {
            true => PartKind::Log.as_str().to_owned(),
            false => PartKind::Spill.as_str().to_owned(),
        };
        findings.found.push(Found {
            path: Some(sketch.path.clone()),
            ..told(&sketch.listed, hit, part, event, prompt)
        });
    }
}

/// Calls `work` for each index on the configured number of threads. Returns the results in the order of the indexes.
fn in_parallel<T: Send>(question: &Question<'_>, count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    thread::scope(|scope| {
        for _ in 0..question.threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let one = work(at);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, one));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}
