//! The answer as text: the line and the evidence for its author, then the turns with their prompts and diffs.

use std::collections::BTreeSet;

use memory::why::{FileEdit, FileTouch};
use transcript::{Row, Side};

use super::{Shown, evidence, hunk_lines, show_command, sign};
use crate::error::CommandError;
use crate::render::text::{date_time, plural};
use crate::session_ids::short_id;
use crate::ui::{BAD, FAINT, GOOD, HEADING, STRONG, Ui, escape, escape_lines, in_one_line, measure};

/// Maximum number of diff rows shown per turn, unless all are requested.
const ROWS_MAX: usize = 24;
/// The number of rows shown before and after the requested line.
const ROWS_AROUND: usize = 4;
const PROMPT_COLUMNS: usize = 400;

impl Shown<'_> {
    pub(super) fn print(&self, ui: &mut Ui) -> Result<(), CommandError> {
        self.head(ui)?;
        for touch in &self.answer.touches {
            ui.row("")?;
            self.touch(ui, touch)?;
        }
        if self.left_out > 0 {
            let more = format!(
                "and {} more; `--limit` shows them",
                plural(self.left_out as u64, "turn")
            );
            ui.row("")?;
            ui.row(ui.paint(FAINT, more))?;
        }
        self.evicted(ui)
    }

    fn head(&self, ui: &mut Ui) -> Result<(), CommandError> {
        let answer = self.answer;
        let place = escape(&self.place.to_string_lossy()).into_owned();
        if let Some(likely) = &answer.likely {
            let words = format!(
                "Likely: {} of {} lines that sessions wrote to {} are in this file",
                likely.shared_lines,
                likely.written_lines,
                ui.path(&escape(&likely.path))
            );
            ui.row_wrapped(words, 2)?;
        }
        if let Some(line) = &answer.line {
            let place = format!("{place}:{}", line.number);
            let line_text = format!("{}  {}", ui.paint(STRONG, place), escape(line.text.trim()));
            ui.row_wrapped(line_text, 4)?;
            ui.row_wrapped(format!("  {}", evidence(line)), 4)?;
            if let Some(commit) = &line.commit {
                let at = date_time(commit.at, self.zone);
                let words = format!(
                    "  {}  {at}  {}",
                    &commit.sha[..commit.sha.len().min(10)],
                    in_one_line(&commit.subject)
                );
                ui.row_wrapped(ui.paint(FAINT, words).to_string(), 4)?;
            }
            return Ok(());
        }
        let sessions: BTreeSet<&str> = answer
            .touches
            .iter()
            .map(|touch| touch.session.session_uid.as_str())
            .collect();
        let about = match answer.touches.len() + self.left_out {
            0 => "no kept session edited it".to_owned(),
            turns if self.left_out > 0 => plural(turns as u64, "turn"),
            turns => format!(
                "{} in {}",
                plural(turns as u64, "turn"),
                plural(sessions.len() as u64, "session")
            ),
        };
        ui.row_wrapped(format!("{}  {about}", ui.paint(STRONG, place)), 4)?;
        let former: Vec<String> = answer
            .names
            .iter()
            .skip(1)
            .map(|name| escape(&name.to_string_lossy()).into_owned())
            .collect();
        if !former.is_empty() {
            ui.row_wrapped(
                ui.paint(FAINT, format!("  formerly {}", former.join(", "))).to_string(),
                4,
            )?;
        }
        Ok(())
    }

    fn touch(&self, ui: &mut Ui, touch: &FileTouch) -> Result<(), CommandError> {
        let at = touch.at.map(|at| date_time(at, self.zone)).unwrap_or_default();
        let turn = touch
            .turn
            .map_or("before the first prompt".to_owned(), |turn| format!("turn {turn}"));
        let agent = match touch.session.is_subagent {
            true => format!("a subagent of {}", touch.session.flavor()),
            false => touch.session.flavor().to_owned(),
        };
        let command = show_command(&short_id(self.store, &touch.session.session_uid)?, touch);
        ui.row_wrapped(ui.paint(HEADING, format!("{at}  {agent}, {turn}")).to_string(), 2)?;
        // A command on a line of its own can be copied.
        ui.row(format_args!("  {}", ui.paint(FAINT, escape(&command))))?;
        if let Some(prompt) = &touch.prompt {
            let prompt = in_one_line(prompt);
            ui.row_wrapped(format!("  > {}", measure::fit(&prompt, PROMPT_COLUMNS)), 4)?;
        }
        if touch.is_command && !touch.edits.is_empty() {
            ui.row("  no edit of it is recorded, but a command of this turn names it:")?;
        }
        let mut room = if self.full { usize::MAX } else { ROWS_MAX };
        for edit in &touch.edits {
            self.edit(ui, edit, touch.is_command, &mut room)?;
        }
        Ok(())
    }

    fn edit(&self, ui: &mut Ui, edit: &FileEdit, is_command: bool, room: &mut usize) -> Result<(), CommandError> {
        let summary = in_one_line(&edit.summary);
        let tool = escape(&edit.tool).into_owned();
        let words = if is_command { format!("{tool}: {summary}") } else { tool };
        let line = ui.paint(FAINT, format!("log line {}", edit.line)).to_string();
        ui.row_wrapped(format!("    {words}  {line}"), 6)?;
        let rows: Vec<(Side, String)> = match &self.answer.line {
            Some(line) if !self.full => around(edit, &line.text),
            _ => all_rows(edit),
        };
        let shown = rows.len().min(*room);
        for (side, row) in &rows[..shown] {
            let row = format!("      {}", escape_lines(row));
            match side {
                Side::Old => ui.row(ui.paint(BAD, row))?,
                Side::New => ui.row(ui.paint(GOOD, row))?,
                Side::Both => ui.row(row)?,
            }
        }
        if shown < rows.len() {
            let more = format!(
                "      and {}; `--full` shows them",
                plural((rows.len() - shown) as u64, "more line")
            );
            ui.row(ui.paint(FAINT, more))?;
        }
        *room -= shown;
        Ok(())
    }

    fn evicted(&self, ui: &mut Ui) -> Result<(), CommandError> {
        let evicted = &self.answer.evicted;
        if evicted.is_empty() {
            return Ok(());
        }
        ui.row("")?;
        let heading = match self.answer.line.is_some() {
            true => "Sessions whose text is gone edited this file, too; their digests do not tell which lines:",
            false => "Of these only digests are left, which tell that they edited it:",
        };
        ui.row_wrapped(heading, 2)?;
        for gone in evicted {
            let at = gone
                .session
                .last_micros
                .and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
            let at = at.map(|at| date_time(at, self.zone)).unwrap_or_default();
            let words = gone.prompt.as_deref().map(in_one_line).unwrap_or_default();
            let lead = format!(
                "  {at}  boswell digest {}  {}",
                escape(&gone.session.session_uid),
                plural(gone.edits, "edit")
            );
            let words = ui.paint(FAINT, measure::fit(&words, 80)).to_string();
            ui.row_wrapped(format!("{lead}  {words}"), 4)?;
        }
        Ok(())
    }
}

fn all_rows(edit: &FileEdit) -> Vec<(Side, String)> {
    let mut rows = Vec::new();
    for hunk in &edit.diff {
        let lines = hunk_lines(hunk);
        rows.extend(lines.first().map(|head| (Side::Both, head.clone())));
        rows.extend(hunk.rows.iter().map(told));
    }
    rows
}

/// Returns the rows around the requested line.
fn around(edit: &FileEdit, line: &str) -> Vec<(Side, String)> {
    let rows: Vec<&Row> = edit.diff.iter().flat_map(|hunk| &hunk.rows).collect();
    let is_it = |row: &&Row| row.side == Side::New && row.text.trim() == line.trim();
    let Some(at) = rows.iter().position(is_it) else {
        return all_rows(edit);
    };
    let (from, to) = (at.saturating_sub(ROWS_AROUND), (at + ROWS_AROUND + 1).min(rows.len()));
    rows[from..to].iter().map(|row| told(row)).collect()
}

fn told(row: &Row) -> (Side, String) {
    (row.side, format!("{}{}", sign(row.side), row.text))
}
