//! The agent's own task list at the end of a turn. Some agents write it as a whole, others update it task by task.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::facts::{TaskList, TurnFacts};
use crate::steps::{CallStatus, CallStep};

/// Returns `true` if a call writes the whole list.
pub(super) fn writes_list(ran: &CallStep) -> bool {
    matches!(&*ran.tool, "TodoWrite" | "update_plan" | "todo_write")
}

/// Parses the list from the input of the call that wrote it.
pub(super) fn parse_list(line: u64, input: &str) -> Option<TaskList> {
    let input: Value = serde_json::from_str(input).ok()?;
    let items = input["todos"].as_array().or(input["plan"].as_array())?;
    let text = |item: &Value| {
        let content = item["content"].as_str().or(item["step"].as_str())?;
        Some(content.to_owned())
    };
    let is_open = |item: &&Value| matches!(item["status"].as_str(), Some("pending" | "in_progress"));
    Some(TaskList {
        line,
        all: items.len(),
        left: items.iter().filter(is_open).filter_map(text).collect(),
    })
}

/// Returns the first question of a call that asks the user.
pub(super) fn first_question(input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    input["questions"][0]["question"].as_str().map(str::to_owned)
}

/// Reconstructs lists that are updated task by task, over the turns of a session. If a task was created on another day,
/// its subject is unknown and no list is reported.
pub(super) fn follow_tasks(turns: &mut [TurnFacts]) {
    let mut tasks: BTreeMap<u64, (String, bool)> = BTreeMap::new();
    let mut is_whole = true;
    for turn in turns {
        let mut last = None;
        for ran in turn.tool_calls().filter(|ran| ran.end == CallStatus::Answered) {
            match &*ran.tool {
                "TaskCreate" => match parse_created(&ran.result) {
                    Some((number, subject)) => _ = tasks.insert(number, (subject, false)),
                    None => is_whole = false,
                },
                "TaskUpdate" => match parse_updated(&ran.wording) {
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
            turn.list = Some(TaskList {
                line,
                all: tasks.len(),
                left: left.map(|(subject, _)| subject.clone()).collect(),
            });
        }
    }
}

/// Parses the number and the subject of a new task.
fn parse_created(result: &str) -> Option<(u64, String)> {
    static NEW: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^Task #(\d+) created successfully: (.+)").expect("the expression is valid"));
    let found = NEW.captures(result)?;
    Some((found[1].parse().ok()?, found[2].to_owned()))
}

/// Parses the number of a changed task, and its new status if the status changed.
fn parse_updated(wording: &str) -> Option<(u64, Option<&str>)> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\btaskId: (\d+)").expect("the expression is valid"));
    static STATUS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bstatus: (\w+)").expect("the expression is valid"));
    let number = NUMBER.captures(wording)?[1].parse().ok()?;
    let status = STATUS.captures(wording).and_then(|found| found.get(1));
    Some((number, status.map(|status| status.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_from_calls() {
        let written = parse_list(
            7,
            r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}"#,
        );
        let written = written.unwrap();
        assert_eq!((written.all, written.left), (2, vec!["b".to_owned()]));
        let plan = parse_list(7, r#"{"plan":[{"step":"a","status":"in_progress"}]}"#).unwrap();
        assert_eq!(plan.left, ["a"]);
        assert!(parse_list(7, "{}").is_none());
        assert_eq!(
            parse_created("Task #6 created successfully: fix it"),
            Some((6, "fix it".to_owned()))
        );
        assert_eq!(
            parse_updated("status: completed, taskId: 6"),
            Some((6, Some("completed")))
        );
        assert_eq!(parse_updated("activeForm: x, taskId: 6"), Some((6, None)));
    }
}
