//! Packs: independent zstd frames of masked lines, one pack per part of a session and generation. A pack is a file,
//! or a set of database rows if several machines share the store. Only this file knows which.
//!
//! A frame in a file is written and synced before a row refers to it. Bytes after the last frame that a row refers to
//! do not count, and the next writer truncates them. Any frame can be read without the others, and its checksum
//! detects damage.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use transcript::{LineBody, MaskedLine};

use crate::mask::MaskVersion;
use crate::squeeze;
use crate::terms::FrameMarks;
use crate::threads::run_on_threads;

/// The row of a frame whose bytes are on disk and synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRow {
    pub frame_no: u64,
    pub first_line: u64,
    pub lines: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// The file name below `packs`.
    pub pack: String,
    pub start: u64,
    pub length: u64,
    /// BLAKE3 of the compressed bytes.
    pub checksum: [u8; 32],
    /// The version of the rules that masked its text.
    pub mask_version: MaskVersion,
}

/// Lines are collected to about this size before they are compressed.
pub const FRAME_BYTES: usize = 1 << 20;
/// Measured: level 3 takes a sixth longer and saves 3 %; better ratios take three times as long.
const ZSTD_LEVEL: i32 = 2;
/// Between these sizes level 2 is as slow as level 3.
const SLOW_BYTES: RangeInclusive<usize> = (128 << 10) + 1..=256 << 10;

/// Number of concurrent syncs.
const SYNC_THREADS: usize = 8;

/// Reads the compressed bytes of a frame that is stored in a row.
pub type ReadRow = dyn Fn(&FrameRow, &mut Vec<u8>) -> io::Result<()> + Send + Sync;

/// Where packs are stored.
#[derive(Clone)]
pub enum PackStorage {
    /// In files below a directory.
    Files(PathBuf),
    /// In the rows of their frames, which are deleted together with them.
    Rows(Arc<ReadRow>),
}

impl PackStorage {
    /// Returns the bytes that must be stored in the row of a frame, or `None` if they are in a file.
    pub fn row_bytes<'f>(&self, frame: &'f CompressedFrame) -> Option<&'f [u8]> {
        match self {
            Self::Files(_) => None,
            Self::Rows(_) => Some(&frame.bytes),
        }
    }

    /// Deletes a pack whose rows are gone. If this fails, the pack is an orphan, and the next attempt deletes it.
    pub fn remove(&self, pack: &str) {
        if let Self::Files(directory) = self {
            _ = fs::remove_file(directory.join(pack));
        }
    }

    /// Returns the path of a pack, for messages.
    pub fn path(&self, pack: &str) -> PathBuf {
        match self {
            Self::Files(directory) => directory.join(pack),
            Self::Rows(_) => PathBuf::from(pack),
        }
    }
}

/// A frame that is not on disk yet.
#[derive(Debug)]
pub struct CompressedFrame {
    pub first_line: u64,
    pub lines: u64,
    pub raw_bytes: u64,
    pub bytes: Vec<u8>,
    /// The filter and words by which it is found.
    pub marks: FrameMarks,
}

/// Compresses lines into a frame.
pub fn compress_frame(first_line: u64, lines: u64, raw: &[u8]) -> io::Result<CompressedFrame> {
    let is_slow = SLOW_BYTES.contains(&raw.len());
    let bytes = squeeze::compress(raw, ZSTD_LEVEL - i32::from(is_slow))?;
    Ok(CompressedFrame {
        first_line,
        lines,
        raw_bytes: raw.len() as u64,
        bytes,
        marks: FrameMarks::default(),
    })
}

/// Returns the name of the pack of a part. It is a hash because the id of a session comes from a log and must not
/// reach the file system. Packs share few directories because each directory with a new pack must be synced.
pub fn pack_name(session_uid: &str, part: &str, generation: u64) -> String {
    let hash = blake3::hash(format!("{session_uid}\n{part}").as_bytes()).to_hex();
    format!("{}/{}.{generation}", &hash[..1], &hash[1..33])
}

/// Parses the generation in the name of a pack.
pub fn parse_generation(pack: &str) -> u64 {
    pack.rsplit_once('.')
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or_default()
}

/// Packs that were written but not synced yet.
#[derive(Default)]
pub struct UnsyncedPacks {
    files: Vec<File>,
    /// Directories with new entries.
    directories: BTreeSet<PathBuf>,
}

impl UnsyncedPacks {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    /// Syncs everything. The syncs run concurrently because a disk completes many of them in about the time of one.
    pub fn sync(self) -> io::Result<()> {
        let directories: Vec<&PathBuf> = self.directories.iter().collect();
        let count = self.files.len() + directories.len();
        let synced = run_on_threads(SYNC_THREADS, count, |number, _| match self.files.get(number) {
            Some(file) => file.sync_data(),
            None => sync_directory(directories[number - self.files.len()]),
        });
        synced.into_iter().collect()
    }
}

/// Writes frames after the first `committed` bytes of a pack. Truncates first what a crash may have left there.
/// Returns the offset of each frame. The caller must sync `unsynced` before it commits rows that refer to the frames.
pub fn append_frames(
    packs: &PackStorage,
    pack: &str,
    committed: u64,
    frames: &[CompressedFrame],
    unsynced: &mut UnsyncedPacks,
) -> io::Result<Vec<u64>> {
    if let PackStorage::Files(directory) = packs {
        write_frames(directory, pack, committed, frames, unsynced)?;
    }
    let mut at = committed;
    let start = |frame: &CompressedFrame| {
        let start = at;
        at += frame.bytes.len() as u64;
        start
    };
    Ok(frames.iter().map(start).collect())
}

fn write_frames(
    packs: &Path,
    pack: &str,
    committed: u64,
    frames: &[CompressedFrame],
    unsynced: &mut UnsyncedPacks,
) -> io::Result<()> {
    let path = packs.join(pack);
    if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
        create_private_directory(directory)?;
        unsynced.directories.insert(packs.to_owned());
    }
    let is_new = !path.exists();
    let mut file = with_private_mode(OpenOptions::new().create(true).truncate(false).write(true)).open(&path)?;
    if !is_new || committed > 0 {
        file.set_len(committed)?;
        file.seek(SeekFrom::Start(committed))?;
    }
    for frame in frames {
        file.write_all(&frame.bytes)?;
    }
    unsynced.files.push(file);
    if is_new && let Some(directory) = path.parent() {
        unsynced.directories.insert(directory.to_owned());
    }
    Ok(())
}

/// Maximum size of a frame, compressed or not: one line of the maximum length and a little more. A damaged row can
/// contain any number.
const FRAME_BYTES_MAX: u64 = 256 << 20;

/// Buffers that a thread reuses for every frame, because allocating fresh memory costs as much as decompressing.
#[derive(Default)]
pub struct FrameBuffers {
    /// The lines of the most recently read frame.
    pub lines: Vec<u8>,
    packed: Vec<u8>,
}

/// Reads and decompresses the lines of a frame.
pub fn read_frame(packs: &PackStorage, frame: &FrameRow) -> io::Result<Vec<u8>> {
    let mut scratch = FrameBuffers::default();
    read_frame_into(packs, frame, &mut scratch)?;
    Ok(scratch.lines)
}

/// Reads the compressed bytes of a frame.
pub fn read_compressed(packs: &PackStorage, frame: &FrameRow) -> io::Result<Vec<u8>> {
    let mut scratch = FrameBuffers::default();
    read_frame_bytes(packs, frame, &mut scratch)?;
    Ok(scratch.packed)
}

fn read_frame_bytes(packs: &PackStorage, frame: &FrameRow, scratch: &mut FrameBuffers) -> io::Result<()> {
    if frame.length > FRAME_BYTES_MAX || frame.raw_bytes > FRAME_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "its row has an impossible size",
        ));
    }
    match packs {
        PackStorage::Files(directory) => {
            let mut file = File::open(directory.join(&frame.pack))?;
            file.seek(SeekFrom::Start(frame.start))?;
            let length = usize::try_from(frame.length).map_err(io::Error::other)?;
            scratch.packed.resize(length, 0);
            file.read_exact(&mut scratch.packed)?;
        }
        PackStorage::Rows(read) => read(frame, &mut scratch.packed)?,
    }
    if blake3::hash(&scratch.packed).as_bytes() != &frame.checksum {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "its checksum does not match",
        ));
    }
    Ok(())
}

/// Reads the lines of a frame into existing buffers.
pub fn read_frame_into(packs: &PackStorage, frame: &FrameRow, scratch: &mut FrameBuffers) -> io::Result<()> {
    scratch.lines.clear();
    read_frame_bytes(packs, frame, scratch)?;
    scratch
        .lines
        .reserve_exact(usize::try_from(frame.raw_bytes).map_err(io::Error::other)?);
    squeeze::decompress_into(&scratch.packed, &mut scratch.lines)
}

/// Prefix of the placeholder for a line that was too long to store. No JSON text starts with it.
const PLACEHOLDER_PREFIX: &str = "\u{1}boswell:line-left-out:";

/// Returns the placeholder for a line that was too long to store, with its length and hash.
pub fn format_placeholder(line: &MaskedLine<'_>) -> String {
    match line.body() {
        LineBody::Oversized { length, hash } => format!("{PLACEHOLDER_PREFIX}{length}:{}", hash.to_hex()),
        LineBody::Bytes(_) => String::new(),
    }
}

/// Returns a stored line as the reader expects it: a placeholder becomes an oversized line again.
pub fn parse_body(bytes: &[u8]) -> LineBody<'_> {
    // The prefix is compared first because validating a long line as UTF-8 is expensive and hardly any line has the
    // prefix.
    let placeholder = bytes
        .strip_prefix(PLACEHOLDER_PREFIX.as_bytes())
        .and_then(|placeholder| std::str::from_utf8(placeholder).ok());
    let placeholder = placeholder.and_then(|placeholder| placeholder.split_once(':'));
    let placeholder =
        placeholder.and_then(|(length, hash)| Some((length.parse().ok()?, blake3::Hash::from_hex(hash).ok()?)));
    match placeholder {
        Some((length, hash)) => LineBody::Oversized { length, hash },
        None => LineBody::Bytes(bytes),
    }
}

/// Returns `true` if a stored line is a placeholder.
pub fn is_placeholder(line: &[u8]) -> bool {
    matches!(parse_body(line), LineBody::Oversized { .. })
}

/// Lists the names of all pack files. Empty if packs are rows, because those never exist without their frames.
pub fn list_packs(packs: &PackStorage) -> Vec<String> {
    let PackStorage::Files(packs) = packs else {
        return Vec::new();
    };
    let directories = fs::read_dir(packs).into_iter().flatten().flatten();
    let files = directories.flat_map(|directory| fs::read_dir(directory.path()).into_iter().flatten().flatten());
    let name = |path: std::path::PathBuf| Some(path.strip_prefix(packs).ok()?.to_str()?.replace('\\', "/"));
    files.filter_map(|file| name(file.path())).collect()
}

#[cfg(unix)]
fn with_private_mode(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(unix)]
fn create_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(not(unix))]
fn with_private_mode(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A new file is safe on disk only after its directory is synced.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pack: &str, start: u64, frame: &CompressedFrame) -> FrameRow {
        FrameRow {
            frame_no: 0,
            first_line: frame.first_line,
            lines: frame.lines,
            raw_bytes: frame.raw_bytes,
            pack: pack.to_owned(),
            start,
            length: frame.bytes.len() as u64,
            checksum: *blake3::hash(&frame.bytes).as_bytes(),
            mask_version: crate::mask::MaskVersion::default(),
        }
    }

    #[test]
    fn append_truncates_what_a_crash_left_after_the_last_frame() {
        let home = tempfile::tempdir().unwrap();
        let packs = PackStorage::Files(home.path().to_owned());
        let pack = pack_name("claude:s", "log", 1);
        let (first, second) = (
            compress_frame(1, 1, b"one\n").unwrap(),
            compress_frame(2, 1, b"two\n").unwrap(),
        );
        let mut unsynced = UnsyncedPacks::default();
        let start = append_frames(&packs, &pack, 0, std::slice::from_ref(&first), &mut unsynced).unwrap()[0];
        let end = start + first.bytes.len() as u64;
        append_frames(
            &packs,
            &pack,
            end,
            &[compress_frame(2, 1, b"never committed\n").unwrap()],
            &mut unsynced,
        )
        .unwrap();
        let again = append_frames(&packs, &pack, end, std::slice::from_ref(&second), &mut unsynced).unwrap()[0];
        unsynced.sync().unwrap();
        assert_eq!(read_frame(&packs, &row(&pack, start, &first)).unwrap(), b"one\n");
        assert_eq!(read_frame(&packs, &row(&pack, again, &second)).unwrap(), b"two\n");
        assert_eq!(
            fs::metadata(home.path().join(&pack)).unwrap().len(),
            end + second.bytes.len() as u64
        );
    }

    #[test]
    fn a_damaged_frame_is_an_error_and_the_others_stay_readable() {
        let home = tempfile::tempdir().unwrap();
        let packs = PackStorage::Files(home.path().to_owned());
        let pack = pack_name("claude:s", "log", 1);
        let frames = [
            compress_frame(1, 1, b"one\n").unwrap(),
            compress_frame(2, 1, b"two\n").unwrap(),
        ];
        let starts = append_frames(&packs, &pack, 0, &frames, &mut UnsyncedPacks::default()).unwrap();
        let path = home.path().join(&pack);
        let mut bytes = fs::read(&path).unwrap();
        bytes[2] ^= 0xff;
        fs::write(&path, bytes).unwrap();
        assert!(read_frame(&packs, &row(&pack, starts[0], &frames[0])).is_err());
        assert_eq!(
            read_frame(&packs, &row(&pack, starts[1], &frames[1])).unwrap(),
            b"two\n"
        );
    }
}
