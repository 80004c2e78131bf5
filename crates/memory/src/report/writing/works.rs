//! The pieces of work of one project. Each turn of the project belongs to exactly one piece. Validation is pure: it
//! takes the index, the pieces so far and JSON, and returns a piece or errors.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::check::{InputErrors, JsonNode, word_enum};
use super::evidence::{LIST_MAX, TEXT_CHARS_MAX, TURNS_MAX};
use super::index::{CITATIONS_MAX, Index, ProjectRow, TurnCitation};

/// Maximum length of a title.
const TITLE_CHARS_MAX: usize = 100;
/// Maximum number of pieces in one call.
pub(super) const WORKS_MAX: usize = 50;

/// Version of the stored JSON.
const SCHEMA: &str = "boswell.works/1";

word_enum! {
    /// How important a piece of work is.
    WorkKind {
        /// Described in full.
        Material => "material",
        /// Described in one line.
        Minor => "minor",
        /// The logs do not show the result; described in one line.
        Gap => "gap",
    }
}

word_enum! {
    /// The outcome of a piece of work, relative to what was asked in the end.
    Disposition {
        Completed => "completed",
        InProgress => "in_progress",
        Blocked => "blocked",
        Interrupted => "interrupted",
        Failed => "failed",
        Cancelled => "cancelled",
        Unknown => "unknown",
    }
}

impl Disposition {
    /// Returns the name at the start of a sentence.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::InProgress => "In progress",
            Self::Blocked => "Blocked",
            Self::Interrupted => "Interrupted",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
            Self::Unknown => "Unknown",
        }
    }
}

/// A sentence with its citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedClaim {
    pub text: String,
    pub citations: Vec<TurnCitation>,
}

/// The writer's assessment of the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DispositionClaim {
    pub kind: Disposition,
    pub text: String,
    pub citations: Vec<TurnCitation>,
}

/// A reference to a turn of a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TurnReference {
    pub session_ref: String,
    pub turn_ref: String,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkItem {
    pub work_ref: String,
    pub kind: WorkKind,
    pub title: String,
    pub covers: Vec<TurnReference>,
    pub asked: Vec<CitedClaim>,
    pub done: Vec<CitedClaim>,
    pub came: Vec<CitedClaim>,
    pub open: Vec<CitedClaim>,
    pub decided: Vec<CitedClaim>,
    pub disposition: Option<DispositionClaim>,
}

/// The pieces of one project so far, by reference.
pub type WorkItems = BTreeMap<String, WorkItem>;

const FIELDS: [&str; 10] = [
    "work_ref",
    "kind",
    "title",
    "covers",
    "asked",
    "done",
    "came",
    "open",
    "decided",
    "disposition",
];

/// Validates one piece of work against the others.
pub(super) fn check(
    index: &Index,
    project: &ProjectRow,
    others: &WorkItems,
    node: &JsonNode<'_>,
    errors: &mut InputErrors,
) -> Option<WorkItem> {
    let before = errors.count();
    node.check_fields(&FIELDS, errors);
    let work_ref = work_ref(node, errors);
    let kind: Option<WorkKind> = node.field("kind", errors).and_then(|kind| kind.word(errors));
    let title = node
        .field("title", errors)
        .and_then(|title| title.text(TITLE_CHARS_MAX, errors));
    let own = work_ref.as_deref().unwrap_or_default();
    let covers = check_covers(project, others, own, node, errors);
    let mut claims = |field: &str| check_claims(index, project, &covers, node, field, errors);
    let [asked, done, came, open, decided] = ["asked", "done", "came", "open", "decided"].map(&mut claims);
    let disposition = node
        .optional("disposition")
        .and_then(|node| check_disposition(index, project, &covers, &node, errors));
    if kind == Some(WorkKind::Material) {
        _ = node.field("disposition", errors);
        // If a sentence was rejected, an error about it exists already.
        if errors.count() == before && (asked.is_empty() || (done.is_empty() && came.is_empty())) {
            let hint = "describe what was asked, and what was done or resulted; or make it `minor`";
            node.add_error(errors, "material work must be described in full", hint);
        }
    }
    let item = WorkItem {
        work_ref: work_ref?,
        kind: kind?,
        title: title?,
        covers,
        asked,
        done,
        came,
        open,
        decided,
        disposition,
    };
    (errors.count() == before).then_some(item)
}

/// Parses a reference such as `W0001`.
fn work_ref(node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<String> {
    let field = node.field("work_ref", errors)?;
    let reference = field.name(errors)?;
    let digits = reference.strip_prefix('W').unwrap_or_default();
    if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        field.add_error(errors, "is not a work reference", "write it like \"W0001\"");
        return None;
    }
    Some(reference.to_owned())
}

/// Returns the turns of a piece: at least one, and none that another piece covers.
fn check_covers(
    project: &ProjectRow,
    others: &WorkItems,
    own: &str,
    node: &JsonNode<'_>,
    errors: &mut InputErrors,
) -> Vec<TurnReference> {
    let Some(field) = node.field("covers", errors) else {
        return Vec::new();
    };
    let before = errors.count();
    let mut covers: Vec<TurnReference> = Vec::new();
    for node in field.list(TURNS_MAX * 10, errors) {
        node.check_fields(&["session_ref", "turn_ref"], errors);
        let Some(session) = project.session(&node, errors) else {
            continue;
        };
        let Some(turn) = session.turn(&node, errors) else {
            continue;
        };
        let name = TurnReference {
            session_ref: session.session_ref.as_str().to_owned(),
            turn_ref: turn.turn_ref.clone(),
        };
        let others_covers = others.values().filter(|other| other.work_ref != own);
        if let Some(other) = others_covers.into_iter().find(|other| other.covers.contains(&name)) {
            let hint = format!("omit it here, or submit {} again without it", other.work_ref);
            node.add_error(errors, format!("is already part of {}", other.work_ref), hint);
        } else if covers.contains(&name) {
            node.add_error(errors, "is listed twice", "name each turn once");
        } else {
            covers.push(name);
        }
    }
    if covers.is_empty() && errors.count() == before {
        field.add_error(errors, "covers no turns", "name its turns");
    }
    covers.sort();
    covers
}

fn check_claims(
    index: &Index,
    project: &ProjectRow,
    covers: &[TurnReference],
    node: &JsonNode<'_>,
    field: &str,
    errors: &mut InputErrors,
) -> Vec<CitedClaim> {
    let mut claims = Vec::new();
    for node in node.list_of(field, LIST_MAX, errors) {
        node.check_fields(&["text", "citations"], errors);
        claims.extend(check_claim(index, Some((project, covers)), &node, errors));
    }
    claims
}

fn check_disposition(
    index: &Index,
    project: &ProjectRow,
    covers: &[TurnReference],
    node: &JsonNode<'_>,
    errors: &mut InputErrors,
) -> Option<DispositionClaim> {
    node.check_fields(&["kind", "text", "citations"], errors);
    let kind = node.field("kind", errors).and_then(|kind| kind.word(errors));
    let CitedClaim { text, citations } = check_claim(index, Some((project, covers)), node, errors)?;
    Some(DispositionClaim {
        kind: kind?,
        text,
        citations,
    })
}

/// Validates a sentence with its citations, which must be within one piece of work if `of` is given.
pub(super) fn check_claim(
    index: &Index,
    of: Option<(&ProjectRow, &[TurnReference])>,
    node: &JsonNode<'_>,
    errors: &mut InputErrors,
) -> Option<CitedClaim> {
    let text = node
        .field("text", errors)
        .and_then(|text| text.text(TEXT_CHARS_MAX, errors));
    let field = node.field("citations", errors)?;
    let before = errors.count();
    let all = field.list(CITATIONS_MAX, errors);
    if all.is_empty() && errors.count() == before {
        field.add_error(errors, "cites nothing", "every statement needs a citation");
    }
    let mut citations = Vec::new();
    for node in all {
        let Some(cited) = index.cited(&node, of.map(|(project, _)| project), errors) else {
            continue;
        };
        let is_own = |name: &TurnReference| name.session_ref == cited.session_ref && name.turn_ref == cited.turn_ref;
        if of.is_some_and(|(_, covers)| !covers.iter().any(is_own)) {
            let hint = "cite only covered turns, or add this turn to `covers`";
            node.add_error(errors, "is in a turn that this piece does not cover", hint);
            continue;
        }
        citations.push(cited);
    }
    let text = text?;
    (errors.count() == before).then_some(CitedClaim { text, citations })
}

/// The file of a project's pieces of work.
#[derive(Serialize)]
pub(super) struct WorksFile<'a> {
    schema: &'static str,
    project_key: &'a str,
    /// The evidence that the pieces are based on.
    basis: &'a str,
    written_by: &'a str,
    works: Vec<&'a WorkItem>,
}

/// Returns the file to store.
pub(super) fn stored_file<'a>(
    project: &'a ProjectRow,
    basis: &'a str,
    by: &'a str,
    works: &'a WorkItems,
) -> WorksFile<'a> {
    WorksFile {
        schema: SCHEMA,
        project_key: project.key.as_str(),
        basis,
        written_by: by,
        works: works.values().collect(),
    }
}

/// Returns the stored pieces that are still valid. If the evidence has changed since, no piece is.
pub(super) fn restore_valid(index: &Index, project: &ProjectRow, basis: &str, stored: &Value) -> WorkItems {
    let is_same = stored["schema"] == SCHEMA && stored["basis"] == basis;
    let mut works = WorkItems::new();
    for stored in stored["works"].as_array().filter(|_| is_same).into_iter().flatten() {
        let checked = check(
            index,
            project,
            &works,
            &JsonNode::root(stored),
            &mut InputErrors::default(),
        );
        if let Some(item) = checked {
            works.insert(item.work_ref.clone(), item);
        }
    }
    works
}

/// Returns the turns of a project that no piece covers yet.
pub(super) fn missing_turns(project: &ProjectRow, works: &WorkItems) -> Vec<TurnReference> {
    let name = |(session, turn): (&super::index::SessionRow, &super::index::TurnRow)| TurnReference {
        session_ref: session.session_ref.as_str().to_owned(),
        turn_ref: turn.turn_ref.clone(),
    };
    let is_covered = |name: &TurnReference| works.values().any(|item| item.covers.contains(name));
    project.turns().map(name).filter(|name| !is_covered(name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::writing::index::sample_index;

    fn work(work_ref: &str, session: &str, turn: &str, lines: &str) -> Value {
        let claim =
            json!({"text": "So it was", "citations": [{"session_ref": session, "turn_ref": turn, "lines": lines}]});
        json!({
            "work_ref": work_ref,
            "kind": "material",
            "title": "Mend the login",
            "covers": [{"session_ref": session, "turn_ref": turn}],
            "asked": [claim],
            "came": [claim],
            "disposition": {"kind": "completed", "text": "Done", "citations": claim["citations"]},
        })
    }

    fn check_json(others: &WorkItems, input: &Value) -> Result<WorkItem, String> {
        let (index, mut errors) = (sample_index(), InputErrors::default());
        let project = index.find("app-1").unwrap();
        check(&index, project, others, &JsonNode::root(input), &mut errors).ok_or_else(|| {
            let printed = errors
                .listed
                .iter()
                .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint));
            printed.collect::<Vec<_>>().join("\n")
        })
    }

    #[test]
    fn every_turn_belongs_to_exactly_one_piece() {
        let mut works = WorkItems::new();
        let index = sample_index();
        let project = index.find("app-1").unwrap();
        for (work_ref, session, turn, lines) in [("W0001", "S0001", "T0001", "1-9"), ("W0002", "S0001", "T0002", "10")]
        {
            let item = check_json(&works, &work(work_ref, session, turn, lines)).unwrap();
            works.insert(work_ref.to_owned(), item);
        }
        assert_eq!(missing_turns(project, &works).len(), 1);
        insta::assert_snapshot!(check_json(&works, &work("W0003", "S0001", "T0002", "10")).unwrap_err(), @"
        covers[0]: is already part of W0002; omit it here, or submit W0002 again without it
        asked[0].citations[0]: is in a turn that this piece does not cover; cite only covered turns, or add this turn to `covers`
        came[0].citations[0]: is in a turn that this piece does not cover; cite only covered turns, or add this turn to `covers`
        disposition.citations[0]: is in a turn that this piece does not cover; cite only covered turns, or add this turn to `covers`
        ");
        // Submitting the same piece again replaces it.
        assert!(check_json(&works, &work("W0002", "S0001", "T0002", "11")).is_ok());
        let stored = serde_json::to_value(stored_file(project, "basis", "codex", &works)).unwrap();
        assert_eq!(restore_valid(&index, project, "basis", &stored), works);
        assert_eq!(restore_valid(&index, project, "another", &stored), WorkItems::new());
    }

    #[test]
    fn a_piece_cites_only_the_turns_it_covers() {
        let none = WorkItems::new();
        let mut wrong = work("W1", "S0001", "T0001", "1-10");
        wrong["asked"][0]["citations"] = json!([
            {"session_ref": "S0002", "turn_ref": "T0001", "lines": "5"},
            {"project_key": "docs-2", "session_ref": "S0001", "turn_ref": "T0001", "lines": "1"},
            {"project_key": "../x", "session_ref": "S0001", "turn_ref": "T0001", "lines": "1"},
        ]);
        insta::assert_snapshot!(check_json(&none, &wrong).unwrap_err(), @r#"
        work_ref: is not a work reference; write it like "W0001"
        asked[0].citations[0]: is in a turn that this piece does not cover; cite only covered turns, or add this turn to `covers`
        asked[0].citations[1]: belongs to another project; cite only turns of this project
        asked[0].citations[2].project_key: no such project; `list_projects` lists them
        came[0].citations[0].lines: is outside of T0001; T0001 has the lines 1-9
        disposition.citations[0].lines: is outside of T0001; T0001 has the lines 1-9
        "#);
        let mut silent = work("W0001", "S0001", "T0001", "1");
        silent["came"] = json!([]);
        let errors = check_json(&none, &silent).unwrap_err();
        assert!(errors.contains("material work must be described in full"), "{errors}");
        silent["kind"] = json!("minor");
        assert!(check_json(&none, &silent).is_ok());
        let mut bare = work("W0001", "S0001", "T0001", "1");
        bare["asked"] = json!(null);
        bare["disposition"] = json!(null);
        bare["covers"] = json!([]);
        insta::assert_snapshot!(check_json(&none, &bare).unwrap_err(), @"
        covers: covers no turns; name its turns
        came[0].citations[0]: is in a turn that this piece does not cover; cite only covered turns, or add this turn to `covers`
        disposition: is missing; add it
        ");
    }
}
