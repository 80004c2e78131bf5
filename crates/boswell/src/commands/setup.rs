//! `boswell setup`: the guided first run. It explains, asks up to three questions, and ends by showing the last week.

mod week;

use memory::doctor;

use crate::answers::start::{AgentRoot, Installation, SetupAnswer};
use crate::config::{Assignment, Retention, size_bytes, write_key};
use crate::context::{Context, Surroundings};
use crate::dispatch::Dispatch;
use crate::error::{CommandError, Outcome};
use crate::global_args::GlobalArgs;
use crate::render::text::{plural, sessions_and_subagents};
use crate::retention::tell_loss;
use crate::sweeping::{self, Order};
use crate::ui::{DefaultAnswer, FAINT, Format, STRONG, Ui, escape, measure};

/// The size of a memory as a percentage of the logs it was read from, as measured: packs, rows and filters.
const SHARE_PERCENT: u64 = 25;

/// A new size limit above the hard limit raises the hard limit to this percentage of it, like the defaults.
const HARD_CAP_PERCENT: u64 = 150;

/// The width of the discarded output of other verbs.
const JSON_COLUMNS: usize = 80;

const RETENTION: [&str; 2] = ["session_memory", "retention"];
const MAX_AGE: &str = "raw_max_age_days";
const SOFT_CAP: &str = "raw_soft_cap_bytes";
const HARD_CAP: &str = "raw_hard_cap_bytes";

/// Guided setup: retention limits, first sweep, schedule
///
/// Shows where the agents keep their sessions, how much that is and how long Boswell keeps it. Then asks up to
/// three questions whose default answer is yes: keep text that long, read the logs now, sweep on a schedule if the
/// machine has a scheduler. Ends with the sessions of the last week. Hooks are installed only with `--hooks`, because they change the agents' settings. Every
/// answer can be changed later. `--json` prints one object and needs `--yes`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell setup
  boswell setup --yes                 no questions: read the logs and sweep on a schedule
  boswell setup --yes --hooks         also install hooks, so that sessions are read as they end")]
pub(crate) struct SetupArgs {
    /// Answer yes to every question
    #[arg(long)]
    yes: bool,
    /// Also install hooks, which changes the agents' settings
    #[arg(long)]
    hooks: bool,
}

pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    args: &SetupArgs,
    dispatch: &Dispatch,
) -> Result<Outcome, CommandError> {
    if ui.format == Format::Json {
        return run_json(ui, surroundings, global, args, dispatch);
    }
    let mut context = Context::load(ui, surroundings, &global.config)?;
    let found = show_logs(ui, &context)?;
    show_retention(ui, &context)?;
    if found == 0 {
        ui.hint("no logs found: work with an agent first, or try `boswell demo`");
    }
    let retention = &context.config.retention;
    let keep = format!("Keep raw text for {}?", limits(retention));
    if !answer(ui, args, &keep)? {
        context = change_retention(ui, surroundings, global, context)?;
    }
    let mut outcome = Outcome::Done;
    match answer(ui, args, "Read the logs now?")? {
        true => outcome = read_logs(ui, &context)?,
        false => ui.hint("`boswell sweep` reads them later"),
    }
    let cadence = context.config.retention.cadence.as_str();
    // Without a scheduler the question would only lead to an error.
    if let Some(missing) = missing_scheduler(ui, surroundings, global, dispatch) {
        ui.hint(&missing.message);
        if let Some(hint) = &missing.hint {
            ui.hint(hint);
        }
    } else if answer(ui, args, &format!("Read new sessions on a schedule ({cadence})?"))? {
        run_verb(ui, surroundings, global, dispatch, &["schedule", "install"]);
    } else {
        ui.hint("`boswell schedule install` does that later");
    }
    match args.hooks {
        true => run_verb(ui, surroundings, global, dispatch, &["hooks", "install"]),
        false => ui.hint("`boswell hooks install` adds hooks, which read each session as it ends"),
    }
    let newest = week::show(ui, &context)?;
    let diary = newest.map_or("`boswell diary` for yesterday".to_owned(), |day| {
        format!("`boswell diary {day}` for that day")
    });
    ui.status(format_args!("Ready. Type `boswell` to search your sessions, {diary}"));
    Ok(outcome)
}

/// Returns the error of `schedule install` on a machine without a scheduler.
fn missing_scheduler(
    ui: &Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    dispatch: &Dispatch,
) -> Option<CommandError> {
    let (mut captured, _) = ui.captured(JSON_COLUMNS);
    let ran = (dispatch.run_verb)(
        &mut captured,
        surroundings,
        global,
        &["schedule", "install", "--dry-run"],
    );
    ran.err().filter(|error| error.code == "no-scheduler")
}

/// Runs all steps without a terminal and prints one JSON object. A program cannot answer questions, so it has to pass
/// `--yes`.
fn run_json(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    args: &SetupArgs,
    dispatch: &Dispatch,
) -> Result<Outcome, CommandError> {
    if !args.yes {
        return Err(
            CommandError::usage("setup with `--json` needs `--yes`, because it cannot ask")
                .with_hint("`boswell status` shows what there is and changes nothing"),
        );
    }
    let context = Context::load(ui, surroundings, &global.config)?;
    let started = context.clock();
    let (roots, masker) = (context.memory_roots(), context.masker(true)?);
    let report = sweeping::sweep(ui, &context, &order(&context, &roots, &masker))?;
    let outcome = tell_loss(ui, &context, &report.evicted);
    let installed = |words: &[&str]| {
        let (mut captured, _) = ui.captured(JSON_COLUMNS);
        let ran = (dispatch.run_verb)(&mut captured, surroundings, global, words);
        Installation {
            is_installed: ran.is_ok(),
            error: ran.err().map(|error| error.message),
        }
    };
    let schedule = installed(&["schedule", "install"]);
    let hooks = args.hooks.then(|| installed(&["hooks", "install"]));
    let roots = roots.iter().map(|root| AgentRoot {
        agent: root.agent.as_str(),
        path: root.path.to_string_lossy().into_owned(),
        exists: root.path.is_dir(),
    });
    let retention = &context.config.retention;
    ui.answer(&SetupAnswer {
        directory: context.places.data_dir.to_string_lossy().into_owned(),
        roots: roots.collect(),
        raw_max_age_days: retention.raw_max_age_days,
        raw_soft_cap_bytes: retention.raw_soft_cap_bytes,
        sweep: sweeping::to_answer(&report, started.elapsed_ms()),
        cadence: retention.cadence.as_str(),
        schedule,
        hooks,
    })?;
    Ok(outcome)
}

/// Asks a question whose default answer is yes. `--yes` answers it without a terminal.
fn answer(ui: &mut Ui, args: &SetupArgs, question: &str) -> Result<bool, CommandError> {
    if args.yes {
        return Ok(true);
    }
    ui.confirm(question, DefaultAnswer::Yes).ok_or_else(|| {
        CommandError::usage(format_args!("cannot ask without a terminal: {question}"))
            .with_hint("`boswell setup --yes` answers yes; `boswell sweep` only reads the logs")
    })
}

/// Lists the roots and how much there is to read. Returns the number of log files.
fn show_logs(ui: &mut Ui, context: &Context) -> Result<u64, CommandError> {
    let (roots, masker) = (context.memory_roots(), context.masker(false)?);
    let report = sweeping::sweep(
        ui,
        context,
        &Order {
            is_dry: true,
            ..order(context, &roots, &masker)
        },
    )?;
    ui.row(ui.paint(STRONG, "Logs (only read, never changed)"))?;
    for root in &roots {
        let path = ui.path(&escape(&root.path.to_string_lossy()));
        let state = if root.path.is_dir() { "" } else { "  not found" };
        ui.row(format_args!(
            "  {:<7} {path}{}",
            root.agent.as_str(),
            ui.paint(FAINT, state)
        ))?;
    }
    let directory = ui.path(&escape(&context.places.data_dir.to_string_lossy()));
    let to_read = match report.files_read {
        0 => format!("  nothing new to read; the memory is {directory}"),
        files => format!(
            "  {} to read, {}; about {} in {directory}",
            plural(files, "file"),
            measure::bytes(report.bytes_read),
            measure::bytes(report.bytes_read * SHARE_PERCENT / 100),
        ),
    };
    ui.row_wrapped(to_read, 4)?;
    Ok(report.files_seen)
}

/// Returns the order for a sweep of all roots.
fn order<'a>(
    context: &'a Context,
    roots: &'a [memory::sources::LogRoot],
    masker: &'a memory::mask::Masker,
) -> Order<'a> {
    Order {
        directory: &context.places.data_dir,
        roots,
        masker,
        is_dry: false,
        is_scheduled: false,
        lets_go: true,
        only: None,
    }
}

/// Prints which data is stored, for how long, and what happens afterwards.
fn show_retention(ui: &mut Ui, context: &Context) -> Result<(), CommandError> {
    let retention = &context.config.retention;
    ui.row(ui.paint(STRONG, "What is kept"))?;
    let age = match retention.raw_max_age_days {
        Some(days) => format!("up to {} after it was last read, and ", plural(days.into(), "day")),
        None => String::new(),
    };
    let cap = measure::bytes(retention.raw_soft_cap_bytes);
    let lines = [
        format!("  raw text  {age}up to {cap}; then the oldest goes first, after its digest is written"),
        "  digests   prompts, results, numbers, decisions and your notes: forever".to_owned(),
        "  secrets   masked before anything is written".to_owned(),
    ];
    for line in lines {
        ui.row_wrapped(line, 12)?;
    }
    let roots = context.memory_roots();
    let cleanup = doctor::plan_claude_cleanup(&roots, context.now, &|path| context.is_ignored(path));
    if let Some(cleanup) = cleanup {
        let days = plural(cleanup.period_days.into(), "day");
        let line = format!("  Claude Code deletes its own logs after {days}; what was read by then stays here");
        ui.row_wrapped(ui.paint(FAINT, line), 2)?;
    }
    Ok(())
}

/// Returns the limits of raw text: `45 days and up to 4.0 GiB`.
fn limits(retention: &Retention) -> String {
    let cap = measure::bytes(retention.raw_soft_cap_bytes);
    match retention.raw_max_age_days {
        Some(days) => format!("{} and up to {cap}", plural(days.into(), "day")),
        None => format!("any time, up to {cap}"),
    }
}

/// Asks for other limits and writes them into the user's configuration file.
fn change_retention(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    context: Context,
) -> Result<Context, CommandError> {
    let retention = context.config.retention;
    let days = retention
        .raw_max_age_days
        .map_or("never".to_owned(), |days| days.to_string());
    let cap = measure::bytes(retention.raw_soft_cap_bytes).replace(' ', "");
    let is_days = |text: &str| text == "never" || text.parse::<u32>().is_ok_and(|days| days > 0);
    let question = "Delete raw text after how many days, or `never`?";
    let Some(days) = ask_until(ui, question, &days, &is_days, "a number of days from 1, or `never`") else {
        return Ok(context);
    };
    let is_size = |text: &str| size_bytes(text).is_some();
    let question = "How much raw text may there be?";
    let Some(cap) = ask_until(ui, question, &cap, &is_size, "a size such as `4GiB` or `500MB`") else {
        return Ok(context);
    };
    let hard = raised_hard_cap(&retention, &cap).map(|hard| (HARD_CAP, hard.to_string()));
    let wanted: Vec<_> = [(MAX_AGE, days), (SOFT_CAP, cap)].into_iter().chain(hard).collect();
    let changed = with_limits(ui, surroundings, global, &wanted)?;
    write_limits(&changed, &wanted)?;
    let path = ui.path(&escape(&changed.places.user_config.path.to_string_lossy()));
    ui.status(format_args!("Wrote the limits to {path}"));
    Ok(changed)
}

/// Asks for a text until it is valid. Returns `None` at the end of input.
fn ask_until(
    ui: &mut Ui,
    question: &str,
    default: &str,
    is_valid: &dyn Fn(&str) -> bool,
    expected: &str,
) -> Option<String> {
    loop {
        let answer = ui.ask_text(question, default)?;
        if is_valid(&answer) {
            return Some(answer);
        }
        ui.warning(format_args!("expected {expected}"));
    }
}

/// Loads the configuration with other limits.
fn with_limits(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    wanted: &[(&'static str, String)],
) -> Result<Context, CommandError> {
    let mut flags = global.config.clone();
    for (name, text) in wanted {
        let assignment: Result<Assignment, String> = format!("{}.{name}={text}", RETENTION.join(".")).parse();
        flags.push(assignment.map_err(CommandError::usage)?);
    }
    Context::load(ui, surroundings, &flags)
}

/// Returns the hard limit that a new size limit needs, if it is above the current one.
fn raised_hard_cap(retention: &Retention, cap: &str) -> Option<u64> {
    let soft = size_bytes(cap).filter(|soft| *soft > retention.raw_hard_cap_bytes)?;
    Some(soft / 100 * HARD_CAP_PERCENT)
}

fn write_limits(context: &Context, wanted: &[(&'static str, String)]) -> Result<(), CommandError> {
    for (name, text) in wanted {
        let value = text.parse::<i64>().map_or_else(|_| text.into(), toml_edit::Value::from);
        let key = [RETENTION[0], RETENTION[1], name];
        write_key(&context.places.user_config.path, &key, value)?;
    }
    Ok(())
}

/// Sweeps and prints a one-line summary.
fn read_logs(ui: &mut Ui, context: &Context) -> Result<Outcome, CommandError> {
    let (roots, masker) = (context.memory_roots(), context.masker(true)?);
    let report = sweeping::sweep(ui, context, &order(context, &roots, &masker))?;
    let line = format!(
        "Read {}: {}, {} masked, {} in memory",
        plural(report.files_read, "file"),
        sessions_and_subagents(report.sessions_new, "new session", report.subagents_new),
        plural(report.redactions, "secret"),
        measure::bytes(report.tier1_bytes),
    );
    ui.status(line);
    for unread in &report.unread {
        ui.warning(format_args!("{}: {}", unread.path.display(), unread.reason));
    }
    Ok(tell_loss(ui, context, &report.evicted))
}

/// Runs another verb. If it fails, setup continues with the next step.
fn run_verb(ui: &mut Ui, surroundings: &Surroundings, global: &GlobalArgs, dispatch: &Dispatch, words: &[&str]) {
    let ran = (dispatch.run_verb)(ui, surroundings, global, words);
    if let Err(error) = ran {
        ui.warning(&error.message);
        if let Some(hint) = &error.hint {
            ui.hint(hint);
        }
    }
}
