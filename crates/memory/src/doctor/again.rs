//! Derives the rows of a session from its stored lines in memory and compares them with the stored rows. Nothing else
//! would notice a row that contradicts its lines.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;
use transcript::{Delta, Origin, State};

use crate::kept;
use crate::search::PartFormat;
use crate::store::{PackedState, SessionScope, Store, StoreError, TAIL_NO, WriteLock, derived_version};
use crate::sweep::marking::marks_of;
use crate::sweep::piece::Searched;

/// A scratch store in which rows are derived again.
pub(super) struct RowChecker {
    scratch: Store,
    lock: WriteLock,
}

impl RowChecker {
    pub(super) fn new() -> Result<Self, StoreError> {
        let (scratch, lock) = Store::scratch()?;
        Ok(Self { scratch, lock })
    }

    /// Describes how the rows of a session differ from its lines, or returns `None` if they agree.
    pub(super) fn find_difference(&mut self, store: &Store, uid: &str) -> Result<Option<&'static str>, StoreError> {
        // No line of an emptied log is stored, so there is nothing to compare.
        if store.reads().parts(uid)?.is_empty() {
            return Ok(None);
        }
        if filters_differ(store, uid)? {
            return Ok(Some("a filter does not match its lines"));
        }
        let agent = kept::agent_of(uid)?;
        let mut state = State::new(agent, Origin::of(&store.reads().log_path(uid)?));
        let mut deltas = Vec::new();
        for (kind, name) in kept::list_parts(store, uid)? {
            let mut delta = Delta::default();
            if kind.has_lines() {
                kept::each_line(store, uid, &name, |line| state.take(kind, line, &mut delta))?;
            } else {
                let mut bytes = Vec::new();
                kept::each_bytes(store, uid, &name, |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })?;
                state.companion(kind, &bytes);
            }
            state.close(&mut delta);
            crate::digest::name_repo(&mut delta);
            deltas.push((kind, delta));
        }
        let packed = PackedState::of(&state);
        self.scratch.write(&self.lock, Timestamp::UNIX_EPOCH, "doctor", |tx| {
            tx.drop_session(uid)?;
            tx.restore_session(uid, Timestamp::UNIX_EPOCH)?;
            for (kind, delta) in &deltas {
                tx.apply_delta(uid, *kind, delta)?;
            }
            tx.put_reader(uid, derived_version(agent), &packed)?;
            Ok(((), String::new()))
        })?;
        let rows = |store: &Store| -> Result<Vec<String>, StoreError> {
            let rows = store.reads().derived_rows_of(uid)?;
            Ok(rows.into_iter().map(|row| without_nulls(uid, row)).collect())
        };
        let is_same = rows(&self.scratch)? == rows(store)?;
        Ok((!is_same).then_some("the rows do not match the lines"))
    }
}

/// Removes the null fields from a session row, because older versions did not write all of them.
fn without_nulls(uid: &str, row: String) -> String {
    let is_view = row.strip_prefix(uid).is_some_and(|rest| rest.starts_with(" views "));
    let Some((columns, view)) = row.split_once(" {").filter(|_| is_view) else {
        return row;
    };
    match serde_json::from_str::<serde_json::Map<String, Value>>(&format!("{{{view}")) {
        Ok(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            format!("{columns} {}", Value::Object(fields))
        }
        Err(_) => row,
    }
}

/// Returns `true` if the filter of a frame or tail differs from the filter of its lines.
fn filters_differ(store: &Store, uid: &str) -> Result<bool, StoreError> {
    let filters = store.reads().filters(SessionScope::One(uid))?.into_iter();
    let mut stored_filters: HashMap<(String, i64), Vec<u8>> =
        filters.map(|row| ((row.part, row.frame_no), row.bytes)).collect();
    let agent = kept::agent_of(uid)?;
    for (kind, name) in kept::list_parts(store, uid)? {
        // The words in a server's index come from the same texts, so they are not compared separately.
        let searched = PartFormat::of(agent, kind).map(|form| Searched {
            form,
            with_words: false,
        });
        let mut differs = |frame_no: i64, lines: &[u8]| {
            let stored = stored_filters.remove(&(name.clone(), frame_no)).unwrap_or_default();
            marks_of(searched, lines).filter != stored
        };
        for frame in store.reads().frames(uid, &name)? {
            let lines = kept::read_frame(store, uid, &name, &frame)?;
            if differs(frame.frame_no.cast_signed(), &lines) {
                return Ok(true);
            }
        }
        if let Some(tail) = store.reads().tail(uid, &name)?
            && differs(TAIL_NO, &tail.bytes)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
