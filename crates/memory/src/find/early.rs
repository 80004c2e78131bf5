//! The filters of all frames, asked by a thread of its own while sessions are still listed. Which sessions there are, and which
//! of them are wanted, is not known here.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::asked::{Asked, is_searched, may_hold_all};
use crate::search::{Query, may_hold};
use crate::store::{Listed, Looking, Place, Store};

/// What the filters say, and the look at the store which they were asked in: frames have to be looked up in the same one.
pub(super) struct Early {
    pub(super) look: Looking,
    by_uid: FxHashMap<Box<str>, Said>,
}

#[derive(Default)]
struct Said {
    /// How many frames the session has.
    frames: usize,
    /// Those that may hold something: the part, the number, and the terms.
    terms: Vec<(Box<str>, i64, u32)>,
}

/// Asks all filters. None where that cannot be done, where not every frame has its filter, and where nobody waits for it any longer:
/// whoever needs an answer then asks again.
pub(super) fn ask(place: &Place, query: &Query, is_over: &AtomicBool) -> Option<Early> {
    let look = Looking::at(Store::open_existing(place).ok()??).ok()?;
    let reads = look.store().reads();
    let mut frames = 0;
    reads
        .each_part_name(&mut |part| frames += usize::from(is_searched(part)))
        .ok()?;
    if reads.filter_count().ok()? != frames {
        return None;
    }
    let mut by_uid: FxHashMap<Box<str>, Said> = FxHashMap::default();
    let is_over = || is_over.load(Ordering::Relaxed);
    let take = &mut |uid: &str, part: &str, number, bytes: &[u8]| {
        let said = match by_uid.get_mut(uid) {
            Some(said) => said,
            None => by_uid.entry(uid.into()).or_default(),
        };
        said.frames += 1;
        let terms = may_hold(query, Some(bytes));
        if terms != 0 {
            said.terms.push((part.into(), number, terms));
        }
    };
    let are_all = reads.each_filter_until(&is_over, take).ok()?;
    are_all.then_some(Early { look, by_uid })
}

impl Early {
    /// What was said of some sessions of a list.
    pub(super) fn of(&mut self, listed: &[Listed], range: Range<usize>, query: &Query) -> Asked {
        let (wanted, mut asked) = (query.wanted(), Asked::nothing());
        for at in range {
            let Some(said) = self.by_uid.remove(listed[at].session_uid.as_str()) else {
                continue;
            };
            asked.frames += said.frames;
            if may_hold_all(Some(&said.terms), wanted) {
                asked.chosen.push(at);
                asked.terms.insert(at, said.terms);
            }
        }
        asked
    }
}
