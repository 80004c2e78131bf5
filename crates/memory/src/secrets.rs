//! Where secrets stand in the agents' own files: which rule found them and on which line, never the secret.
//!
//! Only named files are looked into: logs, what lies beside them, spilled results, and the histories of
//! prompts. Memory is bounded: so many secrets and places are held, the rest is counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io, thread};

use jiff::Timestamp;
use transcript::{Agent, PartKind};

use crate::files;
use crate::ingest::{LineForm, open_lines};
use crate::logs::{self, agent_of_head};
use crate::mask::{Fingerprint, Hit, Masker, TextState};
use crate::sources::{self, FoundLogs, LogRoot, UnreadPath};

/// How many secrets are told apart, and how many places of all of them are held.
const SECRETS_MAX: usize = 50_000;
const PLACES_MAX: usize = 1_000_000;
/// The rule of private keys, which go over many lines of plain text.
const PRIVATE_KEY: &str = "private-key";

/// What is looked into, and how.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub roots: &'a [LogRoot],
    /// Files and directories; where there are some, roots are not looked into.
    pub paths: &'a [PathBuf],
    pub masker: &'a Masker,
    /// Only files written to since then.
    pub since: Option<Timestamp>,
    pub threads: usize,
    /// How many places of one secret are told.
    pub places_max: usize,
    /// Which logs are not to be read.
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Told how many of how many files are read, from several threads.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Those in most places first.
    pub secrets: Vec<Secret>,
    /// Places of all secrets.
    pub total: u64,
    /// Places of secrets that are too many to be told apart.
    pub left_out: u64,
    pub files: u64,
    pub bytes: u64,
    pub unread: Vec<UnreadPath>,
}

/// One secret, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub fingerprint: Fingerprint,
    /// The rule that found it most often.
    pub rule: String,
    /// On how many lines it stands.
    pub count: u64,
    /// The first of them, by path and line.
    pub places: Vec<Place>,
}

/// One line that holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub line: u64,
    pub agent: Option<Agent>,
}

/// Looks for secrets.
pub fn search(search: &Search<'_>) -> Secrets {
    let mut unread = Vec::new();
    let targets = targets(search, &mut unread);
    // The largest first, so that no thread is left alone with one at the end.
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(targets[*at].bytes));
    let tally = Mutex::new(Tally {
        unread,
        ..Tally::default()
    });
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..search.threads.clamp(1, 64) {
            scope.spawn(|| {
                while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = look(&targets[*at], search.masker, &mut |hits| {
                        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                        tally.add(*at, hits, search.places_max);
                    });
                    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                    tally.close(&targets[*at], read);
                    (search.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, targets.len());
                }
            });
        }
    });
    tally
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .told(&targets)
}

/// A file to look into.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    agent: Option<Agent>,
    bytes: u64,
    is_plain: bool,
}

/// The files to look into, in order of path.
fn targets(search: &Search<'_>, unread: &mut Vec<UnreadPath>) -> Vec<Target> {
    let mut files: BTreeMap<PathBuf, (Option<Agent>, bool)> = BTreeMap::new();
    if search.paths.is_empty() {
        for root in search.roots {
            take_logs(search, sources::find_logs(root), &mut files, unread);
            if root.agent != Agent::Grok {
                let history = root.path.join("history.jsonl");
                files.insert(history, (Some(root.agent), false));
            }
        }
    }
    for path in search.paths {
        if path.is_dir() {
            // Claude Code's logs have any name: others' are told apart first.
            for agent in [Agent::Codex, Agent::Grok, Agent::Claude] {
                take_logs(search, sources::find_logs_in(agent, path), &mut files, unread);
            }
        } else {
            let is_plain = !is_lines(path);
            let agent = if is_plain { None } else { agent_of_head(path).ok() };
            files.insert(path.clone(), (agent, is_plain));
        }
    }
    let mut targets = Vec::new();
    for (path, (agent, is_plain)) in files {
        match fs::symlink_metadata(&path) {
            Ok(metadata) => {
                let is_old = |since| files::modified_at(&metadata).is_some_and(|modified| modified < since);
                if !search.since.is_some_and(is_old) {
                    targets.push(Target {
                        path,
                        agent,
                        bytes: metadata.len(),
                        is_plain,
                    });
                }
            }
            // A history that was never written is nothing to tell; a file that was asked for is.
            Err(error) if search.paths.contains(&path) => unread.push(UnreadPath {
                path,
                reason: error.to_string(),
            }),
            Err(_) => {}
        }
    }
    targets
}

/// Whether a file is JSON Lines, by its name.
fn is_lines(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

/// The logs, with what lies beside each.
fn take_logs(
    search: &Search<'_>,
    found: FoundLogs,
    files: &mut BTreeMap<PathBuf, (Option<Agent>, bool)>,
    unread: &mut Vec<UnreadPath>,
) {
    unread.extend(
        found
            .unread
            .into_iter()
            .filter(|unread| !files.contains_key(&unread.path)),
    );
    for log in found.logs.iter().filter(|log| !(search.is_ignored)(&log.path)) {
        for part in sources::find_source(log.agent, &log.path).parts {
            let is_plain = !part.kind.has_lines() && part.kind != PartKind::Index;
            files.entry(part.path).or_insert((Some(log.agent), is_plain));
        }
        unread.extend(sources::find_irregular_companions(log.agent, &log.path));
        if log.agent == Agent::Claude {
            for path in logs::spills_of(&log.path) {
                files.entry(path).or_insert((Some(log.agent), true));
            }
        }
    }
}

/// What stands on one line: which secrets, by which rules.
type LineHits = (u64, Vec<(Fingerprint, String)>);

/// Reads a file and hands over what it finds, line by line. Says which line was too long to look at, if one was.
fn look(target: &Target, masker: &Masker, found: &mut dyn FnMut(LineHits)) -> io::Result<Option<u64>> {
    let form = match target.is_plain {
        true => LineForm::Text,
        false => LineForm::Json(target.agent),
    };
    let mut lines = open_lines(&target.path, masker, form)?;
    let mut key_lines = KeyLines::default();
    let mut hits = Vec::new();
    let mut too_long = None;
    while let Some(line) = lines.next()? {
        let number = line.number();
        if line.is_oversized() {
            too_long.get_or_insert(number);
            continue;
        }
        hits.clear();
        line.mask(&mut hits);
        if target.is_plain {
            key_lines.take(lines.masker().text_state(), number, &mut hits, found);
        }
        if !hits.is_empty() {
            found((number, named(&hits)));
        }
    }
    Ok(too_long)
}

fn named(hits: &[Hit]) -> Vec<(Fingerprint, String)> {
    hits.iter().map(|hit| (hit.fingerprint, hit.rule.to_string())).collect()
}

/// Joins the lines of a private key in plain text: the key is one secret, at its first line.
#[derive(Default)]
struct KeyLines {
    /// The state of the masker after the line before.
    state: TextState,
    /// The first line of the key we are in, until its first dense line has told it.
    key_line: Option<u64>,
}

impl KeyLines {
    /// Takes the lines of a key out of the `hits` of the next line, and passes them on as one secret. `after` is the state of the
    /// masker after that line.
    fn take(&mut self, after: TextState, number: u64, hits: &mut Vec<Hit>, found: &mut dyn FnMut(LineHits)) {
        let before = std::mem::replace(&mut self.state, after).to_byte();
        let after = after.to_byte();
        // Behind the first line the state counts headers from 2; among the lines of the key it is 1.
        let (begins, goes_on) = (after >= 2 && before < 2, before != 0);
        if begins {
            // The first line is the same for all keys: the next one tells which it is.
            self.key_line = Some(number);
            hits.retain(|hit| hit.rule != PRIVATE_KEY);
        } else if goes_on {
            let key = hits.iter().find(|hit| hit.rule == PRIVATE_KEY);
            if let Some((key, first)) = key
                .map(|hit| hit.fingerprint)
                .zip(self.key_line.take_if(|_| key.is_some()))
            {
                found((first, vec![(key, PRIVATE_KEY.to_owned())]));
            }
            hits.retain(|hit| hit.rule != PRIVATE_KEY);
        }
        if after == 0 {
            self.key_line = None;
        }
    }
}

/// What was found so far.
#[derive(Default)]
struct Tally {
    secrets: HashMap<Fingerprint, OneSecret>,
    places_held: usize,
    total: u64,
    left_out: u64,
    files: u64,
    bytes: u64,
    unread: Vec<UnreadPath>,
}

#[derive(Default)]
struct OneSecret {
    /// How often each rule found it.
    rules: BTreeMap<String, u64>,
    count: u64,
    /// The first places: the file's number in order of path, and the line.
    places: BTreeSet<(usize, u64)>,
}

impl Tally {
    fn add(&mut self, file: usize, (line, mut hits): LineHits, places_max: usize) {
        // A secret that stands twice on a line stands in one place.
        hits.sort();
        hits.dedup_by_key(|(fingerprint, _)| *fingerprint);
        for (fingerprint, rule) in hits {
            self.total += 1;
            if self.secrets.len() >= SECRETS_MAX && !self.secrets.contains_key(&fingerprint) {
                self.left_out += 1;
                continue;
            }
            let secret = self.secrets.entry(fingerprint).or_default();
            secret.count += 1;
            *secret.rules.entry(rule).or_default() += 1;
            if secret.places.len() < places_max && self.places_held >= PLACES_MAX {
                continue;
            }
            // Threads end in any order; the first places are the same in every run.
            self.places_held += usize::from(secret.places.insert((file, line)));
            if secret.places.len() > places_max {
                secret.places.pop_last();
                self.places_held -= 1;
            }
        }
    }

    fn close(&mut self, target: &Target, read: io::Result<Option<u64>>) {
        self.files += 1;
        self.bytes += target.bytes;
        let reason = match read {
            Ok(None) => return,
            Ok(Some(line)) => format!("line {line} is too long to look at"),
            Err(error) => error.to_string(),
        };
        self.unread.push(UnreadPath {
            path: target.path.clone(),
            reason,
        });
    }

    fn told(self, targets: &[Target]) -> Secrets {
        let place = |(file, line): (usize, u64)| Place {
            path: targets[file].path.clone(),
            line,
            agent: targets[file].agent,
        };
        let told = |(fingerprint, secret): (Fingerprint, OneSecret)| Secret {
            fingerprint,
            rule: most_often(secret.rules),
            count: secret.count,
            places: secret.places.into_iter().map(place).collect(),
        };
        let mut secrets: Vec<Secret> = self.secrets.into_iter().map(told).collect();
        secrets.sort_by(|a, b| {
            let order = b.count.cmp(&a.count).then_with(|| a.rule.cmp(&b.rule));
            order.then_with(|| a.fingerprint.cmp(&b.fingerprint))
        });
        let mut unread = self.unread;
        unread.sort_by(|a, b| a.path.cmp(&b.path));
        unread.dedup();
        Secrets {
            secrets,
            total: self.total,
            left_out: self.left_out,
            files: self.files,
            bytes: self.bytes,
            unread,
        }
    }
}

fn most_often(rules: BTreeMap<String, u64>) -> String {
    let best = rules
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    best.map(|(rule, _)| rule).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::{MaskKey, UserRules};

    /// Lines of base64 as keys have them, from a seed, so that no scanner takes this test for a leak.
    fn key_line(seed: u64) -> String {
        let alphabet: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            alphabet[(state >> 33) as usize % alphabet.len()]
        };
        (0..64).map(|_| next()).collect()
    }

    fn key(seed: u64) -> String {
        let body: Vec<String> = (0..4).map(|line| key_line(seed + line)).collect();
        let marker = |word: &str| format!("-----{word} RSA PRIVATE {}-----", "KEY");
        format!("{}\n{}\n{}\n", marker("BEGIN"), body.join("\n"), marker("END"))
    }

    fn check(text: &str) -> Vec<(String, Vec<u64>)> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notes.txt");
        fs::write(&path, text).unwrap();
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
        let found = search(&Search {
            roots: &[],
            paths: &[path],
            masker: &masker,
            since: None,
            threads: 2,
            places_max: 9,
            is_ignored: &|_| false,
            progress: &|_, _| {},
        });
        let lines = |secret: &Secret| secret.places.iter().map(|place| place.line).collect::<Vec<_>>();
        let mut told: Vec<_> = found
            .secrets
            .iter()
            .map(|secret| (secret.rule.clone(), lines(secret)))
            .collect();
        told.sort_by(|a, b| a.1.cmp(&b.1));
        told
    }

    #[test]
    fn a_key_over_many_lines_is_one_secret_at_its_first_line() {
        let token = format!("ghp_{}", &key_line(9)[..36]);
        let text = format!("one\n\n{}four\n{token}\n{}last {token}\n{}", key(1), key(50), key(1));
        let told = check(&text);
        let lines: Vec<Vec<u64>> = told.iter().map(|(_, lines)| lines.clone()).collect();
        assert_eq!(lines, [vec![3, 18], vec![10, 17], vec![11]], "{told:?}");
        assert_eq!((told[0].0.as_str(), told[2].0.as_str()), (PRIVATE_KEY, PRIVATE_KEY));
    }

    #[test]
    fn the_first_line_of_a_key_alone_is_no_secret() {
        let first = key(1).lines().next().unwrap().to_owned();
        assert_eq!(check(&format!("{first}\nis how a key begins\n")), []);
    }
}
