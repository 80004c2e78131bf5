//! The promises of the command line: exit codes, streams, colours, errors for people and for agents.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn alone_it_shows_its_verbs_in_their_groups() {
    assert_snapshot!(Sandbox::new().run(""), @"
    One memory for every coding agent you use

    Usage: boswell [OPTIONS] [COMMAND]

    Start:
      setup         Guided setup: what is read, how long it is kept, what keeps it current
      demo          Show what Boswell does on small made-up logs
      status        Say what the memory holds, and what is not yet in it
      doctor        Say which agents are here, what they keep, and what of it cannot be read
      config        Write, show and find the configuration
      completions   Print a script that lets your shell complete commands and flags
      man           Print the manual page, or write the pages of all commands

    Ask:
      search        Find turns by words, phrases, any characters or a regular expression [aliases: grep]
      sessions      List the sessions in the memory, newest first [aliases: ls, list]
      show          Show a session, or the session that made a commit [aliases: log]
      why           Show which turns touched a file, or which one wrote a line, and what they were asked for
      usage         Count tokens and money, each API call once [aliases: cost]
      stats         Show what sessions were like, taken together
      statusline    Print one line for a status line: today, this session, context used
      digest        Show a session on one page: what was asked, what came of it, what it took
      signals       Show patterns worth knowing: loops, retries, interruptions, tests left failing
      decisions     Show what was decided, newest first
      secrets       Say where secrets stand in the agents' own logs

    Diary:
      diary         Show the page of a day, by default yesterday's [aliases: today]
      prepare       Gather a day's sessions into a workspace for a report
      report        Write a day as a page: what was asked, what was done, what came of it
      days          List the days that have sessions, newest first
      bundle        Pack a day's workspace into a zip for support

    Share:
      render        Make a page, a text or a film of a session, to look at and to share [aliases: open]
      read          Show a session's log as one clear transcript
      cat           Print a session's log as the agent wrote it
      export        Write sessions, turns, events, calls and digests as tables
      restore       Restore a session's files
      resume        Go on with a session: in its directory, with its agent

    Keep:
      sweep         Read what is new in the agents' logs and keep it [aliases: sync, ingest]
      evict         Evict raw text that is too old or over the budget
      keep          Keep a session's raw text for good
      forget        Delete sessions from memory now and for good
      decide        Write a decision down
      tag           Put tags on a session, take them off, or show them
      note          Write a note on a session, or show it
      name          Give a session a name of your own, or show it
      journal       Show what was done to the memory, newest first
      rebuild       Make every derived row of the memory again

    Capture:
      hooks         Let agents tell of their sessions as they end
      watch         Follow the agents while they work, and keep what they write
      schedule      Sweep by itself: hourly, daily or weekly
      run           Run a command of an agent, and have its session in memory when it ends

    Team:
      hub           Share one memory among several machines

    Agents:
      mcp           Let an agent read a day's workspace and write about it, by MCP
      schema        Print the JSON Schema of what a verb prints with `--json`

    Global options:
          --json                Print JSON for programs; errors, too
      -q, --quiet               Print data, warnings and errors, and nothing else
          --color <WHEN>        When to use colour [default: auto] [possible values: auto, always,
                                never]
          --config <KEY=VALUE>  Set a configuration key for this run; may be given several times
          --no-sweep            Answer from what is kept, without a look for what is new
      -h, --help                Print help
      -V, --version             Print version

    Examples:
      boswell                      the finder, on a terminal
      boswell config show          what holds, and where each value comes from
      boswell help config          what a command does, with examples
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
    Show where the files are looked for, and which of them exist

    Usage: boswell config path [OPTIONS]

    Options:
      -h, --help  Print help

    Global options:
          --json                Print JSON for programs; errors, too
      -q, --quiet               Print data, warnings and errors, and nothing else
          --color <WHEN>        When to use colour [default: auto] [possible values: auto, always,
                                never]
          --config <KEY=VALUE>  Set a configuration key for this run; may be given several times
          --no-sweep            Answer from what is kept, without a look for what is new

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
