//! The agent's own list of what is to be done, as it stood at the end of a turn: written whole, or task by task.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::facts::{List, TurnFacts};
use crate::digest::{End, Ran};

/// Whether a call writes the whole list.
pub(super) fn is_list(ran: &Ran) -> bool {
    matches!(&*ran.tool, "TodoWrite" | "update_plan" | "todo_write")
}

/// The list, out of the call that wrote it.
pub(super) fn list(line: u64, input: &str) -> Option<List> {
    let input: Value = serde_json::from_str(input).ok()?;
    let items = input["todos"].as_array().or(input["plan"].as_array())?;
    let text = |item: &Value| {
        let told = item["content"].as_str().or(item["step"].as_str())?;
        Some(told.to_owned())
    };
    let is_left = |item: &&Value| matches!(item["status"].as_str(), Some("pending" | "in_progress"));
    Some(List {
        line,
        all: items.len(),
        left: items.iter().filter(is_left).filter_map(text).collect(),
    })
}

/// The first question of a call that asks some.
pub(super) fn question(input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    input["questions"][0]["question"].as_str().map(str::to_owned)
}

/// Lists that are kept task by task, over the turns of a session. A task that was made on another day has no words here: then
/// nothing is said of the list.
pub(super) fn follow_tasks(turns: &mut [TurnFacts]) {
    let mut tasks: BTreeMap<u64, (String, bool)> = BTreeMap::new();
    let mut is_whole = true;
    for turn in turns {
        let mut last = None;
        for ran in turn.ran().filter(|ran| ran.end == End::Answered) {
            match &*ran.tool {
                "TaskCreate" => match created(&ran.result) {
                    Some((number, subject)) => _ = tasks.insert(number, (subject, false)),
                    None => is_whole = false,
                },
                "TaskUpdate" => match updated(&ran.wording) {
                    Some((number, Some(status))) => match tasks.get_mut(&number) {
                        Some(task) => task.1 = matches!(status, "completed" | "deleted"),
                        None => is_whole = false,
                    },
                    Some((_, None)) => {}
                    None => is_whole = false,
                },
                _ => continue,
            }
            last = Some(ran.line);
        }
        if let Some(line) = last.filter(|_| is_whole) {
            let left = tasks.values().filter(|(_, is_done)| !is_done);
            turn.list = Some(List {
                line,
                all: tasks.len(),
                left: left.map(|(subject, _)| subject.clone()).collect(),
            });
        }
    }
}

/// The number and the subject of a new task.
fn created(result: &str) -> Option<(u64, String)> {
    static NEW: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^Task #(\d+) created successfully: (.+)").expect("the expression is a good one"));
    let found = NEW.captures(result)?;
    Some((found[1].parse().ok()?, found[2].to_owned()))
}

/// The number of a task that is changed, and its new state where that is what changes.
fn updated(wording: &str) -> Option<(u64, Option<&str>)> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\btaskId: (\d+)").expect("the expression is a good one"));
    static STATUS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bstatus: (\w+)").expect("the expression is a good one"));
    let number = NUMBER.captures(wording)?[1].parse().ok()?;
    let status = STATUS.captures(wording).and_then(|found| found.get(1));
    Some((number, status.map(|status| status.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_out_of_calls() {
        let written = list(
            7,
            r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}"#,
        );
        let written = written.unwrap();
        assert_eq!((written.all, written.left), (2, vec!["b".to_owned()]));
        let plan = list(7, r#"{"plan":[{"step":"a","status":"in_progress"}]}"#).unwrap();
        assert_eq!(plan.left, ["a"]);
        assert!(list(7, "{}").is_none());
        assert_eq!(
            created("Task #6 created successfully: mend it"),
            Some((6, "mend it".to_owned()))
        );
        assert_eq!(updated("status: completed, taskId: 6"), Some((6, Some("completed"))));
        assert_eq!(updated("activeForm: x, taskId: 6"), Some((6, None)));
    }
}
