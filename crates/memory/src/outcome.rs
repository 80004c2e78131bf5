//! Judges how a session ended. No log records that, so a list of rules is tried in order: the first rule that applies
//! decides, and success needs evidence.
//!
//! This is a pure function of the steps: it knows neither the store nor the clock.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::{Actor, GitCommit, Kind, Outcome, SessionEvent};

use crate::excerpt::one_line;
use crate::findings::Findings;
use crate::steps::{CallStatus, CallStep, Step};

/// A session is quiet if nothing happened for this long.
pub const QUIET: SignedDuration = SignedDuration::from_mins(10);
/// If at least this many tool calls in a row fail at the end, the session failed.
const FAILED_MIN: usize = 3;
/// Maximum number of lines cited as evidence.
pub(crate) const EVIDENCE_MAX: usize = 3;
/// Maximum number of characters of each of them.
pub(crate) const EVIDENCE_CHARS_MAX: usize = 96;
/// Phrases of agents that could not do what the user asked for.
const FAILURE_PHRASES: [&str; 12] = [
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

/// An outcome, the confidence in it, and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Judgement {
    pub outcome: Outcome,
    /// The rule that decided.
    pub reason: OutcomeReason,
    pub confidence: Confidence,
    pub evidence: Vec<Evidence>,
    /// True if a hook reported the end of the session, so that there is no need to wait until it is quiet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ended: bool,
}

impl Default for Judgement {
    fn default() -> Self {
        Self {
            outcome: Outcome::Unknown,
            reason: OutcomeReason::Empty,
            confidence: Confidence::Low,
            evidence: Vec::new(),
            is_ended: false,
        }
    }
}

impl Judgement {
    /// Returns the judgement at `now`: while the session may still be running, the outcome is unknown.
    #[must_use]
    pub fn as_of(&self, ended_at: Option<Timestamp>, now: Timestamp) -> Self {
        let is_recent = ended_at.is_some_and(|ended| now.duration_since(ended) < QUIET);
        if !is_recent || self.is_ended {
            return self.clone();
        }
        Self {
            outcome: Outcome::Unknown,
            reason: OutcomeReason::Recent,
            confidence: Confidence::Low,
            evidence: Vec::new(),
            is_ended: false,
        }
    }
}

/// Returns the name of an outcome, in JSON and for people.
pub fn outcome_name(outcome: Outcome) -> &'static str {
    outcome.as_str()
}

/// The rule that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeReason {
    /// Nothing happened that could be judged.
    Empty,
    /// The session may still be running.
    Recent,
    /// The API or the harness failed, and nothing came after the error.
    ApiError,
    /// The last tool calls all failed.
    FailedToolCalls,
    /// The last test run failed.
    FailingTests,
    /// The last prompt was not answered.
    UnansweredPrompt,
    /// A human interrupted the agent, and nothing was finished after that.
    Interrupted,
    /// The log ends in the middle of the work.
    CutOff,
    /// The last test run passed, and it was after the last edit.
    TestsPassed,
    /// The work was committed, or submitted as a pull request.
    Committed,
    /// The agent reported that its goal was reached.
    GoalReached,
    /// The command that ran the agent failed.
    ExitStatus,
    /// The last turn ended normally, but nothing proves its result.
    Completed,
}

impl OutcomeReason {
    /// Returns the name used in JSON.
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

    /// Returns the reason as text for people. Digests and reports use the same text.
    pub fn describe(self) -> &'static str {
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

/// The confidence in a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A line of the log on which a judgement or a signal is based.
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

    pub(crate) fn from_event(event: &SessionEvent) -> Self {
        Self::new(event.line, event.turn, &event.summary)
    }

    pub(crate) fn from_call(call: &CallStep) -> Self {
        Self::new(call.line, call.turn, &call.wording)
    }
}

/// The meaning of an event that ends or interrupts a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnMark {
    /// A human interrupted the agent.
    Interrupt,
    /// A human went back to before a turn.
    Rewind,
    /// The API or the harness failed.
    ApiError,
    /// A turn ended normally.
    Finished,
    /// The agent reported that its goal was reached.
    Goal,
    Compaction,
}

/// Classifies an event by its kinds and by the wording that our readers give to such events. Returns `None` for all
/// other events.
pub(crate) fn classify_event(event: &SessionEvent) -> Option<TurnMark> {
    let has_prefix = |words: &[&str]| words.iter().any(|word| event.summary.starts_with(word));
    let (kinds, by_harness) = (event.kinds, event.actor == Actor::Harness);
    if kinds.has(Kind::HumanIntervention) && !event.trigger {
        if has_prefix(&["went back", "undo"]) {
            return Some(TurnMark::Rewind);
        }
        let stops = has_prefix(&["interrupted", "turn cancelled", "agents stopped"]);
        return (stops || kinds.has(Kind::AssistantMsg)).then_some(TurnMark::Interrupt);
    }
    if kinds.has(Kind::Error) {
        let is_fatal = kinds.has(Kind::AssistantMsg)
            || kinds.has(Kind::Completion)
            || (by_harness && has_prefix(&["API error", "turn failed", "stream ", "exceeded", "unexpected status"]));
        return is_fatal.then_some(TurnMark::ApiError);
    }
    if kinds.has(Kind::Completion) {
        return Some(TurnMark::Finished);
    }
    if kinds.has(Kind::Lifecycle) {
        let reached = [
            "goal complete",
            "goal achieved",
            "goal verified: achieved",
            "goal verdict: achieved",
        ];
        if has_prefix(&reached) {
            return Some(TurnMark::Goal);
        }
        if has_prefix(&["conversation compacted", "context compacted"]) {
            return Some(TurnMark::Compaction);
        }
    }
    None
}

/// The kind of the last relevant step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LastStep {
    #[default]
    Nothing,
    Prompt,
    Work,
    Reply,
    ApiError,
    Interrupt,
}

/// The part of a session's history that decides its outcome. Steps are added in order.
#[derive(Debug, Default)]
pub(crate) struct OutcomeTracker {
    last: LastStep,
    last_at: Option<Evidence>,
    turn: Option<u32>,
    /// The most recent tool calls that failed since the last one that succeeded.
    failed: Vec<Evidence>,
    failed_count: usize,
    edited_at: Option<u64>,
    /// The last test run, its event, and whether it passed.
    test: Option<(Evidence, u64, Option<bool>)>,
    commit: Option<(Evidence, u64)>,
    goal: Option<Evidence>,
    /// The last tool call.
    last_call: Option<u64>,
    /// The last prompt or reply.
    seq: Option<u64>,
}

impl OutcomeTracker {
    pub(crate) fn add_step(&mut self, step: Step<'_>, findings: &Findings) {
        match step {
            Step::Call(call) => self.add_call(call, findings),
            Step::Event(event) => self.add_event(event),
        }
    }

    fn add_event(&mut self, event: &SessionEvent) {
        let before = self.last;
        let mut set_last = |last| {
            self.last = last;
            self.seq = Some(event.seq);
            self.last_at = Some(Evidence::from_event(event));
        };
        if event.trigger {
            set_last(LastStep::Prompt);
            self.turn = event.turn;
            self.failed.clear();
            self.failed_count = 0;
            return;
        }
        match classify_event(event) {
            Some(TurnMark::Interrupt) => set_last(LastStep::Interrupt),
            Some(TurnMark::ApiError) => set_last(LastStep::ApiError),
            // A turn that ends normally counts as answered, unless it was interrupted.
            Some(TurnMark::Finished) if event.kinds.has(Kind::AssistantMsg) => set_last(LastStep::Reply),
            Some(TurnMark::Finished) if matches!(before, LastStep::Work | LastStep::Prompt | LastStep::ApiError) => {
                set_last(LastStep::Reply)
            }
            Some(TurnMark::Goal) => self.goal = Some(Evidence::from_event(event)),
            _ if event.kinds.has(Kind::AssistantMsg) && event.actor == Actor::Agent => set_last(LastStep::Reply),
            _ => {}
        }
    }

    fn add_call(&mut self, call: &CallStep, findings: &Findings) {
        // A call without a result that precedes the last reply is not where the work stopped.
        let is_last = call.end != CallStatus::Open || self.seq.is_none_or(|seq| call.seq > seq);
        if call.end != CallStatus::Stopped && is_last {
            self.last = LastStep::Work;
            self.last_at = Some(Evidence::from_call(call));
        }
        self.last_call = Some(call.seq);
        if call.has_failed() {
            self.failed_count += 1;
            self.failed.push(Evidence::from_call(call));
            if self.failed.len() > EVIDENCE_MAX {
                self.failed.remove(0);
            }
        } else if call.success == Some(true) {
            self.failed.clear();
            self.failed_count = 0;
        }
        if delivers_work(call, findings) {
            self.commit = Some((Evidence::from_call(call), call.seq));
        }
        if matches!(call.end, CallStatus::Denied | CallStatus::Stopped | CallStatus::Open) {
            return;
        }
        if call.is_test {
            self.test = Some((Evidence::from_call(call), call.seq, test_passed(call, findings)));
        }
        if !call.has_failed() && call.files.iter().any(|file| is_work(file)) {
            self.edited_at = Some(call.seq);
        }
    }

    /// Returns the judgement of the first rule that applies.
    pub(crate) fn judge(self, last_reply: Option<&str>) -> Judgement {
        let last = self.last_at.iter().cloned().collect::<Vec<_>>();
        let fails_to_the_end = self.failed_count >= FAILED_MIN;
        match self.last {
            LastStep::Nothing => Judgement::default(),
            LastStep::ApiError => judgement(Outcome::Fail, OutcomeReason::ApiError, Confidence::High, last),
            LastStep::Interrupt => judgement(Outcome::Abandoned, OutcomeReason::Interrupted, Confidence::High, last),
            _ if fails_to_the_end => judgement(
                Outcome::Fail,
                OutcomeReason::FailedToolCalls,
                Confidence::Medium,
                self.failed,
            ),
            LastStep::Prompt => judgement(
                Outcome::Abandoned,
                OutcomeReason::UnansweredPrompt,
                Confidence::High,
                last,
            ),
            LastStep::Work => self.judge_cut_off(last),
            LastStep::Reply => self.judge_completed(last, last_reply.is_some_and(admits_failure)),
        }
    }

    /// Returns the last test run if it passed after the last edit.
    fn passed_test(&self) -> Option<&(Evidence, u64, Option<bool>)> {
        let (evidence, seq, passed) = self.test.as_ref()?;
        // If nothing was edited, the tests passed on the old code, so they only say something about the last turn.
        let is_of_work = match self.edited_at {
            Some(edited) => *seq >= edited,
            None => evidence.turn == self.turn,
        };
        self.test.as_ref().filter(|_| is_of_work && *passed == Some(true))
    }

    /// Judges a log that ends in the middle of the work. If the last call is a passed test run, that is evidence of
    /// success with low confidence.
    fn judge_cut_off(&self, last: Vec<Evidence>) -> Judgement {
        match self.passed_test().filter(|(_, seq, _)| self.last_call == Some(*seq)) {
            Some((evidence, ..)) => {
                let proof = vec![evidence.clone()];
                judgement(Outcome::Success, OutcomeReason::TestsPassed, Confidence::Low, proof)
            }
            None => judgement(Outcome::Unknown, OutcomeReason::CutOff, Confidence::Low, last),
        }
    }

    fn judge_completed(&self, last: Vec<Evidence>, admits_failure: bool) -> Judgement {
        let lowered = |confidence| match (admits_failure, confidence) {
            (false, confidence) => confidence,
            (true, Confidence::High) => Confidence::Medium,
            (true, _) => Confidence::Low,
        };
        if let Some((evidence, seq, Some(false))) = &self.test
            && evidence.turn == self.turn
            && self.commit.as_ref().is_none_or(|(_, commit)| commit < seq)
        {
            let proof = vec![evidence.clone()];
            return judgement(Outcome::Fail, OutcomeReason::FailingTests, Confidence::Medium, proof);
        }
        let passed_test = self.passed_test();
        let commit = self.commit.as_ref();
        let is_newest = commit.is_some_and(|(_, seq)| self.edited_at.is_none_or(|edited| *seq >= edited));
        let (reason, confidence) = match (passed_test, commit, &self.goal) {
            (Some(_), _, _) if self.edited_at.is_some() => (OutcomeReason::TestsPassed, Confidence::High),
            (_, Some(_), _) if is_newest => (OutcomeReason::Committed, Confidence::High),
            (_, _, Some(_)) => (OutcomeReason::GoalReached, Confidence::High),
            (Some(_), _, None) => (OutcomeReason::TestsPassed, Confidence::Medium),
            // The work was committed, but something was edited afterwards.
            (None, Some(_), None) => (OutcomeReason::Committed, Confidence::Low),
            (None, None, None) => {
                return judgement(
                    Outcome::Unknown,
                    OutcomeReason::Completed,
                    lowered(Confidence::Medium),
                    last,
                );
            }
        };
        let proofs = [
            passed_test.map(|(evidence, ..)| evidence),
            commit.map(|(evidence, _)| evidence),
            self.goal.as_ref(),
        ];
        let evidence = proofs.into_iter().flatten().cloned().collect();
        judgement(Outcome::Success, reason, lowered(confidence), evidence)
    }
}

fn judgement(outcome: Outcome, reason: OutcomeReason, confidence: Confidence, evidence: Vec<Evidence>) -> Judgement {
    Judgement {
        outcome,
        reason,
        confidence,
        evidence,
        is_ended: false,
    }
}

/// Returns `true` if a test run passed, or `None` if that is unknown. The output decides before the exit code, because
/// behind a pipe the exit code is that of another program. If the command itself succeeded, failures in the output were
/// expected ones.
pub(crate) fn test_passed(call: &CallStep, findings: &Findings) -> Option<bool> {
    let by_output = findings.tests.get(&call.seq).copied();
    let is_piped = call.wording.contains('|') || call.wording.chars().count() >= 120;
    // The exit code of a compound command may be that of another part. A final `2>&1` is only a redirection.
    let is_shared = is_piped || call.wording.contains([';', '\n', '&']) && !call.wording.ends_with("2>&1");
    match (by_output, call.success) {
        (Some(false), Some(true)) if !is_shared => Some(true),
        (Some(passed), _) => Some(passed),
        (None, Some(false)) => Some(false),
        (None, Some(true)) if !is_piped => Some(true),
        (None, _) => None,
    }
}

/// Returns the commits that a command made. If git announced a commit, it was made, even if a later command failed.
/// Without an announcement, a command that succeeded made the commits named in its arguments.
pub(crate) fn made_commits(call: &CallStep, findings: &Findings) -> Vec<GitCommit> {
    let Some(texts) = findings.commits.get(&call.seq) else {
        return Vec::new();
    };
    if !texts.announced.is_empty() {
        return texts.announced.clone();
    }
    if !has_succeeded(call) || texts.is_empty {
        return Vec::new();
    }
    let only = texts.subjects.len() == 1;
    let commit = |subject: &Option<String>| GitCommit {
        hash: texts.noted_hash.clone().filter(|_| only),
        subject: subject.clone(),
    };
    texts.subjects.iter().map(commit).collect()
}

/// Returns `true` if a command delivered work: it made commits, or opened or merged a pull request.
pub(crate) fn delivers_work(call: &CallStep, findings: &Findings) -> bool {
    !made_commits(call, findings).is_empty() || (findings.offers.contains(&call.seq) && has_succeeded(call))
}

fn has_succeeded(call: &CallStep) -> bool {
    !call.has_failed() && !matches!(call.end, CallStatus::Denied | CallStatus::Stopped | CallStatus::Open)
}

/// Returns `true` if an edited file is part of the work. The agent's own notes are not.
fn is_work(file: &str) -> bool {
    !["/.claude/plans/", "/.claude/projects/", "/.claude/todos/"]
        .iter()
        .any(|notes| file.contains(notes))
}

/// Returns `true` if an agent says that it could not do what the user asked for.
fn admits_failure(reply: &str) -> bool {
    let reply = reply.to_lowercase();
    FAILURE_PHRASES.iter().any(|words| reply.contains(words))
}
