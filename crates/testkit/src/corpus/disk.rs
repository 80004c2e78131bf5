//! Writes one file of the corpus, and keeps the totals of all files.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The level at which Codex compresses old rollouts.
const ZSTD_LEVEL: i32 = 3;

/// The totals of written files, and the bytes left for the remaining ones.
#[derive(Default)]
pub(super) struct CorpusTotals {
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) bytes_wanted: u64,
    /// The sum of the weights of the remaining files. Each gets its share of the remaining bytes.
    pub(super) weight_left: u64,
}

impl CorpusTotals {
    /// Returns the byte budget of a file with this weight.
    pub(super) fn share(&mut self, weight: usize) -> u64 {
        let weight = weight as u64;
        let left = u128::from(self.bytes_wanted.saturating_sub(self.bytes));
        let share = left * u128::from(weight) / u128::from(self.weight_left.max(weight).max(1));
        self.weight_left = self.weight_left.saturating_sub(weight);
        u64::try_from(share).expect("a share is no more than the whole")
    }
}

enum Out {
    Plain(BufWriter<File>),
    Packed(zstd::Encoder<'static, BufWriter<File>>),
}

/// A file that grows line by line.
pub(super) struct LogFile {
    out: Out,
    line: String,
    written: u64,
    budget: u64,
    /// Each line break is written with the next line, because the last line may lack one.
    ends_line: bool,
}

impl LogFile {
    /// Creates a file of about `budget` bytes. It is compressed if its name ends with `.zst`.
    pub(super) fn create(path: &Path, budget: u64) -> io::Result<LogFile> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        let is_packed = path.extension().is_some_and(|extension| extension == "zst");
        let out = match is_packed {
            true => Out::Packed(zstd::Encoder::new(file, ZSTD_LEVEL)?),
            false => Out::Plain(file),
        };
        Ok(LogFile {
            out,
            line: String::new(),
            written: 0,
            budget,
            ends_line: false,
        })
    }

    /// Appends a line.
    pub(super) fn line(&mut self, record: fmt::Arguments<'_>) -> io::Result<()> {
        self.line.clear();
        if self.ends_line {
            self.line.push('\n');
        }
        self.line.write_fmt(record).map_err(io::Error::other)?;
        self.ends_line = true;
        self.written += self.line.len() as u64;
        match &mut self.out {
            Out::Plain(out) => out.write_all(self.line.as_bytes()),
            Out::Packed(out) => out.write_all(self.line.as_bytes()),
        }
    }

    /// Writes half a record, as a crash leaves it. The agent ends the line when it resumes.
    pub(super) fn torn_line(&mut self) -> io::Result<()> {
        self.line(format_args!(r#"{{"type":"assistant","message":{{"role":"assis"#))
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the remaining bytes of the budget.
    pub(super) fn room(&self) -> u64 {
        self.budget.saturating_sub(self.written)
    }

    /// Returns `length`, reduced so that a record that contains the text twice fits.
    pub(super) fn fit(&self, length: usize) -> usize {
        length.min(usize::try_from(self.room() * 3 / 8).unwrap_or(usize::MAX))
    }

    /// Closes the file, sets its modification time and adds it to the ledger.
    pub(super) fn close(mut self, ending: Ending, modified_ms: u64, totals: &mut CorpusTotals) -> io::Result<()> {
        if ending == Ending::Whole && self.ends_line {
            match &mut self.out {
                Out::Plain(out) => out.write_all(b"\n")?,
                Out::Packed(out) => out.write_all(b"\n")?,
            }
        }
        let out = match self.out {
            Out::Plain(out) => out,
            // An unfinished zstd frame could not be decompressed.
            Out::Packed(out) => out.finish()?,
        };
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        totals.files += 1;
        totals.bytes += file.metadata()?.len();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(modified_ms))
    }
}

/// How the last line of a file ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// Without the last line break.
    Open,
}

/// Writes a small file.
pub(super) fn write_whole(
    path: &Path,
    text: fmt::Arguments<'_>,
    modified_ms: u64,
    totals: &mut CorpusTotals,
) -> io::Result<()> {
    let mut file = LogFile::create(path, 0)?;
    file.line(text)?;
    file.close(Ending::Whole, modified_ms, totals)
}
