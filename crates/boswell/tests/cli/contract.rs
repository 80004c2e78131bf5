//! The rules of the command line: exit codes, streams, colours, errors for people and for agents.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn alone_it_shows_its_verbs_in_their_groups() {
    assert_snapshot!(Sandbox::new().run(""), @"
    One memory for every coding agent you use

    Usage: boswell [OPTIONS] [COMMAND]

    Start:
      setup         Guided setup: retention limits, first sweep, schedule
      demo          Take a one-minute tour on made-up logs
      status        Show what the memory holds, and what a sweep would read
      doctor        Check which agents are installed, what they wrote, and what cannot be read
      config        Write, show and find the configuration
      completions   Print a shell completion script
      man           Print the manual page, or write the pages of all commands

    Ask:
      search        Find turns by words, phrases, any characters or a regular expression [aliases: grep]
      sessions      List the sessions in the memory, newest first [aliases: ls, list]
      show          Show a session, or the session that made a commit [aliases: log]
      why           Show which turns edited a file or wrote a line, with their prompts
      usage         Count tokens and money, each API call once [aliases: cost]
      stats         Show session statistics
      statusline    Print one line for a status line: today, this session, context used
      digest        Show a session on one page: prompts, result and effort
      signals       Show patterns in sessions: loops, retries, interruptions, tests left failing
      decisions     List decisions, newest first
      secrets       Find secrets in the agents' own logs

    Diary:
      diary         Show the page of a day, by default yesterday's [aliases: today]
      prepare       Gather a day's sessions into a workspace for a report
      report        Write a report of a day: what was asked, what was done, what the result was
      days          List the days that have sessions, newest first
      bundle        Pack a day's workspace into a zip for support

    Share:
      render        Make a page, a text or a film of a session [aliases: open]
      read          Print a log as a transcript
      cat           Print a session's log as the agent wrote it
      export        Write sessions, turns, events, calls and digests as tables
      restore       Restore a session's files
      resume        Continue a session with its agent, in its directory

    Keep:
      sweep         Read what is new in the agents' logs into the memory [aliases: sync, ingest]
      evict         Evict raw text that is too old or over the budget
      keep          Protect a session's raw text from eviction
      forget        Delete sessions from memory now and for good
      decide        Record a decision
      tag           Add, remove or show a session's tags
      note          Write or show a session's note
      name          Give a session your own name, or show it
      journal       Show the operation log of the memory, newest first
      rebuild       Derive events, turns and numbers again from the stored lines

    Capture:
      hooks         Let agents report their sessions as they end
      watch         Follow the agents while they work, and store what they write
      schedule      Run sweeps on a schedule: hourly, daily or weekly
      run           Run an agent's command, and store its session when it ends

    Team:
      hub           Share one memory among several machines

    Agents:
      mcp           Serve a day's workspace to an agent over MCP
      schema        Print the JSON Schema of a verb's `--json` output

    Global options:
          --json                Print JSON, including errors
      -q, --quiet               Print only data, warnings and errors
          --color <WHEN>        When to use colour [default: auto] [possible values: auto, always,
                                never]
          --config <KEY=VALUE>  Set a configuration key for this run; can be repeated
          --no-sweep            Answer from the memory without checking the logs for new text
      -h, --help                Print help
      -V, --version             Print version

    Examples:
      boswell                      the finder, on a terminal
      boswell config show          every setting, and where its value comes from
      boswell help config          help on one command, with examples
    ");
}

#[test]
fn help_and_version_are_data_and_succeed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("--help"), sandbox.run("help"));
    assert_eq!(
        sandbox.run("--version"),
        format!("boswell {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_snapshot!(sandbox.run("config path --help"), @"
    Show where configuration files are looked for, and which exist

    Usage: boswell config path [OPTIONS]

    Options:
      -h, --help  Print help

    Global options:
          --json                Print JSON, including errors
      -q, --quiet               Print only data, warnings and errors
          --color <WHEN>        When to use colour [default: auto] [possible values: auto, always,
                                never]
          --config <KEY=VALUE>  Set a configuration key for this run; can be repeated
          --no-sweep            Answer from the memory without checking the logs for new text

    Examples:
      boswell config path
      boswell config path --json
    ");
}

#[test]
fn wrong_usage_is_told_on_stderr_with_exit_2() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("confg"), @"
    --- stderr ---
    error: unrecognized subcommand 'confg'

      tip: a similar subcommand exists: 'config'

    Usage: boswell [OPTIONS] [COMMAND]

    For more information, try '--help'.
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("completions tcsh"), @"
    --- stderr ---
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("config show --config cadence"), @"
    --- stderr ---
    error: invalid value 'cadence' for '--config <KEY=VALUE>': expected `KEY=VALUE`

    For more information, try '--help'.
    --- exit 2 ---
    ");
}

#[test]
fn with_json_wrong_usage_is_an_object_on_stdout() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("--json"), @r#"
    {"error":{"code":"usage","message":"a command is missing","hint":"see `boswell help`","retryable":false}}
    --- exit 2 ---
    "#);
    assert_snapshot!(sandbox.run("confg --json"), @r#"
    {"error":{"code":"usage","message":"unrecognized subcommand 'confg'","hint":"a similar subcommand exists: 'config'","retryable":false}}
    --- exit 2 ---
    "#);
    assert_snapshot!(sandbox.run("--json config"), @r#"
    {"error":{"code":"usage","message":"a command is missing","hint":"usage: `boswell config [OPTIONS] <COMMAND>`","retryable":false}}
    --- exit 2 ---
    "#);
    assert_snapshot!(sandbox.run("completions --json"), @r#"
    {"error":{"code":"usage","message":"the following required arguments were not provided: <SHELL>","hint":"usage: `boswell completions --json <SHELL>`","retryable":false}}
    --- exit 2 ---
    "#);
    assert_snapshot!(sandbox.run("completions tcsh --json"), @r#"
    {"error":{"code":"usage","message":"invalid value 'tcsh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]","hint":"a similar value exists: 'zsh'","retryable":false}}
    --- exit 2 ---
    "#);
}

#[test]
fn with_json_any_error_is_an_object_on_stdout() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_CONFIG", "absent.toml");
    assert_snapshot!(sandbox.run("config show --json"), @r#"
    {"error":{"code":"config-missing","message":"there is no configuration file: `[HOME]/absent.toml`","hint":"`boswell config init` writes one","retryable":false}}
    --- exit 2 ---
    "#);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let sandbox = Sandbox::new();
    for line in [
        "",
        "--help",
        "completions zsh",
        "man",
        "config show",
        "config path --json",
        "--json nonsense",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox
            .command(line)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let expected = if line == "--json nonsense" { Some(2) } else { Some(0) };
        assert_eq!(output.status.code(), expected, "{line}");
        assert!(output.stderr.is_empty(), "{line}: {}", sandbox.told(&output));
    }
}

#[test]
fn colors_are_for_terminals_and_for_those_who_ask() {
    let mut sandbox = Sandbox::new();
    let has_color = |told: String| told.contains('\u{1b}');
    assert!(!has_color(sandbox.run("config show")));
    assert!(has_color(sandbox.run("config show --color always")));
    assert!(has_color(sandbox.run("--help --color=always")));
    assert!(has_color(sandbox.run("nonsense --color always")));
    sandbox.set("CLICOLOR_FORCE", "1");
    assert!(has_color(sandbox.run("config show")));
    assert!(!has_color(sandbox.run("config show --color never")));
    sandbox.set("NO_COLOR", "1");
    assert!(!has_color(sandbox.run("config show")));
    assert!(!has_color(sandbox.run("--help")));
}

#[test]
fn quiet_leaves_warnings_and_drops_hints_and_status() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("config init --quiet"), @"");
    sandbox.write_user_config("colour = true\n");
    let told = sandbox.run("config show --quiet");
    assert!(
        told.contains("warning: unknown key") && !told.contains("Hint:"),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn a_path_cannot_write_to_the_terminal() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_CONFIG", "/\u{1b}[31mred\u{202e}");
    assert_snapshot!(sandbox.run("config show"), @r"
    --- stderr ---
    error: there is no configuration file: `/\u{1b}[31mred\u{202e}`
    Hint: `boswell config init` writes one
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("config path").lines().nth(1).unwrap(), @r"user    absent  /\u{1b}[31mred\u{202e}");
}

#[test]
fn a_clock_that_is_no_time_is_an_error_of_the_configuration() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_NOW", "noon");
    assert_snapshot!(sandbox.run("config show"), @"
    --- stderr ---
    error: `BOSWELL_NOW` must be an RFC 3339 time, but is: noon
    Hint: write it like `2026-04-01T09:00:00Z`
    --- exit 2 ---
    ");
}
