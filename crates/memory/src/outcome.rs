//! How a session came out, with the evidence for it. Nobody writes that down, so it is judged by a ladder: the first
//! rung that holds decides, and success needs evidence.
//!
//! Pure: what happened goes in, a judgement comes out. It knows no store and no clock.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::{Actor, GitCommit, Kind, Outcome, SessionEvent};

use crate::digest::{End, Findings, QUIET, Ran, Step, one_line};

/// So many failed tool calls at the end are a failure.
const FAILED_MIN: usize = 3;
/// So many lines of evidence are told.
pub(crate) const EVIDENCE_MAX: usize = 3;
/// Characters of each of them.
pub(crate) const EVIDENCE_CHARS_MAX: usize = 96;
/// What an agent says when it did not do what it was asked for.
const GIVES_UP: [&str; 12] = [
    "i was unable to",
    "i wasn't able to",
    "i'm unable to",
    "i am unable to",
    "i couldn't",
    "i could not",
    "i can't",
    "i can’t",
    "i cannot",
    "i don't have access",
    "i don’t have access",
    "i couldn’t",
];

/// An outcome, how sure it is, and why.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Judgement {
    pub outcome: Outcome,
    /// The rung of the ladder that decided.
    pub reason: Reason,
    pub confidence: Confidence,
    pub evidence: Vec<Evidence>,
    /// Somebody told that the session had ended: nobody has to wait to be sure of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ended: bool,
}

impl Default for Judgement {
    fn default() -> Self {
        Self {
            outcome: Outcome::Unknown,
            reason: Reason::Empty,
            confidence: Confidence::Low,
            evidence: Vec::new(),
            is_ended: false,
        }
    }
}

impl Judgement {
    /// The judgement as it stands now: as long as somebody may be at work, nothing is decided.
    #[must_use]
    pub fn at(&self, ended_at: Option<Timestamp>, now: Timestamp) -> Self {
        let is_recent = ended_at.is_some_and(|ended| now.duration_since(ended) < QUIET);
        if !is_recent || self.is_ended {
            return self.clone();
        }
        Self {
            outcome: Outcome::Unknown,
            reason: Reason::Recent,
            confidence: Confidence::Low,
            evidence: Vec::new(),
            is_ended: false,
        }
    }
}

/// Returns the name of an outcome, in JSON and for people.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    outcome.as_str()
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nothing happened that could be judged.
    Empty,
    /// Somebody may still be at work.
    Recent,
    /// The API or the agent's own machinery failed, and nothing came after it.
    ApiError,
    /// Tool calls failed to the end.
    FailedToolCalls,
    /// The last test run failed.
    FailingTests,
    /// The last prompt was not answered.
    UnansweredPrompt,
    /// A human stopped the agent, and nothing was finished after that.
    Interrupted,
    /// The log ends in the middle of the work.
    CutOff,
    /// The last test run passed, after the last edit.
    TestsPassed,
    /// The work was committed, or offered as a pull request.
    Committed,
    /// The agent's own goal was reached.
    GoalReached,
    /// The command that ran the agent failed.
    ExitStatus,
    /// The last turn came to its end, and nothing proves what it is worth.
    Completed,
}

impl Reason {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Recent => "recent",
            Self::ApiError => "api_error",
            Self::FailedToolCalls => "failed_tool_calls",
            Self::FailingTests => "failing_tests",
            Self::UnansweredPrompt => "unanswered_prompt",
            Self::Interrupted => "interrupted",
            Self::CutOff => "cut_off",
            Self::TestsPassed => "tests_passed",
            Self::Committed => "committed",
            Self::GoalReached => "goal_reached",
            Self::ExitStatus => "exit_status",
            Self::Completed => "completed",
        }
    }

    /// Returns the reason as text for people, the same in a digest and in a report.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Empty => "nothing to judge",
            Self::Recent => "still at work",
            Self::ApiError => "ended with an API error",
            Self::FailedToolCalls => "ended with failing tool calls",
            Self::FailingTests => "tests fail",
            Self::UnansweredPrompt => "last prompt not answered",
            Self::Interrupted => "interrupted",
            Self::CutOff => "cut off",
            Self::TestsPassed => "tests passed",
            Self::Committed => "committed",
            Self::GoalReached => "goal reached",
            Self::ExitStatus => "its command failed",
            Self::Completed => "finished, but nothing proves the result",
        }
    }
}

/// How sure a judgement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A line of the log that a judgement or a signal stands on.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Evidence {
    pub line: u64,
    pub turn: Option<u32>,
    pub text: String,
}

impl Evidence {
    pub(crate) fn new(line: u64, turn: Option<u32>, text: &str) -> Self {
        let text = one_line(text, EVIDENCE_CHARS_MAX);
        Self { line, turn, text }
    }

    pub(crate) fn of_event(event: &SessionEvent) -> Self {
        Self::new(event.line, event.turn, &event.summary)
    }

    pub(crate) fn of_ran(ran: &Ran) -> Self {
        Self::new(ran.line, ran.turn, &ran.wording)
    }
}

/// What an event says that ends or breaks a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A human stopped the agent.
    Interrupt,
    /// A human went back behind a turn.
    Rewind,
    /// The API or the agent's machinery failed.
    ApiError,
    /// A turn came to its end.
    Finished,
    /// The agent's own goal was reached.
    Goal,
    Compaction,
}

/// What an event marks, by its kinds and by the words that our readers give such events.
pub(crate) fn mark(event: &SessionEvent) -> Option<Mark> {
    let said = |words: &[&str]| words.iter().any(|word| event.summary.starts_with(word));
    let (kinds, by_harness) = (event.kinds, event.actor == Actor::Harness);
    if kinds.has(Kind::HumanIntervention) && !event.trigger {
        if said(&["went back", "undo"]) {
            return Some(Mark::Rewind);
        }
        let stops = said(&["interrupted", "turn cancelled", "agents stopped"]);
        return (stops || kinds.has(Kind::AssistantMsg)).then_some(Mark::Interrupt);
    }
    if kinds.has(Kind::Error) {
        let is_fatal = kinds.has(Kind::AssistantMsg)
            || kinds.has(Kind::Completion)
            || (by_harness && said(&["API error", "turn failed", "stream ", "exceeded", "unexpected status"]));
        return is_fatal.then_some(Mark::ApiError);
    }
    if kinds.has(Kind::Completion) {
        return Some(Mark::Finished);
    }
    if kinds.has(Kind::Lifecycle) {
        let reached = [
            "goal complete",
            "goal achieved",
            "goal verified: achieved",
            "goal verdict: achieved",
        ];
        if said(&reached) {
            return Some(Mark::Goal);
        }
        if said(&["conversation compacted", "context compacted"]) {
            return Some(Mark::Compaction);
        }
    }
    None
}

/// What was last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Nothing,
    Prompt,
    Work,
    Reply,
    ApiError,
    Interrupt,
}

/// How a session went, as far as its outcome needs it. Steps go in, in order.
#[derive(Debug, Default)]
pub(crate) struct Course {
    last: Last,
    last_at: Option<Evidence>,
    turn: Option<u32>,
    /// Failed tool calls since anything worked, the last ones.
    failed: Vec<Evidence>,
    failed_count: usize,
    edited_at: Option<u64>,
    /// The last test run, and whether it passed.
    test: Option<(Evidence, u64, Option<bool>)>,
    commit: Option<(Evidence, u64)>,
    goal: Option<Evidence>,
    /// The last tool call.
    ran: Option<u64>,
    /// The last prompt or reply.
    seq: Option<u64>,
}

impl Course {
    pub(crate) fn see(&mut self, step: Step<'_>, findings: &Findings) {
        match step {
            Step::Ran(ran) => self.ran(ran, findings),
            Step::Event(event) => self.event(event),
        }
    }

    fn event(&mut self, event: &SessionEvent) {
        let before = self.last;
        let mut is = |last| {
            self.last = last;
            self.seq = Some(event.seq);
            self.last_at = Some(Evidence::of_event(event));
        };
        if event.trigger {
            is(Last::Prompt);
            self.turn = event.turn;
            self.failed.clear();
            self.failed_count = 0;
            return;
        }
        match mark(event) {
            Some(Mark::Interrupt) => is(Last::Interrupt),
            Some(Mark::ApiError) => is(Last::ApiError),
            // A turn that ends by itself is answered, whatever was last. One that was stopped stays so.
            Some(Mark::Finished) if event.kinds.has(Kind::AssistantMsg) => is(Last::Reply),
            Some(Mark::Finished) if matches!(before, Last::Work | Last::Prompt | Last::ApiError) => is(Last::Reply),
            Some(Mark::Goal) => self.goal = Some(Evidence::of_event(event)),
            _ if event.kinds.has(Kind::AssistantMsg) && event.actor == Actor::Agent => is(Last::Reply),
            _ => {}
        }
    }

    fn ran(&mut self, ran: &Ran, findings: &Findings) {
        // A call that nothing came back to, and that something came after, is not where the work stopped.
        let is_last = ran.end != End::Open || self.seq.is_none_or(|seq| ran.seq > seq);
        if ran.end != End::Stopped && is_last {
            self.last = Last::Work;
            self.last_at = Some(Evidence::of_ran(ran));
        }
        self.ran = Some(ran.seq);
        if ran.failed() {
            self.failed_count += 1;
            self.failed.push(Evidence::of_ran(ran));
            if self.failed.len() > EVIDENCE_MAX {
                self.failed.remove(0);
            }
        } else if ran.success == Some(true) {
            self.failed.clear();
            self.failed_count = 0;
        }
        if hands_in(ran, findings) {
            self.commit = Some((Evidence::of_ran(ran), ran.seq));
        }
        if matches!(ran.end, End::Denied | End::Stopped | End::Open) {
            return;
        }
        if ran.is_test {
            self.test = Some((Evidence::of_ran(ran), ran.seq, passed(ran, findings)));
        }
        if !ran.failed() && ran.files.iter().any(|file| is_work(file)) {
            self.edited_at = Some(ran.seq);
        }
    }

    /// The first rung that holds.
    pub(crate) fn judge(self, last_reply: Option<&str>) -> Judgement {
        let last = self.last_at.iter().cloned().collect::<Vec<_>>();
        let fails_to_the_end = self.failed_count >= FAILED_MIN;
        match self.last {
            Last::Nothing => Judgement::default(),
            Last::ApiError => judged(Outcome::Fail, Reason::ApiError, Confidence::High, last),
            Last::Interrupt => judged(Outcome::Abandoned, Reason::Interrupted, Confidence::High, last),
            _ if fails_to_the_end => judged(Outcome::Fail, Reason::FailedToolCalls, Confidence::Medium, self.failed),
            Last::Prompt => judged(Outcome::Abandoned, Reason::UnansweredPrompt, Confidence::High, last),
            Last::Work => self.judge_cut_off(last),
            Last::Reply => self.judge_completed(last, last_reply.is_some_and(gives_up)),
        }
    }

    /// The last test run, where it passed after the last edit.
    fn green(&self) -> Option<&(Evidence, u64, Option<bool>)> {
        let (told, seq, passed) = self.test.as_ref()?;
        // Where nothing was changed, what passed is what was there before: it says something of the last turn alone.
        let is_of_work = match self.edited_at {
            Some(edited) => *seq >= edited,
            None => told.turn == self.turn,
        };
        self.test.as_ref().filter(|_| is_of_work && *passed == Some(true))
    }

    /// A log that ends with the proof itself is as good as told to its end, almost.
    fn judge_cut_off(&self, last: Vec<Evidence>) -> Judgement {
        match self.green().filter(|(_, seq, _)| self.ran == Some(*seq)) {
            Some((told, ..)) => {
                let proof = vec![told.clone()];
                judged(Outcome::Success, Reason::TestsPassed, Confidence::Low, proof)
            }
            None => judged(Outcome::Unknown, Reason::CutOff, Confidence::Low, last),
        }
    }

    fn judge_completed(&self, last: Vec<Evidence>, gives_up: bool) -> Judgement {
        let lowered = |confidence| match (gives_up, confidence) {
            (false, confidence) => confidence,
            (true, Confidence::High) => Confidence::Medium,
            (true, _) => Confidence::Low,
        };
        if let Some((told, seq, Some(false))) = &self.test
            && told.turn == self.turn
            && self.commit.as_ref().is_none_or(|(_, commit)| commit < seq)
        {
            let proof = vec![told.clone()];
            return judged(Outcome::Fail, Reason::FailingTests, Confidence::Medium, proof);
        }
        let green = self.green();
        let commit = self.commit.as_ref();
        let is_newest = commit.is_some_and(|(_, seq)| self.edited_at.is_none_or(|edited| *seq >= edited));
        let (reason, confidence) = match (green, commit, &self.goal) {
            (Some(_), _, _) if self.edited_at.is_some() => (Reason::TestsPassed, Confidence::High),
            (_, Some(_), _) if is_newest => (Reason::Committed, Confidence::High),
            (_, _, Some(_)) => (Reason::GoalReached, Confidence::High),
            (Some(_), _, None) => (Reason::TestsPassed, Confidence::Medium),
            // Work was handed in, and something was changed after that.
            (None, Some(_), None) => (Reason::Committed, Confidence::Low),
            (None, None, None) => {
                return judged(Outcome::Unknown, Reason::Completed, lowered(Confidence::Medium), last);
            }
        };
        let told = [
            green.map(|(told, ..)| told),
            commit.map(|(told, _)| told),
            self.goal.as_ref(),
        ];
        let evidence = told.into_iter().flatten().cloned().collect();
        judged(Outcome::Success, reason, lowered(confidence), evidence)
    }
}

fn judged(outcome: Outcome, reason: Reason, confidence: Confidence, evidence: Vec<Evidence>) -> Judgement {
    Judgement {
        outcome,
        reason,
        confidence,
        evidence,
        is_ended: false,
    }
}

/// Whether a test run passed. What its output says goes before an exit code that may be that of something else; an output that talks
/// of failures while the command itself succeeds talks of those that were wanted.
pub(crate) fn passed(ran: &Ran, findings: &Findings) -> Option<bool> {
    let told = findings.tests.get(&ran.seq).copied();
    let is_piped = ran.wording.contains('|') || ran.wording.chars().count() >= 120;
    let is_shared = is_piped || ran.wording.contains([';', '\n', '&']) && !ran.wording.ends_with("2>&1");
    match (told, ran.success) {
        (Some(false), Some(true)) if !is_shared => Some(true),
        (Some(told), _) => Some(told),
        (None, Some(false)) => Some(false),
        (None, Some(true)) if !is_piped => Some(true),
        (None, _) => None,
    }
}

/// Returns the commits that a command made. An announced commit was made, even if something after it failed; without an announcement, a command
/// that succeeded made the commits that it names.
pub(crate) fn made_commits(ran: &Ran, findings: &Findings) -> Vec<GitCommit> {
    let Some(texts) = findings.commits.get(&ran.seq) else {
        return Vec::new();
    };
    if !texts.announced.is_empty() {
        return texts.announced.clone();
    }
    if !ended_well(ran) || texts.is_empty {
        return Vec::new();
    }
    let only = texts.subjects.len() == 1;
    let commit = |subject: &Option<String>| GitCommit {
        hash: texts.noted_hash.clone().filter(|_| only),
        subject: subject.clone(),
    };
    texts.subjects.iter().map(commit).collect()
}

/// Returns whether a command delivered work: it made commits, or opened or merged a pull request.
pub(crate) fn hands_in(ran: &Ran, findings: &Findings) -> bool {
    !made_commits(ran, findings).is_empty() || (findings.offers.contains(&ran.seq) && ended_well(ran))
}

fn ended_well(ran: &Ran) -> bool {
    !ran.failed() && !matches!(ran.end, End::Denied | End::Stopped | End::Open)
}

/// Whether an edited file is part of the work, and not of the agent's own notes.
fn is_work(file: &str) -> bool {
    !["/.claude/plans/", "/.claude/projects/", "/.claude/todos/"]
        .iter()
        .any(|notes| file.contains(notes))
}

/// Whether an agent says that it did not do what it was asked for.
fn gives_up(reply: &str) -> bool {
    let reply = reply.to_lowercase();
    GIVES_UP.iter().any(|words| reply.contains(words))
}
