//! What somebody said of sessions with a tag, a name, a note or a mark to keep: compared between two memories, one of which was delivered to from
//! the other. Each table is still written by its own file.
//!
//! A row does not say who wrote it. But the journal of the memory in which it was written has a sentence of the same moment and command, and a
//! journal is never delivered: so a row is ours where our journal has that sentence and the other one has not.

use std::collections::HashSet;

use super::{Operation, Reads, StoreError, Tx};

/// Something that was said of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    session_uid: String,
    /// The command by which it is said, which is also the kind of a text.
    command: String,
    /// Of a tag, the word itself.
    tag: String,
    at_micros: i64,
}

impl Said {
    fn key(&self) -> (&str, &str, &str) {
        (&self.session_uid, &self.command, &self.tag)
    }

    /// Whether an operation is the one in which it was said.
    fn is_of(&self, operation: &Operation) -> bool {
        (operation.at_micros, operation.command.as_str()) == (self.at_micros, self.command.as_str())
            && operation.sentence.contains(&self.session_uid)
            && operation.sentence.contains(&self.tag)
    }
}

impl Reads<'_> {
    /// What was said here and delivered, still stands in the other memory, and was taken away here since.
    pub fn taken_back(&self, there: &Reads<'_>) -> Result<Vec<Said>, StoreError> {
        let ours = self.said()?;
        let known: HashSet<_> = ours.iter().map(Said::key).collect();
        let mut gone = there.said()?;
        gone.retain(|said| !known.contains(&said.key()));
        if gone.is_empty() {
            return Ok(gone);
        }
        let (here, theirs) = (self.said_operations()?, there.said_operations()?);
        let own: Vec<&Operation> = here.difference(&theirs).collect();
        gone.retain(|said| own.iter().any(|operation| said.is_of(operation)));
        Ok(gone)
    }

    fn said(&self) -> Result<Vec<Said>, StoreError> {
        self.engine.query(
            "SELECT session_uid, 'tag', tag, at FROM tags
             UNION ALL SELECT session_uid, kind, '', at FROM annotations
             UNION ALL SELECT session_uid, 'keep', '', at FROM keeps",
            &[],
            |row| {
                Ok(Said {
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
    /// Takes away what was said, unless somebody said it anew since. Says whether it was there.
    pub fn unsay(&self, said: &Said) -> Result<bool, StoreError> {
        let (uid, at) = (said.session_uid.as_str(), said.at_micros);
        match said.command.as_str() {
            "tag" => self.unsay_tag(uid, &said.tag, at),
            "keep" => self.unsay_keep(uid, at),
            kind => self.unsay_text(uid, kind, at),
        }
    }
}
