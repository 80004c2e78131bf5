//! PostgreSQL's own index over the words of frames: one for whole words, and one for parts of words if the extension
//! `pg_trgm` is available. `terms` defines what a word is.

use std::fmt::Write as _;

use super::{Postgres, Value};
use crate::store::StoreError;
use crate::store::filters::WordIndex;
use crate::terms::vocabulary::WordCondition;

/// The index over parts of words.
const PIECES_INDEX: &str = "words_by_piece";

impl Postgres {
    /// Creates the indexes. If the extension is not installed or not permitted, parts of words are found by filters
    /// instead, and `hub status` says so.
    pub(super) fn create_word_indexes(&self) -> Result<(), StoreError> {
        self.script(&format!(
            "CREATE INDEX IF NOT EXISTS words_by_word ON words USING gin (string_to_array(words, ' '));
             DO $$ BEGIN
                CREATE EXTENSION IF NOT EXISTS pg_trgm;
                CREATE INDEX IF NOT EXISTS {PIECES_INDEX} ON words USING gin (words gin_trgm_ops);
             EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN NULL;
             END $$"
        ))
    }

    pub(in crate::store::engine) fn index(&self) -> Result<WordIndex, StoreError> {
        Ok(if self.has_table(PIECES_INDEX)? {
            WordIndex::Pieces
        } else if self.has_table("words_by_word")? {
            WordIndex::Words
        } else {
            WordIndex::None
        })
    }

    /// Returns the frames that contain the given words, in some sessions or in all.
    pub(in crate::store::engine) fn frames_with_words(
        &self,
        sought: &WordCondition,
        among: Option<&[&str]>,
    ) -> Result<Vec<postgres::Row>, StoreError> {
        let mut condition = Condition::default();
        condition.add(sought);
        let among = among.map(|uids| uids.join("\n"));
        if let Some(uids) = &among {
            condition.sql.push_str(" AND session_uid = ANY (string_to_array(");
            condition.add_parameter(uids.clone());
            condition.sql.push_str(", chr(10)))");
        }
        let sql = format!("SELECT session_uid, part, frame_no FROM words WHERE {}", condition.sql);
        let values: Vec<Value<'_>> = condition.values.iter().map(|value| Value::Text(value)).collect();
        // The planner ignores that long texts are stored out of line, so it would choose to read all of them.
        self.script("SET enable_seqscan = off; SET enable_indexscan = off")?;
        let found = self.query(&sql, &values);
        self.script("RESET enable_seqscan; RESET enable_indexscan")?;
        found
    }
}

/// A condition and its parameters.
#[derive(Default)]
struct Condition {
    sql: String,
    values: Vec<String>,
}

impl Condition {
    fn add(&mut self, sought: &WordCondition) {
        match sought {
            WordCondition::Words(words) => {
                self.sql.push_str("string_to_array(words, ' ') @> ARRAY[");
                for (at, word) in words.iter().enumerate() {
                    self.sql.push_str(if at > 0 { ", " } else { "" });
                    self.add_parameter(word.clone());
                }
                self.sql.push(']');
            }
            // A piece contains only letters and digits, so nothing in it needs to be escaped.
            WordCondition::Piece(piece) => {
                self.sql.push_str("words LIKE ");
                self.add_parameter(format!("%{piece}%"));
            }
            WordCondition::All(all) => self.join(all, " AND "),
            WordCondition::Any(any) => self.join(any, " OR "),
        }
    }

    fn join(&mut self, parts: &[WordCondition], word: &str) {
        self.sql.push('(');
        for (at, part) in parts.iter().enumerate() {
            self.sql.push_str(if at > 0 { word } else { "" });
            self.add(part);
        }
        self.sql.push(')');
    }

    fn add_parameter(&mut self, value: String) {
        self.values.push(value);
        // Writing to a string cannot fail.
        _ = write!(self.sql, "${}", self.values.len());
    }
}
