//! Recall on real logs: after a sweep, random words, substrings and regular expressions must find exactly the sessions
//! that an independent oracle finds.
//!
//! By default, a few logs and queries are used. With `BOSWELL_RECALL=all`, preferably in a release build, it uses all
//! logs and 400 queries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use jiff::Timestamp;
use memory::find::{Found, Question, What, find};
use memory::kept;
use memory::mask::{MaskKey, Masker, UserRules};
use memory::search::{HitTarget, Query};
use memory::sources::LogRoot;
use memory::store::{LockWait, Store};
use memory::sweep::{Sweep, run};
use transcript::{Agent, LineBody, PartKind};

use crate::dice::Dice;
use crate::oracle::{Choice, OracleTexts, Shape, add_record, records, small};

/// Long after the last line, so that every log is quiet.
const NOW: &str = "2100-01-01T00:00:00Z";

/// Copies the logs into a home, at the paths that their agents use.
fn copy_logs(corpus: &Path, home: &Path, step: usize) {
    for (agent, place) in [
        ("claude", ".claude/projects"),
        ("codex", ".codex/sessions"),
        ("grok", ".grok/sessions/project"),
    ] {
        let mut paths = Vec::new();
        list_files(&corpus.join(agent), &mut paths);
        paths.retain(|path| agent != "grok" || matches!(name(path), "updates.jsonl" | "chat_history.jsonl"));
        paths.sort();
        for (number, path) in paths.iter().enumerate().step_by(step) {
            let prefix = match agent == "codex" && !name(path).starts_with("rollout-") {
                true => "rollout-",
                false => "",
            };
            let folder = home.join(place).join(format!("folder-{number}"));
            fs::create_dir_all(&folder).unwrap();
            fs::copy(path, folder.join(format!("{prefix}{}", name(path)))).unwrap();
        }
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
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

fn sweep(home: &Path, store: &Path) {
    let roots = Agent::ALL.map(|agent| LogRoot {
        agent,
        path: home.join(format!(".{}", agent.as_str())),
        label: None,
    });
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
    let place = store.into();
    let sweep = Sweep {
        threads: 2,
        ..Sweep::new(&place, &roots, &masker, NOW.parse().unwrap())
    };
    run(&sweep, LockWait::Wait(&|| {})).unwrap();
}

/// Returns the texts of all stored sessions.
fn load_texts(directory: &Path) -> Vec<OracleTexts> {
    let store = Store::open_existing(directory).unwrap().unwrap();
    let mut all = Vec::new();
    for session in store.reads().listed().unwrap() {
        let mut texts = OracleTexts::new(&session.session_uid);
        for (kind, part) in kept::list_parts(&store, &session.session_uid).unwrap() {
            if !matches!(kind, PartKind::Log | PartKind::ChatHistory) {
                continue;
            }
            kept::each_line(&store, &session.session_uid, &part, |line| {
                let LineBody::Bytes(bytes) = line.body() else { return };
                let (records, _) = records(bytes);
                for record in &records {
                    add_record(session.flavor(), record, &mut texts);
                }
            })
            .unwrap();
        }
        all.push(texts);
    }
    all
}

struct Trial {
    store: PathBuf,
    texts: Vec<OracleTexts>,
    asked: usize,
    differences: Vec<String>,
}

impl Trial {
    fn draw(&self, dice: &mut Dice) -> &str {
        loop {
            let texts = &self.texts[dice.below(self.texts.len())].texts;
            if !texts.is_empty() {
                return &texts[dice.below(texts.len())];
            }
        }
    }

    /// Returns some characters of a line. Lines are not combined, because the order of a tool's arguments is lost in
    /// the oracle's JSON.
    fn piece(&self, dice: &mut Dice, least: usize, most: usize) -> String {
        loop {
            let chars: Vec<char> = self.draw(dice).chars().collect();
            let start = dice.below(chars.len());
            let length = least + dice.below(most - least + 1);
            if let Some(piece) = chars.get(start..start + length).filter(|piece| !piece.contains(&'\n')) {
                return piece.iter().collect();
            }
        }
    }

    fn check(&mut self, query: &Query, contains: impl Fn(&OracleTexts) -> bool) {
        let question = Question {
            query,
            now: NOW.parse::<Timestamp>().unwrap(),
            threads: 2,
            enough: HitTarget::of(usize::MAX),
            takes: &|_| true,
            behind: None,
            is_cancelled: &|| false,
        };
        let findings = find(&Store::open_existing(&self.store).unwrap().unwrap(), &question).unwrap();
        assert!(!findings.is_partial && findings.unreadable.is_empty());
        let mut found = BTreeSet::new();
        // Titles are stored beside logs, and the oracle reads only logs.
        let in_logs = |one: &Found| matches!(one.what, What::Text(_));
        for one in findings.found.into_iter().filter(in_logs) {
            found.insert(one.session.session_uid);
            found.extend(one.copied_in);
        }
        let holders = self.texts.iter().filter(|texts| contains(texts));
        let expected: BTreeSet<String> = holders.map(|texts| texts.uid.clone()).collect();
        assert!(
            !expected.is_empty(),
            "the oracle does not find what it drew: {}",
            query.terms[0].typed
        );
        self.asked += 1;
        if found != expected {
            let typed = &query.terms[0].typed;
            let only_found: Vec<&String> = found.difference(&expected).take(3).collect();
            let missed: Vec<&String> = expected.difference(&found).take(3).collect();
            self.differences
                .push(format!("{typed:?}: missed {missed:?}, found alone {only_found:?}"));
        }
    }
}

fn is_plain_word(word: &str) -> bool {
    let is_unspaced = |c: char| c >= '\u{0e00}';
    (2..=40).contains(&word.chars().count()) && word.chars().all(|c| c.is_alphanumeric() && !is_unspaced(c))
}

/// Returns an expression made from a piece of text, and its matches.
fn expression(piece: &str, other: &str, dice: &mut Dice) -> (String, Shape) {
    let of = |text: &str| small(text).chars().map(|c| Choice::Of(vec![c])).collect::<Vec<_>>();
    if dice.below(4) == 0 {
        let expression = format!("(?:{}|{})", regex::escape(piece), regex::escape(other));
        return (expression, Shape(vec![of(piece), of(other)]));
    }
    let at = dice.below(piece.chars().count());
    let c = piece.chars().nth(at).unwrap();
    let (class, choice) = match dice.below(3) {
        0 if c.is_ascii_digit() => (r"\d".to_owned(), Choice::Digit),
        1 if c != '\n' => (".".to_owned(), Choice::Any),
        _ => (
            format!("[{}q]", regex::escape(&c.to_string())),
            Choice::Of(small(&format!("{c}q")).chars().collect()),
        ),
    };
    let before: String = piece.chars().take(at).collect();
    let after: String = piece.chars().skip(at + 1).collect();
    let mut way = of(&before);
    way.push(choice);
    way.extend(of(&after));
    let expression = format!("{}{class}{}", regex::escape(&before), regex::escape(&after));
    (expression, Shape(vec![way]))
}

#[test]
fn words_substrings_and_expressions_find_exactly_the_sessions_of_an_independent_oracle() {
    let Some(corpus) = env::var_os("BOSWELL_CORPUS") else {
        return;
    };
    let (step, each) = match env::var("BOSWELL_RECALL").as_deref() {
        Ok("all") => (1, 100),
        _ => (32, 20),
    };
    let directory = tempfile::tempdir().unwrap();
    let (home, store) = (directory.path().join("home"), directory.path().join("store"));
    copy_logs(Path::new(&corpus), &home, step);
    sweep(&home, &store);
    let mut trial = Trial {
        texts: load_texts(&store),
        store,
        asked: 0,
        differences: Vec::new(),
    };
    let mut dice = Dice(11);
    let mut by_unicode_alone = 0;
    while trial.asked < 2 * each {
        let words: Vec<&str> =
            unicode_segmentation::UnicodeSegmentation::unicode_words(trial.draw(&mut dice)).collect();
        let word = words
            .get(dice.below(words.len()))
            .map(|word| small(word))
            .unwrap_or_default();
        if is_plain_word(&word) {
            trial.check(&Query::words(&format!("\"{word}\"")).unwrap(), |texts| {
                texts.words.contains(&word)
            });
            let is_apart = |texts: &OracleTexts| texts.words.contains(&word) != texts.unicode_words.contains(&word);
            by_unicode_alone += usize::from(!trial.texts.iter().any(is_apart));
        }
    }
    while trial.asked < 3 * each {
        let piece = trial.piece(&mut dice, 4, 20);
        let small_piece = small(&piece);
        trial.check(&Query::exact(&piece).unwrap(), |texts| texts.contains(&small_piece));
    }
    while trial.asked < 4 * each {
        let (piece, other) = (trial.piece(&mut dice, 5, 16), trial.piece(&mut dice, 5, 16));
        let (expression, shape) = expression(&piece, &other, &mut dice);
        trial.check(&Query::regex(&expression).unwrap(), |texts| texts.matches(&shape));
    }
    let texts: usize = trial.texts.iter().map(|texts| texts.texts.len()).sum();
    eprintln!(
        "{} questions to {} sessions with {texts} texts; {by_unicode_alone} of the {} words are the same by Unicode alone",
        trial.asked,
        trial.texts.len(),
        2 * each
    );
    assert!(
        trial.differences.is_empty(),
        "{} differ:\n{}",
        trial.differences.len(),
        trial.differences.join("\n")
    );
}
