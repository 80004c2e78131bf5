//! The verbs, one file each. The doc comment of a verb is its help.
//!
//! A new verb needs four lines here (module, variant, an arm in `verb` and one in `run` or `run_in`) and a place in the
//! table of `cli.rs`, which determines where the help lists it.

mod bundle;
mod cat;
mod completions;
mod config;
mod days;
mod decide;
mod decisions;
mod demo;
mod diary;
mod digest;
mod doctor;
mod evict;
mod export;
mod forget;
mod hooks;
mod hub;
mod journal;
mod keep;
mod man;
mod mcp;
mod name;
mod note;
mod prepare;
pub(crate) mod read;
mod rebuild;
mod render;
mod report;
mod restore;
pub(crate) mod resume;
mod run;
mod schedule;
mod schema;
mod search;
mod secrets;
pub(crate) mod sessions;
mod setup;
mod show;
mod signals;
mod stats;
mod status;
mod statusline;
pub(crate) mod sweep;
mod tag;
mod usage;
mod watch;
mod why;

use crate::alerts;
use crate::catch_up::catch_up;
use crate::context::{Context, Surroundings};
use crate::dispatch::Dispatch;
use crate::error::{CommandError, Outcome};
use crate::global_args::GlobalArgs;
use crate::ui::Ui;

#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    Setup(setup::SetupArgs),
    Demo(demo::DemoArgs),
    Status(status::StatusArgs),
    Doctor(doctor::DoctorArgs),
    Search(search::SearchArgs),
    Secrets(secrets::SecretsArgs),
    Sessions(sessions::SessionsArgs),
    Show(show::ShowArgs),
    Why(why::WhyArgs),
    Usage(usage::UsageArgs),
    Stats(stats::StatsArgs),
    Statusline(statusline::StatuslineArgs),
    Digest(digest::DigestArgs),
    Signals(signals::SignalsArgs),
    Decisions(decisions::DecisionsArgs),
    Diary(diary::DiaryArgs),
    Prepare(prepare::PrepareArgs),
    Report(report::ReportArgs),
    Days(days::DaysArgs),
    Bundle(bundle::BundleArgs),
    Render(Box<render::RenderArgs>),
    Read(read::ReadArgs),
    Cat(cat::CatArgs),
    Export(export::ExportArgs),
    Restore(restore::RestoreArgs),
    Resume(resume::ResumeArgs),
    Sweep(sweep::SweepArgs),
    Evict(evict::EvictArgs),
    Keep(keep::KeepArgs),
    Forget(forget::ForgetArgs),
    Decide(decide::DecideArgs),
    Tag(tag::TagArgs),
    Note(note::NoteArgs),
    Name(name::NameArgs),
    Journal(journal::JournalArgs),
    Rebuild(rebuild::RebuildArgs),
    Watch(watch::WatchArgs),
    Schedule(schedule::ScheduleArgs),
    Hooks(hooks::HooksArgs),
    Hub(hub::HubArgs),
    Run(run::RunArgs),
    Mcp(mcp::McpArgs),
    Schema(schema::SchemaArgs),
    Config(config::ConfigArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Builds the clap command of one verb, without the others.
pub(crate) fn verb(name: &str) -> Option<clap::Command> {
    use clap::Args;
    let with_arguments: fn(clap::Command) -> clap::Command = match name {
        "setup" => setup::SetupArgs::augment_args,
        "demo" => demo::DemoArgs::augment_args,
        "status" => status::StatusArgs::augment_args,
        "doctor" => doctor::DoctorArgs::augment_args,
        "search" => search::SearchArgs::augment_args,
        "secrets" => secrets::SecretsArgs::augment_args,
        "sessions" => sessions::SessionsArgs::augment_args,
        "show" => show::ShowArgs::augment_args,
        "why" => why::WhyArgs::augment_args,
        "usage" => usage::UsageArgs::augment_args,
        "stats" => stats::StatsArgs::augment_args,
        "statusline" => statusline::StatuslineArgs::augment_args,
        "digest" => digest::DigestArgs::augment_args,
        "signals" => signals::SignalsArgs::augment_args,
        "decisions" => decisions::DecisionsArgs::augment_args,
        "diary" => diary::DiaryArgs::augment_args,
        "prepare" => prepare::PrepareArgs::augment_args,
        "report" => report::ReportArgs::augment_args,
        "days" => days::DaysArgs::augment_args,
        "bundle" => bundle::BundleArgs::augment_args,
        "render" => render::RenderArgs::augment_args,
        "read" => read::ReadArgs::augment_args,
        "cat" => cat::CatArgs::augment_args,
        "export" => export::ExportArgs::augment_args,
        "restore" => restore::RestoreArgs::augment_args,
        "resume" => resume::ResumeArgs::augment_args,
        "sweep" => sweep::SweepArgs::augment_args,
        "evict" => evict::EvictArgs::augment_args,
        "keep" => keep::KeepArgs::augment_args,
        "forget" => forget::ForgetArgs::augment_args,
        "decide" => decide::DecideArgs::augment_args,
        "tag" => tag::TagArgs::augment_args,
        "note" => note::NoteArgs::augment_args,
        "name" => name::NameArgs::augment_args,
        "journal" => journal::JournalArgs::augment_args,
        "rebuild" => rebuild::RebuildArgs::augment_args,
        "watch" => watch::WatchArgs::augment_args,
        "schedule" => schedule::ScheduleArgs::augment_args,
        "hooks" => hooks::HooksArgs::augment_args,
        "hub" => hub::HubArgs::augment_args,
        "run" => run::RunArgs::augment_args,
        "mcp" => mcp::McpArgs::augment_args,
        "schema" => schema::SchemaArgs::augment_args,
        "config" => config::ConfigArgs::augment_args,
        "completions" => completions::CompletionsArgs::augment_args,
        "man" => man::ManArgs::augment_args,
        _ => return None,
    };
    Some(with_arguments(clap::Command::new(name.to_owned())))
}

/// Runs one verb. Verbs that need no configuration work even if the configuration is invalid.
pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    command: Command,
    dispatch: &Dispatch,
) -> Result<Outcome, CommandError> {
    match command {
        Command::Config(args) => config::run(ui, surroundings, &global.config, args),
        Command::Completions(args) => completions::run(ui, &args, dispatch),
        Command::Man(args) => man::run(ui, &args, dispatch),
        Command::Schema(args) => schema::run(ui, &args),
        Command::Run(args) => run::run(ui, surroundings, global, &args),
        Command::Setup(args) => setup::run(ui, surroundings, global, &args, dispatch),
        Command::Demo(args) => demo::run(ui, surroundings, &args, dispatch),
        Command::Hooks(args) => {
            let context = Context::load(ui, surroundings, &global.config)?;
            hooks::run(ui, surroundings, &context, &args)
        }
        command => {
            let context = Context::load(ui, surroundings, &global.config)?;
            match &command {
                // These are read by programs, or report such problems themselves.
                Command::Statusline(_) | Command::Mcp(_) | Command::Status(_) | Command::Doctor(_) => {}
                _ => alerts::show_unseen(ui, &context.places.data_dir),
            }
            if answers_from_memory(&command) {
                catch_up(ui, &context, global.no_sweep)?;
            }
            run_in(ui, &context, command).map_err(|error| error.in_store(&context.places.data_dir))
        }
    }
}

/// Returns whether a verb reads new log text before it answers.
fn answers_from_memory(command: &Command) -> bool {
    match command {
        Command::Search(args) => return args.asks_memory(),
        Command::Render(args) => return args.asks_memory(),
        _ => {}
    }
    // `restore` is missing on purpose: a log that was truncated since must not be read before its stored text is
    // restored.
    matches!(
        command,
        Command::Sessions(_)
            | Command::Show(_)
            | Command::Why(_)
            | Command::Usage(_)
            | Command::Stats(_)
            | Command::Statusline(_)
            | Command::Export(_)
            | Command::Digest(_)
            | Command::Decide(_)
            | Command::Days(_)
            | Command::Diary(_)
            | Command::Report(_)
            | Command::Cat(_)
            | Command::Resume(_)
            | Command::Tag(_)
            | Command::Note(_)
            | Command::Name(_)
    )
}

/// Returns whether a verb reads or writes the memory.
fn uses_memory(command: &Command) -> bool {
    let others = matches!(
        command,
        Command::Search(_)
            | Command::Signals(_)
            | Command::Decisions(_)
            | Command::Prepare(_)
            | Command::Bundle(_)
            | Command::Restore(_)
            | Command::Sweep(_)
            | Command::Evict(_)
            | Command::Keep(_)
            | Command::Forget(_)
            | Command::Journal(_)
            | Command::Rebuild(_)
            | Command::Status(_)
    );
    others || answers_from_memory(command)
}

/// Runs a verb that needs the context.
fn run_in(ui: &mut Ui, context: &Context, command: Command) -> Result<Outcome, CommandError> {
    if let Some(open) = context.open_to_others().filter(|_| uses_memory(&command)) {
        ui.warning(open);
        ui.hint("`chmod 700` on it makes it yours alone");
    }
    match command {
        Command::Status(args) => status::run(ui, context, &args),
        Command::Doctor(args) => doctor::run(ui, context, &args),
        Command::Search(args) => search::run(ui, context, &args),
        Command::Secrets(args) => secrets::run(ui, context, &args),
        Command::Sessions(args) => sessions::run(ui, context, &args),
        Command::Show(args) => show::run(ui, context, &args),
        Command::Why(args) => why::run(ui, context, &args),
        Command::Usage(args) => usage::run(ui, context, &args),
        Command::Stats(args) => stats::run(ui, context, &args),
        Command::Export(args) => export::run(ui, context, &args),
        Command::Statusline(args) => statusline::run(ui, context, &args),
        Command::Digest(args) => digest::run(ui, context, &args),
        Command::Signals(args) => signals::run(ui, context, &args),
        Command::Decisions(args) => decisions::run(ui, context, &args),
        Command::Decide(args) => decide::run(ui, context, &args),
        Command::Diary(args) => diary::run(ui, context, &args),
        Command::Prepare(args) => prepare::run(ui, context, &args),
        Command::Report(args) => report::run(ui, context, &args),
        Command::Days(args) => days::run(ui, context, &args),
        Command::Bundle(args) => bundle::run(ui, context, &args),
        Command::Render(args) => render::run(ui, context, &args),
        Command::Read(args) => read::run(ui, context, &args),
        Command::Cat(args) => cat::run(ui, context, &args),
        Command::Restore(args) => restore::run(ui, context, &args),
        Command::Resume(args) => resume::run(ui, context, &args),
        Command::Tag(args) => tag::run(ui, context, &args),
        Command::Note(args) => note::run(ui, context, &args),
        Command::Name(args) => name::run(ui, context, &args),
        Command::Sweep(args) => sweep::run(ui, context, &args),
        Command::Evict(args) => evict::run(ui, context, &args),
        Command::Keep(args) => keep::run(ui, context, &args),
        Command::Forget(args) => forget::run(ui, context, &args),
        Command::Journal(args) => journal::run(ui, context, &args),
        Command::Rebuild(args) => rebuild::run(ui, context, &args),
        Command::Watch(args) => watch::run(ui, context, &args),
        Command::Schedule(args) => schedule::run(ui, context, &args),
        Command::Mcp(args) => mcp::run(ui, context, &args),
        Command::Hub(args) => hub::run(ui, context, &args),
        Command::Config(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Schema(_)
        | Command::Run(_)
        | Command::Setup(_)
        | Command::Demo(_)
        | Command::Hooks(_) => Err(CommandError::internal("this verb makes a context of its own")),
    }
}
