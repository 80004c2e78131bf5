//! Charts as SVG without a library: bars and a grid of squares. The page sets the colours, so that it can be light or
//! dark.

use std::fmt::Write;

use memory::stats::{DAYS, HOURS};
use render::escape_html as escape;

const BAR: u64 = 22;
const GAP: u64 = 6;
const PLOT: u64 = 120;

/// Returns a chart of vertical bars. Each bar is a value, its tooltip and its name; only some names are drawn.
pub(super) fn columns(label: &str, bars: &[(f64, String, String)]) -> String {
    let most = bars.iter().map(|(value, _, _)| *value).fold(0.0, f64::max);
    let width = bars.len() as u64 * (BAR + GAP) + GAP;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {width} {}\" width=\"{width}\" role=\"img\" aria-label=\"{}\">",
        PLOT + 24,
        escape(label)
    );
    // Only every n-th name is drawn, so that names do not overlap.
    let every = (60 / (BAR + GAP) + 1) as usize;
    for (at, (value, told, name)) in bars.iter().enumerate() {
        let height = if most > 0.0 {
            (value / most * PLOT as f64).max(if *value > 0.0 { 2.0 } else { 0.0 })
        } else {
            0.0
        };
        let x = GAP + at as u64 * (BAR + GAP);
        let y = PLOT as f64 - height;
        _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y:.1}\" width=\"{BAR}\" height=\"{height:.1}\" rx=\"3\"><title>{}</title></rect>",
            escape(told)
        );
        if at.is_multiple_of(every) {
            _ = write!(svg, "<text x=\"{x}\" y=\"{}\">{}</text>", PLOT + 18, escape(name));
        }
    }
    svg += "</svg>";
    svg
}

const CELL: usize = 20;
const LEFT: usize = 40;

/// Returns a grid with a row per day and a square per hour.
pub(super) fn grid(heat: &[[u64; HOURS]; DAYS], days: &[&str; DAYS]) -> String {
    let most = heat.iter().flatten().copied().max().unwrap_or_default().max(1);
    let (width, height) = (LEFT + HOURS * CELL, DAYS * CELL + 20);
    let mut svg = format!(
        "<svg class=\"chart grid\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"Calls by hour of the week\">"
    );
    for (row, (day, counts)) in days.iter().zip(heat).enumerate() {
        let y = row * CELL;
        _ = write!(svg, "<text x=\"0\" y=\"{}\">{day}</text>", y + 14);
        for (hour, count) in counts.iter().enumerate() {
            let opacity = if *count == 0 {
                0.06
            } else {
                0.15 + 0.85 * (*count as f64 / most as f64)
            };
            let x = LEFT + hour * CELL;
            _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"3\" fill-opacity=\"{opacity:.2}\"><title>{day} {hour}:00, {count} calls</title></rect>",
                CELL - 3,
                CELL - 3
            );
        }
    }
    for hour in (0..HOURS).step_by(6) {
        _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\">{hour}:00</text>",
            LEFT + hour * CELL,
            height - 4
        );
    }
    svg += "</svg>";
    svg
}

/// Returns a horizontal bar for a share of the largest value.
pub(super) fn lying(part: f64, most: f64) -> String {
    let percent = if most > 0.0 {
        (part / most * 100.0).clamp(0.0, 100.0)
    } else {
        0.0
    };
    format!("<span class=\"bar\"><span style=\"width:{percent:.1}%\"></span></span>")
}
