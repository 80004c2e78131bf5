//! The context of a turn: model, effort, policies and working directory.

use serde::{Deserialize, Serialize};

/// What is known of the context.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Context {
    pub(super) model: Option<Box<str>>,
    pub(super) effort: Option<Box<str>>,
    pub(super) approval: Option<Box<str>>,
    pub(super) sandbox: Option<Box<str>>,
    pub(super) cwd: Option<Box<str>>,
}

impl Context {
    /// Overwrites the fields that `newer` has.
    pub(super) fn change(&mut self, told: Self) {
        let pairs = [
            (&mut self.model, told.model),
            (&mut self.effort, told.effort),
            (&mut self.approval, told.approval),
            (&mut self.sandbox, told.sandbox),
            (&mut self.cwd, told.cwd),
        ];
        for (known, told) in pairs {
            if told.is_some() {
                *known = told;
            }
        }
    }

    /// Describes the context in one line.
    pub(super) fn words(&self) -> String {
        let named = [
            ("model", &self.model),
            ("effort", &self.effort),
            ("approval", &self.approval),
            ("sandbox", &self.sandbox),
            ("cwd", &self.cwd),
        ];
        let told = named
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        told.collect::<Vec<_>>().join(", ")
    }
}
