//! Folds the steps of a session into a digest. Memory is limited whatever the log contains.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use regex::Regex;
use transcript::{Actor, Call, Kind, SessionEvent, Tokens, counted, wall_clock_s};

use super::{
    CommandRuns, Digest, ErrorGroup, ErrorSummary, FileEdits, HourTokens, Interventions, LastTest, ModelTokens,
    SessionCommit, SessionTime, Snippet, TestRuns, TokenTotals, ToolUse,
};
use super::{DigestFacts, bound, task};
use crate::active::{ActiveTime, IDLE_LIMIT_S};
use crate::excerpt::one_line;
use crate::outcome::{OutcomeTracker, made_commits, test_passed};
use crate::reported_facts;
use crate::signals::{Pauses, SignalDetector, normalize_error};
use crate::steps::{CallStatus, CallStep, Step, StepJoiner};

/// Maximum number of different names of one kind.
const NAMES_MAX: usize = 4096;
/// Maximum number of characters of a snippet, of a prompt, of a name from the log and of a commit's subject.
const SNIPPET_CHARS_MAX: usize = 160;
const PROMPT_CHARS_MAX: usize = 240;
const NAME_CHARS_MAX: usize = 200;
const SUBJECT_CHARS_MAX: usize = 200;
/// Maximum number of commits in a digest, as a guard against hostile logs.
const COMMITS_MAX: usize = 4096;
const HOUR_S: i64 = 3600;

/// Makes a digest from events added in order.
pub(super) struct DigestBuilder<'f> {
    facts: &'f DigestFacts,
    steps: StepJoiner,
    tally: StepTally<'f>,
}

/// The counts and texts collected from the steps.
struct StepTally<'f> {
    facts: &'f DigestFacts,
    outcome_tracker: OutcomeTracker,
    signals: SignalDetector,
    pauses: Pauses,
    active: ActiveTime,
    events: u64,
    tool_calls: u64,
    retries: u64,
    interventions: Interventions,
    tools: HashMap<Box<str>, ToolUse>,
    files: HashMap<Box<str>, u64>,
    commands: HashMap<String, (u64, u64)>,
    tests: TestRuns,
    commits: Vec<SessionCommit>,
    commits_total: u64,
    hashes: HashSet<String>,
    errors: u64,
    resolved: u64,
    failing: HashMap<Box<str>, u64>,
    error_kinds: HashMap<String, ErrorGroup>,
    first_prompt: Option<Snippet>,
    last_prompt: Option<Snippet>,
    last_reply: Option<Snippet>,
}

impl<'f> DigestBuilder<'f> {
    pub(super) fn new(facts: &'f DigestFacts) -> Self {
        Self {
            facts,
            steps: StepJoiner::default(),
            tally: StepTally {
                facts,
                outcome_tracker: OutcomeTracker::default(),
                signals: SignalDetector::default(),
                pauses: Pauses::default(),
                active: ActiveTime::default(),
                events: 0,
                tool_calls: 0,
                retries: 0,
                interventions: Interventions::default(),
                tools: HashMap::new(),
                files: HashMap::new(),
                commands: HashMap::new(),
                tests: TestRuns::default(),
                commits: Vec::new(),
                commits_total: 0,
                hashes: HashSet::new(),
                errors: 0,
                resolved: 0,
                failing: HashMap::new(),
                error_kinds: HashMap::new(),
                first_prompt: None,
                last_prompt: None,
                last_reply: None,
            },
        }
    }

    /// Adds the next event. Copied history counts as events of this session, but its work belongs to another session.
    pub(super) fn add_event(&mut self, event: &SessionEvent) {
        let session = &self.facts.session;
        self.tally.events += 1;
        if session.inherited.is_some_and(|inherited| inherited.covers(event.line)) {
            return;
        }
        self.tally.count_gap(event, self.steps.is_working());
        // The work of subagents in the same log is not judged with the session's own work.
        let is_aside = event.is_sidechain && !session.is_subagent;
        let tally = &mut self.tally;
        self.steps.take(event, &mut |step| tally.add_step(step, is_aside));
    }

    /// Returns the digest after the last event.
    pub(super) fn finish(mut self, task_pattern: &Regex) -> Digest {
        let (tally, is_subagent) = (&mut self.tally, self.facts.session.is_subagent);
        self.steps.end(&mut |step| {
            let is_aside = matches!(step, Step::Call(call) if call.is_sidechain) && !is_subagent;
            tally.add_step(step, is_aside);
        });
        bound::cut_to_limit(self.tally.finish(task_pattern))
    }
}

impl StepTally<'_> {
    /// Counts the time since the previous event. A long wait for a tool is neither active time nor a pause.
    fn count_gap(&mut self, event: &SessionEvent, is_working: bool) {
        let gap_s = event.ts.and_then(|ts| self.active.add(ts));
        if let Some(seconds) = gap_s.filter(|_| !is_working) {
            self.pauses.add_pause(seconds, event);
        }
    }

    fn add_step(&mut self, step: Step<'_>, is_aside: bool) {
        match step {
            Step::Call(call) => self.add_call(call),
            Step::Event(event) => self.add_event(event, is_aside),
        }
        if is_aside {
            return;
        }
        let findings = &self.facts.findings;
        self.outcome_tracker.add_step(step, findings);
        self.signals.add_step(step, findings);
        self.interventions.add_step(step);
        if let Step::Call(call) = step {
            self.add_test(call);
            self.add_commits(call);
        }
    }

    /// Adds the commits that a command made. A hash that is already listed is the same commit.
    fn add_commits(&mut self, call: &CallStep) {
        for commit in made_commits(call, &self.facts.findings) {
            if commit
                .hash
                .as_ref()
                .is_some_and(|hash| !self.hashes.insert(hash.clone()))
            {
                continue;
            }
            self.commits_total += 1;
            if self.commits.len() < COMMITS_MAX {
                self.commits.push(SessionCommit {
                    line: call.line,
                    turn: call.turn,
                    hash: commit.hash,
                    subject: commit.subject.map(|subject| one_line(&subject, SUBJECT_CHARS_MAX)),
                });
            }
        }
    }

    fn add_event(&mut self, event: &SessionEvent, is_aside: bool) {
        if event.kinds.has(Kind::Error) {
            self.errors += 1;
        }
        self.retries += u64::from(event.kinds.has(Kind::Retry));
        if is_aside {
            return;
        }
        let snippet_of = |chars| make_snippet(event.line, event.turn, event.actor, &event.summary, chars);
        if event.trigger {
            self.first_prompt.get_or_insert_with(|| snippet_of(PROMPT_CHARS_MAX));
            self.last_prompt = Some(snippet_of(SNIPPET_CHARS_MAX));
        } else if event.kinds.has(Kind::AssistantMsg) && event.actor == Actor::Agent {
            self.last_reply = Some(snippet_of(SNIPPET_CHARS_MAX));
        }
    }

    fn add_call(&mut self, call: &CallStep) {
        self.tool_calls += 1;
        self.retries += u64::from(call.is_retry);
        let failed = call.has_failed();
        if let Some(tool) = bounded_entry(&mut self.tools, &call.tool, || ToolUse {
            tool: one_line(&call.tool, 64),
            calls: 0,
            errors: 0,
            duration_ms: 0,
        }) {
            tool.calls += 1;
            tool.errors += u64::from(failed);
            tool.duration_ms = tool.duration_ms.saturating_add(call.duration_ms.unwrap_or_default());
        }
        if !failed {
            for file in &call.files {
                if let Some(edits) = bounded_entry(&mut self.files, file, || 0) {
                    *edits += 1;
                }
            }
            if let Some(last) = self.tests.last.as_mut().filter(|_| !call.files.is_empty()) {
                last.edited_since = true;
            }
        }
        if let Some(command) = call.command()
            && (self.commands.len() < NAMES_MAX || self.commands.contains_key(&command))
        {
            let (runs, errors) = self.commands.entry(command).or_default();
            *runs += 1;
            *errors += u64::from(failed);
        }
        self.add_error(call, failed);
    }

    fn add_error(&mut self, call: &CallStep, failed: bool) {
        let what: Box<str> = call.describe_attempt().into();
        if !failed {
            if call.success == Some(true) {
                self.resolved += self.failing.remove(&what).unwrap_or_default();
            }
            return;
        }
        self.errors += 1;
        if let Some(failing) = bounded_entry(&mut self.failing, &what, || 0) {
            *failing += 1;
        }
        let text = if call.result.is_empty() {
            &call.wording
        } else {
            &call.result
        };
        let key = normalize_error(text);
        if self.error_kinds.len() < NAMES_MAX || self.error_kinds.contains_key(&key) {
            let kind = self.error_kinds.entry(key).or_insert_with(|| ErrorGroup {
                line: call.line,
                turn: call.turn,
                tool: Some(one_line(&call.tool, 64)),
                text: one_line(text, SNIPPET_CHARS_MAX),
                count: 0,
            });
            kind.count += 1;
        }
    }

    fn add_test(&mut self, call: &CallStep) {
        if !call.is_test || matches!(call.end, CallStatus::Denied | CallStatus::Stopped | CallStatus::Open) {
            return;
        }
        let passed = test_passed(call, &self.facts.findings);
        match passed {
            Some(true) => self.tests.passed += 1,
            Some(false) => self.tests.failed += 1,
            None => self.tests.unclear += 1,
        }
        self.tests.last = Some(LastTest {
            line: call.line,
            turn: call.turn,
            command: one_line(&call.wording, SNIPPET_CHARS_MAX),
            passed,
            edited_since: false,
        });
    }

    fn finish(self, task_pattern: &Regex) -> Digest {
        let facts = self.facts;
        let session = &facts.session;
        let name = |text: &Option<String>| text.as_deref().map(|text| one_line(text, NAME_CHARS_MAX));
        let findings = &facts.findings;
        let by_log = self.outcome_tracker.judge(findings.last_reply.as_deref());
        let outcome = reported_facts::apply_facts(by_log, &facts.told, session.ended_at);
        let time = SessionTime {
            wall_s: wall_clock_s(session.started_at, session.ended_at),
            active_s: self.active.seconds(),
            idle_after_s: IDLE_LIMIT_S,
            ..self.pauses.spent
        };
        let commit_texts = self.commits.iter().filter_map(|commit| commit.subject.as_deref());
        let prompts = facts.turns.iter().map(|turn| &*turn.prompt);
        Digest {
            session_uid: session.session_uid.to_string(),
            flavor: session.flavor.as_str().to_owned(),
            title: name(&session.title),
            task_ref: task::find_task(task_pattern, session.git_branch.as_deref(), prompts, commit_texts),
            first_prompt: self.first_prompt,
            repo: facts
                .place
                .as_ref()
                .map(|place| place.name.clone())
                .or_else(|| name(&session.repo)),
            remote: facts.place.as_ref().and_then(|place| place.remote.clone()),
            cwd: name(&session.cwd),
            git_branch: name(&session.git_branch),
            model: name(&session.model),
            agent_version: name(&session.agent_version),
            is_subagent: session.is_subagent,
            started_at: session.started_at,
            ended_at: session.ended_at,
            time,
            turns: facts.turns.len() as u32,
            rewound_turns: facts.turns.iter().filter(|turn| turn.rewound).count() as u32,
            events: self.events,
            tool_calls: self.tool_calls,
            retries: self.retries,
            interventions: self.interventions,
            tokens: sum_tokens(&facts.calls),
            tools: sort_by_count(self.tools.into_values(), |tool| (tool.calls, tool.tool.clone())),
            files: list_files(self.files),
            commands: list_commands(self.commands),
            tests: self.tests,
            commits: self.commits,
            commits_total: self.commits_total,
            errors: ErrorSummary {
                count: self.errors,
                resolved: self.resolved,
                kinds: sort_by_count(self.error_kinds.into_values(), |kind| {
                    (kind.count, format!("{:012}", kind.line))
                }),
            },
            signals: self.signals.finish(findings, &outcome, &self.pauses),
            told: reported_facts::newest_facts(&facts.told),
            outcome,
            snippets: [self.last_prompt, self.last_reply].into_iter().flatten().collect(),
            left_out: 0,
        }
    }
}

fn list_files(edited: HashMap<Box<str>, u64>) -> Vec<FileEdits> {
    let files = edited.into_iter().map(|(path, edits)| FileEdits {
        path: one_line(&path, NAME_CHARS_MAX),
        edits,
    });
    sort_by_count(files, |file| (file.edits, file.path.clone()))
}

fn list_commands(run: HashMap<String, (u64, u64)>) -> Vec<CommandRuns> {
    let commands = run.into_iter().map(|(command, (runs, errors))| CommandRuns {
        command: one_line(&command, 64),
        runs,
        errors,
    });
    sort_by_count(commands, |command| (command.runs, command.command.clone()))
}

/// Returns the entry of `key`, or `None` if the map is full.
fn bounded_entry<'m, V>(map: &'m mut HashMap<Box<str>, V>, key: &str, new: impl FnOnce() -> V) -> Option<&'m mut V> {
    if map.len() >= NAMES_MAX && !map.contains_key(key) {
        return None;
    }
    Some(map.entry(key.into()).or_insert_with(new))
}

/// Sorts by descending count, and then by name.
fn sort_by_count<T>(items: impl Iterator<Item = T>, by: impl Fn(&T) -> (u64, String)) -> Vec<T> {
    let mut sorted: Vec<T> = items.collect();
    sorted.sort_by_cached_key(|one| {
        let (count, name) = by(one);
        (std::cmp::Reverse(count), name)
    });
    sorted
}

fn make_snippet(line: u64, turn: Option<u32>, actor: Actor, text: &str, chars_max: usize) -> Snippet {
    Snippet {
        line,
        turn,
        actor: actor.as_str().to_owned(),
        text: one_line(text, chars_max),
    }
}

/// Sums the tokens of all calls, counting each call once.
fn sum_tokens(calls: &[Call]) -> TokenTotals {
    let all: Vec<&Call> = calls.iter().collect();
    let mut spent = TokenTotals::default();
    let mut models: BTreeMap<&str, (u64, Tokens)> = BTreeMap::new();
    let mut hours: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for (call, _) in all.iter().zip(counted(&all)).filter(|(_, counts)| *counts) {
        spent.calls += 1;
        spent.total.add(&call.tokens);
        let (count, tokens) = models.entry(call.model.as_deref().unwrap_or("unknown")).or_default();
        *count += 1;
        tokens.add(&call.tokens);
        if let Some(ts) = call.ts {
            let (count, tokens) = hours.entry(ts.as_second().div_euclid(HOUR_S)).or_default();
            *count += 1;
            *tokens += call.tokens.total();
        }
    }
    spent.by_model = models
        .into_iter()
        .map(|(model, (calls, tokens))| ModelTokens {
            model: one_line(model, 64),
            calls,
            tokens,
        })
        .collect();
    let hour = |(hour, (calls, tokens))| {
        let hour = Timestamp::from_second(hour * HOUR_S).ok()?;
        Some(HourTokens { hour, calls, tokens })
    };
    spent.by_hour = hours.into_iter().filter_map(hour).collect();
    spent
}
