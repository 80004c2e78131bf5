//! Writes `docs/cli.md` and `docs/config.md` from the program itself, and fails where they are stale.
//!
//! `BOSWELL_BLESS=1 cargo test -p boswell` rewrites them.

use std::fmt::Write;
use std::path::Path;

use crate::cli;
use crate::config::{DEFAULTS, Settings, variable_of};
use crate::env::VARIABLES;

#[test]
fn the_page_of_commands_says_what_the_help_says() {
    check("cli.md", &cli_page());
}

#[test]
fn the_page_of_the_configuration_says_what_the_defaults_say() {
    check("config.md", &config_page());
}

#[test]
fn every_variable_that_has_a_name_in_the_code_stands_in_the_list() {
    let named = include_str!("env.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub(crate) const "));
    for name in named
        .filter(|line| line.contains(": &str = "))
        .filter_map(|line| line.split(':').next())
    {
        let is_listed = VARIABLES.iter().any(|variable| variable.name == name);
        assert!(is_listed || name == "KEY_PREFIX", "{name}");
    }
}

fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("BOSWELL_BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        written == page,
        "docs/{name} is stale: run `BOSWELL_BLESS=1 cargo test -p boswell docs`"
    );
}

fn cli_page() -> String {
    let mut page = "# Commands\n\nMade by a test from the program's own help.\n".to_owned();
    let mut command = cli::command().term_width(100).disable_help_subcommand(true);
    command.build();
    add_help(&mut page, &mut command, "boswell");
    page
}

fn add_help(page: &mut String, command: &mut clap::Command, path: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(page, "\n## `{path}`\n\n```text\n{}\n```\n", help.join("\n")).unwrap();
    for inner in command.get_subcommands_mut().filter(|inner| !inner.is_hide_set()) {
        let path = format!("{path} {}", inner.get_name());
        add_help(page, inner, &path);
    }
}

fn config_page() -> String {
    let mut page =
        "# Configuration\n\nMade by a test from the program's own defaults and list of variables.\n".to_owned();
    write!(page, "\n## Keys and defaults\n\n```toml\n{DEFAULTS}```\n").unwrap();
    page.push_str(
        "\n## Keys by variable\n\nEvery key above can be set by a variable: its path in capitals. A list is written \
         with commas between its elements, or as in TOML. Domains are set in files and by `--config` only.\n\n\
         | variable | key |\n|---|---|\n",
    );
    for setting in Settings::defaults().iter() {
        writeln!(page, "| `{}` | `{}` |", variable_of(&setting.key), setting.key).unwrap();
    }
    page.push_str("\n## Variables\n\nA variable that is set to nothing counts as not set.\n\n| variable | what it does |\n|---|---|\n");
    for variable in VARIABLES {
        writeln!(page, "| `{}` | {} |", variable.name, variable.help).unwrap();
    }
    page
}
