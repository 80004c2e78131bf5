//! The `tags` and `annotations` tables: a user's annotations of sessions. No other file writes them.
//!
//! They refer to a uid and not to a row of `sessions`, because they must stay even if the session, its log and its
//! rows are deleted.

use std::collections::HashMap;

use jiff::Timestamp;

use super::engine::Value;
use super::{Reads, StoreError, Tx, micros};

/// A user's annotations of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Annotations {
    /// The user's name for it.
    pub name: Option<String>,
    pub note: Option<String>,
    /// Sorted alphabetically.
    pub tags: Vec<String>,
}

/// Annotations of which a session has at most one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationKind {
    Name,
    Note,
}

impl AnnotationKind {
    /// Returns the name used in the table and in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Note => "note",
        }
    }
}

impl Tx<'_> {
    /// Adds a tag. Returns `true` if it is new.
    pub fn add_tag(&self, session_uid: &str, tag: &str, at: Timestamp, mask_version: u32) -> Result<bool, StoreError> {
        let added = self.engine.execute(
            "INSERT INTO tags (session_uid, tag, at, mask_version) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, tag) DO NOTHING",
            &[
                Value::Text(session_uid),
                Value::Text(tag),
                Value::Int(micros(at)),
                Value::Int(i64::from(mask_version)),
            ],
        )?;
        Ok(added > 0)
    }

    /// Removes a tag. Returns `true` if it existed.
    pub fn drop_tag(&self, session_uid: &str, tag: &str) -> Result<bool, StoreError> {
        let dropped = self.engine.execute(
            "DELETE FROM tags WHERE session_uid = $1 AND tag = $2",
            &[Value::Text(session_uid), Value::Text(tag)],
        )?;
        Ok(dropped > 0)
    }

    /// Removes a tag that was added at the given time. Returns `true` if it existed.
    pub(super) fn remove_tag_added_at(&self, session_uid: &str, tag: &str, at_micros: i64) -> Result<bool, StoreError> {
        let dropped = self.engine.execute(
            "DELETE FROM tags WHERE session_uid = $1 AND tag = $2 AND at = $3",
            &[Value::Text(session_uid), Value::Text(tag), Value::Int(at_micros)],
        )?;
        Ok(dropped > 0)
    }

    /// Removes a text that was written at the given time. Returns `true` if it existed.
    pub(super) fn remove_text_written_at(
        &self,
        session_uid: &str,
        kind: &str,
        at_micros: i64,
    ) -> Result<bool, StoreError> {
        let dropped = self.engine.execute(
            "DELETE FROM annotations WHERE session_uid = $1 AND kind = $2 AND at = $3",
            &[Value::Text(session_uid), Value::Text(kind), Value::Int(at_micros)],
        )?;
        Ok(dropped > 0)
    }

    /// Replaces a text. An empty text removes it.
    pub fn annotate(
        &self,
        session_uid: &str,
        kind: AnnotationKind,
        text: &str,
        at: Timestamp,
        mask_version: u32,
    ) -> Result<(), StoreError> {
        let key = [Value::Text(session_uid), Value::Text(kind.as_str())];
        if text.is_empty() {
            self.engine
                .execute("DELETE FROM annotations WHERE session_uid = $1 AND kind = $2", &key)?;
            return Ok(());
        }
        let text = text.replace('\0', "\u{2400}");
        self.engine.execute(
            "INSERT INTO annotations (session_uid, kind, text, at, mask_version) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (session_uid, kind) DO UPDATE SET text = $3, at = $4, mask_version = $5",
            &[
                key[0],
                key[1],
                Value::Text(&text),
                Value::Int(micros(at)),
                Value::Int(i64::from(mask_version)),
            ],
        )?;
        Ok(())
    }

    /// Deletes all annotations of a session, because the session is forgotten.
    pub fn drop_annotations(&self, session_uid: &str) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM tags WHERE session_uid = $1",
            "DELETE FROM annotations WHERE session_uid = $1",
        ] {
            self.engine.execute(sql, &[Value::Text(session_uid)])?;
        }
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns the annotations of one session.
    pub fn annotations_of(&self, session_uid: &str) -> Result<Annotations, StoreError> {
        let mut all = self.annotations_where("session_uid = $1", &[Value::Text(session_uid)])?;
        Ok(all.remove(session_uid).unwrap_or_default())
    }

    /// Returns the annotations of all sessions, by uid.
    pub fn annotations(&self) -> Result<HashMap<String, Annotations>, StoreError> {
        self.annotations_where("1 = 1", &[])
    }

    fn annotations_where(&self, which: &str, values: &[Value<'_>]) -> Result<HashMap<String, Annotations>, StoreError> {
        let mut all: HashMap<String, Annotations> = HashMap::new();
        // A store that an older version created has no such tables until the next write.
        if !self.engine.has_table("annotations")? {
            return Ok(all);
        }
        let tags = self.engine.query(
            &format!("SELECT session_uid, tag FROM tags WHERE {which} ORDER BY session_uid, tag"),
            values,
            |row| Ok((row.text(0)?, row.text(1)?)),
        )?;
        for (uid, tag) in tags {
            all.entry(uid).or_default().tags.push(tag);
        }
        let texts = self.engine.query(
            &format!("SELECT session_uid, kind, text FROM annotations WHERE {which} ORDER BY session_uid, kind"),
            values,
            |row| Ok((row.text(0)?, row.text(1)?, row.text(2)?)),
        )?;
        for (uid, kind, text) in texts {
            let known = all.entry(uid).or_default();
            match kind.as_str() {
                "name" => known.name = Some(text),
                "note" => known.note = Some(text),
                // Written by a newer version.
                _ => {}
            }
        }
        Ok(all)
    }
}
