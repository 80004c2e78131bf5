//! Writes rows as a Parquet file. Rows are buffered until a row group is full, then written column by column, because a
//! row group stores its columns one after the other.

use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::write::{Cell, Column, Kind, to_text};

/// Maximum number of rows in memory.
const GROUP_ROWS: usize = 20_000;

pub(super) struct Parquet {
    writer: SerializedFileWriter<File>,
    columns: Vec<Values>,
    rows: usize,
}

/// The values of a column, and the definition level of each row: `1` if the row has a value, otherwise `0`.
struct Values {
    present: Vec<i16>,
    of: Of,
}

enum Of {
    Text(Vec<ByteArray>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

impl Parquet {
    pub(super) fn new(file: File, columns: &[Column]) -> io::Result<Self> {
        let fields = columns
            .iter()
            .map(field)
            .collect::<Result<Vec<_>, _>>()
            .map_err(cannot)?;
        let schema = Type::group_type_builder("boswell")
            .with_fields(fields)
            .build()
            .map_err(cannot)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(cannot)?;
        Ok(Self {
            writer,
            columns: columns.iter().map(Values::of).collect(),
            rows: 0,
        })
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        for (values, cell) in self.columns.iter_mut().zip(cells) {
            values.push(cell);
        }
        self.rows += 1;
        if self.rows < GROUP_ROWS {
            return Ok(());
        }
        self.flush().map_err(cannot)
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for values in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let present = Some(values.present.as_slice());
            match &values.of {
                Of::Text(texts) => column.typed::<ByteArrayType>().write_batch(texts, present, None)?,
                Of::Int(numbers) => column.typed::<Int64Type>().write_batch(numbers, present, None)?,
                Of::Bool(flags) => column.typed::<BoolType>().write_batch(flags, present, None)?,
            };
            column.close()?;
            values.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.flush().map_err(cannot)?;
        }
        let file = self.writer.into_inner().map_err(cannot)?;
        file.sync_all()
    }
}

impl Values {
    fn of(column: &Column) -> Self {
        Self {
            present: Vec::new(),
            of: match column.1 {
                Kind::Text | Kind::Json => Of::Text(Vec::new()),
                Kind::Int | Kind::Time => Of::Int(Vec::new()),
                Kind::Bool => Of::Bool(Vec::new()),
            },
        }
    }

    fn push(&mut self, cell: Cell) {
        let is_present = match (&mut self.of, cell) {
            (Of::Text(texts), cell @ (Cell::Text(_) | Cell::Json(_))) => {
                texts.push(ByteArray::from(to_text(cell).into_bytes()));
                true
            }
            (Of::Int(numbers), Cell::Int(number)) => {
                numbers.push(number);
                true
            }
            (Of::Int(numbers), Cell::Time(at)) => {
                numbers.push(at.as_microsecond());
                true
            }
            (Of::Bool(flags), Cell::Bool(flag)) => {
                flags.push(flag);
                true
            }
            _ => false,
        };
        self.present.push(i16::from(is_present));
    }

    fn clear(&mut self) {
        self.present.clear();
        match &mut self.of {
            Of::Text(texts) => texts.clear(),
            Of::Int(numbers) => numbers.clear(),
            Of::Bool(flags) => flags.clear(),
        }
    }
}

fn field((name, kind): &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        Kind::Int => (Physical::INT64, None),
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    field.build().map(Arc::new)
}

fn cannot(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
