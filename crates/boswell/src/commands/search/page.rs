//! The pages of a search. The search reads sessions from the newest to the oldest until it has enough turns, ranks
//! those turns, and shows them page by page; only then does it read older sessions. Therefore a cursor always gives the
//! same page while the memory does not change.

use std::fmt;
use std::str::FromStr;

use memory::find::{Behind, Findings};
use memory::search::HitTarget;

/// Turns that are collected per shown session, so that the best of them can be shown.
const TURNS_PER_SESSION: usize = 4;
/// The number of frames after which a common word is ranked among fewer turns.
const FRAMES: usize = 12;

/// The start of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The number of turns after which no older session is searched.
    pub(super) enough: usize,
    /// The number of sessions that earlier pages of the same turns have shown.
    pub(super) skip: usize,
    /// The last session that earlier pages have searched.
    pub(super) behind: Option<Behind>,
}

impl Page {
    pub(super) fn first(limit: usize) -> Self {
        Self {
            enough: limit.saturating_mul(TURNS_PER_SESSION),
            skip: 0,
            behind: None,
        }
    }

    /// Returns when to stop searching older sessions.
    pub(super) fn enough(&self) -> HitTarget {
        HitTarget {
            turns: self.enough,
            few: self.enough / TURNS_PER_SESSION,
            frames: FRAMES,
        }
    }

    /// Returns the next page, or `None` if this is the last one. `sessions` were found on this one, and `limit` are
    /// shown.
    pub(super) fn next(&self, findings: &Findings, sessions: usize, limit: usize) -> Option<Self> {
        let skip = self.skip.saturating_add(limit);
        if skip < sessions {
            return Some(Self { skip, ..self.clone() });
        }
        findings.last.clone().map(|last| Self {
            enough: self.enough,
            skip: 0,
            behind: Some(last),
        })
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.enough, self.skip)?;
        match &self.behind {
            Some(behind) => {
                let at = behind.last_micros.map(|at| at.to_string()).unwrap_or_default();
                write!(f, ".{at}.{}", behind.session_uid)
            }
            None => Ok(()),
        }
    }
}

impl FromStr for Page {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write it as the answer before gave it in `next_cursor`";
        let mut parts = text.splitn(4, '.');
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(wrong);
        let (enough, skip) = (number()?, number()?);
        let behind = match (parts.next(), parts.next()) {
            (None, _) => None,
            (Some(at), Some(uid)) if !uid.is_empty() => Some(Behind {
                last_micros: match at {
                    "" => None,
                    at => Some(at.parse().map_err(|_| wrong)?),
                },
                session_uid: uid.to_owned(),
            }),
            _ => return Err(wrong),
        };
        Ok(Self { enough, skip, behind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        for text in ["40.10", "40.0.1775034000000000.claude:5e55.x/a", "4.0..codex:1"] {
            assert_eq!(text.parse::<Page>().map(|page| page.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "x", "40", "40.x", "40.1.2", "40.1.x.y", "40.1.2."] {
            assert!(text.parse::<Page>().is_err(), "{text}");
        }
    }
}
