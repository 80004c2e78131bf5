//! What is kept, read back: the lines of a session, part by part.

use std::io;

use transcript::{Agent, Line, PartKind};

use crate::packs;
use crate::store::{FrameRow, Store, StoreError};

/// Gives each kept line of a part, in order. A frame that is damaged ends it with an error that names it.
pub fn each_line(
    store: &Store,
    session_uid: &str,
    part: &str,
    mut take: impl FnMut(&Line<'_>),
) -> Result<(), StoreError> {
    let (mut number, mut is_open) = (0, false);
    each_bytes(store, session_uid, part, |bytes| {
        let (_, bytes) = rest_of_line(bytes, &mut is_open);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            number += 1;
            let (body, terminated) = line.strip_suffix(b"\n").map_or((line, false), |body| (body, true));
            take(&Line {
                number,
                offset: 0,
                body: packs::body(body),
                terminated,
            });
        }
        Ok(())
    })
}

/// A line whose end came after its frame was written goes on in the next one, where only its break stands. Gives
/// that break, and the lines behind it; `is_open` is whether the last line has no break yet.
pub(crate) fn rest_of_line<'b>(bytes: &'b [u8], is_open: &mut bool) -> (&'b [u8], &'b [u8]) {
    let split = usize::from(*is_open && bytes.first() == Some(&b'\n'));
    *is_open = bytes.last().is_some_and(|byte| *byte != b'\n');
    bytes.split_at(split)
}

/// Gives the kept bytes of a part, frame by frame: the lines as the agent wrote them, but for masked secrets.
pub fn each_bytes(
    store: &Store,
    session_uid: &str,
    part: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for frame in store.reads().frames(session_uid, part)? {
        take(&read_frame(store, session_uid, part, &frame)?)?;
    }
    match store.reads().tail(session_uid, part)? {
        Some(tail) => take(&tail.bytes),
        None => Ok(()),
    }
}

/// The lines of one frame.
pub(crate) fn read_frame(
    store: &Store,
    session_uid: &str,
    part: &str,
    frame: &FrameRow,
) -> Result<Vec<u8>, StoreError> {
    packs::read(&store.packs(), frame).map_err(|error| StoreError::DamagedFrame {
        session_uid: session_uid.to_owned(),
        part: part.to_owned(),
        frame_no: frame.frame_no,
        reason: error.to_string(),
    })
}

/// The parts of a session in the order in which a reader takes them: companions first, then lines.
pub fn parts(store: &Store, session_uid: &str) -> Result<Vec<(PartKind, String)>, StoreError> {
    let mut parts: Vec<(PartKind, String)> = Vec::new();
    for name in store.reads().parts(session_uid)? {
        let kind = PartKind::of_name(&name).ok_or_else(|| StoreError::Unknown {
            what: "part",
            word: name.clone(),
        })?;
        parts.push((kind, name));
    }
    parts.sort_by_key(|(kind, name)| (kind.has_lines(), *kind, name.clone()));
    Ok(parts)
}

/// Whose session a uid names.
pub fn agent_of(session_uid: &str) -> Result<Agent, StoreError> {
    let flavor = session_uid.split_once(':').map_or(session_uid, |(flavor, _)| flavor);
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == flavor);
    agent.ok_or_else(|| StoreError::Unknown {
        what: "agent",
        word: flavor.to_owned(),
    })
}

/// Writes a part of a session as the agent wrote it, but for masked secrets.
pub fn cat(
    store: &Store,
    session_uid: &str,
    part: &str,
    out: &mut dyn io::Write,
) -> Result<io::Result<()>, StoreError> {
    let mut written = Ok(());
    each_bytes(store, session_uid, part, |bytes| {
        if written.is_ok() {
            written = out.write_all(bytes);
        }
        Ok(())
    })?;
    Ok(written)
}
