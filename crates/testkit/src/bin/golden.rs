//! `golden record` and `golden compare`: what every verb prints, as files, and what differs between two such records.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use testkit::golden::{self, RecordOptions};

const HELP: &str = "\
Records what every verb prints and writes, and compares two such records

Usage: golden record DIR [--binary PATH] [--corpus DIR]
       golden compare BEFORE AFTER

Commands:
  record DIR      Write text, JSON, exit status and files of every verb into DIR, which must be new or empty
  compare A B     Print what differs between two records

Options:
  --binary PATH   The binary to record; by default the one that was built beside this program
  --corpus DIR    Real logs to record over; by default BOSWELL_CORPUS, and made-up logs if it is not set
  -h, --help      Print help

Exit status of compare: 0 equal, 1 different, 2 error
";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let texts: Vec<String> = arguments.iter().map(|one| one.to_string_lossy().into_owned()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    match texts.as_slice() {
        ["-h" | "--help" | "help"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        ["record", rest @ ..] => match record_options(rest) {
            Ok(options) => record(&options),
            Err(message) => fail(&message),
        },
        ["compare", before, after] => compare(Path::new(before), Path::new(after)),
        _ => fail("expected `record DIR` or `compare BEFORE AFTER`; see `--help`"),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}

fn record_options(words: &[&str]) -> Result<RecordOptions, String> {
    let (mut output, mut binary) = (None, None);
    let mut corpus = std::env::var_os("BOSWELL_CORPUS").map(PathBuf::from);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().map(PathBuf::from).ok_or(format!("`{word}` needs a value"));
        match *word {
            "--binary" => binary = Some(value()?),
            "--corpus" => corpus = Some(value()?),
            flag if flag.starts_with('-') => return Err(format!("unknown option: `{flag}`")),
            directory if output.is_none() => output = Some(PathBuf::from(directory)),
            more => return Err(format!("unexpected argument: `{more}`")),
        }
    }
    let beside = || -> Result<PathBuf, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(own.with_file_name("boswell"))
    };
    Ok(RecordOptions {
        binary: binary.map_or_else(beside, Ok)?,
        corpus,
        output: output.ok_or("`record` needs a directory")?,
    })
}

fn record(options: &RecordOptions) -> ExitCode {
    if options.corpus.is_none() {
        eprintln!("Recording over made-up logs, because neither `--corpus` nor `BOSWELL_CORPUS` names real ones");
    }
    let started = Instant::now();
    let summary = match golden::record(options) {
        Ok(summary) => summary,
        Err(error) => return fail(&error.to_string()),
    };
    for line in summary.timed_out.iter().chain(&summary.unexpected) {
        eprintln!("warning: {line}");
    }
    let seconds = started.elapsed().as_secs();
    println!(
        "Recorded {} invocations into {} in {seconds} s",
        summary.invocations,
        options.output.display()
    );
    ExitCode::SUCCESS
}

fn compare(before: &Path, after: &Path) -> ExitCode {
    match golden::compare(before, after) {
        Ok(comparison) => {
            println!("{comparison}");
            ExitCode::from(u8::from(!comparison.differences.is_empty()))
        }
        Err(error) => fail(&format!("cannot compare the records: {error}")),
    }
}
