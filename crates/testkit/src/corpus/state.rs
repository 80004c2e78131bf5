//! The state that all session generators share: random numbers, vocabulary, projects, and a record of planted faults and secrets.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{CorpusTotals, Ending, LogFile, write_whole};
use super::lengths::LengthDistribution;
use super::project::{Edit, Project};
use super::record::RandomText;
use super::text;
use super::vocabulary::{TOPICS, Vocabulary};
use crate::truth::SeededRandom;

/// The start of the first day: 2026-06-03T00:00:00Z.
const START_MS: u64 = 1_780_444_800_000;
/// Sessions start within this period: 90 days.
const SPAN_MS: u64 = 90 * 86_400_000;

/// One in this many command outputs contains a secret.
const OUTPUTS_PER_SECRET: u64 = 900;

pub(super) struct CorpusState {
    pub(super) home: PathBuf,
    pub(super) random: SeededRandom,
    pub(super) words: Vocabulary,
    pub(super) projects: Vec<Project>,
    pub(super) totals: CorpusTotals,
    /// Lines that cannot be parsed.
    pub(super) faults: u64,
    pub(super) secrets: Vec<String>,
    /// Number of command outputs so far.
    outputs: u64,
}

impl CorpusState {
    pub(super) fn new(home: &Path, seed: u64, bytes: u64) -> CorpusState {
        let mut random = SeededRandom(seed);
        let mut words = Vocabulary::new();
        let projects = Project::all(&mut words, &mut random);
        CorpusState {
            home: home.to_owned(),
            random,
            words,
            projects,
            totals: CorpusTotals {
                bytes_wanted: bytes,
                ..CorpusTotals::default()
            },
            faults: 0,
            secrets: Vec::new(),
            outputs: 0,
        }
    }

    /// Starts a session: picks a topic and returns the project.
    pub(super) fn begin(&mut self) -> usize {
        self.words.topic = self.random.below(TOPICS);
        self.random.below(self.projects.len())
    }

    /// Returns the start time of session `number` of `count`.
    pub(super) fn start_ms(&mut self, number: usize, count: usize) -> u64 {
        let step = SPAN_MS / count.max(1) as u64;
        START_MS + step * number as u64 + self.random.between(0, step.saturating_sub(1))
    }

    /// Returns true with a probability of `in_a_thousand` per mille.
    pub(super) fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.random.between(0, 999) < in_a_thousand
    }

    pub(super) fn length(&mut self, distribution: &LengthDistribution) -> usize {
        distribution.sample(&mut self.random)
    }

    pub(super) fn uuid(&mut self) -> super::record::Uuid {
        super::record::Uuid::random(&mut self.random)
    }

    pub(super) fn letters(&mut self, length: usize) -> RandomText {
        RandomText::letters(&mut self.random, length)
    }

    pub(super) fn base64(&mut self, length: usize) -> RandomText {
        RandomText::base64(&mut self.random, length)
    }

    pub(super) fn sentence(&mut self) -> String {
        let mut out = String::new();
        self.words.sentence(&mut self.random, &mut out);
        out
    }

    /// Returns prose in the language of a session.
    pub(super) fn prose(&mut self, language: Language, length: usize) -> String {
        match language {
            Language::English => self.words.prose(&mut self.random, length),
            Language::Cjk => self.words.prose_cjk(&mut self.random, length),
        }
    }

    /// Returns command output, which occasionally contains a secret.
    pub(super) fn command_output(&mut self, project: usize, length: usize) -> String {
        let Project { paths, texts, .. } = &self.projects[project];
        // A third of all output is files of the project.
        let mut out = if length > 200 && self.random.below(3) == 0 {
            let file = self.projects[project].pick(&mut self.random);
            let (_, range) = self.projects[project].lines(file, &mut self.random, length);
            let mut out = texts[file][range].to_owned();
            let left = length.saturating_sub(out.len());
            out.push_str(&text::command_output(&self.words, &mut self.random, paths, left));
            out
        } else {
            text::command_output(&self.words, &mut self.random, paths, length)
        };
        self.outputs += 1;
        if self.outputs.is_multiple_of(OUTPUTS_PER_SECRET) {
            let secret = self.secret();
            text::put(&mut out, format_args!("\nexport GITHUB_TOKEN={secret}\n"));
            self.secrets.push(secret);
        }
        out
    }

    /// Returns a fake GitHub token. It is assembled at run time, so that no secret scanner finds it in the source.
    fn secret(&mut self) -> String {
        format!("{}{}{}", "gh", "p_", self.letters(36))
    }

    /// Reads some lines of a file.
    pub(super) fn read(&mut self, project: usize, length: usize) -> FilePart {
        let of = &self.projects[project];
        let file = of.pick(&mut self.random);
        let (first, range) = of.lines(file, &mut self.random, length);
        FilePart {
            path: format!("{}/{}", of.cwd, of.paths[file]),
            first,
            text: of.texts[file][range].to_owned(),
            lines_total: of.texts[file].lines().count(),
        }
    }

    /// Picks an identifier.
    pub(super) fn name(&mut self) -> String {
        self.words.name(&mut self.random).to_owned()
    }

    pub(super) fn edit(&mut self, project: usize, length: usize) -> Edit {
        self.projects[project].edit(&self.words, &mut self.random, length)
    }

    pub(super) fn code(&mut self, length: usize) -> String {
        text::code(&self.words, &mut self.random, length)
    }

    pub(super) fn command(&mut self, project: usize) -> String {
        text::command(&self.words, &mut self.random, &self.projects[project].paths)
    }

    /// Returns the output of a search over the project.
    pub(super) fn found(&mut self, project: usize, length: usize) -> String {
        let mut out = String::new();
        while out.len() < length {
            text::grep_line(&self.words, &mut self.random, &self.projects[project].paths, &mut out);
        }
        out
    }

    /// Occasionally writes half a line, as a crash does.
    pub(super) fn maybe_tear(&mut self, file: &mut LogFile) -> io::Result<()> {
        if self.random.below(2_500) == 0 {
            self.faults += 1;
            file.torn_line()?;
        }
        Ok(())
    }

    /// Closes a log. Some logs lack the last line break.
    pub(super) fn close(&mut self, file: LogFile, modified_ms: u64) -> io::Result<()> {
        let ending = if self.chance(100) { Ending::Open } else { Ending::Whole };
        file.close(ending, modified_ms, &mut self.totals)
    }

    /// Writes a small file.
    pub(super) fn put(&mut self, path: &str, text: std::fmt::Arguments<'_>, modified_ms: u64) -> io::Result<()> {
        write_whole(&self.home.join(path), text, modified_ms, &mut self.totals)
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

/// The language that a user speaks with the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Cjk,
}
