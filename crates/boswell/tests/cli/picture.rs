//! Draws a screen of tmux as a picture for the README: text and colours in, SVG out.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The size of a character in the picture, in pixels.
const CHAR_WIDTH: f64 = 8.4;
const LINE_HEIGHT: usize = 18;
const MARGIN: usize = 12;
const COLUMNS: usize = 100;

const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/finder.svg");

/// Compares the picture with the one in the docs; `BOSWELL_BLESS=1` writes it.
pub fn check_picture(screen: &str) {
    let picture = to_svg(screen);
    if std::env::var_os("BOSWELL_BLESS").is_some() {
        fs::write(PICTURE, &picture).unwrap();
    }
    let kept = fs::read_to_string(Path::new(PICTURE)).unwrap_or_default();
    assert!(
        kept == picture,
        "docs/finder.svg is out of date; `BOSWELL_BLESS=1` writes it\n{screen}"
    );
}

#[derive(Clone, Copy, PartialEq, Default)]
struct Pen {
    is_bold: bool,
    is_faint: bool,
    is_underlined: bool,
    color: Option<u8>,
}

impl Pen {
    /// Applies the numbers of one sequence: `0;1`, or `38;5;6`.
    fn take(&mut self, numbers: &str) {
        let mut numbers = numbers.split(';').map(|number| number.parse().unwrap_or(0_u8));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_faint = true,
                4 => self.is_underlined = true,
                30..=37 => self.color = Some(number - 30),
                38 => self.color = numbers.nth(1),
                39 => self.color = None,
                49 => {}
                other => panic!("the picture does not know this style: {other}"),
            }
        }
    }

    fn attributes(self) -> String {
        let color = match self.color {
            Some(3) => "#e5c07b",
            Some(6) => "#56b6c2",
            _ if self.is_faint => "#8b929e",
            _ => "#dcdfe4",
        };
        let mut text = format!("fill=\"{color}\"");
        if self.is_bold {
            text += " font-weight=\"bold\"";
        }
        if self.is_underlined {
            text += " text-decoration=\"underline\"";
        }
        text
    }
}

fn to_svg(screen: &str) -> String {
    let lines: Vec<&str> = screen.trim_end().lines().collect();
    let width = (COLUMNS as f64 * CHAR_WIDTH) as usize + 2 * MARGIN;
    let height = lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <title>The finder: hits at the left, the turn beside them</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>\n"
    );
    let mut pen = Pen::default();
    for (at, line) in lines.iter().enumerate() {
        let y = MARGIN + at * LINE_HEIGHT + 14;
        let mut column = 0;
        for (at, run) in line.split('\u{1b}').enumerate() {
            let text = match run.strip_prefix('[').filter(|_| at > 0) {
                Some(rest) => {
                    let (numbers, text) = rest.split_once('m').unwrap();
                    pen.take(numbers);
                    text
                }
                None => run,
            };
            push_run(&mut svg, text, column, y, pen);
            column += text.chars().count();
        }
    }
    svg + "</svg>\n"
}

/// Writes a run of text in one style. It has an explicit width, so that columns align in every font.
fn push_run(svg: &mut String, text: &str, column: usize, y: usize, pen: Pen) {
    let shown = text.trim();
    if shown.is_empty() {
        return;
    }
    let lead = text.chars().count() - text.trim_start().chars().count();
    let x = MARGIN as f64 + (column + lead) as f64 * CHAR_WIDTH;
    let length = shown.chars().count() as f64 * CHAR_WIDTH;
    let shown = shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{length:.1}\" xml:space=\"preserve\" {}>{shown}</text>",
        pen.attributes()
    )
    .unwrap();
}
