//! `boswell man`: prints or writes the manual pages, which are generated from the help.

use std::fs;
use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::answers::start::{ManAnswer, ManFiles, ManPage};
use crate::dispatch::Dispatch;
use crate::error::{CommandError, Outcome};
use crate::ui::{Format, Ui};

/// Print the manual page, or write the pages of all commands
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell man | man -l -
  boswell man -o ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page per command into this directory
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(ui: &mut Ui, args: &ManArgs, dispatch: &Dispatch) -> Result<Outcome, CommandError> {
    let mut command = (dispatch.command)().disable_help_subcommand(true);
    command.build();
    match &args.output {
        Some(dir) => write_all(ui, &command, dir)?,
        None => print_first(ui, command)?,
    }
    Ok(Outcome::Done)
}

fn print_first(ui: &mut Ui, command: clap::Command) -> Result<(), CommandError> {
    let page = page(command)?;
    match ui.format {
        Format::Text => Ok(ui.write(|out| out.write_all(page.text.as_bytes()))?),
        Format::Json => ui.answer(&ManAnswer::Page(ManPage {
            name: page.name,
            text: page.text,
        })),
    }
}

fn write_all(ui: &mut Ui, command: &clap::Command, dir: &Path) -> Result<(), CommandError> {
    let cannot_write = |path: &Path, error: std::io::Error| {
        CommandError::user(
            "not-writable",
            format_args!("cannot write `{}`: {error}", path.display()),
        )
    };
    fs::create_dir_all(dir).map_err(|error| cannot_write(dir, error))?;
    let mut paths = Vec::new();
    for page in pages(command)? {
        let path = dir.join(page.name);
        fs::write(&path, page.text).map_err(|error| cannot_write(&path, error))?;
        paths.push(path);
    }
    if ui.format == Format::Json {
        let paths = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        ui.answer(&ManAnswer::Files(ManFiles { paths }))?;
    }
    ui.status(format_args!("Wrote {} pages: {}", paths.len(), dir.display()));
    Ok(())
}

/// A manual page and the name of its file.
struct Page {
    name: String,
    text: String,
}

/// Returns the pages of a command and of its visible subcommands.
fn pages(command: &clap::Command) -> Result<Vec<Page>, CommandError> {
    let mut pages = vec![page(command.clone())?];
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages.extend(self::pages(inner)?);
    }
    Ok(pages)
}

fn page(command: clap::Command) -> Result<Page, CommandError> {
    let man = Man::new(command).manual("Boswell");
    let mut text = Vec::new();
    let failed =
        |error: &dyn std::fmt::Display| CommandError::internal(format_args!("cannot write a manual page: {error}"));
    man.render(&mut text).map_err(|error| failed(&error))?;
    Ok(Page {
        name: man.get_filename(),
        text: String::from_utf8(text).map_err(|error| failed(&error))?,
    })
}
