//! Packs: independent zstd frames of masked lines, one pack per part of a session and generation. A pack is a file, or where
//! many machines share a database, some rows of it; only this file knows.
//!
//! A frame in a file is written and synced before the store says that it exists; bytes past the last frame that the
//! store knows do not exist, and the next writer cuts them off. Any frame is read without the others, and a
//! damaged one is told by its checksum.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use transcript::{Line, LineBody};

use crate::mask::MaskVersion;
use crate::squeeze;
use crate::terms::Marks;
use crate::threads::on_threads;

/// A frame that exists: its bytes are on disk and synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRow {
    pub frame_no: u64,
    pub first_line: u64,
    pub lines: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// The file under `packs`.
    pub pack: String,
    pub start: u64,
    pub length: u64,
    /// BLAKE3 of the compressed bytes.
    pub checksum: [u8; 32],
    /// By which rules its text was masked.
    pub mask_version: MaskVersion,
}

/// Lines are gathered to about this size before they are compressed.
pub const FRAME_BYTES: usize = 1 << 20;
/// Level 3 takes a sixth longer and saves three bytes of a hundred; better ratios cost three times the time: measured.
const ZSTD_LEVEL: i32 = 2;
/// Between these sizes level 2 is as dear as level 3.
const DEAR_BYTES: RangeInclusive<usize> = (128 << 10) + 1..=256 << 10;

/// So many syncs are asked for at once.
const SYNC_THREADS: usize = 8;

/// Gives the packed bytes of a frame that is a row.
pub type ReadRow = dyn Fn(&FrameRow, &mut Vec<u8>) -> io::Result<()> + Send + Sync;

/// Where packs lie.
#[derive(Clone)]
pub enum Packs {
    /// In files below a directory.
    Files(PathBuf),
    /// In the rows that name their frames: they come and go with those.
    Rows(Arc<ReadRow>),
}

impl Packs {
    /// What has to be put into the row of a frame.
    pub fn row_bytes<'f>(&self, frame: &'f Frame) -> Option<&'f [u8]> {
        match self {
            Self::Files(_) => None,
            Self::Rows(_) => Some(&frame.bytes),
        }
    }

    /// Takes a pack away whose rows are gone. What cannot be taken away now is an orphan, and goes with the next try.
    pub fn remove(&self, pack: &str) {
        if let Self::Files(directory) = self {
            _ = fs::remove_file(directory.join(pack));
        }
    }

    /// Where a pack is, for messages.
    pub fn path(&self, pack: &str) -> PathBuf {
        match self {
            Self::Files(directory) => directory.join(pack),
            Self::Rows(_) => PathBuf::from(pack),
        }
    }
}

/// A frame that is not on disk yet.
#[derive(Debug)]
pub struct Frame {
    pub first_line: u64,
    pub lines: u64,
    pub raw_bytes: u64,
    pub bytes: Vec<u8>,
    /// What it is found by.
    pub marks: Marks,
}

/// Compresses lines into a frame.
pub fn compress(first_line: u64, lines: u64, raw: &[u8]) -> io::Result<Frame> {
    let is_dear = DEAR_BYTES.contains(&raw.len());
    let bytes = squeeze::compress(raw, ZSTD_LEVEL - i32::from(is_dear))?;
    Ok(Frame {
        first_line,
        lines,
        raw_bytes: raw.len() as u64,
        bytes,
        marks: Marks::default(),
    })
}

/// Names the pack of a part. The session's own id is a stranger's word and stays out of the file system. Few
/// directories: each one that got a new pack has to be synced.
pub fn name(session_uid: &str, part: &str, generation: u64) -> String {
    let hash = blake3::hash(format!("{session_uid}\n{part}").as_bytes()).to_hex();
    format!("{}/{}.{generation}", &hash[..1], &hash[1..33])
}

/// The generation a pack's name tells.
pub fn generation(pack: &str) -> u64 {
    pack.rsplit_once('.')
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or_default()
}

/// Packs that were written to and are not yet safe on disk.
#[derive(Default)]
pub struct Unsynced {
    files: Vec<File>,
    /// Those that have a new name in them.
    directories: BTreeSet<PathBuf>,
}

impl Unsynced {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    /// Makes everything safe. A disk makes many files safe in about the time of one, if they are asked for at once.
    pub fn sync(self) -> io::Result<()> {
        let directories: Vec<&PathBuf> = self.directories.iter().collect();
        let count = self.files.len() + directories.len();
        let synced = on_threads(SYNC_THREADS, count, |number, _| match self.files.get(number) {
            Some(file) => file.sync_data(),
            None => sync_directory(directories[number - self.files.len()]),
        });
        synced.into_iter().collect()
    }
}

/// Writes frames behind the first `committed` bytes of a pack, to be synced before anybody is told of them.
/// Whatever a crash left there is cut off first. Gives back where each frame begins.
pub fn append(
    packs: &Packs,
    pack: &str,
    committed: u64,
    frames: &[Frame],
    unsynced: &mut Unsynced,
) -> io::Result<Vec<u64>> {
    if let Packs::Files(directory) = packs {
        write(directory, pack, committed, frames, unsynced)?;
    }
    let mut at = committed;
    let start = |frame: &Frame| {
        let start = at;
        at += frame.bytes.len() as u64;
        start
    };
    Ok(frames.iter().map(start).collect())
}

fn write(packs: &Path, pack: &str, committed: u64, frames: &[Frame], unsynced: &mut Unsynced) -> io::Result<()> {
    let path = packs.join(pack);
    if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
        private_directory(directory)?;
        unsynced.directories.insert(packs.to_owned());
    }
    let is_new = !path.exists();
    let mut file = private(OpenOptions::new().create(true).truncate(false).write(true)).open(&path)?;
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

/// No frame is larger, packed or not: it holds one line that may be read, and a little more. A damaged row may say anything.
const FRAME_BYTES_MAX: u64 = 256 << 20;

/// Memory that is used again for every frame one thread reads: fresh memory costs as much as unpacking does.
#[derive(Default)]
pub struct Scratch {
    /// The lines of the frame that was read last.
    pub lines: Vec<u8>,
    packed: Vec<u8>,
}

/// Reads the lines of a frame back.
pub fn read(packs: &Packs, frame: &FrameRow) -> io::Result<Vec<u8>> {
    let mut scratch = Scratch::default();
    read_into(packs, frame, &mut scratch)?;
    Ok(scratch.lines)
}

/// Reads a frame as it lies there, packed.
pub fn read_packed(packs: &Packs, frame: &FrameRow) -> io::Result<Vec<u8>> {
    let mut scratch = Scratch::default();
    fill(packs, frame, &mut scratch)?;
    Ok(scratch.packed)
}

fn fill(packs: &Packs, frame: &FrameRow, scratch: &mut Scratch) -> io::Result<()> {
    if frame.length > FRAME_BYTES_MAX || frame.raw_bytes > FRAME_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "its row tells no size that a frame can have",
        ));
    }
    match packs {
        Packs::Files(directory) => {
            let mut file = File::open(directory.join(&frame.pack))?;
            file.seek(SeekFrom::Start(frame.start))?;
            let length = usize::try_from(frame.length).map_err(io::Error::other)?;
            scratch.packed.resize(length, 0);
            file.read_exact(&mut scratch.packed)?;
        }
        Packs::Rows(read) => read(frame, &mut scratch.packed)?,
    }
    if blake3::hash(&scratch.packed).as_bytes() != &frame.checksum {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum does not fit"));
    }
    Ok(())
}

/// Reads the lines of a frame into memory that is there already.
pub fn read_into(packs: &Packs, frame: &FrameRow, scratch: &mut Scratch) -> io::Result<()> {
    scratch.lines.clear();
    fill(packs, frame, scratch)?;
    scratch
        .lines
        .reserve_exact(usize::try_from(frame.raw_bytes).map_err(io::Error::other)?);
    squeeze::decompress_into(&scratch.packed, &mut scratch.lines)
}

/// Stands for a line that was too long to keep. No JSON begins like this.
const STAND_IN: &str = "\u{1}boswell:line-left-out:";

/// What is kept of a line that was too long: how long it was, and its hash.
pub fn stand_in(line: &Line<'_>) -> String {
    match line.body {
        LineBody::Oversized { length, hash } => format!("{STAND_IN}{length}:{}", hash.to_hex()),
        LineBody::Bytes(_) => String::new(),
    }
}

/// A kept line as a reader takes it: what stands for a line that was left out is one again.
pub fn body(bytes: &[u8]) -> LineBody<'_> {
    // Nearly no line begins so, and whether the rest of a long one is text is nobody's question then.
    let told = bytes
        .strip_prefix(STAND_IN.as_bytes())
        .and_then(|told| std::str::from_utf8(told).ok());
    let told = told.and_then(|told| told.split_once(':'));
    let told = told.and_then(|(length, hash)| Some((length.parse().ok()?, blake3::Hash::from_hex(hash).ok()?)));
    match told {
        Some((length, hash)) => LineBody::Oversized { length, hash },
        None => LineBody::Bytes(bytes),
    }
}

/// Whether a kept line stands for one that was left out.
pub fn is_stand_in(line: &[u8]) -> bool {
    matches!(body(line), LineBody::Oversized { .. })
}

/// All pack files there are, by their names. Rows of a pack are never without those that name them.
pub fn list(packs: &Packs) -> Vec<String> {
    let Packs::Files(packs) = packs else {
        return Vec::new();
    };
    let directories = fs::read_dir(packs).into_iter().flatten().flatten();
    let files = directories.flat_map(|directory| fs::read_dir(directory.path()).into_iter().flatten().flatten());
    let name = |path: std::path::PathBuf| Some(path.strip_prefix(packs).ok()?.to_str()?.replace('\\', "/"));
    files.filter_map(|file| name(file.path())).collect()
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(unix)]
fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A new name is only safe on disk once its directory is.
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

    fn row(pack: &str, start: u64, frame: &Frame) -> FrameRow {
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
    fn what_a_crash_left_behind_the_last_frame_is_cut_off() {
        let home = tempfile::tempdir().unwrap();
        let packs = Packs::Files(home.path().to_owned());
        let pack = name("claude:s", "log", 1);
        let (first, second) = (compress(1, 1, b"one\n").unwrap(), compress(2, 1, b"two\n").unwrap());
        let mut unsynced = Unsynced::default();
        let start = append(&packs, &pack, 0, std::slice::from_ref(&first), &mut unsynced).unwrap()[0];
        let end = start + first.bytes.len() as u64;
        append(
            &packs,
            &pack,
            end,
            &[compress(2, 1, b"never committed\n").unwrap()],
            &mut unsynced,
        )
        .unwrap();
        let again = append(&packs, &pack, end, std::slice::from_ref(&second), &mut unsynced).unwrap()[0];
        unsynced.sync().unwrap();
        assert_eq!(read(&packs, &row(&pack, start, &first)).unwrap(), b"one\n");
        assert_eq!(read(&packs, &row(&pack, again, &second)).unwrap(), b"two\n");
        assert_eq!(
            fs::metadata(home.path().join(&pack)).unwrap().len(),
            end + second.bytes.len() as u64
        );
    }

    #[test]
    fn a_damaged_frame_is_told_and_the_others_stay_readable() {
        let home = tempfile::tempdir().unwrap();
        let packs = Packs::Files(home.path().to_owned());
        let pack = name("claude:s", "log", 1);
        let frames = [compress(1, 1, b"one\n").unwrap(), compress(2, 1, b"two\n").unwrap()];
        let starts = append(&packs, &pack, 0, &frames, &mut Unsynced::default()).unwrap();
        let path = home.path().join(&pack);
        let mut bytes = fs::read(&path).unwrap();
        bytes[2] ^= 0xff;
        fs::write(&path, bytes).unwrap();
        assert!(read(&packs, &row(&pack, starts[0], &frames[0])).is_err());
        assert_eq!(read(&packs, &row(&pack, starts[1], &frames[1])).unwrap(), b"two\n");
    }
}
