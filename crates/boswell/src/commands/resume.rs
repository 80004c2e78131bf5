//! `boswell resume`: continues a session with its agent.

use std::path::{Path, PathBuf};
use std::process::Command;

use memory::restore;
use memory::session_text::SessionTexts;
use memory::store::{ListedSession, SessionStatus, Store};
use transcript::{Agent, SafeName};

use crate::answers::share::ResumeAnswer;
use crate::context::{Context, RootOrigin};
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::restoring::{plan, tell_masked, told};
use crate::session_arg::{Named, SESSION_HELP, open_memory, resolve};
use crate::shell::quoted;
use crate::ui::{Format, Ui};

/// Continue a session with its agent, in its directory
///
/// If its log is gone, it is restored first, as `boswell restore --in-place` does. Secrets were masked before anything
/// was stored, so the agent may see masked text in its own history.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell resume last
  boswell resume here
  boswell resume 5e55 --print             only print the command")]
pub(crate) struct ResumeArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Print the command without restoring or starting anything
    #[arg(long)]
    print: bool,
}

/// The command that continues a session.
struct Resume {
    directory: PathBuf,
    /// The environment variable with the agent's root, if it is not the default one.
    variable: Option<(&'static str, PathBuf)>,
    program: &'static str,
    arguments: Vec<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ResumeArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let named = resolve(&store, context, &args.session)?;
    let listed = find_listed(&store, &named)?;
    let log = store.reads().log_path(&named.session_uid)?;
    let is_gone = !Path::new(&log).is_file();
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store: &store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    let plan = if is_gone {
        let location = texts.locate(&named.session_uid)?;
        Some(plan(context, &texts, &named, &location, None)?)
    } else {
        None
    };
    let log = match &plan {
        Some(plan) => plan
            .files
            .iter()
            .find(|file| file.part == "log")
            .map(|file| file.path.clone()),
        None => Some(PathBuf::from(log)),
    };
    let resume = how(context, &store, &named, &listed, log.as_deref())?;
    if args.print || ui.format == Format::Json {
        if ui.format == Format::Json {
            ui.answer(&to_answer(&named, &resume, is_gone))?;
        } else {
            ui.row_whole(resume.line())?;
        }
        if is_gone {
            ui.hint("its log is gone: `boswell restore --in-place` gives it back, and so does this without `--print`");
        }
        return Ok(Outcome::Done);
    }
    let program = resume.find(context)?;
    if let Some(plan) = &plan {
        let written = restore::apply_restore(&texts, plan).map_err(told)?;
        ui.status(format_args!("Restored: {}", plural(written, "file")));
        tell_masked(ui, plan);
    }
    drop(store);
    ui.status(format_args!("Going on: {}", resume.line()));
    ui.flush()?;
    start(resume.command(&program), resume.program)
}

/// Checks that a session can be resumed here, without any change. The finder calls this before it leaves the screen.
pub(crate) fn check(context: &Context, session: &str) -> Result<(), CommandError> {
    let store = open_memory(context)?;
    let named = resolve(&store, context, session)?;
    let listed = find_listed(&store, &named)?;
    let resume = how(context, &store, &named, &listed, None)?;
    resume.find(context).map(|_| ())
}

fn find_listed(store: &Store, named: &Named) -> Result<ListedSession, CommandError> {
    let listed = store.reads().listed()?;
    let own = listed
        .into_iter()
        .find(|session| session.session_uid == named.session_uid);
    own.ok_or_else(|| CommandError::internal("a session that was named is not listed"))
}

/// Returns the command that continues the session, or an error if that is not possible.
fn how(
    context: &Context,
    store: &Store,
    named: &Named,
    listed: &ListedSession,
    log: Option<&Path>,
) -> Result<Resume, CommandError> {
    let uid = &named.session_uid;
    if named.status == SessionStatus::PromptsOnly {
        let message = format_args!("only prompts are left of this session: `{uid}`");
        return Err(CommandError::not_found("text-gone", message).with_hint("`boswell show` shows them"));
    }
    if listed.is_subagent {
        let view = store.reads().view(uid)?;
        let parent = view.and_then(|view| {
            let own = view.lineage.iter().find(|link| link.child_uid == view.session_uid);
            own.map(|link| link.parent_uid.to_string())
        });
        let error = CommandError::user(
            "resume-refused",
            format_args!("a subagent goes on with its session only: `{uid}`"),
        );
        return Err(match parent {
            Some(parent) => error.with_hint(format_args!("`boswell resume {parent}`")),
            None => error,
        });
    }
    let agent = memory::kept::agent_of(uid)?;
    // The id comes from a log, so it must not be taken for an option or a path.
    let id = SafeName::new(listed.native_session_id()).filter(|id| !id.as_str().starts_with('-'));
    let refused = || {
        CommandError::user(
            "resume-refused",
            format_args!("this id cannot be given to a program: `{uid}`"),
        )
    };
    let id = id.ok_or_else(refused)?.as_str().to_owned();
    let cwd = listed.cwd.as_deref().ok_or_else(|| {
        CommandError::user(
            "resume-refused",
            format_args!("the log does not name the directory of this session: `{uid}`"),
        )
    })?;
    let (program, arguments) = match agent {
        Agent::Claude => ("claude", vec!["--resume".to_owned(), id]),
        Agent::Codex => ("codex", vec!["resume".to_owned(), id]),
        Agent::Grok => ("grok", vec!["--resume".to_owned(), id]),
    };
    Ok(Resume {
        directory: PathBuf::from(cwd),
        variable: log.and_then(|log| other_root(context, agent, log)),
        program,
        arguments,
    })
}

/// Returns the environment variable with the agent's root if only Boswell's settings name that root.
fn other_root(context: &Context, agent: Agent, log: &Path) -> Option<(&'static str, PathBuf)> {
    let mut own = context
        .roots
        .iter()
        .filter(|root| root.agent == agent && log.starts_with(&root.path));
    let root = own.next().filter(|root| root.origin == RootOrigin::Config)?;
    let usual = match agent {
        Agent::Claude => (crate::env::CLAUDE_CONFIG_DIR, ".claude"),
        Agent::Codex => (crate::env::CODEX_HOME, ".codex"),
        Agent::Grok => (crate::env::GROK_HOME, ".grok"),
    };
    (root.path != context.places.home.join(usual.1)).then(|| (usual.0, root.path.clone()))
}

impl Resume {
    /// Returns the command as one line for a shell.
    fn line(&self) -> String {
        let mut words = vec![
            "cd".to_owned(),
            quoted(&self.directory.to_string_lossy()),
            "&&".to_owned(),
        ];
        if let Some((name, path)) = &self.variable {
            words.push(format!("{name}={}", quoted(&path.to_string_lossy())));
        }
        words.push(self.program.to_owned());
        words.extend(self.arguments.iter().map(|argument| quoted(argument)));
        words.join(" ")
    }

    /// Returns the path of the agent's program.
    fn find(&self, context: &Context) -> Result<PathBuf, CommandError> {
        if !self.directory.is_dir() {
            let directory = self.directory.display();
            let message = format_args!("the directory of this session is no longer there: `{directory}`");
            return Err(CommandError::user("directory-gone", message).with_hint(
                "create it again, or run `boswell resume SESSION --print` for the command to run elsewhere",
            ));
        }
        let ends: &[&str] = if cfg!(windows) {
            &[".exe", ".cmd", ".bat"]
        } else {
            &[""]
        };
        let names = || ends.iter().map(|end| format!("{}{end}", self.program));
        let mut places = context
            .search_path
            .iter()
            .flat_map(|place| names().map(move |name| place.join(name)));
        places.find(|place| place.is_file()).ok_or_else(|| {
            let message = format_args!("the agent's program is not on this machine: `{}`", self.program);
            CommandError::user("program-missing", message).with_hint("install it, or put its directory into `PATH`")
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(&self.arguments).current_dir(&self.directory);
        command.envs(self.variable.iter().map(|(name, path)| (*name, path)));
        command
    }
}

/// Replaces this process with the agent's program.
#[cfg(unix)]
fn start(mut command: Command, program: &str) -> Result<Outcome, CommandError> {
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(CommandError::user(
        "program-failed",
        format_args!("cannot start `{program}`: {error}"),
    ))
}

/// Runs the agent's program until it ends.
#[cfg(not(unix))]
fn start(mut command: Command, program: &str) -> Result<Outcome, CommandError> {
    let failed = |error| CommandError::user("program-failed", format_args!("cannot start `{program}`: {error}"));
    command.status().map_err(failed)?;
    Ok(Outcome::Done)
}

fn to_answer<'a>(named: &'a Named, resume: &'a Resume, is_gone: bool) -> ResumeAnswer<'a> {
    let mut command = vec![resume.program.to_owned()];
    command.extend(resume.arguments.iter().cloned());
    let variables = resume.variable.iter();
    ResumeAnswer {
        session_uid: &named.session_uid,
        cwd: &resume.directory,
        command,
        variables: variables
            .map(|(name, path)| (*name, path.to_string_lossy().into_owned()))
            .collect(),
        line: resume.line(),
        log_is_gone: is_gone,
    }
}
