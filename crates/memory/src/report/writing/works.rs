//! The pieces of work of one project: each turn of the project belongs to exactly one. Checking is pure: the index, the
//! pieces so far and JSON in, a piece or what is wrong with it out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::check::{Node, Wrongs, words};
use super::evidence::{LIST_MAX, TEXT_CHARS_MAX, TURNS_MAX};
use super::index::{CITATIONS_MAX, Cited, Index, ProjectRow};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 100;
/// Pieces that are handed in at once.
pub(super) const WORKS_MAX: usize = 50;

/// Version of what is kept.
const SCHEMA: &str = "boswell.works/1";

words! {
    /// How much a piece of work matters.
    WorkKind {
        /// Told in full.
        Material => "material",
        /// Told in one line.
        Minor => "minor",
        /// The logs do not show what came of it; told in one line.
        Gap => "gap",
    }
}

words! {
    /// How a piece of work came out, by what was asked for in the end.
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
    /// As it begins a sentence.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::InProgress => "In progress",
            Self::Blocked => "Blocked",
            Self::Interrupted => "Interrupted",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
            Self::Unknown => "Not known",
        }
    }
}

/// A sentence, and the places it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedClaim {
    pub text: String,
    pub citations: Vec<Cited>,
}

/// How a piece of work came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disposed {
    pub kind: Disposition,
    pub text: String,
    pub citations: Vec<Cited>,
}

/// A turn of a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TurnName {
    pub session_ref: String,
    pub turn_ref: String,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkItem {
    pub work_ref: String,
    pub kind: WorkKind,
    pub title: String,
    pub covers: Vec<TurnName>,
    pub asked: Vec<CitedClaim>,
    pub done: Vec<CitedClaim>,
    pub came: Vec<CitedClaim>,
    pub open: Vec<CitedClaim>,
    pub decided: Vec<CitedClaim>,
    pub disposition: Option<Disposed>,
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

/// Checks one piece of work against the others.
pub(super) fn check(
    index: &Index,
    project: &ProjectRow,
    others: &WorkItems,
    node: &Node<'_>,
    wrongs: &mut Wrongs,
) -> Option<WorkItem> {
    let before = wrongs.count();
    node.only(&FIELDS, wrongs);
    let work_ref = work_ref(node, wrongs);
    let kind: Option<WorkKind> = node.field("kind", wrongs).and_then(|kind| kind.word(wrongs));
    let title = node
        .field("title", wrongs)
        .and_then(|title| title.text(TITLE_CHARS_MAX, wrongs));
    let own = work_ref.as_deref().unwrap_or_default();
    let covers = covers(project, others, own, node, wrongs);
    let mut claims = |field: &str| claims(index, project, &covers, node, field, wrongs);
    let [asked, done, came, open, decided] = ["asked", "done", "came", "open", "decided"].map(&mut claims);
    let disposition = node
        .optional("disposition")
        .and_then(|node| disposed(index, project, &covers, &node, wrongs));
    if kind == Some(WorkKind::Material) {
        _ = node.field("disposition", wrongs);
        // Where sentences were refused, that was told already.
        if wrongs.count() == before && (asked.is_empty() || (done.is_empty() && came.is_empty())) {
            let hint = "say what was asked, and what was done or came of it; or make it `minor`";
            node.wrong(wrongs, "material work is told in full", hint);
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
    (wrongs.count() == before).then_some(item)
}

/// `W0001`.
fn work_ref(node: &Node<'_>, wrongs: &mut Wrongs) -> Option<String> {
    let field = node.field("work_ref", wrongs)?;
    let told = field.name(wrongs)?;
    let digits = told.strip_prefix('W').unwrap_or_default();
    if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        field.wrong(wrongs, "is no reference of a work", "write it like \"W0001\"");
        return None;
    }
    Some(told.to_owned())
}

/// The turns a piece is made of: at least one, and no other piece has it.
fn covers(project: &ProjectRow, others: &WorkItems, own: &str, node: &Node<'_>, wrongs: &mut Wrongs) -> Vec<TurnName> {
    let Some(field) = node.field("covers", wrongs) else {
        return Vec::new();
    };
    let before = wrongs.count();
    let mut covers: Vec<TurnName> = Vec::new();
    for node in field.list(TURNS_MAX * 10, wrongs) {
        node.only(&["session_ref", "turn_ref"], wrongs);
        let Some(session) = project.session(&node, wrongs) else {
            continue;
        };
        let Some(turn) = session.turn(&node, wrongs) else {
            continue;
        };
        let name = TurnName {
            session_ref: session.session_ref.as_str().to_owned(),
            turn_ref: turn.turn_ref.clone(),
        };
        let taken = others.values().filter(|other| other.work_ref != own);
        if let Some(other) = taken.into_iter().find(|other| other.covers.contains(&name)) {
            let hint = format!("leave it out here, or hand in {} again without it", other.work_ref);
            node.wrong(wrongs, format!("is part of {} already", other.work_ref), hint);
        } else if covers.contains(&name) {
            node.wrong(wrongs, "stands here twice", "name each turn once");
        } else {
            covers.push(name);
        }
    }
    if covers.is_empty() && wrongs.count() == before {
        field.wrong(wrongs, "covers no turn", "name the turns it is made of");
    }
    covers.sort();
    covers
}

fn claims(
    index: &Index,
    project: &ProjectRow,
    covers: &[TurnName],
    node: &Node<'_>,
    field: &str,
    wrongs: &mut Wrongs,
) -> Vec<CitedClaim> {
    let mut claims = Vec::new();
    for node in node.list_of(field, LIST_MAX, wrongs) {
        node.only(&["text", "citations"], wrongs);
        claims.extend(claim(index, Some((project, covers)), &node, wrongs));
    }
    claims
}

fn disposed(
    index: &Index,
    project: &ProjectRow,
    covers: &[TurnName],
    node: &Node<'_>,
    wrongs: &mut Wrongs,
) -> Option<Disposed> {
    node.only(&["kind", "text", "citations"], wrongs);
    let kind = node.field("kind", wrongs).and_then(|kind| kind.word(wrongs));
    let CitedClaim { text, citations } = claim(index, Some((project, covers)), node, wrongs)?;
    Some(Disposed {
        kind: kind?,
        text,
        citations,
    })
}

/// A sentence with its places: those of one piece of work, or of the whole day.
pub(super) fn claim(
    index: &Index,
    of: Option<(&ProjectRow, &[TurnName])>,
    node: &Node<'_>,
    wrongs: &mut Wrongs,
) -> Option<CitedClaim> {
    let text = node
        .field("text", wrongs)
        .and_then(|text| text.text(TEXT_CHARS_MAX, wrongs));
    let field = node.field("citations", wrongs)?;
    let before = wrongs.count();
    let all = field.list(CITATIONS_MAX, wrongs);
    if all.is_empty() && wrongs.count() == before {
        field.wrong(wrongs, "cites nothing", "a statement without a citation is none");
    }
    let mut citations = Vec::new();
    for node in all {
        let Some(cited) = index.cited(&node, of.map(|(project, _)| project), wrongs) else {
            continue;
        };
        let is_own = |name: &TurnName| name.session_ref == cited.session_ref && name.turn_ref == cited.turn_ref;
        if of.is_some_and(|(_, covers)| !covers.iter().any(is_own)) {
            let hint = "cite turns that this piece covers, or cover it";
            node.wrong(wrongs, "is of a turn that this piece does not cover", hint);
            continue;
        }
        citations.push(cited);
    }
    let text = text?;
    (wrongs.count() == before).then_some(CitedClaim { text, citations })
}

/// What is kept of a project.
pub(super) fn kept(project: &ProjectRow, basis: &str, by: &str, works: &WorkItems) -> Value {
    json!({
        "schema": SCHEMA,
        "project_key": project.key.as_str(),
        "basis": basis,
        "written_by": by,
        "works": works.values().collect::<Vec<_>>(),
    })
}

/// What of a kept writing still holds: nothing where the evidence below it is another by now.
pub(super) fn still_holds(index: &Index, project: &ProjectRow, basis: &str, kept: &Value) -> WorkItems {
    let is_same = kept["schema"] == SCHEMA && kept["basis"] == basis;
    let mut works = WorkItems::new();
    for kept in kept["works"].as_array().filter(|_| is_same).into_iter().flatten() {
        let checked = check(index, project, &works, &Node::root(kept), &mut Wrongs::default());
        if let Some(item) = checked {
            works.insert(item.work_ref.clone(), item);
        }
    }
    works
}

/// The turns of a project that no piece covers yet.
pub(super) fn missing(project: &ProjectRow, works: &WorkItems) -> Vec<TurnName> {
    let name = |(session, turn): (&super::index::SessionRow, &super::index::TurnRow)| TurnName {
        session_ref: session.session_ref.as_str().to_owned(),
        turn_ref: turn.turn_ref.clone(),
    };
    let is_covered = |name: &TurnName| works.values().any(|item| item.covers.contains(name));
    project.turns().map(name).filter(|name| !is_covered(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::writing::index::made_up;

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

    fn check_it(others: &WorkItems, told: &Value) -> Result<WorkItem, String> {
        let (index, mut wrongs) = (made_up(), Wrongs::default());
        let project = index.find("app-1").unwrap();
        check(&index, project, others, &Node::root(told), &mut wrongs).ok_or_else(|| {
            let told = wrongs
                .told
                .iter()
                .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint));
            told.collect::<Vec<_>>().join("\n")
        })
    }

    #[test]
    fn every_turn_belongs_to_one_piece() {
        let mut works = WorkItems::new();
        let index = made_up();
        let project = index.find("app-1").unwrap();
        for (work_ref, session, turn, lines) in [("W0001", "S0001", "T0001", "1-9"), ("W0002", "S0001", "T0002", "10")]
        {
            let item = check_it(&works, &work(work_ref, session, turn, lines)).unwrap();
            works.insert(work_ref.to_owned(), item);
        }
        assert_eq!(missing(project, &works).len(), 1);
        insta::assert_snapshot!(check_it(&works, &work("W0003", "S0001", "T0002", "10")).unwrap_err(), @"
        covers[0]: is part of W0002 already; leave it out here, or hand in W0002 again without it
        asked[0].citations[0]: is of a turn that this piece does not cover; cite turns that this piece covers, or cover it
        came[0].citations[0]: is of a turn that this piece does not cover; cite turns that this piece covers, or cover it
        disposition.citations[0]: is of a turn that this piece does not cover; cite turns that this piece covers, or cover it
        ");
        // The same piece once more is the same piece.
        assert!(check_it(&works, &work("W0002", "S0001", "T0002", "11")).is_ok());
        let kept = kept(project, "basis", "codex", &works);
        assert_eq!(still_holds(&index, project, "basis", &kept), works);
        assert_eq!(still_holds(&index, project, "another", &kept), WorkItems::new());
    }

    #[test]
    fn a_piece_cites_only_what_it_covers() {
        let none = WorkItems::new();
        let mut wrong = work("W1", "S0001", "T0001", "1-10");
        wrong["asked"][0]["citations"] = json!([
            {"session_ref": "S0002", "turn_ref": "T0001", "lines": "5"},
            {"project_key": "docs-2", "session_ref": "S0001", "turn_ref": "T0001", "lines": "1"},
            {"project_key": "../x", "session_ref": "S0001", "turn_ref": "T0001", "lines": "1"},
        ]);
        insta::assert_snapshot!(check_it(&none, &wrong).unwrap_err(), @r#"
        work_ref: is no reference of a work; write it like "W0001"
        asked[0].citations[0]: is of a turn that this piece does not cover; cite turns that this piece covers, or cover it
        asked[0].citations[1]: is of another project; cite turns of this project alone
        asked[0].citations[2].project_key: no such project; `list_projects` names them
        came[0].citations[0].lines: lies outside of T0001; T0001 has the lines 1-9
        disposition.citations[0].lines: lies outside of T0001; T0001 has the lines 1-9
        "#);
        let mut silent = work("W0001", "S0001", "T0001", "1");
        silent["came"] = json!([]);
        let told = check_it(&none, &silent).unwrap_err();
        assert!(told.contains("material work is told in full"), "{told}");
        silent["kind"] = json!("minor");
        assert!(check_it(&none, &silent).is_ok());
        let mut bare = work("W0001", "S0001", "T0001", "1");
        bare["asked"] = json!(null);
        bare["disposition"] = json!(null);
        bare["covers"] = json!([]);
        insta::assert_snapshot!(check_it(&none, &bare).unwrap_err(), @"
        covers: covers no turn; name the turns it is made of
        came[0].citations[0]: is of a turn that this piece does not cover; cite turns that this piece covers, or cover it
        disposition: is missing; add it
        ");
    }
}
