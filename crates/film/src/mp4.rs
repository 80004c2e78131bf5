//! Writes the MP4 container: one video track and one chapter track.
//!
//! The number of frames, key frames and chapters is known before encoding starts, so space for the index is reserved at the start of
//! the file, where players expect it, and frames are written as they are encoded. The file contains no creation time, so that it is
//! reproducible. Chapters are written as a text track and as a list, because some players support only one of the two.

use std::io::{self, Seek, SeekFrom, Write};

use super::scene::Chapter;

/// The time unit of all tracks except video is a millisecond.
const TICKS_PER_SECOND: u32 = 1_000;
/// Ticks per millisecond in the chapter list, and its maximum length.
const LIST_TICKS: u64 = 10_000;
const LIST_MAX: usize = 255;
/// The identity transformation.
const MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];
const VIDEO_TRACK: u32 = 1;
const CHAPTER_TRACK: u32 = 2;

/// What is known about a film before it is encoded.
pub(crate) struct Mp4Plan {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fps: u32,
    pub(crate) frames: u32,
    pub(crate) level: u8,
    pub(crate) sps: Vec<u8>,
    pub(crate) pps: Vec<u8>,
    pub(crate) key_frames: Vec<u32>,
    pub(crate) chapters: Vec<Chapter>,
    pub(crate) title: String,
}

impl Mp4Plan {
    fn duration_ms(&self) -> u32 {
        let ms = u64::from(self.frames) * u64::from(TICKS_PER_SECOND) / u64::from(self.fps);
        u32::try_from(ms).unwrap_or(u32::MAX)
    }
}

/// Writes an MP4 file frame by frame.
pub(crate) struct Mp4Muxer<'o, W: Write + Seek> {
    out: &'o mut W,
    plan: Mp4Plan,
    /// The offset of the index.
    index_at: u64,
    data_at: u64,
    texts_bytes: u64,
    sizes: Vec<u32>,
    written: u64,
}

impl<'o, W: Write + Seek> Mp4Muxer<'o, W> {
    pub(crate) fn new(out: &'o mut W, plan: Mp4Plan) -> io::Result<Self> {
        let kind = mp4_box(b"ftyp", |out| {
            out.extend(b"isom");
            push_u32(out, 0x200);
            out.extend(b"isomiso2avc1mp41");
        });
        out.write_all(&kind)?;
        let index_at = kind.len() as u64;
        let blank = vec![0; plan.frames as usize];
        let texts: Vec<Vec<u8>> = plan
            .chapters
            .iter()
            .map(|chapter| chapter_sample(&chapter.title))
            .collect();
        // All tables have a fixed size per frame, so an index of zeros has the final length.
        let length = movie_index(&plan, &blank, 0)?.len();
        out.write_all(&vec![0; length])?;
        // The 64-bit size follows the name, because the size is known only at the end.
        write_u32(out, 1)?;
        out.write_all(b"mdat")?;
        out.write_all(&[0; 8])?;
        let data_at = index_at + length as u64 + 16;
        for text in &texts {
            out.write_all(text)?;
        }
        let texts_bytes = texts.iter().map(|text| text.len() as u64).sum();
        Ok(Self {
            out,
            plan,
            index_at,
            data_at,
            texts_bytes,
            sizes: Vec::new(),
            written: texts_bytes,
        })
    }

    /// Writes one encoded frame.
    pub(crate) fn write_frame(&mut self, unit: &[u8]) -> io::Result<()> {
        let length = u32::try_from(unit.len()).map_err(|_| too_long())?;
        write_u32(self.out, length)?;
        self.out.write_all(unit)?;
        self.sizes.push(length + 4);
        self.written += u64::from(length) + 4;
        Ok(())
    }

    /// Writes the index and returns the length of the file.
    pub(crate) fn finish(self) -> io::Result<u64> {
        debug_assert_eq!(self.sizes.len(), self.plan.frames as usize);
        let index = movie_index(&self.plan, &self.sizes, self.data_at)?;
        self.out.seek(SeekFrom::Start(self.index_at))?;
        self.out.write_all(&index)?;
        self.out.seek(SeekFrom::Start(self.data_at - 8))?;
        self.out.write_all(&(self.written + 16).to_be_bytes())?;
        self.out.seek(SeekFrom::End(0))?;
        debug_assert!(self.texts_bytes <= self.written);
        Ok(self.data_at + self.written)
    }
}

fn too_long() -> io::Error {
    io::Error::other("the film is too long for an MP4 file")
}

fn write_u32(out: &mut impl Write, number: u32) -> io::Result<()> {
    out.write_all(&number.to_be_bytes())
}

fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_be_bytes());
}

fn push_u16(out: &mut Vec<u8>, number: u16) {
    out.extend(number.to_be_bytes());
}

/// Returns an MP4 box: length, name, content.
fn mp4_box(name: &[u8; 4], fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(name);
    fill(&mut out);
    let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out[..4].copy_from_slice(&length.to_be_bytes());
    out
}

/// Returns a full box, which starts with a version and flags.
fn full_box(name: &[u8; 4], flags: u32, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    mp4_box(name, |out| {
        push_u32(out, flags);
        fill(out);
    })
}

/// Returns a chapter title as a sample of the text track, marked as UTF-8.
fn chapter_sample(title: &str) -> Vec<u8> {
    let title = title.as_bytes();
    let mut out = Vec::with_capacity(title.len() + 14);
    push_u16(&mut out, u16::try_from(title.len()).unwrap_or(u16::MAX));
    out.extend(&title[..title.len().min(usize::from(u16::MAX))]);
    out.extend(mp4_box(b"encd", |out| push_u32(out, 0x100)));
    out
}

/// Returns the index (`moov`): the offset and the time of each frame.
fn movie_index(plan: &Mp4Plan, sizes: &[u32], data_at: u64) -> io::Result<Vec<u8>> {
    let texts: Vec<u32> = plan
        .chapters
        .iter()
        .map(|chapter| u32::try_from(chapter_sample(&chapter.title).len()).unwrap_or(u32::MAX))
        .collect();
    let texts_bytes: u64 = texts.iter().map(|size| u64::from(*size)).sum();
    let chunk_offsets = chunk_offsets(sizes, data_at + texts_bytes, plan.fps)?;
    let texts_at = u32::try_from(data_at).map_err(|_| too_long())?;
    Ok(mp4_box(b"moov", |out| {
        out.extend(movie_header(plan));
        out.extend(mp4_box(b"trak", |out| {
            out.extend(track_header(plan, VIDEO_TRACK));
            out.extend(mp4_box(b"tref", |out| {
                out.extend(mp4_box(b"chap", |out| push_u32(out, CHAPTER_TRACK)))
            }));
            let table = video_table(plan, sizes, &chunk_offsets);
            out.extend(media(
                b"vide",
                plan.fps,
                plan.frames,
                full_box(b"vmhd", 1, |out| out.extend([0; 8])),
                table,
            ));
        }));
        out.extend(mp4_box(b"trak", |out| {
            out.extend(track_header(plan, CHAPTER_TRACK));
            let table = chapter_table(plan, &texts, texts_at);
            out.extend(media(
                b"text",
                TICKS_PER_SECOND,
                plan.duration_ms(),
                plain_header(),
                table,
            ));
        }));
        out.extend(user_data(plan));
    }))
}

/// Returns the offset of each chunk. A chunk is one second of video.
fn chunk_offsets(sizes: &[u32], mut at: u64, fps: u32) -> io::Result<Vec<u32>> {
    let mut chunk_offsets = Vec::new();
    for second in sizes.chunks(fps as usize) {
        chunk_offsets.push(u32::try_from(at).map_err(|_| too_long())?);
        at += second.iter().map(|size| u64::from(*size)).sum::<u64>();
    }
    Ok(chunk_offsets)
}

fn movie_header(plan: &Mp4Plan) -> Vec<u8> {
    full_box(b"mvhd", 0, |out| {
        for value in [0, 0, TICKS_PER_SECOND, plan.duration_ms(), 0x1_0000] {
            push_u32(out, value);
        }
        push_u16(out, 0x100);
        out.extend([0; 10]);
        MATRIX.into_iter().for_each(|value| push_u32(out, value));
        out.extend([0; 24]);
        push_u32(out, CHAPTER_TRACK + 1);
    })
}

fn track_header(plan: &Mp4Plan, id: u32) -> Vec<u8> {
    let is_visible = id == VIDEO_TRACK;
    // The video track is enabled and in the movie; the chapter track is neither, because its text must not be displayed.
    full_box(b"tkhd", if is_visible { 3 } else { 0 }, |out| {
        for value in [0, 0, id, 0, plan.duration_ms(), 0, 0, 0, 0] {
            push_u32(out, value);
        }
        MATRIX.into_iter().for_each(|value| push_u32(out, value));
        let (width, height) = if is_visible { (plan.width, plan.height) } else { (0, 0) };
        push_u32(out, width << 16);
        push_u32(out, height << 16);
    })
}

fn media(kind: &[u8; 4], ticks: u32, duration: u32, header: Vec<u8>, table: Vec<u8>) -> Vec<u8> {
    mp4_box(b"mdia", |out| {
        out.extend(full_box(b"mdhd", 0, |out| {
            [0, 0, ticks, duration]
                .into_iter()
                .for_each(|value| push_u32(out, value));
            // Undetermined language.
            push_u16(out, 0x55c4);
            push_u16(out, 0);
        }));
        out.extend(full_box(b"hdlr", 0, |out| {
            push_u32(out, 0);
            out.extend(kind);
            out.extend([0; 13]);
        }));
        out.extend(mp4_box(b"minf", |out| {
            out.extend(header);
            out.extend(mp4_box(b"dinf", |out| {
                out.extend(full_box(b"dref", 0, |out| {
                    push_u32(out, 1);
                    // The data is in this file.
                    out.extend(full_box(b"url ", 1, |_| {}));
                }));
            }));
            out.extend(table);
        }));
    })
}

fn video_table(plan: &Mp4Plan, sizes: &[u32], chunk_offsets: &[u32]) -> Vec<u8> {
    mp4_box(b"stbl", |out| {
        out.extend(full_box(b"stsd", 0, |out| {
            push_u32(out, 1);
            out.extend(video_entry(plan));
        }));
        out.extend(full_box(b"stts", 0, |out| {
            [1, plan.frames, 1].into_iter().for_each(|value| push_u32(out, value))
        }));
        out.extend(full_box(b"stss", 0, |out| {
            push_u32(out, u32::try_from(plan.key_frames.len()).unwrap_or(0));
            plan.key_frames.iter().for_each(|key| push_u32(out, key + 1));
        }));
        let last = plan.frames % plan.fps;
        let whole = plan.frames / plan.fps;
        out.extend(full_box(b"stsc", 0, |out| {
            let mut runs = Vec::new();
            if whole > 0 {
                runs.push((1, plan.fps));
            }
            if last > 0 {
                runs.push((whole + 1, last));
            }
            push_u32(out, u32::try_from(runs.len()).unwrap_or(0));
            for (first, count) in runs {
                [first, count, 1].into_iter().for_each(|value| push_u32(out, value));
            }
        }));
        out.extend(size_table(sizes));
        out.extend(offset_table(chunk_offsets));
    })
}

fn size_table(sizes: &[u32]) -> Vec<u8> {
    full_box(b"stsz", 0, |out| {
        push_u32(out, 0);
        push_u32(out, u32::try_from(sizes.len()).unwrap_or(0));
        sizes.iter().for_each(|size| push_u32(out, *size));
    })
}

fn offset_table(chunk_offsets: &[u32]) -> Vec<u8> {
    full_box(b"stco", 0, |out| {
        push_u32(out, u32::try_from(chunk_offsets.len()).unwrap_or(0));
        chunk_offsets.iter().for_each(|place| push_u32(out, *place));
    })
}

fn video_entry(plan: &Mp4Plan) -> Vec<u8> {
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    mp4_box(b"avc1", |out| {
        out.extend([0; 6]);
        push_u16(out, 1);
        out.extend([0; 16]);
        push_u16(out, side(plan.width));
        push_u16(out, side(plan.height));
        // 72 dots per inch, one frame per sample, no compressor name, 24 bits per pixel.
        [0x48_0000, 0x48_0000, 0]
            .into_iter()
            .for_each(|value| push_u32(out, value));
        push_u16(out, 1);
        out.extend([0; 32]);
        push_u16(out, 24);
        push_u16(out, 0xffff);
        out.extend(mp4_box(b"avcC", |out| {
            out.extend([1, 66, 0xc0, plan.level, 0xff, 0xe1]);
            push_u16(out, u16::try_from(plan.sps.len()).unwrap_or(0));
            out.extend(&plan.sps);
            out.push(1);
            push_u16(out, u16::try_from(plan.pps.len()).unwrap_or(0));
            out.extend(&plan.pps);
        }));
        // BT.709 colours, limited range.
        out.extend(mp4_box(b"colr", |out| {
            out.extend(b"nclx");
            [1, 1, 1].into_iter().for_each(|code| push_u16(out, code));
            out.push(0);
        }));
        out.extend(mp4_box(b"pasp", |out| {
            [1, 1].into_iter().for_each(|value| push_u32(out, value))
        }));
    })
}

/// Returns the duration of each chapter in milliseconds.
fn chapter_durations(plan: &Mp4Plan) -> Vec<u32> {
    let starts = plan.chapters.iter().map(|chapter| chapter.at_ms);
    let ends = starts.clone().skip(1).chain([u64::from(plan.duration_ms())]);
    let length = |(from, to): (u64, u64)| u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX);
    starts.zip(ends).map(length).collect()
}

fn chapter_table(plan: &Mp4Plan, sizes: &[u32], at: u32) -> Vec<u8> {
    let count = u32::try_from(plan.chapters.len()).unwrap_or(0);
    mp4_box(b"stbl", |out| {
        out.extend(full_box(b"stsd", 0, |out| {
            push_u32(out, 1);
            out.extend(mp4_box(b"text", |out| {
                out.extend([0; 6]);
                push_u16(out, 1);
                // All text formatting is zero: flags, alignment, background, box, font, colour, font name.
                push_u32(out, 1);
                out.extend([0; 4 + 6 + 8 + 8 + 2 + 2 + 1 + 2 + 6 + 1]);
            }));
        }));
        out.extend(full_box(b"stts", 0, |out| {
            push_u32(out, count);
            for length in chapter_durations(plan) {
                push_u32(out, 1);
                push_u32(out, length);
            }
        }));
        out.extend(full_box(b"stsc", 0, |out| {
            [1, 1, count, 1].into_iter().for_each(|value| push_u32(out, value))
        }));
        out.extend(size_table(sizes));
        out.extend(offset_table(&[at]));
    })
}

/// Returns the media header of a track that is neither video nor audio.
fn plain_header() -> Vec<u8> {
    mp4_box(b"gmhd", |out| {
        out.extend(full_box(b"gmin", 0, |out| {
            [0x40, 0x8000, 0x8000, 0x8000, 0, 0]
                .into_iter()
                .for_each(|value| push_u16(out, value));
        }));
        out.extend(mp4_box(b"text", |out| {
            [1_u16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x4000, 0]
                .into_iter()
                .for_each(|value| push_u16(out, value));
        }));
    })
}

/// Returns the user data: the chapter list and the title.
fn user_data(plan: &Mp4Plan) -> Vec<u8> {
    mp4_box(b"udta", |out| {
        let listed = &plan.chapters[..plan.chapters.len().min(LIST_MAX)];
        out.extend(full_box(b"chpl", 0x0100_0000, |out| {
            push_u32(out, 0);
            out.push(u8::try_from(listed.len()).unwrap_or(u8::MAX));
            for chapter in listed {
                let title = &chapter.title[..chapter.title.floor_char_boundary(LIST_MAX)];
                out.extend((chapter.at_ms * LIST_TICKS).to_be_bytes());
                out.push(u8::try_from(title.len()).unwrap_or(u8::MAX));
                out.extend(title.as_bytes());
            }
        }));
        out.extend(full_box(b"meta", 0, |out| {
            out.extend(full_box(b"hdlr", 0, |out| {
                push_u32(out, 0);
                out.extend(b"mdirappl");
                out.extend([0; 9]);
            }));
            out.extend(mp4_box(b"ilst", |out| {
                out.extend(metadata_item(b"\xa9nam", &plan.title));
                out.extend(metadata_item(b"\xa9too", "boswell"));
            }));
        }));
    })
}

fn metadata_item(name: &[u8; 4], text: &str) -> Vec<u8> {
    mp4_box(name, |out| {
        out.extend(mp4_box(b"data", |out| {
            // UTF-8, default locale.
            [1, 0].into_iter().for_each(|value| push_u32(out, value));
            out.extend(text.as_bytes());
        }));
    })
}
