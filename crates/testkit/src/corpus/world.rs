//! What all writers of sessions share: one source of numbers, the words, the projects, and the books of what was
//! planted.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Ending, Ledger, LogFile, write_whole};
use super::project::{Edit, Project};
use super::record::Noise;
use super::spread::Spread;
use super::text;
use super::words::{TOPICS, Words};
use crate::truth::Dice;

/// The first day: 2026-06-03T00:00:00Z.
const START_MS: u64 = 1_780_444_800_000;
/// Over how long the sessions are spread: 90 days.
const SPAN_MS: u64 = 90 * 86_400_000;

/// Every so many outputs of commands hold a secret.
const OUTPUTS_PER_SECRET: u64 = 900;

pub(super) struct World {
    pub(super) home: PathBuf,
    pub(super) dice: Dice,
    pub(super) words: Words,
    pub(super) projects: Vec<Project>,
    pub(super) ledger: Ledger,
    /// Lines that no reader can read.
    pub(super) faults: u64,
    pub(super) secrets: Vec<String>,
    /// Outputs of commands so far.
    outputs: u64,
}

impl World {
    pub(super) fn new(home: &Path, seed: u64, bytes: u64) -> World {
        let mut dice = Dice(seed);
        let mut words = Words::new();
        let projects = Project::all(&mut words, &mut dice);
        World {
            home: home.to_owned(),
            dice,
            words,
            projects,
            ledger: Ledger {
                bytes_wanted: bytes,
                ..Ledger::default()
            },
            faults: 0,
            secrets: Vec::new(),
            outputs: 0,
        }
    }

    /// Begins a session: chooses what it is about, and gives the project.
    pub(super) fn begin(&mut self) -> usize {
        self.words.topic = self.dice.below(TOPICS);
        self.dice.below(self.projects.len())
    }

    /// When session `number` of `count` begins.
    pub(super) fn start_ms(&mut self, number: usize, count: usize) -> u64 {
        let step = SPAN_MS / count.max(1) as u64;
        START_MS + step * number as u64 + self.dice.between(0, step.saturating_sub(1))
    }

    /// Whether something happens that happens so many times in a thousand.
    pub(super) fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.dice.between(0, 999) < in_a_thousand
    }

    pub(super) fn length(&mut self, spread: &Spread) -> usize {
        spread.roll(&mut self.dice)
    }

    pub(super) fn uuid(&mut self) -> super::record::Uuid {
        super::record::Uuid::roll(&mut self.dice)
    }

    pub(super) fn letters(&mut self, length: usize) -> Noise {
        Noise::letters(&mut self.dice, length)
    }

    pub(super) fn base64(&mut self, length: usize) -> Noise {
        Noise::base64(&mut self.dice, length)
    }

    pub(super) fn sentence(&mut self) -> String {
        let mut out = String::new();
        self.words.sentence(&mut self.dice, &mut out);
        out
    }

    /// Prose in the language of a session.
    pub(super) fn prose(&mut self, tongue: Tongue, length: usize) -> String {
        match tongue {
            Tongue::English => self.words.prose(&mut self.dice, length),
            Tongue::Cjk => self.words.prose_cjk(&mut self.dice, length),
        }
    }

    /// What a command prints; now and then a secret is in it.
    pub(super) fn command_output(&mut self, project: usize, length: usize) -> String {
        let Project { paths, texts, .. } = &self.projects[project];
        // A third of what is printed is files of the project.
        let mut out = if length > 200 && self.dice.below(3) == 0 {
            let file = self.projects[project].pick(&mut self.dice);
            let (_, range) = self.projects[project].lines(file, &mut self.dice, length);
            let mut out = texts[file][range].to_owned();
            let left = length.saturating_sub(out.len());
            out.push_str(&text::command_output(&self.words, &mut self.dice, paths, left));
            out
        } else {
            text::command_output(&self.words, &mut self.dice, paths, length)
        };
        self.outputs += 1;
        if self.outputs.is_multiple_of(OUTPUTS_PER_SECRET) {
            let secret = self.secret();
            text::put(&mut out, format_args!("\nexport GITHUB_TOKEN={secret}\n"));
            self.secrets.push(secret);
        }
        out
    }

    /// Looks like a token of GitHub, and is none. Put together here, so that no scanner finds it in the source.
    fn secret(&mut self) -> String {
        format!("{}{}{}", "gh", "p_", self.letters(36))
    }

    /// Some lines of a file.
    pub(super) fn read(&mut self, project: usize, length: usize) -> FilePart {
        let of = &self.projects[project];
        let file = of.pick(&mut self.dice);
        let (first, range) = of.lines(file, &mut self.dice, length);
        FilePart {
            path: format!("{}/{}", of.cwd, of.paths[file]),
            first,
            text: of.texts[file][range].to_owned(),
            lines_total: of.texts[file].lines().count(),
        }
    }

    /// A name for something in code.
    pub(super) fn name(&mut self) -> String {
        self.words.name(&mut self.dice).to_owned()
    }

    pub(super) fn edit(&mut self, project: usize, length: usize) -> Edit {
        self.projects[project].edit(&self.words, &mut self.dice, length)
    }

    pub(super) fn code(&mut self, length: usize) -> String {
        text::code(&self.words, &mut self.dice, length)
    }

    pub(super) fn command(&mut self, project: usize) -> String {
        text::command(&self.words, &mut self.dice, &self.projects[project].paths)
    }

    /// What a search over the project prints.
    pub(super) fn found(&mut self, project: usize, length: usize) -> String {
        let mut out = String::new();
        while out.len() < length {
            text::grep_line(&self.words, &mut self.dice, &self.projects[project].paths, &mut out);
        }
        out
    }

    /// Now and then a crash leaves half of a line.
    pub(super) fn maybe_tear(&mut self, file: &mut LogFile) -> io::Result<()> {
        if self.dice.below(2_500) == 0 {
            self.faults += 1;
            file.torn_line()?;
        }
        Ok(())
    }

    /// Ends a log; some lack the last line break.
    pub(super) fn close(&mut self, file: LogFile, modified_ms: u64) -> io::Result<()> {
        let ending = if self.chance(100) { Ending::Open } else { Ending::Whole };
        file.close(ending, modified_ms, &mut self.ledger)
    }

    /// Writes a small file at once.
    pub(super) fn put(&mut self, path: &str, text: std::fmt::Arguments<'_>, modified_ms: u64) -> io::Result<()> {
        write_whole(&self.home.join(path), text, modified_ms, &mut self.ledger)
    }
}

/// Lines of a file, as a tool reads them.
pub(super) struct FilePart {
    pub(super) path: String,
    /// The number of the first line.
    pub(super) first: usize,
    pub(super) text: String,
    pub(super) lines_total: usize,
}

/// What a developer speaks with the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    English,
    Cjk,
}
