//! The pictures of the page: bars and curves as SVG, readable on a light and on a dark page.

use std::fmt::Write;

use crate::figures::{Curve, Fact, Figures};
use crate::page;

const WIDTH: f64 = 860.0;
/// The left edge of bars and curves.
const LEFT: f64 = 330.0;
const ROW: f64 = 24.0;
/// Colours that people with colour blindness can distinguish, on light and dark backgrounds.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b"];

const STYLE: &str = "<style>text{font:13px system-ui,sans-serif;fill:#57606a}.s{fill:#0072b2}.l{stroke:#8c959f;stroke-width:1;opacity:.5}\
                     @media(prefers-color-scheme:dark){text{fill:#adb5bd}.s{fill:#56a5dc}}</style>";

/// Returns all pictures by name.
pub fn all(figures: &Figures) -> Vec<(&'static str, String)> {
    let mut pictures = Vec::new();
    let peers = peers(figures);
    if !peers.is_empty() {
        pictures.push((
            "benchmarks-peers.svg",
            bars(&peers, "times as long as Boswell", Scale::Powers),
        ));
    }
    if let Some(job) = figures.jobs.get("read") {
        pictures.push((
            "benchmarks-roofline.svg",
            bars(&speeds(&job.facts), "MB/s", Scale::Even),
        ));
    }
    if let Some(job) = figures.jobs.get("grow") {
        pictures.push(("benchmarks-growth.svg", curves(&job.curves)));
    }
    pictures
}

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Even,
    Powers,
}

fn peers(figures: &Figures) -> Vec<(String, f64)> {
    let mut rows = Vec::new();
    for (name, job) in &figures.jobs {
        // That job compares with a process that does nothing, which is not a peer.
        if name == "list" {
            continue;
        }
        for contest in &job.contests {
            for way in contest.ways.iter().skip(1) {
                let is_peer = !way.name.starts_with("boswell") && way.name != "an empty page" && way.name != "wc -l";
                if let Some(times) = contest.times(way).filter(|_| is_peer) {
                    let program = way.name.split([' ', ',']).next().unwrap_or_default();
                    rows.push((format!("{}: {program}", contest.name), times));
                }
            }
        }
    }
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows
}

fn speeds(facts: &[Fact]) -> Vec<(String, f64)> {
    facts.iter().map(|fact| (fact.what.clone(), fact.value)).collect()
}

fn bars(rows: &[(String, f64)], unit: &str, scale: Scale) -> String {
    let most = rows.iter().map(|row| row.1).fold(1.0, f64::max);
    let least = match scale {
        Scale::Even => 0.0,
        Scale::Powers => rows.iter().map(|row| row.1).fold(1.0, f64::min),
    };
    let room = WIDTH - LEFT - 90.0;
    let at = |value: f64| match scale {
        Scale::Even => LEFT + room * value / most,
        Scale::Powers => LEFT + room * (value / least).ln() / (most / least).ln().max(1e-9),
    };
    let height = ROW * (rows.len() as f64 + 1.5);
    let mut picture = open(height, unit);
    let begin = if scale == Scale::Powers { at(1.0) } else { LEFT };
    for (number, (name, value)) in rows.iter().enumerate() {
        let y = ROW * (number as f64 + 1.0);
        let (from, to) = (begin.min(at(*value)), begin.max(at(*value)));
        _ = write!(
            picture,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><rect class=\"s\" x=\"{from:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"14\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            LEFT - 10.0,
            y + 12.0,
            escaped(name),
            y + 1.0,
            (to - from).max(1.5),
            to + 6.0,
            y + 12.0,
            page::ratio(*value),
        );
    }
    _ = writeln!(
        picture,
        "<line class=\"l\" x1=\"{begin:.1}\" y1=\"{ROW}\" x2=\"{begin:.1}\" y2=\"{:.0}\"/><text x=\"{LEFT}\" y=\"14\">{}</text></svg>",
        height - 10.0,
        escaped(unit)
    );
    picture
}

fn curves(curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let logs = || points().map(of).filter(|value| *value > 0.0).map(f64::log10);
        (
            logs().fold(f64::INFINITY, f64::min),
            logs().fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let ((left, right), (low, high)) = (ends(|point| point.0), ends(|point| point.1));
    let (low, high) = (low.floor(), high.ceil());
    let (x0, x1, y0, y1) = (70.0, WIDTH - 200.0, 360.0, 30.0);
    let x = |value: f64| x0 + (x1 - x0) * (value.log10() - left) / (right - left).max(1e-9);
    let y = |value: f64| y0 + (y1 - y0) * (value.log10() - low) / (high - low).max(1e-9);
    let mut picture = open(400.0, "seconds over megabytes of logs");
    for power in (low as i32)..=(high as i32) {
        let value = 10f64.powi(power);
        _ = write!(
            picture,
            "<line class=\"l\" x1=\"{x0}\" y1=\"{0:.1}\" x2=\"{x1}\" y2=\"{0:.1}\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(value),
            x0 - 8.0,
            y(value) + 4.0,
            page::seconds(value)
        );
    }
    for (size, _) in curves.first().map_or(&[][..], |curve| &curve.points) {
        _ = write!(
            picture,
            "<text x=\"{:.1}\" y=\"382\" text-anchor=\"middle\">{size:.0} MB</text>",
            x(*size)
        );
    }
    let end = |curve: &Curve| curve.points.last().map_or(y0, |last| y(last.1));
    let mut coloured: Vec<_> = curves.iter().zip(COLOURS.iter().cycle()).collect();
    // From the highest down, so that labels that are moved apart stay in the order of their curves.
    coloured.sort_by(|(one, _), (other, _)| end(one).total_cmp(&end(other)));
    let mut named: Vec<f64> = Vec::new();
    for (curve, colour) in coloured {
        let line: Vec<String> = curve
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)))
            .collect();
        let Some(last) = curve.points.last() else { continue };
        // Moves a label down if it would overlap another one.
        let mut at = y(last.1) + 4.0;
        while named.iter().any(|other| (other - at).abs() < 15.0) {
            at += 1.0;
        }
        named.push(at);
        _ = write!(
            picture,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/><text x=\"{:.1}\" y=\"{at:.1}\" style=\"fill:{colour}\">{}</text>",
            line.join(" "),
            x(last.0) + 8.0,
            escaped(&curve.name)
        );
    }
    picture.push_str("</svg>\n");
    picture
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\"><title>{}</title>{STYLE}",
        escaped(title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
