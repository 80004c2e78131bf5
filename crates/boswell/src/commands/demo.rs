//! `boswell demo`: the product on made-up logs, for a machine where no agent has run yet.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use memory::kept;
use memory::sources::Root;
use memory::store::{Place, Store};
use serde_json::json;
use transcript::Agent;

use super::read;
use super::sweep::{self, Order};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::resolve;
use crate::ui::{Format, HEADING, Ui, escape};

/// Show what Boswell does on small made-up logs
///
/// Writes one session of each agent into a temporary home, keeps them as `boswell sweep` and reads them as
/// `boswell read` would, deletes a log, gives it back with `boswell cat`, and takes the home away again.
/// Nothing of yours is read or written.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell demo
  boswell demo -o /tmp/demo      keep the made-up home to try more on it")]
pub(crate) struct DemoArgs {
    /// Write the made-up home here and keep it
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The day on which the made-up sessions take place; they are moved to the day before today.
const MADE_UP_DAY: &str = "2026-04-01";

/// Every file of the made-up home.
const FILES: &[(&str, &str)] = &[
    (CLAUDE_LOG, include_str!("../demo/claude.jsonl")),
    (
        ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa/subagents/agent-a0ada5e55.jsonl",
        include_str!("../demo/claude-subagent.jsonl"),
    ),
    (
        ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa/subagents/agent-a0ada5e55.meta.json",
        include_str!("../demo/claude-subagent.meta.json"),
    ),
    (CODEX_LOG, include_str!("../demo/codex.jsonl")),
    (GROK_LOG, include_str!("../demo/grok-updates.jsonl")),
    (
        ".grok/sessions/%2Fhome%2Fada%2Fshop/019d4710-0000-7000-8000-00000000600d/summary.json",
        include_str!("../demo/grok-summary.json"),
    ),
];

/// The beginning of the id of Claude Code's session.
const SESSION: &str = "5e55a0ad";
const CLAUDE_LOG: &str = ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa.jsonl";
const CODEX_LOG: &str =
    ".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-019d4700-0000-7000-8000-00000000c0de.jsonl";
const GROK_LOG: &str = ".grok/sessions/%2Fhome%2Fada%2Fshop/019d4710-0000-7000-8000-00000000600d/updates.jsonl";

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DemoArgs) -> Result<Outcome, CommandError> {
    let temporary = tempfile::Builder::new()
        .prefix("boswell-demo-")
        .tempdir()
        .map_err(cannot_write)?;
    let home = args.output.as_deref().unwrap_or(temporary.path());
    let logs = write_home(home, context.now)?;
    if ui.format == Format::Json {
        // Programs run the commands themselves; they only need to know where.
        ui.json(&json!({ "schema": "boswell.demo/1", "home": args.output, "logs": names(home, &logs) }))?;
        return Ok(Outcome::Done);
    }
    ui.status(format_args!("Made-up home: {}", home.display()));
    show(ui, context, home, &logs, args)?;
    match &args.output {
        Some(_) => ui.hint(format_args!(
            "try `boswell read {} --depth full`, and `BOSWELL_HOME={} boswell status`",
            logs[0].display(),
            home.join(MEMORY).display()
        )),
        None => {
            ui.hint("try `boswell status` and `boswell sweep` on your own logs; `boswell demo -o DIR` keeps this home")
        }
    }
    Ok(Outcome::Done)
}

/// Where in the made-up home the memory lies.
const MEMORY: &str = "memory";

/// The tour: logs are kept, read, deleted, and still there.
fn show(ui: &mut Ui, context: &Context, home: &Path, logs: &[PathBuf], args: &DemoArgs) -> Result<(), CommandError> {
    let memory = Place::from(home.join(MEMORY));
    title(ui, "boswell sweep")?;
    let order = Order {
        directory: &memory,
        roots: &roots(home),
        // No key of the user's is made for a demonstration.
        masker: &context.masker(false)?,
        is_dry: false,
        is_scheduled: false,
        lets_go: false,
        only: None,
    };
    let report = sweep::sweep(ui, context, &order)?;
    sweep::show(ui, &report, false)?;

    let name = |log: &Path| log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (claude, others) = logs
        .split_first()
        .ok_or_else(|| CommandError::internal("no made-up logs"))?;
    ui.row("")?;
    title(ui, &format!("boswell read {} --turns 1", name(claude)))?;
    read::show_turn(ui, context, claude, 1)?;
    for log in others {
        title(ui, &format!("boswell read {} --kind user_msg,assistant_msg", name(log)))?;
        read::show_words(ui, context, log)?;
    }

    if args.output.is_none() {
        title(ui, &format!("rm {}", name(claude)))?;
        fs::remove_file(claude).map_err(cannot_write)?;
    }
    title(
        ui,
        &format!("boswell cat {SESSION} | cut -c -{CAT_COLUMNS} | head -{CAT_LINES}"),
    )?;
    show_kept(ui, context, &memory)
}

/// How much of a kept log the tour shows.
const CAT_COLUMNS: usize = 100;
const CAT_LINES: usize = 3;

/// The first lines of the session whose log may be gone.
fn show_kept(ui: &mut Ui, context: &Context, memory: &Place) -> Result<(), CommandError> {
    let store = Store::open_existing(memory)?.ok_or_else(|| CommandError::internal("the demo kept nothing"))?;
    let uid = resolve(&store, context, SESSION)?.session_uid;
    let mut kept = Vec::new();
    kept::cat(&store, &uid, "log", &mut kept)?.map_err(cannot_write)?;
    let kept = String::from_utf8_lossy(&kept);
    for line in kept.lines().take(CAT_LINES) {
        ui.row(escape(&line.chars().take(CAT_COLUMNS).collect::<String>()))?;
    }
    Ok(())
}

/// The logs by their place in the home.
fn names<'a>(home: &Path, logs: &'a [PathBuf]) -> Vec<&'a Path> {
    logs.iter().filter_map(|log| log.strip_prefix(home).ok()).collect()
}

fn title(ui: &mut Ui, command: &str) -> Result<(), CommandError> {
    let line = format!("$ {command}");
    Ok(ui.row(ui.paint(HEADING, line))?)
}

fn roots(home: &Path) -> Vec<Root> {
    let root = |agent, directory: &str| Root {
        agent,
        path: home.join(directory),
        label: None,
    };
    vec![
        root(Agent::Claude, ".claude"),
        root(Agent::Codex, ".codex"),
        root(Agent::Grok, ".grok"),
    ]
}

/// Writes the home and names its logs. The sessions take place yesterday.
fn write_home(home: &Path, now: Timestamp) -> Result<Vec<PathBuf>, CommandError> {
    let yesterday = now - SignedDuration::from_hours(24);
    let day = yesterday.strftime("%Y-%m-%d").to_string();
    for (name, text) in FILES {
        let path = home.join(on_day(name, &day));
        let directory = path.parent().unwrap_or(home);
        fs::create_dir_all(directory).map_err(cannot_write)?;
        fs::write(&path, on_day(text, &day)).map_err(cannot_write)?;
    }
    let logs = [CLAUDE_LOG, CODEX_LOG, GROK_LOG];
    Ok(logs.iter().map(|name| home.join(on_day(name, &day))).collect())
}

/// Moves times written as dates; Grok's log counts seconds.
fn on_day(text: &str, day: &str) -> String {
    let start = |day: &str| {
        format!("{day}T00:00:00Z")
            .parse::<Timestamp>()
            .map(Timestamp::as_second)
    };
    let text = text
        .replace(MADE_UP_DAY, day)
        .replace("2026/04/01", &day.replace('-', "/"));
    let (Ok(from), Ok(to)) = (start(MADE_UP_DAY), start(day)) else {
        return text;
    };
    move_seconds(&text, from, to)
}

/// Moves every count of seconds or milliseconds that falls on the made-up day.
fn move_seconds(text: &str, from: i64, to: i64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..]
            .find(|c: char| !c.is_ascii_digit())
            .map_or(rest.len() - at, |length| length);
        out.push_str(&rest[..at]);
        let number = &rest[at..at + digits];
        let unit = match digits {
            10 => 1,
            13 => 1000,
            _ => 0,
        };
        let seconds = number
            .parse::<i64>()
            .ok()
            .filter(|_| unit > 0)
            .map(|number| number / unit);
        match seconds.filter(|seconds| (from..from + 86_400).contains(seconds)) {
            Some(seconds) => out.push_str(&((seconds + to - from) * unit).to_string()),
            None => out.push_str(number),
        }
        rest = &rest[at + digits..];
    }
    out + rest
}

fn cannot_write(error: std::io::Error) -> CommandError {
    CommandError::user(
        "demo-unwritable",
        format_args!("cannot write the made-up home: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_day_moves_in_every_notation() {
        let text = r#"{"a":"2026-04-01T09:00:00Z","b":1775041200,"c":1775041200000,"d":12345678901}"#;
        let moved = on_day(text, "2026-04-02");
        assert_eq!(
            moved,
            r#"{"a":"2026-04-02T09:00:00Z","b":1775127600,"c":1775127600000,"d":12345678901}"#
        );
    }
}
