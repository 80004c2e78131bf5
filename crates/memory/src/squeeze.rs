//! zstd with contexts that each thread reuses. A new context allocates a megabyte, which takes as long as compressing
//! a few lines. The output does not depend on whether a context was used before.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{compress_bound, get_frame_content_size};

/// A buffer that would be larger than this is not kept.
const PACKED_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// Buffer for the compressed bytes, because their length is not known in advance.
    static PACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes.
pub(crate) fn compress(bytes: &[u8], level: i32) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            empty => empty.insert(Compressor::new(level)?),
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

/// Decompresses a frame of at most `max_bytes` bytes.
pub(crate) fn decompress(packed: &[u8], max_bytes: usize) -> io::Result<Vec<u8>> {
    let content_size = get_frame_content_size(packed).ok().flatten();
    let capacity = content_size
        .and_then(|content_size| usize::try_from(content_size).ok())
        .unwrap_or(max_bytes);
    let mut bytes = Vec::with_capacity(capacity.min(max_bytes));
    decompress_into(packed, &mut bytes)?;
    Ok(bytes)
}

/// Decompresses a frame into the capacity of a buffer. Returns an error if the capacity is too small.
pub(crate) fn decompress_into(packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            empty => empty.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(packed, bytes)?;
        Ok(())
    })
}
