//! Writes one piece as rows, within the transaction of its batch.

use crate::packs::PackStorage;
use crate::search::FrameMarks;
use crate::store::{FrameRow, StoreError, TAIL_NO, Tx, derived_version};
use crate::sweep::Sweep;
use crate::sweep::piece::{Piece, Replaces};

/// Stores one piece. `is_new` is true if nothing is stored under its uid yet, and then nothing has to be deleted.
pub(super) fn put_piece(
    tx: &Tx<'_>,
    piece: &Piece,
    frames: &[FrameRow],
    packs: &PackStorage,
    sweep: &Sweep<'_>,
    is_new: bool,
) -> Result<(), StoreError> {
    let into = piece.into.as_str();
    match piece.replaces() {
        Replaces::All if is_new => {}
        Replaces::All => {
            tx.drop_frames(into)?;
            tx.clear_derived(into)?;
            tx.drop_cursors(into)?;
        }
        Replaces::Part => tx.drop_part(into, &piece.part)?,
        Replaces::Nothing => {}
    }
    if let Some(session) = &piece.delta.session {
        tx.put_session(into, session, sweep.now)?;
    }
    for (row, frame) in frames.iter().zip(piece.frames()) {
        tx.add_frame(into, &piece.part, row, packs.row_bytes(frame))?;
    }
    let frame_marks = frames.iter().zip(piece.frames());
    let frame_marks = frame_marks.map(|(row, frame)| (row.frame_no.cast_signed(), &frame.marks));
    let kept_marks = piece.kept_marks().iter().map(|(frame_no, marks)| (*frame_no, marks));
    let tail_marks = piece.lines().map(|lines| (TAIL_NO, &lines.tail_marks));
    let marks: Vec<(i64, &FrameMarks)> = frame_marks.chain(kept_marks).chain(tail_marks).collect();
    tx.put_marks(into, &piece.part, &marks)?;
    if let Some(lines) = piece.lines() {
        tx.put_tail(into, &piece.part, &lines.tail, sweep.masker.version())?;
    }
    if let Some(pages) = &piece.pages {
        tx.put_pages(into, pages)?;
    }
    tx.apply_delta(into, piece.kind, &piece.delta)?;
    if let Some(cursor) = piece.cursor() {
        tx.drop_other_cursors(cursor)?;
        tx.put_cursor(cursor)?;
    }
    for other in piece.other_cursors() {
        tx.put_cursor(other)?;
    }
    let Some(promotion) = piece.promotion() else {
        return put_reader_state(tx, piece, into);
    };
    let at = promotion.is_growth.then_some(sweep.now);
    if let Some(session) = piece.delta.session.as_ref().filter(|_| promotion.is_growth) {
        tx.put_session(&piece.uid, session, sweep.now)?;
    }
    tx.promote_stand_in(&piece.uid, promotion.extent, at)?;
    // The reader's state of a long log is large, so it is stored at its final uid instead of being moved there.
    put_reader_state(tx, piece, &piece.uid)
}

fn put_reader_state(tx: &Tx<'_>, piece: &Piece, uid: &str) -> Result<(), StoreError> {
    match piece.state() {
        Some(state) => tx.put_reader(uid, derived_version(piece.agent), state),
        None => Ok(()),
    }
}
