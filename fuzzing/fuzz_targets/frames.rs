//! Damages a frame, in its bytes or in its row: reading it fails or returns the original lines. Also parses any bytes
//! as a filter.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use memory::mask::{MaskKey, MaskVersion, Masker, UserRules};
use memory::packs::{self, FrameBuffers, PackStorage, UnsyncedPacks};
use memory::search::filter::{Filter, FilterKey, Need};
use memory::store::FrameRow;

/// The directory of packs for one run of the fuzzer.
static PACKS: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = std::env::temp_dir().join(format!("boswell-fuzz-frames-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("there is room");
    place
});

static VERSION: LazyLock<MaskVersion> = LazyLock::new(|| {
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default());
    masker.expect("the rules are sound").version()
});

fuzz_target!(|input: (Vec<u8>, u16, u8, u64, u64, Vec<u8>)| {
    let (raw, at, flip, length, raw_bytes, filter) = input;
    let packs = PackStorage::Files(PACKS.clone());
    let frame = packs::compress_frame(1, 1, &raw).expect("memory can be written to");
    let name = packs::pack_name("claude:fuzz", "log", 0);
    let starts = packs::append_frames(
        &packs,
        &name,
        0,
        std::slice::from_ref(&frame),
        &mut UnsyncedPacks::default(),
    );
    let start = starts.expect("there is room")[0];
    let mut row = FrameRow {
        frame_no: 0,
        first_line: 1,
        lines: 1,
        raw_bytes: raw.len() as u64,
        pack: name.clone(),
        start,
        length: frame.bytes.len() as u64,
        checksum: *blake3::hash(&frame.bytes).as_bytes(),
        mask_version: *VERSION,
    };
    let mut scratch = FrameBuffers::default();
    packs::read_frame_into(&packs, &row, &mut scratch).expect("what was written is read");
    assert_eq!(scratch.lines, raw);

    // Damage in the file.
    let mut bytes = std::fs::read(PACKS.join(&name)).expect("it is there");
    let place = usize::from(at) % bytes.len();
    bytes[place] ^= flip;
    std::fs::write(PACKS.join(&name), &bytes).expect("there is room");
    let read = packs::read_frame_into(&packs, &row, &mut scratch);
    assert!(read.is_err() || scratch.lines == raw, "damage is seen");

    // Damage in the row.
    (row.length, row.raw_bytes) = (length, raw_bytes);
    let read = packs::read_frame_into(&packs, &row, &mut scratch);
    assert!(read.is_err() || scratch.lines == raw);

    if let Ok(filter) = Filter::read(&filter) {
        let needs = FilterKey::trigrams("fuzzed words").map(Need::Key);
        _ = filter.may_hold(&Need::all(needs));
    }
});
