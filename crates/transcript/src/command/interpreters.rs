//! Programs that run a file, a module or a given text: shells, python, node and similar.
//!
//! Finds what is run, not whether it is a test.

use self::ScriptLanguage::{Other, Python, Shell};
use super::shell::ShellWord;

/// What an interpreter runs.
#[derive(Debug)]
pub(super) enum InterpreterSource<'w> {
    /// A file and its arguments.
    File(&'w [ShellWord<'w>]),
    /// A module and its arguments, as after `python -m`.
    Module(&'w [ShellWord<'w>]),
    /// A shell script given as an argument.
    Script(&'w str),
    /// Nothing was named, so it reads its standard input.
    Stdin,
    /// The interpreter itself runs tests: `node --test`.
    Tests,
}

pub(super) struct InterpreterRule {
    pub(super) program: &'static str,
    /// A required first argument, if any.
    word: &'static str,
    /// Options whose next argument is their value, separated by spaces.
    valued: &'static str,
    /// Options whose next argument is code in the interpreter's own language.
    code: &'static str,
    /// Options with which the file is only checked.
    idle: &'static str,
    pub(super) language: ScriptLanguage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptLanguage {
    Shell,
    Python,
    Other,
}

#[rustfmt::skip]
const INTERPRETERS: &[InterpreterRule] = &[
    row("bash", "", "-o +o -O +O --rcfile --init-file", "", "-n", Shell),
    row("sh", "", "-o +o", "", "-n", Shell),
    row("zsh", "", "-o +o", "", "-n", Shell),
    row("dash", "", "-o +o", "", "-n", Shell),
    row("ksh", "", "-o +o", "", "-n", Shell),
    row("ash", "", "-o +o", "", "-n", Shell),
    row("fish", "", "-C --init-command", "", "-n --no-execute", Shell),
    row("source", "", "", "", "", Shell),
    row(".", "", "", "", "", Shell),
    row("python", "", "-W -X", "-c", "", Python),
    row("coverage", "run", "--source --omit --include --rcfile --data-file --context --concurrency", "", "", Python),
    row("memray", "run", "-o --output", "-c", "", Python),
    row("ipython", "", "--profile", "-c", "", Python),
    row("node", "", "-r --require --import --loader --experimental-loader -C --conditions --env-file",
        "-e --eval -p --print -pe", "-c --check", Other),
    row("tsx", "", "-r --require --import --tsconfig --env-file", "-e --eval -p --print", "", Other),
    row("ts-node", "", "-r --require -P --project -O", "-e --eval -p --print", "", Other),
    row("ts-node-esm", "", "-r --require -P --project -O", "-e --eval -p --print", "", Other),
    row("vite-node", "", "-c --config", "", "", Other),
    row("bun", "", "--cwd -r --preload --env-file", "-e --eval -p --print", "", Other),
    row("deno", "run", "-c --config --import-map --env-file", "", "", Other),
    row("ruby", "", "-r -C", "-e", "-c", Other),
    row("php", "", "-d -c", "-r", "-l -i", Other),
    row("perl", "", "", "-e -E -ne -pe -nle -lne -i -pi", "-c", Other),
    row("lua", "", "-l", "-e", "", Other),
    row("luajit", "", "-l", "-e", "", Other),
    row("nvim", "", "-u -c --cmd", "", "", Other),
    row("rscript", "", "", "-e", "", Other),
    row("julia", "", "-L --load -p -t", "-e -E --eval", "", Other),
    row("racket", "", "-l", "-e", "", Other),
    row("elixir", "", "-r -S", "-e", "", Other),
    row("dart", "run", "", "", "", Other),
];

const fn row(
    program: &'static str,
    word: &'static str,
    valued: &'static str,
    code: &'static str,
    idle: &'static str,
    language: ScriptLanguage,
) -> InterpreterRule {
    InterpreterRule {
        program,
        word,
        valued,
        code,
        idle,
        language,
    }
}

/// Returns the interpreter called `program`, with the arguments after its required first one.
pub(super) fn interpreter<'w>(
    program: &str,
    arguments: &'w [ShellWord<'w>],
) -> Option<(&'static InterpreterRule, &'w [ShellWord<'w>])> {
    let interpreter = INTERPRETERS.iter().find(|interpreter| interpreter.program == program)?;
    if interpreter.word.is_empty() {
        return Some((interpreter, arguments));
    }
    let (first, rest) = arguments.split_first()?;
    (first == interpreter.word).then_some((interpreter, rest))
}

impl InterpreterRule {
    /// Returns what is run, or `None` if it is code in a language we do not parse, or if nothing runs.
    pub(super) fn source<'w>(&self, arguments: &'w [ShellWord<'w>]) -> Option<InterpreterSource<'w>> {
        let mut rest = arguments;
        while let Some((word, others)) = rest.split_first() {
            let word = word.as_ref();
            let is_in = |list: &str| list.split_ascii_whitespace().any(|option| option == word);
            if is_in(self.idle) || is_in(self.code) {
                return None;
            }
            if !word.starts_with(['-', '+']) {
                return Some(InterpreterSource::File(rest));
            }
            let ends_cluster = |letter| is_cluster(word) && word.ends_with(letter);
            match self.language {
                Shell if ends_cluster('c') || word == "--command" => {
                    return others.first().map(|script| InterpreterSource::Script(script));
                }
                Shell if word == "-s" => return Some(InterpreterSource::Stdin),
                Python if ends_cluster('m') => return Some(InterpreterSource::Module(others)),
                Other if word == "--test" => return Some(InterpreterSource::Tests),
                Python if word == "-" => return Some(InterpreterSource::Stdin),
                _ => {}
            }
            // `bash -euo pipefail -c` has an option with a value inside a cluster.
            let takes_value = is_in(self.valued) || (self.language == Shell && ends_cluster('o'));
            rest = others.get(usize::from(takes_value)..).unwrap_or_default();
        }
        Some(InterpreterSource::Stdin)
    }
}

/// Returns `true` for short options written together: `-lc`.
fn is_cluster(word: &str) -> bool {
    word.len() <= 6
        && word
            .strip_prefix('-')
            .is_some_and(|letters| letters.bytes().all(|byte| byte.is_ascii_lowercase()))
}
