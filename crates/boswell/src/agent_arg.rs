//! An agent, as named on the command line.

use transcript::Agent;

/// An agent, as named on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentName(pub(crate) Agent);

impl clap::ValueEnum for AgentName {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Agent::Claude), Self(Agent::Codex), Self(Agent::Grok)]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let value = clap::builder::PossibleValue::new(self.0.as_str());
        Some(if self.0 == Agent::Claude {
            value.alias("claude-code")
        } else {
            value
        })
    }
}
