//! What is kept, read back: the lines of a session, and the derived rows made of them anew.

use std::io;

use jiff::Timestamp;
use transcript::{Agent, Delta, Line, Origin, PartKind, State};

use crate::packs;
use crate::store::{Patience, SessionRow, Store, StoreError};

/// Gives each kept line of a part, in order. A frame that is damaged ends it with an error that names it.
pub fn each_line(
    store: &Store,
    session_uid: &str,
    part: &str,
    mut take: impl FnMut(&Line<'_>),
) -> Result<(), StoreError> {
    let mut number = 0;
    each_bytes(store, session_uid, part, |bytes| {
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

/// Gives the kept bytes of a part, frame by frame: the lines as the agent wrote them, but for masked secrets.
pub fn each_bytes(
    store: &Store,
    session_uid: &str,
    part: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let directory = store.packs();
    for frame in store.reads().frames(session_uid, part)? {
        let bytes = packs::read(&directory, &frame).map_err(|error| StoreError::DamagedFrame {
            session_uid: session_uid.to_owned(),
            part: part.to_owned(),
            frame_no: frame.frame_no,
            reason: error.to_string(),
        })?;
        take(&bytes)?;
    }
    match store.reads().tail(session_uid, part)? {
        Some(tail) => take(&tail.bytes),
        None => Ok(()),
    }
}

/// Makes every derived row again from what is kept, session by session. Says how many.
pub fn rebuild(store: &mut Store, now: Timestamp, progress: &dyn Fn(usize, usize)) -> Result<usize, StoreError> {
    let sessions = store.reads().sessions()?;
    for (at, session) in sessions.iter().enumerate() {
        let lock = store.lock(Patience::Wait)?;
        let (deltas, state) = read_again(store, session)?;
        store.write(&lock, now, "rebuild", |tx| {
            tx.clear_derived(&session.session_uid)?;
            for (part, delta) in &deltas {
                tx.apply_delta(&session.session_uid, *part, delta)?;
            }
            tx.put_reader_state(&session.session_uid, &state.to_bytes())?;
            Ok(((), format!("rebuilt {}", session.session_uid)))
        })?;
        progress(at + 1, sessions.len());
    }
    Ok(sessions.len())
}

/// Reads a session from the store as it was read from disk: companions first, then lines.
fn read_again(store: &Store, session: &SessionRow) -> Result<(Vec<(PartKind, Delta)>, State), StoreError> {
    let uid = session.session_uid.as_str();
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == session.flavor);
    let agent = agent.ok_or_else(|| StoreError::Unknown {
        what: "agent",
        word: session.flavor.clone(),
    })?;
    let mut state = State::new(agent, Origin::of(&store.reads().log_path(uid)?));
    let mut parts: Vec<(PartKind, String)> = Vec::new();
    for name in store.reads().parts(uid)? {
        let kind = PartKind::of_name(&name).ok_or_else(|| StoreError::Unknown {
            what: "part",
            word: name.clone(),
        })?;
        parts.push((kind, name));
    }
    parts.sort_by_key(|(kind, name)| (kind.has_lines(), *kind, name.clone()));
    let mut deltas = Vec::new();
    for (kind, name) in &parts {
        let mut delta = Delta::default();
        if kind.has_lines() {
            each_line(store, uid, name, |line| state.take(*kind, line, &mut delta))?;
        } else {
            let mut bytes = Vec::new();
            each_bytes(store, uid, name, |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            state.companion(*kind, &bytes);
        }
        state.close(&mut delta);
        deltas.push((*kind, delta));
    }
    Ok((deltas, state))
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
