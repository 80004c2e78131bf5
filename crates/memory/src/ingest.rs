//! Ingest: the one way from the bytes of a source to a reader.
//!
//! A source is a log, a compressed log, a file beside a log, a copy in a workspace or bytes in memory. [`open_lines`]
//! opens it, decompresses it, numbers its lines and returns [`MaskedLines`]. Each line is a [`PendingLine`]: its
//! number, length and end are known, but its content can only leave as a [`MaskedLine`], which is all that a reader
//! accepts. The state of masking between two lines is kept here, so that a token that is split over two lines is masked
//! for every reader.
//!
//! This module does not know what is in a line. It must stay the only one that splits the bytes of a log into lines.

mod clean_lines;
mod source;

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use transcript::{Agent, Delta, Line, LineBody, Lines, MaskedLine, PartKind, State};

pub(crate) use self::clean_lines::CleanLines;
pub(crate) use self::source::{LogBytes, is_packed, unpacked};
use crate::breaks;
use crate::files;
use crate::mask::{Hit, LineState, Masker, TextState};

/// Decides if the secrets of a source are masked on the way to a reader.
#[derive(Debug, Clone, Copy)]
pub struct Disclosure<'m>(Option<&'m Masker>);

impl<'m> Disclosure<'m> {
    /// Masks every line.
    pub fn masked(masker: &'m Masker) -> Self {
        Self(Some(masker))
    }

    /// Shows a log to its owner as the agent wrote it, because the owner asked for that with `render LOG --reveal` or
    /// `prepare --verbatim`. Only those two may call it, and only for a log at its source, because the store never
    /// holds unmasked text.
    pub fn revealed_by_owner() -> Self {
        Self(None)
    }

    /// Returns the masker, or `None` if the owner asked to see the log as it is.
    pub fn masker(self) -> Option<&'m Masker> {
        self.0
    }
}

impl<'m> From<&'m Masker> for Disclosure<'m> {
    fn from(masker: &'m Masker) -> Self {
        Self::masked(masker)
    }
}

/// The format of the lines of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineForm {
    /// JSON Lines of an agent, or of an unknown agent.
    Json(Option<Agent>),
    /// Plain text, in which a private key spans many lines.
    Text,
    /// A copy of either kind: each line that begins like a JSON record is parsed as one, and the others are text.
    Mixed(Option<Agent>),
}

impl LineForm {
    fn agent(self) -> Option<Agent> {
        match self {
            Self::Json(agent) | Self::Mixed(agent) => agent,
            Self::Text => None,
        }
    }
}

/// Masks the lines of one source in order.
#[derive(Debug)]
pub struct LineMasker<'m> {
    disclosure: Disclosure<'m>,
    form: LineForm,
    streams: LineState,
    text: TextState,
}

impl<'m> LineMasker<'m> {
    /// Returns a masker for the first line of a source.
    pub fn new(disclosure: impl Into<Disclosure<'m>>, form: LineForm) -> Self {
        Self::resume(disclosure, form, LineState::of_agent(form.agent()))
    }

    /// Returns a masker for a line in the middle of a source. `streams` is the state that the lines before it left.
    pub(crate) fn resume(disclosure: impl Into<Disclosure<'m>>, form: LineForm, streams: LineState) -> Self {
        Self {
            disclosure: disclosure.into(),
            form,
            streams,
            text: TextState::default(),
        }
    }

    /// Returns the state that the next line needs of the lines before it.
    pub(crate) fn into_streams(self) -> LineState {
        self.streams
    }

    /// Returns the state that tells if a private key continues after the last line of plain text.
    pub(crate) fn text_state(&self) -> TextState {
        self.text
    }

    /// Masks the next line and adds the secrets that it found to `hits`.
    pub(crate) fn mask_line<'a>(&mut self, line: Line<'a>, hits: &mut Vec<Hit>) -> MaskedLine<'a> {
        let is_terminated = line.terminated;
        MaskedLine::assume_masked(line, |bytes| self.mask(bytes, is_terminated, hits))
    }

    fn mask<'a>(&mut self, bytes: &'a [u8], is_terminated: bool, hits: &mut Vec<Hit>) -> Cow<'a, [u8]> {
        let Some(masker) = self.disclosure.masker() else {
            return Cow::Borrowed(bytes);
        };
        match self.is_json(bytes) {
            true if is_terminated => masker.mask_next_line(&mut self.streams, bytes, hits),
            true => masker.mask_torn_line(&mut self.streams, bytes, hits),
            false => masker.mask_text_line(&mut self.text, bytes, hits),
        }
    }

    fn is_json(&self, bytes: &[u8]) -> bool {
        match self.form {
            LineForm::Json(_) => true,
            LineForm::Text => false,
            // Half a record, or a file that is one object over many lines, is treated as text.
            LineForm::Mixed(_) => matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[') | None),
        }
    }

    /// Advances the state over a line that is not shown, because a token may begin in it.
    fn skip(&mut self, bytes: &[u8]) {
        if let Some(masker) = self.disclosure.masker()
            && self.is_json(bytes)
        {
            masker.skip_line(&mut self.streams, bytes);
        }
    }

    /// Returns `true` if a token may be split over two lines, so that a line in the middle cannot be masked without the
    /// lines before it.
    fn needs_lead(&self) -> bool {
        self.disclosure.masker().is_some() && self.form.agent() != Some(Agent::Claude) && self.form != LineForm::Text
    }
}

/// The lines of a source, numbered; each must be masked before it is read.
pub struct MaskedLines<'m, R> {
    lines: Lines<R>,
    masker: LineMasker<'m>,
}

/// Opens a log or a copy of one and returns its lines. Decompresses it if its file name says that it is compressed.
pub fn open_lines<'m>(
    path: &Path,
    disclosure: impl Into<Disclosure<'m>>,
    form: LineForm,
) -> io::Result<MaskedLines<'m, LogBytes>> {
    let (file, _) = files::open_regular(path)?;
    Ok(masked_lines(unpacked(path, file)?, disclosure, form))
}

/// Returns the lines of a source from its first one.
pub fn masked_lines<'m, R: Read>(
    source: R,
    disclosure: impl Into<Disclosure<'m>>,
    form: LineForm,
) -> MaskedLines<'m, R> {
    resume_lines(source, 0, 0, LineMasker::new(disclosure, form))
}

/// Returns the lines of a source from the middle of it: `source` continues after `lines_before` lines and `offset`
/// bytes.
pub(crate) fn resume_lines<R: Read>(
    source: R,
    lines_before: u64,
    offset: u64,
    masker: LineMasker<'_>,
) -> MaskedLines<'_, R> {
    MaskedLines {
        lines: Lines::resume(source, lines_before, offset),
        masker,
    }
}

impl<'m, R: Read> MaskedLines<'m, R> {
    /// Returns the next line, or `None` at the end of the source.
    #[expect(
        clippy::should_implement_trait,
        reason = "a line borrows the buffer of the one before"
    )]
    pub fn next(&mut self) -> io::Result<Option<PendingLine<'_, 'm>>> {
        let masker = &mut self.masker;
        let line = self.lines.next()?;
        Ok(line.map(|line| PendingLine { line, masker }))
    }

    /// Returns the masker with its state after the lines that were returned.
    pub(crate) fn into_masker(self) -> LineMasker<'m> {
        self.masker
    }

    pub(crate) fn masker(&self) -> &LineMasker<'m> {
        &self.masker
    }
}

/// A line that is not masked yet. Readers cannot reach its bytes.
///
/// The caller must mask or skip every line of a source in order, because the masker carries tokens from one line to the
/// next.
pub struct PendingLine<'a, 'm> {
    line: Line<'a>,
    masker: &'a mut LineMasker<'m>,
}

impl<'a> PendingLine<'a, '_> {
    pub fn number(&self) -> u64 {
        self.line.number
    }

    pub(crate) fn offset(&self) -> u64 {
        self.line.offset
    }

    pub fn is_terminated(&self) -> bool {
        self.line.terminated
    }

    /// Returns the length of the line as it is in the source.
    pub(crate) fn length(&self) -> u64 {
        match self.line.body {
            LineBody::Bytes(bytes) => bytes.len() as u64,
            LineBody::Oversized { length, .. } => length,
        }
    }

    pub(crate) fn is_oversized(&self) -> bool {
        matches!(self.line.body, LineBody::Oversized { .. })
    }

    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.line.body, LineBody::Bytes(bytes) if bytes.trim_ascii().is_empty())
    }

    /// Returns the line as it is in the source. It serves only to recognise the same file again and to find ids and
    /// times; the caller must never store or show it.
    pub(crate) fn raw(&self) -> LineBody<'a> {
        self.line.body
    }

    /// Masks the line and adds the secrets that it found to `hits`.
    pub fn mask(self, hits: &mut Vec<Hit>) -> MaskedLine<'a> {
        self.masker.mask_line(self.line, hits)
    }

    /// Masks the line and remembers in `clean` whether it holds no secret.
    pub(crate) fn mask_and_remember(self, clean: &mut CleanLines) -> MaskedLine<'a> {
        let Some(masker) = self.masker.disclosure.masker() else {
            return self.mask(&mut Vec::new());
        };
        let (number, raw) = (self.line.number, self.line.body);
        let masked = self.mask(&mut Vec::new());
        if let LineBody::Bytes(raw) = raw {
            let is_clean = masked.bytes().is_some_and(|bytes| std::ptr::eq(bytes, raw));
            clean.remember(masker.version(), number, raw, is_clean);
        }
        masked
    }

    /// Masks the line in a second pass over its source and adds the secrets that it found to `hits`. A line without
    /// secrets according to `clean` is not searched.
    pub(crate) fn mask_again(self, clean: Option<&CleanLines>, hits: &mut Vec<Hit>) -> MaskedLine<'a> {
        let (Some(clean), Some(masker)) = (clean, self.masker.disclosure.masker()) else {
            return self.mask(hits);
        };
        let Self { line, masker: own } = self;
        MaskedLine::assume_masked(line, |bytes| {
            if !line.terminated || !own.is_json(bytes) {
                return own.mask(bytes, line.terminated, hits);
            }
            let is_known = || clean.is_known(masker.version(), line.number, bytes);
            masker.mask_next_line_again(&mut own.streams, bytes, hits, is_known)
        })
    }

    /// Passes over a line that is not shown.
    pub(crate) fn skip(self) {
        if let LineBody::Bytes(bytes) = self.line.body {
            self.masker.skip(bytes);
        }
    }
}

/// Wraps a line that was read from the store, where every line was masked before it was written.
pub(crate) fn kept_line(line: Line<'_>) -> MaskedLine<'_> {
    MaskedLine::assume_masked(line, Cow::Borrowed)
}

/// Masks the bytes of a small file and adds the secrets that it found to `hits`.
pub fn mask_bytes<'m>(
    disclosure: impl Into<Disclosure<'m>>,
    form: LineForm,
    bytes: &[u8],
    hits: &mut Vec<Hit>,
) -> Vec<u8> {
    let mut masker = LineMasker::new(disclosure, form);
    let mut masked = Vec::with_capacity(bytes.len());
    for line in breaks::lines(bytes) {
        let (body, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |body| (body, b"\n"));
        masked.extend_from_slice(&masker.mask(body, !end.is_empty(), hits));
        masked.extend_from_slice(end);
    }
    masked
}

/// The session id and directory that the head of a log names. Nothing else that was read to find them leaves this
/// module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) session_uid: Option<String>,
    /// The directory in which the agent worked, unmasked: it is compared with real paths.
    pub(crate) cwd: Option<String>,
}

/// The property that the head of a log is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdentifyBy {
    Session,
    Directory,
}

/// Reads the lines of a log's head until they identify it. The lines are not masked, because a masked id or directory
/// could not be compared with the one on disk.
pub(crate) fn identify(state: &mut State, part: PartKind, head: &[u8], by: IdentifyBy) -> Identity {
    let mut session = None;
    let mut lines = Lines::new(head);
    // Reading bytes in memory cannot fail.
    while let Ok(Some(line)) = lines.next() {
        let mut delta = Delta::default();
        state.take(part, &MaskedLine::assume_masked(line, Cow::Borrowed), &mut delta);
        let is_identified = match by {
            IdentifyBy::Session => state.is_named(),
            IdentifyBy::Directory => {
                state.close(&mut delta);
                session = delta.session.take();
                session.as_ref().is_some_and(|session| session.cwd.is_some())
            }
        };
        if is_identified {
            break;
        }
    }
    if session.is_none() {
        let mut delta = Delta::default();
        state.close(&mut delta);
        session = delta.session;
    }
    session.map_or_else(Identity::default, |session| Identity {
        session_uid: Some(session.session_uid.as_str().to_owned()),
        cwd: session.cwd,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::{MaskKey, UserRules};

    #[test]
    fn a_line_that_changed_is_masked_again_in_the_second_pass() {
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
        let secret = format!(r#"{{"text":"ghp_{}"}}"#, "a1B2".repeat(9));
        let plain = r#"{"text":"nothing"}"#;
        let lines = |texts: [&str; 3]| texts.map(|text| format!("{text}\n")).concat();
        let pass = |log: &str, each: &mut dyn FnMut(PendingLine<'_, '_>) -> Vec<u8>| -> Vec<Vec<u8>> {
            let mut lines = masked_lines(log.as_bytes(), &masker, LineForm::Json(None));
            let mut out = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                out.push(each(line));
            }
            out
        };
        let mut clean = CleanLines::default();
        let first = lines([plain, &secret, plain]);
        let masked = pass(&first, &mut |line| {
            line.mask_and_remember(&mut clean).bytes().unwrap().to_vec()
        });
        assert_eq!([&masked[0], &masked[2]], [plain.as_bytes(); 2]);
        assert_ne!(masked[1], secret.as_bytes());
        let mut again =
            |line: PendingLine<'_, '_>| line.mask_again(Some(&clean), &mut Vec::new()).bytes().unwrap().to_vec();
        assert_eq!(pass(&first, &mut again), masked);
        for changed in pass(&lines([&secret; 3]), &mut again) {
            assert_eq!(changed, masked[1]);
        }
    }
}
