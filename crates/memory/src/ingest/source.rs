//! The bytes of a log, whether it is compressed or not.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::LineMasker;
use crate::breaks;

/// A window of zstd larger than 128 MiB is refused, because it would be held in memory.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Number of bytes before the resume offset that are read again, to find the beginning of a token that continues after
/// it.
const LEAD_BYTES: u64 = 256 << 10;

/// The bytes of a log.
pub enum LogBytes {
    Plain(File),
    Packed(Box<zstd::Decoder<'static, BufReader<File>>>),
}

impl LogBytes {
    /// Moves to an offset. Compressed bytes can only be read forwards.
    pub(crate) fn seek_to(&mut self, at: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.seek(SeekFrom::Start(at)).map(|_| ()),
            Self::Packed(decoder) => io::copy(&mut decoder.by_ref().take(at), &mut io::sink()).map(|_| ()),
        }
    }

    /// Moves to the beginning of a line and passes the lines before it to `masker`, because a token may begin in one of
    /// them. The log is read again because the masker's state must not be stored on disk.
    pub(crate) fn seek_to_line(&mut self, at: u64, masker: &mut LineMasker<'_>) -> io::Result<()> {
        if !masker.needs_lead() {
            return self.seek_to(at);
        }
        let from = at.saturating_sub(LEAD_BYTES);
        self.seek_to(from)?;
        let mut lead = Vec::new();
        self.by_ref().take(at - from).read_to_end(&mut lead)?;
        // The first line may be cut off at its beginning.
        for line in breaks::bare_lines(&lead).skip(usize::from(from > 0)) {
            masker.skip(line);
        }
        Ok(())
    }
}

impl Read for LogBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Packed(decoder) => decoder.read(buffer),
        }
    }
}

/// Returns `true` if the file name says that the log is compressed.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Returns the bytes of an open log, decompressed if its name says that it is compressed.
pub(crate) fn unpacked(path: &Path, file: File) -> io::Result<LogBytes> {
    if !is_packed(path) {
        return Ok(LogBytes::Plain(file));
    }
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(LogBytes::Packed(Box::new(decoder)))
}
