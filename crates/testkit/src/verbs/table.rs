//! The table of invocations. Add a row for a new verb, or for a flag that changes what a verb prints.

use super::{Ending, ExpectedExit, Invocation, Output};

/// A command line and its expected result.
#[derive(Clone, Copy)]
pub(super) struct Row {
    line: &'static str,
    output: Output,
    has_json: bool,
    ending: Ending,
    exit: ExpectedExit,
    plain_exit: Option<ExpectedExit>,
}

impl Row {
    const fn new(line: &'static str, output: Output) -> Self {
        Self {
            line,
            output,
            has_json: false,
            ending: Ending::Itself,
            exit: ExpectedExit::Code(0),
            plain_exit: None,
        }
    }

    const fn ends(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    const fn exits(self, code: u8) -> Self {
        Self {
            exit: ExpectedExit::Code(code),
            ..self
        }
    }

    /// Allows exit status 1, for logs that contain nothing of the kind.
    const fn may_find_nothing(self) -> Self {
        Self {
            exit: ExpectedExit::Found,
            ..self
        }
    }

    const fn any_exit(self) -> Self {
        Self {
            exit: ExpectedExit::Any,
            ..self
        }
    }

    const fn exits_plain(self, code: u8) -> Self {
        Self {
            plain_exit: Some(ExpectedExit::Code(code)),
            ..self
        }
    }

    pub(super) fn expand(&self) -> Vec<Invocation> {
        let one = |line: String, output| Invocation {
            line,
            output,
            ending: self.ending,
            exit: self.exit,
            plain_exit: self.plain_exit.unwrap_or(self.exit),
        };
        let text = one(self.line.to_owned(), self.output);
        match self.has_json {
            true => vec![text, one(format!("{} --json", self.line), Output::Json)],
            false => vec![text],
        }
    }
}

/// A row with text output only.
const fn text(line: &'static str) -> Row {
    Row::new(line, Output::Text)
}

/// A row with text output, and the same line with `--json`.
const fn both(line: &'static str) -> Row {
    Row {
        has_json: true,
        ..text(line)
    }
}

/// A row with JSON output only.
const fn json(line: &'static str) -> Row {
    Row::new(line, Output::Json)
}

/// A row with text for programs and files.
const fn data(line: &'static str) -> Row {
    Row::new(line, Output::Data)
}

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    "\n",
);

const STATUS_LINE: &str = concat!(
    r#"{"session_id":"5e55a0ad-0001-4000-8000-0000000000aa","cwd":"/home/ada/shop","#,
    r#""model":{"id":"claude-sonnet-4-5","display_name":"Sonnet 4.5"},"cost":{"total_cost_usd":1.25}}"#,
    "\n"
);

/// The commands that prepare a new home, in order.
pub const PREPARATION: &[&str] = &[
    "sweep",
    "prepare --date {day}",
    "tag {claude} parser urgent",
    "note {claude} 'the retry hid the real error'",
    "name {codex} 'the parser rewrite'",
    "decide 'SQLite, because one file is easy to back up' --session {claude}",
    "keep {codex}",
];

/// All verbs, in the order of the help.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    Row::new("", Output::Screen).ends(Ending::Keys { after: "Esc", keys: "\x03" }),
    json("--json").exits(2),
    text("help"), text("--help"), text("help search"), text("help hooks install"), text("search --help"), text("--version"),
    text("serach").exits(2), text("serch").exits(2), json("serach --json").exits(2), text("sessions --agnet claude").exits(2),
    both("show nothing-like-it").exits(1),

    text("setup").ends(Ending::Answer("\n")).exits_plain(2),
    json("setup --json").exits(2), both("setup --yes"), text("setup --yes --hooks"),
    both("demo"), text("demo -o {out}/made-up"),
    both("status"),
    both("doctor"), both("doctor --deep"), both("doctor --repair"), text("doctor --quiet"),
    data("config show"), json("config show --json"), both("config path"), both("config init").exits(2), both("config init --force"),
    data("completions bash"), data("completions zsh"), data("completions fish"), data("completions elvish"), data("completions powershell"),
    json("completions bash --json"), json("man --json"),
    data("man"), text("man -o {out}/man"),

    both("search error"), both("search test* -error").may_find_nothing(), both("search '\"not found\"'").may_find_nothing(),
    both("search --exact 'rror'"), both("search --regex 'fn\\s+\\w+'").may_find_nothing(),
    both("search tool:Bash git").may_find_nothing(), both("search kind:error the").may_find_nothing(),
    both("search the --agent codex --limit 3"), json("search the --limit 0 --json"), both("search the --max-tokens 500"),
    both("grep error -cr").may_find_nothing(), both("search 'git rebase --autosquash'").may_find_nothing(), both("search the --autosquash").may_find_nothing(),
    both("search the --agnet codex").exits(2), both("search the -- -word").may_find_nothing(),
    both("search nowhereatall").exits(1), both("search the --in {home}/.claude"), both("search the --sources"), both("search --regex '('").exits(2),
    both("sessions"), both("ls --limit 2"), both("list --limit 2"), both("sessions --all --limit 0"), both("sessions --agent codex --limit 3"), both("sessions --tool Bash"),
    both("sessions --outcome success").may_find_nothing(), both("sessions --tag parser"), both("sessions --since 30d"),
    both("sessions --until 2001-01-01").exits(1), both("sessions --here").exits(1),
    both("show {claude}"), both("show {codex}"), both("show {grok}"), both("show {parent}"), both("show last"),
    both("log {claude} --turns 1"), both("show {claude} --depth prompts"), both("show {claude} --depth tools"), both("show {claude} --depth full"),
    both("show {claude} --turns 1"), both("show {claude} --max-tokens 800"), both("show {commit}").may_find_nothing(),
    text("show {claude} --no-pager --timezone Europe/Berlin"), both("show {log}"),
    text("show {small} --follow").ends(Ending::Interrupt { after: "1" }).any_exit(),
    both("why {file}").may_find_nothing(), both("why {file} --full --limit 1").may_find_nothing(), both("why {file}:1").may_find_nothing(),
    both("usage"), both("usage weekly"), both("usage monthly"), both("usage session"), both("usage model"), both("usage project"),
    both("usage blocks"), both("usage --by block"), both("usage --by block,agent").exits(2), both("cost monthly"), both("usage --by agent,branch,user,machine"), both("usage --agent codex --limit 5"), data("usage --csv"), data("usage --prices"),
    both("stats"), both("stats --agent grok"), both("stats --limit 3 --timezone Asia/Shanghai"), text("stats --to html -o {out}/stats.html"),
    both("statusline"), data("statusline --quiet").ends(Ending::Input(STATUS_LINE)),
    both("digest {claude}"), both("digest {codex}"), both("digest {grok}"), both("digest {parent} --subagents"), both("digest {claude} --max-tokens 300"),
    both("digest {log}"),
    both("signals").may_find_nothing(), both("signals {claude}").may_find_nothing(), both("signals --agent codex --limit 0").may_find_nothing(),
    both("signals --signal error_loop").may_find_nothing(),
    both("decisions"), both("decisions --session {claude}"), both("decisions --since 1d").may_find_nothing(),
    both("secrets").may_find_nothing(), both("secrets --all").may_find_nothing(), both("secrets --agent codex").may_find_nothing(), both("secrets {log}").may_find_nothing(),

    text("diary").may_find_nothing(), json("diary --json").may_find_nothing(), data("diary --to html").may_find_nothing(),
    text("diary {day}"), data("diary {day} --to md"), both("diary -3000d").exits(1), both("diary --date 2001-01-01").exits(1), text("today").may_find_nothing(),
    text("diary someday").exits(2),
    both("prepare --date {day}"), both("prepare --date {day} --force"), both("prepare"), both("prepare --today"),
    text("prepare --date {day} --verbatim --reports-root {out}/days"),
    text("report --date {day}"), json("report --date {day} --json"), data("report --date {day} --to json"), text("report --week").may_find_nothing(),
    text("report --date {day} --to html -o {out}/day.html"),
    text("report --date {day} --writer true --config report.retries=1 --config report.jobs=1").exits(2),
    both("days"), both("days --date {day}"), both("days --date 2001-01-01").exits(1), both("days --limit 3 --timezone America/New_York"),
    both("bundle --date {day} -o {out}/day.zip"), text("bundle --date {day} --raw-sessions -o {out}/whole.zip"),

    data("render {claude} --to md"), data("render {codex} --to md --depth tools"), data("render {grok} --to md --max-tokens 500"),
    both("render {claude} -o {out}/page.html"), text("render {log} -o {out}/log.html"), text("render {small} --to cast -o {out}/small.cast"),
    data("render {small} --to html -o -"),
    text("render {small} --turns 1 -o {out}/film.gif --size 320x180 --max-duration 5s --fps 2"),
    text("render {small} --turns 1 -o {out}/film.mp4 --size 320x180 --max-duration 5s --fps 2"),
    both("render --all --agent grok -o {out}/pages"),
    text("open {small} -o {out}/open.html").exits(2),
    text("render {small} --watch -o {out}/watched.html").ends(Ending::Interrupt { after: "Ctrl-C" }).any_exit(),
    both("read {log}"), both("read {codex-log}"), both("read {grok-log}"), both("read {log} --turns 1 --full"), both("read {log} --kind error,test_run"),
    both("read {home}/nothing-here.jsonl").exits(2),
    data("cat {claude}"), data("cat {codex}"), data("cat {grok}"), data("cat {claude} --part nothing"),
    both("export --to jsonl -o {out}/jsonl"), both("export --to csv -o {out}/csv"), both("export --to parquet -o {out}/parquet"),
    text("export --to csv -o {out}/some --agent codex --tables sessions,calls"),
    both("restore {claude} -o {out}/given"), both("restore {claude} --in-place --dry-run"), text("restore {codex} --in-place"),
    text("restore {grok} -o {out}/grok"),
    data("resume {claude} --print"), json("resume {codex} --print --json"), data("resume {grok} --print"),

    both("sweep"), both("sweep --dry-run"), text("sweep --agent codex"), text("sweep --root {home}/.claude=laptop"),
    both("evict"), both("evict --dry-run"), both("evict --dry-run --config session_memory.retention.raw_soft_cap_bytes=1MB"),
    both("evict --config session_memory.retention.raw_soft_cap_bytes=100kB --config session_memory.retention.raw_max_age_days=1"),
    both("keep {claude}"), both("keep {codex} --undo"),
    both("forget {grok} --dry-run"), both("forget {grok} --yes"), text("forget {codex} --with-digest --copies --yes"),
    text("forget {grok}").ends(Ending::Answer("y\n")).exits_plain(2), text("forget last").ends(Ending::Answer("n\n")).exits_plain(2),
    json("forget {grok} --json").exits(2),
    text("forget --agent grok").ends(Ending::Answer("y\n")).exits_plain(2), both("forget --agent codex --yes"),
    both("decide 'no retries in the client'"), both("decide kept --session {codex}"),
    both("tag {claude}"), both("tag {claude} later"), both("tag {claude} urgent --remove"),
    both("note {claude}"), both("note {codex} 'two words'"), both("note {claude} ''"),
    both("name {codex}"), both("name {claude} mine"), both("name {codex} ''"),
    both("journal"), both("journal --limit 2"),
    both("rebuild"),

    both("hooks status").exits(1), both("hooks install --dry-run"), both("hooks install"), text("hooks install claude --statusline"),
    text("hooks install claude --scope project"), both("hooks uninstall"), text("hooks uninstall --dry-run"),
    text("watch").ends(Ending::Interrupt { after: "Watching" }).any_exit(), text("watch --poll 1 --seconds 1"),
    both("schedule status"), data("schedule install --with cron --dry-run"), data("schedule install --with systemd --dry-run"),
    both("schedule install --with systemd --cadence weekly"), data("schedule install --with launchd --dry-run"), both("schedule uninstall"),
    text("run -- true"), text("run -- false").exits(1), text("run -- no-such-program").exits(127),
    both("hub status"), both("hub init").exits(2), both("hub push").exits(2), both("hub move local").exits(2),
    data("mcp --workspace {workspace}").ends(Ending::Input(HELLO)), text("mcp").exits(2),
    both("schema"), data("schema sessions"), data("schema usage --json"), both("schema sesions").exits(2),
];
