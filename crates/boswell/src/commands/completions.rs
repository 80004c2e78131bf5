//! `boswell completions`: prints a script that lets a shell complete our commands and flags.

use clap_complete::Shell;

use crate::answers::start::CompletionsAnswer;
use crate::dispatch::Dispatch;
use crate::error::{CommandError, Outcome};
use crate::ui::{Format, Ui};

/// Print a shell completion script
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell completions bash > ~/.local/share/bash-completion/completions/boswell
  boswell completions zsh > ~/.zfunc/_boswell
  boswell completions fish > ~/.config/fish/completions/boswell.fish
  boswell completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell that will read the script
    shell: Shell,
}

pub(crate) fn run(ui: &mut Ui, args: &CompletionsArgs, dispatch: &Dispatch) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (dispatch.command)(), "boswell", &mut script);
    let script = String::from_utf8(script)
        .map_err(|error| CommandError::internal(format_args!("the script is not text: {error}")))?;
    match ui.format {
        Format::Text => ui.write(|out| out.write_all(script.as_bytes()))?,
        Format::Json => ui.answer(&CompletionsAnswer {
            shell: args.shell.to_string(),
            script,
        })?,
    }
    Ok(Outcome::Done)
}
