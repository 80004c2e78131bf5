//! The evidence of one session: what each of its turns asked, what was done and what came of it, every word with its
//! lines. Checking is pure: an index row and JSON in, evidence or what is wrong with it out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::check::{Node, Wrongs, words};
use super::index::{CITATIONS_MAX, Lines, ProjectRow, SessionRow, TurnRow};

/// Characters of one sentence.
pub(super) const TEXT_CHARS_MAX: usize = 600;
/// Sentences of one list.
pub(super) const LIST_MAX: usize = 12;
/// Turns that are handed in at once.
pub(super) const TURNS_MAX: usize = 100;

/// Version of what is kept.
const SCHEMA: &str = "boswell.evidence/1";

words! {
    /// What came of something.
    Category {
        Code => "code",
        Document => "document",
        Decision => "decision",
        Validation => "validation",
        Process => "process",
        Research => "research",
        Blocker => "blocker",
        Other => "other",
    }
}

words! {
    /// How something was checked.
    CheckKind {
        CommandOutput => "command_output",
        TestOutput => "test_output",
        ArtifactInspection => "artifact_inspection",
        UserFeedback => "user_feedback",
        Other => "other",
    }
}

words! {
    /// How a turn ended.
    EndState {
        MaterialResult => "material_result",
        NoMaterial => "no_material",
        Blocked => "blocked",
        Interrupted => "interrupted",
        Failed => "failed",
        ClarificationOnly => "clarification_only",
        EvidenceGap => "evidence_gap",
        Other => "other",
    }
}

words! {
    /// How much a turn matters.
    Materiality {
        Material => "material",
        Minor => "minor",
        None => "none",
    }
}

/// A sentence, and the lines of its turn it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub text: String,
    pub lines: Vec<Lines>,
}

/// A sentence of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindClaim<K> {
    pub kind: K,
    pub text: String,
    pub lines: Vec<Lines>,
}

/// What is told of one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnEvidence {
    pub turn_ref: String,
    pub asked: Claim,
    pub reactions: Vec<Claim>,
    pub outcomes: Vec<KindClaim<Category>>,
    pub checks: Vec<KindClaim<CheckKind>>,
    pub end: KindClaim<EndState>,
    pub materiality: Materiality,
}

/// The evidence of one session so far, by turn.
pub type Evidence = BTreeMap<String, TurnEvidence>;

/// Checks the evidence of one turn.
pub(super) fn check(session: &SessionRow, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<TurnEvidence> {
    let before = wrongs.count();
    node.only(
        &[
            "turn_ref",
            "asked",
            "reactions",
            "outcomes",
            "checks",
            "end",
            "materiality",
        ],
        wrongs,
    );
    let turn = session.turn(node, wrongs)?;
    let asked = node.field("asked", wrongs).and_then(|asked| {
        asked.only(&["text", "lines"], wrongs);
        let claim = claim(turn, &asked, wrongs)?;
        let first = turn.first_line;
        if !claim.lines.iter().any(|lines| lines.first == first) {
            let hint = format!("the human's words stand on line {first}: cite it");
            asked.wrong(wrongs, "does not cite what was asked", hint);
        }
        Some(claim)
    });
    let mut reactions = Vec::new();
    for node in node.list_of("reactions", LIST_MAX, wrongs) {
        node.only(&["text", "lines"], wrongs);
        reactions.extend(claim(turn, &node, wrongs));
    }
    let mut outcomes = Vec::new();
    for node in node.list_of("outcomes", LIST_MAX, wrongs) {
        let outcome: Option<KindClaim<Category>> = kind_claim(turn, &node, wrongs);
        let is_only_asked = |lines: &Lines| lines.last <= turn.first_line && turn.last_line > turn.first_line;
        if outcome.as_ref().is_some_and(|own| own.lines.iter().all(is_only_asked)) {
            let hint = "cite the lines on which it happened";
            node.wrong(wrongs, "stands on the question alone", hint);
        }
        outcomes.extend(outcome);
    }
    let mut checks = Vec::new();
    for node in node.list_of("checks", LIST_MAX, wrongs) {
        checks.extend(kind_claim(turn, &node, wrongs));
    }
    let end: Option<KindClaim<EndState>> = node.field("end", wrongs).and_then(|end| kind_claim(turn, &end, wrongs));
    if end.as_ref().is_some_and(|end| end.kind == EndState::MaterialResult) && outcomes.is_empty() {
        let hint = "add it to `outcomes`, or name another end";
        node.wrong(wrongs, "a material result needs an outcome", hint);
    }
    let materiality = node.field("materiality", wrongs).and_then(|node| node.word(wrongs));
    let evidence = TurnEvidence {
        turn_ref: turn.turn_ref.clone(),
        asked: asked?,
        reactions,
        outcomes,
        checks,
        end: end?,
        materiality: materiality?,
    };
    (wrongs.count() == before).then_some(evidence)
}

fn claim(turn: &TurnRow, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<Claim> {
    let text = node
        .field("text", wrongs)
        .and_then(|text| text.text(TEXT_CHARS_MAX, wrongs));
    let lines = lines(turn, node, wrongs);
    Some(Claim {
        text: text?,
        lines: lines?,
    })
}

fn kind_claim<K: super::check::Word>(turn: &TurnRow, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<KindClaim<K>> {
    node.only(&["kind", "text", "lines"], wrongs);
    let kind = node.field("kind", wrongs).and_then(|kind| kind.word(wrongs));
    let Claim { text, lines } = claim(turn, node, wrongs)?;
    Some(KindClaim {
        kind: kind?,
        text,
        lines,
    })
}

/// The lines of a claim, at least one.
fn lines(turn: &TurnRow, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<Vec<Lines>> {
    let field = node.field("lines", wrongs)?;
    let before = wrongs.count();
    let all = field.list(CITATIONS_MAX, wrongs);
    if all.is_empty() && wrongs.count() == before {
        field.wrong(
            wrongs,
            "cites nothing",
            "name the lines it stands on, such as [\"21-55\"]",
        );
    }
    let lines: Vec<Lines> = all.iter().filter_map(|node| turn.lines(node, wrongs)).collect();
    (wrongs.count() == before).then_some(lines)
}

/// What is kept of a session: its turns in order, and what each of them was when it was written about.
pub(super) fn kept(project: &ProjectRow, session: &SessionRow, by: &str, evidence: &Evidence) -> Value {
    let turns: Vec<Value> = session
        .turns
        .iter()
        .filter_map(|turn| {
            let own = evidence.get(&turn.turn_ref)?;
            Some(json!({ "of": [turn.first_line, turn.last_line], "evidence": own }))
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "project_key": project.key.as_str(),
        "session_ref": session.session_ref.as_str(),
        "agent": session.agent.as_str(),
        "session_id": session.id,
        "written_by": by,
        "turns": turns,
    })
}

/// What of a kept writing still holds: the turns that are what they were, checked once more.
pub(super) fn still_holds(session: &SessionRow, kept: &Value) -> Evidence {
    let is_same = kept["schema"] == SCHEMA
        && kept["agent"] == session.agent.as_str()
        && kept["session_id"] == session.id.as_str();
    let turns = kept["turns"].as_array().filter(|_| is_same);
    let mut evidence = Evidence::new();
    for kept in turns.into_iter().flatten() {
        let checked = check(session, &Node::root(&kept["evidence"]), &mut Wrongs::default());
        let Some(own) = checked else { continue };
        let of = session.find(&own.turn_ref);
        if of.is_some_and(|turn| kept["of"] == json!([turn.first_line, turn.last_line])) {
            evidence.insert(own.turn_ref.clone(), own);
        }
    }
    evidence
}

/// The turns that nothing is told of yet.
pub(super) fn missing(session: &SessionRow, evidence: &Evidence) -> Vec<String> {
    let turns = session.turns.iter().map(|turn| &turn.turn_ref);
    turns.filter(|turn| !evidence.contains_key(*turn)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::writing::index::made_up;

    fn good() -> Value {
        json!({
            "turn_ref": "T0002",
            "asked": {"text": "Asked for more", "lines": ["10"]},
            "reactions": [{"text": "Looked around", "lines": ["11-12", "14"]}],
            "outcomes": [{"kind": "code", "text": "It works", "lines": ["19"]}],
            "checks": [{"kind": "test_output", "text": "Tests pass", "lines": ["18-18"]}],
            "end": {"kind": "material_result", "text": "Done", "lines": ["20"]},
            "materiality": "material",
        })
    }

    fn check_it(turn: &Value) -> (Option<TurnEvidence>, String) {
        let (index, mut wrongs) = (made_up(), Wrongs::default());
        let session = index.find("app-1").unwrap().find("S0001").unwrap();
        let own = check(session, &Node::root(turn), &mut wrongs);
        let told = wrongs
            .told
            .iter()
            .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint));
        (own, told.collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn good_evidence_is_taken_and_holds_until_its_turn_changes() {
        let (own, wrong) = check_it(&good());
        assert_eq!(wrong, "");
        let index = made_up();
        let project = index.find("app-1").unwrap();
        let session = project.find("S0001").unwrap();
        let evidence = Evidence::from([("T0002".to_owned(), own.unwrap())]);
        let mut kept = kept(project, session, "codex", &evidence);
        assert_eq!(still_holds(session, &kept), evidence);
        assert_eq!(missing(session, &evidence), ["T0001"]);
        assert_eq!(still_holds(project.find("S0002").unwrap(), &kept), Evidence::new());
        kept["turns"][0]["of"] = json!([10, 19]);
        assert_eq!(still_holds(session, &kept), Evidence::new());
    }

    #[test]
    fn every_lie_is_refused_with_its_path() {
        let mut wrong = good();
        wrong["asked"]["lines"] = json!(["11"]);
        wrong["reactions"][0]["lines"] = json!(["9-12", "x", "14-13", 7]);
        wrong["outcomes"][0] = json!({"kind": "magic", "text": "", "lines": []});
        wrong["checks"] = json!("none");
        wrong["end"]["lines"] = json!(["20-21"]);
        wrong["materiality"] = json!("huge");
        wrong["note"] = json!(1);
        let (own, told) = check_it(&wrong);
        assert_eq!(own, None);
        insta::assert_snapshot!(told, @r#"
        note: no such field; the fields here are turn_ref, asked, reactions, outcomes, checks, end, materiality
        asked: does not cite what was asked; the human's words stand on line 10: cite it
        reactions[0].lines[0]: lies outside of T0002; T0002 has the lines 10-20
        reactions[0].lines[1]: is no range of lines; write it like "21-55" or "21"
        reactions[0].lines[2]: is no range of lines; write it like "21-55" or "21"
        reactions[0].lines[3]: must be text; write it in quotes
        outcomes[0].kind: is none of the known words; one of code, document, decision, validation, process, research, blocker, other
        outcomes[0].text: is empty; write one sentence
        outcomes[0].lines: cites nothing; name the lines it stands on, such as ["21-55"]
        checks: must be a list; write it in [ ]
        end.lines[0]: lies outside of T0002; T0002 has the lines 10-20
        materiality: is none of the known words; one of material, minor, none
        "#);
        let mut other = good();
        other["turn_ref"] = json!("T0003");
        insta::assert_snapshot!(check_it(&other).1, @"turn_ref: no such turn in this session; there are T0001 to T0002");
        let mut empty = good();
        empty["outcomes"] = json!([]);
        insta::assert_snapshot!(check_it(&empty).1, @": a material result needs an outcome; add it to `outcomes`, or name another end");
        let mut asked_alone = good();
        asked_alone["outcomes"][0]["lines"] = json!(["10"]);
        insta::assert_snapshot!(check_it(&asked_alone).1, @"outcomes[0]: stands on the question alone; cite the lines on which it happened");
    }

    proptest::proptest! {
        #[test]
        fn no_json_is_taken_that_cites_outside_of_its_turn(first in 0_u64..40, last in 0_u64..40) {
            let mut turn = good();
            turn["end"]["lines"] = json!([format!("{first}-{last}")]);
            let is_inside = first <= last && first >= 10 && last <= 20;
            proptest::prop_assert_eq!(check_it(&turn).0.is_some(), is_inside);
        }
    }
}
