//! The bytes of one log. Small logs are read from disk once and kept in memory; large ones are read again when needed.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use transcript::Agent;

use crate::files;
use crate::ingest::{self, Disclosure, LineForm, MaskedLines, PendingLine};

/// Logs up to this size are kept in memory while they are scanned. It covers almost all logs, and is below the longest
/// line that readers parse.
const IN_MEMORY_BYTES_MAX: u64 = 32 << 20;
const CHUNK_BYTES: usize = 1 << 20;
/// Longer than any text that is searched for.
const OVERLAP_BYTES: usize = 64;

/// The decompressed bytes of a log, as they were when it was opened.
#[derive(Debug)]
pub(super) struct LogText<'b> {
    path: PathBuf,
    /// All bytes, if the log is small.
    in_memory: Option<&'b [u8]>,
    /// The size of an uncompressed file when it was opened. Bytes appended later are ignored, so that all reads agree.
    plain_bytes: Option<u64>,
}

impl<'b> LogText<'b> {
    /// Opens a log, which must be a regular file. Its bytes are kept in `buffer`, a buffer that the caller can reuse for
    /// many logs.
    pub(super) fn open(path: &Path, buffer: &'b mut Vec<u8>) -> io::Result<Self> {
        let (file, metadata) = files::open_regular(path)?;
        let plain_bytes = (!ingest::is_packed(path)).then_some(metadata.len());
        buffer.clear();
        match plain_bytes {
            Some(bytes) if bytes > IN_MEMORY_BYTES_MAX => {}
            // `read_to_end` with reserved capacity does not zero the buffer first.
            Some(bytes) => {
                buffer.reserve_exact(usize::try_from(bytes).unwrap_or(0));
                file.take(bytes).read_to_end(buffer)?;
            }
            None => {
                let unpacked = ingest::unpacked(path, file)?;
                unpacked.take(IN_MEMORY_BYTES_MAX + 1).read_to_end(buffer)?;
            }
        }
        // Compressed logs that are larger than this are streamed.
        let fits =
            plain_bytes.is_none_or(|bytes| bytes <= IN_MEMORY_BYTES_MAX) && buffer.len() as u64 <= IN_MEMORY_BYTES_MAX;
        Ok(Self {
            path: path.to_owned(),
            in_memory: fits.then_some(buffer.as_slice()),
            plain_bytes,
        })
    }

    /// Returns all bytes, or `None` if the log is too large to be kept in memory.
    pub(super) fn in_memory(&self) -> Option<&'b [u8]> {
        self.in_memory
    }

    /// Calls `more` with each line until it returns `false`.
    pub(super) fn each_line(
        &self,
        agent: Agent,
        disclosure: Disclosure<'_>,
        more: impl FnMut(PendingLine<'_, '_>) -> bool,
    ) -> io::Result<()> {
        let form = LineForm::Mixed(Some(agent));
        match self.in_memory {
            Some(bytes) => each(ingest::masked_lines(bytes, disclosure, form), more),
            None => each(ingest::masked_lines(self.reader()?, disclosure, form), more),
        }
    }

    /// Returns a reader that starts at the first byte.
    pub(super) fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        if let Some(in_memory) = self.in_memory {
            return Ok(Box::new(Cursor::new(in_memory)));
        }
        let (file, _) = files::open_regular(&self.path)?;
        let bytes = ingest::unpacked(&self.path, file)?;
        Ok(Box::new(bytes.take(self.plain_bytes.unwrap_or(u64::MAX))))
    }

    /// Returns `true` if `test` accepts the bytes. A large log is tested in chunks, each preceded by the end of the
    /// previous one so that no match is cut.
    pub(super) fn any_chunk(&self, test: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        if let Some(in_memory) = self.in_memory {
            return Ok(test(in_memory));
        }
        let mut reader = self.reader()?;
        let mut chunk = Vec::new();
        loop {
            let overlap = chunk.len().min(OVERLAP_BYTES);
            chunk.drain(..chunk.len() - overlap);
            if reader.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk)? == 0 {
                return Ok(false);
            }
            if test(&chunk) {
                return Ok(true);
            }
        }
    }

    /// Returns `true` if the log starts with a UTF-16 byte order mark. No agent writes UTF-16.
    pub(super) fn is_utf16(&self) -> io::Result<bool> {
        let mut mark = [0; 2];
        let mut reader = self.reader()?;
        let has_mark = reader.read_exact(&mut mark).is_ok();
        Ok(has_mark && matches!(mark, [0xff, 0xfe] | [0xfe, 0xff]))
    }
}

fn each<R: Read>(mut lines: MaskedLines<'_, R>, mut more: impl FnMut(PendingLine<'_, '_>) -> bool) -> io::Result<()> {
    while let Some(line) = lines.next()? {
        if !more(line) {
            break;
        }
    }
    Ok(())
}
