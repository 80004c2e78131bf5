//! Runs every verb on a real terminal: it ends, exits like without one, fits the width, and passes no control
//! characters of a log to the terminal. `cargo test -p boswell --test cli pty:: -- --nocapture` prints the result of
//! each run.

mod diary;
mod interrupt;
mod modes;
mod screen;
mod terminal;
mod too_wide;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use testkit::home::{ChangeKind, FixtureHome, LogSource};
use testkit::verbs::{Ending, Exit, ExpectedExit, Invocation, Output, invocations};

use self::screen::{Screen, columns};
use self::terminal::TerminalRun;
use self::too_wide::TOO_WIDE;
use crate::sandbox::Sandbox;
use crate::verbs;

/// Widths of the terminals.
const COLUMNS: [u16; 3] = [60, 80, 200];

/// Far longer than any run takes on a busy machine: a run that reaches it hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// The limit once a run has hung: the test has failed by then, and the other hangs should be reported soon.
const LIMIT_AFTER_A_HANG: Duration = Duration::from_secs(30);

/// One real log in this many is read, so that a debug build takes seconds.
const CORPUS_STEP: usize = 24;

/// The beginnings of lines that the binary prints if it panics. Logs mention panics too, but never at the beginning of
/// a line.
const PANICS: [&str; 2] = ["error: boswell stopped", "thread 'main'"];

/// Verbs that print a log unchanged: `cat` promises its bytes to programs. JSON escapes most control characters, but
/// not these.
const UNESCAPED: &[(&str, &[&str])] = &[("cat", &["\\u{9b}", "\\u{202e}"])];

/// One run of an invocation on a terminal.
struct Run {
    name: String,
    exit: Exit,
    took: Duration,
}

/// The results of all invocations over a home.
struct Report {
    runs: Vec<Run>,
    problems: Vec<String>,
    /// The widest line of each invocation that is wider than its terminal.
    too_wide: BTreeMap<String, [usize; 3]>,
}

/// Returns additional invocations that name the sessions with hostile text.
fn hostile_invocations() -> Vec<Invocation> {
    let session = "5e55bad0";
    let log = "{home}/.claude/projects/-home-ada-app/5e55bad0-0000-4000-8000-00000000bad0.jsonl";
    let lines = [
        format!("show {session} --depth full"),
        format!("show {session} --json"),
        format!("digest {session}"),
        format!("render {session} --to md"),
        format!("cat {session}"),
        format!("read {log} --full"),
        format!("note {session} 'a \u{1b}[5m note \u{7}'"),
        "search reversed".to_owned(),
        "sessions --project app".to_owned(),
    ];
    let invocation = |line| Invocation {
        line,
        output: Output::Data,
        ending: Ending::Itself,
        exit: ExpectedExit::Code(0),
        plain_exit: ExpectedExit::Code(0),
    };
    lines.into_iter().map(invocation).collect()
}

/// Returns the files and directories that a run left in the output directories or the memory and that other users can
/// read. Manual pages and the synthetic logs of the demo may be readable.
fn open_to_others(home: &FixtureHome) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let changes = home.changes().unwrap();
    let mut paths = BTreeSet::new();
    for change in changes.iter().filter(|change| change.change != ChangeKind::Removed) {
        let path = change.path.as_path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_made_up = path.starts_with("out/made-up") && name != "page.html" && name != "film.gif";
        let is_ours = path.starts_with("out") || path.starts_with(".local/share");
        if !is_ours || path.starts_with("out/man") || is_made_up {
            continue;
        }
        let parents = path.ancestors().take_while(|path| path.parent() != Some(Path::new("")));
        let ours = parents.filter(|path| !path.starts_with("out/made-up") || path.extension().is_some());
        paths.extend(
            ours.filter(|path| *path != Path::new(".local/share"))
                .map(Path::to_owned),
        );
    }
    let mode = |path: &PathBuf| std::fs::metadata(home.path().join(path)).unwrap().permissions().mode() & 0o777;
    let open = paths.iter().filter(|path| mode(path) & 0o077 != 0);
    open.map(|path| format!("{} has mode {:o}", path.display(), mode(path)))
        .collect()
}

/// Runs all invocations at every width over a home for each, and without a terminal over another home.
fn run_all(source: LogSource<'_>, invocations: &[Invocation]) -> Report {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let prepare = |name: &str| {
        let (home, runs) = FixtureHome::prepare(&place.path().join(name), &binary, source).unwrap();
        for run in runs {
            assert!(run.output.status.success(), "{}: {:?}", run.line, run.output);
        }
        home
    };
    let (plain, on_terminals) = thread::scope(|scope| {
        let plain = scope.spawn(|| run_plain(&prepare("none"), invocations));
        let on_terminals = COLUMNS.map(|columns| {
            let prepare = &prepare;
            scope.spawn(move || run_on_terminal(&prepare(&format!("w{columns:03}")), invocations, columns))
        });
        (plain.join().unwrap(), on_terminals.map(|one| one.join().unwrap()))
    });
    let mut report = Report {
        runs: Vec::new(),
        problems: Vec::new(),
        too_wide: BTreeMap::new(),
    };
    for (at, invocation) in invocations.iter().enumerate() {
        let (plain, open) = (plain[at].0, &plain[at].1);
        check_exit(invocation, None, plain, invocation.plain_exit, &mut report.problems);
        let problem = |open: &String| format!("boswell {}: {open}", invocation.line);
        report.problems.extend(open.iter().map(problem));
        for (which, runs) in on_terminals.iter().enumerate() {
            let (columns, (run, home)) = (COLUMNS[which], &runs[at]);
            check_exit(
                invocation,
                Some(columns),
                run.exit,
                invocation.exit,
                &mut report.problems,
            );
            if is_other_exit(invocation, plain, run.exit) {
                let problem = format!("{plain} without a terminal");
                report.problems.push(problem_of(
                    invocation,
                    columns,
                    &format!("exits with {}, but with {problem}", run.exit),
                ));
            }
            check_text(invocation, columns, run, &mut report.problems);
            check_home(invocation, columns, run, home, &mut report.problems);
            if let Some(widest) = widest_line(invocation, columns, run, home) {
                report.too_wide.entry(invocation.line.clone()).or_default()[which] = widest;
            }
            report.runs.push(Run {
                name: invocation.line.clone(),
                exit: run.exit,
                took: run.took,
            });
        }
    }
    report
}

/// Returns whether a run on a terminal had another exit status than the one without, although it asks no questions.
fn is_other_exit(invocation: &Invocation, plain: Exit, on_terminal: Exit) -> bool {
    let is_same_kind = invocation.exit == invocation.plain_exit && invocation.exit != ExpectedExit::Any;
    is_same_kind && on_terminal != Exit::TimedOut && plain != on_terminal
}

/// Runs without a terminal. Returns the exit status of each run, and the files it left readable for others.
fn run_plain(home: &FixtureHome, invocations: &[Invocation]) -> Vec<(Exit, Vec<String>)> {
    let run = |invocation| {
        let exit = home.run(invocation, LIMIT).unwrap().exit;
        let open = open_to_others(home);
        home.reset().unwrap();
        (exit, open)
    };
    invocations.iter().map(run).collect()
}

fn run_on_terminal(home: &FixtureHome, invocations: &[Invocation], columns: u16) -> Vec<(TerminalRun, PathBuf)> {
    let mut limit = LIMIT;
    let run = |invocation| {
        let run = terminal::run(home, invocation, columns, limit);
        if run.exit == Exit::TimedOut {
            limit = LIMIT_AFTER_A_HANG;
        }
        home.reset().unwrap();
        (run, home.path().to_owned())
    };
    invocations.iter().map(run).collect()
}

fn problem_of(invocation: &Invocation, columns: u16, what: &str) -> String {
    format!("boswell {} on {columns} columns: {what}", invocation.line)
}

fn check_exit(
    invocation: &Invocation,
    columns: Option<u16>,
    exit: Exit,
    expected: ExpectedExit,
    problems: &mut Vec<String>,
) {
    if expected.allows(exit) {
        return;
    }
    let place = columns.map_or("without a terminal".to_owned(), |columns| {
        format!("on {columns} columns")
    });
    let what = match exit {
        Exit::TimedOut => "hangs: it did not end within its time limit".to_owned(),
        exit => format!("exits with {exit}, expected {expected:?}"),
    };
    problems.push(format!("boswell {} {place}: {what}", invocation.line));
}

/// Checks that neither a panic message nor a log's control characters reach the terminal.
fn check_text(invocation: &Invocation, columns: u16, run: &TerminalRun, problems: &mut Vec<String>) {
    let screen = Screen::parse(&run.bytes);
    for line in screen.lines() {
        if PANICS.iter().any(|panic| line.starts_with(panic)) {
            problems.push(problem_of(invocation, columns, &format!("it panics: {line}")));
        }
    }
    // A full screen moves the cursor everywhere; separate tests check what it draws.
    if invocation.output == Output::Screen {
        return;
    }
    let verb = invocation.line.split(' ').next().unwrap_or_default();
    let known = UNESCAPED
        .iter()
        .find(|(known, _)| *known == verb)
        .map_or(&[][..], |(_, known)| known);
    let foreign: Vec<String> = screen
        .foreign
        .into_iter()
        .filter(|one| !known.contains(&one.as_str()))
        .collect();
    if !foreign.is_empty() {
        let what = format!("control characters that are not ours: {}", foreign.join(" "));
        problems.push(problem_of(invocation, columns, &what));
    }
}

/// Checks that paths in the home directory begin with `~`, except in quotes and in lines of a log, where a shell would
/// not expand it.
fn check_home(invocation: &Invocation, columns: u16, run: &TerminalRun, home: &Path, problems: &mut Vec<String>) {
    if invocation.output != Output::Text {
        return;
    }
    let home = home.to_string_lossy();
    for line in Screen::parse(&run.bytes).lines() {
        if let Some((before, _)) = line.split_once(&*home)
            && !before.ends_with(['\'', '"', '='])
        {
            problems.push(problem_of(
                invocation,
                columns,
                &format!("the home directory in full: {line}"),
            ));
            return;
        }
    }
}

/// Returns the width of the widest line if it does not fit, for invocations whose text must fit. The home's path counts
/// as `[HOME]`, because its length depends on the machine.
fn widest_line(invocation: &Invocation, limit: u16, run: &TerminalRun, home: &Path) -> Option<usize> {
    if invocation.output != Output::Text {
        return None;
    }
    // The paths of the home and the binary must not change the width.
    let home = home.to_string_lossy();
    let shorten = |line: String| {
        line.replace(&*home, "[HOME]")
            .replace(env!("CARGO_BIN_EXE_boswell"), "/usr/bin/boswell")
    };
    let lines = Screen::parse(&run.bytes).lines().into_iter();
    let widest = lines.map(|line| columns(&shorten(line))).max()?;
    (widest > usize::from(limit)).then_some(widest)
}

/// Prints the result of each run.
#[allow(
    clippy::print_stderr,
    reason = "shown with --nocapture: how long each verb takes on a terminal"
)]
fn print_table(report: &Report) {
    let mut rows: BTreeMap<&str, String> = BTreeMap::new();
    for run in &report.runs {
        let row = rows.entry(&run.name).or_default();
        *row += &format!("  {:>9} {:>8.2?}", run.exit.to_string(), run.took);
    }
    eprintln!(
        "  {}",
        COLUMNS
            .map(|columns| format!("{:>18}", format!("{columns} columns")))
            .join("  ")
    );
    rows.iter().for_each(|(name, row)| eprintln!("{row}  boswell {name}"));
    for (name, widths) in &report.too_wide {
        eprintln!("    (\"{}\", {widths:?}),", name.escape_debug());
    }
}

/// The number of columns by which a line may exceed its listed width: durations and counts vary by a digit from run to
/// run.
const WIDTH_SLACK: usize = 3;

/// Compares the widths with the list: it must have every line that is too wide, no line may be wider than listed, and
/// no listed line may fit.
fn check_widths(too_wide: &BTreeMap<String, [usize; 3]>, problems: &mut Vec<String>) {
    let is_wider = |width: usize, known: usize| match known {
        0 => width > 0,
        known => width > known + WIDTH_SLACK,
    };
    for (name, widths) in too_wide {
        let known = TOO_WIDE
            .iter()
            .find(|(known, _)| known == name)
            .map_or([0; 3], |(_, widths)| *widths);
        if widths.iter().zip(known).any(|(width, known)| is_wider(*width, known)) {
            problems.push(format!(
                "boswell {name}: lines of {widths:?} columns, {known:?} are known"
            ));
        }
    }
    for (name, known) in TOO_WIDE {
        if !too_wide.contains_key(*name) {
            problems.push(format!(
                "boswell {name}: fits; remove it from the list, which has {known:?}"
            ));
        }
    }
}

fn assert_no_problems(report: &Report) {
    let problems = &report.problems;
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn every_verb_ends_and_fits_on_a_terminal_over_made_up_logs() {
    let all: Vec<Invocation> = invocations().into_iter().chain(hostile_invocations()).collect();
    let mut report = run_all(LogSource::MadeUp, &all);
    print_table(&report);
    let too_wide = std::mem::take(&mut report.too_wide);
    check_widths(&too_wide, &mut report.problems);
    assert_no_problems(&report);
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test has to be visible")]
fn every_verb_ends_on_a_terminal_over_real_logs() {
    let Some(corpus) = std::env::var_os("BOSWELL_CORPUS") else {
        eprintln!("SKIPPED: no real logs to run every verb over on a terminal");
        return;
    };
    let source = LogSource::Corpus {
        directory: Path::new(&corpus),
        step: CORPUS_STEP,
    };
    let report = run_all(source, &invocations());
    print_table(&report);
    assert_no_problems(&report);
}

#[test]
fn no_verb_is_left_out_of_the_list_of_invocations() {
    let sandbox = Sandbox::new();
    let verbs = verbs::listed(|line| sandbox.run(line));
    let invoked: BTreeSet<String> = invocations().iter().map(|one| one.verb(&verbs.subcommands)).collect();
    let missing: Vec<&String> = verbs.all.difference(&invoked).collect();
    assert!(
        missing.is_empty(),
        "verbs without an invocation in `testkit::verbs`: {missing:?}"
    );
}
