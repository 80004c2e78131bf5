//! Texts that Codex writes twice: as an item of the conversation and as an event. The first of a pair gives an event
//! and the second is its echo. A text that is written once gives an event as well.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Maximum number of the agent's texts that wait for their echo.
const WAITING_MAX: usize = 16;

/// Which kind of record holds a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TextChannel {
    /// An item of the conversation with the model.
    Item,
    /// An event for clients.
    Event,
}

/// Texts whose echo has not been read yet.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EchoTracker {
    waiting: VecDeque<(u64, TextChannel)>,
    prompt: Option<(u64, TextChannel)>,
    /// Set if one of the two records of a compaction or an interrupt was read.
    compacted: Option<TextChannel>,
    interrupted: Option<TextChannel>,
}

impl EchoTracker {
    /// Returns `true` if the other kind of record already had this text of the agent.
    pub(super) fn is_echo(&mut self, text: &str, channel: TextChannel) -> bool {
        let text = text_hash(text);
        let other = |known: &(u64, TextChannel)| known.0 == text && known.1 != channel;
        if let Some(at) = self.waiting.iter().position(other) {
            self.waiting.remove(at);
            return true;
        }
        self.waiting.push_back((text, channel));
        if self.waiting.len() > WAITING_MAX {
            self.waiting.pop_front();
        }
        false
    }

    /// Returns `true` if the previous prompt is the same one, with nothing in between.
    pub(super) fn is_prompt_echo(&mut self, text: &str, channel: TextChannel) -> bool {
        let text = text_hash(text);
        match self.prompt.take() {
            Some((known, by)) if known == text && by != channel => true,
            _ => {
                self.prompt = Some((text, channel));
                false
            }
        }
    }

    /// Forgets the last prompt because something else was read: the next prompt is another one.
    pub(super) fn end_prompt(&mut self) {
        self.prompt = None;
        self.interrupted = None;
    }

    pub(super) fn is_compaction_echo(&mut self, channel: TextChannel) -> bool {
        let echo = self.compacted.is_some_and(|by| by != channel);
        self.compacted = if echo { None } else { Some(channel) };
        echo
    }

    pub(super) fn is_interrupt_echo(&mut self, channel: TextChannel) -> bool {
        let echo = self.interrupted.is_some_and(|by| by != channel);
        self.interrupted = if echo { None } else { Some(channel) };
        echo
    }
}

/// Hashes a text without its white space, because the two records may differ in it.
fn text_hash(text: &str) -> u64 {
    let visible = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    visible.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_gives_one_text_in_either_order() {
        let mut echoes = EchoTracker::default();
        let waiting: Vec<bool> = [
            ("a b", TextChannel::Event),
            ("a  b\n", TextChannel::Item),
            ("a b", TextChannel::Event),
        ]
        .map(|(text, channel)| echoes.is_echo(text, channel))
        .into();
        assert_eq!(waiting, [false, true, false]);
    }

    #[test]
    fn equal_prompts_in_a_row_are_two_prompts() {
        let mut echoes = EchoTracker::default();
        let waiting: Vec<bool> = [
            TextChannel::Item,
            TextChannel::Event,
            TextChannel::Item,
            TextChannel::Item,
        ]
        .map(|channel| echoes.is_prompt_echo("go on", channel))
        .into();
        assert_eq!(waiting, [false, true, false, false]);
    }
}
