//! The metadata file beside a subagent's log: the type of the subagent and the tool call that started it.

use serde::{Deserialize, Serialize};

use crate::wire::{WireText, wire};

/// The contents of `agent-<id>.meta.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SubagentMeta {
    pub(super) agent_type: Option<String>,
    pub(super) description: Option<String>,
    pub(super) call_id: Option<String>,
}

impl SubagentMeta {
    /// Parses the file. Fields that cannot be parsed stay empty.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let file: SubagentMetaFile<'_> = serde_json::from_slice(bytes).unwrap_or_default();
        let owned = |text: &WireText<'_>| text.get().map(str::to_owned);
        Self {
            agent_type: owned(&file.agent_type),
            description: owned(&file.description),
            call_id: owned(&file.call_id),
        }
    }
}

wire! {
    struct SubagentMetaFile<'a> {
        agent_type: WireText<'a> = "agentType",
        description: WireText<'a> = "description",
        call_id: WireText<'a> = "toolUseId",
    }
}

#[cfg(test)]
mod tests {
    use super::SubagentMeta;

    #[test]
    fn a_damaged_metadata_file_is_empty() {
        assert_eq!(SubagentMeta::parse(b"{\"agentType\":"), SubagentMeta::default());
        let meta = SubagentMeta::parse(br#"{"agentType":"Explore","toolUseId":"toolu_1","spawnDepth":1}"#);
        assert_eq!(
            (meta.agent_type.as_deref(), meta.call_id.as_deref()),
            (Some("Explore"), Some("toolu_1"))
        );
    }
}
