//! The projects that the agents work on. Their source files are read repeatedly and change a little with each edit, which is why real
//! logs are repetitive and compress well.

use std::ops::Range;

use super::lengths::SOURCE_FILE;
use super::text;
use super::vocabulary::{TOPICS, Vocabulary};
use crate::truth::SeededRandom;

/// The names of the projects.
const NAMES: [&str; 8] = ["app", "shop", "atlas", "ledger", "notes", "radio", "garden", "web/site"];
const FILES: usize = 40;

/// A project of a developer.
pub(super) struct Project {
    pub(super) cwd: String,
    pub(super) branch: String,
    /// Relative to `cwd`.
    pub(super) paths: Vec<String>,
    /// The text of each.
    pub(super) texts: Vec<String>,
}

/// An edit of a file.
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) line: usize,
    /// The content before the edit.
    pub(super) original: String,
}

impl Project {
    pub(super) fn all(words: &mut Vocabulary, random: &mut SeededRandom) -> Vec<Project> {
        NAMES.iter().map(|name| Project::new(name, words, random)).collect()
    }

    fn new(name: &str, words: &mut Vocabulary, random: &mut SeededRandom) -> Project {
        words.topic = random.below(TOPICS);
        let mut project = Project {
            cwd: format!("/home/ada/{name}"),
            branch: random.pick(&["main", "main", "feature/search", "fix/login"]).to_owned(),
            paths: Vec::new(),
            texts: Vec::new(),
        };
        for number in 0..FILES {
            let folder = random.pick(&["src", "src", "src/store", "tests", "docs"]);
            project
                .paths
                .push(format!("{folder}/{}_{number}.rs", words.name(random)));
            let length = SOURCE_FILE.sample(random);
            project.texts.push(text::code(words, random, length));
        }
        project
    }

    /// Picks a file. Some are picked more often than others.
    pub(super) fn pick(&self, random: &mut SeededRandom) -> usize {
        random.below(self.paths.len()).min(random.below(self.paths.len()))
    }

    /// Picks whole lines of about `length` bytes. Returns the number of the first line and the byte range.
    pub(super) fn lines(&self, file: usize, random: &mut SeededRandom, length: usize) -> (usize, Range<usize>) {
        let text = self.texts[file].as_bytes();
        // Agents read from the top or around a position.
        let wanted = match text.len().checked_sub(length * 2) {
            Some(span) if span > 0 && random.next_u64() & 3 != 0 => random.below(span),
            _ => 0,
        };
        let is_end = |byte: &u8| *byte == b'\n';
        let start = text[..wanted].iter().rposition(is_end).map_or(0, |at| at + 1);
        let least = (start + length).min(text.len());
        let end = text[least..]
            .iter()
            .position(is_end)
            .map_or(text.len(), |at| least + at + 1);
        let number = text[..start].iter().filter(|byte| is_end(byte)).count() + 1;
        (number, start..end)
    }

    /// Changes some lines of a file.
    pub(super) fn edit(&mut self, words: &Vocabulary, random: &mut SeededRandom, length: usize) -> Edit {
        let file = self.pick(random);
        let (line, range) = self.lines(file, random, length);
        let original = self.texts[file].clone();
        let old = original[range.clone()].to_owned();
        let mut new = String::with_capacity(old.len() + 80);
        for (at, part) in old.split_inclusive('\n').enumerate() {
            match random.next_u64() % 5 {
                0 => text::put(
                    &mut new,
                    format_args!("    let {} = {}({at});\n", words.name(random), words.name(random)),
                ),
                1 if at > 0 => {}
                _ => new.push_str(part),
            }
        }
        self.texts[file].replace_range(range, &new);
        // Reset files that have become too large or too small.
        if self.texts[file].len() > 120_000 || self.texts[file].len() < 200 {
            self.texts[file] = text::code(words, random, 8_000);
        }
        Edit {
            path: format!("{}/{}", self.cwd, self.paths[file]),
            old,
            new,
            line,
            original,
        }
    }
}
