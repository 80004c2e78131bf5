//! The evidence of one session: what each turn asked, did and resulted in, with the lines that support it. Validation
//! is pure: it takes an index row and JSON, and returns evidence or errors.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::check::{InputErrors, JsonNode, word_enum};
use super::index::{CITATIONS_MAX, LineRange, ProjectRow, SessionRow, TurnRow};

/// Maximum length of one sentence.
pub(super) const TEXT_CHARS_MAX: usize = 600;
/// Maximum number of sentences in a list.
pub(super) const LIST_MAX: usize = 12;
/// Maximum number of turns in one call.
pub(super) const TURNS_MAX: usize = 100;

/// Version of the stored JSON.
const SCHEMA: &str = "boswell.evidence/1";

word_enum! {
    /// The kind of a result.
    ResultKind {
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

word_enum! {
    /// How something was checked.
    CheckKind {
        CommandOutput => "command_output",
        TestOutput => "test_output",
        ArtifactInspection => "artifact_inspection",
        UserFeedback => "user_feedback",
        Other => "other",
    }
}

word_enum! {
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

word_enum! {
    /// How important a turn is.
    Materiality {
        Material => "material",
        Minor => "minor",
        None => "none",
    }
}

/// A sentence with the supporting lines of its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceClaim {
    pub text: String,
    pub lines: Vec<LineRange>,
}

/// A sentence with a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindClaim<K> {
    pub kind: K,
    pub text: String,
    pub lines: Vec<LineRange>,
}

/// The evidence of one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnEvidence {
    pub turn_ref: String,
    pub asked: EvidenceClaim,
    pub reactions: Vec<EvidenceClaim>,
    pub outcomes: Vec<KindClaim<ResultKind>>,
    pub checks: Vec<KindClaim<CheckKind>>,
    pub end: KindClaim<EndState>,
    pub materiality: Materiality,
}

/// The evidence of one session so far, by turn reference.
pub type Evidence = BTreeMap<String, TurnEvidence>;

/// Validates the evidence of one turn.
pub(super) fn check(session: &SessionRow, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<TurnEvidence> {
    let before = errors.count();
    node.check_fields(
        &[
            "turn_ref",
            "asked",
            "reactions",
            "outcomes",
            "checks",
            "end",
            "materiality",
        ],
        errors,
    );
    let turn = session.turn(node, errors)?;
    let asked = node.field("asked", errors).and_then(|asked| {
        asked.check_fields(&["text", "lines"], errors);
        let claim = check_claim(turn, &asked, errors)?;
        let first = turn.first_line;
        if !claim.lines.iter().any(|lines| lines.first == first) {
            let hint = format!("the prompt is on line {first}: cite it");
            asked.add_error(errors, "does not cite the prompt", hint);
        }
        Some(claim)
    });
    let mut reactions = Vec::new();
    for node in node.list_of("reactions", LIST_MAX, errors) {
        node.check_fields(&["text", "lines"], errors);
        reactions.extend(check_claim(turn, &node, errors));
    }
    let mut outcomes = Vec::new();
    for node in node.list_of("outcomes", LIST_MAX, errors) {
        let outcome: Option<KindClaim<ResultKind>> = check_kind_claim(turn, &node, errors);
        let is_only_prompt = |lines: &LineRange| lines.last <= turn.first_line && turn.last_line > turn.first_line;
        if outcome.as_ref().is_some_and(|own| own.lines.iter().all(is_only_prompt)) {
            let hint = "cite the lines on which it happened";
            node.add_error(errors, "cites only the prompt", hint);
        }
        outcomes.extend(outcome);
    }
    let mut checks = Vec::new();
    for node in node.list_of("checks", LIST_MAX, errors) {
        checks.extend(check_kind_claim(turn, &node, errors));
    }
    let end: Option<KindClaim<EndState>> = node
        .field("end", errors)
        .and_then(|end| check_kind_claim(turn, &end, errors));
    if end.as_ref().is_some_and(|end| end.kind == EndState::MaterialResult) && outcomes.is_empty() {
        let hint = "add it to `outcomes`, or choose another end";
        node.add_error(errors, "a material result needs an outcome", hint);
    }
    let materiality = node.field("materiality", errors).and_then(|node| node.word(errors));
    let evidence = TurnEvidence {
        turn_ref: turn.turn_ref.clone(),
        asked: asked?,
        reactions,
        outcomes,
        checks,
        end: end?,
        materiality: materiality?,
    };
    (errors.count() == before).then_some(evidence)
}

fn check_claim(turn: &TurnRow, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<EvidenceClaim> {
    let text = node
        .field("text", errors)
        .and_then(|text| text.text(TEXT_CHARS_MAX, errors));
    let lines = check_lines(turn, node, errors);
    Some(EvidenceClaim {
        text: text?,
        lines: lines?,
    })
}

fn check_kind_claim<K: super::check::WordEnum>(
    turn: &TurnRow,
    node: &JsonNode<'_>,
    errors: &mut InputErrors,
) -> Option<KindClaim<K>> {
    node.check_fields(&["kind", "text", "lines"], errors);
    let kind = node.field("kind", errors).and_then(|kind| kind.word(errors));
    let EvidenceClaim { text, lines } = check_claim(turn, node, errors)?;
    Some(KindClaim {
        kind: kind?,
        text,
        lines,
    })
}

/// Returns the lines of a claim, of which there must be at least one.
fn check_lines(turn: &TurnRow, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<Vec<LineRange>> {
    let field = node.field("lines", errors)?;
    let before = errors.count();
    let all = field.list(CITATIONS_MAX, errors);
    if all.is_empty() && errors.count() == before {
        field.add_error(
            errors,
            "cites nothing",
            "name the supporting lines, such as [\"21-55\"]",
        );
    }
    let lines: Vec<LineRange> = all.iter().filter_map(|node| turn.lines(node, errors)).collect();
    (errors.count() == before).then_some(lines)
}

/// The file of a session's evidence.
#[derive(Serialize)]
pub(super) struct EvidenceFile<'a> {
    schema: &'static str,
    project_key: &'a str,
    session_ref: &'a str,
    agent: &'a str,
    session_id: &'a str,
    written_by: &'a str,
    turns: Vec<StoredTurn<'a>>,
}

/// The evidence of a turn, and the first and the last line that the turn had when it was written.
#[derive(Serialize)]
struct StoredTurn<'a> {
    of: [u64; 2],
    evidence: &'a TurnEvidence,
}

/// Returns the file to store: the turns in order, with the lines that each turn had when its evidence was written.
pub(super) fn stored_file<'a>(
    project: &'a ProjectRow,
    session: &'a SessionRow,
    by: &'a str,
    evidence: &'a Evidence,
) -> EvidenceFile<'a> {
    let turn = |turn: &TurnRow| {
        let evidence = evidence.get(&turn.turn_ref)?;
        let of = [turn.first_line, turn.last_line];
        Some(StoredTurn { of, evidence })
    };
    EvidenceFile {
        schema: SCHEMA,
        project_key: project.key.as_str(),
        session_ref: session.session_ref.as_str(),
        agent: session.agent.as_str(),
        session_id: session.id.as_str(),
        written_by: by,
        turns: session.turns.iter().filter_map(turn).collect(),
    }
}

/// Returns the stored evidence that is still valid: turns whose lines have not changed and which pass validation again.
pub(super) fn restore_valid(session: &SessionRow, stored: &Value) -> Evidence {
    let is_same = stored["schema"] == SCHEMA
        && stored["agent"] == session.agent.as_str()
        && stored["session_id"] == session.id.as_str();
    let turns = stored["turns"].as_array().filter(|_| is_same);
    let mut evidence = Evidence::new();
    for stored in turns.into_iter().flatten() {
        let checked = check(
            session,
            &JsonNode::root(&stored["evidence"]),
            &mut InputErrors::default(),
        );
        let Some(own) = checked else { continue };
        let of = session.find(&own.turn_ref);
        if of.is_some_and(|turn| stored["of"] == Value::from([turn.first_line, turn.last_line])) {
            evidence.insert(own.turn_ref.clone(), own);
        }
    }
    evidence
}

/// Returns the turns without evidence.
pub(super) fn missing_turns(session: &SessionRow, evidence: &Evidence) -> Vec<String> {
    let turns = session.turns.iter().map(|turn| &turn.turn_ref);
    turns.filter(|turn| !evidence.contains_key(*turn)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::writing::index::sample_index;

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

    fn check_json(turn: &Value) -> (Option<TurnEvidence>, String) {
        let (index, mut errors) = (sample_index(), InputErrors::default());
        let session = index.find("app-1").unwrap().find("S0001").unwrap();
        let own = check(session, &JsonNode::root(turn), &mut errors);
        let printed = errors
            .listed
            .iter()
            .map(|wrong| format!("{}: {}; {}", wrong.path, wrong.message, wrong.hint));
        (own, printed.collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn valid_evidence_is_accepted_until_its_turn_changes() {
        let (own, wrong) = check_json(&good());
        assert_eq!(wrong, "");
        let index = sample_index();
        let project = index.find("app-1").unwrap();
        let session = project.find("S0001").unwrap();
        let evidence = Evidence::from([("T0002".to_owned(), own.unwrap())]);
        let mut stored = serde_json::to_value(stored_file(project, session, "codex", &evidence)).unwrap();
        assert_eq!(restore_valid(session, &stored), evidence);
        assert_eq!(missing_turns(session, &evidence), ["T0001"]);
        assert_eq!(restore_valid(project.find("S0002").unwrap(), &stored), Evidence::new());
        stored["turns"][0]["of"] = json!([10, 19]);
        assert_eq!(restore_valid(session, &stored), Evidence::new());
    }

    #[test]
    fn every_invalid_value_is_rejected_with_its_path() {
        let mut wrong = good();
        wrong["asked"]["lines"] = json!(["11"]);
        wrong["reactions"][0]["lines"] = json!(["9-12", "x", "14-13", 7]);
        wrong["outcomes"][0] = json!({"kind": "magic", "text": "", "lines": []});
        wrong["checks"] = json!("none");
        wrong["end"]["lines"] = json!(["20-21"]);
        wrong["materiality"] = json!("huge");
        wrong["note"] = json!(1);
        let (own, printed) = check_json(&wrong);
        assert_eq!(own, None);
        insta::assert_snapshot!(printed, @r#"
        note: unknown field; the fields are turn_ref, asked, reactions, outcomes, checks, end, materiality
        asked: does not cite the prompt; the prompt is on line 10: cite it
        reactions[0].lines[0]: is outside of T0002; T0002 has the lines 10-20
        reactions[0].lines[1]: is not a range of lines; write it like "21-55" or "21"
        reactions[0].lines[2]: is not a range of lines; write it like "21-55" or "21"
        reactions[0].lines[3]: must be text; write it in quotes
        outcomes[0].kind: is not an allowed value; use one of code, document, decision, validation, process, research, blocker, other
        outcomes[0].text: is empty; write one sentence
        outcomes[0].lines: cites nothing; name the supporting lines, such as ["21-55"]
        checks: must be a list; write it in `[ ]`
        end.lines[0]: is outside of T0002; T0002 has the lines 10-20
        materiality: is not an allowed value; use one of material, minor, none
        "#);
        let mut other = good();
        other["turn_ref"] = json!("T0003");
        insta::assert_snapshot!(check_json(&other).1, @"turn_ref: no such turn in this session; there are T0001 to T0002");
        let mut empty = good();
        empty["outcomes"] = json!([]);
        insta::assert_snapshot!(check_json(&empty).1, @": a material result needs an outcome; add it to `outcomes`, or choose another end");
        let mut asked_alone = good();
        asked_alone["outcomes"][0]["lines"] = json!(["10"]);
        insta::assert_snapshot!(check_json(&asked_alone).1, @"outcomes[0]: cites only the prompt; cite the lines on which it happened");
    }

    proptest::proptest! {
        #[test]
        fn citations_outside_of_the_turn_are_rejected(first in 0_u64..40, last in 0_u64..40) {
            let mut turn = good();
            turn["end"]["lines"] = json!([format!("{first}-{last}")]);
            let is_inside = first <= last && first >= 10 && last <= 20;
            proptest::prop_assert_eq!(check_json(&turn).0.is_some(), is_inside);
        }
    }
}
