//! Reads a log only to count its contents: no event is held, so that no log can fill the memory.

use std::collections::BTreeMap;
use std::path::Path;

use transcript::{Agent, Delta, Unknown};

use super::{LogError, bound_unknown, read_pieces};
use crate::mask::Masker;
use crate::sources::UnreadPath;

/// Maximum number of distinct reasons; all further ones are merged.
const REASONS_MAX: usize = 100;

/// The contents of a log in numbers.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) session_uid: Option<String>,
    pub(crate) version: Option<String>,
    /// `true` if the log itself says that it belongs to a subagent; only Claude Code's path shows it as well.
    pub(crate) is_subagent: bool,
    pub(crate) unknown: BTreeMap<Unknown, u64>,
    /// By reason without its position in the line: the number of faults, and the first line.
    pub(crate) faults: BTreeMap<String, (u64, u64)>,
    pub(crate) unread: Vec<UnreadPath>,
}

/// Counts the contents of a log.
pub(crate) fn survey(path: &Path, agent: Agent, masker: &Masker) -> Result<Survey, LogError> {
    let mut survey = Survey::default();
    let read = read_pieces(path, Some(agent), masker.into(), &mut |delta| survey.add(delta))?;
    survey.unread = read.unread;
    Ok(survey)
}

impl Survey {
    fn add(&mut self, delta: Delta) {
        if let Some(session) = delta.session {
            self.session_uid = Some(session.session_uid.as_str().to_owned());
            self.version = session.agent_version;
            self.is_subagent = session.is_subagent;
        }
        for (unknown, count) in delta.unknown {
            *self.unknown.entry(unknown).or_default() += count;
        }
        bound_unknown(&mut self.unknown);
        for fault in delta.faults {
            let class = class(&fault.reason);
            let is_full = self.faults.len() >= REASONS_MAX && !self.faults.contains_key(class);
            let class = if is_full { "other reasons" } else { class };
            let known = self.faults.entry(class.to_owned()).or_insert((0, fault.line));
            known.0 += 1;
        }
    }
}

/// Returns a reason without its position in the line.
fn class(reason: &str) -> &str {
    let end = reason.find(" at line ").or_else(|| reason.find(" (blake3"));
    end.map_or(reason, |end| &reason[..end])
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use super::*;
    use crate::logs::{EVENTS_MAX, FAULTS_MAX, UNKNOWN_MAX, read_log};
    use crate::mask::{MaskKey, UserRules};

    #[test]
    fn a_log_made_to_fill_the_memory_is_counted_and_not_held() {
        let (events, faults, types) = (EVENTS_MAX + 70, FAULTS_MAX + 80, UNKNOWN_MAX + 90);
        let mut text = String::new();
        for _ in 0..events {
            text.push_str("{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\n");
        }
        for _ in 0..faults {
            text.push_str("{\"torn\n");
        }
        for at in 0..types {
            writeln!(text, "{{\"type\":\"new-{at}\"}}").unwrap();
        }
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        fs::write(&path, text).unwrap();
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();

        let log = read_log(&path, Some(Agent::Claude), &masker).unwrap();
        assert_eq!((log.reading.events.len(), log.left_out.events), (EVENTS_MAX, 70));
        assert_eq!((log.reading.turns.len(), log.left_out.turns), (EVENTS_MAX, 70));
        assert_eq!((log.reading.faults.len(), log.left_out.faults), (FAULTS_MAX, 80));
        assert_eq!(log.reading.unknown.len(), UNKNOWN_MAX);
        assert_eq!(log.reading.unknown.values().sum::<u64>(), types as u64);
        assert_eq!(log.fates().lines(), (events + faults + types) as u64);

        let survey = survey(&path, Agent::Claude, &masker).unwrap();
        assert_eq!(survey.faults.values().next(), Some(&(faults as u64, events as u64 + 1)));
        assert_eq!(survey.unknown.values().sum::<u64>(), types as u64);
        assert!(survey.unknown.len() <= UNKNOWN_MAX && survey.faults.len() == 1);
    }
}
