//! The command line: global flags, the verbs in their groups, and how arguments become a [`Cli`].

use std::ffi::OsString;
use std::fmt::Write;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::arguments::normalise;
use crate::commands::{self, Command};
use crate::context::Surroundings;
use crate::dispatch::Dispatch;
use crate::error::{CommandError, Outcome};
use crate::global_args::{ColorChoice, GLOBAL, GlobalArgs};
use crate::ui::{Format, Ui};

/// The verbs under each heading of the help. Verbs without a command are not shown.
#[rustfmt::skip]
const GROUPS: [(&str, &[&str]); 8] = [
    ("Start", &["setup", "demo", "status", "doctor", "config", "completions", "man"]),
    ("Ask", &["search", "sessions", "show", "why", "usage", "stats", "statusline", "digest", "signals", "decisions", "secrets"]),
    ("Diary", &["diary", "prepare", "report", "days", "bundle"]),
    ("Share", &["render", "read", "cat", "export", "restore", "resume"]),
    ("Keep", &["sweep", "evict", "keep", "forget", "decide", "tag", "note", "name", "journal", "rebuild"]),
    ("Capture", &["hooks", "watch", "schedule", "run"]),
    ("Team", &["hub"]),
    ("Agents", &["mcp", "schema"]),
];

const NAME: &str = "boswell";

/// Lines of help are no longer than this, however wide the terminal.
const HELP_COLUMNS: usize = 100;

/// One memory for every coding agent you use
#[derive(Parser, Debug)]
#[command(name = NAME, bin_name = NAME, version, max_term_width = HELP_COLUMNS)]
#[command(after_help = "Examples:
  boswell                      the finder, on a terminal
  boswell config show          every setting, and where its value comes from
  boswell help config          help on one command, with examples")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Parses the arguments, the first of which is the program.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let arguments = normalise(arguments);
    if let Some(parsed) = parse_by_one_verb(&arguments) {
        return parsed;
    }
    let matches = command().try_get_matches_from(arguments).map_err(nearest_first)?;
    Cli::from_arg_matches(&matches)
}

/// Puts the suggestion with the fewest typos first. clap sorts by a likeness that favours a common beginning: it suggests `secrets` before
/// `search` for `serch`.
fn nearest_first(mut error: clap::Error) -> clap::Error {
    let (Some(ContextValue::String(wrong)), Some(ContextValue::Strings(suggested))) = (
        error.get(ContextKind::InvalidSubcommand),
        error.get(ContextKind::SuggestedSubcommand),
    ) else {
        return error;
    };
    let mut suggested = suggested.clone();
    suggested.sort_by_cached_key(|verb| strsim::osa_distance(verb, wrong));
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    error
}

/// Parses the arguments with only the verb that they name, because building all verbs takes most of the startup time.
/// The result is the same as that of the whole command line. Returns `None` for errors and help, which need the whole
/// command line.
fn parse_by_one_verb(arguments: &[OsString]) -> Option<Result<Cli, clap::Error>> {
    let mut words = arguments.iter().skip(1);
    let verb = words.find_map(|word| commands::verb(word.to_str()?));
    let command = clap::Command::new(NAME).version(env!("CARGO_PKG_VERSION"));
    let command = GlobalArgs::augment_args(command).subcommands(verb);
    match command.try_get_matches_from(arguments) {
        Ok(matches) => Cli::from_arg_matches(&matches).ok().map(Ok),
        Err(error) if error.kind() == ErrorKind::DisplayVersion => Some(Err(error)),
        Err(_) => None,
    }
}

/// Parses a verb with its arguments; returns `None` if they are invalid.
fn parse_verb(words: &[&str]) -> Option<Command> {
    let line: Vec<OsString> = ["boswell"].iter().chain(words).map(OsString::from).collect();
    parse(&line).ok()?.command
}

/// The entry points for verbs that run other verbs.
const DISPATCH: Dispatch = Dispatch {
    command,
    run_verb,
    run_line,
};

/// Runs one verb.
pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    command: Command,
) -> Result<Outcome, CommandError> {
    commands::run(ui, surroundings, global, command, &DISPATCH)
}

/// Runs the verb that `words` name. Global options among the words are ignored; those of `global` apply.
pub(crate) fn run_verb(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    words: &[&str],
) -> Result<Outcome, CommandError> {
    let command = parse_verb(words).ok_or_else(|| CommandError::internal(format_args!("no such verb: {words:?}")))?;
    run(ui, surroundings, global, command)
}

/// Parses arguments, the first of which is the program, and runs the verb they name.
fn run_line(ui: &mut Ui, surroundings: &Surroundings, arguments: &[OsString]) -> Result<Outcome, CommandError> {
    let parsed = parse(arguments)?;
    let command = parsed
        .command
        .ok_or_else(|| CommandError::internal(format_args!("no command in this line: {arguments:?}")))?;
    run(ui, surroundings, &parsed.global, command)
}

/// The whole command line, its verbs grouped in the help.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let template = help_template(&command);
    command.help_template(template)
}

/// Returns the format and the colour choice before the arguments are parsed, so that parse errors can use them, too.
pub(crate) fn early_flags(arguments: &[OsString]) -> (Format, ColorChoice) {
    let texts = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    let texts: Vec<&str> = texts.filter_map(|argument| argument.to_str()).collect();
    let format = if texts.contains(&"--json") {
        Format::Json
    } else {
        Format::Text
    };
    let apart = texts.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let joined = texts.iter().filter_map(|text| text.strip_prefix("--color="));
    let color = apart
        .chain(joined)
        .find_map(|when| ColorChoice::from_str(when, false).ok());
    (format, color.unwrap_or(ColorChoice::Auto))
}

/// Returns the template of the help. clap cannot group verbs, so the part that lists them is written here.
fn help_template(command: &clap::Command) -> StyledStr {
    let (heading, verb_style) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, verbs) in GROUPS {
        let verbs: Vec<&clap::Command> = verbs.iter().filter_map(|verb| command.find_subcommand(verb)).collect();
        if verbs.is_empty() {
            continue;
        }
        push_line(&mut template, format_args!("\n{heading}{group}:{heading:#}"));
        for verb in verbs {
            let about = verb.get_about().map(StyledStr::to_string).unwrap_or_default();
            let aliases: Vec<&str> = verb.get_visible_aliases().collect();
            let aliases = match aliases.is_empty() {
                true => String::new(),
                false => format!(" [aliases: {}]", aliases.join(", ")),
            };
            push_line(
                &mut template,
                format_args!("  {verb_style}{:<12}{verb_style:#}  {about}{aliases}", verb.get_name()),
            );
        }
    }
    push_line(
        &mut template,
        format_args!("\n{heading}{GLOBAL}:{heading:#}\n{{options}}{{after-help}}"),
    );
    template.into()
}

fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a String takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn a_verb_by_itself_is_the_one_of_the_whole_command_line() {
        for whole in Cli::command().get_subcommands() {
            let alone = commands::verb(whole.get_name()).expect("every verb can be made by itself");
            // Only the order among the other verbs differs.
            let told = |verb: clap::Command| format!("{:?}", verb.display_order(0));
            assert_eq!(told(alone), told(whole.clone()));
        }
    }

    #[test]
    fn one_verb_alone_takes_what_the_whole_command_line_takes_and_leaves_it_the_rest() {
        let lines = [
            "boswell",
            "boswell --json",
            "boswell search word -without --limit 3 --json",
            "boswell grep word -x --autosquash -- --json",
            "boswell search word --agnet claude",
            "boswell today",
            "boswell open last",
            "boswell diary -3d --json",
            "boswell ls --since -3d",
            "boswell --no-sweep --config search.x=1 search sessions",
            "boswell --color always sessions -q",
            "boswell --config search sessions",
            "boswell sync",
            "boswell help search",
            "boswell help",
            "boswell serach",
            "boswell search",
            "boswell search --help",
            "boswell search --version",
            "boswell config show --json",
            "boswell config shwo",
            "boswell --version",
            "boswell -V",
            "boswell --version search",
        ];
        let told = |parsed: Result<Cli, clap::Error>| match parsed {
            Ok(cli) => format!("{cli:?}"),
            Err(error) => error.render().ansi().to_string(),
        };
        for line in lines {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let matches = command()
                .try_get_matches_from(normalise(&arguments))
                .map_err(nearest_first);
            let whole = matches.and_then(|matches| Cli::from_arg_matches(&matches));
            assert_eq!(told(parse(&arguments)), told(whole), "{line}");
        }
    }

    #[test]
    fn every_verb_stands_in_exactly_one_group() {
        for verb in Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let groups = GROUPS.iter().filter(|(_, verbs)| verbs.contains(&verb.get_name()));
            assert_eq!(groups.count(), 1, "{}", verb.get_name());
        }
    }

    #[test]
    fn every_command_has_a_title_without_a_full_stop_and_examples() {
        fn check(command: &clap::Command) {
            let about = command.get_about().expect("a command has a doc comment").to_string();
            assert!(!about.ends_with('.'), "{about}");
            let after = command.get_after_help().map(StyledStr::to_string).unwrap_or_default();
            assert!(
                after.starts_with("Examples:\n"),
                "{} has no examples",
                command.get_name()
            );
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn every_example_of_the_help_can_be_parsed() {
        fn examples(command: &clap::Command, found: &mut Vec<String>) {
            let after = command.get_after_help().map(StyledStr::to_string).unwrap_or_default();
            let lines = after.lines().filter_map(|line| line.trim().strip_prefix("boswell"));
            // A remark follows two spaces; a pipe leads to another program.
            let bare = |line: &str| {
                line.split("  ")
                    .next()
                    .and_then(|line| line.split(['|', '>']).next())
                    .map(str::to_owned)
            };
            found.extend(lines.filter_map(bare));
            command.get_subcommands().for_each(|command| examples(command, found));
        }
        let mut found = Vec::new();
        examples(&Cli::command(), &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for line in found {
            let words = std::iter::once("boswell".to_owned()).chain(shell_words(&line));
            let arguments: Vec<OsString> = words.map(OsString::from).collect();
            let error = parse(&arguments)
                .err()
                .filter(|error| error.kind() != ErrorKind::DisplayHelp);
            assert!(error.is_none(), "`boswell{line}`: {error:?}");
        }
    }

    /// Splits a line at spaces outside quotes.
    fn shell_words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, ' ') => words.extend(word.take()),
                (_, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn flags_are_seen_early_even_where_the_rest_makes_no_sense() {
        let check = |line: &str| early_flags(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(check("boswell --nonsense --json"), (Format::Json, ColorChoice::Auto));
        assert_eq!(
            check("boswell --color always what"),
            (Format::Text, ColorChoice::Always)
        );
        assert_eq!(check("boswell --color=never"), (Format::Text, ColorChoice::Never));
        assert_eq!(check("boswell run -- ls --json"), (Format::Text, ColorChoice::Auto));
    }
}
