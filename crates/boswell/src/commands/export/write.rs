//! Writes rows of typed cells to a file as JSON Lines, CSV or Parquet. This module does not know the tables.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::To;
use super::parquet::Parquet;
use crate::interrupt::UnfinishedFile;
use crate::ui::table;

/// The type of a column. Every cell may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Int,
    Bool,
    Time,
    /// A JSON value, written as text if the format has no such type.
    Json,
}

/// The name and type of a column.
pub(super) type Column = (&'static str, Kind);

#[derive(Debug, Clone)]
pub(super) enum Cell {
    Null,
    Text(String),
    Int(i64),
    Bool(bool),
    Time(Timestamp),
    Json(Value),
}

impl Cell {
    pub(super) fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    pub(super) fn count(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn count_opt(number: Option<u64>) -> Self {
        number.map_or(Self::Null, Self::count)
    }

    pub(super) fn time(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Null, Self::Time)
    }

    pub(super) fn micros(at: Option<i64>) -> Self {
        Self::time(at.and_then(|at| Timestamp::from_microsecond(at).ok()))
    }

    pub(super) fn flag(flag: Option<bool>) -> Self {
        flag.map_or(Self::Null, Self::Bool)
    }
}

pub(super) struct Writer {
    columns: &'static [Column],
    out: Out,
    rows: u64,
}

enum Out {
    Jsonl(BufWriter<File>),
    Csv(BufWriter<File>),
    Parquet(Box<Parquet>),
}

impl Writer {
    /// Creates the file. Returns an error if it exists.
    pub(super) fn create(path: &Path, to: To, columns: &'static [Column]) -> io::Result<(Self, UnfinishedFile)> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let create = || Ok((options.open(path)?, path));
        let ((file, _), unfinished) = UnfinishedFile::create(create, |(_, path)| path)?;
        let out = match to {
            To::Jsonl => Out::Jsonl(BufWriter::new(file)),
            To::Csv => {
                let mut file = BufWriter::new(file);
                let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
                writeln!(file, "{}", table::csv(&names))?;
                Out::Csv(file)
            }
            To::Parquet => Out::Parquet(Box::new(Parquet::new(file, columns)?)),
        };
        Ok((Self { columns, out, rows: 0 }, unfinished))
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        self.rows += 1;
        match &mut self.out {
            Out::Jsonl(file) => {
                let names = self.columns.iter().map(|(name, _)| (*name).to_owned());
                let object: Map<String, Value> = names.zip(cells.into_iter().map(to_json)).collect();
                serde_json::to_writer(&mut *file, &object)?;
                file.write_all(b"\n")
            }
            Out::Csv(file) => {
                let cells: Vec<String> = cells.into_iter().map(to_text).collect();
                writeln!(file, "{}", table::csv(&cells))
            }
            Out::Parquet(file) => file.row(cells),
        }
    }

    /// Syncs the file to disk and returns the number of rows.
    pub(super) fn finish(self) -> io::Result<u64> {
        match self.out {
            Out::Jsonl(file) | Out::Csv(file) => {
                file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?
            }
            Out::Parquet(file) => file.finish()?,
        }
        Ok(self.rows)
    }
}

fn to_json(cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Text(text) => Value::String(text),
        Cell::Int(number) => number.into(),
        Cell::Bool(flag) => flag.into(),
        Cell::Time(at) => at.to_string().into(),
        Cell::Json(value) => value,
    }
}

pub(super) fn to_text(cell: Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Text(text) => text,
        Cell::Int(number) => number.to_string(),
        Cell::Bool(flag) => flag.to_string(),
        Cell::Time(at) => at.to_string(),
        Cell::Json(value) => value.to_string(),
    }
}
