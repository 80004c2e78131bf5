//! The `filters`, `trigrams` and `words` tables: beside each frame and tail, a filter of its texts' words, apart from it that of their trigrams, and where the
//! database has an index of its own, the words. No other file writes them. They are derived: a lost one costs time, never a hit.
//!
//! Trigrams hang on their filter and go with it. A filter that an older version wrote has them in it.

use std::collections::BTreeMap;

use transcript::PartKind;

use super::engine::{Engine, Value};
use super::{Reads, Store, StoreError, Tx};
use crate::terms::filter::{Filter, Need, halves};
use crate::terms::{Marks, vocabulary::Sought};

/// Stands for the tail of a part, which is no frame yet.
pub const TAIL_NO: i64 = -1;

/// A filter and what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterRow {
    pub session_uid: String,
    pub part: String,
    /// [`TAIL_NO`] for the tail.
    pub frame_no: i64,
    pub bytes: Vec<u8>,
}

/// What a database has to find frames by, besides filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// Nothing.
    None,
    /// Whole words.
    Words,
    /// Whole words, and pieces of them.
    Pieces,
}

impl Store {
    /// Whether the words of frames have to be put beside them.
    pub fn indexes_words(&self) -> bool {
        self.engine.is_shared()
    }
}

impl Tx<'_> {
    /// Puts what is kept beside frames of a part, or takes it away where there is nothing.
    pub fn put_marks(&self, session_uid: &str, part: &str, marks: &[(i64, &Marks)]) -> Result<(), StoreError> {
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
        let filters = filters.map(|(frame_no, marks)| (*frame_no, halves(&marks.filter)));
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

    /// Puts the words of frames of a part.
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

/// Takes away what is kept beside the frames of one part.
pub(super) fn drop_part(engine: &Engine, session_uid: &str, part: &str) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM filters WHERE session_uid = $1 AND part = $2",
        "DELETE FROM words WHERE session_uid = $1 AND part = $2",
    ] {
        engine.execute(sql, &[Value::Text(session_uid), Value::Text(part)])?;
    }
    Ok(())
}

/// Whose filters are looked at.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'u> {
    Everybodys,
    Of(&'u str),
}

impl<'u> Whose<'u> {
    /// The end of a question about the table's rows, and its values.
    pub(super) fn clause(self) -> (&'static str, Vec<Value<'u>>) {
        match self {
            Self::Everybodys => ("", Vec::new()),
            Self::Of(uid) => (" WHERE session_uid = $1", vec![Value::Text(uid)]),
        }
    }
}

/// Given the session, the part and the number of a frame, and the bytes of its filter.
pub type TakeFilter<'t> = dyn FnMut(&str, &str, i64, &[u8]) + 't;

impl Reads<'_> {
    /// Shows filters, in any order: the session, the part, the number of the frame, and the filter. None is kept.
    pub fn each_filter(&self, whose: Whose<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        self.each_in("filters", whose, take)
    }

    /// The same for trigrams that are kept apart. A store that an older version made has none until somebody writes.
    pub fn each_trigrams(&self, whose: Whose<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        match self.has_trigrams()? {
            true => self.each_in("trigrams", whose, take),
            false => Ok(()),
        }
    }

    fn each_in(&self, table: &str, whose: Whose<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        let (clause, values) = whose.clause();
        let sql = format!("SELECT session_uid, part, frame_no, bytes FROM {table}{clause}");
        self.engine.each(&sql, &values, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, row.int(2)?, row.blob_ref(3)?);
            Ok(())
        })
    }

    /// Whether there is a table for them.
    pub(super) fn has_trigrams(&self) -> Result<bool, StoreError> {
        const KNOWS_TRIGRAMS: i64 = 10;
        Ok(self.engine.version()? >= KNOWS_TRIGRAMS)
    }

    /// By what the database finds frames itself: where not all of them have their words there, by nothing.
    pub fn index(&self) -> Result<Index, StoreError> {
        let index = self.engine.index()?;
        if index == Index::None {
            return Ok(index);
        }
        let missing = self.engine.query_opt(
            "SELECT (SELECT count(*) FROM filters) - (SELECT count(*) FROM words)",
            &[],
            |row| row.int(0),
        )?;
        Ok(match missing {
            Some(0) => index,
            _ => Index::None,
        })
    }

    /// Shows the frames whose words meet a need, of some sessions or of all, as an index tells; says whether it can tell.
    pub fn each_with(
        &self,
        need: &Need,
        index: Index,
        among: Option<&[&str]>,
        take: &mut dyn FnMut(&str, &str, i64),
    ) -> Result<bool, StoreError> {
        let Some(sought) = Sought::of(need, index == Index::Pieces) else {
            return Ok(false);
        };
        self.engine.each_with(&sought, among, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, row.int(2)?);
            Ok(())
        })?;
        Ok(true)
    }

    /// Shows the names that parts of all sessions have, each with a number of frames and tails; one may come several times. Nearly all are
    /// logs: they are what is left when the others are taken from all, which are counted without a look at them. The others mostly have
    /// names of their own, and to group them is to sort them for nothing.
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

    /// How many there are.
    pub fn filter_count(&self) -> Result<u64, StoreError> {
        let count = self
            .engine
            .query_opt("SELECT count(*) FROM filters", &[], |row| row.count(0))?;
        Ok(count.unwrap_or_default())
    }

    /// Filters with their trigrams.
    pub fn filters(&self, whose: Whose<'_>) -> Result<Vec<FilterRow>, StoreError> {
        let mut rows: BTreeMap<(String, String, i64), Vec<u8>> = BTreeMap::new();
        let key = |uid: &str, part: &str, frame_no| (uid.to_owned(), part.to_owned(), frame_no);
        self.each_filter(whose, &mut |uid, part, frame_no, bytes| {
            rows.insert(key(uid, part, frame_no), bytes.to_owned());
        })?;
        self.each_trigrams(whose, &mut |uid, part, frame_no, bytes| {
            let of_them = rows.get_mut(&key(uid, part, frame_no));
            let half = of_them.filter(|filter| Filter::read(filter).is_ok_and(|filter| filter.is_half()));
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
