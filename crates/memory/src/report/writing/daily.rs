//! The day as a whole: a headline, a summary and observations. Validation is pure.

use serde::Serialize;
use serde_json::Value;

use super::check::{InputErrors, JsonNode};
use super::evidence::LIST_MAX;
use super::index::Index;
use super::works::{CitedClaim, check_claim};

/// Maximum length of the headline.
const HEADLINE_CHARS_MAX: usize = 80;

/// Version of the stored JSON.
const SCHEMA: &str = "boswell.day/1";

/// The description of a whole day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaySynthesis {
    pub headline: CitedClaim,
    pub summary: Vec<CitedClaim>,
    pub corrected: Vec<CitedClaim>,
    pub repeated: Vec<CitedClaim>,
    pub worked: Vec<CitedClaim>,
}

/// Validates the description of a day.
pub(super) fn check(index: &Index, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<DaySynthesis> {
    node.check_fields(&["headline", "summary", "corrected", "repeated", "worked"], errors);
    let headline = node.field("headline", errors).and_then(|headline| {
        headline.check_fields(&["text", "citations"], errors);
        let claim = check_claim(index, None, &headline, errors)?;
        if claim.text.chars().count() > HEADLINE_CHARS_MAX {
            let message = format!("has more than {HEADLINE_CHARS_MAX} characters");
            headline.add_error(errors, message, "write a shorter headline");
        }
        if has_date(&claim.text) {
            headline.add_error(
                errors,
                "names a date",
                "the page shows the date; describe the day instead",
            );
        }
        Some(claim)
    });
    let mut claims = |field: &str| {
        let mut claims = Vec::new();
        for node in node.list_of(field, LIST_MAX, errors) {
            node.check_fields(&["text", "citations"], errors);
            claims.extend(check_claim(index, None, &node, errors));
        }
        claims
    };
    let [summary, corrected, repeated, worked] = ["summary", "corrected", "repeated", "worked"].map(&mut claims);
    if summary.is_empty() && errors.is_empty() {
        errors.add(
            "summary",
            "is empty",
            "write one to four sentences about what matters most",
        );
    }
    let day = DaySynthesis {
        headline: headline?,
        summary,
        corrected,
        repeated,
        worked,
    };
    errors.is_empty().then_some(day)
}

/// Returns `true` if a text contains a date such as `2026-05-12`.
fn has_date(text: &str) -> bool {
    let is_date = |word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        let digits = |part: &&str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
        matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    text.split(|c: char| !c.is_ascii_digit() && c != '-').any(is_date)
}

/// The file of a day.
#[derive(Serialize)]
pub(super) struct DayFile<'a> {
    schema: &'static str,
    /// The pieces of work that the description is based on.
    basis: &'a str,
    written_by: &'a str,
    day: &'a DaySynthesis,
}

/// Returns the file to store.
pub(super) fn stored_file<'a>(basis: &'a str, by: &'a str, day: &'a DaySynthesis) -> DayFile<'a> {
    DayFile {
        schema: SCHEMA,
        basis,
        written_by: by,
        day,
    }
}

/// Returns the stored description, or `None` if the pieces of work it is based on have changed.
pub(super) fn restore_valid(index: &Index, basis: &str, stored: &Value) -> Option<DaySynthesis> {
    let is_same = stored["schema"] == SCHEMA && stored["basis"] == basis;
    is_same.then(|| check(index, &JsonNode::root(&stored["day"]), &mut InputErrors::default()))?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::writing::index::sample_index;

    fn check_json(day: &Value) -> Result<DaySynthesis, String> {
        let mut errors = InputErrors::default();
        check(&sample_index(), &JsonNode::root(day), &mut errors).ok_or_else(|| {
            let printed = errors
                .listed
                .iter()
                .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint));
            printed.collect::<Vec<_>>().join("\n")
        })
    }

    #[test]
    fn a_day_has_a_short_headline_and_a_summary_and_cites_all_projects() {
        let cited = |key: &str, text: &str| json!({"text": text, "citations": [{"project_key": key, "session_ref": "S0001", "turn_ref": "T0001", "lines": "1-3"}]});
        let mut day = json!({"headline": cited("app-1", "Logins"), "summary": [cited("docs-2", "It went well")]});
        let day_text = check_json(&day).unwrap();
        let stored = serde_json::to_value(stored_file("basis", "codex", &day_text)).unwrap();
        assert_eq!(restore_valid(&sample_index(), "basis", &stored), Some(day_text));
        assert_eq!(restore_valid(&sample_index(), "another", &stored), None);
        day["headline"] = cited("app-1", &format!("On 2026-05-12, {}", "x".repeat(80)));
        day["summary"] = json!([]);
        day["worked"] = json!([{"text": "Something", "citations": []}, cited("other-3", "x")]);
        insta::assert_snapshot!(check_json(&day).unwrap_err(), @"
        headline: has more than 80 characters; write a shorter headline
        headline: names a date; the page shows the date; describe the day instead
        worked[0].citations: cites nothing; every statement needs a citation
        worked[1].citations[0].project_key: no such project; `list_projects` lists them
        ");
    }

    #[test]
    fn dates_are_recognized() {
        assert!(has_date("on 2026-05-12 it") && has_date("(2026-05-12)"));
        assert!(!has_date("version 12-05 of 2026") && !has_date("1-2-3"));
    }
}
