//! One file of the corpus while it is written, and the ledger of all that was.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// How cold rollouts are compressed by their agent.
const ZSTD_LEVEL: i32 = 3;

/// What was written, and how much is left to write for those who come.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) bytes_wanted: u64,
    /// The weights of the files to come: each gets its share of what is left.
    pub(super) weight_left: u64,
}

impl Ledger {
    /// The bytes due to a file of this weight.
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
    /// The end of the last line is written with the next one, since the last of all may lack it.
    ends_line: bool,
}

impl LogFile {
    /// A file that ought to become `budget` bytes long; compressed if it is named so.
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

    /// Half of a record, as a crash leaves it; the agent ends the line when it goes on.
    pub(super) fn torn_line(&mut self) -> io::Result<()> {
        self.line(format_args!(r#"{{"type":"assistant","message":{{"role":"assis"#))
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The bytes that still fit.
    pub(super) fn room(&self) -> u64 {
        self.budget.saturating_sub(self.written)
    }

    /// As much of `length` as leaves room for a record that holds it twice.
    pub(super) fn fit(&self, length: usize) -> usize {
        length.min(usize::try_from(self.room() * 3 / 8).unwrap_or(usize::MAX))
    }

    /// Ends the file, as last written at `modified_ms`, and enters it into the ledger.
    pub(super) fn close(mut self, ending: Ending, modified_ms: u64, ledger: &mut Ledger) -> io::Result<()> {
        if ending == Ending::Whole && self.ends_line {
            match &mut self.out {
                Out::Plain(out) => out.write_all(b"\n")?,
                Out::Packed(out) => out.write_all(b"\n")?,
            }
        }
        let out = match self.out {
            Out::Plain(out) => out,
            Out::Packed(out) => out.finish()?,
        };
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        ledger.files += 1;
        ledger.bytes += file.metadata()?.len();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(modified_ms))
    }
}

/// How a file ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// Without the last line break.
    Open,
}

/// Writes a small file at once.
pub(super) fn write_whole(
    path: &Path,
    text: fmt::Arguments<'_>,
    modified_ms: u64,
    ledger: &mut Ledger,
) -> io::Result<()> {
    let mut file = LogFile::create(path, 0)?;
    file.line(text)?;
    file.close(Ending::Whole, modified_ms, ledger)
}
