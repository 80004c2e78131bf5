//! A digest as JSON that fits a token budget. The sections that come last on the page are removed first, lists entry by
//! entry, and the answer names what was removed.

use serde_json::{Map, Value};

use crate::answers::session::{DigestAnswer, WholeDigest};
use crate::error::CommandError;
use crate::render::budget::tokens;

/// The key under which the answer counts what was removed.
const LEFT_OUT: &str = "left_out_to_fit";
/// Room for the field that marks an answer as possibly stale.
const SPARE_CHARS: usize = ",\"stale\":true".len() + 1;

/// The order in which fields are removed. Other fields are removed after these, and those in [`LAST`] stay.
const ORDER: &[&str] = &[
    "/subagents",
    "/tokens/by_hour",
    "/tokens/by_model",
    "/signals",
    "/errors/kinds",
    "/commits",
    "/commands",
    "/files",
    "/tools",
    "/tests",
    "/errors",
    "/interventions",
    "/rolled_up",
    "/time",
    "/tokens",
    "/snippets",
    "/decisions",
    "/evidence",
    "/first_prompt",
];
/// The fields that every answer has.
const LAST: [&str; 4] = ["schema", "session_uid", "outcome", "reason"];

/// Returns the digest, shortened if it does not fit.
pub(super) fn fit(digest: WholeDigest<'_>, max_tokens: u32) -> Result<DigestAnswer<'_>, CommandError> {
    let failed = |error| CommandError::internal(format_args!("cannot write JSON: {error}"));
    let fitted = shorten(serde_json::to_value(&digest).map_err(failed)?, max_tokens);
    Ok(match fitted.get(LEFT_OUT) {
        Some(_) => DigestAnswer::Fitted(serde_json::from_value(fitted).map_err(failed)?),
        None => DigestAnswer::Whole(Box::new(digest)),
    })
}

/// Returns as much of the object as fits.
fn shorten(answer: Value, max_tokens: u32) -> Value {
    let Value::Object(fields) = &answer else { return answer };
    let others = fields.keys().filter(|key| !LAST.contains(&key.as_str()));
    let others: Vec<String> = others.map(|key| format!("/{key}")).collect();
    let is_small = |answer: &Value| tokens(answer.to_string().chars().count() + SPARE_CHARS) <= max_tokens as usize;
    let mut cut = Cut {
        answer: answer.clone(),
        left_out: Map::new(),
    };
    for path in ORDER.iter().copied().chain(others.iter().map(String::as_str)) {
        while !is_small(&cut.told()) {
            if !cut.shorten(path) {
                break;
            }
        }
    }
    let told = cut.told();
    if is_small(&told) {
        return told;
    }
    // Even the names of the removed fields do not fit.
    let mut least: Map<String, Value> = LAST
        .iter()
        .map(|key| ((*key).to_owned(), answer[*key].clone()))
        .collect();
    least.insert(LEFT_OUT.to_owned(), "all else".into());
    Value::Object(least)
}

/// An answer that is being shortened.
struct Cut {
    answer: Value,
    left_out: Map<String, Value>,
}

impl Cut {
    /// Returns the answer with a list of what was removed.
    fn told(&self) -> Value {
        let mut told = self.answer.clone();
        if !self.left_out.is_empty() {
            told[LEFT_OUT] = Value::Object(self.left_out.clone());
        }
        told
    }

    /// Removes the last entry of a list, or any other value as a whole. Returns `false` if `path` does not exist.
    fn shorten(&mut self, path: &str) -> bool {
        let name = path.trim_start_matches('/').replace('/', ".");
        let Some(value) = self.answer.pointer_mut(path) else {
            return false;
        };
        if let Some(list) = value.as_array_mut().filter(|list| !list.is_empty()) {
            list.pop();
            let before = self.left_out.get(&name).and_then(Value::as_u64).unwrap_or(0);
            self.left_out.insert(name, (before + 1).into());
            return true;
        }
        let (above, key) = path.rsplit_once('/').unwrap_or(("", path));
        let had_something = !matches!(value, Value::Null) && value.as_array().is_none_or(|list| !list.is_empty());
        let Some(fields) = self.answer.pointer_mut(above).and_then(Value::as_object_mut) else {
            return false;
        };
        fields.remove(key);
        if had_something {
            // The entry for the whole value replaces those for its parts.
            self.left_out.retain(|one, _| !one.starts_with(&format!("{name}.")));
            self.left_out.insert(name, 1.into());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Value {
        json!({
            "schema": "boswell.digest/1", "session_uid": "claude:5e55", "outcome": "success", "reason": "tests_passed",
            "title": "Mend the parser", "time": {"wall_s": 9},
            "files": (0..9).map(|n| json!({"path": format!("src/file{n}.rs")})).collect::<Vec<_>>(),
            "decisions": [{"text": "the lexer stays"}],
        })
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(shorten(answer(), 1_000), answer());
    }

    #[test]
    fn lists_lose_their_last_entries_first_and_the_rest_is_counted() {
        let shortened = shorten(answer(), 100);
        assert!(tokens(shortened.to_string().len()) <= 100, "{shortened}");
        let files = shortened["files"].as_array().unwrap().len() as u64;
        assert!(files > 0, "{shortened}");
        assert_eq!(shortened[LEFT_OUT], json!({"files": 9 - files}));
        assert_eq!(shortened["decisions"][0]["text"], "the lexer stays");
    }

    #[test]
    fn any_budget_is_kept() {
        for most in 35..200 {
            let shortened = shorten(answer(), most);
            assert!(
                tokens(shortened.to_string().len()) <= most as usize,
                "{most}: {shortened}"
            );
            assert_eq!(shortened["outcome"], "success");
            assert!(shortened == answer() || !shortened[LEFT_OUT].is_null(), "{shortened}");
        }
    }
}
