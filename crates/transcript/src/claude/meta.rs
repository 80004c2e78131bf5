//! The metadata file beside a subagent's log: the type of the subagent and the tool call that started it.

use serde::{Deserialize, Serialize};

use crate::wire::{Text, wire};

/// The contents of `agent-<id>.meta.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) agent_type: Option<String>,
    pub(super) description: Option<String>,
    pub(super) call_id: Option<String>,
}

impl Meta {
    /// Parses the file. Fields that cannot be parsed stay empty.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let file: File<'_> = serde_json::from_slice(bytes).unwrap_or_default();
        let told = |text: &Text<'_>| text.get().map(str::to_owned);
        Self {
            agent_type: told(&file.agent_type),
            description: told(&file.description),
            call_id: told(&file.call_id),
        }
    }
}

wire! {
    struct File<'a> {
        agent_type: Text<'a> = "agentType",
        description: Text<'a> = "description",
        call_id: Text<'a> = "toolUseId",
    }
}

#[cfg(test)]
mod tests {
    use super::Meta;

    #[test]
    fn a_damaged_file_tells_nothing() {
        assert_eq!(Meta::read(b"{\"agentType\":"), Meta::default());
        let meta = Meta::read(br#"{"agentType":"Explore","toolUseId":"toolu_1","spawnDepth":1}"#);
        assert_eq!(
            (meta.agent_type.as_deref(), meta.call_id.as_deref()),
            (Some("Explore"), Some("toolu_1"))
        );
    }
}
