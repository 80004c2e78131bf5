//! The `filters`, `trigrams` and `words` tables. For each frame and tail they contain a filter of the words in its
//! texts, separately a filter of their trigrams, and the words themselves if the database has its own index. No other
//! file writes them. They are derived, so a missing one costs time, but never a hit.
//!
//! Trigrams refer to their filter and are deleted with it. A filter that an older version wrote includes them.

use std::collections::BTreeMap;

use transcript::PartKind;

use super::engine::{Engine, Value};
use super::{Reads, Store, StoreError, Tx};
use crate::terms::filter::{Filter, Need, split_halves};
use crate::terms::{FrameMarks, vocabulary::WordCondition};

/// The frame number of a part's tail, which is not a frame yet.
pub const TAIL_NO: i64 = -1;

/// A filter and the frame that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterRow {
    pub session_uid: String,
    pub part: String,
    /// [`TAIL_NO`] for the tail.
    pub frame_no: i64,
    pub bytes: Vec<u8>,
}

/// The index that a database has for finding frames, besides filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordIndex {
    /// No index.
    None,
    /// Whole words.
    Words,
    /// Whole words and parts of words.
    Pieces,
}

impl Store {
    /// Returns `true` if the words of frames must be stored as well.
    pub fn indexes_words(&self) -> bool {
        self.engine.is_shared()
    }
}

impl Tx<'_> {
    /// Stores the marks of frames of a part, or deletes them if they are empty.
    pub fn put_marks(&self, session_uid: &str, part: &str, marks: &[(i64, &FrameMarks)]) -> Result<(), StoreError> {
        let key = |frame_no| vec![Value::Text(session_uid), Value::Text(part), Value::Int(frame_no)];
        for (frame_no, _) in marks.iter().filter(|(_, marks)| marks.filter.is_empty()) {
            for sql in [
                "DELETE FROM filters WHERE session_uid = $1 AND part = $2 AND frame_no = $3",
                "DELETE FROM words WHERE session_uid = $1 AND part = $2 AND frame_no = $3",
            ] {
                self.engine.execute(sql, &key(*frame_no))?;
            }
        }
        let filters = marks.iter().filter(|(_, marks)| !marks.filter.is_empty());
        let filters = filters.map(|(frame_no, marks)| (*frame_no, split_halves(&marks.filter)));
        let row = |frame_no, bytes| {
            let mut row = key(frame_no);
            row.push(Value::Blob(bytes));
            row
        };
        self.engine.bulk(
            "INSERT INTO filters (session_uid, part, frame_no, bytes) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, part, frame_no) DO UPDATE SET bytes = $4",
            filters.clone().map(|(frame_no, (words, _))| row(frame_no, words)),
        )?;
        self.engine.bulk(
            "INSERT INTO trigrams (session_uid, part, frame_no, bytes) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, part, frame_no) DO UPDATE SET bytes = $4",
            filters.map(|(frame_no, (_, trigrams))| row(frame_no, trigrams)),
        )?;
        let words = marks
            .iter()
            .filter_map(|(frame_no, marks)| Some((*frame_no, marks.words.as_deref()?)));
        self.put_words(session_uid, part, &words.collect::<Vec<_>>())
    }

    /// Stores the words of frames of a part.
    pub fn put_words(&self, session_uid: &str, part: &str, words: &[(i64, &str)]) -> Result<(), StoreError> {
        self.engine.bulk(
            "INSERT INTO words (session_uid, part, frame_no, words) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, part, frame_no) DO UPDATE SET words = $4",
            words.iter().map(|(frame_no, words)| {
                vec![
                    Value::Text(session_uid),
                    Value::Text(part),
                    Value::Int(*frame_no),
                    Value::Text(words),
                ]
            }),
        )
    }
}

/// Deletes the marks of all frames of one part.
pub(super) fn drop_part(engine: &Engine, session_uid: &str, part: &str) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM filters WHERE session_uid = $1 AND part = $2",
        "DELETE FROM words WHERE session_uid = $1 AND part = $2",
    ] {
        engine.execute(sql, &[Value::Text(session_uid), Value::Text(part)])?;
    }
    Ok(())
}

/// Which sessions a query covers.
#[derive(Debug, Clone, Copy)]
pub enum SessionScope<'u> {
    All,
    One(&'u str),
}

impl<'u> SessionScope<'u> {
    /// Returns the WHERE clause and its values.
    pub(super) fn clause(self) -> (&'static str, Vec<Value<'u>>) {
        match self {
            Self::All => ("", Vec::new()),
            Self::One(uid) => (" WHERE session_uid = $1", vec![Value::Text(uid)]),
        }
    }
}

/// Called with the session, the part, the number of a frame, and the bytes of its filter.
pub type TakeFilter<'t> = dyn FnMut(&str, &str, i64, &[u8]) + 't;

impl Reads<'_> {
    /// Passes filters to `take`, in any order: the session, the part, the number of the frame, and the filter. They
    /// are not collected.
    pub fn each_filter(&self, whose: SessionScope<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        self.each_row_of("filters", whose, take)
    }

    /// Like [`Reads::each_filter`] for trigrams that are stored separately. A store that an older version created has
    /// none until the next write.
    pub fn each_trigrams(&self, whose: SessionScope<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        match self.has_trigrams()? {
            true => self.each_row_of("trigrams", whose, take),
            false => Ok(()),
        }
    }

    fn each_row_of(&self, table: &str, whose: SessionScope<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        let (clause, values) = whose.clause();
        let sql = format!("SELECT session_uid, part, frame_no, bytes FROM {table}{clause}");
        self.engine.each(&sql, &values, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, row.int(2)?, row.blob_ref(3)?);
            Ok(())
        })
    }

    /// Returns `true` if the trigrams table exists.
    pub(super) fn has_trigrams(&self) -> Result<bool, StoreError> {
        const KNOWS_TRIGRAMS: i64 = 10;
        Ok(self.engine.version()? >= KNOWS_TRIGRAMS)
    }

    /// Returns the index that the database has, or `None` if the words of some frames are missing.
    pub fn index(&self) -> Result<WordIndex, StoreError> {
        let index = self.engine.index()?;
        if index == WordIndex::None {
            return Ok(index);
        }
        let missing = self.engine.query_opt(
            "SELECT (SELECT count(*) FROM filters) - (SELECT count(*) FROM words)",
            &[],
            |row| row.int(0),
        )?;
        Ok(match missing {
            Some(0) => index,
            _ => WordIndex::None,
        })
    }

    /// Passes the frames that meet a need to `take`, found by the index in some sessions or in all. Returns `false`
    /// if the index cannot decide it.
    pub fn each_frame_with(
        &self,
        need: &Need,
        index: WordIndex,
        among: Option<&[&str]>,
        take: &mut dyn FnMut(&str, &str, i64),
    ) -> Result<bool, StoreError> {
        let Some(sought) = WordCondition::of(need, index == WordIndex::Pieces) else {
            return Ok(false);
        };
        self.engine.each_frame_with(&sought, among, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, row.int(2)?);
            Ok(())
        })?;
        Ok(true)
    }

    /// Passes the names of parts to `take`, with a number of frames and tails each. A name may occur several times.
    /// Nearly all parts are logs, so logs are counted as the total minus the others, because counting all rows does
    /// not read them. The others mostly have distinct names, so grouping them would be a useless sort.
    pub fn each_part(&self, take: &mut dyn FnMut(&str, u64)) -> Result<(), StoreError> {
        let log = PartKind::Log.as_str();
        for table in ["frames", "tails"] {
            let all = format!("SELECT count(*) FROM {table}");
            let mut logs = self
                .engine
                .query_opt(&all, &[], |row| row.count(0))?
                .unwrap_or_default();
            let others = format!("SELECT part FROM {table} WHERE part <> $1");
            self.engine.each(&others, &[Value::Text(log)], |row| {
                take(row.text_ref(0)?, 1);
                logs = logs.saturating_sub(1);
                Ok(())
            })?;
            take(log, logs);
        }
        Ok(())
    }

    /// Returns the number of filters.
    pub fn filter_count(&self) -> Result<u64, StoreError> {
        let count = self
            .engine
            .query_opt("SELECT count(*) FROM filters", &[], |row| row.count(0))?;
        Ok(count.unwrap_or_default())
    }

    /// Returns filters with their trigrams.
    pub fn filters(&self, whose: SessionScope<'_>) -> Result<Vec<FilterRow>, StoreError> {
        let mut rows: BTreeMap<(String, String, i64), Vec<u8>> = BTreeMap::new();
        let key = |uid: &str, part: &str, frame_no| (uid.to_owned(), part.to_owned(), frame_no);
        self.each_filter(whose, &mut |uid, part, frame_no, bytes| {
            rows.insert(key(uid, part, frame_no), bytes.to_owned());
        })?;
        self.each_trigrams(whose, &mut |uid, part, frame_no, bytes| {
            let known = rows.get_mut(&key(uid, part, frame_no));
            let half = known.filter(|filter| Filter::read(filter).is_ok_and(|filter| filter.is_half()));
            half.into_iter().for_each(|filter| filter.extend_from_slice(bytes));
        })?;
        let row = |((session_uid, part, frame_no), bytes)| FilterRow {
            session_uid,
            part,
            frame_no,
            bytes,
        };
        Ok(rows.into_iter().map(row).collect())
    }
}
