//! What the agents work on: projects with source files that are read again and again and change a little with each edit.
//! That is why real logs repeat themselves, and compress as they do.

use std::ops::Range;

use super::spread::SOURCE_FILE;
use super::text;
use super::words::{TOPICS, Words};
use crate::truth::Dice;

/// Projects, by their names.
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

/// An edit of a file, as it was made.
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) line: usize,
    /// The file before.
    pub(super) original: String,
}

impl Project {
    pub(super) fn all(words: &mut Words, dice: &mut Dice) -> Vec<Project> {
        NAMES.iter().map(|name| Project::new(name, words, dice)).collect()
    }

    fn new(name: &str, words: &mut Words, dice: &mut Dice) -> Project {
        words.topic = dice.below(TOPICS);
        let mut project = Project {
            cwd: format!("/home/ada/{name}"),
            branch: dice.pick(&["main", "main", "feature/search", "fix/login"]).to_owned(),
            paths: Vec::new(),
            texts: Vec::new(),
        };
        for number in 0..FILES {
            let folder = dice.pick(&["src", "src", "src/store", "tests", "docs"]);
            project.paths.push(format!("{folder}/{}_{number}.rs", words.name(dice)));
            let length = SOURCE_FILE.roll(dice);
            project.texts.push(text::code(words, dice, length));
        }
        project
    }

    /// A file, some more often than others.
    pub(super) fn pick(&self, dice: &mut Dice) -> usize {
        dice.below(self.paths.len()).min(dice.below(self.paths.len()))
    }

    /// Some whole lines of a file, of about `length` bytes: the number of the first, and their range.
    pub(super) fn lines(&self, file: usize, dice: &mut Dice, length: usize) -> (usize, Range<usize>) {
        let text = self.texts[file].as_bytes();
        // Agents read from the top, or around a place.
        let wanted = match text.len().checked_sub(length * 2) {
            Some(span) if span > 0 && dice.roll() & 3 != 0 => dice.below(span),
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
    pub(super) fn edit(&mut self, words: &Words, dice: &mut Dice, length: usize) -> Edit {
        let file = self.pick(dice);
        let (line, range) = self.lines(file, dice, length);
        let original = self.texts[file].clone();
        let old = original[range.clone()].to_owned();
        let mut new = String::with_capacity(old.len() + 80);
        for (at, part) in old.split_inclusive('\n').enumerate() {
            match dice.roll() % 5 {
                0 => text::put(
                    &mut new,
                    format_args!("    let {} = {}({at});\n", words.name(dice), words.name(dice)),
                ),
                1 if at > 0 => {}
                _ => new.push_str(part),
            }
        }
        self.texts[file].replace_range(range, &new);
        // A file that would grow or shrink for ever becomes what it was.
        if self.texts[file].len() > 120_000 || self.texts[file].len() < 200 {
            self.texts[file] = text::code(words, dice, 8_000);
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
