//! Keys, values, and the origin of a value.

use std::fmt;
use std::path::PathBuf;

use toml::Value;

use super::without_credentials;
use crate::env::KEY_PREFIX;

/// A key with the tables that contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPath(Vec<String>);

impl KeyPath {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Returns the root table.
    pub(super) fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the last part of the key.
    pub(crate) fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Returns the table that contains the key.
    pub(crate) fn table(&self) -> KeyPath {
        KeyPath(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// Returns the key as it is written in its table.
    pub(crate) fn relative(&self) -> KeyPath {
        KeyPath(vec![self.name().to_owned()])
    }

    pub(super) fn join(&self, name: &str) -> KeyPath {
        KeyPath(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bare = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        for (at, name) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match is_bare(name) {
                true => write!(f, "{dot}{name}")?,
                false => write!(f, "{dot}{}", Value::String(name.clone()))?,
            }
        }
        Ok(())
    }
}

/// Returns the environment variable that sets a key: its path in capitals.
pub(crate) fn variable_of(key: &KeyPath) -> String {
    format!("{KEY_PREFIX}{}", key.0.join("_").to_uppercase())
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "the defaults"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "{name}"),
            Self::Flag => write!(f, "--config"),
        }
    }
}

/// A key, its value and the origin of the value.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) key: KeyPath,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// The positions of the elements of a list in a file; empty if they are not known.
    pub(crate) element_lines: Vec<usize>,
}

impl Setting {
    /// Returns the value for messages. The URL of a database may contain a password, which is left out.
    pub(super) fn told(&self) -> String {
        let text = self.value.to_string();
        match self.key.name() {
            "url" => without_credentials(&text).into_owned(),
            _ => text,
        }
    }

    /// Returns the origin of one element of a list.
    pub(super) fn element_origin(&self, at: usize) -> Origin {
        match (&self.origin, self.element_lines.get(at)) {
            (Origin::File { path, .. }, Some(line)) => Origin::File {
                path: path.clone(),
                line: *line,
            },
            (origin, _) => origin.clone(),
        }
    }
}

/// A key that is not in the defaults.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownKey {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) nearest: Option<String>,
}
