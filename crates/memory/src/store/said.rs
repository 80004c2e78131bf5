//! Compares annotations between two stores, one of which pushes to the other: tags, names, notes and protections from
//! eviction. Each table is still written only by its own file.
//!
//! A row does not record who wrote it. But the journal of the store in which it was written has an entry with the
//! same time and command, and journals are never pushed. Therefore a row is ours if our journal has that entry and
//! the other one does not.

use std::collections::HashSet;

use super::{Operation, Reads, StoreError, Tx};

/// An annotation of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationRef {
    session_uid: String,
    /// The command that added it, which is also the kind of a text.
    command: String,
    /// The tag, or empty for other annotations.
    tag: String,
    at_micros: i64,
}

impl AnnotationRef {
    fn key(&self) -> (&str, &str, &str) {
        (&self.session_uid, &self.command, &self.tag)
    }

    /// Returns `true` if an operation is the one that added the annotation.
    fn is_of(&self, operation: &Operation) -> bool {
        (operation.at_micros, operation.command.as_str()) == (self.at_micros, self.command.as_str())
            && operation.sentence.contains(&self.session_uid)
            && operation.sentence.contains(&self.tag)
    }
}

impl Reads<'_> {
    /// Returns the annotations that were added here and pushed, and have been removed here since.
    pub fn find_removed_annotations(&self, there: &Reads<'_>) -> Result<Vec<AnnotationRef>, StoreError> {
        let ours = self.said()?;
        let known: HashSet<_> = ours.iter().map(AnnotationRef::key).collect();
        let mut gone = there.said()?;
        gone.retain(|said| !known.contains(&said.key()));
        if gone.is_empty() {
            return Ok(gone);
        }
        let (here, theirs) = (self.annotation_operations()?, there.annotation_operations()?);
        let own: Vec<&Operation> = here.difference(&theirs).collect();
        gone.retain(|said| own.iter().any(|operation| said.is_of(operation)));
        Ok(gone)
    }

    fn said(&self) -> Result<Vec<AnnotationRef>, StoreError> {
        self.engine.query(
            "SELECT session_uid, 'tag', tag, at FROM tags
             UNION ALL SELECT session_uid, kind, '', at FROM annotations
             UNION ALL SELECT session_uid, 'keep', '', at FROM keeps",
            &[],
            |row| {
                Ok(AnnotationRef {
                    session_uid: row.text(0)?,
                    command: row.text(1)?,
                    tag: row.text(2)?,
                    at_micros: row.int(3)?,
                })
            },
        )
    }
}

impl Tx<'_> {
    /// Removes an annotation unless it was added again since. Returns `true` if it existed.
    pub fn remove_annotation(&self, said: &AnnotationRef) -> Result<bool, StoreError> {
        let (uid, at) = (said.session_uid.as_str(), said.at_micros);
        match said.command.as_str() {
            "tag" => self.remove_tag_added_at(uid, &said.tag, at),
            "keep" => self.remove_keep_added_at(uid, at),
            kind => self.remove_text_written_at(uid, kind, at),
        }
    }
}
