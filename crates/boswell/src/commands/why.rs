//! `boswell why`: finds the turns that touched a file, and the one that wrote a line.

mod text;

use std::path::{Path, PathBuf};

use memory::store::{ListedSession, Store};
use memory::why::{
    self, EvictedEdits, FileAnswer, FileEdit, FileQuery, FileTouch, LineOrigin, LineVerdict, RecordedPath, WhyError,
};
use transcript::{Hunk, Side};

use crate::answers::why::{WhyAnswer, WhyEdit, WhyEvicted, WhyLine, WhyTouch};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::render::text::plural;
use crate::session_arg::open_memory;
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure, shell_word};
use crate::zone_arg::zone_of;

/// Show which turns edited a file or wrote a line, with their prompts
///
/// For a file: all turns that edited it, newest first, with the prompt and the diff; then turns that only name it in a
/// command that may write it. Clones and worktrees of a repository count as one, and so do earlier names of the file.
/// For a line: the turn that wrote it in its present form, according to the edits in the logs and git's history, and
/// how that is known. A line that no log records did not come from a session.
///
/// A name without a file here is looked up among the paths that sessions edited, by its end: `pool.rs` finds
/// `/home/you/app/src/pool.rs`. If several paths match, they are listed; `--repo` chooses a repository. A file whose
/// text matches the recorded edits of another path is answered as likely.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell why src/pool.rs                       turns that edited it, newest first
  boswell why src/pool.rs:42                    the turn that wrote this line
  boswell why pool.rs                           any recorded path that ends with this
  boswell why --repo app src/pool.rs            in another repository
  boswell why src/pool.rs --agent codex --full  only Codex, with whole diffs
  boswell why src/pool.rs:42 --json")]
pub(crate) struct WhyArgs {
    /// A file, which may be deleted; with `:LINE` one line of it
    #[arg(value_name = "PATH[:LINE]")]
    place: PathBuf,
    /// Show whole diffs
    #[arg(long)]
    full: bool,
    /// Maximum number of turns
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    filters: FilterArgs,
    /// Do not use a pager, even if the output is longer than the screen
    #[arg(long)]
    no_pager: bool,
    /// Show times in this zone, such as `Europe/Berlin`
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &WhyArgs) -> Result<Outcome, CommandError> {
    let zone = zone_of(context, args.timezone.as_deref())?;
    let (place, line) = place_of(&args.place, &context.places.current_dir)?;
    let path = match why::is_windows_path(&place.to_string_lossy()) {
        true => place.clone(),
        false => context.places.current_dir.join(&place),
    };
    let store = open_memory(context)?;
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    // Output is always masked, but this question is no reason to create the masking key.
    let masker = context.masker(false)?;
    let mut question = FileQuery {
        path: &path,
        line,
        masker: &masker,
        threads: context.threads,
    };
    let takes = |session: &ListedSession| filters.take(session);
    let mut place = place;
    let mut found = why::explain_file(&store, &question, &takes);
    let recorded = match needs_lookup(&found, &path, args) {
        true => why::recorded_paths(&store, &place.to_string_lossy(), &takes)?,
        false => Vec::new(),
    };
    let recorded_path;
    match recorded.as_slice() {
        [] => {}
        [only] => {
            recorded_path = PathBuf::from(&only.path);
            question.path = &recorded_path;
            found = why::explain_file(&store, &question, &takes);
            place.clone_from(&recorded_path);
        }
        several => return list_candidates(ui, context, &place, line, several),
    }
    let mut answer = found.map_err(|error| told(error, &place))?;
    if line.is_none() {
        answer
            .touches
            .retain(|touch| touch.at.is_none() || filters.takes_moment(touch.at));
    }
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let all = answer.touches.len();
    answer.touches.truncate(limit);
    let shown = Shown {
        store: &store,
        place: &place,
        answer: &answer,
        left_out: all - answer.touches.len(),
        full: args.full,
        zone: &zone,
    };
    match ui.format {
        Format::Json => ui.answer(&shown.answer())?,
        Format::Text => {
            if !args.no_pager {
                ui.page()?;
            }
            shown.print(ui)?;
            ui.end_pages()?;
        }
    }
    let is_nothing = answer.touches.is_empty() && (line.is_some() || answer.evicted.is_empty());
    if is_nothing && line.is_none() && filters.are_given() {
        ui.hint("fewer filters ask more sessions");
    }
    if is_nothing && line.is_none() && args.place.is_relative() && recorded.is_empty() && ui.format == Format::Text {
        let mut others = why::recorded_paths(&store, &place.to_string_lossy(), &takes)?;
        others.retain(|other| Path::new(&other.path) != path);
        hint_at_others(ui, &place, &others);
    }
    Ok(if is_nothing {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Returns whether a path has to be looked up among recorded ones: it is a name without a file, or a path in another repository, and nothing is known about it.
fn needs_lookup(found: &Result<FileAnswer, WhyError>, path: &Path, args: &WhyArgs) -> bool {
    let is_unknown = match found {
        Ok(answer) => answer.touches.is_empty() && answer.evicted.is_empty(),
        Err(error) => matches!(error, WhyError::Missing),
    };
    let is_name = args.place.is_relative() && !path.exists();
    is_unknown && (is_name || args.filters.repo.is_some())
}

/// Prints a hint with the newest other file of the same name, because an existing file may share its name with files of
/// other projects.
fn hint_at_others(ui: &mut Ui, place: &Path, others: &[RecordedPath]) {
    let Some(newest) = others.first() else { return };
    let name = escape(&place.to_string_lossy()).into_owned();
    let command = shell_word(&newest.path);
    ui.hint(format_args!(
        "sessions edited other files that end with `{name}`, such as `boswell why {command}`"
    ));
}

/// Lists the recorded paths that match a name.
fn list_candidates(
    ui: &mut Ui,
    context: &Context,
    place: &Path,
    line: Option<u64>,
    several: &[RecordedPath],
) -> Result<Outcome, CommandError> {
    let count = plural(several.len() as u64, "recorded path");
    match ui.format {
        Format::Json => ui.answer(&WhyAnswer {
            path: place.to_string_lossy().into_owned(),
            candidates: several,
            ..WhyAnswer::default()
        })?,
        Format::Text => {
            for one in several {
                let age = one.last_at.map(|at| measure::age(context.now, at)).unwrap_or_default();
                let path = ui.path(&escape(&one.path));
                let about = format!("{}  {age}", plural(one.edits, "edit"));
                ui.row(format_args!("{}  {}", ui.paint(STRONG, path), ui.paint(FAINT, about)))?;
            }
            let name = escape(&place.to_string_lossy()).into_owned();
            ui.status(format_args!("{count} end with `{name}`"));
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let path = shell_word(&several[0].path);
            ui.hint(format_args!(
                "name more of the path, such as `boswell why {path}{line}`"
            ));
        }
    }
    Ok(Outcome::Done)
}

/// Parses a path with an optional line, in the format of compilers. An existing file whose name ends like that takes
/// precedence.
fn place_of(place: &Path, directory: &Path) -> Result<(PathBuf, Option<u64>), CommandError> {
    let whole = (place.to_owned(), None);
    let Some(text) = place.to_str().filter(|_| !directory.join(place).exists()) else {
        return Ok(whole);
    };
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().ok())?
    };
    let Some((before, last)) = text.rsplit_once(':') else {
        return Ok(whole);
    };
    let Some(last) = number(last) else { return Ok(whole) };
    // A column may follow the line.
    let inner = before
        .rsplit_once(':')
        .and_then(|(path, line)| Some((path, number(line)?)));
    let (path, line): (&str, u64) = inner.unwrap_or((before, last));
    match (path.is_empty(), line) {
        (true, _) => Ok(whole),
        (false, 0) => Err(CommandError::usage("lines are counted from 1")),
        (false, line) => Ok((path.into(), Some(line))),
    }
}

fn told(error: WhyError, place: &Path) -> CommandError {
    let place = escape(&place.to_string_lossy()).into_owned();
    match error {
        WhyError::Store(error) => error.into(),
        WhyError::Missing => CommandError::not_found("no-file", format_args!("there is no such file: `{place}`"))
            .with_hint("without a line, all that touched it is shown"),
        WhyError::NoSuchLine(_) => CommandError::not_found("no-line", format_args!("{error}: `{place}`")),
        error => CommandError::user("no-text", format_args!("{error}: `{place}`")),
    }
}

/// An answer and the options for printing it.
struct Shown<'a> {
    store: &'a Store,
    place: &'a Path,
    answer: &'a FileAnswer,
    left_out: usize,
    full: bool,
    zone: &'a jiff::tz::TimeZone,
}

/// Returns the command that shows a turn. `session` is any name of its session.
fn show_command(session: &str, touch: &FileTouch) -> String {
    let turns = touch.turn.map_or(String::new(), |turn| format!(" --turns {turn}"));
    format!("boswell show {session}{turns}")
}

impl Shown<'_> {
    fn answer(&self) -> WhyAnswer<'_> {
        let answer = self.answer;
        let names = answer.names.iter().map(|name| name.to_string_lossy().into_owned());
        WhyAnswer {
            path: self.place.to_string_lossy().into_owned(),
            names: names.collect(),
            line: answer.line.as_ref().map(line_record),
            touches: answer.touches.iter().map(touch_record).collect(),
            evicted: answer.evicted.iter().map(evicted_record).collect(),
            likely: answer.likely.as_ref(),
            candidates: &[],
            left_out: self.left_out,
        }
    }
}

fn line_record(line: &LineOrigin) -> WhyLine<'_> {
    WhyLine {
        number: line.number,
        text: &line.text,
        verdict: line.verdict,
        evidence: evidence(line),
        commit: line.commit.as_ref(),
    }
}

fn touch_record(touch: &FileTouch) -> WhyTouch<'_> {
    WhyTouch {
        session_uid: &touch.session.session_uid,
        flavor: touch.session.flavor(),
        is_subagent: touch.session.is_subagent,
        turn: touch.turn,
        prompt: touch.prompt.as_deref(),
        at: touch.at,
        how: if touch.is_command { "command" } else { "edit" },
        edits: touch.edits.iter().map(edit_record).collect(),
        open: show_command(&touch.session.session_uid, touch),
    }
}

fn edit_record(edit: &FileEdit) -> WhyEdit<'_> {
    let diff: Vec<String> = edit.diff.iter().flat_map(hunk_lines).collect();
    WhyEdit {
        at: edit.at,
        tool: &edit.tool,
        seq: edit.seq,
        line: edit.line,
        summary: &edit.summary,
        diff: (!diff.is_empty()).then(|| diff.join("\n") + "\n"),
    }
}

fn evicted_record(evicted: &EvictedEdits) -> WhyEvicted<'_> {
    let last_micros = evicted.session.last_micros;
    WhyEvicted {
        session_uid: &evicted.session.session_uid,
        flavor: evicted.session.flavor(),
        edits: evicted.edits,
        prompt: evicted.prompt.as_deref(),
        at: last_micros.and_then(|at| jiff::Timestamp::from_microsecond(at).ok()),
    }
}

/// Returns a hunk as rows with their signs, below a heading with its position.
fn hunk_lines(hunk: &Hunk) -> Vec<String> {
    let head = match (hunk.old_line, &hunk.below) {
        (Some(line), _) => format!("@@ line {line}"),
        (None, Some(below)) => format!("@@ {below}"),
        (None, None) => "@@".to_owned(),
    };
    let rows = hunk.rows.iter().map(|row| format!("{}{}", sign(row.side), row.text));
    std::iter::once(head).chain(rows).collect()
}

fn sign(side: Side) -> char {
    match side {
        Side::Both => ' ',
        Side::Old => '-',
        Side::New => '+',
    }
}

/// Describes how it is known who wrote a line.
fn evidence(line: &LineOrigin) -> String {
    let sha = line
        .commit
        .as_ref()
        .map(|commit| &commit.sha[..commit.sha.len().min(10)]);
    let committed = match sha {
        Some(sha) => format!("commit {sha} brought it"),
        None => "no commit has it yet".to_owned(),
    };
    match line.verdict {
        LineVerdict::Wrote => format!("this edit wrote exactly this line; {committed}"),
        LineVerdict::Respaced => format!("this edit wrote this line, and its spacing was changed since; {committed}"),
        LineVerdict::FoundInText => {
            format!("the text of this edit occurs only here, but the text before it is unknown; {committed}")
        }
        LineVerdict::Likely => {
            "likely: an edit of another path wrote the same line, and this file matches the edits of that path"
                .to_owned()
        }
        LineVerdict::Committed => format!(
            "no recorded edit wrote this line; {committed}, and this turn made that commit: one of its commands wrote the line, or someone else did at that time"
        ),
        LineVerdict::NotFromASession => format!("not from a session: no recorded edit wrote this line; {committed}"),
        LineVerdict::Unknown => {
            format!("no edit that is still kept wrote this line, but the text of other sessions is gone; {committed}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_behind_the_path_and_a_column_behind_the_line() {
        let here = PathBuf::from("/nowhere");
        let check = |text: &str| place_of(Path::new(text), &here).unwrap();
        assert_eq!(check("src/a.rs"), ("src/a.rs".into(), None));
        assert_eq!(check("src/a.rs:7"), ("src/a.rs".into(), Some(7)));
        assert_eq!(check("src/a.rs:7:3"), ("src/a.rs".into(), Some(7)));
        assert_eq!(check("a:b"), ("a:b".into(), None));
        assert_eq!(check(":7"), (":7".into(), None));
        assert_eq!(check("a:"), ("a:".into(), None));
        assert!(place_of(Path::new("a:0"), &here).is_err());
    }
}
