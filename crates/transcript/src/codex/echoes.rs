//! Texts that Codex writes twice: as an item of the conversation and as an event. The first of a pair gives an event
//! and the second is its echo. A text that is written once gives an event as well.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Maximum number of the agent's texts that wait for their echo.
const WAITING_MAX: usize = 16;

/// Which kind of record holds a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Voice {
    /// An item of the conversation with the model.
    Item,
    /// An event for clients.
    Event,
}

/// Texts whose echo has not been read yet.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Echoes {
    told: VecDeque<(u64, Voice)>,
    prompt: Option<(u64, Voice)>,
    /// Set if one of the two records of a compaction or an interrupt was read.
    compacted: Option<Voice>,
    interrupted: Option<Voice>,
}

impl Echoes {
    /// Returns `true` if the other kind of record already had this text of the agent.
    pub(super) fn is_echo(&mut self, text: &str, voice: Voice) -> bool {
        let text = print(text);
        let other = |known: &(u64, Voice)| known.0 == text && known.1 != voice;
        if let Some(at) = self.told.iter().position(other) {
            self.told.remove(at);
            return true;
        }
        self.told.push_back((text, voice));
        if self.told.len() > WAITING_MAX {
            self.told.pop_front();
        }
        false
    }

    /// Returns `true` if the previous prompt is the same one, with nothing in between.
    pub(super) fn is_prompt_echo(&mut self, text: &str, voice: Voice) -> bool {
        let text = print(text);
        match self.prompt.take() {
            Some((known, by)) if known == text && by != voice => true,
            _ => {
                self.prompt = Some((text, voice));
                false
            }
        }
    }

    /// Forgets the last prompt because something else was read: the next prompt is another one.
    pub(super) fn prompt_over(&mut self) {
        self.prompt = None;
        self.interrupted = None;
    }

    pub(super) fn is_compaction_echo(&mut self, voice: Voice) -> bool {
        let echo = self.compacted.is_some_and(|by| by != voice);
        self.compacted = if echo { None } else { Some(voice) };
        echo
    }

    pub(super) fn is_interrupt_echo(&mut self, voice: Voice) -> bool {
        let echo = self.interrupted.is_some_and(|by| by != voice);
        self.interrupted = if echo { None } else { Some(voice) };
        echo
    }
}

/// Hashes a text without its white space, because the two records may differ in it.
fn print(text: &str) -> u64 {
    let black = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    black.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_told_once_in_either_order() {
        let mut echoes = Echoes::default();
        let told: Vec<bool> = [("a b", Voice::Event), ("a  b\n", Voice::Item), ("a b", Voice::Event)]
            .map(|(text, voice)| echoes.is_echo(text, voice))
            .into();
        assert_eq!(told, [false, true, false]);
    }

    #[test]
    fn equal_prompts_one_after_the_other_are_two() {
        let mut echoes = Echoes::default();
        let told: Vec<bool> = [Voice::Item, Voice::Event, Voice::Item, Voice::Item]
            .map(|voice| echoes.is_prompt_echo("go on", voice))
            .into();
        assert_eq!(told, [false, true, false, false]);
    }
}
