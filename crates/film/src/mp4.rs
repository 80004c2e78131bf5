//! The file that pictures lie in: MP4, with one track of pictures and one of chapters.
//!
//! How long every table is, is known before the first picture is made: frames, key frames and chapters are planned. So there is
//! room for the index at the beginning of the file, where players want it, and pictures are written as they come. Nothing in
//! it tells when it was made. Chapters are told twice, as players know them either way: a track of texts, and a list.

use std::io::{self, Seek, SeekFrom, Write};

use super::scene::Chapter;

/// Players count in milliseconds, for all tracks but that of pictures.
const MILLIS: u32 = 1_000;
/// The list of chapters counts in this, and holds so many.
const LIST_TICKS: u64 = 10_000;
const LIST_MAX: usize = 255;
/// No change of place or size, as a matrix.
const MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];
const PICTURES: u32 = 1;
const CHAPTERS: u32 = 2;

/// What is known of a film before it is made.
pub(crate) struct Plan {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fps: u32,
    pub(crate) frames: u32,
    pub(crate) level: u8,
    pub(crate) sequence: Vec<u8>,
    pub(crate) picture: Vec<u8>,
    pub(crate) keys: Vec<u32>,
    pub(crate) chapters: Vec<Chapter>,
    pub(crate) title: String,
}

impl Plan {
    fn duration_ms(&self) -> u32 {
        let ms = u64::from(self.frames) * u64::from(MILLIS) / u64::from(self.fps);
        u32::try_from(ms).unwrap_or(u32::MAX)
    }
}

/// A file in the making.
pub(crate) struct Muxer<'o, W: Write + Seek> {
    out: &'o mut W,
    plan: Plan,
    /// Where the index begins, and the pictures.
    index_at: u64,
    data_at: u64,
    texts_bytes: u64,
    sizes: Vec<u32>,
    written: u64,
}

impl<'o, W: Write + Seek> Muxer<'o, W> {
    pub(crate) fn new(out: &'o mut W, plan: Plan) -> io::Result<Self> {
        let kind = boxed(b"ftyp", |out| {
            out.extend(b"isom");
            number(out, 0x200);
            out.extend(b"isomiso2avc1mp41");
        });
        out.write_all(&kind)?;
        let index_at = kind.len() as u64;
        let blank = vec![0; plan.frames as usize];
        let texts: Vec<Vec<u8>> = plan.chapters.iter().map(|chapter| text(&chapter.title)).collect();
        let length = index(&plan, &blank, 0)?.len();
        out.write_all(&vec![0; length])?;
        // A size of its own, since it is known only at the end.
        number_to(out, 1)?;
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

    /// One picture.
    pub(crate) fn picture(&mut self, unit: &[u8]) -> io::Result<()> {
        let length = u32::try_from(unit.len()).map_err(|_| too_long())?;
        number_to(self.out, length)?;
        self.out.write_all(unit)?;
        self.sizes.push(length + 4);
        self.written += u64::from(length) + 4;
        Ok(())
    }

    /// Writes the index; gives how long the file is.
    pub(crate) fn finish(self) -> io::Result<u64> {
        debug_assert_eq!(self.sizes.len(), self.plan.frames as usize);
        let index = index(&self.plan, &self.sizes, self.data_at)?;
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
    io::Error::other("the film is longer than its file can tell")
}

fn number_to(out: &mut impl Write, number: u32) -> io::Result<()> {
    out.write_all(&number.to_be_bytes())
}

fn number(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_be_bytes());
}

fn short(out: &mut Vec<u8>, number: u16) {
    out.extend(number.to_be_bytes());
}

/// A box: its length, its name, what is in it.
fn boxed(name: &[u8; 4], fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(name);
    fill(&mut out);
    let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out[..4].copy_from_slice(&length.to_be_bytes());
    out
}

/// A box with a version and flags.
fn full(name: &[u8; 4], flags: u32, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    boxed(name, |out| {
        number(out, flags);
        fill(out);
    })
}

/// A chapter's name as a track of texts holds it, with the note that it is UTF-8.
fn text(title: &str) -> Vec<u8> {
    let title = title.as_bytes();
    let mut out = Vec::with_capacity(title.len() + 14);
    short(&mut out, u16::try_from(title.len()).unwrap_or(u16::MAX));
    out.extend(&title[..title.len().min(usize::from(u16::MAX))]);
    out.extend(boxed(b"encd", |out| number(out, 0x100)));
    out
}

/// The index of a film: where each picture lies, and when it is shown.
fn index(plan: &Plan, sizes: &[u32], data_at: u64) -> io::Result<Vec<u8>> {
    let texts: Vec<u32> = plan
        .chapters
        .iter()
        .map(|chapter| u32::try_from(text(&chapter.title).len()).unwrap_or(u32::MAX))
        .collect();
    let texts_bytes: u64 = texts.iter().map(|size| u64::from(*size)).sum();
    let places = places(sizes, data_at + texts_bytes, plan.fps)?;
    let texts_at = u32::try_from(data_at).map_err(|_| too_long())?;
    Ok(boxed(b"moov", |out| {
        out.extend(movie(plan));
        out.extend(boxed(b"trak", |out| {
            out.extend(track(plan, PICTURES));
            out.extend(boxed(b"tref", |out| {
                out.extend(boxed(b"chap", |out| number(out, CHAPTERS)))
            }));
            let table = pictures(plan, sizes, &places);
            out.extend(media(
                b"vide",
                plan.fps,
                plan.frames,
                full(b"vmhd", 1, |out| out.extend([0; 8])),
                table,
            ));
        }));
        out.extend(boxed(b"trak", |out| {
            out.extend(track(plan, CHAPTERS));
            let table = chapters(plan, &texts, texts_at);
            out.extend(media(b"text", MILLIS, plan.duration_ms(), plain_header(), table));
        }));
        out.extend(told(plan));
    }))
}

/// Where each second of pictures begins.
fn places(sizes: &[u32], mut at: u64, fps: u32) -> io::Result<Vec<u32>> {
    let mut places = Vec::new();
    for second in sizes.chunks(fps as usize) {
        places.push(u32::try_from(at).map_err(|_| too_long())?);
        at += second.iter().map(|size| u64::from(*size)).sum::<u64>();
    }
    Ok(places)
}

fn movie(plan: &Plan) -> Vec<u8> {
    full(b"mvhd", 0, |out| {
        for value in [0, 0, MILLIS, plan.duration_ms(), 0x1_0000] {
            number(out, value);
        }
        short(out, 0x100);
        out.extend([0; 10]);
        MATRIX.into_iter().for_each(|value| number(out, value));
        out.extend([0; 24]);
        number(out, CHAPTERS + 1);
    })
}

fn track(plan: &Plan, id: u32) -> Vec<u8> {
    let is_seen = id == PICTURES;
    // Enabled and part of the film, or neither: texts of chapters are nothing to look at.
    full(b"tkhd", if is_seen { 3 } else { 0 }, |out| {
        for value in [0, 0, id, 0, plan.duration_ms(), 0, 0, 0, 0] {
            number(out, value);
        }
        MATRIX.into_iter().for_each(|value| number(out, value));
        let (width, height) = if is_seen { (plan.width, plan.height) } else { (0, 0) };
        number(out, width << 16);
        number(out, height << 16);
    })
}

fn media(kind: &[u8; 4], ticks: u32, duration: u32, header: Vec<u8>, table: Vec<u8>) -> Vec<u8> {
    boxed(b"mdia", |out| {
        out.extend(full(b"mdhd", 0, |out| {
            [0, 0, ticks, duration].into_iter().for_each(|value| number(out, value));
            // No language.
            short(out, 0x55c4);
            short(out, 0);
        }));
        out.extend(full(b"hdlr", 0, |out| {
            number(out, 0);
            out.extend(kind);
            out.extend([0; 13]);
        }));
        out.extend(boxed(b"minf", |out| {
            out.extend(header);
            out.extend(boxed(b"dinf", |out| {
                out.extend(full(b"dref", 0, |out| {
                    number(out, 1);
                    // The data lies in this file.
                    out.extend(full(b"url ", 1, |_| {}));
                }));
            }));
            out.extend(table);
        }));
    })
}

fn pictures(plan: &Plan, sizes: &[u32], places: &[u32]) -> Vec<u8> {
    boxed(b"stbl", |out| {
        out.extend(full(b"stsd", 0, |out| {
            number(out, 1);
            out.extend(picture_entry(plan));
        }));
        out.extend(full(b"stts", 0, |out| {
            [1, plan.frames, 1].into_iter().for_each(|value| number(out, value))
        }));
        out.extend(full(b"stss", 0, |out| {
            number(out, u32::try_from(plan.keys.len()).unwrap_or(0));
            plan.keys.iter().for_each(|key| number(out, key + 1));
        }));
        let last = plan.frames % plan.fps;
        let whole = plan.frames / plan.fps;
        out.extend(full(b"stsc", 0, |out| {
            let mut runs = Vec::new();
            if whole > 0 {
                runs.push((1, plan.fps));
            }
            if last > 0 {
                runs.push((whole + 1, last));
            }
            number(out, u32::try_from(runs.len()).unwrap_or(0));
            for (first, count) in runs {
                [first, count, 1].into_iter().for_each(|value| number(out, value));
            }
        }));
        out.extend(table_of_sizes(sizes));
        out.extend(table_of_places(places));
    })
}

fn table_of_sizes(sizes: &[u32]) -> Vec<u8> {
    full(b"stsz", 0, |out| {
        number(out, 0);
        number(out, u32::try_from(sizes.len()).unwrap_or(0));
        sizes.iter().for_each(|size| number(out, *size));
    })
}

fn table_of_places(places: &[u32]) -> Vec<u8> {
    full(b"stco", 0, |out| {
        number(out, u32::try_from(places.len()).unwrap_or(0));
        places.iter().for_each(|place| number(out, *place));
    })
}

fn picture_entry(plan: &Plan) -> Vec<u8> {
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    boxed(b"avc1", |out| {
        out.extend([0; 6]);
        short(out, 1);
        out.extend([0; 16]);
        short(out, side(plan.width));
        short(out, side(plan.height));
        // 72 points to the inch, one picture per sample, no name, 24 bits.
        [0x48_0000, 0x48_0000, 0]
            .into_iter()
            .for_each(|value| number(out, value));
        short(out, 1);
        out.extend([0; 32]);
        short(out, 24);
        short(out, 0xffff);
        out.extend(boxed(b"avcC", |out| {
            out.extend([1, 66, 0xc0, plan.level, 0xff, 0xe1]);
            short(out, u16::try_from(plan.sequence.len()).unwrap_or(0));
            out.extend(&plan.sequence);
            out.push(1);
            short(out, u16::try_from(plan.picture.len()).unwrap_or(0));
            out.extend(&plan.picture);
        }));
        // Colours of BT.709, of the narrow range.
        out.extend(boxed(b"colr", |out| {
            out.extend(b"nclx");
            [1, 1, 1].into_iter().for_each(|code| short(out, code));
            out.push(0);
        }));
        out.extend(boxed(b"pasp", |out| {
            [1, 1].into_iter().for_each(|value| number(out, value))
        }));
    })
}

/// How long each chapter takes.
fn lengths(plan: &Plan) -> Vec<u32> {
    let starts = plan.chapters.iter().map(|chapter| chapter.at_ms);
    let ends = starts.clone().skip(1).chain([u64::from(plan.duration_ms())]);
    let length = |(from, to): (u64, u64)| u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX);
    starts.zip(ends).map(length).collect()
}

fn chapters(plan: &Plan, sizes: &[u32], at: u32) -> Vec<u8> {
    let count = u32::try_from(plan.chapters.len()).unwrap_or(0);
    boxed(b"stbl", |out| {
        out.extend(full(b"stsd", 0, |out| {
            number(out, 1);
            out.extend(boxed(b"text", |out| {
                out.extend([0; 6]);
                short(out, 1);
                // Nothing is said of how a text looks: flags, alignment, ground, place, font, colour, no name of a font.
                number(out, 1);
                out.extend([0; 4 + 6 + 8 + 8 + 2 + 2 + 1 + 2 + 6 + 1]);
            }));
        }));
        out.extend(full(b"stts", 0, |out| {
            number(out, count);
            for length in lengths(plan) {
                number(out, 1);
                number(out, length);
            }
        }));
        out.extend(full(b"stsc", 0, |out| {
            [1, 1, count, 1].into_iter().for_each(|value| number(out, value))
        }));
        out.extend(table_of_sizes(sizes));
        out.extend(table_of_places(&[at]));
    })
}

/// The header of a track that is neither seen nor heard.
fn plain_header() -> Vec<u8> {
    boxed(b"gmhd", |out| {
        out.extend(full(b"gmin", 0, |out| {
            [0x40, 0x8000, 0x8000, 0x8000, 0, 0]
                .into_iter()
                .for_each(|value| short(out, value));
        }));
        out.extend(boxed(b"text", |out| {
            [1_u16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x4000, 0]
                .into_iter()
                .for_each(|value| short(out, value));
        }));
    })
}

/// The list of chapters, and the title.
fn told(plan: &Plan) -> Vec<u8> {
    boxed(b"udta", |out| {
        let listed = &plan.chapters[..plan.chapters.len().min(LIST_MAX)];
        out.extend(full(b"chpl", 0x0100_0000, |out| {
            number(out, 0);
            out.push(u8::try_from(listed.len()).unwrap_or(u8::MAX));
            for chapter in listed {
                let title = &chapter.title[..chapter.title.floor_char_boundary(LIST_MAX)];
                out.extend((chapter.at_ms * LIST_TICKS).to_be_bytes());
                out.push(u8::try_from(title.len()).unwrap_or(u8::MAX));
                out.extend(title.as_bytes());
            }
        }));
        out.extend(full(b"meta", 0, |out| {
            out.extend(full(b"hdlr", 0, |out| {
                number(out, 0);
                out.extend(b"mdirappl");
                out.extend([0; 9]);
            }));
            out.extend(boxed(b"ilst", |out| {
                out.extend(item(b"\xa9nam", &plan.title));
                out.extend(item(b"\xa9too", "boswell"));
            }));
        }));
    })
}

fn item(name: &[u8; 4], text: &str) -> Vec<u8> {
    boxed(name, |out| {
        out.extend(boxed(b"data", |out| {
            // UTF-8, no language.
            [1, 0].into_iter().for_each(|value| number(out, value));
            out.extend(text.as_bytes());
        }));
    })
}
