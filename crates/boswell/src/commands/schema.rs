//! `boswell schema`: the JSON Schema of a verb's `--json` output.

use crate::answers::error::ErrorAnswer;
use crate::answers::schema::line_schema;
use crate::answers::start::SchemaAnswer;
use crate::answers::table::SCHEMAS;
use crate::error::{CommandError, Outcome};
use crate::ui::{Format, Ui};

/// The name of the schema of errors, which all verbs share.
const ERROR: &str = "error";
/// A suggestion that is less similar than this would be misleading.
const LIKENESS_MIN: f64 = 0.8;

/// Print the JSON Schema of a verb's `--json` output
///
/// The schema (draft 2020-12) is derived from the struct that is printed; that of JSON Lines describes one line. Without a verb, the verbs
/// that have a schema are listed. `boswell schema error` prints the schema of errors, which are the same for all verbs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell schema
  boswell schema sessions
  boswell schema hub status
  boswell schema usage > usage.schema.json")]
pub(crate) struct SchemaArgs {
    /// The verb, with its subcommand if it has one
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
}

pub(crate) fn run(ui: &mut Ui, args: &SchemaArgs) -> Result<Outcome, CommandError> {
    let name = args.verb.join(" ");
    if name.is_empty() {
        list(ui)?;
        return Ok(Outcome::Done);
    }
    let known = SCHEMAS.iter().find(|(verb, _)| *verb == name);
    let schema = match known {
        Some((_, schema)) => schema(),
        None if name == ERROR => line_schema::<ErrorAnswer<'static>>(),
        None => return Err(unknown(&name)),
    };
    match ui.format {
        // The schema itself is the whole output, so that it can be passed to a validator.
        Format::Json => ui.row_whole(schema)?,
        Format::Text => ui.row_whole(format_args!("{schema:#}"))?,
    }
    Ok(Outcome::Done)
}

fn list(ui: &mut Ui) -> Result<(), CommandError> {
    let verbs = SCHEMAS.iter().map(|(verb, _)| *verb);
    match ui.format {
        Format::Json => ui.answer(&SchemaAnswer { verbs: verbs.collect() }),
        Format::Text => verbs.into_iter().try_for_each(|verb| Ok(ui.row(verb)?)),
    }
}

fn unknown(name: &str) -> CommandError {
    let verbs = SCHEMAS.iter().map(|(verb, _)| *verb);
    let below = verbs.clone().find(|verb| verb.starts_with(&format!("{name} ")));
    let likeness = verbs.map(|verb| (strsim::jaro_winkler(name, verb), verb));
    let nearest = likeness.max_by(|a, b| a.0.total_cmp(&b.0));
    let nearest = nearest
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .map(|(_, verb)| verb);
    let nearest = below.or(nearest);
    let hint = match nearest {
        Some(verb) => format!("did you mean `boswell schema {verb}`?"),
        None => "`boswell schema` lists the verbs that have a schema".to_owned(),
    };
    CommandError::usage(format_args!("no schema of this verb: `{name}`")).with_hint(hint)
}
