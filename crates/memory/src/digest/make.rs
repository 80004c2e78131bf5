//! The fold that makes a digest: steps go in one by one, and what is remembered of them is bounded.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use regex::Regex;
use transcript::{Actor, Call, Kind, SessionEvent, Tokens, counted, wall_clock_s};

use super::fields::{
    CommandRuns, Commit, Digest, ErrorKind, Errors, FileEdits, HourTokens, Interventions, LastTest, ModelTokens,
    Snippet, Spent, TestRuns, TokensSpent, ToolUse,
};
use super::steps::{End, Ran, Step, Steps};
use super::{Facts, bound, one_line, task};
use crate::active::{ActiveTime, IDLE_LIMIT_S};
use crate::heard;
use crate::outcome::{Course, made_commits, passed};
use crate::signals::{Pauses, Watch, like};

/// So many names of one kind are counted apart.
const NAMES_MAX: usize = 4096;
/// Characters of a snippet, of a prompt, and of names from the log.
const SNIPPET_CHARS_MAX: usize = 160;
const PROMPT_CHARS_MAX: usize = 240;
const NAME_CHARS_MAX: usize = 200;
const SUBJECT_CHARS_MAX: usize = 200;
/// Maximum number of commits in a digest, as a guard against hostile logs.
const COMMITS_MAX: usize = 4096;
const HOUR_S: i64 = 3600;

/// Makes a digest of the events that it is given in order.
pub(super) struct Maker<'f> {
    facts: &'f Facts,
    steps: Steps,
    tally: Tally<'f>,
}

/// What is counted and remembered of steps.
struct Tally<'f> {
    facts: &'f Facts,
    course: Course,
    watch: Watch,
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
    commits: Vec<Commit>,
    commits_total: u64,
    hashes: HashSet<String>,
    errors: u64,
    resolved: u64,
    failing: HashMap<Box<str>, u64>,
    error_kinds: HashMap<String, ErrorKind>,
    first_prompt: Option<Snippet>,
    last_prompt: Option<Snippet>,
    last_reply: Option<Snippet>,
}

impl<'f> Maker<'f> {
    pub(super) fn new(facts: &'f Facts) -> Self {
        Self {
            facts,
            steps: Steps::default(),
            tally: Tally {
                facts,
                course: Course::default(),
                watch: Watch::default(),
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

    /// Takes the next event. Copied history is listed with the session, and is another session's work.
    pub(super) fn take(&mut self, event: &SessionEvent) {
        let session = &self.facts.session;
        self.tally.events += 1;
        if session.inherited.is_some_and(|inherited| inherited.covers(event.line)) {
            return;
        }
        self.tally.clock(event, self.steps.is_working());
        // Where the log holds the work of subagents, they are judged apart.
        let is_aside = event.is_sidechain && !session.is_subagent;
        let tally = &mut self.tally;
        self.steps.take(event, &mut |step| tally.see(step, is_aside));
    }

    /// What came of it all.
    pub(super) fn end(mut self, task_pattern: &Regex) -> Digest {
        let (tally, is_subagent) = (&mut self.tally, self.facts.session.is_subagent);
        self.steps.end(&mut |step| {
            let is_aside = matches!(step, Step::Ran(ran) if ran.is_sidechain) && !is_subagent;
            tally.see(step, is_aside);
        });
        bound::fit(self.tally.end(task_pattern))
    }
}

impl Tally<'_> {
    /// Counts the time since the event before. A long wait for a tool is neither active time nor a pause.
    fn clock(&mut self, event: &SessionEvent, is_working: bool) {
        let gap_s = event.ts.and_then(|ts| self.active.add(ts));
        if let Some(seconds) = gap_s.filter(|_| !is_working) {
            self.pauses.pause(seconds, event);
        }
    }

    fn see(&mut self, step: Step<'_>, is_aside: bool) {
        match step {
            Step::Ran(ran) => self.ran(ran),
            Step::Event(event) => self.event(event, is_aside),
        }
        if is_aside {
            return;
        }
        let findings = &self.facts.findings;
        self.course.see(step, findings);
        self.watch.see(step, findings);
        self.interventions.see(step);
        if let Step::Ran(ran) = step {
            self.test(ran);
            self.commits(ran);
        }
    }

    /// Adds the commits that a command made. A hash that is listed already is the same commit.
    fn commits(&mut self, ran: &Ran) {
        for commit in made_commits(ran, &self.facts.findings) {
            if commit
                .hash
                .as_ref()
                .is_some_and(|hash| !self.hashes.insert(hash.clone()))
            {
                continue;
            }
            self.commits_total += 1;
            if self.commits.len() < COMMITS_MAX {
                self.commits.push(Commit {
                    line: ran.line,
                    turn: ran.turn,
                    hash: commit.hash,
                    subject: commit.subject.map(|subject| one_line(&subject, SUBJECT_CHARS_MAX)),
                });
            }
        }
    }

    fn event(&mut self, event: &SessionEvent, is_aside: bool) {
        if event.kinds.has(Kind::Error) {
            self.errors += 1;
        }
        self.retries += u64::from(event.kinds.has(Kind::Retry));
        if is_aside {
            return;
        }
        let told = |chars| snippet(event.line, event.turn, event.actor, &event.summary, chars);
        if event.trigger {
            self.first_prompt.get_or_insert_with(|| told(PROMPT_CHARS_MAX));
            self.last_prompt = Some(told(SNIPPET_CHARS_MAX));
        } else if event.kinds.has(Kind::AssistantMsg) && event.actor == Actor::Agent {
            self.last_reply = Some(told(SNIPPET_CHARS_MAX));
        }
    }

    fn ran(&mut self, ran: &Ran) {
        self.tool_calls += 1;
        self.retries += u64::from(ran.is_retry);
        let failed = ran.failed();
        if let Some(tool) = entry(&mut self.tools, &ran.tool, || ToolUse {
            tool: one_line(&ran.tool, 64),
            calls: 0,
            errors: 0,
            duration_ms: 0,
        }) {
            tool.calls += 1;
            tool.errors += u64::from(failed);
            tool.duration_ms = tool.duration_ms.saturating_add(ran.duration_ms.unwrap_or_default());
        }
        if !failed {
            for file in &ran.files {
                if let Some(edits) = entry(&mut self.files, file, || 0) {
                    *edits += 1;
                }
            }
            if let Some(last) = self.tests.last.as_mut().filter(|_| !ran.files.is_empty()) {
                last.edited_since = true;
            }
        }
        if let Some(command) = ran.command()
            && (self.commands.len() < NAMES_MAX || self.commands.contains_key(&command))
        {
            let (runs, errors) = self.commands.entry(command).or_default();
            *runs += 1;
            *errors += u64::from(failed);
        }
        self.error(ran, failed);
    }

    fn error(&mut self, ran: &Ran, failed: bool) {
        let what: Box<str> = ran.what().into();
        if !failed {
            if ran.success == Some(true) {
                self.resolved += self.failing.remove(&what).unwrap_or_default();
            }
            return;
        }
        self.errors += 1;
        if let Some(failing) = entry(&mut self.failing, &what, || 0) {
            *failing += 1;
        }
        let text = if ran.result.is_empty() {
            &ran.wording
        } else {
            &ran.result
        };
        let key = like(text);
        if self.error_kinds.len() < NAMES_MAX || self.error_kinds.contains_key(&key) {
            let kind = self.error_kinds.entry(key).or_insert_with(|| ErrorKind {
                line: ran.line,
                turn: ran.turn,
                tool: Some(one_line(&ran.tool, 64)),
                text: one_line(text, SNIPPET_CHARS_MAX),
                count: 0,
            });
            kind.count += 1;
        }
    }

    fn test(&mut self, ran: &Ran) {
        if !ran.is_test || matches!(ran.end, End::Denied | End::Stopped | End::Open) {
            return;
        }
        let passed = passed(ran, &self.facts.findings);
        match passed {
            Some(true) => self.tests.passed += 1,
            Some(false) => self.tests.failed += 1,
            None => self.tests.unclear += 1,
        }
        self.tests.last = Some(LastTest {
            line: ran.line,
            turn: ran.turn,
            command: one_line(&ran.wording, SNIPPET_CHARS_MAX),
            passed,
            edited_since: false,
        });
    }

    fn end(self, task_pattern: &Regex) -> Digest {
        let facts = self.facts;
        let session = &facts.session;
        let name = |text: &Option<String>| text.as_deref().map(|text| one_line(text, NAME_CHARS_MAX));
        let findings = &facts.findings;
        let by_log = self.course.judge(findings.last_reply.as_deref());
        let outcome = heard::judge(by_log, &facts.told, session.ended_at);
        let spent = Spent {
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
            task_ref: task::find(task_pattern, session.git_branch.as_deref(), prompts, commit_texts),
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
            time: spent,
            turns: facts.turns.len() as u32,
            rewound_turns: facts.turns.iter().filter(|turn| turn.rewound).count() as u32,
            events: self.events,
            tool_calls: self.tool_calls,
            retries: self.retries,
            interventions: self.interventions,
            tokens: tokens(&facts.calls),
            tools: sorted(self.tools.into_values(), |tool| (tool.calls, tool.tool.clone())),
            files: files(self.files),
            commands: commands(self.commands),
            tests: self.tests,
            commits: self.commits,
            commits_total: self.commits_total,
            errors: Errors {
                count: self.errors,
                resolved: self.resolved,
                kinds: sorted(self.error_kinds.into_values(), |kind| {
                    (kind.count, format!("{:012}", kind.line))
                }),
            },
            signals: self.watch.end(findings, &outcome, &self.pauses),
            told: heard::newest(&facts.told),
            outcome,
            snippets: [self.last_prompt, self.last_reply].into_iter().flatten().collect(),
            left_out: 0,
        }
    }
}

fn files(edited: HashMap<Box<str>, u64>) -> Vec<FileEdits> {
    let files = edited.into_iter().map(|(path, edits)| FileEdits {
        path: one_line(&path, NAME_CHARS_MAX),
        edits,
    });
    sorted(files, |file| (file.edits, file.path.clone()))
}

fn commands(run: HashMap<String, (u64, u64)>) -> Vec<CommandRuns> {
    let commands = run.into_iter().map(|(command, (runs, errors))| CommandRuns {
        command: one_line(&command, 64),
        runs,
        errors,
    });
    sorted(commands, |command| (command.runs, command.command.clone()))
}

/// An entry of a map that holds only so many.
fn entry<'m, V>(map: &'m mut HashMap<Box<str>, V>, key: &str, new: impl FnOnce() -> V) -> Option<&'m mut V> {
    if map.len() >= NAMES_MAX && !map.contains_key(key) {
        return None;
    }
    Some(map.entry(key.into()).or_insert_with(new))
}

/// The largest first; of equals, by name.
fn sorted<T>(of: impl Iterator<Item = T>, by: impl Fn(&T) -> (u64, String)) -> Vec<T> {
    let mut sorted: Vec<T> = of.collect();
    sorted.sort_by_cached_key(|one| {
        let (count, name) = by(one);
        (std::cmp::Reverse(count), name)
    });
    sorted
}

fn snippet(line: u64, turn: Option<u32>, actor: Actor, text: &str, chars_max: usize) -> Snippet {
    Snippet {
        line,
        turn,
        actor: actor.as_str().to_owned(),
        text: one_line(text, chars_max),
    }
}

/// Tokens of the calls that count, each once.
fn tokens(calls: &[Call]) -> TokensSpent {
    let all: Vec<&Call> = calls.iter().collect();
    let mut spent = TokensSpent::default();
    let mut models: BTreeMap<&str, (u64, Tokens)> = BTreeMap::new();
    let mut hours: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for (call, _) in all.iter().zip(counted(&all)).filter(|(_, counts)| *counts) {
        spent.calls += 1;
        spent.total.add(&call.tokens);
        let (count, tokens) = models.entry(call.model.as_deref().unwrap_or("not told")).or_default();
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
