//! Stores the prompts of the agents' histories, masked. Histories outlive logs, so the prompts of a session stay known
//! after the agent has deleted its log.
//!
//! Only files known by name are opened, and only their new lines are read. If a history was trimmed or rewritten, it is
//! read again from the beginning; prompts stored before stay. An error in one of these files never fails the sweep: it
//! is reported, and only that file is skipped.

mod image;
mod remask;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use transcript::{Agent, HistoryPrompt, grok_project, history_prompts, is_session_id};

use crate::files;
use crate::ingest::{self, LineForm, LineMasker};
use crate::mask::{Hit, MaskVersion};
use crate::sources::{LogRoot, UnreadPath};
use crate::store::foreign::{IndexedSession, indexed_sessions};
use crate::store::{FileStat, LockWait, PromptFile, PromptRow, PromptSource, Store, StoreError};
use crate::sweep::ends::hashes;
use crate::sweep::plan::{is_quiet, stat};
use crate::sweep::{Sweep, SweepReport, describe_reads, path_text};

/// A longer prompt is truncated to this length, because no user typed it by hand.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Number of prompts, and bytes of their texts, after which a batch is committed. This limits memory.
const BATCH_PROMPTS: usize = 4096;
const BATCH_BYTES: usize = 16 << 20;
/// Maximum number of unreadable lines of one history that are reported one by one.
const REPORTED_FAULTS_MAX: usize = 10;

/// A file that contains prompts.
struct History {
    agent: Agent,
    kind: HistoryKind,
    path: PathBuf,
    /// The root that contains the file. Links that lead out of it are not followed.
    root: PathBuf,
    /// The directory in which the prompts were typed, if the location of the file names it.
    project: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryKind {
    /// One prompt per line.
    Lines,
    /// A database with one row per session.
    Index,
}

/// Stores the new prompts of the agents' histories.
pub(crate) fn run(
    sweep: &Sweep<'_>,
    patience: LockWait<'_>,
    store: &mut Store,
    report: &mut SweepReport,
) -> Result<(), StoreError> {
    remask::remask(sweep, patience, store, report)?;
    let known = load_positions(store)?;
    for history in find_histories(sweep, report) {
        if is_unchanged(sweep.now, &history, &known) {
            report.files_unchanged += 1;
            continue;
        }
        let mut reader = HistoryReader {
            sweep,
            patience,
            store,
            report,
            history: &history,
            hits: Vec::new(),
        };
        let done = match history.kind {
            HistoryKind::Lines => reader.read_lines(known.get(&path_text(&history.path))),
            HistoryKind::Index => reader.read_index(),
        };
        let redactions = reader.hits.len() as u64;
        report.redactions += redactions;
        match done {
            Ok(()) => {
                report.files_read += 1;
                report.agents.entry(history.agent).or_default().files_read += 1;
            }
            Err(HistoryError::Store(error)) => return Err(error),
            Err(HistoryError::Unread(reason)) => {
                report.faults += 1;
                report.unread.push(UnreadPath {
                    path: history.path.clone(),
                    reason,
                });
            }
        }
    }
    Ok(())
}

/// Adds to the report what a sweep would read. Writes nothing.
pub(crate) fn dry_run(sweep: &Sweep<'_>, store: Option<&Store>, report: &mut SweepReport) -> Result<(), StoreError> {
    let known = store.map_or(Ok(HashMap::new()), load_positions)?;
    for history in find_histories(sweep, report) {
        if is_unchanged(sweep.now, &history, &known) {
            report.files_unchanged += 1;
            continue;
        }
        let size = read_stat(&history.path).map_or(0, |stat| stat.size);
        let before = known.get(&path_text(&history.path)).map_or(0, |file| file.read_to);
        report.files_read += 1;
        report.bytes_read += size.checked_sub(before).unwrap_or(size);
    }
    Ok(())
}

/// Returns the stored position in each history, by path.
fn load_positions(store: &Store) -> Result<HashMap<String, PromptFile>, StoreError> {
    let files = store.reads().prompt_files()?;
    Ok(files.into_iter().map(|file| (file.path.clone(), file)).collect())
}

/// Returns the readable histories of all roots, each once. The others are reported.
fn find_histories(sweep: &Sweep<'_>, report: &mut SweepReport) -> Vec<History> {
    let mut found: Vec<History> = Vec::new();
    for root in sweep.roots {
        for history in list_histories(root) {
            let is_new = found.iter().all(|known| known.path != history.path);
            let is_there = fs::symlink_metadata(&history.path).is_ok();
            if !is_new || !is_there || (sweep.is_ignored)(&history.path) {
                continue;
            }
            report.files_seen += 1;
            report.agents.entry(history.agent).or_default().files_seen += 1;
            match files::resolve_inside(&history.root, &history.path).and_then(|real| files::open_regular(&real)) {
                Ok(_) => found.push(history),
                Err(error) => {
                    report.faults += 1;
                    report.unread.push(UnreadPath {
                        path: history.path,
                        reason: error.to_string(),
                    });
                }
            }
        }
    }
    found
}

/// Returns the files in which an agent keeps its histories. They may not exist.
fn list_histories(root: &LogRoot) -> Vec<History> {
    let history = |kind, path, project| History {
        agent: root.agent,
        kind,
        path,
        root: root.path.clone(),
        project,
    };
    if root.agent != Agent::Grok {
        return vec![history(HistoryKind::Lines, root.path.join("history.jsonl"), None)];
    }
    let sessions = root.path.join("sessions");
    let mut found = vec![history(
        HistoryKind::Index,
        sessions.join("session_search.sqlite"),
        None,
    )];
    let mut groups: Vec<PathBuf> = fs::read_dir(&sessions)
        .into_iter()
        .flatten()
        .flatten()
        // Links are not followed.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    groups.sort();
    for group in groups {
        let path = group.join("prompt_history.jsonl");
        let project = read_project(&root.path, &group);
        found.push(history(HistoryKind::Lines, path, project));
    }
    found
}

/// Returns the project of one of Grok's directories. Its name encodes the path; if the path was too long for a name, a
/// file in the directory contains it.
fn read_project(root: &Path, group: &Path) -> Option<String> {
    let name = group.file_name()?.to_string_lossy();
    grok_project(&name).or_else(|| {
        let bytes = files::read_companion(root, &group.join(".cwd")).ok()?;
        Some(String::from_utf8(bytes).ok()?.trim().to_owned()).filter(|project| !project.is_empty())
    })
}

/// Returns `true` if a file is unchanged since it was read. A file with an unfinished last line counts as changed once
/// it is quiet, because that line is read then.
fn is_unchanged(now: Timestamp, history: &History, known: &HashMap<String, PromptFile>) -> bool {
    let (Some(stat), Some(file)) = (read_stat(&history.path), known.get(&path_text(&history.path))) else {
        return false;
    };
    match history.kind {
        HistoryKind::Lines => file.stat == stat && !(file.read_to < stat.size && is_quiet(now, stat)),
        HistoryKind::Index => {
            let wal = image::wal_path(&history.path);
            let left = known.get(&path_text(&wal)).map(|file| file.stat);
            file.stat == stat && left == Some(read_stat(&wal).unwrap_or_default())
        }
    }
}

/// Returns the metadata of a file, or `None` if it does not exist.
fn read_stat(path: &Path) -> Option<FileStat> {
    fs::metadata(path).ok().map(|metadata| stat(&metadata))
}

/// Reads a file completely. Returns an error if it is larger than `bytes_max`.
fn read_whole(root: &Path, path: &Path, bytes_max: u64) -> io::Result<(Vec<u8>, FileStat)> {
    let (file, metadata) = files::open_regular(&files::resolve_inside(root, path)?)?;
    if metadata.len() > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large to read"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok((bytes, stat(&metadata)))
}

/// The error because of which a history was not read. Only an error of our own store fails the sweep.
enum HistoryError {
    Store(StoreError),
    Unread(String),
}

impl From<StoreError> for HistoryError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for HistoryError {
    fn from(error: io::Error) -> Self {
        Self::Unread(error.to_string())
    }
}

struct HistoryReader<'r> {
    sweep: &'r Sweep<'r>,
    patience: LockWait<'r>,
    store: &'r mut Store,
    report: &'r mut SweepReport,
    history: &'r History,
    hits: Vec<Hit>,
}

impl HistoryReader<'_> {
    /// Reads the new lines of a history.
    fn read_lines(&mut self, known: Option<&PromptFile>) -> Result<(), HistoryError> {
        let path = files::resolve_inside(&self.history.root, &self.history.path)?;
        let (mut file, metadata) = files::open_regular(&path)?;
        let stat = stat(&metadata);
        let known = match known {
            Some(known) if is_continued(&mut file, &path, known, stat)? => Some(known),
            _ => None,
        };
        let mut batch = PromptBatch::default();
        let (mut read_to, mut count) = known.map_or((0, 0), |known| (known.read_to, known.lines));
        let mut ends_mid_line = known.is_some_and(|known| known.ends_mid_line);
        if ends_mid_line && read_to < stat.size {
            // The line was kept without its line break, which is the next byte now.
            (read_to, ends_mid_line) = (read_to + 1, false);
            batch.bytes_read = 1;
        }
        file.seek(SeekFrom::Start(read_to))?;
        let masker = LineMasker::new(self.sweep.masker, LineForm::Json(Some(self.history.agent)));
        let mut lines = ingest::resume_lines(file, count, read_to, masker);
        let mut faults = 0;
        while let Some(line) = lines.next()? {
            // An unfinished line may still be written to, unless the file is quiet.
            if !line.is_terminated() && !is_quiet(self.sweep.now, stat) {
                break;
            }
            let (number, length, terminated) = (line.number(), line.length(), line.is_terminated());
            let line_bytes = length + u64::from(terminated);
            let (prompts, fault) = history_prompts(self.history.agent, &line.mask(&mut self.hits));
            let version = self.sweep.masker.version();
            batch.extend(
                prompts
                    .into_iter()
                    .map(|prompt| prompt_row(prompt, self.history, version)),
            );
            if let Some(fault) = fault {
                faults += 1;
                report_fault(self.report, self.history, faults, &fault);
            }
            (count, ends_mid_line) = (number, !terminated);
            read_to += line_bytes;
            batch.bytes_read += line_bytes;
            if batch.is_full() {
                let cursor = self.cursor(&path, stat, read_to, count, ends_mid_line)?;
                self.commit(&mut batch, &[cursor])?;
            }
        }
        let cursor = self.cursor(&path, stat, read_to, count, ends_mid_line)?;
        self.commit(&mut batch, &[cursor])
    }

    fn cursor(
        &self,
        path: &Path,
        stat: FileStat,
        read_to: u64,
        lines: u64,
        ends_mid_line: bool,
    ) -> io::Result<PromptFile> {
        let (head_hash, tail_hash) = hashes(path, read_to)?;
        Ok(PromptFile {
            path: path_text(&self.history.path),
            stat,
            read_to,
            lines,
            ends_mid_line,
            head_hash,
            tail_hash,
        })
    }

    /// Reads an index of sessions. Sessions whose logs are stored are left out, because the logs contain more.
    fn read_index(&mut self) -> Result<(), HistoryError> {
        let read = image::read(&self.history.root, &self.history.path)?;
        let sessions = indexed_sessions(&read.bytes).map_err(|error| HistoryError::Unread(error.to_string()))?;
        let stored = self.store.reads().sessions()?;
        let stored: HashSet<&str> = stored.iter().map(|session| session.session_uid.as_str()).collect();
        let mut batch = PromptBatch {
            bytes_read: read.bytes_read,
            ..PromptBatch::default()
        };
        for session in sessions {
            let uid = format!("{}:{}", self.history.agent.as_str(), session.session_id);
            if is_session_id(&session.session_id) && !stored.contains(uid.as_str()) {
                let row = self.indexed_row(session);
                batch.extend([row]);
            }
            if batch.is_full() {
                self.commit(&mut batch, &[])?;
            }
        }
        let cursor = |path: &Path, stat: FileStat| PromptFile {
            path: path_text(path),
            stat,
            read_to: stat.size,
            lines: 0,
            ends_mid_line: false,
            head_hash: [0; 32],
            tail_hash: [0; 32],
        };
        let wal = cursor(&image::wal_path(&self.history.path), read.wal_stat);
        self.commit(&mut batch, &[cursor(&self.history.path, read.stat), wal])
    }

    fn indexed_row(&mut self, session: IndexedSession) -> PromptRow {
        let mut mask = |text: String| {
            let text = truncate_text(text);
            self.sweep.masker.mask_str(&text, &mut self.hits).into_owned()
        };
        let (title, content) = (session.title.map(&mut mask), session.content.map(&mut mask));
        PromptRow {
            agent: self.history.agent,
            native_session_id: Some(mask(session.session_id)),
            source: PromptSource::Index,
            at_micros: session.updated_at.and_then(|at| at.checked_mul(1_000_000)),
            project: session.cwd.map(mask),
            title: title.filter(|title| !title.is_empty()),
            text: content.unwrap_or_default(),
            mask_version: self.sweep.masker.version(),
        }
    }

    /// Commits a batch together with the positions up to which the files are read.
    fn commit(&mut self, batch: &mut PromptBatch, files: &[PromptFile]) -> Result<(), HistoryError> {
        let PromptBatch { rows, bytes_read, .. } = std::mem::take(batch);
        let lock = self.store.lock(self.patience)?;
        let (sessions, prompts) = (self.report.sessions(), self.report.prompts);
        let all_bytes = self.report.bytes_read + bytes_read;
        let new = self.store.write(&lock, self.sweep.now, "sweep", |tx| {
            let new = tx.add_prompts(&rows)?;
            for file in files {
                tx.put_prompt_file(file)?;
            }
            Ok((
                new,
                describe_reads(
                    all_bytes,
                    sessions,
                    prompts + new,
                    self.report.digested.len() as u64,
                    &self.report.evicted,
                ),
            ))
        })?;
        self.report.prompts += new;
        self.report.bytes_read += bytes_read;
        self.report.agents.entry(self.history.agent).or_default().bytes_read += bytes_read;
        Ok(())
    }
}

/// Prompts that wait for their commit.
#[derive(Default)]
struct PromptBatch {
    rows: Vec<PromptRow>,
    text_bytes: usize,
    bytes_read: u64,
}

impl PromptBatch {
    fn extend(&mut self, rows: impl IntoIterator<Item = PromptRow>) {
        for row in rows {
            self.text_bytes += row.text.len();
            self.rows.push(row);
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_PROMPTS || self.text_bytes >= BATCH_BYTES
    }
}

/// Returns `true` if a history begins with the bytes that were read from it and its unfinished last line was not
/// continued.
fn is_continued(file: &mut fs::File, path: &Path, known: &PromptFile, stat: FileStat) -> io::Result<bool> {
    // A shorter file was trimmed, so its lines have other numbers now.
    if stat.size < known.read_to {
        return Ok(false);
    }
    if known.ends_mid_line && stat.size > known.read_to {
        let mut byte = [0];
        file.seek(SeekFrom::Start(known.read_to))?;
        if file.read(&mut byte)? == 1 && byte[0] != b'\n' {
            return Ok(false);
        }
    }
    Ok(hashes(path, known.read_to)? == (known.head_hash, known.tail_hash))
}

fn prompt_row(prompt: HistoryPrompt, history: &History, mask_version: MaskVersion) -> PromptRow {
    PromptRow {
        agent: prompt.agent,
        native_session_id: prompt.native_session_id,
        source: PromptSource::History,
        at_micros: prompt.ts.map(Timestamp::as_microsecond),
        project: prompt
            .project
            .or_else(|| history.project.clone())
            .filter(|project| !project.is_empty()),
        title: None,
        text: truncate_text(prompt.text),
        mask_version,
    }
}

/// Truncates a text that is too long to have been typed.
fn truncate_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

/// Reports a line that could not be parsed. After the first few of a file, they are only counted.
fn report_fault(report: &mut SweepReport, history: &History, nth: usize, fault: &transcript::Fault) {
    report.faults += 1;
    if nth <= REPORTED_FAULTS_MAX && !fault.mended {
        report.unread.push(UnreadPath {
            path: history.path.clone(),
            reason: format!("line {}: {}", fault.line, fault.reason),
        });
    }
}
