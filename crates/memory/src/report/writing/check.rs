//! Validates JSON input field by field. All errors are collected, each with its JSON path and a hint, so that an agent
//! can fix them in one attempt. Independent of the report.

use serde::Serialize;
use serde_json::Value;

use crate::report::words::strip_hidden;

/// Maximum number of errors that are listed.
const ERRORS_MAX: usize = 20;

/// One error in an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputError {
    /// The JSON path of the error: `turns[0].outcomes[1].lines[0]`.
    pub path: String,
    pub message: String,
    pub hint: String,
}

/// The errors of an input. All are counted, and the first ones are listed.
#[derive(Debug, Default)]
pub(super) struct InputErrors {
    pub(super) listed: Vec<InputError>,
    all: usize,
}

impl InputErrors {
    pub(super) fn add(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.all += 1;
        if self.listed.len() < ERRORS_MAX {
            self.listed.push(InputError {
                path: path.to_owned(),
                message: message.into(),
                hint: hint.into(),
            });
        }
    }

    /// Returns the number of errors so far, so that callers can see whether a step added any.
    pub(super) fn count(&self) -> usize {
        self.all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all == 0
    }
}

/// A value with its JSON path.
#[derive(Debug, Clone)]
pub(super) struct JsonNode<'v> {
    pub(super) path: String,
    value: &'v Value,
}

impl<'v> JsonNode<'v> {
    pub(super) fn root(value: &'v Value) -> Self {
        Self {
            path: String::new(),
            value,
        }
    }

    fn child_path(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    /// Adds an error at this value.
    pub(super) fn add_error(&self, errors: &mut InputErrors, message: impl Into<String>, hint: impl Into<String>) {
        errors.add(&self.path, message, hint);
    }

    /// Adds an error if this is not an object, and one for each unknown field, so that a misspelled field is not
    /// ignored silently.
    pub(super) fn check_fields(&self, names: &[&str], errors: &mut InputErrors) {
        let Some(fields) = self.value.as_object() else {
            return self.add_error(
                errors,
                "must be an object",
                format!("with the fields {}", names.join(", ")),
            );
        };
        for name in fields.keys().filter(|name| !names.contains(&name.as_str())) {
            errors.add(
                &self.child_path(&strip_hidden(name)),
                "unknown field",
                format!("the fields are {}", names.join(", ")),
            );
        }
    }

    /// Returns a required field.
    pub(super) fn field(&self, name: &str, errors: &mut InputErrors) -> Option<Self> {
        let found = self.optional(name);
        if found.is_none() && self.value.is_object() {
            errors.add(&self.child_path(name), "is missing", "add it");
        }
        found
    }

    /// Returns an optional field, or `None` if it is absent or null.
    pub(super) fn optional(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self {
            path: self.child_path(name),
            value,
        })
    }

    /// Returns the elements of a list.
    pub(super) fn list(&self, most: usize, errors: &mut InputErrors) -> Vec<Self> {
        let Some(values) = self.value.as_array() else {
            self.add_error(errors, "must be a list", "write it in `[ ]`");
            return Vec::new();
        };
        if values.len() > most {
            let message = format!("has {} elements; the maximum is {most}", values.len());
            self.add_error(errors, message, "shorten it, or split it over several calls");
            return Vec::new();
        }
        let node = |(at, value)| Self {
            path: format!("{}[{at}]", self.path),
            value,
        };
        values.iter().enumerate().map(node).collect()
    }

    /// Returns the elements of an optional list.
    pub(super) fn list_of(&self, name: &str, most: usize, errors: &mut InputErrors) -> Vec<Self> {
        let found = self.optional(name);
        found.map(|node| node.list(most, errors)).unwrap_or_default()
    }

    /// Returns a text on one line without invisible characters, if it is not empty and not too long.
    pub(super) fn text(&self, chars_max: usize, errors: &mut InputErrors) -> Option<String> {
        let Some(text) = self.value.as_str() else {
            self.add_error(errors, "must be text", "write it in quotes");
            return None;
        };
        let text = strip_hidden(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let chars = text.chars().count();
        if chars == 0 {
            self.add_error(errors, "is empty", "write one sentence");
            return None;
        }
        if chars > chars_max {
            let message = format!("has {chars} characters; the maximum is {chars_max}");
            self.add_error(errors, message, "write one short sentence");
            return None;
        }
        Some(text)
    }

    /// Returns a text that names something, unchanged.
    pub(super) fn name(&self, errors: &mut InputErrors) -> Option<&'v str> {
        let name = self.value.as_str().filter(|name| !name.is_empty());
        if name.is_none() {
            self.add_error(errors, "must be text", "write it in quotes");
        }
        name
    }

    /// Returns one of the values of an enum.
    pub(super) fn word<T: WordEnum>(&self, errors: &mut InputErrors) -> Option<T> {
        let found = T::ALL.iter().find(|word| self.value.as_str() == Some(word.as_str()));
        if found.is_none() {
            let words: Vec<&str> = T::ALL.iter().map(|word| word.as_str()).collect();
            self.add_error(
                errors,
                "is not an allowed value",
                format!("use one of {}", words.join(", ")),
            );
        }
        found.copied()
    }
}

/// An enum whose values have names in JSON.
pub(super) trait WordEnum: Copy + 'static {
    const ALL: &'static [Self];
    fn as_str(self) -> &'static str;
}

/// Defines an enum whose values have names in JSON, and its serialization.
macro_rules! word_enum {
    ($(#[$doc:meta])* $set:ident { $($(#[$of:meta])* $member:ident => $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $set { $($(#[$of])* $member),+ }

        impl $set {
            /// The allowed names.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::report::writing::check::WordEnum for $set {
            const ALL: &'static [Self] = &[$(Self::$member),+];

            fn as_str(self) -> &'static str {
                match self { $(Self::$member => $word),+ }
            }
        }

        impl serde::Serialize for $set {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::report::writing::check::WordEnum::as_str(*self))
            }
        }
    };
}

pub(super) use word_enum;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_errors_are_listed_with_their_paths() {
        let value = json!({"turns": [{"text": "  "}, {"text": "x".repeat(9), "txet": 1}, 7]});
        let mut errors = InputErrors::default();
        for turn in JsonNode::root(&value).list_of("turns", 3, &mut errors) {
            turn.check_fields(&["text"], &mut errors);
            if let Some(text) = turn.field("text", &mut errors) {
                text.text(8, &mut errors);
            }
        }
        let printed: Vec<String> = errors
            .listed
            .iter()
            .map(|error| format!("{}: {}; {}", error.path, error.message, error.hint))
            .collect();
        insta::assert_snapshot!(printed.join("\n"), @"
        turns[0].text: is empty; write one sentence
        turns[1].txet: unknown field; the fields are text
        turns[1].text: has 9 characters; the maximum is 8; write one short sentence
        turns[2]: must be an object; with the fields text
        ");
    }

    #[test]
    fn a_flood_of_errors_is_counted_but_not_listed() {
        let value = Value::from(vec![1; 500]);
        let mut errors = InputErrors::default();
        for node in JsonNode::root(&value).list(500, &mut errors) {
            node.text(8, &mut errors);
        }
        assert_eq!((errors.listed.len(), errors.count()), (ERRORS_MAX, 500));
    }
}
