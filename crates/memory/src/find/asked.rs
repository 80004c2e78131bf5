//! What the filters of sessions say to a question, or an index of the database, before anything else of them is read.

use std::ops::Range;

use rustc_hash::FxHashMap;
use transcript::Agent;

use super::kept::form_of;
use crate::search::{Query, may_hold};
use crate::store::{Index, Listed, Store, StoreError, Whose};

/// So many of the newest sessions are asked one by one.
pub(super) const NEWEST: usize = 24;

/// What the filters of some sessions say.
pub(crate) struct Asked {
    /// Sessions that may hold what is wanted, newest first.
    pub(super) chosen: Vec<usize>,
    /// By session: which terms its frames may hold, by part and number.
    terms: FxHashMap<usize, Vec<(Box<str>, i64, u32)>>,
    /// What a frame that is not named there may hold: nothing where every frame has a filter, else nobody knows.
    of_others: Option<u32>,
    /// How many frames were asked.
    pub(super) frames: usize,
}

impl Asked {
    /// Asks the filters of some sessions of a list.
    pub(crate) fn of(store: &Store, listed: &[Listed], range: Range<usize>, query: &Query) -> Result<Self, StoreError> {
        let mut asked = Self {
            chosen: range.clone().collect(),
            terms: FxHashMap::default(),
            of_others: None,
            frames: 0,
        };
        if !query.narrows() {
            return Ok(asked);
        }
        if asked.by_index(store, listed, range.clone(), query)? {
            return Ok(asked);
        }
        match range.len() <= NEWEST {
            true => asked.one_by_one(store, listed, range, query)?,
            false => asked.at_once(store, listed, range, query)?,
        }
        Ok(asked)
    }

    /// Asks the database's own index. Says whether it could tell anything: where it cannot, filters have to.
    fn by_index(
        &mut self,
        store: &Store,
        listed: &[Listed],
        range: Range<usize>,
        query: &Query,
    ) -> Result<bool, StoreError> {
        let reads = store.reads();
        let index = reads.index()?;
        if index == Index::None {
            return Ok(false);
        }
        // A common word stands in most frames: while few sessions are asked, the others need not be told.
        let uids: Vec<&str> = range
            .clone()
            .take(NEWEST)
            .map(|at| listed[at].session_uid.as_str())
            .collect();
        let among = (range.len() <= NEWEST).then_some(uids.as_slice());
        let mut places = Places::of(listed, range);
        let mut found: FxHashMap<(usize, Box<str>, i64), u32> = FxHashMap::default();
        // What the index cannot tell of a frame it may hold.
        let (mut always, mut told) = (0, 0);
        for (bit, term) in query.terms.iter().enumerate().map(|(at, term)| (1 << at, term)) {
            let is_told = reads.each_with(&term.need, index, among, &mut |uid, part, number| {
                if let Some(at) = places.at(uid) {
                    *found.entry((at, part.into(), number)).or_default() |= bit;
                }
            })?;
            *(if is_told { &mut told } else { &mut always }) |= bit;
        }
        let wanted = query.wanted();
        if told & wanted == 0 {
            return Ok(false);
        }
        self.of_others = Some(always);
        self.frames = found.len();
        for ((at, part, number), terms) in found {
            self.take(at, &part, number, terms | always);
        }
        let terms = &self.terms;
        self.chosen.retain(|at| may_hold_all(terms.get(at), wanted));
        Ok(true)
    }

    fn one_by_one(
        &mut self,
        store: &Store,
        listed: &[Listed],
        range: Range<usize>,
        query: &Query,
    ) -> Result<(), StoreError> {
        let reads = store.reads();
        let mut counts = Counts::default();
        for at in range {
            let whose = Whose::Of(&listed[at].session_uid);
            reads.each_filter(whose, &mut |_, part, number, bytes| {
                self.take(at, part, number, may_hold(query, Some(bytes)));
                counts.entry(at).or_default().0 += 1;
            })?;
            reads.each_frame_name(whose, &mut |_, part, _| {
                counts.entry(at).or_default().1 += usize::from(is_searched(part));
            })?;
        }
        self.choose(&counts, query);
        Ok(())
    }

    fn at_once(
        &mut self,
        store: &Store,
        listed: &[Listed],
        range: Range<usize>,
        query: &Query,
    ) -> Result<(), StoreError> {
        let reads = store.reads();
        let mut places = Places::of(listed, range);
        let mut frames = 0;
        reads.each_part(&mut |part, count| frames += if is_searched(part) { count } else { 0 })?;
        if reads.filter_count()? == frames {
            // Filters are of frames alone, so each frame has its own, and those that say no need not be remembered.
            self.of_others = Some(0);
            reads.each_filter(Whose::Everybodys, &mut |uid, part, number, bytes| {
                let Some(at) = places.at(uid) else { return };
                self.frames += 1;
                let terms = may_hold(query, Some(bytes));
                if terms != 0 {
                    self.take(at, part, number, terms);
                }
            })?;
            let (wanted, terms) = (query.wanted(), &self.terms);
            self.chosen.retain(|at| may_hold_all(terms.get(at), wanted));
            return Ok(());
        }
        let mut counts = Counts::default();
        reads.each_filter(Whose::Everybodys, &mut |uid, part, number, bytes| {
            if let Some(at) = places.at(uid) {
                self.take(at, part, number, may_hold(query, Some(bytes)));
                counts.entry(at).or_default().0 += 1;
            }
        })?;
        reads.each_frame_name(Whose::Everybodys, &mut |uid, part, _| {
            if let Some(at) = places.at(uid) {
                counts.entry(at).or_default().1 += usize::from(is_searched(part));
            }
        })?;
        self.choose(&counts, query);
        Ok(())
    }

    /// Keeps the sessions which may hold what is wanted, and those of which not all frames have filters.
    fn choose(&mut self, counts: &Counts, query: &Query) {
        let (wanted, terms) = (query.wanted(), &self.terms);
        self.chosen.retain(|at| {
            let Some((filters, frames)) = counts.get(at) else {
                return false;
            };
            filters < frames || may_hold_all(terms.get(at), wanted)
        });
        self.frames = counts.values().map(|(_, frames)| frames).sum();
    }

    /// Whether a frame may hold anything, as far as its filter tells.
    pub(crate) fn may_hold(&self, at: usize, part: &str, number: i64) -> bool {
        self.terms_of(at, part, number).is_none_or(|terms| terms != 0)
    }

    pub(super) fn terms_of(&self, at: usize, part: &str, number: i64) -> Option<u32> {
        let own = self.terms.get(&at).map_or(&[][..], Vec::as_slice);
        let known = own.iter().find(|(name, no, _)| **name == *part && *no == number);
        known.map(|(_, _, terms)| *terms).or(self.of_others)
    }

    fn take(&mut self, at: usize, part: &str, number: i64, terms: u32) {
        self.terms.entry(at).or_default().push((part.into(), number, terms));
    }
}

/// By session: how many filters there are, and how many there should be.
type Counts = FxHashMap<usize, (usize, usize)>;

/// Whether frames may together hold all that is wanted.
fn may_hold_all(frames: Option<&Vec<(Box<str>, i64, u32)>>, wanted: u32) -> bool {
    let terms = frames.into_iter().flatten();
    terms.fold(0, |terms, (_, _, more)| terms | more) & wanted == wanted
}

/// The places of sessions in a list. Rows of one session mostly follow each other, so the last answer is remembered.
struct Places<'l> {
    listed: &'l [Listed],
    by_uid: FxHashMap<&'l str, usize>,
    last: Option<usize>,
}

impl<'l> Places<'l> {
    fn of(listed: &'l [Listed], range: Range<usize>) -> Self {
        Self {
            listed,
            by_uid: range.map(|at| (listed[at].session_uid.as_str(), at)).collect(),
            last: None,
        }
    }

    fn at(&mut self, uid: &str) -> Option<usize> {
        if self.last.is_none_or(|at| self.listed[at].session_uid != uid) {
            self.last = self.by_uid.get(uid).copied();
        }
        self.last
    }
}

fn is_searched(part: &str) -> bool {
    form_of(part, Agent::Claude).is_some()
}
