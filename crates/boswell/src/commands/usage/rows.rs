//! Usage as rows of sums: a table, CSV or JSON.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use memory::store::ListedSession;
use memory::usage::{self, Bill, DimensionValue, UsageDimension, UsageGroup, UsageSum};
use serde_json::Value;

use super::{Report, UsageArgs};
use crate::answers::shared::UsageTotals;
use crate::answers::usage::{UsageAnswer, UsageKey, UsageRow, UsageRows};
use crate::error::CommandError;
use crate::money::cost;
use crate::session_ids::SessionIds;
use crate::ui::table::{self, Heading};
use crate::ui::{Format, HEADING, STRONG, Ui, escape, escape_lines, measure};

/// Maximum width of a bar.
const BAR_COLUMNS: usize = 12;
const NAME_COLUMNS_MAX: usize = 40;

pub(super) fn show(
    ui: &mut Ui,
    args: &UsageArgs,
    zone: &TimeZone,
    sessions: &[ListedSession],
    parents: &HashMap<String, String>,
    bills: &[Bill],
) -> Result<(), CommandError> {
    let by = args.dimensions();
    let mut rows = usage::group_bills(bills, sessions, parents, &by, zone);
    let is_by_time = matches!(
        by.first(),
        Some(UsageDimension::Day | UsageDimension::Week | UsageDimension::Month)
    );
    if !is_by_time {
        // Rows with the same first key stay together; the most expensive key comes first.
        rows = dearest_first(rows);
    }
    let total = rows_total(&rows);
    let subtotals = subtotals(&rows);
    let left_out = rows.len().saturating_sub(args.limit);
    if args.limit > 0 && left_out > 0 {
        let from = if is_by_time { left_out } else { 0 };
        rows = rows.drain(from..from + args.limit).collect();
        ui.hint(format_args!(
            "{} more rows; totals include them",
            measure::count(left_out as u64)
        ));
    }
    match ui.format {
        _ if args.csv => csv(ui, &rows, &by),
        Format::Json => ui.answer(&to_answer(&rows, &total, &by)),
        Format::Text => {
            let table = UsageTable {
                rows: &rows,
                total: &total,
                subtotals,
                by: &by,
            };
            table.print(ui, sessions)?;
            if total.reported.micros() > 0 {
                ui.hint("`*`: the cost, or a part of it, is the one in the log");
            }
            if args.report == Report::Session && args.by.is_empty() {
                ui.hint("usage of subagents is counted with the session that started them");
            }
            Ok(())
        }
    }
}

fn rows_total(rows: &[UsageGroup]) -> UsageSum {
    let mut total = UsageSum::default();
    for row in rows {
        total.merge(&row.sum);
    }
    total
}

fn dearest_first(rows: Vec<UsageGroup>) -> Vec<UsageGroup> {
    let mut groups: Vec<(UsageSum, Vec<UsageGroup>)> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some((sum, group)) if group[0].keys.first() == row.keys.first() => {
                sum.merge(&row.sum);
                group.push(row);
            }
            _ => groups.push((row.sum, vec![row])),
        }
    }
    groups.sort_by_key(|(sum, _)| std::cmp::Reverse((sum.money, sum.tokens.total())));
    groups.into_iter().flat_map(|(_, group)| group).collect()
}

/// The format of numbers in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberForm {
    /// `1,234,567`
    Full,
    /// `1.2M`
    Short,
}

/// Columns after those of the dimensions, in the order of [`numbers`].
const NUMBER_HEADINGS: [Heading; 7] = [
    ("input", true),
    ("output", true),
    ("cache read", true),
    ("cache write", true),
    ("reasoning", true),
    ("cost", true),
    ("", false),
];
/// Columns after those of the dimensions that a narrow terminal leaves out, the first one first: the bar, reasoning, the cache, input.
const DISPENSABLE: [usize; 5] = [6, 4, 3, 2, 0];

/// One line of the table: its labels and its sum.
struct UsageLine<'r> {
    names: Vec<String>,
    sum: &'r UsageSum,
    kind: LineKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Row,
    /// The sum of the rows that share their first name, such as a day.
    Subtotal,
    Total,
}

/// The data of a usage table.
struct UsageTable<'r> {
    rows: &'r [UsageGroup],
    total: &'r UsageSum,
    /// The sums of rows that share their first key, if there are several.
    subtotals: Vec<(DimensionValue, UsageSum)>,
    by: &'r [UsageDimension],
}

impl UsageTable<'_> {
    fn print(&self, ui: &mut Ui, sessions: &[ListedSession]) -> Result<(), CommandError> {
        let mut headings: Vec<Heading> = self.by.iter().map(|dimension| (heading(*dimension), false)).collect();
        headings.extend(NUMBER_HEADINGS);
        let lines = self.lines(sessions);
        let columns = ui.columns();
        let mut cells = self.cells(&lines, NumberForm::Full, columns);
        // Exact numbers are more useful than the bar, which is the last column.
        let numbers = &headings[..headings.len() - 1];
        if columns.is_some_and(|columns| table::width(numbers, &cells) > columns) {
            cells = self.cells(&lines, NumberForm::Short, columns);
        }
        let dispensable = DISPENSABLE.map(|at| at + self.by.len());
        let printed = table::fitted(&headings, &cells, columns, &dispensable);
        for (at, text) in printed.into_iter().enumerate() {
            match at.checked_sub(1).map(|at| lines[at].kind) {
                None => ui.row(ui.paint(HEADING, text))?,
                Some(LineKind::Row) => ui.row(text)?,
                Some(LineKind::Subtotal | LineKind::Total) => ui.row(ui.paint(STRONG, text))?,
            }
        }
        Ok(())
    }

    fn lines(&self, sessions: &[ListedSession]) -> Vec<UsageLine<'_>> {
        let ids = SessionIds::new(sessions);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let is_same =
                |other: Option<&UsageGroup>| other.is_some_and(|other| other.keys.first() == row.keys.first());
            let mut names: Vec<String> = row
                .keys
                .iter()
                .zip(self.by)
                .map(|(key, by)| cell(key, *by, sessions, &ids))
                .collect();
            // The first name is printed once for the rows that share it.
            if let Some(first) = names.first_mut().filter(|_| at > 0 && is_same(self.rows.get(at - 1))) {
                first.clear();
            }
            lines.push(UsageLine {
                names,
                sum: &row.sum,
                kind: LineKind::Row,
            });
            let subtotal = self.subtotals.iter().find(|(key, _)| Some(key) == row.keys.first());
            if let Some((_, sum)) = subtotal.filter(|_| !is_same(self.rows.get(at + 1))) {
                lines.push(UsageLine {
                    names: self.label(1, "total"),
                    sum,
                    kind: LineKind::Subtotal,
                });
            }
        }
        lines.push(UsageLine {
            names: self.label(0, "total"),
            sum: self.total,
            kind: LineKind::Total,
        });
        lines
    }

    fn label(&self, at: usize, label: &str) -> Vec<String> {
        let name = |column| if column == at { label.to_owned() } else { String::new() };
        (0..self.by.len()).map(name).collect()
    }

    fn cells(&self, lines: &[UsageLine<'_>], form: NumberForm, columns: Option<usize>) -> Vec<Vec<String>> {
        let most = self
            .rows
            .iter()
            .map(|row| weight(&row.sum, self.total))
            .fold(0.0, f64::max);
        let cells = |line: &UsageLine<'_>| {
            let mut cells = line.names.clone();
            cells.extend(numbers(line.sum, form));
            if columns.is_some() && line.kind == LineKind::Row {
                cells.push(table::bar(weight(line.sum, self.total), most, BAR_COLUMNS));
            }
            cells
        };
        lines.iter().map(cells).collect()
    }
}

/// Returns the sums of rows that share their first key, if several do.
fn subtotals(rows: &[UsageGroup]) -> Vec<(DimensionValue, UsageSum)> {
    let mut sums: Vec<(DimensionValue, UsageSum, usize)> = Vec::new();
    for row in rows {
        let Some(first) = row.keys.first() else { continue };
        match sums.last_mut().filter(|(key, ..)| key == first) {
            Some((_, sum, count)) => {
                sum.merge(&row.sum);
                *count += 1;
            }
            None => sums.push((first.clone(), row.sum, 1)),
        }
    }
    sums.retain(|(.., count)| *count > 1);
    sums.into_iter().map(|(key, sum, _)| (key, sum)).collect()
}

/// Returns the value that a bar shows: the cost or, if nothing has a price, tokens.
fn weight(sum: &UsageSum, total: &UsageSum) -> f64 {
    if total.money.micros() > 0 {
        sum.money.micros() as f64
    } else {
        sum.tokens.total() as f64
    }
}

fn numbers(sum: &UsageSum, form: NumberForm) -> [String; 6] {
    let tokens = &sum.tokens;
    let count = |number: u64| match (form, number) {
        (_, 0) => "0".to_owned(),
        (NumberForm::Full, number) => measure::count(number),
        (NumberForm::Short, number) => measure::short_count(number),
    };
    let some = |number: u64| if number == 0 { String::new() } else { count(number) };
    [
        count(tokens.input),
        count(tokens.output),
        some(tokens.cache_read),
        some(tokens.cache_write_5m.saturating_add(tokens.cache_write_1h)),
        some(tokens.reasoning),
        cost(sum),
    ]
}

fn heading(dimension: UsageDimension) -> &'static str {
    match dimension {
        UsageDimension::Week => "week of",
        dimension => dimension.as_str(),
    }
}

fn cell(key: &DimensionValue, by: UsageDimension, sessions: &[ListedSession], ids: &SessionIds<'_>) -> String {
    let text = match (key, by) {
        (DimensionValue::Date(None), _) => "no date".to_owned(),
        (DimensionValue::Date(Some(day)), UsageDimension::Month) => day.strftime("%Y-%m").to_string(),
        (DimensionValue::Date(Some(day)), _) => day.to_string(),
        (DimensionValue::Text(uid), UsageDimension::Session) => session_words(uid, sessions, ids),
        (DimensionValue::Text(text), UsageDimension::Project) => short_path(text),
        (DimensionValue::Text(text), _) if text.is_empty() => "-".to_owned(),
        (DimensionValue::Text(text), _) => text.to_string(),
    };
    measure::fit(&escape(&text), NAME_COLUMNS_MAX).into_owned()
}

/// Shortens a path to its last parts, because the end identifies it best.
fn short_path(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    match parts.len() {
        0 => "-".to_owned(),
        1 | 2 => path.to_owned(),
        count => format!("…/{}", parts[count - 2..].join("/")),
    }
}

fn session_words(uid: &str, sessions: &[ListedSession], ids: &SessionIds<'_>) -> String {
    let session = sessions.iter().find(|session| session.session_uid == uid);
    let id = ids.short(uid);
    let words = session.and_then(|session| session.said.name.as_deref().or(session.title.as_deref()));
    words.map_or(id.clone(), |words| format!("{id} {words}"))
}

const NUMBERS: [&str; 9] = [
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost_microusd",
    "reported_microusd",
    "calls",
    "unpriced_calls",
];

fn json_name(by: UsageDimension) -> &'static str {
    match by {
        UsageDimension::Day | UsageDimension::Week | UsageDimension::Month => "date",
        UsageDimension::Session => "session_uid",
        by => by.as_str(),
    }
}

fn usage_row(row: &UsageGroup, by: &[UsageDimension]) -> UsageRow {
    let mut answer = UsageRow::new(UsageTotals::from(&row.sum));
    for (key, by) in row.keys.iter().zip(by) {
        let value = match key {
            DimensionValue::Date(day) => day.map(|day| match by {
                UsageDimension::Month => day.strftime("%Y-%m").to_string(),
                _ => day.to_string(),
            }),
            DimensionValue::Text(text) => Some(text.to_string()).filter(|text| !text.is_empty()),
        };
        match by {
            UsageDimension::Day | UsageDimension::Week | UsageDimension::Month => answer.date = value,
            UsageDimension::Agent => answer.agent = value,
            UsageDimension::Model => answer.model = value,
            UsageDimension::Session => answer.session_uid = Some(UsageKey(value)),
            UsageDimension::Project => answer.project = Some(UsageKey(value)),
            UsageDimension::Branch => answer.branch = Some(UsageKey(value)),
            UsageDimension::Machine => answer.machine = Some(UsageKey(value)),
            UsageDimension::User => answer.user = Some(UsageKey(value)),
        }
    }
    answer
}

pub(super) fn to_answer(rows: &[UsageGroup], total: &UsageSum, by: &[UsageDimension]) -> UsageAnswer {
    UsageAnswer::Rows(UsageRows {
        rows: rows.iter().map(|row| usage_row(row, by)).collect(),
        totals: total.into(),
    })
}

fn csv(ui: &mut Ui, rows: &[UsageGroup], by: &[UsageDimension]) -> Result<(), CommandError> {
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let mut names: Vec<&str> = by.iter().map(|by| json_name(*by)).collect();
    names.extend(NUMBERS);
    let heading: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    ui.row_whole(table::csv(&heading))?;
    for row in rows {
        let object = serde_json::to_value(usage_row(row, by)).unwrap_or_default();
        let cells: Vec<String> = names.iter().filter_map(|name| object.get(*name).map(plain)).collect();
        ui.row_whole(escape_lines(&table::csv(&cells)))?;
    }
    Ok(())
}
