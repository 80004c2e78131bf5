//! Formats a table of plain cells: as wide as its cells or as the terminal, without empty columns, numbers aligned to
//! the right.

use super::measure;

/// The heading of a column, and whether the column holds numbers.
pub(crate) type Heading = (&'static str, bool);

/// Between two columns.
const GAP: &str = "  ";
/// Minimum width of a column of text.
const TEXT_COLUMNS_MIN: usize = 8;

/// Returns the lines of a table, its headings first. Cells must be escaped; the last row may be a total.
pub(crate) fn lines(headings: &[Heading], rows: &[Vec<String>]) -> Vec<String> {
    lines_of_widths(headings, rows, &widths(headings, rows))
}

/// Returns the width of a table.
pub(crate) fn width(headings: &[Heading], rows: &[Vec<String>]) -> usize {
    total_width(&widths(headings, rows))
}

/// Returns the lines of a table that takes at most `columns` columns: columns are left out in the order of `dispensable`, then the widest
/// columns of text are cut. Without `columns` the table is as wide as its cells.
pub(crate) fn fitted(
    headings: &[Heading],
    rows: &[Vec<String>],
    columns: Option<usize>,
    dispensable: &[usize],
) -> Vec<String> {
    let mut widths = widths(headings, rows);
    let columns = columns.unwrap_or(usize::MAX);
    for at in dispensable {
        if total_width(&widths) > columns {
            widths[*at] = 0;
        }
    }
    while total_width(&widths) > columns {
        let texts = (0..widths.len()).filter(|at| !headings[*at].1 && widths[*at] > TEXT_COLUMNS_MIN);
        let Some(widest) = texts.max_by_key(|at| widths[*at]) else {
            break;
        };
        widths[widest] -= 1;
    }
    lines_of_widths(headings, rows, &widths)
        .into_iter()
        .map(|line| measure::fit(&line, columns).into_owned())
        .collect()
}

/// Returns the width of each column, 0 for a column without content.
fn widths(headings: &[Heading], rows: &[Vec<String>]) -> Vec<usize> {
    let cell = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| measure::width(cell));
    let widest = |at: usize| rows.iter().map(|row| cell(row, at)).max().unwrap_or_default();
    (0..headings.len())
        .map(|at| match widest(at) {
            0 => 0,
            widest => widest.max(measure::width(headings[at].0)),
        })
        .collect()
}

fn total_width(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0);
    let total: usize = shown.map(|width| width + GAP.len()).sum();
    total.saturating_sub(GAP.len())
}

fn lines_of_widths(headings: &[Heading], rows: &[Vec<String>], widths: &[usize]) -> Vec<String> {
    let line = |cells: &dyn Fn(usize) -> String| {
        let mut line = String::new();
        for (at, (_, is_number)) in headings.iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
            let cell = cells(at);
            let cell = measure::fit(&cell, widths[at]);
            let fill = " ".repeat(widths[at].saturating_sub(measure::width(&cell)));
            line += &if *is_number {
                format!("{fill}{cell}{GAP}")
            } else {
                format!("{cell}{fill}{GAP}")
            };
        }
        line.truncate(line.trim_end().len());
        line
    };
    let mut lines = vec![line(&|at| headings[at].0.to_owned())];
    lines.extend(
        rows.iter()
            .map(|row| line(&|at| row.get(at).cloned().unwrap_or_default())),
    );
    lines
}

/// Returns a bar of at most `columns` columns for `part` of `whole`, in eighths of a column.
pub(crate) fn bar(part: f64, whole: f64, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if whole <= 0.0 || part <= 0.0 {
        return String::new();
    }
    let eighths = ((part / whole).min(1.0) * columns as f64 * 8.0).round().max(1.0) as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// Returns cells as a line of a CSV file (RFC 4180).
pub(crate) fn csv(cells: &[String]) -> String {
    let quoted = |cell: &String| {
        if cell.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out_and_numbers_stand_right() {
        let rows = [
            vec!["a".into(), String::new(), "1,200".into()],
            vec!["bcd".into(), String::new(), "3".into()],
        ];
        let lines = lines(&[("name", false), ("nothing", false), ("n", true)], &rows);
        assert_eq!(lines, ["name      n", "a     1,200", "bcd       3"]);
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let headings = [("name", false), ("input", true), ("reasoning", true), ("bar", false)];
        let row = |name: &str| vec![name.to_owned(), "1,200".into(), "31".into(), "████".into()];
        let rows = [row("a-model-with-a-long-name"), row("b")];
        let fit = |columns| fitted(&headings, &rows, Some(columns), &[3, 2]);
        assert_eq!(fit(80), lines(&headings, &rows));
        assert_eq!(fit(width(&headings, &rows)), lines(&headings, &rows));
        assert_eq!(
            fit(42),
            [
                "name                      input  reasoning",
                "a-model-with-a-long-name  1,200         31",
                "b                         1,200         31"
            ]
        );
        assert_eq!(
            fit(20),
            ["name           input", "a-model-with…  1,200", "b              1,200"]
        );
        for columns in 1..60 {
            assert!(fit(columns).iter().all(|line| measure::width(line) <= columns));
        }
        assert_eq!(fitted(&headings, &rows, None, &[3, 2]), lines(&headings, &rows));
    }

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        assert_eq!(bar(1.0, 1.0, 2), "██");
        assert_eq!(bar(1.0, 4.0, 2), "▌");
        assert_eq!(bar(1.0, 1e9, 2), "▏");
        assert_eq!(bar(0.0, 4.0, 2), "");
        assert_eq!(bar(1.0, 0.0, 2), "");
    }

    #[test]
    fn a_cell_of_csv_may_hold_anything() {
        let cells = ["plain", "a,b", "say \"so\"", "two\nlines"].map(str::to_owned);
        assert_eq!(csv(&cells), "plain,\"a,b\",\"say \"\"so\"\"\",\"two\nlines\"");
    }
}
