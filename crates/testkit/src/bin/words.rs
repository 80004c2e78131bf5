//! `words [DIR] [--check]`: how often the words of our style guide occur in comments and strings, beside the figures of three models.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use std::path::PathBuf;
use std::process::ExitCode;

use testkit::language;

const HELP: &str = "\
Counts the words of comments and strings, product lines, public items and names of types

Usage: words [DIR] [--check]

Arguments:
  [DIR]        The checkout to count; by default the one this program was built from

Options:
  --check      Exit with 1 if a dialect word is too frequent or a trade word too rare
  -h, --help   Print help
";

fn main() -> ExitCode {
    let mut root: Option<PathBuf> = None;
    let mut is_check = false;
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("-h" | "--help") => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            Some("--check") => is_check = true,
            Some(flag) if flag.starts_with('-') => return fail(&format!("unknown option: `{flag}`")),
            _ if root.is_none() => root = Some(PathBuf::from(argument)),
            _ => return fail("expected one directory; see `--help`"),
        }
    }
    let root = root.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    if !root.join("crates").is_dir() {
        return fail(&format!(
            "not a checkout, because it has no `crates` directory: `{}`",
            root.display()
        ));
    }
    let report = language::measure(&root);
    print!("{report}");
    let complaints = report.complaints();
    if is_check {
        for complaint in &complaints {
            eprintln!("error: {complaint}");
        }
    }
    ExitCode::from(u8::from(is_check && !complaints.is_empty()))
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}
