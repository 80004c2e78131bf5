//! Measures the cost of search: building filters, their size and precision, and the amount that a search reads.
//!
//! `cargo bench -p boswell-benches --bench search`. The logs are those below `$BOSWELL_CORPUS`, or synthetic ones. Each
//! log is a session, cut into frames of a mebibyte and packed into files of a temporary directory, like a sweep does
//! it.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use memory::search::filter::{Filter, FilterBuilder};
use memory::search::fold::{Folded, compose};
use memory::search::{
    FrameRange, HitTarget, PartFormat, Query, SearchLimits, SearchPart, SearchSession, SearchSource, TurnRange,
    build_filter, may_hold, search, words,
};
use testkit::truth;
use transcript::{Agent, texts};

const FRAME_BYTES: usize = 1 << 20;
const MADE_UP_BYTES: usize = 30_000_000;
const ROUNDS: usize = 7;

struct Frame {
    log: usize,
    agent: Agent,
    first_line: u64,
    lines: Vec<u8>,
}

fn main() {
    let frames = frames();
    let bytes: usize = frames.iter().map(|frame| frame.lines.len()).sum();
    let logs = frames.last().map_or(0, |frame| frame.log + 1);
    println!(
        "Logs: {logs}, {bytes} bytes in {} frames; MB = 1,000,000 bytes; best of {ROUNDS} rounds, one thread\n",
        frames.len()
    );
    speed(&frames, bytes);
    let filters = filters(&frames);
    sizes(&frames, &filters, bytes);
    sharpness(&frames, &filters);
    questions(&frames, &filters);
}

fn filters(frames: &[Frame]) -> Vec<Vec<u8>> {
    let mut builder = FilterBuilder::default();
    frames
        .iter()
        .map(|frame| build_filter(PartFormat::Records(frame.agent), &frame.lines, &mut builder))
        .collect()
}

fn best(mut run: impl FnMut()) -> Duration {
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap()
}

fn each_text(frame: &Frame, mut take: impl FnMut(String)) {
    for line in frame.lines.split(|byte| *byte == b'\n') {
        for text in texts(frame.agent, line) {
            take(text.text);
        }
    }
}

fn speed(frames: &[Frame], bytes: usize) {
    let mut decode = Duration::ZERO;
    let mut whole = Duration::ZERO;
    let mut build = Duration::ZERO;
    let mut tokens = Duration::ZERO;
    let mut pack = Duration::ZERO;
    let mut text_bytes = 0;
    let mut builder = FilterBuilder::default();
    for frame in frames {
        decode += best(|| each_text(frame, |text| _ = black_box(text.len())));
        let mut all = Vec::new();
        each_text(frame, |text| all.push(text));
        text_bytes += all.iter().map(String::len).sum::<usize>();
        build += best(|| {
            all.iter().for_each(|text| builder.add(text));
            black_box(builder.finish());
        });
        tokens += best(|| {
            let mut count = 0;
            all.iter()
                .for_each(|text| words::each_word(text, &mut |_, _| count += 1));
            black_box(count);
        });
        whole += best(|| {
            _ = black_box(build_filter(
                PartFormat::Records(frame.agent),
                &frame.lines,
                &mut builder,
            ))
        });
        pack += best(|| _ = black_box(zstd::bulk::compress(&frame.lines, 3).unwrap()));
    }
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!("| what one core does | MB of log/s |\n|---|---:|");
    println!("| decode the texts of lines | {:.0} |", rate(decode));
    println!("| words of the decoded texts | {:.0} |", rate(tokens));
    println!("| filter of the decoded texts | {:.0} |", rate(build));
    println!("| filter of lines: decode and filter | {:.0} |", rate(whole));
    println!("| for comparison: zstd level 3 | {:.0} |", rate(pack));
    println!("\nDecoded text: {:.3} of the log\n", text_bytes as f64 / bytes as f64);
}

fn sizes(frames: &[Frame], filters: &[Vec<u8>], bytes: usize) {
    let size: usize = filters.iter().map(Vec::len).sum();
    let words: usize = filters
        .iter()
        .map(|filter| u32::from_le_bytes(filter[1..5].try_into().unwrap()) as usize * 32)
        .sum();
    let full: Vec<usize> = (0..frames.len())
        .filter(|at| frames[*at].lines.len() > FRAME_BYTES * 9 / 10)
        .collect();
    let full_bytes: usize = full.iter().map(|at| frames[*at].lines.len()).sum();
    let full_size: usize = full.iter().map(|at| filters[*at].len()).sum();
    let share = |size: usize, of: usize| size as f64 / of.max(1) as f64;
    println!(
        "Filters: {:.4} of the log (words {:.4}); full frames alone, {} of them: {:.4}\n",
        share(size, bytes),
        share(words, bytes),
        full.len(),
        share(full_size, full_bytes)
    );
}

/// A small random number generator, so that every run draws the same numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// Measures how often a filter accepts a frame without a match.
fn sharpness(frames: &[Frame], filters: &[Vec<u8>]) {
    let filters: Vec<Filter<'_>> = filters.iter().map(|filter| Filter::read(filter).unwrap()).collect();
    let folded: Vec<String> = frames
        .iter()
        .map(|frame| {
            let mut all = String::new();
            each_text(frame, |text| {
                all.push_str(Folded::of(&compose(&text)).as_str());
                all.push('\0');
            });
            all
        })
        .collect();
    let mut holders: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (at, frame) in frames.iter().enumerate() {
        each_text(frame, |text| {
            let text = compose(&text);
            words::each_word(&text, &mut |kind, place| {
                if matches!(kind, words::WordKind::Run | words::WordKind::Part) && place.len() <= 48 {
                    holders
                        .entry(Folded::of(&text[place]).as_str().to_owned())
                        .or_default()
                        .insert(at);
                }
            });
        });
    }
    let mut dice = Dice(7);
    let mut of_words = |name: &str, is: &dyn Fn(usize) -> bool| {
        let chosen: Vec<(&String, &BTreeSet<usize>)> = holders
            .iter()
            .filter(|(word, held)| word.len() > 2 && is(held.len()))
            .collect();
        let mut wrong = Rate::default();
        for _ in 0..200.min(chosen.len()) {
            let (word, held) = chosen[dice.below(chosen.len())];
            let need = Query::words(&format!("\"{word}\"")).unwrap().terms.remove(0).need;
            wrong.count(&filters, &need, |at| held.contains(&at));
        }
        wrong.row(name);
    };
    println!("| asked for | frames that hold it | wrongly yes, of the frames without it |\n|---|---:|---:|");
    of_words("word in 1–3 frames", &|count| count <= 3);
    of_words("word in 4–30 frames", &|count| (4..=30).contains(&count));
    of_words("word in more frames", &|count| count > 30);
    for length in [4, 6, 8, 12, 20] {
        substrings(
            &format!("any {length} characters of a text"),
            &folded,
            &filters,
            &mut dice,
            length,
            &|_| true,
        );
    }
    for length in [2, 3, 4] {
        substrings(
            &format!("{length} Han characters"),
            &folded,
            &filters,
            &mut dice,
            length,
            &|c| ('\u{4e00}'..='\u{9fff}').contains(&c),
        );
    }
    println!();
}

#[derive(Default)]
struct Rate {
    questions: usize,
    held: usize,
    without: usize,
    wrong: usize,
}

impl Rate {
    fn count(&mut self, filters: &[Filter<'_>], need: &memory::search::filter::Need, holds: impl Fn(usize) -> bool) {
        self.questions += 1;
        for (at, filter) in filters.iter().enumerate() {
            match (holds(at), filter.may_hold(need)) {
                (true, yes) => {
                    assert!(yes, "a filter must never say no where the answer is yes");
                    self.held += 1;
                }
                (false, yes) => {
                    self.without += 1;
                    self.wrong += usize::from(yes);
                }
            }
        }
    }

    fn row(&self, name: &str) {
        let held = self.held as f64 / self.questions.max(1) as f64;
        let wrong = 100.0 * self.wrong as f64 / self.without.max(1) as f64;
        println!("| {name} ({}) | {held:.1} | {wrong:.2} % |", self.questions);
    }
}

fn substrings(
    name: &str,
    folded: &[String],
    filters: &[Filter<'_>],
    dice: &mut Dice,
    length: usize,
    is: &dyn Fn(char) -> bool,
) {
    let mut rate = Rate::default();
    for _ in 0..200_000 {
        if rate.questions == 200 {
            break;
        }
        let text = &folded[dice.below(folded.len())];
        let mut at = dice.below(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let piece: String = text[at..].chars().take(length).collect();
        if piece.chars().count() == length && piece.chars().all(|c| c != '\0' && is(c)) && !piece.trim().is_empty() {
            let need = Query::exact(&piece).unwrap().terms.remove(0).need;
            rate.count(filters, &need, |at| folded[at].contains(&piece));
        }
    }
    rate.row(name);
}

/// The location of a frame and its filter on disk.
struct Place {
    path: PathBuf,
    start: u64,
    length: usize,
    raw: usize,
    filter: (u64, usize),
}

fn questions(frames: &[Frame], filters: &[Vec<u8>]) {
    let home = tempfile::tempdir().unwrap();
    let (sessions, places) = pack(home.path(), frames, filters);
    let filter_file = home.path().join("filters");
    let all_filters = File::open(&filter_file).unwrap();
    let read_at = |file: &mut File, start: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(start)).unwrap();
        file.read_exact(&mut bytes).unwrap();
        bytes
    };
    drop(all_filters);
    println!(
        "| question | hits | frames asked | frames read | MB read | 1 thread, ms | 2 threads, ms |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    for (kind, text, enough) in QUESTIONS {
        let query = match kind {
            "words" => Query::words(text).unwrap(),
            "exact" => Query::exact(text).unwrap(),
            _ => Query::regex(text).unwrap(),
        };
        let reach = SearchSource {
            terms: &|key| {
                let place = &places[key as usize];
                let mut file = File::open(&filter_file).unwrap();
                may_hold(&query, Some(&read_at(&mut file, place.filter.0, place.filter.1)))
            },
            lines: &|key, scratch| {
                let place = &places[key as usize];
                let bytes = read_at(&mut File::open(&place.path)?, place.start, place.length);
                scratch.lines = zstd::bulk::decompress(&bytes, place.raw)?;
                Ok(())
            },
            facts: &|_, _| Vec::new(),
            is_cancelled: &|| false,
        };
        let ask = |threads| {
            search(
                &query,
                &sessions,
                &reach,
                &SearchLimits {
                    now_ms: 0,
                    enough: HitTarget::of(enough),
                    threads,
                },
            )
        };
        let answer = ask(1);
        let [one, two] = [1, 2].map(|threads| best(|| _ = black_box(ask(threads))));
        let work = answer.work;
        let partial = if answer.is_partial { "+" } else { "" };
        let limit = if enough == usize::MAX {
            String::new()
        } else {
            format!(", newest {enough}")
        };
        println!(
            "| {kind} `{text}`{limit} | {}{partial} | {} | {} | {:.1} | {:.1} | {:.1} |",
            answer.hits.len(),
            work.asked,
            work.read,
            work.bytes_read as f64 / 1e6,
            one.as_secs_f64() * 1e3,
            two.as_secs_f64() * 1e3
        );
    }
}

const ALL: usize = usize::MAX;
const QUESTIONS: [(&str, &str, usize); 14] = [
    ("words", "zqxjkvw", ALL),
    ("words", "hasownproperty", ALL),
    ("words", "migration", 20),
    ("words", "migration", ALL),
    ("words", "the", 20),
    ("words", "the", ALL),
    ("words", "nil pointer", ALL),
    ("words", "\"git status\"", ALL),
    ("words", "admoni*", ALL),
    ("words", "文件", ALL),
    ("exact", "fn main(", ALL),
    ("exact", "e th", ALL),
    ("regex", "http_[a-z]+_proxy", ALL),
    ("regex", r"\d{3}-\d{4}", ALL),
];

fn pack(home: &Path, frames: &[Frame], filters: &[Vec<u8>]) -> (Vec<SearchSession>, Vec<Place>) {
    let mut sessions: Vec<SearchSession> = Vec::new();
    let mut places = Vec::new();
    let mut filter_at = 0;
    let mut filter_file = File::create(home.join("filters")).unwrap();
    for (at, frame) in frames.iter().enumerate() {
        let path = home.join(format!("pack-{}", frame.log));
        let mut file = File::options().create(true).append(true).open(&path).unwrap();
        let start = file.metadata().unwrap().len();
        let bytes = zstd::bulk::compress(&frame.lines, 3).unwrap();
        file.write_all(&bytes).unwrap();
        filter_file.write_all(&filters[at]).unwrap();
        places.push(Place {
            path,
            start,
            length: bytes.len(),
            raw: frame.lines.len(),
            filter: (filter_at, filters[at].len()),
        });
        filter_at += filters[at].len() as u64;
        if frame.log == sessions.len() {
            let part = SearchPart {
                form: PartFormat::Records(frame.agent),
                turns: Vec::new(),
                frames: Vec::new(),
            };
            sessions.push(SearchSession {
                at_ms: 0,
                parts: vec![part],
            });
        }
        let lines = frame.lines.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let part = &mut sessions[frame.log].parts[0];
        part.frames.push(FrameRange {
            key: at as u64,
            first_line: frame.first_line,
            lines,
        });
        // About as many turns as in real logs.
        let turns = (frame.lines.len() as u64 / 70_000).clamp(1, lines);
        for turn in 0..turns {
            let start_line = frame.first_line + turn * lines / turns;
            let end_line = frame.first_line + (turn + 1) * lines / turns - 1;
            let turn = part.turns.len() as u32 + 1;
            part.turns.push(TurnRange {
                turn,
                start_line,
                end_line,
            });
        }
    }
    (sessions, places)
}

/// Returns all logs, cut into frames at line ends.
fn frames() -> Vec<Frame> {
    let mut frames = Vec::new();
    for (log, (agent, bytes)) in logs().into_iter().filter(|(_, bytes)| !bytes.is_empty()).enumerate() {
        let mut first_line = 1;
        let mut lines = Vec::new();
        let mut count = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            lines.extend_from_slice(line);
            count += 1;
            if lines.len() >= FRAME_BYTES {
                frames.push(Frame {
                    log,
                    agent,
                    first_line,
                    lines: std::mem::take(&mut lines),
                });
                (first_line, count) = (first_line + count, 0);
            }
        }
        if !lines.is_empty() {
            frames.push(Frame {
                log,
                agent,
                first_line,
                lines,
            });
        }
    }
    frames
}

fn logs() -> Vec<(Agent, Vec<u8>)> {
    let Some(corpus) = env::var_os("BOSWELL_CORPUS").map(PathBuf::from) else {
        let mut logs: Vec<(Agent, Vec<u8>)> = Vec::new();
        for seed in 1.. {
            logs.extend(
                truth::claude(seed, 40)
                    .files
                    .into_iter()
                    .map(|(_, bytes)| (Agent::Claude, bytes)),
            );
            if logs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > MADE_UP_BYTES {
                break;
            }
        }
        return logs;
    };
    let mut logs = Vec::new();
    for (directory, agent) in [
        ("claude", Agent::Claude),
        ("codex", Agent::Codex),
        ("grok", Agent::Grok),
    ] {
        let mut paths = Vec::new();
        below(&corpus.join(directory), &mut paths);
        paths.sort();
        logs.extend(paths.into_iter().map(|path| (agent, fs::read(path).unwrap())));
    }
    logs
}

fn below(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
}
