//! Evaluates the filters of sessions, or an index of the database, before the search reads anything else of them.

use std::ops::Range;

use rustc_hash::FxHashMap;
use transcript::Agent;

use super::kept::form_of;
use crate::search::filter::Filter;
use crate::search::{Query, possible_terms};
use crate::store::{ListedSession, SessionScope, Store, StoreError, WordIndex};

/// Number of the newest sessions that are searched first.
pub(super) const NEWEST: usize = 24;

/// Maximum number of sessions whose trigrams are read one session at a time; with more, one query reads all.
const ONE_BY_ONE_MAX: usize = 64;

/// The result of the filter of a frame.
struct Said {
    part: Box<str>,
    number: i64,
    /// The terms that the frame may contain.
    terms: u32,
    /// `true` if its trigrams are stored separately and were not checked yet.
    is_half: bool,
}

/// The results of the filters of several sessions.
pub(crate) struct Asked {
    /// Sessions that may contain all wanted terms, newest first.
    pub(super) chosen: Vec<usize>,
    /// The results for the frames of each session.
    said: FxHashMap<usize, Vec<Said>>,
    /// The terms that a frame without a result may contain: those that the index could not look up, zero if every frame
    /// has a filter, or `None` if unknown.
    of_others: Option<u32>,
    /// The number of frames that were checked.
    pub(super) frames: usize,
}

impl Asked {
    /// Evaluates the filters of a range of a session list.
    pub(crate) fn of(
        store: &Store,
        listed: &[ListedSession],
        range: Range<usize>,
        query: &Query,
    ) -> Result<Self, StoreError> {
        let mut asked = Self {
            chosen: range.clone().collect(),
            said: FxHashMap::default(),
            of_others: None,
            frames: 0,
        };
        if !query.can_use_filters() {
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

    /// Queries the database's own index. Returns `false` if the index cannot answer any wanted term, so that the
    /// filters must be used.
    fn by_index(
        &mut self,
        store: &Store,
        listed: &[ListedSession],
        range: Range<usize>,
        query: &Query,
    ) -> Result<bool, StoreError> {
        let reads = store.reads();
        let index = reads.index()?;
        if index == WordIndex::None {
            return Ok(false);
        }
        // A common word is in most frames, so a search of few sessions queries the index only for them.
        let uids: Vec<&str> = range
            .clone()
            .take(NEWEST)
            .map(|at| listed[at].session_uid.as_str())
            .collect();
        let among = (range.len() <= NEWEST).then_some(uids.as_slice());
        let mut places = Places::of(listed, range);
        let mut found: FxHashMap<(usize, Box<str>, i64), u32> = FxHashMap::default();
        // Terms that the index cannot look up may be in any frame.
        let (mut always, mut told) = (0, 0);
        for (bit, term) in query.terms.iter().enumerate().map(|(at, term)| (1 << at, term)) {
            let is_told = reads.each_frame_with(&term.need, index, among, &mut |uid, part, number| {
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
            self.take(at, &part, number, (terms | always, false));
        }
        self.choose_all(wanted);
        Ok(true)
    }

    fn one_by_one(
        &mut self,
        store: &Store,
        listed: &[ListedSession],
        range: Range<usize>,
        query: &Query,
    ) -> Result<(), StoreError> {
        let reads = store.reads();
        let mut counts = Counts::default();
        for at in range {
            let whose = SessionScope::One(&listed[at].session_uid);
            reads.each_filter(whose, &mut |_, part, number, bytes| {
                self.take(at, part, number, said(query, bytes));
                counts.entry(at).or_default().0 += 1;
            })?;
            reads.each_frame_name(whose, &mut |_, part, _| {
                counts.entry(at).or_default().1 += usize::from(is_searched(part));
            })?;
        }
        self.trigrams(store, listed, query)?;
        self.choose(&counts, query);
        Ok(())
    }

    /// Checks the trigrams of frames that may match by their words, if their trigrams are stored separately.
    fn trigrams(&mut self, store: &Store, listed: &[ListedSession], query: &Query) -> Result<(), StoreError> {
        if !query.needs_trigrams() {
            return Ok(());
        }
        let is_open = |said: &Said| said.is_half && said.terms != 0;
        let open = self.said.iter().filter(|(_, said)| said.iter().any(is_open));
        let open: Vec<usize> = open.map(|(at, _)| *at).collect();
        let whose: Vec<SessionScope<'_>> = match open.len() > ONE_BY_ONE_MAX {
            true => vec![SessionScope::All],
            false => open
                .iter()
                .map(|at| SessionScope::One(&listed[*at].session_uid))
                .collect(),
        };
        let mut places = Places::of(listed, open.iter().copied());
        for whose in whose {
            store.reads().each_trigrams(whose, &mut |uid, part, number, bytes| {
                let own = places.at(uid).and_then(|at| self.said.get_mut(&at));
                let mut own = own.into_iter().flatten();
                let half = own.find(|said| said.is_half && *said.part == *part && said.number == number);
                if let (Some(half), Ok(trigrams)) = (half, Filter::of_trigrams(bytes)) {
                    half.terms &= possible_terms(query, &trigrams);
                }
            })?;
        }
        Ok(())
    }

    fn at_once(
        &mut self,
        store: &Store,
        listed: &[ListedSession],
        range: Range<usize>,
        query: &Query,
    ) -> Result<(), StoreError> {
        let reads = store.reads();
        let mut places = Places::of(listed, range);
        let mut frames = 0;
        reads.each_part(&mut |part, count| frames += if is_searched(part) { count } else { 0 })?;
        if reads.filter_count()? == frames {
            // Only frames have filters, so if the counts are equal each frame has one, and frames without a possible
            // term need no entry.
            self.of_others = Some(0);
            reads.each_filter(SessionScope::All, &mut |uid, part, number, bytes| {
                let Some(at) = places.at(uid) else { return };
                self.frames += 1;
                let said = said(query, bytes);
                if said.0 != 0 {
                    self.take(at, part, number, said);
                }
            })?;
            self.trigrams(store, listed, query)?;
            self.choose_all(query.wanted());
            return Ok(());
        }
        let mut counts = Counts::default();
        reads.each_filter(SessionScope::All, &mut |uid, part, number, bytes| {
            if let Some(at) = places.at(uid) {
                self.take(at, part, number, said(query, bytes));
                counts.entry(at).or_default().0 += 1;
            }
        })?;
        reads.each_frame_name(SessionScope::All, &mut |uid, part, _| {
            if let Some(at) = places.at(uid) {
                counts.entry(at).or_default().1 += usize::from(is_searched(part));
            }
        })?;
        self.trigrams(store, listed, query)?;
        self.choose(&counts, query);
        Ok(())
    }

    /// Keeps the sessions that may contain all wanted terms, and those with frames that have no filter.
    fn choose(&mut self, counts: &Counts, query: &Query) {
        let (wanted, said) = (query.wanted(), &self.said);
        self.chosen.retain(|at| {
            let Some((filters, frames)) = counts.get(at) else {
                return false;
            };
            filters < frames || may_hold_all(said.get(at), wanted)
        });
        self.frames = counts.values().map(|(_, frames)| frames).sum();
    }

    /// Keeps the sessions that may contain all wanted terms; every frame must have a filter.
    fn choose_all(&mut self, wanted: u32) {
        let said = &self.said;
        self.chosen.retain(|at| may_hold_all(said.get(at), wanted));
    }

    /// Returns `false` if the filter of a frame excludes every term.
    pub(crate) fn may_hold(&self, at: usize, part: &str, number: i64) -> bool {
        self.terms_of(at, part, number).is_none_or(|terms| terms != 0)
    }

    pub(super) fn terms_of(&self, at: usize, part: &str, number: i64) -> Option<u32> {
        let own = self.said.get(&at).map_or(&[][..], Vec::as_slice);
        let known = own.iter().find(|said| *said.part == *part && said.number == number);
        known.map(|said| said.terms).or(self.of_others)
    }

    fn take(&mut self, at: usize, part: &str, number: i64, (terms, is_half): (u32, bool)) {
        self.said.entry(at).or_default().push(Said {
            part: part.into(),
            number,
            terms,
            is_half,
        });
    }
}

/// Returns the terms that a frame with this filter may contain, and `true` if its trigrams are stored separately. A
/// filter that cannot be read excludes nothing.
fn said(query: &Query, bytes: &[u8]) -> (u32, bool) {
    match Filter::read(bytes) {
        Ok(filter) => (possible_terms(query, &filter), filter.is_half()),
        Err(_) => (query.wanted() | query.unwanted(), false),
    }
}

/// By session: the number of filters, and the number of frames.
type Counts = FxHashMap<usize, (usize, usize)>;

/// Returns `true` if the frames together may contain all wanted terms.
fn may_hold_all(frames: Option<&Vec<Said>>, wanted: u32) -> bool {
    let frames = frames.into_iter().flatten();
    frames.fold(0, |terms, said| terms | said.terms) & wanted == wanted
}

/// Maps session uids to positions in a list. Caches the last result, because consecutive rows mostly belong to one
/// session.
struct Places<'l> {
    listed: &'l [ListedSession],
    by_uid: FxHashMap<&'l str, usize>,
    last: Option<usize>,
}

impl<'l> Places<'l> {
    fn of(listed: &'l [ListedSession], which: impl Iterator<Item = usize>) -> Self {
        Self {
            listed,
            by_uid: which.map(|at| (listed[at].session_uid.as_str(), at)).collect(),
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
