//! Known agents: a program with such a name gets arguments that the agent understands, and finds our MCP server with
//! them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::day::{DAY, asked, home};
use crate::sandbox::Sandbox;

/// Installs a program with an agent's name in `PATH`. It passes its arguments to the stand-in.
fn install(sandbox: &mut Sandbox, name: &str) {
    let program = std::env::current_exe().unwrap();
    // The script passes arguments and prompt on unchanged.
    let script = format!(
        "#!/bin/sh\nprintf '%s\\0' \"$@\" > '{home}/arguments'\nexec '{program}' agents::a_known_agent_writes --exact --nocapture\n",
        home = sandbox.home.display(),
        program = program.display()
    );
    sandbox.write(&format!("bin/{name}"), &script);
    let path = sandbox.home.join("bin").join(name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("PATH", &sandbox.path("bin"));
    sandbox.set("KNOWN_AGENT", name);
    sandbox.set("KNOWN_AGENT_ARGUMENTS", &sandbox.path("arguments"));
}

/// The process of the agent. Finds the server like that agent does.
#[test]
fn a_known_agent_writes() {
    let Ok(name) = std::env::var("KNOWN_AGENT") else { return };
    let arguments = fs::read_to_string(std::env::var("KNOWN_AGENT_ARGUMENTS").unwrap()).unwrap();
    let arguments: Vec<&str> = arguments.split_terminator('\0').collect();
    let mut prompt = std::io::read_to_string(std::io::stdin()).unwrap();
    let (program, words) = match name.as_str() {
        "codex" => {
            let settings = arguments.windows(2).filter(|pair| pair[0] == "-c").map(|pair| pair[1]);
            let settings: toml::Table = settings.collect::<Vec<_>>().join("\n").parse().unwrap();
            let server = &settings["mcp_servers"]["boswell"];
            assert_eq!(server["default_tools_approval_mode"].as_str(), Some("approve"));
            assert_eq!(arguments.last(), Some(&"-"));
            server_of(server)
        }
        "claude" => {
            let at = arguments.iter().position(|word| *word == "--mcp-config").unwrap();
            let settings: Value = serde_json::from_str(arguments[at + 1]).unwrap();
            let settings: toml::Value = toml::Value::try_from(&settings["mcpServers"]["boswell"]).unwrap();
            assert!(arguments.contains(&"--strict-mcp-config"));
            server_of(&settings)
        }
        _ => {
            assert_eq!(prompt, "");
            let at = arguments.iter().position(|word| *word == "-p").unwrap();
            arguments[at + 1].clone_into(&mut prompt);
            let settings: toml::Table = fs::read_to_string(".grok/config.toml").unwrap().parse().unwrap();
            server_of(&settings["mcp_servers"]["boswell"])
        }
    };
    let line: Vec<String> = std::iter::once(program)
        .chain(words)
        .map(|word| format!("'{word}'"))
        .collect();
    crate::stand_in::behave("works", &prompt, &line.join(" "));
}

fn server_of(settings: &toml::Value) -> (String, Vec<String>) {
    let word = |value: &toml::Value| value.as_str().unwrap().to_owned();
    (
        word(&settings["command"]),
        settings["args"].as_array().unwrap().iter().map(word).collect(),
    )
}

#[test]
fn each_known_agent_reaches_the_server_and_writes_the_day() {
    for (name, rules) in [("codex", "AGENTS.md"), ("claude", "CLAUDE.md"), ("grok", "AGENTS.md")] {
        let mut sandbox = home("works");
        install(&mut sandbox, name);
        let page = sandbox.run(&format!("report -q --writer {name}"));
        assert!(page.contains(&format!("written by {name}")), "{page}");
        assert_eq!(
            asked(&sandbox),
            ["evidence S0001", "evidence S0002", "project", "daily"]
        );
        assert!(sandbox.home.join(DAY).join(rules).exists(), "{name}");
    }
}
