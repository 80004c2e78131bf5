//! `boswell demo`: a short tour on made-up logs, for a machine where no agent has run yet.

mod home;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::answers::page::DemoAnswer;
use crate::context::Surroundings;
use crate::dispatch::Dispatch;
use crate::env;
use crate::error::{CommandError, Outcome};
use crate::interrupt::UnfinishedFile;
use crate::ui::{FAINT, Format, HEADING, Ui, measure, prose};

/// Take a one-minute tour on made-up logs
///
/// Writes one session of each agent into a temporary home and runs a few commands there: search, `why`, usage, a page,
/// a film, and a deleted log that is restored. Then removes the home. Your own logs and memory are neither read nor
/// written.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell demo
  boswell demo -o /tmp/demo      keep the home, the page and the film")]
pub(crate) struct DemoArgs {
    /// Write the made-up home, the page and the film here and keep them
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Where the memory and the configuration are below the home: `HOME=DIR boswell` finds both.
const MEMORY: &str = ".local/share/boswell";
const CONFIG: &str = ".config/boswell/config.toml";

/// Width of the output if there is no terminal.
const COLUMNS: usize = 80;

/// Upper bound for the length of a made-up log's path below the home.
const PATH_COLUMNS: usize = 160;

/// One command of the tour.
struct TourStep {
    /// The purpose of the command.
    about: &'static str,
    /// The arguments; `{home}` is the made-up home.
    line: &'static str,
    /// At most this many lines of its output are shown.
    lines_max: usize,
}

const STEPS: &[TourStep] = &[
    TourStep {
        about: "Read the logs of all agents. Secrets are masked first.",
        line: "sweep",
        lines_max: 3,
    },
    TourStep {
        about: "Search everything that was asked, answered or run.",
        line: "search cookie reload",
        lines_max: 5,
    },
    TourStep {
        about: "Which turn changed this file, and what was asked?",
        line: "why /home/ada/shop/src/session.ts",
        lines_max: 9,
    },
    TourStep {
        about: "Tokens and cost; each API call counts once. `*`: the cost is in the log.",
        line: "usage --by agent",
        lines_max: 5,
    },
    TourStep {
        about: "A session as one page for the browser; it needs no network.",
        line: "render 5e55 -o {home}/page.html",
        lines_max: 2,
    },
    TourStep {
        about: "One turn as a film, for a chat or a pull request.",
        line: "render 5e55 --turns 1 -o {home}/film.gif --max-duration 15s",
        lines_max: 3,
    },
];

/// The last step, after the log was deleted.
const RESTORE: TourStep = TourStep {
    about: "The agent deleted its log. Boswell still has it.",
    line: "restore 5e55 --in-place",
    lines_max: 2,
};

pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    args: &DemoArgs,
    dispatch: &Dispatch,
) -> Result<Outcome, CommandError> {
    let create = || tempfile::Builder::new().prefix("boswell-demo-").tempdir();
    let (temporary, _unfinished) = UnfinishedFile::create(create, tempfile::TempDir::path).map_err(cannot_write)?;
    let current_dir = surroundings.places()?.current_dir;
    let home = match &args.output {
        Some(output) => current_dir.join(output),
        None => temporary.path().to_owned(),
    };
    let logs = home::write(&home, surroundings.now()?).map_err(cannot_write)?;
    if ui.format == Format::Json {
        // A program runs the commands itself and only needs the paths.
        ui.answer(&DemoAnswer {
            home: args.output.as_deref(),
            logs: names(&home, &logs),
        })?;
        return Ok(Outcome::Done);
    }
    show(ui, &surroundings_in(surroundings, &home)?, dispatch, &home, &logs)?;
    match &args.output {
        Some(_) => {
            let path = home.display();
            ui.status(format_args!(
                "Kept: the page, the film, the logs and their memory in {path}"
            ));
            ui.hint(format_args!("`HOME={path} boswell` searches them"));
        }
        None => ui.hint("`boswell demo -o DIR` keeps all this, with the page and the film"),
    }
    ui.hint("`boswell setup` starts with your own logs");
    Ok(Outcome::Done)
}

/// Returns surroundings in which all files of Boswell and of the agents are below `home`.
fn surroundings_in(surroundings: &Surroundings, home: &Path) -> Result<Surroundings, CommandError> {
    let config = home.join(CONFIG);
    fs::create_dir_all(config.parent().unwrap_or(home)).map_err(cannot_write)?;
    fs::write(&config, "").map_err(cannot_write)?;
    let below = |name: &str| OsString::from(home.join(name));
    let variables = [
        (env::BOSWELL_HOME, below(MEMORY)),
        (env::BOSWELL_CONFIG, below(CONFIG)),
        (env::BOSWELL_SYSTEM_CONFIG, below("etc/config.toml")),
        (env::CLAUDE_CONFIG_DIR, below(".claude")),
        (env::CODEX_HOME, below(".codex")),
        (env::GROK_HOME, below(".grok")),
    ];
    Ok(surroundings.with_environment(surroundings.environment.replace_own(&variables)))
}

fn show(
    ui: &mut Ui,
    surroundings: &Surroundings,
    dispatch: &Dispatch,
    home: &Path,
    logs: &[PathBuf],
) -> Result<(), CommandError> {
    for step in STEPS {
        show_title(ui, step.about, &format!("boswell {}", step.line.replace("{home}/", "")))?;
        run_step(ui, surroundings, dispatch, home, step)?;
    }
    let log = logs
        .first()
        .ok_or_else(|| CommandError::internal("the demo has no logs"))?;
    fs::remove_file(log).map_err(cannot_write)?;
    let name = log.strip_prefix(home).unwrap_or(log).display().to_string();
    show_title(ui, RESTORE.about, &format!("rm {name}"))?;
    ui.row(ui.paint(HEADING, format!("$ boswell {}", RESTORE.line)))?;
    run_step(ui, surroundings, dispatch, home, &RESTORE)
}

fn show_title(ui: &mut Ui, about: &str, command: &str) -> Result<(), CommandError> {
    ui.row_wrapped(ui.paint(FAINT, format!("# {about}")), 2)?;
    ui.row_wrapped(ui.paint(HEADING, format!("$ {command}")), 4)?;
    Ok(())
}

/// Runs a step and prints the beginning of its output, without hints and cut to the width of the terminal.
fn run_step(
    ui: &mut Ui,
    surroundings: &Surroundings,
    dispatch: &Dispatch,
    home: &Path,
    step: &TourStep,
) -> Result<(), CommandError> {
    let columns = ui.columns().unwrap_or(COLUMNS);
    let words = step.line.split(' ');
    let words = words.map(|word| OsString::from(word.replace("{home}", &home.to_string_lossy())));
    let arguments: Vec<OsString> = [OsString::from("boswell")].into_iter().chain(words).collect();
    // The path of the home is removed from the output below. Until then it must not cause line breaks.
    let (mut captured, printed) = match step.line.starts_with("restore") {
        true => ui.captured(columns + home.as_os_str().len() + PATH_COLUMNS),
        false => ui.captured(columns),
    };
    (dispatch.run_line)(&mut captured, surroundings, &arguments)?;
    captured.flush()?;
    // The command names its files relative to the home, so its output does too.
    let (path, short) = (
        format!("{}/", home.display()),
        captured.path(&format!("{}/", home.display())),
    );
    let printed = printed.text().replace(&path, "").replace(&short, "");
    let is_shown = |line: &&str| !line.trim().is_empty() && !prose::parse_ansi(line).text().starts_with("Hint:");
    let lines: Vec<&str> = printed.lines().filter(is_shown).collect();
    for line in lines.iter().take(step.lines_max) {
        ui.row(cut(line, columns))?;
    }
    ui.row("")?;
    Ok(())
}

/// Returns the beginning of a line, with `…` if it is wider than `columns`. Styles stay as they are.
fn cut(line: &str, columns: usize) -> String {
    let line = prose::parse_ansi(line);
    let mut room = columns;
    let mut short = prose::StyledLine::default();
    for part in &line.parts {
        // A part that ends at the edge still has to show that more follows.
        let is_last = std::ptr::eq(part, line.parts.last().unwrap_or(part));
        let width = measure::width(&part.text);
        if width < room || (is_last && width == room) {
            room -= width;
            short.push(part.text.clone(), part.style);
            continue;
        }
        short.push(measure::fit(&part.text, room).into_owned(), part.style);
        break;
    }
    short.to_ansi()
}

/// Returns the logs by their paths relative to the home.
fn names<'a>(home: &Path, logs: &'a [PathBuf]) -> Vec<&'a Path> {
    logs.iter().filter_map(|log| log.strip_prefix(home).ok()).collect()
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
    fn a_wide_line_is_cut_at_the_edge_and_keeps_its_styles() {
        assert_eq!(cut("12345", 5), "12345");
        assert_eq!(cut("123456", 5), "1234…");
        assert_eq!(cut("\x1b[1m12\x1b[0m3456", 5), "\x1b[1m12\x1b[0m34…");
    }
}
