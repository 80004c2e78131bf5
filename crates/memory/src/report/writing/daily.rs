//! The day as a whole: a headline, what matters most, and what the day shows. Checking is pure.

use serde::Serialize;
use serde_json::{Value, json};

use super::check::{Node, Wrongs};
use super::evidence::LIST_MAX;
use super::index::Index;
use super::works::{CitedClaim, claim};

/// Characters of the headline.
const HEADLINE_CHARS_MAX: usize = 80;

/// Version of what is kept.
const SCHEMA: &str = "boswell.day/1";

/// What is told of a whole day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Synthesis {
    pub headline: CitedClaim,
    pub summary: Vec<CitedClaim>,
    pub corrected: Vec<CitedClaim>,
    pub repeated: Vec<CitedClaim>,
    pub worked: Vec<CitedClaim>,
}

/// Checks what is told of a day.
pub(super) fn check(index: &Index, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<Synthesis> {
    node.only(&["headline", "summary", "corrected", "repeated", "worked"], wrongs);
    let headline = node.field("headline", wrongs).and_then(|headline| {
        headline.only(&["text", "citations"], wrongs);
        let told = claim(index, None, &headline, wrongs)?;
        if told.text.chars().count() > HEADLINE_CHARS_MAX {
            let message = format!("has more than {HEADLINE_CHARS_MAX} characters");
            headline.wrong(wrongs, message, "a headline is short");
        }
        if has_date(&told.text) {
            headline.wrong(
                wrongs,
                "names a date",
                "the page has the date; say what the day was about",
            );
        }
        Some(told)
    });
    let mut claims = |field: &str| {
        let mut claims = Vec::new();
        for node in node.list_of(field, LIST_MAX, wrongs) {
            node.only(&["text", "citations"], wrongs);
            claims.extend(claim(index, None, &node, wrongs));
        }
        claims
    };
    let [summary, corrected, repeated, worked] = ["summary", "corrected", "repeated", "worked"].map(&mut claims);
    if summary.is_empty() && wrongs.is_empty() {
        wrongs.add("summary", "is empty", "say what matters most, in one to four sentences");
    }
    let day = Synthesis {
        headline: headline?,
        summary,
        corrected,
        repeated,
        worked,
    };
    wrongs.is_empty().then_some(day)
}

/// Whether a text holds something like `2026-05-12`.
fn has_date(text: &str) -> bool {
    let is_date = |word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        let digits = |part: &&str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
        matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    text.split(|c: char| !c.is_ascii_digit() && c != '-').any(is_date)
}

/// What is kept of a day.
pub(super) fn kept(basis: &str, by: &str, day: &Synthesis) -> Value {
    json!({ "schema": SCHEMA, "basis": basis, "written_by": by, "day": day })
}

/// What is kept, where it still holds: nothing where the pieces of work below it are others by now.
pub(super) fn still_holds(index: &Index, basis: &str, kept: &Value) -> Option<Synthesis> {
    let is_same = kept["schema"] == SCHEMA && kept["basis"] == basis;
    is_same.then(|| check(index, &Node::root(&kept["day"]), &mut Wrongs::default()))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::writing::index::made_up;

    fn check_it(day: &Value) -> Result<Synthesis, String> {
        let mut wrongs = Wrongs::default();
        check(&made_up(), &Node::root(day), &mut wrongs).ok_or_else(|| {
            let told = wrongs
                .told
                .iter()
                .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint));
            told.collect::<Vec<_>>().join("\n")
        })
    }

    #[test]
    fn a_day_has_a_short_headline_and_a_summary_and_cites_all_projects() {
        let claim = |key: &str, text: &str| json!({"text": text, "citations": [{"project_key": key, "session_ref": "S0001", "turn_ref": "T0001", "lines": "1-3"}]});
        let mut day = json!({"headline": claim("app-1", "Logins"), "summary": [claim("docs-2", "It went well")]});
        let told = check_it(&day).unwrap();
        let kept = kept("basis", "codex", &told);
        assert_eq!(still_holds(&made_up(), "basis", &kept), Some(told));
        assert_eq!(still_holds(&made_up(), "another", &kept), None);
        day["headline"] = claim("app-1", &format!("On 2026-05-12, {}", "x".repeat(80)));
        day["summary"] = json!([]);
        day["worked"] = json!([{"text": "Something", "citations": []}, claim("other-3", "x")]);
        insta::assert_snapshot!(check_it(&day).unwrap_err(), @"
        headline: has more than 80 characters; a headline is short
        headline: names a date; the page has the date; say what the day was about
        worked[0].citations: cites nothing; a statement without a citation is none
        worked[1].citations[0].project_key: no such project; `list_projects` names them
        ");
    }

    #[test]
    fn dates_are_seen() {
        assert!(has_date("on 2026-05-12 it") && has_date("(2026-05-12)"));
        assert!(!has_date("version 12-05 of 2026") && !has_date("1-2-3"));
    }
}
