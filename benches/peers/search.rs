//! Searches of all sessions as whole commands, compared with ripgrep over the raw logs. The words come from the corpus.
//!
//! ripgrep reads every byte and prints lines; a memory returns ranked turns with their sessions, and masks secrets.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{ALL, Bench, Entrant, Memory, size_below};
use crate::figures::{Contest, Job};
use crate::seeded::{cache, files_below};

pub fn job(bench: &mut Bench) -> Job {
    let corpus = bench.corpus(bench.size(300, 6));
    let memory = bench.memory(&corpus, cache().join("peers-search"), ALL).swept();
    let words = Words::of(&memory);
    let logs = format!("{:.0} MB of logs", size_below(&corpus) as f64 / 1e6);
    let contests = QUESTIONS
        .iter()
        .map(|question| ask(bench, &memory, &words, question, &logs))
        .collect();
    _ = fs::remove_dir_all(&memory.data);
    Job {
        contests,
        ..Job::default()
    }
}

/// A search, and the arguments for each program.
struct Question {
    name: &'static str,
    what: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    text: fn(&Words) -> &str,
    /// The number of rounds in a whole run: fewer if the search reads a lot.
    rounds: u64,
}

const QUESTIONS: [Question; 6] = [
    Question {
        name: "rare word",
        what: "A word that occurs in few sessions",
        ours: &[],
        theirs: &["-F", "-i", "-w"],
        text: |words| &words.rare,
        rounds: 15,
    },
    Question {
        name: "word that is nowhere",
        what: "A word that does not occur",
        ours: &[],
        theirs: &["-F", "-i", "-w"],
        text: |_| "zqxjkvw",
        rounds: 15,
    },
    Question {
        name: "common word",
        what: "A word that occurs in most sessions, the 20 best turns",
        ours: &["--limit", "20"],
        theirs: &["-F", "-i", "-w"],
        text: |_| "self",
        rounds: 15,
    },
    Question {
        name: "exact characters",
        what: "Characters that cut a word (`--exact`)",
        ours: &["--exact"],
        theirs: &["-F", "-i"],
        text: |words| &words.exact,
        rounds: 15,
    },
    Question {
        name: "expression",
        what: "A regular expression with literal letters (`--regex`)",
        ours: &["--regex"],
        theirs: &["-i"],
        text: |words| &words.regex,
        rounds: 15,
    },
    Question {
        name: "expression without letters",
        what: r"A regular expression without letters, not found: everything is read (`--regex '\d{9}-\d{7}'`)",
        ours: &["--regex"],
        theirs: &["-i"],
        text: |_| r"\d{9}-\d{7}",
        rounds: 5,
    },
];

fn ask(bench: &mut Bench, memory: &Memory, words: &Words, question: &Question, logs: &str) -> Contest {
    let text = (question.text)(words);
    let rg = bench.system("rg");
    let told = memory.json(&[&["search", "--no-sweep", "--json"], question.ours, &["--", text]].concat());
    let frames = told["frames_read"].as_u64().unwrap_or_default();
    let rounds = bench.rounds(question.rounds);
    let entrants = vec![
        Entrant::new("boswell search", || ours(memory, question.ours, text))
            .note(format!("{frames} frames read"))
            .may_find_nothing(),
        Entrant::of("rg over the logs", &rg, |program| {
            over(program, question.theirs, text, &memory.home)
        })
        .may_find_nothing(),
    ];
    bench.contest(
        question.name,
        &format!("{}, in {logs}", question.what),
        entrants,
        rounds,
    )
}

pub fn ours(memory: &Memory, options: &[&str], text: &str) -> Command {
    memory.command(&[&["search", "--no-sweep"], options, &["--", text]].concat())
}

/// Counts lines by file, which is ripgrep's cheapest output because it prints no matches.
fn over(program: &Path, options: &[&str], text: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--no-config", "--no-ignore", "--hidden", "-c"])
        .args(options)
        .args(["-e", text, "--"])
        .arg(home);
    command
}

/// The search terms, taken from texts of the seeded corpus so that they occur there, and rarely.
pub struct Words {
    pub rare: String,
    exact: String,
    regex: String,
}

impl Words {
    pub fn of(memory: &Memory) -> Self {
        let mut files = Vec::new();
        files_below(&memory.home.join(".claude/projects"), &mut files);
        let seldom = |word: &str| {
            let told = memory.json(&["search", "--no-sweep", "--json", "--limit", "4", "--", word]);
            (1..=3).contains(&told["sessions"].as_u64().unwrap_or_default())
        };
        let rare = files.iter().skip(files.len() / 2).find_map(|path| {
            let log = fs::read_to_string(path).expect("a log can be read");
            let words = log.split(|c: char| !c.is_ascii_alphanumeric());
            let long = words.filter(|word| (10..30).contains(&word.len())).take(200);
            long.map(str::to_owned).find(|word| seldom(word))
        });
        let rare = rare.expect("a corpus has rare words");
        // A part of a word, and an expression over it, so that an index of words cannot help.
        let cut = &rare[1..rare.len() - 1];
        Self {
            exact: cut.to_owned(),
            regex: format!("{}[a-z0-9]{}", &cut[..4], &cut[5..]),
            rare,
        }
    }
}
