//! `boswell export`: writes the memory as tables for other programs.

#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "export/no_parquet.rs"]
mod parquet;
mod tables;
mod write;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use memory::store::{CopyRow, ListedSession, SessionStatus};

use self::tables::Table;
use self::write::Writer;
use crate::answers::share::{ExportAnswer, ExportedFile};
use crate::context::{Context, create_private_dir};
use crate::copies;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::interrupt::UnfinishedFile;
use crate::prices;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui, measure};

/// Write sessions, turns, events, calls and digests as tables
///
/// Writes one file per table into a directory. Texts are masked, as everywhere. docs/export.md describes the columns.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell export --to parquet -o tables
  boswell export --to csv -o tables --since 30d
  boswell export --to jsonl -o tables --tables sessions,calls")]
pub(crate) struct ExportArgs {
    /// Format of the files
    #[arg(long, value_name = "FORMAT")]
    to: To,
    /// Output directory; existing files are never overwritten
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Only these tables
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',')]
    tables: Vec<Table>,
    #[command(flatten)]
    filters: FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    Jsonl,
    Csv,
    Parquet,
}

impl To {
    fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ExportArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    let all: Vec<ListedSession> = store.reads().listed()?;
    let is_wanted = |session: &ListedSession| session.status != SessionStatus::PromptsOnly && filters.take(session);
    let wanted: Vec<bool> = all.iter().map(is_wanted).collect();
    let directory = context.places.current_dir.join(&args.output);
    create_private_dir(&directory).map_err(|error| cannot(&directory, &error))?;
    let tables: &[Table] = if args.tables.is_empty() {
        &Table::ALL
    } else {
        &args.tables
    };
    let path = |table: &Table| directory.join(format!("{}.{}", table.as_str(), args.to.extension()));
    // All paths are checked before anything is written, so that an existing file does not stop the export halfway.
    if let Some(taken) = tables.iter().map(path).find(|path| path.exists()) {
        let message = format!("{} is there already", taken.display());
        return Err(CommandError::user("exists", message).with_hint("name another directory"));
    }
    let mut written = Vec::new();
    // If a table fails, all files of this run are removed, because those already written would stop the next run.
    let mut unfinished = Vec::new();
    for table in tables {
        let path = path(table);
        let source = tables::Source {
            store: &store,
            sessions: &all,
            wanted: &wanted,
            prices: &prices,
            now: context.now,
        };
        let (mut writer, file) =
            Writer::create(&path, args.to, table.columns()).map_err(|error| cannot(&path, &error))?;
        unfinished.push(file);
        table.fill(&source, &mut writer).map_err(|error| error.told(&path))?;
        let rows = writer.finish().map_err(|error| cannot(&path, &error))?;
        written.push((*table, path, rows));
    }
    unfinished.into_iter().for_each(UnfinishedFile::keep);
    let taken = all.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
    note_copies(ui, context, taken.map(|(session, _)| session), &written);
    match ui.format {
        Format::Json => {
            let files = written.iter().map(|(table, path, rows)| ExportedFile {
                table: table.as_str(),
                path,
                rows: *rows,
            });
            ui.answer(&ExportAnswer { files: files.collect() })?;
        }
        Format::Text => {
            for (_, path, rows) in &written {
                ui.row(format_args!(
                    "{}  {} rows",
                    ui.path(&path.display().to_string()),
                    measure::count(*rows)
                ))?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Records which sessions are in the tables, so that `boswell forget` lists the files as their copies.
fn note_copies<'l>(
    ui: &mut Ui,
    context: &Context,
    sessions: impl Iterator<Item = &'l ListedSession>,
    written: &[(Table, PathBuf, u64)],
) {
    let copy = |session: &ListedSession, path: &Path| CopyRow {
        session_uid: session.session_uid.clone(),
        path: path.display().to_string(),
        kind: "table".to_owned(),
    };
    let copies: Vec<CopyRow> = sessions
        .flat_map(|session| written.iter().map(move |(_, path, _)| copy(session, path)))
        .collect();
    if !copies.is_empty() {
        copies::note(ui, context, "export", &copies);
    }
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::user("output", format_args!("cannot write {}: {error}", path.display()))
}
