//! Validates JSON against the part of JSON Schema (draft 2020-12) that `boswell schema` prints.
//!
//! A keyword that is not implemented here is an error, because ignoring it would accept values that the schema forbids.

use serde_json::{Map, Value};

/// Keywords that do not constrain values.
const ANNOTATIONS: [&str; 6] = ["$schema", "$defs", "title", "description", "default", "format"];

/// Returns every difference between a value and a schema, as `path: what is wrong`.
pub fn validate(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    Validator { root: schema }.check(schema, value, "$", &mut errors);
    errors
}

struct Validator<'s> {
    root: &'s Value,
}

impl Validator<'_> {
    fn check(&self, schema: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Object(keywords) => keywords,
            _ => return errors.push(format!("{path}: nothing is allowed here")),
        };
        for (keyword, argument) in keywords {
            if ANNOTATIONS.contains(&keyword.as_str()) {
                continue;
            }
            match keyword.as_str() {
                "$ref" => self.check_reference(argument, value, path, errors),
                "type" if !has_type(argument, value) => errors.push(format!("{path}: not of type {argument}: {value}")),
                "const" if argument != value => errors.push(format!("{path}: not {argument}: {value}")),
                "enum" if !list(argument).contains(value) => errors.push(format!("{path}: not in {argument}: {value}")),
                "minimum" if is_less(value.as_f64(), argument.as_f64()) => {
                    errors.push(format!("{path}: too small: {value}"))
                }
                "maximum" if is_less(argument.as_f64(), value.as_f64()) => {
                    errors.push(format!("{path}: too large: {value}"))
                }
                "minItems" if is_less(length(value), argument.as_u64()) => {
                    errors.push(format!("{path}: too few items"))
                }
                "maxItems" if is_less(argument.as_u64(), length(value)) => {
                    errors.push(format!("{path}: too many items"))
                }
                "type" | "const" | "enum" | "minimum" | "maximum" | "minItems" | "maxItems" => {}
                "anyOf" => self.check_alternatives(argument, value, path, errors, 1..=usize::MAX),
                "oneOf" => self.check_alternatives(argument, value, path, errors, 1..=1),
                "items" => {
                    for (at, item) in list(value).iter().enumerate() {
                        self.check(argument, item, &format!("{path}[{at}]"), errors);
                    }
                }
                "required" => errors.extend(missing(argument, value).map(|name| format!("{path}: without {name}"))),
                "properties" => self.check_properties(argument, value, path, errors),
                "additionalProperties" => self.check_others(keywords, argument, value, path, errors),
                keyword => errors.push(format!("{path}: the validator does not know the keyword `{keyword}`")),
            }
        }
    }

    fn check_reference(&self, reference: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
        let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        match pointer.and_then(|pointer| self.root.pointer(pointer)) {
            Some(schema) => self.check(schema, value, path, errors),
            None => errors.push(format!("{path}: no such definition: {reference}")),
        }
    }

    fn check_alternatives(
        &self,
        alternatives: &Value,
        value: &Value,
        path: &str,
        errors: &mut Vec<String>,
        allowed: std::ops::RangeInclusive<usize>,
    ) {
        let mut reasons = Vec::new();
        let fitting = list(alternatives).iter().filter(|schema| {
            let before = reasons.len();
            self.check(schema, value, path, &mut reasons);
            reasons.len() == before
        });
        let count = fitting.count();
        if !allowed.contains(&count) {
            errors.push(format!("{path}: fits {count} alternatives ({})", reasons.join("; ")));
        }
    }

    fn check_properties(&self, properties: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
        let (Some(properties), Some(fields)) = (properties.as_object(), value.as_object()) else {
            return;
        };
        for (name, schema) in properties {
            if let Some(field) = fields.get(name) {
                self.check(schema, field, &format!("{path}.{name}"), errors);
            }
        }
    }

    /// Checks the fields that `properties` does not name.
    fn check_others(
        &self,
        keywords: &Map<String, Value>,
        schema: &Value,
        value: &Value,
        path: &str,
        errors: &mut Vec<String>,
    ) {
        let known = |name: &str| {
            keywords
                .get("properties")
                .is_some_and(|known| known.get(name).is_some())
        };
        for (name, field) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
            self.check(schema, field, &format!("{path}.{name}"), errors);
        }
    }
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}

fn missing<'a>(required: &'a Value, value: &'a Value) -> impl Iterator<Item = &'a Value> {
    let fields = value.as_object();
    let is_missing = move |name: &&Value| {
        let name = name.as_str().unwrap_or_default();
        fields.is_some_and(|fields| !fields.contains_key(name))
    };
    list(required).iter().filter(is_missing)
}

/// Returns whether both values are present and the first one is less. A limit does not apply to values of another type.
fn is_less<T: PartialOrd>(first: Option<T>, second: Option<T>) -> bool {
    first.zip(second).is_some_and(|(first, second)| first < second)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_difference_is_named() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "type": ["integer", "null"], "minimum": 0 }, "b": { "$ref": "#/$defs/B" }, "c": { "anyOf": [{ "const": 1 }, { "enum": ["x"] }] } },
            "required": ["a"],
            "additionalProperties": false,
            "$defs": { "B": { "type": "array", "items": { "type": "string" }, "maxItems": 1 } },
        });
        let errors = |value: Value| validate(&schema, &value);
        assert!(errors(json!({ "a": 1, "b": ["x"], "c": "x" })).is_empty());
        assert!(errors(json!({ "a": null })).is_empty());
        for wrong in [
            json!({}),
            json!({ "a": -1 }),
            json!({ "a": "1" }),
            json!({ "a": 1, "b": [2] }),
            json!({ "a": 1, "b": ["x", "y"] }),
            json!({ "a": 1, "c": 2 }),
            json!({ "a": 1, "d": 1 }),
            json!([]),
        ] {
            assert!(!errors(wrong.clone()).is_empty(), "{wrong}");
        }
        assert!(!validate(&json!({ "dependentRequired": {} }), &json!({})).is_empty());
    }
}
