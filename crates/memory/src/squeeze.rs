//! zstd with what each thread keeps for it. A fresh context is a megabyte of fresh memory, as dear as packing a few lines.
//! The bytes do not tell whether a context was used before.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{compress_bound, get_frame_content_size};

/// Room for more is not kept.
const PACKED_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// Where packed bytes come to lie before it is known how many they are.
    static PACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Packs bytes.
pub(crate) fn compress(bytes: &[u8], level: i32) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(level)?),
        };
        compressor.set_compression_level(level)?;
        if bytes.len() > PACKED_BYTES_MAX {
            return compressor.compress(bytes);
        }
        PACKED.with_borrow_mut(|packed| {
            packed.clear();
            packed.reserve(compress_bound(bytes.len()));
            compressor.compress_to_buffer(bytes, packed)?;
            Ok(packed.clone())
        })
    })
}

/// Unpacks a frame that holds no more bytes than `most`.
pub(crate) fn decompress(packed: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let told = get_frame_content_size(packed).ok().flatten();
    let room = told.and_then(|told| usize::try_from(told).ok()).unwrap_or(most);
    let mut bytes = Vec::with_capacity(room.min(most));
    decompress_into(packed, &mut bytes)?;
    Ok(bytes)
}

/// Unpacks a frame into the room that a buffer has.
pub(crate) fn decompress_into(packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(packed, bytes)?;
        Ok(())
    })
}
