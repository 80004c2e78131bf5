//! Describes the sessions of the day whose text was evicted, from their digests and turns. Such a session has no copy
//! in the workspace: its citations name lines of the original log, and the page says so.

use std::collections::BTreeMap;

use jiff::Timestamp;
use transcript::Turn;

use super::fields::{
    Citation, CoveredTurn, DayReport, ExcerptLine, LineKind, PieceOfWork, ReportProject, Statement, Totals, TurnExcerpt,
};
use super::open::{decision_statements, recorded_decisions};
use super::paths::{relative_path, shorten_path};
use super::words::{Sentence, count_noun, make_title, say, shorten_quote};
use super::workspace::Workspace;
use super::{ReportError, ReportRequest};
use crate::diary;
use crate::digest::{Digest, SessionCommit, Snippet};
use crate::outcome::OutcomeReason;
use crate::store::{ListedSession, SessionStatus, Store};
use crate::usage;

const FILES_MAX: usize = 5;
const COMMANDS_MAX: usize = 4;

/// A session of which only the digest is left.
pub(super) struct EvictedSession {
    project_key: String,
    project: String,
    /// `D0001`, numbered per project.
    session_ref: String,
    digest: Digest,
    turns: Vec<Turn>,
    /// Number of the session's turns on other days.
    turns_elsewhere: usize,
    totals: Totals,
    /// The user's recorded decisions, each with the index of its turn.
    decisions: Vec<(usize, String)>,
}

/// Returns the evicted sessions that have turns on the day and no copy in the workspace.
pub(super) fn find_evicted(
    store: &Store,
    workspace: &Workspace,
    request: &ReportRequest<'_>,
) -> Result<Vec<EvictedSession>, ReportError> {
    let Some((start, end)) = workspace.metadata.window() else {
        return Ok(Vec::new());
    };
    let known = |session: &ListedSession| {
        let rows = workspace.projects.iter().flat_map(|folder| &folder.rows);
        rows.into_iter()
            .any(|row| row.source_session_id == session.native_session_id())
    };
    let mut found: Vec<EvictedSession> = Vec::new();
    let listed = store.reads().listed()?;
    for session in listed.iter().filter(|session| {
        session.status == SessionStatus::Evicted
            && !session.is_subagent
            && request.includes_session(&session.session_uid)
    }) {
        let overlaps = session.started_micros.is_none_or(|at| at < end.as_microsecond())
            && session.last_micros.is_none_or(|at| at >= start.as_microsecond());
        if !overlaps || known(session) {
            continue;
        }
        let all = store.reads().turns(&session.session_uid)?;
        let is_on_day = |at: Option<Timestamp>| at.is_some_and(|at| start <= at && at < end);
        let turns: Vec<Turn> = all.iter().filter(|turn| is_on_day(turn.started_at)).cloned().collect();
        let Some(row) = store
            .reads()
            .digest_of(&session.session_uid)?
            .filter(|_| !turns.is_empty())
        else {
            continue;
        };
        let (project_key, label) = diary::workspace_project(
            session.cwd.as_deref(),
            session.flavor(),
            session.native_session_id(),
            request.home,
        );
        let calls = store.reads().calls_of(&session.session_uid)?;
        let day_calls = calls
            .iter()
            .filter(|call| call.ts.is_some_and(|ts| start <= ts && ts < end));
        let sum = usage::sum_calls(day_calls, request.prices);
        let whole = turns.len() == all.len();
        found.push(EvictedSession {
            decisions: recorded_decisions(store, &session.session_uid, &all, &turns)?,
            project_key,
            project: label,
            session_ref: String::new(),
            totals: Totals {
                projects: 1,
                sessions: 1,
                sessions_from_digests: 1,
                turns: turns.len() as u64,
                active_s: if whole { row.digest.time.active_s } else { 0 },
                files: if whole { row.digest.files.len() as u64 } else { 0 },
                tokens: sum.tokens.total(),
                cost_microusd: sum.micros().filter(|_| sum.calls > 0),
                unpriced_calls: sum.unpriced_calls,
                commits: if whole { row.digest.commit_count() } else { 0 },
                tests_passed: if whole { row.digest.tests.passed } else { 0 },
                tests_failed: if whole { row.digest.tests.failed } else { 0 },
                tests_unclear: if whole { row.digest.tests.unclear } else { 0 },
                ..Totals::default()
            },
            turns_elsewhere: all.len() - turns.len(),
            digest: row.digest,
            turns,
        });
    }
    assign_names(&mut found, workspace);
    Ok(found)
}

/// Assigns references to the sessions, and gives projects the names that they have in the workspace.
fn assign_names(found: &mut [EvictedSession], workspace: &Workspace) {
    found.sort_by(|a, b| {
        let order = |session: &EvictedSession| {
            (
                session.project_key.clone(),
                session.turns[0].started_at,
                session.digest.session_uid.clone(),
            )
        };
        order(a).cmp(&order(b))
    });
    let names: BTreeMap<&str, String> = workspace
        .projects
        .iter()
        .map(|folder| folder.key.as_str())
        .zip(workspace.names())
        .collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for session in found {
        let number = numbers.entry(session.project_key.clone()).or_default();
        *number += 1;
        session.session_ref = format!("D{number:04}");
        let is_taken = workspace.projects.iter().any(|folder| folder.label == session.project);
        session.project = match names.get(session.project_key.as_str()) {
            Some(name) => name.clone(),
            None if is_taken => session.project_key.clone(),
            None => std::mem::take(&mut session.project),
        };
    }
}

/// Adds the evicted sessions to a day. When such a session was active is no longer known, so the active time of its
/// digest is added to the total, limited by the length of the day so far.
pub(super) fn add_evicted(day: &mut DayReport, evicted: Vec<EvictedSession>, day_length_s: u64) {
    for session in evicted {
        let work = session.build_work();
        day.totals.sessions += 1;
        day.totals.sessions_from_digests += 1;
        day.totals.turns += work.totals.turns;
        add_totals(&mut day.totals, &work.totals);
        day.excerpts.extend(session.build_excerpts(&work));
        if day.summary.len() < 6 {
            let lead = Sentence::default().code(session.project.clone()).say(": ");
            let statement = lead
                .words(&work.title.words)
                .say(" – from its digest; its text was evicted");
            day.summary.push(statement.cite(work.title.citations.clone()));
        }
        let at = day
            .projects
            .iter()
            .position(|project| project.project_key == session.project_key);
        let at = at.unwrap_or_else(|| {
            day.totals.projects += 1;
            day.projects.push(ReportProject {
                project_key: session.project_key.clone(),
                project: session.project.clone(),
                totals: Totals {
                    projects: 1,
                    ..Totals::default()
                },
                works: Vec::new(),
                folded: Vec::new(),
            });
            day.projects.len() - 1
        });
        let project = &mut day.projects[at];
        project.totals.sessions += 1;
        project.totals.sessions_from_digests += 1;
        project.totals.turns += work.totals.turns;
        add_totals(&mut project.totals, &work.totals);
        project.totals.active_s = project.totals.active_s.min(day_length_s);
        project.works.push(work);
    }
    day.totals.active_s = day.totals.active_s.min(day_length_s);
}

fn add_totals(to: &mut Totals, from: &Totals) {
    to.active_s += from.active_s;
    to.files += from.files;
    to.tokens += from.tokens;
    to.unpriced_calls += from.unpriced_calls;
    to.cost_microusd = match (to.cost_microusd, from.cost_microusd) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    to.commits += from.commits;
    to.tests_passed += from.tests_passed;
    to.tests_failed += from.tests_failed;
    to.tests_unclear += from.tests_unclear;
}

impl EvictedSession {
    fn citation(&self, at: usize, first: u64, last: u64) -> Citation {
        Citation {
            project_key: self.project_key.clone(),
            project: self.project.clone(),
            session_ref: self.session_ref.clone(),
            turn_ref: format!("T{:04}", at + 1),
            first_line: first,
            last_line: last.max(first),
        }
    }

    fn cite_turn(&self, at: usize) -> Citation {
        self.citation(at, self.turns[at].start_line, self.turns[at].end_line)
    }

    /// Returns a citation of a line, or `None` if the line is not in a turn of the day.
    fn cite_line(&self, line: u64) -> Option<Citation> {
        let of = |turn: &Turn| (turn.start_line..=turn.end_line).contains(&line);
        Some(self.citation(self.turns.iter().position(of)?, line, line))
    }

    fn all_turns(&self) -> Vec<Citation> {
        (0..self.turns.len()).map(|at| self.cite_turn(at)).collect()
    }

    fn cite_snippets<'s>(
        &'s self,
        snippets: impl IntoIterator<Item = &'s Snippet>,
        actor: &str,
    ) -> Vec<(&'s Snippet, Citation)> {
        let of = |snippet: &'s Snippet| Some((snippet, self.cite_line(snippet.line)?));
        snippets
            .into_iter()
            .filter(|snippet| snippet.actor == actor)
            .filter_map(of)
            .collect()
    }

    fn build_work(&self) -> PieceOfWork {
        let digest = &self.digest;
        let mut prompts = self.cite_snippets(digest.first_prompt.iter().chain(&digest.snippets), "human");
        prompts.dedup_by_key(|(snippet, _)| snippet.line);
        let title = match prompts.first() {
            Some((prompt, citation)) => Sentence::default()
                .quote(make_title(&prompt.text))
                .cite([citation.clone()]),
            None => say(format!("{} of a longer session", count_noun(self.turns.len(), "turn"))).cite(self.all_turns()),
        };
        let asked = prompts
            .iter()
            .map(|(prompt, citation)| {
                Sentence::default()
                    .quote(shorten_quote(&prompt.text, 240))
                    .cite([citation.clone()])
            })
            .collect();
        PieceOfWork {
            title,
            outcome: digest.outcome.outcome,
            reason: digest.outcome.reason,
            confidence: digest.outcome.confidence,
            from_digest: true,
            agents: vec![digest.flavor.clone()],
            covers: (1..=self.turns.len())
                .map(|turn| CoveredTurn {
                    session_ref: self.session_ref.clone(),
                    turn_ref: format!("T{turn:04}"),
                })
                .collect(),
            started_at: self.turns.iter().filter_map(|turn| turn.started_at).min(),
            ended_at: self.turns.iter().filter_map(|turn| turn.ended_at).max(),
            totals: self.totals,
            asked,
            done: self.describe_actions(),
            came: self.describe_result(),
            open: self.describe_open(),
            decided: decision_statements(&self.decisions, &|turn| self.cite_turn(turn)),
        }
    }

    /// Describes what was done. Counts are those of the whole session, so they are only reported if all of its turns
    /// are on this day.
    fn describe_actions(&self) -> Vec<Statement> {
        let digest = &self.digest;
        let mut statements = Vec::new();
        let cite = |commit: &'_ SessionCommit| Some((commit.words()?, self.cite_line(commit.line)?));
        let commits: Vec<(String, Citation)> = digest.commits.iter().filter_map(cite).collect();
        if self.turns_elsewhere == 0 {
            let files = digest.files.iter().take(FILES_MAX);
            if !digest.files.is_empty() {
                let mut sentence = say("Edited ");
                let names = files.map(|file| {
                    shorten_quote(&shorten_path(&relative_path(&file.path, digest.cwd.as_deref()), 80), 90)
                });
                sentence = sentence.codes(names);
                if digest.files.len() > FILES_MAX {
                    sentence = sentence.say(format!(
                        " and {}",
                        count_noun(digest.files.len() - FILES_MAX, "more file")
                    ));
                }
                statements.push(sentence.cite(self.all_turns()));
            }
            let commands = digest
                .commands
                .iter()
                .filter(|command| super::commands::is_notable(&command.command));
            let commands: Vec<String> = commands
                .take(COMMANDS_MAX)
                .map(|command| shorten_quote(&command.command, 60))
                .collect();
            if !commands.is_empty() {
                statements.push(say("Ran ").codes(commands).cite(self.all_turns()));
            }
        }
        if let Some((last, citation)) = digest
            .tests
            .last
            .as_ref()
            .and_then(|last| Some((last, self.cite_line(last.line)?)))
        {
            let result = match last.passed {
                Some(true) => " passed",
                Some(false) => " failed",
                None => " was inconclusive",
            };
            let sentence = say("The last test run, ")
                .code(shorten_quote(&last.command, 80))
                .say(",")
                .say(result);
            statements.push(sentence.cite([citation]));
        }
        for (commit, citation) in commits {
            statements.push(say("Committed ").code(shorten_quote(&commit, 120)).cite([citation]));
        }
        statements
    }

    fn describe_result(&self) -> Vec<Statement> {
        let outcome = &self.digest.outcome;
        let evidence: Vec<Citation> = outcome
            .evidence
            .iter()
            .filter_map(|evidence| self.cite_line(evidence.line))
            .collect();
        let sentence = match outcome.reason {
            OutcomeReason::TestsPassed => Some("The last test run passed"),
            OutcomeReason::Committed => Some("The work was committed or submitted as a pull request"),
            OutcomeReason::GoalReached => Some("The agent's own goal was marked as reached"),
            _ => None,
        };
        let mut statements = Vec::new();
        if let Some(sentence) = sentence.filter(|_| !evidence.is_empty()) {
            statements.push(say(sentence).cite(evidence));
        }
        if let Some((reply, citation)) = self.cite_snippets(&self.digest.snippets, "agent").pop() {
            statements.push(
                say("The agent's last message: ")
                    .quote(shorten_quote(&reply.text, 200))
                    .cite([citation]),
            );
        }
        statements
    }

    fn describe_open(&self) -> Vec<Statement> {
        let outcome = &self.digest.outcome;
        let evidence: Vec<Citation> = outcome
            .evidence
            .iter()
            .filter_map(|evidence| self.cite_line(evidence.line))
            .collect();
        let sentence = match outcome.reason {
            OutcomeReason::FailingTests => "Tests fail: the last run failed",
            OutcomeReason::Interrupted => "Interrupted and not resumed",
            OutcomeReason::UnansweredPrompt => "The last prompt has no answer",
            OutcomeReason::CutOff => "The log ends in the middle of the work",
            OutcomeReason::FailedToolCalls => "The last tool calls failed",
            OutcomeReason::ApiError => "Ended with an error from the API or the agent",
            _ => return Vec::new(),
        };
        match evidence.is_empty() {
            true => Vec::new(),
            false => vec![say(sentence).cite(evidence)],
        }
    }

    /// Builds excerpts of the cited turns from what the digest quotes.
    fn build_excerpts(&self, work: &PieceOfWork) -> Vec<TurnExcerpt> {
        let digest = &self.digest;
        let lists = [&work.asked, &work.done, &work.came, &work.open];
        let statements = std::iter::once(&work.title).chain(lists.into_iter().flatten());
        let cited: Vec<&Citation> = statements.flat_map(|statement| &statement.citations).collect();
        let snippets = digest.first_prompt.iter().chain(&digest.snippets);
        let mut texts: BTreeMap<u64, (LineKind, String)> = BTreeMap::new();
        for evidence in &digest.outcome.evidence {
            texts.insert(evidence.line, (LineKind::Notice, evidence.text.clone()));
        }
        if let Some(last) = &digest.tests.last {
            texts.insert(last.line, (LineKind::Tool, last.command.clone()));
        }
        for commit in &digest.commits {
            if let Some(words) = commit.words() {
                texts.insert(commit.line, (LineKind::Tool, words));
            }
        }
        for snippet in snippets {
            let kind = match snippet.actor.as_str() {
                "human" => LineKind::Prompt,
                "agent" => LineKind::Answer,
                _ => LineKind::Notice,
            };
            texts.insert(snippet.line, (kind, snippet.text.clone()));
        }
        let excerpt = |at: usize| {
            let citation = self.cite_turn(at);
            let is_cited = cited.iter().any(|other| other.turn_ref == citation.turn_ref);
            is_cited.then(|| TurnExcerpt {
                agent: digest.flavor.clone(),
                session_id: digest.session_uid.split_once(':').map_or("", |(_, id)| id).to_owned(),
                from_digest: true,
                started_at: self.turns[at].started_at,
                lines: texts
                    .range(citation.first_line..=citation.last_line)
                    .map(|(line, (kind, text))| ExcerptLine {
                        line: *line,
                        kind: *kind,
                        text: shorten_quote(text, 240),
                    })
                    .collect(),
                left_out: 0,
                citation,
            })
        };
        (0..self.turns.len()).filter_map(excerpt).collect()
    }
}
