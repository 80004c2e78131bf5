//! The work on the log of one session: a worker finds the position at which to continue, masks and reads the new lines,
//! and sends them in pieces, each of which can be committed on its own.

mod companions;
mod let_go;

use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use transcript::{Delta, LineBody, Origin, Part, PartKind, State};

pub(super) use self::companions::{ROW_BYTES_MAX, companion_form};
use super::ends::{self, Ends};
use super::gather::Gathered;
use super::piece::{
    Extension, LastStaged, Output, PIECE_BYTES, Piece, PieceChange, PieceLines, Replaces, StagedLines, searched,
};
use super::plan::{Job, is_quiet, stat};
use super::{Sweep, path_text};
use crate::digest::{self, InMemorySession};
use crate::files;
use crate::ingest::{self, LineForm, LineMasker, PendingLine};
use crate::packs;
use crate::sources::{self, UnreadPath};
use crate::store::{Cursor, FileStat, FreshDigest, FreshEvents, PackedState, Store, Tail, stand_in};

/// Reads the new content of one session. Returns `false` once the receiver has hung up.
pub(super) fn run(job: &Job, sweep: &Sweep<'_>, store: &Store, send: &dyn Fn(Output) -> bool) -> bool {
    match Worker::new(job, sweep, store, send).and_then(|mut worker| worker.run()) {
        Ok(goes_on) => goes_on,
        Err(error) => send(Output::Aborted(job.uid.clone(), job.unread(&error.to_string()))),
    }
}

struct Worker<'w> {
    job: &'w Job,
    sweep: &'w Sweep<'w>,
    store: &'w Store,
    send: &'w dyn Fn(Output) -> bool,
    state: State,
    /// `true` if the session is read from its beginning.
    is_fresh: bool,
    is_first: bool,
    /// `true` if a piece with events was sent, and later pieces may still change those events.
    has_events: bool,
    /// The files that were checked, each with the hashes of the part already read. Reading continues with the same open
    /// file, even if another file has taken its path by then.
    looked: Vec<(PartKind, File, Ends)>,
    /// The read positions of the parts of a session that is being rebuilt.
    cursors: Vec<Cursor>,
    /// The read positions of all parts once every piece that was sent is committed.
    base: Vec<Cursor>,
    bytes_checked: u64,
}

impl<'w> Worker<'w> {
    fn new(job: &'w Job, sweep: &'w Sweep<'w>, store: &'w Store, send: &'w dyn Fn(Output) -> bool) -> io::Result<Self> {
        // A damaged state is treated as missing: the log still exists, so it is read again from its beginning.
        let is_begun = !job.cursors.is_empty();
        let kept = is_begun.then(|| store.reads().reader_state(&job.uid).ok().flatten());
        let kept = kept.flatten().and_then(|bytes| State::from_bytes(&bytes).ok());
        let mut worker = Self {
            job,
            sweep,
            store,
            send,
            state: fresh(job),
            is_fresh: true,
            is_first: true,
            has_events: false,
            looked: Vec::new(),
            cursors: Vec::new(),
            base: job.base.clone(),
            bytes_checked: 0,
        };
        if let Some(state) = kept
            && worker.all_parts_go_on()?
        {
            (worker.state, worker.is_fresh) = (state, false);
        }
        Ok(worker)
    }

    /// Returns `true` if every part still begins with the bytes that we read before.
    fn all_parts_go_on(&mut self) -> io::Result<bool> {
        for part in self.line_parts() {
            if let Some(cursor) = self.job.cursors.get(part.kind.as_str()) {
                if self.store.reads().tail(&self.job.uid, part.kind.as_str()).is_err() {
                    return Ok(false);
                }
                let (file, _) = files::open_regular(&part.path)?;
                let look = ends::look(&part.path, &file, cursor)?;
                self.bytes_checked += look.bytes;
                match look.ends {
                    Some(ends) => self.looked.push((part.kind, file, ends)),
                    None => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    fn line_parts(&self) -> impl Iterator<Item = &'w Part> + use<'w> {
        self.job.source.parts.iter().filter(|part| part.kind.has_lines())
    }

    fn run(&mut self) -> io::Result<bool> {
        if self.job.is_copy {
            return self.remember();
        }
        if self.job.is_let_go && self.tells_nothing_new()? {
            return self.touch();
        }
        self.tell_of_other_logs();
        let goes_on = self.companions()? && (self.state.is_stale() || self.all_lines()?);
        if !self.state.is_stale() {
            return Ok(goes_on);
        }
        // A companion or a late part has changed the meaning of earlier lines, so the session is read again from its
        // beginning.
        (self.state, self.is_fresh, self.is_first) = (fresh(self.job), true, true);
        self.has_events = false;
        self.cursors.clear();
        Ok(self.companions()? && self.all_lines()?)
    }

    /// Reads the new lines of all parts. Returns `false` if the receiver has hung up or the reader's state is stale.
    fn all_lines(&mut self) -> io::Result<bool> {
        let last = self.line_parts().last().map(|part| part.kind);
        for part in self.line_parts() {
            if !self.lines(part, Some(part.kind) == last)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reports, once, the content beside the log that is not stored: companions that are not regular files, and copies
    /// that are not a beginning of the longest log.
    fn tell_of_other_logs(&mut self) {
        for odd in sources::find_irregular_companions(self.job.agent, &self.job.log()) {
            (self.send)(Output::Failed(odd));
        }
        for (path, stat, _) in self.job.copies.iter().filter(|(.., is_new)| *is_new) {
            let same = ends::same_beginning(&self.job.log(), path, stat.size);
            if let Ok((false, bytes)) = same {
                self.bytes_checked += bytes;
                (self.send)(Output::Failed(UnreadPath {
                    path: path.clone(),
                    reason: "another log of the same session is longer and differs: only that one is kept".to_owned(),
                }));
            }
        }
    }

    /// Reads the new lines of a part. `is_last` means that no other part of the session comes after it.
    fn lines(&mut self, part: &Part, is_last: bool) -> io::Result<bool> {
        let (file, ends) = self.open(part)?;
        let stat = stat(&file.metadata()?);
        let known = self.job.cursors.get(part.kind.as_str()).filter(|_| !self.is_fresh);
        let known = known.cloned();
        let from = known.as_ref().map_or(0, |cursor| cursor.read_to);
        let is_quiet = is_quiet(self.sweep.now, stat);
        let mut masker = LineMasker::new(self.sweep.masker, LineForm::Json(Some(self.job.agent)));
        let mut source = ingest::unpacked(&part.path, file)?;
        source.seek_to_line(from, &mut masker)?;
        let mut piece = Gathered::new(
            searched(self.store, self.job.agent, part.kind),
            self.tail_of(part, known.as_ref())?,
            ends,
            known.as_ref().map_or(0, |c| c.lines),
            from,
        );
        piece.stays_at_hand = self.stay_at_hand(part);
        let mut base = known;
        // If the last line still has no line break, nothing was appended: the loop below reads no line, and only the
        // path may have changed.
        if base.as_ref().is_some_and(|cursor| cursor.ends_mid_line) {
            piece.ends_mid_line = !piece.finish_line(&mut source)?;
        }
        let mut lines = ingest::resume_lines(source, piece.lines, piece.read_to, masker);
        while let Some(line) = lines.next()? {
            // A line that is still being written is left for later, unless the file has been unchanged for a while.
            if !line.is_terminated() && !is_quiet {
                break;
            }
            self.take(part.kind, line, &mut piece)?;
            if piece.bytes_read >= PIECE_BYTES {
                // The file is not yet read to its end, so its current metadata must not be stored as proof that nothing
                // is new.
                base = match self.commit(part, FileStat::default(), base, &mut piece, false)? {
                    Some(cursor) => Some(cursor),
                    None => return Ok(false),
                };
                if !self.is_anew() && (self.sweep.is_over)() {
                    return Ok((self.send)(Output::Left(self.job.uid.clone())));
                }
            }
        }
        if is_quiet {
            piece.cut_frame()?;
        }
        Ok(self.commit(part, stat, base, &mut piece, is_last)?.is_some())
    }

    /// Opens the file of a part: if reading continues, the file that was checked.
    fn open(&self, part: &Part) -> io::Result<(File, Ends)> {
        let known = self
            .looked
            .iter()
            .find(|(kind, ..)| *kind == part.kind && !self.is_fresh);
        match known {
            Some((_, file, ends)) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok((file, ends.clone()))
            }
            None => Ok((files::open_regular(&part.path)?.0, Ends::default())),
        }
    }

    /// Returns the stored lines of a part that do not fill a frame yet.
    fn tail_of(&self, part: &Part, known: Option<&Cursor>) -> io::Result<Tail> {
        if known.is_none() {
            return Ok(Tail::default());
        }
        let tail = self.store.reads().tail(&self.job.uid, part.kind.as_str());
        Ok(tail.map_err(io::Error::other)?.unwrap_or_default())
    }

    /// Masks one line, parses it, and adds it to the piece.
    fn take(&mut self, kind: PartKind, line: PendingLine<'_, '_>, piece: &mut Gathered) -> io::Result<()> {
        let (number, length, terminated) = (line.number(), line.length(), line.is_terminated());
        match line.raw() {
            LineBody::Bytes(raw) => {
                let masked = line.mask(&mut piece.found);
                piece.read(&mut self.state, kind, &masked);
                piece.ends.push(raw);
                piece.keep(number, masked.bytes().unwrap_or_default(), length, terminated)
            }
            LineBody::Oversized { hash, .. } => {
                let masked = line.mask(&mut piece.found);
                self.state.take(kind, &masked, &mut piece.delta);
                piece.ends.push_hash(&hash);
                piece.keep(
                    number,
                    packs::format_placeholder(&masked).as_bytes(),
                    length,
                    terminated,
                )
            }
        }
    }

    /// Sends the gathered lines. Returns the cursor after them, or `None` if the receiver has hung up or the reader's
    /// state is stale.
    fn commit(
        &mut self,
        part: &Part,
        stat: FileStat,
        base: Option<Cursor>,
        gathered: &mut Gathered,
        is_last: bool,
    ) -> io::Result<Option<Cursor>> {
        if self.state.is_stale() {
            return Ok(None);
        }
        let at = (gathered.read_to, gathered.lines, gathered.ends_mid_line);
        let cursor = self.cursor(part, stat, &gathered.ends, at);
        let mut delta = std::mem::take(&mut gathered.delta);
        self.state.close(&mut delta);
        crate::digest::name_repo(&mut delta);
        let events = delta.events.len() as u64;
        let is_alone = self.is_fresh && !self.has_events;
        self.has_events |= events > 0;
        let fresh = is_alone.then(|| FreshEvents::take(&mut delta));
        let is_all = gathered.stays_at_hand && base.is_none() && is_last;
        let digest = match fresh.as_ref().zip(self.sweep.digests).filter(|_| is_all) {
            Some((events, settings)) => self.digest(&delta, events, &settings, gathered)?,
            None => None,
        };
        let lines = PieceLines {
            frames: std::mem::take(&mut gathered.frames),
            tail: gathered.tail.pack()?,
            tail_marks: gathered.tail_marks(),
        };
        let mut piece = self.piece(part, cursor.clone(), lines, delta, is_last);
        piece.events = events;
        piece.pages = fresh.map(|fresh| fresh.pack());
        if let PieceChange::Extend(extension) = &mut piece.change {
            extension.digest = digest;
        }
        piece.bytes_read = std::mem::take(&mut gathered.bytes_read);
        piece.redactions = std::mem::take(&mut gathered.found).len() as u64;
        Ok((self.send)(Output::Piece(piece)).then_some(cursor))
    }

    /// Returns the digest of the session, with all its lines and events still in memory.
    fn digest(
        &self,
        delta: &Delta,
        events: &FreshEvents,
        settings: &digest::DigestSettings<'_>,
        gathered: &Gathered,
    ) -> io::Result<Option<FreshDigest>> {
        let at_hand = InMemorySession {
            uid: &self.job.uid,
            agent: self.job.agent,
            delta,
            events,
        };
        let made = at_hand.digest(self.store, settings, gathered.stretches());
        made.map_err(io::Error::other)
    }

    /// Returns `true` if lines stay in memory for the digest, because one piece may contain all of them.
    fn stay_at_hand(&self, part: &Part) -> bool {
        let is_alone = part.kind == PartKind::Log && self.line_parts().count() == 1;
        is_alone && self.is_fresh && !self.is_anew() && self.sweep.digests.is_some()
    }

    /// Returns `true` if the session is built as a temporary copy that replaces the stored rows at once: the old rows
    /// stay until then, and the reader's state of a long log is stored only once.
    fn is_anew(&self) -> bool {
        self.is_fresh && (self.job.is_known || self.job.log_bytes > PIECE_BYTES)
    }

    /// Returns the uid under which pieces are stored.
    fn target(&self) -> String {
        if self.is_anew() {
            stand_in(&self.job.uid)
        } else {
            self.job.uid.clone()
        }
    }

    /// Makes a piece of the session itself, or of its temporary copy if the session is rebuilt.
    fn piece(&mut self, part: &Part, cursor: Cursor, lines: PieceLines, delta: Delta, is_last: bool) -> Piece {
        if !self.is_anew() {
            return self.extend(part, cursor, Some(lines), delta);
        }
        let begins = std::mem::take(&mut self.is_first);
        let name = cursor.part.clone();
        self.cursors
            .retain(|known| (&known.part, &known.path) != (&cursor.part, &cursor.path));
        self.cursors.push(cursor);
        let last = is_last.then(|| {
            let mut cursors = self.copies_of(&self.target());
            cursors.append(&mut self.cursors);
            let state = PackedState::of(&self.state);
            // Nothing comes after this piece, so the state of a long log need not stay in memory until the writer
            // thread is done.
            self.state = fresh(self.job);
            LastStaged { cursors, state }
        });
        let change = PieceChange::Restart(StagedLines {
            replaces: if begins { Replaces::All } else { Replaces::Nothing },
            lines,
            last,
        });
        self.piece_of(part.kind, name, delta, change)
    }

    /// Makes a piece of the session itself. `lines` is `None` if a companion has only been moved.
    fn extend(&mut self, part: &Part, cursor: Cursor, lines: Option<PieceLines>, delta: Delta) -> Piece {
        let begins = std::mem::take(&mut self.is_first) && self.is_fresh;
        let name = cursor.part.clone();
        let base = self.base.clone();
        self.base.retain(|known| !begins && !cursor.replaces(known));
        self.base.push(cursor.clone());
        let change = PieceChange::Extend(Extension {
            replaces: if begins { Replaces::All } else { Replaces::Nothing },
            base,
            cursor,
            copies: self.copies_of(&self.target()),
            lines,
            state: PackedState::of(&self.state),
            digest: None,
        });
        self.piece_of(part.kind, name, delta, change)
    }

    fn piece_of(&mut self, kind: PartKind, part: String, delta: Delta, change: PieceChange) -> Piece {
        Piece {
            agent: self.job.agent,
            uid: self.job.uid.clone(),
            into: self.target(),
            part,
            kind,
            events: delta.events.len() as u64,
            delta,
            pages: None,
            change,
            bytes_read: 0,
            bytes_checked: std::mem::take(&mut self.bytes_checked),
            redactions: 0,
        }
    }

    /// Returns cursors that only record the existence of copies.
    fn copies_of(&self, session_uid: &str) -> Vec<Cursor> {
        let of = |(path, stat, _): &(std::path::PathBuf, FileStat, bool)| Cursor {
            session_uid: session_uid.to_owned(),
            part: PartKind::Log.as_str().to_owned(),
            path: path_text(path),
            root: self.job.root.clone(),
            stat: *stat,
            read_to: 0,
            lines: 0,
            ends_mid_line: false,
            head_hash: [0; 32],
            tail_hash: [0; 32],
        };
        self.job.copies.iter().map(of).collect()
    }

    /// Returns the cursor of a part. `at` holds the numbers of bytes and lines read, and `true` if the last line has no
    /// line break.
    fn cursor(&self, part: &Part, stat: FileStat, ends: &Ends, at: (u64, u64, bool)) -> Cursor {
        Cursor {
            session_uid: self.target(),
            part: part_name(part),
            path: path_text(&part.path),
            root: self.job.root.clone(),
            stat,
            read_to: at.0,
            lines: at.1,
            ends_mid_line: at.2,
            head_hash: ends.head_hash(),
            tail_hash: ends.tail_hash(),
        }
    }
}

fn fresh(job: &Job) -> State {
    State::new(job.agent, Origin::of(&job.log().to_string_lossy()))
}

/// Returns the name of a part in the store. A session may have several parts of one kind.
pub(crate) fn part_name(part: &Part) -> String {
    match part.kind {
        PartKind::Meta | PartKind::Spill => {
            let name = |path: Option<&Path>| {
                let name = path.and_then(Path::file_name).unwrap_or_default();
                name.to_string_lossy().into_owned()
            };
            let (parent, own) = (name(part.path.parent()), name(Some(&part.path)));
            format!("{}:{parent}/{own}", part.kind.as_str())
        }
        kind => kind.as_str().to_owned(),
    }
}
