//! Derives the JSON Schema (draft 2020-12) of an answer from its struct.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Answer, SCHEMA_FIELD, STALE_FIELD};

/// Returns the schema of an answer, with the fields that are added when it is printed.
pub(crate) fn answer_schema<A: Answer>() -> Value {
    let mut schema = line_schema::<A>();
    let name = object([("type", "string"), ("const", A::SCHEMA)]);
    for variant in variants(&schema) {
        let Some(variant) = schema.pointer_mut(&variant) else {
            continue;
        };
        insert_property(variant, SCHEMA_FIELD, name.clone());
        if let Some(required) = variant.get_mut("required").and_then(Value::as_array_mut) {
            required.push(SCHEMA_FIELD.into());
        }
    }
    schema
}

/// Returns the schema of a value that is printed without changes: it has its own field `schema`, or is one of several
/// lines.
pub(crate) fn line_schema<T: Serialize + JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(close));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let stale = object([
        ("type", "boolean"),
        (
            "description",
            "Present and true if something new may be missing, because the agents' logs were not read first",
        ),
    ]);
    for variant in variants(&schema) {
        if let Some(variant) = schema.pointer_mut(&variant) {
            insert_property(variant, STALE_FIELD, stale.clone());
        }
    }
    schema
}

fn insert_property(object: &mut Value, name: &str, schema: Value) {
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), schema);
    }
}

/// Forbids properties that the struct does not have, so that a schema without a field does not accept an answer with it.
fn close(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// Returns the JSON pointers of the objects that a schema allows at its root.
fn variants(schema: &Value) -> Vec<String> {
    let target = |one: &Value| Some(one.get("$ref")?.as_str()?.trim_start_matches('#').to_owned());
    if let Some(target) = target(schema) {
        return vec![target];
    }
    let alternatives = |keyword: &'static str| Some((keyword, schema.get(keyword)?.as_array()?));
    let Some((keyword, alternatives)) = alternatives("anyOf").or_else(|| alternatives("oneOf")) else {
        return vec![String::new()];
    };
    let pointer = |(at, one): (usize, &Value)| target(one).unwrap_or_else(|| format!("/{keyword}/{at}"));
    alternatives.iter().enumerate().map(pointer).collect()
}

fn object<const N: usize>(fields: [(&str, &str); N]) -> Value {
    let field = |(name, text): (&str, &str)| (name.to_owned(), Value::from(text));
    Value::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
}
