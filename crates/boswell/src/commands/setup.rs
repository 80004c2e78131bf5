//! `boswell setup`: the first run as a short conversation. It only asks; the verbs that it names do the work.

use super::sweep::{Order, sweep};
use crate::cli::{GlobalArgs, parse_verb};
use crate::context::{Context, Surroundings};
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::ui::{FAINT, STRONG, Ui, escape, measure};

/// What a memory takes of what the agents wrote, in hundredths: packs, rows and filters, as measured.
const SHARE_PERCENT: u64 = 25;

/// Begin: what will be read, what it takes, and what keeps it current
///
/// Shows where the agents keep their sessions, how much that is, and what the budget means; then asks whether to read it now,
/// to sweep by schedule, and to install hooks. Every answer can be changed later by the verb that it names.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell setup
  boswell setup --yes                 no questions: reads, and sweeps by schedule
  boswell setup --yes --hooks         the same, and the agents tell of their sessions")]
pub(crate) struct SetupArgs {
    /// Answer yes to reading and to the schedule
    #[arg(long)]
    yes: bool,
    /// Answer yes to hooks, which change the agents' settings
    #[arg(long)]
    hooks: bool,
}

pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    args: &SetupArgs,
) -> Result<Outcome, CommandError> {
    let context = Context::load(ui, surroundings, &global.config)?;
    let found = show_logs(ui, &context)?;
    show_budget(ui, &context)?;
    if found == 0 {
        ui.hint("no logs yet: work with an agent first, or see `boswell demo`");
    }
    let questions = [
        ("Read them now?", args.yes, &["sweep"][..], "`boswell sweep` reads them"),
        (
            "Sweep by schedule, so that nothing is forgotten?",
            args.yes,
            &["schedule", "install"],
            "`boswell schedule install` does it later",
        ),
        (
            "Let the agents tell when a session ends? It adds a line to their settings.",
            args.hooks,
            &["hooks", "install"],
            "`boswell hooks install` does it later",
        ),
    ];
    for (question, is_given, words, later) in questions {
        let is_yes = is_given || (!args.yes && ask(ui, question, words)?);
        if !is_yes {
            ui.hint(later);
            continue;
        }
        ui.flush()?;
        let command = parse_verb(words).ok_or_else(|| CommandError::internal("no such verb"))?;
        // One step that fails keeps nobody from the next one.
        if let Err(error) = super::run(ui, surroundings, global, command) {
            ui.warning(&error.message);
            if let Some(hint) = &error.hint {
                ui.hint(hint);
            }
        }
    }
    ui.status("Ready: `boswell` alone finds anything, `boswell diary` tells of yesterday");
    Ok(Outcome::Done)
}

fn ask(ui: &mut Ui, question: &str, words: &[&str]) -> Result<bool, CommandError> {
    ui.ask(question).ok_or_else(|| {
        CommandError::usage(format_args!("nobody is here to answer: {question}")).with_hint(format!(
            "`boswell setup --yes`, or `boswell {}` by itself",
            words.join(" ")
        ))
    })
}

/// Shows what there is to read, and gives back how many files.
fn show_logs(ui: &mut Ui, context: &Context) -> Result<u64, CommandError> {
    let roots = context.memory_roots();
    let order = Order {
        directory: &context.places.data_dir,
        roots: &roots,
        masker: &context.masker(false)?,
        is_dry: true,
        is_scheduled: false,
        lets_go: false,
        only: None,
    };
    let report = sweep(ui, context, &order)?;
    ui.row(ui.paint(STRONG, "What will be read, and never changed"))?;
    for root in &roots {
        let path = escape(&root.path.to_string_lossy()).into_owned();
        let state = if root.path.is_dir() { "" } else { "  not here" };
        ui.row(format_args!(
            "  {:<7} {path}{}",
            root.agent.as_str(),
            ui.paint(FAINT, state)
        ))?;
    }
    let place = escape(&context.places.data_dir.to_string_lossy()).into_owned();
    ui.row(format_args!(
        "  {} to read, {}; in memory about {}, in {place}",
        plural(report.files_read, "file"),
        measure::bytes(report.bytes_read),
        measure::bytes(report.bytes_read * SHARE_PERCENT / 100),
    ))?;
    Ok(report.files_seen)
}

fn show_budget(ui: &mut Ui, context: &Context) -> Result<(), CommandError> {
    let retention = &context.config.retention;
    ui.row(ui.paint(STRONG, "What is kept"))?;
    ui.row(format_args!(
        "  raw text up to {}: beyond that, sessions whose digest is written are let go, the oldest first",
        measure::bytes(retention.raw_soft_cap_bytes)
    ))?;
    ui.row("  digests, numbers, decisions and your own words: for good")?;
    ui.row("  secrets: masked before anything is written")?;
    ui.row(ui.paint(
        FAINT,
        "  `boswell config init` writes all settings into a file that you can edit",
    ))?;
    Ok(())
}
