//! The writers of a day, and how each known agent is started. An agent gets our MCP server and, as far as its options
//! allow, no other tool.

use std::path::{Path, PathBuf};

use serde_json::json;
use transcript::SafeName;

use super::publish;
use crate::context::Context;
use crate::error::CommandError;
use crate::mcp_tools;
use crate::shell::quoted;

/// The name of our server in an agent's settings.
const SERVER: &str = "boswell";

/// A writer other than Boswell itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Writer {
    Codex,
    Claude,
    Grok,
    /// A command of the user, split into words.
    Command(Vec<String>),
}

/// The command line and input of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(&'static str, String)>,
    /// The text for its standard input.
    pub(super) input: String,
}

/// The command that an agent runs to start our MCP server.
#[derive(Debug)]
pub(super) struct Server {
    program: String,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl Writer {
    /// Parses `--writer`; returns `None` for Boswell's own writer.
    pub(super) fn parse(told: &str) -> Result<Option<Self>, CommandError> {
        Ok(match told {
            "default" => None,
            "codex" => Some(Self::Codex),
            "claude" | "claude-code" => Some(Self::Claude),
            "grok" => Some(Self::Grok),
            command => Some(Self::Command(publish::words("--writer", command)?)),
        })
    }

    /// Returns its name for the page and messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Codex => "codex".to_owned(),
            Self::Claude => "claude".to_owned(),
            Self::Grok => "grok".to_owned(),
            Self::Command(words) => {
                let program = words.first().map(Path::new).and_then(Path::file_name);
                let name = program.map(|name| name.to_string_lossy().into_owned());
                let name = name.filter(|name| SafeName::new(name).is_some());
                name.unwrap_or_else(|| "command".to_owned())
            }
        }
    }

    /// Returns the file from which the agent reads general rules.
    pub(super) fn rules_file(&self) -> &'static str {
        match self {
            Self::Claude => "CLAUDE.md",
            Self::Codex | Self::Grok | Self::Command(_) => "AGENTS.md",
        }
    }

    /// Returns the name and content of a settings file that the agent needs in the workspace.
    pub(super) fn settings_file(&self, server: &Server) -> Option<(&'static str, String)> {
        match self {
            // Grok only reads servers from files.
            Self::Grok => {
                let mut table = toml::Table::new();
                table.insert("command".to_owned(), server.program.clone().into());
                table.insert("args".to_owned(), server.arguments.clone().into());
                table.insert("env".to_owned(), toml::Value::Table(server.environment()));
                let servers = toml::Table::from_iter([(SERVER.to_owned(), toml::Value::Table(table))]);
                let all = toml::Table::from_iter([("mcp_servers".to_owned(), toml::Value::Table(servers))]);
                Some((".grok/config.toml", all.to_string()))
            }
            Self::Codex | Self::Claude | Self::Command(_) => None,
        }
    }

    /// Returns the path of its program.
    pub(super) fn find(&self, context: &Context) -> Result<PathBuf, CommandError> {
        match self {
            Self::Codex => find(context, "codex"),
            Self::Claude => find(context, "claude"),
            Self::Grok => find(context, "grok"),
            Self::Command(words) => find(context, words.first().map_or("", String::as_str)),
        }
    }

    /// Returns the call that makes it write one piece.
    pub(super) fn call(
        &self,
        context: &Context,
        workspace: &Path,
        server: &Server,
        prompt: String,
    ) -> Result<Call, CommandError> {
        let (arguments, variables, input) = match self {
            Self::Codex => (codex(workspace, server, &other_servers(context)), Vec::new(), prompt),
            Self::Claude => (claude(server), Vec::new(), prompt),
            Self::Grok => (grok(workspace, prompt), Vec::new(), String::new()),
            Self::Command(words) => {
                let arguments = words.iter().skip(1).cloned().collect();
                (arguments, vec![(crate::env::BOSWELL_MCP, server.line())], prompt)
            }
        };
        Ok(Call {
            program: self.find(context)?,
            arguments,
            variables,
            input,
        })
    }
}

/// Returns the arguments for Codex: our server without approval prompts, no shell, no web, and no write access.
fn codex(workspace: &Path, server: &Server, others: &[String]) -> Vec<String> {
    let words = [
        "exec",
        "--skip-git-repo-check",
        "--sandbox",
        "read-only",
        "--color",
        "never",
    ];
    let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
    arguments.extend(["--cd".to_owned(), workspace.display().to_string()]);
    let of_server = |key: &str, value: toml::Value| format!("mcp_servers.{SERVER}.{key}={value}");
    let settings = [
        of_server("command", server.program.clone().into()),
        of_server("args", server.arguments.clone().into()),
        of_server("env", toml::Value::Table(server.environment())),
        // Codex runs without a user here, so it refuses every call that is not approved in advance.
        of_server("default_tools_approval_mode", "approve".into()),
        "features.shell_tool=false".to_owned(),
        "web_search=\"disabled\"".to_owned(),
    ];
    let off = others.iter().map(|name| format!("mcp_servers.{name}.enabled=false"));
    arguments.extend(
        settings
            .into_iter()
            .chain(off)
            .flat_map(|setting| ["-c".to_owned(), setting]),
    );
    // The prompt is passed on standard input.
    arguments.push("-".to_owned());
    arguments
}

/// Returns the MCP servers in the user's Codex settings, which are disabled because a writer may only use ours.
fn other_servers(context: &Context) -> Vec<String> {
    let roots = context
        .roots
        .iter()
        .filter(|root| root.agent == transcript::Agent::Codex);
    let texts = roots.filter_map(|root| std::fs::read_to_string(root.path.join("config.toml")).ok());
    texts.flat_map(|text| server_names(&text)).collect()
}

fn server_names(settings: &str) -> Vec<String> {
    // Other characters would need quoting in a `--config` key, and Codex itself rejects such names.
    let is_plain = |name: &&String| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let settings: toml::Table = settings.parse().unwrap_or_default();
    let servers = settings.get("mcp_servers").and_then(toml::Value::as_table);
    let names = servers.into_iter().flat_map(toml::Table::keys).filter(is_plain);
    names.filter(|name| *name != SERVER).cloned().collect()
}

fn claude(server: &Server) -> Vec<String> {
    let environment: serde_json::Map<String, serde_json::Value> = server
        .variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
        .collect();
    let servers = json!({ "mcpServers": { SERVER: {
        "type": "stdio", "command": server.program, "args": server.arguments, "env": environment,
    }}});
    let tools: Vec<String> = mcp_tools::names()
        .map(|name| format!("mcp__{SERVER}__{name}"))
        .collect();
    let words = [
        "-p",
        "--strict-mcp-config",
        "--mcp-config",
        &servers.to_string(),
        "--tools",
        "",
        "--allowedTools",
        &tools.join(","),
    ];
    words.map(str::to_owned).to_vec()
}

fn grok(workspace: &Path, prompt: String) -> Vec<String> {
    let allowed = format!("MCPTool({SERVER}__*)");
    let words = [
        "--no-auto-update",
        "--no-subagents",
        "--permission-mode",
        "dontAsk",
        "--allow",
    ];
    let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
    arguments.extend([allowed, "--cwd".to_owned(), workspace.display().to_string()]);
    arguments.extend(["-p".to_owned(), prompt]);
    arguments
}

impl Server {
    /// Returns this program as an MCP server of one workspace.
    pub(super) fn new(context: &Context, workspace: &Path, writer: &Writer) -> Self {
        let words = ["mcp", "--workspace"].map(str::to_owned);
        let mut arguments = words.to_vec();
        arguments.extend([workspace.display().to_string(), "--by".to_owned(), writer.name()]);
        Self {
            program: context.program.display().to_string(),
            arguments,
            // An agent may start the server without our environment variables.
            variables: context.own_variables.clone(),
        }
    }

    /// Returns the command as one line for a shell.
    fn line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    fn environment(&self) -> toml::Table {
        let variable = |(name, value): &(&'static str, String)| ((*name).to_owned(), value.clone().into());
        self.variables.iter().map(variable).collect()
    }
}

/// Returns the path of a program, which is given by its path or by its name in the search path.
fn find(context: &Context, program: &str) -> Result<PathBuf, CommandError> {
    let missing = || {
        let message = format_args!("the writer's program is not on this machine: `{program}`");
        CommandError::user("program-missing", message).with_hint("install it, or put its directory into `PATH`")
    };
    if Path::new(program).components().count() > 1 {
        // The program runs in the workspace, but the user named it relative to the current directory.
        let path = context.places.current_dir.join(program);
        return path.is_file().then_some(path).ok_or_else(missing);
    }
    let ends: &[&str] = if cfg!(windows) {
        &[".exe", ".cmd", ".bat"]
    } else {
        &[""]
    };
    let names = || ends.iter().map(|end| format!("{program}{end}"));
    let mut places = context
        .search_path
        .iter()
        .flat_map(|place| names().map(move |name| place.join(name)));
    places.find(|place| place.is_file()).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server {
            program: "/opt/it's/boswell".to_owned(),
            arguments: vec!["mcp".to_owned(), "--workspace".to_owned(), "/w \"x\"".to_owned()],
            variables: vec![("BOSWELL_HOME", "/data dir".to_owned())],
        }
    }

    #[test]
    fn each_known_agent_is_started_with_our_server_and_little_else() {
        let told = [
            codex(
                Path::new("/w"),
                &server(),
                &server_names("[mcp_servers.web]\nurl = 'x'\n[mcp_servers.boswell]"),
            )
            .join("\n"),
            claude(&server()).join("\n"),
            grok(Path::new("/w"), "PROMPT".to_owned()).join("\n"),
            Writer::Grok.settings_file(&server()).unwrap().1,
            server().line(),
        ];
        insta::assert_snapshot!(told.join("\n---\n"));
    }

    #[test]
    fn a_writer_is_an_agent_or_a_command() {
        assert_eq!(Writer::parse("default").unwrap(), None);
        assert_eq!(Writer::parse("claude-code").unwrap(), Some(Writer::Claude));
        let own = Writer::parse("/opt/my-writer --fast 'a b'").unwrap().unwrap();
        assert_eq!(
            own,
            Writer::Command(["/opt/my-writer", "--fast", "a b"].map(str::to_owned).to_vec())
        );
        assert_eq!(own.name(), "my-writer");
        assert!(Writer::parse("'open").is_err());
    }
}
