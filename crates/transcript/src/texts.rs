//! What a line says, block by block: whose words, by which tool, and the text itself.
//!
//! Two questions are answered from it: what to show of a line ([`crate::bodies`]) and what to search in it ([`texts`]).
//! They differ in a tool's input: people read its JSON, a search reads the values inside it, decoded.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::agent::Agent;
use crate::event::Role;
use crate::{claude, codex, grok};

/// Where in a conversation a text stands. The order is that of a reader's interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// What the agent was asked, by whomever.
    Prompt,
    /// What the agent answered.
    Answer,
    /// What the agent thought.
    Thinking,
    /// What the agent gave to a tool.
    ToolInput,
    /// What a tool gave back.
    ToolOutput,
    /// What the harness said.
    Other,
}

/// One text of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Which block of the line: see [`crate::SessionEvent::block`].
    pub block: u32,
    pub field: Field,
    pub role: Role,
    /// The tool that is called. A result names its call only, which may stand on any line before.
    pub tool: Option<Box<str>>,
    pub text: String,
}

/// The texts of a line that can be searched, decoded, in the order of their blocks. Empty ones are left out.
pub fn texts(agent: Agent, line: &[u8]) -> Vec<Text> {
    let blocks = match agent {
        Agent::Claude => claude::blocks(line),
        Agent::Grok => grok::blocks(line),
        Agent::Codex => codex::blocks(line),
    };
    let numbered = blocks.into_iter().enumerate();
    numbered.filter_map(|(at, block)| text(at, block)).collect()
}

/// A block as a reader's own file tells it.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) field: Field,
    pub(crate) role: Role,
    pub(crate) tool: Option<Box<str>>,
    pub(crate) told: Told,
    /// The human's words inside it, where more stands around them.
    pub(crate) words: Option<String>,
}

/// How a block tells its text.
#[derive(Debug)]
pub(crate) enum Told {
    Text(String),
    /// The input of a tool, as JSON text; or as free text where the agent wrote some.
    Input(String),
    /// Stands for something without words, such as a picture.
    Sign(String),
}

impl Block {
    pub(crate) fn new(field: Field, text: String) -> Self {
        let role = match field {
            Field::Prompt => Role::User,
            Field::Answer | Field::Thinking | Field::ToolInput => Role::Assistant,
            Field::ToolOutput => Role::Tool,
            Field::Other => Role::System,
        };
        Self {
            field,
            role,
            tool: None,
            told: Told::Text(text),
            words: None,
        }
    }

    pub(crate) fn input(tool: &str, json: &str) -> Self {
        Self {
            tool: (!tool.is_empty()).then(|| tool.into()),
            told: Told::Input(json.to_owned()),
            ..Self::new(Field::ToolInput, String::new())
        }
    }
}

fn text(at: usize, block: Block) -> Option<Text> {
    let text = match block.told {
        Told::Text(text) => text,
        Told::Input(json) => values(&json),
        Told::Sign(_) => return None,
    };
    (!text.is_empty()).then_some(Text {
        block: u32::try_from(at).ok()?,
        field: block.field,
        role: block.role,
        tool: block.tool,
        text,
    })
}

/// The strings and numbers inside a JSON text, each on lines of its own. Codex puts JSON into a string, so one level
/// more is looked into; what is no JSON is a text already.
fn values(json: &str) -> String {
    let mut gathered = Values::default();
    let mut parser = serde_json::Deserializer::from_str(json);
    let whole = gathered.deserialize_into(&mut parser).is_ok() && parser.end().is_ok();
    if !whole {
        return json.to_owned();
    }
    if gathered.count == 1
        && json.trim_start().starts_with('"')
        && matches!(gathered.text.trim_start().as_bytes().first(), Some(b'{' | b'['))
    {
        let mut inner = Values::default();
        let mut parser = serde_json::Deserializer::from_str(&gathered.text);
        if inner.deserialize_into(&mut parser).is_ok() && parser.end().is_ok() {
            return inner.text;
        }
    }
    gathered.text
}

#[derive(Default)]
struct Values {
    text: String,
    count: usize,
}

impl Values {
    fn deserialize_into<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        Into(self).deserialize(deserializer)
    }

    fn push(&mut self, text: &str) {
        if self.count > 0 {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.count += 1;
    }
}

/// Takes the values of whatever comes into a text.
struct Into<'v>(&'v mut Values);

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.push(&number.to_string());
        Ok(())
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.push(&number.to_string());
        Ok(())
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.push(&number.to_string());
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Into(&mut *self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Into(&mut *self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_an_input_are_decoded_and_its_keys_are_not_told() {
        assert_eq!(
            values(r#"{"command":"a\nb","n":[1,-2,true,null],"o":{"k":"é"}}"#),
            "a\nb\n1\n-2\né"
        );
        assert_eq!(values(r#""{\"cmd\":[\"ls\",\"-l\"]}""#), "ls\n-l");
        assert_eq!(values("\"const x = {\\n}\""), "const x = {\n}");
        assert_eq!(values(r#""{ not json""#), "{ not json");
        assert_eq!(values("*** Begin Patch"), "*** Begin Patch");
        assert_eq!(values(""), "");
    }
}
