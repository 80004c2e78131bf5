//! The texts of a line, block by block: author, tool, and the text itself.
//!
//! This serves two purposes: showing a line ([`crate::bodies`]) and searching it ([`crate::texts()`]). They differ in a tool's
//! input: people read its JSON, a search needs the decoded values inside it. The readers make the blocks; nothing here knows
//! an agent.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::event::Role;

/// The field of a conversation that a text belongs to. The order is that of relevance to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// A prompt to the agent, by any author.
    Prompt,
    /// A reply of the agent.
    Answer,
    /// Reasoning of the agent.
    Thinking,
    /// The input of a tool.
    ToolInput,
    /// The output of a tool.
    ToolOutput,
    /// A text of the harness.
    Other,
}

impl Field {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Thinking => "thinking",
            Self::ToolInput => "input",
            Self::ToolOutput => "output",
            Self::Other => "other",
        }
    }
}

/// One text of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The index of the block within the line: see [`crate::SessionEvent::block`].
    pub block: u32,
    pub field: Field,
    pub role: Role,
    /// The tool that is called. A result only names its call, which may be on any line before.
    pub tool: Option<Box<str>>,
    pub text: String,
}

/// Receives the searchable texts of lines, decoded, as [`crate::texts()`] returns them. A broken line may be passed twice.
pub type Tell<'t> = dyn FnMut(&str) + 't;

/// The full text of one block of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub text: String,
    /// The human's words inside it, if the result of a tool contains some.
    pub words: Option<String>,
}

/// A block of a line, before it is formatted for display or search.
#[derive(Debug)]
pub(crate) struct TextBlock {
    pub(crate) field: Field,
    pub(crate) role: Role,
    pub(crate) tool: Option<Box<str>>,
    pub(crate) content: BlockContent,
    /// The human's words inside it, if there is more around them.
    pub(crate) words: Option<String>,
}

/// The content of a block.
#[derive(Debug)]
pub(crate) enum BlockContent {
    Text(String),
    /// The input of a tool: JSON, or free text if the agent wrote some.
    Input(String),
    /// A placeholder for something without text, such as a picture.
    Placeholder(String),
}

impl TextBlock {
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
            content: BlockContent::Text(text),
            words: None,
        }
    }

    pub(crate) fn input(tool: &str, json: &str) -> Self {
        Self {
            tool: (!tool.is_empty()).then(|| tool.into()),
            content: BlockContent::Input(json.to_owned()),
            ..Self::new(Field::ToolInput, String::new())
        }
    }
}

/// Returns the searchable texts of a line's blocks. Empty ones are left out.
pub(crate) fn searchable(blocks: Vec<TextBlock>) -> Vec<Text> {
    let numbered = blocks.into_iter().enumerate();
    numbered.filter_map(|(at, block)| text(at, block)).collect()
}

/// Passes the searchable texts of a line's blocks to `sink`.
pub(crate) fn send_blocks(blocks: Vec<TextBlock>, sink: &mut Tell<'_>) {
    searchable(blocks).iter().for_each(|text| sink(&text.text));
}

fn text(at: usize, block: TextBlock) -> Option<Text> {
    let text = match block.content {
        BlockContent::Text(text) => text,
        BlockContent::Input(json) => values(&json),
        BlockContent::Placeholder(_) => return None,
    };
    (!text.is_empty()).then_some(Text {
        block: u32::try_from(at).ok()?,
        field: block.field,
        role: block.role,
        tool: block.tool,
        text,
    })
}

/// Returns the strings and numbers inside a JSON text, one per line. Codex puts JSON into a string, so one nested
/// level is decoded as well; what is not JSON is returned unchanged.
pub(crate) fn values(json: &str) -> String {
    let mut collected = ValueCollector::default();
    let mut parser = serde_json::Deserializer::from_str(json);
    let whole = collected.deserialize_into(&mut parser).is_ok() && parser.end().is_ok();
    if !whole {
        return json.to_owned();
    }
    if collected.count == 1
        && json.trim_start().starts_with('"')
        && matches!(collected.text.trim_start().as_bytes().first(), Some(b'{' | b'['))
    {
        let mut inner = ValueCollector::default();
        let mut parser = serde_json::Deserializer::from_str(&collected.text);
        if inner.deserialize_into(&mut parser).is_ok() && parser.end().is_ok() {
            return inner.text;
        }
    }
    collected.text
}

#[derive(Default)]
struct ValueCollector {
    text: String,
    count: usize,
}

impl ValueCollector {
    fn deserialize_into<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        ValueSeed(self).deserialize(deserializer)
    }

    fn push(&mut self, text: &str) {
        if self.count > 0 {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.count += 1;
    }
}

/// Collects the values of any JSON value into a text.
struct ValueSeed<'v>(&'v mut ValueCollector);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
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
        while seq.next_element_seed(ValueSeed(&mut *self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(ValueSeed(&mut *self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_an_input_are_decoded_and_its_keys_left_out() {
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
