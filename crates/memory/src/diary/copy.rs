//! Copies of logs: the same lines with the same numbers and with secrets masked, or byte for byte if the user asked for
//! that.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use transcript::Agent;

use super::roots::hex;
use super::text::LogText;
use crate::ingest::{self, CleanLines, Disclosure, LineForm, MaskedLines};
use crate::mask::Masker;
use crate::packs;

/// The way in which logs are copied.
#[derive(Debug, Clone, Copy)]
pub enum Copies<'a> {
    /// Line by line, with secrets masked.
    Masked(&'a Masker),
    /// Byte for byte.
    Verbatim,
}

impl<'a> Copies<'a> {
    /// Returns the disclosure for reading the logs: they are only read unmasked if their copies are verbatim, too.
    pub(super) fn disclosure(self) -> Disclosure<'a> {
        match self {
            Self::Masked(masker) => Disclosure::masked(masker),
            Self::Verbatim => Disclosure::revealed_by_owner(),
        }
    }
}

/// A copy under a temporary name, before it is moved to its place in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) path: PathBuf,
    /// The hash of the log's decompressed bytes.
    pub(super) source_sha256: String,
    pub(super) copy_sha256: String,
    pub(super) secrets: u64,
    /// The number of lines that were too long to mask and were replaced by a short placeholder.
    pub(super) lines_left_out: u64,
}

/// Copies a log or a file beside one.
pub(super) fn copy(text: &LogText<'_>, copies: Copies<'_>, to: &Path) -> io::Result<Copied> {
    write_copy(text, copies, LineForm::Mixed(None), None, to)
}

/// Copies a log that was scanned. `clean` records which of its lines the scan found to hold no secret.
pub(super) fn copy_scanned(
    text: &LogText<'_>,
    copies: Copies<'_>,
    agent: Agent,
    clean: &CleanLines,
    to: &Path,
) -> io::Result<Copied> {
    write_copy(text, copies, LineForm::Mixed(Some(agent)), Some(clean), to)
}

fn write_copy(
    text: &LogText<'_>,
    copies: Copies<'_>,
    form: LineForm,
    clean: Option<&CleanLines>,
    to: &Path,
) -> io::Result<Copied> {
    if let (Copies::Verbatim, Some(bytes)) = (copies, text.in_memory()) {
        private_file(to)?.write_all(bytes)?;
        let sha256 = hex(&Sha256::digest(bytes));
        return Ok(Copied {
            path: to.to_owned(),
            source_sha256: sha256.clone(),
            copy_sha256: sha256,
            secrets: 0,
            lines_left_out: 0,
        });
    }
    let mut out = Out {
        file: BufWriter::with_capacity(256 << 10, private_file(to)?),
        hasher: Sha256::new(),
    };
    let mut copied = Copied {
        path: to.to_owned(),
        source_sha256: String::new(),
        copy_sha256: String::new(),
        secrets: 0,
        lines_left_out: 0,
    };
    match copies {
        Copies::Verbatim => {
            io::copy(&mut text.reader()?, &mut out)?;
        }
        Copies::Masked(masker) => {
            let mut source = Hashed {
                reader: text.reader()?,
                hasher: Sha256::new(),
            };
            let lines = ingest::masked_lines(&mut source, masker, form);
            mask(lines, clean, &mut out, &mut copied)?;
            copied.source_sha256 = hex(&source.hasher.finalize());
        }
    }
    out.file.flush()?;
    copied.copy_sha256 = hex(&out.hasher.finalize());
    if copied.source_sha256.is_empty() {
        copied.source_sha256.clone_from(&copied.copy_sha256);
    }
    Ok(copied)
}

fn mask<R: Read>(
    mut lines: MaskedLines<'_, R>,
    clean: Option<&CleanLines>,
    out: &mut impl Write,
    copied: &mut Copied,
) -> io::Result<()> {
    let mut hits = Vec::new();
    while let Some(line) = lines.next()? {
        let line = line.mask_again(clean, &mut hits);
        match line.bytes() {
            Some(bytes) => out.write_all(bytes)?,
            None => {
                copied.lines_left_out += 1;
                out.write_all(packs::format_placeholder(&line).as_bytes())?;
            }
        }
        if line.is_terminated() {
            out.write_all(b"\n")?;
        }
        copied.secrets += hits.len() as u64;
        hits.clear();
    }
    Ok(())
}

/// Creates a file that only its owner can read.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A writer that hashes the bytes it writes.
struct Out {
    file: BufWriter<File>,
    hasher: Sha256,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A reader that hashes the bytes it reads.
struct Hashed<R> {
    reader: R,
    hasher: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}
