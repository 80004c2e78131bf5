//! The Parquet writer of a build without the feature `parquet`: creating one returns an error.

use std::fs::File;
use std::io;

use super::write::{Cell, Column};

pub(super) enum Parquet {}

impl Parquet {
    pub(super) fn new(_: File, _: &[Column]) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this build of boswell has no Parquet; use `--to csv` or `--to jsonl`, or build it with `--features parquet`",
        ))
    }

    pub(super) fn row(&mut self, _: Vec<Cell>) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {}
    }
}
