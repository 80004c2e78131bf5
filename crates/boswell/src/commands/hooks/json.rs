//! Settings in JSON, edited as a concrete syntax tree, so that the user's comments, order and formatting stay.
//!
//! This module only edits text. Adding hooks to settings of an unknown shape returns an error, so that they stay
//! unchanged.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};

use super::wish::{TIMEOUT_S, Wish, is_our_statusline, ours};
use transcript::Agent;

const HOOKS: &str = "hooks";
const STATUSLINE: &str = "statusLine";
const BOM: char = '\u{feff}';

/// Returns the settings with our hook added at the end of each event.
pub(super) fn add(text: &str, wish: &Wish) -> Result<String, String> {
    edit(text, |object| {
        let hooks = object.object_value_or_create(HOOKS);
        let hooks = hooks.ok_or("`hooks` is no object")?;
        for event in wish.events() {
            let groups = hooks.array_value_or_create(event);
            groups.ok_or(format!("`hooks.{event}` is no list"))?.append(group(wish));
        }
        if let Some(command) = wish.statusline.as_ref().filter(|_| object.get(STATUSLINE).is_none()) {
            object.append(STATUSLINE, command_value(command, None));
        }
        Ok(())
    })
}

/// Returns the settings without our entries. Lists and objects that are empty afterwards are removed, too.
pub(super) fn remove(text: &str, agent: Agent) -> Result<String, String> {
    edit(text, |object| {
        if statusline_of(object).is_some_and(|command| is_our_statusline(&command))
            && let Some(line) = object.get(STATUSLINE)
        {
            line.remove();
        }
        let Some(hooks) = object.object_value(HOOKS) else {
            return Ok(());
        };
        let mut has_gone = false;
        for event in hooks.properties() {
            if let Some(groups) = event.array_value() {
                let went = remove_from(&groups, agent);
                has_gone |= went;
                if went && groups.elements().is_empty() {
                    event.remove();
                }
            }
        }
        if has_gone
            && hooks.properties().is_empty()
            && let Some(hooks) = object.get(HOOKS)
        {
            hooks.remove();
        }
        Ok(())
    })
}

/// Removes our commands from the groups of one event. Returns `true` if there were any.
fn remove_from(groups: &CstArray, agent: Agent) -> bool {
    let mut has_gone = false;
    for group in groups.elements() {
        let Some(object) = group.as_object() else { continue };
        let Some(commands) = object.array_value(HOOKS) else {
            continue;
        };
        let mine = |node: &CstNode| command_of(node).is_some_and(|command| ours(&command, agent).is_some());
        let (own, others): (Vec<CstNode>, Vec<CstNode>) = commands.elements().into_iter().partition(mine);
        if own.is_empty() {
            continue;
        }
        has_gone = true;
        if others.is_empty() {
            group.remove();
        } else {
            own.into_iter().for_each(CstNode::remove);
        }
    }
    has_gone
}

/// Returns our hooks as pairs of event and command.
pub(super) fn find(text: &str, agent: Agent) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(root) = parse(text) else { return found };
    let hooks = root.object_value().and_then(|object| object.object_value(HOOKS));
    for event in hooks.iter().flat_map(CstObject::properties) {
        let name = event.decoded_name().unwrap_or_default();
        let groups = event.array_value().map(|groups| groups.elements()).unwrap_or_default();
        let groups = groups.iter().filter_map(CstNode::as_object);
        let commands = groups.filter_map(|group| group.array_value(HOOKS));
        for command in commands
            .flat_map(|commands| commands.elements())
            .filter_map(|node| command_of(&node))
        {
            if ours(&command, agent).is_some() {
                found.push((name.clone(), command));
            }
        }
    }
    found
}

/// Returns the command of the status line, if one is set.
pub(super) fn statusline(text: &str) -> Option<String> {
    let root = parse(text).ok()?;
    let object = root.object_value()?;
    object.get(STATUSLINE)?;
    Some(statusline_of(&object).unwrap_or_default())
}

fn statusline_of(object: &CstObject) -> Option<String> {
    object.get(STATUSLINE)?.value().and_then(|node| command_of(&node))
}

fn command_of(node: &CstNode) -> Option<String> {
    let command = node.as_object()?.get("command")?.value()?;
    command.as_string_lit()?.decoded_value().ok()
}

fn edit(text: &str, change: impl FnOnce(&CstObject) -> Result<(), String>) -> Result<String, String> {
    let bare = text.strip_prefix(BOM).unwrap_or(text);
    let mark = &text[..text.len() - bare.len()];
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("the settings are no object")?;
    change(&object)?;
    Ok(format!("{mark}{root}"))
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let bare = text.strip_prefix(BOM).unwrap_or(text);
    CstRootNode::parse(bare, &ParseOptions::default()).map_err(|error| error.to_string())
}

fn group(wish: &Wish) -> CstInputValue {
    let command = command_value(&wish.command, Some(TIMEOUT_S));
    CstInputValue::Object(vec![(HOOKS.to_owned(), CstInputValue::Array(vec![command]))])
}

fn command_value(command: &str, timeout_s: Option<u64>) -> CstInputValue {
    let mut fields = vec![
        ("type".to_owned(), CstInputValue::from("command")),
        ("command".to_owned(), CstInputValue::from(command)),
    ];
    fields.extend(timeout_s.map(|seconds| ("timeout".to_owned(), CstInputValue::from(seconds))));
    CstInputValue::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn wish() -> Wish {
        Wish::new(Agent::Claude, Path::new("/bin/boswell"), Path::new("/m"))
    }

    const BY_HAND: &str = "{\n\t// mine\n\t\"model\" : \"opus\",\n\n\t\"hooks\": { \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"beep\" } ] } ],\n\t\t/* odd */ \"PreToolUse\": [] },\n\t\"env\": {\"A\":\"b\",},\n}\n";

    #[test]
    fn what_a_user_wrote_stays_and_what_is_ours_goes_again() {
        let added = add(BY_HAND, &wish()).unwrap();
        assert_eq!(find(&added, Agent::Claude).len(), 5);
        for kept in [
            "// mine",
            "\"model\" : \"opus\"",
            "\"command\": \"beep\"",
            "/* odd */",
            "{\"A\":\"b\",}",
        ] {
            assert!(added.contains(kept), "{kept}: {added}");
        }
        let removed = remove(&added, Agent::Claude).unwrap();
        assert!(find(&removed, Agent::Claude).is_empty());
        let [left, right] =
            [&removed, BY_HAND].map(|text| jsonc_parser::parse_to_value(text, &ParseOptions::default()));
        assert!(left.unwrap() == right.unwrap(), "{removed}");
    }

    #[test]
    fn a_new_file_is_written_as_people_would() {
        insta::assert_snapshot!(
            add("{}\n", &wish())
                .unwrap()
                .lines()
                .take(24)
                .collect::<Vec<_>>()
                .join("\n"),
            @r#"
        {
          "hooks": {
            "SessionStart": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "/bin/boswell hook claude --home /m",
                    "timeout": 3
                  }
                ]
              }
            ],
            "Stop": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "/bin/boswell hook claude --home /m",
                    "timeout": 3
                  }
                ]
              }
            ],
        "#
        );
    }

    #[test]
    fn what_has_another_shape_is_refused() {
        for odd in [
            "[]",
            "{\"hooks\": 7}",
            "{\"hooks\": {\"Stop\": {}}}",
            "{\"hooks\"",
            "\"x\"",
        ] {
            assert!(add(odd, &wish()).is_err(), "{odd}");
        }
        assert!(add("\u{feff}{}", &wish()).unwrap().starts_with('\u{feff}'));
    }
}
