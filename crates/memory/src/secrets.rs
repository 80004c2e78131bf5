//! Reports where secrets are in the agents' own files: the rule and the line, never the secret.
//!
//! It reads only known files: logs, the files beside them, spilled results, and prompt histories. Memory is bounded: a
//! limited number of secrets and places is held, the rest is only counted.

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

/// Maximum number of distinct secrets, and of places of all secrets together, that are held.
const SECRETS_MAX: usize = 50_000;
const PLACES_MAX: usize = 1_000_000;
/// The rule of private keys, which span many lines of plain text.
const PRIVATE_KEY: &str = "private-key";

/// The files to search and the settings of the search.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub roots: &'a [LogRoot],
    /// Files and directories; if there are any, the roots are not searched.
    pub paths: &'a [PathBuf],
    pub masker: &'a Masker,
    /// If set, only files modified since then are searched.
    pub since: Option<Timestamp>,
    pub threads: usize,
    /// Maximum number of places to report for one secret.
    pub places_max: usize,
    /// Returns `true` for logs that must not be read.
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Called from several threads with the number of files read so far and their total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// The results of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Sorted by number of places, largest first.
    pub secrets: Vec<Secret>,
    /// Number of places of all secrets.
    pub total: u64,
    /// Number of places of the secrets beyond the limit.
    pub left_out: u64,
    pub files: u64,
    pub bytes: u64,
    pub unread: Vec<UnreadPath>,
}

/// One secret and its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub fingerprint: Fingerprint,
    /// The rule that found it most often.
    pub rule: String,
    /// The number of lines that contain it.
    pub count: u64,
    /// The first places, sorted by path and line.
    pub places: Vec<Place>,
}

/// One line that contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub line: u64,
    pub agent: Option<Agent>,
}

/// Searches files for secrets.
pub fn search(search: &Search<'_>) -> Secrets {
    let mut unread = Vec::new();
    let targets = targets(search, &mut unread);
    // The largest files are first, so that no thread is still busy with one when the others have finished.
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

/// A file to search.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    agent: Option<Agent>,
    bytes: u64,
    is_plain: bool,
}

/// Returns the files to search, sorted by path.
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
            // The logs of Claude Code can have any name, so the others' are found first.
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
            // A missing history is normal, but a missing file that the user named is reported.
            Err(error) if search.paths.contains(&path) => unread.push(UnreadPath {
                path,
                reason: error.to_string(),
            }),
            Err(_) => {}
        }
    }
    targets
}

/// Returns `true` if the name of a file says that it is JSON Lines.
fn is_lines(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

/// Adds logs and the files beside them.
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

/// The secrets of one line, each with its rule.
type LineHits = (u64, Vec<(Fingerprint, String)>);

/// Reads a file and passes its secrets to `found`, line by line. Returns the number of the first line that was too long
/// to search, if any.
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

/// Merges the lines of a private key in plain text: the key is one secret, at its first line.
#[derive(Default)]
struct KeyLines {
    /// The state of the masker after the previous line.
    state: TextState,
    /// The first line of the current key, until its first dense line has been reported.
    key_line: Option<u64>,
}

impl KeyLines {
    /// Removes the lines of a key from the `hits` of the next line and passes them on as one secret. `after` is the
    /// state of the masker after that line.
    fn take(&mut self, after: TextState, number: u64, hits: &mut Vec<Hit>, found: &mut dyn FnMut(LineHits)) {
        let before = std::mem::replace(&mut self.state, after).to_byte();
        let after = after.to_byte();
        // After the first line of a key the state counts headers from 2; inside the key data it is 1.
        let (begins, goes_on) = (after >= 2 && before < 2, before != 0);
        if begins {
            // The first line is the same for all keys, so the next one provides the fingerprint.
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

/// The results so far.
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
    /// The number of hits by rule.
    rules: BTreeMap<String, u64>,
    count: u64,
    /// The first places: the index of the file, in order of path, and the line.
    places: BTreeSet<(usize, u64)>,
}

impl Tally {
    fn add(&mut self, file: usize, (line, mut hits): LineHits, places_max: usize) {
        // A secret that occurs twice on a line counts as one place.
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
            // Threads finish in any order, so keeping the smallest places makes every run report the same ones.
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

    /// Returns a line of base64 as in a key. It is generated from a seed, so that no secret scanner flags this test.
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
