//! The context of a turn: model, effort, policies and working directory.

use serde::{Deserialize, Serialize};

/// What is known of the context.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnContext {
    pub(super) model: Option<Box<str>>,
    pub(super) effort: Option<Box<str>>,
    pub(super) approval: Option<Box<str>>,
    pub(super) sandbox: Option<Box<str>>,
    pub(super) cwd: Option<Box<str>>,
}

impl TurnContext {
    /// Overwrites the fields that `newer` has.
    pub(super) fn merge(&mut self, newer: Self) {
        let pairs = [
            (&mut self.model, newer.model),
            (&mut self.effort, newer.effort),
            (&mut self.approval, newer.approval),
            (&mut self.sandbox, newer.sandbox),
            (&mut self.cwd, newer.cwd),
        ];
        for (known, newer) in pairs {
            if newer.is_some() {
                *known = newer;
            }
        }
    }

    /// Describes the context in one line.
    pub(super) fn describe(&self) -> String {
        let named = [
            ("model", &self.model),
            ("effort", &self.effort),
            ("approval", &self.approval),
            ("sandbox", &self.sandbox),
            ("cwd", &self.cwd),
        ];
        let described = named
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        described.collect::<Vec<_>>().join(", ")
    }
}
