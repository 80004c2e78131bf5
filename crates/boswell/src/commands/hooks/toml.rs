//! Settings in TOML, edited so that the user's comments and formatting stay. Their shape is that of the JSON settings.
//!
//! This module only edits text. Adding hooks to settings of an unknown shape returns an error, so that they stay
//! unchanged.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};
use transcript::Agent;

use super::wish::{TIMEOUT_S, Wish, ours};

const HOOKS: &str = "hooks";
/// The key next to the events under which Codex stores its own state.
const STATE: &str = "state";

/// Returns `true` if the settings contain hooks.
pub(super) fn has_hooks(text: &str) -> bool {
    let Ok(document) = text.parse::<DocumentMut>() else {
        return false;
    };
    let hooks = document.get(HOOKS).and_then(Item::as_table_like);
    hooks.is_some_and(|hooks| hooks.iter().any(|(name, _)| name != STATE))
}

/// Returns the settings with our hook added at the end of each event.
pub(super) fn add(text: &str, wish: &Wish) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut none = Table::new();
    none.set_implicit(true);
    let hooks = document.entry(HOOKS).or_insert(Item::Table(none));
    let hooks = hooks.as_table_like_mut().ok_or("`hooks` is no table")?;
    for event in wish.events() {
        let groups = hooks.entry(event).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        match groups {
            Item::ArrayOfTables(groups) => {
                let mut group = Table::new();
                group.insert(HOOKS, Item::Value(commands(wish)));
                groups.push(group);
            }
            Item::Value(Value::Array(groups)) => {
                let mut group = InlineTable::new();
                group.insert(HOOKS, commands(wish));
                groups.push(group);
            }
            _ => return Err(format!("`hooks.{event}` is no list")),
        }
    }
    Ok(document.to_string())
}

/// Returns the settings without our hooks.
pub(super) fn remove(text: &str, agent: Agent) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(hooks) = document.get_mut(HOOKS).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    let mut emptied = Vec::new();
    for (name, groups) in hooks.iter_mut() {
        let is_empty = match groups {
            Item::ArrayOfTables(groups) => {
                groups.retain(|group| !is_ours_alone(group, agent));
                groups.is_empty()
            }
            Item::Value(Value::Array(groups)) => {
                let before = groups.len();
                groups.retain(|group| !group.as_inline_table().is_some_and(|group| is_ours_alone(group, agent)));
                groups.is_empty() && before > 0
            }
            _ => false,
        };
        if is_empty {
            emptied.push(name.get().to_owned());
        }
    }
    for name in emptied {
        hooks.remove(&name);
    }
    if hooks.is_empty() {
        document.remove(HOOKS);
    }
    Ok(document.to_string())
}

/// Returns our hooks as pairs of event and command.
pub(super) fn find(text: &str, agent: Agent) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(document) = parse(text) else { return found };
    let hooks = document.get(HOOKS).and_then(Item::as_table_like);
    for (event, groups) in hooks.iter().flat_map(|hooks| hooks.iter()) {
        let groups: Vec<&dyn TableLike> = match groups {
            Item::ArrayOfTables(groups) => groups.iter().map(|group| group as &dyn TableLike).collect(),
            Item::Value(Value::Array(groups)) => {
                let tables = groups.iter().filter_map(Value::as_inline_table);
                tables.map(|group| group as &dyn TableLike).collect()
            }
            _ => Vec::new(),
        };
        for command in groups.into_iter().flat_map(commands_of) {
            if ours(&command, agent).is_some() {
                found.push((event.to_owned(), command));
            }
        }
    }
    found
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| error.message().to_owned())
}

fn commands(wish: &Wish) -> Value {
    let mut command = InlineTable::new();
    command.insert("type", "command".into());
    command.insert("command", wish.command.as_str().into());
    command.insert("timeout", i64::try_from(TIMEOUT_S).unwrap_or_default().into());
    Value::Array(Array::from_iter([command]))
}

/// Returns the commands of a group, in either notation of its list.
fn commands_of(group: &dyn TableLike) -> Vec<String> {
    let told = |table: &dyn TableLike| table.get("command").and_then(Item::as_str).map(str::to_owned);
    match group.get(HOOKS) {
        Some(Item::Value(Value::Array(commands))) => {
            let tables = commands.iter().filter_map(Value::as_inline_table);
            tables.filter_map(|table| told(table)).collect()
        }
        Some(Item::ArrayOfTables(commands)) => commands.iter().filter_map(|table| told(table)).collect(),
        _ => Vec::new(),
    }
}

/// Returns `true` if all commands of a group are ours. [`add`] always creates a separate group, so a group with other
/// commands is not ours.
fn is_ours_alone(group: &dyn TableLike, agent: Agent) -> bool {
    let commands = commands_of(group);
    !commands.is_empty() && commands.iter().all(|command| ours(command, agent).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const BY_HAND: &str = "# mine\nmodel = 'o'   # odd\n\n[[hooks.Stop]]\nhooks = [ {type=\"command\", command=\"beep\"} ]\n\n[hooks.state.\"x\"]\ntrusted_hash = \"1\"\n\n[tui]\na=1\n";

    #[test]
    fn what_a_user_wrote_stays_and_what_is_ours_goes_again() {
        let wish = Wish::new(Agent::Codex, Path::new("/bin/boswell"), Path::new("/m"));
        let added = add(BY_HAND, &wish).unwrap();
        assert_eq!(find(&added, Agent::Codex).len(), 4, "{added}");
        for kept in [
            "# mine\nmodel = 'o'   # odd\n",
            "command=\"beep\"",
            "trusted_hash = \"1\"",
            "[tui]\na=1\n",
        ] {
            assert!(added.contains(kept), "{kept}: {added}");
        }
        assert_eq!(remove(&added, Agent::Codex).unwrap(), BY_HAND);
        assert!(has_hooks(BY_HAND) && !has_hooks("[hooks.state.x]\na = 1\n") && !has_hooks("model = 1\n"));
        assert!(add("hooks = 7\n", &wish).is_err());
    }
}
