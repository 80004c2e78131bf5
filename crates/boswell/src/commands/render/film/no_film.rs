//! Replaces `make` in a build without the feature `film`.

use std::io;

use indicatif::ProgressBar;
use render::Transcript;

use super::super::RenderArgs;
use super::super::write::Sink;
use crate::answers::page::FilmRecord;
use crate::error::CommandError;
use crate::ui::Ui;

pub(crate) enum Film {}

/// Returns an error that names the missing feature.
pub(super) fn check_support() -> Result<(), CommandError> {
    let error = CommandError::user("unsupported", "this build of boswell has no film support");
    Err(error.with_hint("build it with `--features film`, or use `--to html` or `--to md`"))
}

pub(crate) fn bar(_: &Ui) -> ProgressBar {
    ProgressBar::hidden()
}

pub(crate) fn make(_: &ProgressBar, _: &RenderArgs, _: &Transcript, _: &mut dyn Sink) -> io::Result<Film> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn tell(_: &mut Ui, film: &Film) {
    match *film {}
}

pub(crate) fn record(film: &Film) -> FilmRecord<'_> {
    match *film {}
}
