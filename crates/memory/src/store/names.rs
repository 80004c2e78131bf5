//! Interns names that many rows share, such as models and directories, while rows are read.

use std::sync::Arc;

use rustc_hash::FxHashSet;

/// Names that occurred before.
#[derive(Default)]
pub(super) struct Names(FxHashSet<Arc<str>>);

impl Names {
    pub(super) fn intern_opt(&mut self, name: Option<&str>) -> Option<Arc<str>> {
        name.map(|name| self.intern(name))
    }

    pub(super) fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.0.insert(name.clone());
        name
    }
}
