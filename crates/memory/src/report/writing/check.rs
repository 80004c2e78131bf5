//! What somebody hands in, taken apart field by field. Whatever is wrong is told with its JSON path and what to do about
//! it, all of it at once, so that an agent can mend it in one go. Knows JSON and nothing of reports.

use serde::Serialize;
use serde_json::Value;

use crate::report::words::shown;

/// So much of what is wrong is told at once.
const WRONGS_MAX: usize = 20;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Where it stands: `turns[0].outcomes[1].lines[0]`.
    pub path: String,
    pub message: String,
    pub hint: String,
}

/// Everything that is wrong, as far as it is told.
#[derive(Debug, Default)]
pub(super) struct Wrongs {
    pub(super) told: Vec<Wrong>,
    all: usize,
}

impl Wrongs {
    pub(super) fn add(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.all += 1;
        if self.told.len() < WRONGS_MAX {
            self.told.push(Wrong {
                path: path.to_owned(),
                message: message.into(),
                hint: hint.into(),
            });
        }
    }

    /// How much is wrong so far, for telling whether something added to it.
    pub(super) fn count(&self) -> usize {
        self.all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all == 0
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node<'v> {
    pub(super) path: String,
    value: &'v Value,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v Value) -> Self {
        Self {
            path: String::new(),
            value,
        }
    }

    fn below(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    /// Says that this is wrong.
    pub(super) fn wrong(&self, wrongs: &mut Wrongs, message: impl Into<String>, hint: impl Into<String>) {
        wrongs.add(&self.path, message, hint);
    }

    /// Refuses whatever is no object, and fields that nobody asked for: what is misspelt is not lost silently.
    pub(super) fn only(&self, names: &[&str], wrongs: &mut Wrongs) {
        let Some(fields) = self.value.as_object() else {
            return self.wrong(wrongs, "must be an object", format!("with {}", names.join(", ")));
        };
        for name in fields.keys().filter(|name| !names.contains(&name.as_str())) {
            wrongs.add(
                &self.below(&shown(name)),
                "no such field",
                format!("the fields here are {}", names.join(", ")),
            );
        }
    }

    /// A field that has to be there.
    pub(super) fn field(&self, name: &str, wrongs: &mut Wrongs) -> Option<Self> {
        let found = self.optional(name);
        if found.is_none() && self.value.is_object() {
            wrongs.add(&self.below(name), "is missing", "add it");
        }
        found
    }

    /// A field that may be absent or null.
    pub(super) fn optional(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self {
            path: self.below(name),
            value,
        })
    }

    /// The elements of a list.
    pub(super) fn list(&self, most: usize, wrongs: &mut Wrongs) -> Vec<Self> {
        let Some(values) = self.value.as_array() else {
            self.wrong(wrongs, "must be a list", "write it in [ ]");
            return Vec::new();
        };
        if values.len() > most {
            let message = format!("has {} elements, at most {most} are taken", values.len());
            self.wrong(wrongs, message, "say less, or hand it in by several calls");
            return Vec::new();
        }
        let node = |(at, value)| Self {
            path: format!("{}[{at}]", self.path),
            value,
        };
        values.iter().enumerate().map(node).collect()
    }

    /// A list that may be absent.
    pub(super) fn list_of(&self, name: &str, most: usize, wrongs: &mut Wrongs) -> Vec<Self> {
        let found = self.optional(name);
        found.map(|node| node.list(most, wrongs)).unwrap_or_default()
    }

    /// Words on one line, of a bounded length, without what cannot be seen.
    pub(super) fn text(&self, chars_max: usize, wrongs: &mut Wrongs) -> Option<String> {
        let Some(text) = self.value.as_str() else {
            self.wrong(wrongs, "must be text", "write it in quotes");
            return None;
        };
        let text = shown(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let chars = text.chars().count();
        if chars == 0 {
            self.wrong(wrongs, "is empty", "write one sentence");
            return None;
        }
        if chars > chars_max {
            let message = format!("has {chars} characters, at most {chars_max} are taken");
            self.wrong(wrongs, message, "say it in one short sentence");
            return None;
        }
        Some(text)
    }

    /// A text that names something: taken as it is.
    pub(super) fn name(&self, wrongs: &mut Wrongs) -> Option<&'v str> {
        let name = self.value.as_str().filter(|name| !name.is_empty());
        if name.is_none() {
            self.wrong(wrongs, "must be text", "write it in quotes");
        }
        name
    }

    /// One word of a closed set.
    pub(super) fn word<T: Word>(&self, wrongs: &mut Wrongs) -> Option<T> {
        let found = T::ALL.iter().find(|word| self.value.as_str() == Some(word.as_str()));
        if found.is_none() {
            let words: Vec<&str> = T::ALL.iter().map(|word| word.as_str()).collect();
            self.wrong(
                wrongs,
                "is none of the known words",
                format!("one of {}", words.join(", ")),
            );
        }
        found.copied()
    }
}

/// A closed set of words.
pub(super) trait Word: Copy + 'static {
    const ALL: &'static [Self];
    fn as_str(self) -> &'static str;
}

/// A closed set: an enum, the word for each of its members, and how it is printed.
macro_rules! words {
    ($(#[$doc:meta])* $set:ident { $($(#[$of:meta])* $member:ident => $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $set { $($(#[$of])* $member),+ }

        impl $set {
            /// The words that are taken.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::report::writing::check::Word for $set {
            const ALL: &'static [Self] = &[$(Self::$member),+];

            fn as_str(self) -> &'static str {
                match self { $(Self::$member => $word),+ }
            }
        }

        impl serde::Serialize for $set {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::report::writing::check::Word::as_str(*self))
            }
        }
    };
}

pub(super) use words;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_told_with_its_path_and_all_at_once() {
        let value = json!({"turns": [{"text": "  "}, {"text": "x".repeat(9), "txet": 1}, 7]});
        let mut wrongs = Wrongs::default();
        for turn in Node::root(&value).list_of("turns", 3, &mut wrongs) {
            turn.only(&["text"], &mut wrongs);
            if let Some(text) = turn.field("text", &mut wrongs) {
                text.text(8, &mut wrongs);
            }
        }
        let told: Vec<String> = wrongs
            .told
            .iter()
            .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        turns[0].text: is empty; write one sentence
        turns[1].txet: no such field; the fields here are text
        turns[1].text: has 9 characters, at most 8 are taken; say it in one short sentence
        turns[2]: must be an object; with text
        ");
    }

    #[test]
    fn a_flood_of_wrongs_is_counted_and_not_told() {
        let value = Value::from(vec![1; 500]);
        let mut wrongs = Wrongs::default();
        for node in Node::root(&value).list(500, &mut wrongs) {
            node.text(8, &mut wrongs);
        }
        assert_eq!((wrongs.told.len(), wrongs.count()), (WRONGS_MAX, 500));
    }
}
