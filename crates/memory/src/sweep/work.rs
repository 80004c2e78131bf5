//! What a worker does with one session: finds where to go on, masks and reads the new lines, and hands
//! them over in pieces that can each be committed alone.

use std::io::{self, Read};
use std::path::Path;

use transcript::{Delta, Line, LineBody, Lines, Origin, Part, PartKind, State};

use super::anchors::{anchors, goes_on};
use super::gather::Gathered;
use super::plan::{Job, is_quiet, stat};
use super::{Sweep, path_text};
use crate::files;
use crate::logs;
use crate::mask::{Hit, LineState, MASK_VERSION, TextState};
use crate::packs::{self, Frame};
use crate::sources::Unread;
use crate::store::{Cursor, Stat, Store, Tail};

/// Raw bytes after which a piece is handed over: a bound on memory, and on work lost by a crash.
const PIECE_BYTES: u64 = 16 << 20;

/// What a worker hands to the writer.
#[expect(
    clippy::large_enum_variant,
    reason = "failures are rare, and pieces move through a short queue"
)]
pub(super) enum Output {
    Piece(Piece),
    Failed(Unread),
}

/// New lines of one part, or a companion, ready to be committed.
pub(super) struct Piece {
    pub(super) agent: transcript::Agent,
    pub(super) uid: String,
    /// Everything the store has of the session goes first.
    pub(super) replaces: bool,
    /// Whether this is the first piece of a job.
    pub(super) is_first: bool,
    pub(super) part: String,
    pub(super) kind: PartKind,
    /// How far the part was read when this piece was made: the store must still say so.
    pub(super) base: Option<(u64, String)>,
    pub(super) cursor: Cursor,
    pub(super) frames: Vec<Frame>,
    pub(super) tail: Tail,
    pub(super) delta: Delta,
    pub(super) state: Vec<u8>,
    pub(super) copies: Vec<Cursor>,
    pub(super) bytes_read: u64,
    pub(super) redactions: u64,
    pub(super) mask_version: u32,
}

/// Reads what is new in one session. Says whether somebody still listens.
pub(super) fn run(job: &Job, sweep: &Sweep<'_>, store: &Store, send: &dyn Fn(Output) -> bool) -> bool {
    match Worker::new(job, sweep, store, send).and_then(|mut worker| worker.run()) {
        Ok(goes_on) => goes_on,
        Err(error) => send(Output::Failed(job.unread(&error.to_string()))),
    }
}

struct Worker<'w> {
    job: &'w Job,
    sweep: &'w Sweep<'w>,
    store: &'w Store,
    send: &'w dyn Fn(Output) -> bool,
    state: State,
    /// Of the part that is read.
    line_state: LineState,
    replaces: bool,
    is_first: bool,
}

impl<'w> Worker<'w> {
    fn new(job: &'w Job, sweep: &'w Sweep<'w>, store: &'w Store, send: &'w dyn Fn(Output) -> bool) -> io::Result<Self> {
        let kept = store.reads().reader_state(&job.uid).map_err(io::Error::other)?;
        let kept = kept.and_then(|bytes| State::from_bytes(&bytes).ok());
        let mut worker = Self {
            job,
            sweep,
            store,
            send,
            state: fresh(job),
            line_state: LineState::default(),
            replaces: true,
            is_first: true,
        };
        if let Some(state) = kept
            && !job.cursors.is_empty()
            && worker.all_parts_go_on()?
        {
            (worker.state, worker.replaces) = (state, false);
        }
        Ok(worker)
    }

    /// Whether every part still begins with what we read of it.
    fn all_parts_go_on(&self) -> io::Result<bool> {
        for part in self.line_parts() {
            if let Some(cursor) = self.job.cursors.get(part.kind.as_str())
                && !goes_on(&part.path, cursor)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn line_parts(&self) -> impl Iterator<Item = &'w Part> + use<'w> {
        self.job.source.parts.iter().filter(|part| part.kind.has_lines())
    }

    fn run(&mut self) -> io::Result<bool> {
        if !self.companions()? {
            return Ok(false);
        }
        if self.state.is_stale() {
            // A companion told something that changes what the lines mean.
            (self.state, self.replaces, self.is_first) = (fresh(self.job), true, true);
            if !self.companions()? {
                return Ok(false);
            }
        }
        for part in self.line_parts() {
            if !self.lines(part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Hands over the small files beside the log that changed.
    fn companions(&mut self) -> io::Result<bool> {
        for part in self.job.source.parts.iter().filter(|part| !part.kind.has_lines()) {
            let Ok((file, metadata)) = files::open(&part.path) else {
                continue;
            };
            let stat = stat(&metadata);
            let name = part_name(part);
            let known = self.job.cursors.get(&name).filter(|_| !self.replaces);
            if known.is_some_and(|cursor| cursor.stat == stat) {
                continue;
            }
            let mut raw = Vec::new();
            file.take(files::COMPANION_BYTES_MAX).read_to_end(&mut raw)?;
            let wanted = self.own_lines(part.kind, &raw);
            let mut found = Vec::new();
            let masked = self.mask_whole(part.kind, &wanted, &mut found);
            self.state.companion(part.kind, &masked);
            let lines = masked.split_inclusive(|byte| *byte == b'\n').count() as u64;
            let tail = Tail {
                first_line: 1,
                lines,
                bytes: masked,
            };
            let cursor = self.cursor(part, stat, raw.len() as u64, lines, false)?;
            let mut delta = Delta::default();
            self.state.close(&mut delta);
            if !self.hand_over(
                part,
                known,
                cursor,
                Vec::new(),
                tail,
                delta,
                raw.len() as u64,
                found.len() as u64,
            ) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A list of all sessions is kept by each session as far as it is about it.
    fn own_lines(&self, kind: PartKind, raw: &[u8]) -> Vec<u8> {
        if kind != PartKind::Index {
            return raw.to_vec();
        }
        let id = self.job.source.native_id.as_bytes();
        let ours = |line: &&[u8]| line.windows(id.len().max(1)).any(|window| window == id);
        raw.split_inclusive(|byte| *byte == b'\n')
            .filter(ours)
            .collect::<Vec<_>>()
            .concat()
    }

    fn mask_whole(&self, kind: PartKind, raw: &[u8], found: &mut Vec<Hit>) -> Vec<u8> {
        let mut text = TextState::default();
        let mut masked = Vec::with_capacity(raw.len());
        for line in raw.split_inclusive(|byte| *byte == b'\n') {
            let (body, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |body| (body, b"\n"));
            match kind {
                PartKind::Index => masked.extend_from_slice(&self.sweep.masker.mask_json_line(body, found)),
                _ => masked.extend_from_slice(&self.sweep.masker.mask_text_line(&mut text, body, found)),
            }
            masked.extend_from_slice(end);
        }
        masked
    }

    /// Reads the new lines of a part.
    fn lines(&mut self, part: &Part) -> io::Result<bool> {
        let (file, metadata) = files::open(&part.path)?;
        let stat = stat(&metadata);
        self.line_state = LineState::default();
        let known = self
            .job
            .cursors
            .get(part.kind.as_str())
            .filter(|_| !self.replaces)
            .cloned();
        let from = known.as_ref().map_or(0, |cursor| cursor.read_to);
        let is_quiet = is_quiet(self.sweep.now, stat);
        let mut source = logs::unpacked(&part.path, file)?;
        source.seek_to(from)?;
        let mut piece = Gathered::new(
            self.tail_of(part, known.as_ref())?,
            known.as_ref().map_or(0, |c| c.lines),
            from,
        );
        let mut base = known;
        if base.as_ref().is_some_and(|cursor| cursor.ends_mid_line) && !piece.finish_line(&mut source)? {
            return Ok(true);
        }
        let mut lines = Lines::resume(source, piece.lines, piece.read_to);
        while let Some(line) = lines.next()? {
            // A line that is still being written waits, unless nobody writes any more.
            if !line.terminated && !is_quiet {
                break;
            }
            self.take(part.kind, &line, &mut piece)?;
            if piece.bytes_read >= PIECE_BYTES {
                let ends_mid_line = !line.terminated;
                base = match self.commit(part, stat, base, &mut piece, ends_mid_line, false)? {
                    Some(cursor) => Some(cursor),
                    None => return Ok(false),
                };
            }
        }
        let ends_mid_line = piece.ends_mid_line;
        Ok(self
            .commit(part, stat, base, &mut piece, ends_mid_line, is_quiet)?
            .is_some())
    }

    /// What is kept of a part but does not fill a frame yet.
    fn tail_of(&self, part: &Part, known: Option<&Cursor>) -> io::Result<Tail> {
        if known.is_none() {
            return Ok(Tail::default());
        }
        let tail = self
            .store
            .reads()
            .tail(&self.job.uid, part.kind.as_str())
            .map_err(io::Error::other)?;
        Ok(tail.unwrap_or_default())
    }

    /// Masks one line, reads it, and keeps it.
    fn take(&mut self, kind: PartKind, line: &Line<'_>, piece: &mut Gathered) -> io::Result<()> {
        match line.body {
            LineBody::Bytes(bytes) => {
                let state = &mut self.line_state;
                let masked = self.sweep.masker.mask_next_line(state, bytes, &mut piece.found);
                let masked_line = Line {
                    body: LineBody::Bytes(&masked),
                    ..*line
                };
                self.state.take(kind, &masked_line, &mut piece.delta);
                piece.keep(line.number, &masked, bytes.len() as u64, line.terminated)
            }
            LineBody::Oversized { length, .. } => {
                self.state.take(kind, line, &mut piece.delta);
                piece.keep(line.number, packs::stand_in(line).as_bytes(), length, line.terminated)
            }
        }
    }

    /// Hands over what was gathered. Gives the cursor it leads to, none where nobody listens.
    fn commit(
        &mut self,
        part: &Part,
        stat: Stat,
        base: Option<Cursor>,
        piece: &mut Gathered,
        ends_mid_line: bool,
        is_quiet: bool,
    ) -> io::Result<Option<Cursor>> {
        if is_quiet {
            piece.cut_frame()?;
        }
        let cursor = self.cursor(part, stat, piece.read_to, piece.lines, ends_mid_line)?;
        let mut delta = std::mem::take(&mut piece.delta);
        self.state.close(&mut delta);
        let (frames, bytes_read) = (std::mem::take(&mut piece.frames), std::mem::take(&mut piece.bytes_read));
        let redactions = std::mem::take(&mut piece.found).len() as u64;
        let tail = piece.tail.clone();
        let sent = self.hand_over(
            part,
            base.as_ref(),
            cursor.clone(),
            frames,
            tail,
            delta,
            bytes_read,
            redactions,
        );
        Ok(sent.then_some(cursor))
    }

    #[expect(clippy::too_many_arguments, reason = "the one place where a piece is put together")]
    fn hand_over(
        &mut self,
        part: &Part,
        base: Option<&Cursor>,
        cursor: Cursor,
        frames: Vec<Frame>,
        tail: Tail,
        delta: Delta,
        bytes_read: u64,
        redactions: u64,
    ) -> bool {
        let piece = Piece {
            agent: self.job.agent,
            uid: self.job.uid.clone(),
            replaces: std::mem::take(&mut self.replaces) && self.is_first,
            is_first: std::mem::take(&mut self.is_first),
            part: cursor.part.clone(),
            kind: part.kind,
            base: base.map(|cursor| (cursor.read_to, cursor.path.clone())),
            cursor,
            frames,
            tail,
            delta,
            state: self.state.to_bytes(),
            copies: self.copies(),
            bytes_read,
            redactions,
            mask_version: MASK_VERSION,
        };
        (self.send)(Output::Piece(piece))
    }

    /// Cursors that only remember that a copy is there.
    fn copies(&self) -> Vec<Cursor> {
        let of = |(path, stat): &(std::path::PathBuf, Stat)| Cursor {
            session_uid: self.job.uid.clone(),
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

    fn cursor(&self, part: &Part, stat: Stat, read_to: u64, lines: u64, ends_mid_line: bool) -> io::Result<Cursor> {
        let (head_hash, tail_hash) = anchors(&part.path, read_to)?;
        Ok(Cursor {
            session_uid: self.job.uid.clone(),
            part: part_name(part),
            path: path_text(&part.path),
            root: self.job.root.clone(),
            stat,
            read_to,
            lines,
            ends_mid_line,
            head_hash,
            tail_hash,
        })
    }
}

fn fresh(job: &Job) -> State {
    let log = job.source.parts.iter().find(|part| part.kind.has_lines());
    let path = log
        .map(|part| part.path.to_string_lossy().into_owned())
        .unwrap_or_default();
    State::new(job.agent, Origin::of(&path))
}

/// A part's name in the store. Of some parts a session has several.
fn part_name(part: &Part) -> String {
    match part.kind {
        PartKind::Meta | PartKind::Spill => {
            let parent = part
                .path
                .parent()
                .and_then(Path::file_name)
                .unwrap_or_default()
                .to_string_lossy();
            let name = part.path.file_name().unwrap_or_default().to_string_lossy();
            format!("{}:{parent}/{name}", part.kind.as_str())
        }
        kind => kind.as_str().to_owned(),
    }
}
