//! `boswell config`: writes, shows and finds the configuration.

use std::io::Write;
use std::path::Path;

use memory::store::DatabaseServer;
use toml::Value;

use crate::answers::machine::{
    ConfigInitAnswer, ConfigOrigin, ConfigPath, ConfigPathAnswer, ConfigShowAnswer, ConfigValue,
};
use crate::config::{Assignment, DEFAULTS, Origin, Setting, size_bytes, without_credentials};
use crate::context::{Context, Places, Surroundings, create_private_dir};
use crate::error::{CommandError, Outcome};
use crate::ui::{FAINT, Format, HEADING, Ui, escape, measure};

/// Origins are aligned in one column. Values wider than this do not move it.
const COLUMNS_MAX: usize = 60;

/// Write, show and find the configuration
///
/// Settings are merged key by key from the defaults, the system file, the user file, the environment and the command
/// line; later sources override earlier ones.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell config init          start from a commented copy of the defaults
  boswell config show          every setting, and where its value comes from
  boswell config path          where the files are looked for")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(clap::Subcommand, Debug)]
enum ConfigCommand {
    Init(InitArgs),
    Show(ShowArgs),
    Path(PathArgs),
}

/// Write a commented copy of the defaults to the user file
///
/// All keys are in it as comments, so that a default that changes later still reaches you. The file is private to you.
/// An existing file is kept unless `--force` is given.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell config init
  BOSWELL_CONFIG=./boswell.toml boswell config init
  boswell config init --force")]
struct InitArgs {
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Show every setting, and where its value comes from
///
/// The output is itself a configuration file.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell config show
  boswell config show --json
  boswell config show --config session_memory.retention.cadence=weekly")]
struct ShowArgs {}

/// Show where configuration files are looked for, and which exist
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell config path
  boswell config path --json")]
struct PathArgs {}

pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    flags: &[Assignment],
    args: ConfigArgs,
) -> Result<Outcome, CommandError> {
    match args.command {
        ConfigCommand::Init(args) => init(ui, &surroundings.places()?.user_config.path, &args)?,
        ConfigCommand::Show(_) => {
            let context = Context::load(ui, surroundings, flags)?;
            show(ui, &context)?;
        }
        ConfigCommand::Path(_) => show_paths(ui, &surroundings.places()?)?,
    }
    Ok(Outcome::Done)
}

fn init(ui: &mut Ui, path: &Path, args: &InitArgs) -> Result<(), CommandError> {
    let cannot_write = |error: &dyn std::fmt::Display| {
        CommandError::user(
            "not-writable",
            format_args!("cannot write `{}`: {error}", path.display()),
        )
    };
    // If the path is a link, write the file that it points to, because replacing the link would leave the user's own
    // file unchanged.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let dir = path
        .parent()
        .ok_or_else(|| cannot_write(&"it is not the name of a file"))?;
    create_private_dir(dir).map_err(|error| cannot_write(&error))?;
    // Write a temporary file and move it into place, so that the file is complete or absent. It is private from the
    // start.
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(|error| cannot_write(&error))?;
    file.write_all(commented_defaults().as_bytes())
        .map_err(|error| cannot_write(&error))?;
    file.as_file().sync_all().map_err(|error| cannot_write(&error))?;
    let written = if args.force {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    written.map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => CommandError::user(
            "exists",
            format_args!("there is a configuration file already: `{}`", path.display()),
        )
        .with_hint("edit it, or replace it with `boswell config init --force`"),
        _ => cannot_write(&error.error),
    })?;
    if ui.format == Format::Json {
        ui.answer(&ConfigInitAnswer {
            path: &path.to_string_lossy(),
        })?;
    }
    ui.status(format_args!("Wrote: {}", path.display()));
    ui.hint("edit it, then see what holds with `boswell config show`");
    Ok(())
}

/// Returns the defaults with every key as a comment under its table.
fn commented_defaults() -> String {
    let comment = |line: &str| match line.chars().next() {
        None | Some('#' | '[') => format!("{line}\n"),
        Some(_) => format!("# {line}\n"),
    };
    DEFAULTS.lines().map(comment).collect()
}

/// Returns the value to show for a setting, without the credentials that the URL of a database may contain.
fn shown(setting: &Setting) -> Value {
    match &setting.value {
        Value::String(text) if setting.key.name() == "url" => {
            let server = DatabaseServer::of_url(text).map(|server| server.to_string());
            Value::String(server.unwrap_or_else(|_| without_credentials(text).into_owned()))
        }
        other => other.clone(),
    }
}

fn show(ui: &mut Ui, context: &Context) -> Result<(), CommandError> {
    if ui.format == Format::Json {
        let values = context.settings.iter().map(value_record).collect();
        return ui.answer(&ConfigShowAnswer { values });
    }
    for (at, (table, settings)) in context.settings.by_table().enumerate() {
        if at > 0 {
            ui.row("")?;
        }
        ui.row(ui.paint(HEADING, format_args!("[{table}]")))?;
        let text = |setting: &Setting| format!("{} = {}", setting.key.relative(), shown(setting));
        let texts: Vec<String> = settings
            .iter()
            .map(|setting| escape(&text(setting)).into_owned())
            .collect();
        let columns = texts
            .iter()
            .map(|text| measure::width(text))
            .filter(|columns| *columns <= COLUMNS_MAX)
            .max();
        for (setting, text) in settings.iter().zip(&texts) {
            let origin = match &setting.origin {
                Origin::Default => "# default".to_owned(),
                origin => format!("# from {}", escape(&origin.to_string())),
            };
            let gap = columns.unwrap_or(0).saturating_sub(measure::width(text));
            ui.row_whole(format_args!("{text}{:gap$}  {}", "", ui.paint(FAINT, origin)))?;
        }
    }
    Ok(())
}

fn show_paths(ui: &mut Ui, places: &Places) -> Result<(), CommandError> {
    let path = |name, path: &Path| ConfigPath {
        name,
        path: path.to_string_lossy().into_owned(),
        exists: path.exists(),
    };
    let paths = vec![
        path("system", &places.system_config.path),
        path("user", &places.user_config.path),
        path("data", &places.data_dir),
    ];
    if ui.format == Format::Json {
        return ui.answer(&ConfigPathAnswer { paths });
    }
    for ConfigPath { name, path, exists } in paths {
        let state = if exists { "exists" } else { "absent" };
        ui.row(format_args!(
            "{name:<6}  {}  {}",
            ui.paint(FAINT, state),
            ui.path(&escape(&path))
        ))?;
    }
    Ok(())
}

/// Returns a setting with its value and its origin. Sizes are numbers of bytes, however they were written.
fn value_record(setting: &Setting) -> ConfigValue {
    let size = match &setting.value {
        Value::String(text) if setting.key.name().ends_with("_bytes") => size_bytes(text),
        _ => None,
    };
    ConfigValue {
        key: setting.key.to_string(),
        value: size.map_or_else(
            || serde_json::to_value(shown(setting)).unwrap_or_default(),
            serde_json::Value::from,
        ),
        origin: origin_record(&setting.origin),
    }
}

fn origin_record(origin: &Origin) -> ConfigOrigin {
    match origin {
        Origin::Default => ConfigOrigin::Default,
        Origin::File { path, line } => ConfigOrigin::File {
            path: path.to_string_lossy().into_owned(),
            line: *line,
        },
        Origin::Variable(name) => ConfigOrigin::Environment { variable: name.clone() },
        Origin::Flag => ConfigOrigin::Flag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_the_defaults_sets_no_key_and_every_key_is_one_character_away() {
        let copy = commented_defaults();
        let table: toml::Table = copy.parse().unwrap();
        assert!(
            !table["session_memory"]["retention"]
                .as_table()
                .unwrap()
                .contains_key("cadence")
        );
        let uncommented: String = copy
            .lines()
            .map(|line| {
                let is_key = line
                    .strip_prefix("# ")
                    .is_some_and(|rest| DEFAULTS.lines().any(|line| line == rest));
                format!("{}\n", if is_key { &line[2..] } else { line })
            })
            .collect();
        assert_eq!(uncommented, DEFAULTS);
    }
}
