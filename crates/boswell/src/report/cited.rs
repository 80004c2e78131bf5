//! Citations for a terminal: `claude:5e550000/T12 lines 210-231`, which names the session and its turn like all other
//! output. Files contain the references of the workspace, which are the same on every machine.

use std::collections::HashMap;

use memory::report::{Citation, DayReport, TurnExcerpt};
use memory::store::{Store, StoreError};

use crate::session_ids::short_id;

/// The format of citations.
#[derive(Clone, Copy)]
pub(super) enum CitationStyle<'c> {
    /// `(app, S0001, T0002, lines 21-55)`
    Workspace,
    /// `claude:5e550000/T2 lines 21-55`
    Short(&'c ShortCitations),
}

/// The names of the turns of one day, by their references in the workspace.
#[derive(Debug, Default)]
pub(super) struct ShortCitations {
    turns: HashMap<(String, String, String), String>,
}

impl ShortCitations {
    pub(super) fn new(day: &DayReport, store: Option<&Store>) -> Result<Self, StoreError> {
        let mut turns = HashMap::new();
        for excerpt in &day.excerpts {
            turns.insert(key(&excerpt.citation), turn_name(excerpt, store)?);
        }
        Ok(Self { turns })
    }

    pub(super) fn text(&self, citation: &Citation) -> String {
        match self.turns.get(&key(citation)) {
            Some(turn) => format!("{turn} {}", citation.lines()),
            None => citation.text(),
        }
    }
}

fn key(citation: &Citation) -> (String, String, String) {
    let Citation {
        project_key,
        session_ref,
        turn_ref,
        ..
    } = citation;
    (project_key.clone(), session_ref.clone(), turn_ref.clone())
}

/// Returns the name of a turn, such as `claude:5e550000/T12`. A workspace only counts the turns of its day, so the
/// number is looked up in the memory by the lines of the turn; without a memory it is that of the workspace.
fn turn_name(excerpt: &TurnExcerpt, store: Option<&Store>) -> Result<String, StoreError> {
    let uid = format!("{}:{}", excerpt.agent, excerpt.session_id);
    let counted = excerpt.citation.turn_ref.trim_start_matches(['T', '0']);
    let Some(store) = store else {
        return Ok(format!("{uid}/T{counted}"));
    };
    let turns = store.reads().turns(&uid)?;
    let line = excerpt.citation.first_line;
    let turn = turns
        .iter()
        .find(|turn| (turn.start_line..=turn.end_line).contains(&line));
    let number = turn.map_or_else(|| counted.to_owned(), |turn| turn.turn.to_string());
    let short = short_id(store, &uid)?;
    let short = short.strip_prefix(&format!("{}:", excerpt.agent)).unwrap_or(&short);
    Ok(format!("{}:{short}/T{number}", excerpt.agent))
}
