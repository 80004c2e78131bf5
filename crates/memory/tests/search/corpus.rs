//! Real logs: search finds exactly what a plain scan of the decoded texts finds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use memory::search::{PartFormat, Query};
use transcript::{Agent, texts};
use unicode_normalization::UnicodeNormalization;

use crate::dice::Dice;
use crate::kept::MemorySessions;

/// The texts of each session, in composed form.
struct CorpusTexts {
    kept: MemorySessions,
    texts: Vec<Vec<String>>,
}

fn list_files(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => list_files(&path, paths),
            false => paths.extend(path.extension().is_some_and(|end| end == "jsonl").then_some(path)),
        }
    }
}

/// Returns some of the real logs, because all of them would take minutes in a debug build.
fn load_texts() -> Option<CorpusTexts> {
    let corpus = PathBuf::from(env::var_os("BOSWELL_CORPUS")?);
    let mut load_texts = CorpusTexts {
        kept: MemorySessions::default(),
        texts: Vec::new(),
    };
    for (directory, agent) in [
        ("claude", Agent::Claude),
        ("codex", Agent::Codex),
        ("grok", Agent::Grok),
    ] {
        let mut paths = Vec::new();
        list_files(&corpus.join(directory), &mut paths);
        paths.sort();
        for path in paths.iter().step_by(16) {
            let bytes = fs::read(path).unwrap();
            let lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            load_texts.texts.push(
                lines
                    .iter()
                    .flat_map(|line| texts(agent, line))
                    .map(|text| text.text.nfc().collect())
                    .collect(),
            );
            // One turn for the whole session, because sets of sessions are compared.
            load_texts.kept.add(PartFormat::Records(agent), &lines, 60, &[1]);
        }
    }
    Some(load_texts)
}

impl CorpusTexts {
    fn draw(&self, dice: &mut Dice) -> &str {
        loop {
            let texts = &self.texts[dice.below(self.texts.len())];
            if !texts.is_empty() {
                return &texts[dice.below(texts.len())];
            }
        }
    }

    fn check(&self, query: &Query, name: &str, holds: impl Fn(&str) -> bool) {
        let scan = self
            .texts
            .iter()
            .enumerate()
            .filter(|(_, texts)| texts.iter().any(|text| holds(text)));
        let expected: BTreeSet<usize> = scan.map(|(session, _)| session).collect();
        assert!(!expected.is_empty(), "{name}");
        let found: BTreeSet<usize> = self.kept.turns(query).into_iter().map(|(session, _)| session).collect();
        assert_eq!(found, expected, "{name}");
    }
}

/// Returns `true` if a text contains the word, using a separate tokenizer: letters and digits, and parts that start
/// with a capital letter.
fn has_word(text: &str, word: &str) -> bool {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let mut near = runs.filter(|run| run.len() >= word.len() && run.to_lowercase().contains(word));
    near.any(|run| {
        let chars: Vec<char> = run.chars().collect();
        let mut parts = vec![String::new()];
        for (at, c) in chars.iter().enumerate() {
            let after_small = at > 0 && !chars[at - 1].is_uppercase();
            let before_small = at > 0 && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
            if c.is_uppercase() && at > 0 && (after_small || before_small) {
                parts.push(String::new());
            }
            parts.last_mut().unwrap().extend(c.to_lowercase());
        }
        run.to_lowercase() == word || parts.iter().any(|part| part == word)
    })
}

#[test]
fn words_substrings_and_expressions_find_the_sessions_that_a_plain_scan_finds() {
    let Some(load_texts) = load_texts() else { return };
    let mut dice = Dice(3);
    let mut asked = (0, 0, 0);
    while asked.0 < 40 {
        let words: Vec<&str> = load_texts
            .draw(&mut dice)
            .split(|c: char| !c.is_ascii_alphanumeric())
            .collect();
        let word = words[dice.below(words.len())].to_lowercase();
        if (2..=40).contains(&word.len()) {
            load_texts.check(&Query::words(&format!("\"{word}\"")).unwrap(), &word, |text| {
                has_word(text, &word)
            });
            asked.0 += 1;
        }
    }
    while asked.1 < 30 {
        let chars: Vec<char> = load_texts.draw(&mut dice).chars().collect();
        let start = dice.below(chars.len());
        let piece: String = chars[start..].iter().take(1 + dice.below(14)).collect();
        // Lower case by the standard library differs from folding if a letter has several lower-case forms.
        if piece.is_ascii() && !piece.is_empty() {
            let small = piece.to_lowercase();
            load_texts.check(&Query::exact(&piece).unwrap(), &piece, |text| {
                text.to_ascii_lowercase().contains(&small)
            });
            asked.1 += 1;
        }
    }
    for expression in [
        "http_[a-z]+_proxy",
        r"fn \w+\(",
        r"panic.*nil",
        r"\d{4}-\d\d-\d\dT",
        "(?-i)ERR(OR)?:",
        r"^\s+at \S+",
    ] {
        let regex = regex::RegexBuilder::new(expression)
            .case_insensitive(true)
            .multi_line(true)
            .build()
            .unwrap();
        if load_texts.texts.iter().flatten().any(|text| regex.is_match(text)) {
            load_texts.check(&Query::regex(expression).unwrap(), expression, |text| {
                regex.is_match(text)
            });
            asked.2 += 1;
        }
    }
    assert!(asked.2 > 1);
}
