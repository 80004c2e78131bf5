//! Rewrites the arguments before they are parsed: two aliases that expand to a verb with an argument, days such as `-3d`, and
//! dashes in the query of a search. clap parses everything else.

use std::ffi::OsString;

use clap::Args;

use crate::commands;
use crate::day_arg::mark_relative_days;
use crate::global_args::GlobalArgs;

/// Marks an argument of `search` in which every character is text. It cannot be typed.
pub(crate) const TEXT_MARK: char = '\u{2}';

/// Global options that take a value, which is not the verb.
const GLOBAL_VALUES: [&str; 2] = ["--color", "--config"];

/// Verbs that take a query.
const SEARCH_VERBS: [&str; 2] = ["search", "grep"];

/// Returns the arguments as clap parses them. The first one is the program.
pub(crate) fn normalise(arguments: &[OsString]) -> Vec<OsString> {
    let Some(at) = verb_index(arguments) else {
        return arguments.to_vec();
    };
    let mut arguments = arguments.to_vec();
    let verb = arguments[at].to_string_lossy().into_owned();
    let instead: &[&str] = match verb.as_str() {
        "open" => &["render", "--open"],
        "today" => &["diary", "today"],
        _ => &[],
    };
    if !instead.is_empty() {
        arguments.splice(at..=at, instead.iter().map(OsString::from));
    }
    let arguments = mark_relative_days(&verb, &arguments);
    match SEARCH_VERBS.contains(&verb.as_str()) {
        true => mark_query(&arguments, at + 1),
        false => arguments,
    }
}

/// Returns the index of the verb: the first argument that is neither an option nor the value of one.
fn verb_index(arguments: &[OsString]) -> Option<usize> {
    let mut is_value = false;
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let text = argument.to_string_lossy();
        if std::mem::take(&mut is_value) {
            continue;
        }
        if !text.starts_with('-') {
            return Some(at);
        }
        is_value = GLOBAL_VALUES.contains(&&*text);
    }
    None
}

/// Marks the words of a query that begin with a dash and are not options of `search`.
fn mark_query(arguments: &[OsString], from: usize) -> Vec<OsString> {
    let options = SearchOptions::new();
    let mut marked = arguments[..from].to_vec();
    let (mut is_value, mut is_text) = (false, false);
    for argument in &arguments[from..] {
        let Some(text) = argument.to_str() else {
            marked.push(argument.clone());
            continue;
        };
        if std::mem::take(&mut is_value) || text == "-" {
            marked.push(argument.clone());
        } else if is_text {
            marked.push(format!("{TEXT_MARK}{text}").into());
        } else if text == "--" {
            is_text = true;
            marked.push(argument.clone());
        } else {
            let meaning = options.argument_kind(text);
            is_value = meaning == ArgumentKind::OptionWithValue;
            marked.push(match meaning {
                ArgumentKind::Word | ArgumentKind::Option | ArgumentKind::OptionWithValue => argument.clone(),
                // A leading space keeps clap from parsing it as an option.
                ArgumentKind::Negation => format!(" {text}").into(),
                ArgumentKind::Text => format!("{TEXT_MARK}{text}").into(),
            });
        }
    }
    marked
}

/// The type of an argument of `search`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Word,
    Option,
    /// The next argument is its value.
    OptionWithValue,
    /// A word to exclude, or a query that begins with a dash: the query's own syntax decides.
    Negation,
    Text,
}

/// The options of `search`, by their names with dashes.
struct SearchOptions {
    with_value: Vec<String>,
    without: Vec<String>,
}

impl SearchOptions {
    fn new() -> Self {
        let mut options = Self {
            with_value: Vec::new(),
            without: ["--help", "-h", "--version", "-V"].map(str::to_owned).to_vec(),
        };
        let command = GlobalArgs::augment_args(commands::verb("search").unwrap_or_default());
        for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
            let longs = argument.get_long_and_visible_aliases().unwrap_or_default();
            let longs = longs.into_iter().map(|name| format!("--{name}"));
            let names = longs.chain(argument.get_short().map(|name| format!("-{name}")));
            match argument.get_action().takes_values() {
                true => options.with_value.extend(names),
                false => options.without.extend(names),
            }
        }
        options
    }

    fn argument_kind(&self, argument: &str) -> ArgumentKind {
        if !argument.starts_with('-') {
            return ArgumentKind::Word;
        }
        if argument.contains(char::is_whitespace) {
            return ArgumentKind::Negation;
        }
        let (name, value) = argument
            .split_once('=')
            .map_or((argument, None), |(name, value)| (name, Some(value)));
        let has = |names: &[String]| names.iter().any(|known| known == name);
        match (has(&self.with_value), has(&self.without), value) {
            (true, _, None) => return ArgumentKind::OptionWithValue,
            (true, _, Some(_)) | (_, true, _) => return ArgumentKind::Option,
            _ => {}
        }
        match argument.strip_prefix("--") {
            // clap refuses it and suggests the option that was meant.
            Some(_) if self.is_close(name) => ArgumentKind::Option,
            Some(_) => ArgumentKind::Text,
            None => ArgumentKind::Negation,
        }
    }

    /// Returns whether an unknown option is probably a mistyped one of `search`.
    fn is_close(&self, name: &str) -> bool {
        let longs = self
            .with_value
            .iter()
            .chain(&self.without)
            .filter(|known| known.starts_with("--"));
        let typos_max = if name.len() < "--1234567".len() { 1 } else { 2 };
        longs
            .into_iter()
            .any(|known| strsim::osa_distance(known, name) <= typos_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &[&str]) -> String {
        let arguments: Vec<OsString> = line.iter().map(OsString::from).collect();
        let normal = normalise(&arguments);
        let texts = normal.iter().map(|one| one.to_string_lossy().replace(TEXT_MARK, "§"));
        texts.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn an_alias_can_expand_to_a_verb_with_an_argument() {
        assert_eq!(shown(&["boswell", "today"]), "boswell|diary|today");
        assert_eq!(
            shown(&["boswell", "--color", "never", "open", "last"]),
            "boswell|--color|never|render|--open|last"
        );
        assert_eq!(shown(&["boswell", "show", "today"]), "boswell|show|today");
        assert_eq!(shown(&["boswell", "--json"]), "boswell|--json");
    }

    #[test]
    fn dashes_of_a_query_are_negations_text_or_our_options() {
        assert_eq!(shown(&["boswell", "grep", "xattr", "-cr"]), "boswell|grep|xattr| -cr");
        assert_eq!(
            shown(&["boswell", "search", "rebase", "--autosquash", "--limit", "-draft", "-q"]),
            "boswell|search|rebase|§--autosquash|--limit|-draft|-q"
        );
        assert_eq!(
            shown(&[
                "boswell",
                "search",
                "--limit=3",
                "-draft",
                "--agnet",
                "x",
                "--in",
                "dir"
            ]),
            "boswell|search|--limit=3| -draft|--agnet|x|--in|dir"
        );
        assert_eq!(
            shown(&["boswell", "search", "-x y", "--", "--json", "a", "-b"]),
            "boswell|search| -x y|--|§--json|§a|§-b"
        );
        assert_eq!(
            shown(&["boswell", "search", "--amend", "-"]),
            "boswell|search|§--amend|-"
        );
        assert_eq!(shown(&["boswell", "sessions", "-draft"]), "boswell|sessions|-draft");
    }
}
