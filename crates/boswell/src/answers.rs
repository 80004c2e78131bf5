//! The answers of the verbs with `--json`: one struct per answer. The struct is serialised directly, and `boswell
//! schema` derives the JSON Schema from it. Commands fill these structs; nothing here opens the memory, parses
//! arguments or prints.

pub(crate) mod ask;
pub(crate) mod error;
pub(crate) mod health;
pub(crate) mod hub;
pub(crate) mod keep;
pub(crate) mod machine;
pub(crate) mod page;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod share;
pub(crate) mod shared;
pub(crate) mod start;
pub(crate) mod table;
pub(crate) mod usage;
pub(crate) mod why;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One answer: a single JSON object with a field `schema`, which is not a field of the struct.
pub(crate) trait Answer: Serialize + JsonSchema {
    /// The value of the field `schema`: a name and a version.
    const SCHEMA: &'static str;
}

/// The field of an answer that names its schema.
const SCHEMA_FIELD: &str = "schema";
/// The field of an answer that may miss something new.
const STALE_FIELD: &str = "stale";

/// Returns an answer as the object that is printed, with its field `schema` and with sorted keys.
pub(crate) fn to_value<A: Answer>(answer: &A) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(answer)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert(SCHEMA_FIELD.to_owned(), A::SCHEMA.into());
    }
    Ok(value)
}
