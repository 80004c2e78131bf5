//! Facts that are in the lines but not in the rows: the result of a test run, commits made by a command, the texts of
//! an edit, and the places of secrets. The packs are read once, frame by frame, and only the lines that a question
//! refers to are parsed.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use memchr::memmem::Finder;
use regex::{Regex, RegexSet};
use serde::Deserialize;
use transcript::{
    Agent, GitCommit, Kind, PartKind, SessionEvent, announced_commits, bare_bodies, commit_command,
    may_announce_commits, runs_commands,
};

use crate::findings::{CommitTexts, Findings};
use crate::mask::{MaskKey, Masker, UserRules};
use crate::steps::{CallStep, Step, StepJoiner};
use crate::store::{Store, StoreError};
use crate::{kept, packs};

/// Maximum number of places of secrets that are reported; all of them are counted.
const SECRETS_MAX: usize = 8;
/// Maximum number of bytes to search at the end of a result, where the verdict of a test run is.
const RESULT_BYTES_MAX: usize = 256 << 10;
/// Maximum number of bytes of the agent's last reply to read.
const REPLY_BYTES_MAX: usize = 16 << 10;

/// The kind of question about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Test,
    Command,
    /// The output of a command.
    Output,
    Edit,
    Reply,
}

/// The event that a question is about, the block of its line, and the kind of question.
type Question = (u64, u32, Asked);

/// The lines to read and the questions about them.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    lines: BTreeMap<(PartKind, u64), Vec<Question>>,
    reply: Option<(PartKind, u64, u32)>,
}

impl Wanted {
    /// Collects the questions that the events of a session leave open.
    pub(super) fn of<'e>(events: impl IntoIterator<Item = &'e SessionEvent>) -> Self {
        let mut wanted = Self::default();
        let mut steps = StepJoiner::default();
        let mut ask = |step: Step<'_>| wanted.step(step);
        events.into_iter().for_each(|event| steps.take(event, &mut ask));
        steps.end(&mut ask);
        wanted
    }

    /// Adds the questions that a step of a session leaves open.
    pub(super) fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Call(ran) => self.ran(ran),
            // Only the last reply of the agent is needed.
            Step::Event(event) if event.kinds.has(Kind::AssistantMsg) => {
                self.reply = Some((event.part, event.line, event.block));
            }
            Step::Event(_) => {}
        }
    }

    /// Adds the questions that a call leaves open.
    fn ran(&mut self, ran: &CallStep) {
        let (part, block) = ran.call_at;
        if ran.is_test
            && let Some((part, line, block)) = ran.result_at
        {
            self.ask(part, line, (ran.seq, block, Asked::Test));
        }
        if runs_commands(&ran.tool) {
            self.ask(part, ran.line, (ran.seq, block, Asked::Command));
            if let Some((part, line, block)) = ran.result_at {
                self.ask(part, line, (ran.seq, block, Asked::Output));
            }
        }
        if !ran.files.is_empty() {
            self.ask(part, ran.line, (ran.seq, block, Asked::Edit));
        }
    }

    fn ask(&mut self, part: PartKind, line: u64, asked: Question) {
        self.lines.entry((part, line)).or_default().push(asked);
    }

    /// Returns all questions by the line that contains the answer.
    fn asked(mut self) -> BTreeMap<(PartKind, u64), Vec<Question>> {
        if let Some((part, line, block)) = self.reply {
            self.ask(part, line, (0, block, Asked::Reply));
        }
        self.lines
    }
}

/// Receives a line and its number.
pub(super) type TakeLine<'t> = dyn FnMut(u64, &[u8]) + 't;

/// Answers the questions from the lines that `each` passes on one by one. All events must be of this part.
pub(super) fn look_through_lines(agent: Agent, wanted: Wanted, each: impl FnOnce(&mut TakeLine<'_>)) -> Findings {
    let asked = wanted.asked().into_iter();
    let lines = asked.map(|((_, line), asked)| (line, asked)).collect();
    let mut findings = Findings::default();
    each(&mut |number, bytes| findings.look(agent, bytes, number, 1, &lines));
    findings
}

/// Answers the questions from lines in memory: the number of the first line of a stretch, the number of its lines, and
/// their bytes. All events must be of this part.
pub(super) fn look_through<'l>(
    agent: Agent,
    wanted: Wanted,
    stretches: impl Iterator<Item = (u64, u64, &'l [u8])>,
) -> Findings {
    let asked = wanted.asked().into_iter();
    let lines = asked.map(|((_, line), asked)| (line, asked)).collect();
    let mut findings = Findings::default();
    for (first_line, count, bytes) in stretches {
        findings.look(agent, bytes, first_line, count, &lines);
    }
    findings
}

/// Answers the questions from the stored lines of a session.
pub(super) fn look(store: &Store, session_uid: &str, wanted: Wanted) -> Result<Findings, StoreError> {
    let agent = kept::agent_of(session_uid)?;
    let wanted = wanted.asked();
    let mut findings = Findings::default();
    for part in [PartKind::Log, PartKind::ChatHistory] {
        let lines: BTreeMap<u64, Vec<Question>> = wanted
            .iter()
            .filter(|((of, _), _)| *of == part)
            .map(|((_, line), asked)| (*line, asked.clone()))
            .collect();
        for frame in store.reads().frames(session_uid, part.as_str())? {
            let bytes = kept::read_frame(store, session_uid, part.as_str(), &frame)?;
            findings.look(agent, &bytes, frame.first_line, frame.lines, &lines);
        }
        if let Some(tail) = store.reads().tail(session_uid, part.as_str())? {
            findings.look(agent, &tail.bytes, tail.first_line, tail.lines, &lines);
        }
    }
    Ok(findings)
}

impl Findings {
    fn look(&mut self, agent: Agent, bytes: &[u8], first_line: u64, lines: u64, wanted: &BTreeMap<u64, Vec<Question>>) {
        static TAG: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("[REDACTED:"));
        let has_secrets = TAG.find(bytes).is_some();
        if !has_secrets && wanted.range(first_line..first_line + lines).next().is_none() {
            return;
        }
        kept::number_lines(bytes, first_line, lines, &(0..=u64::MAX), &mut |number, line| {
            if has_secrets && let Some(at) = TAG.find(line) {
                self.secret(number, &line[at..]);
            }
            if let Some(asked) = wanted.get(&number) {
                self.answer(agent, line, asked);
            }
        });
    }

    fn secret(&mut self, line: u64, tag: &[u8]) {
        static WHOLE: LazyLock<regex::bytes::Regex> = LazyLock::new(|| {
            regex::bytes::Regex::new(r"^\[REDACTED:([a-z0-9-]{1,40}):[0-9a-f]{8}\]").expect("the expression is valid")
        });
        let Some(found) = WHOLE.captures(tag) else { return };
        self.secret_count += 1;
        if self.secrets.len() < SECRETS_MAX {
            let rule = String::from_utf8_lossy(&found[1]).into_owned();
            self.secrets.push((line, rule));
        }
    }

    fn answer(&mut self, agent: Agent, line: &[u8], asked: &[Question]) {
        // Most commands are unrelated to commits, so their lines are not parsed.
        if !asked.iter().any(|question| self.may_answer(line, question)) {
            return;
        }
        let transcript::LineBody::Bytes(line) = packs::parse_body(line) else {
            return;
        };
        let bodies = bare_bodies(agent, line);
        for (seq, block, asked) in asked {
            if let Some(text) = bodies.get(*block as usize) {
                self.settle(*seq, *asked, text);
            }
            if *asked == Asked::Output && self.commits.contains_key(seq) {
                self.note_hash(*seq, line);
            }
        }
    }

    /// Returns `true` if the bytes of a line may contain the answer to a question.
    fn may_answer(&self, line: &[u8], (seq, _, asked): &Question) -> bool {
        static COMMANDS: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| [Finder::new("git"), Finder::new("gh pr")]);
        match asked {
            Asked::Command => COMMANDS.iter().any(|finder| finder.find(line).is_some()),
            Asked::Output => self.commits.contains_key(seq),
            Asked::Test | Asked::Edit | Asked::Reply => true,
        }
    }

    fn settle(&mut self, seq: u64, asked: Asked, text: &str) {
        match asked {
            Asked::Test => {
                if let Some(passed) = verdict(end_of(text, RESULT_BYTES_MAX)) {
                    self.tests.insert(seq, passed);
                }
            }
            Asked::Command => self.see_command(seq, text),
            Asked::Output => self.see_output(seq, text),
            Asked::Edit => {
                if let Some(sides) = sides(text) {
                    self.edits.insert(seq, sides);
                }
            }
            Asked::Reply => self.last_reply = Some(end_of(text, REPLY_BYTES_MAX).to_owned()),
        }
    }

    /// Reads commits and pull requests from the full input of a call that runs commands.
    pub(crate) fn see_command(&mut self, seq: u64, text: &str) {
        if let Some(command) = commit_command(text) {
            let subjects = command.subjects.into_iter();
            let texts = CommitTexts {
                subjects: subjects
                    .map(|subject| subject.filter(|subject| !holds_secret(subject)))
                    .collect(),
                ..CommitTexts::default()
            };
            self.commits.insert(seq, texts);
        }
        if opens_pull_request(text) {
            self.offers.insert(seq);
        }
    }

    /// Reads commits from the full output of a command, after its call.
    pub(crate) fn see_output(&mut self, seq: u64, text: &str) {
        let Some(texts) = self.commits.get_mut(&seq) else {
            return;
        };
        let nothing = ["nothing to commit", "no changes added", "nothing added to commit"];
        texts.is_empty = nothing.iter().any(|words| text.contains(words));
        if may_announce_commits(text.as_bytes()) {
            texts.announced = announced_commits(text);
            for commit in &mut texts.announced {
                commit.subject = commit.subject.take().filter(|subject| !holds_secret(subject));
            }
        }
    }

    /// Drops commits that an earlier command already announced.
    pub(crate) fn drop_repeated_commits(&mut self) {
        let mut known = HashSet::new();
        let mut seqs: Vec<u64> = self.commits.keys().copied().collect();
        seqs.sort_unstable();
        for seq in seqs {
            if let Some(texts) = self.commits.get_mut(&seq) {
                let is_repeated = |commit: &GitCommit| commit.hash.as_ref().is_some_and(|hash| known.contains(hash));
                let were_announced = !texts.announced.is_empty();
                texts.announced.retain(|commit| !is_repeated(commit));
                // The command announced nothing new.
                texts.is_empty |= were_announced && texts.announced.is_empty();
                known.extend(texts.announced.iter().filter_map(|commit| commit.hash.clone()));
            }
        }
    }

    /// Stores the hash that Claude Code records with the output of a commit.
    fn note_hash(&mut self, seq: u64, line: &[u8]) {
        static NOTED: LazyLock<regex::bytes::Regex> = LazyLock::new(|| {
            regex::bytes::Regex::new(r#""gitOperation":\{"commit":\{"sha":"([0-9a-f]{7,40})""#)
                .expect("the expression is valid")
        });
        let noted = NOTED
            .captures(line)
            .map(|found| String::from_utf8_lossy(&found[1]).into_owned());
        if let Some(texts) = self.commits.get_mut(&seq) {
            texts.noted_hash = noted;
        }
    }
}

/// Returns `true` if a subject contains a secret. The lines are already masked, but a secret that was split by quotes
/// or colour codes is joined again when the subject is extracted.
fn holds_secret(subject: &str) -> bool {
    static MASKER: LazyLock<Option<Masker>> =
        LazyLock::new(|| Masker::new(&MaskKey::new([0; 32]), &UserRules::default()).ok());
    let mut hits = Vec::new();
    if let Some(masker) = MASKER.as_ref() {
        masker.mask_str(subject, &mut hits);
    }
    !hits.is_empty()
}

fn end_of(text: &str, bytes_max: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    &text[start..]
}

/// Returns the verdict in the output of a test run: `true` if it passed, or `None` if the output contains none.
pub(crate) fn verdict(output: &str) -> Option<bool> {
    // One pass searches for both. Word boundaries are ASCII, because Unicode ones make an expression slow on every line
    // with a check mark.
    static ENDS: LazyLock<RegexSet> = LazyLock::new(|| {
        let failed = r"(?m)test result: FAILED|^FAILED \(|(?:^|[:,;=(|]|(?-u:\b)(?:Tests?|Files|Suites|Found|with|and|FAILED))\s*[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?)(?-u:\b)|^\s*[1-9]\d* fail$|^--- FAIL:|^FAIL(?-u:\b)|^not ok \d|(?i:failures|errors): ?[1-9]|error: test failed|could not compile|BUILD FAILED|npm ERR!|ELIFECYCLE";
        let passed = r"(?m)test result: ok|(?-u:\b)[1-9]\d* (?:tests? )?(?:passed|passing)(?-u:\b)|^\s*[1-9]\d* pass$|^ok\s+\S|^PASS(?-u:\b)|^OK \(|^OK$|(?i:all tests pass)|BUILD SUCCESS";
        RegexSet::new([failed, passed]).expect("the expressions are good ones")
    });
    let ends = ENDS.matches(output);
    match (ends.matched(0), ends.matched(1)) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}

/// Returns `true` if a command opens or merges a pull request.
fn opens_pull_request(command: &str) -> bool {
    static OFFER: LazyLock<Regex> = LazyLock::new(|| expression(r"(?-u:\b)gh\s+pr\s+(?:create|merge)(?-u:\b)"));
    OFFER.is_match(command) && !command.contains("--dry-run")
}

/// Returns hashes of the text that an edit removes and of the text that it inserts.
fn sides(input: &str) -> Option<(u64, u64)> {
    #[derive(Deserialize)]
    struct Replacement {
        file_path: Option<String>,
        old_string: String,
        new_string: String,
    }
    let hash = |file: &str, text: &str| twox_hash::XxHash3_64::oneshot(format!("{file}\0{text}").as_bytes());
    if let Ok(told) = serde_json::from_str::<Replacement>(input) {
        let file = told.file_path.unwrap_or_default();
        return Some((hash(&file, &told.old_string), hash(&file, &told.new_string)));
    }
    // In a patch each line begins with a sign.
    let file = input.lines().find_map(|line| line.strip_prefix("*** Update File: "))?;
    let with = |sign: char| -> String { input.lines().filter_map(|line| line.strip_prefix(sign)).collect() };
    let (taken, put) = (with('-'), with('+'));
    (!taken.is_empty()).then(|| (hash(file, &taken), hash(file, &put)))
}

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expression is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_runners_say_how_it_came_out() {
        for passed in [
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            "===== 83 passed in 0.02s =====",
            "ok  \tapp/internal/sync\t0.39s",
            " 1319 pass\n 0 fail\n 2884 expect() calls",
            "Tests:       12 passed, 12 total",
            "Ran 4 tests in 0.1s\n\nOK",
            "[Limiter] Task 2 failed: as it should\n 1318 pass\n 0 fail",
        ] {
            assert_eq!(verdict(passed), Some(true), "{passed}");
        }
        for failed in [
            "test result: FAILED. 3 passed; 1 failed",
            "==== 1 failed, 82 passed in 0.02s ====",
            "--- FAIL: TestOne (0.00s)\nok  \tother\t0.1s",
            " 12 pass\n 2 fail",
            "Tests:       1 failed, 12 passed, 13 total",
            "FAILED (failures=1)",
            "10 examples, 2 failures",
            " Test Files  1 failed | 3 passed (4)",
            "  2 failing",
            "error: could not compile `app`",
        ] {
            assert_eq!(verdict(failed), Some(false), "{failed}");
        }
        assert_eq!(verdict("nothing of note"), None);
    }

    #[test]
    fn a_subject_in_which_a_cut_secret_becomes_whole_is_left_out() {
        let (begin, end) = ("ghp_a1B2c3D4e5F6", "a1B2c3D4e5F6a1B2c3D4e5F6");
        let mut findings = Findings::default();
        findings.see_command(
            1,
            &format!("git commit -m \"use {begin}\"\"{end}\" && git commit -m plain"),
        );
        findings.see_output(1, &format!("[main 1a2b3c4] use {begin}\u{1b}[0m{end}\n"));
        let texts = &findings.commits[&1];
        assert_eq!(texts.subjects, [None, Some("plain".to_owned())]);
        let hash = Some("1a2b3c4".to_owned());
        assert_eq!(texts.announced, [GitCommit { hash, subject: None }]);
    }

    #[test]
    fn the_texts_of_a_commit_come_from_its_call_and_its_whole_output() {
        let mut findings = Findings::default();
        findings.see_command(1, "git commit -qm 'keep the last line' && git push");
        findings.see_command(2, "git log --grep commit");
        findings.see_command(3, "gh pr create --title x");
        findings.see_output(
            1,
            &format!("{}\n[main 1a2b3c4] keep the last line", "noise ".repeat(60)),
        );
        findings.see_output(2, "[main 1a2b3c4] keep the last line");
        assert_eq!(findings.commits.len(), 1);
        assert_eq!(findings.commits[&1].subjects, [Some("keep the last line".to_owned())]);
        assert_eq!(findings.commits[&1].announced.len(), 1);
        assert_eq!(findings.offers, HashSet::from([3]));
        let line = br#"{"toolUseResult":{"gitOperation":{"commit":{"sha":"1a2b3c4","kind":"committed"}}}}"#;
        findings.note_hash(1, line);
        assert_eq!(findings.commits[&1].noted_hash.as_deref(), Some("1a2b3c4"));
    }

    #[test]
    fn an_edit_taken_back_has_its_sides_the_other_way_round() {
        let edit = |old, new| format!(r#"{{"file_path":"a.rs","old_string":"{old}","new_string":"{new}"}}"#);
        let (from, to) = sides(&edit("one", "two")).unwrap();
        assert_eq!(sides(&edit("two", "one")), Some((to, from)));
        let patch = |old, new| format!("*** Begin Patch\n*** Update File: a.rs\n@@\n-{old}\n+{new}\n*** End Patch");
        let (from, to) = sides(&patch("one", "two")).unwrap();
        assert_eq!(sides(&patch("two", "one")), Some((to, from)));
        assert_eq!(sides("{}"), None);
    }
}
