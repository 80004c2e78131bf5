//! A table of plain cells: as wide as its cells are, columns without content left out, numbers to the right.

use super::measure;

/// One column's heading, and whether numbers stand in it.
pub(crate) type Heading = (&'static str, bool);

/// The lines of a table, its headings first. Cells are escaped already; a last row may be a sum.
pub(crate) fn lines(headings: &[Heading], rows: &[Vec<String>]) -> Vec<String> {
    let cell = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| measure::width(cell));
    let widest = |at: usize| rows.iter().map(|row| cell(row, at)).max().unwrap_or_default();
    let widths: Vec<usize> = (0..headings.len())
        .map(|at| match widest(at) {
            0 => 0,
            widest => widest.max(measure::width(headings[at].0)),
        })
        .collect();
    let line = |cells: &dyn Fn(usize) -> String| {
        let mut line = String::new();
        for (at, (_, is_number)) in headings.iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
            let cell = cells(at);
            let gap = " ".repeat(widths[at].saturating_sub(measure::width(&cell)));
            line += &if *is_number {
                format!("{gap}{cell}  ")
            } else {
                format!("{cell}{gap}  ")
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

/// A bar of at most `columns` columns for `part` of `whole`, in eighths of a column.
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

/// Cells as a line of a CSV file, as RFC 4180 has them.
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
