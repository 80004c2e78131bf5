//! Prefixes that identify exactly one session, for every command and list that is printed.
//!
//! Nothing here knows how a prefix is resolved: `session_arg.rs` does, and a test runs every command that is printed.

use std::collections::BTreeMap;
use std::ops::Bound;

use memory::store::{ListedSession, SHORT_ID_CHARS, Store, StoreError};

/// Words that name a session but are not ids.
const RESERVED: [&str; 2] = ["last", "here"];

/// The ids of all sessions, in order.
pub(crate) struct SessionIds<'l> {
    /// The number of sessions with each id, because agents choose ids independently of each other.
    counts: BTreeMap<&'l str, usize>,
}

impl<'l> SessionIds<'l> {
    pub(crate) fn new(listed: &'l [ListedSession]) -> Self {
        let mut counts = BTreeMap::new();
        for session in listed {
            *counts.entry(session.native_session_id()).or_default() += 1;
        }
        Self { counts }
    }

    /// Returns the shortest prefix of a session's id that is unique, or its uid if no prefix is.
    pub(crate) fn short(&self, session_uid: &str) -> String {
        let id = native_id(session_uid);
        // The id of a session is a prefix of those of its subagents; then the prefix names the session.
        let is_main = |(other, _): &(&&'l str, &usize)| !other.contains('/');
        let smaller = (Bound::Unbounded, Bound::Excluded(id));
        let greater = (Bound::Excluded(id), Bound::Unbounded);
        let before = self.counts.range::<str, _>(smaller).rev().find(is_main);
        let after = self.counts.range::<str, _>(greater).find(is_main);
        let same = self.counts.get(id).is_some_and(|count| *count > 1).then_some(id);
        let others = before.into_iter().chain(after).map(|(other, _)| *other).chain(same);
        shortest(session_uid, others)
    }
}

/// Returns the shortest prefix of a session's id that is unique in the memory, or its uid if no prefix is.
pub(crate) fn short_id(store: &Store, session_uid: &str) -> Result<String, StoreError> {
    let others = store.reads().neighbouring_ids(session_uid)?;
    Ok(shortest(session_uid, others.iter().map(String::as_str)))
}

/// Returns the beginning of a session's id, for a session that is not in the memory.
pub(crate) fn abbreviated_id(session_uid: &str) -> String {
    shortest(session_uid, std::iter::empty())
}

fn native_id(session_uid: &str) -> &str {
    session_uid.split_once(':').map_or(session_uid, |(_, native)| native)
}

/// Returns as much of the id as distinguishes it from `others`, which hold its neighbours in the order of ids.
fn shortest<'o>(session_uid: &str, others: impl Iterator<Item = &'o str>) -> String {
    let id = native_id(session_uid);
    let mut alike = 0;
    for other in others {
        if other == id {
            return session_uid.to_owned();
        }
        alike = alike.max(common_chars(id, other));
    }
    // A subagent is named by its whole id: a prefix of it would name its session.
    let chars = match id.contains('/') {
        true => usize::MAX,
        false => (alike + 1).max(SHORT_ID_CHARS),
    };
    let short = id.char_indices().nth(chars).map_or(id, |(end, _)| &id[..end]);
    match short.is_empty() || short.starts_with('-') || RESERVED.contains(&short) {
        true => session_uid.to_owned(),
        false => short.to_owned(),
    }
}

fn common_chars(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(uid: &str, others: &[&str]) -> String {
        shortest(uid, others.iter().copied())
    }

    #[test]
    fn a_prefix_is_as_long_as_it_must_be() {
        assert_eq!(short("claude:5e550000-0000", &["019d4700-0001"]), "5e550000");
        assert_eq!(
            short("codex:019d4700-0001", &["019d4700-0002", "019d4"]),
            "019d4700-0001"
        );
        assert_eq!(short("codex:019d4700-0a01", &["019d4700-0b02"]), "019d4700-0a");
        assert_eq!(short("claude:zz", &["zzz"]), "zz");
        assert_eq!(short("claude:5e550000-0000/a1", &["5e550000-0000"]), "5e550000-0000/a1");
    }

    #[test]
    fn an_id_that_no_prefix_names_alone_is_printed_as_a_uid() {
        assert_eq!(
            short("claude:same-id-twice", &["same-id-twice"]),
            "claude:same-id-twice"
        );
        assert_eq!(short("claude:last", &[]), "claude:last");
        assert_eq!(short("claude:-rf", &[]), "claude:-rf");
        assert_eq!(short("claude:", &[]), "claude:");
    }
}
