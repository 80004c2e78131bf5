//! `boswell config`, and the errors for an invalid configuration.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, names_in};

#[test]
fn init_writes_a_private_copy_of_the_defaults_and_show_accepts_it() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("config init"), @"
    --- stderr ---
    Wrote: [HOME]/.config/boswell/config.toml
    Hint: edit it, then see what holds with `boswell config show`
    ");
    let text = fs::read_to_string(sandbox.user_config()).unwrap();
    assert!(text.contains("\n[session_memory.retention]\n") && text.contains("\n# raw_soft_cap_bytes = \"4GiB\"\n"));
    assert_snapshot!(sandbox.run("config show"), @r#"
    [session_memory.retention]
    raw_soft_cap_bytes = "4GiB"   # default
    raw_hard_cap_bytes = "6GiB"   # default
    raw_max_age_days = 45         # default
    distilled_cap_bytes = "1GiB"  # default
    cadence = "daily"             # default

    [session_memory.sources]
    claude = []  # default
    codex = []   # default
    grok = []    # default
    extra = []   # default

    [session_memory.ignore]
    paths = []     # default
    projects = []  # default

    [session_memory.masking]
    rules = []  # default
    allow = []  # default

    [session_memory.task_ref]
    pattern = '[A-Z][A-Z0-9]+-(?:WP-)?\d+(?:-T\d+)?'  # default

    [session_memory.notify]
    command = []  # default

    [session_memory.surface]
    dir = ""  # default

    [diary]
    reports_root = ""  # default

    [diary.fallback_roots]
    claude = ""  # default
    codex = ""   # default
    grok = ""    # default

    [report]
    language = "en"  # default
    timeout_s = 900  # default
    retries = 3      # default
    jobs = 4         # default

    [store]
    url = ""            # default
    password_file = ""  # default
    machine = ""        # default
    user = ""           # default

    [hub]
    url = ""              # default
    password_file = ""    # default
    share = "digests"     # default
    full_projects = []    # default
    push_on_sweep = "no"  # default
    "#);
    assert_eq!(names_in(sandbox.user_config().parent().unwrap()), ["config.toml"]);
}

#[cfg(unix)]
#[test]
fn init_makes_file_and_directory_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.run("config init");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&sandbox.user_config()), 0o600);
    assert_eq!(mode(sandbox.user_config().parent().unwrap()), 0o700);
}

#[test]
fn init_never_replaces_a_file_unless_forced() {
    let sandbox = Sandbox::new();
    sandbox.write_user_config("# mine\n");
    assert_snapshot!(sandbox.run("config init"), @"
    --- stderr ---
    error: there is a configuration file already: `[HOME]/.config/boswell/config.toml`
    Hint: edit it, or replace it with `boswell config init --force`
    --- exit 2 ---
    ");
    assert_eq!(fs::read_to_string(sandbox.user_config()).unwrap(), "# mine\n");
    assert_snapshot!(sandbox.run("config init --force --json"), @r#"
    {"path":"[HOME]/.config/boswell/config.toml","schema":"boswell.config.init/1"}
    --- stderr ---
    Wrote: [HOME]/.config/boswell/config.toml
    Hint: edit it, then see what holds with `boswell config show`
    "#);
    assert_ne!(fs::read_to_string(sandbox.user_config()).unwrap(), "# mine\n");
    assert_eq!(names_in(sandbox.user_config().parent().unwrap()), ["config.toml"]);
}

#[cfg(unix)]
#[test]
fn init_writes_through_a_link_to_the_file_behind_it() {
    let sandbox = Sandbox::new();
    sandbox.write("dotfiles/boswell.toml", "# mine\n");
    fs::create_dir_all(sandbox.user_config().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(sandbox.home.join("dotfiles/boswell.toml"), sandbox.user_config()).unwrap();
    assert_snapshot!(sandbox.run("config init --force --quiet"), @"");
    assert!(fs::symlink_metadata(sandbox.user_config()).unwrap().is_symlink());
    assert_ne!(
        fs::read_to_string(sandbox.home.join("dotfiles/boswell.toml")).unwrap(),
        "# mine\n"
    );
}

#[test]
fn init_and_path_work_where_the_configuration_is_broken() {
    let sandbox = Sandbox::new();
    sandbox.write_user_config("[[[");
    assert_snapshot!(sandbox.run("config path"), @"
    system  absent  [HOME]/etc/config.toml
    user    exists  [HOME]/.config/boswell/config.toml
    data    absent  [HOME]/.local/share/boswell
    ");
    assert_snapshot!(sandbox.run("config init --force --quiet"), @"");
}

#[test]
fn path_says_what_variables_change() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_CONFIG", "mine.toml");
    sandbox.set("BOSWELL_HOME", &sandbox.path("memory"));
    sandbox.write("memory/x", "");
    assert_snapshot!(sandbox.run("config path --json"), @r#"{"paths":[{"exists":false,"name":"system","path":"[HOME]/etc/config.toml"},{"exists":false,"name":"user","path":"[HOME]/mine.toml"},{"exists":true,"name":"data","path":"[HOME]/memory"}],"schema":"boswell.config.path/1"}"#);
}

#[cfg(not(windows))]
#[test]
fn path_follows_the_xdg_variables() {
    let mut sandbox = Sandbox::new();
    sandbox.set("XDG_CONFIG_HOME", &sandbox.path("xdg/config"));
    sandbox.set("XDG_DATA_HOME", &sandbox.path("xdg/data"));
    assert_snapshot!(sandbox.run("config path"), @"
    system  absent  [HOME]/etc/config.toml
    user    absent  [HOME]/xdg/config/boswell/config.toml
    data    absent  [HOME]/xdg/data/boswell
    ");
}

#[test]
fn a_flag_takes_a_key_without_its_tables_and_a_quoted_value() {
    for flag in [
        "raw_max_age_days=never",
        "raw_max_age_days=\"never\"",
        "session_memory.retention.raw_max_age_days=\"never\"",
    ] {
        let shown = Sandbox::new().run(&format!("config show --config {flag}"));
        assert!(
            shown.contains("raw_max_age_days = \"never\"    # from --config"),
            "{flag}: {shown}"
        );
    }
    // Two tables have a key of this name.
    let shown = Sandbox::new().run("config show --config claude=/logs");
    assert!(shown.contains("`--config` names an unknown key: `claude`"), "{shown}");
}

#[test]
fn every_layer_lies_over_the_one_before_it_key_by_key() {
    let mut sandbox = Sandbox::new();
    sandbox.write("etc/config.toml", "[session_memory.retention]\nraw_max_age_days = 30\ncadence = 'weekly'\n\n[session_memory.domains]\nweb = 'site'\napi = 'site'\n");
    sandbox.write_user_config("[session_memory.domains]\nweb = \"marketing\"\n\n[session_memory.retention]\ncadence = \"hourly\"\nraw_hard_cap_bytes = \"8GiB\"\nraw_soft_cap_bytes = 5000000000\n");
    sandbox.set("BOSWELL_SESSION_MEMORY_RETENTION_RAW_HARD_CAP_BYTES", "9GiB");
    sandbox.set("BOSWELL_SESSION_MEMORY_SOURCES_CLAUDE", "~/.claude, /mnt/old/.claude");
    assert_snapshot!(sandbox.run("config show --config session_memory.retention.raw_max_age_days=never --config session_memory.domains.\"a.b\"=c"), @r#"
    [session_memory.retention]
    raw_soft_cap_bytes = 5000000000  # from [HOME]/.config/boswell/config.toml:7
    raw_hard_cap_bytes = "9GiB"      # from BOSWELL_SESSION_MEMORY_RETENTION_RAW_HARD_CAP_BYTES
    raw_max_age_days = "never"       # from --config
    distilled_cap_bytes = "1GiB"     # default
    cadence = "hourly"               # from [HOME]/.config/boswell/config.toml:5

    [session_memory.domains]
    web = "marketing"  # from [HOME]/.config/boswell/config.toml:2
    api = "site"       # from [HOME]/etc/config.toml:7
    "a.b" = "c"        # from --config

    [session_memory.sources]
    claude = ["~/.claude", "/mnt/old/.claude"]  # from BOSWELL_SESSION_MEMORY_SOURCES_CLAUDE
    codex = []                                  # default
    grok = []                                   # default
    extra = []                                  # default

    [session_memory.ignore]
    paths = []     # default
    projects = []  # default

    [session_memory.masking]
    rules = []  # default
    allow = []  # default

    [session_memory.task_ref]
    pattern = '[A-Z][A-Z0-9]+-(?:WP-)?\d+(?:-T\d+)?'  # default

    [session_memory.notify]
    command = []  # default

    [session_memory.surface]
    dir = ""  # default

    [diary]
    reports_root = ""  # default

    [diary.fallback_roots]
    claude = ""  # default
    codex = ""   # default
    grok = ""    # default

    [report]
    language = "en"  # default
    timeout_s = 900  # default
    retries = 3      # default
    jobs = 4         # default

    [store]
    url = ""            # default
    password_file = ""  # default
    machine = ""        # default
    user = ""           # default

    [hub]
    url = ""              # default
    password_file = ""    # default
    share = "digests"     # default
    full_projects = []    # default
    push_on_sweep = "no"  # default
    "#);
}

#[test]
fn show_as_json_has_sizes_in_bytes_and_an_origin_for_each_value() {
    let mut sandbox = Sandbox::new();
    sandbox.write_user_config("\u{feff}\r\n[session_memory.retention]\r\nraw_soft_cap_bytes = \"500MB\"\r\n");
    sandbox.set("BOSWELL_SESSION_MEMORY_RETENTION_CADENCE", "weekly");
    let told = sandbox.run("config show --json");
    let values: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(values["schema"], "boswell.config.show/1");
    let lines: Vec<String> = values["values"]
        .as_array()
        .unwrap()
        .iter()
        .take(5)
        .map(ToString::to_string)
        .collect();
    assert_snapshot!(lines.join("\n"), @r#"
    {"key":"session_memory.retention.raw_soft_cap_bytes","origin":{"layer":"file","line":3,"path":"[HOME]/.config/boswell/config.toml"},"value":500000000}
    {"key":"session_memory.retention.raw_hard_cap_bytes","origin":{"layer":"default"},"value":6442450944}
    {"key":"session_memory.retention.raw_max_age_days","origin":{"layer":"default"},"value":45}
    {"key":"session_memory.retention.distilled_cap_bytes","origin":{"layer":"default"},"value":1073741824}
    {"key":"session_memory.retention.cadence","origin":{"layer":"environment","variable":"BOSWELL_SESSION_MEMORY_RETENTION_CADENCE"},"value":"weekly"}
    "#);
}

#[test]
fn unknown_keys_warn_with_the_nearest_name_and_their_line() {
    let mut sandbox = Sandbox::new();
    sandbox.write_user_config(
        "[session_memory.retention]\nraw_soft_cap = \"1GiB\"\nflavour = 3\n\n[retention]\ncadence = \"daily\"\n\n\
         [[session_memory.sources.extra]]\nagent = \"grok\"\npath = \"/x\"\nlable = \"x\"\n",
    );
    sandbox.set("BOSWELL_SESSION_MEMORY_RETENTION_CADENSE", "daily");
    let told = sandbox.run("config show");
    assert_snapshot!(told.split_once("--- stderr ---\n").unwrap().1, @"
    warning: unknown key from [HOME]/.config/boswell/config.toml:2: `session_memory.retention.raw_soft_cap`
    Hint: did you mean `session_memory.retention.raw_soft_cap_bytes`?
    warning: unknown key from [HOME]/.config/boswell/config.toml:3: `session_memory.retention.flavour`
    warning: unknown key from [HOME]/.config/boswell/config.toml:5: `retention`
    Hint: did you mean `session_memory.retention`?
    warning: unknown key from [HOME]/.config/boswell/config.toml:8: `session_memory.sources.extra.lable`
    Hint: did you mean `session_memory.sources.extra.label`?
    warning: unknown variable: `BOSWELL_SESSION_MEMORY_RETENTION_CADENSE`
    Hint: did you mean `BOSWELL_SESSION_MEMORY_RETENTION_CADENCE`?
    ");
}

#[test]
fn a_file_that_is_not_toml_is_told_with_line_and_column() {
    let sandbox = Sandbox::new();
    sandbox.write_user_config("# first\n[session_memory.retention]\ncadence = daily\n");
    assert_snapshot!(sandbox.run("config show"), @"
    --- stderr ---
    error: the configuration is not valid TOML at [HOME]/.config/boswell/config.toml:3:11: string values must be quoted, expected literal string
    --- exit 2 ---
    ");
}

#[test]
fn a_wrong_value_is_told_with_file_key_and_what_was_expected() {
    let mut sandbox = Sandbox::new();
    sandbox.write_user_config("[session_memory.retention]\nraw_soft_cap_bytes = \"4G\"\n");
    assert_snapshot!(sandbox.run("config show"), @r#"
    --- stderr ---
    error: `session_memory.retention.raw_soft_cap_bytes` from [HOME]/.config/boswell/config.toml:2 must be a size such as "4GiB" or "500MB", or a whole number of bytes, but is: "4G"
    --- exit 2 ---
    "#);
    sandbox.write_user_config("[session_memory.retention]\nraw_soft_cap_bytes = \"7GiB\"\n");
    assert_snapshot!(sandbox.run("config show"), @r#"
    --- stderr ---
    error: `session_memory.retention.raw_soft_cap_bytes` from [HOME]/.config/boswell/config.toml:2 is above `session_memory.retention.raw_hard_cap_bytes` from the defaults: "7GiB" > "6GiB"
    Hint: raise the hard cap or lower the soft cap
    --- exit 2 ---
    "#);
    sandbox.write_user_config("");
    sandbox.set("BOSWELL_SESSION_MEMORY_TASK_REF_PATTERN", "[A-");
    assert_snapshot!(sandbox.run("config show"), @r#"
    --- stderr ---
    error: `session_memory.task_ref.pattern` from BOSWELL_SESSION_MEMORY_TASK_REF_PATTERN must be a regular expression (unclosed character class), but is: "[A-"
    --- exit 2 ---
    "#);
}

#[test]
fn a_file_that_is_named_but_absent_is_an_error() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_CONFIG", &sandbox.path("absent.toml"));
    assert_snapshot!(sandbox.run("config show"), @"
    --- stderr ---
    error: there is no configuration file: `[HOME]/absent.toml`
    Hint: `boswell config init` writes one
    --- exit 2 ---
    ");
}

#[test]
fn a_flag_with_an_unknown_key_is_an_error() {
    assert_snapshot!(Sandbox::new().run("config show --config cadance=daily"), @"
    --- stderr ---
    error: `--config` names an unknown key: `cadance`
    Hint: did you mean `session_memory.retention.cadence`?
    --- exit 2 ---
    ");
}
