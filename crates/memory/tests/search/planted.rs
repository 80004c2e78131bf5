//! Texts of planted words. A table says where they must be found, so that the test does not depend on our tokenizer.

use std::collections::BTreeSet;

use memory::search::{PartFormat, Query};
use proptest::prelude::*;
use transcript::Agent;
use unicode_normalization::UnicodeNormalization;

use crate::kept::{MemorySessions, line};

/// A planted text, the words that find it, and those of them that it starts and ends with.
struct Seed {
    text: &'static str,
    words: &'static [&'static str],
    first: &'static [&'static str],
    last: &'static [&'static str],
}

const SEEDS: &[Seed] = &[
    Seed {
        text: "ParseConfig",
        words: &["parseconfig", "parse", "config"],
        first: &["parseconfig", "parse"],
        last: &["parseconfig", "config"],
    },
    Seed {
        text: "parse_config",
        words: &["parse", "config", "parse_config"],
        first: &["parse", "parse_config"],
        last: &["config", "parse_config"],
    },
    Seed {
        text: "MyParseConfig",
        words: &["my", "parse", "config", "myparseconfig"],
        first: &["my", "myparseconfig"],
        last: &["config", "myparseconfig"],
    },
    Seed {
        text: "src/Main.rs",
        words: &["src", "main", "rs", "main.rs", "src/main", "src/main.rs"],
        first: &["src", "src/main", "src/main.rs"],
        last: &["rs", "main.rs", "src/main.rs"],
    },
    Seed {
        text: "migrations",
        words: &["migrations"],
        first: &["migrations"],
        last: &["migrations"],
    },
    Seed {
        text: "emigration",
        words: &["emigration"],
        first: &["emigration"],
        last: &["emigration"],
    },
    Seed {
        text: "HTTPServer2",
        words: &["http", "server2", "httpserver2"],
        first: &["http", "httpserver2"],
        last: &["server2", "httpserver2"],
    },
    Seed {
        text: "café",
        words: &["café"],
        first: &["café"],
        last: &["café"],
    },
    Seed {
        text: "CAFE\u{301}",
        words: &["café"],
        first: &["café"],
        last: &["café"],
    },
    Seed {
        text: "文件名",
        words: &["文", "件", "名", "文件", "件名", "文件名"],
        first: &["文", "文件", "文件名"],
        last: &["名", "件名", "文件名"],
    },
    Seed {
        text: "can't",
        words: &["can", "t", "can't"],
        first: &["can", "can't"],
        last: &["t", "can't"],
    },
    Seed {
        text: "\"C:\\path\"",
        words: &["c", "path", "c:\\path"],
        first: &[],
        last: &[],
    },
    Seed {
        text: "🎉",
        words: &["🎉"],
        first: &[],
        last: &[],
    },
    Seed {
        text: "3.14",
        words: &["3", "14", "3.14"],
        first: &["3", "3.14"],
        last: &["14", "3.14"],
    },
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Prompt,
    Answer,
    Thought,
    Call,
    Result,
}

#[derive(Debug, Clone)]
struct Planted {
    kind: Kind,
    seeds: Vec<usize>,
    gap: &'static str,
}

impl Planted {
    fn text(&self) -> String {
        let texts: Vec<&str> = self.seeds.iter().map(|seed| SEEDS[*seed].text).collect();
        texts.join(self.gap)
    }

    fn line(&self) -> Vec<u8> {
        let text = self.text();
        match self.kind {
            Kind::Prompt => line::prompt(&text),
            Kind::Answer => line::answer(&text),
            Kind::Thought => line::thought(&text),
            Kind::Call => line::call(&text),
            Kind::Result => line::result(&text),
        }
    }
}

/// A query term, as a user types it and as the table defines it.
#[derive(Debug, Clone)]
enum Term {
    Word(&'static str),
    Beginning(&'static str),
    Phrase(&'static str, &'static str),
    InInput(&'static str),
}

impl Term {
    fn typed(&self) -> String {
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Beginning(word) => format!("{word}*"),
            Self::Phrase(one, two) => format!("\"{one} {two}\""),
            Self::InInput(word) => format!("file:{word}"),
        }
    }

    fn is_in(&self, planted: &Planted) -> bool {
        let mut seeds = planted.seeds.iter().map(|seed| &SEEDS[*seed]);
        match self {
            Self::Word(word) => seeds.any(|seed| seed.words.contains(word)),
            Self::Beginning(word) => seeds.any(|seed| seed.words.iter().any(|found| found.starts_with(word))),
            Self::Phrase(one, two) => planted.seeds.windows(2).any(|pair| {
                SEEDS[pair[0]].last.contains(one) && SEEDS[pair[1]].first.contains(two) && planted.gap.trim().is_empty()
            }),
            Self::InInput(word) => planted.kind == Kind::Call && seeds.any(|seed| seed.words.contains(word)),
        }
    }
}

fn planted() -> impl Strategy<Value = Planted> {
    let kind = prop_oneof![
        Just(Kind::Prompt),
        Just(Kind::Answer),
        Just(Kind::Thought),
        Just(Kind::Call),
        Just(Kind::Result)
    ];
    let seeds = proptest::collection::vec(0..SEEDS.len(), 0..5);
    let gap = prop_oneof![Just(" "), Just("\n"), Just("\t\r\n "), Just(", ")];
    (kind, seeds, gap).prop_map(|(kind, seeds, gap)| Planted { kind, seeds, gap })
}

fn word() -> impl Strategy<Value = &'static str> {
    (0..SEEDS.len(), any::<prop::sample::Index>())
        .prop_map(|(seed, at)| SEEDS[seed].words[at.index(SEEDS[seed].words.len())])
}

fn term() -> impl Strategy<Value = Term> {
    let plain = || word().prop_filter("an arrow has no words", |word| *word != "🎉");
    prop_oneof![
        4 => word().prop_map(Term::Word),
        1 => prop::sample::select(vec!["migr", "par", "c", "http", "src/ma", "文", "3"]).prop_map(Term::Beginning),
        2 => (plain(), plain()).prop_map(|(one, two)| Term::Phrase(one, two)),
        1 => plain().prop_map(Term::InInput),
    ]
}

#[derive(Debug, Clone)]
struct Case {
    sessions: Vec<(Vec<Planted>, usize)>,
    /// Frames whose filter is lost.
    lost: u8,
}

fn case() -> impl Strategy<Value = Case> {
    let session = (proptest::collection::vec(planted(), 1..10), 1usize..5);
    (proptest::collection::vec(session, 1..4), any::<u8>()).prop_map(|(sessions, lost)| Case { sessions, lost })
}

/// A session, and the number of one of its turns.
type Turn = (usize, Option<u32>);

/// Returns the lines of each turn, by session and number. Lines before the first prompt are a turn without a number.
fn turns(case: &Case) -> Vec<(Turn, Vec<&Planted>)> {
    let mut turns: Vec<(Turn, Vec<&Planted>)> = Vec::new();
    for (number, (lines, _)) in case.sessions.iter().enumerate() {
        let mut turn = None;
        turns.push(((number, None), Vec::new()));
        for planted in lines {
            if planted.kind == Kind::Prompt {
                turn = Some(turn.unwrap_or(0) + 1);
                turns.push(((number, turn), Vec::new()));
            }
            turns.last_mut().unwrap().1.push(planted);
        }
    }
    turns
}

fn keep(case: &Case) -> MemorySessions {
    let mut kept = MemorySessions::default();
    for (lines, per_frame) in &case.sessions {
        let triggers = lines
            .iter()
            .zip(1..)
            .filter(|(planted, _)| planted.kind == Kind::Prompt)
            .map(|(_, line)| line);
        let triggers: Vec<u64> = triggers.collect();
        let lines: Vec<Vec<u8>> = lines.iter().map(Planted::line).collect();
        kept.add(PartFormat::Records(Agent::Claude), &lines, *per_frame, &triggers);
    }
    for (at, frame) in kept.frames.iter_mut().enumerate() {
        match case.lost >> (at % 4 * 2) & 3 {
            0 => frame.1 = None,
            1 => frame.1 = Some(b"no filter at all".to_vec()),
            _ => {}
        }
    }
    kept
}

/// Returns `false` for a short word, because `-cr` looks like an option of a program, so its dash is text.
fn is_negatable(typed: &str) -> bool {
    let word = typed.split(char::is_whitespace).next().unwrap_or_default();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    typed.starts_with('"') || letters >= 3 || word.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_turns_with_all_words_and_without_the_excluded_ones_are_found(
        case in case(),
        wanted in proptest::collection::vec(term(), 1..4),
        mut unwanted in proptest::collection::vec(term(), 0..2),
        only in prop_oneof![3 => Just(None), 1 => Just(Some(("in:prompt", Kind::Prompt))), 1 => Just(Some(("in:output", Kind::Result)))],
    ) {
        unwanted.retain(|term| is_negatable(&term.typed()));
        let mut typed: Vec<String> = wanted.iter().map(Term::typed).collect();
        typed.extend(unwanted.iter().map(|term| format!("-{}", term.typed())));
        typed.extend(only.map(|(typed, _)| typed.to_owned()));
        let query = Query::words(&typed.join(" ")).unwrap();
        let holds = |lines: &[&Planted], term: &Term| lines.iter().any(|planted| {
            let is_searched = matches!(term, Term::InInput(_)) || only.is_none_or(|(_, kind)| kind == planted.kind);
            is_searched && term.is_in(planted)
        });
        let expected: BTreeSet<(usize, Option<u32>)> = turns(&case)
            .iter()
            .filter(|(_, lines)| wanted.iter().all(|term| holds(lines, term)) && !unwanted.iter().any(|term| holds(lines, term)))
            .map(|(turn, _)| *turn)
            .collect();
        prop_assert_eq!(keep(&case).turns(&query), expected, "{}", typed.join(" "));
    }

    #[test]
    fn substrings_of_a_text_are_found_where_a_plain_scan_finds_them(
        case in case(),
        from in any::<prop::sample::Index>(),
        length in 1usize..9,
        is_regex in any::<bool>(),
    ) {
        let plain = |planted: &Planted| planted.text().nfc().collect::<String>().to_lowercase();
        let all: Vec<char> = case.sessions.iter().flat_map(|(lines, _)| lines).map(plain).collect::<String>().chars().collect();
        prop_assume!(!all.is_empty());
        let start = from.index(all.len());
        let characters = String::from_iter(&all[start..all.len().min(start + length)]);
        let query = match is_regex {
            true => Query::regex(&regex::escape(&characters)).unwrap(),
            false => Query::exact(&characters).unwrap(),
        };
        let in_text = |planted: &Planted| {
            let text = plain(planted);
            // The other values of a call's input are on separate lines.
            let text = if planted.kind == Kind::Call { format!("{text}\n10") } else { text };
            text.contains(&characters)
        };
        let expected: BTreeSet<(usize, Option<u32>)> =
            turns(&case).iter().filter(|(_, lines)| lines.iter().any(|planted| in_text(planted))).map(|(turn, _)| *turn).collect();
        prop_assert_eq!(keep(&case).turns(&query), expected, "{:?}", characters);
    }
}
