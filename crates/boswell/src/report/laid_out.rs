//! Days on a terminal: headings, wrapped text and short citations instead of Markdown syntax.

use memory::report::DayReport;
use memory::store::Store;

use super::cited::{CitationStyle, ShortCitations};
use super::markdown;
use super::range;
use crate::answers::page::ReportRange;
use crate::error::CommandError;
use crate::render::text::PROSE_COLUMNS_MAX;
use crate::ui::Ui;
use crate::ui::markdown::{Ink, markdown_lines};

/// Prints one day, or several as one report.
pub(super) fn print(ui: &mut Ui, days: &[DayReport], store: Option<&Store>) -> Result<(), CommandError> {
    let cited: Vec<ShortCitations> = days
        .iter()
        .map(|day| ShortCitations::new(day, store))
        .collect::<Result<_, _>>()?;
    let text = match (days, cited.as_slice()) {
        ([day], [cited]) => markdown::day(day, CitationStyle::Short(cited)),
        (days, cited) => range::markdown(&ReportRange::new(days), |at| match cited.get(at) {
            Some(cited) => CitationStyle::Short(cited),
            None => CitationStyle::Workspace,
        }),
    };
    let columns = ui.columns().unwrap_or(PROSE_COLUMNS_MAX);
    let ink = if ui.has_color() { Ink::Color } else { Ink::Plain };
    ui.page()?;
    for line in markdown_lines(&text, PROSE_COLUMNS_MAX, columns, ink) {
        match ink {
            Ink::Color => ui.row_whole(line.to_ansi())?,
            Ink::Plain => ui.row_whole(line.text())?,
        }
    }
    Ok(ui.end_pages()?)
}
